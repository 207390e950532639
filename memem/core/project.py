"""Resolve the project of a folder: by `.memem.toml`, by its repository, or by the folder's own name.

The nearest `project = "name"`, here or above, comes first; then the name in the remote's address, else the folder of
the common git dir, so that all worktrees of one repository share their memories. `mining = false` in a `.memem.toml`
excludes sessions in that folder, and in all below it, from mining. Git's files are read directly: starting `git` costs
more than everything else a prompt needs.
"""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from memem.core import safe_open
from memem.core.errors import SettingsError
from memem.core.files import from_toml, reason
from memem.core.memory import GENERAL

OVERRIDE = ".memem.toml"
MAX_NAME = 80
MAX_CONFIG_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Project:
    """A project's name, its folder, and the branch that is checked out there."""

    name: str
    root: Path
    branch: str = ""


def resolve(folder: Path, user_home: Path) -> Project:
    folder = folder.resolve()
    git = _find_git(folder)
    branch = git.branch() if git else ""
    places = [folder, *folder.parents]
    if git:  # up to the root of the repository; then the main worktree
        places = [*places[: places.index(git.worktree) + 1], git.common_dir.parent]
    for place in places:
        name, _ = _read_override(place / OVERRIDE)
        if name:
            return Project(name, place, branch)
    if git:
        return Project(normalise(git.name()), git.worktree, branch)
    if folder in (user_home.resolve(), Path(folder.anchor)):
        return Project(GENERAL, folder)
    return Project(normalise(folder.name), folder)


def git_folder(folder: Path) -> Path | None:
    """Return the git dir of the worktree that a folder is in; None if it is in none."""
    git = _find_git(folder.resolve())
    return git.git_dir if git else None


def may_be_mined(folder: Path) -> bool:
    """Check that no `.memem.toml` forbids it: here, above, or in the main worktree. An unreadable folder forbids it."""
    try:
        folder = folder.resolve()
        git = _find_git(folder)
        places = [folder, *folder.parents, *([git.common_dir.parent] if git else [])]
        return all(may_mine for _, may_mine in (_read_override(place / OVERRIDE) for place in places))
    except PermissionError:
        return False
    except (OSError, ValueError):
        return True  # no folder can have such a name


def normalise(name: str) -> str:
    """Spell a project's name in lower case, with words joined by hyphens."""
    folded = unicodedata.normalize("NFC", name.strip().lower())
    allowed = (char if char in ".+-_" or unicodedata.category(char)[0] in "LMN" else " " for char in folded)
    joined = "-".join("".join(allowed).split()).strip("-.")
    return unicodedata.normalize("NFC", joined)[:MAX_NAME].strip("-.") or GENERAL


def _read_override(path: Path) -> tuple[str, bool]:
    """Return the name of the project, empty for none, and whether its sessions may be mined."""
    try:
        # The file comes with the repository: it may be a link to a device.
        raw = safe_open.read_small(path, MAX_CONFIG_BYTES).decode()
    except (FileNotFoundError, NotADirectoryError):
        return "", True
    except (OSError, UnicodeDecodeError) as problem:
        why = reason(problem) if isinstance(problem, OSError) else problem
        raise SettingsError(f"{path} cannot be read: {why}.") from None
    try:
        table = from_toml(raw)
    except ValueError as problem:
        raise SettingsError(f"{path} is not valid TOML: {problem}. Correct it and try again.") from None
    name, mining = table.get("project", ""), table.get("mining", True)
    if not isinstance(name, str):
        raise SettingsError(f'{path}: project must be text, as in project = "shop-api".')
    if not isinstance(mining, bool):
        raise SettingsError(f"{path}: mining must be true or false, as in mining = false.")
    return normalise(name) if name.strip() else "", mining


@dataclass(frozen=True, slots=True)
class _Git:
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
        if not head.startswith("ref: refs/heads/"):
            return head[:10]
        name = head.removeprefix("ref: refs/heads/")
        return "" if name == ".invalid" else name


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
    """Return the address of `origin`, else of the first remote."""
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
        return safe_open.read_small(path, MAX_CONFIG_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
