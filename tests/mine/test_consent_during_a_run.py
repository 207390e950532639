"""The opt-in is decided once for a run; withdrawn or given anew meanwhile, it ends the run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memem.core.errors import StateUnusable
from memem.doors.hook import command
from memem.mine import drain, schedule
from memem.mine.ask import Mined
from memem.search.transcripts import consent
from memem.search.transcripts.turns import TurnIndex
from memem.workspace import Workspace
from tests.transcripts import Transcript, sent

NAMES = ("one", "two", "three", "four")


@pytest.fixture
def behind(miner: Workspace, sessions: Path) -> Workspace:
    """Mining is on, and several sessions have something new."""
    consent.opt_in(miner)
    for name in NAMES:
        Transcript(sessions / f"{name}.jsonl", start=miner.clock()).tells(name)
    return miner


def after_first_session(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Have `change` happen while a run is between its first session and the next."""
    real, changed = drain._report, list[Mined]()

    def report(ws: Workspace, mined: Mined) -> None:
        real(ws, mined)
        if not changed:
            changed.append(mined)
            change()

    monkeypatch.setattr(drain, "_report", report)


def indexed(ws: Workspace) -> int:
    index = TurnIndex(ws.home.turns_file)
    try:
        return len(index.list_sessions())
    finally:
        index.close()


def test_opting_out_during_a_sweep_stops_mining_and_indexing(
    behind: Workspace, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_first_session(monkeypatch, lambda: consent.opt_out(behind))
    schedule.sweep(behind)
    assert sum(sent(claude).values()) == 1
    assert indexed(behind) == 1


def test_renewed_opt_in_during_a_run_counts_from_then_on(
    behind: Workspace, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def renew() -> None:
        consent.opt_out(behind)
        behind.pause(3_600)
        consent.opt_in(behind)

    after_first_session(monkeypatch, renew)
    schedule.sweep(behind)
    schedule.sweep(behind)
    assert sum(sent(claude).values()) == 1


def test_shown_memories_are_judged_though_the_state_is_unusable(
    behind: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []

    def refuse(_: Workspace) -> None:
        raise StateUnusable("The state is damaged.")

    monkeypatch.setattr(schedule, "opted_in", refuse)
    monkeypatch.setattr(command, "_judge", lambda _, event, __: judged.append(event))
    with pytest.raises(StateUnusable):
        command.work(behind, "Stop", b'{"session_id": "s1", "transcript_path": "/srv/s1.jsonl"}')
    assert judged == ["Stop"]
