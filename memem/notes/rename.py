"""Rename the file of a note that only memem has written when its title changes, and update the links to it.

The file moves before its title changes, so a crash leaves one valid note, and the repeated change completes the rest.
A note that a person wrote, named or links to keeps its name: only Obsidian can rename that safely.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from memem.core.errors import NoteChanged, NoteError, RewriteRefused
from memem.core.memory import Memory
from memem.search.refresh import index_note
from memem.state.batches import RENAME
from memem.vault import note as notes
from memem.vault import restore
from memem.vault.mentions import find_mentions, make_relinker
from memem.vault.note import Note, file_name
from memem.vault.page_text import find_user_text
from memem.vault.store import Change
from memem.vault.write_lock import record_change

if TYPE_CHECKING:
    from memem.workspace import Workspace

_LINK_LISTS, _LINKS = ("related", "contradicts"), ("body", "supersedes", "superseded_by")


@dataclass(frozen=True, slots=True)
class _LinkingNote:
    """A note of memem's that links to the renamed one, before and after the change."""

    note: Note
    memory: Memory


def follow_title(ws: Workspace, note: Note, title: str, why: str = "") -> Note:
    """Rename a note for its new title, if it is memem's own; returns it at its place. Called under the write lock."""
    if not note.is_a_machines or not note.has_id:
        return note
    path = PurePosixPath(note.path)
    before, after = file_name(note.memory), file_name(replace(note.memory, title=title))
    if before == after or path.name not in (before, after):  # any other name is a person's
        return note
    # Under the new name already, an interrupted run has moved it.
    former, target = path.with_name(before).as_posix(), path.with_name(after).as_posix()
    return move_note(ws, note, former, target, why)


def move_note(ws: Workspace, note: Note, former: str, target: str, why: str = "") -> Note:
    """Move a note from `former` to `target`, if no other file or person prevents it; returns it at its place."""
    is_moved = note.path == target
    linking = _find_linking_notes(ws, note, former, target)
    if linking is None or (not is_moved and restore.is_taken(ws.store, target)):
        return note
    data = ws.store.unchanged_bytes(note)
    # First, so that an undo knows the former name even if this is interrupted.
    record_change(ws, RENAME, note.memory.id, Change(former, data, data), why)
    moved = replace(note, path=target)
    if not is_moved:
        restore.move_file(ws.store, former, target, data)
        index_note(ws, moved, former)
    for each in linking:
        with suppress(NoteChanged, RewriteRefused):  # a person is changing it; its link still leads here by the id
            _relink(ws, each, why)
    ws.changed |= {"conflicts", "notes"} if ws.store.paths.conflicts.exists() else {"notes"}
    return moved


def _relink(ws: Workspace, each: _LinkingNote, why: str) -> None:
    ws.events.store_undo(each.note.digest, ws.store.unchanged_bytes(each.note))
    rewritten, change = ws.store.rewrite(each.note, each.memory)
    record_change(ws, "edit", each.memory.id, change, why)
    if ws.index.by_path(rewritten.path):  # not a proposal
        index_note(ws, rewritten)


def _find_linking_notes(ws: Workspace, note: Note, former: str, target: str) -> Sequence[_LinkingNote] | None:
    """Return memem's notes that link to a note; None if a person's text may link to it, or another file has its id."""
    mentions = find_mentions(ws.store.paths.root, note.memory.id8)
    ours = f"{ws.store.paths.ours.name}/"
    if mentions is None or any(path != ours + note.path for path in mentions.named):
        return None
    relink = make_relinker(PurePosixPath(former).stem, PurePosixPath(target).stem)
    old_name = re.compile(rf"(?<![\w-]){re.escape(PurePosixPath(former).stem)}", re.IGNORECASE)
    linking = []
    for path in mentions.files:
        inside = path.removeprefix(ours)
        if inside == path:
            return None
        if _is_page(ws, inside):
            if _is_mentioned_by_user(ws, inside, note.memory.id8):
                return None
            continue
        try:
            other = ws.store.read(inside)
            memory = _update_links(other.memory, relink)
            after = notes.rewrite_text(other, memory)
        except NoteError:
            return None
        if not other.is_a_machines or old_name.search(after):
            return None
        if memory != other.memory and inside != note.path:
            linking.append(_LinkingNote(other, memory))
    return linking


def _is_page(ws: Workspace, inside: str) -> bool:
    top = PurePosixPath(inside).parts[0]
    if top == ws.store.paths.review.name:
        return False
    return top in (ws.store.paths.playbooks.name, ws.store.paths.conflicts.name) or ws.store.is_page(inside)


def _is_mentioned_by_user(ws: Workspace, inside: str, id8: str) -> bool:
    """Whether the user's text of a page may link to a note. memem's own part is rewritten after a rename."""
    text = (ws.store.current_bytes(inside) or b"").decode("utf-8", "replace")
    return f"-{id8}".lower() in find_user_text(text).lower()


def _update_links(memory: Memory, relink: Callable[[str], str]) -> Memory:
    changes: dict[str, Any] = {name: relink(getattr(memory, name)) for name in _LINKS}
    changes |= {name: tuple(map(relink, getattr(memory, name))) for name in _LINK_LISTS}
    return replace(memory, **changes)
