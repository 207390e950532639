"""What a person says of a note that was held back: written down in the vault, recorded, and taken back by an undo."""

from itertools import dropwhile, islice

from memem.core.clock import iso
from memem.core.memory import Memory
from memem.flows.holding import follow, why
from memem.flows.writing import record
from memem.gate.verdict import cleanse
from memem.index.notes import Row
from memem.jobs.batches import ALLOW, ASK, REFUSE, WORDS
from memem.jobs.events import Event
from memem.vault import note as notes
from memem.vault import reviewed
from memem.vault.note import Note
from memem.vault.reviewed import ACCEPTED, REJECTED, WAITING
from memem.vault.store import Change
from memem.workspace import Workspace

_WORDS = {ALLOW: ACCEPTED, REFUSE: REJECTED, ASK: WAITING}


def decide(ws: Workspace, row: Row, action: str, because: str) -> None:
    """A person allows or refuses a note. Called under the write lock."""
    data = ws.store.current_bytes(row.path) or b""
    record_word(ws, action, notes.parse(row.path, data, row.memory.id if row.memory else ""), data, because)


def record_word(ws: Workspace, action: str, note: Note, data: bytes, because: str) -> None:
    """The same of a note as it was read. Called under the write lock."""
    ws.events.keep(note.digest, data)
    record(ws, action, note.memory.id, Change(note.path, data, data), because)
    say(ws, note.memory, action)


def say(ws: Workspace, memory: Memory, action: str) -> None:
    """Write down what a person says of these words, and have it count. Called under the write lock."""
    words, now = cleanse(memory).memory, iso(ws.clock())
    if reviewed.said_of(ws.store.paths, words) != _WORDS[action]:
        reviewed.say(ws.store.paths, words, _WORDS[action], now, fsync=ws.settings.fsync)
        follow(ws)


def allow(ws: Workspace, memory: Memory) -> None:
    """A person wants it kept, and has seen what it says. Called under the write lock."""
    if why(memory):
        say(ws, memory, ALLOW)


def ask(ws: Workspace, memory: Memory) -> None:
    """It is a question again. Called under the write lock."""
    if why(memory):
        say(ws, memory, ASK)


def before(ws: Workspace, event: Event) -> str:
    """What undoes a decision: the one before it about the same bytes, or none."""
    earlier = dropwhile(lambda each: each != event, ws.events.backwards())
    words = (each for each in islice(earlier, 1, None) if each.action in WORDS)
    return next((each.action for each in words if (each.id, each.after) == (event.id, event.after)), ASK)
