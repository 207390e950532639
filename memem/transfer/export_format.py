"""The form of an export: a folder, or one JSON file. Files of the vault byte for byte, and the lines of its tombstones.

The folder has `memem-export.json`, `tombstones.jsonl` and the files under `memem/`. The JSON file is a list: first what
`memem-export.json` says, then the tombstones, then the files, an element a line.
"""

import base64
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from memem.core import files
from memem.core.errors import InputError

MARK, VERSION = "memem-export", 1
HEADER, TOMBSTONES, FILES = "memem-export.json", "tombstones.jsonl", "memem"
MOST_BYTES = 16_000_000
"""Of one file: more than sixteen times what a note may have."""
_FILE = re.compile(rb'\[\s*\{\s*"format"\s*:\s*"memem-export"')
_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class Header:
    """What an export says of itself; `project` is that of all its notes, empty when it has all."""

    format: str
    version: int
    memem: str
    created: str
    project: str
    files: int
    tombstones: int


@dataclass(frozen=True, slots=True)
class Packed:
    """A file of the vault: its path inside `memem/`, its bytes, and when it was changed last, in nanoseconds."""

    path: str
    data: bytes
    modified: int


Element = Header | bytes | Packed
"""What an export consists of; bytes are a line of the tombstones."""


def is_folder(path: Path) -> bool:
    """Whether a folder is an export."""
    return (path / HEADER).is_file()


def is_file(head: bytes) -> bool:
    """Whether a file that begins so is one."""
    return bool(_FILE.match(head))


# --- writing ------------------------------------------------------------------------------------------------------


LEFTOVER_NANOSECONDS = 3_600 * 10**9
_TEMPORARY = re.compile(re.escape(files.TEMPORARY_PREFIX) + "[0-9a-f]{16}(-old)?" + re.escape(files.TEMPORARY_SUFFIX))


def write_file(target: Path, elements: Iterable[Element], *, fsync: bool) -> None:
    """All of it into one JSON file, which is whole or not there."""
    with _replacing(target) as temporary:
        files.write_new(temporary, _pieces(elements), fsync=fsync)
    if fsync:
        files.sync_folder(target.parent)


def _pieces(elements: Iterable[Element]) -> Iterator[bytes]:
    for number, element in enumerate(elements):
        begun = ",\n" if number else "[\n"
        yield f"{begun}{json.dumps(_as_json(element), ensure_ascii=False)}".encode()
    yield b"\n]\n"


def write_folder(target: Path, elements: Iterable[Element], *, fsync: bool) -> None:
    """All of it into a folder, which is whole or not there; one that is there keeps what is not of an export."""
    with _replacing(target) as temporary:
        temporary.mkdir(mode=files.PRIVATE_FOLDER)
        folders, lines = {temporary}, list[bytes]()
        for element in elements:
            if isinstance(element, bytes):
                lines.append(element)
            elif isinstance(element, Header):
                _write(temporary / HEADER, json.dumps(asdict(element), indent=1).encode() + b"\n", fsync=fsync)
            else:
                path = temporary / FILES / element.path
                files.make_folder(path.parent)
                folders.add(path.parent)
                _write(path, element.data, fsync=fsync)
                os.utime(path, ns=(element.modified, element.modified))
        _write(temporary / TOMBSTONES, b"".join(line + b"\n" for line in lines), fsync=fsync)
        for folder in folders if fsync else ():
            files.sync_folder(folder)
    for folder in (target, target.parent) if fsync else ():
        files.sync_folder(folder)


def _write(path: Path, data: bytes, *, fsync: bool) -> None:
    """A new file in a folder that nobody reads yet."""
    files.write_at(path, 0, data, fsync=fsync)


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """A name beside the target, which takes its place at the end; in a folder that is there, the place of an export."""
    unique = os.urandom(8).hex()
    new, old = (
        target.with_name(f"{files.TEMPORARY_PREFIX}{unique}{kind}{files.TEMPORARY_SUFFIX}") for kind in ("", "-old")
    )
    try:
        yield new
        _sweep_beside(new)
        if target.is_dir():
            _exchange(new, target, old)
        else:
            new.replace(target)
    finally:
        _remove(new)


def _sweep_beside(new: Path) -> None:
    """Remove what exports to this place left that were killed: older by an hour than what is there now."""
    now = files.stamp(new)
    for path in new.parent.glob(f"{files.TEMPORARY_PREFIX}*{files.TEMPORARY_SUFFIX}"):
        then = files.stamp(path)
        if now and then and _TEMPORARY.fullmatch(path.name) and now[0] - then[0] > LEFTOVER_NANOSECONDS:
            _remove(path)


def _exchange(new: Path, target: Path, old: Path) -> None:
    """Have a folder hold the new export instead of the old one, or, where that fails, the old one again.

    Whatever else is in it is somebody's: a `.git`, say. The header changes last and in one step: by it the folder is
    known to be an export, also when this is interrupted.
    """
    old.mkdir(mode=files.PRIVATE_FOLDER)
    moves = [
        move for name in (FILES, TOMBSTONES) for move in ((target / name, old / name), (new / name, target / name))
    ]
    begun = list[tuple[Path, Path]]()
    try:
        for one, other in moves:
            if os.path.lexists(one):
                begun.append((one, other))
                one.rename(other)
        (new / HEADER).replace(target / HEADER)
    except BaseException:
        for one, other in reversed(begun):
            if not os.path.lexists(one):
                other.rename(one)
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


# --- reading ------------------------------------------------------------------------------------------------------


def read_folder(folder: Path) -> Iterator[Element | InputError]:
    """The elements of an export; an error stands for a file that cannot be used."""
    yield header_of(_json(folder / HEADER))
    lines = folder / TOMBSTONES
    if lines.is_file() and not lines.is_symlink():
        yield from (line for line in lines.read_bytes().splitlines() if line.strip())
    root = folder / FILES
    for name, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if not Path(name, each).is_symlink())
        for each in sorted(names):
            path = Path(name, each)
            if path.is_file() and not path.is_symlink():
                yield _told(lambda path=path: _packed(path, path.relative_to(root).as_posix()))  # type: ignore[misc]


def from_json(value: Any) -> Element | InputError:
    """An element of the JSON form, behind the first; an error stands for one that cannot be used."""
    line = value.get("tombstone") if isinstance(value, dict) else None
    if isinstance(line, str):
        return line.encode("utf-8", "replace")
    return _told(lambda: _unpacked(value))


def header_of(value: Any) -> Header:
    """Raises InputError for what is no export, or that of a newer memem."""
    if not isinstance(value, dict) or value.get("format") != MARK:
        raise InputError("it is no export of memem: it does not say so")
    version = value.get("version")
    if type(version) is not int or version < 1:
        raise InputError("it is an export of memem, but does not say of which version")
    if version > VERSION:
        raise InputError("it was exported by a newer memem; upgrade memem to import it")
    by, created, project = (str(value.get(name, "")) for name in ("memem", "created", "project"))
    count, stones = (value[name] if type(value.get(name)) is int else 0 for name in ("files", "tombstones"))
    return Header(MARK, version, by, created, project, count, stones)


def _told(read: Callable[[], Packed]) -> Packed | InputError:
    try:
        return read()
    except InputError as problem:
        return problem


def _packed(path: Path, inside: str) -> Packed:
    status = path.stat()
    if status.st_size > MOST_BYTES:
        raise InputError(f"{inside} is larger than {MOST_BYTES // 1_000_000} MB")
    return Packed(_checked(inside), path.read_bytes(), status.st_mtime_ns)


def _unpacked(value: Any) -> Packed:
    path, modified = (value.get("path"), value.get("modified")) if isinstance(value, dict) else (None, None)
    if not isinstance(path, str):
        raise InputError("an element of it is neither a file nor a tombstone")
    text, coded = value.get("text"), value.get("base64")
    try:
        data = text.encode() if isinstance(text, str) else base64.b64decode(coded, validate=True)
    except (ValueError, TypeError):
        raise InputError(f"{_shown(path)} has no content that can be read") from None
    is_time = type(modified) is int and 0 <= modified < 1 << 62
    return Packed(_checked(path), data, modified if is_time and isinstance(modified, int) else 0)


def _checked(path: str) -> str:
    """A path of a markdown file inside `memem/`, and nowhere else."""
    pure = PurePosixPath(path)
    strange = any(part.startswith(".") or len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in pure.parts)
    plain = path.isprintable() and "\\" not in path and path == pure.as_posix() and _shown(path) == path
    if strange or not plain or pure.is_absolute() or pure.suffix.lower() != ".md":
        raise InputError(f"{_shown(path)} is no path of a note inside the vault")
    return path


def _shown(path: str) -> str:
    return path.encode("utf-8", "replace").decode()[:200]


def _json(path: Path) -> Any:
    try:
        return files.from_json(path.read_bytes())
    except ValueError:
        raise InputError(f"{path.name} is damaged") from None
