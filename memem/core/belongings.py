"""What in a home is memem's: by name, since `MEMEM_DIR` may be a folder that others use too."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memem.core import files
from memem.core.home import Home

LEFT_IN_CACHE = ("index.db*", f".*-{'[0-9a-f]' * 32}")
"""What an earlier memem, or a rebuild that was killed, has left there."""
_TEMPORARY = f"{files.TEMPORARY_PREFIX}*{files.TEMPORARY_SUFFIX}"


@dataclass(frozen=True, slots=True)
class Belonging:
    """Something of ours that is there: what it is good for, where it is, and how large."""

    what: str
    path: Path
    bytes: int


_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "state: what was mined, the event log with earlier bytes of notes, receipts; it cannot be made anew",
        (
            *("state/state.db*", "state/contexts.db*", "state/events.jsonl*", "state/undo", "state/prompt-key"),
            *("state/vaults.json", "state/stale.json", "state/vanished.*", "state/.miner-opted-in"),
            *(
                "state/shown-unjudged",
                "state/plugin-options.json",
                "state/trouble.json",
                "state/notices",
                "state/upkeep-mark",
            ),
            f"state/{_TEMPORARY}",
        ),
    ),
    (
        "cache: index, vectors and the text of sessions",
        (
            *("cache/index", "cache/vectors", "cache/turns", "cache/claude-flags.json", f"cache/{_TEMPORARY}"),
            *(f"cache/{pattern}" for pattern in LEFT_IN_CACHE),
        ),
    ),
    (
        "the embedding model",
        (
            *("models/all-MiniLM-L6-v2", "models/checksums.json", "models/fetch.lock", "models/package"),
            f"models/{_TEMPORARY}",
        ),
    ),
    ("settings", ("config.toml",)),
    ("logs", ("hooks.log*", "mine_delta.log*", "bootstrap.log*", ".capabilities")),
    (
        "locks and sockets",
        (
            *("run/mining", "run/memem-calls", "run/later", "run/statusline", "run/history.json", "run/*.lock"),
            *("run/*.log", "run/engine-late", "run/engine.sock", f"run/{_TEMPORARY}", _TEMPORARY),
        ),
    ),
)
_FOLDERS = ("state", "cache", "models", "run")


def belongings(home: Home) -> list[Belonging]:
    """All that is there, in the order of the list above; a folder counts with everything in it."""
    return [
        Belonging(what, path, size_of(path))
        for what, patterns in _KINDS
        for pattern in patterns
        for path in sorted(home.root.glob(pattern))
    ]


def remove_all(home: Home) -> list[Path]:
    """Remove them, and the folders that are empty then; returns what is still in the home and is not ours."""
    for each in belongings(home):
        remove(each.path)
    for name in _FOLDERS:
        remove_empty(home.root / name)
    remove_empty(home.root)
    return sorted(_inside(home.root))


def remove(path: Path) -> None:
    """A file, a link, or a folder with everything in it. What a link leads to stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files in a folder; links count nothing."""
    return sum(each.lstat().st_size for each in _files(path))


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir() and not path.is_symlink():
        for folder, _, names in os.walk(path):
            yield from (Path(folder, name) for name in names)
    elif os.path.lexists(path):
        yield path


def _inside(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []
