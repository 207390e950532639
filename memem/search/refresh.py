"""Keep the index true to the vault. Everything that is recalled passes through here, and through the gate."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memem.core.errors import IndexDamaged
from memem.core.files import Stamp
from memem.core.memory import Entry, Memory, fingerprint
from memem.search.notes import NoteRow
from memem.vault import verdicts
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.vault.note import Note
    from memem.workspace import Workspace


R = TypeVar("R")

DERIVATION = 5  # raised when gate, words, passages or validity derive something else from a note: forces a rebuild
BATCH = 500
MAX_INLINE_NOTES = 300  # as many notes as a prompt has time to read
RETRY_SECONDS = 60  # a background run without a sign of life for this long has ended
RESCAN_SECONDS = 2.0
MAX_SCAN_SECONDS = 30  # a slower scan of a child process is given up and done by its parent
RESCAN_SHARE = 20  # a long-lived process spends at most a twentieth of its time on scans


@dataclass(frozen=True, slots=True)
class Refreshed:
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
    return retry_when_damaged(ws, lambda: _refresh(ws))


def _refresh(ws: Workspace) -> Refreshed:
    vault_id = require_vault(ws)
    origin = _origin(ws, vault_id)
    ws.follow_index()
    index = ws.index
    is_new = index.meta("built_for") != origin
    if is_new:
        index.reset_for(origin)
    if index.meta(verdicts.VERDICTS_META) != verdicts.verdicts_stamp(ws):
        from memem.search import note_rows

        note_rows.apply_verdicts(ws)
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


def refresher(ws: Workspace) -> Callable[[], object]:
    """Return a function that refreshes the index. The caller must have one thread and no index open."""
    # The child's exit code says whether anything changed. A thread would only take turns with the import of numpy.
    if not hasattr(os, "fork") or (os.cpu_count() or 1) < 2 or threading.active_count() > 1:
        return lambda: refresh(ws)
    try:
        child = os.fork()
    except OSError:  # no more processes, no more memory
        return lambda: refresh(ws)
    if not child:
        import signal

        code = 1
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(null, stream)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(MAX_SCAN_SECONDS)
            code = 0 if _is_unchanged(ws) else 1
        finally:
            os._exit(code)  # at once: open files belong to the parent

    def finish() -> None:
        try:
            unchanged = os.waitpid(child, 0)[1] == 0
        except ChildProcessError:  # SIGCHLD is ignored, so the exit code is lost
            unchanged = False
        if not unchanged:
            refresh(ws)

    return finish


def _is_unchanged(ws: Workspace) -> bool:
    stamp = verdicts.verdicts_stamp(ws)
    if not is_filled(ws, require_vault(ws)) or ws.index.meta(verdicts.VERDICTS_META) != stamp:
        return False
    indexed = {path: stamp for path, (stamp, _) in ws.index.stamps().items()}
    return indexed == dict(ws.store.scan())


def refresh_if_due(ws: Workspace) -> None:
    before = ws.ticks()
    if before < ws.next_scan:
        return
    refresh(ws)
    after = ws.ticks()
    ws.next_scan = after + max(RESCAN_SECONDS, RESCAN_SHARE * (after - before))


def ensure_filled(ws: Workspace, vault_id: str) -> None:
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


def read_row(ws: Workspace, path: str, stamp: Stamp) -> NoteRow | None:
    """Read a note for the index; None for a file that is not a memory, or is left out."""
    if not ws.store.is_memory(path):
        return None
    from memem.search import note_rows  # the gate takes 20 ms; it is not needed while every note is unchanged

    return note_rows.read_row(ws, path, stamp)


def refresh_stale(ws: Workspace, paths_and_stamps: Iterable[tuple[str, Stamp | None]]) -> bool:
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


def index_note(ws: Workspace, note: Note, former: str = "") -> None:
    """Index a note that memem has just written, or moved from `former`, with the edges it states, without a scan."""
    stamp = ws.store.stamp(note.path)
    if stamp is None:
        return
    from memem.search import note_rows

    row = note_rows.make_row(ws, note, stamp)
    ws.index.update([row], gone=[former] if former else [])
    if row.memory:
        from memem.search.graph import build

        build.update_stated_edges(ws, Entry(row.memory, row.path))
    if ws.store.paths.tombstones.exists():
        from memem.search import vanished

        vanished.lift_removals(ws, note.memory.id)


def reserve_row(ws: Workspace, path: str, memory: Memory) -> None:
    """Add a row before its note exists, with a stamp that never matches: a retried save finds it after a crash."""
    ws.index.update([NoteRow(path, (0, 0, -1), "", memory, fingerprint(memory.body))])


def _origin(ws: Workspace, vault_id: str) -> str:
    return f"{vault_id} {ws.settings.frontmatter_strict} {DERIVATION}"
