"""Files of the vault that may link to a note, and its links under a new name."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memem.core import safe_open

MAX_ENTRIES = 50_000  # in a larger vault the names of notes stay as they are
MAX_BYTES = 200_000_000
_WITH_LINKS = (".md", ".canvas", ".base")


@dataclass(frozen=True, slots=True)
class Mentions:
    """Files whose text contains the end of a note's name, and files named like it, as paths in the vault."""

    files: tuple[str, ...]
    named: tuple[str, ...]


class _SearchIncomplete(Exception):
    """The vault cannot be searched completely."""


def find_mentions(root: Path, id8: str) -> Mentions | None:
    """Find what mentions the name that ends in this id; None if the search is incomplete.

    Of hidden files only those of Obsidian's settings count: they list bookmarks and the files that are or were open.
    """
    needle, id8 = f"-{id8}".lower().encode(), id8.lower()
    files, named = list[str](), list[str]()
    left = MAX_BYTES
    try:
        for path in (*_list_files(root), *sorted((root / ".obsidian").glob("*.json"))):
            if id8 in path.name.lower():
                named.append(path.relative_to(root).as_posix())
            if path.suffix.lower() in _WITH_LINKS or path.parent.name == ".obsidian":
                with safe_open.open_plain(path, follow=False) as file:
                    data = file.read(left + 1)
                left -= len(data)
                if left < 0:
                    return None
                if needle in data.lower():
                    files.append(path.relative_to(root).as_posix())
    except (OSError, _SearchIncomplete):
        return None
    return Mentions(tuple(sorted(files)), tuple(sorted(named)))


def _list_files(root: Path) -> list[Path]:
    found, pending, seen = list[Path](), [root], 0
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                seen += 1
                if seen > MAX_ENTRIES:
                    raise _SearchIncomplete
                if entry.name.startswith("."):
                    continue
                if entry.is_symlink():  # Obsidian follows it, memem does not
                    raise _SearchIncomplete
                if entry.is_dir(follow_symlinks=False):
                    pending.append(Path(entry.path))
                else:
                    found.append(Path(entry.path))
    return found


def make_relinker(old: str, new: str) -> Callable[[str], str]:
    """Return a function that points the links in a text to a note's new name."""
    end = re.escape(old)
    wikilink = rf"(\[\[(?:[^\[\]|#^\n]*/)?){end}(?=(?:\.md)?[ \t]*(?:\\?\||[\]#^]))"
    pattern = re.compile(rf"{wikilink}|(\]\(<?(?:[^()<>\s]*/)?){end}(?=\.md[)>#])", re.IGNORECASE)

    def relink(text: str) -> str:
        return pattern.sub(lambda match: f"{match[1] or match[2]}{new}", text)

    return relink
