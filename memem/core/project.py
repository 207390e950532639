"""Which project a folder belongs to: the one resolver, for every reader and writer.

1. `project = "name"` in the nearest `.memem.toml`, here or above;
2. the repository: the name in its remote's address, else the folder of its common git dir, so that all worktrees
   of one repository share their memories;
3. the folder's own name.

`mining = false` in such a file keeps what is said in that folder, and in all below it, from being mined.

Git's files are read directly: starting `git` costs more than everything else a prompt needs.
"""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from memem.core import safe_open
from memem.core.errors import SettingsError
from memem.core.files import from_toml
from memem.core.memory import GENERAL

OVERRIDE = ".memem.toml"
MAX_NAME = 80
MOST_BYTES = 1_000_000
"""Of a file that is read to know a project: git's own configuration, and ours."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project's name, the folder it lives in, and the branch that is checked out there."""

    name: str
    root: Path
    branch: str = ""


def resolve(folder: Path, user_home: Path) -> Project:
    """The project that `folder` belongs to."""
    folder = folder.resolve()
    git = _find_git(folder)
    branch = git.branch() if git else ""
    for place in _override_places(folder, git):
        name = _override(place / OVERRIDE).name
        if name:
            return Project(name, place, branch)
    if git:
        return Project(normalise(git.name()), git.worktree, branch)
    if folder in (user_home.resolve(), Path(folder.anchor)):
        return Project(GENERAL, folder)
    return Project(normalise(folder.name), folder)


def git_folder(folder: Path) -> Path | None:
    """Where git keeps what it knows of the worktree that a folder is in; None when it is in none."""
    git = _find_git(folder.resolve())
    return git.git_dir if git else None


def may_be_mined(folder: Path) -> bool:
    """Whether nobody refuses it: here, anywhere above, or in the main worktree of a repository.

    A folder that we may not look into may hold a refusal, and counts as one.
    """
    try:
        folder = folder.resolve()
        git = _find_git(folder)
        places = [folder, *folder.parents, *([git.common_dir.parent] if git else [])]
        return all(_override(place / OVERRIDE).mining for place in places)
    except PermissionError:
        return False
    except (OSError, ValueError):
        return True  # no folder can have such a name, so none refuses


def normalise(name: str) -> str:
    """One spelling for a project, whoever writes it: lower case, words joined by a hyphen."""
    folded = unicodedata.normalize("NFC", name.strip().lower())
    fit = (each if each in ".+-_" or unicodedata.category(each)[0] in "LMN" else " " for each in folded)
    joined = "-".join("".join(fit).split()).strip("-.")
    return unicodedata.normalize("NFC", joined)[:MAX_NAME].strip("-.") or GENERAL


def _override_places(folder: Path, git: "_Git | None") -> list[Path]:
    """Here and above; in a repository up to its root, then the main worktree's, which may not be committed."""
    places = [folder, *folder.parents]
    if git is None:
        return places
    return [*places[: places.index(git.worktree) + 1], git.common_dir.parent]


class _Override(NamedTuple):
    name: str = ""
    mining: bool = True


def _override(path: Path) -> _Override:
    try:
        # Whoever made the repository made it: it may be a link, and to a device.
        raw = safe_open.read_small(path, MOST_BYTES).decode()
    except (FileNotFoundError, NotADirectoryError):
        return _Override()
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"{path} cannot be read: {problem}.") from None
    try:
        table = from_toml(raw)
    except ValueError as problem:
        raise SettingsError(f"{path} is not valid TOML: {problem}. Correct it and try again.") from None
    name, mining = table.get("project", ""), table.get("mining", True)
    if not isinstance(name, str):
        raise SettingsError(f'{path}: project must be text, as in project = "shop-api".')
    if not isinstance(mining, bool):
        raise SettingsError(f"{path}: mining must be true or false, as in mining = false.")
    return _Override(normalise(name) if name.strip() else "", mining)


@dataclass(frozen=True, slots=True)
class _Git:
    """Where a repository's files are."""

    worktree: Path
    git_dir: Path
    common_dir: Path

    def name(self) -> str:
        remote = _remote_url(self.common_dir / "config")
        if remote:
            address = re.sub(r"[/\\]\.git\Z", "", remote.rstrip("/\\"))
            return re.split(r"[/:\\]", address)[-1].removesuffix(".git")
        if self.common_dir.name == ".git":
            return self.common_dir.parent.name
        if self.git_dir != self.common_dir:
            bare = self.common_dir
            return bare.parent.name if bare.name.startswith(".") else bare.name.removesuffix(".git")
        return self.worktree.name

    def branch(self) -> str:
        head = _first_line(self.git_dir / "HEAD")
        if head.startswith("ref: refs/heads/"):
            name = head.removeprefix("ref: refs/heads/")
            return "" if name == ".invalid" else name
        return head[:10]


def _find_git(folder: Path) -> _Git | None:
    for place in (folder, *folder.parents):
        dot_git = place / ".git"
        if dot_git.is_dir():
            git_dir = dot_git
        elif dot_git.is_file():
            pointer = _first_line(dot_git).replace("\0", "").removeprefix("gitdir:").strip()
            git_dir = (place / pointer).resolve()
        else:
            continue
        if not (git_dir / "HEAD").is_file():
            continue
        common = _first_line(git_dir / "commondir")
        return _Git(place, git_dir, (git_dir / common).resolve() if common else git_dir)
    return None


def _remote_url(config: Path) -> str:
    """The address of `origin`, else of the first remote."""
    section = ""
    urls: dict[str, str] = {}
    for line in map(str.strip, _lines(config)):
        if line.startswith("["):
            section = line
        elif section.startswith('[remote "') and re.match(r"url\s*=", line):
            urls.setdefault(section[9:].rstrip('"] '), line.split("=", 1)[1].strip().strip('"'))
    return urls.get("origin") or next(iter(urls.values()), "")


def _first_line(path: Path) -> str:
    return next(iter(_lines(path)), "").strip()


def _lines(path: Path) -> list[str]:
    try:
        return safe_open.read_small(path, MOST_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
