"""What there is to import: the files that a path leads to, and of which format each is, told by what is in it."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.errors import InputError, NotFound
from memem.core.home import VaultPaths
from memem.transfer import export_format
from memem.transfer.readers import claude_mem
from memem.vault.store import PAGE_NAMES, RESERVED, Store

if TYPE_CHECKING:
    from memem.workspace import Workspace


MARKDOWN, INSTRUCTIONS, REMEMBERED, CHATS, CLAUDE_MEM, EXPORT = FORMATS = (
    *("markdown", "instructions", "claude-memory", "chats", "claude-mem", "export"),
)
"""Notes; `CLAUDE.md` and its like; what Claude Code remembers itself; conversations; databases; what memem exported."""
SUFFIXES = (".md", ".markdown")
INDEX = "MEMORY.md"
_INSTRUCTIONS = ("claude.md", "claude.local.md", "agents.md")
_CHATS = re.compile(r"conversations(?:-\d+)?\.json", re.IGNORECASE)
_DATABASE = "claude-mem.db"
_ZIP = b"PK\x03\x04"
_HEAD_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class Source:
    """A file to be imported, its path inside what is imported, its format; why it cannot be read, where that is known.

    `member` is the file meant, in an archive.
    """

    path: Path
    inside: str
    format: str
    problem: str = ""
    member: str = ""

    @property
    def shown(self) -> str:
        return str(self.path).encode("utf-8", "replace").decode()


def sources(ws: Workspace, paths: Sequence[Path], format: str = "") -> list[Source]:
    """Everything that the paths lead to, once. Raises for a path that leads nowhere, or to nothing that memem knows."""
    if format and format not in FORMATS:
        raise InputError(f"There is no format {format!r}. Use one of {', '.join(FORMATS)}.")
    return list(dict.fromkeys(source for path in paths for source in _sources(ws, path.absolute(), format)))


def _sources(ws: Workspace, path: Path, format: str) -> Iterator[Source]:
    try:
        real, is_folder = path.resolve(), path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a name that no file can have
        raise NotFound(f"There is no file or folder {path}: {error}.") from None
    if real.is_relative_to(ws.store.paths.ours.resolve()):
        raise InputError(f"{path} is in the vault's own folder: what is there is remembered already.")
    if is_folder:
        yield from [Source(path, path.name, EXPORT)] if export_format.is_folder(path) else _walk(ws, path, format)
    elif not path.is_file():
        raise NotFound(f"There is no file or folder {path}.")
    elif path.name == INDEX and path.parent.name == "memory" and not format:
        yield from _walk(ws, path.parent, format)  # the others are what it is the index of
    else:
        told = format or recognised(path)
        members = _members(path) if _head(path).startswith(_ZIP) else ("",)
        yield from (Source(path, path.name, told, member=member) for member in members)


def recognised(path: Path) -> str:
    """The format of a file. Raises InputError where it is none of ours."""
    if path.suffix.lower() in SUFFIXES:
        return _format_of_markdown(path)
    head = _head(path)
    if export_format.is_file(head):
        return EXPORT
    if head.startswith(claude_mem.MAGIC):
        return CLAUDE_MEM
    if head.startswith(_ZIP) or head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{"):
        return CHATS
    raise InputError(
        f"{path} is nothing that memem can import: no markdown, no JSON, no archive, no database of claude-mem."
    )


def _format_of_markdown(path: Path) -> str:
    if path.name.lower() in _INSTRUCTIONS:
        return INSTRUCTIONS
    return REMEMBERED if (path.parent / INDEX).is_file() else MARKDOWN


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {files.reason(error)}.") from None


def _members(path: Path) -> tuple[str, ...]:
    """The conversations in an archive, as both Claude.ai and ChatGPT send them."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [each.filename for each in archive.infolist() if _CHATS.fullmatch(each.filename.rpartition("/")[2])]
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise InputError(f"{path} is a damaged archive: {error}. Export it again, or unpack it first.") from None
    if not names:
        raise InputError(f"{path} is an archive without conversations.json. Unpack it, and import what is in it.")
    return tuple(sorted(names))


def _walk(ws: Workspace, root: Path, format: str) -> Iterator[Source]:
    """The files in a folder; hidden ones, symbolic links and memem's own notes are passed over."""
    unread: list[OSError] = []
    ours, marker = ws.store.paths.ours.resolve(), ws.store.paths.marker.name
    for name, folders, names in os.walk(root, onerror=unread.append):
        folder = Path(name)
        is_a_vault = (folder / marker).exists()
        apart = RESERVED if is_a_vault else _made_by_others(folder)
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each not in apart)
        folders[:] = [each for each in folders if (folder / each).resolve() != ours]
        paged = folder.name.lower() in PAGE_NAMES and (folder.parent / marker).exists()
        base = folder.parent if paged else folder
        store = Store(VaultPaths(base.parent), fsync=False)
        for each in sorted(names):
            path = folder / each
            known = path.suffix.lower() in SUFFIXES or _CHATS.fullmatch(each) or each == _DATABASE
            if each.startswith(".") or each in apart or not known or path.is_symlink() or not path.is_file():
                continue
            # In another vault's folder there are pages beside the notes.
            if not (is_a_vault or paged) or store.is_memory(path.relative_to(base).as_posix()):
                yield _found(path, path.relative_to(root).as_posix(), format)
    for error in unread:
        yield Source(Path(str(error.filename)), "", MARKDOWN, files.reason(error))


def _made_by_others(folder: Path) -> frozenset[str]:
    """What the memem of old made of its notes: a table of contents, and digests."""
    with suppress(OSError):
        if (folder / "memories").is_dir() and (folder / "_index.md").is_file():
            return frozenset(("_index.md", "playbooks"))
    return frozenset()


def _found(path: Path, inside: str, format: str) -> Source:
    is_markdown = path.suffix.lower() in SUFFIXES
    if format and is_markdown:
        return Source(path, inside, format)
    try:
        return Source(path, inside, recognised(path))
    except InputError as problem:
        return Source(path, inside, MARKDOWN, str(problem))
