"""Mining the history: progress is recorded, the end is announced, a stopped run is resumed, no two run at once."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.core import background, locks
from memem.core.errors import HomeError, InputError, StateUnusable
from memem.inject import notices
from memem.mine import history as mine_history
from memem.mine import schedule
from memem.mine.ask import Mined
from memem.mine.status import mining_state
from memem.search.transcripts import consent
from memem.state import history_progress
from memem.state.history_progress import HistoryProgress
from memem.workspace import Workspace
from tests import fake_claude
from tests.fakes import SteppingClock
from tests.transcripts import ECHO, Transcript, count_saved, fact, once

FAILING = {"exit": 1, "stderr": "error: something broke"}


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    return miner


def write_sessions(folder: Path, *names: str) -> None:
    for name in names:
        Transcript(folder / f"{name}.jsonl").tells(name)


def mine(ws: Workspace) -> list[Mined]:
    return mine_history.mine_in_background(ws)


def mine_watched(ws: Workspace) -> list[Mined]:
    return mine_history.mine(ws, mine_history.survey_history(ws, lambda *_: None), lambda *_: None)


def shown(ws: Workspace) -> str:
    return notices.at_prompt(ws, session="any", project="any", shown=(), interactive=True)


def last(ws: Workspace) -> HistoryProgress:
    found = mine_history.last_run(ws)
    assert found is not None
    return found


def test_how_far_it_is_can_be_seen_meanwhile(ws: Workspace, sessions: Path) -> None:
    write_sessions(sessions, "one", "two")
    refused = Transcript(sessions / "program.jsonl")
    refused.tells("program", entrypoint="sdk-cli")
    seen: list[str] = []
    history = mine_history.survey_history(ws, lambda *_: None)
    mine_history.mine(ws, history, lambda *_: seen.append(mine_history.describe(last(ws))))
    assert seen[0] == "0 of 2 sessions, $0.00"
    assert "1 of 2 sessions, $0.00" in seen
    assert last(ws).state == "done"


def test_its_end_is_announced_with_what_it_came_to(ws: Workspace, sessions: Path) -> None:
    write_sessions(sessions, "one", "two")
    mine(ws)
    assert shown(ws) == "memem mined your history: 2 sessions, 2 memories, $0.00."
    assert shown(ws) == ""


def test_watched_run_is_not_announced(ws: Workspace, sessions: Path) -> None:
    write_sessions(sessions, "one")
    mine_watched(ws)
    assert shown(ws) == ""
    assert last(ws).state == "done"


def test_cost_is_counted(ws: Workspace, sessions: Path) -> None:
    write_sessions(sessions, "one", "two")
    mine(ws)
    assert last(ws).calls == 2
    assert last(ws).dollars == pytest.approx(0.002)


def test_status_shows_the_last_run(ws: Workspace, sessions: Path) -> None:
    assert mining_state(ws).history is None
    write_sessions(sessions, "one")
    mine(ws)
    history = mining_state(ws).history
    assert history is not None
    assert (history.state, history.summary) == ("done", "done: 1 session, 1 memory, $0.00")


def test_when_the_budget_is_spent_it_says_so_and_goes_on_another_day(
    ws: Workspace, clock: SteppingClock, sessions: Path
) -> None:
    ws.settings = replace(ws.settings, daily_calls=1)
    write_sessions(sessions, "one", "two")
    mine(ws)
    assert last(ws).state == "budget"
    assert mine_history.describe(last(ws)).startswith("paused at today's limit after 1 of 2 sessions, $0.00")
    assert "`memem mine --history` resumes it." in mine_history.describe(last(ws))
    paused = "memem paused mining your history at today's limit: 1 of 2 sessions, $0.00."
    assert f"{paused} Run /memem-mine-history tomorrow to continue." in shown(ws).splitlines()
    clock.forward(days=1)
    mine(ws)
    assert (last(ws).state, last(ws).sessions) == ("done", 1)
    assert count_saved(ws) == once("one", "two")


def test_when_nothing_works_it_stops_and_says_why(ws: Workspace, claude: Path, sessions: Path) -> None:
    fake_claude.set_steps(claude, [FAILING])
    write_sessions(sessions, "one", "two", "three", "four")
    mine(ws)
    assert last(ws).state == "stopped"
    assert "something broke" in last(ws).detail
    assert (last(ws).sessions_done, last(ws).sessions, last(ws).failed) == (0, 4, 3)
    (line,) = [line for line in shown(ws).splitlines() if "your history" in line]
    assert line.startswith("memem stopped mining your history: 0 of 4 sessions, $0.0")
    assert "something broke" in line
    assert line.endswith(" See /memem-doctor; /memem-mine-history resumes it.")


def test_one_session_that_fails_does_not_stop_it_and_is_counted(ws: Workspace, claude: Path, sessions: Path) -> None:
    fake_claude.set_steps(claude, [FAILING, ECHO])
    write_sessions(sessions, "one", "two", "three")
    program = Transcript(sessions / "program.jsonl")
    program.tells("program", entrypoint="sdk-cli")  # nothing to mine, so it does not count
    mine(ws)
    assert (last(ws).state, last(ws).sessions_done, last(ws).sessions, last(ws).failed) == ("done", 2, 3, 1)
    result = "memem mined your history: 2 of 3 sessions, 2 memories, $0.01; 1 failed."
    assert shown(ws) == f"{result} /memem-mine-history tries again."
    summary = "done: 2 of 3 sessions, 2 memories, $0.01; 1 failed; `memem mine --history` tries again"
    assert mine_history.describe(last(ws)) == summary
    mine(ws)
    assert shown(ws) == "memem mined your history: 1 session, 1 memory, $0.00."
    assert count_saved(ws) == once("one", "two", "three")


def test_several_failed_sessions_are_counted(ws: Workspace, claude: Path, sessions: Path) -> None:
    fake_claude.set_steps(claude, [FAILING, FAILING, ECHO])
    write_sessions(sessions, "one", "two", "three")
    mine(ws)
    result = "memem mined your history: 1 of 3 sessions, 1 memory, $0.02; 2 failed."
    assert shown(ws) == f"{result} /memem-mine-history tries again."


def test_a_small_session_that_fails_in_a_pack_is_not_counted_as_mined(
    ws: Workspace, claude: Path, sessions: Path
) -> None:
    write_sessions(sessions, "one")
    Transcript(sessions / "small.jsonl").human(fact("two"))
    fake_claude.set_steps(claude, [ECHO, FAILING])
    mine(ws)
    assert (last(ws).state, last(ws).sessions_done, last(ws).sessions, last(ws).failed) == ("done", 1, 2, 1)


def test_a_session_that_fails_before_its_turns_are_counted_is_a_failure(
    ws: Workspace, sessions: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "unreadable"
    folder.mkdir()
    (folder / ".memem.toml").write_text("mine = [")
    write_sessions(sessions, "one")
    Transcript(sessions / "two.jsonl", cwd=folder).tells("two")
    mine(ws)
    assert "memem mined your history: 1 of 2 sessions, 1 memory, " in shown(ws)


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (KeyboardInterrupt(), "It was interrupted."),
        (HomeError("No room."), "No room."),
        (RuntimeError("oops"), "It failed with an unexpected RuntimeError."),
    ],
)
def test_an_error_that_ends_it_is_recorded_and_announced(
    ws: Workspace, sessions: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException, why: str
) -> None:
    def fail(*_: object, **__: object) -> list[Mined]:
        raise problem

    write_sessions(sessions, "one")
    with monkeypatch.context() as patched:
        patched.setattr(schedule, "mine_all", fail)
        with pytest.raises(type(problem)):
            mine(ws)
    assert (last(ws).state, last(ws).detail) == ("stopped", why)
    stopped = f"memem stopped mining your history: 0 of 1 session, $0.00. {why}"
    assert shown(ws) == f"{stopped} See /memem-doctor; /memem-mine-history resumes it."
    mine(ws)
    assert last(ws).state == "done"
    assert count_saved(ws) == once("one")


def test_an_error_that_ends_the_survey_is_announced(
    ws: Workspace, sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> list[Path]:
        raise StateUnusable("The state is damaged.")

    with monkeypatch.context() as patched:
        patched.setattr(schedule, "unmined_sessions", fail)
        with pytest.raises(StateUnusable):
            mine(ws)
    assert shown(ws).startswith("memem stopped mining your history. The state is damaged. ")
    write_sessions(sessions, "one")
    mine(ws)
    assert count_saved(ws) == once("one")


def test_an_error_that_ends_a_watched_run_is_recorded_and_not_announced(
    ws: Workspace, sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> list[Mined]:
        raise KeyboardInterrupt

    write_sessions(sessions, "one")
    monkeypatch.setattr(schedule, "mine_all", fail)
    with pytest.raises(KeyboardInterrupt):
        mine_watched(ws)
    assert last(ws).state == "stopped"
    assert shown(ws) == ""


def test_a_run_whose_process_is_gone_was_stopped(ws: Workspace) -> None:
    progress = HistoryProgress("running", 3, 9, 4, 0.02, 0, "2026-03-01T09:00:00+01:00").of_this_process()
    history_progress.write(ws.home.history_file, progress)
    assert last(ws).state == "running"
    history_progress.write(ws.home.history_file, replace(progress, process_start="another"))
    assert last(ws).state == "stopped"
    assert mine_history.describe(last(ws)).startswith("stopped after 3 of 9 sessions, $0.02; ")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"state": 1}', b"\xff"])
def test_a_record_that_cannot_be_read_is_none(ws: Workspace, data: bytes) -> None:
    ws.home.history_file.parent.mkdir(parents=True, exist_ok=True)
    ws.home.history_file.write_bytes(data)
    assert mine_history.last_run(ws) is None


def test_the_record_is_there_while_sessions_are_counted(
    ws: Workspace, sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen = schedule.unmined_sessions, list[str]()

    def behind(*given: Any) -> list[Path]:
        seen.append(mine_history.describe(last(ws)))
        with pytest.raises(InputError, match=r"^History mining is already running\.$"):
            mine_history.start_in_background(ws)
        return real(*given)

    write_sessions(sessions, "one")
    monkeypatch.setattr(schedule, "unmined_sessions", behind)
    mine(ws)
    assert seen == ["counting sessions"]


@pytest.mark.parametrize("mine_second", [mine, mine_watched])
def test_a_second_run_ends_at_once_and_leaves_the_record_of_the_first(
    ws: Workspace, claude: Path, sessions: Path, mine_second: Callable[[Workspace], list[Mined]]
) -> None:
    write_sessions(sessions, "one")
    running = HistoryProgress("running", 12, 26, 14, 0.04, 0, "2026-03-01T09:00:00+01:00").of_this_process()
    history_progress.write(ws.home.history_file, running)
    message = r"^History mining is already running: 12 of 26 sessions\.$"
    with locks.holding(ws.home.history_lock, 0), pytest.raises(InputError, match=message):
        mine_second(ws)
    assert last(ws) == running
    assert shown(ws) == ""
    assert fake_claude.calls(claude) == []
    mine_second(ws)
    assert count_saved(ws) == once("one")


def test_none_is_started_while_one_runs(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(background, "start_memem", lambda *given, **_: started.append(given))
    progress = HistoryProgress("running", 3, 9, 4, 0.02, 0, "2026-03-01T09:00:00+01:00").of_this_process()
    history_progress.write(ws.home.history_file, progress)
    with pytest.raises(InputError, match="3 of 9 sessions"):
        mine_history.start_in_background(ws)
    history_progress.write(ws.home.history_file, replace(progress, state="done"))
    mine_history.start_in_background(ws)
    assert len(started) == 1


def test_a_record_that_cannot_be_written_stops_nothing(ws: Workspace, sessions: Path) -> None:
    ws.home.history_file.mkdir(parents=True)
    write_sessions(sessions, "one")
    mine(ws)
    assert count_saved(ws) == once("one")


def test_small_sessions_count_when_they_are_packed(ws: Workspace, claude: Path, sessions: Path) -> None:
    for name in ("one", "two", "three"):
        Transcript(sessions / f"{name}.jsonl").human(fact(name))
    mine(ws)
    assert (last(ws).sessions_done, last(ws).sessions, last(ws).calls, last(ws).memories) == (3, 3, 1, 3)
    assert json.loads(ws.home.history_file.read_bytes())["state"] == "done"
    assert consent.opted_in(ws) is None
