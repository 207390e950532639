"""What a statement claims, sentence by sentence: its words, the place of each, whether it is denied or over.

Nothing here understands language. A denial reaches to the end of its clause, and what is left for something else is
over: with the places of the words that is enough, most of the time, to tell a changed value from another subject.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from memem.compare import lexicon as words
from memem.compare.places import mark_names, mark_places
from memem.compare.wording import ASIDE, DENIED, GONE, VERB, Token, cut, plain, with_units


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, taken apart."""

    tokens: tuple[Token, ...]
    content: tuple[Token, ...]
    stems: dict[str, Token]
    values: dict[str, list[Token]]
    """Numbers, names and literals, each as often as it stands there."""
    weight: float
    limits: dict[str, str]
    """How far it goes, and the word that each limit stands before."""
    denials: int
    opposites: dict[int, tuple[int, str]]
    marks: frozenset[str]
    has_moved: bool
    """Whether somebody left one thing for another in it, so that its subject is only who did."""
    verb: str
    """What it says its subject does: the stem of the verb, or of the participle after `is`."""
    refers: bool
    """Whether it may need the sentence before it to be understood."""
    goes_on: bool
    """Whether it goes on about the same: `It listens on ...`."""
    is_definite: bool
    """Whether it says that something *is the* one."""
    persons: frozenset[str]
    """Whom it speaks of as `I`, `you` or `we`."""


@lru_cache(maxsize=512)
def sentences(text: str) -> tuple[Sentence, ...]:
    """Every sentence of the text that says anything."""
    return tuple(_sentence(tokens) for tokens in cut(plain(text)) if any(map(_says_something, tokens)))


def _says_something(token: Token) -> bool:
    """Whether it is more than a sign or a word to leave out: a bare `No` or `Only` is about what stands before it."""
    return token.content or (not token.quiet and token.key != "be" and token.key[0].isalpha())


def _sentence(tokens: list[Token]) -> Sentence:
    tokens = _switches(with_units(tokens))
    mark_names(tokens)
    mark_places(tokens)
    _mark_states(tokens)
    spoken = [token for token in tokens if not token.quiet]
    content = tuple(token for token in spoken if token.content)
    values: dict[str, list[Token]] = {}
    for token in content:
        token.weight = 2.0 if token.is_value else 0.5 if token.role == VERB or token.is_generic else 1.0
        if token.is_value:
            values.setdefault(token.stem, []).append(token)
    stems = {token.stem: token for token in reversed(content)}
    return Sentence(
        tuple(spoken),
        content,
        stems,
        values,
        sum([token.weight for token in stems.values()]),
        _limits(spoken),
        sum(token.key in words.NEGATORS for token in spoken if not token.content),
        _opposites(tokens),
        frozenset(token.key for token in spoken if not token.content),
        any(token.low in _LEAVING for token in tokens),
        next((token.stem for token in reversed(tokens) if token.role == VERB), ""),
        tokens[0].low in _PRONOUNS or tokens[0].low == "the",
        tokens[0].low in _PRONOUNS,
        any(one.key == "be" and other.key in _DEFINITE for one, other in pairwise(tokens)),
        frozenset(words.PERSONS[token.low] for token in tokens if token.quiet and token.low in words.PERSONS),
    )


_LEAVING = words.MOVES | words.GONE_EITHER_WAY | {"use", "uses", "using", "used", "nutzt", "nutzen", "使用", "不再"}

_DEFINITE = frozenset("the our my your der die das unser unsere le la".split())

_PRONOUNS = frozenset("it they its their this that these those he she his her them es sie ils elle".split())


def _limits(tokens: list[Token]) -> dict[str, str]:
    found = {}
    for index, token in enumerate(tokens):
        if not token.content and token.key in words.LIMITS:
            limited = next((other.stem for other in tokens[index + 1 :] if other.content), "")
            found[words.LIMITS[token.key]] = limited
    return found


def _switches(tokens: list[Token]) -> list[Token]:
    """`on` at the end of what it says is a state; before a noun it is a preposition."""
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.key == "off" or (
            token.key in ("on", "up", "down")
            and (following is None or (following.quiet and following.raw == ",") or following.key in _AFTER_A_STATE)
        ):
            token.content = True
        elif token.key == "an" and following is None:  # ist an
            token.content, token.quiet = True, False
    return tokens


_AFTER_A_STATE = frozenset("by in for and or when while again everywhere until during at because since be , if".split())


def _mark_states(tokens: list[Token]) -> None:
    """Mark what is denied, and what is said to have held once."""
    denied = False
    for token in tokens:
        if token.key in words.NEGATORS and not token.content:
            denied = True
        elif not token.content and ((token.quiet and token.raw in ",()—–、[]{}|") or token.key in _ENDS_OF_DENIAL):
            denied = False
        elif denied and token.content:
            token.state = DENIED
    _mark_gone(tokens)


_ENDS_OF_DENIAL = words.CLAUSE_ENDS | {"for", "pour", "für", "para"}


def _mark_gone(tokens: list[Token]) -> None:
    raws = ["" if token.named else token.low for token in tokens]
    if _TELLING.isdisjoint(raws):
        return
    for index in range(len(tokens)):
        either = raws[index] in words.GONE_EITHER_WAY
        passive = either and any(token.key in _BEING for token in tokens[max(0, index - 2) : index])
        if passive or _begins(raws, index, words.GONE_AFTER):
            _mark_back(tokens, index, values_only=raws[index] in _BECOMES)
        elif length := int(either) or _begins(raws, index, words.GONE_BEFORE):
            _mark_on(tokens, index + length, ())
        elif raws[index] in _FROM and any(token.low in words.MOVES for token in tokens):
            _mark_on(tokens, index + 1, _TO)
        elif raws[index] in _UNTIL and any(raw in _PAST for raw in raws[:index]):
            _mark_back(tokens, index)


_BEING = frozenset("be was were has".split())

_BECOMES = frozenset("改为 改成 换成 替换为".split())

_FROM = frozenset("from von de desde 从 由".split())

_TO = frozenset("to into auf zu à a 到 切换到 迁移到 改用 换成 改为 改成 onto -> 切换 迁移 换 改".split())

_UNTIL = frozenset("until till before".split())

_PAST = frozenset("was were used had".split())

_TELLING = words.GONE_EITHER_WAY | words.GONE_AFTER.keys() | words.GONE_BEFORE.keys() | _FROM | _UNTIL


def _begins(raws: list[str], index: int, phrases: dict[str, list[tuple[str, ...]]]) -> int:
    """How many words of one of the phrases stand here."""
    for phrase in phrases.get(raws[index], ()):
        if tuple(raws[index : index + len(phrase)]) == phrase:
            return len(phrase)
    return 0


def _mark_on(tokens: list[Token], start: int, ends: frozenset[str] | tuple[str, ...]) -> None:
    for token in tokens[start:]:
        raw = token.low
        if raw in ends or (token.quiet and token.raw in ",()—–、") or raw in _ENDS_OF_DENIAL or raw in ("by", "with"):
            return
        if token.content:
            token.state = GONE


def _mark_back(tokens: list[Token], end: int, *, values_only: bool = False) -> None:
    for token in reversed(tokens[:end]):
        if (token.quiet and token.raw in ",()—–、") or token.key in words.CLAUSE_ENDS:
            return
        if token.content and (token.is_value or not values_only):
            token.state = GONE


def _opposites(tokens: list[Token]) -> dict[int, tuple[int, str]]:
    """Which side of which pair of opposites the sentence takes, a denial before it counted."""
    sides: dict[int, tuple[int, str]] = {}
    for token in tokens:
        raw = token.low
        if (
            raw in words.OPPOSITES
            and not token.named
            and token.role != ASIDE
            and (token.content or token.key not in ("on", "up", "down", "an"))
        ):
            pair, side = words.OPPOSITES[raw]
            sides[pair] = (-side if token.state == DENIED else side, token.raw)
    return sides
