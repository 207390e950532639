"""The status command."""

import argparse

from memem import __version__
from memem.doors.cli import output
from memem.doors.cli.command import Command
from memem.doors.cli.output import count, minute
from memem.mine.status import MiningState
from memem.upkeep import status as upkeep_status
from memem.upkeep.status import Status
from memem.workspace import Workspace


def status(ws: Workspace, options: argparse.Namespace) -> int:
    return output.emit(upkeep_status.status(ws), options, _show)


def _show(status: Status) -> None:
    projects = ", ".join(f"{name} {number}" for name, number in status.projects.items())
    rows = [
        ["memem", __version__],
        ["home", str(status.home)],
        ["vault", str(status.vault)],
        ["memories", f"{status.memories} ({projects})" if projects else "none yet"],
        ["pinned", str(status.pinned)],
        ["stale", f"{status.stale}; see `memem index check`" if status.stale else "none"],
        ["unreadable", f"{status.unreadable}; see `memem index check`" if status.unreadable else "none"],
        *_decision_rows(status),
        ["recall", _recall(status)],
        *_mining_rows(status.mining),
        ["index", f"{status.index_bytes / 1e6:.1f} MB"],
        ["last change", status.last_event or "none yet"],
    ]
    if status.capabilities:
        installer = status.capabilities.get("installer", "?")
        rows.append(["installed", f"Python {status.capabilities.get('python', '?')}, {installer}"])
    output.table(["", ""], [[name, output.advice(value)] for name, value in rows])
    if status.problem:
        output.aside(status.problem)


def _decision_rows(status: Status) -> list[list[str]]:
    rows = []
    if status.conflicts:
        rows.append(["conflicts", f"{status.conflicts}; see `memem conflicts`"])
    if status.proposals:
        rows.append(["to review", f"{status.proposals}; see `memem review`"])
    if status.held:
        reads = "reads" if status.held == 1 else "read"
        rows.append(["held back", f"{count(status.held, 'note')} {reads} like an instruction; see `memem review`"])
    if status.vanished:
        rows.append(["vanished", f"{count(status.vanished, 'note')}; see `memem doctor`"])
    return rows


def _recall(status: Status) -> str:
    model = status.model
    if model.encoder == "none":
        return "keywords only, as MEMEM_ENCODER says"
    if model.problem:
        return f"keywords only: {model.problem}"
    if model.encoded < model.passages:
        done = f"{model.encoded:,} of {count(model.passages, 'passage')}"
        return f"{status.recall}; {done} encoded with {model.model} (`memem index encode`)"
    return f"{status.recall} ({model.encoder}: {model.described}; {count(model.passages, 'passage')})"


def _mining_rows(mining: MiningState) -> list[list[str]]:
    if mining.problem:
        return [["mining", mining.problem]]
    switched = f"on since {minute(mining.since)}, {mining.extractor}" if mining.since else "off (`memem mine on`)"
    rows = [["mining", f"{switched}; {mining.stopped}" if mining.stopped else switched]]
    if mining.since and mining.pending:
        failed = f" ({mining.waiting} after a failure)" if mining.waiting else ""
        rows.append(["to be mined", f"{count(mining.pending, 'session')}{failed}"])
    if mining.since and mining.held_back:
        rows.append(["small sessions", f"{mining.held_back} to be mined together"])
    if mining.history:
        rows.append(["history", mining.history.summary])
    if mining.dead_letters:
        rows.append(["dead letters", f"{mining.dead_letters}; `memem mine --retry` tries again"])
    if mining.calls_today:
        spent = f"{count(mining.calls_today, 'call')}, {count(mining.tokens_today, 'token')}"
        rows.append(["spent today", f"{spent}, ${mining.dollars_today:.2f}"])
    return rows + [
        ["mined", f"{minute(last.time)} {last.session[:8]} {last.outcome}: {last.detail}"] for last in mining.last
    ]


COMMANDS = {"status": Command(status)}
