"""`memem serve` as it runs: one process per session, of which one leads and answers the hooks of all."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import memem
from memem import serving
from memem.core.errors import IndexDamaged
from memem.doors.engine.protocol import Request
from memem.doors.hook import client as hook
from memem.notes import save
from memem.workspace import Workspace
from tests.mcp_client import Client

MAIN = Path(memem.__file__).with_name("__main__.py")
SECONDS = 60

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes as Linux shows them")


class Server:
    """A server of its own, and the session that it is of."""

    def __init__(self, environ: dict[str, str], cwd: Path) -> None:
        command = [sys.executable, "-P", str(MAIN), "serve"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=environ, cwd=cwd, **pipes)
        assert self.process.stdin
        assert self.process.stdout
        self.client = Client(self.process.stdin.fileno(), self.process.stdout.fileno())
        self.client.begin()
        self.client.ask("tools/list")

    def says(self, tool: str, **arguments: Any) -> str:
        text, is_error = self.client.call(tool, **arguments)
        assert not is_error, text
        return text

    @property
    def has_numpy(self) -> bool:
        return "numpy" in Path(f"/proc/{self.process.pid}/maps").read_text(errors="replace")

    def end(self) -> str:
        """Hang up, and what it has complained of meanwhile."""
        _, said = self.process.communicate(timeout=SECONDS)
        return str(said.decode())


@pytest.fixture
def environ(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    ours = {"MEMEM_DIR": str(ws.settings.home), "MEMEM_OBSIDIAN_VAULT": str(ws.settings.vault)}
    for name, value in ours.items():
        monkeypatch.setenv(name, value)
    return {**os.environ, **ours}


@pytest.fixture
def start(environ: dict[str, str], shop: Path) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def begin(**more: str) -> Server:
        servers.append(Server({**environ, **more}, shop))
        return servers[-1]

    yield begin
    for server in servers:
        if server.process.poll() is None:
            assert server.end() == ""
        for pipe in (server.process.stdin, server.process.stdout, server.process.stderr):
            if pipe:
                pipe.close()


@pytest.fixture
def tokens(ws: Workspace) -> str:
    """A memory that is worth a slice."""
    text = "Tokens are signed with RS256, because the gateway cannot share a secret."
    return save.save(ws, text, title="Token signing", project="shop").memory.id8


def ask_engine(event: str, cwd: Path, **more: Any) -> tuple[str, str]:
    """Return the engine's answer to a hook, and the context in it."""
    told = {"session_id": "s1", "cwd": str(cwd), "hook_event_name": event, **more}
    outcome, answer = hook.ask_engine(event, json.dumps(told).encode())
    if outcome != "done" or not answer:
        return outcome, answer.decode()
    return outcome, json.loads(answer)["hookSpecificOutput"]["additionalContext"]


def eventually(work: Callable[[], Any], wanted: Callable[[Any], bool]) -> Any:
    """Repeat `work` until its result is the expected one: an engine takes its time to start or take over."""
    until = time.monotonic() + SECONDS
    while not wanted(found := work()):
        assert time.monotonic() < until, found
        time.sleep(0.02)
    return found


def test_a_hook_is_answered_by_the_running_server(start: Callable[..., Server], shop: Path, tokens: str) -> None:
    start()
    prompt = "how are tokens signed with RS256 in the gateway?"
    found = eventually(lambda: ask_engine("UserPromptSubmit", shop, prompt=prompt), lambda found: found[0] == "done")
    assert tokens in found[1]
    assert ask_engine("UserPromptSubmit", shop, prompt=prompt) == ("done", "")  # it stands in the context already
    assert ask_engine("UserPromptSubmit", shop, prompt=prompt, session_id="s2")[1] == found[1]


def test_a_new_session_is_briefed_by_the_server_of_another(
    start: Callable[..., Server], ws: Workspace, shop: Path
) -> None:
    save.save(ws, "shop is a FastAPI service.", title="What shop is", project="shop", layer=0)
    start()
    ask = lambda: ask_engine("SessionStart", shop, source="startup")  # noqa: E731
    assert "FastAPI" in eventually(ask, lambda found: found[0] == "done")[1]


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize(
    "other",
    [
        {"MEMEM_OBSIDIAN_VAULT": "/srv/another"},
        {"MEMEM_INJECTION_MODE": "tool"},
        {"CLAUDE_PLUGIN_OPTION_DAILY_USD": "7"},
        {"HOME": "/srv/somebody"},
        {"MEMEM_OBSIDIAN_VAULT": "notes"},
        {"MEMEM_INJECTION_MODE": "loud"},
    ],
)
def test_a_hook_with_other_settings_is_sent_away(
    start: Callable[..., Server], shop: Path, tokens: str, monkeypatch: pytest.MonkeyPatch, other: dict[str, str]
) -> None:
    start()
    eventually(lambda: ask_engine("UserPromptSubmit", shop, prompt="hello"), lambda found: found[0] == "done")
    for name, value in other.items():
        monkeypatch.setenv(name, value)
    assert ask_engine("UserPromptSubmit", shop, prompt="hello") == ("other", "")


def test_a_hook_of_another_version_is_sent_away(
    start: Callable[..., Server], shop: Path, tokens: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start()
    eventually(lambda: ask_engine("UserPromptSubmit", shop, prompt="hello"), lambda found: found[0] == "done")
    monkeypatch.setattr(hook, "ROOT", "/srv/plugins/memem/0.0.1")
    assert ask_engine("UserPromptSubmit", shop, prompt="hello") == ("other", "")


def test_a_running_server_follows_changed_settings(
    start: Callable[..., Server], ws: Workspace, shop: Path, tokens: str, tmp_path: Path, environ: dict[str, str]
) -> None:
    del environ["MEMEM_OBSIDIAN_VAULT"]
    ws.home.config_file.write_text(f'vault = "{ws.settings.vault}"\n')
    server = start(MEMEM_OBSIDIAN_VAULT="")
    assert tokens in server.says("memory_search", query="RS256")
    ws.home.config_file.write_text(f'vault = "{tmp_path / "second"}"\n')
    server.says("memory_save", content="Invoices are numbered per year.", title="Invoices")
    assert len(list((tmp_path / "second" / "memem" / "memories").glob("*.md"))) == 1
    assert "Nothing found" in server.says("memory_search", query="RS256")


def test_when_the_leader_is_killed_the_next_one_answers(start: Callable[..., Server], shop: Path, tokens: str) -> None:
    first, second = start(), start()
    eventually(lambda: ask_engine("UserPromptSubmit", shop, prompt="hello"), lambda found: found[0] == "done")
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    ask = lambda: ask_engine("UserPromptSubmit", shop, prompt="tokens signed RS256 gateway")  # noqa: E731
    assert tokens in eventually(ask, lambda found: found[0] == "done")[1]
    assert tokens in second.says("memory_search", query="RS256")


def test_a_late_leader_is_used_again_once_it_is_done(
    ws: Workspace, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first prompt is slow because it loads the model; the second must not fail for that."""

    def slow(ws: Workspace, *_: object, **__: object) -> bytes:
        ws.home.engine_late.parent.mkdir(parents=True, exist_ok=True)
        ws.home.engine_late.touch()  # the hook has given up
        answered.wait(SECONDS)
        return b""

    answered = threading.Event()
    monkeypatch.setattr("memem.doors.hook.answers.answer", slow)
    facts = {**environ, "root": serving.ROOT, "cwd": environ["HOME"], "seconds": "0.05"}
    server = serving.Serving()
    request = Request("hook", "UserPromptSubmit", facts, b"{}")
    asking = threading.Thread(target=server.answer, args=(request,))
    try:
        asking.start()
        eventually(ws.home.engine_late.exists, bool)
        asking.join(0.1)  # longer than the hook waits
        answered.set()
        asking.join(SECONDS)
        assert not ws.home.engine_late.exists()
    finally:
        server.close()


def test_a_new_leader_is_used_at_once_after_a_late_one(
    start: Callable[..., Server], ws: Workspace, shop: Path, tokens: str
) -> None:
    ws.home.engine_late.parent.mkdir(parents=True, exist_ok=True)
    ws.home.engine_late.touch()
    server = start()
    until = time.monotonic() + SECONDS
    while ws.home.engine_late.exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    server.end()


def test_a_tool_error_at_the_leader_reaches_the_follower(start: Callable[..., Server], tokens: str) -> None:
    start()
    follower = start()
    text, is_error = follower.client.call("memory_timeline", memory_id="00000000")
    assert is_error
    assert "No memory has the id" in text


def test_a_save_is_found_by_the_other_server_at_once(start: Callable[..., Server], shop: Path, tokens: str) -> None:
    first, second = start(), start()
    second.says("memory_save", content="Orders are archived after 400 days.", title="Archive")
    assert "400 days" in first.says("memory_search", query="archived orders")


def test_however_many_servers_run_there_is_one_encoder(
    start: Callable[..., Server], ws: Workspace, tokens: str, weights_folder: Path, shop: Path
) -> None:
    with_model = {"MEMEM_ENCODER": "minilm", "MEMEM_MODEL_DIR": str(weights_folder)}
    leader = start(**with_model)
    eventually(lambda: ask_engine("PermissionRequest", shop)[0], lambda outcome: outcome in ("done", "other"))
    followers = [start(**with_model) for _ in range(2)]
    for follower in followers:
        assert tokens in follower.says("memory_search", query="which algorithm do we use for signatures?")
    assert leader.has_numpy
    assert [follower.has_numpy for follower in followers] == [False, False]


def test_a_home_without_sockets_is_served(start: Callable[..., Server], ws: Workspace, tokens: str) -> None:
    ws.home.engine_lock.mkdir(parents=True)
    server = start()
    assert tokens in server.says("memory_search", query="RS256")
    assert "The shared engine cannot start here" in server.end()


def test_unreadable_settings_are_named_until_they_are_fixed(
    start: Callable[..., Server], ws: Workspace, tokens: str
) -> None:
    server = start()
    assert tokens in server.says("memory_search", query="RS256")
    ws.home.config_file.write_text("vault = \n")
    for _ in range(2):
        text, is_error = server.client.call("memory_search", query="RS256")
        assert is_error
        assert "is not valid TOML" in text
    ws.home.config_file.unlink()
    assert tokens in server.says("memory_search", query="RS256")


def test_a_leader_that_did_not_answer_is_avoided_for_a_while(
    environ: dict[str, str], tokens: str, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.chdir(shop)
    monkeypatch.setattr(serving, "TOOL_SECONDS", 0.0)
    follower = serving.Serving()
    monkeypatch.setattr(follower.engine, "ask", lambda request, _: asked.append(request.name))
    for _ in range(2):
        assert tokens in follower.call("memory_search", {"query": "RS256"})
    follower.close()
    assert asked == ["memory_search"]


def test_an_unexpected_error_is_a_tool_error_in_one_line_and_logged(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = serving.Serving()
    monkeypatch.setattr(server, "call", lambda *_: str(1 // 0))
    assert server.result("fail", {}) == (
        "unexpected ZeroDivisionError in fail: integer division or modulo by zero",
        True,
    )
    assert "Traceback" in capsys.readouterr().err
    server.close()


def test_a_damaged_index_is_tried_again_once(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes: list[Exception | str] = [IndexDamaged("set aside"), "found"]

    def call(*_: object) -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    server = serving.Serving()
    monkeypatch.setattr(server, "call", call)
    assert server.result("memory_search", {}) == ("found", False)
    server.close()
