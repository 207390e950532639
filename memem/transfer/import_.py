"""Import memories: Markdown, Claude Code's memory, conversations, other programs' databases, and exports of memem."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from memem.core import dates, files
from memem.core.dates import iso
from memem.core.errors import Ambiguous, Forgotten, InputError, NoteError, NotFound
from memem.core.memory import Memory, fingerprint, link_target
from memem.core.trust import IMPORTED
from memem.notes import forget, reconcile, write
from memem.notes.reconcile import Candidate
from memem.notes.write import Written
from memem.pages import conflicts, refresh
from memem.safety.credentials import redact
from memem.safety.gate import MAX_ITEMS
from memem.safety.naming import clean_project_name
from memem.search import find
from memem.search.graph.read import resolve_links
from memem.search.refresh import ensure_filled, fresh_rows
from memem.state.batches import IMPORT
from memem.transfer.items import CREATED, EXISTS, REFUSED, UNREADABLE, ImportedFile, ImportItem
from memem.transfer.read import ReadProgress, read_items
from memem.transfer.restore import Restore
from memem.transfer.sources import EXPORT, Source, find_sources
from memem.vault.opening import ensure_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "memem:import")
PROPOSED = "proposed"
_LINK_LISTS = ("related", "contradicts")
_WHY_LINKS = "links from an import"
_CHANGES = (CREATED, "updated", "superseded", PROPOSED)

Progress = Callable[[float, int], object]


@dataclass(frozen=True, slots=True)
class Imported:
    files: tuple[ImportedFile, ...]
    batch: str  # undoes all of it; empty if nothing changed
    dry_run: bool = False
    turns: int = 0  # of conversations, read
    tombstones: int = 0  # taken over from exports

    def count(self, *outcomes: str) -> int:
        return sum(file.outcome in outcomes for file in self.files)


@dataclass(slots=True)
class _ImportRun:
    ws: Workspace
    project: str
    dry_run: bool
    progress: ReadProgress
    links: dict[str, str] = field(default_factory=dict)  # to imported notes by name; empty for a name of several
    linking: list[tuple[str, ImportItem]] = field(default_factory=list)  # ids of notes with links, and their items
    files: list[ImportedFile] = field(default_factory=list)
    previewed: dict[tuple[str, str], Written] = field(default_factory=dict)  # by project and fingerprint
    has_conflicts: bool = False
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
    """Import files and folders. `project` and `format` apply to all of them; by default each file decides."""
    sources = find_sources(ws, paths, format)
    if project and any(source.format == EXPORT for source in sources):
        raise InputError("A memem export keeps the projects of its notes: import it without --project.")
    run = _ImportRun(ws, project, dry_run, ReadProgress(progress, len(sources)))
    with ws.events.batch(IMPORT) as batch:
        for source in sources:
            run.progress.report(0)
            _import_source(run, source)
            run.progress.done += 1
        linked = [] if dry_run else _write_links(run)
    run.progress.report(0)
    if not dry_run and (run.has_conflicts or any(memory.contradicts for memory in linked)):
        conflicts.write_page(ws)
    changed = not dry_run and (linked or run.tombstones or any(file.outcome in _CHANGES for file in run.files))
    if changed:
        refresh.write_pages_quietly(ws)
    return Imported(tuple(run.files), batch if changed else "", dry_run, run.progress.turns, run.tombstones)


def _import_source(run: _ImportRun, source: Source) -> None:
    try:
        if source.format == EXPORT:
            restore = Restore(run.ws, source, dry_run=run.dry_run)
            for file, share in restore.files():
                run.files.append(file)
                run.has_conflicts |= file.outcome == CREATED
                run.progress.report(share)
            run.tombstones += restore.tombstones
        else:
            for item in read_items(run.ws, source, run.progress):
                run.files.append(_import_item(run, source, item))
    except (InputError, NoteError, OSError) as problem:
        run.files.append(_failure(source, problem))


def _import_item(run: _ImportRun, source: Source, item: ImportItem) -> ImportedFile:
    place = "" if item.place == source.inside else item.place
    if item.problem:
        return ImportedFile(source.shown, REFUSED, reason=item.problem, place=place)
    ws, memory = run.ws, _as_memory(run.ws, item, run.project)
    try:
        if run.dry_run:
            written = _preview(run, memory)
        else:
            ensure_filled(ws, ensure_vault(ws))
            # It may be older than existing notes, so it never rewrites one.
            candidate, why = Candidate(memory, IMPORTED), f"imported from {item.place}"
            written = _imported_before(ws, memory) or reconcile.settle(ws, candidate, why=why)
    except (InputError, NoteError, OSError) as problem:
        return replace(_failure(source, problem), place=place)
    link = f"[[{PurePosixPath(written.path).stem}]]"
    for name in item.names if written.path else ():
        run.links[name] = link if run.links.get(name, link) == link else ""
    if any(map(any, item.links.values())) and written.memory.id == memory.id:
        run.linking.append((memory.id, item))
    run.has_conflicts |= bool(written.memory.contradicts)
    # Some readers remove secrets before they split a file into items.
    secrets = dict.fromkeys((*written.redacted, *redact.marked(f"{item.memory.title}\n{item.memory.body}")))
    reasons = [f"it {written.doubt}"] if written.doubt else []
    reasons += [f"removed: {', '.join(secrets)}"] if secrets and written.outcome != EXISTS else []
    reason = "; ".join(reasons)
    return ImportedFile(source.shown, written.outcome, written.memory.id, written.memory.title, reason, place)


def _as_memory(ws: Workspace, item: ImportItem, project: str) -> Memory:
    memory, now, zone = item.memory, iso(ws.clock()), ws.clock().tzinfo
    return replace(
        memory,
        # Derived from place and statement, so that importing a source again creates nothing twice.
        id=str(uuid.uuid5(_NAMESPACE, f"{item.place}\n{fingerprint(memory.body)}")),
        project=clean_project_name(project or memory.project),
        anchors=(),
        created=dates.write_as_time(memory.created, zone) or now,
        updated=now,
        valid_from=dates.write_as_time(memory.valid_from, zone),
        valid_to=dates.write_as_time(memory.valid_to, zone, last=True),
    )


def _preview(run: _ImportRun, memory: Memory) -> Written:
    """The outcome as far as it can be predicted without comparing statements."""
    ws, verdict = run.ws, write.prepared(IMPORTED.limited(memory))
    memory, print_ = verdict.memory, fingerprint(verdict.memory.body)
    outcome = PROPOSED if verdict.doubt else CREATED
    new = Written(outcome, memory, "", verdict.redacted, verdict.neutralised, verdict.doubt)
    new = run.previewed.get((memory.project, print_), new)
    run.previewed[memory.project, print_] = replace(new, outcome=EXISTS)
    vault_id = ws.store.vault_id()
    if not vault_id:
        return new
    ensure_filled(ws, vault_id)
    if earlier := _imported_before(ws, memory):
        return earlier
    if hold := forget.check_forgotten(ws, memory):
        raise Forgotten(hold.reason)
    for row in fresh_rows(ws, lambda: ws.index.by_fingerprint(print_)):
        if row.memory and row.memory.project == memory.project:
            return Written(EXISTS, row.memory, row.path)
    return new


def _imported_before(ws: Workspace, memory: Memory) -> Written | None:
    rows = fresh_rows(ws, lambda: ws.index.rows("id = ?", (memory.id,)))
    return next((Written(EXISTS, row.memory, row.path) for row in rows if row.memory), None)


def _write_links(run: _ImportRun) -> list[Memory]:
    """Add the links that a note lacks, also after an interrupted import; returns the changed memories."""
    ws, changed = run.ws, []
    for identity, item in run.linking:
        with suppress(NoteError, NotFound, Ambiguous, InputError):  # changed by a person meanwhile, or moved
            memory = write.note_of(ws, identity).memory
            changes: dict[str, Any] = {}
            for name, targets in item.links.items():
                links = tuple(dict.fromkeys(_resolve(run, item, targets)))
                if links and not getattr(memory, name):
                    changes[name] = links[:MAX_ITEMS] if name in _LINK_LISTS else links[0]
            written = write.revise(ws, identity, why=_WHY_LINKS, **changes) if changes else None
            changed += [written.memory] if written else []
            _drop_contradiction(ws, identity)
    return changed


def _resolve(run: _ImportRun, item: ImportItem, targets: tuple[str, ...]) -> Iterator[str]:
    for stem in filter(None, map(link_target, targets)):
        name = stem.strip().lower()
        if name in run.links:
            yield from [run.links[name]] if run.links[name] and name not in item.names else []
        elif run.ws.index.count_where("substr(path, ?) = ?", (-len(f"/{stem}.md"), f"/{stem}.md")):
            yield f"[[{stem}]]"


def _drop_contradiction(ws: Workspace, identity: str) -> None:
    """A note does not contradict the one that superseded it: importing both found the difference."""
    entry = find.get(ws, identity)
    for other in resolve_links(ws, (entry.memory.supersedes, entry.memory.superseded_by)):
        for one, related in ((entry, other), (other, entry)):
            rest = tuple(link for link in one.memory.contradicts if not related.is_named_by(link))
            if rest != one.memory.contradicts:
                write.revise(ws, one.id, why=_WHY_LINKS, contradicts=rest)


def _failure(source: Source, problem: Exception) -> ImportedFile:
    reason = files.reason(problem) if isinstance(problem, OSError) else str(problem)
    return ImportedFile(source.shown, REFUSED if isinstance(problem, InputError) else UNREADABLE, reason=reason)
