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

VERDICTS_META = "reviewed"  # the index stores the stamp of the file under this name
ACCEPTED, REJECTED, WAITING = "accepted", "rejected", "waiting"


def verdicts_stamp(paths: VaultPaths) -> str:
    """The stamp of the file as text; empty while there is none."""
    found = files.stamp(paths.reviewed)
    return "-".join(map(str, found)) if found else ""


def verdict_on(paths: VaultPaths, memory: Memory) -> str:
    """A person's verdict on these words: accepted, rejected, or waiting."""
    return _last(paths, hash_words(memory))[0]


def record_verdict(paths: VaultPaths, memory: Memory, word: str, time: str, *, fsync: bool) -> None:
    """Record that a person accepts or rejects these words, or takes that back (waiting)."""
    words = hash_words(memory)
    # An earlier verdict may have come from a clock that was ahead.
    line = {"of": words, "said": word, "time": max(time, _last(paths, words)[1])}
    try:
        files.append_line(paths.reviewed, json.dumps(line, separators=(",", ":")).encode(), fsync=fsync)
    except OSError as error:
        raise VaultUnwritable(f"Cannot write {paths.reviewed}: {files.reason(error)}. Nothing was decided.") from None


def hash_words(memory: Memory) -> str:
    """Hash all words of a memory that are shown."""
    from hashlib import blake2b

    words = (memory.title, memory.body, memory.evidence, *memory.keys, *memory.tags, *memory.paths)
    told = json.dumps(words).encode("utf-8", "surrogatepass")
    return blake2b(told, digest_size=16, person=b"memem reviewed").hexdigest()


def _last(paths: VaultPaths, words: str) -> tuple[str, str]:
    found = files.stamp(paths.reviewed)
    return _gathered(paths.reviewed, found).get(words, (WAITING, "")) if found else (WAITING, "")


@lru_cache(maxsize=4)
def _gathered(path: Path, stamp: Stamp) -> dict[str, tuple[str, str]]:
    """Read the last verdict and its time by hash; a sync may have merged the lines of two machines."""
    del stamp  # part of the cache key
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
    """Parse a line; None when it is torn or not understood."""
    try:
        told = from_json(line)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and {"of", "said", "time"} <= told.keys() else None
