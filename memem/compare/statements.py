"""Compare two statements: the same, more, less, contradicting, alike, or about something else."""

from collections.abc import Collection, Sequence

from memem.compare.relation import CHANGED, CONTAINED, CONTAINS, NEAR, OTHER, SAME, Comparison, Difference
from memem.compare.replacements import Statement, find_other_value, find_retired, titles_differ
from memem.compare.sentences import differences, is_part, overlap, text_of
from memem.compare.tokens import Sentence, content_keys, sentences

LONGEST = 2_000  # characters; comparing each sentence with each takes too long beyond
NEAR_OVERLAP = 0.5


def compare(old: Statement, new: Statement, common: Collection[str] = ()) -> Comparison:
    """The relation of the new statement to the old one. `common` words do not show that both are about one thing."""
    mine, yours = sentences(old.text), sentences(new.text)
    comparable = bool(mine and yours) and max(len(old.text), len(new.text)) <= LONGEST
    apart = titles_differ(old, new)
    if comparable and not apart:
        relation = _extent(mine, yours)
    else:
        relation = SAME if not apart and old.text.split() == new.text.split() else OTHER
    if relation == SAME:
        return Comparison(SAME)
    over, back = find_retired(old, new, common), find_retired(new, old, common)
    found = [Difference("replaced", text_of(over), text_of(back))] if over or back else []
    if other := find_other_value(old, new, common, apart):
        found.append(other)
    if comparable and not apart:
        found += _changes(mine, yours)
    if not found:
        return Comparison(relation)
    claimed = {key for sentence in mine[:1] for key in sentence.telling}
    replaces = bool(over) and claimed <= content_keys(new.title, new.text)
    return Comparison(CHANGED, tuple(dict.fromkeys(found)), replaces)


def _changes(mine: Sequence[Sentence], yours: Sequence[Sentence]) -> list[Difference]:
    equal = {sentence.keys for sentence in mine} & {sentence.keys for sentence in yours}
    if len(mine) + len(yours) > 2 and not equal:
        names, others = ({key for sentence in group for key in sentence.names} for group in (mine, yours))
        if names and others and names.isdisjoint(others):
            return []
    return [
        difference
        for old in mine
        for new in yours
        if old.keys not in equal and new.keys not in equal
        for difference in differences(old, new)
    ]


def _extent(mine: Sequence[Sentence], yours: Sequence[Sentence]) -> str:
    if [sentence.keys for sentence in mine] == [sentence.keys for sentence in yours]:
        return SAME
    if _is_all_said(mine, yours):
        return CONTAINS
    if _is_all_said(yours, mine):
        return CONTAINED
    near = any(overlap(old, new) >= NEAR_OVERLAP for old in mine for new in yours)
    return NEAR if near else OTHER


def _is_all_said(part: Sequence[Sentence], whole: Sequence[Sentence]) -> bool:
    """Whether each sentence is one of the other side, or its beginning; what refers back needs the same before it."""
    if any(not sentence.content for sentence in (*part, *whole)):
        return False  # a bare "No." denies what stands before it
    where: list[int] = []
    for number, sentence in enumerate(part):
        places = [at for at, other in enumerate(whole) if sentence.keys == other.keys or is_part(sentence, other)]
        if number and sentence.goes_on:
            places = [at for at in places if at == where[-1] + 1]
        if not places:
            return False
        where.append(places[0])
    return True
