"""`memem hook EVENT`: runs the client. `--later` does the background work of events."""

import argparse
import sys
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

from memem.core import files
from memem.core.errors import InputError, MememError
from memem.doors.hook import client
from memem.doors.hook.answers import read, text_of
from memem.inject.notices import DOCTOR_SESSION
from memem.pages.catch_up import catching_up
from memem.state.inbox import LOCK_DESCRIPTOR, Inbox, read_event
from memem.workspace import Workspace, open_workspace

FLUSHES = {"Stop": False, "PreCompact": True, "SessionEnd": True}  # whether the session or its context ends
JUDGED = ("Stop", "SessionEnd")
WORK = ("SessionStart", *FLUSHES)


def run(options: argparse.Namespace) -> int:
    """Always return 0: a hook must not get in the way."""
    if not options.later:
        client.main(["hook", options.event])
        return 0
    try:
        with closing(open_workspace(actor="hook")) as ws, catching_up(ws):
            if options.inbox:
                process_inbox(ws, options.inbox)
            else:
                work(ws, options.event, sys.stdin.buffer.read())
    except Exception as problem:  # noqa: BLE001 - the outermost function of a door
        client.log(options.event, str(problem) if isinstance(problem, MememError) else repr(problem))
    return 0


def work(ws: Workspace, event: str, envelope: bytes) -> None:
    if event not in WORK:
        raise InputError(f"{event!r} has no background work. Use one of {', '.join(WORK)}.")
    if event == "SessionStart":
        from memem.upkeep.session_start import after_session_start

        folder = ""
        with suppress(InputError):  # a background rebuild of the index has no session
            fields = read(envelope)
            folder = text_of(fields, "cwd") if text_of(fields, "session_id") != DOCTOR_SESSION else ""
        after_session_start(ws, Path(folder) if folder else None)
        return
    from memem.mine import schedule

    try:  # judging is quick, so it comes first; if it fails, the session is mined all the same
        _judge(ws, event, envelope)
    finally:
        since = schedule.allowed_since(ws)
        if _mark(ws, event, envelope, since) and since:
            schedule.mine_due(ws, since)


def process_inbox(ws: Workspace, name: str) -> None:
    """Process the events that hooks left under a name, then mine. Raises MememError with all problems."""
    from memem.mine import schedule

    since, problems = None, list[str]()
    try:
        since = schedule.allowed_since(ws)
    except MememError as problem:  # shown memories are judged all the same
        problems.append(str(problem))
    for event, path in Inbox(ws.home.inbox, name, LOCK_DESCRIPTOR).take_events():
        try:
            _process_event(ws, event, path, since)
        except MememError as problem:
            problems.append(str(problem))
    if since:
        schedule.mine_due(ws, since)
    if problems:
        raise MememError(" ".join(dict.fromkeys(problems)))


def _process_event(ws: Workspace, event: str, path: Path, since: datetime | None) -> None:
    """Remove the event once its session is marked, so that a crash while judging does not repeat."""
    file, envelope = files.identity(path), read_event(path)
    if envelope is None:
        return
    try:
        _mark(ws, event, envelope, since)
    finally:
        if files.identity(path) == file:  # else a newer event has replaced it
            path.unlink(missing_ok=True)
        _judge(ws, event, envelope)


def _judge(ws: Workspace, event: str, envelope: bytes) -> None:
    if event not in JUDGED:
        return
    from memem.inject.usefulness import judge

    fields = read(envelope)
    session, transcript = text_of(fields, "session_id"), text_of(fields, "transcript_path")
    if session and session != DOCTOR_SESSION:
        last_message = text_of(fields, "last_assistant_message")
        judge(ws, session, Path(transcript) if transcript else None, last_message, ended=FLUSHES[event])


def _mark(ws: Workspace, event: str, envelope: bytes, since: datetime | None) -> bool:
    """Mark a session for mining; False if it is not to be mined."""
    from memem.mine import schedule

    fields = read(envelope)
    if since is None or event not in FLUSHES or text_of(fields, "session_id") == DOCTOR_SESSION:
        return False
    transcript = text_of(fields, "transcript_path")
    if not transcript:
        raise InputError("The hook's input does not name a transcript.")
    last_message = text_of(fields, "last_assistant_message")
    schedule.mark(ws, Path(transcript), flush=FLUSHES[event], last_message=last_message)
    return True
