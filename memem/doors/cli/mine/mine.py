"""memem mine"""

import argparse
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from memem.core import processes
from memem.core.errors import InputError, MememError, NotFound
from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.mine import drain, plan, schedule
from memem.mine import history as mine_history
from memem.mine.ask import SAVED, Mined
from memem.mine.plan import Plan
from memem.pages.catch_up import catching_up
from memem.state import consent
from memem.workspace import Workspace

_MINING = "Mining (Ctrl-C to go on later)"
_ALL_MINED = "Every session is mined to its end."
_UNDER_WAY = "It is being mined in the background; `memem status` shows what came of it."


def arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--session", type=Path, metavar="FILE", help="this session, all of it, opted in or not")
    what.add_argument("--all", action="store_true", help="every session that is behind, from the opt-in on")
    what.add_argument("--history", action="store_true", help="every session there is, also from before the opt-in")
    what.add_argument("--retry", action="store_true", help="ask again about what was put aside after many failures")
    what.add_argument("--sweep", action="store_true", help=argparse.SUPPRESS)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--dry-run", action="store_true", help="say what there is to mine, and mine nothing")
    how.add_argument(
        "--detach", action="store_true", help="with --session (once mining is on) or --history: return at once"
    )
    how.add_argument("--background", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--yes", action="store_true", help="do not ask before mining the history")
    parser.add_argument("--flush", action="store_true", help=argparse.SUPPRESS)
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        if options.background or options.sweep:
            processes.give_way()
            return _unattended(ws, options)
        ws.notice = output.aside
        if options.detach and not options.history:
            return _detached(ws, options)
        if options.retry and options.dry_run:
            return _show_plan(ws, plan.plan_retry(ws), json=options.json)
        if options.retry:
            return _show(schedule.retry(ws), options, nothing="There are no dead letters.")
        if options.session and not options.dry_run:
            return _show([schedule.mine_file(ws, options.session)], options, nothing="")
        return _many(ws, options)


def _unattended(ws: Workspace, options: argparse.Namespace) -> int:
    """For hooks: says nothing, whatever comes of it; what goes wrong is in the log."""
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


def _detached(ws: Workspace, options: argparse.Namespace) -> int:
    if not options.session:
        raise InputError("--detach is for one session, or all of them: give --session FILE or --history.")
    if not schedule.start_miner(ws, _existing(options.session), flush=options.flush):
        raise InputError("Mining in the background is off. `memem mining on` switches it on.")
    output.aside(_UNDER_WAY)
    return 0


def _many(ws: Workspace, options: argparse.Namespace) -> int:
    since = _since(ws, options)
    if options.history and not options.dry_run:
        return _history(ws, options)
    paths = [_existing(options.session)] if options.session else schedule.unmined_sessions(ws, since)
    if options.dry_run:
        with output.progress("Looking", quiet=options.json) as progress:
            planned = plan.plan(ws, paths, since, progress, is_one=bool(options.session))
        return _show_plan(ws, planned, json=options.json)
    with output.progress(_MINING, quiet=options.json) as progress:
        done = schedule.mine_all(ws, paths, since, _with_pages(ws, progress))
    return _show(done, options, nothing=_ALL_MINED)


def _with_pages(ws: Workspace, progress: schedule.Progress) -> schedule.Progress:
    """Show progress, and write the pages of what was mined so far: a long run may be interrupted."""

    def step(done: int, total: int) -> None:
        with catching_up(ws):
            progress(done, total)

    return step


def _history(ws: Workspace, options: argparse.Namespace) -> int:
    mine_history.refuse_second_run(ws)  # before it asks; the lock decides
    with output.progress("Looking", quiet=options.json) as progress:
        history = mine_history.survey_history(ws, progress)
    if not history.plan.turns:
        return _show([], options, nothing="There is nothing to mine.")
    if not _agreed(ws, history.plan, options):
        return _show([], options, nothing="Nothing was mined.")
    if options.detach:
        mine_history.start_in_background(ws)
        output.aside(_UNDER_WAY)
        return 0
    with output.progress(_MINING, quiet=options.json) as progress:
        done = mine_history.mine(ws, history, _with_pages(ws, progress))
    return _show(done, options, nothing=_ALL_MINED)


def _existing(session: Path) -> Path:
    if not session.is_file():
        raise NotFound(f"There is no session file {session}.")
    return session


def _since(ws: Workspace, options: argparse.Namespace) -> datetime | None:
    if not options.all:
        return None
    since = consent.opted_in(ws)
    if since is None:
        raise InputError("Mining is off. `memem mining on` switches it on for what is said from then on.")
    return since


def _agreed(ws: Workspace, planned: Plan, options: argparse.Namespace) -> bool:
    """Whether a person who knows what it takes wants it; a plan that is not the result is said aside."""
    (output.aside if options.json else output.say)(_in_words(ws, planned))
    if options.yes:
        return True
    if sys.stdin is None or not sys.stdin.isatty():
        raise InputError("Not running interactively; pass --yes to mine the history, or --dry-run to see the cost.")
    output.flush()
    output.aside("Mine all of it? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _show_plan(ws: Workspace, planned: Plan, *, json: bool) -> int:
    if json:
        output.as_json(planned)
    else:
        output.say(_in_words(ws, planned))
    return 0


def _in_words(ws: Workspace, planned: Plan) -> str:
    """Sessions, calls and dollars first: that is what a person decides by."""
    cost = "by rules, no calls"
    if planned.calls:
        price = "price unknown" if planned.dollars is None else f"about ${planned.dollars:.2f}"
        calls = f"about {_count(planned.calls, 'call')} of {ws.settings.model.capitalize()}"
        cost = f"{calls}, {price} (limit today: ${ws.settings.daily_usd:.2f})"
    size = f"{_count(planned.turns, 'turn')}, {_count(planned.characters, 'character')}"
    return f"{_count(planned.sessions, 'session')}, {cost}; {size} to read."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _show(done: Sequence[Mined], options: argparse.Namespace, *, nothing: str) -> int:
    failed = [mined for mined in done if mined.outcome in ("failed", "spent", "missing", "buried")]
    if options.json:
        output.as_json(done)
        return 1 if failed else 0
    left_out = dict.fromkeys(mined.detail for mined in done if mined.outcome in ("own", "refused"))
    shown = [mined for mined in done if mined.chunks]
    for mined in shown:
        _show_one(mined)
    for detail in left_out:
        output.say(detail)
    if not (shown or left_out or failed):
        output.say(nothing or "There is nothing new to mine.")
    if failed:
        raise MememError(f"Session {failed[-1].session}: {failed[-1].detail} {_what_now(failed[-1])}")
    return 0


def _what_now(mined: Mined) -> str:
    if mined.outcome == "missing":
        return "Nothing was mined of it."
    if mined.outcome == "spent":
        return "Nothing is lost: run the same command tomorrow to continue."
    return "Nothing is lost: " + ("`memem mine --retry` asks again." if mined.buried else "the same command continues.")


def _show_one(mined: Mined) -> None:
    kept = mined.count(*SAVED)
    output.say(f"{mined.session}: {mined.turns} turns, {kept} {'memory' if kept == 1 else 'memories'} kept")
    for applied in mined.applied:
        if applied.outcome in SAVED:
            output.say(f"  {applied.outcome} {applied.id[:8]}  {applied.title}")
        elif applied.outcome == "proposed":
            output.say(f"  proposed {applied.id[:8]}  {applied.title}; see {output.advice('`memem review`')}")
        elif applied.outcome == "refused":
            output.say(f"  refused  {applied.title}: {applied.reason}")
    if mined.buried:
        again = output.advice("`memem mine --retry` tries them again")
        output.say(f"  {mined.buried} parts failed too often and are put aside; {again}")
