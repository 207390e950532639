"""Write: save, edit and forget a memory. Every write passes the gate, holds the lock and leaves an event."""

import re
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memem.core.clock import iso
from memem.core.errors import InputError, NoteChanged, NoteUnreadable
from memem.core.memory import (
    GENERAL,
    ID8,
    KINDS,
    LAYERS,
    PINNED,
    PINNED_MAX_CHARACTERS,
    PINNED_MAX_NOTES,
    STATUSES,
    Memory,
    classify_layer,
)
from memem.core.project import normalise
from memem.flows import receipts
from memem.flows.opening import ensure_vault, require_vault
from memem.flows.reindex import claim, fresh_rows, index_note, ready, refresh
from memem.flows.retrieve import locate
from memem.flows.writing import writing
from memem.gate.duplicates import fingerprint
from memem.gate.verdict import EVERYTHING, clean_line, cleanse, judge
from memem.vault.note import Note, digest, escape_evidence
from memem.vault.store import Change
from memem.workspace import Workspace

TITLE_CHARACTERS = 80
EDITABLE = ("body", "title", "project", "kind", "layer", "importance", "status", "tags", "keys", "paths")


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a write. `outcome` is created, exists, edited, unchanged or forgotten."""

    outcome: str
    memory: Memory
    path: str
    redacted: tuple[str, ...] = ()
    neutralised: int = 0


def save(
    ws: Workspace,
    text: str,
    *,
    title: str = "",
    project: str = GENERAL,
    kind: str = "fact",
    tags: tuple[str, ...] = (),
    layer: int | None = None,
    importance: int = 3,
    keys: tuple[str, ...] = (),
    paths: tuple[str, ...] = (),
    why: str = "",
    author: str = "human",
    session: str = "",
) -> Written:
    """Keep a new memory. The same statement in the same project is not kept twice.

    `author` is `model` when the words are Claude's, though a person wanted them kept; `session` is where that was.
    """
    now = iso(ws.clock())
    project = normalise(project)
    memory = Memory(str(uuid.uuid4()), title, text, project, kind, created=now, updated=now)
    memory = replace(memory, author=author, source_session=session)
    layer = classify_layer(kind, importance, tags) if layer is None else layer
    memory = replace(memory, tags=tags, layer=layer, importance=importance, keys=keys, paths=paths)
    return keep(ws, memory, why=why)


def keep(ws: Workspace, memory: Memory, *, why: str = "") -> Written:
    """Keep a memory under the id it has, unless that id, or its very statement, is known already."""
    memory = replace(memory, tags=_tags(memory.tags, memory.project))
    _check_choices(memory, EDITABLE)
    verdict = judge(memory)
    title = verdict.memory.title or title_of(verdict.memory.body)
    memory = replace(verdict.memory, title=title, body=escape_evidence(verdict.memory.body))
    with writing(ws):
        ready(ws, ensure_vault(ws))
        twin = _same(ws, memory.id) or _twin(ws, memory)
        if twin:
            return replace(twin, redacted=verdict.redacted, neutralised=verdict.neutralised)
        _check_room(ws, memory)
        claim(ws, ws.store.path_for(memory), memory)
        note, change = ws.store.create(memory)
        _record(ws, "save", memory.id, change, why)
        index_note(ws, note)
    return Written("created", note.memory, note.path, verdict.redacted, verdict.neutralised)


def edit(ws: Workspace, identity: str, *, why: str = "", **changes: Any) -> Written:
    """Change some properties, or the statement, of a note; everything else in the file keeps its bytes."""
    with writing(ws):
        ready(ws, require_vault(ws))
        return _change(ws, _note(ws, identity), changes, "human", why)


def revise(ws: Workspace, identity: str, *, why: str = "", **changes: Any) -> Written | None:
    """The same by a machine, which never touches what a person has written or changed: None then."""
    with writing(ws):
        ready(ws, require_vault(ws))
        note = _note(ws, identity)
        return _change(ws, note, changes, "model", why) if _is_a_machines(note) else None


def was_forgotten(ws: Workspace, identity: str) -> bool:
    """Whether a note with this id, or this beginning of one, was forgotten: its file's name still tells."""
    folder, beginning = ws.store.paths.forgotten, identity[:ID8].lower()
    notes = [path for path in folder.iterdir() if beginning in path.name] if folder.is_dir() else []
    return any(identity.encode() in path.read_bytes() for path in notes)


def is_a_machines(ws: Workspace, identity: str) -> bool:
    """Whether a note was written by a machine, and no person has changed it since."""
    return _is_a_machines(_note(ws, identity))


def edit_by_hand(ws: Workspace, identity: str, open_editor: Callable[[Path], object], *, why: str = "") -> Written:
    """Let a person change the file itself; whatever they do to it is kept and recorded like any other change."""
    require_vault(ws)
    note = _note(ws, identity)
    before = ws.store.unchanged_bytes(note)
    ws.events.keep(note.digest, before)
    try:
        open_editor(ws.store.absolute(note.path))
    finally:
        after = ws.store.current_bytes(note.path)
        if after != before:
            with writing(ws):
                _record(ws, "edit", note.memory.id, Change(note.path, before, after), why or "by hand")
    refresh(ws)
    if after == before:
        return Written("unchanged", cleanse(note.memory).memory, note.path)
    row = ws.index.by_path(note.path) or locate(ws, note.memory.id)
    if row.memory is None:
        raise NoteUnreadable(f"{row.path} cannot be read: {row.problem}. Correct it in Obsidian.")
    return Written("edited", row.memory, row.path)


def forget(ws: Workspace, identity: str, *, why: str = "") -> Written:
    """Take a memory out of recall. Its note moves to `.forgotten/`; nothing is destroyed."""
    with writing(ws):
        ready(ws, require_vault(ws))
        note = _note(ws, identity)
        ws.events.keep(note.digest, ws.store.unchanged_bytes(note))
        change = ws.store.set_aside(note)
        _record(ws, "forget", note.memory.id, change, why)
        ws.index.update([], gone=[note.path])
    receipts.forget(ws, note.memory.id)
    return Written("forgotten", cleanse(note.memory).memory, note.path)


def _change(ws: Workspace, note: Note, changes: dict[str, Any], author: str, why: str) -> Written:
    changes = _settle_project(note.memory, changes)
    wanted = replace(note.memory, **changes)
    _check_choices(wanted, changes)
    # Only what was asked for is judged: the rest of the note is the person's and stays as it is.
    verdict = judge(wanted, [name for name in changes if name in EVERYTHING])
    memory = replace(verdict.memory, body=escape_evidence(verdict.memory.body)) if "body" in changes else verdict.memory
    if memory == note.memory:
        return Written("unchanged", cleanse(memory).memory, note.path)
    _check_room(ws, memory)
    memory = replace(memory, updated=iso(ws.clock()), author=author)
    ws.events.keep(note.digest, ws.store.unchanged_bytes(note))
    rewritten, change = ws.store.rewrite(note, memory)
    _record(ws, "edit", memory.id, change, why)
    index_note(ws, rewritten)
    shown = cleanse(rewritten.memory).memory
    return Written("edited", shown, note.path, verdict.redacted, verdict.neutralised)


def _is_a_machines(note: Note) -> bool:
    return note.memory.author == "model" and not note.touched_by_hand


def _note(ws: Workspace, identity: str) -> Note:
    """The note with this id as it is on disk now."""
    row = locate(ws, identity)
    note = ws.store.read(row.path)
    if row.memory is None or note.memory.id != row.memory.id:
        raise NoteChanged(f"{row.path} changed on disk since it was found; nothing was written. Try again.")
    return note


def _record(ws: Workspace, action: str, identity: str, change: Change, why: str) -> None:
    ws.events.record(
        action,
        id=identity,
        path=change.path,
        why=clean_line(why),
        before=digest(change.before) if change.before is not None else "",
        after=digest(change.after) if change.after is not None else "",
    )


def _same(ws: Workspace, identity: str) -> Written | None:
    """The note with this very id: a save that was interrupted after it had written it."""
    for row in fresh_rows(ws, lambda: ws.index.rows("id = ?", (identity,))):
        if row.memory:
            return Written("exists", row.memory, row.path)
    return None


def _twin(ws: Workspace, memory: Memory) -> Written | None:
    key = fingerprint(memory.body)
    for row in fresh_rows(ws, lambda: ws.index.by_fingerprint(key)):
        if row.memory and row.memory.project == memory.project and row.memory.status == "active":
            return Written("exists", row.memory, row.path)
    return None


def _check_choices(memory: Memory, fields: Collection[str]) -> None:
    if "kind" in fields and memory.kind not in KINDS:
        raise InputError(f"There is no kind {memory.kind!r}. Use one of {', '.join(KINDS)}.")
    if "status" in fields and memory.status not in STATUSES:
        raise InputError(f"There is no status {memory.status!r}. Use one of {', '.join(STATUSES)}.")
    if "layer" in fields and (type(memory.layer) is not int or memory.layer not in LAYERS):
        raise InputError("The layer is 0 (pinned), 1 (conventions), 2 (ordinary) or 3 (archive).")
    if "importance" in fields and (type(memory.importance) is not int or not 1 <= memory.importance <= 5):
        raise InputError("The importance is a whole number from 1 to 5.")


def _check_room(ws: Workspace, memory: Memory) -> None:
    """What is pinned is in every session's context: it stays small."""
    if memory.layer != PINNED:
        return
    condition = "project = ? AND layer = 0 AND status = 'active' AND id <> ?"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, (memory.project, memory.id)))
    pinned = [row.memory for row in rows if row.memory]
    characters = sum(len(each.body) for each in (*pinned, memory))
    if len(pinned) >= PINNED_MAX_NOTES or characters > PINNED_MAX_CHARACTERS:
        raise InputError(
            f"Layer 0 of {memory.project} is full: at most {PINNED_MAX_NOTES} notes and {PINNED_MAX_CHARACTERS:,} "
            "characters. Use --layer 1, or move another one with `memem edit ID --layer 1`."
        )


def _settle_project(memory: Memory, changes: dict[str, Any]) -> dict[str, Any]:
    """Spell the project and the tags as we do; a note that changes its project changes that tag too."""
    changes = dict(changes)
    project = memory.project
    if "project" in changes:
        project = changes["project"] = normalise(changes["project"])
    if "tags" in changes:
        changes["tags"] = _tags(changes["tags"], project)
    elif project != memory.project:
        old, new = _tag(memory.project), _tag(project)
        changes["tags"] = tuple(dict.fromkeys(new if tag == old else tag for tag in memory.tags))
    return changes


def _tags(tags: tuple[str, ...], project: str) -> tuple[str, ...]:
    """Every memory also carries `memem` and its project."""
    return tuple(dict.fromkeys(tag for tag in map(_tag, ("memem", project, *tags)) if tag))


def _tag(text: str) -> str:
    """A tag as Obsidian takes it: no spaces, no `#`, not a bare number."""
    tag = re.sub(r"[^\w/-]+", "-", text.strip().lstrip("#")).strip("-")
    return f"n{tag}" if tag.isdigit() else tag


def title_of(body: str) -> str:
    """The first sentence, or as much of it as a title holds."""
    line = next((line.strip() for line in body.splitlines() if re.search(r"\w", line)), body.strip())
    line = re.sub(r"^(?:(?:#{1,6}|>|[-*+]|\d+[.)])\s+)+", "", line)
    # A full stop ends a sentence where another begins: not in `e.g. ruff`, not in `the U.S. region`.
    end = re.search(r"(?<=\w\w)[.!?](?=\s+[A-Z])|[。！？]", line)
    sentence = line[: end.start()] if end else line.removesuffix(".")
    if len(sentence) <= TITLE_CHARACTERS:
        return sentence or "Memory"
    cut, _, rest = sentence[:TITLE_CHARACTERS].rpartition(" ")
    return (cut or rest).rstrip(" ,;:") + "…"
