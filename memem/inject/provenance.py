"""Where a memory comes from: the words that prove it, and the turn they stand in, with what was said around it. And
where it went: to whom it was shown, and whether it was used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.conversation import Turn
from memem.core.memory import QUARANTINED, Entry
from memem.inject import answers, receipts
from memem.inject.receipts import Injection
from memem.safety.gate import clean_text
from memem.search import find
from memem.state import usefulness
from memem.state.usefulness import UNSEEN, Usefulness
from memem.transcript.session import find_sessions, find_turn

if TYPE_CHECKING:
    from memem.workspace import Workspace


_WRITERS = {"human": "a person", "model": "Claude, as it was asked to"}


@dataclass(frozen=True, slots=True)
class Provenance:
    """A memory with its proof. `turns` are those around the one it came from, which is at `place`; none when the
    transcript is gone, or the memory came another way, as `note` then says.

    `injections` are where it was shown, the last time first, and `usefulness` is what came of it.
    """

    entry: Entry
    transcript: str = ""
    turns: tuple[Turn, ...] = ()
    place: int = -1
    note: str = ""
    injections: tuple[Injection, ...] = ()
    usefulness: Usefulness = UNSEEN


def why(ws: Workspace, identity: str) -> Provenance:
    """The proof of a memory, and how it fared."""
    entry = find.get(ws, identity)
    if entry.memory.status == QUARANTINED:  # Claude runs this too, for whoever asks it
        return Provenance(replace(entry, memory=answers.shown(entry.memory), path=""), note=answers.WAITS)
    proof = _proof(ws, entry)
    found = receipts.injections(ws, proof.entry.id)
    return replace(proof, injections=found, usefulness=usefulness.usefulness_of(ws, proof.entry.id))


def _proof(ws: Workspace, entry: Entry) -> Provenance:
    memory = entry.memory
    if not memory.source_turn:
        told = _WRITERS.get(memory.author, memory.author) if memory.source_type == "user" else memory.source_type
        return Provenance(entry, note=f"It was saved by {told}, not mined from a session.")
    path = _transcript(ws, memory.source_session)
    if path is None and memory.source_type == "import":
        within = f" of session {memory.source_session}" if memory.source_session else ""
        return Provenance(entry, note=f"It was imported from {memory.source_turn}{within}.")
    if path is None:
        note = f"The transcript of session {memory.source_session} is gone; Claude Code keeps them for 30 days."
        return Provenance(entry, note=note)
    found = find_turn(path, memory.source_turn)
    if found is None:
        return Provenance(entry, str(path), note=f"{path} no longer holds the turn.")
    turns, place = found
    return Provenance(entry, str(path), tuple(map(_shown, turns)), place)


def _shown(turn: Turn) -> Turn:
    """A turn as it may be shown: what the gate takes out of a memory does not come back with its proof."""
    return replace(turn, text=clean_text(turn.text))


def _transcript(ws: Workspace, session: str) -> Path | None:
    """Where the session was when it was mined, else where such files are."""
    known = ws.state.sessions.get(session)
    if known and known.path and Path(known.path).is_file():
        return Path(known.path)
    return next((path for path in find_sessions(ws.session_folders) if path.stem == session), None)
