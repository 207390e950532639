"""Notes kept out of recall: copies that a sync made, and notes that read like instructions until a person decides.

Nothing here changes a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.errors import Ambiguous, NoteError, NotFound, VaultError
from memem.core.memory import Memory
from memem.safety.gate import cleanse
from memem.search.notes import NoteRow
from memem.search.refresh import fresh_rows, read_row
from memem.vault import verdicts
from memem.vault.copies import SyncCopy, possible_originals

if TYPE_CHECKING:
    from memem.vault.note import Note
    from memem.workspace import Workspace


COPY_MARK = "copy "
"""Before the digest of a copy's row: should it become a note of its own, it is read anew."""
MERGE_CONFLICT = "holds the marks of a merge that git could not finish (<<<<<<<, =======, >>>>>>>)"


def describe_copy_problem(ws: Workspace, note: Note) -> str:
    """Why a note is a copy, and not to be recalled beside its original; empty for any other."""
    for copy in possible_originals(note.path):
        if ws.store.stamp(copy.original) is not None:
            if _are_one(ws, note, copy):
                return f"is a copy that {copy.service} made of {copy.original} when two machines wrote it"
        elif copy.certain and note.has_id and _is_forgotten(ws, note.memory.id):
            return f"is a copy that {copy.service} made of {copy.original}, which was forgotten"
    return ""


def may_be_copy(ws: Workspace, path: str) -> bool:
    """Whether a file has a name that only copies have, or one that persons use too and that of another file in it."""
    return any(copy.certain or ws.store.stamp(copy.original) is not None for copy in possible_originals(path))


def _are_one(ws: Workspace, note: Note, copy: SyncCopy) -> bool:
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
    """Whether git has left both sides of a conflict in a file."""
    marks = [b"<<<<<<< ", b"=======", b">>>>>>> "]
    # Line by line: a pattern for all three would go through the rest of a file for each mark, and again for the next.
    for line in data.split(b"\n"):
        if line.startswith(marks[0]) and (marks[0].endswith(b" ") or line.rstrip(b"\r") == marks[0]):
            marks.pop(0)
            if not marks:
                return True
    return False


def copy_advice(ws: Workspace, path: str) -> str:
    """What to do about a copy, and how it differs from its original."""
    for copy in possible_originals(path):
        original, own = ws.store.absolute(copy.original), ws.store.absolute(path)
        if original.is_file():
            own_id = "or delete the line `id:` in it, and it is a note of its own."
            return f"{_compared(own, original)} Take over what is missing there and delete this file; {own_id}"
    return "Delete it; or rename it, if you want it remembered again."


def _compared(own: Path, original: Path) -> str:
    here, there = _lines(own), _lines(original)
    mine, theirs = len(here - there), len(there - here)
    if not mine and not theirs:
        return "Both say the same."
    stamps = files.stamp(own), files.stamp(original)
    newer = "This one" if stamps[0] and stamps[1] and stamps[0][0] > stamps[1][0] else "The original"
    return f"{newer} is the newer; {mine} lines stand only here, {theirs} only in the original."


def _lines(path: Path) -> set[bytes]:
    try:
        return set(path.read_bytes().splitlines())
    except OSError:
        return set()


def copies_of_other_files(ws: Workspace) -> Iterator[tuple[str, SyncCopy]]:
    """Copies of memem's other files in the vault: its marker, pages, playbooks, proposals."""
    paths = ws.store.paths
    pages = [paths.ours.glob("*.md"), *(each.glob("*.md") for each in (paths.projects, paths.playbooks, paths.review))]
    for path in sorted(path for found in (paths.ours.glob(".vault*.toml"), *pages) for path in found):
        inside = path.relative_to(paths.ours).as_posix()
        copy = next((each for each in possible_originals(inside) if ws.store.absolute(each.original).is_file()), None)
        if copy and (paths.review in path.parents or not ws.store.is_memory(inside)):
            yield inside, copy


def apply_verdicts(ws: Workspace) -> None:
    """Read again those notes that a person may have said something of."""
    word = verdicts.verdicts_stamp(ws.store.paths)
    paths = [row.path for row in ws.index.rows("review IS NOT NULL")]
    ws.index.update([row for path in paths if (stamp := ws.store.stamp(path)) and (row := read_row(ws, path, stamp))])
    ws.index.set_meta(verdicts.VERDICTS_META, word)


def list_quarantined(ws: Workspace, *, decided: bool = False) -> list[NoteRow]:
    """The notes that wait for a person; with `decided`, also those that were rejected."""
    some = "review IN ('waiting', 'rejected')" if decided else "review = 'waiting'"
    return [row for row in fresh_rows(ws, lambda: ws.index.rows(f"{some} ORDER BY path")) if row.memory]


def count_quarantined(ws: Workspace) -> int:
    """How many wait, as far as the index knows."""
    return ws.index.count_where("review = 'waiting'")


def explain_quarantine(memory: Memory) -> str:
    """In which way it reads like an instruction."""
    return cleanse(memory).doubt


def find_quarantined(ws: Workspace, identity: str) -> NoteRow:
    """The one with this id, or this beginning of one."""
    wanted = identity.strip().lower()
    found = [
        row
        for row in list_quarantined(ws, decided=True)
        if row.memory and wanted and row.memory.id.lower().startswith(wanted)
    ]
    if not found:
        raise NotFound(f"No proposal has the id {identity!r}. `memem review` lists them.")
    if len(found) > 1:
        raise Ambiguous(f"{len(found)} proposals begin with {identity!r}. Use more of the id.")
    return found[0]
