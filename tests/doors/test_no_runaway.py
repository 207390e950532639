"""Two hundred turns that end at once, and a CLI that runs our hooks in its own calls: what bounds calls is what there
is to mine, what bounds processes is how many may mine, and nothing is left."""

import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memem.core.dates import system_clock
from memem.doors.hook import client
from memem.mine.status import mining_state
from memem.search.transcripts import consent
from memem.workspace import Workspace
from tests import fake_claude
from tests.transcripts import ECHO, Transcript, count_saved, once, open_miner, sent

CLIENT = Path(client.__file__)
SECONDS = 120
TRANSIENT = 3
"""One at the inbox, one that has let go of it and finds no room, one that is about to end."""

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="counts processes in /proc")


@pytest.fixture
def miner(tmp_path: Path, claude: Path) -> Iterator[Workspace]:
    """By the clock that hooks have."""
    opened = open_miner(tmp_path, None)
    yield opened
    opened.close()


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    consent.opt_in(miner)
    return miner


@pytest.fixture
def session(sessions: Path) -> Transcript:
    return Transcript(sessions / "s1.jsonl", start=system_clock())


@pytest.fixture
def environ(ws: Workspace) -> dict[str, str]:
    """The environment of a hook, with the fake CLI on its path."""
    return {**ws.environ_for_children(), "CLAUDE_PROJECT_DIR": "/srv/shop"}


def stopping(session: Transcript, environ: dict[str, str], event: str = "Stop") -> "subprocess.Popen[bytes]":
    told = {"session_id": session.session, "transcript_path": str(session.path), "cwd": session.cwd}
    command = [sys.executable, "-I", "-S", str(CLIENT), "hook", event]
    started = subprocess.Popen(command, env=environ, cwd=environ["HOME"], stdin=subprocess.PIPE)
    assert started.stdin
    started.stdin.write(json.dumps({**told, "hook_event_name": event}).encode())
    started.stdin.close()
    return started


def ours(name: str) -> list[int]:
    """The processes that were started for an inbox of this name."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                line = Path(entry.path, "cmdline").read_bytes()
            except OSError:
                continue
            found += [int(entry.name)] if f"--inbox={name}".encode() in line else []
    return found


@contextmanager
def counted(name: str) -> Iterator[list[int]]:
    """How many of them there were, look by look."""
    counts, over = list[int](), threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            counts.append(len(ours(name)))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield counts
    finally:
        over.set()
        thread.join()


def settles(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)


def named(environ: dict[str, str]) -> str:
    """The name of this environment's inbox."""
    code = "import sys, runpy; print(runpy.run_path(sys.argv[1])['settings_digest']())"
    command = [sys.executable, "-I", "-S", "-c", code, str(CLIENT)]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.strip()


def is_over(ws: Workspace, name: str) -> bool:
    return not ours(name) and not list(ws.home.inbox.glob("*.json")) and not ws.state.queue.marks()


@pytest.mark.slow
def test_two_hundred_stops_at_once_and_a_cli_that_runs_our_hooks_in_its_calls(
    ws: Workspace, claude: Path, sessions: Path, environ: dict[str, str]
) -> None:
    scrubbed = {key: value for key, value in environ.items() if not key.startswith("CLAUDE")}
    assert "MEMEM_HOOKS_OFF" not in scrubbed
    fake_claude.set_steps(claude, [ECHO | {"hooks": [str(CLIENT), scrubbed, None]}])
    told = [Transcript(sessions / f"s{number}.jsonl", start=system_clock()) for number in range(10)]
    for number, session in enumerate(told):
        session.tells(f"n{number}")
    name = named(environ)
    with counted(name) as counts:
        hooks = [stopping(told[number % 10], environ) for number in range(200)]
        assert {hook.wait(SECONDS) for hook in hooks} == {0}
        settles(lambda: is_over(ws, name))
    assert max(counts) <= ws.settings.max_miners + TRANSIENT
    calls = fake_claude.calls(claude)
    assert count_saved(ws) == sent(claude) == once(*(f"n{number}" for number in range(10)))
    assert mining_state(ws).calls_today == ws.state.ledger.spent(ws.today()).calls == len(calls) == 10
    assert fake_claude.most_at_once(claude) <= ws.settings.max_miners
    assert len(fake_claude.nested(claude)) == 4 * len(calls), "each call has run its hooks"
    assert ws.home.hooks_log.read_text() == ""
    assert not (ws.home.inbox / "SessionStart.lock").exists(), "none of them has begun anything"


@pytest.mark.slow
def test_hooks_of_an_unmarked_call_start_no_call(
    ws: Workspace, claude: Path, session: Transcript, environ: dict[str, str]
) -> None:
    fake_claude.set_steps(claude, [ECHO | {"hooks": [str(CLIENT), environ, environ["HOME"]]}])
    session.tells("one")
    assert stopping(session, environ, "SessionEnd").wait(SECONDS) == 0
    name = named(environ)
    settles(lambda: bool(fake_claude.nested(claude)) and is_over(ws, name) and not upkeeping(ws))
    assert count_saved(ws) == sent(claude) == once("one")
    assert len(fake_claude.calls(claude)) == ws.state.ledger.spent(ws.today()).calls == 1


def upkeeping(ws: Workspace) -> bool:
    """Whether what a session's start begins is still under way."""
    lock = ws.home.inbox / "SessionStart.lock"
    if not lock.exists():
        return True  # none has begun yet
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.mark.parametrize("off", ["mining", "mark"])
def test_nothing_starts_while_mining_is_off(miner: Workspace, claude: Path, session: Transcript, off: str) -> None:
    environ = miner.environ_for_children()
    if off == "mark":
        consent.opt_in(miner)
        environ["MEMEM_HOOKS_OFF"] = "1"
    session.tells("one")
    events: list[Any] = [stopping(session, environ, event) for event in client.LATER for _ in range(3)]
    assert {hook.wait(SECONDS) for hook in events} == {0}
    assert not miner.home.inbox.exists(), "no letter, no lock, no process"
    assert fake_claude.calls(claude, questions=True) == []


def test_a_plugin_that_is_enabled_twice_mines_once(
    ws: Workspace, claude: Path, session: Transcript, environ: dict[str, str]
) -> None:
    name = named(environ)
    for turn in ("one", "two", "three"):
        session.tells(turn)
        twice = [stopping(session, environ), stopping(session, environ)]
        assert {hook.wait(SECONDS) for hook in twice} == {0}
    settles(lambda: is_over(ws, name))
    assert count_saved(ws) == sent(claude) == once("one", "two", "three")
