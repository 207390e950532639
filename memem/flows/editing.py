"""Change a note: for a person, who may change everything; for a machine, which never touches what a person wrote."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from memem.core.clock import iso
from memem.core.errors import Forgotten, NoteChanged, NoteUnreadable
from memem.core.memory import Memory
from memem.flows import recognising
from memem.flows.keeping import EDITABLE, Written, check_choices, check_room, tag_of, tags_of
from memem.flows.opening import require_vault
from memem.flows.reindex import index_note, ready, refresh
from memem.flows.retrieve import locate
from memem.flows.writing import record, writing
from memem.gate.naming import project_named
from memem.gate.verdict import EVERYTHING, cleanse, judge
from memem.vault.note import Note, escape_evidence
from memem.vault.reviewed import ACCEPTED
from memem.vault.store import Change
from memem.workspace import Workspace

__all__ = ["EDITABLE", "edit", "edit_by_hand", "is_a_machines", "note_of", "revise", "revise_same"]


def edit(ws: Workspace, identity: str, *, why: str = "", **changes: Any) -> Written:
    """Change some properties, or the statement, of a note; everything else in the file keeps its bytes."""
    with writing(ws):
        ready(ws, require_vault(ws))
        return _change(ws, note_of(ws, identity), changes, "human", why)


def revise(ws: Workspace, identity: str, *, why: str = "", **changes: Any) -> Written | None:
    """The same by a machine, which never touches what a person has written or changed: None then."""
    with writing(ws):
        ready(ws, require_vault(ws))
        note = note_of(ws, identity)
        return _change(ws, note, changes, "model", why) if _is_a_machines(note) else None


def revise_same(ws: Workspace, memory: Memory, *, why: str = "", **changes: Any) -> Written | None:
    """The same of a note that says exactly this: None also when it says anything else by now."""
    with writing(ws):
        ready(ws, require_vault(ws))
        note = note_of(ws, memory.id)
        is_same = _is_a_machines(note) and note.memory == memory
        return _change(ws, note, changes, "model", why) if is_same else None


def is_a_machines(ws: Workspace, identity: str) -> bool:
    """Whether a note was written by a machine, and no person has changed it since."""
    return _is_a_machines(note_of(ws, identity))


def edit_by_hand(ws: Workspace, identity: str, open_editor: Callable[[Path], object], *, why: str = "") -> Written:
    """Let a person change the file itself; whatever they do to it is kept and recorded like any other change."""
    require_vault(ws)
    note = note_of(ws, identity)
    before = ws.store.unchanged_bytes(note)
    ws.events.keep(note.digest, before)
    try:
        open_editor(ws.store.absolute(note.path))
    finally:
        after = ws.store.current_bytes(note.path)
        if after != before:
            with writing(ws):
                record(ws, "edit", note.memory.id, Change(note.path, before, after), why or "by hand")
    refresh(ws)
    if after == before:
        return Written("unchanged", cleanse(note.memory).memory, note.path)
    row = ws.index.by_path(note.path) or locate(ws, note.memory.id)
    if row.memory is None:
        raise NoteUnreadable(f"{row.path} cannot be read: {row.problem}. Correct it in Obsidian.")
    return Written("edited", row.memory, row.path, doubt=_doubt(ws, row.path))


def _change(ws: Workspace, note: Note, changes: dict[str, Any], author: str, why: str) -> Written:
    changes = _settle_project(note.memory, changes)
    wanted = replace(note.memory, **changes)
    check_choices(wanted, changes)
    # Only what was asked for is judged: the rest of the note is the person's and stays as it is.
    verdict = judge(wanted, [name for name in changes if name in EVERYTHING])
    memory = replace(verdict.memory, body=escape_evidence(verdict.memory.body)) if "body" in changes else verdict.memory
    if memory == note.memory:
        return Written("unchanged", cleanse(memory).memory, note.path)
    _refuse_forgotten(ws, note.memory, memory)
    check_room(ws, memory)
    memory = replace(memory, updated=iso(ws.clock()), author=author)
    ws.events.keep(note.digest, ws.store.unchanged_bytes(note))
    rewritten, change = ws.store.rewrite(note, memory)
    record(ws, "edit", memory.id, change, why)
    index_note(ws, rewritten)
    shown = cleanse(rewritten.memory).memory
    return Written("edited", shown, note.path, verdict.redacted, verdict.neutralised, _doubt(ws, note.path))


def _doubt(ws: Workspace, path: str) -> str:
    """In which way a note reads like an instruction to the model, if it is held back for that."""
    row = ws.index.by_path(path)
    return cleanse(row.memory).doubt if row and row.memory and row.review not in ("", ACCEPTED) else ""


def _refuse_forgotten(ws: Workspace, old: Memory, new: Memory) -> None:
    """What was forgotten does not come back as the text of another note."""
    known = ws.tombstones.known()
    if not known or (old.body, old.title, old.evidence) == (new.body, new.title, new.evidence):
        return
    own = recognising.matching(known, old)
    again = [stone for stone in recognising.matching(known, new) if stone not in own]
    if again:
        day = max(stone.time for stone in again)[:10]
        raise Forgotten(f"Not changed: what it would say was forgotten on {day}. `memem save --anyway` keeps it.")


def _is_a_machines(note: Note) -> bool:
    return note.memory.author == "model" and not note.touched_by_hand


def note_of(ws: Workspace, identity: str) -> Note:
    """The note with this id as it is on disk now."""
    row = locate(ws, identity)
    note = ws.store.read(row.path)
    if row.memory is None or note.memory.id != row.memory.id:
        raise NoteChanged(f"{row.path} changed on disk since it was found; nothing was written. Try again.")
    return note


def _settle_project(memory: Memory, changes: dict[str, Any]) -> dict[str, Any]:
    """Spell the project and the tags as we do; a note that changes its project changes that tag too."""
    changes = dict(changes)
    project = memory.project
    if "project" in changes:
        project = changes["project"] = project_named(changes["project"])
    if "tags" in changes:
        changes["tags"] = tags_of(changes["tags"], project)
    elif project != memory.project:
        old, new = tag_of(memory.project), tag_of(project)
        changes["tags"] = tuple(dict.fromkeys(new if tag == old else tag for tag in memory.tags))
    return changes
