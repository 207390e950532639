"""Find the files to import under the given paths, and recognise their formats by content."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator, Sequence
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

FORMATS = ("markdown", "instructions", "claude-memory", "chats", "claude-mem", "export")
MARKDOWN, INSTRUCTIONS, REMEMBERED, CHATS, CLAUDE_MEM, EXPORT = FORMATS
SUFFIXES = (".md", ".markdown")
INDEX = "MEMORY.md"
_INSTRUCTIONS = ("claude.md", "claude.local.md", "agents.md")
_CHATS = re.compile(r"conversations(?:-\d+)?\.json", re.IGNORECASE)
_DATABASE = "claude-mem.db"
_ZIP = b"PK\x03\x04"
MAX_UNPACKED_BYTES = 100_000_000  # of an archive's conversations, however small the archive
MAX_EXPANSION = 50  # conversations of text shrink to a tenth; more is an archive bomb
_OLD_MEMEM_PAGES = frozenset(("_index.md", "playbooks"))


@dataclass(frozen=True, slots=True)
class Source:
    path: Path
    inside: str  # its path inside the imported folder
    format: str
    problem: str = ""  # why it cannot be read
    member: str = ""  # the file to read, if the source is an archive

    @property
    def shown(self) -> str:
        return str(self.path).encode("utf-8", "replace").decode()

    @property
    def place(self) -> str:
        return self.inside.encode("utf-8", "replace").decode()


def find_sources(ws: Workspace, paths: Sequence[Path], format: str = "") -> list[Source]:
    """Return every file under the paths once. Raises if a path does not exist or has no known format."""
    if format and format not in FORMATS:
        raise InputError(f"Unknown format {format!r}. Use one of {', '.join(FORMATS)}.")
    return list(dict.fromkeys(source for path in paths for source in _find(ws, path.absolute(), format)))


def _find(ws: Workspace, path: Path, format: str) -> Iterator[Source]:
    try:
        real, is_folder = path.resolve(), path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:  # a circle of links, or an impossible name
        reason = files.reason(error) if isinstance(error, OSError) else str(error)
        raise NotFound(f"Cannot open {path}: {reason}.") from None
    if real.is_relative_to(ws.store.paths.ours.resolve()):
        raise InputError(f"{path} is inside memem's folder in the vault; its notes are already remembered.")
    if is_folder:
        yield from [Source(path, path.name, EXPORT)] if export_format.is_folder(path) else _walk(ws, path, format)
    elif not path.is_file():
        raise NotFound(f"There is no file or folder {path}.")
    elif path.name == INDEX and path.parent.name == "memory" and not format:
        yield from _walk(ws, path.parent, format)  # the files that it is the index of
    else:
        members = _chat_members(path) if _read_head(path).startswith(_ZIP) else ("",)
        yield from (Source(path, path.name, format or recognise(path), member=member) for member in members)


def recognise(path: Path) -> str:
    """Return the format of a file. Raises InputError if it is unknown."""
    if path.suffix.lower() in SUFFIXES:
        if path.name.lower() in _INSTRUCTIONS:
            return INSTRUCTIONS
        return REMEMBERED if (path.parent / INDEX).is_file() else MARKDOWN
    head = _read_head(path)
    if export_format.FILE_START.match(head):
        return EXPORT
    if head.startswith(claude_mem.MAGIC):
        return CLAUDE_MEM
    if head.startswith(_ZIP) or head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{"):
        return CHATS
    raise InputError(f"{path} cannot be imported: it is not Markdown, JSON, a zip archive or a claude-mem database.")


def _read_head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4_096)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {files.reason(error)}.") from None


def _chat_members(path: Path) -> tuple[str, ...]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if _CHATS.fullmatch(info.filename.rpartition("/")[2])]
            archive_bytes = path.stat().st_size
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise InputError(f"{path} is a damaged archive: {error}. Download it again, or unpack it first.") from None
    if not members:
        raise InputError(f"{path} is an archive without conversations.json. Unpack it and import its files.")
    # Members may overlap, so their sum is compared with the archive itself.
    if sum(info.file_size for info in members) > max(MAX_UNPACKED_BYTES, MAX_EXPANSION * archive_bytes):
        raise InputError(
            f"{path} would unpack to more than {MAX_EXPANSION} times its size. If you trust it, unpack it and import "
            "its files."
        )
    return tuple(sorted(info.filename for info in members))


def _walk(ws: Workspace, root: Path, format: str) -> Iterator[Source]:
    """Yield the files in a folder, without hidden files, symbolic links, memem's own notes and pages."""
    errors: list[OSError] = []
    ours, marker = ws.store.paths.ours.resolve(), ws.store.paths.marker.name
    for folder_name, folder_names, file_names in os.walk(root, onerror=errors.append):
        folder = Path(folder_name)
        is_vault = (folder / marker).exists()
        is_old_vault = (folder / "memories").is_dir() and (folder / "_index.md").is_file()
        excluded = RESERVED if is_vault else _OLD_MEMEM_PAGES if is_old_vault else frozenset()
        folder_names[:] = sorted(name for name in folder_names if not name.startswith(".") and name not in excluded)
        folder_names[:] = [name for name in folder_names if (folder / name).resolve() != ours]
        is_page_folder = folder.name.lower() in PAGE_NAMES and (folder.parent / marker).exists()
        base = folder.parent if is_page_folder else folder
        store = Store(VaultPaths(base.parent), fsync=False)
        for name in sorted(file_names):
            path = folder / name
            is_known = path.suffix.lower() in SUFFIXES or _CHATS.fullmatch(name) or name == _DATABASE
            if name.startswith(".") or name in excluded or not is_known or path.is_symlink() or not path.is_file():
                continue
            if not (is_vault or is_page_folder) or store.is_memory(path.relative_to(base).as_posix()):
                inside, is_given = path.relative_to(root).as_posix(), format and path.suffix.lower() in SUFFIXES
                try:
                    yield Source(path, inside, format if is_given else recognise(path))
                except InputError as problem:
                    yield Source(path, inside, MARKDOWN, str(problem))
    for error in errors:
        yield Source(Path(str(error.filename)), "", MARKDOWN, files.reason(error))
