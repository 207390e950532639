"""Extract lasting statements by the patterns of `rules.toml`; a wrong memory costs more than a missing one."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memem.core.conversation import ADD, GENERAL_SCOPE, HUMAN, PROJECT_SCOPE, Operation, Turn
from memem.core.data_files import load_table

MAX_TURN_CHARS = 8_000  # longer turns are pasted
MAX_SENTENCE_CHARS, MAX_QUOTE_CHARS, MAX_TITLE_CHARS = 400, 300, 80
MAX_KEYS, MAX_PATHS = 8, 5
TROUBLE_TURNS = 8  # after an error, in which a fix belongs to it


class SentenceRule(NamedTuple):
    kind: str
    importance: int
    pattern: re.Pattern[str]


class _Sentence(NamedTuple):
    quote: str  # as written in the turn
    text: str  # on one line, with plain apostrophes


class _Opened(NamedTuple):
    """A sentence without its opening and closing words, and the kinds of these."""

    text: str
    explicit: bool
    errand: bool
    denial: bool


_TABLE = load_table(__file__, "rules.toml")
_FRAGMENTS: dict[str, str] = {}


def _expand(text: str) -> str:
    return re.sub(r"%([A-Z_]+)%", lambda match: _FRAGMENTS[match[1]], text)


def _compile(forms: list[str], flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{_expand(form)})" for form in forms), flags)


for _name, _value in _TABLE["fragments"].items():
    _FRAGMENTS[_name] = _expand(_value if isinstance(_value, str) else f"(?:{'|'.join(_value)})")
PATTERNS = {name: _compile(forms) for name, forms in _TABLE["patterns"].items()}
PATTERNS |= {name: _compile(forms, re.MULTILINE) for name, forms in _TABLE["exact_patterns"].items()}
RULES = {
    name: tuple(SentenceRule(entry["kind"], entry["importance"], _compile(entry["forms"])) for entry in entries)
    for name, entries in _TABLE["rules"].items()
}


def extract(turns: Sequence[Turn]) -> list[Operation]:
    """Return the operations that the rules find, in order, each statement once."""
    operations: dict[str, Operation] = {}
    trouble, since = "", 0
    for number, turn in enumerate(turns):
        if number - since > TROUBLE_TURNS:
            trouble = ""
        for sentence in _sentences(turn.text):
            human = turn.role == HUMAN
            operation = _fix(sentence, trouble, human) or (_statement(sentence) if human else None)
            if operation:
                operations.setdefault(operation.content.casefold(), operation)
                trouble = "" if operation.kind == "lesson" else trouble
            elif human and PATTERNS["TROUBLE"].search(sentence.text) and not PATTERNS["QUESTION"].match(sentence.text):
                trouble, since = sentence.text, number
    return list(operations.values())


def states_wish(turns: Sequence[Turn]) -> bool:
    """Whether a person asks to remember something, or plainly states or corrects something."""
    sentences = (sentence for turn in turns if turn.role == HUMAN for sentence in _sentences(turn.text))
    if extract(turns):
        return True
    for text in (sentence.text for sentence in sentences):
        opened = _open(text)  # it may begin with "remember" even if no rule matches it
        is_question = PATTERNS["QUESTION"].match(text) or PATTERNS["RECALLED"].search(opened.text)
        if opened.explicit and not is_question and _says_enough(opened.text):
            return True
    return False


def _statement(sentence: _Sentence) -> Operation | None:
    opened = _open(sentence.text)
    text = opened.text
    named = opened.denial and PATTERNS["NAMED"].match(text)
    if not (named or _says_enough(text)) or PATTERNS["QUESTION"].match(text) or PATTERNS["UNRESOLVED"].search(text):
        return None
    if opened.explicit:
        rule = None if PATTERNS["RECALLED"].search(text) else _first(text, (*RULES["RULES"], *RULES["REMEMBERED"]))
        return _operation(text, rule.kind, rule.importance + 1, sentence.quote) if rule else None
    reason = PATTERNS["BECAUSE"].search(text)  # may well be about the moment
    if PATTERNS["PASSING"].search(text[: reason.start()] if reason else text):
        return None
    if opened.errand:
        return _operation(text, "convention", 4, sentence.quote) if PATTERNS["HABITUAL"].search(text) else None
    rule = _first(text, (*RULES["CORRECTED"], *RULES["RULES"]) if opened.denial else RULES["RULES"])
    return _operation(text, rule.kind, 4 if opened.denial else rule.importance, sentence.quote) if rule else None


def _fix(sentence: _Sentence, trouble: str, human: bool) -> Operation | None:
    """Return the fix of an error stated in the same sentence, or of the `trouble` a person reported before."""
    text = _open(sentence.text).text
    if not PATTERNS["FIX"].search(text) or PATTERNS["UNSURE"].search(text) or PATTERNS["QUESTION"].match(text):
        return None
    alone = bool(PATTERNS["TROUBLE"].search(text)) and human
    # Claude often presents a guess as a fix: it counts only for a person's error, and if it names something.
    if not (alone or trouble) or len(text.split()) < 5 or not (human or _keys(text)):
        return None
    content = text if alone else f"{_as_statement(trouble)} {_as_statement(text)}"
    return _operation(content, "lesson", 3, sentence.quote)


def _open(text: str) -> _Opened:
    seen = set()
    if closing := PATTERNS["CLOSING"].search(text):
        text = text[: closing.start()]
        seen.add(closing.lastgroup)
    while opening := PATTERNS["OPENING"].match(text):
        text = text[opening.end() :]
        seen.add(opening.lastgroup)
    return _Opened(text.strip(), "explicit" in seen, "errand" in seen, "denial" in seen)


def _first(text: str, rules: tuple[SentenceRule, ...]) -> SentenceRule | None:
    return next((rule for rule in rules if rule.pattern.match(text)), None)


def _says_enough(text: str) -> bool:
    return len(text) >= 6 if PATTERNS["WIDE"].search(text) else len(text.split()) >= 3


def _sentences(text: str) -> Iterator[_Sentence]:
    """Yield the sentences that were typed, without pasted code, logs, quotes and documents."""
    if len(text) > MAX_TURN_CHARS or len(PATTERNS["HEADING"].findall(text)) > 1:
        return
    for start, end in _paragraphs(text):
        for first, last in _parts(text[start:end]):
            quote = text[start + first : start + last].strip()
            if quote and len(quote) <= MAX_SENTENCE_CHARS:
                yield _Sentence(quote[:MAX_QUOTE_CHARS], " ".join(quote.split()).replace("’", "'"))


def _paragraphs(text: str) -> list[tuple[int, int]]:
    """Return the spans of prose, wrapped lines joined; none if most lines are not prose."""
    spans: list[tuple[int, int]] = []
    foreign, fenced = 0, False
    for line in PATTERNS["LINE"].finditer(text):
        if "```" in line[0]:
            fenced ^= line[0].count("```") % 2 == 1
        elif fenced or not line[0].strip():
            continue
        elif PATTERNS["FOREIGN"].match(line[0]):
            foreign += 1
        elif spans and _is_unfinished(text, spans[-1], line.start()) and line[0].lstrip()[:1].islower():
            spans[-1] = (spans[-1][0], line.end())
        else:
            bullet = PATTERNS["BULLET"].match(line[0])
            spans.append((line.start() + (bullet.end() if bullet else 0), line.end()))
    return spans if foreign <= len(spans) else []


def _is_unfinished(text: str, span: tuple[int, int], next_line: int) -> bool:
    last = text[slice(*span)]
    return span[1] + 1 == next_line and len(last) >= 50 and last.rstrip()[-1:] not in ".!?:;"


def _parts(paragraph: str) -> list[tuple[int, int]]:
    """Return the spans of sentences; a bare "no" is joined to the next one, a reason to the one before."""
    parts: list[tuple[int, int]] = []
    start = 0
    for end in [*(stop.end() for stop in PATTERNS["STOP"].finditer(paragraph)), len(paragraph)]:
        if end == start or PATTERNS["ABBREVIATION"].search(paragraph, max(start, end - 12), end):
            continue
        is_reason = PATTERNS["REST"].match(paragraph, start)
        if parts and (is_reason or PATTERNS["BARE_DENIAL"].fullmatch(paragraph, *parts[-1])):
            parts[-1] = (parts[-1][0], end)
        else:
            parts.append((start, end))
        start = end
    return parts


def _operation(text: str, kind: str, importance: int, quote: str) -> Operation:
    content = _as_statement(text)
    paths = tuple(dict.fromkeys(path.rstrip(".") for path in PATTERNS["PATH"].findall(content)))[:MAX_PATHS]
    # A preference applies to every project, unless it is about this one.
    is_personal = kind == "preference" and not PATTERNS["THIS_PROJECT"].search(content) and not paths
    return Operation(
        op=ADD,
        target=None,
        title=_title(content),
        content=content,
        kind=kind,
        scope=GENERAL_SCOPE if is_personal or PATTERNS["EVERY_PROJECT"].search(content) else PROJECT_SCOPE,
        importance=importance,
        keys=_keys(content),
        paths=paths,
        quote=quote,
    )


def _as_statement(text: str) -> str:
    """Add a full stop, and a capital letter unless the text begins with a name such as `useState`."""
    text = text.rstrip(" .!。！,;:")
    if PATTERNS["PLAIN_WORD"].match(text):
        text = text[0].upper() + text[1:]
    return text + ("。" if PATTERNS["WIDE"].match(text[-1:]) else ".")


def _title(content: str) -> str:
    title = content.rstrip(".。")
    if len(title) <= MAX_TITLE_CHARS:
        return title
    point = PATTERNS["END_OF_POINT"].split(title, maxsplit=1)[0]
    if len(point) <= MAX_TITLE_CHARS:
        return point
    cut = point[: MAX_TITLE_CHARS - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"


def _keys(content: str) -> tuple[str, ...]:
    names = [match[1] for match in PATTERNS["CODE"].finditer(content)]
    names += PATTERNS["IDENTIFIER"].findall(PATTERNS["CODE"].sub(" ", content))
    return tuple(dict.fromkeys(name.rstrip("./") for name in names))[:MAX_KEYS]
