"""Bring back what `memem export` has packed: a person's own vault, note by note, byte for byte.

What is there already stays as it is, and what was forgotten here stays forgotten. The tombstones come last: a note that
stood beside one there may stand beside it here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from memem.core.errors import InputError, NoteError, RewriteRefused
from memem.core.memory import Memory
from memem.core.tombstone import Tombstone
from memem.notes import imported_tombstones
from memem.pages import markdown
from memem.pages import playbook_format as pages_playbook
from memem.safety.gate import Verdict, cleanse
from memem.search.refresh import ensure_filled, fresh_rows, refresh_stale
from memem.transfer import export_format
from memem.transfer.export_format import Element, Header, Packed
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


_NO_STAMP = (0, 0, -1)


@dataclass(slots=True)
class Unpacking:
    """One export on its way into the vault."""

    ws: Workspace
    source: Source
    dry_run: bool = False
    tombstones: int = 0

    def files(self) -> Iterator[tuple[ImportedFile, float]]:
        """What becomes of each of its files, and how far it is. Raises InputError where it is not what it should be."""
        lines: list[bytes] = []
        count, seen = 1, 0
        for element in self._elements():
            if isinstance(element, Header):
                count = max(element.files, 1)
            elif isinstance(element, bytes):
                lines.append(element)
            else:
                seen += 1
                yield self._file(element), min(seen / count, 1.0)
        self._bury(lines)

    def _elements(self) -> Iterator[Element | InputError]:
        if self.source.path.is_dir():
            yield from export_format.read_folder(self.source.path)
            return
        with self.source.path.open("rb") as file:
            values = json_stream.values(file)
            yield export_format.header_of(next(values, None))
            yield from map(export_format.from_json, values)

    def _file(self, packed: Packed | InputError) -> ImportedFile:
        if isinstance(packed, InputError):
            return self._told("", REFUSED, reason=str(packed))
        try:
            return self._kept(packed)
        except (InputError, NoteError) as problem:
            return self._told(packed.path, REFUSED, reason=str(problem))

    def _kept(self, packed: Packed) -> ImportedFile:
        ws, top = self.ws, PurePosixPath(packed.path).parts[0]
        note = _read(ws, packed)
        is_note = top not in RESERVED and not (top.lower() in PAGE_NAMES and not (note and note.has_id))
        is_memory = note is not None and (is_note or top == ws.store.paths.review.name)
        identity = note.memory.id if note and is_memory else ""
        if self._has_vault() and (known := self._there(packed, identity, is_note=is_note)):
            return known
        path = self._place(packed, note)
        if note and is_memory and forgotten.find_matching(ws.tombstones.load(), note.memory):
            raise InputError("it was forgotten here; `memem save --anyway` keeps it all the same")
        data, verdict = _judged(note, packed)
        if not self.dry_run:
            self._put(replace(packed, path=path, data=data), identity, top)
        title = verdict.memory.title if is_memory else path
        taken = ", ".join(verdict.redacted) or "invisible characters"
        reason = f"changed: {taken} taken out" if data != packed.data else ""
        if is_note and (doubt := verdict.doubt):
            reason = "; ".join(filter(None, (reason, f"it {doubt}, and waits for `memem review`")))
        return self._told(packed.path, CREATED, identity, title, reason)

    def _there(self, packed: Packed, identity: str, *, is_note: bool) -> ImportedFile | None:
        """The note that has its id, or the file that is in its place."""
        ws = self.ws
        rows = fresh_rows(ws, lambda: ws.index.rows("id = ?", (identity,))) if identity else []
        for row in rows:
            if row.memory:
                same = row.digest == notes.digest(packed.data) or ws.store.current_bytes(row.path) == packed.data
                same = same or not is_note  # a proposal that somebody has accepted here
                told = "" if same else "the note here says something else, and stays"
                return self._told(packed.path, EXISTS if same else DIFFERS, identity, row.memory.title, told)
        there = restore.plain_bytes(ws.store, packed.path)
        is_page = there is not None and not is_note
        if there == packed.data or (is_page and _is_same_page(ws, packed, there or b"")):
            return self._told(packed.path, EXISTS, identity, PurePosixPath(packed.path).stem)
        if is_page:
            return self._told(packed.path, DIFFERS, identity, reason="the file here says something else, and stays")
        return None

    def _has_vault(self) -> bool:
        vault_id = self.ws.store.vault_id() if self.dry_run else ensure_vault(self.ws)
        if vault_id:
            ensure_filled(self.ws, vault_id)
        return bool(vault_id)

    def _place(self, packed: Packed, note: Note | None) -> str:
        """Where it was, or, when another file is there, where a new note of it would be."""
        store = self.ws.store
        places = [packed.path, *([store.path_for(note.memory)] if note else [])]
        for place in places:
            within_a_file = any(parent.is_file() for parent in store.absolute(place).parents)
            if not within_a_file and not restore.is_taken(store, place):
                return place
        raise InputError("another file is in its place")

    def _put(self, packed: Packed, identity: str, top: str) -> None:
        ws = self.ws
        with writing(ws):
            restore.put_back(ws.store, packed.path, packed.data, instead_of=None, fsync=ws.settings.fsync)
            if packed.modified:
                with suppress(OSError):  # when a person changed it last counts for what was held true then
                    os.utime(ws.store.absolute(packed.path), ns=(packed.modified, packed.modified))
            action = "propose" if top == ws.store.paths.review.name else "save"
            record_change(
                ws, action, identity, Change(packed.path, None, packed.data), f"imported from {self.source.inside}"
            )
            if top not in RESERVED and not ws.store.is_page(packed.path):
                refresh_stale(ws, [(packed.path, _NO_STAMP)])

    def _told(self, place: str, outcome: str, identity: str = "", title: str = "", reason: str = "") -> ImportedFile:
        return ImportedFile(self.source.shown, outcome, identity, title, reason, place)

    # --- what was forgotten ---------------------------------------------------------------------------------------

    def _bury(self, lines: list[bytes]) -> None:
        """Take in what was forgotten there, but for what is remembered here; what was lifted there may stand here."""
        theirs = vault_tombstones.read_lines(lines)
        if not lines or not self._has_vault():
            self.tombstones = len(theirs.standing)
            return
        ours = self.ws.tombstones.load()
        here = {stone.key for stone in (*ours.standing, *ours.lifted)}
        remembered = imported_tombstones.remembered(self.ws, theirs)
        standing = {stone.key for stone in ours.standing}
        known = set(self.ws.tombstones.lines())
        fresh = [line for line in lines if line not in known and _is_news(line, remembered | standing)]
        keys = {stone.key for stone in theirs.standing} - here - remembered
        self.tombstones = len(keys)
        if fresh and not self.dry_run:
            with writing(self.ws):
                imported_tombstones.take_in(self.ws, fresh, keys, f"forgotten in {self.source.inside}")


def _is_same_page(ws: Workspace, packed: Packed, there: bytes) -> bool:
    """Whether a page is the same as the one here, but for what memem itself writes into them."""
    try:
        one, other = packed.data.decode(), there.decode()
    except UnicodeDecodeError:
        return False
    if PurePosixPath(packed.path).parts[0] == ws.store.paths.playbooks.name and _within(one) != _within(other):
        return False
    return markdown.merged(one, "") == markdown.merged(other, "")


def _within(text: str) -> tuple[Mapping[int, tuple[str, ...]], frozenset[str]]:
    """What a person wrote between the marks of a playbook, and what they took out there."""
    playbook = pages_playbook.read(text)
    return playbook.theirs, playbook.gone


def _is_news(line: bytes, keys: set[str]) -> bool:
    """Whether a line is one of tombstones, and neither one with these keys nor the lifting of one."""
    told = vault_tombstones.parse_line(line)
    key = told.key if isinstance(told, Tombstone) else told
    return told is not None and key not in keys


def _read(ws: Workspace, packed: Packed) -> Note | None:
    try:
        return notes.parse(packed.path, packed.data, ws.store.derived_id(packed.path))
    except NoteError:
        return None  # half-typed by a person, say: kept as it is


def _judged(note: Note | None, packed: Packed) -> tuple[bytes, Verdict]:
    """The bytes as they may be written, and what the gate says of them."""
    if note is None:
        try:
            verdict = cleanse(Memory("", Path(packed.path).stem, packed.data.decode()), ("body",))
        except UnicodeDecodeError:
            raise InputError("it is not UTF-8 text") from None
        if verdict.redacted or verdict.neutralised:
            raise InputError("it cannot be read as a note, and holds secrets or invisible characters")
        return packed.data, verdict
    verdict = cleanse(note.memory)
    if not verdict.redacted and not verdict.neutralised:
        return packed.data, verdict
    try:
        return notes.rewrite_text(note, verdict.memory).encode(), verdict
    except RewriteRefused as refusal:
        raise InputError(f"it holds {', '.join(verdict.redacted) or 'invisible characters'}, and {refusal}") from None
