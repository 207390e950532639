"""What each event is answered: an envelope in, Claude Code's JSON out. Empty when there is nothing to say."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.core.errors import InputError, MememError, VaultUnmade
from memem.core.files import from_json
from memem.inject import notices
from memem.workspace import Workspace, open_workspace, reach

if TYPE_CHECKING:
    from memem.inject.permissions import Permission


OWN_TOOLS = "mcp__plugin_memem_memem__"
Envelope = Mapping[str, Any]


def answer_here(event: str, envelope: bytes) -> bytes:
    """The answer of a process of its own."""
    try:
        ws = open_workspace(actor="hook")
    except MememError as problem:
        return _explained(event, problem)
    try:
        return answer(ws, event, envelope, look=True)
    finally:
        ws.close()


def answer(
    ws: Workspace, event: str, envelope: bytes, *, look: bool = False, environ: Mapping[str, str] | None = None
) -> bytes:
    """The answer to an event. A session's start names what is wrong to its user; any other event raises.

    With `look` a prompt is answered after a look at the vault, which an engine has in the background. `environ` is the
    environment of the hook, where another process answers for it.
    """
    answering = ANSWERS.get(event)
    if answering is None:
        raise InputError(f"{event!r} is no event that memem answers. Known: {', '.join(ANSWERS)}.")
    caller = ws.environ if environ is None else environ
    manner = _Manner(look, notices.is_interactive(caller), caller.get("CLAUDE_PROJECT_DIR", ""))
    try:
        given = read(envelope)
        manner = replace(manner, interactive=manner.interactive and not _is_doctor(given))
        reply = answering(ws, given, manner)
    except VaultUnmade:
        return b""  # nothing is remembered yet
    except MememError as problem:
        return _explained(event, problem, lambda text: _once(ws, text, manner))
    return _as_json(reply) if reply else b""


@dataclass(frozen=True, slots=True)
class _Manner:
    """Whether to refresh the index first, whether a person sees the screen, and where the session was started."""

    look: bool
    interactive: bool
    folder: str


def _is_doctor(envelope: Envelope) -> bool:
    return text_of(envelope, "session_id") == notices.DOCTOR_SESSION


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


def _session_start(ws: Workspace, envelope: Envelope, manner: _Manner) -> dict[str, Any]:
    from memem.inject.session_start import banner, brief

    cwd, session, source = _cwd(ws, envelope), text_of(envelope, "session_id"), text_of(envelope, "source")
    text = brief(ws, cwd=cwd, session=session, source=source)
    if _is_doctor(envelope):
        return _context("SessionStart", text)
    message = notices.at_session_start(
        ws,
        session=session,
        project=ws.project_of(cwd).name,
        sign_of_life=lambda: banner(ws, cwd=cwd) if source != "compact" else "",
        interactive=manner.interactive,
    )
    return _context("SessionStart", text) | _message(message)


def _prompt(ws: Workspace, envelope: Envelope, manner: _Manner) -> dict[str, Any]:
    from memem.inject.prompt import PromptRequest, slice_prompt

    transcript, session = text_of(envelope, "transcript_path"), text_of(envelope, "session_id")
    where = Path(transcript) if transcript else None
    asked = PromptRequest(text_of(envelope, "prompt"), _cwd(ws, envelope), session, where)
    text, titles = "", list[str]()
    with suppress(VaultUnmade):  # nothing is remembered yet
        found = slice_prompt(ws, asked, rescan=manner.look)
        text, titles = found.text, [hit.title for hit in found.hits]
    project = ws.project_of(asked.cwd).name
    message = notices.at_prompt(ws, session=session, project=project, shown=titles, interactive=manner.interactive)
    return _context("UserPromptSubmit", text) | _message(message)


def _before_tool(ws: Workspace, envelope: Envelope, manner: _Manner) -> dict[str, Any]:
    given = envelope.get("tool_input")
    if tool := _own_tool(envelope):
        permission = _permission(ws, envelope, tool, manner)
        if not permission.decision:
            return {}
        decided = {"permissionDecision": permission.decision, "permissionDecisionReason": permission.reason}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decided}}
    file = text_of(given, "file_path") if isinstance(given, dict) else ""
    if not ws.settings.pretool_gating or not file:
        return {}
    from memem.inject.file_notes import about_file

    session = text_of(envelope, "session_id")
    return _context("PreToolUse", about_file(ws, Path(file), cwd=_cwd(ws, envelope), session=session))


def _permission_request(ws: Workspace, envelope: Envelope, manner: _Manner) -> dict[str, Any]:
    tool = _own_tool(envelope)
    if not tool or _permission(ws, envelope, tool, manner).decision != "allow":
        return {}
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}


def _own_tool(envelope: Envelope) -> str:
    """The name of memem's own tool that is about to be used; empty for any other tool."""
    name = text_of(envelope, "tool_name")
    return name.removeprefix(OWN_TOOLS) if name.startswith(OWN_TOOLS) else ""


def _permission(ws: Workspace, envelope: Envelope, tool: str, manner: _Manner) -> "Permission":
    """Decide by the folder the session was started in, as the server does, even if the session has left it."""
    from memem.inject.permissions import decide_permission

    given = envelope.get("tool_input")
    arguments = given if isinstance(given, dict) else {}
    folder = Path(manner.folder) if manner.folder else _cwd(ws, envelope)
    return decide_permission(ws, tool, arguments, folder=folder, can_ask=manner.interactive)


ANSWERS: dict[str, Callable[[Workspace, Envelope, _Manner], dict[str, Any]]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _before_tool,
    "PermissionRequest": _permission_request,
}


def _context(event: str, text: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}} if text else {}


def _message(text: str) -> dict[str, Any]:
    return {"systemMessage": text} if text else {}


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


def _explained(event: str, problem: MememError, shown: Callable[[str], str] = str) -> bytes:
    """A session's start says what keeps memem from working; a prompt is not the place for it."""
    if event != "SessionStart":
        raise problem
    from memem.core.surroundings import reachable

    text = shown(f"memem: {reachable(str(problem), reach())} See /memem-doctor.")
    return _as_json(_message(text)) if text else b""


def _once(ws: Workspace, text: str, manner: _Manner) -> str:
    return notices.at_failure(ws, text, interactive=manner.interactive)


def _as_json(reply: dict[str, Any]) -> bytes:
    """A path in it may be of bytes that are no text."""
    return json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")
