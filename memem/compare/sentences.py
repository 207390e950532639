"""Compare two sentences word by word."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from memem.compare.relation import Difference
from memem.compare.tokens import NAME, NUMBER, SMALL, Sentence, Token, opposites, phrases, quantities, words

MAX_NAME_WORDS = 3
AUXILIARIES = {"do", "any", "more"}

Segment = tuple[tuple[Token, ...], tuple[Token, ...], int]  # the old words, the new words, and where the old ones begin


def differences(old: Sentence, new: Sentence) -> list[Difference]:
    """The values in which two sentences differ; none when anything else differs too."""
    if old.is_question != new.is_question or old.keys == new.keys:
        return []
    shared = {token.key for token in old.content} & {token.key for token in new.content}
    if shared.isdisjoint(old.telling) and not (old.goes_on and new.goes_on):
        return []
    if swapped := _swapped(old.spoken, new.spoken):
        return [swapped]
    segments = _segments(old, new)
    verb = next((place for place, token in enumerate(old.spoken) if token.is_verb), -1)
    # "Fastly is our CDN": another subject is another value.
    may_differ_in_subject = len(segments) == 1 and all(segments[0][:2]) and old.is_definite and new.is_definite
    found = []
    for before, after, place in segments:
        previous = old.spoken[place - 1] if place else None
        difference = _difference(before, after, previous, alone=len(segments) == 1 and len(shared) > 1)
        in_subject = place < verb and not may_differ_in_subject
        if difference is None or (difference.kind != "negation" and in_subject):
            return []
        found.append(difference)
    return found if len({each.kind for each in found} | {"number"}) == 1 or len(found) == 1 else []


def is_part(part: Sentence, whole: Sentence) -> bool:
    """Whether a sentence begins with all the words of another, and only adds to them."""
    keys = part.keys
    if part.is_question or whole.keys[: len(keys)] != keys or len(keys) == len(whole.keys):
        return False
    limited = not words("limits").isdisjoint(whole.keys[len(keys) :])
    return whole.is_addition(len(keys)) and not limited and not whole.is_question


def overlap(old: Sentence, new: Sentence) -> float:
    """How many of the telling words of the shorter sentence are in the other, from 0 to 1."""
    common = len(old.telling.keys() & new.telling.keys())
    return common / min(len(old.telling), len(new.telling)) if common > 1 else 0.0


def _segments(old: Sentence, new: Sentence) -> list[Segment]:
    """The runs of words that differ, without a mere addition at the end of one sentence."""
    matcher = SequenceMatcher(None, old.keys, new.keys, autojunk=False)
    found = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if len(found) > 1:
        kind, one, two, three, four = found[-1]
        adds = (kind == "insert" and four == len(new.keys) and new.is_addition(three)) or (
            kind == "delete" and two == len(old.keys) and old.is_addition(one)
        )
        found = found[:-1] if adds else found
    return [(old.spoken[one:two], new.spoken[three:four], one) for _, one, two, three, four in found]


def _swapped(old: Sequence[Token], new: Sequence[Token]) -> Difference | None:
    """Two things that have changed places: "from A to B" and "from B to A"."""
    if sorted(token.key for token in old) != sorted(token.key for token in new):
        return None
    changed = [place for place, (one, other) in enumerate(zip(old, new, strict=True)) if one.key != other.key]
    old, new = old[changed[0] : changed[-1] + 1], new[changed[0] : changed[-1] + 1]
    keys, others = [token.key for token in old], [token.key for token in new]
    for first in range(1, MAX_NAME_WORDS + 1):
        for last in range(1, min(MAX_NAME_WORDS, len(keys) - first - 1) + 1):
            end = len(keys) - last
            if others == [*keys[end:], *keys[first:end], *keys[:first]]:
                one, two = text_of(old[:first]), text_of(old[end:])
                return Difference("direction", f"{one} -> {two}", f"{two} -> {one}")
    return None


def _difference(
    old: tuple[Token, ...], new: tuple[Token, ...], previous: Token | None, *, alone: bool
) -> Difference | None:
    one, two = text_of(old), text_of(new)
    negated = _is_negation(old) or _is_negation(new)
    opposed = any((a.key, b.key) in opposites() for a in old for b in new)
    if (negated and not (old and new)) or (opposed and len(old) == len(new) == 1):
        return Difference("negation", one, two)
    if not old or not new or negated or opposed or len(old) > MAX_NAME_WORDS or len(new) > MAX_NAME_WORDS:
        return None
    kinds = {token.kind for token in (*old, *new) if token.kind != SMALL}
    if kinds == {NUMBER} and len(old) == len(new):
        is_another_thing = previous is not None and previous.key in words("numbered") and previous.raw.islower()
        return None if is_another_thing else number_difference(old[-1], new[-1], one, two)
    if all(len(some) == 1 or all(token.kind == NAME for token in some) for some in (old, new)) and any(
        token.kind == NAME or token.raw[:1].isupper() for token in (*old, *new)
    ):
        return Difference("name", one, two) if NUMBER not in kinds else None
    is_value = previous is not None and (previous.key == "be" or previous.key in words("choices"))
    return Difference("value", one, two) if alone and is_value and len(old) == len(new) == 1 else None


def _is_negation(tokens: tuple[Token, ...]) -> bool:
    keys, denials = {token.key for token in tokens}, phrases("negations").keys()
    return bool(keys & denials) and keys - denials <= AUXILIARIES


def number_difference(old: Token, new: Token, one: str = "", two: str = "") -> Difference | None:
    """The difference between two numbers; none between minutes and gigabytes."""
    (amount, _, unit), (other, _, other_unit) = old.key.partition(" "), new.key.partition(" ")
    if unit and other_unit and quantities()[unit] != quantities()[other_unit]:
        return None
    is_version = amount.startswith("v") or amount.count(".") > 1 or other.count(".") > 1
    kind = "version" if is_version else "unit" if amount == other else "number"
    return Difference(kind, one or old.raw, two or new.raw)


def text_of(tokens: Sequence[Token]) -> str:
    return " ".join(token.raw for token in tokens)
