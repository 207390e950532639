"""Screens of the real Claude Code: signs of life, lessons learned, and problems."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import skip_or_fail
from tests.e2e.claude_code import TOOL, Machine, install
from tests.e2e.conftest import MODEL, PATIENT, claude
from tests.e2e.model_stub import STRUCTURED, ModelStub, Request, text, tool_use
from tests.e2e.terminal import Terminal, terminal

SAID = "Remember that the staging database of the shop listens on port 6543, because 5432 is taken by the old one."
ASKED = "What are tokens of the shop signed with?"
TITLE = "Staging database port"
READ_ONLY = 'set -e; mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"'
FULL = """set -e; cp -a "$1" "$1.kept"; mount -t tmpfs -o size=4m,mode=700 none "$1"; cp -a "$1.kept/." "$1"
cat /dev/zero >"$1/filler" 2>/dev/null || true"""


def learn(stub: ModelStub) -> None:
    """Have the miner's model find the lesson."""
    lesson: dict[str, Any] = {
        "op": "ADD",
        "target": None,
        "title": TITLE,
        "content": "The staging database of the shop listens on port 6543.",
        "kind": "fact",
        "scope": "project",
        "importance": 3,
        "keys": [],
        "paths": [],
        "quote": "the staging database of the shop listens on port 6543",
    }
    stub.answers(
        lambda request: request.is_mining and "6543" in request.everything and not request.tool_result,
        tool_use(STRUCTURED, operations=[lesson]),
    )


def say(screen: Terminal, words: str) -> None:
    """One turn."""
    answers = screen.text.count("All right.")
    screen.type(words)
    screen.wait_for("All right.", times=answers + 1)
    screen.wait_until_idle()


def has_news(machine: Machine) -> bool:
    """Whether something waits to be shown with the next prompt."""
    return any((machine.memem_dir / "state" / "notices").glob("news-*"))


@contextmanager
def mounting(machine: Machine, how: str, folder: Path) -> Iterator[Machine]:
    """The machine as it is where `how` mounts something over a folder, for nobody else to see."""
    if not shutil.which("unshare") or not shutil.which("nsenter"):
        skip_or_fail("claude", "needs unshare and nsenter, to mount what only the test sees")
    command = ["unshare", "--mount", "sh", "-c", f"{how}\necho done && exec cat", "sh", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        if holder.stdout.readline() != "done\n":
            skip_or_fail("claude", "cannot mount anything here")
        inside = machine.home / "tmp" / "claude-inside"
        inside.parent.mkdir(parents=True, exist_ok=True)
        enter = f'exec nsenter --target={holder.pid} --mount --wd="$PWD" "{machine.claude}" "$@"'
        inside.write_text(f"#!/bin/sh\n{enter}\n", encoding="utf-8")
        inside.chmod(0o755)
        yield replace(machine, claude=inside)
        machine.settle()
        holder.communicate()


def test_notices_name_the_memories_learned_shown_and_used(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    machine.memem(plugin, "mining", "on", cwd=project)
    learn(stub)
    with terminal(machine, project) as screen:
        screen.wait_for("memem: no memories yet · mining on")
        say(screen, SAID)
        screen.wait_until(lambda: has_news(machine), "the lesson")
        say(screen, "Thank you.")
        screen.wait_for(f"memem learned: {TITLE}")
    assert TITLE in machine.notes()
    machine.settle()
    # One that is not on the playbook yet, which every session is told at its start.
    machine.memem(plugin, "save", "Tokens of the shop are signed with RS256.", "--title", "Signing", cwd=project)
    (note,) = machine.vault.rglob("memem/memories/signing-*.md")
    stub.answers(lambda request: ASKED in request.last_message, text(f"With RS256 ({note.stem[-8:]}). All right."))
    with terminal(machine, project) as screen:
        screen.wait_for("memem: 2 memories for shop · mining on")
        say(screen, ASKED)
        screen.wait_for("memem showed Claude: Signing")
        screen.wait_until(lambda: has_news(machine), "the judgement")
        say(screen, "Thank you.")
        screen.wait_for("Claude used: Signing")


def test_a_missing_login_is_reported_and_so_is_its_end(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    machine.more["MEMEM_RETRY_BASE_SECONDS"] = "0"
    machine.memem(plugin, "mining", "on", cwd=project)
    learn(stub)
    stub.fails(lambda request: request.is_mining, 401)
    problems = machine.memem_dir / "state" / "notices"
    with terminal(machine, project) as screen:
        say(screen, SAID)
        screen.wait_until((problems / "problem-login").exists, "the failure to log in")
        say(screen, "Thank you.")
        screen.wait_for("not logged in")
        assert "/login" in screen.text
        stub.rules.pop(0)
        say(screen, "And thank you once more, for all that you have done here today and yesterday too.")
        screen.wait_until(lambda: TITLE in machine.notes(), "the note")
        say(screen, "Thank you.")
        screen.wait_for("memem can use claude again.")


@pytest.mark.parametrize(
    ("how", "words", "over"),
    [
        (READ_ONLY, "it is read-only", "memem can write to the vault again."),
        (FULL, "is full. Free some space", "memem has disk space again."),
    ],
    ids=["read-only", "full"],
)
def test_an_unwritable_vault_is_reported_and_so_is_its_end(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path, how: str, words: str, over: str
) -> None:
    machine.memem(plugin, "save", "Tokens of the shop are signed with RS256.", "--title", "Signing", cwd=project)
    machine.settle()
    stub.answers(
        lambda request: "Save it" in request.last_message and not request.tool_result,
        tool_use(f"{TOOL}memory_save", content="The shop closes at eight.", title="Closing time"),
    )
    allowed = ("--allowedTools", f"{TOOL}memory_save")
    with mounting(machine, how, machine.vault) as inside, terminal(inside, project, *allowed) as screen:
        screen.wait_for(words)
        say(screen, "What are tokens of the shop signed with, RS256?")
        assert screen.text.count(words) == 1
        assert "RS256" in stub.requests[-1].everything
    (machine.memem_dir / "hooks.log").unlink(missing_ok=True)  # pages could not be written meanwhile
    with terminal(machine, project, *allowed) as screen:
        screen.wait_for(over)
        say(screen, "Save it.")
    assert "The shop closes at eight." in machine.notes()


def test_an_invalid_option_is_reported_and_memory_still_works(
    stub: ModelStub, runtime: str, plugin: Path, project: Path, tmp_path: Path
) -> None:
    machine = Machine(claude("2.1.325"), tmp_path / "home", stub, MODEL | PATIENT | {"XDG_RUNTIME_DIR": runtime})
    machine.home.mkdir()
    install(machine, plugin, {"injection_mode": "loud"})
    machine.set_up(plugin)
    machine.memem(plugin, "save", "Tokens of the shop are signed with RS256.", "--title", "Signing", cwd=project)
    with terminal(machine, project) as screen:
        screen.wait_for("injection_mode has the invalid value 'loud' (use one of auto, hybrid, tool); using auto.")
        say(screen, "What are tokens of the shop signed with, RS256?")
        assert "signed with RS256" in stub.requests[-1].everything
    machine.settle()


def test_reading_needs_no_permission_and_forgetting_asks_with_the_title(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    machine.memem(plugin, "save", "Tokens of the shop are signed with RS256.", "--title", "Signing", cwd=project)
    (note,) = machine.vault.rglob("memem/memories/*.md")
    identity = note.stem[-8:]

    stub.answers(_is_asked("Look it up"), tool_use(f"{TOOL}memory_search", query="how tokens are signed"))
    stub.answers(_is_asked("Drop it"), tool_use(f"{TOOL}memory_forget", id=identity))
    with terminal(machine, project) as screen:
        say(screen, "Look it up.")
        (found,) = [request.tool_result for request in stub.requests if request.tool_result]
        assert "signed with RS256" in found
        screen.type("Drop it.")
        screen.wait_for(f"memem would forget “Signing” ({identity}, project shop)")
        screen.wait_for("1. Yes")
        while "1. Yes" in screen.screen:  # a dialog that has just opened takes no key, lest somebody was typing
            screen.press("1")
            with suppress(AssertionError):
                screen.wait_until(lambda: "1. Yes" not in screen.screen, "the dialog to close", seconds=1)
        screen.wait_for("All right.", times=2)
    assert not note.exists()


def _is_asked(words: str) -> Callable[[Request], bool]:
    def is_asked(request: Request) -> bool:
        return words in request.last_message and not request.tool_result

    return is_asked
