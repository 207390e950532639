"""Knowledge that stays true, in a real Claude Code with a stubbed model."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.claude_code import TOOL, Machine
from tests.e2e.model_stub import STRUCTURED, ModelStub, Request, tool_use
from tests.e2e.test_conversations import operation

OLD = "Redis of the shop listens on port 6379"
NEW = "Redis of the shop listens on port 6380"
AT_LENGTH = "Please keep to that in everything you write for us, also in the tests and in the documentation."


def asks(quote: str, pairs: bool = False) -> Any:
    """Whether a question of the miner is about these words: what to keep of them, or what they contradict."""

    def is_asked(request: Request) -> bool:
        asked = request.is_mining and quote in request.everything and not request.tool_result
        return asked and ("<pair number=1>" in request.everything) == pairs

    return is_asked


def _says(words: str, request: Request) -> bool:
    return words in request.last_message


@pytest.fixture
def miner(stub: ModelStub) -> ModelStub:
    """A model that keeps what is said of Redis, each time as something new, and knows a contradiction."""
    for quote in (OLD, NEW):
        stub.answers(asks(quote), tool_use(STRUCTURED, operations=[operation(quote)]))
    verdict = {"number": 1, "verdict": "contradict", "why": "one Redis, two ports"}
    stub.answers(asks(NEW, pairs=True), tool_use(STRUCTURED, pairs=[verdict]))
    return stub


def test_a_contradiction_between_sessions_is_confirmed_listed_and_resolved(
    machine: Machine, miner: ModelStub, plugin: Path, project: Path
) -> None:
    machine.memem(plugin, "mining", "on")
    for fact in (OLD, NEW):
        machine.says(f"For the record: {fact}. {AT_LENGTH}", cwd=project)
        machine.settle()
    (conflict,) = json.loads(machine.memem(plugin, "conflicts", "--json", cwd=project))
    assert (conflict["one"]["body"], conflict["other"]["body"]) == (f"All {NEW}.", f"All {OLD}.")
    assert (conflict["found"], conflict["why"]) == ("confirmed by the model", "one Redis, two ports")
    page = next(machine.vault.rglob("Conflicts.md"))
    assert NEW in page.read_text(encoding="utf-8")
    machine.memem(plugin, "resolve", conflict["one"]["id"], "keep", cwd=project)
    asked = "On which port does Redis of the shop listen, 6379 or 6380?"
    machine.says(asked, cwd=project)
    shown = next(each for each in miner.requests if asked in each.everything and not each.is_mining).everything
    assert f"All {NEW}" in shown
    assert f"All {OLD}" not in shown


def test_mining_does_not_bring_back_a_forgotten_memory_and_can_be_undone(
    machine: Machine, miner: ModelStub, plugin: Path, project: Path
) -> None:
    machine.memem(plugin, "mining", "on")
    machine.says(f"For the record: {OLD}. {AT_LENGTH}", cwd=project)
    machine.settle()
    (memory,) = json.loads(machine.memem(plugin, "list", "--json", cwd=project))
    machine.memem(plugin, "forget", memory["id"], "--purge", "--yes", cwd=project)
    machine.says(f"Once more, for the record: {OLD}. {AT_LENGTH}", cwd=project)
    machine.settle()
    assert json.loads(machine.memem(plugin, "list", "--json", cwd=project)) == []
    machine.says(f"For the record: {NEW}. {AT_LENGTH}", cwd=project)
    machine.settle()
    (neighbour,) = json.loads(machine.memem(plugin, "list", "--json", cwd=project))
    assert neighbour["body"] == f"All {NEW}."
    machine.memem(plugin, "undo", cwd=project)
    assert json.loads(machine.memem(plugin, "list", "--json", cwd=project)) == []


def test_a_tool_does_not_bring_back_a_forgotten_memory(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    machine.memem(plugin, "save", f"{OLD}.", cwd=project)
    (memory,) = json.loads(machine.memem(plugin, "list", "--json", cwd=project))
    machine.memem(plugin, "forget", memory["id"], cwd=project)
    name = f"{TOOL}memory_save"
    for said, content in (("Keep the old one.", f"{OLD.upper()} ."), ("Keep the new one.", f"{NEW}.")):
        stub.answers(partial(_says, said), tool_use(name, content=content))
        machine.says(said, "--allowedTools", name, cwd=project)
    results = [request.tool_result for request in stub.requests if request.tool_result]
    assert "it was forgotten on" in results[0]
    assert "Saved" in results[1]
    assert [each["body"] for each in json.loads(machine.memem(plugin, "list", "--json", cwd=project))] == [f"{NEW}."]


def test_a_note_about_a_file_that_is_gone_is_stale_when_a_session_begins(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    source = project / "src" / "signing.py"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text("def sign_token(): ...\n", encoding="utf-8")
    machine.memem(plugin, "save", "Tokens are signed by `sign_token` in src/signing.py.", cwd=project)
    source.unlink()
    machine.says("Good morning, what is on today?", cwd=project)
    machine.settle()
    (memory,) = json.loads(machine.memem(plugin, "list", "--json", cwd=project))
    assert memory["status"] == "stale"
    assert "src/signing.py is gone" in memory["stale_because"]
    source.write_text("def sign_token(): ...\n", encoding="utf-8")
    machine.says("Good morning again, what is on today?", cwd=project)
    machine.settle()
    (memory,) = json.loads(machine.memem(plugin, "list", "--json", cwd=project))
    assert (memory["status"], memory["stale_because"]) == ("active", "")
