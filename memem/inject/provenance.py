"""Show where a memory comes from, the turn and the words that prove it, and where it was shown and used."""

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


_WRITERS = {"human": "a person", "model": "Claude on request"}


@dataclass(frozen=True, slots=True)
class Provenance:
    """A memory with its proof: the turns around its source at `place`, or a `note` why there are none; and its use."""

    entry: Entry
    transcript: str = ""
    turns: tuple[Turn, ...] = ()
    place: int = -1
    note: str = ""
    injections: tuple[Injection, ...] = ()
    usefulness: Usefulness = UNSEEN


def find_provenance(ws: Workspace, identity: str) -> Provenance:
    entry = find.get(ws, identity)
    if entry.memory.status == QUARANTINED:  # Claude runs this too, for whoever asks it
        return Provenance(replace(entry, memory=answers.hide_quarantined(entry.memory), path=""), note=answers.WAITS)
    found, used = receipts.injections(ws, entry.id), usefulness.usefulness_of(ws, entry.id)
    return replace(_find_proof(ws, entry), injections=found, usefulness=used)


def _find_proof(ws: Workspace, entry: Entry) -> Provenance:
    memory = entry.memory
    if not memory.source_turn:
        author = _WRITERS.get(memory.author, memory.author) if memory.source_type == "user" else memory.source_type
        return Provenance(entry, note=f"It was saved by {author}, not mined from a session.")
    mined = ws.state.sessions.get(memory.source_session)
    path = Path(mined.path) if mined and mined.path and Path(mined.path).is_file() else None
    if path is None:
        named = (path for path in find_sessions(ws.session_folders) if path.stem == memory.source_session)
        path = next(named, None)
    if path is None and memory.source_type == "import":
        within = f" of session {memory.source_session}" if memory.source_session else ""
        return Provenance(entry, note=f"It was imported from {memory.source_turn}{within}.")
    if path is None:
        note = f"The transcript of session {memory.source_session} is gone; Claude Code keeps transcripts for 30 days."
        return Provenance(entry, note=note)
    found = find_turn(path, memory.source_turn)
    if found is None:
        return Provenance(entry, str(path), note=f"{path} no longer contains the turn.")
    turns, place = found
    # Redacted: text that the gate removes from a memory must not come back with its proof.
    return Provenance(entry, str(path), tuple(replace(turn, text=clean_text(turn.text)) for turn in turns), place)
