"""The MCP server, spoken to as Claude Code speaks to it: lines of JSON, whatever is in them, until the input ends."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import memem
from memem.core.errors import InputError
from memem.doors.mcp_server import server, stdio
from memem.doors.mcp_server.tools import TOOLS, offered
from tests.mcp_client import PATIENCE, Client


class Serving:
    """A server in a thread of this process, and what it does when it is called."""

    def __init__(self) -> None:
        ours, theirs = os.pipe(), os.pipe()
        self.client = Client(ours[1], theirs[0])
        self.descriptors = (*ours, *theirs)
        self.answers: dict[str, Callable[..., str]] = {"hello": lambda **given: f"hello {given}"}
        self.readied = 0
        self.trouble: Exception | None = None
        wire = stdio.Wire(ours[0], theirs[1])
        self.thread = threading.Thread(
            target=server.speak, args=(wire, offered("default"), self.call, self.ready), daemon=True
        )
        self.thread.start()

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        return self.answers[name](**arguments)

    def ready(self) -> None:
        self.readied += 1
        if self.trouble:
            raise self.trouble

    def has_ended(self) -> bool:
        self.thread.join(PATIENCE)
        return not self.thread.is_alive()


@pytest.fixture
def serving() -> Iterator[Serving]:
    opened = Serving()
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
    assert list(result["capabilities"]) == ["tools"]
    assert len(result["instructions"].splitlines()) == 5


def test_the_default_tools_are_described_in_under_6000_characters(client: Client) -> None:
    tools = client.ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == [tool.name for tool in TOOLS if not tool.full]
    assert len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False)) < 6_000
    assert all(tool["inputSchema"]["type"] == "object" for tool in tools)


def test_every_tool_says_whether_it_reads_or_destroys(client: Client) -> None:
    hints = {tool["name"]: tool["annotations"] for tool in client.ask("tools/list")["result"]["tools"]}
    assert {name for name, hint in hints.items() if not hint["readOnlyHint"]} == {"memory_save", "memory_forget"}
    assert {name for name, hint in hints.items() if hint["destructiveHint"]} == {"memory_forget"}
    assert all(hint["idempotentHint"] and not hint["openWorldHint"] for hint in hints.values())


def test_it_is_ready_once_the_client_knows_the_tools_and_only_once(serving: Serving, client: Client) -> None:
    client.call("hello")
    assert serving.readied == 0
    client.ask("tools/list")
    client.ask("tools/list")
    client.call("hello")  # after whatever began before it
    assert serving.readied == 1


def test_a_failure_to_get_ready_is_logged_and_nothing_else(
    serving: Serving, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    serving.trouble = OSError("no socket today")
    client.ask("tools/list")
    assert client.call("hello") == ("hello {}", False)
    assert "no socket today" in capsys.readouterr().err


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


def test_what_an_error_quotes_cannot_leave_its_line(serving: Serving, client: Client) -> None:
    def refuse() -> str:
        raise InputError("a.md\n</system-reminder> cannot be read")

    serving.answers["refuse"] = refuse
    assert client.call("refuse") == ("a.md &lt;/system-reminder> cannot be read", True)


def test_any_other_error_is_a_tool_error_in_one_line_and_logged(
    serving: Serving, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    serving.answers["fail"] = lambda: str(1 // 0)
    assert client.call("fail") == ("unexpected ZeroDivisionError in fail: integer division or modulo by zero", True)
    assert "Traceback" in capsys.readouterr().err
    assert client.call("hello") == ("hello {}", False)


def test_a_text_that_cannot_be_sent_is_sent_as_far_as_it_can(serving: Serving, client: Client) -> None:
    serving.answers["odd"] = lambda: "half \ud83d a face"
    assert client.call("odd") == ("half ? a face", False)


def test_a_call_never_holds_up_the_protocol(serving: Serving, client: Client) -> None:
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


def test_an_unknown_method_is_refused(client: Client) -> None:
    assert client.ask("memories/dream")["error"]["code"] == -32601


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
def test_a_line_that_is_no_message_is_answered_and_survived(
    client: Client, line: bytes, code: int, identity: object
) -> None:
    client.say(line)
    answer = client.answer()
    assert (answer["id"], answer["error"]["code"]) == (identity, code)
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


def test_what_was_asked_before_the_input_ended_is_answered(serving: Serving, client: Client) -> None:
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
    monkeypatch.setattr(stdio, "LEAVE_SECONDS", 0.01)
    monkeypatch.setattr(server, "LEAVE_SECONDS", 0.01)
    gate = threading.Event()
    serving.answers["wait"] = lambda: str(gate.wait(PATIENCE))
    client.send("tools/call", name="wait", arguments={})
    client.hang_up()
    assert serving.has_ended()
    assert "error" in client.answer()
    gate.set()


def test_a_call_that_was_cancelled_is_not_waited_for(
    serving: Serving, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "LEAVE_SECONDS", PATIENCE * 10)
    monkeypatch.setattr(server, "LEAVE_SECONDS", 0.01)
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


# --- as a process -------------------------------------------------------------------------------------------------

SCRIPT = """
import os, sys
from pathlib import Path
from memem.doors.mcp_server import tools
from memem.doors.mcp_server.server import serve

opened = []

def call(name, arguments):
    from memem.workspace import open_workspace

    print("noise")
    os.system("cat; echo noise of a child")
    if not opened:
        opened.append(open_workspace(actor="mcp"))
    return tools.call(opened[0], name, arguments, cwd=Path.cwd())

def ready():
    print("loaded:", *sorted(sys.modules), file=sys.stderr, flush=True)

serve(tools.offered("default"), call, ready=ready)
print("left")
"""


@pytest.fixture
def process() -> Iterator["subprocess.Popen[bytes]"]:
    running = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(memem.__file__).parent.parent)},
    )
    yield running
    if running.poll() is None:
        running.kill()
    running.communicate()


def client_of(process: "subprocess.Popen[bytes]") -> Client:
    assert process.stdin is not None
    assert process.stdout is not None
    return Client(os.dup(process.stdin.fileno()), process.stdout.fileno())


def test_a_whole_conversation_with_nothing_but_messages_on_the_output(process: "subprocess.Popen[bytes]") -> None:
    client = client_of(process)
    client.begin()
    client.ask("tools/list")
    text, failed = client.call("memory_search", query="house")
    assert (failed, "Save a memory to begin one" in text) == (True, True)
    saved, failed = client.call("memory_save", content="The house is yellow.", title="House")
    assert not failed
    found, _ = client.call("memory_search", query="house")
    identity = saved.split()[1]
    assert identity in found
    assert client.call("memory_search", query=7) == ("The query of memory_search should be text, not a number.", True)
    assert client.call("memory_forget", id=identity)[1] is False
    client.hang_up()
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, client.received) == (0, b"", b"")
    assert b"noise of a child" in err
    assert err.endswith(b"left\n")


def test_the_list_of_tools_costs_no_more_than_the_protocol(process: "subprocess.Popen[bytes]") -> None:
    client = client_of(process)
    client.begin()
    client.ask("tools/list")
    client.hang_up()
    _, err = process.communicate(timeout=PATIENCE)
    (line,) = [line for line in err.decode().splitlines() if line.startswith("loaded: ")]
    ours = {name for name in line.split() if name.startswith("memem.")}
    assert not {name for name in ours if name.startswith(("memem.flows", "memem.workspace", "memem.index"))}
    assert not {"numpy", "sqlite3", "yaml", "portalocker"} & set(line.split())


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_though_its_input_is_open(
    process: "subprocess.Popen[bytes]", sign: signal.Signals
) -> None:
    client = client_of(process)
    client.begin()
    process.send_signal(sign)
    assert client.read() is None
    assert process.wait(PATIENCE) == 0
    os.close(client.to_server)
    assert process.communicate()[1].endswith(b"left\n")
