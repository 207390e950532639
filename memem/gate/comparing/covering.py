"""Whether one sentence holds all that another says."""

from memem.gate.comparing import lexicon as words
from memem.gate.comparing import verbs
from memem.gate.comparing.claims import Sentence
from memem.gate.comparing.wording import HEAD, Token, stem


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


_HEDGES = frozenset(map(stem, verbs.HEDGES))


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
