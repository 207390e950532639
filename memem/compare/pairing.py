"""Two sentences side by side: what both say, what only one says, and whether one holds all of the other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memem.compare import lexicon as words
from memem.compare.claims import Sentence
from memem.compare.wording import ASIDE, HEAD, HELD, NAME, SCOPE, Token, stem


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences, and their words matched."""

    old: Sentence
    new: Sentence
    shared: tuple[tuple[Token, Token], ...]
    only_old: tuple[Token, ...]
    only_new: tuple[Token, ...]
    share: float
    """How much of the shorter one is in the other."""
    together: float
    """How much of the longer one is in the other."""
    common: float
    """How much both say."""

    @property
    def share_a_name(self) -> bool:
        """Whether both name one thing; a name at the beginning of a sentence does not look like one."""
        return any(NAME in (one.kind, two.kind) for one, two in self.shared)


def side_by_side(old: Sentence, new: Sentence) -> Pair:
    """Match the words of two sentences."""
    moved_old, moved_new = _displaced(old, new), _displaced(new, old)
    shared = tuple(
        (token, new.stems[key])
        for key, token in old.stems.items()
        if key in new.stems and token not in moved_old and new.stems[key] not in moved_new
    )
    only_old = (*_left(old, new), *moved_old)
    only_new = (*_left(new, old), *moved_new)
    common = sum([max(one.weight, two.weight) for one, two in shared])
    shorter, longer = sorted((old.weight, new.weight))
    share, together = (common / shorter, common / longer) if common else (0.0, 0.0)
    return Pair(old, new, shared, only_old, only_new, share, together, common)


def _left(one: Sentence, other: Sentence) -> tuple[Token, ...]:
    """What only one says; of a value that it says twice and the other once, one is left."""
    left = [token for token in one.content if token.stem not in other.stems]
    for key, mine in one.values.items():
        if key in other.stems:
            left += mine[len(other.values.get(key, ())) or 1 :]
    return tuple(left)


def _displaced(one: Sentence, other: Sentence) -> list[Token]:
    """Values of the one whose place another value has taken, though they are named: `pnpm, since npm breaks it`."""
    named_again = [token for key, group in one.values.items() if key in other.stems for token in group[:1]]
    fresh = [token for key, group in other.values.items() if key not in one.stems for token in group]
    return [
        token
        for token in named_again
        if fresh
        and token.state == HELD
        and token.role not in (ASIDE, SCOPE)
        and any(new.state == HELD and (new.role, new.follows) == (token.role, token.follows) for new in fresh)
        and all(
            _is_beside_the_point(place, other) for place, again in enumerate(other.content) if again.stem == token.stem
        )
    ]


def _is_beside_the_point(index: int, sentence: Sentence) -> bool:
    """Whether a word is part of a reason, or what a further clause is about: `ask Ruben, Mina has left`."""
    token = sentence.content[index]
    if token.state != HELD:
        return False
    if token.role == ASIDE:
        return bool(sentence.marks & words.GROUNDS)
    begins = index > 0 and sentence.content[index - 1].clause != token.clause
    after = [each for each in sentence.tokens if each.clause == token.clause]
    return begins and any(each.key == "be" or each.low in words.COPULAS for each in after)


def total(tokens: Iterable[Token]) -> float:
    """How much the words say together."""
    return sum(token.weight for token in tokens)


def text_of(tokens: Iterable[Token]) -> str:
    """The words as they were written."""
    return " ".join(token.raw for token in tokens)


def covers(part: Sentence, whole: Sentence) -> bool:
    """Whether everything the one says is said by the other, in the same order and under the same conditions."""
    if not _in_order(part, whole) or _is_restricted(part, whole) or _is_confined(part, whole):
        return False
    extra = [token for token in whole.content if token.stem not in part.stems]
    if any(_narrows_subject(token, whole) or token.stem in _HEDGES for token in extra):
        return False
    return bool(extra) or _is_weakly_more(part, whole)


def _narrows_subject(token: Token, whole: Sentence) -> bool:
    """Whether what is said holds for less with this word than without: for `the new API`, not `the API`."""
    return token.role == HEAD and (token.stands_for_a_place or token.clause == whole.content[0].clause)


_HEDGES = frozenset(map(stem, words.HEDGES))


def _is_restricted(part: Sentence, whole: Sentence) -> bool:
    """Whether what they share holds under a limit or a condition in one of them only."""
    if (part.marks ^ whole.marks) & words.CONDITIONS or not part.limits.keys() <= whole.limits.keys():
        return True
    if whole.marks & words.EITHER and _leaves_a_choice(part, whole):
        return True
    further = whole.limits.keys() - part.limits.keys()
    return any(limit in words.STRONG_LIMITS and whole.limits[limit] in ("", *part.stems) for limit in further)


def _is_confined(part: Sentence, whole: Sentence) -> bool:
    """Whether the whole says the same for a place or a time alone: `at night`, `in the reporting tables`.

    What comes in a clause of its own is said besides: `..., and is kept for 14 days`.
    """
    ends = max((token.clause for token in whole.content if token.stem in part.stems), default=0)
    for index, token in enumerate(whole.tokens):
        if not token.content and token.key in _CONFINING and token.clause <= ends:
            confined = next((each for each in whole.tokens[index:] if each.content), None)
            if confined and confined.stem not in part.stems and confined.clause <= ends:
                return True
    return False


_CONFINING = frozenset("in on at during within except for bei nachts pendant durante".split())


def _leaves_a_choice(part: Sentence, whole: Sentence) -> bool:
    """Whether the part is one of two that the whole leaves open: `Redis` of `Redis or Postgres`."""
    for index, token in enumerate(whole.tokens):
        if token.key in words.EITHER and not token.content:
            before = next((each.stem for each in reversed(whole.tokens[:index]) if each.content), "")
            after = next((each.stem for each in whole.tokens[index:] if each.content), "")
            if (before in part.stems) != (after in part.stems):
                return True
    return False


def _is_weakly_more(part: Sentence, whole: Sentence) -> bool:
    """Whether the whole differs from its part by nothing but a word like `always`."""
    return (
        part.limits.keys() < whole.limits.keys()
        and part.marks - words.LIMITS.keys() == whole.marks - words.LIMITS.keys()
    )


def _in_order(part: Sentence, whole: Sentence) -> bool:
    """Whether the words of the one stand in the other, in order, and nothing is passed over that could part them.

    `Alice owns search` is not in `Alice owns billing, Bob owns search`.
    """
    place = 0
    for index, token in enumerate(part.content):
        start = place
        while place < len(whole.content) and not _equal(token, whole.content[place]):
            place += 1
        if place == len(whole.content) or (index and _are_parted(whole.content[start - 1 : place + 1])):
            return False
        place += 1
    return True


def _are_parted(run: tuple[Token, ...]) -> bool:
    """Whether between the first word and the last a clause ends, or another value stands."""
    passed = run[1:-1]
    return bool(passed) and (
        run[0].clause != run[-1].clause or (any(token.is_value for token in passed) and run[-1].is_value)
    )


def _equal(one: Token, other: Token) -> bool:
    exact = one.is_value and other.is_value
    return (
        (one.key == other.key if exact else one.stem == other.stem)
        and one.state == other.state
        and not (one.exact and other.exact and one.raw != other.raw)
        and (one.follows == other.follows or not {one.follows, other.follows} & words.DIRECTED)
    )


def holds_all(part: Sequence[Sentence], whole: Sequence[Sentence]) -> bool:
    """Whether the whole has all words of every sentence of the part, in their order, and speaks of the same person."""
    return all(_has(sentence, whole) for sentence in part) and _is_same_person(part, whole)


def _has(sentence: Sentence, whole: Sequence[Sentence]) -> bool:
    """In one sentence, or in one and those that go on about the same."""
    if any(_stand_in_order(sentence.tokens, other.tokens) for other in whole):
        return True
    goes_on = all(other.goes_on for other in whole[1:])
    return goes_on and _stand_in_order(sentence.tokens, [token for other in whole for token in other.tokens])


def _stand_in_order(part: Sequence[Token], whole: Sequence[Token]) -> bool:
    rest = iter(whole)
    return all(any(_are_one(token, other) for other in rest) for token in part)


def _are_one(one: Token, other: Token) -> bool:
    return one.key == other.key or (not one.is_value and not other.is_value and one.stem == other.stem)


def _is_same_person(part: Sequence[Sentence], whole: Sequence[Sentence]) -> bool:
    """`My editor` is neither `your editor` nor just any; what `we` do may be said without a word of us."""
    mine = {person for sentence in part for person in sentence.persons}
    yours = {person for sentence in whole for person in sentence.persons}
    return mine <= yours or (mine == {"we"} and not yours)
