"""Read a playbook: its lines, and which of them may be shown. Session start waits for it: one small file is read."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.core import safe_open
from memem.core.files import from_json
from memem.core.memory import GENERAL, Entry, Memory
from memem.pages import markdown
from memem.safety import quote
from memem.search import pinned
from memem.search.refresh import fresh_rows
from memem.vault.page_text import RECORD, get_own_lines, split_line

if TYPE_CHECKING:
    from memem.workspace import Workspace

IDENTITY, CONVENTIONS, DECISIONS, TRAPS, ENVIRONMENT = SECTIONS = (1, 2, 3, 4, 5)
_NAMES = ("Identity", "Conventions", "Current decisions", "Known pitfalls", "Environment")
NAMES = dict(zip(SECTIONS, _NAMES, strict=True))
TITLE = 0  # the number of the page's own heading; sections follow
HEADINGS = ("# Playbook", *map("## {}".format, NAMES.values()))
_HEADING_NUMBERS = {heading: number for number, heading in enumerate(HEADINGS)}
_HEADING_NUMBERS |= {"## Decisions in force": DECISIONS, "## Known traps": TRAPS}  # of earlier versions
_WRITTEN = r"[0-9A-Za-z-]{8}\.[1-5]\.[0-9a-f]{8}\.[0-9a-f]{8}\*?"
_GONE = r"-(?:@[0-5]|[0-9A-Za-z-]{8})"
_RECORD = re.compile(rf"{RECORD}(?: (?:{_WRITTEN}|{_GONE}|@[0-5]))* -->")
_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}(?!.*`)|~{3,})(?P<more>.*)")
LINE_CHARACTERS = 200
MAX_QUOTED_CHARACTERS = 10 * LINE_CHARACTERS
_META = "recited"  # the lines by a user or a model, for each project, that passed the gate before
BY_HAND = "From the playbook · **written there by hand**"
MAX_LINKED_LINES = 100  # more than memem writes on a page
MAX_BYTES = 64_000  # memem's part has a few thousand characters, and the user's is rarely as long


@dataclass(frozen=True, slots=True)
class VisibleLine:
    section: int
    words: str
    entry: Entry | None = None  # the memory that it is about

    @property
    def is_whole(self) -> bool:
        return self.entry is not None and flatten(self.entry.memory) == self.words


def get_playbook_path(ws: Workspace, project: str) -> Path:
    return ws.store.paths.playbooks / f"{markdown.file_stem(project)}.md"


def belongs_to_user(ws: Workspace, page: Path) -> bool:
    """Whether a page's place is taken by a user's note or a symbolic link."""
    inside = page.relative_to(ws.store.paths.ours).as_posix()
    return markdown.is_symlink(page) or (page.exists() and ws.store.is_memory(inside))


def read_lines(ws: Workspace, project: str, sections: Sequence[int] = SECTIONS) -> list[VisibleLine]:
    """The lines of these sections, without those of memories no longer in force."""
    page = get_playbook_path(ws, project)
    if belongs_to_user(ws, page):
        return []
    with suppress(OSError):
        with safe_open.open_plain(page, follow=False) as file:
            text = file.read(MAX_BYTES).decode(errors="replace")
        in_sections = [line for line in list_lines(text) if line[0] in sections and line[1].strip()]
        lines = [(section, *split_line(line)) for section, line in in_sections]
        entries = _load_in_force(ws, project, [id8 for _, _, id8 in lines if id8][:MAX_LINKED_LINES])
        cleared = load_meta(ws, _META).get(project, [])
        shown = [line for line in lines if line[2] in entries or not line[2]]
        visible = [_make_visible(section, words, entries.get(id8), cleared) for section, words, id8 in shown]
        return [line for line in visible if line.words]
    return []


def list_withheld_lines(text: str) -> list[str]:
    """The lines that are never shown, since they try to instruct the model."""
    from memem.safety.gate import recorded_line

    lines = (markdown.unescape(split_line(line)[0]) for _, line in list_lines(text))
    return [words for words in lines if words.strip() and not recorded_line(words)]


def list_lines(text: str) -> list[tuple[int, str]]:
    """The lines between the marks with their sections, without headings and record."""
    return [(place, line) for place, number, line in placed_lines(text) if number is None and not is_record(line)]


def placed_lines(text: str) -> list[tuple[int, int | None, str]]:
    """Every line between the marks with its section and, for memem's headings outside code, its number."""
    lines, place = get_own_lines(text), TITLE
    fenced = _find_fenced(lines)
    placed = []
    for at, line in enumerate(lines):
        number = None if at in fenced else _HEADING_NUMBERS.get(line.strip())
        place = place if number is None else number
        placed.append((place, number, line))
    return placed


def is_record(line: str) -> bool:
    """Whether a comment is memem's record; any other is the user's."""
    return line.startswith(RECORD) and _RECORD.fullmatch(line.strip()) is not None


def _find_fenced(lines: Sequence[str]) -> set[int]:
    """Line numbers in code blocks that are closed and contain no line of memem's."""
    inside: set[int] = set()
    start, fence = 0, ""
    for at, line in enumerate(lines):
        found = _FENCE.match(line)
        if fence and found and found["fence"].startswith(fence) and not found["more"].strip():
            inside.update(range(start, at + 1))
            fence = ""
        elif fence and split_line(line)[1]:
            fence = ""
        elif found and not fence:
            start, fence = at, found["fence"]
    return inside


def load_meta(ws: Workspace, name: str) -> dict[str, Any]:
    """A JSON object of the index's meta table; empty when there is none."""
    with suppress(ValueError):
        value = from_json(ws.index.meta(name) or "{}")
        return value if isinstance(value, dict) else {}
    return {}


def record_cleared_lines(ws: Workspace, projects: Iterable[str], checked: Collection[str]) -> None:
    """Record the lines of checked projects that pass the gate, and keep the records of the others."""
    cleared = load_meta(ws, _META)
    for name in checked:
        visible = read_lines(ws, name)
        cleared[name] = [line.words for line in visible if not line.entry or line.words != _cut(line.entry.memory)]
    ws.index.set_meta(_META, json.dumps({name: cleared[name] for name in projects if cleared.get(name)}))


def render_line(rank: int, line: VisibleLine, project: str) -> str:
    """A line as a numbered item; a user's own line says where it is from."""
    if line.entry is None:
        return f"{rank}. {BY_HAND}\n{quote.quote_block(line.words, LINE_CHARACTERS)}"
    memory = line.entry.memory
    title = line.words if line.words.startswith(memory.title.rstrip("….。")) else memory.title
    shown = replace(line.entry, memory=replace(memory, title=title, body=line.words))
    return quote.render_item(rank, shown, project, LINE_CHARACTERS + len(line.words))


def flatten(memory: Memory) -> str:
    return " ".join(memory.body.split())


def format_line(memory: Memory) -> str:
    return markdown.escape(_cut_line(memory))


def is_cut_by_earlier_version(words: str) -> bool:
    """Whether words of memem end in the middle of a sentence, where versions up to 0.11 cut them."""

    return words.endswith(" […]")


def _cut_line(memory: Memory) -> str:
    from memem.compare.shorten import shorten  # a session start reads lines, and makes none

    line = quote.one_line(shorten(flatten(memory), LINE_CHARACTERS), MAX_QUOTED_CHARACTERS)
    return shorten(line, LINE_CHARACTERS)  # quoting may have made it longer


def _make_visible(section: int, words: str, entry: Entry | None, cleared: Collection[str]) -> VisibleLine:
    if entry and format_line(entry.memory) == words:  # memem's own line passed the gate with its note
        return VisibleLine(section, _cut(entry.memory), entry)
    text = markdown.unescape(words)
    if text in cleared:
        return VisibleLine(section, text, entry)
    from memem.safety.gate import recorded_line  # 16 ms, which a session's start should not wait for

    return VisibleLine(section, recorded_line(text), entry)


def _cut(memory: Memory) -> str:
    whole = flatten(memory)
    return whole if len(whole) <= LINE_CHARACTERS else _cut_line(memory)


def _load_in_force(ws: Workspace, project: str, short_ids: Sequence[str]) -> dict[str, Entry]:
    if not short_ids:
        return {}
    here, values = pinned.in_force(ws, project, GENERAL)
    ranges = " OR ".join("(id >= ? AND id < ?)" for _ in short_ids)
    limits = [limit for id8 in short_ids for limit in (id8, id8 + "\x7f")]
    rows = fresh_rows(ws, lambda: ws.index.rows(f"({ranges}){here} ORDER BY path", (*limits, *values)))
    memories = [(row.memory, row.path) for row in rows if row.memory and not row.memory.superseded_by]
    return {memory.id8: Entry(memory, path) for memory, path in memories}
