"""Compute missing vectors: by one process at a time, on all cores, in steps that survive an interruption."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memem.core import files, locks
from memem.core.errors import Busy, MememError
from memem.core.home import using_home
from memem.search.meaning import MAX_INLINE_PASSAGES, encode_some, update_pending
from memem.search.notes import NoteIndex
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


FIRST_STEP, STEP = 16, 128  # passages between two commits, at first and at most
STEP_SECONDS = 2.0  # about as much work as an interruption may lose


@dataclass(frozen=True, slots=True)
class EncodeReport:
    """The passages encoded now, all passages, and whether unused vectors were dropped."""

    encoded: int
    passages: int
    compacted: bool


def encode_all(
    ws: Workspace, progress: Callable[[int, int], object] = lambda *_: None, *, wait: float | None = None
) -> EncodeReport:
    """Encode every passage of the index; call `progress` with the number encoded and the total.

    Raises ModelError, or Busy when another memem encodes for longer than `wait` seconds.
    """
    require_vault(ws)
    ws.encoder()
    with using_home(ws.home):
        files.make_private_folder(ws.home.encode_lock.parent)
        with encode_lock(ws, ws.settings.lock_seconds if wait is None else wait):
            missing = update_pending(ws)
            total = ws.index.passages.count()
            before = ws.vectors().count()
            step = min(FIRST_STEP, STEP)
            while missing:
                ws.home.encode_log.touch(mode=files.PRIVATE_FILE)  # a sign of life, so that no other run starts
                progress(total - missing, total)
                started = ws.ticks()
                encode_some(ws, step)
                seconds = ws.ticks() - started
                if seconds > STEP_SECONDS:
                    step = max(1, step // 2)
                elif seconds < STEP_SECONDS / 4:
                    step = min(STEP, step * 2)
                left = update_pending(ws)
                if left >= missing:
                    break  # the rest is no longer in any note, or new notes arrive as fast: the next run sees
                missing = left
            progress(total - missing, total)
            encoded = ws.vectors().count() - before
            used = passages_in_use(ws)
            compacted = used is not None and ws.vectors().compact(used)
            ws.home.encode_log.touch(mode=files.PRIVATE_FILE)
            ws.home.encode_log.write_bytes(b"")  # the errors of earlier runs are over
            return EncodeReport(encoded, total, compacted)


def encode_after_save(ws: Workspace) -> None:
    """Encode a new note at once, so that meaning finds it, if an encoder is loaded; else the next search does it."""
    if ws.has_encoder:
        encode_pending(ws)


def encode_pending(ws: Workspace, limit: int = MAX_INLINE_PASSAGES) -> int:
    """Encode the passages without a vector, if there are at most `limit`; return how many were encoded."""
    try:
        missing = update_pending(ws)
        if not 0 < missing <= limit:
            return 0
        encode_some(ws, missing)
        return missing - update_pending(ws)
    except MememError:
        return 0


def passages_in_use(ws: Workspace) -> set[bytes] | None:
    """Collect the passages of all vaults, which share vectors; None when one of their indexes is incomplete."""
    keys: set[bytes] = set()
    for path in ws.home.indexes.glob("*/index.db"):
        try:
            with closing(NoteIndex(path)) as index:
                # A damaged index was replaced by an empty one when it was opened.
                if not index.meta("filled_for") or index.meta("built_for") != index.meta("filled_for"):
                    return None
                keys |= index.passages.keys()
        except MememError:
            return None
    return keys


@contextmanager
def encode_lock(ws: Workspace, seconds: float) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(locks.holding(ws.home.encode_lock, seconds))
        except Busy:
            raise Busy("Another memem is encoding; `memem status` shows its progress.") from None
        yield
