"""What one statement is to another: sentence beside sentence, a change in any of them a change of the whole."""

from dataclasses import dataclass

from memem.gate.comparing import families
from memem.gate.comparing.claims import Sentence, sentences
from memem.gate.comparing.judging import judge
from memem.gate.comparing.pairing import Pair, side_by_side
from memem.gate.comparing.rail import holds_all
from memem.gate.comparing.subjects import is_other_subject
from memem.gate.comparing.wording import NAME, Token
from memem.gate.relation import CHANGED, CONTAINED, CONTAINS, NEAR, OTHER, SAME, Comparison

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
