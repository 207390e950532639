"""Keep the index true to the vault. Everything that is recalled passes through here, and through the gate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memem.core import dates
from memem.core.errors import IndexDamaged, NoteChanged, NoteError, NoteUnreadable
from memem.core.files import Stamp
from memem.core.memory import QUARANTINED, Entry, Memory, fingerprint
from memem.search.notes import NoteRow
from memem.vault import verdicts
from memem.vault.opening import require_vault
from memem.vault.store import MAX_NOTE_BYTES

if TYPE_CHECKING:
    from memem.vault.note import Note
    from memem.workspace import Workspace


R = TypeVar("R")

RACY_SECONDS = 0.1  # a file changed this recently may change again within one tick of its time stamp
DERIVATION = 5  # raised when gate, words, passages or validity derive something else from a note: forces a rebuild
BATCH = 500
MAX_INLINE_NOTES = 300  # as many notes as a prompt has time to read
RETRY_SECONDS = 60  # a background run without a sign of life for this long has ended
RESCAN_SECONDS = 2.0
RESCAN_SHARE = 20  # a long-lived process spends at most a twentieth of its time on scans


@dataclass(frozen=True, slots=True)
class Refreshed:
    """The counts of a scan: notes read again, notes gone, and files seen."""

    changed: int
    gone: int
    files: int


def retry_when_damaged(ws: Workspace, work: Callable[[], R]) -> R:
    """Do `work` with the index, again with a new one if it turns out to be damaged and was set aside."""
    try:
        return work()
    except IndexDamaged:
        ws.follow_index()
        return work()


def refresh(ws: Workspace) -> Refreshed:
    """Scan the vault and read the notes that changed since the last scan."""
    return retry_when_damaged(ws, lambda: _refresh(ws))


def _refresh(ws: Workspace) -> Refreshed:
    vault_id = require_vault(ws)
    origin = _origin(ws, vault_id)
    ws.follow_index()
    index = ws.index
    is_new = index.meta("built_for") != origin
    if is_new:
        index.reset_for(origin)
    if index.meta(verdicts.VERDICTS_META) != verdicts.verdicts_stamp(ws.store.paths):
        from memem.search import excluded

        excluded.apply_verdicts(ws)
    missing = index.stamps()
    changed = seen = 0
    batch: list[NoteRow] = []
    same: list[NoteRow] = []
    for path, stamp in ws.store.scan():
        seen += 1
        before, digest = missing.pop(path, (None, ""))
        if before == stamp:
            continue
        row = read_row(ws, path, stamp)
        if row is None:
            if before is not None:
                missing[path] = (before, digest)  # no longer a memory
        elif row.digest and row.digest == digest:
            same.append(row)
        else:
            changed += 1
            batch.append(row)
        if len(batch) >= BATCH:
            _lift_for_arrivals(ws, batch, is_new=is_new)
            index.update(batch)
            batch.clear()
    index.restamp(same)
    _lift_for_arrivals(ws, batch, is_new=is_new)
    if missing:
        from memem.search import vanished

        vanished.record_missing(ws, vault_id, missing, batch)
    # In one transaction with the last new rows: a moved note is never missing in between.
    index.update(batch, lost={path: stamp for path, (stamp, _) in missing.items()})
    index.set_meta("built_for", origin)
    if ws.home.vanished_file.exists():
        from memem.search import vanished

        vanished.settle_missing(ws, vault_id)
    return Refreshed(changed, len(missing), seen)


def _lift_for_arrivals(ws: Workspace, arriving: list[NoteRow], *, is_new: bool) -> None:
    if arriving and (ws.store.paths.tombstones.exists() or ws.home.vanished_file.exists()):
        from memem.search import vanished

        vanished.lift_for_arrivals(ws, arriving, is_new=is_new)


def refresh_if_due(ws: Workspace) -> None:
    """Refresh, unless a long-lived process did so a moment ago."""
    before = ws.ticks()
    if before < ws.next_scan:
        return
    refresh(ws)
    after = ws.ticks()
    ws.next_scan = after + max(RESCAN_SECONDS, RESCAN_SHARE * (after - before))


def ensure_filled(ws: Workspace, vault_id: str) -> None:
    """Make sure that the index on disk is filled from this vault, under these rules."""
    ws.follow_index()
    if not retry_when_damaged(ws, lambda: is_filled(ws, vault_id)):
        refresh(ws)


def has_usable_index(ws: Workspace) -> bool:
    """Tell whether a prompt can use the index; fill a small one now, and a large one in the background."""
    vault_id = require_vault(ws)
    ws.follow_index()
    if retry_when_damaged(ws, lambda: is_filled(ws, vault_id)):
        return True
    if sum(1 for _ in islice(ws.store.scan(), MAX_INLINE_NOTES + 1)) > MAX_INLINE_NOTES:
        refresh_in_background(ws)
        return False
    refresh(ws)
    return True


def refresh_in_background(ws: Workspace) -> None:
    from memem.core.background import REFRESH_INDEX

    start_in_background(ws, REFRESH_INDEX, ws.home.refresh_log)


def start_in_background(ws: Workspace, arguments: Sequence[str], log: Path) -> bool:
    """Start a memem process, unless its log shows that one is running; return False when that is impossible."""
    try:
        if not log.exists() or abs(ws.clock().timestamp() - log.stat().st_mtime) >= RETRY_SECONDS:
            from memem.core import background

            background.start_memem(arguments, ws.environ_for_children(), log)
    except OSError:
        return False
    return True


def is_filled(ws: Workspace, vault_id: str) -> bool:
    return ws.index.meta("built_for") == _origin(ws, vault_id)


def refresh_stale(ws: Workspace, paths_and_stamps: Iterable[tuple[str, Stamp]]) -> bool:
    """Read the given notes again whose stamp changed; return whether any of them has other content now."""
    changed = gone = False
    for path, before in paths_and_stamps:
        stamp = ws.store.stamp(path)
        if stamp is None:
            gone = True
        elif stamp != before:
            row, indexed = read_row(ws, path, stamp), ws.index.by_path(path)
            if row and indexed and row.digest and row.digest == indexed.digest:
                ws.index.restamp([row])
            else:
                ws.index.update([row] if row else [], gone=[] if row else [path])
                changed = True
    if gone:
        refresh(ws)  # it may have been renamed
    return changed or gone


def fresh_rows(ws: Workspace, query: Callable[[], list[NoteRow]]) -> list[NoteRow]:
    """Run a query, again if one of its notes changed on disk."""
    rows = query()
    return query() if refresh_stale(ws, ((row.path, row.stamp) for row in rows)) else rows


def index_note(ws: Workspace, note: Note) -> None:
    """Index a note that memem has just written, with the edges it states, without a scan."""
    stamp = ws.store.stamp(note.path)
    if stamp is None:
        return
    row = _row(ws, note, stamp)
    ws.index.update([row])
    if row.memory:
        from memem.search.graph import build

        build.update_stated_edges(ws, Entry(row.memory, row.path))
    if ws.store.paths.tombstones.exists():
        from memem.search import vanished

        vanished.lift_removals(ws, note.memory.id)


def reserve_row(ws: Workspace, path: str, memory: Memory) -> None:
    """Add a row before its note exists, with a stamp that never matches: a retried save finds it after a crash."""
    ws.index.update([NoteRow(path, (0, 0, -1), "", memory, fingerprint(memory.body))])


def read_row(ws: Workspace, path: str, stamp: Stamp) -> NoteRow | None:
    """Read a note for the index; None for a file that is not a memory, or is left out."""
    strict = ws.settings.frontmatter_strict
    if not ws.store.is_memory(path):
        return None
    from memem.search import excluded  # not needed by a query that finds every note unchanged

    never_matches = (*stamp[:2], -1)  # read again by every scan
    try:
        note = ws.store.read(path)
        problem = excluded.describe_copy_problem(ws, note)
        if problem:
            return NoteRow(path, never_matches, f"{excluded.COPY_MARK}{note.digest} {problem}", None, problem=problem)
        row = _row(ws, note, stamp)
        return replace(row, stamp=never_matches) if excluded.may_be_copy(ws, path) else row
    except NoteChanged:
        return None  # deleted since the scan
    except NoteError as error:
        data = ws.store.current_bytes(path, MAX_NOTE_BYTES) or b""
        problem = excluded.MERGE_CONFLICT if excluded.has_merge_conflict(data) else str(error)
        if strict == "raise":
            raise NoteUnreadable(
                f"{ws.store.absolute(path)} cannot be read: {problem}. Correct it in Obsidian, or set "
                "MEMEM_FRONTMATTER_STRICT=quarantine."
            ) from None
        # An error of the disk or system passes and leaves the file as it is, so the note is read again by every scan.
        stored = _settled(ws, stamp) if isinstance(error, NoteUnreadable) else never_matches
        return None if strict == "skip" else NoteRow(path, stored, "", None, problem=problem)


def _row(ws: Workspace, note: Note, stamp: Stamp) -> NoteRow:
    from memem.safety.gate import cleanse  # neither is needed by a query that finds every note unchanged
    from memem.state import note_records

    verdict, zone = cleanse(note.memory), ws.clock().tzinfo
    memory = verdict.memory
    review = verdicts.verdict_on(ws.store.paths, memory) if verdict.doubt else ""
    statement, changed = fingerprint(memory.body), _changed(note, stamp)
    memory, since = note_records.apply_stale(ws.home.stale_file, memory, statement)
    held = dates.get_valid_span(memory, zone, dates.begin_of(since, zone) or changed)
    spans = dates.get_stated_span(memory, zone), held
    if review not in ("", verdicts.ACCEPTED):  # a person decides before it is shown
        memory = replace(memory, status=QUARANTINED)
    return NoteRow(note.path, _settled(ws, stamp), note.digest, memory, statement, changed, "", *spans, review)


def _changed(note: Note, stamp: Stamp) -> float:
    """When the note last changed: by its properties, or by its file if a person has edited it."""
    try:
        stated = datetime.fromisoformat(note.memory.updated or note.memory.created).timestamp()
    except (ValueError, OverflowError, OSError):
        return stamp[0] / 1e9
    return max(stated, stamp[0] / 1e9) if note.touched_by_hand else stated


def _settled(ws: Workspace, stamp: Stamp) -> Stamp:
    """The stamp to store: one that never matches for a file that may change again within the same tick."""
    mtime, ctime, size = stamp
    age = ws.clock().timestamp() - max(mtime, ctime) / 1e9
    return (mtime, ctime, size if abs(age) > RACY_SECONDS else -1)


def _origin(ws: Workspace, vault_id: str) -> str:
    return f"{vault_id} {ws.settings.frontmatter_strict} {DERIVATION}"
