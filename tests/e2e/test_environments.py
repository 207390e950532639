"""A real Claude Code where something is missing: the conversation goes on, and its user is told.

tests/test_hostile_environments.py shows the same of hooks and server alone, for many more such machines.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.claude_code import TOOL, Conversation, Machine
from tests.e2e.conftest import THOROUGH
from tests.e2e.model_stub import ModelStub, tool_use

FACT = "Tokens of the shop are signed with RS256."
ASKED = "What are tokens of the shop signed with, RS256?"


def shown_to_user(conversation: Conversation) -> str:
    """Return the message a session start shows to its user."""
    printed = filter(None, conversation.printed_by("SessionStart"))
    return "\n".join(json.loads(text).get("systemMessage", "") for text in printed)


@pytest.mark.parametrize("version", THOROUGH)
def test_unusable_home_is_reported_to_the_user_and_blocks_nothing(
    machine_of: Callable[[str], Machine], version: str, plugin: Path, project: Path, stub: ModelStub
) -> None:
    machine = machine_of(version)
    machine.memem(plugin, "save", FACT, "--title", "Signing", cwd=project)
    (project.parent / "file").touch()
    machine.more["MEMEM_DIR"] = str(project.parent / "file" / "memem")
    stub.answers(
        lambda request: "Look it up" in request.last_message, tool_use(f"{TOOL}memory_search", query="signed tokens")
    )
    conversation = machine.says("Look it up.", "--allowedTools", f"{TOOL}memory_search", cwd=project)
    assert conversation.result == "All right."
    assert "is a file, not a folder" in shown_to_user(conversation)
    assert "Set MEMEM_DIR to use another folder" in stub.requests[-1].tool_result


def test_missing_vault_is_reported_and_used_again_once_it_returns(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    machine.memem(plugin, "save", FACT, "--title", "Signing", cwd=project)
    away = machine.vault.rename(machine.vault.with_name("unmounted"))
    stub.answers(
        lambda request: "Look it up" in request.last_message, tool_use(f"{TOOL}memory_search", query="signed tokens")
    )
    conversation = machine.says("Look it up.", cwd=project)
    assert conversation.result == "All right."
    assert "is gone: its marker" in shown_to_user(conversation)
    assert "Mount or sync it" in stub.requests[-1].tool_result
    machine.settle()
    assert re.search(r"UserPromptSubmit: (VaultMissing: )?The vault", machine.trouble())  # by the engine, or without it
    (machine.memem_dir / "hooks.log").unlink()
    away.rename(machine.vault)
    machine.says(ASKED, cwd=project)
    assert FACT in stub.requests[-1].everything
