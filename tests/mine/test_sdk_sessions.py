"""Sessions of `claude -p` and the Agent SDK are mined, and indexed, only when their user says so."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from memem.mine import history, schedule
from memem.mine.chunks import SDK_REFUSAL
from memem.search.transcripts import consent, sessions
from memem.upkeep import session_start
from memem.workspace import Workspace
from tests import fake_claude
from tests.fakes import SteppingClock
from tests.transcripts import Transcript, count_saved, fact, once, sent


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    consent.opt_in(miner)
    return miner


def prompt_by_program(session: Transcript, name: str, entrypoint: str = "sdk-cli") -> None:
    session.tells(name, entrypoint=entrypoint)


def allow(ws: Workspace) -> None:
    ws.settings = replace(ws.settings, mine_sdk=True)


def unmined_count(ws: Workspace) -> int:
    return len(sessions.search(ws, "restarted"))


@pytest.mark.parametrize("entrypoint", ["sdk-cli", "sdk-py", "sdk-ts"])
def test_sdk_turns_are_not_mined(ws: Workspace, claude: Path, session: Transcript, entrypoint: str) -> None:
    prompt_by_program(session, "one", entrypoint)
    (mined,) = schedule.mine_in_background(ws, session.path, flush=True)
    assert (mined.outcome, mined.detail) == ("refused", SDK_REFUSAL)
    assert "MEMEM_MINE_SDK" in mined.detail
    assert schedule.sweep(ws) == []
    assert history.plan(ws, [session.path], None, lambda *_: None).sessions == 0
    schedule.mine_all(ws, schedule.unmined_sessions(ws, None), None, lambda *_: None)
    assert fake_claude.calls(claude) == []
    assert unmined_count(ws) == 0


@pytest.mark.parametrize("entrypoint", ["cli", "claude-vscode", None])
def test_interactive_turns_are_mined(ws: Workspace, claude: Path, session: Transcript, entrypoint: str | None) -> None:
    session.tells("one", entrypoint=entrypoint)
    schedule.mine_in_background(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one")


def test_with_the_setting_what_a_program_asked_is_mined(ws: Workspace, session: Transcript) -> None:
    allow(ws)
    prompt_by_program(session, "one")
    schedule.mine_in_background(ws, session.path)
    assert count_saved(ws) == once("one")
    assert unmined_count(ws) == 1


@pytest.mark.parametrize("by", ["sweep", "stop", "everything"])
def test_skipped_sdk_turns_are_mined_once_the_setting_is_on(
    ws: Workspace, claude: Path, session: Transcript, by: str
) -> None:
    prompt_by_program(session, "one")
    session.tells("two")
    schedule.mine_in_background(ws, session.path)
    assert count_saved(ws) == once("two")
    assert unmined_count(ws) == 1
    allow(ws)
    if by == "sweep":
        schedule.sweep(ws)
    elif by == "stop":
        schedule.mine_in_background(ws, session.path)
    else:
        since = consent.opted_in(ws)
        schedule.mine_all(ws, schedule.unmined_sessions(ws, since), since, lambda *_: None)
    assert count_saved(ws) == sent(claude) == once("one", "two")
    assert unmined_count(ws) == 2
    assert schedule.sweep(ws) == []


def test_a_small_session_that_was_left_out_is_packed_once_the_setting_is_switched_on(
    ws: Workspace, clock: SteppingClock, claude: Path, session: Transcript
) -> None:
    session.human(fact("one"), entrypoint="sdk-cli")
    schedule.mine_in_background(ws, session.path, flush=True)
    allow(ws)
    clock.forward(hours=1)
    os.utime(session.path, (clock.ticks() - 2 * schedule.QUIET_SECONDS,) * 2)
    assert [mined.outcome for mined in schedule.sweep(ws)] == ["waiting"]
    assert schedule.sweep(ws) == [], "it is not read again"
    clock.forward(days=8)
    schedule.sweep(ws)
    assert count_saved(ws) == sent(claude) == once("one")


def test_small_tail_does_not_hide_skipped_sdk_turns(ws: Workspace, session: Transcript) -> None:
    prompt_by_program(session, "one")
    session.human(fact("two"))
    schedule.mine_in_background(ws, session.path, flush=True)
    since = consent.opted_in(ws)
    schedule.mine_all(ws, schedule.unmined_sessions(ws, since), since, lambda *_: None)
    assert count_saved(ws) == once("two")
    allow(ws)
    schedule.sweep(ws)
    assert count_saved(ws) == once("one", "two")


def test_a_person_may_have_any_session_mined(ws: Workspace, session: Transcript) -> None:
    prompt_by_program(session, "one")
    assert history.plan(ws, [session.path], None, lambda *_: None, is_one=True).sessions == 1
    assert schedule.mine_file(ws, session.path).outcome == "mined"
    assert count_saved(ws) == once("one")
    assert unmined_count(ws) == 1, "what is mined can be searched"


def test_a_session_whose_file_is_gone_is_forgotten(
    ws: Workspace, clock: SteppingClock, sessions: Path, session: Transcript
) -> None:
    prompt_by_program(session, "one")
    gone = Transcript(sessions / "gone.jsonl")
    prompt_by_program(gone, "two")
    small = Transcript(sessions / "small.jsonl")
    small.human(fact("three"))
    for each in (session, gone, small):
        schedule.mine_in_background(ws, each.path, flush=True)
    gone.path.unlink()
    small.path.unlink()
    session_start.after_session_start(ws)
    held_back = ws.state.deferred
    assert (held_back.has_sdk(session.session), held_back.has_sdk("gone"), held_back.small()) == (True, False, [])
