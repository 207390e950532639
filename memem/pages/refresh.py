"""Write the pages that a person reads in Obsidian: Home, one for each project, and the playbooks.

Home links to the projects and each project to its notes. What a person writes around memem's part of a page stays. A
page is written only when its text changes, and a project whose notes have not changed is skipped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.dates import is_in_force, iso, remark
from memem.core.errors import MememError, NoteChanged
from memem.core.files import from_json
from memem.core.memory import KINDS, PINNED, Entry
from memem.notes import conflicts
from memem.pages import choose_playbook, markdown, read_playbook
from memem.pages import playbook_format as vault_playbooks
from memem.pages.read_playbook import belongs_to_user, get_playbook_path
from memem.safety.gate import clean_line
from memem.search import excluded
from memem.search.notes import NoteRow
from memem.search.refresh import ensure_filled, fresh_rows
from memem.vault import review
from memem.vault.opening import require_vault
from memem.vault.write_lock import writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


MOST_PROJECTS = 500
MOST_OF_KIND = 200
"""Of each kind on a project's page, and of those that no longer hold: however large a project is, its page is not."""
MOST_CHANGED = 20
MOST_WAITING = 20
MORE = "/recall in Claude Code finds them, `memem list` lists them"
NONE_LEFT = "No memories of this project are left."
_META = "pages"
_UNDONE: list[object] = []
"""Of a project whose pages could not be written: like no state of any."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Paths in `memem/`: written, removed, left to a person's note, behind a symbolic link, or just being saved."""

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Project:
    """A project at a glance."""

    name: str
    notes: int
    in_force: int
    changed: float
    row: int

    @property
    def stem(self) -> str:
        return markdown.file_stem(self.name)


def write_pages(ws: Workspace) -> Pages:
    """Bring all pages up to date."""
    ensure_filled(ws, require_vault(ws))  # of an index that is not filled nobody knows which projects there are
    found = [_Project(*each) for each in ws.index.projects(ws.clock().timestamp())]
    return _Writing(ws, found).run()


def write_pages_quietly(ws: Workspace, *, only_if_there: bool = False) -> None:
    """The same for whoever has done something else: what goes wrong with pages is no failure of that, and is logged."""
    try:
        if only_if_there and not _are_there(ws):
            read_playbook.record_cleared_lines(ws, (), ())  # what is noted of lines holds words of memories
            return
        for page in write_pages(ws).busy:
            told = f"memem/{page} was being saved by somebody else; `memem pages` brings it up to date"
            files.append_log(ws.home.hooks_log, f"{iso(ws.clock())} pages: {told}")
    except MememError as problem:
        files.append_log(ws.home.hooks_log, f"{iso(ws.clock())} pages: {clean_line(str(problem))}")


def _are_there(ws: Workspace) -> bool:
    """Whether there is any page, be it that somebody deleted the others."""
    paths = ws.store.paths
    folders = (paths.projects, paths.playbooks)
    return paths.home_page.exists() or any(any(folder.glob("*.md")) for folder in folders)


class _Writing:
    """One run over all pages."""

    def __init__(self, ws: Workspace, projects: Sequence[_Project]) -> None:
        self._ws = ws
        self._paths = ws.store.paths
        self._projects = projects
        self._before = _known(ws)
        self._written: list[str] = []
        self._removed: list[str] = []
        self._left: list[str] = []
        self._linked: list[str] = []
        self._busy: list[str] = []
        self._looked_at: list[str] = []

    def run(self) -> Pages:
        after = {}
        for project in self._projects:
            done = self._before.get(project.name) == self._state(project) or self._write_project(project)
            after[project.name] = self._state(project) if done else _UNDONE
        read_playbook.record_cleared_lines(self._ws, after, self._looked_at)
        after |= dict.fromkeys(self._withdraw_others(), _UNDONE)
        self._put(self._paths.home_page, _home(self._ws, self._projects))
        self._ws.index.set_meta(_META, json.dumps(after))
        told = (self._written, self._removed, self._left, self._linked, self._busy)
        return Pages(*map(tuple, told))

    def _state(self, project: _Project) -> list[object]:
        """By which it is known whether a project's pages are still right; what holds may end with a day."""
        stamps = (files.stamp(path) for path in (*self._pages_of(project.name), self._ws.home.stale_file))
        return [project.notes, project.row, self._ws.today(), *(list(each) if each else None for each in stamps)]

    def _pages_of(self, project: str) -> tuple[Path, Path]:
        return self._paths.projects / f"{markdown.file_stem(project)}.md", get_playbook_path(self._ws, project)

    def _write_project(self, project: _Project) -> bool:
        """Whether both pages are as they should be."""
        self._looked_at.append(project.name)
        page, playbook = self._pages_of(project.name)
        condition = "project = ? AND problem IS NULL ORDER BY changed DESC, id"
        rows = fresh_rows(self._ws, lambda: self._ws.index.rows(condition, (project.name,)))
        done = self._put(playbook, partial(choose_playbook.update_part, self._ws, rows))
        return self._put(page, _project(self._ws, project, rows)) and done

    def _withdraw_others(self) -> list[str]:
        """Take away the pages of projects that have no notes left. The names of those for which that could not be."""
        undone = []
        for name in sorted(self._without_notes()):
            page, playbook = self._pages_of(name)
            done = self._withdraw(page, markdown.typed_in_overview)
            if not (self._withdraw(playbook, vault_playbooks.render_without_lines) and done):
                undone.append(name)
        return undone

    def _without_notes(self) -> set[str]:
        """The projects that memem wrote pages of and that are no more: by the record of the last run, and, since an
        index is made anew at times, by what a page calls itself. Any other file there, be it a copy, is a person's."""
        names = {project.name for project in self._projects}
        others = set(self._paths.projects.glob("*.md")) - {self._pages_of(name)[0] for name in names}
        named = {_named(page) for page in others if page.is_file() and not belongs_to_user(self._ws, page)}
        return (named | set(self._before)) - names - {""}

    def _withdraw(self, path: Path, rest: Callable[[str], str]) -> bool:
        """Whether there is nothing left to do."""
        if belongs_to_user(self._ws, path):
            return True
        try:
            with writing(self._ws):
                changed = markdown.withdraw(path, NONE_LEFT, fsync=self._ws.settings.fsync, rest=rest)
        except NoteChanged:
            self._busy.append(self._name(path))
            return False
        if changed:
            (self._written if path.exists() else self._removed).append(self._name(path))
        return True

    def _put(self, path: Path, part: markdown.Part) -> bool:
        """Whether the page is now as it should be; else it is looked at, and told, each time."""
        if belongs_to_user(self._ws, path):
            (self._linked if markdown.leads_out(path) else self._left).append(self._name(path))
            return False
        try:
            with writing(self._ws):
                # What a person writes into a playbook is kept where it stands.
                is_ours = markdown.is_overview_line if isinstance(part, str) else None
                if markdown.write(path, part, fsync=self._ws.settings.fsync, is_ours=is_ours):
                    self._written.append(self._name(path))
        except NoteChanged:
            self._busy.append(self._name(path))
            return False
        return True

    def _name(self, path: Path) -> str:
        return path.relative_to(self._paths.ours).as_posix()


def _known(ws: Workspace) -> dict[str, list[object]]:
    try:
        told = from_json(ws.index.meta(_META) or "{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _named(page: Path) -> str:
    """The project whose page this is, by its heading; a copy under another name is nobody's."""
    first = next(iter(markdown.own_lines(markdown.read(page) or "")), "")
    name = markdown.spoken(first.removeprefix("# "))
    return name if first != name and markdown.file_stem(name) == page.stem else ""


def _home(ws: Workspace, projects: Sequence[_Project]) -> str:
    parts = ["# Memory", _projects(ws, projects), *_conflicts(ws), *_waiting(ws), *_changed(ws)]
    return "\n\n".join(parts)


def _projects(ws: Workspace, projects: Sequence[_Project]) -> str:
    if not projects:
        return "Nothing is remembered yet."
    lines = [_glance(ws, project) for project in projects[:MOST_PROJECTS]]
    return _list("Projects", lines, len(projects), "/memem-status in Claude Code, or `memem status`, lists them all")


def _glance(ws: Workspace, project: _Project) -> str:
    counted = f"{project.in_force} in force" + (
        f", {project.notes - project.in_force} not" if project.notes > project.in_force else ""
    )
    page = markdown.link(f"memem/projects/{project.stem}", project.name)
    playbook = markdown.link(f"memem/playbooks/{project.stem}", "playbook")
    beside = f" · {playbook}" if _has_playbook(ws, project) else ""
    return f"- {page}: {counted}{beside}"


def _has_playbook(ws: Workspace, project: _Project) -> bool:
    """Whether there is one that a link leads to."""
    path = get_playbook_path(ws, project.name)
    return path.exists() and not markdown.leads_out(path)


def _conflicts(ws: Workspace) -> Iterator[str]:
    count = conflicts.count(ws)
    if count and ws.store.paths.conflicts.exists():
        yield f"## Conflicts\n\n- {markdown.link('memem/Conflicts', f'{count} to be decided')}"


def _waiting(ws: Workspace) -> Iterator[str]:
    asked = [(each.path, each.memory.title, review.reason_of(each)) for each in review.read_proposals(ws.store)]
    asked += [
        (row.path, row.memory.title, excluded.explain_quarantine(row.memory))
        for row in excluded.list_quarantined(ws)
        if row.memory
    ]
    lines = [_question(*each) for each in asked[:MOST_WAITING]]
    if lines:
        yield _list(
            "Waiting for review", lines, len(asked), "/memem-review in Claude Code, or `memem review`, lists them all"
        )


def _question(path: str, title: str, because: str) -> str:
    return f"- {markdown.link(Path(path).stem, clean_line(title))}: {markdown.plain(clean_line(because))}"


def _changed(ws: Workspace) -> Iterator[str]:
    condition = "problem IS NULL AND status <> 'quarantined' ORDER BY changed DESC, id"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, limit=MOST_CHANGED))
    lines = [
        f"{_item(Entry(row.memory, row.path))} · {markdown.plain(row.memory.project)}" for row in rows if row.memory
    ]
    if lines:
        yield _list("Last changed", lines, len(lines))


def _project(ws: Workspace, project: _Project, rows: Sequence[NoteRow]) -> str:
    """Pinned first, then by kind, the last changed first; folded, what no longer holds or is put away."""
    now = ws.clock()
    entries = [Entry(row.memory, row.path) for row in rows if row.memory]
    alive = [each for each in entries if is_in_force(each.memory, now) and each.memory.layer < 3]
    pinned = [each for each in alive if each.memory.layer == PINNED]
    others = [each for each in alive if each.memory.layer != PINNED]
    links = [markdown.link("memem/Home", "Home")]
    if _has_playbook(ws, project):
        links.append(markdown.link(f"memem/playbooks/{project.stem}", "Playbook"))
    parts = [f"# {markdown.plain(project.name)}", " · ".join(links), *_listed("Pinned", pinned)]
    for kind, heading in markdown.PLURALS.items():
        parts += _listed(heading, [each for each in others if each.memory.kind == kind])
    parts += _listed("Others", [each for each in others if each.memory.kind not in KINDS])
    shown = {each.path for each in alive}
    parts += _folded([each for each in entries if each.path not in shown])
    return "\n\n".join(parts)


def _listed(heading: str, entries: Sequence[Entry]) -> Iterator[str]:
    if entries:
        yield _list(heading, [_item(each) for each in entries[:MOST_OF_KIND]], len(entries))


def _folded(entries: Sequence[Entry]) -> Iterator[str]:
    if entries:
        lines = [f"> {_item(each)}{_aside(each)}" for each in entries[:MOST_OF_KIND]]
        more = [f"> {_more(len(entries) - len(lines))}"] if len(entries) > len(lines) else []
        yield "\n".join([f"> [!note]- No longer in force, or put away ({len(entries)})", *lines, *more])


def _aside(entry: Entry) -> str:
    said = remark(entry.memory) or ("archive" if entry.memory.layer > 2 else "")
    return f" ({markdown.plain(said)})" if said else ""


def _item(entry: Entry) -> str:
    day = (entry.memory.updated or entry.memory.created)[:10]
    return f"- {markdown.link(entry.link[2:-2], entry.title)}" + (f" · {markdown.plain(day)}" if day else "")


def _list(heading: str, lines: Iterable[str], count: int, advice: str = MORE) -> str:
    lines = list(lines)
    more = [f"- {_more(count - len(lines), advice)}"] if count > len(lines) else []
    return "\n".join([f"## {heading}", "", *lines, *more])


def _more(number: int, advice: str = MORE) -> str:
    return f"{number:,} more: {advice}"
