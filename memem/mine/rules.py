"""What is worth keeping in a conversation, by rules: for when there is no model to ask.

Junk in a memory costs more than a gap, so a sentence is kept only when its form says that it holds beyond the task at
hand, and when it can be understood alone: a person's order to remember, a correction, a rule, a decision with its
reason, a preference, a fact about the surroundings; or what mended an error, which Claude may have said.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memem.core.conversation import ADD, GENERAL_SCOPE, HUMAN, PROJECT_SCOPE, Operation, Turn
from memem.mine import rule_patterns as patterns
from memem.mine.rule_patterns import Rule

LONGEST_TURN = 8_000
"""In characters: more than that is pasted."""
LONGEST_SENTENCE = 400
LONGEST_QUOTE = 300
LONGEST_TITLE = 80
MOST_KEYS = 8
MOST_PATHS = 5
TROUBLE_LASTS = 8
"""How many turns after an error a fix is still taken to be that error's."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    """The words as they stand in the turn, and the same in one line, with plain apostrophes."""

    quote: str
    text: str


@dataclass(frozen=True, slots=True)
class _Opened:
    """A sentence that has come to the point, and how it began."""

    text: str
    explicit: bool
    errand: bool
    denial: bool


def extract(turns: Sequence[Turn]) -> list[Operation]:
    """What the rules find, in the order of the conversation, each statement once."""
    found: dict[str, Operation] = {}
    trouble, since = "", 0
    for number, turn in enumerate(turns):
        if number - since > TROUBLE_LASTS:
            trouble = ""
        for sentence in _sentences(turn.text):
            human = turn.role == HUMAN
            operation = _fix(sentence, trouble, human) or (_statement(sentence) if human else None)
            if operation:
                found.setdefault(operation.content.casefold(), operation)
                trouble = "" if operation.kind == "lesson" else trouble
            elif human and patterns.TROUBLE.search(sentence.text) and not patterns.QUESTION.match(sentence.text):
                trouble, since = sentence.text, number
    return list(found.values())


def states_wish(turns: Sequence[Turn]) -> bool:
    """Whether a person asks for something to be remembered, or states or corrects something in the plainest words."""
    sentences = (sentence for turn in turns if turn.role == HUMAN for sentence in _sentences(turn.text))
    return bool(extract(turns)) or any(_is_wish(sentence.text) for sentence in sentences)


def _is_wish(text: str) -> bool:
    """Whether a sentence begins with "remember" or the like, also one that a rule could not turn into a memory."""
    opened = _open(text)
    is_asked = patterns.QUESTION.match(text) or patterns.RECALLED.search(opened.text)
    return opened.explicit and not is_asked and _says_enough(opened.text)


def _statement(sentence: _Sentence) -> Operation | None:
    """What a person laid down, if the sentence is of such a form and is understood alone."""
    opened = _open(sentence.text)
    text = opened.text
    named = opened.denial and patterns.NAMED.match(text)
    if not (named or _says_enough(text)) or patterns.QUESTION.match(text) or patterns.UNRESOLVED.search(text):
        return None
    if opened.explicit:
        rule = None if patterns.RECALLED.search(text) else _first(text, (*patterns.RULES, patterns.TOLD))
        return _operation(text, rule.kind, rule.importance + 1, sentence.quote) if rule else None
    if _is_passing(text):
        return None
    if opened.errand:
        return _operation(text, "convention", 4, sentence.quote) if patterns.HABITUAL.search(text) else None
    rule = _first(text, (*patterns.CORRECTED, *patterns.RULES) if opened.denial else patterns.RULES)
    return _operation(text, rule.kind, 4 if opened.denial else rule.importance, sentence.quote) if rule else None


def _fix(sentence: _Sentence, trouble: str, human: bool) -> Operation | None:
    """What mended an error: told with the error, or else joined to the one that a person told before.

    Claude often takes a guess for a fix; its word counts only for a person's error, and when it names something.
    """
    text = _open(sentence.text).text
    if not patterns.FIX.search(text) or patterns.UNSURE.search(text) or patterns.QUESTION.match(text):
        return None
    alone = bool(patterns.TROUBLE.search(text)) and human
    if not (alone or trouble) or len(text.split()) < 5 or not (human or _keys(text)):
        return None
    content = text if alone else f"{_as_statement(trouble)} {_as_statement(text)}"
    return _operation(content, "lesson", 3, sentence.quote)


def _open(text: str) -> _Opened:
    """The sentence without its greetings and fillers, which may say what the rest is meant to be."""
    seen = set()
    if closing := patterns.CLOSING.search(text):
        text = text[: closing.start()]
        seen.add(closing.lastgroup)
    while opening := patterns.OPENING.match(text):
        text = text[opening.end() :]
        seen.add(opening.lastgroup)
    return _Opened(text.strip(), "explicit" in seen, "errand" in seen, "denial" in seen)


def _first(text: str, rules: tuple[Rule, ...]) -> Rule | None:
    return next((rule for rule in rules if rule.forms.match(text)), None)


def _is_passing(text: str) -> bool:
    """Whether the sentence is not meant to last; its reason may well speak of the day."""
    reason = patterns.BECAUSE.search(text)
    return bool(patterns.PASSING.search(text[: reason.start()] if reason else text))


_PLAIN_WORD = re.compile(r"[a-zà-ü']+(?:[\s,:]|$)")
_WIDE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def _says_enough(text: str) -> bool:
    return len(text) >= 6 if _WIDE.search(text) else len(text.split()) >= 3


_LINE = re.compile(r"[^\n]+")
_BULLET = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+")
# Quoted, indented, logged, a diff, a trace, a command, markup, data.
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
    """The sentences that somebody wrote, without what they pasted: code, logs, quotes and documents."""
    if len(text) > LONGEST_TURN or len(_HEADING.findall(text)) > 1:
        return
    for start, end in _paragraphs(text):
        for first, last in _parts(text[start:end]):
            quote = text[start + first : start + last].strip()
            if quote and len(quote) <= LONGEST_SENTENCE:
                yield _Sentence(quote[:LONGEST_QUOTE], " ".join(quote.split()).replace("’", "'"))


def _paragraphs(text: str) -> list[tuple[int, int]]:
    """Where the lines of prose begin and end, wrapped ones joined; none when most of the lines are something else."""
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
    """Whether a line goes on with the one before: that one is long and ends openly, this one begins small."""
    last = text[before[0] : before[1]]
    open_end = before[1] + 1 == line.start() and len(last) >= 50 and last.rstrip()[-1:] not in ".!?:;"
    return open_end and line[0].lstrip()[:1].islower()


def _parts(paragraph: str) -> list[tuple[int, int]]:
    """Where its sentences begin and end; a bare "no" goes with what follows, a reason with what it is for."""
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
    """With a capital letter, unless it begins with a name such as `useState`, and a full stop."""
    text = text.rstrip(" .!。！,;:")
    if _PLAIN_WORD.match(text):
        text = text[0].upper() + text[1:]
    return text + ("。" if _WIDE.match(text[-1:]) else ".")


_END_OF_POINT = re.compile(rf"[.;] |{patterns.BECAUSE.pattern}", re.IGNORECASE)


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
_THIS_PROJECT = re.compile(rf"\b(?:this|our) {patterns.PLACE}\b", re.IGNORECASE)


def _scope(content: str, kind: str) -> str:
    """A person's taste goes with the person, unless it is about this project."""
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
    """Identifiers, file names, versions and commands."""
    names = [match[1] for match in _CODE.finditer(content)] + _IDENTIFIER.findall(_CODE.sub(" ", content))
    return tuple(dict.fromkeys(name.rstrip("./") for name in names))[:MOST_KEYS]


def _paths(content: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path.rstrip(".") for path in _PATH.findall(content)))[:MOST_PATHS]
