"""Compare two statements sentence by sentence: a change in one sentence is a change of the whole."""

from collections.abc import Iterator
from dataclasses import dataclass

from memem.compare import families, lexicon
from memem.compare.claims import Sentence, sentences
from memem.compare.contradicting import contradictions
from memem.compare.families import SCOPES
from memem.compare.pairing import Pair, covers, holds_all, side_by_side, text_of
from memem.compare.relation import CHANGED, CONTAINED, CONTAINS, NEAR, OTHER, SAME, Comparison, Difference
from memem.compare.values import are_marked, has_other_scope, is_other_subject, leaves, values
from memem.compare.wording import DENIED, GONE, HEAD, HELD, NAME, VALUE, Token, stem

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


_UNIQUE = frozenset(map(stem, lexicon.UNIQUE_AGENT))


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


_Place = tuple[int, int]

LONGEST = 2_000
"""In characters. Each sentence is held beside each: what is longer is no one statement, and would take seconds."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What is compared: a memory's text, and the title that may tell what it is about."""

    text: str
    title: str = ""


def compare(old: Statement, new: Statement) -> Comparison:
    """What the new statement is to the old one."""
    mine, yours = sentences(old.text), sentences(new.text)
    if not mine or not yours:
        return Comparison(SAME if old.text.split() == new.text.split() else OTHER)
    if titles_differ(old, new):
        return Comparison(OTHER)
    if max(len(old.text), len(new.text)) > LONGEST:
        return Comparison(SAME if old.text.split() == new.text.split() else OTHER)
    pairs = _partners(mine, yours)
    judged = {place: judge(pair) for place, pair in pairs.items()}
    for place, pair in pairs.items():
        if judged[place].relation == CHANGED and not _is_meant(place, pair, mine, yours):
            judged[place] = Comparison(OTHER)
    changed = [comparison for comparison in judged.values() if comparison.relation == CHANGED]
    if changed:
        differences = tuple(dict.fromkeys(each for comparison in changed for each in comparison.differences))
        return Comparison(CHANGED, differences, any(comparison.replaces for comparison in changed))
    relations = {place: comparison.relation for place, comparison in judged.items()}
    if contained := _containment(mine, yours, relations):
        return Comparison(contained if _is_on_rail(contained, mine, yours) else NEAR)
    return Comparison(OTHER if set(relations.values()) == {OTHER} else NEAR)


def _is_on_rail(relation: str, mine: tuple[Sentence, ...], yours: tuple[Sentence, ...]) -> bool:
    """Whether the words bear out that one is all in the other, whatever brought that about."""
    kept = relation not in (SAME, CONTAINS) or holds_all(mine, yours)
    return kept and (relation not in (SAME, CONTAINED) or holds_all(yours, mine))


def titles_differ(old: Statement, new: Statement) -> bool:
    """Whether the titles name different things that the texts leave out: `The port is 6379`, of Redis or Postgres."""
    return bool(old.title and new.title and _named_by_title(old, new) and _named_by_title(new, old))


def _named_by_title(one: Statement, other: Statement) -> set[str]:
    own = {token.stem for token in _content(one.text)}
    theirs = {token.stem for token in (*_content(other.text), *_content(other.title))}
    return {token.stem for token in _content(one.title) if _tells_apart(token) and token.stem not in own | theirs}


def _tells_apart(token: Token) -> bool:
    """Whether it names something; of numbers only those of a kind, since a title may be numbered for other reasons."""
    if token.number:
        return token.named and token.follows in families.NUMBERED
    return token.is_value or token.key in families.SCOPES


def _content(text: str) -> list[Token]:
    return [token for sentence in sentences(text) for token in sentence.content]


def _partners(mine: tuple[Sentence, ...], yours: tuple[Sentence, ...]) -> dict[_Place, Pair]:
    """Every sentence beside the one of the other side that is most like it."""
    table = {
        (row, column): side_by_side(one, other) for row, one in enumerate(mine) for column, other in enumerate(yours)
    }
    rows, columns = range(len(mine)), range(len(yours))
    best = {max(((row, column) for column in columns), key=lambda place: _closeness(table[place])) for row in rows}
    best |= {max(((row, column) for row in rows), key=lambda place: _closeness(table[place])) for column in columns}
    return {place: table[place] for place in sorted(best)}


def _closeness(pair: Pair) -> tuple[float, float]:
    return (pair.share + pair.together, pair.share)


def _is_meant(place: _Place, pair: Pair, mine: tuple[Sentence, ...], yours: tuple[Sentence, ...]) -> bool:
    """Whether a changed sentence is about one thing on both sides, judged by what it refers to and the names around."""
    row, column = place
    if row and column and pair.old.refers and pair.new.refers:
        before = side_by_side(mine[row - 1], yours[column - 1])
        if pair.old.goes_on and pair.new.goes_on:
            return judge(before).relation != OTHER
        if is_other_subject(before):
            return False
    if len(mine) == len(yours) == 1 or pair.share_a_name:
        return True
    if row and column and is_other_subject(side_by_side(mine[row - 1], yours[column - 1])):
        return False
    left, right = _names(mine), _names(yours)
    return not left or not right or bool(left & right)


def _names(group: tuple[Sentence, ...]) -> set[str]:
    return {token.stem for sentence in group for token in sentence.content if token.kind == NAME}


def _containment(mine: tuple[Sentence, ...], yours: tuple[Sentence, ...], relations: dict[_Place, str]) -> str | None:
    """Whether one says all that the other says; None when neither does."""
    kept = {place for place, how in relations.items() if how in (SAME, CONTAINS)}
    known = {(column, row) for (row, column), how in relations.items() if how in (SAME, CONTAINED)}
    old_is_kept = _is_all_said(mine, yours, kept)
    new_was_there = _is_all_said(yours, mine, known)
    if any(not sentence.content for sentence in (*mine, *yours)) and set(relations.values()) != {SAME}:
        return None  # a bare `No.` denies what stands before it
    if old_is_kept and new_was_there:
        return SAME if set(relations.values()) == {SAME} else NEAR
    if old_is_kept:
        return CONTAINS
    return CONTAINED if new_was_there else None


def _is_all_said(part: tuple[Sentence, ...], whole: tuple[Sentence, ...], said: set[_Place]) -> bool:
    """Whether every sentence is in one of the other side, and the ones that refer back refer to the same."""
    where = dict(sorted(said, reverse=True))
    if len(part) == 1 < len(whole) and not where:
        return _is_spread(part[0], whole)
    return len(where) == len(part) and all(
        index == 0 or not part[index].refers or (index - 1, where[index] - 1) in said for index in where
    )


def _is_spread(sentence: Sentence, others: tuple[Sentence, ...]) -> bool:
    """Whether one sentence is said by a sentence of the other side and those that go on about the same."""
    if any(other.denials or other.limits or not other.goes_on for other in others[1:]) or others[0].denials:
        return False
    rest = iter([token for other in others for token in other.content])
    return all(
        any(token.key == other.key and token.state == other.state for other in rest) for token in sentence.content
    )
