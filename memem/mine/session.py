"""Mine one locked session: read, ask, journal the answer, apply it, and only then move the cursor.

Chunks are finished one by one: after a crash at any step, a journaled answer is applied and not asked for again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from memem.core import files, safe_open
from memem.core.conversation import ASSISTANT, Chunk, Cursor, list_turn_ids
from memem.core.dates import iso
from memem.core.errors import BudgetSpent, ExtractError
from memem.core.memory import fingerprint
from memem.mine import ask, confirm, rules
from memem.mine.ask import BATCH, DeadLettered, Mined, load_session
from memem.mine.chunks import ChunkReader, PendingChunk
from memem.notes import history
from memem.search.refresh import refresh_if_due
from memem.search.transcripts.sessions import OwnCall
from memem.state.sessions import Mark, SmallSession
from memem.transcript import session
from memem.transcript.digest import digest
from memem.vault.opening import ensure_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace

# A shorter tail is not worth a call. It waits for more of the session, and after its end for other small sessions.
MIN_CHARACTERS = 200
# Mine a small tail; hold it back unless a person states something to remember; hold it back in any case, because the
# caller packs it with others later; or return it to a caller that packs it now.
MINE_SMALL, HOLD_SMALL, PACK_SMALL, TAKE_SMALL = "mine", "hold", "pack", "take"
EXPECTED_SECONDS, LOOK_SECONDS = 2.0, 0.1  # to wait for an answer that should be in the file, and between looks


@dataclass(frozen=True, slots=True)
class SessionTail:
    """The small tail of a session, the result of mining the session without it, and the state of the file with it."""

    mark: Mark
    chunk: Chunk
    mined: Mined
    size: int
    mtime: int
    whole: bool


def mine_session(
    ws: Workspace, mark: Mark, since: datetime | None, *, small: str = MINE_SMALL, sdk: bool = False
) -> Mined:
    """Mine a session to its end, as one batch of the log. A failure to extract is an outcome; others are raised."""
    return _Mining(ws, mark, since, small, sdk or ws.settings.mine_sdk).run()


def take_tail(ws: Workspace, mark: Mark, since: datetime | None) -> Mined | SessionTail:
    """Claim the small tail of a session; return the result if it has none any more."""
    mining = _Mining(ws, mark, since, TAKE_SMALL, ws.settings.mine_sdk)
    mined = mining.run()
    return mining.tail or mined


def finish_up(ws: Workspace, mined: Mined) -> Mined:
    """Update what depends on new memories."""
    if mined.applied:
        confirm.confirm(ws, mined.session)
        ws.changed |= {"conflicts", "notes", "new"}
    return mined


def is_small(pending: PendingChunk) -> bool:
    """Whether this is the tail of a session, and too small for a call of its own."""
    return pending.is_last and bool(pending.turns) and pending.characters < MIN_CHARACTERS


@dataclass(slots=True)
class _Mining:
    ws: Workspace
    mark: Mark
    since: datetime | None
    small: str
    sdk: bool
    file: BinaryIO = field(init=False)
    tail: SessionTail | None = None  # taken from the session
    left_to_others: bool = False

    def run(self) -> Mined:
        with self.ws.events.batch(BATCH):
            return finish_up(self.ws, self._mine())

    def _mine(self) -> Mined:
        ws, mark = self.ws, self.mark
        ensure_vault(ws)
        refresh_if_due(ws)
        mined = Mined(mark.session, mark.path)
        for answer in ws.state.journal.unapplied(mark.session):
            mined = ask.apply(ws, mined, answer, history.taken_back(ws))
        record = ws.state.sessions.get(mark.session)
        own = replace(
            mined, outcome="own", detail="This session is one of memem's own model calls, which are never mined."
        )
        if record and record.own and record.path in ("", mark.path):
            ws.state.deferred.remove_small(mark.session)
            return own
        try:
            with safe_open.open_plain(Path(mark.path)) as self.file:
                return self._read(mined)
        except OwnCall:
            ws.state.sessions.put_own(mark.session, mark.path, ws.clock().timestamp())
            ws.state.deferred.remove_small(mark.session)
            return own
        except OSError as error:  # of the transcript: those of vault and home are MememErrors by now
            ws.state.deferred.remove_small(mark.session)
            return replace(mined, outcome="missing", detail=f"{mark.path} cannot be read: {files.reason(error)}.")

    def _read(self, mined: Mined) -> Mined:
        """Mine chunk by chunk; record size and time of a file that was read to its end."""
        ws, record, deferred = self.ws, load_session(self.ws, self.mark), self.ws.state.deferred
        # Turns before the cursor may have been skipped and be wanted now.
        is_sdk_wanted = self.sdk and deferred.has_sdk(record.session)
        is_all_wanted = is_sdk_wanted or (self.since is None and not record.whole)
        start = 0 if is_all_wanted else session.start_of(self.file, record.cursor)
        self._wait_for_expected(start)
        status = os.fstat(self.file.fileno())
        reader = ChunkReader(ws, self._is_taken, self.since, sdk=self.sdk)
        for pending in reader.read_chunks(self.file, start, Path(self.mark.path)):
            ws.state.sessions.add_injected(record.session, pending.injected)
            if self._waits(pending):
                if reader.has_left_out_sdk:
                    deferred.add_sdk(record.session)
                return self._defer_tail(mined, pending, status, is_whole=start == 0 or record.whole)
            chunk = self._claim(pending)
            if not chunk.turns:
                continue
            try:
                (answer,) = ask.ask_about(ws, [(self.mark, chunk)])
            except DeadLettered as problem:
                mined = replace(mined, buried=mined.buried + 1, detail=str(problem))
            except (ExtractError, BudgetSpent) as problem:
                return mined.with_failure(problem)
            else:
                mined = ask.apply(ws, mined, answer, words=reader.words)
        whole = (start == 0 or record.whole) and not pending.passed and not self.left_to_others
        with ws.state.transaction():
            read = replace(load_session(ws, self.mark), size=status.st_size, mtime=status.st_mtime_ns, whole=whole)
            ws.state.sessions.put(read.placed(self._cursor_at(pending.end)))
            deferred.remove_small(record.session)
            if reader.has_left_out_sdk:
                deferred.add_sdk(record.session)
            elif self.sdk:
                deferred.remove_sdk(record.session)
        if status.st_size and not start and not reader.objects:
            return replace(mined, outcome="missing", detail=f"{self.mark.path} is not a Claude Code transcript.")
        if mined.chunks:
            return mined
        if mined.buried:
            return replace(mined, outcome="buried")
        return replace(mined, outcome="refused", detail=reader.refusals[0]) if reader.refusals else mined

    def _waits(self, pending: PendingChunk) -> bool:
        if not is_small(pending) or self.small == MINE_SMALL:
            return False
        if self.small != HOLD_SMALL:
            return True
        if rules.states_wish(pending.turns):
            return False  # a person asks to remember something: that does not wait
        return not self.mark.flush or ask.asks_model(self.ws)

    def _defer_tail(self, mined: Mined, pending: PendingChunk, status: os.stat_result, *, is_whole: bool) -> Mined:
        """Take the tail, or hold it back: record it, so that no sweep reads it again until it is packed or grows."""
        ws, size, mtime = self.ws, status.st_size, status.st_mtime_ns
        if self.small == TAKE_SMALL:
            chunk = self._claim(pending)
            if chunk.turns:
                whole = is_whole and not pending.passed and not self.left_to_others
                self.tail = SessionTail(self.mark, chunk, mined, size, mtime, whole)
            else:
                ws.state.deferred.remove_small(chunk.session)  # another session has them
            return mined
        detail = f"Too short to mine yet ({pending.characters} characters); waiting for more text."
        if self.mark.flush:
            record, now = load_session(ws, self.mark), ws.clock()
            tail = pending.project, pending.characters, size, mtime, now.timestamp()
            with ws.state.transaction():
                ws.state.deferred.add_small(SmallSession(record.session, record.path, *tail))
                if ws.state.deferred.has_sdk(record.session) and self.sdk:
                    # Turns before the cursor may have been left out: read the file from its beginning.
                    ws.state.deferred.remove_sdk(record.session)
                    record = record.placed(Cursor())
                record = replace(record, size=-1)  # it is not read to its end
                ws.state.sessions.put(record if record.outcome else record.with_outcome("waiting", detail, iso(now)))
        return mined if mined.chunks else replace(mined, outcome="waiting", detail=detail)

    def _claim(self, pending: PendingChunk) -> Chunk:
        """Claim the turns, except those that another session, which has them too, is mining."""
        sessions, record = self.ws.state.sessions, load_session(self.ws, self.mark)
        with self.ws.state.transaction():
            sessions.put(replace(record, whole=record.whole and not pending.passed))
            ours = sessions.claim(list_turn_ids(pending.turns), record.session)
        claimed = (turn for turn in pending.turns if turn.uuid in ours)
        turns = tuple(turn if turn.plan_id in ours or not turn.plan_id else turn.without_plan() for turn in claimed)
        self.left_to_others |= len(turns) < len(pending.turns)
        cursor = self._cursor_at(pending.end)
        place = cursor.inode, cursor.offset, cursor.digest
        return Chunk(record.session, record.path, pending.project, turns, digest(pending.deeds), *place)

    def _is_taken(self, uuid: str) -> bool:
        """Whether a turn is mined or claimed. A claim of another session may fail, so this one is not complete."""
        is_taken = self.ws.state.sessions.is_taken(uuid, self.mark.session)
        self.left_to_others |= is_taken and not self.ws.state.sessions.is_mined(uuid)
        return is_taken

    def _wait_for_expected(self, start: int) -> None:
        until = self.ws.ticks() + EXPECTED_SECONDS
        while self.mark.expected and self.ws.ticks() < until:
            turns = (step.line.turn for step in session.steps(self.file, start, self.mark.session))
            answers = (turn.text for turn in turns if turn and turn.role == ASSISTANT)
            if any(fingerprint(text) == self.mark.expected for text in answers):
                return
            self.ws.pause(LOOK_SECONDS)

    def _cursor_at(self, offset: int) -> Cursor:
        place = self.file.tell()
        cursor = session.cursor_at(self.file, offset)
        self.file.seek(place)  # chunks are finished while the file is being read
        return cursor
