"""Compute every vector that is missing: once at a time, on all cores, in steps that are kept when it is interrupted."""

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


FIRST_STEP, STEP = 16, 128
"""Passages between two commits, at first and at most."""
STEP_SECONDS = 2.0
"""About so much work is all that an interruption loses, and all that is between two signs of life: a large model takes
smaller steps."""


@dataclass(frozen=True, slots=True)
class EncodeReport:
    """What was done: passages encoded now, passages there are, and whether vectors that nobody needs were dropped."""

    encoded: int
    passages: int
    compacted: bool


def encode_all(
    ws: Workspace, progress: Callable[[int, int], object] = lambda *_: None, *, wait: float | None = None
) -> EncodeReport:
    """Vectors for everything in the index. `progress` is told how many passages have one, and how many there are.

    Raises ModelError without a model, and Busy when another memem is at it for longer than `wait` seconds.
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
                ws.home.encode_log.touch(mode=files.PRIVATE_FILE)  # a sign of life: nobody else need begin
                progress(total - missing, total)
                begun = ws.ticks()
                encode_some(ws, step)
                step = _next_step(step, ws.ticks() - begun)
                left = update_pending(ws)
                if left >= missing:
                    break  # what is left is no longer in any note, or comes as fast as it goes: the next run sees
                missing = left
            progress(total - missing, total)
            encoded = ws.vectors().count() - before
            held = passages_in_use(ws)
            compacted = held is not None and ws.vectors().compact(held)
            ws.home.encode_log.touch(mode=files.PRIVATE_FILE)
            ws.home.encode_log.write_bytes(b"")  # what an earlier run complained about is over
            return EncodeReport(encoded, total, compacted)


def encode_after_save(ws: Workspace) -> None:
    """Encode a new note at once, so that meaning finds it, if an encoder is loaded; else the next search does it."""
    if ws.has_encoder:
        encode_pending(ws)


def encode_pending(ws: Workspace, limit: int = MAX_INLINE_PASSAGES) -> int:
    """Encode the passages that lack a vector, if there are at most `limit`; return how many were encoded.

    Return 0 if that is impossible, such as without an encoder.
    """
    try:
        missing = update_pending(ws)
        if not 0 < missing <= limit:
            return 0
        encode_some(ws, missing)
        return missing - update_pending(ws)
    except MememError:
        return 0


def _next_step(step: int, seconds: float) -> int:
    if seconds > STEP_SECONDS:
        return max(1, step // 2)
    return min(STEP, step * 2) if seconds < STEP_SECONDS / 4 else step


def passages_in_use(ws: Workspace) -> set[bytes] | None:
    """The passages of all vaults, which share their vectors; None when one of their indexes cannot tell, or not yet."""
    held: set[bytes] = set()
    for path in ws.home.indexes.glob("*/index.db"):
        try:
            with closing(NoteIndex(path)) as index:
                # One that was damaged is begun anew by whoever opens it, and knows of nothing.
                if not index.meta("filled_for") or index.meta("built_for") != index.meta("filled_for"):
                    return None
                held |= index.passages.keys()
        except MememError:
            return None
    return held


@contextmanager
def encode_lock(ws: Workspace, seconds: float) -> Iterator[None]:
    with ExitStack() as held:
        try:
            held.enter_context(locks.holding(ws.home.encode_lock, seconds))
        except Busy:
            raise Busy("Another memem is encoding already; `memem status` says how far it is.") from None
        yield
