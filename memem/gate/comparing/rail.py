"""The last check of what is said to be in another text: every word must stand there, the small ones included."""

from collections.abc import Sequence

from memem.gate.comparing.claims import Sentence
from memem.gate.comparing.wording import Token


def holds_all(part: Sequence[Sentence], whole: Sequence[Sentence]) -> bool:
    """Whether the whole has all words of every sentence of the part, in their order, and speaks of the same person."""
    return all(_has(sentence, whole) for sentence in part) and _is_same_person(part, whole)


def _has(sentence: Sentence, whole: Sequence[Sentence]) -> bool:
    """In one sentence, or in one and those that go on about the same."""
    if any(_in_order(sentence.tokens, other.tokens) for other in whole):
        return True
    goes_on = all(other.goes_on for other in whole[1:])
    return goes_on and _in_order(sentence.tokens, [token for other in whole for token in other.tokens])


def _in_order(part: Sequence[Token], whole: Sequence[Token]) -> bool:
    rest = iter(whole)
    return all(any(_are_one(token, other) for other in rest) for token in part)


def _are_one(one: Token, other: Token) -> bool:
    return one.key == other.key or (not one.is_value and not other.is_value and one.stem == other.stem)


def _is_same_person(part: Sequence[Sentence], whole: Sequence[Sentence]) -> bool:
    """`My editor` is neither `your editor` nor just any; what `we` do may be said without a word of us."""
    mine = {person for sentence in part for person in sentence.persons}
    yours = {person for sentence in whole for person in sentence.persons}
    return mine <= yours or (mine == {"we"} and not yours)
