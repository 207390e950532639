"""The notes of one vault: find, read, create, rewrite, set aside. Nothing here deletes a note."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from memem.core import files, safe_open
from memem.core.errors import (
    InputError,
    NoteChanged,
    NoteError,
    NoteUnreadable,
    RewriteRefused,
    VaultError,
    VaultMissing,
    VaultUnwritable,
)
from memem.core.files import Stamp, from_toml
from memem.core.home import VaultPaths
from memem.core.memory import Memory

if TYPE_CHECKING:
    from memem.vault.note import Note


RESERVED = frozenset(("review", "playbooks", "Conflicts.md"))  # folders and pages in `memem/` without memories
PAGE_NAMES = frozenset(("home.md", "projects"))  # the same, except for notes with an id
MAX_NOTE_BYTES = 1_000_000  # a larger file is not a memory; reading it would stall every scan


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a file: its path, and the bytes before and after (None: no file)."""

    path: str
    before: bytes | None
    after: bytes | None


_MARKER_TEXT = '# Marks this folder as a memem vault. Keep it.\nvault_id = "%s"\n'
_MARKER = re.compile(re.escape(_MARKER_TEXT) % r"([0-9a-f-]{36})")
_OPENINGS = (b"---", b"\xef\xbb\xbf---")
_LONGEST_OPENING = 6
_HAS_ID = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n(?:(?!---[ \t]*\r?$).*\n)*?[\"']?id[\"']?[ \t]*:", re.MULTILINE)


class Store:
    """The vault's notes by their path inside `memem/`. Writers have the home's write lock."""

    def __init__(self, paths: VaultPaths, *, fsync: bool) -> None:
        self.paths = paths
        self.fsync = fsync

    def vault_id(self) -> str:
        """Read the id in the marker; empty when there is no vault."""
        try:
            raw = self.paths.marker.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except (OSError, UnicodeDecodeError) as problem:
            raise VaultMissing(
                f"The vault's marker {self.paths.marker} cannot be read: {problem}. "
                "Restore it, or empty the file so that memem recreates it."
            ) from None
        if written := _MARKER.fullmatch(raw):
            return written[1]
        try:
            return str(from_toml(raw).get("vault_id", ""))
        except ValueError:
            raise VaultMissing(
                f"The vault's marker {self.paths.marker} is damaged. Empty the file and save again to recreate it."
            ) from None

    def make_vault(self) -> str:
        """Create missing folders and the marker of the vault, and return its id."""
        self.refuse_links()
        with writing_file(self.paths.root):
            self.paths.memories.mkdir(parents=True, exist_ok=True)
            vault_id = self.vault_id()
            if not vault_id:
                import uuid  # 4 ms, for the first save of all

                vault_id = str(uuid.uuid4())
                files.write_atomic(self.paths.marker, (_MARKER_TEXT % vault_id).encode(), fsync=self.fsync)
        return vault_id

    def refuse_links(self) -> None:
        """Refuse symbolic links: notes written through one would never be read again."""
        paths = self.paths
        for place in (paths.memories, paths.review, paths.forgotten, paths.tombstones, paths.reviewed):
            if os.path.islink(place):  # noqa: PTH114 - every command comes past here
                raise VaultError(
                    f"{place} is a symbolic link, which memem does not follow. "
                    "Replace it with the folder or file itself."
                )

    def scan(self) -> Iterator[tuple[str, Stamp]]:
        """Find every file that may be a memory. Symbolic links are not followed: they may leave the vault."""
        pending = [""]
        while pending:
            folder = pending.pop()
            try:
                with suppress(FileNotFoundError):
                    yield from self._scan_folder(folder, pending)
            except OSError as error:
                # Its notes would look deleted.
                raise VaultError(f"Cannot read {self.paths.ours / folder}: {files.reason(error)}.") from None

    def _scan_folder(self, folder: str, pending: list[str]) -> Iterator[tuple[str, Stamp]]:
        """Find the files of one folder and add its folders to `pending`. Every command waits for this loop."""
        prefix = f"{folder}/" if folder else ""
        among_pages = not folder or folder.partition("/")[0].lower() in PAGE_NAMES
        with _listing(self.paths.ours / folder) as entries:
            for entry in entries:
                name = entry.name
                if name.startswith(".") or (not folder and name in RESERVED) or _is_garbled(name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append(prefix + name)
                elif name.endswith((".md", ".MD", ".Md", ".mD")) and not (among_pages and self.is_page(prefix + name)):
                    with suppress(FileNotFoundError):
                        status = entry.stat(follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode):
                            yield prefix + name, _stamp(status)

    def list_skipped(self) -> Iterator[tuple[str, str, str]]:
        """List what a scan leaves out though a person may expect it to be read, why, and how to change that."""
        for folder, folders, names in os.walk(self.paths.ours):
            for name in sorted(folders + names):
                path = Path(folder, name)
                shown, kind = path.relative_to(self.paths.ours).as_posix(), "folder" if name in folders else "file"
                if path.is_symlink():
                    problem = "is a symbolic link, which memem does not follow"
                    yield shown, problem, f"Replace it with the {kind} itself."
                elif _is_garbled(name):
                    shown = shown.encode("utf-8", "replace").decode()
                    yield shown, "has a name that is not UTF-8 text", f"Rename the {kind}."

    def proposal_files(self) -> list[Path]:
        """List the files of proposals without copies made by a sync service."""
        found = {path.name: path for path in sorted(self.paths.review.glob("*.md"))}
        if not found:
            return []  # session start need not wait for an import
        from memem.vault.copies import possible_originals

        copies = {name for name in found for copy in possible_originals(name) if copy.original in found}
        return [path for name, path in found.items() if name not in copies]

    def read_proposals(self) -> "Iterator[Note]":
        """Read the proposals in the order of their file names; skip unreadable ones."""
        for path in self.proposal_files():
            with suppress(NoteError):
                yield self.read(f"{self.paths.review.name}/{path.name}")

    def leftovers(self) -> Iterator[Path]:
        """Find temporary files of killed writers."""
        yield from self.paths.ours.rglob(f"{files.TEMPORARY_PREFIX}*{files.TEMPORARY_SUFFIX}")

    def stamp(self, path: str) -> Stamp | None:
        """Return the file's stamp; None when it is not a plain file."""
        with suppress(OSError):
            status = os.lstat(self.absolute(path))
            return _stamp(status) if stat.S_ISREG(status.st_mode) else None
        return None

    def read(self, path: str) -> "Note":
        """Read a note. Raises NoteUnreadable."""
        from memem.vault import note as vault_note

        data = self._bytes(path, MAX_NOTE_BYTES + 1)
        if len(data) > MAX_NOTE_BYTES:
            raise NoteUnreadable(f"it is larger than {MAX_NOTE_BYTES // 1000} KB")
        return vault_note.parse(path, data, self.derived_id(path))

    def is_page(self, path: str) -> bool:
        return path.partition("/")[0].lower() in PAGE_NAMES and not self.is_memory(path)

    def is_memory(self, path: str) -> bool:
        """Tell whether a file is a memory: it is in `memories/`, or elsewhere in `memem/` and has an id."""
        if PurePosixPath(path).parts[0] == self.paths.memories.name:
            return True
        with suppress(OSError), safe_open.open_plain(self.absolute(path), follow=False) as file:
            start = file.read(_LONGEST_OPENING)
            return start.startswith(_OPENINGS) and bool(_HAS_ID.match(start + file.read(MAX_NOTE_BYTES)))
        return False

    def path_for(self, memory: Memory) -> str:
        from memem.vault import note as vault_note

        return f"{self.paths.memories.name}/{vault_note.file_name(memory)}"

    def create(self, memory: Memory) -> "tuple[Note, Change]":
        from memem.vault import note as vault_note

        path = self.path_for(memory)
        target = self.absolute(path)
        data = vault_note.new_text(memory).encode()
        note = vault_note.parse(path, data, memory.id)  # a note that cannot be read back is not written
        with writing_file(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(target):
                raise NoteChanged(f"{target} already exists; nothing was written.")
            files.write_atomic(target, data, fsync=self.fsync)
        return note, Change(path, None, data)

    def rewrite(self, note: "Note", memory: Memory) -> "tuple[Note, Change]":
        """Change a note to `memory`. Raises NoteChanged when the file is not what was read."""
        from memem.vault import note as vault_note

        data = vault_note.rewrite_text(note, memory).encode()
        if len(data) > MAX_NOTE_BYTES:
            raise RewriteRefused(f"{note.path} was left unchanged: it would exceed {MAX_NOTE_BYTES // 1000} KB.")
        target = self.absolute(note.path)
        before = self.unchanged_bytes(note)
        with writing_file(target):
            files.write_atomic(
                target,
                data,
                fsync=self.fsync,
                mode=target.stat().st_mode & 0o777,
                just_before=lambda: self.unchanged_bytes(note),
            )
        return vault_note.parse(note.path, data, memory.id), Change(note.path, before, data)

    def set_aside(self, note: "Note") -> Change:
        """Move a note to `.forgotten/`, where nothing reads it."""
        target = self.paths.forgotten / PurePosixPath(note.path).name
        numbers = count(2)
        while os.path.lexists(target):
            target = target.with_name(f"{Path(note.path).stem}-{next(numbers)}.md")
        before = self.unchanged_bytes(note)
        with writing_file(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            files.move(self.absolute(note.path), target, fsync=self.fsync)
        return Change(note.path, before, None)

    def unchanged_bytes(self, note: "Note") -> bytes:
        """Read the file again. Raises NoteChanged when its bytes are not those that were read."""
        from memem.vault import note as vault_note

        data = self._bytes(note.path)
        if vault_note.digest(data) != note.digest:
            raise NoteChanged(f"{note.path} has changed on disk since it was read; nothing was written. Try again.")
        return data

    def current_bytes(self, path: str, most: int = -1) -> bytes | None:
        """Read the file's bytes, or the first of them; None when it cannot be read."""
        with suppress(NoteError):
            return self._bytes(path, most)
        return None

    def _bytes(self, path: str, most: int = -1) -> bytes:
        try:
            with safe_open.open_plain(self.absolute(path), follow=False) as file:
                return file.read(most)
        except FileNotFoundError:
            raise NoteChanged(f"{path} is no longer there; nothing was written.") from None
        except OSError as error:
            raise NoteError(f"{self.absolute(path)} cannot be read: {files.reason(error)}.") from None

    def absolute(self, path: str) -> Path:
        pure = PurePosixPath(path)
        if pure.is_absolute() or ".." in pure.parts or not pure.parts:
            raise InputError(f"{path!r} is not a path inside the vault.")
        return self.paths.ours / pure

    def derived_id(self, path: str) -> str:
        """Derive the id of a note without one from its path."""
        import uuid

        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"memem:{path}"))


@contextmanager
def writing_file(target: Path) -> Iterator[None]:
    """Translate errors of writing to the vault."""
    try:
        yield
    except OSError as error:
        raise VaultUnwritable(
            f"Cannot write {error.filename or target}: {files.reason(error)}. Nothing was changed."
        ) from None


@contextmanager
def _listing(folder: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
    """List a folder by descriptor where possible: a stat of each entry then costs a fifth less."""
    descriptor = os.open(folder, os.O_RDONLY) if os.scandir in os.supports_fd else None
    try:
        with os.scandir(folder if descriptor is None else descriptor) as entries:
            yield entries
    finally:
        if descriptor is not None:
            os.close(descriptor)


def read_file_lines(path: Path) -> list[bytes]:
    """Read the lines of a file of decisions; going on without those that cannot be read would revoke them."""
    try:
        with safe_open.open_plain(path, follow=False) as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise VaultError(f"Cannot read {path}: {files.reason(error)}.") from None


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size


def _is_garbled(name: str) -> bool:
    """Tell whether a name is not UTF-8, so that it can be neither stored nor shown."""
    return not name.isascii() and name != name.encode("utf-8", "replace").decode()
