"""Mine due sessions in the background: marked ones first, then small ones that are worth a call together."""

from memem.flows import attempting, mining_log, notices, packing
from memem.flows.asking import KEPT, Mined
from memem.flows.consent import opted_in
from memem.flows.mine_delta import HOLD_SMALL
from memem.gate.verdict import clean_line
from memem.jobs.queue import Mark
from memem.jobs.single_flight import holding_session, holding_sessions, holding_slot
from memem.workspace import Workspace


def drain(ws: Workspace, done: list[Mined], marked_since: float = 0.0) -> list[Mined]:
    """Mine due sessions until none is left, the budget is spent or mining is switched off.

    Sessions that failed in `done` are not tried again.
    """
    while True:
        with holding_slot(ws.home.mining_locks, ws.settings.max_miners) as room:
            while room and _mine_some(ws, done, marked_since):
                pass
        # A process that found no slot may have marked a session after the last look.
        if not room or not _is_something_left(ws, done, marked_since):
            return done


def _mine_some(ws: Workspace, done: list[Mined], marked_since: float) -> bool:
    """Mine due sessions no other miner holds. Return whether there were any."""
    before = len(done)
    for due in _due(ws, done, marked_since):
        since = opted_in(ws)
        if since is None or is_stopped(ws) or is_spent(done):
            return False
        with holding_session(ws.home.mining_locks, due.session) as held:
            mark = ws.state.queue.take(due.session) if held else None
            if mark:
                done.append(attempting.attempt(ws, mark, since, HOLD_SMALL))
                _report(ws, done[-1])
    return len(done) > before or _mine_ready_packs(ws, done)


def _mine_ready_packs(ws: Workspace, done: list[Mined]) -> bool:
    """Mine ready packs of small sessions no other miner holds. Return whether there were any."""
    before, now = len(done), ws.clock().timestamp()
    tried = {mined.session for mined in done if mined.outcome != "waiting"}
    for pack in packing.ready_packs((s for s in ws.state.held_back.small_due(now) if s.session not in tried), now):
        since = opted_in(ws)
        if since is None or is_stopped(ws) or is_spent(done):
            return False
        with holding_sessions(ws.home.mining_locks, (each.session for each in pack)) as held:
            if held:
                packed = attempting.attempt_pack(ws, pack, since)
                done += packed
                for mined in packed:
                    _report(ws, mined)
    return len(done) > before


def _report(ws: Workspace, mined: Mined) -> None:
    """Log the result of a session, and announce the memories learned from it."""
    mining_log.note(ws, mined)
    titles = [clean_line(each.title) for each in mined.applied if each.outcome in KEPT]
    if titles:
        notices.announce_learned(ws, titles, session=mined.session, project=mined.project)


def _is_something_left(ws: Workspace, done: list[Mined], marked_since: float) -> bool:
    """Whether a session is due that no other miner holds. A miner looks again after releasing its session."""
    for due in _due(ws, done, marked_since):
        with holding_session(ws.home.mining_locks, due.session) as held:
            if held:
                return True
    return False


def _due(ws: Workspace, done: list[Mined], marked_since: float) -> list[Mark]:
    """Marks that may be mined now: none while mining is paused, and none that has just failed."""
    if not opted_in(ws) or is_stopped(ws) or is_spent(done):
        return []
    failed = {mined.session for mined in done if mined.outcome == "failed"}
    marks = ws.state.queue.due(ws.clock().timestamp(), marked_since)
    return [mark for mark in marks if mark.session not in failed]


def is_spent(done: list[Mined]) -> bool:
    return bool(done) and done[-1].outcome == "spent"


def is_stopped(ws: Workspace) -> bool:
    return ws.state.ledger.stopped(ws.clock().timestamp()) is not None
