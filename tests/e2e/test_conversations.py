"""The plugin's main job in a real Claude Code with a stubbed model."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.claude_code import TOOL, Machine, wait_until
from tests.e2e.conftest import THOROUGH
from tests.e2e.model_stub import STRUCTURED, ModelStub, Request, text, tool_use

FACT = "tokens of the shop are signed with RS256, because the gateway cannot share a secret"
SAID = f"For the record: {FACT}. Please keep to that in everything you write for us."
ASKED = "Which algorithm are the tokens of the shop signed with, RS256 or another?"


def operation(quote: str) -> dict[str, Any]:
    """A memory, as the miner's model would answer it."""
    about = {"title": "How tokens are signed", "content": f"All {quote}.", "kind": "decision", "scope": "project"}
    return {"op": "ADD", "target": None, **about, "importance": 4, "keys": ["JWT"], "paths": [], "quote": quote}


def asks_to_mine(request: Request) -> bool:
    return request.is_mining and FACT in request.everything and not request.tool_result


@pytest.fixture
def mined(stub: ModelStub) -> ModelStub:
    """A model that finds the fact when it is asked for what is worth keeping."""
    stub.answers(asks_to_mine, tool_use(STRUCTURED, operations=[operation(FACT)]))
    return stub


def request_containing(stub: ModelStub, words: str) -> Request:
    """The question to the model that carries a prompt."""
    return next(each for each in stub.requests if words in each.everything and not each.is_mining)


@pytest.mark.parametrize("version", THOROUGH)
def test_a_decision_of_one_conversation_is_shown_in_the_next(
    machine_of: Callable[[str], Machine], version: str, mined: ModelStub, plugin: Path, project: Path
) -> None:
    machine = machine_of(version)
    machine.memem(plugin, "mining", "on")
    before = machine.sessions()
    first = machine.says(SAID, cwd=project)
    assert {"SessionStart", "UserPromptSubmit", "Stop"} <= {hook["hook_event"] for hook in first.hooks}
    machine.settle()
    assert FACT in machine.notes()
    second = machine.says(ASKED, cwd=project)
    machine.settle()
    assert f"All {FACT}" in request_containing(mined, ASKED).everything
    assert machine.sessions() - before == {first.session, second.session}


def test_newest_version_shows_a_memory_and_calls_a_tool(
    machine_of: Callable[[str], Machine], stub: ModelStub, plugin: Path, project: Path
) -> None:
    machine = machine_of("2.1.326")
    machine.memem(plugin, "save", f"All {FACT}.", "--title", "Signing", cwd=project)
    stub.answers(lambda request: ASKED in request.last_message, tool_use(f"{TOOL}memory_search", query="signed tokens"))
    assert machine.says(ASKED, cwd=project).servers == {"plugin:memem:memem": "connected"}
    assert f"All {FACT}" in request_containing(stub, ASKED).everything
    assert f"All {FACT}" in stub.requests[-1].tool_result


def test_nothing_is_mined_before_the_opt_in(machine: Machine, mined: ModelStub, project: Path) -> None:
    machine.says(SAID, cwd=project)
    machine.settle()
    assert not [request for request in mined.requests if request.is_mining]
    assert machine.notes() == ""


def test_mining_is_switched_on_and_off_by_its_command(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    for argument, switch in (("", "on"), ("off", "off")):
        line = f'CLAUDE_PLUGIN_DATA="{machine.data}" "{plugin}/hooks/memem" mine {switch}'
        stub.answers(
            lambda request: "memem-mine" in request.last_message, tool_use("Bash", command=line, description="x")
        )
        machine.says(f"/memem-mine {argument}".strip(), cwd=project)
        machine.settle()
        assert any(f"Mining is {switch}" in request.tool_result for request in stub.requests)
        assert (machine.memem_dir / "state" / ".miner-opted-in").exists() == (switch == "on")


def test_conversation_that_ends_during_mining_is_still_mined(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    gate = threading.Event()
    stub.answers(asks_to_mine, tool_use(STRUCTURED, operations=[operation(FACT)]), gate=gate)
    machine.memem(plugin, "mining", "on")
    machine.says(SAID, cwd=project)
    wait_until(lambda: any(map(asks_to_mine, stub.requests)), lambda: "the model was never asked")
    assert machine.processes()
    assert machine.notes() == ""
    gate.set()
    machine.settle()
    assert machine.notes().count(f"All {FACT}") == 1


@pytest.mark.parametrize("allowed", [(), ("--allowedTools", f"{TOOL}memory_search")])
def test_memories_are_found_by_tool_without_asking_for_permission(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path, allowed: tuple[str, ...]
) -> None:
    machine.memem(plugin, "save", f"All {FACT}.", "--title", "Signing", cwd=project)
    stub.answers(
        lambda request: "Look it up" in request.last_message, tool_use(f"{TOOL}memory_search", query="signed tokens")
    )
    machine.says("Look it up.", *allowed, cwd=project)
    assert f"All {FACT}" in stub.requests[-1].tool_result


def test_permission_for_reading_is_asked_where_the_user_wants_it(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    machine.memem(plugin, "save", f"All {FACT}.", "--title", "Signing", cwd=project)
    machine.more["MEMEM_ALLOW_READING"] = "0"
    stub.answers(
        lambda request: "Look it up" in request.last_message, tool_use(f"{TOOL}memory_search", query="signed tokens")
    )
    machine.says("Look it up.", cwd=project)
    assert "permission" in stub.requests[-1].tool_result


def test_memory_is_saved_by_tool_where_that_is_allowed(machine: Machine, stub: ModelStub, project: Path) -> None:
    save = tool_use(f"{TOOL}memory_save", content=f"All {FACT}.", title="How tokens are signed", tags=[])
    stub.answers(lambda request: "Keep it" in request.last_message, save)
    machine.says("Keep it.", cwd=project)
    assert machine.notes() == ""
    machine.says("Keep it.", "--allowedTools", f"{TOOL}memory_save", cwd=project)
    assert f"All {FACT}" in machine.notes()


def test_compaction_restores_the_memories_shown_before(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    machine.memem(plugin, "save", f"All {FACT}.", "--title", "Signing", cwd=project)
    first = machine.says(ASKED, cwd=project)
    assert f"All {FACT}" in request_containing(stub, ASKED).everything
    compacted = machine.says("/compact", "--resume", first.session, cwd=project)
    (told,) = [hook for hook in compacted.hooks if hook["hook_name"] == "SessionStart:compact"]
    assert f"All {FACT}" in json.loads(told["stdout"])["hookSpecificOutput"]["additionalContext"]


def test_prompt_that_needs_no_memory_gets_none(machine: Machine, stub: ModelStub, plugin: Path, project: Path) -> None:
    machine.memem(plugin, "save", f"All {FACT}.", "--title", "Signing", cwd=project)
    stub.answers(lambda _: True, text("Hello."))
    conversation = machine.says("Write a haiku about the sea.", cwd=project)
    assert conversation.printed_by("UserPromptSubmit") == [""]
    assert conversation.result == "Hello."


def test_decision_is_explained_and_use_counts(machine: Machine, stub: ModelStub, plugin: Path, project: Path) -> None:
    machine.memem(plugin, "save", f"All {FACT}.", "--title", "How tokens are signed", cwd=project)
    (saved,) = json.loads(machine.memem(plugin, "list", "--json", cwd=project))
    stub.answers(lambda request: ASKED in request.everything, text(f"With RS256, as {saved['id'][:8]} says."))
    conversation = machine.says(ASKED, cwd=project)
    machine.settle()
    decision = json.loads(machine.memem(plugin, "why", "--json", cwd=project))["decision"]
    assert [item["id"] for item in decision["receipt"]["items"] if item["shown"]] == [saved["id"]]
    assert decision["receipt"]["session"] == conversation.session
    (shown,) = json.loads(machine.memem(plugin, "why", saved["id"], "--json", cwd=project))["memory"]["injections"]
    assert shown["used"] == "its id is in the answer"
    assert not (machine.memem_dir / "state" / "shown-unjudged").exists()
    assert "How tokens are signed" in machine.memem(plugin, "why", cwd=project)
