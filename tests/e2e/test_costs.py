"""The model service, the ledger and `memem status` agree on cost."""

import json
import os
from functools import partial
from pathlib import Path

from tests.e2e.claude_code import Machine
from tests.e2e.model_stub import STRUCTURED, ModelStub, Request, tool_use

FACTS = (
    "tokens of the shop are signed with RS256, because the gateway cannot share a secret",
    "the ledger is closed at midnight in Vienna, since the auditors count days there",
)


def operation(fact: str) -> dict[str, object]:
    about = {"title": fact[:40], "content": f"All {fact}.", "kind": "decision", "scope": "project", "importance": 4}
    return {"op": "ADD", "target": None, **about, "keys": [], "paths": [], "quote": fact}


def asks_about(fact: str, request: Request) -> bool:
    return request.is_mining and fact in request.everything and not request.tool_result


def listening(machine: Machine, folder: Path) -> Path:
    """Where a claude is that miners find first: the real one, and what it reports is written down."""
    place = folder / "bin"
    place.mkdir()
    program = place / "claude"
    program.write_text(f'#!/bin/sh\n"{machine.claude}" "$@" | tee -a "{folder}/reports"\n', encoding="utf-8")
    program.chmod(0o755)
    return place


def test_status_and_ledger_agree_with_what_the_service_saw(
    machine: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    machine.more["PATH"] = f"{listening(machine, project)}{os.pathsep}{machine.env['PATH']}"
    machine.memem(plugin, "mining", "on")
    for fact in FACTS:
        answer = tool_use(STRUCTURED, operations=[operation(fact)])
        stub.answers(partial(asks_about, fact), answer)
        machine.says(f"For the record: {fact}. Please keep to that in everything you write for us. " * 3, cwd=project)
        machine.settle()
    assert all(f"All {fact}" in machine.notes() for fact in FACTS)
    asked = [request for request in stub.requests if request.is_mining]
    calls = [request for request in asked if not request.tool_result]
    status = json.loads(machine.memem(plugin, "status", "--json"))["mining"]
    assert status["calls_today"] == len(calls) == len(FACTS)
    assert sum(each["calls"] for each in status["last"]) == len(calls)
    read, written = sum(request.tokens for request in asked), 12 * len(asked)
    assert status["tokens_today"] == read + written
    lines = (project / "reports").read_text(encoding="utf-8").splitlines()
    reported = [json.loads(line) for line in lines if line.startswith("{")]  # it was also asked what options it has
    assert [each["type"] for each in reported] == ["result"] * len(calls)
    assert status["dollars_today"] == round(sum(each["total_cost_usd"] for each in reported), 4) > 0
    assert machine.trouble() == ""
