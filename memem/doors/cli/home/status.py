"""memem status"""

import argparse

from memem import __version__
from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.mine.status import MiningState
from memem.upkeep import status as upkeep_status
from memem.upkeep.status import Status


def arguments(parser: argparse.ArgumentParser) -> None:
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        status = upkeep_status.status(ws)
    if options.json:
        output.as_json(status)
        return 0
    projects = ", ".join(f"{name} {count}" for name, count in status.projects.items())
    rows = [
        ["memem", __version__],
        ["home", str(status.home)],
        ["vault", str(status.vault)],
        ["memories", f"{status.memories} ({projects})" if projects else "none yet"],
        ["pinned", str(status.pinned)],
        ["stale", f"{status.stale}; see `memem check`" if status.stale else "none"],
        ["unreadable", f"{status.unreadable}; see `memem check`" if status.unreadable else "none"],
        *_waiting(status),
        ["recall", _recall(status)],
        *_mining(status.mining),
        ["index", f"{status.index_bytes / 1e6:.1f} MB"],
        ["last change", status.last_event or "none yet"],
    ]
    if status.capabilities:
        known = status.capabilities
        rows.append(["set up", f"Python {known.get('python', '?')}, {known.get('installer', '?')}"])
    output.table(["what", "is"], [[what, output.advice(told)] for what, told in rows])
    if status.problem:
        output.aside(status.problem)
    return 0


def _waiting(status: Status) -> list[list[str]]:
    """What a person is asked about."""
    rows = []
    if status.conflicts:
        rows.append(["conflicts", f"{status.conflicts}; see `memem conflicts`"])
    if status.proposals:
        rows.append(["to review", f"{status.proposals}; see `memem review`"])
    if status.held:
        rows.append(["held back", f"{status.held} notes read like an instruction; see `memem review`"])
    if status.vanished:
        rows.append(["vanished", f"{status.vanished} notes; see `memem doctor`"])
    return rows


def _recall(status: Status) -> str:
    """How memories are found, and what keeps them from being found better."""
    model = status.model
    if model.encoder == "none":
        return "keywords, as MEMEM_ENCODER says"
    if model.problem:
        return f"keywords only: {model.problem}"
    if model.encoded < model.passages:
        far = f"{model.encoded:,} of {model.passages:,} passages have a vector of {model.model} (`memem encode`)"
        return f"{status.recall}; {far}"
    return f"{status.recall} ({model.encoder}: {model.described}; {model.passages:,} passages)"


def _mining(mining: MiningState) -> list[list[str]]:
    """Whether sessions are mined, what waits, what it cost today, and what came of the last ones."""
    if mining.problem:
        return [["mining", mining.problem]]
    switched = f"on since {_minute(mining.since)}, {mining.extractor}" if mining.since else "off (`memem mining on`)"
    rows = [["mining", f"{switched}; {mining.stopped}" if mining.stopped else switched]]
    if mining.since and mining.pending:
        waits = f" ({mining.waiting} after a failure)" if mining.waiting else ""
        rows.append(["to be mined", f"{mining.pending} sessions{waits}"])
    if mining.since and mining.held_back:
        rows.append(["small sessions", f"{mining.held_back} wait to be mined together"])
    if mining.history:
        rows.append(["history", mining.history.summary])
    if mining.dead_letters:
        rows.append(["dead letters", f"{mining.dead_letters}; `memem mine --retry` tries them again"])
    if mining.calls_today:
        spent = f"{mining.calls_today} calls, {mining.tokens_today:,} tokens, {mining.dollars_today:.2f} dollars"
        rows.append(["spent today", spent])
    rows += [
        ["mined", f"{_minute(each.time)} {each.session[:8]} {each.outcome}: {each.detail}"] for each in mining.last
    ]
    return rows


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")
