"""`memem/.reviewed.jsonl`: a person's verdicts on notes that read like instructions. Lines are added, never changed."""

import json
from contextlib import suppress
from functools import lru_cache
from operator import itemgetter
from pathlib import Path

from memem.core import files
from memem.core.errors import VaultUnwritable
from memem.core.files import Stamp, from_json
from memem.core.home import VaultPaths
from memem.core.memory import Memory
from memem.vault.store import read_file_lines

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
        raise VaultUnwritable(
            f"Cannot write {paths.reviewed}: {files.reason(error)}. Your decision was not saved."
        ) from None


def hash_words(memory: Memory) -> str:
    """Hash all words of a memory that are shown."""
    from hashlib import blake2b

    words = json.dumps((memory.title, memory.body, memory.evidence, *memory.keys, *memory.tags, *memory.paths))
    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16, person=b"memem reviewed").hexdigest()


def _last(paths: VaultPaths, words: str) -> tuple[str, str]:
    found = files.stamp(paths.reviewed)
    return _gathered(paths.reviewed, found).get(words, (WAITING, "")) if found else (WAITING, "")


@lru_cache(maxsize=4)
def _gathered(path: Path, stamp: Stamp) -> dict[str, tuple[str, str]]:
    """Read the last verdict and its time by hash; a sync may have merged the lines of two machines."""
    del stamp  # part of the cache key
    verdicts = []
    for line in read_file_lines(path):
        with suppress(ValueError, TypeError, KeyError):  # it is torn, or not understood
            verdict = from_json(line)
            verdicts.append((str(verdict["time"]), str(verdict["of"]), verdict["said"]))
    verdicts.sort(key=itemgetter(0))
    return {words: (said, time) for time, words, said in verdicts if said in (ACCEPTED, REJECTED, WAITING)}
