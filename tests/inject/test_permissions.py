"""Which uses of memem's own tools need no permission."""

from pathlib import Path
from typing import Any

import pytest

from memem.inject.permissions import ALLOW, Permission, decide_permission
from memem.notes import save
from memem.workspace import Workspace


def decision(ws: Workspace, shop: Path, tool: str, **arguments: Any) -> str:
    return decide_permission(ws, tool, arguments, folder=shop, can_ask=True).decision


@pytest.mark.parametrize("tool", ["memory_search", "memory_recall", "memory_list", "transcript_search"])
def test_searching_is_allowed_in_this_project_and_among_general_memories(ws: Workspace, shop: Path, tool: str) -> None:
    near: list[Any] = ["", "shop", "Shop", "general", None]
    far: list[Any] = ["all", "bank", ["shop"], 7, {"a": 1}]
    assert {decision(ws, shop, tool, query="x", scope_id=scope) for scope in near} == {ALLOW}
    assert {decision(ws, shop, tool, query="x", scope_id=scope) for scope in far} == {""}


def test_a_context_of_another_project_is_not_allowed(ws: Workspace, shop: Path) -> None:
    assert decision(ws, shop, "context_assemble", query="x") == ALLOW
    assert decision(ws, shop, "context_assemble", query="x", project="bank") == ""


def test_memories_are_allowed_by_their_project(ws: Workspace, shop: Path) -> None:
    ids = {
        project: save.save(ws, f"A fact of {project}.", project=project).memory.id
        for project in ("shop", "general", "bank")
    }
    assert decision(ws, shop, "memory_get", ids=[ids["shop"], ids["general"][:8]]) == ALLOW
    assert decision(ws, shop, "memory_get", ids=ids["shop"]) == ALLOW
    assert decision(ws, shop, "memory_get", ids=[ids["shop"], ids["bank"]]) == ""
    assert decision(ws, shop, "memory_timeline", memory_id=ids["shop"]) == ALLOW
    assert decision(ws, shop, "memory_timeline", memory_id=ids["bank"]) == ""


def test_what_cannot_be_told_to_be_of_this_project_is_left_to_claude_code(ws: Workspace, shop: Path) -> None:
    own = save.save(ws, "A fact of shop.", project="shop").memory.id
    other = save.save(ws, "A fact of bank.", project="bank").memory.id
    odd: list[Any] = ["ffffffff", [], None, 7, [7], [own, None], f'["{other}"]', f"{own}, {other}", {"a": own}]
    assert {decision(ws, shop, "memory_get", ids=each) for each in odd} == {""}


def test_an_id_of_this_project_does_not_open_the_others(ws: Workspace, shop: Path) -> None:
    own = save.save(ws, "A fact of shop.", project="shop").memory.id
    scopes: list[Any] = ["all", " ALL ", "bank", 7, ["all"]]
    assert {decision(ws, shop, "memory_timeline", memory_id=own, scope_id=scope) for scope in scopes} == {""}
    assert decision(ws, shop, "memory_timeline", memory_id=own, scope_id="shop") == ALLOW


@pytest.mark.parametrize(
    "tool", ["memory_save", "memory_graph_audit", "memory_graph_neighbors", "memory_graph_rebuild"]
)
def test_tools_that_write_or_reach_every_project_are_left_to_claude_code(ws: Workspace, shop: Path, tool: str) -> None:
    assert decision(ws, shop, tool, memory_id="x") == ""


def test_forgetting_something_unknown_is_left_to_the_tool(ws: Workspace, shop: Path) -> None:
    save.save(ws, "A fact.", project="shop")
    for identity in ("ffffffff", "", 7):
        assert decide_permission(ws, "memory_forget", {"id": identity}, folder=shop, can_ask=True) == Permission()
