"""Read notes into rows of the index, behind the gate; sync copies and notes that read like instructions are marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import dates, files
from memem.core.errors import Ambiguous, NoteChanged, NoteError, NoteUnreadable, NotFound
from memem.core.files import Stamp
from memem.core.memory import QUARANTINED, fingerprint
from memem.safety.gate import cleanse
from memem.safety.quote import count_noun
from memem.search.notes import NoteRow
from memem.search.refresh import fresh_rows
from memem.state import note_records
from memem.vault import verdicts
from memem.vault.copies import SyncCopy, possible_originals
from memem.vault.store import MAX_NOTE_BYTES

if TYPE_CHECKING:
    from memem.vault.note import Note
    from memem.workspace import Workspace

RACY_SECONDS = 0.1  # a file changed this recently may change again within one tick of its time stamp
COPY_MARK = "copy "  # before the digest in a copy's row, so that it is read again should it become a note of its own
_CONFLICT_MARKS = tuple(map(re.compile, (rb"<<<<<<< ", rb"=======\r?\Z", rb">>>>>>> ")))
MERGE_CONFLICT = "contains the conflict markers of an unfinished git merge (<<<<<<<, =======, >>>>>>>)"


def read_row(ws: Workspace, path: str, stamp: Stamp) -> NoteRow | None:
    """Read a memory's note for the index; None if it is left out."""
    strict = ws.settings.frontmatter_strict
    never_matches = (*stamp[:2], -1)  # read again by every scan
    try:
        note = ws.store.read(path)
        problem = describe_copy_problem(ws, note)
        if problem:
            return NoteRow(path, never_matches, f"{COPY_MARK}{note.digest} {problem}", None, problem=problem)
        row, originals = make_row(ws, note, stamp), possible_originals(path)
        may_be_copy = any(copy.certain or ws.store.stamp(copy.original) is not None for copy in originals)
        return replace(row, stamp=never_matches) if may_be_copy else row
    except NoteChanged:
        return None  # deleted since the scan
    except NoteError as error:
        data = ws.store.current_bytes(path, MAX_NOTE_BYTES) or b""
        problem = MERGE_CONFLICT if has_merge_conflict(data) else str(error)
        if strict == "raise":
            raise NoteUnreadable(
                f"{ws.store.absolute(path)} cannot be read: {problem}. Correct it in Obsidian, or set "
                "MEMEM_FRONTMATTER_STRICT=quarantine."
            ) from None
        # An error of the disk or system passes and leaves the file as it is, so the note is read again by every scan.
        stored = _settled(ws, stamp) if isinstance(error, NoteUnreadable) else never_matches
        return None if strict == "skip" else NoteRow(path, stored, "", None, problem=problem)


def make_row(ws: Workspace, note: Note, stamp: Stamp) -> NoteRow:
    verdict, zone = cleanse(note.memory), ws.clock().tzinfo
    memory = verdict.memory
    review = verdicts.verdict_on(ws, memory) if verdict.doubt else ""
    statement, changed = fingerprint(memory.body), _changed(note, stamp)
    memory, since = note_records.apply_stale(ws.home.stale_file, memory, statement)
    held = dates.get_valid_span(memory, zone, dates.begin_of(since, zone) or changed)
    spans = dates.get_stated_span(memory, zone), held
    if review not in ("", verdicts.ACCEPTED):  # a person decides before it is shown
        memory = replace(memory, status=QUARANTINED)
    return NoteRow(note.path, _settled(ws, stamp), note.digest, memory, statement, changed, "", *spans, review)


def _changed(note: Note, stamp: Stamp) -> float:
    """When the note last changed: by its properties, or by its file if a person has edited it."""
    try:
        stated = datetime.fromisoformat(note.memory.updated or note.memory.created).timestamp()
    except (ValueError, OverflowError, OSError):
        return stamp[0] / 1e9
    return max(stated, stamp[0] / 1e9) if note.touched_by_hand else stated


def _settled(ws: Workspace, stamp: Stamp) -> Stamp:
    """The stamp to store: one that never matches for a file that may change again within the same tick."""
    mtime, ctime, size = stamp
    age = ws.clock().timestamp() - max(mtime, ctime) / 1e9
    return (mtime, ctime, size if abs(age) > RACY_SECONDS else -1)


def describe_copy_problem(ws: Workspace, note: Note) -> str:
    for copy in possible_originals(note.path):
        if ws.store.stamp(copy.original) is not None:
            if _is_same_memory(ws, note, copy):
                return f"is a copy that {copy.service} made of {copy.original} when two machines changed it"
        elif copy.certain and note.has_id and _is_forgotten(ws, note.memory.id):
            return f"is a copy that {copy.service} made of {copy.original}, which was forgotten"
    return ""


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
    from memem.search import vanished
    from memem.vault import forgotten

    return bool(forgotten.find_by_id(vanished.load_tombstones(ws), identity))


def has_merge_conflict(data: bytes) -> bool:
    lines = iter(data.split(b"\n"))  # line by line: one pattern for all marks would take quadratic time
    return all(any(mark.match(line) for line in lines) for mark in _CONFLICT_MARKS)


def copy_advice(ws: Workspace, path: str) -> str:
    for copy in possible_originals(path):
        original = ws.store.absolute(copy.original)
        if original.is_file():
            difference = _describe_difference(ws.store.absolute(path), original)
            return (
                f"{difference} Move any missing lines to the original and delete this file, or delete its `id:` line "
                "to make it a separate note."
            )
    return "Delete it, or rename it if you want it to be remembered again."


def _describe_difference(copy: Path, original: Path) -> str:
    try:
        own, other = (set(path.read_bytes().splitlines()) for path in (copy, original))
        newer = "This file" if copy.stat().st_mtime > original.stat().st_mtime else "The original"
    except OSError as error:
        return f"They cannot be compared: {files.reason(error)}."
    if own == other:
        return "Both have the same text."
    here, there = len(own - other), len(other - own)
    lines = f"{count_noun(here, 'line')} {'is' if here == 1 else 'are'} only in this file"
    return f"{newer} is newer. {lines}, and {there} {'is' if there == 1 else 'are'} only in the original."


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
    verdicts.sign_earlier(ws)
    stamp = verdicts.verdicts_stamp(ws)
    paths = [row.path for row in ws.index.rows("review IS NOT NULL")]
    ws.index.update([row for path in paths if (now := ws.store.stamp(path)) and (row := read_row(ws, path, now))])
    ws.index.set_meta(verdicts.VERDICTS_META, stamp)


def list_quarantined(ws: Workspace, *, decided: bool = False) -> list[NoteRow]:
    where = "review IN ('waiting', 'rejected')" if decided else "review = 'waiting'"
    return [row for row in fresh_rows(ws, lambda: ws.index.rows(f"{where} ORDER BY path")) if row.memory]


def find_quarantined(ws: Workspace, identity: str) -> NoteRow:
    wanted = identity.strip().lower()
    rows = list_quarantined(ws, decided=True)
    matches = [row for row in rows if row.memory and wanted and row.memory.id.lower().startswith(wanted)]
    if not matches:
        raise NotFound(f"No proposal has the id {identity!r}. `memem review` lists the proposals.")
    if len(matches) > 1:
        raise Ambiguous(f"{len(matches)} proposals have an id that starts with {identity!r}. Use more of the id.")
    return matches[0]
