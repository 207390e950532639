"""Failed calls and killed miners lose no fact, and save none twice."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.core import processes
from memem.core.errors import Busy
from memem.mine import ask, locks, schedule
from memem.mine.ask import Mined
from memem.model import claude as claude_module
from memem.notes import write
from memem.search.transcripts import consent
from memem.state.journal import Journal
from memem.state.sessions import Sessions
from memem.workspace import Workspace
from tests import fake_claude
from tests.builders import Crash, crash_in_call
from tests.fakes import SteppingClock
from tests.transcripts import ECHO, Transcript, count_saved, once, sent

NAMES = ("one", "two", "three")


def failure(words: str, **more: Any) -> dict[str, Any]:
    """A step of the fake claude: the call fails, and the CLI says why."""
    report = {"type": "result", "subtype": "success", "is_error": True, "result": words, "usage": {}}
    return {"exit": 1, "result": {**report, **more}}


OF_THE_TURNS: dict[str, dict[str, Any]] = {
    "exit 1": {"exit": 1, "stderr": "something broke"},
    "empty": {"empty": True},
    "garbage": {"raw": "@@@ not at all"},
    "no json": {"words": "I would rather talk about walruses."},
    "truncated": {"operations": [], "truncate": 60},
    "wrong schema": {"operations": [{"op": "ADD", "title": "no more"}]},
    "no operations": {"result": {"type": "result", "is_error": False, "structured_output": {"facts": []}}},
    "killed": {"kill": True},
    "timeout": {"sleep": 60},
    "refused": failure("API Error: this violates our Usage Policy"),
}
OF_THE_SERVICE: dict[str, dict[str, Any]] = {
    "rate limit": failure("You've hit your usage limit · resets 4pm", api_error_status=429),
    "not logged in": failure("Invalid API key · Please run /login"),
    "overloaded": failure("API Error: 529 Overloaded"),
}


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    consent.opt_in(miner)
    return miner


@pytest.fixture
def session(ws: Workspace) -> Transcript:
    """A session with three facts that nobody has mined."""
    transcript = Transcript(ws.user_home / ".claude" / "projects" / "-srv-shop" / "s1.jsonl")
    for name in NAMES:
        transcript.tells(name)
    return transcript


def stop(ws: Workspace, session: Transcript) -> list[Mined]:
    return schedule.mine_in_background(ws, session.path)


def offset(ws: Workspace) -> int:
    known = ws.state.sessions.get("s1")
    return known.offset if known else 0


# Calls that fail


@pytest.mark.slow(keep=4)
@pytest.mark.parametrize("name", [*OF_THE_TURNS, *OF_THE_SERVICE])
def test_every_fact_is_saved_once_after_a_failed_call(
    ws: Workspace, claude: Path, session: Transcript, name: str
) -> None:
    ws.settings = replace(ws.settings, model_timeout=0.3 if name == "timeout" else 30)
    fake_claude.set_steps(claude, [(OF_THE_TURNS | OF_THE_SERVICE)[name]])
    assert [mined.outcome for mined in stop(ws, session)] == ["failed"]
    assert (count_saved(ws), offset(ws)) == ({}, 0)
    assert ws.state.queue.marks() != []
    known = ws.state.sessions.get("s1")
    assert known is not None
    assert known.outcome == "failed"
    assert known.detail
    ws.settings = replace(ws.settings, model_timeout=30)
    fake_claude.set_steps(claude, [ECHO])
    session.tells("four")
    assert [mined.outcome for mined in stop(ws, session)] == ["mined"]
    assert count_saved(ws) == once(*NAMES, "four")
    assert ws.state.queue.marks() == []
    assert offset(ws) == session.path.stat().st_size - len(b"\n")
    assert all(fake_claude.ends(call["pid"]) for call in fake_claude.calls(claude))


@pytest.mark.parametrize("name", ["no json", "garbage", "truncated", "wrong schema", "no operations"])
def test_bad_answer_is_corrected_once_with_its_problem(
    ws: Workspace, claude: Path, session: Transcript, name: str
) -> None:
    fake_claude.set_steps(claude, [OF_THE_TURNS[name], ECHO])
    assert [mined.outcome for mined in stop(ws, session)] == ["mined"]
    first, second = (call["argv"][-1] for call in fake_claude.calls(claude))
    assert second.startswith(first)
    assert "Your last answer could not be used: " in second
    assert count_saved(ws) == once(*NAMES)
    assert ws.state.ledger.spent_in("s1").calls == 2


def test_a_second_bad_answer_is_a_failure(ws: Workspace, claude: Path, session: Transcript) -> None:
    fake_claude.set_steps(claude, [OF_THE_TURNS["wrong schema"]])
    assert [mined.outcome for mined in stop(ws, session)] == ["failed"]
    assert len(fake_claude.calls(claude)) == 2


def test_a_call_that_fails_is_not_corrected(ws: Workspace, claude: Path, session: Transcript) -> None:
    fake_claude.set_steps(claude, [OF_THE_TURNS["exit 1"]])
    stop(ws, session)
    assert len(fake_claude.calls(claude)) == 1


def test_a_call_that_takes_too_long_leaves_no_process(ws: Workspace, claude: Path, session: Transcript) -> None:
    ws.settings = replace(ws.settings, model_timeout=0.5)
    fake_claude.set_steps(claude, [{"sleep": 60, "child": True}])
    stop(ws, session)
    call = fake_claude.calls(claude)[0]
    assert fake_claude.ends(call["pid"])
    assert fake_claude.ends(call["child"])
    assert ws.state.children.end_orphans() == 0


# Waiting after failures


def test_a_session_waits_twice_as_long_after_each_failure(
    ws: Workspace, clock: SteppingClock, claude: Path, session: Transcript
) -> None:
    ws.settings = replace(ws.settings, retry_base_seconds=60, max_failures=9)
    fake_claude.set_steps(claude, [OF_THE_TURNS["exit 1"]])
    for wait in (60, 120, 240, 480):
        stop(ws, session)
        made = len(fake_claude.calls(claude))
        clock.forward(seconds=wait - 1)
        stop(ws, session)
        assert len(fake_claude.calls(claude)) == made
        clock.forward(seconds=1)
    fake_claude.set_steps(claude, [ECHO])
    stop(ws, session)
    assert count_saved(ws) == once(*NAMES)


def test_a_session_that_waits_keeps_no_other_waiting(ws: Workspace, claude: Path, session: Transcript) -> None:
    ws.settings = replace(ws.settings, retry_base_seconds=60)
    fake_claude.set_steps(claude, [OF_THE_TURNS["exit 1"], ECHO])
    stop(ws, session)
    other = Transcript(session.path.with_name("s2.jsonl"))
    other.tells("other")
    stop(ws, other)
    assert count_saved(ws) == once("other")


def test_three_failures_in_a_row_make_everybody_wait(
    ws: Workspace, clock: SteppingClock, claude: Path, session: Transcript
) -> None:
    ws.settings = replace(ws.settings, retry_base_seconds=60)
    fake_claude.set_steps(claude, [OF_THE_TURNS["exit 1"]])
    others = [Transcript(session.path.with_name(f"s{number}.jsonl")) for number in (2, 3, 4)]
    for other in others:
        other.tells(other.session)
        stop(ws, other)
    stop(ws, session)
    assert len(fake_claude.calls(claude)) == 3
    assert "exit code 1" in str(ws.state.ledger.pause(clock.now.timestamp()))
    clock.forward(seconds=60)
    fake_claude.set_steps(claude, [ECHO])
    stop(ws, session)
    assert count_saved(ws) == once(*NAMES, "s2", "s3", "s4")
    assert not ws.state.ledger.pause(clock.now.timestamp())


@pytest.mark.parametrize("name", OF_THE_SERVICE)
def test_a_failure_of_the_service_makes_everybody_wait_and_never_a_dead_letter(
    ws: Workspace, clock: SteppingClock, claude: Path, session: Transcript, name: str
) -> None:
    ws.settings = replace(ws.settings, retry_base_seconds=60, max_failures=1)
    fake_claude.set_steps(claude, [OF_THE_SERVICE[name]])
    other = Transcript(session.path.with_name("s2.jsonl"))
    other.tells("other")
    for times in range(1, 5):
        stop(ws, session)
        stop(ws, other)
        assert len(fake_claude.calls(claude)) == times
        clock.forward(days=1)
    assert ws.state.journal.dead_letters() == []
    fake_claude.set_steps(claude, [ECHO])
    stop(ws, session)
    assert count_saved(ws) == once(*NAMES, "other")


def test_failures_of_the_service_do_not_count_against_the_turns(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    ws.settings = replace(ws.settings, max_failures=2)
    fake_claude.set_steps(claude, [*OF_THE_SERVICE.values(), OF_THE_TURNS["exit 1"]])
    for _ in range(4):
        stop(ws, session)
    assert ws.state.journal.dead_letters() == []
    stop(ws, session)
    assert len(ws.state.journal.dead_letters()) == 1


def test_rate_limit_is_waited_for_as_long_as_announced(
    ws: Workspace, clock: SteppingClock, claude: Path, session: Transcript
) -> None:
    ws.settings = replace(ws.settings, retry_base_seconds=1)
    fake_claude.set_steps(claude, [OF_THE_SERVICE["rate limit"], ECHO])
    stop(ws, session)
    for _ in range(6):  # from nine in the morning
        clock.forward(hours=1)
        stop(ws, session)
        assert len(fake_claude.calls(claude)) == 1
    clock.forward(hours=1, minutes=2)
    stop(ws, session)
    assert count_saved(ws) == once(*NAMES)


def test_a_claude_that_cannot_be_started_makes_no_dead_letter(ws: Workspace, claude: Path, session: Transcript) -> None:
    program = (claude / "claude").read_text(encoding="utf-8")
    (claude / "claude").write_text("#!/nowhere/python\n")
    ws.settings = replace(ws.settings, max_failures=1)
    assert [mined.outcome for mined in stop(ws, session)] == ["failed"]
    assert ws.state.journal.dead_letters() == []
    (claude / "claude").write_text(program, encoding="utf-8")
    stop(ws, session)
    assert count_saved(ws) == once(*NAMES)


def test_a_session_that_fails_keeps_no_other_from_being_mined_with_everything(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    other = Transcript(session.path.with_name("s2.jsonl"))
    other.tells("other")
    fake_claude.set_steps(claude, [OF_THE_TURNS["refused"], ECHO])
    done = schedule.mine_all(ws, [session.path, other.path], None, lambda *_: None)
    assert [mined.outcome for mined in done] == ["failed", "mined"]
    assert count_saved(ws) == once("other")


def test_mining_everything_ends_when_nothing_works(ws: Workspace, claude: Path, session: Transcript) -> None:
    fake_claude.set_steps(claude, [OF_THE_TURNS["exit 1"]])
    others = [Transcript(session.path.with_name(f"s{number}.jsonl")) for number in range(2, 7)]
    for other in others:
        other.tells(other.session)
    paths = [session.path, *(other.path for other in others)]
    assert len(schedule.mine_all(ws, paths, None, lambda *_: None)) == 3
    assert len(fake_claude.calls(claude)) == 3


def test_mining_everything_ends_at_a_failure_of_the_service(ws: Workspace, claude: Path, session: Transcript) -> None:
    ws.settings = replace(ws.settings, retry_base_seconds=60)
    fake_claude.set_steps(claude, [OF_THE_SERVICE["not logged in"]])
    other = Transcript(session.path.with_name("s2.jsonl"))
    other.tells("other")
    schedule.mine_all(ws, [session.path, other.path], None, lambda *_: None)
    assert len(fake_claude.calls(claude)) == 1


# Dead letters


def test_repeated_failure_becomes_a_dead_letter_and_is_saved_once_on_retry(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    _make_dead_letter(ws, claude, session)
    session.tells("four")
    fake_claude.set_steps(claude, [ECHO])
    stop(ws, session)
    assert count_saved(ws) == once("four")
    assert [mined.outcome for mined in schedule.retry(ws)] == ["mined"]
    assert schedule.retry(ws) == []
    stop(ws, session)
    schedule.mine_file(ws, session.path)
    session.tells("five")
    stop(ws, session)
    assert count_saved(ws) == once(*NAMES, "four", "five")
    assert sent(claude) == {"four": 1, "five": 1} | dict.fromkeys(NAMES, ws.settings.max_failures + 1)


def test_a_dead_letter_outlives_its_transcript(ws: Workspace, claude: Path, session: Transcript) -> None:
    _make_dead_letter(ws, claude, session)
    session.path.unlink()
    fake_claude.set_steps(claude, [ECHO])
    schedule.retry(ws)
    assert count_saved(ws) == once(*NAMES)


def test_a_dead_letter_that_fails_again_stays(ws: Workspace, claude: Path, session: Transcript) -> None:
    _make_dead_letter(ws, claude, session)
    assert [mined.outcome for mined in schedule.retry(ws)] == ["failed"]
    assert len(ws.state.journal.dead_letters()) == 1


def test_a_miner_that_ends_within_a_retry_loses_nothing(
    ws: Workspace, claude: Path, session: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    _make_dead_letter(ws, claude, session)
    fake_claude.set_steps(claude, [ECHO])
    with monkeypatch.context() as patched:
        patched.setattr(write, "put", crash_in_call(2, write.put))
        with pytest.raises(Crash):
            schedule.retry(ws)
    schedule.sweep(ws)
    assert schedule.retry(ws) == []
    assert count_saved(ws) == once(*NAMES)


def test_a_retry_keeps_to_the_number_of_miners(
    ws: Workspace, claude: Path, session: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    _make_dead_letter(ws, claude, session)
    made = len(fake_claude.calls(claude))
    monkeypatch.setattr(schedule, "MAX_WAIT_SECONDS", 1)
    ws.settings = replace(ws.settings, max_miners=1)
    with locks.miner_slot(ws.home.mining_locks, 1), pytest.raises(Busy):
        schedule.retry(ws)
    assert len(fake_claude.calls(claude)) == made


def _make_dead_letter(ws: Workspace, claude: Path, session: Transcript) -> None:
    fake_claude.set_steps(claude, [OF_THE_TURNS["exit 1"]])
    for _ in range(ws.settings.max_failures):
        assert ws.state.journal.dead_letters() == []
        stop(ws, session)
    assert len(ws.state.journal.dead_letters()) == 1
    assert ws.state.queue.marks() == []


# A miner that ends at a certain step


STEPS: dict[str, tuple[Any, str, int, bool, int]] = {
    # the object and its function, in which call and whether after it; and how many calls of the model that takes
    "before the call": (ask, "extract", 1, False, 1),
    "the call begun": (claude_module.Claude, "ask", 1, False, 1),
    "after the call": (claude_module.Claude, "ask", 1, True, 2),
    "before the journal": (Journal, "add_answer", 1, False, 2),
    "within the journal": (Journal, "add_answer", 1, True, 2),
    "journal written": (ask, "apply", 1, False, 1),
    "before the first note": (write, "put", 1, False, 1),
    "between two notes": (write, "put", 2, False, 1),
    "after the last note": (write, "put", 3, True, 1),
    "before the cursor": (Sessions, "move_cursor", 1, False, 1),
    "within the cursor": (Sessions, "move_cursor", 1, True, 1),
    "journal not cleared": (Journal, "finish", 1, False, 1),
    "all but committed": (Journal, "finish", 1, True, 1),
}


@pytest.mark.slow(keep=7)
@pytest.mark.parametrize("recovery", ["stop", "sweep", "person"])
@pytest.mark.parametrize("step", STEPS)
def test_a_miner_that_ends_at_any_step_loses_nothing_and_keeps_nothing_twice(
    ws: Workspace,
    clock: SteppingClock,
    claude: Path,
    session: Transcript,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    recovery: str,
) -> None:
    owner, name, number, after, calls = STEPS[step]
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, crash_in_call(number, getattr(owner, name), after=after))
        with pytest.raises(Crash):
            stop(ws, session)
    assert offset(ws) == 0
    ws.state.queue.take("s1")  # a process that is killed marks nothing
    ws.close()
    clock.forward(minutes=1)
    if recovery == "stop":
        session.tells("four")
        stop(ws, session)
    elif recovery == "sweep":
        schedule.sweep(ws)
    else:
        schedule.mine_file(ws, session.path)
    assert count_saved(ws) == once(*NAMES, *(["four"] if recovery == "stop" else []))
    assert ws.state.journal.sessions() == []
    assert max(sent(claude).values()) == calls
    assert offset(ws) == session.path.stat().st_size - len(b"\n")


def test_an_exception_in_the_background_leaves_the_session_marked(
    ws: Workspace, session: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ask, "apply", crash_in_call(1, ask.apply))
        with pytest.raises(Crash):
            stop(ws, session)
    assert [mark.session for mark in ws.state.queue.marks()] == ["s1"]


def test_an_answer_that_was_written_down_needs_no_transcript(
    ws: Workspace, claude: Path, session: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ask, "apply", crash_in_call(1, ask.apply))
        with pytest.raises(Crash):
            stop(ws, session)
    session.path.unlink()
    schedule.sweep(ws)
    assert count_saved(ws) == sent(claude) == once(*NAMES)


# Miners that are killed


@pytest.mark.slow
def test_twenty_miners_killed_at_any_moment_lose_nothing_and_leave_nothing(
    claude: Path, session: Transcript, ws: Workspace
) -> None:
    fake_claude.set_steps(claude, [ECHO | {"sleep": 0.1}])
    begun = time.monotonic()
    assert _started(ws, session).wait() == 0
    whole = time.monotonic() - begun
    moments, killed, names = random.Random(4), 0, list(NAMES)  # noqa: S311
    while killed < 20:
        names.append(f"k{len(names)}")
        assert len(names) < 100
        session.tells(names[-1])
        miner = _started(ws, session)
        try:
            miner.wait(moments.uniform(0.2, 1) * whole)
        except subprocess.TimeoutExpired:
            os.killpg(miner.pid, signal.SIGKILL)
            miner.wait()
            killed += 1
    assert _started(ws, session).wait() == 0
    assert count_saved(ws) == once(*names)
    assert ws.state.journal.sessions() == []
    assert all(fake_claude.ends(call["pid"]) for call in fake_claude.calls(claude, questions=True))


def test_a_call_whose_miner_is_killed_ends_with_it(ws: Workspace, claude: Path, session: Transcript) -> None:
    fake_claude.set_steps(claude, [{"sleep": 60}])
    miner = _started(ws, session)
    call = _first_call(claude, miner)
    os.kill(miner.pid, signal.SIGKILL)
    miner.wait()
    if sys.platform != "linux":
        assert ws.state.children.end_orphans() == 1
    assert fake_claude.ends(call["pid"])
    fake_claude.set_steps(claude, [ECHO])
    schedule.sweep(ws)
    assert count_saved(ws) == once(*NAMES)


def test_a_call_that_outlived_its_miner_is_ended_by_the_next_one(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    orphan = subprocess.Popen([sys.executable, "-IS", "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    gone = subprocess.Popen([sys.executable, "-IS", "-c", ""])
    gone.wait()
    ws.state.children.add(orphan.pid, processes.read_start_time(orphan.pid) or "")
    with ws.state.transaction():
        ws.state.children._connect().execute("UPDATE children SET miner = ?, miner_started = '1'", (gone.pid,))
    stop(ws, session)
    assert orphan.wait() != 0
    assert orphan.stdin
    orphan.stdin.close()
    assert ws.state.children.end_orphans() == 0


def _started(ws: Workspace, session: Transcript) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-P", "-m", "memem", "mine", "--session", str(session.path)]
    return subprocess.Popen(
        command, env=ws.environ_for_children(), stdout=subprocess.DEVNULL, start_new_session=True, cwd=ws.user_home
    )


def _first_call(claude: Path, miner: "subprocess.Popen[bytes]") -> dict[str, Any]:
    while not fake_claude.calls(claude):
        assert miner.poll() is None
        with suppress(subprocess.TimeoutExpired):
            miner.wait(0.01)
    return fake_claude.calls(claude)[0]
