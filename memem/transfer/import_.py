"""Bring memories into the vault: markdown, Claude Code's own, conversations, other programs', and exports of memem.

What a source claims is kept, but for who wrote it. Each item goes the way of every other candidate; all of them are one
batch, which can be undone. The same source twice is one memory: its id comes from its place and statement, so an import
that was interrupted goes on where it was.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import dates, files
from memem.core.dates import iso
from memem.core.errors import Forgotten, InputError, NoteError
from memem.core.memory import Memory, fingerprint
from memem.core.trust import IMPORTED
from memem.notes import forget, reconcile, write
from memem.notes.reconcile import Candidate
from memem.notes.write import Written
from memem.pages import conflicts, refresh
from memem.safety.credentials import redact
from memem.safety.naming import project_named
from memem.search.refresh import ensure_filled, fresh_rows
from memem.state.batches import IMPORT
from memem.transfer import links, read, restore
from memem.transfer import sources as transfer_sources
from memem.transfer.items import CREATED, EXISTS, REFUSED, UNREADABLE, ImportedFile, Item
from memem.transfer.links import Joined
from memem.transfer.read import Tally
from memem.transfer.sources import EXPORT, Source
from memem.vault.opening import ensure_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "memem:import")
PROPOSED = "proposed"
_CHANGING = (CREATED, "updated", "superseded", PROPOSED)

Progress = Callable[[float, int], object]
Tick = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of everything; `batch` is what undoes it all, empty when nothing was changed.

    `turns` are those of conversations that were looked at, `tombstones` what was forgotten elsewhere and is here now.
    """

    files: tuple[ImportedFile, ...]
    batch: str
    dry_run: bool = False
    turns: int = 0
    tombstones: int = 0

    def count(self, *outcomes: str) -> int:
        """How many ended so."""
        return sum(each.outcome in outcomes for each in self.files)


@dataclass(slots=True)
class _Run:
    """One import, as far as it has come."""

    ws: Workspace
    project: str
    dry_run: bool
    joined: Joined
    done: list[ImportedFile] = field(default_factory=list)
    seen: dict[tuple[str, str], Written] = field(default_factory=dict)
    contradicting: bool = False
    turns: int = 0
    tombstones: int = 0


def import_notes(
    ws: Workspace,
    paths: Sequence[Path],
    *,
    project: str = "",
    format: str = "",
    dry_run: bool = False,
    progress: Progress = lambda *_: None,
) -> Imported:
    """Import files, and those in folders. `project` is that of all of them, else each says its own or none.

    `format` is that of the files, where what they are does not tell.
    """
    sources = transfer_sources.sources(ws, paths, format)
    if project and any(source.format == EXPORT for source in sources):
        raise InputError("An export of memem keeps the projects of its notes: import it without --project.")
    run = _Run(ws, project, dry_run, links.foreseen(ws, sources, lambda item: _memory(ws, item, project)))
    with ws.events.batch(IMPORT) as batch:
        for number, source in enumerate(sources):
            progress(number, len(sources))
            (_unpack if source.format == EXPORT else _take)(run, source, partial(_told, progress, number, len(sources)))
        corrected = 0 if dry_run else links.correct(ws, run.joined)
    progress(len(sources), len(sources))
    if run.contradicting and not dry_run:
        conflicts.write_page(ws)
    changed = not dry_run and (corrected or run.tombstones or any(each.outcome in _CHANGING for each in run.done))
    if changed:
        refresh.follow(ws)
    return Imported(tuple(run.done), batch if changed else "", dry_run, run.turns, run.tombstones)


def _told(progress: Progress, number: int, total: int, share: float) -> None:
    if 0 < share < 1:
        progress(number + share, total)


def _unpack(run: _Run, source: Source, tick: Tick) -> None:
    unpacked = restore.Unpacking(run.ws, source, dry_run=run.dry_run)
    try:
        for file, share in unpacked.files():
            run.done.append(file)
            run.contradicting |= file.outcome == CREATED  # the page lists what contradicts what here, not there
            tick(share)
    except (InputError, NoteError, OSError) as problem:
        run.done.append(_failed(source, problem))
    run.tombstones += unpacked.tombstones


def _take(run: _Run, source: Source, tick: Tick) -> None:
    """Import what a source holds."""
    tally = Tally(tick)
    try:
        for item in read.items(run.ws, source, tally):
            run.done.append(_taken(run, source, item))
    except (InputError, NoteError, OSError) as problem:
        run.done.append(_failed(source, problem))
    run.turns += tally.turns


def _taken(run: _Run, source: Source, item: Item) -> ImportedFile:
    place = "" if item.place == source.inside else item.place
    if item.problem:
        return ImportedFile(source.shown, REFUSED, reason=item.problem, place=place)
    memory = run.joined.linked(run.ws, item, _memory(run.ws, item, run.project))
    try:
        written = _foreseen(run, memory) if run.dry_run else _settled(run.ws, memory, item)
    except (InputError, NoteError, OSError) as problem:
        return replace(_failed(source, problem), place=place)
    run.joined.met(item, memory, written)
    run.contradicting |= bool(written.memory.contradicts)
    # Of some sources secrets are taken out before they are parted into items.
    redacted = dict.fromkeys((*written.redacted, *redact.marked(f"{item.memory.title}\n{item.memory.body}")))
    taken = f"taken out: {', '.join(redacted)}" if redacted and written.outcome != EXISTS else ""
    told = "; ".join(filter(None, (f"it {written.doubt}" if written.doubt else "", taken)))
    return ImportedFile(source.shown, written.outcome, written.memory.id, written.memory.title, told, place)


def _memory(ws: Workspace, item: Item, project: str) -> Memory:
    """The memory that an item would be; its days with their times, as a property has one type."""
    said, now, zone = item.memory, iso(ws.clock()), ws.clock().tzinfo
    return replace(
        said,
        id=str(uuid.uuid5(_NAMESPACE, f"{item.place}\n{fingerprint(said.body)}")),
        project=project_named(project or said.project),
        anchors=(),
        created=dates.in_full(said.created, zone) or now,
        updated=now,
        valid_from=dates.in_full(said.valid_from, zone),
        valid_to=dates.in_full(said.valid_to, zone, last=True),
    )


def _settled(ws: Workspace, memory: Memory, item: Item) -> Written:
    """Keep it, like every other candidate. It may be older than what is known: it rewrites nothing."""
    ensure_filled(ws, ensure_vault(ws))
    candidate = Candidate(memory, IMPORTED)
    return _known(ws, memory) or reconcile.settle(ws, candidate, why=f"imported from {item.place}")


def _foreseen(run: _Run, memory: Memory) -> Written:
    """What would become of it, as far as that can be told without comparing it with what is known."""
    ws, verdict = run.ws, write.prepared(IMPORTED.limited(memory))
    memory, said = verdict.memory, (verdict.memory.project, fingerprint(verdict.memory.body))
    outcome = PROPOSED if verdict.doubt else CREATED
    new = run.seen.get(said) or Written(outcome, memory, "", verdict.redacted, verdict.neutralised, verdict.doubt)
    run.seen[said] = replace(new, outcome=EXISTS)
    vault_id = ws.store.vault_id()
    if not vault_id:
        return new
    ensure_filled(ws, vault_id)
    known = _known(ws, memory)
    hold = None if known else forget.check_forgotten(ws, memory)
    if hold:
        raise Forgotten(hold.reason)
    rows = fresh_rows(ws, lambda: ws.index.by_fingerprint(said[1]))
    twins = (row for row in rows if row.memory and row.memory.project == memory.project)
    twin = next((Written(EXISTS, row.memory, row.path) for row in twins if row.memory), None)
    return known or twin or new


def _known(ws: Workspace, memory: Memory) -> Written | None:
    """The note that an earlier import of the same made, whatever became of it since."""
    rows = fresh_rows(ws, lambda: ws.index.rows("id = ?", (memory.id,)))
    return next((Written(EXISTS, row.memory, row.path) for row in rows if row.memory), None)


def _failed(source: Source, problem: Exception) -> ImportedFile:
    reason = files.reason(problem) if isinstance(problem, OSError) else str(problem)
    return ImportedFile(source.shown, REFUSED if isinstance(problem, InputError) else UNREADABLE, reason=reason)
