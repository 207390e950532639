"""Two sentences side by side: what both say, and what only one of them says."""

from collections.abc import Iterable
from dataclasses import dataclass

from memem.gate.comparing import lexicon as words
from memem.gate.comparing import verbs
from memem.gate.comparing.claims import Sentence
from memem.gate.comparing.wording import ASIDE, HELD, NAME, SCOPE, Token


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
    return begins and any(each.key == "be" or each.low in verbs.COPULAS for each in after)


def total(tokens: Iterable[Token]) -> float:
    """How much the words say together."""
    return sum(token.weight for token in tokens)


def text_of(tokens: Iterable[Token]) -> str:
    """The words as they were written."""
    return " ".join(token.raw for token in tokens)
