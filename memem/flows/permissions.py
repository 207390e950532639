"""Whether Claude may use one of memem's own tools without asking the user first.

Reading is allowed for the current project and for general memories; anything wider is left to Claude Code, which asks
unless the user has allowed it. Forgetting always asks when there is somebody to ask, and names the memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memem.core.errors import MememError
from memem.core.memory import GENERAL
from memem.core.project import normalise
from memem.workspace import Workspace

ALLOW, ASK = "allow", "ask"
SCOPED = {
    "active_memory_slice": "",
    "context_assemble": "project",
    "memory_list": "scope_id",
    "memory_recall": "scope_id",
    "memory_search": "scope_id",
    "transcript_search": "scope_id",
}
"""Reading tools that stay in the current project unless this argument names another."""
BY_ID = {"memory_get": "ids", "memory_timeline": "memory_id"}
"""Reading tools that show the memories this argument names."""
MAX_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Permission:
    """`decision` is allow or ask, or empty to leave it to Claude Code; `reason` is shown to the user who is asked."""

    decision: str = ""
    reason: str = ""


def decide(ws: Workspace, tool: str, arguments: Mapping[str, Any], *, cwd: Path, can_ask: bool) -> Permission:
    """What to answer before a tool of memem's own is used with these arguments."""
    if tool == "memory_forget":
        return _before_forgetting(ws, arguments) if can_ask else Permission()
    if ws.settings.allow_reading and _stays_in_project(ws, tool, arguments, ws.project_of(cwd).name):
        return Permission(ALLOW, "reads memories of this project")
    return Permission()


def _stays_in_project(ws: Workspace, tool: str, arguments: Mapping[str, Any], project: str) -> bool:
    allowed = (project, GENERAL)
    if tool in SCOPED:
        scope = arguments.get(SCOPED[tool]) or project
        return isinstance(scope, str) and normalise(scope) in allowed
    if tool in BY_ID:
        given = arguments.get(BY_ID[tool]) or []
        ids = given if isinstance(given, list) else str(given).split(",")
        return all(_project_of(ws, str(each).strip()) in (*allowed, "") for each in ids)
    return False


def _before_forgetting(ws: Workspace, arguments: Mapping[str, Any]) -> Permission:
    from memem.flows.retrieve import get

    try:
        entry = get(ws, str(arguments.get("id", "")).strip())
    except MememError:
        return Permission()  # the tool itself says what is wrong with the id
    title = " ".join(entry.title.split())[:MAX_TITLE_CHARS]
    return Permission(ASK, f"memem would forget “{title}” ({entry.memory.id8}, project {entry.project}).")


def _project_of(ws: Workspace, identity: str) -> str:
    """The project of a memory; empty when there is none with this id, and the tool will say so."""
    from memem.flows.retrieve import get

    try:
        return get(ws, identity).project
    except MememError:
        return ""
