"""List the files of a project by git or a bounded walk, and find the names a statement is anchored to."""

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from memem.core import project
from memem.core.dates import Ticks

MOST_IDENTIFIERS = 64
SHORTEST = 3  # characters; shorter names occur in every file
GIT_SECONDS = 3.0  # of one git command
MOST_WALKED = 5_000  # files
MOST_BYTES = 1_000_000  # larger files are not read
_UNDER_WAY = ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG")
_ALL = ":/"  # the whole repository, also outside of the folder

_WORD = r"[A-Za-z_$][\w$]*"
_DOTTED = re.compile(rf"{_WORD}(?:(?:\.|::|->|#){_WORD})*(?:\(\))?", re.ASCII)
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_PLAIN = re.compile(rf"(?<![\w$./:@-]){_DOTTED.pattern}(?![\w$/@-])", re.ASCII)
_SPLIT = re.compile(r"\.|::|->|#")
_CODE = re.compile(rf"{_SPLIT.pattern}|\(\)\Z|[a-z0-9][A-Z]|[A-Z]{{2}}[a-z]", re.ASCII)


def identifiers(statement: str) -> tuple[str, ...]:
    """Any name in backticks; elsewhere only snake_case, CamelCase, a.b and f()."""
    quoted = [each.strip() for each in _QUOTED.findall(statement)]
    bare = _QUOTED.sub(" ` ", statement)
    names = [name for name in quoted if _DOTTED.fullmatch(name)]
    names += [name for name in _PLAIN.findall(bare) if "_" in name.strip("_") or _CODE.search(name)]
    return tuple(dict.fromkeys(name.removesuffix("()") for name in names if len(name) >= SHORTEST))[:MOST_IDENTIFIERS]


def spellings(identifier: str) -> tuple[str, ...]:
    """An identifier as it may occur in a file: whole, or each part of a dotted one."""
    parts = [part for part in _SPLIT.split(identifier) if len(part) >= SHORTEST]
    return tuple(dict.fromkeys((identifier, *parts)))


def stands_in(name: str, text: str) -> bool:
    """Whether a text contains a name as a word of its own."""
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))


class Repository:
    """A project's folder, which answers until a time in ticks. None means it cannot tell."""

    def __init__(self, root: Path, environ: Mapping[str, str], ticks: Ticks, until: float) -> None:
        self.root = root
        self._git = project.git_folder(root) if root.is_dir() else None
        self._environ = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        self._environ |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
        self._asks_git = bool(self._git and shutil.which("git", path=self._environ.get("PATH")))
        self._ticks, self._until = ticks, until
        self._symbols: dict[str, bool | None] = {}

    @property
    def is_over(self) -> bool:
        return self._ticks() >= self._until

    def is_settled(self) -> bool:
        """Whether the folder exists, has files, and no checkout or rebase is under way."""
        try:
            filled = any(path.name != ".git" for path in self.root.iterdir())
        except OSError:
            return False
        return filled and not (self._git and any((self._git / name).exists() for name in _UNDER_WAY))

    def has_file(self, path: str) -> bool | None:
        """Whether a file is where it was, or one of that name anywhere else."""
        if _is_file(self.root / path):
            return True
        named = self._named
        return None if named is None else any(map(_is_file, named.get(path.rpartition("/")[2], ())))

    def has_symbol(self, path: str, symbol: str) -> bool | None:
        """Whether a name occurs in its file, or anywhere else."""
        text = read_source(self.root / path)
        if text and stands_in(symbol, text):
            return True
        if symbol not in self._symbols:
            self._symbols[symbol] = self._grep(symbol) if self._asks_git else self._search(symbol)
        return self._symbols[symbol]

    @cached_property
    def _named(self) -> Mapping[str, list[Path]] | None:
        """All files by their names, tracked (perhaps deleted) and untracked."""
        paths = None if self._asks_git else self._walked
        if self._asks_git:
            listed = self._ask("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", _ALL)
            if listed and not listed.returncode:
                names = listed.stdout.decode("utf-8", "surrogateescape").split("\0")
                paths = [self.root / name for name in names if name]
        if paths is None:
            return None
        named: dict[str, list[Path]] = {}
        for path in paths:
            named.setdefault(path.name, []).append(path)
        return named

    def _grep(self, symbol: str) -> bool | None:
        found = self._ask("grep", "-q", "-F", "-w", "--untracked", "-e", symbol, "--", _ALL)
        return None if found is None or found.returncode > 1 else found.returncode == 0

    def _ask(self, *words: str) -> "subprocess.CompletedProcess[bytes] | None":
        left = min(GIT_SECONDS, self._until - self._ticks())
        if left <= 0:
            return None
        command = ["git", "--no-pager", "-c", "core.fsmonitor=false", "-C", str(self.root), *words]
        try:
            return subprocess.run(
                command, env=self._environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=left, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None

    def _search(self, symbol: str) -> bool | None:
        walked = self._walked
        for path in walked or ():
            if self.is_over:
                return None
            text = "" if path.is_symlink() else read_source(path)  # it may lead out of the project
            if text and stands_in(symbol, text):
                return True
        return None if walked is None else False

    @cached_property
    def _walked(self) -> list[Path] | None:
        """All files; None when there are too many."""
        found: list[Path] = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            found += (Path(folder, name) for name in sorted(names))
            if len(found) > MOST_WALKED or self.is_over:
                return None
        return found


def read_source(path: Path) -> str:
    """The text of a file; empty when it cannot be read or is too large."""
    try:
        status = path.stat()
        small = stat.S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES
        return path.read_text(encoding="utf-8", errors="replace") if small else ""
    except (OSError, ValueError):
        return ""


def _is_file(path: Path) -> bool:
    with suppress(OSError, ValueError):  # not a name at all
        return path.is_file()
    return False
