"""One attempt at mining a session, or several that share a call. After an error they are still due."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from memem.core.errors import InputError, MememError
from memem.flows import asking, packing, transcripts
from memem.flows.asking import Mined
from memem.flows.mine_delta import MINE_SMALL, mine_session
from memem.jobs.held_back import SmallSession
from memem.jobs.queue import Mark
from memem.workspace import Workspace


def attempt(ws: Workspace, mark: Mark, since: datetime | None, small: str) -> Mined:
    """Mine a session. An error is recorded with it, so that other sessions are mined all the same."""
    try:
        return mine_or_mark(ws, mark, since, small)
    except MememError as problem:
        return asking.record_error(ws, mark, problem)


def attempt_pack(ws: Workspace, pack: Sequence[SmallSession], since: datetime | None) -> list[Mined]:
    """Mine sessions that share a call."""
    marks = [claim_mark(ws, Mark(each.session, each.path, flush=True)) for each in pack]
    with _marked_on_failure(ws, *marks):
        done = packing.mine_pack(ws, marks, since)
    for mark in marks:
        transcripts.follow(ws, Path(mark.path), everything=since is None)
    return done


def mine_or_mark(
    ws: Workspace, mark: Mark, since: datetime | None, small: str = MINE_SMALL, *, sdk: bool = False
) -> Mined:
    """Mine a session and index its text for search. After an error the session is marked again."""
    again = ws.settings.mine_sdk and ws.state.held_back.has_sdk(mark.session)
    with _marked_on_failure(ws, mark):
        mined = mine_session(ws, mark, since, small=small, sdk=sdk)
    if mined.outcome != "missing":
        transcripts.follow(ws, Path(mark.path), everything=since is None, again=again)
    return mined


@contextmanager
def _marked_on_failure(ws: Workspace, *marks: Mark) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for mark in marks:
            ws.state.queue.mark(mark, ws.clock().timestamp())
        raise


def claim_mark(ws: Workspace, mark: Mark) -> Mark:
    """Take a session's mark out of the queue before the session is read; `mark` inherits its expected answer."""
    marked = ws.state.queue.take(mark.session)
    return replace(mark, expected=marked.expected) if marked else mark


def mark_of(path: Path, *, flush: bool, expected: str = "") -> Mark:
    """The mark of a session file. The file's name identifies the session."""
    if not is_text(path):
        raise InputError(f"{str(path)!r} is no text: rename it.")
    return Mark(path.stem, str(path), flush, expected)


def is_text(path: Path) -> bool:
    """Whether a path is valid Unicode. Python decodes other bytes to surrogates, which SQLite and JSON refuse."""
    return not any("\ud800" <= each <= "\udfff" for each in str(path))
