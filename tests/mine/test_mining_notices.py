"""Notices about mining: each problem once, that it is over, and what was learned."""

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.core.errors import (
    Busy,
    HomeError,
    MememError,
    SettingsError,
    StateTooNew,
    StateUnusable,
    VaultMissing,
    VaultUnwritable,
)
from memem.inject import notices
from memem.mine import failures, schedule
from memem.notes import save, write
from memem.search.transcripts import consent
from memem.workspace import Workspace
from tests import fake_claude
from tests.fakes import SteppingClock
from tests.transcripts import ECHO, Transcript, count_saved, fact, once

BROKEN = {"exit": 1, "stderr": "something broke"}
GAVE_UP = "memem gave up on part of a session after repeated failures. It is kept; /memem-status explains how to retry."


def failure(words: str) -> dict[str, Any]:
    report = {"type": "result", "subtype": "success", "is_error": True, "result": words, "usage": {}}
    return {"exit": 1, "result": report}


NOT_LOGGED_IN = failure("Invalid API key · Please run /login")


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    consent.opt_in(miner)
    return miner


def stop(ws: Workspace, session: Transcript) -> None:
    schedule.mine_in_background(ws, session.path)


def shown(ws: Workspace, session: str = "s1", project: str = "shop") -> str:
    return notices.at_prompt(ws, session=session, project=project, shown=(), interactive=True)


def test_learned_memories_are_announced_in_their_session(ws: Workspace, session: Transcript) -> None:
    session.tells("one")
    stop(ws, session)
    assert shown(ws, "other", "other") == ""
    assert shown(ws).startswith("memem learned: About one")
    assert shown(ws) == ""


def test_requested_mining_is_reported_once(ws: Workspace, session: Transcript) -> None:
    session.tells("one")
    schedule.mine_file(ws, session.path)
    assert shown(ws) == ""


def test_missing_login_is_reported_once_and_cleared(ws: Workspace, claude: Path, session: Transcript) -> None:
    fake_claude.set_steps(claude, [NOT_LOGGED_IN])
    session.tells("one")
    for _ in range(3):
        stop(ws, session)
    assert shown(ws) == ("memem cannot learn from this session: claude is not logged in. Run /login; nothing is lost.")
    assert shown(ws) == ""
    fake_claude.set_steps(claude, [ECHO])
    stop(ws, session)
    assert "memem can use claude again." in shown(ws).splitlines()
    assert count_saved(ws) == once("one")


def test_login_ends_the_wait_within_minutes(
    ws: Workspace, clock: SteppingClock, claude: Path, session: Transcript
) -> None:
    ws.settings = replace(ws.settings, retry_base_seconds=60)
    fake_claude.set_steps(claude, [NOT_LOGGED_IN])
    session.tells("one")
    for _ in range(8):
        stop(ws, session)
        clock.forward(hours=6)
    stop(ws, session)
    fake_claude.set_steps(claude, [ECHO])
    clock.forward(minutes=10)
    stop(ws, session)
    assert count_saved(ws) == once("one")


def test_claude_that_does_not_start_is_reported(ws: Workspace, claude: Path, session: Transcript) -> None:
    (claude / "claude").write_text("#!/nowhere/python\n")
    session.tells("one")
    stop(ws, session)
    assert "claude cannot be started" in shown(ws)


def test_spent_budget_is_reported_until_the_next_day(ws: Workspace, clock: SteppingClock, session: Transcript) -> None:
    ws.settings = replace(ws.settings, daily_calls=0)
    session.tells("one")
    stop(ws, session)
    limit = "today's limit of 0 calls has been reached (MEMEM_DAILY_CALLS)"
    continues = "Learning continues tomorrow; /memem-status shows the cost."
    assert shown(ws) == f"memem has paused learning: {limit}. {continues}"
    stop(ws, session)
    assert shown(ws) == ""
    clock.forward(days=1)
    ws.settings = replace(ws.settings, daily_calls=5)
    schedule.mine_in_background(ws)
    assert [line for line in shown(ws).splitlines() if line.startswith("memem is learning again: ")]


def test_a_new_day_clears_the_budget_before_anything_is_asked(ws: Workspace, session: Transcript) -> None:
    notices.raise_problem(ws, "budget", "memem has paused learning.")
    schedule.mine_in_background(ws)
    assert "budget" not in notices.problems(ws)


def test_only_repeated_failures_are_reported(ws: Workspace, claude: Path, session: Transcript) -> None:
    fake_claude.set_steps(claude, [BROKEN])
    session.tells("one")
    stop(ws, session)
    stop(ws, session)
    assert shown(ws) == ""
    stop(ws, session)
    assert "claude failed several times in a row" in shown(ws)
    fake_claude.set_steps(claude, [ECHO])
    stop(ws, session)
    assert "memem is learning again." in shown(ws).splitlines()


def test_a_dead_letter_is_announced_once(ws: Workspace, claude: Path, session: Transcript) -> None:
    ws.settings = replace(ws.settings, max_failures=1)
    fake_claude.set_steps(claude, [BROKEN])
    session.tells("one")
    stop(ws, session)
    assert shown(ws) == GAVE_UP
    assert notices.problems(ws) == {}
    fake_claude.set_steps(claude, [ECHO])
    session.tells("two")
    stop(ws, session)
    assert "learning again" not in shown(ws)


def test_a_dead_letter_is_announced_although_the_next_chunk_is_learned(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    ws.settings = replace(ws.settings, max_failures=1)
    fake_claude.set_steps(claude, [BROKEN, ECHO])
    for name in ("one", "two", "three"):
        session.human(f"{'filler ' * 1_600}{fact(name)}")
    (mined,) = schedule.mine_in_background(ws, session.path, flush=True)
    assert (mined.outcome, mined.buried) == ("mined", 1)
    assert GAVE_UP in shown(ws).splitlines()


def test_damaged_state_is_reported(ws: Workspace, session: Transcript) -> None:
    ws.close()
    ws.home.state_file.write_bytes(b"This is no database. " * 100)
    session.tells("one")
    with pytest.raises(StateUnusable):
        stop(ws, session)
    assert "its state database is damaged. /memem-mine creates a new one" in notices.problems(ws)["capture"]


def test_unwritable_vault_is_reported_until_it_works(
    ws: Workspace, session: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise VaultUnwritable("Cannot write.")

    session.tells("one")
    with monkeypatch.context() as patched:
        patched.setattr(write, "put", refuse)
        stop(ws, session)
    assert str(ws.settings.vault) in notices.problems(ws)["capture"]
    stop(ws, session)
    assert notices.problems(ws) == {}
    assert count_saved(ws) == once("one")


def full(kind: type[MememError]) -> MememError:
    """As our own modules raise it: the cause is not shown, and still known."""
    problem = kind("Cannot write.")
    problem.__context__ = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    problem.__suppress_context__ = True
    return problem


@pytest.mark.parametrize(
    ("problem", "key", "words"),
    [
        (full(HomeError), "capture", "the disk is full"),
        (full(VaultUnwritable), "capture", "the disk is full"),
        (HomeError("The database or disk is full."), "capture", "the disk is full"),
        (HomeError("Cannot use /x: not a folder."), "capture", "cannot use /x"),
        (VaultUnwritable("no"), "capture", "cannot write to"),
        (VaultMissing("no"), "capture", "is missing"),
        (StateTooNew("no"), "capture", "newer version of memem"),
        (StateUnusable("no"), "capture", "/memem-mine"),
    ],
)
def test_each_problem_has_its_message(ws: Workspace, problem: MememError, key: str, words: str) -> None:
    failures.report_trouble(ws, problem)
    assert list(notices.problems(ws)) == [key]
    assert words in notices.problems(ws)[key]
    assert "\n" not in notices.problems(ws)[key]


@pytest.mark.parametrize("problem", [Busy("no"), SettingsError("no")])
def test_passing_or_single_session_problems_are_not_reported(ws: Workspace, problem: MememError) -> None:
    failures.report_trouble(ws, problem)
    assert notices.problems(ws) == {}


def test_unwritable_notices_stop_nothing(ws: Workspace, claude: Path, session: Transcript) -> None:
    ws.home.notices.parent.mkdir(parents=True, exist_ok=True)
    ws.home.notices.write_bytes(b"in the way")
    fake_claude.set_steps(claude, [NOT_LOGGED_IN, ECHO])
    session.tells("one")
    stop(ws, session)
    stop(ws, session)
    assert count_saved(ws) == once("one")


def test_a_miner_and_a_hook_say_the_same_of_a_read_only_vault(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    save.save(ws, "A fact.", project="shop")
    monkeypatch.setattr(os, "access", lambda *_: False)
    notices.check_now(ws)
    before = notices.problems(ws)
    failures.report_trouble(ws, VaultUnwritable("no"))
    assert notices.problems(ws) == before
    assert list(before) == ["vault"]
