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
    """Return the proof of a memory, and how it was used."""
    entry = find.get(ws, identity)
    if entry.memory.status == QUARANTINED:  # Claude runs this too, for whoever asks it
        return Provenance(replace(entry, memory=answers.hide_quarantined(entry.memory), path=""), note=answers.WAITS)
    proof = _find_proof(ws, entry)
    found = receipts.injections(ws, proof.entry.id)
    return replace(proof, injections=found, usefulness=usefulness.usefulness_of(ws, proof.entry.id))


def _find_proof(ws: Workspace, entry: Entry) -> Provenance:
    memory = entry.memory
    if not memory.source_turn:
        told = _WRITERS.get(memory.author, memory.author) if memory.source_type == "user" else memory.source_type
        return Provenance(entry, note=f"It was saved by {told}, not mined from a session.")
    path = _transcript(ws, memory.source_session)
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
    return Provenance(entry, str(path), tuple(map(_redact_turn, turns)), place)


def _redact_turn(turn: Turn) -> Turn:
    """Redact a turn: what the gate removes from a memory must not come back with its proof."""
    return replace(turn, text=clean_text(turn.text))


def _transcript(ws: Workspace, session: str) -> Path | None:
    """Find the transcript where it was mined, else in the session folders."""
    known = ws.state.sessions.get(session)
    if known and known.path and Path(known.path).is_file():
        return Path(known.path)
    return next((path for path in find_sessions(ws.session_folders) if path.stem == session), None)
