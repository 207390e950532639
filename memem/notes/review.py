"""List and decide on proposals and quarantined notes, which wait for a person."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import dropwhile, islice
from typing import TYPE_CHECKING

from memem.core.dates import iso
from memem.core.errors import Ambiguous
from memem.core.memory import Memory, fingerprint
from memem.notes import forget, write
from memem.notes.write import Written
from memem.safety.gate import clean_line, cleanse
from memem.search import note_rows
from memem.search.refresh import ensure_filled, refresh_stale
from memem.state.batches import ALLOW, ASK, REFUSE, VERDICTS
from memem.state.events import Event
from memem.vault import note as notes
from memem.vault import restore, verdicts
from memem.vault.note import Note
from memem.vault.opening import ensure_vault, require_vault
from memem.vault.store import Change
from memem.vault.verdicts import ACCEPTED, REJECTED, WAITING
from memem.vault.write_lock import record_change, writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


ELSEWHERE = "it was accepted in another memory home, not in this one"
_VERDICT_OF = {ALLOW: ACCEPTED, REFUSE: REJECTED, ASK: WAITING}


@dataclass(frozen=True, slots=True)
class Proposal:
    memory: Memory
    path: str
    because: str
    held: bool = False  # it is a note of the vault in quarantine


def propose(ws: Workspace, memory: Memory, because: str) -> Written:
    """Put a memory up for review, unless the same one is."""
    verdict = write.prepared(memory)
    memory = verdict.memory
    same = (fingerprint(memory.body), memory.project)
    with writing(ws):
        ensure_vault(ws)
        for proposed in ws.store.read_proposals():
            other = proposed.memory
            if other.id == memory.id or (fingerprint(other.body), other.project) == same:
                break
        else:
            path = f"{ws.store.paths.review.name}/{notes.file_name(memory)}"
            data = notes.proposal_text(memory, clean_line(because)).encode()
            proposed = notes.parse(path, data, memory.id)
            restore.put_back(ws.store, path, data)
            record_change(ws, "propose", memory.id, Change(path, None, data), because)
    return Written("proposed", proposed.memory, proposed.path, verdict.redacted, verdict.neutralised)


def proposals(ws: Workspace) -> list[Proposal]:
    """The memories that wait for a person, the oldest first."""
    ensure_filled(ws, require_vault(ws))
    waiting = [
        Proposal(cleanse(note.memory).memory, note.path, clean_line(note.review_reason))
        for note in ws.store.read_proposals()
    ]
    for row in note_rows.list_quarantined(ws):
        memory = row.memory or Memory("", "", "")
        elsewhere = f"; {ELSEWHERE}" if verdicts.is_accepted_elsewhere(ws, memory) else ""
        waiting.append(Proposal(memory, row.path, f"{cleanse(memory).doubt}{elsewhere}", held=True))
    return sorted(waiting, key=lambda each: (each.memory.created, each.path))


def accept(ws: Workspace, identity: str, *, why: str = "") -> Written:
    """Move a proposal to the notes and lift its tombstones, or release a note from quarantine."""
    with ws.events.batch("review"):
        with writing(ws):
            ensure_filled(ws, require_vault(ws))
            proposal = _find_proposal(ws, identity)
            if proposal is None:
                return _decide_on_held(ws, identity, ALLOW, why)
            memory = proposal.memory
            data = notes.accepted_text(proposal).encode()
            path = ws.store.path_for(memory)
            condition = "id = ? OR (fingerprint = ? AND project = ? AND status = 'active')"
            known = ws.index.rows(condition, (memory.id, fingerprint(memory.body), memory.project))
            before = ws.store.unchanged_bytes(proposal)
            ws.events.store_undo(proposal.digest, before)
            if not known:
                write.check_room(ws, memory)
                restore.put_back(ws.store, path, data)
                record_change(ws, "accept", memory.id, Change(path, before, data), why)
            forget.lift(ws, memory)
            if not known:
                allow_held(ws, notes.parse(path, data, memory.id).memory)
            refresh_stale(ws, [(path, None)])
            restore.remove_file(ws.store, proposal.path, before)
        if known and known[0].memory:
            return Written("exists", known[0].memory, known[0].path)
        return Written("accepted", cleanse(notes.parse(path, data, memory.id).memory).memory, path)


def reject(ws: Workspace, identity: str, *, why: str = "") -> Written:
    """Forget a proposal; a quarantined note stays in the vault and in quarantine."""
    with ws.events.batch("review"), writing(ws):
        ensure_filled(ws, require_vault(ws))
        proposal = _find_proposal(ws, identity)
        if proposal is None:
            return _decide_on_held(ws, identity, REFUSE, why)
        ws.events.store_undo(proposal.digest, ws.store.unchanged_bytes(proposal))
        forget.write_tombstone(ws, proposal.memory)
        change = ws.store.set_aside(proposal)
        record_change(ws, "reject", proposal.memory.id, change, why)
    return Written("rejected", cleanse(proposal.memory).memory, proposal.path)


def _find_proposal(ws: Workspace, identity: str) -> Note | None:
    wanted = identity.strip().lower()
    found = [note for note in ws.store.read_proposals() if wanted and note.memory.id.lower().startswith(wanted)]
    if len(found) > 1:
        raise Ambiguous(f"{len(found)} proposals have an id that starts with {identity!r}. Use more of the id.")
    return found[0] if found else None


def _decide_on_held(ws: Workspace, identity: str, action: str, why: str) -> Written:
    row = note_rows.find_quarantined(ws, identity)
    data = ws.store.current_bytes(row.path) or b""
    note = notes.parse(row.path, data, row.memory.id if row.memory else "")
    record_decision(ws, action, note, data, why)
    memory = cleanse(ws.store.read(row.path).memory).memory
    return Written("accepted" if action == ALLOW else "rejected", memory, row.path)


def record_decision(ws: Workspace, action: str, note: Note, data: bytes, because: str) -> None:
    """Record that a person allows or refuses a quarantined note. Called under the write lock."""
    ws.events.store_undo(note.digest, data)
    record_change(ws, action, note.memory.id, Change(note.path, data, data), because)
    _apply_decision(ws, note.memory, action)


def allow_held(ws: Workspace, memory: Memory, action: str = ALLOW) -> None:
    """Release a memory from quarantine, or with ASK put it up for decision again. Called under the write lock."""
    if cleanse(memory).doubt:
        _apply_decision(ws, memory, action)


def _apply_decision(ws: Workspace, memory: Memory, action: str) -> None:
    words, verdict = cleanse(memory).memory, _VERDICT_OF[action]
    if verdicts.verdict_on(ws, words) != verdict:
        verdicts.record_verdict(ws, words, verdict, iso(ws.clock()))
        note_rows.apply_verdicts(ws)


def previous_decision(ws: Workspace, event: Event) -> str:
    """The decision before this one about the same bytes, or ASK."""
    earlier = dropwhile(lambda each: each != event, ws.events.read_backwards())
    decisions = (each for each in islice(earlier, 1, None) if each.action in VERDICTS)
    return next((each.action for each in decisions if (each.id, each.after) == (event.id, event.after)), ASK)
