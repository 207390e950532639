"""Whether two sentences are about the same subject, and where they give it different values."""

from collections.abc import Iterable

from memem.compare import families
from memem.compare import lexicon as words
from memem.compare.claims import Sentence
from memem.compare.pairing import Pair, text_of, total
from memem.compare.relation import Difference
from memem.compare.wording import ASIDE, HEAD, HELD, LITERAL, NUMBER, SCOPE, VALUE, VERB, Token


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


def values(pair: Pair) -> list[Difference]:
    """Values that stand against each other."""
    old = [token for token in pair.only_old if _can_be_value(token)]
    new = [token for token in pair.only_new if _can_be_value(token)]
    if not old or not new or not _has_context(pair, old, new):
        return []
    against = [(one, other) for one in old for other in new if _stand_against(one, other, pair)]
    alike = {token.raw for couple in against if _measure_one(*couple) for token in couple}
    found = [
        Difference(_kind(one, other), one.raw, other.raw)
        for one, other in against
        if _measure_one(one, other) or not {one.raw, other.raw} & alike
    ]
    return found or _words_apart(pair, old, new)


def _can_be_value(token: Token) -> bool:
    if token.state != HELD or (names_subject(token) and not token.number):
        return False
    return bool(token.number) or token.role == VALUE or (token.role != ASIDE and token.is_value)


def _has_context(pair: Pair, old: list[Token], new: list[Token]) -> bool:
    """Whether it is clearly one subject that has the one value and the other."""
    rest = [token for token in pair.only_old if token not in old] + [t for t in pair.only_new if t not in new]
    rivals = any_rivals(old, new)
    if any(token.stands_for_a_place for token in (*rest, *(() if rivals else (*old, *new)))):
        return False
    if not rest:
        both_go_on = pair.old.goes_on and pair.new.goes_on
        return rivals or both_go_on or any(not token.is_generic for token, _ in pair.shared)
    if _has_head(pair.old) and _has_head(pair.new) and any(t.role == HEAD and t.is_value for t in rest):
        return False
    return _is_framed(pair, rest, rivals=rivals)


def _is_framed(pair: Pair, rest: list[Token], *, rivals: bool) -> bool:
    """Whether the two say the same kind of thing: the same verb of the same subject, or most words in common."""
    telling = [(one, two) for one, two in pair.shared if not one.is_generic and not one.role == two.role == VERB]
    in_one_frame = pair.old.verb == pair.new.verb != ""
    if rivals:
        return in_one_frame or bool(telling)
    headed = _has_head(pair.old) and _has_head(pair.new)
    if in_one_frame and headed and not any(one.role == two.role == HEAD for one, two in telling):
        return False
    enough = len(telling) >= (1 if in_one_frame or _is_named_again(pair) else 2)
    return enough and pair.common >= total(rest) / 2


def _is_named_again(pair: Pair) -> bool:
    """Whether one names the value of the other without giving it the same place."""
    return any(token.stem in pair.new.stems for token in pair.only_old) or any(
        token.stem in pair.old.stems for token in pair.only_new
    )


def _has_head(sentence: Sentence) -> bool:
    return any(token.role == HEAD for token in sentence.content)


def _stand_against(one: Token, other: Token, pair: Pair) -> bool:
    if one.number and other.number:
        if one.number.measures != other.number.measures and one.number.unit and other.number.unit:
            return False
        left = {token.key for token in pair.only_old}, {token.key for token in pair.only_new}
        return not (one.follows in left[0] and other.follows in left[1])
    if one.number or other.number:
        return False
    if are_rivals(one, other):
        return True
    return one.is_value and other.is_value and one.role == other.role and _slot(one) == _slot(other)


def _measure_one(one: Token, other: Token) -> bool:
    """Whether two numbers are amounts of the same: of time, of memory."""
    return bool(one.number and other.number and one.number.measures == other.number.measures != "")


def _slot(token: Token) -> str:
    """The preposition that a value stands after, or none."""
    return token.follows if token.follows in words.FUNCTION else ""


def _kind(one: Token, other: Token) -> str:
    if one.number and other.number:
        if one.number.version or other.number.version or one.follows in families.VERSIONED:
            return "version"
        return "unit" if one.number.digits == other.number.digits else "number"
    return "name"


def _words_apart(pair: Pair, old: list[Token], new: list[Token]) -> list[Difference]:
    """Plain words in the place of a value: few, and with nearly everything else in common."""
    has_its_value = any(
        {one.kind, two.kind} & {NUMBER, LITERAL} and VALUE in (one.role, two.role) for one, two in pair.shared
    )
    if any(token.number for token in old) and any(token.number for token in new):
        return []
    if has_its_value or pair.old.verb != pair.new.verb or _slot(old[0]) != _slot(new[0]):
        return []
    if max(len(old), len(new)) > 3 or are_synonyms(old, new) or (pair.old.marks ^ pair.new.marks) & words.CONDITIONS:
        return []
    rest = total(token for token in (*pair.only_old, *pair.only_new) if token not in old and token not in new)
    if pair.common < max(len(old), len(new)) or rest > pair.common / 2:
        return []
    return [Difference("value", text_of(old), text_of(new))]
