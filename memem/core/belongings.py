"""The files in a home that are memem's, by name, since `MEMEM_DIR` may be shared with other programs."""

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memem.core.data_files import load_table
from memem.core.home import Home

LEFT_IN_CACHE = ("index.db*", f".*-{'[0-9a-f]' * 32}")  # by an earlier memem, or by a rebuild that was killed


@dataclass(frozen=True, slots=True)
class Belonging:
    """A file or folder of memem's: its purpose, path and size."""

    what: str
    path: Path
    bytes: int


def list_belongings(home: Home) -> list[Belonging]:
    """List those that exist; a folder counts with its content."""
    kinds: dict[str, list[str]] = {
        **load_table(__file__, "belongings.toml"),
        "leftovers in the cache": [f"cache/{pattern}" for pattern in LEFT_IN_CACHE],
    }
    return [
        Belonging(what, path, size_of(path))
        for what, patterns in kinds.items()
        for pattern in patterns
        for path in sorted(home.root.glob(pattern))
    ]


def remove_all(home: Home) -> list[Path]:
    """Delete them and the folders that are then empty; return the files of others that are left."""
    for each in list_belongings(home):
        remove(each.path)
    for folder in (home.state, home.cache, home.models, home.root / "run", home.root):
        remove_empty(folder)
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
    if path.is_dir() and not path.is_symlink():
        return sum(Path(folder, name).lstat().st_size for folder, _, names in os.walk(path) for name in names)
    return path.lstat().st_size if os.path.lexists(path) else 0
