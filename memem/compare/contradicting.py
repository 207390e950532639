"""Where two sentences say the opposite with the same words: denied, turned round, or held to another limit."""

from collections.abc import Iterator

from memem.compare import lexicon as words
from memem.compare.claims import Sentence
from memem.compare.pairing import Pair
from memem.compare.relation import Difference
from memem.compare.wording import DENIED, HEAD, HELD, VERB_STEMS, Token


def contradictions(pair: Pair) -> list[Difference]:
    """In what the two contradict each other although they use the same words."""
    return [*_spelled(pair), *_turned(pair), *_denied(pair), *_limited(pair)]


def _spelled(pair: Pair) -> Iterator[Difference]:
    for old, new in pair.shared:
        if old.exact and new.exact and old.raw != new.raw:
            yield Difference("name", old.raw, new.raw)


def _denied(pair: Pair) -> list[Difference]:
    """What the one affirms and the other denies."""
    found = [*_opposed(pair), *_prefixed(pair)]
    turned = [
        (old, new)
        for old, new in pair.shared
        if {old.state, new.state} == {HELD, DENIED}
        and not (pair.only_old and pair.only_new and _is_focus_elsewhere(pair))
        and not (_is_denied_by_both(pair) and HEAD in (old.role, new.role))
    ]
    if turned and (pair.share >= 0.6 or any(old.is_value or new.is_value for old, new in turned)):
        old, new = turned[0]
        found.append(Difference("negation", _signed(old), _signed(new)))
    elif not found and not pair.only_old and not pair.only_new and pair.old.denials != pair.new.denials:
        found.append(Difference("negation", str(pair.old.denials), str(pair.new.denials)))
    return found


def _is_focus_elsewhere(pair: Pair) -> bool:
    """Whether a denial is about something that only one of them names."""
    return any(token.state == DENIED for token in (*pair.only_old, *pair.only_new))


def _is_denied_by_both(pair: Pair) -> bool:
    """Whether both deny one verb, so that it does not matter on which side of it the rest stands."""
    return any(old.state == new.state == DENIED and old.stem in VERB_STEMS for old, new in pair.shared)


def _signed(token: Token) -> str:
    return f"not {token.raw}" if token.state == DENIED else token.raw


def _opposed(pair: Pair) -> Iterator[Difference]:
    left = [[t for t in side if t.low not in words.OPPOSITES] for side in (pair.only_old, pair.only_new)]
    if pair.together < (0.6 if all(left) else 0.3):
        return
    for key, (side, raw) in pair.old.opposites.items():
        other = pair.new.opposites.get(key)
        if other and other[0] != side and not (key == _BEFORE and _is_swapped(pair)):
            yield Difference("negation", raw, other[1])


_BEFORE = words.OPPOSITES["before"][0]


def _prefixed(pair: Pair) -> Iterator[Difference]:
    for old in pair.only_old:
        for new in pair.only_new:
            longer, shorter = sorted((old.key, new.key), key=len, reverse=True)
            prefix = longer.removesuffix(shorter)
            if prefix in words.NEGATING_PREFIXES and old.state == new.state:
                yield Difference("negation", old.raw, new.raw)


def _limited(pair: Pair) -> Iterator[Difference]:
    """`must` here and `may` there; a limit on one side only is no contradiction."""
    old = pair.old.limits.keys() - pair.new.limits.keys()
    new = pair.new.limits.keys() - pair.old.limits.keys()
    if old and new and pair.together >= 0.75:
        yield Difference("limit", ", ".join(sorted(old)), ", ".join(sorted(new)))


def _turned(pair: Pair) -> list[Difference]:
    """A to B here, B to A there."""
    if pair.share < 0.75:
        return []
    if not pair.only_old and not pair.only_new and not _is_swapped(pair):
        return [
            Difference("direction", one, other)
            for one, other in _CONTRARY
            if (one in pair.old.marks) > (one in pair.new.marks)
            and (other in pair.new.marks) > (other in pair.old.marks)
        ]
    swapped = _swap(pair)
    if not swapped or _reads_the_other_way(pair):
        return []
    one, other = swapped
    return [Difference("direction", f"{one} -> {other}", f"{other} -> {one}")]


_CONTRARIES = "from to;from into;above below;over under;in out;up down;before after;with without;to by"

_CONTRARY = tuple(
    turn
    for one, other in (couple.split() for couple in _CONTRARIES.split(";"))
    for turn in ((one, other), (other, one))
)


def _orders(pair: Pair) -> tuple[list[str], list[str]]:
    common = {old.stem for old, _ in pair.shared}
    return (
        [key for key in dict.fromkeys(token.stem for token in pair.old.content) if key in common],
        [key for key in dict.fromkeys(token.stem for token in pair.new.content) if key in common],
    )


def _is_swapped(pair: Pair) -> bool:
    old, new = _orders(pair)
    return old != new


def _swap(pair: Pair) -> tuple[str, str] | None:
    """What changed places around a verb or a word like `before`, everything else being where it was."""
    old, new = _orders(pair)
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    size = len(old)
    for first in range(1, size):
        for second in range(1, size - first + 1):
            left, middle, right = old[:first], old[first : size - second], old[size - second :]
            if right + middle + left == new and _turns_about(pair, left, middle, right):
                return " ".join(left), " ".join(right)
    return None


def _turns_about(pair: Pair, left: list[str], middle: list[str], right: list[str]) -> bool:
    """Whether what changed places stood on the two sides of something, and not in a list."""
    both = _between(pair.old, left[-1], right[0]), _between(pair.new, right[-1], left[0])
    if middle:
        return all(any(not token.is_value and token.key not in _LISTING for token in between) for between in both)
    ways, back = ({token.key for token in between} for between in both)
    return bool(ways & back & words.DIRECTED)


_LISTING = frozenset("and or be plus as".split())


def _between(sentence: Sentence, start: str, end: str) -> tuple[Token, ...]:
    places = [index for index, token in enumerate(sentence.tokens) if token.content and token.stem in (start, end)]
    return sentence.tokens[places[0] + 1 : places[-1]]


def _reads_the_other_way(pair: Pair) -> bool:
    """`A before B` and `B after A`, `A calls B` and `B is called by A` say one thing."""
    sides = pair.old.opposites.get(_BEFORE), pair.new.opposites.get(_BEFORE)
    if sides[0] and sides[1] and sides[0][0] != sides[1][0]:
        return True
    return any((mark in pair.old.marks) != (mark in pair.new.marks) for mark in ("by", "with", "what", "<-"))
