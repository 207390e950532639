"""`memem/.reviewed.jsonl`: what a person said of notes that read like an instruction to the model. Lines are added,
never changed.

It is in the vault, since the notes are: whoever deletes the cache, or shares the vault, is not asked again. A line
names the words by a hash, so that a note that says something else is judged anew.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from memem.core import files, plain
from memem.core.errors import VaultError, VaultUnwritable
from memem.core.files import Stamp
from memem.core.formats import from_json
from memem.core.home import VaultPaths
from memem.core.memory import Memory

KNOWN = "reviewed"
"""Under this name an index keeps the stamp of what it knows of the file."""
ACCEPTED, REJECTED, WAITING = "accepted", "rejected", "waiting"


def stamp(paths: VaultPaths) -> str:
    """Changes when the file does; empty while there is none."""
    found = files.stamp(paths.reviewed)
    return "-".join(map(str, found)) if found else ""


def said_of(paths: VaultPaths, memory: Memory) -> str:
    """What a person said of these words: accepted or rejected; waiting, when nothing yet."""
    return _last(paths, hash_of(memory))[0]


def say(paths: VaultPaths, memory: Memory, word: str, time: str, *, fsync: bool) -> None:
    """A person accepts or rejects these words, or takes that back (waiting)."""
    words = hash_of(memory)
    # What was said by a clock that was ahead is not the last word for that.
    line = {"of": words, "said": word, "time": max(time, _last(paths, words)[1])}
    try:
        files.append_line(paths.reviewed, json.dumps(line, separators=(",", ":")).encode(), fsync=fsync)
    except OSError as error:
        raise VaultUnwritable(f"Cannot write {paths.reviewed}: {files.reason(error)}. Nothing was decided.") from None


def hash_of(memory: Memory) -> str:
    """Of all words of a memory that are shown: another statement, title or quote is another one."""
    from hashlib import blake2b

    words = (memory.title, memory.body, memory.evidence, *memory.keys, *memory.tags, *memory.paths)
    told = json.dumps(words).encode("utf-8", "surrogatepass")
    return blake2b(told, digest_size=16, person=b"memem reviewed").hexdigest()


def _last(paths: VaultPaths, words: str) -> tuple[str, str]:
    found = files.stamp(paths.reviewed)
    return _gathered(paths.reviewed, found).get(words, (WAITING, "")) if found else (WAITING, "")


@lru_cache(maxsize=4)
def _gathered(path: Path, stamp: Stamp) -> dict[str, tuple[str, str]]:
    """What was said last, and when, by the time that it bears: a sync may have joined the lines of two."""
    del stamp  # another one is another file
    lines = sorted(filter(None, map(_line, _bytes(path).splitlines())), key=lambda line: str(line["time"]))
    known = [line for line in lines if line["said"] in (ACCEPTED, REJECTED, WAITING)]
    return {str(line["of"]): (str(line["said"]), str(line["time"])) for line in known}


def _bytes(path: Path) -> bytes:
    try:
        with plain.open_plain(path, follow=False) as file:
            return file.read()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise VaultError(f"Cannot read {path}: {files.reason(error)}.") from None


def _line(line: bytes) -> dict[str, Any] | None:
    """What a line says; nothing where it is torn, or is not understood."""
    try:
        told = from_json(line)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and {"of", "said", "time"} <= told.keys() else None
