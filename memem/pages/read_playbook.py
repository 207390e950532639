"""Read the lines of a playbook that may be shown. Session start waits for it: one small file is read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
MAX_LINKED_LINES = 100  # more than memem writes on a page
MAX_BYTES = 64_000  # memem's part has a few thousand characters, and the user's is rarely as long


@dataclass(frozen=True, slots=True)
class VisibleLine:
    """A line that may be shown, and its memory if it is about one."""

    section: int
    words: str
    entry: Entry | None = None

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
        in_sections = [line for line in playbook_lines.list_lines(text) if line[0] in sections and line[1].strip()]
        lines = [(section, *playbook_lines.split_line(line)) for section, line in in_sections]
        entries = _load_in_force(ws, project, [id8 for _, _, id8 in lines if id8][:MAX_LINKED_LINES])
        cleared = load_cleared_lines(ws).get(project, [])
        shown = [line for line in lines if line[2] in entries or not line[2]]
        visible = [_make_visible(section, words, entries.get(id8), cleared) for section, words, id8 in shown]
        return [line for line in visible if line.words]
    return []


def list_withheld_lines(text: str) -> list[str]:
    """The lines that are never shown, since they try to instruct the model."""
    from memem.safety.gate import recorded_line

    lines = (markdown.unescape(playbook_lines.split_line(line)[0]) for _, line in playbook_lines.list_lines(text))
    return [words for words in lines if words.strip() and not recorded_line(words)]


def load_cleared_lines(ws: Workspace) -> dict[str, list[str]]:
    """The lines by a user or a model, for each project, that passed the gate before."""
    return load_meta(ws, _META)


def load_meta(ws: Workspace, name: str) -> dict[str, Any]:
    """A JSON object of the index's meta table; empty when there is none."""
    with suppress(ValueError):
        value = from_json(ws.index.meta(name) or "{}")
        return value if isinstance(value, dict) else {}
    return {}


def record_cleared_lines(ws: Workspace, projects: Iterable[str], checked: Collection[str]) -> None:
    """Record the lines of checked projects that pass the gate, and keep the records of the others."""
    before = load_cleared_lines(ws)
    after = {name: _list_passing(ws, name) if name in checked else before.get(name, []) for name in projects}
    ws.index.set_meta(_META, json.dumps({name: lines for name, lines in after.items() if lines}))


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
    """A statement as the page shows it."""
    return markdown.escape(quote.one_line(memory.body, LINE_CHARACTERS))


def _list_passing(ws: Workspace, project: str) -> list[str]:
    return [line.words for line in read_lines(ws, project) if not line.entry or line.words != _cut(line.entry.memory)]


def _make_visible(section: int, words: str, entry: Entry | None, cleared: Collection[str]) -> VisibleLine:
    """Memem's own lines passed the gate with their notes; others pass it here, unless they did before."""
    if entry and format_line(entry.memory) == words:
        return VisibleLine(section, _cut(entry.memory), entry)
    text = markdown.unescape(words)
    if text in cleared:
        return VisibleLine(section, text, entry)
    from memem.safety.gate import recorded_line  # 16 ms, which a session's start should not wait for

    return VisibleLine(section, recorded_line(text), entry)


def _cut(memory: Memory) -> str:
    whole = flatten(memory)
    return whole if len(whole) <= LINE_CHARACTERS else quote.one_line(memory.body, LINE_CHARACTERS)


def _load_in_force(ws: Workspace, project: str, short_ids: Sequence[str]) -> dict[str, Entry]:
    """The memories with these short ids that may be injected."""
    if not short_ids:
        return {}
    here, values = pinned.in_force(ws, project, GENERAL)
    ranges = " OR ".join("(id >= ? AND id < ?)" for _ in short_ids)
    limits = [limit for id8 in short_ids for limit in (id8, id8 + "\x7f")]
    rows = fresh_rows(ws, lambda: ws.index.rows(f"({ranges}){here} ORDER BY path", (*limits, *values)))
    memories = [(row.memory, row.path) for row in rows if row.memory and not row.memory.superseded_by]
    return {memory.id8: Entry(memory, path) for memory, path in memories}
