"""Mine what is new in one session: read, ask, write down the answer, apply it, and only then move the cursor.

Whoever calls holds the session's lock. Each chunk is finished by itself: a crash, at any step, loses nothing and does
nothing twice. An answer that was written down is applied again rather than asked for again.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from memem.core import files, plain
from memem.core.clock import iso
from memem.core.errors import BudgetSpent, ExtractError
from memem.core.mining import ASSISTANT, Chunk
from memem.extract import candidates
from memem.flows import applying, confirming, conflicts, extraction, history, overview, postponing
from memem.flows.applying import Applied
from memem.flows.gathering import Gathered, Gatherer, OwnCall
from memem.flows.opening import ensure_vault
from memem.flows.reindex import look
from memem.gate.duplicates import fingerprint
from memem.jobs.journal import Record
from memem.jobs.queue import Mark
from memem.jobs.sessions import Session
from memem.transcript import delta
from memem.transcript.delta import Cursor
from memem.workspace import Workspace

LEAST_CHARACTERS = 200
"""A delta with less prose than this waits for more."""
EXPECTED_SECONDS, LOOK_SECONDS = 2.0, 0.1
"""How long an answer that should be in the file is waited for, and how often it is looked for."""

BATCH = "mine"
KEPT = ("added", "updated", "superseded")


@dataclass(frozen=True, slots=True)
class Mined:
    """What came of mining a session.

    `outcome` is mined, nothing (there was nothing new), waiting (too little), missing (no transcript that can be read),
    own (a call of ours), refused (by its project), failed, spent (the budget) or buried; `detail` says more. `buried`
    counts the chunks that became dead letters.
    """

    session: str
    path: str
    outcome: str = "nothing"
    detail: str = ""
    turns: int = 0
    chunks: int = 0
    buried: int = 0
    applied: tuple[Applied, ...] = ()

    def count(self, *outcomes: str) -> int:
        """How many operations ended so."""
        return sum(each.outcome in outcomes for each in self.applied)

    def with_chunk(self, chunk: Chunk, applied: list[Applied]) -> "Mined":
        turns, chunks = self.turns + len(chunk.turns), self.chunks + 1
        return replace(self, outcome="mined", turns=turns, chunks=chunks, applied=(*self.applied, *applied))


def mine_session(ws: Workspace, mark: Mark, since: datetime | None) -> Mined:
    """Mine a session to its end, as one batch of the log; what was said before `since` is passed over.

    A failure to extract is an outcome, and the session is marked again. One of the vault or of memem's own files is
    raised: what is in the journal then is applied next time.
    """
    with ws.events.batch(BATCH):
        return _mine(ws, mark, since)


def _mine(ws: Workspace, mark: Mark, since: datetime | None) -> Mined:
    ensure_vault(ws)
    look(ws)
    mined = Mined(mark.session, mark.path)
    for record in ws.state.journal.open(mark.session):
        mined = apply(ws, mined, record, history.taken_back(ws))
    known = ws.state.sessions.get(mark.session)
    own = replace(mined, outcome="own", detail="It is a call of memem's own, which is never mined.")
    if known and known.own and known.path in ("", mark.path):
        return own
    try:
        with plain.open_plain(Path(mark.path)) as file:
            mined = _Mining(ws, mark, file, since).run(mined)
    except OwnCall:
        ws.state.sessions.put_own(mark.session, mark.path, ws.clock().timestamp())
        return own
    except OSError as error:  # of the transcript: those of vault and home are told apart before they come here
        return replace(mined, outcome="missing", detail=f"{mark.path} cannot be read: {files.reason(error)}.")
    if mined.applied:
        confirming.confirm(ws, mark.session)
        conflicts.write_page(ws)
        overview.follow(ws)
    return mined


class _Mining:
    """One run over one file."""

    def __init__(self, ws: Workspace, mark: Mark, file: BinaryIO, since: datetime | None) -> None:
        self._ws = ws
        self._mark = mark
        self._file = file
        self._since = since
        self._left_to_others = False

    @property
    def _known(self) -> Session:
        found = self._ws.state.sessions.get(self._mark.session) or Session(self._mark.session, "")
        return replace(found, path=self._mark.path)

    def run(self, mined: Mined) -> Mined:
        """Chunk by chunk. A file that was read to its end is known by its size and time from then on."""
        known = self._known
        start = _start(self._file, known, self._since)
        self._wait_for_expected(start)
        status = os.fstat(self._file.fileno())
        gatherer = Gatherer(self._ws, self._is_known, self._since)
        for gathered in gatherer.gather(self._file, start, known.session):
            self._ws.state.sessions.add_injected(known.session, gathered.injected)
            if gathered.is_last and gathered.characters < LEAST_CHARACTERS and gathered.turns and not self._mark.flush:
                return mined if mined.chunks else replace(mined, outcome="waiting")
            chunk = self._claimed(gathered)
            if not chunk.turns:
                continue
            mined, problem = self._finished(mined, chunk)
            if problem:
                return failed(mined, problem)
        whole = (start == 0 or known.whole) and not gathered.passed and not self._left_to_others
        read = replace(self._known, size=status.st_size, mtime=status.st_mtime_ns, whole=whole)
        self._ws.state.sessions.put(read.placed(*_cursor(self._file, gathered.end)))
        if status.st_size and not start and not gatherer.objects:
            return replace(mined, outcome="missing", detail=f"{self._mark.path} is no transcript of Claude Code.")
        return _told(mined, list(gatherer.refusals.values()))

    def _finished(self, mined: Mined, chunk: Chunk) -> tuple[Mined, ExtractError | BudgetSpent | None]:
        """Ask about a chunk and apply the answer; or what went wrong, and then the session is marked again."""
        ws = self._ws
        try:
            chunk, operations = extraction.extract(ws, chunk)
        except (ExtractError, BudgetSpent) as problem:
            with ws.state.at_once():
                if postponing.is_hopeless(ws, self._known, problem):
                    postponing.bury(ws, chunk, problem)
                    _finish(ws, chunk, "buried", str(problem))
                    return replace(mined, buried=mined.buried + 1, detail=str(problem)), None
                postponing.postpone(ws, self._known, problem)
                ws.state.sessions.release([turn.uuid for turn in chunk.turns], chunk.session)
                ws.state.queue.mark(self._mark, ws.clock().timestamp())
            return mined, problem
        with ws.state.at_once():
            ws.state.ledger.worked()
            answer = candidates.as_json(operations)
            record = ws.state.journal.answered(chunk.session, chunk.as_json(), answer, iso(ws.clock()))
        return apply(ws, mined, record), None

    def _claimed(self, gathered: Gathered) -> Chunk:
        """What is gathered, but for turns that another session, which holds them too, has begun to mine meanwhile."""
        known = self._known
        with self._ws.state.at_once():
            self._ws.state.sessions.put(replace(known, whole=known.whole and not gathered.passed))
            ours = self._ws.state.sessions.claim([turn.uuid for turn in gathered.turns], known.session)
        turns = tuple(turn for turn in gathered.turns if turn.uuid in ours)
        self._left_to_others |= len(turns) < len(gathered.turns)
        place = _cursor(self._file, gathered.end)
        return Chunk(known.session, known.path, gathered.project, turns, gathered.work, *place)

    def _is_known(self, uuid: str) -> bool:
        """Of what another session is to mine we cannot say that it will be: this one may be asked for it again."""
        is_known = self._ws.state.sessions.is_known(uuid, self._mark.session)
        self._left_to_others |= is_known and not self._ws.state.sessions.is_mined(uuid)
        return is_known

    def _wait_for_expected(self, start: int) -> None:
        """The last answer may not be in the file yet when its session is marked."""
        until = self._ws.ticks() + EXPECTED_SECONDS
        while self._mark.expected and not self._holds_expected(start) and self._ws.ticks() < until:
            self._ws.pause(LOOK_SECONDS)

    def _holds_expected(self, start: int) -> bool:
        turns = (step.line.turn for step in delta.steps(self._file, start, self._mark.session))
        said = (turn.text for turn in turns if turn and turn.role == ASSISTANT)
        return any(fingerprint(text) == self._mark.expected for text in said)


def _told(mined: Mined, refusals: list[str]) -> Mined:
    """What is to be said of a session that was read to its end."""
    if mined.chunks:
        return mined
    if mined.buried:
        return replace(mined, outcome="buried")
    return replace(mined, outcome="refused", detail=refusals[0]) if refusals else mined


def _start(file: BinaryIO, known: Session, since: datetime | None) -> int:
    """Where to read on: at the cursor, unless something before it was passed over that is wanted now."""
    if since is None and not known.whole:
        return 0
    return delta.start_of(file, Cursor(known.inode, known.offset, known.digest))


def _cursor(file: BinaryIO, offset: int) -> tuple[int, int, str]:
    place = file.tell()
    cursor = delta.cursor_at(file, offset)
    file.seek(place)  # chunks are finished while the file is being read
    return cursor.inode, cursor.offset, cursor.check


def apply(ws: Workspace, mined: Mined, record: Record, undone: Collection[str] = ()) -> Mined:
    """Bring an answer into the vault; then, in one step, its turns are mined and it is done with.

    `undone` are notes that somebody has taken back since a first try to apply it.
    """
    chunk = Chunk.from_json(record.chunk)
    operations = candidates.parse({"operations": record.answer})
    with ws.events.batch(BATCH):
        applied = applying.apply_all(ws, chunk, operations, undone)
    mined = mined.with_chunk(chunk, applied)
    with ws.state.at_once():
        _finish(ws, chunk, "mined", f"{mined.count(*KEPT)} kept of {len(mined.applied)}, {mined.turns} turns")
        ws.state.journal.finish(record.number)
    return mined


def failed(mined: Mined, problem: ExtractError | BudgetSpent) -> Mined:
    """What was mined before that is; the rest is not."""
    outcome = "spent" if isinstance(problem, BudgetSpent) else "failed"
    return replace(mined, outcome=outcome, detail=str(problem))


def _finish(ws: Workspace, chunk: Chunk, outcome: str, detail: str) -> None:
    """The turns of a chunk are mined, and the cursor stands behind them."""
    ws.state.sessions.finish([turn.uuid for turn in chunk.turns], chunk.session)
    known = ws.state.sessions.get(chunk.session) or Session(chunk.session, chunk.path)
    placed = known.placed(chunk.inode, chunk.offset, chunk.digest).told(outcome, detail, iso(ws.clock()))
    ws.state.sessions.put(replace(placed, failures=0, not_before=0.0))
