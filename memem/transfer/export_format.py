"""The format of an export: files of the vault byte for byte, and the lines of its tombstones.

A folder contains `memem-export.json` (the header), `tombstones.jsonl` and the files under `memem/`. A JSON file is a
list of the header, the tombstones and the files, one element per line.
"""

import base64
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from memem.core import files
from memem.core.errors import InputError

MARK, VERSION = "memem-export", 1
HEADER, TOMBSTONES, FILES = "memem-export.json", "tombstones.jsonl", "memem"
MAX_FILE_BYTES = 16_000_000  # sixteen times the size of the largest note
LEFTOVER_NANOSECONDS = 3_600 * 10**9
FILE_START = re.compile(rb'\[\s*\{\s*"format"\s*:\s*"memem-export"')
_TEMPORARY = re.compile(re.escape(files.TEMPORARY_PREFIX) + "[0-9a-f]{16}(-old)?" + re.escape(files.TEMPORARY_SUFFIX))
_MAX_NAME_BYTES = 255


@dataclass(frozen=True, slots=True)
class Header:
    format: str
    version: int
    memem: str
    created: str
    project: str  # empty if the export contains all projects
    files: int
    tombstones: int


@dataclass(frozen=True, slots=True)
class PackedFile:
    path: str  # inside `memem/`
    data: bytes
    modified: int  # in nanoseconds


Element = Header | bytes | PackedFile  # bytes are a line of the tombstones


def is_folder(path: Path) -> bool:
    return (path / HEADER).is_file()


def write_file(target: Path, elements: Iterable[Element], *, fsync: bool) -> None:
    """Write one JSON file, completely or not at all."""

    def pieces() -> Iterator[bytes]:
        for number, element in enumerate(elements):
            yield f"{',' if number else '['}\n{json.dumps(_as_json(element), ensure_ascii=False)}".encode()
        yield b"\n]\n"

    with _replace(target) as temporary:
        files.write_new(temporary, pieces(), fsync=fsync)
    if fsync:
        files.sync_folder(target.parent)


def write_folder(target: Path, elements: Iterable[Element], *, fsync: bool) -> None:
    """Write a folder, completely or not at all. An existing folder keeps files that are not of an export."""
    with _replace(target) as temporary:
        temporary.mkdir(mode=files.PRIVATE_FOLDER)
        folders, lines = {temporary}, list[bytes]()
        for element in elements:
            if isinstance(element, bytes):
                lines.append(element)
            elif isinstance(element, Header):
                header = json.dumps(asdict(element), indent=1).encode() + b"\n"
                files.write_at(temporary / HEADER, 0, header, fsync=fsync)
            else:
                path = temporary / FILES / element.path
                files.make_folder(path.parent)
                folders.add(path.parent)
                files.write_at(path, 0, element.data, fsync=fsync)
                os.utime(path, ns=(element.modified, element.modified))
        files.write_at(temporary / TOMBSTONES, 0, b"".join(line + b"\n" for line in lines), fsync=fsync)
        for folder in folders if fsync else ():
            files.sync_folder(folder)
    for folder in (target, target.parent) if fsync else ():
        files.sync_folder(folder)


@contextmanager
def _replace(target: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces the target at the end; in an existing folder, only the export in it."""
    unique = os.urandom(8).hex()
    new, old = (
        target.with_name(f"{files.TEMPORARY_PREFIX}{unique}{kind}{files.TEMPORARY_SUFFIX}") for kind in ("", "-old")
    )
    try:
        yield new
        _remove_leftovers(new)
        if target.is_dir():
            _exchange(new, target, old)
        else:
            new.replace(target)
    finally:
        _remove(new)


def _remove_leftovers(new: Path) -> None:
    """Remove temporary files that killed exports left here an hour ago or earlier."""
    now = files.stamp(new)
    for path in new.parent.glob(f"{files.TEMPORARY_PREFIX}*{files.TEMPORARY_SUFFIX}"):
        then = files.stamp(path)
        if now and then and _TEMPORARY.fullmatch(path.name) and now[0] - then[0] > LEFTOVER_NANOSECONDS:
            _remove(path)


def _exchange(new: Path, target: Path, old: Path) -> None:
    """Replace the export in a folder, or restore it if that fails. Other files, such as `.git`, stay."""
    old.mkdir(mode=files.PRIVATE_FOLDER)
    moves = [
        move for name in (FILES, TOMBSTONES) for move in ((target / name, old / name), (new / name, target / name))
    ]
    started = list[tuple[Path, Path]]()
    try:
        for source, destination in moves:
            if os.path.lexists(source):
                started.append((source, destination))
                source.rename(destination)
        (new / HEADER).replace(target / HEADER)  # last: it marks the folder as an export even if this is interrupted
    except BaseException:
        for source, destination in reversed(started):
            if not os.path.lexists(source):
                destination.rename(source)
        old.rmdir()
        raise
    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        files.remove_quietly(path)


def _as_json(element: Element) -> dict[str, Any]:
    if isinstance(element, Header):
        return asdict(element)
    if isinstance(element, bytes):
        return {"tombstone": element.decode("utf-8", "replace")}
    try:
        content = {"text": element.data.decode()}
    except UnicodeDecodeError:
        content = {"base64": base64.b64encode(element.data).decode()}
    return {"path": element.path, "modified": element.modified, **content}


def read_folder(folder: Path) -> Iterator[Element | InputError]:
    """Yield the elements of an export, with an error in place of each unusable file."""
    try:
        yield parse_header(files.from_json((folder / HEADER).read_bytes()))
    except ValueError:
        raise InputError(f"{HEADER} is damaged") from None
    lines = folder / TOMBSTONES
    if lines.is_file() and not lines.is_symlink():
        yield from (line for line in lines.read_bytes().splitlines() if line.strip())
    root = folder / FILES
    for parent, folder_names, file_names in os.walk(root):
        folder_names[:] = sorted(name for name in folder_names if not Path(parent, name).is_symlink())
        for path in (Path(parent, name) for name in sorted(file_names)):
            if not path.is_file() or path.is_symlink():
                continue
            status, inside = path.stat(), path.relative_to(root).as_posix()
            if status.st_size > MAX_FILE_BYTES:
                yield InputError(f"{inside} is larger than {MAX_FILE_BYTES // 1_000_000} MB")
            else:
                yield _checked(PackedFile(inside, path.read_bytes(), status.st_mtime_ns))


def parse_element(value: Any) -> Element | InputError:
    """Parse an element after the header of a JSON file; returns an error for an unusable one."""
    fields = value if isinstance(value, dict) else {}
    line, path, modified = fields.get("tombstone"), fields.get("path"), fields.get("modified")
    if isinstance(line, str):
        return line.encode("utf-8", "replace")
    if not isinstance(path, str):
        return InputError("it contains an element that is neither a file nor a tombstone")
    text = fields.get("text")
    try:
        data = text.encode() if isinstance(text, str) else base64.b64decode(fields["base64"], validate=True)
    except (ValueError, TypeError, KeyError):
        return InputError(f"{_shown(path)} has no readable content")
    if type(modified) is not int or not 0 <= modified < 1 << 62:
        modified = 0
    return _checked(PackedFile(path, data, modified))


def parse_header(value: Any) -> Header:
    """Raises InputError if this is not an export, or one of a newer memem."""
    if not isinstance(value, dict) or value.get("format") != MARK:
        raise InputError("it is not a memem export: the header is missing")
    version = value.get("version")
    if type(version) is not int or version < 1:
        raise InputError("the export does not state the version of its format")
    if version > VERSION:
        raise InputError("it was exported by a newer version of memem; upgrade memem to import it")
    by, created, project = (str(value.get(name, "")) for name in ("memem", "created", "project"))
    file_count, tombstones = (value[name] if type(value.get(name)) is int else 0 for name in ("files", "tombstones"))
    return Header(MARK, version, by, created, project, file_count, tombstones)


def _checked(packed: PackedFile) -> PackedFile | InputError:
    """Accept only the path of a Markdown file inside `memem/`."""
    path, pure = packed.path, PurePosixPath(packed.path)
    is_odd = any(part.startswith(".") or len(part.encode("utf-8", "replace")) > _MAX_NAME_BYTES for part in pure.parts)
    is_plain = path.isprintable() and "\\" not in path and path == pure.as_posix() and _shown(path) == path
    if is_odd or not is_plain or pure.is_absolute() or pure.suffix.lower() != ".md":
        return InputError(f"{_shown(path)} is not the path of a note inside the vault")
    return packed


def _shown(path: str) -> str:
    return path.encode("utf-8", "replace").decode()[:200]
