"""`mine_delta.log`: what mining did, and what ended it, without secrets."""

from contextlib import suppress

from memem.core.clock import iso
from memem.flows import statusline
from memem.flows.asking import KEPT, Mined
from memem.gate.verdict import clean_line
from memem.jobs import log
from memem.workspace import Workspace


def note_trouble(ws: Workspace, problem: Exception) -> None:
    """What ended a miner that nobody watches."""
    with suppress(OSError):
        log.add(ws.home.mine_log, f"{iso(ws.clock())} {type(problem).__name__}: {clean_line(str(problem))}")


def note(ws: Workspace, mined: Mined) -> None:
    """A line of the log, for whatever was not simply nothing."""
    statusline.update(ws)  # a call that failed has its cost too
    if mined.outcome in ("nothing", "waiting", "refused") and not mined.buried:
        return
    kept = f"{mined.count(*KEPT)} kept, {mined.count('refused')} refused" if mined.chunks else ""
    parts = [f"{mined.turns} turns" if mined.turns else "", kept, clean_line(mined.detail)]
    log.add(ws.home.mine_log, f"{iso(ws.clock())} {mined.session} {mined.outcome}: {', '.join(filter(None, parts))}")
