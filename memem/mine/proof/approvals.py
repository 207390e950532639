"""Find what a person approved: the part of Claude's message that a short answer agrees to or chooses."""

import re

from memem.inject.prompt_kinds import is_approval

MAX_CHARS = 3_000  # of a proposal: the last ones, which the answer follows

_ITEM = re.compile(
    r"^[ \t>]*(?:#{1,6}[ \t]+)?(?:[-*+][ \t]+)?(?:\*\*|__)?(?:(?:option|approach|variant|plan)[ \t]+)?"
    r"\(?(?P<label>\d{1,2}|[A-Ha-h])(?:\*\*|__)?[.):](?=[ \t*_])",
    re.MULTILINE | re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\W*(?:no(?:pe|t)?|nein|non|nee|stop|wait|cancel|never ?mind|不|别|没)\b(?! (?:problem|worries))", re.IGNORECASE
)
_PARAGRAPHS = re.compile(r"\n[ \t]*\n")
_QUESTION = re.compile(r"[?？]")
_RULE = re.compile(r"\s*[-*_]{3,}\s*")
_SECTION = re.compile(r"\s*(?:#{1,6}\s|[-*_]{3,}\s*\Z|\*\*[^*\n]+\*\*:?\s*(?:\n|\Z))")
_REVIEW = re.compile(
    r"\b(?:this|that|these|it|all)\b.*\b(?:right|good|ok|okay|fine|match\w*|sense|correct|works?)\b"
    r"|\bwhat do you think\b|\bany (?:concerns|objections|changes)\b|\bpasst\b",
    re.IGNORECASE | re.DOTALL,
)
_NUMBERS = re.compile(r"\d{1,2}")
_LETTERS = re.compile(
    r"\A\W*([a-h])\W*\Z|\b(?:options?|approach|variant|plan)\s+([a-h])\b|\b([a-h])(?=\W+(?:please|then)\W*\Z)",
    re.IGNORECASE,
)
_ORDINALS = {
    **dict(zip(("first", "second", "third", "fourth", "fifth"), range(1, 6), strict=True)),
    **{"former": 1, "latter": -1, "last": -1},
}
_ORDINAL = re.compile(rf"\b({'|'.join(_ORDINALS)})\b", re.IGNORECASE)


def find_proposal(answer: str, message: str) -> str:
    """Return the part of a message that an answer approves; empty if it is no approval, or chooses something else."""
    if not message or _REFUSAL.match(answer) or not is_approval(answer):
        return ""
    choices = _parse_choices(answer)
    part = _select_items(message, choices) if choices else _find_question(message)
    return part.strip()[-MAX_CHARS:]


def _parse_choices(answer: str) -> list[str | int]:
    """Return the labels that an answer names; a number below zero counts from the end of the list."""
    letters = [next(filter(None, match.groups())).upper() for match in _LETTERS.finditer(answer)]
    ordinals = [_ORDINALS[match[1].lower()] for match in _ORDINAL.finditer(answer)]
    return [*_NUMBERS.findall(answer), *letters, *ordinals]


def _select_items(message: str, choices: list[str | int]) -> str:
    items = _parse_last_list(message)
    texts = list(items.values())
    found = [items.get(choice, "") if isinstance(choice, str) else _get_nth(texts, choice) for choice in choices]
    return "\n".join(found) if all(found) else ""


def _get_nth(texts: list[str], number: int) -> str:
    place = number - 1 if number > 0 else number
    return texts[place] if -len(texts) <= place < len(texts) else ""


def _parse_last_list(message: str) -> dict[str, str]:
    """Return the items of the last list with labels; an item ends where the next one or another paragraph begins."""
    items: dict[str, str] = {}
    marks = list(_ITEM.finditer(message))
    for number, mark in enumerate(marks):
        label = mark["label"].upper()
        if label in ("1", "A"):
            items = {}
        is_last = number + 1 == len(marks)
        text = message[mark.start() : len(message) if is_last else marks[number + 1].start()]
        items[label] = _take_own_paragraphs(text) if is_last else text.strip()
    return items


def _take_own_paragraphs(text: str) -> str:
    """Return the first paragraph of the last item, and those that are indented below it."""
    first, *others = _PARAGRAPHS.split(text)
    own = [first]
    for other in others:
        if not other.startswith((" ", "\t")):
            break
        own.append(other)
    return "\n\n".join(own).strip()


def _find_question(message: str) -> str:
    """Return the last question with what it is about; all of a message that asks nothing."""
    paragraphs = _PARAGRAPHS.split(message.strip())
    last = max((place for place, text in enumerate(paragraphs) if _QUESTION.search(text)), default=-1)
    if last < 0:
        return message
    before = last
    while before and _RULE.fullmatch(paragraphs[before - 1]):
        before -= 1
    if _REVIEW.search(paragraphs[last]):  # "does this look right?" asks about the section that it closes
        starts = (place for place in range(before) if _SECTION.match(paragraphs[place]))
        return "\n\n".join(paragraphs[max(starts, default=0) :])
    return "\n\n".join(paragraphs[max(0, before - 1) :])
