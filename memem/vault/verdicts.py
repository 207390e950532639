"""`memem/.reviewed.jsonl`: a person's verdicts on notes that read like instructions. Lines are added, never changed."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from memem.core import files, safe_open
from memem.core.errors import VaultError, VaultUnwritable
from memem.core.files import Stamp, from_json
from memem.core.home import VaultPaths
from memem.core.memory import Memory

VERDICTS_META = "reviewed"
"""Under this name an index keeps the stamp of what it knows of the file."""
ACCEPTED, REJECTED, WAITING = "accepted", "rejected", "waiting"


def verdicts_stamp(paths: VaultPaths) -> str:
    """Changes when the file does; empty while there is none."""
    found = files.stamp(paths.reviewed)
    return "-".join(map(str, found)) if found else ""


def verdict_on(paths: VaultPaths, memory: Memory) -> str:
    """What a person said of these words: accepted or rejected; waiting, when nothing yet."""
    return _last(paths, hash_words(memory))[0]


def record_verdict(paths: VaultPaths, memory: Memory, word: str, time: str, *, fsync: bool) -> None:
    """A person accepts or rejects these words, or takes that back (waiting)."""
    words = hash_words(memory)
    # What was said by a clock that was ahead is not the last word for that.
    line = {"of": words, "said": word, "time": max(time, _last(paths, words)[1])}
    try:
        files.append_line(paths.reviewed, json.dumps(line, separators=(",", ":")).encode(), fsync=fsync)
    except OSError as error:
        raise VaultUnwritable(f"Cannot write {paths.reviewed}: {files.reason(error)}. Nothing was decided.") from None


def hash_words(memory: Memory) -> str:
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
        with safe_open.open_plain(path, follow=False) as file:
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
