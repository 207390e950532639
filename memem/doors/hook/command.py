"""`memem hook EVENT`: the client's work, for whoever calls it by name. `--later` is the client's own: the work that an
event begins and nobody waits for, in a process of its own."""

import argparse
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from memem.core import files
from memem.core.errors import InputError, MememError
from memem.doors.hook import client
from memem.doors.hook.answers import read, text_of
from memem.pages.catch_up import catching_up
from memem.state.inbox import LOCK_DESCRIPTOR, Inbox, read_event
from memem.workspace import Workspace, open_workspace

FLUSHES = {"Stop": False, "PreCompact": True, "SessionEnd": True}
"""Events that end something, and whether a session may be over with them."""
JUDGED = ("Stop", "SessionEnd")
WORK = ("SessionStart", *FLUSHES)


def run(options: argparse.Namespace) -> int:
    """Always 0: a hook that fails must not be in the way."""
    if not options.later:
        client.main(["hook", options.event])
        return 0
    try:
        ws = open_workspace(actor="hook")
        try:
            with catching_up(ws):
                if options.letters:
                    take_letters(ws, options.letters)
                else:
                    work(ws, options.event, sys.stdin.buffer.read())
        finally:
            ws.close()
    except Exception as problem:  # noqa: BLE001 - the outermost function of a door; nobody is there to be told
        client.log(options.event, str(problem) if isinstance(problem, MememError) else repr(problem))
    return 0


def work(ws: Workspace, event: str, envelope: bytes) -> None:
    """Do what an event asks for."""
    if event not in WORK:
        raise InputError(f"{event!r} is no event that begins something. Known: {', '.join(WORK)}.")
    if event == "SessionStart":
        _start_session(ws, envelope)
        return
    from memem.mine import schedule

    try:  # judging is quick, so it comes first; whatever becomes of it, what was said is mined
        _judge(ws, event, envelope)
    finally:
        since = schedule.allowed_since(ws)
        if _mark(ws, event, envelope, since) and since:
            schedule.mine_due(ws, since)


def take_letters(ws: Workspace, name: str) -> None:
    """Do what all the events ask for that were left for us under a name: sessions are mined once all are marked.

    Raises MememError with all that went wrong.
    """
    from memem.mine import schedule

    since, problems = None, list[str]()
    try:
        since = schedule.allowed_since(ws)
    except MememError as problem:  # what was shown is judged all the same
        problems.append(str(problem))
    for event, path in Inbox(ws.home.inbox, name, LOCK_DESCRIPTOR).take_events():
        try:
            _take_letter(ws, event, path, since)
        except MememError as problem:
            problems.append(str(problem))
    if since:
        schedule.mine_due(ws, since)
    if problems:
        raise MememError(" ".join(dict.fromkeys(problems)))


def _take_letter(ws: Workspace, event: str, path: Path, since: datetime | None) -> None:
    """A letter goes once its session is marked: whatever ends us while judging, it is not in the way of the next."""
    letter, envelope = files.identity(path), read_event(path)
    if envelope is None:
        return
    try:
        _mark(ws, event, envelope, since)
    finally:
        if files.identity(path) == letter:  # else it is the next one of this session, which nobody has read
            path.unlink(missing_ok=True)
        _judge(ws, event, envelope)


def _start_session(ws: Workspace, envelope: bytes) -> None:
    from memem.upkeep.session_start import after_session_start

    folder = ""
    with suppress(InputError):  # a background rebuild of the index has no session to report
        folder = text_of(read(envelope), "cwd")
    after_session_start(ws, Path(folder) if folder else None)


def _judge(ws: Workspace, event: str, envelope: bytes) -> None:
    if event not in JUDGED:
        return
    from memem.inject.notices import DOCTOR_SESSION
    from memem.inject.usefulness import judge

    told = read(envelope)
    session, transcript = text_of(told, "session_id"), text_of(told, "transcript_path")
    if session and session != DOCTOR_SESSION:
        said = text_of(told, "last_assistant_message")
        judge(ws, session, Path(transcript) if transcript else None, said, ended=FLUSHES[event])


def _mark(ws: Workspace, event: str, envelope: bytes, since: datetime | None) -> bool:
    """Mark a session as having something new; False when it is not to be mined. At its end, or that of its context,
    also what would otherwise wait for more of it is due."""
    from memem.inject.notices import DOCTOR_SESSION
    from memem.mine import schedule

    told = read(envelope)
    if event not in FLUSHES or text_of(told, "session_id") == DOCTOR_SESSION:
        return False  # doctor wanted to see that we start
    transcript = text_of(told, "transcript_path")
    if since is None:
        return False
    if not transcript:
        raise InputError("The hook was told of no transcript.")
    schedule.mark(ws, Path(transcript), flush=FLUSHES[event], last_message=text_of(told, "last_assistant_message"))
    return True
