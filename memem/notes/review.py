"""Proposals and held notes that wait for a person, and the person's verdicts on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile, islice
from typing import TYPE_CHECKING

from memem.core.dates import iso
from memem.core.errors import Ambiguous
from memem.core.memory import Memory, fingerprint
from memem.notes import forget, write
from memem.notes.write import Written
from memem.safety.gate import clean_line, cleanse
from memem.search import excluded
from memem.search.excluded import apply_verdicts
from memem.search.notes import NoteRow
from memem.search.refresh import ensure_filled, refresh_stale
from memem.state.batches import ALLOW, ASK, REFUSE, VERDICTS
from memem.state.events import Event
from memem.vault import forgotten, restore, review, verdicts
from memem.vault import note as notes
from memem.vault.note import Note
from memem.vault.opening import ensure_vault, require_vault
from memem.vault.store import Change
from memem.vault.verdicts import ACCEPTED, REJECTED, WAITING
from memem.vault.write_lock import record_change, writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


_WORDS = {ALLOW: ACCEPTED, REFUSE: REJECTED, ASK: WAITING}


def decide_held(ws: Workspace, row: NoteRow, action: str, because: str) -> None:
    """A person allows or refuses a note. Called under the write lock."""
    data = ws.store.current_bytes(row.path) or b""
    record_word(ws, action, notes.parse(row.path, data, row.memory.id if row.memory else ""), data, because)


def record_word(ws: Workspace, action: str, note: Note, data: bytes, because: str) -> None:
    """The same of a note as it was read. Called under the write lock."""
    ws.events.store_undo(note.digest, data)
    record_change(ws, action, note.memory.id, Change(note.path, data, data), because)
    say_held(ws, note.memory, action)


def say_held(ws: Workspace, memory: Memory, action: str) -> None:
    """Write down what a person says of these words, and have it count. Called under the write lock."""
    words, now = cleanse(memory).memory, iso(ws.clock())
    if verdicts.verdict_on(ws.store.paths, words) != _WORDS[action]:
        verdicts.record_verdict(ws.store.paths, words, _WORDS[action], now, fsync=ws.settings.fsync)
        apply_verdicts(ws)


def allow_held(ws: Workspace, memory: Memory) -> None:
    """A person wants it kept, and has seen what it says. Called under the write lock."""
    if cleanse(memory).doubt:
        say_held(ws, memory, ALLOW)


def ask_again(ws: Workspace, memory: Memory) -> None:
    """It is a question again. Called under the write lock."""
    if cleanse(memory).doubt:
        say_held(ws, memory, ASK)


def previous_decision(ws: Workspace, event: Event) -> str:
    """The decision before this one about the same bytes, which undoes it; or none."""
    earlier = dropwhile(lambda each: each != event, ws.events.read_backwards())
    words = (each for each in islice(earlier, 1, None) if each.action in VERDICTS)
    return next((each.action for each in words if (each.id, each.after) == (event.id, event.after)), ASK)


_NO_STAMP = (0, 0, -1)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A memory that waits for a person, and why it does. `held`: it is a note of the vault, and stays one."""

    memory: Memory
    path: str
    because: str
    held: bool = False


def propose(ws: Workspace, memory: Memory, because: str) -> Written:
    """Put a memory up for review; the same one only once."""
    verdict = write.prepared(memory)
    memory = verdict.memory
    with writing(ws):
        ensure_vault(ws)
        proposed = next(_alike(ws, memory), None)
        if proposed is None:
            path, data = review.path_for(ws.store, memory), review.new_text(memory, clean_line(because)).encode()
            proposed = notes.parse(path, data, memory.id)
            restore.put_back(ws.store, path, data, instead_of=None, fsync=ws.settings.fsync)
            record_change(ws, "propose", memory.id, Change(path, None, data), because)
    return Written("proposed", proposed.memory, proposed.path, verdict.redacted, verdict.neutralised)


def proposals(ws: Workspace) -> list[Proposal]:
    """The proposals that wait, the oldest first."""
    ensure_filled(ws, require_vault(ws))
    found = [_proposal(each) for each in review.read_proposals(ws.store)]
    found += [_held(row) for row in excluded.list_quarantined(ws)]
    return sorted(found, key=lambda each: (each.memory.created, each.path))


def accept(ws: Workspace, identity: str, *, why: str = "") -> Written:
    """A person wants it remembered: the note moves among the others, and what was forgotten of it is lifted."""
    with ws.events.batch("review"):
        with writing(ws):
            ensure_filled(ws, require_vault(ws))
            proposal = _find_note(ws, identity)
            if proposal is None:
                return _decided(ws, identity, ALLOW, why)
            memory = proposal.memory
            data = review.accepted_text(proposal).encode()
            path = ws.store.path_for(memory)
            known = ws.index.rows("id = ? OR (fingerprint = ? AND project = ? AND status = 'active')", _same(memory))
            before = ws.store.unchanged_bytes(proposal)
            ws.events.store_undo(proposal.digest, before)
            if not known:
                write.check_room(ws, memory)
                if restore.plain_bytes(ws.store, path) != data:  # as one that was interrupted has left it
                    restore.put_back(ws.store, path, data, instead_of=None, fsync=ws.settings.fsync)
                record_change(ws, "accept", memory.id, Change(path, before, data), why)
            forget.lift(ws, memory)
            if not known:
                allow_held(ws, notes.parse(path, data, memory.id).memory)
            refresh_stale(ws, [(path, _NO_STAMP)])
            restore.remove_file(ws.store, proposal.path, before, fsync=ws.settings.fsync)
        if known and known[0].memory:
            return Written("exists", known[0].memory, known[0].path)
        return Written("accepted", cleanse(notes.parse(path, data, memory.id).memory).memory, path)


def reject(ws: Workspace, identity: str, *, why: str = "") -> Written:
    """A person does not want it: it is forgotten like any other note. One of the vault stays, and stays held back."""
    with ws.events.batch("review"), writing(ws):
        ensure_filled(ws, require_vault(ws))
        proposal = _find_note(ws, identity)
        if proposal is None:
            return _decided(ws, identity, REFUSE, why)
        ws.events.store_undo(proposal.digest, ws.store.unchanged_bytes(proposal))
        forgotten.write_tombstone(ws, proposal.memory)
        change = ws.store.set_aside(proposal)
        record_change(ws, "reject", proposal.memory.id, change, why)
    return Written("rejected", cleanse(proposal.memory).memory, proposal.path)


def _decided(ws: Workspace, identity: str, action: str, why: str) -> Written:
    """A note that is held back, wherever it is."""
    row = excluded.find_quarantined(ws, identity)
    decide_held(ws, row, action, why)
    memory = cleanse(ws.store.read(row.path).memory).memory
    return Written("accepted" if action == ALLOW else "rejected", memory, row.path)


def _find_note(ws: Workspace, identity: str) -> Note | None:
    """The proposal with this id, or this beginning of one; None where a note that is held back may have it."""
    wanted = identity.strip().lower()
    found = [each for each in review.read_proposals(ws.store) if wanted and each.memory.id.lower().startswith(wanted)]
    if len(found) > 1:
        raise Ambiguous(f"{len(found)} proposals begin with {identity!r}. Use more of the id.")
    return found[0] if found else None


def _alike(ws: Workspace, memory: Memory) -> Iterator[Note]:
    statement = fingerprint(memory.body)
    for each in review.read_proposals(ws.store):
        same = fingerprint(each.memory.body) == statement and each.memory.project == memory.project
        if same or each.memory.id == memory.id:
            yield each


def _same(memory: Memory) -> tuple[str, str, str]:
    return memory.id, fingerprint(memory.body), memory.project


def _held(row: NoteRow) -> Proposal:
    memory = row.memory or Memory("", "", "")
    return Proposal(memory, row.path, cleanse(memory).doubt, held=True)


def _proposal(each: Note) -> Proposal:
    return Proposal(cleanse(each.memory).memory, each.path, clean_line(review.reason_of(each)))
