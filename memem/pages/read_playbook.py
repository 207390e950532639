"""The lines of a project's playbook as they may be shown. Light, since a session's start waits for it: one small file
is read, and no vault is scanned."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import safe_open
from memem.core.files import from_json
from memem.core.memory import GENERAL, Entry, Memory
from memem.pages import markdown, playbook_lines
from memem.pages.playbook_lines import SECTIONS
from memem.safety import quote
from memem.search import pinned
from memem.search.refresh import fresh_rows

if TYPE_CHECKING:
    from memem.workspace import Workspace


LINE_CHARACTERS = 200
_META = "recited"
BY_HAND = "From the playbook · **written there by hand**"
MOST_LINKED = 100
"""Lines about memories: more than memem writes on a page."""
MOST_BYTES = 64_000
"""A page is read so far: memem's part is a few thousand characters, and a person's seldom as much."""


@dataclass(frozen=True, slots=True)
class VisibleLine:
    """A line as it may be shown: its section, its words, and the memory, where it is about one."""

    section: int
    words: str
    entry: Entry | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it says all that the memory does."""
        return self.entry is not None and flatten(self.entry.memory) == self.words


def get_playbook_path(ws: Workspace, project: str) -> Path:
    """The page of a project's playbook."""
    return ws.store.paths.playbooks / f"{markdown.file_stem(project)}.md"


def belongs_to_user(ws: Workspace, page: Path) -> bool:
    """Whether a note of a person's has the name of a page, or the place leads out of the vault."""
    inside = page.relative_to(ws.store.paths.ours).as_posix()
    return markdown.is_symlink(page) or (page.exists() and ws.store.is_memory(inside))


def read_lines(ws: Workspace, project: str, sections: Sequence[int] = SECTIONS) -> list[VisibleLine]:
    """All lines of these sections; one that is about a memory only as long as that is in force."""
    page = get_playbook_path(ws, project)
    if belongs_to_user(ws, page):
        return []
    with suppress(OSError):
        with safe_open.open_plain(page, follow=False) as file:
            text = file.read(MOST_BYTES).decode(errors="replace")
        there = [(place, line) for place, line in playbook_lines.list_lines(text) if place in sections and line.strip()]
        lines = [(place, *playbook_lines.split_line(line)) for place, line in there]
        entries = _in_force(ws, project, [id8 for _, _, id8 in lines if id8][:MOST_LINKED])
        known = load_cleared_lines(ws).get(project, [])
        told = [
            _told(place, words, entries.get(id8), known) for place, words, id8 in lines if id8 in entries or not id8
        ]
        return [each for each in told if each.words]
    return []


def list_withheld_lines(text: str) -> list[str]:
    """The lines of a page that are told to nobody, since they speak to the model."""
    from memem.safety.gate import recorded_line

    lines = (markdown.unescape(playbook_lines.split_line(line)[0]) for _, line in playbook_lines.list_lines(text))
    return [words for words in lines if words.strip() and not recorded_line(words)]


def load_cleared_lines(ws: Workspace) -> dict[str, list[str]]:
    """The lines of each project, of those that a person or a model wrote, that the gate was seen to let pass."""
    try:
        told = from_json(ws.index.meta(_META) or "{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def record_cleared_lines(ws: Workspace, projects: Iterable[str], looked_at: Collection[str]) -> None:
    """Note what those lines are now, of the projects that were looked at, and keep what is noted of the others."""
    before = load_cleared_lines(ws)
    after = {name: _passing(ws, name) if name in looked_at else before.get(name, []) for name in projects}
    ws.index.set_meta(_META, json.dumps({name: lines for name, lines in after.items() if lines}))


def render_line(rank: int, told: VisibleLine, project: str) -> str:
    """A line as an item of a numbered part. A title that it begins with is not said twice; of a person's own is said
    where it stands."""
    if told.entry is None:
        return f"{rank}. {BY_HAND}\n{quote.quoted(told.words, LINE_CHARACTERS)}"
    memory = told.entry.memory
    title = told.words if told.words.startswith(memory.title.rstrip("….。")) else memory.title
    shown = replace(told.entry, memory=replace(memory, title=title, body=told.words))
    return quote.item(rank, shown, project, LINE_CHARACTERS + len(told.words))


def flatten(memory: Memory) -> str:
    """A statement on one line."""
    return " ".join(memory.body.split())


def format_line(memory: Memory) -> str:
    """A statement as a page shows it, cut where it is long."""
    return markdown.escape(quote.one_line(memory.body, LINE_CHARACTERS))


def _passing(ws: Workspace, project: str) -> list[str]:
    """What the gate makes of those lines: of one that does not pass, another one, which is on no page."""
    return [
        each.words
        for each in read_lines(ws, project)
        if not each.entry or each.words not in _plainly(each.entry.memory)
    ]


def _told(section: int, words: str, entry: Entry | None, known: Collection[str]) -> VisibleLine:
    """What memem made of a note has passed the gate with it; what a person or a model wrote passes it here, unless it
    is known to pass."""
    if entry and format_line(entry.memory) == words:
        whole, cut = _plainly(entry.memory)
        return VisibleLine(section, whole if len(whole) <= LINE_CHARACTERS else cut, entry)
    said = markdown.unescape(words)
    if said in known:
        return VisibleLine(section, said, entry)
    from memem.safety.gate import recorded_line  # 16 ms, which a session's start should not wait for

    return VisibleLine(section, recorded_line(said), entry)


def _plainly(memory: Memory) -> tuple[str, str]:
    """A statement whole, and cut to a line."""
    return flatten(memory), quote.one_line(memory.body, LINE_CHARACTERS)


def _in_force(ws: Workspace, project: str, beginnings: Sequence[str]) -> dict[str, Entry]:
    """The memories whose ids begin so, those that may be shown unasked."""
    if not beginnings:
        return {}
    here, values = pinned.in_force(ws, project, GENERAL)
    ranges = " OR ".join("(id >= ? AND id < ?)" for _ in beginnings)
    limits = [limit for each in beginnings for limit in (each, each + "\x7f")]
    rows = fresh_rows(ws, lambda: ws.index.rows(f"({ranges}){here} ORDER BY path", (*limits, *values)))
    found = [Entry(row.memory, row.path) for row in rows if row.memory and not row.memory.superseded_by]
    return {entry.memory.id8: entry for entry in found}
