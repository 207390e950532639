"""What one sentence is to another: the same, more, less, another value of one subject, or about something else."""

from collections.abc import Iterator

from memem.gate.comparing import verbs
from memem.gate.comparing.claims import Sentence
from memem.gate.comparing.contradicting import contradictions
from memem.gate.comparing.covering import covers
from memem.gate.comparing.families import SCOPES
from memem.gate.comparing.pairing import Pair, text_of
from memem.gate.comparing.subjects import are_marked, has_other_scope, is_other_subject, leaves
from memem.gate.comparing.values import values
from memem.gate.comparing.wording import DENIED, GONE, HEAD, HELD, VALUE, Token, stem
from memem.gate.relation import CHANGED, CONTAINED, CONTAINS, NEAR, OTHER, SAME, Comparison, Difference

MOST_ALONE = 2
"""For each word that two sentences share, so many others, of the shorter one, may stand in it alone."""


def judge(pair: Pair) -> Comparison:
    """The relation of two sentences, and in what they differ."""
    if _is_same(pair):
        return Comparison(SAME)
    if not pair.shared:
        return Comparison(OTHER)
    over = _replaced(pair.old, pair.new, pair)
    back = _replaced(pair.new, pair.old, pair)
    if is_other_subject(pair) and not leaves(pair, over, back):
        return _of_another_subject(pair)
    if not has_other_scope(pair) and (changed := _changed(pair, over, back)):
        return changed
    return Comparison(_extent(pair))


def _changed(pair: Pair, over: list[Token], back: list[Token]) -> Comparison | None:
    if _are_strangers(pair):
        return None
    if over or back:
        return Comparison(CHANGED, (*_as_replaced(over, back, pair), *contradictions(pair)), bool(over))
    said = [*contradictions(pair), *([] if _hold_for_different_things(pair) else values(pair))]
    return Comparison(CHANGED, tuple(said), _corrects(pair)) if said else None


def _hold_for_different_things(pair: Pair) -> bool:
    """Whether both say for what they hold, wherever in the sentence that is: `backend tests`, `frontend tests`."""
    return all(any(token.key in SCOPES for token in tokens) for tokens in (pair.only_old, pair.only_new))


def _are_strangers(pair: Pair) -> bool:
    """Whether most of what both say is not in the other at all: what little they share makes no common subject."""
    alone = min(len(pair.old.content), len(pair.new.content)) - len(pair.shared)
    return alone > MOST_ALONE * len(pair.shared)


def _extent(pair: Pair) -> str:
    """Which of two that do not contradict each other says more."""
    if covers(pair.old, pair.new):
        return CONTAINS
    if covers(pair.new, pair.old):
        return CONTAINED
    return NEAR if _is_near(pair) else OTHER


def _is_same(pair: Pair) -> bool:
    old, new = pair.old.tokens, pair.new.tokens
    return len(old) == len(new) and all(
        one.key == other.key and one.state == other.state and not (one.exact and other.exact and one.raw != other.raw)
        for one, other in zip(old, new, strict=True)
    )


def _is_near(pair: Pair) -> bool:
    telling = [couple for couple in pair.shared if not couple[0].is_generic]
    if len(telling) >= 2:
        return pair.share >= 0.4
    return pair.share > 0.6 or (pair.share >= 0.5 and any(one.is_value or two.is_value for one, two in telling))


def _of_another_subject(pair: Pair) -> Comparison:
    """Another subject; unless only one can do what is said, and then it is another value."""
    old = [token for token in pair.only_old if token.role == HEAD]
    new = [token for token in pair.only_new if token.role == HEAD]
    rest_is_equal = len(old) == len(pair.only_old) and len(new) == len(pair.only_new)
    short = len(old) <= 2 and len(new) <= 2
    elsewhere = any(token.stands_for_a_place or token.number for token in (*old, *new))
    if rest_is_equal and short and not elsewhere and _is_unique(pair):
        return Comparison(CHANGED, (Difference("name", text_of(old), text_of(new)),))
    if not (are_marked(old) and are_marked(new)) and not values(pair) and _is_near(pair):
        return Comparison(NEAR)
    return Comparison(OTHER)


def _is_unique(pair: Pair) -> bool:
    """Whether what is said of the subject holds for one only: `is the ...`, `owns ...`."""
    if pair.old.verb != pair.new.verb:
        return False
    if pair.old.verb == "be" and pair.old.is_definite and pair.new.is_definite:
        return True
    return pair.old.verb in _UNIQUE or any(one.stem in _UNIQUE for one, _ in pair.shared)


_UNIQUE = frozenset(map(stem, verbs.UNIQUE_AGENT))


def _replaced(held: Sentence, over: Sentence, pair: Pair) -> list[Token]:
    """What the one holds true and the other says to be over."""
    found = []
    for token in held.content:
        gone = over.stems.get(token.stem)
        if gone is None or token.state != HELD or gone.state != GONE:
            continue
        if any(other.stem == token.stem and other.state == HELD for other in over.content):
            continue
        if (token.exact or gone.exact) and token.low != gone.low:
            continue
        known = token.is_value or gone.is_value or pair.share >= 0.5
        if (token.alone == gone.alone or (gone.alone and pair.share >= 0.5)) and not token.is_generic and known:
            found.append(token)
    return found


def _as_replaced(over: list[Token], back: list[Token], pair: Pair) -> Iterator[Difference]:
    if over and back:
        yield Difference("direction", _course(pair.old), _course(pair.new))
    elif over:
        yield Difference("replaced", text_of(over), text_of(t for t in pair.only_new if t.state == HELD and t.is_value))
    else:
        yield Difference("replaced", text_of(t for t in pair.only_old if t.state == HELD and t.is_value), text_of(back))


def _course(sentence: Sentence) -> str:
    gone = text_of(token for token in sentence.content if token.state == GONE)
    held = text_of(token for token in sentence.content if token.state == HELD and token.is_value)
    return f"{gone} -> {held}"


def _corrects(pair: Pair) -> bool:
    """Whether the new one denies what the old one holds and says what holds instead: `pytest, not unittest`."""
    denied = any(
        old.state == HELD and new.state == DENIED and not old.is_generic and (old.is_value or old.role == VALUE)
        for old, new in pair.shared
    )
    return denied and any(
        token.state == HELD and token.role in (VALUE, HEAD) and (token.is_value or token.role == VALUE)
        for token in pair.only_new
    )
