"""The result of one check of `memem doctor`."""

from dataclasses import dataclass

from memem.core.errors import MememError

FINE, DEGRADED, BROKEN = STATES = ("fine", "degraded", "broken")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    what: str
    state: str
    detail: str
    fix: str = ""  # empty if it is fine


def fine(what: str, detail: str) -> Diagnosis:
    return Diagnosis(what, FINE, detail)


def degraded(what: str, detail: str, fix: str) -> Diagnosis:
    return Diagnosis(what, DEGRADED, detail, fix)


def broken(what: str, detail: str, fix: str) -> Diagnosis:
    return Diagnosis(what, BROKEN, detail, fix)


def of_error(what: str, problem: MememError, default_fix: str, state: str = BROKEN) -> Diagnosis:
    """Use the last sentence of an error as the fix, or the default if it is the only one or just reassures."""
    detail, _, fix = str(problem).rpartition(". ")
    if not detail or fix.startswith("Nothing "):
        return Diagnosis(what, state, str(problem), default_fix)
    return Diagnosis(what, state, f"{detail}.", fix)
