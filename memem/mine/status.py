"""Report the state of mining for `memem status` and `memem doctor`, without starting anything."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memem.core.dates import iso
from memem.core.errors import MememError
from memem.mine import ask, history
from memem.search.transcripts.consent import is_ahead, opted_in

if TYPE_CHECKING:
    from memem.workspace import Workspace

SESSIONS_SHOWN = 5
LOST = "Mining is off: the state database that recorded it as on is gone. `memem mine on` switches it on again."
AHEAD = "Mining was switched on by a clock that was ahead, at {}. `memem mine on` switches it on from now."


@dataclass(frozen=True, slots=True)
class LastMined:
    session: str
    time: str
    outcome: str
    detail: str
    calls: int
    dollars: float

    @property
    def summary(self) -> str:
        time, outcome = self.time[:16].replace("T", " "), ask.OUTCOME_WORDS.get(self.outcome, self.outcome)
        return f"{time} {self.session[:8]} {outcome}: {self.detail}"


@dataclass(frozen=True, slots=True)
class HistoryState:
    state: str  # running, done, budget or stopped
    sessions_done: int
    sessions: int
    calls: int
    dollars: float
    memories: int
    began: str
    ended: str
    detail: str
    summary: str


@dataclass(frozen=True, slots=True)
class MiningState:
    since: str = ""  # empty: it is off
    extractor: str = ""
    pending: int = 0
    waiting: int = 0
    stopped: str = ""  # why no calls are made at the moment
    dead_letters: int = 0
    calls_today: int = 0
    tokens_today: int = 0
    dollars_today: float = 0.0
    last: tuple[LastMined, ...] = ()
    problem: str = ""
    held_back: int = 0  # small sessions that wait to be sent together
    history: HistoryState | None = None
    model_url: str = ""  # of the server that is asked instead of `claude`
    has_model_key: bool = False

    @property
    def switched_on(self) -> str:
        """Since when mining is on, and how it extracts, in words; empty if it is off."""
        name, _, model = self.extractor.partition(", ")
        since = self.since[:16].replace("T", " ")
        used = f"{name} ({model})" if model else name
        if self.model_url:
            where = f"{self.model_url}{' with a key' if self.has_model_key else ''}"
            used = f"{model or 'the model'} at {where}; text goes only there, not through `claude` to Anthropic"
        return f"on since {since}, using {used}" if since else ""


def mining_state(ws: Workspace) -> MiningState:
    """Return the state of mining; `problem` says why it cannot be read."""
    extractor = "rules"
    if ask.asks_model(ws):
        name = "endpoint" if ws.settings.model_url else "claude"
        extractor = f"{name}, {ws.settings.model}" if ws.settings.model else name
    if not ws.home.state_file.exists():
        return MiningState(extractor=extractor, problem=LOST if ws.home.opt_in.exists() else "")
    try:
        return _read(ws, extractor)
    except MememError as problem:
        return MiningState(extractor=extractor, problem=str(problem))


def _read(ws: Workspace, extractor: str) -> MiningState:
    now = ws.clock().timestamp()
    since = opted_in(ws)
    today = ws.state.ledger.spent(ws.today())
    last = []
    for record in ws.state.sessions.last(SESSIONS_SHOWN):
        spent = ws.state.ledger.spent_in(record.session)
        cost = spent.calls, round(spent.dollars, 4)
        last.append(LastMined(record.session, record.mined, record.outcome, record.detail, *cost))
    return MiningState(
        since=iso(since) if since else "",
        extractor=extractor,
        pending=len(ws.state.queue.marks()),
        waiting=ws.state.sessions.waiting(now),
        stopped=_stopped(ws, now),
        dead_letters=len(ws.state.journal.dead_letters()),
        calls_today=today.calls,
        tokens_today=today.input_tokens + today.output_tokens,
        dollars_today=round(today.dollars, 4),
        last=tuple(last),
        problem=_problem(ws, since),
        held_back=len(ws.state.deferred.small()),
        history=_history(ws),
        model_url=ws.settings.model_url if ask.asks_model(ws) else "",
        has_model_key=bool(ws.model_key),
    )


def _problem(ws: Workspace, since: datetime | None) -> str:
    if since is None:
        return LOST if ws.home.opt_in.exists() else ""
    return AHEAD.format(f"{since:%Y-%m-%d %H:%M}") if is_ahead(ws, since) else ""


def _history(ws: Workspace) -> HistoryState | None:
    if (run := history.last_run(ws)) is None:
        return None
    counts = (run.sessions_done, run.sessions, run.calls, run.dollars, run.memories)
    return HistoryState(run.state, *counts, run.began, run.ended, run.detail, history.describe(run))


def _stopped(ws: Workspace, now: float) -> str:
    if pause := ws.state.ledger.pause(now):
        reason, until = pause
        return f"{reason} Mining is paused until {datetime.fromtimestamp(until, ws.clock().tzinfo):%Y-%m-%d %H:%M}."
    used_up = ws.state.ledger.limit_reached(ws.today(), ask.limits(ws))
    return f"{used_up} Mining continues tomorrow." if used_up else ""
