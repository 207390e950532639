"""What an event begins and nobody waits for: run by a process of its own, with the envelope on standard input."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from memem.core.errors import InputError, MememError
from memem.doors.hook.answers import read, text_of
from memem.workspace import Workspace


def work(ws: Workspace, event: str, envelope: bytes) -> None:
    """Do what an event asks for."""
    working = WORK.get(event)
    if working is None:
        raise InputError(f"{event!r} is no event that begins something. Known: {', '.join(WORK)}.")
    working(ws, envelope)


def take_up(ws: Workspace, name: str) -> None:
    """Do what all the events ask for that were left for us under a name: sessions are mined once all are marked.

    Raises MememError with all that went wrong.
    """
    from memem.flows import letters

    problems = letters.take_up(ws, name, partial(_mark, ws), partial(_judge, ws))
    _mine_all(ws)
    if problems:
        raise MememError(" ".join(dict.fromkeys(problems)))


def _session_started(ws: Workspace, envelope: bytes) -> None:
    from memem.flows.upkeep import after_session_start

    folder = ""
    with suppress(InputError):  # who had it begun for want of an index tells of no session
        folder = text_of(read(envelope), "cwd")
    after_session_start(ws, Path(folder) if folder else None)


def _ended(event: str, ws: Workspace, envelope: bytes) -> None:
    """Judging is quick, so it comes first; whatever becomes of it, what was said is mined."""
    try:
        _judge(ws, event, envelope)
    finally:
        if _mark(ws, event, envelope):
            _mine_all(ws)


def _judge(ws: Workspace, event: str, envelope: bytes) -> None:
    if event not in JUDGED:
        return
    from memem.flows import hook_check
    from memem.flows.usefulness import judge

    told = read(envelope)
    session, transcript = text_of(told, "session_id"), text_of(told, "transcript_path")
    if session and session != hook_check.SESSION:
        said = text_of(told, "last_assistant_message")
        judge(ws, session, Path(transcript) if transcript else None, said, ended=FLUSHES[event])


def _mark(ws: Workspace, event: str, envelope: bytes) -> bool:
    """Have a session mined; whether it is to be. With its end, or that of its context, also what would otherwise wait
    for more of it."""
    from memem.flows import consent, hook_check, mining

    told = read(envelope)
    if event not in FLUSHES or text_of(told, "session_id") == hook_check.SESSION:
        return False  # doctor wanted to see that we start
    transcript = text_of(told, "transcript_path")
    if not transcript and not consent.opted_in(ws):
        return False  # nobody would read it
    if not transcript:
        raise InputError("The hook was told of no transcript.")
    return mining.mark(ws, Path(transcript), flush=FLUSHES[event], said=text_of(told, "last_assistant_message"))


def _mine_all(ws: Workspace) -> None:
    from memem.flows import mining

    mining.mine_in_background(ws)


FLUSHES = {"Stop": False, "PreCompact": True, "SessionEnd": True}
"""Events that end something, and whether a session may be over with them."""
JUDGED = ("Stop", "SessionEnd")
WORK: dict[str, Callable[[Workspace, bytes], None]] = {
    "SessionStart": _session_started,
    **{event: partial(_ended, event) for event in FLUSHES},
}
