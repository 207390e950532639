"""The mine command."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from memem.core import processes
from memem.core.errors import InputError, MememError, NotFound
from memem.doors.cli import output
from memem.doors.cli.command import Command, is_confirmed
from memem.mine import drain, order, schedule
from memem.mine import history as mine_history
from memem.mine.ask import SAVED, Mined
from memem.mine.history import Plan
from memem.mine.status import mining_state
from memem.pages.catch_up import catching_up
from memem.search.transcripts import consent
from memem.workspace import Workspace

_MINING = "Mining (Ctrl-C to stop; you can continue later)"
_OFF = "Mining is off. `memem mine on` switches it on for new sessions."
_NOTHING = "There is nothing to mine."
_ALL_MINED = "All sessions have been mined."
_NEXT_STEPS = {"missing": "Nothing was mined.", "spent": "Run the same command tomorrow to continue."}


@dataclass(frozen=True, slots=True)
class MineResult:
    """The plan, if one was made, and the sessions mined; keys of --json."""

    plan: Plan | None = None
    mined: tuple[Mined, ...] = ()
    detached: bool = False


def mine(ws: Workspace, options: argparse.Namespace) -> int:
    if options.background or options.sweep:
        return _mine_unattended(ws, options)
    ws.notice = output.aside
    if options.detach and not options.history:
        if not options.session:
            raise InputError("--detach needs --session FILE or --history.")
        if not schedule.start_miner(ws, _existing(options.session), flush=options.flush):
            raise InputError("Mining in the background is off. `memem mine on` switches it on.")
        return _show(MineResult(detached=True), options)
    since = consent.opted_in(ws) if options.all else None
    if options.all and since is None:
        raise InputError(_OFF)
    if options.dry_run:
        planned = _plan(ws, options, since)
        return output.emit(MineResult(planned), options, lambda _: output.say(_described(ws, planned)))
    if options.history:
        return _mine_history(ws, options)
    if options.all:
        nothing = _ALL_MINED
        with output.progress(_MINING, quiet=options.json) as progress:
            paths = order.sort_unmined(ws, schedule.unmined_sessions(ws, since), since)
            done = schedule.mine_all(ws, paths, since, _with_pages(ws, progress))
    elif options.retry:
        done, nothing = schedule.retry(ws), "There is nothing to retry."
    else:
        done, nothing = [schedule.mine_file(ws, options.session)], "There is nothing new to mine."
    return _show(MineResult(mined=tuple(done)), options, nothing=nothing)


def _mine_unattended(ws: Workspace, options: argparse.Namespace) -> int:
    """Mine for a hook: print nothing, log what goes wrong."""
    processes.give_way()
    try:
        if options.sweep:
            schedule.sweep(ws)
        elif options.history:
            mine_history.mine_in_background(ws, _with_pages(ws, lambda *_: None))
        else:
            schedule.mine_in_background(ws, options.session, flush=options.flush)
    except MememError as problem:
        drain.log_error(ws, problem)
    return 0


def _with_pages(ws: Workspace, progress: Callable[[int, int], object]) -> schedule.Progress:
    """Update the pages after each session, because a long run may be interrupted."""

    def step(done: int, total: int) -> None:
        with catching_up(ws):
            progress(done, total)

    return step


def _mine_history(ws: Workspace, options: argparse.Namespace) -> int:
    mine_history.refuse_second_run(ws)  # before asking; the lock decides
    with output.progress("Counting", quiet=options.json) as progress:
        history = mine_history.survey_history(ws, progress)
    if not history.plan.turns:
        return _show(MineResult(history.plan), options, nothing=_NOTHING)
    (output.aside if options.json else output.say)(_described(ws, history.plan))
    if not options.yes and not is_confirmed("Mine all of it?"):
        return _show(MineResult(history.plan), options, nothing="Nothing was mined.")
    if options.detach:
        mine_history.start_in_background(ws)
        return _show(MineResult(history.plan, detached=True), options)
    with output.progress(_MINING, quiet=options.json) as progress:
        done = mine_history.mine(ws, history, _with_pages(ws, progress))
    return _show(MineResult(history.plan, tuple(done)), options, nothing=_ALL_MINED)


def _existing(session: Path) -> Path:
    if not session.is_file():
        raise NotFound(f"There is no session file {session}.")
    return session


def _plan(ws: Workspace, options: argparse.Namespace, since: datetime | None) -> Plan:
    if options.retry:
        return mine_history.plan_retry(ws)
    paths = [_existing(options.session)] if options.session else schedule.unmined_sessions(ws, since)
    with output.progress("Counting", quiet=options.json) as progress:
        return mine_history.plan(ws, paths, since, progress, is_one=bool(options.session))


def _described(ws: Workspace, planned: Plan) -> str:
    """Describe a plan: first sessions, calls and dollars, which people decide by."""
    if not planned.turns:
        return _NOTHING
    cost = "using rules, no model calls"
    if planned.calls:
        price = "price unknown" if planned.dollars is None else f"about ${planned.dollars:.2f}"
        calls = f"about {output.count(planned.calls, 'call')} to"
        cost = f"{calls} {ws.settings.model.capitalize()}, {price} (limit today: ${ws.settings.daily_usd:.2f})"
        if ws.settings.model_url:
            model = ws.settings.model or "the model"
            cost = f"{calls} {model} at {ws.settings.model_url} (limit today: {ws.settings.daily_calls:,} calls)"
    size = f"{output.count(planned.turns, 'turn')}, {output.count(planned.characters, 'character')}"
    return f"{output.count(planned.sessions, 'session')}, {cost}; {size} to read."


def _show(result: MineResult, options: argparse.Namespace, *, nothing: str = "") -> int:
    failed = [mined for mined in result.mined if mined.outcome in ("failed", "spent", "missing", "buried")]
    if result.detached:
        output.aside("Mining in the background; `memem status` shows the result.")
    if options.json:
        output.as_json(result)
        return 1 if failed else 0
    skipped = dict.fromkeys(mined.detail for mined in result.mined if mined.outcome in ("own", "refused"))
    shown = [mined for mined in result.mined if mined.chunks]
    for mined in shown:
        saved = output.count(mined.count(*SAVED), "memory")
        output.say(f"{mined.session}: {output.count(mined.turns, 'turn')}, {saved} saved")
        for applied in mined.applied:
            if applied.outcome in SAVED:
                output.say(
                    f"  {output.OUTCOMES.get(applied.outcome, applied.outcome)} {applied.id[:8]}  {applied.title}"
                )
            elif applied.outcome == "proposed":
                output.say(f"  proposed {applied.id[:8]}  {applied.title}; see {output.advice('`memem review`')}")
            elif applied.outcome == "refused":
                output.say(f"  refused  {applied.title}: {applied.reason}")
        if mined.buried:
            retry = output.advice("`memem mine --retry` tries again")
            output.say(f"  {output.count(mined.buried, 'part')} failed too many times; {retry}")
    for detail in skipped:
        output.say(detail)
    if nothing and not (shown or skipped or failed):
        output.say(nothing)
    if failed:
        last = failed[-1]
        retry = "`memem mine --retry` tries again." if last.buried else "Run the command again."
        next_step = _NEXT_STEPS.get(last.outcome, retry)
        if last.outcome != "missing" and "Nothing is lost." not in last.detail:
            next_step = f"Nothing is lost. {next_step}"
        raise MememError(f"Session {last.session}: {last.detail} {next_step}")
    return 0


def show_state(
    ws: Workspace, options: argparse.Namespace, switch: Callable[[Workspace], object] = lambda _: None
) -> int:
    switch(ws)
    since = consent.opted_in(ws)
    on = "Mining is on for sessions since {:%Y-%m-%d %H:%M}; `memem mine --all` mines pending sessions now."
    state = mining_state(ws)
    message = output.advice(state.problem or (on.format(since) if since else _OFF))
    return output.emit(state, options, lambda _: output.say(message))


COMMANDS = {
    "mine": Command(mine),
    "mine on": Command(partial(show_state, switch=consent.opt_in)),
    "mine off": Command(partial(show_state, switch=consent.opt_out)),
    "mine status": Command(show_state),
}
