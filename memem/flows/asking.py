"""Ask about chunks, journal the answers and apply them; only then mark their turns as mined and move the cursors.

After a crash a journaled answer is applied again, not asked for again. Chunks of several sessions may share a call;
each is journaled, applied and finished by itself.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from memem.core.clock import iso
from memem.core.errors import BudgetSpent, ExtractError, MememError
from memem.core.mining import Chunk
from memem.extract import candidates
from memem.flows import applying, extraction, mining_notices, postponing
from memem.flows.applying import Applied
from memem.jobs.journal import Record
from memem.jobs.queue import Mark
from memem.jobs.sessions import Session
from memem.workspace import Workspace

BATCH = "mine"
KEPT = ("added", "updated", "superseded")


@dataclass(frozen=True, slots=True)
class Mined:
    """The result of mining a session.

    `outcome` is mined, nothing (there was nothing new), waiting (too little), missing (no transcript that can be read),
    own (a call of ours), refused (by its project, or since no person was there), failed, spent (the budget) or buried;
    `detail` says more. `buried` counts the chunks that became dead letters. `project` is that of the last chunk.
    """

    session: str
    path: str
    outcome: str = "nothing"
    detail: str = ""
    turns: int = 0
    chunks: int = 0
    buried: int = 0
    applied: tuple[Applied, ...] = ()
    project: str = ""

    def count(self, *outcomes: str) -> int:
        """How many operations ended so."""
        return sum(each.outcome in outcomes for each in self.applied)

    def with_chunk(self, chunk: Chunk, applied: list[Applied]) -> "Mined":
        turns, chunks = self.turns + len(chunk.turns), self.chunks + 1
        applied = [*self.applied, *applied]
        return replace(self, outcome="mined", turns=turns, chunks=chunks, applied=tuple(applied), project=chunk.project)


@dataclass(frozen=True, slots=True)
class Part:
    """A chunk to ask about, and the mark of its session."""

    mark: Mark
    chunk: Chunk


class PutAside(Exception):
    """A chunk has failed so often that it became a dead letter."""


def ask_about(ws: Workspace, parts: Sequence[Part]) -> list[Record]:
    """Ask about chunks of one project in one call, and journal the answer to each.

    Raises ExtractError or BudgetSpent, after marking every session again. Raises PutAside when a chunk that was asked
    about alone has failed too often.
    """
    try:
        answered = extraction.extract(ws, *(part.chunk for part in parts))
    except (ExtractError, BudgetSpent) as problem:
        _note_failure(ws, parts, problem)
        raise
    mining_notices.clear_after_answer(ws)
    with ws.state.at_once():
        ws.state.ledger.worked()
        now = iso(ws.clock())
        return [
            ws.state.journal.answered(chunk.session, chunk.as_json(), candidates.as_json(operations), now)
            for chunk, operations in answered
        ]


def _note_failure(ws: Workspace, parts: Sequence[Part], problem: ExtractError | BudgetSpent) -> None:
    """Postpone the sessions, or put a hopeless chunk aside: never several together, each is first asked about alone."""
    sessions = [known_session(ws, part.mark) for part in parts]
    chunk = parts[0].chunk
    with ws.state.at_once():
        is_hopeless = len(parts) == 1 and postponing.is_hopeless(ws, sessions[0], problem)
        if is_hopeless:
            postponing.bury(ws, chunk, problem)
            _finish(ws, chunk, "buried", str(problem))
        else:
            postponing.postpone(ws, problem, *sessions)
            for part in parts:
                ws.state.sessions.release([turn.uuid for turn in part.chunk.turns], part.chunk.session)
                ws.state.queue.mark(part.mark, ws.clock().timestamp())
    if is_hopeless:
        mining_notices.announce_dead_letter(ws)
        raise PutAside(str(problem)) from None


def record_error(ws: Workspace, mark: Mark, problem: MememError) -> Mined:
    """Record an error of a session that is not the model's; the session stays marked."""
    mining_notices.report_trouble(ws, problem)
    known = ws.state.sessions.get(mark.session) or Session(mark.session, mark.path)
    ws.state.sessions.put(known.told("failed", str(problem), iso(ws.clock())))
    return Mined(mark.session, mark.path, "failed", str(problem))


def apply(ws: Workspace, mined: Mined, record: Record, undone: Collection[str] = ()) -> Mined:
    """Apply an answer to the vault; then, in one transaction, finish its turns and its journal record.

    `undone` are notes that somebody has taken back since a first attempt to apply it.
    """
    chunk = Chunk.from_json(record.chunk)
    operations = candidates.parse({"operations": record.answer})
    with ws.events.batch(BATCH):
        applied = applying.apply_all(ws, chunk, operations, undone)
    mined = mined.with_chunk(chunk, applied)
    with ws.state.at_once():
        _finish(ws, chunk, "mined", f"{mined.count(*KEPT)} kept of {len(mined.applied)}, {mined.turns} turns")
        ws.state.journal.finish(record.number)
    mining_notices.clear_after_apply(ws)
    return mined


def failed(mined: Mined, problem: ExtractError | BudgetSpent) -> Mined:
    """The result of a session that failed after the chunks in `mined`."""
    outcome = "spent" if isinstance(problem, BudgetSpent) else "failed"
    return replace(mined, outcome=outcome, detail=str(problem))


def _finish(ws: Workspace, chunk: Chunk, outcome: str, detail: str) -> None:
    """Mark the turns of a chunk as mined and move the cursor behind them."""
    ws.state.sessions.finish([turn.uuid for turn in chunk.turns], chunk.session)
    known = ws.state.sessions.get(chunk.session) or Session(chunk.session, chunk.path)
    placed = known.placed(chunk.inode, chunk.offset, chunk.digest).told(outcome, detail, iso(ws.clock()))
    ws.state.sessions.put(replace(placed, failures=0, not_before=0.0))


def known_session(ws: Workspace, mark: Mark) -> Session:
    return replace(ws.state.sessions.get(mark.session) or Session(mark.session, ""), path=mark.path)
