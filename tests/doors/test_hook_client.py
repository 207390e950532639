"""The client that Claude Code starts at every event: what it loads, whom it asks, and that it never is in the way."""

import fcntl
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from memem.core import settings
from memem.core.home import MAX_SOCKET_PATH_BYTES, OWN_FOLDER, socket_address
from memem.doors.engine import protocol
from memem.doors.engine.protocol import Reply, Request
from memem.doors.hook import client, command
from memem.notes import save
from memem.search.transcripts import consent
from memem.state import inbox
from memem.workspace import Workspace
from tests.transcripts import Transcript

CLIENT = Path(client.__file__)
SECONDS = 60
# What `python -I -S -c pass` has loaded, what `import os` adds to it, and the one module that speaks with sockets.
BARE = """__main__ _abc _codecs _frozen_importlib _frozen_importlib_external _imp _io _signal _thread _warnings _weakref
    abc builtins codecs encodings encodings.aliases encodings.utf_8 io marshal posix sys time zipimport""".split()
LOADED = {*BARE, *"os stat _stat posixpath genericpath os.path _collections_abc _socket".split()}

pytestmark = pytest.mark.skipif(os.name == "nt", reason="hooks need a POSIX system")


def envelope(event: str, **more: Any) -> bytes:
    told = {"session_id": "s1", "cwd": str(Path.home()), "hook_event_name": event, **more}
    return json.dumps(told).encode()


@pytest.fixture
def environ(ws: Workspace) -> dict[str, str]:
    """The environment of a hook on the home of the workspace."""
    ours = {"MEMEM_DIR": str(ws.settings.home), "MEMEM_OBSIDIAN_VAULT": str(ws.settings.vault)}
    return {"HOME": str(ws.user_home), "PATH": os.environ["PATH"], "MEMEM_FSYNC": "0", "MEMEM_ENCODER": "none", **ours}


@pytest.fixture
def house(ws: Workspace) -> Workspace:
    """A memory that a prompt about the house needs."""
    save.save(ws, "The house is painted yellow, by Swoboda & Sons.", title="Colour of the house", project="general")
    return ws


def call(event: str, given: bytes, environ: dict[str, str], *, before: str = "") -> subprocess.CompletedProcess[bytes]:
    """The client as the launcher starts it; `before` may change it first."""
    command = [sys.executable, "-I", "-S", str(CLIENT), "hook", event]
    if before:
        source = CLIENT.read_text(encoding="utf-8").rpartition("if __name__")[0]
        changed = f"__file__ = {str(CLIENT)!r}\n{source}\n{before}\nmain(['hook', {event!r}])\nos._exit(0)"
        command = [sys.executable, "-I", "-S", "-c", changed]
    return subprocess.run(command, input=given, env=environ, capture_output=True, timeout=SECONDS, check=False)


@contextmanager
def engine(ws: Workspace, answer: Callable[[Request], bytes | None]) -> Iterator[list[Request]]:
    """Something that listens where an engine would, and what it was asked."""
    path = ws.home.engine_lock.parent / "engine.sock"
    path.parent.mkdir(parents=True, exist_ok=True)
    asked: list[Request] = []
    over = threading.Event()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                asked.append(protocol.read_request(connection, time.monotonic() + SECONDS))
                reply = answer(asked[0])
                if reply is None:
                    over.wait(SECONDS)
                else:
                    connection.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        yield asked
        over.set()
        thread.join(SECONDS)
    path.unlink()


def context(printed: bytes) -> str:
    return str(json.loads(printed)["hookSpecificOutput"]["additionalContext"])


def log(ws: Workspace) -> str:
    return ws.home.hooks_log.read_text(encoding="utf-8")


# --- with an engine -----------------------------------------------------------------------------------------------


def test_a_prompt_costs_no_more_modules_than_a_socket_needs(ws: Workspace, environ: dict[str, str]) -> None:
    tell = "answered = main\ndef main(given):\n    answered(given)\n    os.write(2, ' '.join(sys.modules).encode())"
    with engine(ws, lambda _: protocol.encode_reply(Reply("done", b"said"))):
        called = call("UserPromptSubmit", envelope("UserPromptSubmit", prompt="x"), environ, before=tell)
    assert called.stdout == b"said"
    assert set(called.stderr.decode().split()) - LOADED == set()


def test_the_answer_of_the_engine_is_printed_unchanged(ws: Workspace, environ: dict[str, str]) -> None:
    given = envelope("UserPromptSubmit", prompt="ä\u2028\ud800")
    with engine(ws, lambda _: protocol.encode_reply(Reply("done", b'{"x": "\xc3\xa4"}'))) as asked:
        called = call("UserPromptSubmit", given, environ)
    assert (called.returncode, called.stdout, called.stderr) == (0, b'{"x": "\xc3\xa4"}', b"")
    (request,) = asked
    assert (request.kind, request.name, request.body) == ("hook", "UserPromptSubmit", given)
    assert request.facts["root"] == str(CLIENT.parents[3])
    assert request.facts["MEMEM_DIR"] == environ["MEMEM_DIR"]
    assert request.facts["HOME"] == environ["HOME"]
    assert request.seconds == client.ENGINE_SECONDS


def test_an_engine_gets_the_plugin_options_and_no_secret(ws: Workspace, environ: dict[str, str]) -> None:
    environ |= {
        "CLAUDE_PLUGIN_OPTION_VAULT": "/v",
        "CLAUDE_PLUGIN_ROOT": "/p",
        "ANTHROPIC_API_KEY": "k",
        "CLAUDE_CODE_MESSAGING_TOKEN": "t",
    }
    with engine(ws, lambda _: protocol.encode_reply(Reply("done"))) as asked:
        call("UserPromptSubmit", envelope("UserPromptSubmit"), environ)
    assert asked[0].facts["CLAUDE_PLUGIN_OPTION_VAULT"] == "/v"
    assert asked[0].facts["CLAUDE_PLUGIN_ROOT"] == "/p"
    assert not {"ANTHROPIC_API_KEY", "CLAUDE_CODE_MESSAGING_TOKEN"} & set(asked[0].facts)


@pytest.mark.parametrize(
    "reply",
    [
        protocol.encode_reply(Reply("other")),
        b"",
        b"memem 1 done 9\nshort",
        b"memem 2 done 0\n",
        b"something else\n",
        b"\xff\n",
    ],
)
def test_where_the_engine_is_of_no_use_the_work_is_done_here(
    house: Workspace, environ: dict[str, str], reply: bytes
) -> None:
    with engine(house, lambda _: reply):
        called = call("UserPromptSubmit", envelope("UserPromptSubmit", prompt="house painted yellow?"), environ)
    assert "Swoboda" in context(called.stdout)


def test_a_failure_of_the_engine_is_logged_and_not_retried(ws: Workspace, environ: dict[str, str]) -> None:
    with engine(ws, lambda _: protocol.encode_reply(Reply("failed", b"The vault is gone."))):
        called = call("UserPromptSubmit", envelope("UserPromptSubmit", prompt="x"), environ)
    assert (called.returncode, called.stdout) == (0, b"")
    assert "UserPromptSubmit: The vault is gone." in log(ws)


def test_an_engine_that_does_not_answer_is_not_waited_for(ws: Workspace, environ: dict[str, str]) -> None:
    with engine(ws, lambda _: None):
        called = call("UserPromptSubmit", envelope("UserPromptSubmit"), environ, before="ENGINE_SECONDS = 0.05")
    assert (called.returncode, called.stdout) == (0, b"")
    assert "UserPromptSubmit: the engine did not answer within 0.05 s" in log(ws)


def test_a_session_start_is_briefed_without_an_answer_of_the_engine(house: Workspace, environ: dict[str, str]) -> None:
    with engine(house, lambda _: None):
        given = envelope("SessionStart", source="startup")
        called = call("SessionStart", given, environ, before="ENGINE_SECONDS = 0.05\nstart_later = lambda *_: None")
    assert "Memories: 1 " in context(called.stdout)


def test_a_late_engine_is_not_used_for_a_while(house: Workspace, environ: dict[str, str]) -> None:
    ask = envelope("UserPromptSubmit", prompt="house painted yellow?")
    with engine(house, lambda _: None):
        call("UserPromptSubmit", ask, environ, before="ENGINE_SECONDS = 0.05")
    with engine(house, lambda _: protocol.encode_reply(Reply("done", b"said"))) as asked:
        assert "Swoboda" in context(call("UserPromptSubmit", ask, environ).stdout)
        assert asked == []
        os.utime(house.home.engine_lock.parent / "engine-late", (0, 0))
        assert call("UserPromptSubmit", ask, environ).stdout == b"said"


def test_a_socket_of_somebody_else_is_not_spoken_to(house: Workspace, environ: dict[str, str]) -> None:
    ask = envelope("UserPromptSubmit", prompt="house painted yellow?")
    path = house.home.engine_lock.parent / "engine.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        called = call("UserPromptSubmit", ask, environ, before="os.getuid = lambda: -1")
    assert "Swoboda" in context(called.stdout)


# --- without one --------------------------------------------------------------------------------------------------


def test_with_no_engine_the_work_is_done_here(house: Workspace, environ: dict[str, str]) -> None:
    called = call("UserPromptSubmit", envelope("UserPromptSubmit", prompt="house painted yellow?"), environ)
    assert (called.returncode, called.stderr) == (0, b"")
    assert "Swoboda" in context(called.stdout)


def test_a_note_written_by_hand_a_moment_ago_is_seen(house: Workspace, environ: dict[str, str]) -> None:
    house.store.paths.memories.joinpath("garage.md").write_text("The garage door opens with code QX-7781-B.\n")
    ask = envelope("UserPromptSubmit", prompt="what is QX-7781-B for?")
    assert "garage door" in context(call("UserPromptSubmit", ask, environ).stdout)


def test_the_socket_of_a_dead_engine_is_ignored(house: Workspace, environ: dict[str, str]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(house.home.engine_lock.parent / "engine.sock"))
    called = call("UserPromptSubmit", envelope("UserPromptSubmit", prompt="house painted yellow?"), environ)
    assert "Swoboda" in context(called.stdout)


def test_within_a_call_of_our_own_a_hook_does_nothing(house: Workspace, environ: dict[str, str]) -> None:
    environ["MEMEM_HOOKS_OFF"] = "1"
    for event in ("SessionStart", "UserPromptSubmit", "Stop"):
        called = call(event, envelope(event, prompt="house painted yellow?"), environ)
        assert (called.returncode, called.stdout, called.stderr) == (0, b"", b"")
    assert not house.home.hooks_log.exists()


@pytest.mark.parametrize("given", [b"", b"null", b"[1]", b'{"prompt":', b"\xff\xfe"])
def test_an_unreadable_envelope_is_logged_only(house: Workspace, environ: dict[str, str], given: bytes) -> None:
    called = call("UserPromptSubmit", given, environ)
    assert (called.returncode, called.stdout, called.stderr) == (0, b"", b"")
    assert "UserPromptSubmit: " in log(house)


def test_an_unknown_event_is_logged_only(ws: Workspace, environ: dict[str, str]) -> None:
    called = call("Lunch", envelope("Lunch"), environ)
    assert (called.returncode, called.stdout, called.stderr) == (0, b"", b"")
    assert "Lunch: " in log(ws)


def test_a_home_that_cannot_be_written_is_in_nobodys_way(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "file").write_text("not a folder")
    environ["MEMEM_DIR"] = str(tmp_path / "file" / "home")
    for event in ("SessionStart", "UserPromptSubmit", "Stop"):
        called = call(event, envelope(event, prompt="x", source="startup"), environ)
        assert (called.returncode, called.stderr) == (0, b"")


def test_a_hook_that_gets_stuck_ends_itself(ws: Workspace, environ: dict[str, str]) -> None:
    called = call(
        "UserPromptSubmit",
        b"",
        environ,
        before="SECONDS = {event: 0.05 for event in SECONDS}\n_read = lambda _: os.read(os.pipe()[0], 1)",
    )
    assert (called.returncode, called.stdout) == (0, b"")
    assert "UserPromptSubmit: not finished within 0.05 s" in log(ws)


def test_a_stuck_disk_does_not_keep_the_hooks_streams_open(house: Workspace, environ: dict[str, str]) -> None:
    stuck = """
SECONDS = {"UserPromptSubmit": 1.5}
sys.path[:0] = [ROOT, os.environ["PACKAGES"]]
from memem.search import refresh
import time
refresh._is_unchanged = lambda ws: time.sleep(60)
"""
    environ["PACKAGES"] = str(Path(pytest.__file__).parents[1])
    environ["MEMEM_ENCODER"] = "minilm"
    began = time.monotonic()
    called = call("UserPromptSubmit", envelope("UserPromptSubmit", prompt="house painted"), environ, before=stuck)
    assert (called.returncode, called.stdout) == (0, b"")
    assert time.monotonic() - began < 30


def test_upkeep_starts_after_a_failed_briefing(begun: list[tuple[str, bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> bytes:
        raise ModuleNotFoundError("No module named 'something new'")

    monkeypatch.setattr(client, "_answer", fails)
    client.main(["hook", "SessionStart"])
    assert begun == [("SessionStart", b"told")]


def test_unusable_settings_are_shown_at_session_start(ws: Workspace, environ: dict[str, str]) -> None:
    environ["MEMEM_INJECTION_MODE"] = "loud"
    told = json.loads(call("SessionStart", envelope("SessionStart", source="startup"), environ).stdout)
    assert "injection_mode is 'loud'" in told["systemMessage"]


# --- before a tool ------------------------------------------------------------------------------------------------


def reads(file: Path) -> bytes:
    return envelope("PreToolUse", cwd=str(file.parent), tool_name="Read", tool_input={"file_path": str(file)})


@pytest.fixture
def paint(ws: Workspace, tmp_path: Path) -> Path:
    """A file that something is remembered about."""
    file = tmp_path / "shop" / "paint.py"
    file.parent.mkdir()
    file.touch()
    save.save(ws, "paint.py must stay free of imports.", title="Paint", project="shop", paths=("paint.py",))
    return file


def test_unless_it_is_wanted_nothing_is_looked_up_before_a_tool(
    paint: Path, ws: Workspace, environ: dict[str, str]
) -> None:
    with engine(ws, lambda _: protocol.encode_reply(Reply("done", b"said"))) as asked:
        assert call("PreToolUse", reads(paint), environ).stdout == b""
        assert asked == []
        assert call("UserPromptSubmit", envelope("UserPromptSubmit"), environ).stdout == b"said"


@pytest.mark.parametrize("how", ["variable", "config.toml"])
def test_file_notes_are_shown_before_a_tool_if_enabled(
    paint: Path, ws: Workspace, environ: dict[str, str], how: str
) -> None:
    if how == "variable":
        environ["MEMEM_PRETOOL_GATING"] = "1"
    else:
        ws.home.config_file.write_text("pretool_gating = true\n")
    assert "free of imports" in context(call("PreToolUse", reads(paint), environ).stdout)
    assert call("PreToolUse", reads(paint), environ).stdout == b""


# --- what goes on afterwards --------------------------------------------------------------------------------------


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]) -> list[tuple[str, bytes]]:
    """The events left to a background process, which does not start."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    begun: list[tuple[str, bytes]] = []
    monkeypatch.setattr(client, "start_later", lambda event, given: begun.append((event, given)))
    monkeypatch.setattr(client, "_end_in_time", lambda _: None)
    monkeypatch.setattr(client, "_read", lambda _: b"told")
    return begun


@pytest.mark.parametrize("event", client.LATER)
def test_the_end_of_a_turn_starts_the_miner_if_mining_is_on(
    event: str, ws: Workspace, begun: list[tuple[str, bytes]], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    client.main(["hook", event])
    assert begun == []
    consent.opt_in(ws)
    client.main(["hook", event])
    assert begun == [(event, b"told")]
    assert capfdbinary.readouterr() == (b"", b"")


@pytest.mark.parametrize("event", client.LATER)
def test_shown_memories_are_judged_while_mining_is_off(
    event: str, ws: Workspace, begun: list[tuple[str, bytes]]
) -> None:
    ws.home.state.mkdir(parents=True)
    ws.home.shown_unjudged.touch()
    client.main(["hook", event])
    assert begun == ([] if event == "PreCompact" else [(event, b"told")])


def test_a_session_start_starts_the_upkeep(
    begun: list[tuple[str, bytes]], monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(client, "_answer", lambda *_: b"brief")
    client.main(["hook", "SessionStart"])
    assert begun == [("SessionStart", b"told")]
    assert capfdbinary.readouterr() == (b"brief", b"")


def test_a_finished_turn_is_mined_in_a_detached_process(ws: Workspace, sessions: Path, environ: dict[str, str]) -> None:
    environ |= {"MEMEM_EXTRACTOR": "rules", "MEMEM_BACKGROUND": "0"}
    consent.opt_in(ws)
    session = Transcript(sessions / "s1.jsonl")
    session.human("remember that prices are net")
    session.claude("Noted.")
    given = envelope("SessionEnd", transcript_path=str(session.path), last_assistant_message="Noted.")
    called = call("SessionEnd", given, environ)
    assert (called.returncode, called.stdout, called.stderr) == (0, b"", b"")
    until = time.monotonic() + SECONDS
    while not (mined := list(ws.store.paths.memories.glob("*.md"))):
        assert time.monotonic() < until, log(ws)
        time.sleep(0.02)
    assert "Prices are net." in mined[0].read_text(encoding="utf-8")
    assert list(ws.home.engine_lock.parent.glob("hook-*")) == []


# --- the same in two places ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"MEMEM_DIR": ""},
        {"MEMEM_DIR": "/srv/memory"},
        {"MEMEM_DIR": "~/memory"},
        {"MEMEM_DIR": "~//memory"},
        {"MEMEM_DIR": "memory"},
        {"MEMEM_DIR": "/srv/mein Gedächtnis"},
    ],
)
def test_the_client_and_the_settings_find_the_same_home(monkeypatch: pytest.MonkeyPatch, given: dict[str, str]) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert Path(client.home()) == settings.locate_home(given, Path.home())


@pytest.mark.parametrize("folder", ["/srv/memory/run", f"/srv/{'long' * 30}/run", f"/srv/{'ä' * 50}/run"])
@pytest.mark.parametrize("runtime", ["", "/run/user/7"])
def test_the_client_and_the_engine_agree_on_their_address(
    monkeypatch: pytest.MonkeyPatch, folder: str, runtime: str
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    assert client.address(folder) == str(socket_address(Path(folder), runtime, os.getuid()))


def test_the_client_and_the_engine_speak_the_same_protocol() -> None:
    assert client.PROTOCOL == protocol.PROTOCOL
    assert client.LONGEST_NAME == MAX_SOCKET_PATH_BYTES


def test_the_client_and_the_engine_agree_on_what_says_that_it_was_late(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEM_DIR", str(ws.settings.home))
    assert client._late_mark() == str(ws.home.engine_late)


def test_the_client_and_those_that_it_starts_agree_on_what_it_leaves_them(ws: Workspace) -> None:
    assert client.LOCK_DESCRIPTOR == inbox.LOCK_DESCRIPTOR
    assert client.OWN_FOLDER == OWN_FOLDER
    assert set(client.LATER) == set(command.FLUSHES)
    assert client.JUDGING == command.JUDGED


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (b'{"session_id":"5e55-AB"}', "5e55-AB"),
        (b'{"said": "\\"session_id\\": \\"x\\"", "session_id" : "s1"}', "s1"),
        (b'{"session_id": "../../x"}', None),
        (b'{"session_id": "' + b"x" * 65 + b'"}', None),
        (b'{"session_id": 7}', None),
        (b"", None),
    ],
)
def test_an_event_file_is_named_by_a_valid_session_id(given: bytes, name: str | None) -> None:
    assert client._session(given) == (name or str(os.getpid()))


def test_a_process_that_cannot_even_start_does_not_fill_the_log(
    ws: Workspace, environ: dict[str, str], session: Transcript
) -> None:
    consent.opt_in(ws)
    ws.home.hooks_log.write_bytes(b"Traceback\n" * 10)
    before = "LONGEST_LOG = 50\nos.fork = lambda: 1"
    assert call("Stop", envelope("Stop", transcript_path=str(session.path)), environ, before=before).returncode == 0
    assert ws.home.hooks_log.read_bytes() == b""


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop"])
def test_a_hook_in_the_call_folder_does_nothing_without_the_variable(
    event: str, house: Workspace, environ: dict[str, str]
) -> None:
    consent.opt_in(house)
    house.home.call_folder.mkdir(parents=True)
    before = f"os.chdir({str(house.home.call_folder)!r})"
    called = call(event, envelope(event, prompt="house painted yellow?"), environ, before=before)
    assert (called.returncode, called.stdout, called.stderr) == (0, b"", b"")
    assert not house.home.inbox.exists()


def test_hooks_that_do_the_work_themselves_take_turns(house: Workspace, environ: dict[str, str]) -> None:
    ask = envelope("UserPromptSubmit", prompt="house painted yellow?")
    (house.home.root / "run").mkdir(exist_ok=True)
    locks = [(house.home.root / "run" / f"cold-{number}.lock").open("w") for number in range(client.MAX_COLD_HOOKS)]
    for lock in locks:
        fcntl.flock(lock, fcntl.LOCK_EX)
    waiting = call("UserPromptSubmit", ask, environ, before='SECONDS = {"UserPromptSubmit": 0.3}')
    assert (waiting.returncode, waiting.stdout) == (0, b"")
    for lock in locks:
        lock.close()
    assert "Swoboda" in context(call("UserPromptSubmit", ask, environ).stdout)


def test_background_work_has_low_priority(ws: Workspace, environ: dict[str, str], session: Transcript) -> None:
    consent.opt_in(ws)
    group = "(open('/proc/self/autogroup').read().split()[-1] if os.path.exists('/proc/self/autogroup') else '10')"
    told = f"os.execv = lambda *_: os.write(told, b'%d %s' % (os.nice(0), {group}.encode()))\nsaid, told = os.pipe()"
    waited = "begin = start_later\ndef start_later(*given):\n    begin(*given)\n    os.wait()"
    waited += "\n    os.write(2, os.read(said, 9))"
    given = envelope("Stop", transcript_path=str(session.path))
    polite, of_the_session = call("Stop", given, environ, before=f"{told}\n{waited}").stderr.split()
    assert int(polite) == min(19, os.nice(0) + client.NICENESS)
    assert int(of_the_session) == client.NICENESS


def test_a_hook_only_leaves_its_event_while_a_process_is_running(
    ws: Workspace, environ: dict[str, str], session: Transcript
) -> None:
    consent.opt_in(ws)
    given = envelope("Stop", transcript_path=str(session.path))
    busy = "_lock = lambda path: None\ndef fork():\n    raise RuntimeError('started')\nos.fork = fork"
    assert [call("Stop", given, environ, before=busy).returncode for _ in range(3)] == [0, 0, 0]
    (letter,) = ws.home.inbox.iterdir()
    assert letter.name.endswith("-s1-Stop.json")
    assert letter.read_bytes() == given
    assert letter.stat().st_mode & 0o077 == 0
    assert log(ws) == ""


def test_the_log_does_not_grow_for_ever(
    ws: Workspace, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEM_DIR", environ["MEMEM_DIR"])
    monkeypatch.setattr(client, "LONGEST_LOG", 100)
    for number in range(9):
        client.log("Stop", f"trouble\n number {number} {'x' * 2_000}")
    assert log(ws).count("\n") == 1
    assert "Stop: trouble number 8 xxx" in log(ws)


# --- who answers --------------------------------------------------------------------------------------------------


@contextmanager
def answering(folder: Path, reply: bytes) -> Iterator[str]:
    """A server at the address of an engine that says this to everybody, and its path."""
    path = str(folder / "engine.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()

        def serve() -> None:
            with suppress(OSError):  # of those that are not asked, or not heard out
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(65_536)
                        connection.sendall(reply)

        threading.Thread(target=serve, daemon=True).start()
        yield path
    Path(path).unlink()


@pytest.fixture
def run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the engine of this home would be."""
    monkeypatch.setenv("MEMEM_DIR", str(tmp_path / "home"))
    folder = tmp_path / "home" / "run"
    folder.mkdir(parents=True, mode=0o700)
    return folder


@pytest.mark.parametrize(
    "reply",
    [
        b"memem 1 late 0\n",
        b'memem 1 do"e 5\nhello',
        b"memem 2 done 5\nhello",
        b"memem 1 done 6\nhello",
        b"memem 1 done -5\nhello",
        b"memem 1 done 5\nhello and more",
        b"memem 1 done \xd9\xa5\nhello",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\xff\xfe",
        b"",
        b"\n",
    ],
)
def test_an_invalid_answer_counts_as_none(run_folder: Path, reply: bytes) -> None:
    with answering(run_folder, reply):
        assert client.ask_engine("UserPromptSubmit", b"{}") == ("none", b"")


def test_an_answer_without_end_is_not_read_to_its_end(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LONGEST_REPLY", 100_000)
    with answering(run_folder, b"memem 1 done 9000000\n" + bytes(9_000_000)):
        assert client.ask_engine("UserPromptSubmit", b"{}") == ("none", b"")


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o720])
def test_a_socket_in_a_folder_writable_by_others_is_ignored(run_folder: Path, mode: int) -> None:
    run_folder.chmod(mode)
    with answering(run_folder, b"memem 1 done 5\nhello"):
        assert client.ask_engine("UserPromptSubmit", b"{}") == ("none", b"")
        run_folder.chmod(0o700)
        assert client.ask_engine("UserPromptSubmit", b"{}") == ("done", b"hello")


def test_a_socket_behind_a_link_is_ignored(run_folder: Path, tmp_path: Path) -> None:
    run_folder.rmdir()
    (tmp_path / "theirs").mkdir(mode=0o700)
    run_folder.symlink_to(tmp_path / "theirs")
    with answering(tmp_path / "theirs", b"memem 1 done 5\nhello"):
        assert client.ask_engine("UserPromptSubmit", b"{}") == ("none", b"")


def test_another_users_socket_is_ignored(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(run_folder, b"memem 1 done 5\nhello"):
        monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
        assert client.ask_engine("UserPromptSubmit", b"{}") == ("none", b"")


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="the system does not tell who is at the other end")
def test_another_users_process_behind_our_socket_gets_nothing(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_is_ours", lambda _: True)
    with answering(run_folder, b"memem 1 done 5\nhello"):
        monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
        assert client.ask_engine("UserPromptSubmit", b"{}") == ("none", b"")


# --- whatever is on standard input --------------------------------------------------------------------------------

DEEP = b'{"prompt": ' + b"[" * 100_000
ANYTHING = (
    b"",
    b"\0\xff\xfe",
    b"null",
    DEEP,
    b'{"prompt": 1e999, "session_id": [], "cwd": {}, "transcript_path": 5}',
    b'{"prompt": "\\ud800 how is it?", "session_id": "../../x", "cwd": "/\\u0000", "transcript_path": "/dev/zero"}',
)


@pytest.mark.parametrize("given", ANYTHING, ids=range(len(ANYTHING)))
def test_any_input_ends_with_json_or_no_output(house: Workspace, environ: dict[str, str], given: bytes) -> None:
    called = call("UserPromptSubmit", given, environ)
    assert (called.returncode, called.stderr) == (0, b"")
    assert not called.stdout or isinstance(json.loads(called.stdout), dict)
    assert "Traceback" not in (log(house) if house.home.hooks_log.exists() else "")
