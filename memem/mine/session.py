"""Mine one locked session: read, ask, journal the answer, apply it, and only then move the cursor.

Each chunk is finished separately: a crash at any step loses nothing and does nothing twice. A journaled answer is
applied again, not asked for again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from memem.core import files, safe_open
from memem.core.conversation import ASSISTANT, Chunk, Cursor
from memem.core.dates import iso
from memem.core.errors import BudgetSpent, ExtractError
from memem.core.memory import fingerprint
from memem.mine import ask, confirm, rules
from memem.mine.ask import BATCH, DeadLettered, MarkedChunk, Mined, load_session
from memem.mine.chunks import ChunkReader, PendingChunk
from memem.notes import history
from memem.search.refresh import refresh_if_due
from memem.search.transcripts.readable import OwnCall
from memem.state.cursors import SessionRecord
from memem.state.queue import Mark, SmallSession
from memem.transcript import session
from memem.vault.opening import ensure_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace

# A shorter tail is not worth a call. It waits for more of the session, and after its end for other small sessions.
MIN_CHARACTERS = 200
# Mine a small tail; hold it back unless a person states something to remember; or hold it back in any case, because the
# caller packs it with others next.
MINE_SMALL, HOLD_SMALL, PACK_SMALL = "mine", "hold", "pack"
EXPECTED_SECONDS, LOOK_SECONDS = 2.0, 0.1  # to wait for an answer that should be in the file, and between looks


@dataclass(frozen=True, slots=True)
class SessionTail(MarkedChunk):
    """The small tail of a session, the result of mining the session without it, and the state of the file with it."""

    mined: Mined
    size: int
    mtime: int
    whole: bool


def mine_session(
    ws: Workspace, mark: Mark, since: datetime | None, *, small: str = MINE_SMALL, sdk: bool = False
) -> Mined:
    """Mine a session to its end, as one batch of the log; turns from before `since` are skipped.

    A failure to extract is an outcome; errors of the vault or of memem's own files are raised.
    """
    with ws.events.batch(BATCH):
        reading = _Reading(small, since, sdk or ws.settings.mine_sdk)
        return finish_up(ws, _mine(ws, mark, reading))


def take_tail(ws: Workspace, mark: Mark, since: datetime | None) -> Mined | SessionTail:
    """Claim the small tail of a session; return the result if it has none any more."""
    taken: list[SessionTail] = []
    with ws.events.batch(BATCH):
        reading = _Reading(PACK_SMALL, since, ws.settings.mine_sdk, taken.append)
        mined = finish_up(ws, _mine(ws, mark, reading))
    return replace(taken[0], mined=mined) if taken else mined


def finish_up(ws: Workspace, mined: Mined) -> Mined:
    """Update what depends on new memories."""
    if mined.applied:
        confirm.confirm(ws, mined.session)
        ws.changed.add(mined=True)
    return mined


@dataclass(frozen=True, slots=True)
class _Reading:
    """How to read a session; `take` receives its small tail, which is held back otherwise."""

    small: str
    since: datetime | None
    sdk: bool
    take: Callable[[SessionTail], object] | None = None


def _mine(ws: Workspace, mark: Mark, reading: _Reading) -> Mined:
    ensure_vault(ws)
    refresh_if_due(ws)
    mined = Mined(mark.session, mark.path)
    for answer in ws.state.journal.unapplied(mark.session):
        mined = ask.apply(ws, mined, answer, history.taken_back(ws))
    record = ws.state.sessions.get(mark.session)
    own = replace(mined, outcome="own", detail="It is one of memem's own calls, which are never mined.")
    if record and record.own and record.path in ("", mark.path):
        ws.state.deferred.remove_small(mark.session)
        return own
    try:
        with safe_open.open_plain(Path(mark.path)) as file:
            return _Mining(ws, mark, file, reading).run(mined)
    except OwnCall:
        ws.state.sessions.put_own(mark.session, mark.path, ws.clock().timestamp())
        ws.state.deferred.remove_small(mark.session)
        return own
    except OSError as error:  # of the transcript: those of vault and home are MememErrors by now
        ws.state.deferred.remove_small(mark.session)
        return replace(mined, outcome="missing", detail=f"{mark.path} cannot be read: {files.reason(error)}.")


class _Mining:
    """One run over one file."""

    def __init__(self, ws: Workspace, mark: Mark, file: BinaryIO, reading: _Reading) -> None:
        self._ws = ws
        self._mark = mark
        self._file = file
        self._reading = reading
        self._left_to_others = False

    @property
    def _session_record(self) -> SessionRecord:
        return load_session(self._ws, self._mark)

    def run(self, mined: Mined) -> Mined:
        """Mine chunk by chunk; record size and time of a file that was read to its end."""
        record, deferred = self._session_record, self._ws.state.deferred
        start = self._start(record)
        self._wait_for_expected(start)
        status = os.fstat(self._file.fileno())
        reader = ChunkReader(self._ws, self._is_taken, self._reading.since, sdk=self._reading.sdk)
        for pending in reader.read_chunks(self._file, start, record.session):
            self._ws.state.sessions.add_injected(record.session, pending.injected)
            if self._waits(pending):
                if reader.has_left_out_sdk:
                    deferred.add_sdk(record.session)
                return self._defer_tail(mined, pending, status, is_whole=start == 0 or record.whole)
            chunk = self._claim(pending)
            if not chunk.turns:
                continue
            try:
                (answer,) = ask.ask_about(self._ws, [MarkedChunk(self._mark, chunk)])
            except DeadLettered as problem:
                mined = replace(mined, buried=mined.buried + 1, detail=str(problem))
            except (ExtractError, BudgetSpent) as problem:
                return mined.with_failure(problem)
            else:
                mined = ask.apply(self._ws, mined, answer)
        whole = (start == 0 or record.whole) and not pending.passed and not self._left_to_others
        with self._ws.state.transaction():
            read = replace(self._session_record, size=status.st_size, mtime=status.st_mtime_ns, whole=whole)
            self._ws.state.sessions.put(read.placed(_cursor_at(self._file, pending.end)))
            deferred.remove_small(record.session)
            if reader.has_left_out_sdk:
                deferred.add_sdk(record.session)
            elif self._reading.sdk:
                deferred.remove_sdk(record.session)
        if status.st_size and not start and not reader.objects:
            detail = f"{self._mark.path} is not a transcript of Claude Code."
            return replace(mined, outcome="missing", detail=detail)
        if mined.chunks:
            return mined
        if mined.buried:
            return replace(mined, outcome="buried")
        return replace(mined, outcome="refused", detail=reader.refusals[0]) if reader.refusals else mined

    def _start(self, record: SessionRecord) -> int:
        """Return the offset to read from: the cursor, or 0 if turns before it were skipped and are wanted now."""
        is_sdk_wanted = self._reading.sdk and self._ws.state.deferred.has_sdk(record.session)
        if is_sdk_wanted or (self._reading.since is None and not record.whole):
            return 0
        return session.start_of(self._file, record.cursor)

    def _waits(self, pending: PendingChunk) -> bool:
        """Whether the tail of a session is too small to ask about now."""
        if not is_small(pending) or self._reading.small == MINE_SMALL:
            return False
        if self._reading.small == PACK_SMALL:
            return True
        if rules.states_wish(pending.turns):
            return False  # a person asks to remember something: that does not wait
        return not self._mark.flush or ask.asks_model(self._ws)

    def _defer_tail(self, mined: Mined, pending: PendingChunk, status: os.stat_result, *, is_whole: bool) -> Mined:
        """Hold the tail back, or hand it to the caller that packs it with others."""
        if self._reading.take:
            chunk = self._claim(pending)
            if chunk.turns:
                whole = is_whole and not pending.passed and not self._left_to_others
                self._reading.take(SessionTail(self._mark, chunk, mined, status.st_size, status.st_mtime_ns, whole))
            else:
                self._ws.state.deferred.remove_small(chunk.session)  # another session has them
            return mined
        waiting = replace(
            mined, outcome="waiting", detail=f"{pending.characters} characters are waiting for more text."
        )
        if self._mark.flush:
            self._hold(pending, status, waiting.detail)
        return mined if mined.chunks else waiting

    def _hold(self, pending: PendingChunk, status: os.stat_result, detail: str) -> None:
        """Record the tail, so that no sweep reads it again until it is packed or grows."""
        ws, record, now = self._ws, self._session_record, self._ws.clock()
        tail = pending.project, pending.characters, status.st_size, status.st_mtime_ns, now.timestamp()
        with ws.state.transaction():
            ws.state.deferred.add_small(SmallSession(record.session, record.path, *tail))
            if ws.state.deferred.has_sdk(record.session) and self._reading.sdk:
                # Turns before the cursor may have been left out: read the file from its beginning.
                ws.state.deferred.remove_sdk(record.session)
                record = record.placed(Cursor())
            record = replace(record, size=-1)  # it is not read to its end
            ws.state.sessions.put(record if record.outcome else record.with_outcome("waiting", detail, iso(now)))

    def _claim(self, pending: PendingChunk) -> Chunk:
        """Claim the turns, except those that another session, which has them too, is mining."""
        record = self._session_record
        with self._ws.state.transaction():
            self._ws.state.sessions.put(replace(record, whole=record.whole and not pending.passed))
            ours = self._ws.state.sessions.claim([turn.uuid for turn in pending.turns], record.session)
        turns = tuple(turn for turn in pending.turns if turn.uuid in ours)
        self._left_to_others |= len(turns) < len(pending.turns)
        cursor = _cursor_at(self._file, pending.end)
        place = cursor.inode, cursor.offset, cursor.digest
        return Chunk(record.session, record.path, pending.project, turns, pending.work, *place)

    def _is_taken(self, uuid: str) -> bool:
        """Whether a turn is mined or claimed. A claim of another session may fail, so this one is not complete."""
        is_taken = self._ws.state.sessions.is_taken(uuid, self._mark.session)
        self._left_to_others |= is_taken and not self._ws.state.sessions.is_mined(uuid)
        return is_taken

    def _wait_for_expected(self, start: int) -> None:
        """Wait for the last answer, which may not be in the file yet."""
        until = self._ws.ticks() + EXPECTED_SECONDS
        while self._mark.expected and not self._has_expected(start) and self._ws.ticks() < until:
            self._ws.pause(LOOK_SECONDS)

    def _has_expected(self, start: int) -> bool:
        turns = (step.line.turn for step in session.steps(self._file, start, self._mark.session))
        answers = (turn.text for turn in turns if turn and turn.role == ASSISTANT)
        return any(fingerprint(text) == self._mark.expected for text in answers)


def is_small(pending: PendingChunk) -> bool:
    """Whether this is the tail of a session, and too small for a call of its own."""
    return pending.is_last and bool(pending.turns) and pending.characters < MIN_CHARACTERS


def _cursor_at(file: BinaryIO, offset: int) -> Cursor:
    place = file.tell()
    cursor = session.cursor_at(file, offset)
    file.seek(place)  # chunks are finished while the file is being read
    return cursor
