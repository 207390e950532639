"""Find faults of the graph: orphans, dead links, hubs, and links to notes that are no longer valid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memem.core.errors import Ambiguous, InputError, NoteChanged, NoteError, NotFound, RewriteRefused
from memem.core.memory import STATED, SUPERSEDES, Entry, Memory
from memem.notes import write
from memem.pages import conflicts
from memem.search.graph import build, read
from memem.search.graph.build import MAX_DEGREE, refresh_graph
from memem.search.graph.read import GraphStats
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace

ORPHAN, DEAD_LINK, HUB, STALE_EDGE = PROBLEMS = ("orphan", "dead_link", "hub", "stale_edge")
HUB_DEGREE = 3 * MAX_DEGREE
FIXABLE = ("related", "contradicts")  # supersession is history, and the statement belongs to its author
_FIX = "Run `memem graph audit --fix` to {}."


@dataclass(frozen=True, slots=True)
class Flaw:
    problem: str
    id: str
    path: str
    title: str
    detail: str
    fix: str
    mendable: bool = False  # by memem


@dataclass(frozen=True, slots=True)
class Audit:
    stats: GraphStats
    counts: dict[str, int]
    flaws: tuple[Flaw, ...]
    mended: tuple[Flaw, ...] = ()
    batch: str = ""  # undoes what was mended


_Repair = tuple[str, str, str]  # property, link, and the link to replace it by, if any
_FoundFlaw = tuple[Flaw, _Repair | None]


@dataclass(frozen=True, slots=True)
class _GraphView:
    ws: Workspace
    entries: Mapping[str, Entry]  # all memories of the index
    target_id: Callable[[str], str]  # of a link

    _fixable: dict[str, bool] = field(default_factory=dict)

    def may_fix(self, entry: Entry, name: str) -> bool:
        """Whether memem may change a link: only in a note that it wrote and no person has touched."""
        if name not in FIXABLE or entry.memory.author != "model":
            return False
        if entry.id not in self._fixable:
            self._fixable[entry.id] = False
            with suppress(NoteError, NotFound, Ambiguous, InputError):
                self._fixable[entry.id] = write.is_a_machines(self.ws, entry.id)
        return self._fixable[entry.id]

    def successor(self, memory: Memory) -> Entry | None:
        """The valid memory that superseded this one, directly or through others."""
        seen = {memory.id}
        while memory.superseded_by:
            later = self.entries.get(self.target_id(memory.superseded_by))
            if later is None or later.id in seen:
                return None
            seen.add(later.id)
            memory = later.memory
            if read.is_current(memory):
                return later
        return None


def audit(ws: Workspace, *, fix: bool = False) -> Audit:
    """List the faults of the graph; with `fix`, first repair links in notes that memem wrote."""
    require_vault(ws)
    refresh_graph(ws)
    found = list(_find_flaws(ws))
    mended, batch = _repair(ws, found) if fix else ([], "")
    if mended:
        refresh_graph(ws)
        conflicts.write_page(ws)
        found = list(_find_flaws(ws))
    flaws = sorted((flaw for flaw, _ in found), key=lambda flaw: (PROBLEMS.index(flaw.problem), flaw.path))
    counts = Counter(flaw.problem for flaw in flaws)
    stats = read.compute_stats(ws)
    return Audit(stats, {name: counts[name] for name in PROBLEMS}, tuple(flaws), tuple(mended), batch)


def _find_flaws(ws: Workspace) -> Iterator[_FoundFlaw]:
    entries = read.list_memories(ws)
    view = _GraphView(ws, entries, build.make_link_resolver(entries))
    edges = [edge for edge in ws.index.edges.all() if edge.source in entries and edge.target in entries]
    degrees = read.count_degrees(edges)
    stated = read.count_degrees(edge for edge in edges if edge.origin in STATED)
    yield from _dead_links(view)
    for entry in entries.values():
        if read.is_current(entry.memory):
            if not degrees[entry.id]:
                fix = f"Link it to a related `[[note]]` in Obsidian, or run `memem forget {entry.memory.id8}`."
                yield _flaw(ORPHAN, entry, "nothing links to it, and it links to nothing", fix)
            yield from _outdated_links(view, entry)
        if degrees[entry.id] > HUB_DEGREE:
            detail = f"has {degrees[entry.id]} edges, {stated[entry.id]} of them from links in notes"
            fix = "Split the note or remove links that say little; `memem graph rebuild` updates computed edges."
            yield _flaw(HUB, entry, detail, fix)
    for edge in edges:
        if edge.origin not in STATED and edge.kind != SUPERSEDES:
            for entry in (entries[edge.source], entries[edge.target]):
                if not read.is_current(entry.memory):
                    detail = f"is {_state(entry.memory)}, but still has a computed edge"
                    yield _flaw(STALE_EDGE, entry, detail, "Run `memem graph rebuild`.")


def _dead_links(view: _GraphView) -> Iterator[_FoundFlaw]:
    by_path = {entry.path: entry for entry in view.entries.values()}
    memories = {path: entry.memory for path, entry in by_path.items()}
    for path, name, link in read.find_dangling_links(memories, view.ws.settings.vault, body=True):
        entry, detail = by_path[path], f"links in {_place(name)} to {link}, but there is no such note"
        repair = (name, link, "") if view.may_fix(entry, name) else None
        by_hand = f"Write the note {link}, or correct or remove the link in Obsidian."
        yield _flaw(DEAD_LINK, entry, detail, _FIX.format("remove the link") if repair else by_hand, repair)


def _outdated_links(view: _GraphView, entry: Entry) -> Iterator[_FoundFlaw]:
    for name, link in read.list_links(entry.memory, body=True):
        other = view.entries.get(view.target_id(link))
        if name not in ("related", "body") or other is None or read.is_current(other.memory):
            continue
        successor = view.successor(other.memory)
        detail = f"links in {_place(name)} to {link}, which is {_state(other.memory)}"
        if successor is None or successor.id == entry.id:
            yield _flaw(STALE_EDGE, entry, detail, "Correct or remove the link in Obsidian.")
            continue
        repair = (name, link, successor.link) if view.may_fix(entry, name) else None
        by_hand = f"Link to {successor.link} instead, or remove the link in Obsidian."
        fix = _FIX.format(f"link to {successor.link} instead") if repair else by_hand
        yield _flaw(STALE_EDGE, entry, detail, fix, repair)


def _repair(ws: Workspace, found: list[_FoundFlaw]) -> tuple[list[Flaw], str]:
    """Repair flaws; returns those repaired, and the batch that undoes it. Notes that change meanwhile are skipped."""
    by_note: dict[str, list[tuple[Flaw, _Repair]]] = {}
    for flaw, repair in found:
        if repair:
            by_note.setdefault(flaw.id, []).append((flaw, repair))
    mended: list[Flaw] = []
    with ws.events.batch("graph") as batch:
        for identity, own in by_note.items():
            replaced = {(name, link): new for _, (name, link, new) in own}
            with suppress(NoteChanged, RewriteRefused, NotFound, Ambiguous, NoteError):
                memory, changes = write.note_of(ws, identity).memory, dict[str, Any]()
                for name, _ in replaced:
                    links = (replaced.get((name, link), link) for link in read.get_links(memory, name))
                    changes[name] = tuple(dict.fromkeys(filter(None, links)))
                if write.revise(ws, identity, why="graph audit", **changes):
                    mended += [flaw for flaw, _ in own]
    return mended, batch if mended else ""


def _place(name: str) -> str:
    return "its text" if name == "body" else f"`{name}`"


def _state(memory: Memory) -> str:
    return f"superseded by {memory.superseded_by}" if memory.superseded_by else memory.status


def _flaw(problem: str, entry: Entry, detail: str, fix: str, repair: _Repair | None = None) -> _FoundFlaw:
    return Flaw(problem, entry.id, entry.path, entry.title, detail, fix, mendable=repair is not None), repair
