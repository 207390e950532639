"""Split instructions for Claude Code (`CLAUDE.md`, its own memory) into statements: paragraphs or bullets."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from memem.core.data_files import load_table
from memem.core.project import normalise

MAX_TITLE_CHARS = 80
MAX_CONTEXT_CHARS = 200  # of headings and announcements before a statement

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_BULLET = re.compile(r"([ \t]*)(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_RULE = re.compile(r" {0,3}(?:[-*_][ \t]*){3,}$")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_IMPORT = re.compile(r"@((?:~/|\.{0,2}/)?[\w.~-][\w./~-]*)[.,;]?$")
_INDEXED = re.compile(r"\[[^\]]*\]\(([^)\s]+\.md)\)")
_LINKED = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_MARKUP = re.compile(r"[*_`#>]+")


@dataclass(frozen=True, slots=True)
class Instruction:
    headings: tuple[str, ...]
    text: str
    imports: str = ""  # the path, if the statement only imports a file by `@path`

    @property
    def place(self) -> str:
        return "/".join(normalise(heading) for heading in self.headings)

    @property
    def body(self) -> str:
        """The statement below its headings; it starts a line, so that it is recognised if it was forgotten."""
        context = ": ".join(self.headings)
        return f"{context[:MAX_CONTEXT_CHARS]}:\n{self.text}" if context else self.text

    @property
    def title(self) -> str:
        line = _MARKUP.sub("", _LINKED.sub(r"\1", self.text.partition("\n")[0])).strip()
        title = f"{self.headings[-1]}: {line}" if self.headings else line
        if len(title) <= MAX_TITLE_CHARS:
            return title
        cut = title[: MAX_TITLE_CHARS - 1]
        return f"{cut.rpartition(' ')[0] or cut}…"

    @property
    def kind(self) -> str:
        rule, rule_heading = _rule_patterns()
        is_rule = rule.match(_MARKUP.sub("", self.text).lstrip()) or any(map(rule_heading.search, self.headings))
        return "convention" if is_rule else "fact"


@cache
def _rule_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = {name: "|".join(patterns) for name, patterns in load_table(__file__, "instructions.toml").items()}
    rule = (
        rf"(?:{words['prefixes']}|(?:{words['first_words']})\b)|.{{0,120}}\b(?:{words['obligations']})\b"
        rf"|.{{0,60}}(?:{words['unspaced_obligations']})"
    )
    return re.compile(rule, re.IGNORECASE), re.compile(words["headings"], re.IGNORECASE)


@dataclass(slots=True)
class _Block:
    kind: str  # paragraph, bullet (with everything below it), code or heading
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        lines = "\n".join(self.lines).strip("\n").split("\n")
        indent = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
        return "\n".join([lines[0].strip(), *(line[indent:].rstrip() for line in lines[1:])]).strip()


def statements(text: str) -> Iterator[Instruction]:
    headings: list[tuple[int, str]] = []
    blocks: list[_Block] = []
    for block in _split_blocks(_COMMENT.sub("", text.replace("\r\n", "\n"))):
        heading = _HEADING.match(block.lines[0]) if block.kind == "heading" else None
        if heading is None:
            blocks.append(block)
            continue
        yield from _join_blocks(blocks, headings)
        blocks = []
        level = len(heading[1])
        headings = [outer for outer in headings if outer[0] < level]
        headings.append((level, _MARKUP.sub("", heading[2]).strip().rstrip(":：")))
    yield from _join_blocks(blocks, headings)


def indexed_file(statement: Instruction) -> str:
    match = _INDEXED.match(statement.text)
    return match[1] if match else ""


def _join_blocks(blocks: list[_Block], headings: list[tuple[int, str]]) -> Iterator[Instruction]:
    """Yield the statements under one heading: an announcement goes with each of its bullets, code with its text."""
    # The only top-level heading of a file is its name and adds nothing below other headings.
    context = tuple(name for level, name in headings if level > 1 or len(headings) == 1)
    announcement = ""
    waiting: list[str] = []
    for number, block in enumerate(blocks):
        following = blocks[number + 1].kind if number + 1 < len(blocks) else ""
        if block.kind == "code":
            waiting.append(block.text)
            if following != "code":
                yield _make_statement((*context, announcement), "\n".join(waiting))
                waiting = []
        elif following == "code":
            waiting = [block.text]
        elif following == "bullet" and block.kind == "paragraph" and block.text.endswith((":", "：")):
            announcement = block.text.rstrip(":： ")
            continue
        else:
            yield _make_statement((*context, announcement), block.text)
        if following != "bullet":
            announcement = ""


def _make_statement(headings: tuple[str, ...], text: str) -> Instruction:
    imported = _IMPORT.match(text)
    return Instruction(tuple(filter(None, headings)), text, imported[1] if imported else "")


def _split_blocks(text: str) -> Iterator[_Block]:
    """Split a text into blocks. Code inside a bullet is part of the bullet."""
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
        kind = _line_kind(line, block, is_code=bool(opening))
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


def _line_kind(line: str, block: _Block | None, *, is_code: bool) -> str:
    """The kind of block that a line starts; `same` if it continues the current one, empty if it ends it."""
    blank, in_bullet = not line.strip(), block is not None and block.kind == "bullet"
    if _HEADING.match(line):
        return "heading"
    if in_bullet and (blank or line.startswith((" ", "\t"))):
        return "same"
    if is_code:
        return "code"
    if blank or _RULE.match(line):
        return ""
    if _BULLET.match(line):
        return "bullet"
    continues = block is not None and block.kind != "heading" and not (in_bullet and not block.lines[-1].strip())
    return "same" if continues else "paragraph"
