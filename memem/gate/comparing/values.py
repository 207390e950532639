"""Where two sentences give one subject different values: numbers, versions, names, or a few plain words."""

from memem.gate.comparing import families
from memem.gate.comparing import lexicon as words
from memem.gate.comparing.claims import Sentence
from memem.gate.comparing.pairing import Pair, text_of, total
from memem.gate.comparing.subjects import any_rivals, are_rivals, are_synonyms, names_subject
from memem.gate.comparing.wording import ASIDE, HEAD, HELD, LITERAL, NUMBER, VALUE, VERB, Token
from memem.gate.relation import Difference


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
