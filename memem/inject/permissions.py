"""Decide whether Claude may use one of memem's own tools without asking the user.

Reading the current project and general memories is allowed; anything wider is left to Claude Code. Forgetting always
asks, naming the memory, when a user is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.core.errors import MememError
from memem.core.memory import EVERY_PROJECT, GENERAL
from memem.core.project import normalise
from memem.inject.notices import shorten_title

if TYPE_CHECKING:
    from memem.workspace import Workspace


ALLOW, ASK = "allow", "ask"
# Reading tools that stay in the current project unless this argument names another.
SCOPED_TOOLS = {
    "active_memory_slice": "",
    "context_assemble": "project",
    "memory_list": "scope_id",
    "memory_recall": "scope_id",
    "memory_search": "scope_id",
    "transcript_search": "scope_id",
}
# reading tools that show the memories this argument names
TOOLS_BY_ID = {"memory_get": "ids", "memory_timeline": "memory_id"}


@dataclass(frozen=True, slots=True)
class Permission:
    """`decision` is allow, ask, or empty to leave it to Claude Code; `reason` is shown to the user."""

    decision: str = ""
    reason: str = ""


def decide_permission(
    ws: Workspace, tool: str, arguments: Mapping[str, Any], *, folder: Path, can_ask: bool
) -> Permission:
    """Decide whether Claude may call one of memem's tools with these arguments, in a session started in `folder`."""
    if tool == "memory_forget":
        return _before_forgetting(ws, arguments) if can_ask else Permission()
    if ws.settings.allow_reading and _stays_in_project(ws, tool, arguments, ws.project_of(folder).name):
        return Permission(ALLOW, "reads memories of this project")
    return Permission()


def _stays_in_project(ws: Workspace, tool: str, arguments: Mapping[str, Any], project: str) -> bool:
    allowed = (project, GENERAL)
    if tool in SCOPED_TOOLS:
        return _is_within(arguments.get(SCOPED_TOOLS[tool]), project)
    if tool in TOOLS_BY_ID:
        given = arguments.get(TOOLS_BY_ID[tool])
        ids = given if isinstance(given, list) else [given]
        is_narrow = _is_within(arguments.get("scope_id"), project)
        return is_narrow and bool(ids) and all(_project_of(ws, each) in allowed for each in ids)
    return False


def _is_within(scope: object, project: str) -> bool:
    """Whether a scope, as the tools take it, is no wider than the project and general memories."""
    if scope is None or scope == "":
        return True
    is_wide = not isinstance(scope, str) or scope.strip().lower() == EVERY_PROJECT
    return not is_wide and normalise(str(scope)) in (project, GENERAL)


def _before_forgetting(ws: Workspace, arguments: Mapping[str, Any]) -> Permission:
    from memem.search.find import get

    try:
        entry = get(ws, str(arguments.get("id", "")).strip())
    except MememError:
        return Permission()  # the tool itself says what is wrong with the id
    return Permission(
        ASK, f"memem would forget “{shorten_title(entry.title)}” ({entry.memory.id8}, project {entry.project})."
    )


def _project_of(ws: Workspace, identity: object) -> str:
    """Return a memory's project; empty if unknown, so that Claude Code asks."""
    from memem.search.find import get

    try:
        return get(ws, identity.strip()).project if isinstance(identity, str) else ""
    except MememError:
        return ""
