"""Commands about the state of memem: status and doctor."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from memem import __version__
from memem.core.errors import SettingsError
from memem.doors.cli import output
from memem.doors.cli.command import Command, workspace
from memem.doors.cli.output import count, minute
from memem.mine.status import MiningState
from memem.upkeep import doctor as upkeep_doctor
from memem.upkeep import status as upkeep_status
from memem.upkeep.checks import result
from memem.upkeep.checks.result import Diagnosis
from memem.upkeep.status import Status
from memem.workspace import Workspace


def status(ws: Workspace, options: argparse.Namespace) -> int:
    return output.emit(upkeep_status.status(ws), options, _show_status)


def _show_status(status: Status) -> None:
    projects = ", ".join(f"{name} {number}" for name, number in status.projects.items())
    instructions = f"{count(status.held, 'note')} {'reads' if status.held == 1 else 'read'} like an instruction"
    decisions = (
        (status.conflicts, "conflicts", f"{status.conflicts}; see `memem conflicts`"),
        (status.proposals, "to review", f"{status.proposals}; see `memem review`"),
        (status.held, "held back", f"{instructions}; see `memem review`"),
        (status.vanished, "vanished", f"{count(status.vanished, 'note')}; see `memem doctor`"),
    )
    when, _, change = status.last_event.partition(" ")
    rows = [
        ["memem", __version__],
        ["home", str(status.home)],
        ["vault", str(status.vault)],
        ["memories", f"{status.memories} ({projects})" if projects else "none yet"],
        ["pinned", str(status.pinned)],
        ["stale", f"{status.stale}; see `memem index check`" if status.stale else "none"],
        ["unreadable", f"{status.unreadable}; see `memem index check`" if status.unreadable else "none"],
        *([name, advice] for number, name, advice in decisions if number),
        ["recall", _recall(status)],
        *_mining_rows(status.mining),
        ["index", f"{status.index_bytes / 1e6:.1f} MB"],
        ["last change", f"{minute(when)} {change}" if when else "none yet"],
    ]
    if status.capabilities:
        installer = status.capabilities.get("installer", "?")
        rows.append(["installed", f"Python {status.capabilities.get('python', '?')}, {installer}"])
    output.table(["", ""], [[name, output.advice(value)] for name, value in rows])
    if status.problem:
        output.aside(status.problem)


def _recall(status: Status) -> str:
    model = status.model
    if model.encoder == "none":
        return "keywords only (MEMEM_ENCODER is none)"
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


def doctor(options: argparse.Namespace) -> int:
    try:
        with workspace() as ws:
            diagnoses = upkeep_doctor.integrity(ws) if options.integrity_check else upkeep_doctor.diagnose(ws)
    except SettingsError as problem:
        diagnoses = upkeep_doctor.unopened(problem)
    output.emit(diagnoses, options, _show_diagnoses)
    return 1 if upkeep_doctor.verdict(diagnoses) == upkeep_doctor.VERDICTS[result.BROKEN] else 0


def _show_diagnoses(diagnoses: Sequence[Diagnosis]) -> None:
    """Print the verdict and each diagnosis, with its fix below it on a terminal and behind it in a pipe."""
    verdict = upkeep_doctor.verdict(diagnoses)
    problems = sum(item.state != result.FINE for item in diagnoses)
    need = "needs" if problems == 1 else "need"
    output.say(f"{verdict}: {problems} of {len(diagnoses)} checks {need} attention" if problems else verdict)
    shown = [replace(item, detail=output.advice(item.detail), fix=output.advice(item.fix)) for item in diagnoses]
    if output.on_terminal():
        rows = [[item.what, item.state, f"{item.detail}\n→ {item.fix}" if item.fix else item.detail] for item in shown]
        output.table(["check", "state", "detail and fix"], rows)
    else:
        output.table([], [[item.what, item.state, item.detail, *([item.fix] if item.fix else [])] for item in shown])


COMMANDS = {"status": Command(status), "doctor": Command(doctor, opens=False)}
