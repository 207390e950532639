"""Keep the index true to the vault. Everything that is recalled passes through here, and through the gate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
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

RACY_SECONDS = 0.1
"""A file changed this recently may change again within one tick of its own time stamp."""
DERIVATION = 5
"""Raised whenever gate, words, passages or validity make something else of the same note: the index is then rebuilt."""
BATCH = 500
MAX_INLINE_NOTES = 300
"""So many notes are read in the time that a prompt may take."""
AGAIN_SECONDS = 60
RESCAN_SECONDS = 2.0
RESCAN_SHARE = 20
"""A long-lived home looks for outside edits at most every two seconds, and never spends over a twentieth on it."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a scan found: notes read again, notes gone, and all files seen."""

    changed: int
    gone: int
    files: int


def retry_when_damaged(ws: Workspace, work: Callable[[], R]) -> R:
    """What `work` makes of the index. One that turns out to be damaged is set aside by whoever comes upon that; here
    it is made anew, and asked again."""
    try:
        return work()
    except IndexDamaged:
        ws.follow_index()
        return work()


def refresh(ws: Workspace) -> Refreshed:
    """Scan the vault and read what changed since the index last saw it."""
    return retry_when_damaged(ws, lambda: _refreshed(ws))


def _refreshed(ws: Workspace) -> Refreshed:
    vault_id = require_vault(ws)
    origin = _origin(ws, vault_id)
    ws.follow_index()
    index = ws.index
    anew = index.meta("built_for") != origin
    if anew:
        index.reset_for(origin)
    if index.meta(verdicts.VERDICTS_META) != verdicts.verdicts_stamp(ws.store.paths):
        from memem.search import excluded

        excluded.apply_verdicts(ws)
    known = index.stamps()
    changed = seen = 0
    batch: list[NoteRow] = []
    same: list[NoteRow] = []
    for path, stamp in ws.store.scan():
        seen += 1
        before, digest = known.pop(path, (None, ""))
        if before == stamp:
            continue
        row = read_row(ws, path, stamp)
        if row is None:
            if before is not None:
                known[path] = (before, digest)  # no longer a memory
        elif row.digest and row.digest == digest:
            same.append(row)
        else:
            changed += 1
            batch.append(row)
        if len(batch) >= BATCH:
            _welcome(ws, batch, anew=anew)
            index.update(batch)
            batch.clear()
    index.restamp(same)
    _welcome(ws, batch, anew=anew)
    if known:
        from memem.search import vanished

        vanished.record_missing(ws, vault_id, known, batch)
    # Gone last and together with the rest of the new: a moved note is never missing in between.
    index.update(batch, lost={path: stamp for path, (stamp, _) in known.items()})
    index.set_meta("built_for", origin)
    if ws.home.vanished_file.exists():
        from memem.search import vanished

        vanished.settle_missing(ws, vault_id)
    return Refreshed(changed, len(known), seen)


def _welcome(ws: Workspace, arriving: list[NoteRow], *, anew: bool) -> None:
    """What a person has put back was not forgotten after all."""
    if arriving and (ws.store.paths.tombstones.exists() or ws.home.vanished_file.exists()):
        from memem.search import vanished

        vanished.lift_for_arrivals(ws, arriving, anew=anew)


def refresh_if_due(ws: Workspace) -> None:
    """Refresh when it is time: whoever lives long sees outside edits, and spends little on it."""
    before = ws.ticks()
    if before < ws.next_scan:
        return
    refresh(ws)
    after = ws.ticks()
    ws.next_scan = after + max(RESCAN_SECONDS, RESCAN_SHARE * (after - before))


def ensure_filled(ws: Workspace, vault_id: str) -> None:
    """An index that writers can rely on: the one on disk now, filled from this vault, under these rules."""
    ws.follow_index()
    if not retry_when_damaged(ws, lambda: is_filled(ws, vault_id)):
        refresh(ws)


def has_usable_index(ws: Workspace) -> bool:
    """Whether there is an index that a prompt can use now. A small one that is missing is made on the spot; a large one
    is left to whoever works in the background, as no prompt waits for it."""
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
    """Have the vault read by a process of its own, unless one has just begun."""
    log = ws.home.refresh_log
    with suppress(OSError):
        if log.exists() and abs(ws.clock().timestamp() - log.stat().st_mtime) < AGAIN_SECONDS:
            return
        from memem.core import background

        background.start_memem(background.REFRESH_INDEX, ws.environ_for_children(), log)


def is_filled(ws: Workspace, vault_id: str) -> bool:
    """Whether the index was filled from this vault, under these rules."""
    return ws.index.meta("built_for") == _origin(ws, vault_id)


def refresh_stale(ws: Workspace, paths_and_stamps: Iterable[tuple[str, Stamp]]) -> bool:
    """Re-read those of the given notes whose stamp changed; says whether any of them now says something else."""
    changed = gone = False
    for path, known in paths_and_stamps:
        stamp = ws.store.stamp(path)
        if stamp is None:
            gone = True
        elif stamp != known:
            changed |= _reread(ws, path, stamp)
    if gone:
        refresh(ws)  # what is gone may have been renamed
    return changed or gone


def _reread(ws: Workspace, path: str, stamp: Stamp) -> bool:
    row = read_row(ws, path, stamp)
    before = ws.index.by_path(path)
    if row and before and row.digest and row.digest == before.digest:
        ws.index.restamp([row])
        return False
    ws.index.update([row] if row else [], gone=[] if row else [path])
    return True


def fresh_rows(ws: Workspace, query: Callable[[], list[NoteRow]]) -> list[NoteRow]:
    """The rows of a query, asked again if one of them had changed on disk."""
    rows = query()
    return query() if refresh_stale(ws, ((row.path, row.stamp) for row in rows)) else rows


def index_note(ws: Workspace, note: Note) -> None:
    """Bring one note's row up to date after memem itself wrote it; no scan."""
    stamp = ws.store.stamp(note.path)
    if stamp is not None:
        row = _row(ws, note, stamp)
        ws.index.update([row])
        _state(ws, row)
    if stamp is not None and ws.store.paths.tombstones.exists():
        from memem.search import vanished

        vanished.lift_removals(ws, note.memory.id)


def _state(ws: Workspace, row: NoteRow) -> None:
    """What the note says of others, in the graph at once; what comparing finds waits until that is made anew."""
    if row.memory:
        from memem.search.graph import build

        build.update_stated_edges(ws, Entry(row.memory, row.path))


def reserve_row(ws: Workspace, path: str, memory: Memory) -> None:
    """A row before its note, with a stamp that never matches: a save tried again after a crash finds what it left."""
    ws.index.update([NoteRow(path, (0, 0, -1), "", memory, fingerprint(memory.body))])


def read_row(ws: Workspace, path: str, stamp: Stamp) -> NoteRow | None:
    """The row of a file; None for a file that is not a memory, or is to be left out."""
    strict = ws.settings.frontmatter_strict
    if not ws.store.is_memory(path):
        return None
    from memem.search import excluded  # not needed either by a query that finds every note unchanged

    again = (*stamp[:2], -1)
    try:
        note = ws.store.read(path)
        copied = excluded.describe_copy_problem(ws, note)
        # What may be a copy is looked at again by every scan: others may have come or gone.
        if copied:
            return NoteRow(path, again, f"{excluded.COPY_MARK}{note.digest} {copied}", None, problem=copied)
        row = _row(ws, note, stamp)
        return replace(row, stamp=again) if excluded.may_be_copy(ws, path) else row
    except NoteChanged:
        return None  # it went away between the scan and now
    except NoteError as error:
        read = ws.store.current_bytes(path, MAX_NOTE_BYTES) or b""
        problem = excluded.MERGE_CONFLICT if excluded.has_merge_conflict(read) else str(error)
        if strict == "raise":
            raise NoteUnreadable(
                f"{ws.store.absolute(path)} cannot be read: {problem}. Correct it in Obsidian, or set "
                "MEMEM_FRONTMATTER_STRICT=quarantine."
            ) from None
        # A skipped note is as absent from the index as from recall; it is read again at each scan. So is one that the
        # disk or the system would not give us: that passes, and leaves the file as it is.
        kept = _settled(ws, stamp) if isinstance(error, NoteUnreadable) else again
        return None if strict == "skip" else NoteRow(path, kept, "", None, problem=problem)


def _row(ws: Workspace, note: Note, stamp: Stamp) -> NoteRow:
    from memem.safety.gate import cleanse  # neither is needed by a query that finds every note unchanged
    from memem.state import note_records

    verdict, zone = cleanse(note.memory), ws.clock().tzinfo
    memory = verdict.memory
    review = verdicts.verdict_on(ws.store.paths, memory) if verdict.doubt else ""
    statement, changed = fingerprint(memory.body), _changed(note, stamp)
    memory, since = note_records.apply_stale(ws.home.stale_file, memory, statement)
    held = dates.held_span(memory, zone, dates.begin_of(since, zone) or changed)
    spans = dates.stated_span(memory, zone), held
    if review not in ("", verdicts.ACCEPTED):  # whoever put it there: a person is asked before anybody is shown it
        memory = replace(memory, status=QUARANTINED)
    return NoteRow(note.path, _settled(ws, stamp), note.digest, memory, statement, changed, "", *spans, review)


def _changed(note: Note, stamp: Stamp) -> float:
    """When the note last changed: by its own word, or by the file's when a person has changed it since."""
    try:
        stated = datetime.fromisoformat(note.memory.updated or note.memory.created).timestamp()
    except (ValueError, OverflowError, OSError):
        return stamp[0] / 1e9
    return max(stated, stamp[0] / 1e9) if note.touched_by_hand else stated


def _settled(ws: Workspace, stamp: Stamp) -> Stamp:
    """The stamp to remember: one that never matches, for a file that may change again within the same tick."""
    mtime, ctime, size = stamp
    age = ws.clock().timestamp() - max(mtime, ctime) / 1e9
    return (mtime, ctime, size if abs(age) > RACY_SECONDS else -1)


def _origin(ws: Workspace, vault_id: str) -> str:
    """What an index is made from; one made from anything else is not ours to use."""
    return f"{vault_id} {ws.settings.frontmatter_strict} {DERIVATION}"
