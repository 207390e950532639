"""A real Claude Code on a machine where memem is not set up yet, or cannot be: the user gets one clear line, the
conversation goes on, and the tools work as soon as the cause is gone."""

import json
import os
import pwd
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from tests.e2e.claude_code import TOOL, Conversation, Machine, install, wait_until
from tests.e2e.conftest import AWKWARD, MODEL, PATIENT, claude
from tests.e2e.model_stub import ModelStub, Request, tool_use

SLOW_SECONDS = 40
"""More than the 30 seconds after which Claude Code gives a server up."""
SERVER = "plugin:memem:memem"
SAVE = {"content": "Tokens of the shop are signed with RS256.", "title": "Signing"}
BEING_SET_UP = "memem is being set up in the background"
UNREACHABLE = "memem could not be set up: the package index cannot be reached. Check the network connection"


@pytest.fixture
def fresh(stub: ModelStub, runtime: str, tmp_path: Path) -> Iterator[Machine]:
    """A machine on which memem has never run, and which reaches no package index."""
    own = MODEL | PATIENT | {"XDG_RUNTIME_DIR": runtime, "PIP_RETRIES": "0", "UV_HTTP_RETRIES": "0"}
    machine = Machine(claude("2.1.325"), tmp_path / f"{AWKWARD} new", stub, own)
    machine.home.mkdir()
    yield machine
    machine.settle()


def messages(conversation: Conversation) -> list[str]:
    """Return the messages hooks showed to the user, in order."""
    printed = [hook["stdout"] for hook in conversation.hooks if hook["stdout"]]
    return [told for text in printed if (told := json.loads(text).get("systemMessage"))]


def is_complete(machine: Machine) -> bool:
    ours = machine.data / "venv" / ".memem"
    return (ours / "requirements.lock").exists() and not (ours / "changing").exists()


def let_retry(machine: Machine) -> None:
    """As if the last failure were half a minute ago."""
    (machine.data / "venv" / ".memem" / "failed-at").unlink()


def asks_to_save(request: Request) -> bool:
    return "Save it" in request.last_message and not request.tool_result


def save(machine: Machine, stub: ModelStub, project: Path) -> tuple[Conversation, str]:
    """A conversation in which the model saves a memory, and what the tool answered."""
    stub.answers(asks_to_save, tool_use(f"{TOOL}memory_save", **SAVE))
    conversation = machine.says("Save it.", "--allowedTools", f"{TOOL}memory_save", cwd=project)
    assert conversation.result == "All right."
    assert conversation.servers == {SERVER: "connected"}
    return conversation, stub.requests[-1].tool_result


def script(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def path_without_python(folder: Path) -> Path:
    """A folder with every program of this machine but Python and uv."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*") if Path(place, "bash").exists() or Path(place, "node").exists() else ():
            link = folder / program.name
            if not program.name.startswith(("python", "pip", "uv", "pyenv")) and not link.is_symlink():
                link.symlink_to(program)
    return folder


def old_python() -> Path | None:
    versions = Path(os.environ.get("PYENV_ROOT") or Path(pwd.getpwuid(os.getuid()).pw_dir, ".pyenv")) / "versions"
    return next((python for old in ("3.9", "3.10", "3.8") for python in versions.glob(f"{old}.*/bin/python3")), None)


def test_a_slow_set_up_is_reported_and_the_tools_work_in_the_same_session(
    fresh: Machine, stub: ModelStub, plugin: Path, project: Path, tmp_path: Path
) -> None:
    machine = replace(fresh, online=True)
    script(tmp_path / "bin" / "uv", f"sleep {SLOW_SECONDS}; exit 1")  # pip does the work then
    machine.more["PATH"] = os.pathsep.join([str(tmp_path / "bin"), machine.env["PATH"]])
    install(machine, plugin)
    is_ready = Event()
    call = tool_use(f"{TOOL}memory_save", **SAVE)
    stub.answers(lambda request: "is being set up" in request.tool_result, call, gate=is_ready)
    stub.answers(asks_to_save, call)
    began = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(machine.says, "Save it.", "--allowedTools", f"{TOOL}memory_save", cwd=project)
        wait_until(lambda: is_complete(machine) or running.done(), lambda: "no environment")
        assert time.monotonic() - began > SLOW_SECONDS
        is_ready.set()
        conversation = running.result()
    assert [message for message in messages(conversation) if BEING_SET_UP in message] == messages(conversation)[:1]
    assert conversation.servers == {SERVER: "connected"}
    results = [request.tool_result for request in stub.requests if request.tool_result]
    assert "(this takes about a minute the first time)" in results[0]
    assert "Saved" in results[-1], results
    assert SAVE["content"] in machine.notes()


def test_without_a_network_every_script_gets_the_reason_and_with_one_the_tools_work(
    fresh: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    install(fresh, plugin)
    first = fresh.says("Hello.", cwd=project)
    assert (first.result, first.servers) == ("All right.", {SERVER: "connected"})
    fresh.settle()
    second, answered = save(fresh, stub, project)
    assert "the package index cannot be reached" in answered
    third = fresh.says("Hello.", cwd=project)
    assert [message[: len(UNREACHABLE)] for message in messages(second) + messages(third)] == [UNREACHABLE] * 2
    assert len(messages(first)) == 1
    assert not (fresh.data / "venv" / ".memem" / "told").exists()  # the next interactive session shows it
    fresh.settle()
    let_retry(fresh)
    online = replace(fresh, online=True)
    online.says("Hello.", cwd=project)
    online.settle()
    _, answered = save(online, stub, project)
    assert "Saved" in answered


@pytest.mark.parametrize("python", ["old", "none"])
def test_without_python_3_11_the_user_is_told_what_to_install_and_with_one_the_tools_work(
    fresh: Machine, stub: ModelStub, plugin: Path, project: Path, tmp_path: Path, python: str
) -> None:
    programs = path_without_python(tmp_path / "bin")
    if python == "old":
        old = old_python()
        if old is None:
            pytest.skip("pyenv has no Python 3.8 to 3.10")
        (programs / "python3").symlink_to(old)
    machine = replace(fresh, more=fresh.more | {"PATH": f"{fresh.claude.parent}{os.pathsep}{programs}"})
    install(machine, plugin)
    first = machine.says("Hello.", cwd=project)
    assert (first.result, first.servers) == ("All right.", {SERVER: "connected"})
    machine.settle()
    (reason,) = messages(machine.says("Hello.", cwd=project))
    assert "memem needs Python 3.11 or newer; this computer has" in reason
    assert "Install one from python.org or with your package manager" in reason
    machine.settle()
    if python == "none":
        return  # the rest is the same
    _, answered = save(machine, stub, project)
    assert "memem needs Python 3.11 or newer" in answered
    machine.settle()
    let_retry(machine)
    able = replace(fresh, online=True)
    able.says("Hello.", cwd=project)
    able.settle()
    _, answered = save(able, stub, project)
    assert "Saved" in answered


def test_a_server_that_died_at_its_start_is_reported_and_starts_again_later(
    machine: Machine, stub: ModelStub, project: Path, plugin: Path
) -> None:
    entry = plugin / "memem" / "serve.py"
    cache = machine.home / ".claude" / "mcp-needs-auth-cache.json"
    source = entry.read_text(encoding="utf-8")
    entry.write_text("raise SystemExit(1)\n", encoding="utf-8")
    try:
        first = machine.says("Hello.", cwd=project)
    finally:
        entry.write_text(source, encoding="utf-8")
    assert (first.result, first.servers) == ("All right.", {SERVER: "failed"})
    second = machine.says("Hello.", cwd=project)
    assert (second.result, second.servers) == ("All right.", {SERVER: "failed"})  # though nothing is wrong any more
    (told,) = messages(second)
    assert told.startswith("memem's tools are missing")
    assert "Type /mcp, choose memem, then Reconnect." in told
    findings = machine.memem(plugin, "doctor", "--json", cwd=project)
    assert "`/mcp`, choose memem, then Reconnect" in findings
    noted = json.loads(cache.read_text(encoding="utf-8"))
    noted[SERVER]["timestamp"] -= 15 * 60 * 1000
    cache.write_text(json.dumps(noted), encoding="utf-8")
    _, answered = save(machine, stub, project)
    assert "Saved" in answered
    assert "Reconnect" not in machine.memem(plugin, "doctor", "--json", cwd=project)
