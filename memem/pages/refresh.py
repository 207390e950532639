"""Write the pages that people read in Obsidian: Home, one for each project, and the playbooks."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.dates import describe_status, get_said_day, is_in_force, iso
from memem.core.errors import MememError, NoteChanged
from memem.core.memory import KINDS, PINNED, Entry
from memem.notes import conflicts
from memem.pages import markdown, playbook_page, read_playbook
from memem.pages.read_playbook import belongs_to_user, get_playbook_path, load_meta
from memem.safety.gate import clean_line, cleanse
from memem.search import note_rows
from memem.search.notes import SAID, NoteRow
from memem.search.refresh import ensure_filled, fresh_rows
from memem.vault.opening import require_vault
from memem.vault.page_text import get_own_lines
from memem.vault.write_lock import writing

if TYPE_CHECKING:
    from memem.workspace import Workspace

MAX_PROJECTS, MAX_RECENT, MAX_WAITING = 500, 20, 20
MAX_OF_KIND = 200  # on a project's page, which stays short however large the project is
LIST_ALL = "/recall in Claude Code finds them, `memem list` lists them"
NONE_LEFT = "This project has no memories left."
_META = "pages"
_UNFINISHED: list[object] = []  # the state of a project whose pages could not be written; equals no real state


@dataclass(frozen=True, slots=True)
class Pages:
    written: tuple[str, ...] = ()  # paths in `memem/`
    removed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()  # to a user's note
    linked: tuple[str, ...] = ()  # symbolic links
    busy: tuple[str, ...] = ()  # being saved just now


@dataclass(frozen=True, slots=True)
class _Project:
    name: str
    notes: int
    in_force: int
    changed: float
    row: int


def write_pages(ws: Workspace) -> Pages:
    ensure_filled(ws, require_vault(ws))  # only a filled index knows all projects
    return _Writing(ws, [_Project(*values) for values in ws.index.projects(ws.clock().timestamp())]).run()


def write_pages_quietly(ws: Workspace, *, only_if_there: bool = False) -> None:
    """Update all pages after another action; failures go to the log."""
    try:
        paths = ws.store.paths
        pages = (paths.home_page, *paths.projects.glob("*.md"), *paths.playbooks.glob("*.md"))
        if only_if_there and not any(page.exists() for page in pages):
            read_playbook.record_cleared_lines(ws, (), ())  # the record contains words of memories
            return
        for page in write_pages(ws).busy:
            problem = f"memem/{page} was being saved by another program; `memem pages` updates it"
            files.append_log(ws.home.hooks_log, f"{iso(ws.clock())} pages: {problem}")
    except MememError as error:
        files.append_log(ws.home.hooks_log, f"{iso(ws.clock())} pages: {clean_line(str(error))}")


@dataclass
class _Writing:
    ws: Workspace
    projects: Sequence[_Project]
    result: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def run(self) -> Pages:
        before, after = load_meta(self.ws, _META), {}
        changed = []
        for project in self.projects:
            is_done = before.get(project.name) == self._get_state(project)
            if not is_done:
                changed.append(project.name)
                is_done = self._write_project(project)
            after[project.name] = self._get_state(project) if is_done else _UNFINISHED
        read_playbook.record_cleared_lines(self.ws, after, changed)
        after |= dict.fromkeys(self._remove_others(before), _UNFINISHED)
        self._write(self.ws.store.paths.home_page, _render_home(self.ws, self.projects))
        self.ws.index.set_meta(_META, json.dumps(after))
        return Pages(**{name: tuple(paths) for name, paths in self.result.items()})

    def _get_state(self, project: _Project) -> list[object]:
        """Changes whenever a project's pages may be outdated; memories may expire with the day."""
        stamps = (files.stamp(path) for path in (*self._get_pages(project.name), self.ws.home.stale_file))
        return [project.notes, project.row, self.ws.today(), *(list(stamp) if stamp else None for stamp in stamps)]

    def _get_pages(self, project: str) -> tuple[Path, Path]:
        page = self.ws.store.paths.projects / f"{markdown.file_stem(project)}.md"
        return page, get_playbook_path(self.ws, project)

    def _write_project(self, project: _Project) -> bool:
        page, playbook = self._get_pages(project.name)
        condition = f"project = ? AND problem IS NULL ORDER BY {SAID} DESC, id"
        rows = fresh_rows(self.ws, lambda: self.ws.index.rows(condition, (project.name,)))
        is_done = self._write(playbook, partial(playbook_page.update_part, self.ws, rows))
        return self._write(page, _render_project(self.ws, project, rows)) and is_done

    def _remove_others(self, before: Iterable[str]) -> list[str]:
        """Remove the pages of projects without notes, by the last run's record or their headings; return failures."""
        names = {project.name for project in self.projects}
        pages = set(self.ws.store.paths.projects.glob("*.md")) - {self._get_pages(name)[0] for name in names}
        headings = {_read_project_name(page) for page in pages if page.is_file() and not belongs_to_user(self.ws, page)}
        unfinished = []
        for name in sorted((headings | set(before)) - names - {""}):
            page, playbook = self._get_pages(name)
            is_done = self._remove(
                page, lambda text: "\n".join(markdown.find_typed_lines(text, "", markdown.is_overview_line))
            )
            if not (self._remove(playbook, playbook_page.render_without_lines) and is_done):
                unfinished.append(name)
        return unfinished

    def _remove(self, path: Path, find_rest: Callable[[str], str]) -> bool:
        fsync = self.ws.settings.fsync
        return belongs_to_user(self.ws, path) or self._change(
            path, lambda: markdown.remove_page(path, NONE_LEFT, fsync=fsync, find_rest=find_rest)
        )

    def _write(self, path: Path, part: markdown.Part) -> bool:
        """Write a page; False when it has to be tried again."""
        if belongs_to_user(self.ws, path):
            self._report("linked" if markdown.is_symlink(path) else "left", path)
            return False
        # A playbook handles lines typed between its marks itself.
        is_ours = markdown.is_overview_line if isinstance(part, str) else None
        fsync = self.ws.settings.fsync
        return self._change(path, lambda: markdown.write_part(path, part, fsync=fsync, is_ours=is_ours))

    def _change(self, path: Path, change: Callable[[], bool]) -> bool:
        """Run a change of a page and report it; False when another program was saving the page."""
        try:
            with writing(self.ws):
                has_changed = change()
        except NoteChanged:
            self._report("busy", path)
            return False
        if has_changed:
            self._report("written" if path.exists() else "removed", path)
        return True

    def _report(self, outcome: str, path: Path) -> None:
        self.result[outcome].append(path.relative_to(self.ws.store.paths.ours).as_posix())


def _read_project_name(page: Path) -> str:
    """The project of a page by its heading; empty for a copy under another name."""
    first = next(iter(get_own_lines(markdown.read_page(page) or "")), "")
    name = markdown.unescape(first.removeprefix("# "))
    return name if first != name and markdown.file_stem(name) == page.stem else ""


def _render_home(ws: Workspace, projects: Sequence[_Project]) -> str:
    parts = ["# Memory", _render_projects(ws, projects)]
    count = conflicts.count(ws)
    if count and ws.store.paths.conflicts.exists():
        parts.append(f"## Conflicts\n\n- {markdown.link('memem/Conflicts', f'{count} to resolve')}")
    parts += _waiting(ws)
    condition = f"problem IS NULL AND status <> 'quarantined' ORDER BY {SAID} DESC, id"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, limit=MAX_RECENT))
    recent = [Entry(row.memory, row.path) for row in rows if row.memory]
    if recent:
        lines = [f"{_render_item(entry)} · {markdown.escape(entry.project)}" for entry in recent]
        parts.append(_render_list("Latest", lines, len(lines)))
    return "\n\n".join(parts)


def _render_projects(ws: Workspace, projects: Sequence[_Project]) -> str:
    if not projects:
        return "There are no memories yet."
    lines = []
    for project in projects[:MAX_PROJECTS]:
        outdated = f", {project.notes - project.in_force} outdated" if project.notes > project.in_force else ""
        page = markdown.link(f"memem/projects/{markdown.file_stem(project.name)}", project.name)
        links = [f"{page}: {project.in_force} active{outdated}", *_link_playbook(ws, project, "playbook")]
        lines.append(f"- {' · '.join(links)}")
    advice = "/memem-status in Claude Code, or `memem status`, lists them all"
    return _render_list("Projects", lines, len(projects), advice)


def _link_playbook(ws: Workspace, project: _Project, label: str) -> Iterator[str]:
    path = get_playbook_path(ws, project.name)
    if path.exists() and not markdown.is_symlink(path):
        yield markdown.link(f"memem/playbooks/{path.stem}", label)


def _waiting(ws: Workspace) -> Iterator[str]:
    proposals = ws.store.read_proposals()
    waiting = [(proposal.path, proposal.memory.title, proposal.review_reason) for proposal in proposals]
    quarantined = [(row.path, row.memory) for row in note_rows.list_quarantined(ws) if row.memory]
    waiting += [(path, memory.title, cleanse(memory).doubt) for path, memory in quarantined]
    lines = [
        f"- {markdown.link(Path(path).stem, clean_line(title))}: {markdown.escape(clean_line(reason))}"
        for path, title, reason in waiting[:MAX_WAITING]
    ]
    if lines:
        advice = "/memem-review in Claude Code, or `memem review`, lists them all"
        yield _render_list("Waiting for review", lines, len(waiting), advice)


def _render_project(ws: Workspace, project: _Project, rows: Sequence[NoteRow]) -> str:
    now = ws.clock()
    entries = [Entry(row.memory, row.path) for row in rows if row.memory]
    current = [entry for entry in entries if is_in_force(entry.memory, now) and entry.memory.layer < 3]
    others = [entry for entry in current if entry.memory.layer != PINNED]
    links = [markdown.link("memem/Home", "Home"), *_link_playbook(ws, project, "Playbook")]
    sections = {"Pinned": [entry for entry in current if entry.memory.layer == PINNED]}
    for kind, heading in markdown.PLURALS.items():
        sections[heading] = [entry for entry in others if entry.memory.kind == kind]
    sections["Other"] = [entry for entry in others if entry.memory.kind not in KINDS]
    parts = [f"# {markdown.escape(project.name)}", " · ".join(links)]
    for heading, members in sections.items():
        if members:
            parts.append(_render_list(heading, map(_render_item, members[:MAX_OF_KIND]), len(members)))
    paths = {entry.path for entry in current}
    if folded := [entry for entry in entries if entry.path not in paths]:
        lines = [f"> [!note]- Outdated or archived ({len(folded)})"]
        for entry in folded[:MAX_OF_KIND]:
            reason = describe_status(entry.memory) or ("archive" if entry.memory.layer > 2 else "")
            lines.append(f"> {_render_item(entry)}" + (f" ({markdown.escape(reason)})" if reason else ""))
        if len(folded) > MAX_OF_KIND:
            lines.append(f"> {len(folded) - MAX_OF_KIND:,} more: {LIST_ALL}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _render_item(entry: Entry) -> str:
    day = get_said_day(entry.memory)
    return f"- {markdown.link(entry.link[2:-2], entry.title)}" + (f" · {markdown.escape(day)}" if day else "")


def _render_list(heading: str, items: Iterable[str], count: int, advice: str = LIST_ALL) -> str:
    lines = list(items)
    more = [f"- {count - len(lines):,} more: {advice}"] if count > len(lines) else []
    return "\n".join([f"## {heading}", "", *lines, *more])
