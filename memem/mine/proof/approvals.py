"""Find what a person approved: the part of Claude's message that a short answer agrees to or chooses."""

import re

from memem.inject.prompt_kinds import is_approval

MAX_CHARS = 3_000  # of a proposal: the last ones, which the answer follows

_ITEM = re.compile(
    r"^(?P<indent>[ \t>]*)(?P<heading>#{1,6}[ \t]+)?(?:[-*+][ \t]+)?(?:\*\*|__)?"
    r"(?:(?:option|approach|variant|plan)[ \t]+)?"
    r"\(?(?P<label>\d{1,2}|[A-Ha-h])(?:\*\*|__)?[.):](?=[ \t*_])",
    re.MULTILINE | re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\b(?:n|no|nope|not|nein|non|nee|stop|wait|cancel)\b|不(?![错錯])|[没沒](?![问問][题題]|[错錯]|事)|[别別]",
    re.IGNORECASE,
)
_UNDECIDED = re.compile(r"\b(?:or|either|oder)\b", re.IGNORECASE)
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
# A greeting, thanks and a chore agree to nothing.
_NO_ANSWER = frozenset(
    """hi hello hey bye cheers thanks thank you thx ty i see got it understood commit push merge run retry try again now
    then next and please pls the this that with""".split()
)
_NOD = re.compile("[👍👌🆗✅✔💯]")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n")
_QUESTION = re.compile(r"[?？]")
_SECTION = re.compile(r"\s*(?:#{1,6}\s|[-*_]{3,}\s*\Z|\*\*[^*\n]+\*\*:?\s*(?:\n|\Z))")
_REVIEW = re.compile(
    r"\b(?:this|that|these|it|all)\b.*\b(?:right|good|ok|okay|fine|match\w*|sense|correct|works?)\b"
    r"|\byour thoughts\b|\bany (?:concerns|objections|changes)\b|\bpasst\b",
    re.IGNORECASE | re.DOTALL,
)
_ALTERNATIVES = re.compile(r"\b(?:which|what|or|welche\w*|oder)\b[^.?!？]*[?？]\s*\Z", re.IGNORECASE)
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
    if not message or not is_assent(answer):
        return ""
    choices = _parse_choices(answer)
    part = _select_items(message, choices) if choices else _find_question(message)
    return part.strip()[-MAX_CHARS:]


def is_assent(answer: str) -> bool:
    """Whether a message only approves or chooses something: refusals, questions, thanks and "either" do not."""
    if any(sign.search(answer) for sign in (_REFUSAL, _QUESTION, _UNDECIDED)) or not is_approval(answer):
        return False
    words = re.findall(r"[^\W_]+", answer.lower())
    return not _NO_ANSWER.issuperset(words) if words else bool(_NOD.search(answer))


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
    marks = _marks_of_last_list(FENCE.sub(lambda code: " " * len(code[0]), message))
    for number, mark in enumerate(marks):
        is_last = number + 1 == len(marks)
        text = message[mark.start() : len(message) if is_last else marks[number + 1].start()]
        items[mark["label"].upper()] = _take_own_paragraphs(text) if is_last else text.strip()
    return items


def _marks_of_last_list(message: str) -> list[re.Match[str]]:
    """Return the labels of the last list, without those of lists inside its items."""
    marks = list(_ITEM.finditer(message))
    ours: list[re.Match[str]] = []
    has_inner = False
    for number, mark in enumerate(marks):
        if ours and _is_inside(mark, ours[-1], marks[number + 1 :], message, is_usual=has_inner):
            has_inner = True
            continue
        if mark["label"].upper() in ("1", "A"):
            ours, has_inner = [], False
        ours.append(mark)
    return ours


def _is_inside(
    mark: re.Match[str], item: re.Match[str], following: list[re.Match[str]], message: str, *, is_usual: bool
) -> bool:
    """Whether a label is of a list inside an item: one that is indented, below a heading, or of another kind.

    `is_usual`: an item before has such a list.
    """
    if len(mark["indent"].expandtabs()) > len(item["indent"].expandtabs()) or (item["heading"] and not mark["heading"]):
        return True
    if mark["label"].isdigit() == item["label"].isdigit():
        return False
    goes_on = any(other["label"].isdigit() == item["label"].isdigit() for other in following)
    return is_usual or goes_on or not _PARAGRAPHS.search(message, item.start(), mark.start())


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
    if _ALTERNATIVES.search(paragraphs[last]):
        return ""  # a yes to "Redis or Postgres?" chooses neither
    before = last
    while before and _RULE.fullmatch(paragraphs[before - 1]):
        before -= 1
    start = max(0, before - 1)
    if _REVIEW.search(paragraphs[last]):  # "does this look right?" asks about the section that it closes
        start = max((place for place in range(before) if _SECTION.match(paragraphs[place])), default=0)
    return "\n\n".join(text for text in paragraphs[start:] if not _RULE.fullmatch(text))
