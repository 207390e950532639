"""What a session was shown, whichever way: it is not told twice, and what Claude then says of it is no news.

A record that cannot be read or written costs nobody an answer: at worst something is said twice. `memem doctor` tells.
"""

from collections.abc import Iterable
from contextlib import suppress

from memem.core.memory import ID8
from memem.jobs.contexts import Context
from memem.jobs.tables import UNUSABLE
from memem.workspace import Workspace


def note(ws: Workspace, session: str, what: Iterable[str]) -> None:
    """A session is being shown these memories (by id) and files; unless nobody waits for the answer any more."""
    if session and ws.ticks() <= ws.wanted_until:
        with suppress(*UNUSABLE):
            ws.contexts.add(session, what, ws.clock().timestamp())


def shown(ws: Workspace, session: str) -> frozenset[str]:
    """What a session's context holds: ids of memories, paths of files."""
    with suppress(*UNUSABLE):
        return frozenset(ws.contexts.shown(session))
    return frozenset()


def context(ws: Workspace, session: str) -> Context:
    """How the last prompts of a session went."""
    with suppress(*UNUSABLE):
        return ws.contexts.get(session)
    return Context()


def known_by(ws: Workspace, session: str) -> frozenset[str]:
    """The beginnings of the ids of all that a session was shown: by its transcript, and by what tools and hooks say."""
    told = ws.contexts.shown(session) if ws.home.contexts_file.exists() else []
    return ws.state.sessions.injected(session) | {each[:ID8] for each in told}
