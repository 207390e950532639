"""Estimates of mining, made without a model call and without changing anything."""

from pathlib import Path

import pytest

from memem.core.conversation import OWN_CALL
from memem.mine import history as mine_history
from memem.mine import schedule
from memem.mine.chunks import CHUNK_CHARACTERS
from memem.mine.history import Plan
from memem.workspace import Workspace
from tests import fake_claude
from tests.fakes import START, SteppingClock
from tests.transcripts import Transcript, open_miner


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    return miner


def session(folder: Path, name: str = "s1") -> Transcript:
    return Transcript(folder / f"{name}.jsonl")


def plan(ws: Workspace, *sessions: Transcript) -> Plan:
    return mine_history.plan(ws, [each.path for each in sessions], None, lambda *_: None)


def test_sessions_turns_characters_calls_and_dollars_are_counted(ws: Workspace, tmp_path: Path) -> None:
    one, two = session(tmp_path, "one"), session(tmp_path, "two")
    one.human("a" * 100)
    one.claude("b" * 50)
    one.tool("Bash", command="make")
    two.human("c" * 4_000)
    planned = plan(ws, one, two)
    assert (planned.sessions, planned.turns, planned.characters, planned.calls) == (2, 3, 4_150, 2)
    assert planned.dollars == pytest.approx(0.01, abs=0.005)


def test_nothing_to_mine_takes_nothing(ws: Workspace, tmp_path: Path) -> None:
    assert plan(ws) == plan(ws, session(tmp_path)) == Plan()


def test_a_long_session_takes_several_calls(ws: Workspace, tmp_path: Path) -> None:
    long = session(tmp_path)
    for _ in range(10):
        long.human("word " * 1_000)
    assert plan(ws, long).calls == -(-10 // (CHUNK_CHARACTERS // 5_000))


def test_mined_turns_are_not_planned(ws: Workspace, tmp_path: Path) -> None:
    one = session(tmp_path)
    one.tells("first")
    schedule.mine_file(ws, one.path)
    assert plan(ws, one) == Plan()
    one.tells("second")
    assert plan(ws, one).turns == 1


def test_turn_in_several_sessions_counts_once(ws: Workspace, tmp_path: Path) -> None:
    one = session(tmp_path)
    one.tells("first")
    fork = session(tmp_path, "fork")
    fork.raw(one.path.read_bytes())
    fork.tells("second")
    planned = plan(ws, one, fork)
    assert (planned.sessions, planned.turns, planned.calls) == (2, 2, 2)


def test_turns_before_the_start_time_are_not_planned(ws: Workspace, tmp_path: Path) -> None:
    one = session(tmp_path)
    one.tells("before")
    one.now = START.replace(hour=12)
    one.tells("after")
    assert mine_history.plan(ws, [one.path], START.replace(hour=11), lambda *_: None).turns == 1


def test_a_call_of_ours_and_a_file_that_is_gone_are_passed_over(ws: Workspace, tmp_path: Path) -> None:
    own = session(tmp_path, "own")
    own.human(f"{OWN_CALL} version 1\nProject: shop")
    gone = session(tmp_path, "gone")
    gone.path.unlink()
    assert plan(ws, own, gone) == Plan()


def test_a_project_that_refuses_is_not_planned(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / ".memem.toml").write_text("mining = false\n")
    refusing = Transcript(tmp_path / "s1.jsonl", cwd=tmp_path)
    refusing.tells("secret")
    assert plan(ws, refusing) == Plan()


def test_rules_take_no_calls(tmp_path: Path, clock: SteppingClock, claude: Path) -> None:
    ws = open_miner(tmp_path, clock, MEMEM_EXTRACTOR="rules")
    one = session(tmp_path)
    one.tells("first")
    planned = plan(ws, one)
    assert (planned.turns, planned.calls, planned.dollars) == (1, 0, 0.0)
    ws.close()


def test_planning_makes_no_call_and_changes_nothing(ws: Workspace, tmp_path: Path, claude: Path) -> None:
    one = session(tmp_path)
    one.tells("first")
    first = plan(ws, one)
    assert plan(ws, one) == first
    assert fake_claude.calls(claude, questions=True) == []
    assert not ws.settings.vault.exists()
    assert ws.state.sessions.get("s1") is None


def test_how_far_the_looking_is_can_be_seen(ws: Workspace, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    paths = [session(tmp_path, name).path for name in ("a", "b")]
    mine_history.plan(ws, paths, None, lambda done, all: seen.append((done, all)))
    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_dead_letters_can_be_planned_too(ws: Workspace, tmp_path: Path, claude: Path) -> None:
    assert mine_history.plan_retry(ws) == Plan()
    fake_claude.set_steps(claude, [{"exit": 1, "stderr": "error: no"}])
    one = session(tmp_path)
    one.tells("first")
    for _ in range(ws.settings.max_failures):
        schedule.mine_file(ws, one.path)
    planned = mine_history.plan_retry(ws)
    assert (planned.sessions, planned.turns, planned.calls) == (1, 1, 1)
