"""Two machines have written one note, and a sync kept both: the original is recalled, the copy is reported, and it is
for a person to say what becomes of it. Nothing here changes a file."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.errors import NoteError, VaultError
from memem.vault.copies import Copy, copies_of
from memem.workspace import Workspace

if TYPE_CHECKING:
    from memem.vault.note import Note

MARK = "copy "
"""Before the digest of a copy's row: should it become a note of its own, it is read anew."""
MERGE = "holds the marks of a merge that git could not finish (<<<<<<<, =======, >>>>>>>)"


def problem(ws: Workspace, note: "Note") -> str:
    """Why a note is a copy, and not to be recalled beside its original; empty for any other."""
    for copy in copies_of(note.path):
        if ws.store.stamp(copy.original) is not None:
            if _are_one(ws, note, copy):
                return f"is a copy that {copy.service} made of {copy.original} when two machines wrote it"
        elif copy.certain and note.has_id and _is_forgotten(ws, note.memory.id):
            return f"is a copy that {copy.service} made of {copy.original}, which was forgotten"
    return ""


def may_be_copied(ws: Workspace, path: str) -> bool:
    """Whether a file has a name that only copies have, or one that persons use too and that of another file in it."""
    return any(copy.certain or ws.store.stamp(copy.original) is not None for copy in copies_of(path))


def _are_one(ws: Workspace, note: "Note", copy: Copy) -> bool:
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
    from memem.flows import recognising

    with suppress(VaultError):
        return bool(recognising.standing_of(ws.tombstones.known(), identity))
    return False


def is_half_merged(data: bytes) -> bool:
    """Whether git has left both sides of a conflict in a file."""
    marks = [b"<<<<<<< ", b"=======", b">>>>>>> "]
    # Line by line: a pattern for all three would go through the rest of a file for each mark, and again for the next.
    for line in data.split(b"\n"):
        if line.startswith(marks[0]) and (marks[0].endswith(b" ") or line.rstrip(b"\r") == marks[0]):
            marks.pop(0)
            if not marks:
                return True
    return False


def advice(ws: Workspace, path: str) -> str:
    """What to do about a copy, and how it differs from its original."""
    for copy in copies_of(path):
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


def beside_notes(ws: Workspace) -> Iterator[tuple[str, Copy]]:
    """Copies of memem's other files in the vault: its marker, pages, playbooks, proposals."""
    paths = ws.store.paths
    pages = [paths.ours.glob("*.md"), *(each.glob("*.md") for each in (paths.projects, paths.playbooks, paths.review))]
    for path in sorted(path for found in (paths.ours.glob(".vault*.toml"), *pages) for path in found):
        inside = path.relative_to(paths.ours).as_posix()
        copy = next((each for each in copies_of(inside) if ws.store.absolute(each.original).is_file()), None)
        if copy and (paths.review in path.parents or not ws.store.is_memory(inside)):
            yield inside, copy
