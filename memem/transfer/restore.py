"""Import an export of memem, note by note, byte for byte. Existing files stay, and forgotten notes stay forgotten."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from memem.core.errors import InputError, NoteChanged, NoteError, RewriteRefused
from memem.core.memory import Memory
from memem.core.tombstone import Tombstone
from memem.notes import forget
from memem.pages import markdown, playbook_page
from memem.safety.gate import Verdict, cleanse
from memem.search.refresh import ensure_filled, fresh_rows, refresh_stale
from memem.transfer import export_format
from memem.transfer.export_format import Element, Header, PackedFile
from memem.transfer.items import CREATED, DIFFERS, EXISTS, REFUSED, ImportedFile
from memem.transfer.readers import json_stream
from memem.transfer.sources import Source
from memem.vault import forgotten, restore
from memem.vault import note as notes
from memem.vault import tombstones as vault_tombstones
from memem.vault.note import Note
from memem.vault.opening import ensure_vault
from memem.vault.store import PAGE_NAMES, RESERVED, Change
from memem.vault.write_lock import record_change, writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


@dataclass(slots=True)
class Restore:
    ws: Workspace
    source: Source
    dry_run: bool = False
    tombstones: int = 0  # new ones, set at the end

    def files(self) -> Iterator[tuple[ImportedFile, float]]:
        """Yield the outcome for each file, and the share that is done. Raises InputError if the export is damaged."""
        tombstone_lines: list[bytes] = []
        total, done = 1, 0
        for element in self._elements():
            if isinstance(element, Header):
                total = max(element.files, 1)
            elif isinstance(element, bytes):
                tombstone_lines.append(element)
            else:
                done += 1
                try:
                    file = self._restore(element)
                except (InputError, NoteError) as problem:
                    path = element.path if isinstance(element, PackedFile) else ""
                    file = self._outcome(path, REFUSED, reason=str(problem))
                yield file, min(done / total, 1.0)
        self._add_tombstones(tombstone_lines)  # last: a note may have existed next to its tombstone

    def _elements(self) -> Iterator[Element | InputError]:
        if self.source.path.is_dir():
            yield from export_format.read_folder(self.source.path)
            return
        with self.source.path.open("rb") as file:
            values = json_stream.values(file)
            yield export_format.parse_header(next(values, None))
            yield from map(export_format.parse_element, values)

    def _restore(self, packed: PackedFile | InputError) -> ImportedFile:
        if isinstance(packed, InputError):
            raise packed
        ws, top = self.ws, PurePosixPath(packed.path).parts[0]
        note = None
        with suppress(NoteError):  # half-typed by a person: kept as it is
            note = notes.parse(packed.path, packed.data, ws.store.derived_id(packed.path))
        is_note = top not in RESERVED and not (top.lower() in PAGE_NAMES and not (note and note.has_id))
        is_memory = note is not None and (is_note or top == ws.store.paths.review.name)
        identity = note.memory.id if note and is_memory else ""
        if self._open_vault() and (existing := self._compare_existing(packed, identity, is_note=is_note)):
            return existing
        path = self._free_path(packed, note)
        if note and is_memory and forgotten.find_matching(ws.tombstones.load(), note.memory):
            raise InputError("it was forgotten here; to remember it anyway, use `memem save --anyway`")
        data, verdict = _clean(note, packed)
        if not self.dry_run:
            self._write(replace(packed, path=path, data=data), identity, top)
        removed = ", ".join(verdict.redacted) or "invisible characters"
        reasons = [f"changed: {removed} removed"] if data != packed.data else []
        reasons += [f"it {verdict.doubt} and is waiting for `memem review`"] if is_note and verdict.doubt else []
        title = verdict.memory.title if is_memory else path
        return self._outcome(packed.path, CREATED, identity, title, "; ".join(reasons))

    def _compare_existing(self, packed: PackedFile, identity: str, *, is_note: bool) -> ImportedFile | None:
        """Compare with the note of the same id, or with the file at the same path."""
        ws = self.ws
        for row in fresh_rows(ws, lambda: ws.index.rows("id = ?", (identity,))) if identity else []:
            if row.memory:
                same = row.digest == notes.digest(packed.data) or ws.store.current_bytes(row.path) == packed.data
                same = same or not is_note  # a proposal that was accepted here
                reason = "" if same else "the note here differs and was kept"
                return self._outcome(packed.path, EXISTS if same else DIFFERS, identity, row.memory.title, reason)
        existing = restore.plain_bytes(ws.store, packed.path)
        is_page = existing is not None and not is_note
        if existing == packed.data or (is_page and _is_same_page(ws, packed, existing or b"")):
            return self._outcome(packed.path, EXISTS, identity, PurePosixPath(packed.path).stem)
        if is_page:
            return self._outcome(packed.path, DIFFERS, identity, reason="the file here differs and was kept")
        return None

    def _open_vault(self) -> bool:
        vault_id = self.ws.store.vault_id() if self.dry_run else ensure_vault(self.ws)
        if vault_id:
            ensure_filled(self.ws, vault_id)
        return bool(vault_id)

    def _free_path(self, packed: PackedFile, note: Note | None) -> str:
        """The exported path, or if it is taken, the path that a new note would get."""
        store = self.ws.store
        for path in (packed.path, *([store.path_for(note.memory)] if note else [])):
            below_a_file = any(parent.is_file() for parent in store.absolute(path).parents)
            if not below_a_file and not restore.is_taken(store, path):
                return path
        raise InputError("another file has the same path here")

    def _write(self, packed: PackedFile, identity: str, top: str) -> None:
        ws = self.ws
        with writing(ws):
            if restore.is_taken(ws.store, packed.path):
                raise NoteChanged(f"{packed.path} has just been created by another program; nothing was written.")
            restore.put_back(ws.store, packed.path, packed.data)
            if packed.modified:
                with suppress(OSError):  # the time of a person's last change dates what they believed
                    os.utime(ws.store.absolute(packed.path), ns=(packed.modified, packed.modified))
            action = "propose" if top == ws.store.paths.review.name else "save"
            change = Change(packed.path, None, packed.data)
            record_change(ws, action, identity, change, f"imported from {self.source.inside}")
            if top not in RESERVED and not ws.store.is_page(packed.path):
                refresh_stale(ws, [(packed.path, None)])

    def _outcome(self, place: str, outcome: str, identity: str = "", title: str = "", reason: str = "") -> ImportedFile:
        return ImportedFile(self.source.shown, outcome, identity, title, reason, place)

    def _add_tombstones(self, lines: list[bytes]) -> None:
        """Add the export's tombstones, except for notes that exist here and tombstones that were lifted here."""
        theirs = vault_tombstones.read_lines(lines)
        if not lines or not self._open_vault():
            self.tombstones = len(theirs.standing)
            return
        ours = self.ws.tombstones.load()
        active = {tombstone.key for tombstone in ours.standing}
        lifted = {tombstone.key for tombstone in ours.lifted}
        remembered = forget.keys_of_present_notes(self.ws, theirs)
        own_lines = set(self.ws.tombstones.lines())
        new_lines = [
            line
            for line in lines
            if line not in own_lines and (parsed := vault_tombstones.parse_line(line)) is not None
            if (parsed.key if isinstance(parsed, Tombstone) else parsed) not in remembered | active
        ]
        new_keys = {tombstone.key for tombstone in theirs.standing} - active - lifted - remembered
        self.tombstones = len(new_keys)
        if new_lines and not self.dry_run:
            with writing(self.ws):
                forget.add_imported(self.ws, new_lines, new_keys, f"forgotten in {self.source.inside}")


def _is_same_page(ws: Workspace, packed: PackedFile, existing: bytes) -> bool:
    """Whether two pages differ only in the parts that memem writes."""
    try:
        texts = packed.data.decode(), existing.decode()
    except UnicodeDecodeError:
        return False
    if PurePosixPath(packed.path).parts[0] == ws.store.paths.playbooks.name:
        one, other = map(playbook_page.parse_page, texts)
        if (one.theirs, one.gone) != (other.theirs, other.gone):
            return False
    return markdown.merge_part(texts[0], "") == markdown.merge_part(texts[1], "")


def _clean(note: Note | None, packed: PackedFile) -> tuple[bytes, Verdict]:
    if note is None:
        try:
            verdict = cleanse(Memory("", Path(packed.path).stem, packed.data.decode()), ("body",))
        except UnicodeDecodeError:
            raise InputError("it is not UTF-8 text") from None
        if verdict.redacted or verdict.neutralised:
            raise InputError("it cannot be read as a note, and contains secrets or invisible characters")
        return packed.data, verdict
    verdict = cleanse(note.memory)
    if not verdict.redacted and not verdict.neutralised:
        return packed.data, verdict
    try:
        return notes.rewrite_text(note, verdict.memory).encode(), verdict
    except RewriteRefused as refusal:
        removed = ", ".join(verdict.redacted) or "invisible characters"
        raise InputError(f"it contains {removed} that cannot be removed: {refusal}") from None
