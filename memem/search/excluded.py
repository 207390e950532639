"""Notes that are not recalled: copies made by a sync service, and notes that read like instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.errors import Ambiguous, NoteError, NotFound, VaultError
from memem.search.notes import NoteRow
from memem.search.refresh import fresh_rows, read_row
from memem.vault import verdicts
from memem.vault.copies import SyncCopy, possible_originals

if TYPE_CHECKING:
    from memem.vault.note import Note
    from memem.workspace import Workspace

COPY_MARK = "copy "  # before the digest in a copy's row, so that it is read again should it become a note of its own
_CONFLICT_MARKS = tuple(map(re.compile, (rb"<<<<<<< ", rb"=======\r?\Z", rb">>>>>>> ")))
MERGE_CONFLICT = "contains the conflict markers of an unfinished git merge (<<<<<<<, =======, >>>>>>>)"


def describe_copy_problem(ws: Workspace, note: Note) -> str:
    """Say why a note is a copy that is not recalled; empty for any other."""
    for copy in possible_originals(note.path):
        if ws.store.stamp(copy.original) is not None:
            if _is_same_memory(ws, note, copy):
                return f"is a copy that {copy.service} made of {copy.original} when two machines changed it"
        elif copy.certain and note.has_id and _is_forgotten(ws, note.memory.id):
            return f"is a copy that {copy.service} made of {copy.original}, which was forgotten"
    return ""


def may_be_copy(ws: Workspace, path: str) -> bool:
    return any(copy.certain or ws.store.stamp(copy.original) is not None for copy in possible_originals(path))


def _is_same_memory(ws: Workspace, note: Note, copy: SyncCopy) -> bool:
    try:
        other = ws.store.read(copy.original)
    except NoteError:
        return False
    if note.has_id or other.has_id:
        return note.has_id and other.has_id and note.memory.id == other.memory.id
    return copy.certain


def _is_forgotten(ws: Workspace, identity: str) -> bool:
    if not ws.store.paths.tombstones.exists():
        return False
    from memem.vault import forgotten

    with suppress(VaultError):
        return bool(forgotten.find_by_id(ws.tombstones.load(), identity))
    return False


def has_merge_conflict(data: bytes) -> bool:
    """Tell whether git has left both sides of a conflict in a file."""
    lines = iter(data.split(b"\n"))  # line by line: one pattern for all marks would take quadratic time
    return all(any(mark.match(line) for line in lines) for mark in _CONFLICT_MARKS)


def copy_advice(ws: Workspace, path: str) -> str:
    """Say how a copy differs from its original, and what to do about it."""
    for copy in possible_originals(path):
        original = ws.store.absolute(copy.original)
        if original.is_file():
            difference = _describe_difference(ws.store.absolute(path), original)
            return (
                f"{difference} Move missing lines to the original and delete this file; or delete the line `id:` in "
                "it to make it a note of its own."
            )
    return "Delete it; or rename it, if you want it remembered again."


def _describe_difference(copy: Path, original: Path) -> str:
    try:
        own, other = (set(path.read_bytes().splitlines()) for path in (copy, original))
        newer = "This file" if copy.stat().st_mtime > original.stat().st_mtime else "The original"
    except OSError as error:
        return f"They cannot be compared: {files.reason(error)}."
    if own == other:
        return "Both have the same text."
    return f"{newer} is newer; lines only here: {len(own - other)}, only in the original: {len(other - own)}."


def copies_of_other_files(ws: Workspace) -> Iterator[tuple[str, SyncCopy]]:
    """Find copies of memem's other files in the vault: its marker, pages, playbooks, proposals."""
    paths = ws.store.paths
    folders = (paths.ours, paths.projects, paths.playbooks, paths.review)
    pages = [page for folder in folders for page in folder.glob("*.md")]
    for path in sorted((*paths.ours.glob(".vault*.toml"), *pages)):
        inside = path.relative_to(paths.ours).as_posix()
        originals = possible_originals(inside)
        copy = next((copy for copy in originals if ws.store.absolute(copy.original).is_file()), None)
        if copy and (paths.review in path.parents or not ws.store.is_memory(inside)):
            yield inside, copy


def apply_verdicts(ws: Workspace) -> None:
    stamp = verdicts.verdicts_stamp(ws.store.paths)
    paths = [row.path for row in ws.index.rows("review IS NOT NULL")]
    ws.index.update([row for path in paths if (now := ws.store.stamp(path)) and (row := read_row(ws, path, now))])
    ws.index.set_meta(verdicts.VERDICTS_META, stamp)


def list_quarantined(ws: Workspace, *, decided: bool = False) -> list[NoteRow]:
    """List the notes that wait for a person; with `decided`, also the rejected ones."""
    where = "review IN ('waiting', 'rejected')" if decided else "review = 'waiting'"
    return [row for row in fresh_rows(ws, lambda: ws.index.rows(f"{where} ORDER BY path")) if row.memory]


def find_quarantined(ws: Workspace, identity: str) -> NoteRow:
    wanted = identity.strip().lower()
    rows = list_quarantined(ws, decided=True)
    matches = [row for row in rows if row.memory and wanted and row.memory.id.lower().startswith(wanted)]
    if not matches:
        raise NotFound(f"No proposal has the id {identity!r}. `memem review` lists them.")
    if len(matches) > 1:
        raise Ambiguous(f"{len(matches)} proposals have an id that starts with {identity!r}. Use more of the id.")
    return matches[0]
