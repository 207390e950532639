"""The doctor command."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from memem.core.errors import SettingsError
from memem.doors.cli import output
from memem.doors.cli.command import Command, flag, workspace
from memem.upkeep import doctor as upkeep_doctor
from memem.upkeep.checks import result
from memem.upkeep.checks.result import Diagnosis


def doctor(options: argparse.Namespace) -> int:
    try:
        with workspace() as ws:
            diagnoses = upkeep_doctor.integrity(ws) if options.integrity_check else upkeep_doctor.diagnose(ws)
    except SettingsError as problem:
        diagnoses = upkeep_doctor.unopened(problem)
    output.emit(diagnoses, options, _show)
    return 1 if upkeep_doctor.verdict(diagnoses) == upkeep_doctor.VERDICTS[result.BROKEN] else 0


def _show(diagnoses: Sequence[Diagnosis]) -> None:
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


_INTEGRITY = flag("--integrity-check", "check only the databases, thoroughly")
COMMANDS = {"doctor": Command(doctor, (_INTEGRITY,), opens=False)}
