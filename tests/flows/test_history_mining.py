"""Mining the history: others see how far it is, its end is announced, and a run that was stopped is gone on with."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from memem.core.errors import HomeError, InputError
from memem.flows import consent, history_mining, mining, notices
from memem.flows.asking import Mined
from memem.flows.mining_state import mining_state
from memem.jobs import detach, history_progress
from memem.jobs.history_progress import HistoryProgress
from memem.workspace import Workspace
from tests import fake_claude
from tests.fakes import SteppingClock
from tests.transcripts import ECHO, Transcript, fact, kept, once

FAILING = {"exit": 1, "stderr": "error: something broke"}


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    return miner


def told(folder: Path, *names: str) -> None:
    for name in names:
        Transcript(folder / f"{name}.jsonl").tells(name)


def mine(ws: Workspace, *, is_watched: bool = False) -> list[Mined]:
    return history_mining.mine(ws, history_mining.look(ws, lambda *_: None), lambda *_: None, is_watched=is_watched)


def shown(ws: Workspace) -> str:
    return notices.at_prompt(ws, session="any", project="any", shown=(), interactive=True)


def last(ws: Workspace) -> HistoryProgress:
    found = history_mining.last_run(ws)
    assert found is not None
    return found


def test_how_far_it_is_can_be_seen_meanwhile(ws: Workspace, sessions: Path) -> None:
    told(sessions, "one", "two")
    refused = Transcript(sessions / "program.jsonl")
    refused.tells("program", entrypoint="sdk-cli")
    seen: list[str] = []
    history = history_mining.look(ws, lambda *_: None)
    history_mining.mine(ws, history, lambda *_: seen.append(history_mining.in_words(last(ws))), is_watched=False)
    assert seen[0] == "0 of 2 sessions, $0.00"
    assert "1 of 2 sessions, $0.00" in seen
    assert last(ws).state == "done"


def test_its_end_is_announced_with_what_it_came_to(ws: Workspace, sessions: Path) -> None:
    told(sessions, "one", "two")
    mine(ws)
    assert shown(ws) == "memem mined your history: 2 sessions, 2 memories, $0.00."
    assert shown(ws) == ""


def test_nothing_is_announced_to_somebody_who_watches(ws: Workspace, sessions: Path) -> None:
    told(sessions, "one")
    mine(ws, is_watched=True)
    assert shown(ws) == ""
    assert last(ws).state == "done"


def test_what_it_cost_is_counted(ws: Workspace, sessions: Path) -> None:
    told(sessions, "one", "two")
    mine(ws)
    assert last(ws).calls == 2
    assert last(ws).dollars == pytest.approx(0.002)


def test_status_shows_the_last_run(ws: Workspace, sessions: Path) -> None:
    assert mining_state(ws).history is None
    told(sessions, "one")
    mine(ws)
    history = mining_state(ws).history
    assert history is not None
    assert (history.state, history.summary) == ("done", "done: 1 session, 1 memory, $0.00")


def test_when_the_budget_is_spent_it_says_so_and_goes_on_another_day(
    ws: Workspace, clock: SteppingClock, sessions: Path
) -> None:
    ws.settings = replace(ws.settings, daily_calls=1)
    told(sessions, "one", "two")
    mine(ws)
    assert last(ws).state == "budget"
    assert history_mining.in_words(last(ws)).startswith("paused at today's limit after 1 of 2 sessions, $0.00")
    assert "at today's limit: 1 of 2 sessions" in shown(ws)
    clock.forward(days=1)
    mine(ws)
    assert (last(ws).state, last(ws).sessions) == ("done", 1)
    assert kept(ws) == once("one", "two")


def test_when_nothing_works_it_stops_and_says_why(ws: Workspace, claude: Path, sessions: Path) -> None:
    fake_claude.set_steps(claude, [FAILING])
    told(sessions, "one", "two", "three", "four")
    mine(ws)
    assert last(ws).state == "stopped"
    assert "something broke" in last(ws).detail
    assert "memem stopped mining your history: " in shown(ws)


def test_one_session_that_fails_does_not_stop_it(ws: Workspace, claude: Path, sessions: Path) -> None:
    fake_claude.set_steps(claude, [ECHO, FAILING])
    told(sessions, "one", "two")
    mine(ws)
    assert last(ws).state == "done"


@pytest.mark.parametrize(
    ("problem", "why"), [(KeyboardInterrupt(), "interrupted"), (HomeError("No room."), "No room.")]
)
def test_whatever_ends_it_is_recorded(
    ws: Workspace, sessions: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException, why: str
) -> None:
    def fail(*_: object) -> list[Mined]:
        raise problem

    told(sessions, "one")
    with monkeypatch.context() as patched:
        patched.setattr(mining, "mine_all", fail)
        with pytest.raises(type(problem)):
            mine(ws)
    assert last(ws).state == "stopped"
    assert why in last(ws).detail
    mine(ws)
    assert last(ws).state == "done"
    assert kept(ws) == once("one")


def test_a_run_whose_process_is_gone_was_stopped(ws: Workspace) -> None:
    progress = HistoryProgress("running", 3, 9, 4, 0.02, 0, "2026-03-01T09:00:00+01:00").of_this_process()
    history_progress.write(ws.home.history_file, progress)
    assert last(ws).state == "running"
    history_progress.write(ws.home.history_file, replace(progress, process_start="another"))
    assert last(ws).state == "stopped"
    assert history_mining.in_words(last(ws)).startswith("stopped after 3 of 9 sessions, $0.02; ")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"state": 1}', b"\xff"])
def test_a_record_that_cannot_be_read_is_none(ws: Workspace, data: bytes) -> None:
    ws.home.history_file.parent.mkdir(parents=True, exist_ok=True)
    ws.home.history_file.write_bytes(data)
    assert history_mining.last_run(ws) is None


def test_two_do_not_run_at_once(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(detach, "start", lambda *given, **_: started.append(given))
    progress = HistoryProgress("running", 3, 9, 4, 0.02, 0, "2026-03-01T09:00:00+01:00").of_this_process()
    history_progress.write(ws.home.history_file, progress)
    with pytest.raises(InputError, match="3 of 9 sessions"):
        history_mining.start_in_background(ws)
    history_progress.write(ws.home.history_file, replace(progress, state="done"))
    history_mining.start_in_background(ws)
    assert len(started) == 1


def test_a_record_that_cannot_be_written_stops_nothing(ws: Workspace, sessions: Path) -> None:
    ws.home.history_file.mkdir(parents=True)
    told(sessions, "one")
    mine(ws)
    assert kept(ws) == once("one")


def test_small_sessions_count_when_they_are_packed(ws: Workspace, claude: Path, sessions: Path) -> None:
    for name in ("one", "two", "three"):
        Transcript(sessions / f"{name}.jsonl").human(fact(name))
    mine(ws)
    assert (last(ws).sessions_done, last(ws).sessions, last(ws).calls, last(ws).memories) == (3, 3, 1, 3)
    assert json.loads(ws.home.history_file.read_bytes())["state"] == "done"
    assert consent.opted_in(ws) is None
