"""What a session was shown, whichever way: it is not told twice, and what Claude then says of it is no news."""

from collections.abc import Iterable

from memem.core.memory import ID8, Entry
from memem.workspace import Workspace


def note(ws: Workspace, session: str, entries: Iterable[Entry]) -> None:
    """A tool has shown these to the session that asked."""
    if session:
        ws.contexts.add(session, [entry.id for entry in entries], ws.clock().timestamp())


def known_by(ws: Workspace, session: str) -> frozenset[str]:
    """The beginnings of the ids of all that a session was shown: by its transcript, and by what tools and hooks say."""
    told = ws.contexts.shown(session) if ws.home.contexts_file.exists() else []
    return ws.state.sessions.injected(session) | {each[:ID8] for each in told}
