"""What a look at one thing came to, for `memem doctor`."""

from dataclasses import dataclass

from memem.core.errors import MememError

FINE, DEGRADED, BROKEN = STATES = ("fine", "degraded", "broken")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing memem needs. `state` is fine, degraded (memem works, but not as well) or broken.

    `fix` says what to do about it, and is empty when it is fine.
    """

    what: str
    state: str
    detail: str
    fix: str = ""


def fine(what: str, detail: str) -> Diagnosis:
    return Diagnosis(what, FINE, detail)


def degraded(what: str, detail: str, fix: str) -> Diagnosis:
    return Diagnosis(what, DEGRADED, detail, fix)


def broken(what: str, detail: str, fix: str) -> Diagnosis:
    return Diagnosis(what, BROKEN, detail, fix)


def of_error(what: str, problem: MememError, otherwise: str, state: str = BROKEN) -> Diagnosis:
    """Our errors end with a sentence about what to do; `otherwise` stands in for one that does not."""
    told, _, advice = str(problem).rpartition(". ")
    return Diagnosis(what, state, f"{told}.", advice) if told else Diagnosis(what, state, str(problem), otherwise)
