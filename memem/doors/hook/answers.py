"""Answers to hook events: Claude Code's JSON envelope in, its JSON output or nothing out."""

import json
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
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
    try:
        ws = open_workspace(actor="hook")
    except MememError as problem:
        return _explained(event, problem)
    with closing(ws):
        return answer(ws, event, envelope, look=True)


def answer(
    ws: Workspace, event: str, envelope: bytes, *, look: bool = False, environ: Mapping[str, str] | None = None
) -> bytes:
    """Answer an event. A problem is shown to the user at session start, and raised at any other event.

    `look` scans the vault first. `environ` is the hook's environment, if another process answers for it.
    """
    answering = ANSWERS.get(event)
    if answering is None:
        raise InputError(f"memem does not handle the event {event!r}. Use one of {', '.join(ANSWERS)}.")
    caller = ws.environ if environ is None else environ
    interactive = notices.is_interactive(caller)
    try:
        given = read(envelope)
        interactive = interactive and text_of(given, "session_id") != notices.DOCTOR_SESSION
        reply = answering(ws, given, _Options(look, interactive, caller.get("CLAUDE_PROJECT_DIR", "")))
    except VaultUnmade:
        return b""  # there are no memories yet
    except MememError as problem:
        return _explained(event, problem, partial(notices.at_failure, ws, interactive=interactive))
    return json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace") if reply else b""


@dataclass(frozen=True, slots=True)
class _Options:
    look: bool
    interactive: bool  # a person sees the screen
    folder: str  # where the session was started


def read(envelope: bytes) -> Envelope:
    """Parse an envelope. Raises InputError unless it is a JSON object."""
    try:
        fields = from_json(envelope)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise InputError("The hook expects a JSON object on standard input.")
    return fields


def text_of(envelope: Envelope, key: str) -> str:
    """A text of an envelope, without NUL and lone surrogates; empty if missing."""
    value = envelope.get(key)
    return value.replace("\0", "").encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _session_start(ws: Workspace, envelope: Envelope, options: _Options) -> dict[str, Any]:
    from memem.inject.session_start import banner, brief

    cwd, session, source = _cwd(ws, envelope), text_of(envelope, "session_id"), text_of(envelope, "source")
    text = brief(ws, cwd=cwd, session=session, source=source)
    if session == notices.DOCTOR_SESSION:
        return _context("SessionStart", text)
    message = notices.at_session_start(
        ws,
        session=session,
        folder=cwd,
        sign_of_life=lambda: banner(ws, cwd=cwd) if source != "compact" else "",
        interactive=options.interactive,
    )
    return _context("SessionStart", text, message)


def _prompt(ws: Workspace, envelope: Envelope, options: _Options) -> dict[str, Any]:
    from memem.inject.prompt import PromptRequest, slice_prompt

    transcript, session = text_of(envelope, "transcript_path"), text_of(envelope, "session_id")
    where = Path(transcript) if transcript else None
    request = PromptRequest(text_of(envelope, "prompt"), _cwd(ws, envelope), session, where)
    text, titles = "", list[str]()
    with suppress(VaultUnmade):  # there are no memories yet
        result = slice_prompt(ws, request, rescan=options.look)
        text, titles = result.text, [hit.title for hit in result.hits]
    project = ws.project_of(request.cwd).name
    message = notices.at_prompt(ws, session=session, project=project, shown=titles, interactive=options.interactive)
    return _context("UserPromptSubmit", text, message)


def _before_tool(ws: Workspace, envelope: Envelope, options: _Options) -> dict[str, Any]:
    if permission := _permission(ws, envelope, options):
        if not permission.decision:
            return {}
        decided = {"permissionDecision": permission.decision, "permissionDecisionReason": permission.reason}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decided}}
    given = envelope.get("tool_input")
    file = text_of(given, "file_path") if isinstance(given, dict) else ""
    if not ws.settings.pretool_gating or not file:
        return {}
    from memem.inject.file_notes import about_file

    session = text_of(envelope, "session_id")
    return _context("PreToolUse", about_file(ws, Path(file), cwd=_cwd(ws, envelope), session=session))


def _permission_request(ws: Workspace, envelope: Envelope, options: _Options) -> dict[str, Any]:
    permission = _permission(ws, envelope, options)
    if permission is None or permission.decision != "allow":
        return {}
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}


def _permission(ws: Workspace, envelope: Envelope, options: _Options) -> "Permission | None":
    """Decide by the folder the session was started in, like the server; None if the tool is not memem's."""
    tool = text_of(envelope, "tool_name")
    if not tool.startswith(OWN_TOOLS):
        return None
    from memem.inject.permissions import decide_permission

    given = envelope.get("tool_input")
    arguments = given if isinstance(given, dict) else {}
    folder = Path(options.folder) if options.folder else _cwd(ws, envelope)
    return decide_permission(ws, tool.removeprefix(OWN_TOOLS), arguments, folder=folder, can_ask=options.interactive)


ANSWERS: dict[str, Callable[[Workspace, Envelope, _Options], dict[str, Any]]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _before_tool,
    "PermissionRequest": _permission_request,
}


def _context(event: str, text: str, message: str = "") -> dict[str, Any]:
    context = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}} if text else {}
    return {**context, **({"systemMessage": message} if message else {})}


def _cwd(ws: Workspace, envelope: Envelope) -> Path:
    """The session's folder, even if it is gone; the user's home if the path is unusable, or made up by the doctor."""
    if text_of(envelope, "session_id") == notices.DOCTOR_SESSION:
        return ws.user_home
    folder = Path(text_of(envelope, "cwd") or ws.user_home)
    try:
        folder.resolve().stat()
    except (FileNotFoundError, NotADirectoryError):
        return folder
    except (OSError, RuntimeError):  # too long, not accessible, or a loop of links
        return ws.user_home
    return folder


def _explained(event: str, problem: MememError, shown: Callable[[str], str] = str) -> bytes:
    if event != "SessionStart":
        raise problem
    from memem.core.surroundings import reachable

    message = shown(f"memem: {reachable(str(problem), reach())} See /memem-doctor.")
    return json.dumps({"systemMessage": message}, ensure_ascii=False).encode("utf-8", "replace") if message else b""
