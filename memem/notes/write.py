"""Create and edit notes: checked by the gate, under the write lock, never twice, and with an event."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.compare.shorten import first_sentence, shorten
from memem.core.dates import is_in_force, iso
from memem.core.errors import Ambiguous, Forgotten, InputError, NoteChanged, NoteError, NoteUnreadable, NotFound
from memem.core.memory import (
    KINDS,
    LAYERS,
    PINNED,
    PINNED_MAX_CHARACTERS,
    PINNED_MAX_NOTES,
    STATUSES,
    Memory,
    fingerprint,
)
from memem.notes import decide, rename
from memem.safety.gate import EVERYTHING, Verdict, cleanse, judge
from memem.safety.naming import clean_project_name
from memem.search.find import locate
from memem.search.refresh import ensure_filled, fresh_rows, index_note, refresh, reserve_row
from memem.vault import forgotten
from memem.vault.note import Note, escape_evidence, rewrite_text
from memem.vault.opening import ensure_vault, require_vault
from memem.vault.store import Change
from memem.vault.verdicts import ACCEPTED
from memem.vault.write_lock import record_change, writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


TITLE_CHARACTERS = 80
EDITABLE = ("body", "title", "project", "kind", "layer", "importance", "status", "tags", "keys", "paths")


@dataclass(frozen=True, slots=True)
class Written:
    outcome: str  # created, exists, updated, superseded, outdated, proposed, edited, unchanged or forgotten
    memory: Memory
    path: str
    redacted: tuple[str, ...] = ()
    neutralised: int = 0
    doubt: str = ""  # how it reads like an instruction to the model, which keeps it from being recalled


def prepared(memory: Memory) -> Verdict:
    """The gate's verdict on a memory, with its tags and a title."""
    memory = replace(memory, tags=tags_of(memory.tags, memory.project))
    check_choices(memory, EDITABLE)
    verdict = judge(memory)
    title = verdict.memory.title or title_of(verdict.memory.body)
    return replace(verdict, memory=replace(verdict.memory, title=title, body=escape_evidence(verdict.memory.body)))


def keep(ws: Workspace, memory: Memory, *, why: str = "") -> Written:
    """Save a memory under its id, unless a note with that id or statement exists."""
    return put(ws, prepared(memory), why=why)


def put(
    ws: Workspace, verdict: Verdict, *, why: str = "", at_last: Callable[[Memory], object] = lambda _: None
) -> Written:
    """Save a memory that passed the gate; `at_last` is called under the lock and raises if it may not be saved."""
    memory = verdict.memory
    with writing(ws):
        ensure_filled(ws, ensure_vault(ws))
        twin = _find_twin(ws, memory)
        at_last(memory)
        if twin:
            return replace(twin, redacted=verdict.redacted, neutralised=verdict.neutralised)
        check_room(ws, memory)
        reserve_row(ws, ws.store.path_for(memory), memory)
        note, change = ws.store.create(memory)
        record_change(ws, "save", memory.id, change, why)
        index_note(ws, note)
    return Written("created", note.memory, note.path, verdict.redacted, verdict.neutralised)


def _find_twin(ws: Workspace, memory: Memory) -> Written | None:
    """The note with this id, which an interrupted save wrote, or one in force that states the same."""
    for row in fresh_rows(ws, lambda: ws.index.rows("id = ?", (memory.id,))):
        if row.memory:
            return Written("exists", row.memory, row.path)
    key = fingerprint(memory.body)
    for row in fresh_rows(ws, lambda: ws.index.by_fingerprint(key)):
        is_candidate = row.memory and row.memory.project == memory.project and is_in_force(row.memory, ws.clock())
        if row.memory and is_candidate and not decide.are_of_two_things(row.memory, memory):
            return Written("exists", row.memory, row.path)
    return None


def check_choices(memory: Memory, fields: Collection[str]) -> None:
    if "kind" in fields and memory.kind not in KINDS:
        raise InputError(f"Unknown kind {memory.kind!r}. Use one of {', '.join(KINDS)}.")
    if "status" in fields and memory.status not in STATUSES:
        raise InputError(f"Unknown status {memory.status!r}. Use one of {', '.join(STATUSES)}.")
    if "layer" in fields and (type(memory.layer) is not int or memory.layer not in LAYERS):
        raise InputError("The layer must be 0 (pinned), 1 (conventions), 2 (ordinary) or 3 (archive).")
    if "importance" in fields and (type(memory.importance) is not int or not 1 <= memory.importance <= 5):
        raise InputError("The importance must be a whole number from 1 to 5.")


def check_room(ws: Workspace, memory: Memory) -> None:
    """Keep the pinned notes few and short: they are in the context of every session."""
    if memory.layer != PINNED:
        return
    condition = "project = ? AND layer = 0 AND status = 'active' AND id <> ?"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, (memory.project, memory.id)))
    pinned = [row.memory for row in rows if row.memory]
    characters = sum(len(each.body) for each in (*pinned, memory))
    if len(pinned) >= PINNED_MAX_NOTES or characters > PINNED_MAX_CHARACTERS:
        raise InputError(
            f"Layer 0 of {memory.project} is full: at most {PINNED_MAX_NOTES} notes and {PINNED_MAX_CHARACTERS:,} "
            "characters. Use --layer 1, or move another note out of it with `memem edit ID --layer 1`."
        )


def tags_of(tags: tuple[str, ...], project: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for tag in map(tag_of, ("memem", project, *tags)) if tag))


def tag_of(text: str) -> str:
    """A tag as Obsidian takes it: no spaces, no `#`, not a bare number."""
    tag = re.sub(r"[^\w/-]+", "-", text.strip().lstrip("#")).strip("-")
    return f"n{tag}" if tag.isdigit() else tag


def title_of(body: str) -> str:
    """The first sentence, shortened to the length of a title."""
    line = next((line.strip() for line in body.splitlines() if re.search(r"\w", line)), body.strip())
    line = re.sub(r"^(?:(?:#{1,6}|>|[-*+]|\d+[.)])\s+)+", "", line)
    sentence = first_sentence(line).rstrip("。！？").removesuffix(".")
    return shorten(sentence, TITLE_CHARACTERS) or "Memory"


def edit(ws: Workspace, identity: str, *, why: str = "", **changes: Any) -> Written:
    """Change properties or the statement of a note for a person; the rest of the file keeps its bytes."""
    with writing(ws):
        ensure_filled(ws, require_vault(ws))
        return _change(ws, note_of(ws, identity), changes, "human", why)


def revise(
    ws: Workspace, identity: str, *, why: str = "", expected: Memory | None = None, **changes: Any
) -> Written | None:
    """Change a machine's note for a machine; None when a person wrote or changed it, or it is not as `expected`."""
    with writing(ws):
        ensure_filled(ws, require_vault(ws))
        note = note_of(ws, identity)
        may_change = note.is_a_machines and expected in (None, note.memory)
        return _change(ws, note, changes, "model", why) if may_change else None


def is_a_machines(ws: Workspace, identity: str) -> bool:
    """Whether a note is there that a machine wrote and no person has changed since."""
    with suppress(NoteError, NotFound, Ambiguous):
        return note_of(ws, identity).is_a_machines
    return False


def edit_by_hand(ws: Workspace, identity: str, open_editor: Callable[[Path], object], *, why: str = "") -> Written:
    """Let a person change the file in an editor, and record the change."""
    require_vault(ws)
    note = note_of(ws, identity)
    before = ws.store.unchanged_bytes(note)
    ws.events.store_undo(note.digest, before)
    try:
        open_editor(ws.store.absolute(note.path))
    finally:
        after = ws.store.current_bytes(note.path)
        if after != before:
            with writing(ws):
                record_change(ws, "edit", note.memory.id, Change(note.path, before, after), why or "by hand")
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
    # Only the changed fields are judged: the rest of the note stays as it is.
    verdict = judge(wanted, [name for name in changes if name in EVERYTHING])
    memory = replace(verdict.memory, body=escape_evidence(verdict.memory.body)) if "body" in changes else verdict.memory
    if memory == note.memory:
        return Written("unchanged", cleanse(memory).memory, note.path)
    _refuse_forgotten(ws, note.memory, memory)
    check_room(ws, memory)
    memory = replace(memory, updated=iso(ws.clock()), author=author)
    ws.events.store_undo(note.digest, ws.store.unchanged_bytes(note))
    with ws.events.batch("edit"):
        if memory.title != note.memory.title:
            rewrite_text(note, memory)  # a refusal comes before the name has changed
            note = rename.follow_title(ws, note, memory.title, why)
        rewritten, change = ws.store.rewrite(note, memory)
        record_change(ws, "edit", memory.id, change, why)
    index_note(ws, rewritten)
    shown = cleanse(rewritten.memory).memory
    return Written("edited", shown, note.path, verdict.redacted, verdict.neutralised, _doubt(ws, note.path))


def _doubt(ws: Workspace, path: str) -> str:
    """How a note reads like an instruction to the model, if it is in quarantine for that."""
    row = ws.index.by_path(path)
    return cleanse(row.memory).doubt if row and row.memory and row.review not in ("", ACCEPTED) else ""


def _refuse_forgotten(ws: Workspace, old: Memory, new: Memory) -> None:
    known = ws.tombstones.load()
    if not known or (old.body, old.title, old.evidence) == (new.body, new.title, new.evidence):
        return
    own = forgotten.find_matching(known, old)
    again = [stone for stone in forgotten.find_matching(known, new) if stone not in own]
    if again:
        day = max(stone.time for stone in again)[:10]
        raise Forgotten(f"Not changed: the new text was forgotten on {day}. `memem save --anyway` saves it.")


def note_of(ws: Workspace, identity: str) -> Note:
    """The note with this id as it is on disk now."""
    row = locate(ws, identity)
    note = ws.store.read(row.path)
    if row.memory is None or note.memory.id != row.memory.id:
        raise NoteChanged(f"{row.path} has changed on disk since it was found; nothing was written. Try again.")
    return note


def _settle_project(memory: Memory, changes: dict[str, Any]) -> dict[str, Any]:
    """Normalise the project and the tags; another project also changes the project's tag."""
    changes = dict(changes)
    project = memory.project
    if "project" in changes:
        project = changes["project"] = clean_project_name(changes["project"])
    if "tags" in changes:
        changes["tags"] = tags_of(changes["tags"], project)
    elif project != memory.project:
        old, new = tag_of(memory.project), tag_of(project)
        changes["tags"] = tuple(dict.fromkeys(new if tag == old else tag for tag in memory.tags))
    return changes
