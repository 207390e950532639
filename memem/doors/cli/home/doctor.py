"""memem doctor, and memem --integrity-check"""

import argparse
from dataclasses import replace

from memem.core.errors import SettingsError
from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.upkeep import doctor
from memem.upkeep.checks import result
from memem.upkeep.checks.result import Diagnosis


def arguments(parser: argparse.ArgumentParser) -> None:
    output.json_option(parser)
    parser.add_argument("--integrity-check", action="store_true", help="check the databases alone, thoroughly")


def run(options: argparse.Namespace) -> int:
    found = _found(databases_alone=options.integrity_check)
    verdict = doctor.verdict(found)
    if options.json:
        output.as_json(found)
    else:
        _show(found, verdict)
    return 1 if verdict == doctor.VERDICTS[result.BROKEN] else 0


def _found(*, databases_alone: bool) -> list[Diagnosis]:
    try:
        with workspace() as ws:
            return doctor.integrity(ws) if databases_alone else doctor.diagnose(ws)
    except SettingsError as problem:
        return doctor.unopened(problem)


def _show(found: list[Diagnosis], verdict: str) -> None:
    """The verdict, then each thing; on a terminal the fix stands under what it is for, in a pipe behind it."""
    wanting = sum(each.state != result.FINE for each in found)
    output.say(f"{verdict}: {wanting} of {len(found)} need attention" if wanting else verdict)
    found = [replace(each, detail=output.advice(each.detail), fix=output.advice(each.fix)) for each in found]
    if output.on_terminal():
        rows = [[each.what, each.state, f"{each.detail}\n→ {each.fix}" if each.fix else each.detail] for each in found]
        output.table(["what", "is", "detail, and what to do"], rows)
    else:
        output.table([], [[each.what, each.state, each.detail, *([each.fix] if each.fix else [])] for each in found])
