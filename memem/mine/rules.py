"""Extract what is worth remembering by rules, when there is no model to ask.

A wrong memory costs more than a missing one. A sentence is kept only if its form says that it outlives the task, and if
it can be understood alone: a person's order to remember, a correction, a rule, a decision with its reason, a preference
or a fact about the environment; or the fix of an error, which Claude may have stated.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memem.core.conversation import ADD, GENERAL_SCOPE, HUMAN, PROJECT_SCOPE, Operation, Turn
from memem.mine.rule_patterns import FRAGMENTS, PATTERNS, RULES, SentenceRule

LONGEST_TURN = 8_000  # characters; longer turns are pasted
LONGEST_SENTENCE = 400
LONGEST_QUOTE = 300
LONGEST_TITLE = 80
MOST_KEYS = 8
MOST_PATHS = 5
TROUBLE_LASTS = 8  # turns after an error in which a fix belongs to it


@dataclass(frozen=True, slots=True)
class _Sentence:
    quote: str  # as it stands in the turn
    text: str  # on one line, with plain apostrophes


@dataclass(frozen=True, slots=True)
class _Opened:
    """A sentence without its opening and closing words, and what those said about it."""

    text: str
    explicit: bool
    errand: bool
    denial: bool


def extract(turns: Sequence[Turn]) -> list[Operation]:
    """Return the operations that the rules find, in order, each statement once."""
    operations: dict[str, Operation] = {}
    trouble, since = "", 0
    for number, turn in enumerate(turns):
        if number - since > TROUBLE_LASTS:
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
    return bool(extract(turns)) or any(_is_wish(sentence.text) for sentence in sentences)


def _is_wish(text: str) -> bool:
    """Whether a sentence begins with "remember" or similar, even if no rule can make a memory of it."""
    opened = _open(text)
    is_asked = PATTERNS["QUESTION"].match(text) or PATTERNS["RECALLED"].search(opened.text)
    return opened.explicit and not is_asked and _says_enough(opened.text)


def _statement(sentence: _Sentence) -> Operation | None:
    opened = _open(sentence.text)
    text = opened.text
    named = opened.denial and PATTERNS["NAMED"].match(text)
    if not (named or _says_enough(text)) or PATTERNS["QUESTION"].match(text) or PATTERNS["UNRESOLVED"].search(text):
        return None
    if opened.explicit:
        rule = None if PATTERNS["RECALLED"].search(text) else _first(text, (*RULES["RULES"], *RULES["REMEMBERED"]))
        return _operation(text, rule.kind, rule.importance + 1, sentence.quote) if rule else None
    if _is_passing(text):
        return None
    if opened.errand:
        return _operation(text, "convention", 4, sentence.quote) if PATTERNS["HABITUAL"].search(text) else None
    rule = _first(text, (*RULES["CORRECTED"], *RULES["RULES"]) if opened.denial else RULES["RULES"])
    return _operation(text, rule.kind, 4 if opened.denial else rule.importance, sentence.quote) if rule else None


def _fix(sentence: _Sentence, trouble: str, human: bool) -> Operation | None:
    """Return the fix of an error stated in the same sentence, or of the `trouble` a person reported before.

    Claude often presents a guess as a fix: its statement counts only for a person's error, and if it names something.
    """
    text = _open(sentence.text).text
    if not PATTERNS["FIX"].search(text) or PATTERNS["UNSURE"].search(text) or PATTERNS["QUESTION"].match(text):
        return None
    alone = bool(PATTERNS["TROUBLE"].search(text)) and human
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
    return next((rule for rule in rules if rule.forms.match(text)), None)


def _is_passing(text: str) -> bool:
    """Whether the sentence is about the moment; its reason may well be."""
    reason = PATTERNS["BECAUSE"].search(text)
    return bool(PATTERNS["PASSING"].search(text[: reason.start()] if reason else text))


_PLAIN_WORD = re.compile(r"[a-zà-ü']+(?:[\s,:]|$)")
_WIDE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def _says_enough(text: str) -> bool:
    return len(text) >= 6 if _WIDE.search(text) else len(text.split()) >= 3


_LINE = re.compile(r"[^\n]+")
_BULLET = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+")
# Quotes, indented text, logs, diffs, traces, commands, markup, data.
_FOREIGN = re.compile(
    r"\s*(?:[>+@$<{}\[\]|\"“„'‘/#]|-(?=\S)|[-*] (?://|#)|\d{2,4}[-:/]\d\d|(?:INFO|WARN(?:ING)?|ERROR|DEBUG)\b)"
    r"|\s*(?:Traceback|at \S+\(|File \"|npm |\w+(?:Error|Exception):|[\w./-]+:\d*:? *#)"
    r"|(?: {4}|\t)(?!\s*(?:[-*•]|\d{1,2}[.)])\s)|.*[;{]\s*$"
)
_HEADING = re.compile(r"^#{1,4} \S", re.MULTILINE)
_STOP = re.compile(r"[.!?…]{1,5}[\"')\]*_]{0,5}\s+|(?<=[。！？])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|approx|incl|z\.B|bzw|ca|d\.h)|^\s*\d{1,2})\.\s*$", re.IGNORECASE)
_BARE_DENIAL = re.compile(r"\s*(?:no+|nope|wrong|nein|that's wrong|不对)\W*", re.IGNORECASE)
_REST = re.compile(r"\s*(?:because|otherwise|weil|因为)\b", re.IGNORECASE)


def _sentences(text: str) -> Iterator[_Sentence]:
    """Yield the sentences that were typed, without pasted code, logs, quotes and documents."""
    if len(text) > LONGEST_TURN or len(_HEADING.findall(text)) > 1:
        return
    for start, end in _paragraphs(text):
        for first, last in _parts(text[start:end]):
            quote = text[start + first : start + last].strip()
            if quote and len(quote) <= LONGEST_SENTENCE:
                yield _Sentence(quote[:LONGEST_QUOTE], " ".join(quote.split()).replace("’", "'"))


def _paragraphs(text: str) -> list[tuple[int, int]]:
    """Return the spans of prose, wrapped lines joined; none if most lines are not prose."""
    spans: list[tuple[int, int]] = []
    foreign, fenced = 0, False
    for line in _LINE.finditer(text):
        if "```" in line[0]:
            fenced ^= line[0].count("```") % 2 == 1
        elif fenced or not line[0].strip():
            continue
        elif _FOREIGN.match(line[0]):
            foreign += 1
        elif spans and _is_wrapped(text, spans[-1], line):
            spans[-1] = (spans[-1][0], line.end())
        else:
            bullet = _BULLET.match(line[0])
            spans.append((line.start() + (bullet.end() if bullet else 0), line.end()))
    return spans if foreign <= len(spans) else []


def _is_wrapped(text: str, before: tuple[int, int], line: re.Match[str]) -> bool:
    """Whether a line continues the one before: that one is long and unfinished, this one starts in lower case."""
    last = text[before[0] : before[1]]
    open_end = before[1] + 1 == line.start() and len(last) >= 50 and last.rstrip()[-1:] not in ".!?:;"
    return open_end and line[0].lstrip()[:1].islower()


def _parts(paragraph: str) -> list[tuple[int, int]]:
    """Return the spans of sentences; a bare "no" is joined to the next one, a reason to the one before."""
    parts: list[tuple[int, int]] = []
    start = 0
    for end in [*(stop.end() for stop in _STOP.finditer(paragraph)), len(paragraph)]:
        if end == start or _ABBREVIATION.search(paragraph, max(start, end - 12), end):
            continue
        joined = parts and (_BARE_DENIAL.fullmatch(paragraph, *parts[-1]) or _REST.match(paragraph, start))
        if joined:
            parts[-1] = (parts[-1][0], end)
        else:
            parts.append((start, end))
        start = end
    return parts


def _operation(text: str, kind: str, importance: int, quote: str) -> Operation:
    content = _as_statement(text)
    return Operation(
        op=ADD,
        target=None,
        title=_title(content),
        content=content,
        kind=kind,
        scope=_scope(content, kind),
        importance=importance,
        keys=_keys(content),
        paths=_paths(content),
        quote=quote,
    )


def _as_statement(text: str) -> str:
    """Add a full stop, and a capital letter unless the text begins with a name such as `useState`."""
    text = text.rstrip(" .!。！,;:")
    if _PLAIN_WORD.match(text):
        text = text[0].upper() + text[1:]
    return text + ("。" if _WIDE.match(text[-1:]) else ".")


_END_OF_POINT = re.compile(rf"[.;] |{PATTERNS['BECAUSE'].pattern}", re.IGNORECASE)


def _title(content: str) -> str:
    title = content.rstrip(".。")
    if len(title) <= LONGEST_TITLE:
        return title
    point = _END_OF_POINT.split(title, maxsplit=1)[0]
    if len(point) <= LONGEST_TITLE:
        return point
    cut = point[: LONGEST_TITLE - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"


_EVERY_PROJECT = re.compile(
    r"\b(?:all|every|any) (?:of )?(?:my |our )?(?:projects?|repos?)\b|所有项目|\ballen (?:meinen )?projekten",
    re.IGNORECASE,
)
_THIS_PROJECT = re.compile(rf"\b(?:this|our) {FRAGMENTS['PLACE']}\b", re.IGNORECASE)


def _scope(content: str, kind: str) -> str:
    """A preference applies to every project, unless it is about this one."""
    personal = kind == "preference" and not _THIS_PROJECT.search(content) and not _paths(content)
    return GENERAL_SCOPE if personal or _EVERY_PROJECT.search(content) else PROJECT_SCOPE


_CODE = re.compile(r"`([^`\n]{1,60})`")
_IDENTIFIER = re.compile(
    r"https?://[^\s`,;)]+|[\w.-]*/[\w./*-]+|--[a-z][\w-]+|\b[A-Z]\w+ \d+(?:\.\d+)*\b|\b[A-Za-z]\w*_\w+\b"
    r"|\b[A-Z]?[a-z]+[A-Z]\w*\b|\b[A-Z][A-Z0-9_]{2,}\b|\bv?\d+(?:\.\d+)+\b|\b\d{3,}\b|\b[A-Za-z]+-?\d+\b|\B\.[a-z]\w+\b"
    r"|\b[\w-]+\.[a-z]{2,4}\b"
)
_PATH = re.compile(
    r"(?<![\w/:.])(?:[\w.-]*/[\w./*-]+|[\w-]+\.(?:py|ts|tsx|js|go|rs|rb|md|json|toml|ya?ml|sql|sh|conf|cfg|lock|env))"
)


def _keys(content: str) -> tuple[str, ...]:
    names = [match[1] for match in _CODE.finditer(content)] + _IDENTIFIER.findall(_CODE.sub(" ", content))
    return tuple(dict.fromkeys(name.rstrip("./") for name in names))[:MOST_KEYS]


def _paths(content: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path.rstrip(".") for path in _PATH.findall(content)))[:MOST_PATHS]
