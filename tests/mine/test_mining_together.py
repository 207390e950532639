"""Many miners at once: no turn is missing, none is sent twice, and never are there more of them than allowed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memem.core.dates import system_clock
from memem.mine import ask, drain, locks, schedule
from memem.mine.ask import Mined
from memem.search.transcripts import consent
from memem.state.sessions import Mark
from memem.workspace import Workspace
from tests import fake_claude
from tests.fakes import SteppingClock
from tests.transcripts import ECHO, Transcript, count_saved, once, open_miner, sent

Miner = subprocess.Popen[bytes]


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    consent.opt_in(miner)
    return miner


@pytest.fixture
def other(tmp_path: Path, clock: SteppingClock, ws: Workspace) -> Iterator[Workspace]:
    """The same home, opened by somebody else."""
    opened = open_miner(tmp_path, clock, ws.environ)
    yield opened
    opened.close()


def started(ws: Workspace, session: Transcript, **environ: str) -> Miner:
    """Do what the Stop hook starts."""
    command = [sys.executable, "-P", "-m", "memem", "mine", "--background", "--session", str(session.path)]
    return subprocess.Popen(
        command,
        env=ws.environ_for_children() | environ,
        cwd=ws.user_home,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def all_end(miners: list[Miner]) -> None:
    assert [miner.wait(120) for miner in miners] == [0] * len(miners)


def is_quiet(ws: Workspace, claude: Path) -> None:
    """Nothing is left: no process, no mark, no answer on its way, and no complaint."""
    assert all(fake_claude.ends(call["pid"]) for call in fake_claude.calls(claude, questions=True))
    assert ws.state.queue.marks() == []
    assert ws.state.journal.sessions() == []
    log = ws.home.mine_log.read_text(encoding="utf-8")
    assert "Error" not in log
    assert "Busy" not in log
    assert "failed" not in log


# Real processes


@pytest.mark.slow
def test_fifty_stops_at_once_mine_a_session_once(ws: Workspace, claude: Path, session: Transcript) -> None:
    fake_claude.set_steps(claude, [ECHO | {"sleep": 0.3}])
    for name in ("one", "two", "three"):
        session.tells(name)
    all_end([started(ws, session) for _ in range(50)])
    assert count_saved(ws) == sent(claude) == once("one", "two", "three")
    is_quiet(ws, claude)


@pytest.mark.slow
def test_stops_one_turn_apart_while_others_are_at_it_miss_no_turn(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    fake_claude.set_steps(claude, [ECHO | {"sleep": 0.3}])
    names, miners = [f"n{number}" for number in range(20)], list[Miner]()
    for name in names:
        session.tells(name)
        miners.append(started(ws, session))
        with suppress(subprocess.TimeoutExpired):
            miners[-1].wait(0.15)
    all_end(miners)
    assert count_saved(ws) == sent(claude) == once(*names)
    assert fake_claude.most_at_once(claude) == 1
    is_quiet(ws, claude)


@pytest.mark.slow
def test_thirty_sessions_at_once_are_mined_by_two_at_a_time(ws: Workspace, claude: Path, sessions: Path) -> None:
    fake_claude.set_steps(claude, [ECHO | {"sleep": 0.05}])
    names, miners = [f"n{number}" for number in range(30)], list[Miner]()
    for name in names:
        session = Transcript(sessions / f"{name}.jsonl")
        session.tells(name)
        miners.append(started(ws, session))
    all_end(miners)
    assert count_saved(ws) == sent(claude) == once(*names)
    assert fake_claude.most_at_once(claude) == 2
    is_quiet(ws, claude)


@pytest.mark.slow
def test_forks_of_a_session_that_are_mined_at_the_same_time_share_their_turns(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    fake_claude.set_steps(claude, [ECHO | {"sleep": 0.1}])
    session.tells("one")
    session.tells("two")
    forks = [Transcript(session.path.with_name(f"fork{number}.jsonl")) for number in range(6)]
    for fork in forks:
        fork.raw(session.path.read_bytes())
        fork.tells(fork.session)
    all_end([started(ws, each, MEMEM_MAX_MINERS="6") for each in (session, *forks)])
    assert count_saved(ws) == sent(claude) == once("one", "two", *(fork.session for fork in forks))
    is_quiet(ws, claude)


@pytest.mark.slow
def test_the_budget_is_hard_for_many_miners_and_the_rest_is_mined_the_next_day(
    ws: Workspace, claude: Path, sessions: Path, tmp_path: Path
) -> None:
    fake_claude.set_steps(claude, [ECHO | {"sleep": 0.1}])
    transcripts = [Transcript(sessions / f"n{number}.jsonl") for number in range(8)]
    for transcript in transcripts:
        transcript.tells(transcript.session)
    all_end([started(ws, each, MEMEM_MAX_MINERS="8", MEMEM_DAILY_CALLS="3") for each in transcripts])
    assert len(fake_claude.calls(claude)) == 3
    assert len(count_saved(ws)) == 3
    tomorrow = SteppingClock()
    tomorrow.now = system_clock() + timedelta(days=1)
    later = open_miner(tmp_path, tomorrow)
    schedule.mine_in_background(later, None)
    later.close()
    assert count_saved(ws) == sent(claude) == once(*(each.session for each in transcripts))


def test_a_miner_that_is_killed_while_others_stop_loses_nothing_and_leaves_nothing(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    fake_claude.set_steps(claude, [{"sleep": 60}, ECHO])
    session.tells("one")
    killed = started(ws, session)
    while not fake_claude.calls(claude):
        with suppress(subprocess.TimeoutExpired):
            assert killed.wait(0.01) is None
    session.tells("two")
    all_end([started(ws, session) for _ in range(3)])  # they find their session taken
    assert len(fake_claude.calls(claude)) == 1
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    all_end([started(ws, session)])
    assert count_saved(ws) == once("one", "two")
    is_quiet(ws, claude)


def test_a_session_is_mined_by_a_process_of_its_own(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tells("one")
    assert schedule.start_miner(ws, session.path, flush=True)
    until = time.monotonic() + 60
    while not (ws.home.mine_log.exists() and "1 saved" in ws.home.mine_log.read_text(encoding="utf-8")):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert count_saved(ws) == sent(claude) == once("one")
    is_quiet(ws, claude)


# Who sees to what


Stop = Callable[[], list[Mined]]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Something that happens while the first call of a model is under way."""

    def set_up(happens: Callable[[], object]) -> None:
        real, waiting = ask.extract, [happens]

        def extract(*args: Any) -> Any:
            if waiting:
                waiting.pop()()
            return real(*args)

        monkeypatch.setattr(ask, "extract", extract)

    return set_up


@pytest.mark.parametrize("miners", [1, 2])
@pytest.mark.parametrize("by", ["background", "person", "everything", "sweep"])
def test_a_turn_that_comes_while_its_session_is_mined_needs_no_other_stop(
    ws: Workspace,
    other: Workspace,
    claude: Path,
    session: Transcript,
    meanwhile: Callable[[Callable[[], object]], None],
    by: str,
    miners: int,
) -> None:
    ws.settings = other.settings = replace(ws.settings, max_miners=miners)
    found: list[list[Mined]] = []

    def stop() -> None:
        session.tells("two")
        found.append(schedule.mine_in_background(other, session.path))

    meanwhile(stop)
    session.tells("one")
    if by == "background":
        schedule.mine_in_background(ws, session.path)
    elif by == "person":
        schedule.mine_file(ws, session.path)
    elif by == "everything":
        schedule.mine_all(ws, [session.path], None, lambda *_: None)
    else:
        schedule.sweep(ws)
    assert found == [[]]
    assert count_saved(ws) == sent(claude) == once("one", "two")
    assert ws.state.queue.marks() == []


@pytest.mark.parametrize("by", ["background", "person"])
def test_a_session_that_found_no_room_is_mined_by_whoever_has_it(
    ws: Workspace,
    other: Workspace,
    claude: Path,
    session: Transcript,
    meanwhile: Callable[[Callable[[], object]], None],
    by: str,
) -> None:
    ws.settings = other.settings = replace(ws.settings, max_miners=1)
    second = Transcript(session.path.with_name("s2.jsonl"))
    second.tells("two")
    found: list[list[Mined]] = []
    meanwhile(lambda: found.append(schedule.mine_in_background(other, second.path)))
    session.tells("one")
    if by == "background":
        schedule.mine_in_background(ws, session.path)
    else:
        schedule.mine_file(ws, session.path)
    assert found == [[]]
    assert count_saved(ws) == sent(claude) == once("one", "two")


def test_a_session_that_found_no_room_stays_marked(ws: Workspace, claude: Path, session: Transcript) -> None:
    ws.settings = replace(ws.settings, max_miners=1)
    session.tells("one")
    with locks.miner_slot(ws.home.mining_locks, 1) as room:
        assert room
        assert schedule.mine_in_background(ws, session.path) == []
    assert [mark.session for mark in ws.state.queue.marks()] == ["s1"]
    schedule.mine_in_background(ws, None)
    assert count_saved(ws) == sent(claude) == once("one")


def test_miner_does_not_wait_for_locked_sessions(
    ws: Workspace, session: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.tells("one")
    real, looks = ws.state.queue.marks, list[int]()

    def marks() -> list[Mark]:
        looks.append(1)
        assert len(looks) < 10
        return real()

    monkeypatch.setattr(ws.state.queue, "marks", marks)
    with locks.session_locks(ws.home.mining_locks, "s1") as held:
        assert held
        assert schedule.mine_in_background(ws, session.path) == []
    assert [mark.session for mark in real()] == ["s1"]


def test_a_mark_that_comes_after_the_last_look_is_seen(
    ws: Workspace, other: Workspace, claude: Path, session: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.settings = other.settings = replace(ws.settings, max_miners=1)
    session.tells("one")
    real, found = drain._mine_packs, list[list[Mined]]()

    def last_look(*args: Any) -> bool:
        mined = real(*args)
        if not mined and not found:  # the slot is still held, and nothing is looked for any more
            session.tells("two")
            found.append(schedule.mine_in_background(other, session.path))
        return mined

    monkeypatch.setattr(drain, "_mine_packs", last_look)
    schedule.mine_in_background(ws, session.path)
    assert found == [[]]
    assert count_saved(ws) == sent(claude) == once("one", "two")


def test_fork_leaves_turns_to_the_session_that_mines_them(
    ws: Workspace,
    other: Workspace,
    claude: Path,
    session: Transcript,
    meanwhile: Callable[[Callable[[], object]], None],
) -> None:
    session.tells("one")
    fork = Transcript(session.path.with_name("fork.jsonl"))
    fork.raw(session.path.read_bytes())
    fork.tells("two")
    meanwhile(lambda: schedule.mine_in_background(other, fork.path))
    schedule.mine_in_background(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one", "two")


def test_sessions_that_share_a_lock_are_mined_one_after_the_other(ws: Workspace, claude: Path, sessions: Path) -> None:
    folder = ws.home.mining_locks
    first = Transcript(sessions / "s1.jsonl")
    lock = locks.lock_of(folder, "s1")
    name = next(f"n{number}" for number in range(10_000) if locks.lock_of(folder, f"n{number}") == lock)
    second = Transcript(sessions / f"{name}.jsonl")
    fake_claude.set_steps(claude, [ECHO | {"sleep": 0.1}])
    first.tells("one")
    second.tells("two")
    all_end([started(ws, first), started(ws, second)])
    assert count_saved(ws) == sent(claude) == once("one", "two")
    assert fake_claude.most_at_once(claude) == 1
