"""Whether the graph is in order: memories that nothing leads to, links that lead nowhere or to what is no more, and
memories that everything leads to. Each with what mends it, by a person or by memem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
"""So many edges are far more than comparing gives a memory, and more than anybody follows."""
MENDED = ("related", "contradicts")
"""The properties that memem may mend by itself. What superseded what is history, and the statement is its author's."""
_FIX = "`memem graph audit --fix` {}."


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is not as it should be with a memory, and what mends it; `mendable` when memem may do it."""

    problem: str
    id: str
    path: str
    title: str
    detail: str
    fix: str
    mendable: bool = False


@dataclass(frozen=True, slots=True)
class Audit:
    """The graph in numbers, what is wrong with it, and what was mended: `batch` takes that back with `memem undo`."""

    stats: GraphStats
    counts: dict[str, int]
    flaws: tuple[Flaw, ...]
    mended: tuple[Flaw, ...] = ()
    batch: str = ""


@dataclass(frozen=True, slots=True)
class _Found:
    """A flaw, and for one that memem may mend the property, the link, and the link to put there, if any."""

    flaw: Flaw
    mend: tuple[str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class _Vault:
    """All memories as the index knows them, and who leads where."""

    ws: Workspace
    entries: Mapping[str, Entry]
    led_to: Callable[[str], str]
    _machines: dict[str, bool] = field(default_factory=dict)

    def may_mend(self, entry: Entry, name: str) -> bool:
        """Whether a link is memem's own to change: in a note that a machine wrote and no person has touched."""
        if name not in MENDED or entry.memory.author != "model":
            return False
        if entry.id not in self._machines:
            self._machines[entry.id] = False
            with suppress(NoteError, NotFound, Ambiguous, InputError):
                self._machines[entry.id] = write.is_a_machines(self.ws, entry.id)
        return self._machines[entry.id]

    def successor(self, memory: Memory) -> Entry | None:
        """What holds now in its place, however often it was replaced."""
        seen = {memory.id}
        while memory.superseded_by:
            later = self.entries.get(self.led_to(memory.superseded_by))
            if later is None or later.id in seen:
                return None
            seen.add(later.id)
            memory = later.memory
            if read.is_current(memory):
                return later
        return None


def audit(ws: Workspace, *, fix: bool = False) -> Audit:
    """Look through the graph; with `fix`, mend what a machine may, in the notes that it wrote itself."""
    require_vault(ws)
    refresh_graph(ws)
    found = list(_flaws(ws))
    if not fix:
        return _told(ws, found)
    mended, batch = _mend(ws, [each for each in found if each.mend])
    if mended:
        refresh_graph(ws)
        conflicts.write_page(ws)
        found = list(_flaws(ws))
    return _told(ws, found, tuple(mended), batch)


def _told(ws: Workspace, found: list[_Found], mended: tuple[Flaw, ...] = (), batch: str = "") -> Audit:
    flaws = sorted((each.flaw for each in found), key=lambda flaw: (PROBLEMS.index(flaw.problem), flaw.path))
    counted = Counter(flaw.problem for flaw in flaws)
    return Audit(read.compute_stats(ws), {name: counted[name] for name in PROBLEMS}, tuple(flaws), mended, batch)


def _flaws(ws: Workspace) -> Iterator[_Found]:
    entries = read.list_memories(ws)
    vault = _Vault(ws, entries, build.make_link_resolver(entries))
    edges = [edge for edge in ws.index.edges.all() if edge.source in entries and edge.target in entries]
    degrees = read.count_degrees(edges)
    yield from map(_Found, _orphans(entries.values(), degrees))
    yield from _dead(vault)
    stated = read.count_degrees(edge for edge in edges if edge.origin in STATED)
    for entry in entries.values():
        if degrees[entry.id] > HUB_DEGREE:
            yield _Found(_hub(entry, degrees[entry.id], stated[entry.id]))
        if read.is_current(entry.memory):
            yield from _outdated(vault, entry)
    for edge in edges:
        ends = [entries[end] for end in (edge.source, edge.target)]
        if edge.origin not in STATED and edge.kind != SUPERSEDES:
            yield from (_Found(_behind(entry)) for entry in ends if not read.is_current(entry.memory))


def _orphans(entries: Iterable[Entry], degrees: Counter[str]) -> Iterator[Flaw]:
    for entry in entries:
        if read.is_current(entry.memory) and not degrees[entry.id]:
            fix = f"Link it in Obsidian with a `[[note]]` to what it belongs to, or `memem forget {entry.memory.id8}`."
            yield _flaw(ORPHAN, entry, "no edge leads to it or away from it", fix)


def _hub(entry: Entry, degree: int, stated: int) -> Flaw:
    fix = "Part the note into several, or remove links that tell nothing; `memem graph rebuild` sees to the others."
    return _flaw(HUB, entry, f"has {degree} edges, {stated} of them stated by notes", fix)


def _behind(entry: Entry) -> Flaw:
    detail = f"is {_state(entry.memory)}, and comparing still holds it to be in force"
    return _flaw(STALE_EDGE, entry, detail, "`memem graph rebuild` makes the graph anew.")


def _dead(vault: _Vault) -> Iterator[_Found]:
    """Links that lead to no note, of memories whatever their status."""
    by_path = {entry.path: entry for entry in vault.entries.values()}
    memories = {path: entry.memory for path, entry in by_path.items()}
    for path, name, link in read.find_dangling_links(memories, vault.ws.settings.vault, read.list_all_links):
        entry, where = by_path[path], "its text" if name == "body" else f"`{name}`"
        detail = f"links in {where} to {link}, which is not there"
        if vault.may_mend(entry, name):
            yield _Found(
                _flaw(DEAD_LINK, entry, detail, _FIX.format("drops the link"), mendable=True), (name, link, "")
            )
        else:
            advice = f"Write the note {link}, correct the link in Obsidian, or remove it."
            yield _Found(_flaw(DEAD_LINK, entry, detail, advice))


def _outdated(vault: _Vault, entry: Entry) -> Iterator[_Found]:
    """Links of a memory in force to what is not."""
    for name, link in read.list_all_links(entry.memory):
        other = vault.entries.get(vault.led_to(link))
        if name not in ("related", "body") or other is None or read.is_current(other.memory):
            continue
        later = vault.successor(other.memory)
        detail = f"links in {'its text' if name == 'body' else f'`{name}`'} to {link}, which is {_state(other.memory)}"
        if later and later.id != entry.id and vault.may_mend(entry, name):
            fix = _FIX.format(f"lets the link lead to {later.link}")
            yield _Found(_flaw(STALE_EDGE, entry, detail, fix, mendable=True), (name, link, later.link))
        else:
            instead = f"Let it lead to {later.link}" if later and later.id != entry.id else "Correct what it leads to"
            yield _Found(_flaw(STALE_EDGE, entry, detail, f"{instead}, or remove the link in Obsidian."))


def _mend(ws: Workspace, found: list[_Found]) -> tuple[list[Flaw], str]:
    """What was mended, and the batch that takes it back; what somebody is writing to is left for the next time."""
    of_note: dict[str, list[_Found]] = {}
    for each in found:
        of_note.setdefault(each.flaw.id, []).append(each)
    mended: list[Flaw] = []
    with ws.events.batch("graph") as batch:
        for identity, some in of_note.items():
            with suppress(NoteChanged, RewriteRefused, NotFound, Ambiguous, NoteError):
                memory = write.note_of(ws, identity).memory
                written = write.revise(ws, identity, why="graph audit", **_changes(memory, some))
                mended += [each.flaw for each in some] if written else []
    return mended, batch if mended else ""


def _changes(memory: Memory, found: Iterable[_Found]) -> dict[str, tuple[str, ...]]:
    """The properties as they are to be: each link once, none to the note itself."""
    swaps = {(name, link): instead for name, link, instead in (each.mend for each in found if each.mend)}
    changes = {}
    for name in dict.fromkeys(name for name, _ in swaps):
        kept = (swaps.get((name, link), link) for link in read.get_links(memory, name))
        changes[name] = tuple(dict.fromkeys(filter(None, kept)))
    return changes


def _state(memory: Memory) -> str:
    return f"superseded by {memory.superseded_by}" if memory.superseded_by else memory.status


def _flaw(problem: str, entry: Entry, detail: str, fix: str, *, mendable: bool = False) -> Flaw:
    return Flaw(problem, entry.id, entry.path, entry.title, detail, fix, mendable)
