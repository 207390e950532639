"""Instructions for Claude Code as single statements: `CLAUDE.md` and its like, and what Claude Code remembers itself.

They are parted at headings, paragraphs and bullets; each statement says under which headings it stood, so that it can
be understood alone. Code belongs to what announces it. What is imported by `@path` is named, and not followed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memem.core.project import normalise

LONGEST_TITLE = 80
MOST_CONTEXT = 200
"""Characters of headings and announcements before a statement."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_BULLET = re.compile(r"([ \t]*)(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_RULE = re.compile(r" {0,3}(?:[-*_][ \t]*){3,}$")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_IMPORT = re.compile(r"@((?:~/|\.{0,2}/)?[\w.~-][\w./~-]*)[.,;]?$")
_INDEXED = re.compile(r"\[[^\]]*\]\(([^)\s]+\.md)\)")
_LINKED = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_MARKUP = re.compile(r"[*_`#>]+")
_RULING = re.compile(
    r"(?:please |bitte |immer |niemals |nie |keine? |verwende|benutze|nutze|vermeide"
    r"|请|必须|不要|禁止|使用|始终|避免|务必"
    r"|(?:always|never|do not|don't|don’t|do|avoid|prefer|use|run|keep|write|add|put|make|ensure|follow|check|test"
    r"|commit|name|import|export|create|update|read|ask|treat|call|set|start|stop|build|deploy|push|pull|rebase|squash"
    r"|merge|format|lint|document|explain|return|raise|catch|log|validate|verify|wrap|split|place|store|delete|remove"
    r"|replace|include|exclude|consider|favou?r|stick|leave|only|no|be|let|try|go|look|see|refer|apply|limit|handle|respect"
    r"|implement|install|generate|mark|group|sort|move|pin|mock|cover|review|answer|respond|reply|speak|think|plan)\b)"
    r"|.{0,120}\b(?:must|should|shall|never|always|needs? to|have to|has to|is required|are required|forbidden"
    r"|mandatory|muss|müssen|soll|sollte|darf nicht)\b"
    r"|.{0,60}(?:必须|不要|禁止|应该|应当)",
    re.IGNORECASE,
)

_RULES = re.compile(
    r"\b(?:rules?|conventions?|guidelines?|style|standards?|dos|don'ts|regeln|richtlinien)\b|规范|约定|规则",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """What one paragraph or bullet says, under its headings; `imports` is the path, if it only names one."""

    headings: tuple[str, ...]
    text: str
    imports: str = ""

    @property
    def place(self) -> str:
        return "/".join(normalise(heading) for heading in self.headings)

    @property
    def body(self) -> str:
        """To be understood alone. The statement begins a line, so that it is known again if it was forgotten."""
        context = ": ".join(self.headings)
        return f"{context[:MOST_CONTEXT]}:\n{self.text}" if context else self.text

    @property
    def title(self) -> str:
        """The nearest heading and the first words."""
        line = _MARKUP.sub("", _LINKED.sub(r"\1", self.text.partition("\n")[0])).strip()
        told = f"{self.headings[-1]}: {line}" if self.headings else line
        if len(told) <= LONGEST_TITLE:
            return told
        cut = told[: LONGEST_TITLE - 1]
        return f"{cut.rpartition(' ')[0] or cut}…"

    @property
    def kind(self) -> str:
        """A convention where it tells somebody to do something, or not to; else a fact."""
        ruling = _RULING.match(_MARKUP.sub("", self.text).lstrip())
        return "convention" if ruling or any(map(_RULES.search, self.headings)) else "fact"


@dataclass(slots=True)
class _Block:
    """Lines that belong together: a paragraph, a bullet with all that is below it, or code."""

    kind: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        lines = "\n".join(self.lines).strip("\n").split("\n")
        indent = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
        return "\n".join([lines[0].strip(), *(line[indent:].rstrip() for line in lines[1:])]).strip()

    @property
    def announces(self) -> bool:
        return self.kind == "paragraph" and self.text.endswith((":", "："))


def statements(text: str) -> Iterator[Statement]:
    """What a file says, in order."""
    headings: list[tuple[int, str]] = []
    blocks: list[_Block] = []
    for block in _blocks(_COMMENT.sub("", text.replace("\r\n", "\n"))):
        heading = _HEADING.match(block.lines[0]) if block.kind == "heading" else None
        if heading is None:
            blocks.append(block)
            continue
        yield from _joined(blocks, headings)
        blocks = []
        level = len(heading[1])
        headings = [each for each in headings if each[0] < level]
        headings.append((level, _MARKUP.sub("", heading[2]).strip().rstrip(":：")))
    yield from _joined(blocks, headings)


def indexed(statement: Statement) -> str:
    """The file that a line of an index is about; empty when it is no such line."""
    found = _INDEXED.match(statement.text)
    return found[1] if found else ""


def _joined(blocks: list[_Block], headings: list[tuple[int, str]]) -> Iterator[Statement]:
    """The blocks under one heading as statements: an announcement goes with each bullet, code with what precedes it."""
    # The one first heading of a file is its name, and says nothing of what is below others.
    above = tuple(name for level, name in headings if level > 1 or len(headings) == 1)
    announced = ""
    waiting: list[str] = []
    for number, block in enumerate(blocks):
        follower = blocks[number + 1].kind if number + 1 < len(blocks) else ""
        if block.kind == "code":
            waiting.append(block.text)
            if follower != "code":
                yield _statement((*above, announced), "\n".join(waiting))
                waiting = []
        elif follower == "code":
            waiting = [block.text]
        elif block.announces and follower == "bullet":
            announced = block.text.rstrip(":： ")
            continue
        else:
            yield _statement((*above, announced), block.text)
        if follower != "bullet":
            announced = ""


def _statement(headings: tuple[str, ...], text: str) -> Statement:
    imported = _IMPORT.match(text)
    return Statement(tuple(filter(None, headings)), text, imported[1] if imported else "")


def _blocks(text: str) -> Iterator[_Block]:
    """The text as blocks, in order. Code that stands within a bullet is part of it."""
    block: _Block | None = None
    fence = ""
    for line in text.split("\n"):
        opening = _FENCE.match(line.lstrip() if block and block.kind == "bullet" else line)
        if fence:
            block = block or _Block("code")
            block.lines.append(line)
            if opening and opening[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
                if block.kind == "code":
                    yield block
                    block = None
            continue
        kind = _kind(line, block, is_code=bool(opening))
        if kind == "same" and block:
            block.lines.append(line)
        else:
            if block:
                yield block
            bullet = _BULLET.match(line) if kind == "bullet" else None
            block = _Block(kind, [line[bullet.end() :] if bullet else line]) if kind else None
        if opening:
            fence = opening[1]
    if block:
        yield block


def _kind(line: str, block: _Block | None, *, is_code: bool) -> str:
    """What a line begins; `same` when it goes on with the block, empty when it ends it."""
    blank, within = not line.strip(), block is not None and block.kind == "bullet"
    if _HEADING.match(line):
        return "heading"
    if within and (blank or line.startswith((" ", "\t"))):
        return "same"
    if is_code:
        return "code"
    if blank or _RULE.match(line):
        return ""
    if _BULLET.match(line):
        return "bullet"
    goes_on = block is not None and block.kind != "heading" and not (within and not block.lines[-1].strip())
    return "same" if goes_on else "paragraph"
