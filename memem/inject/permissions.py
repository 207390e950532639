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
from memem.safety.naming import display_name

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
    if tool in SCOPED_TOOLS:
        return _is_within(arguments.get(SCOPED_TOOLS[tool]), project)
    if tool not in TOOLS_BY_ID or not _is_within(arguments.get("scope_id"), project):
        return False
    from memem.search.find import get

    given = arguments.get(TOOLS_BY_ID[tool])
    ids = given if isinstance(given, list) else [given]
    try:
        projects = [get(ws, identity.strip()).project if isinstance(identity, str) else "" for identity in ids]
    except MememError:
        return False  # an unknown memory, so that Claude Code asks
    return bool(ids) and all(name in (project, GENERAL) for name in projects)


def _is_within(scope: object, project: str) -> bool:
    """Whether a scope, as the tools take it, is no wider than the project and general memories."""
    if scope is None or scope == "":
        return True
    if not isinstance(scope, str) or scope.strip().lower() == EVERY_PROJECT:
        return False
    return normalise(scope) in (project, GENERAL)


def _before_forgetting(ws: Workspace, arguments: Mapping[str, Any]) -> Permission:
    from memem.search.find import get

    try:
        entry = get(ws, str(arguments.get("id", "")).strip())
    except MememError:
        return Permission()  # the tool itself says what is wrong with the id
    title = shorten_title(entry.title)
    return Permission(ASK, f"memem would forget “{title}” ({entry.memory.id8}, project {display_name(entry.project)}).")
