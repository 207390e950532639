"""Whether sessions can be mined; and a call of the model whose miner is gone is ended."""

from memem.core.errors import MememError
from memem.flows.diagnosis import Diagnosis, degraded, fine, of_error
from memem.flows.mining_state import MiningState
from memem.workspace import Workspace

OTHERWISE = "Make it readable and writable for you, and try again."


def check(ws: Workspace, state: MiningState) -> list[Diagnosis]:
    """Mining itself, and what it leaves to be done by a person."""
    if state.problem:
        return [of_error("mining", MememError(state.problem), OTHERWISE)]
    if not state.since:
        found = [fine("mining", "off; `memem mining on` switches it on")]
    else:
        found = [fine("mining", f"on since {state.since[:16].replace('T', ' ')}, with {state.extractor}")]
    if ws.home.state_file.exists():
        found += _orphans(ws)
    if state.stopped:
        told = f"not asked at the moment: {state.stopped}"
        found.append(degraded("model", told, "Wait, or `memem mine --all`, which asks all the same."))
    if state.dead_letters:
        told = f"{state.dead_letters} parts failed too often"
        found.append(degraded("dead letters", told, "`memem mine --retry` tries them again."))
    return found


def _orphans(ws: Workspace) -> list[Diagnosis]:
    try:
        ended = ws.state.children.end_orphans()
    except MememError as problem:
        return [of_error("orphans", problem, OTHERWISE)]
    if not ended:
        return []
    return [degraded("orphans", f"{ended} calls outlived their miner and were ended now", "Nothing: they are gone.")]
