"""What each event is answered: an envelope in, Claude Code's JSON out. Empty when there is nothing to say."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from memem.core.commands import reachable
from memem.core.errors import InputError, MememError, VaultUnmade
from memem.core.formats import from_json
from memem.core.tool_names import READING
from memem.workspace import Workspace, open_workspace, reach

OWN_TOOLS = "mcp__plugin_memem_memem__"
Envelope = Mapping[str, Any]


def answer_here(event: str, envelope: bytes) -> bytes:
    """The answer of a process of its own."""
    try:
        ws = open_workspace(actor="hook")
    except MememError as problem:
        return _troubled(event, problem)
    try:
        return answer(ws, event, envelope, look=True)
    finally:
        ws.close()


def answer(ws: Workspace, event: str, envelope: bytes, *, look: bool = False) -> bytes:
    """The answer to an event. A session's start names what is wrong to its user; any other event raises.

    With `look` a prompt is answered after a look at the vault, which an engine has in the background.
    """
    answering = ANSWERS.get(event)
    if answering is None:
        raise InputError(f"{event!r} is no event that memem answers. Known: {', '.join(ANSWERS)}.")
    try:
        told = read(envelope)
        reply = _prompt(ws, told, look=True) if look and event == "UserPromptSubmit" else answering(ws, told)
    except VaultUnmade:
        return b""  # nothing is remembered yet
    except MememError as problem:
        return _troubled(event, problem)
    return _as_json(reply) if reply else b""


def read(envelope: bytes) -> Envelope:
    """What Claude Code says of an event. Raises InputError when it is not what it should be."""
    try:
        told = from_json(envelope)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise InputError("The hook was given no JSON object on its standard input.")
    return told


def text_of(envelope: Envelope, key: str) -> str:
    """One text of an envelope, without what no text or path can hold; empty when there is none."""
    value = envelope.get(key)
    return value.replace("\0", "").encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _session_start(ws: Workspace, envelope: Envelope) -> dict[str, Any]:
    from memem.flows.briefing import brief

    source = text_of(envelope, "source")
    told = brief(ws, cwd=_cwd(ws, envelope), session=text_of(envelope, "session_id"), source=source)
    return _context("SessionStart", told.text) | ({"systemMessage": told.banner} if told.banner else {})


def _prompt(ws: Workspace, envelope: Envelope, *, look: bool = False) -> dict[str, Any]:
    from memem.flows.prompting import Asked, for_prompt

    transcript, session = text_of(envelope, "transcript_path"), text_of(envelope, "session_id")
    where = Path(transcript) if transcript else None
    asked = Asked(text_of(envelope, "prompt"), _cwd(ws, envelope), session, where)
    return _context("UserPromptSubmit", for_prompt(ws, asked, look=look).text)


def _before_tool(ws: Workspace, envelope: Envelope) -> dict[str, Any]:
    given = envelope.get("tool_input")
    file = text_of(given, "file_path") if isinstance(given, dict) else ""
    if not ws.settings.pretool_gating or not file:
        return {}
    from memem.flows.file_memories import about_file

    session = text_of(envelope, "session_id")
    return _context("PreToolUse", about_file(ws, Path(file), cwd=_cwd(ws, envelope), session=session))


def _permission(ws: Workspace, envelope: Envelope) -> dict[str, Any]:
    name = text_of(envelope, "tool_name")
    ours = name.removeprefix(OWN_TOOLS) if name.startswith(OWN_TOOLS) else ""
    if not ws.settings.allow_reading or ours not in READING:
        return {}
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}


ANSWERS: dict[str, Callable[[Workspace, Envelope], dict[str, Any]]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _before_tool,
    "PermissionRequest": _permission,
}


def _context(event: str, text: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}} if text else {}


def _cwd(ws: Workspace, envelope: Envelope) -> Path:
    """The session's folder, also one that is gone; the user's home when there can be none of that name."""
    folder = Path(text_of(envelope, "cwd") or ws.user_home)
    try:
        folder.resolve().stat()
    except (FileNotFoundError, NotADirectoryError):
        return folder
    except (OSError, RuntimeError):  # too long, not for us to look at, a loop of links
        return ws.user_home
    return folder


def _troubled(event: str, problem: MememError) -> bytes:
    """A person is told once a session what keeps memem from working; a prompt is not the place for it."""
    if event != "SessionStart":
        raise problem
    return _as_json({"systemMessage": f"memem: {reachable(str(problem), reach())} /memem-doctor tells more."})


def _as_json(reply: dict[str, Any]) -> bytes:
    """A path in it may be of bytes that are no text."""
    return json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")
