"""The files in a home that are memem's, by name, since `MEMEM_DIR` may be shared with other programs."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memem.core import files
from memem.core.home import Home

LEFT_IN_CACHE = ("index.db*", f".*-{'[0-9a-f]' * 32}")  # by an earlier memem, or by a rebuild that was killed
_TEMPORARY = f"{files.TEMPORARY_PREFIX}*{files.TEMPORARY_SUFFIX}"


@dataclass(frozen=True, slots=True)
class Belonging:
    """A file or folder of memem's: its purpose, path and size."""

    what: str
    path: Path
    bytes: int


_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "state: progress of mining, the event log with earlier versions of notes, receipts; it cannot be rebuilt",
        (
            *("state/state.db*", "state/contexts.db*", "state/events.jsonl*", "state/undo", "state/prompt-key"),
            *("state/vaults.json", "state/stale.json", "state/vanished.*", "state/.miner-opted-in", "state/notices"),
            *("state/shown-unjudged", "state/plugin-options.json", "state/trouble.json", "state/upkeep-mark"),
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


def list_belongings(home: Home) -> list[Belonging]:
    """List those that exist; a folder counts with its content."""
    return [
        Belonging(what, path, size_of(path))
        for what, patterns in _KINDS
        for pattern in patterns
        for path in sorted(home.root.glob(pattern))
    ]


def remove_all(home: Home) -> list[Path]:
    """Delete them and the folders that are then empty; return the files of others that are left."""
    for each in list_belongings(home):
        remove(each.path)
    for name in _FOLDERS:
        remove_empty(home.root / name)
    remove_empty(home.root)
    return sorted(home.root.iterdir()) if home.root.is_dir() else []


def remove(path: Path) -> None:
    """Delete a file, a link (not its target), or a folder with its content."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder without following links."""
    return sum(each.lstat().st_size for each in _files(path))


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir() and not path.is_symlink():
        for folder, _, names in os.walk(path):
            yield from (Path(folder, name) for name in names)
    elif os.path.lexists(path):
        yield path
