"""Whether two sentences are about different things."""

from collections.abc import Iterable

from memem.gate.comparing import families
from memem.gate.comparing.claims import Sentence
from memem.gate.comparing.pairing import Pair
from memem.gate.comparing.wording import ASIDE, HEAD, HELD, SCOPE, Token


def is_other_subject(pair: Pair) -> bool:
    """Whether each side names a subject that the other does not, or a place where it holds."""
    old = [token for token in pair.only_old if names_subject(token)]
    new = [token for token in pair.only_new if names_subject(token)]
    if old and new and are_marked(old) and are_marked(new):
        return True
    places_old = [token for token in pair.only_old if token.stands_for_a_place]
    places_new = [token for token in pair.only_new if token.stands_for_a_place]
    if places_old and places_new and not any_rivals(places_old, places_new):
        return True
    return bool(old and new) and not are_synonyms(old, new)


def names_subject(token: Token) -> bool:
    """Whether it tells what the sentence is about; a number only where it tells one thing from another."""
    return token.role == HEAD and (token.named or not token.number)


def are_marked(tokens: list[Token]) -> bool:
    return any(token.is_value or token.stands_for_a_place for token in tokens)


def are_synonyms(old: Iterable[Token], new: Iterable[Token]) -> bool:
    groups = {families.SYNONYMS.get(token.key) for token in old} - {None}
    return any(families.SYNONYMS.get(token.key) in groups for token in new)


def any_rivals(old: list[Token], new: list[Token]) -> bool:
    return any(are_rivals(one, other) for one in old for other in new)


def are_rivals(one: Token, other: Token) -> bool:
    family = families.RIVALS.get(one.low)
    return family is not None and family == families.RIVALS.get(other.low)


def has_other_scope(pair: Pair) -> bool:
    """Whether each side limits what it says to something else."""
    old, new = _scope(pair.only_old), _scope(pair.only_new)
    if any_rivals(old, new) and len(old) == len(pair.only_old) and len(new) == len(pair.only_new):
        return False
    return bool(old and new) and not are_synonyms(old, new)


def _scope(left: tuple[Token, ...]) -> list[Token]:
    """The words of a scope; the number of a thing among them only beside another value: `in phase 2 it takes 5 s`."""
    among_values = any(token.is_value and token.role not in (SCOPE, ASIDE) for token in left)
    return [token for token in left if token.role == SCOPE and (not token.number or (token.named and among_values))]


def leaves(pair: Pair, over: list[Token], back: list[Token]) -> bool:
    """Whether the subjects differ only because one says who left a thing, and the other what it was."""
    left_by_new = any(token.is_value for token in over) and _says_who(pair.new, pair.old)
    left_by_old = any(token.is_value for token in back) and _says_who(pair.old, pair.new)
    return (left_by_new or left_by_old) and not _is_marked(pair)


def _says_who(sentence: Sentence, other: Sentence) -> bool:
    heads = [token for token in sentence.content if token.role == HEAD and token.state == HELD]
    return sentence.has_moved or all(token.stem in other.stems for token in heads)


def _is_marked(pair: Pair) -> bool:
    """Whether both sides name their own subject, by a name or a place."""
    return are_marked([t for t in pair.only_old if names_subject(t)]) and are_marked(
        [t for t in pair.only_new if names_subject(t)]
    )
