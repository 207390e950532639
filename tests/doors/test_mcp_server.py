"""The MCP server, spoken to as Claude Code speaks to it: lines of JSON, whatever is in them, until the input ends."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

import memem
from memem import serve
from memem.core.errors import InputError
from memem.doors.mcp import backends, loop, protocol
from memem.doors.mcp.tools import TOOLS
from memem.serving import describe_error
from memem.upkeep.checks.machine import set_up
from tests.mcp_client import PATIENCE, Client


def wait_until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < until
        time.sleep(0.01)


class Serving:
    """A server in a thread of this process; it is also the service behind that server."""

    tools = "default"

    def __init__(self, setting: str | None = "default") -> None:
        ours, theirs = os.pipe(), os.pipe()
        self.client = Client(ours[1], theirs[0])
        self.descriptors = (*ours, *theirs)
        self.answers: dict[str, Callable[..., str]] = {"hello": lambda **given: f"hello {given}"}
        self.loaded = self.closed = 0
        self.trouble: Exception | None = None
        self.may_load = threading.Event()
        self.may_load.set()
        self.loop = loop.Loop(ours[0], theirs[1], backends.Calls(self.load, describe_error), setting)
        self.thread = threading.Thread(target=self.loop.run, daemon=True)

    def load(self) -> "Serving":
        assert self.may_load.wait(PATIENCE)
        self.loaded += 1
        if self.trouble:
            raise self.trouble
        return self

    def result(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        try:
            return self.answers[name](**arguments), False
        except InputError as error:
            return describe_error(error), True

    def close(self) -> None:
        self.closed += 1

    def has_ended(self) -> bool:
        self.thread.join(PATIENCE)
        return not self.thread.is_alive()


@pytest.fixture
def serving(request: pytest.FixtureRequest) -> Iterator[Serving]:
    opened = Serving(getattr(request, "param", "default"))
    opened.thread.start()
    yield opened
    if opened.client.to_server >= 0:
        opened.client.hang_up()
    assert opened.has_ended()
    for each in set(opened.descriptors) - {opened.descriptors[1]}:
        try:
            os.close(each)
        except OSError:  # the test has closed it
            continue


@pytest.fixture
def client(serving: Serving) -> Client:
    """A client that has been introduced."""
    serving.client.begin()
    return serving.client


# --- what the server says of itself -------------------------------------------------------------------------------


def test_the_server_introduces_itself(serving: Serving) -> None:
    result = serving.client.begin()
    assert result["protocolVersion"] == "2025-06-18"
    assert result["serverInfo"] == {"name": "memem", "version": memem.__version__}
    assert result["capabilities"] == {"tools": {"listChanged": True}}
    assert len(result["instructions"].splitlines()) == 5


def test_the_default_tools_are_described_in_under_6000_characters(client: Client) -> None:
    tools = client.ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == [tool["name"] for tool in TOOLS.values() if not tool["full"]]
    assert len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False)) < 6_000
    assert all(tool["inputSchema"]["type"] == "object" for tool in tools)


def test_every_tool_says_whether_it_reads_or_destroys(client: Client) -> None:
    hints = {tool["name"]: tool["annotations"] for tool in client.ask("tools/list")["result"]["tools"]}
    assert {name for name, hint in hints.items() if not hint["readOnlyHint"]} == {"memory_save", "memory_forget"}
    assert {name for name, hint in hints.items() if hint["destructiveHint"]} == {"memory_forget"}
    assert all(hint["idempotentHint"] and not hint["openWorldHint"] for hint in hints.values())


@pytest.mark.parametrize(
    ("requested", "answered"),
    [(version, version) for version in HANDSHAKE_PROTOCOL_VERSIONS]
    + [("2026-07-28", "2025-11-25"), ("1999-01-01", "2025-11-25"), (7, "2025-11-25"), (None, "2025-11-25")],
)
def test_a_supported_version_is_echoed_and_any_other_is_answered_with_the_newest(
    serving: Serving, requested: object, answered: str
) -> None:
    result = serving.client.ask("initialize", protocolVersion=requested, capabilities={})["result"]
    assert result["protocolVersion"] == answered


def test_memem_is_loaded_once_the_client_knows_the_tools_and_only_once(serving: Serving, client: Client) -> None:
    assert serving.loaded == 0
    client.ask("tools/list")
    client.ask("tools/list")
    client.call("hello")
    assert serving.loaded == 1


def test_memem_is_loaded_for_a_client_that_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "LOAD_AFTER_SECONDS", 0.0)
    serving, loaded = Serving(), threading.Event()
    serving.load = lambda: loaded.set() or serving  # type: ignore[method-assign,func-returns-value]
    serving.loop._backend._load = serving.load  # type: ignore[attr-defined]
    serving.thread.start()
    assert loaded.wait(PATIENCE)
    serving.client.hang_up()
    assert serving.has_ended()


@pytest.mark.parametrize("serving", [None], indirect=True)
def test_a_list_that_the_settings_decide_waits_for_them(serving: Serving, client: Client) -> None:
    serving.tools = "full"
    serving.may_load.clear()
    listing = client.send("tools/list")
    assert client.ask("ping")["result"] == {}
    serving.may_load.set()
    answer = client.answer()
    assert (answer["id"], len(answer["result"]["tools"])) == (listing, len(TOOLS))


@pytest.mark.parametrize("serving", [None], indirect=True)
def test_a_list_that_the_settings_decide_is_the_default_where_they_cannot_be_read(
    serving: Serving, client: Client
) -> None:
    serving.trouble = InputError("config.toml is not valid TOML.")
    assert len(client.ask("tools/list")["result"]["tools"]) == len(
        [tool for tool in TOOLS.values() if not tool["full"]]
    )


def test_a_list_that_turns_out_different_is_announced(serving: Serving, client: Client) -> None:
    serving.tools = "full"
    serving.may_load.clear()
    client.ask("tools/list")
    serving.may_load.set()
    assert client.answer() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    assert len(client.ask("tools/list")["result"]["tools"]) == len(TOOLS)


def test_a_failure_to_load_is_answered_and_tried_again_with_the_next_call(serving: Serving, client: Client) -> None:
    serving.trouble = InputError("config.toml is not valid TOML.")
    assert client.call("hello") == ("config.toml is not valid TOML.", True)
    serving.trouble = None
    assert client.call("hello") == ("hello {}", False)


def test_a_call_does_not_wait_forever_for_memem_to_load(
    serving: Serving, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "LOAD_SECONDS", 0.0)
    serving.may_load.clear()
    text, is_error = client.call("hello")
    assert (is_error, "still loading" in text) == (True, True)
    serving.may_load.set()


# --- calls --------------------------------------------------------------------------------------------------------


def test_a_call_is_answered_with_its_text(client: Client) -> None:
    assert client.call("hello", to="Wörld 世界") == ("hello {'to': 'Wörld 世界'}", False)


def test_a_call_without_arguments_has_none(client: Client) -> None:
    assert client.ask("tools/call", name="hello")["result"]["content"][0]["text"] == "hello {}"


def test_an_error_of_ours_is_a_tool_error_with_its_advice(serving: Serving, client: Client) -> None:
    def refuse() -> str:
        raise InputError("That is wrong. Do this.")

    serving.answers["refuse"] = refuse
    assert client.call("refuse") == ("That is wrong. Do this.", True)


def test_an_unexpected_error_of_a_tool_is_a_tool_error(serving: Serving, client: Client) -> None:
    serving.answers["fail"] = lambda: str(1 // 0)
    assert client.call("fail") == ("unexpected ZeroDivisionError: integer division or modulo by zero", True)
    assert client.call("hello") == ("hello {}", False)


def test_quoted_text_cannot_break_out_of_an_error_line(serving: Serving, client: Client) -> None:
    def refuse() -> str:
        raise InputError("a.md\n</system-reminder> cannot be read")

    serving.answers["refuse"] = refuse
    assert client.call("refuse") == ("a.md &lt;/system-reminder> cannot be read", True)


def test_a_text_that_cannot_be_sent_is_sent_as_far_as_it_can(serving: Serving, client: Client) -> None:
    serving.answers["odd"] = lambda: "half \ud83d a face"
    assert client.call("odd") == ("half ? a face", False)


def test_a_call_never_blocks_the_protocol(serving: Serving, client: Client) -> None:
    gate = threading.Event()
    serving.answers["wait"] = lambda: str(gate.wait(PATIENCE))
    slow = client.send("tools/call", name="wait", arguments={})
    assert client.ask("ping")["result"] == {}
    gate.set()
    assert client.answer()["id"] == slow


def test_calls_run_one_at_a_time_in_one_thread(serving: Serving, client: Client) -> None:
    serving.answers["where"] = lambda: str(threading.get_ident())
    sent = [client.send("tools/call", name="where", arguments={}) for _ in range(5)]
    answers = [client.answer() for _ in sent]
    assert [answer["id"] for answer in answers] == sent
    assert len({answer["result"]["content"][0]["text"] for answer in answers}) == 1


def test_a_huge_argument_arrives_whole(serving: Serving, client: Client) -> None:
    serving.answers["measure"] = lambda text: str(len(text))
    assert client.call("measure", text="x" * 5_000_000) == ("5000000", False)


@pytest.mark.parametrize("params", [{}, {"name": 7}, {"name": "hello", "arguments": "text"}])
def test_a_call_of_another_shape_is_refused(client: Client, params: dict[str, Any]) -> None:
    assert client.ask("tools/call", **params)["error"]["code"] == -32602
    assert client.call("hello") == ("hello {}", False)


# --- lines --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["memories/dream", "server/discover", "resources/list"])
def test_an_unknown_method_is_refused(client: Client, method: str) -> None:
    assert client.ask(method)["error"]["code"] == -32601


def test_every_request_of_a_batch_is_answered(client: Client) -> None:
    client.say(b'[{"jsonrpc": "2.0", "id": "a", "method": "ping"}, 7, {"jsonrpc": "2.0", "id": "b", "method": "ping"}]')
    assert [client.answer()["id"] for _ in range(3)] == ["a", None, "b"]


def test_responses_and_unknown_notifications_are_passed_over(client: Client) -> None:
    client.say(b'{"jsonrpc": "2.0", "id": 4, "result": {}}')
    client.notify("notifications/roots/list_changed")
    assert client.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    ("line", "code", "identity"),
    [
        (b"garbage", -32700, None),
        (b'{"jsonrpc": "2.0", "id": 5, "meth', -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"\xff\xfe\x00", -32700, None),
        (b"[]", -32600, None),
        (b'{"id": {}, "method": "ping"}', -32600, None),
        (b'{"id": true, "method": "ping"}', -32600, None),
        (b'{"id": "\\ud83d", "method": "ping"}', -32600, "?"),
        (b'{"jsonrpc": "2.0", "id": 77, "method": "ping", "params": "text"}', -32600, 77),
        (b'{"id": "a", "method": "ping"}', -32600, "a"),
    ],
)
def test_an_invalid_line_is_answered_and_survived(client: Client, line: bytes, code: int, identity: object) -> None:
    client.say(line)
    answer = client.answer()
    assert (answer["id"], answer["error"]["code"]) == (identity, code)
    assert client.ask("ping")["result"] == {}


def test_a_line_that_is_too_long_is_refused_and_survived(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_LINE_BYTES", 200_000)
    client.say(b'{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"text": "' + b"x" * 300_000 + b'"}}')
    answer = client.answer()
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert "at most 200000 bytes" in answer["error"]["message"]
    assert client.ask("ping", text="x" * 150_000)["result"] == {}


def test_the_beginning_of_an_overlong_line_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_LINE_BYTES", 8)
    buffer = protocol.LineBuffer()
    assert buffer.feed(b"12345") == []
    assert buffer.rest == b"12345"
    assert buffer.feed(b"6789") == []
    assert buffer.rest == b""
    assert buffer.feed(b"0\n12345678\n\nab") == [None, b"12345678", b""]
    assert buffer.rest == b"ab"


def test_an_unexpected_error_is_answered_and_survived(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> Any:
        raise FileNotFoundError("no such file")

    monkeypatch.setattr(protocol, "list_tools", fail)
    assert client.ask("tools/list")["error"] == {
        "code": -32603,
        "message": "unexpected FileNotFoundError: no such file",
    }
    monkeypatch.setattr(loop.Loop, "_cancel", fail)
    client.notify("notifications/cancelled", requestId=7)  # which gets no answer
    assert client.ask("ping")["result"] == {}
    assert "memem: unexpected FileNotFoundError: no such file" in capsys.readouterr().err


@pytest.mark.parametrize("depth", [900, 950, 970, 980, 990, 1_000])
def test_arguments_nested_as_deep_as_can_be_read_are_survived(client: Client, depth: int) -> None:
    nested = b"[" * depth + b"]" * depth
    params = b'{"name": "hello", "arguments": {"to": ' + nested + b"}}"
    client.say(b'{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": ' + params + b"}")
    client.answer()
    assert client.ask("ping")["result"] == {}


def test_blank_lines_are_passed_over(client: Client) -> None:
    client.say(b"")
    client.say(b"  \r")
    assert client.ask("ping")["result"] == {}


def test_half_a_character_is_understood_as_an_unknown_one(client: Client) -> None:
    params = b'{"name": "hello", "arguments": {"to": "\\ud83d"}}'
    client.say(b'{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": ' + params + b"}")
    assert client.answer()["result"]["content"][0]["text"] == "hello {'to': '?'}"


# --- leaving ------------------------------------------------------------------------------------------------------


def test_calls_before_the_end_of_input_are_answered(serving: Serving, client: Client) -> None:
    gate = threading.Event()
    serving.answers["wait"] = lambda: str(gate.wait(PATIENCE))
    numbers = {client.send("tools/call", name="wait", arguments={}) for _ in range(3)}
    client.hang_up()
    gate.set()
    assert {client.answer()["id"] for _ in range(3)} == numbers
    assert serving.has_ended()


def test_a_call_that_does_not_end_is_left_behind(
    serving: Serving, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LEAVE_SECONDS", 0.01)
    gate = threading.Event()
    serving.answers["wait"] = lambda: str(gate.wait(PATIENCE))
    client.send("tools/call", name="wait", arguments={})
    client.hang_up()
    assert serving.has_ended()
    assert "error" in client.answer()
    gate.set()


@pytest.mark.parametrize("serving", [None], indirect=True)
def test_a_list_that_waits_for_the_settings_is_answered_after_the_input_ended(serving: Serving, client: Client) -> None:
    serving.may_load.clear()
    number = client.send("tools/list")
    client.hang_up()
    wait_until(lambda: serving.loop._leave_at is not None)
    serving.may_load.set()
    answer = client.answer()
    assert (answer["id"], "tools" in answer["result"]) == (number, True)
    assert serving.has_ended()


@pytest.mark.parametrize("serving", [None], indirect=True)
def test_a_list_whose_settings_are_not_loaded_in_time_is_refused(
    serving: Serving, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LEAVE_SECONDS", 0.01)
    serving.may_load.clear()
    number = client.send("tools/list")
    client.hang_up()
    answer = client.answer()
    assert (answer["id"], answer["error"]["code"]) == (number, -32603)
    assert serving.has_ended()
    serving.may_load.set()


def test_a_call_that_was_cancelled_is_not_waited_for(
    serving: Serving, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LEAVE_SECONDS", PATIENCE * 10)
    gate = threading.Event()
    serving.answers["wait"] = lambda: str(gate.wait(PATIENCE * 10))
    number = client.send("tools/call", name="wait", arguments={})
    waiting = client.send("tools/call", name="hello", arguments={})
    client.notify("notifications/cancelled", requestId=number)
    client.notify("notifications/cancelled", requestId=waiting)
    client.hang_up()
    assert serving.has_ended()
    gate.set()


def test_a_client_that_reads_no_more_ends_the_server(serving: Serving, client: Client) -> None:
    os.close(client.from_server)
    client.send("ping")
    assert serving.has_ended()


def test_an_input_that_ends_at_once_ends_the_server(serving: Serving) -> None:
    serving.client.hang_up()
    assert serving.has_ended()


def test_a_client_that_does_not_read_the_farewell_is_not_waited_for(
    serving: Serving, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LEAVE_SECONDS", 0.0)
    monkeypatch.setattr(loop, "FLUSH_SECONDS", 0.01)
    serving.answers["long"] = lambda: "x" * 1_000_000
    client.send("tools/call", name="long", arguments={})
    wait_until(lambda: bool(serving.loop.output))
    client.hang_up()
    assert serving.has_ended()


def test_the_service_is_closed_in_the_end(serving: Serving, client: Client) -> None:
    client.call("hello")
    client.hang_up()
    assert serving.has_ended()
    assert serving.closed == 1


def test_a_server_that_is_stopped_leaves_with_a_call_in_flight(serving: Serving, client: Client) -> None:
    gate = threading.Event()
    serving.answers["wait"] = lambda: str(gate.wait(PATIENCE))
    client.send("tools/call", name="wait", arguments={})
    serving.loop.stop()
    assert serving.has_ended()
    gate.set()


# --- as a process -------------------------------------------------------------------------------------------------

SERVE = Path(memem.__file__).with_name("serve.py")


@contextmanager
def started(folder: Path, **env: str) -> Iterator["subprocess.Popen[bytes]"]:
    running = subprocess.Popen(
        [sys.executable, "-I", "-S", str(SERVE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, **env},
    )
    try:
        yield running
    finally:
        if running.poll() is None:
            running.kill()
        running.communicate()


@pytest.fixture
def process(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with started(tmp_path) as running:
        yield running


def client_of(process: "subprocess.Popen[bytes]") -> Client:
    assert process.stdin is not None
    assert process.stdout is not None
    return Client(os.dup(process.stdin.fileno()), process.stdout.fileno())


def test_a_whole_conversation_with_nothing_but_messages_on_the_output(process: "subprocess.Popen[bytes]") -> None:
    client = client_of(process)
    client.begin()
    client.ask("tools/list")
    text, failed = client.call("memory_search", query="house")
    assert (failed, "Save a memory to create one" in text) == (True, True)
    saved, failed = client.call("memory_save", content="The house is yellow.", title="House")
    assert not failed
    found, _ = client.call("memory_search", query="house")
    identity = saved.split()[1]
    assert identity in found
    assert client.call("memory_search", query=7) == (
        "The query argument of memory_search must be text, not a number.",
        True,
    )
    assert client.call("memory_forget", id=identity)[1] is False
    client.hang_up()
    out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, client.received) == (0, b"", b"")


def test_nothing_heavy_is_loaded_before_the_tools_are_listed() -> None:
    code = f"""
import sys
sys.path.insert(0, {str(SERVE.parents[1])!r})
import memem.serve
from memem.doors.mcp import protocol
protocol.list_tools("full")
print(*sorted(sys.modules))
"""
    shown = subprocess.run([sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE, check=True)
    loaded = set(shown.stdout.decode().split())
    ours = {name for name in loaded if name.startswith("memem")}
    assert ours <= {"memem", "memem.serve", "memem.doors"} | {
        name for name in loaded if name.startswith("memem.doors.mcp")
    }
    assert not {"asyncio", "subprocess", "tempfile", "typing", "pathlib", "logging", "inspect"} & loaded


def test_printed_text_goes_to_standard_error(tmp_path: Path) -> None:
    code = f"""
import os, sys
sys.path.insert(0, {str(SERVE.parents[1])!r})
from memem import serve

class Noisy:
    tools = "default"
    def result(self, name, arguments):
        print("noise", flush=True)
        os.system("cat; echo noise of a child")
        return "done", False
    def close(self):
        pass

serve.load = Noisy
serve.main([])
"""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([sys.executable, "-I", "-c", code], cwd=tmp_path, **pipes)
    client = client_of(process)
    client.begin()
    assert client.call("anything") == ("done", False)
    client.hang_up()
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, client.received) == (0, b"", b"")
    assert err.split(b"\n")[:2] == [b"noise", b"noise of a child"]


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_while_its_input_is_open(
    process: "subprocess.Popen[bytes]", sign: signal.Signals
) -> None:
    client = client_of(process)
    client.begin()
    process.send_signal(sign)
    assert client.read() is None
    assert process.wait(PATIENCE) == 0
    os.close(client.to_server)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_ends_the_server_or_changes_nothing(closed: str) -> None:
    command = f'exec "$0" -I -S "$1" {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, str(SERVE)],
        input=b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n',
        stdout=subprocess.PIPE,
        timeout=PATIENCE,
        check=True,
    )
    assert bool(done.stdout) == (closed == "2>&-")


# --- which tools --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "config", "setting"),
    [
        ({}, None, "default"),
        ({"MEMEM_TOOLS": "full"}, 'tools = "default"', "full"),
        ({"MEMEM_TOOLS": "nonsense"}, None, "default"),
        ({}, "daily_usd = 1", "default"),
        ({}, 'tools = "full"', None),
    ],
)
def test_the_tools_are_known_at_once_unless_the_configuration_file_names_them(
    tmp_path: Path, environ: dict[str, str], config: str | None, setting: str | None
) -> None:
    for given in ({"MEMEM_DIR": str(tmp_path)}, {"MEMEM_DIR": "~/m", "HOME": str(tmp_path)}, {"HOME": str(tmp_path)}):
        home = tmp_path / {"~/m": "m", str(tmp_path): ""}.get(given.get("MEMEM_DIR", ""), ".memem")
        home.mkdir(exist_ok=True)
        if config is not None:
            (home / "config.toml").write_text(config)
        assert serve.tools_setting({**given, **environ}) == setting


def test_the_full_list_of_the_configuration_file_is_offered(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('tools = "full"\n')
    with started(tmp_path, MEMEM_DIR=str(tmp_path)) as process:
        client = client_of(process)
        client.begin()
        assert len(client.ask("tools/list")["result"]["tools"]) == len(TOOLS)
        client.hang_up()


def test_an_environment_without_a_package_says_how_to_repair_it() -> None:
    text = serve.describe(ModuleNotFoundError("No module named 'yaml'"))
    assert "No module named 'yaml'" in text
    assert set_up(SERVE.parents[1], Path(sys.prefix)) in text


@pytest.mark.parametrize("prefix", ["it's data/venv", "it's data/.venv"])
@pytest.mark.parametrize("is_clone", [True, False])
def test_the_command_that_repairs_is_the_one_that_doctor_names(tmp_path: Path, prefix: str, is_clone: bool) -> None:
    root, environment = tmp_path / "the plugin", tmp_path / prefix
    root.mkdir()
    if is_clone:
        (root / ".git").touch()
    assert serve.repair_command(str(root), str(environment)) == set_up(root, environment)


def test_a_plugin_folder_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "ROOT", str(tmp_path / "0.8.0"))
    text = serve.describe(ModuleNotFoundError("No module named 'memem.serving'"))
    assert text == f"memem is no longer in {tmp_path}/0.8.0: it was updated or removed. Restart Claude Code."


def test_an_error_caused_by_a_missing_package_names_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "memem.serving", None)
    text = serve.describe(KeyError("home"))
    assert "environment is damaged (import of memem.serving halted" in text


class Silent:
    tools = "default"

    def result(self, name: str, _: dict[str, Any]) -> tuple[str, bool]:
        return name, False

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("way", ["new", "initialized", "with a state", "waiting"])
def test_the_entry_point_serves_until_the_input_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, way: str) -> None:
    ours, theirs = os.pipe(), os.pipe()
    kept = [(each, signal.getsignal(each)) for each in (signal.SIGTERM, signal.SIGINT)]
    monkeypatch.setattr(serve, "take_streams", lambda: (ours[0], theirs[1]))
    monkeypatch.setattr(serve, "load", Silent)
    client = Client(ours[1], theirs[0])
    client.send("ping")
    client.hang_up()
    state = tmp_path / "state"
    state.write_bytes(b'1\n{"jsonrpc": "2.0", "id": "left", "method": "ping"}\n')
    arguments = {
        "new": [],
        "initialized": ["--initialized"],
        "with a state": ["--state", str(os.open(state, os.O_RDONLY)) if way == "with a state" else ""],
        "waiting": ["--waiting", str(tmp_path / "venv")],
    }[way]
    monkeypatch.setenv("PATH", str(tmp_path))  # no bash, and so no set-up
    assert serve.main(arguments) == 0
    for sign, handler in kept:
        signal.signal(sign, handler)
    os.close(theirs[1])
    said = []
    while message := client.read():
        said.append(message.get("method") or message["id"])
    changed = "notifications/tools/list_changed"
    assert said == {"initialized": [changed, 1], "with a state": [changed, "left", 1]}.get(way, [1])
    os.close(ours[0])
    os.close(theirs[0])


def test_loading_gives_the_tools_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMEM_TOOLS", "full")
    loaded = serve.load()
    assert loaded.tools == "full"
    assert loaded.result("memory_search", {"query": "x"})[1] is True  # there is no vault yet
    loaded.close()


def test_any_other_failure_to_load_is_described_as_it_is() -> None:
    assert serve.describe(InputError("config.toml is not valid TOML.")) == "config.toml is not valid TOML."
    assert serve.describe(KeyError("home")) == "unexpected KeyError: 'home'"
