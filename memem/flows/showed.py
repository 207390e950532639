"""What a session was shown, whichever way: it is not told twice, and what Claude then says of it is no news."""

from collections.abc import Iterable

from memem.core.memory import ID8
from memem.workspace import Workspace


def note(ws: Workspace, session: str, what: Iterable[str]) -> None:
    """A session is being shown these memories (by id) and files; unless nobody waits for the answer any more."""
    if session and ws.ticks() <= ws.wanted_until:
        ws.contexts.add(session, what, ws.clock().timestamp())


def known_by(ws: Workspace, session: str) -> frozenset[str]:
    """The beginnings of the ids of all that a session was shown: by its transcript, and by what tools and hooks say."""
    told = ws.contexts.shown(session) if ws.home.contexts_file.exists() else []
    return ws.state.sessions.injected(session) | {each[:ID8] for each in told}
