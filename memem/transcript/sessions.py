"""The session files that Claude Code has on this machine."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from memem.core.home import OWN_FOLDER


def find_sessions(folders: Iterable[Path]) -> Iterator[Path]:
    """Every session in these folders and in the project folders in them, but for those of subagents and of memem."""
    for folder in folders:
        entries = _entries(folder)
        yield from _sessions(entries)
        for entry in entries:
            # Claude Code names a project's folder after its path, with a dash for every slash.
            if entry.is_dir(follow_symlinks=False) and not entry.name.endswith(f"-{OWN_FOLDER}"):
                yield from _sessions(_entries(Path(entry.path)))


def _sessions(entries: list[os.DirEntry[str]]) -> Iterator[Path]:
    for entry in entries:
        is_session = entry.name.endswith(".jsonl") and not entry.name.startswith("agent-")
        if is_session and entry.is_file(follow_symlinks=False):
            yield Path(entry.path)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """In the order of their names; none of a folder that cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
