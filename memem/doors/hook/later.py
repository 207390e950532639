"""What an event begins and nobody waits for: run by a process of its own, with the envelope on standard input."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memem.core.errors import InputError
from memem.doors.hook.answers import read, text_of
from memem.workspace import Workspace


def work(ws: Workspace, event: str, envelope: bytes) -> None:
    """Do what an event asks for."""
    working = WORK.get(event)
    if working is None:
        raise InputError(f"{event!r} is no event that begins something. Known: {', '.join(WORK)}.")
    working(ws, envelope)


def _session_started(ws: Workspace, envelope: bytes) -> None:
    from memem.flows.upkeep import after_session_start

    folder = ""
    with suppress(InputError):  # who had it begun for want of an index tells of no session
        folder = text_of(read(envelope), "cwd")
    after_session_start(ws, Path(folder) if folder else None)


def _turn_ended(ws: Workspace, envelope: bytes) -> None:
    _judge_and_mine(ws, envelope, flush=False)


def _session_ended(ws: Workspace, envelope: bytes) -> None:
    _judge_and_mine(ws, envelope, flush=True)


def _context_ended(ws: Workspace, envelope: bytes) -> None:
    _mine(ws, envelope, flush=True)


def _judge_and_mine(ws: Workspace, envelope: bytes, *, flush: bool) -> None:
    """Judging is quick, so it comes first; whatever becomes of it, what was said is mined."""
    try:
        _judge(ws, envelope, ended=flush)
    finally:
        _mine(ws, envelope, flush=flush)


def _judge(ws: Workspace, envelope: bytes, *, ended: bool) -> None:
    from memem.flows import hook_check
    from memem.flows.usefulness import judge

    told = read(envelope)
    session, transcript = text_of(told, "session_id"), text_of(told, "transcript_path")
    if session and session != hook_check.SESSION:
        said = text_of(told, "last_assistant_message")
        judge(ws, session, Path(transcript) if transcript else None, said, ended=ended)


def _mine(ws: Workspace, envelope: bytes, *, flush: bool) -> None:
    """With the end of a session, or of its context, also what would otherwise wait for more of it."""
    from memem.flows import consent, hook_check, mining

    told = read(envelope)
    if text_of(told, "session_id") == hook_check.SESSION:
        return  # doctor wanted to see that we start
    transcript = text_of(told, "transcript_path")
    if not transcript and not consent.opted_in(ws):
        return  # nobody would read it
    if not transcript:
        raise InputError("The hook was told of no transcript.")
    expected = mining.expected(text_of(told, "last_assistant_message"))
    mining.mine_in_background(ws, Path(transcript), flush=flush, expected=expected)


WORK: dict[str, Callable[[Workspace, bytes], None]] = {
    "SessionStart": _session_started,
    "Stop": _turn_ended,
    "PreCompact": _context_ended,
    "SessionEnd": _session_ended,
}
