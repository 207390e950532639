"""Read which project a folder claims: by `.memem.toml`, by its repository, or by the folder's own name.

The nearest `project = "name"`, here or above, comes first; then the name in the remote's address, else the folder of
the common git dir, so that all worktrees of one repository share their memories. `state/projects.py` decides whether a
folder gets the name it claims. `mining = false` in a `.memem.toml` excludes sessions in that folder, and in all below
it, from mining. Git's files are read directly: starting `git` costs more than everything else a prompt needs. Files of
other users are ignored, as in a shared folder anyone may create them.
"""

import os
import re
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path

from memem.core import safe_open
from memem.core.errors import OverrideError
from memem.core.files import from_toml, reason
from memem.core.memory import GENERAL

OVERRIDE = ".memem.toml"
MAX_NAME = 80
MAX_CONFIG_BYTES = 1_000_000
# How a folder claims its project.
BY_HOME, BY_OVERRIDE, BY_REMOTE, BY_REPOSITORY, BY_FOLDER = "home", OVERRIDE, "remote", "repository", "folder"
# A remote's address as git and curl read it: git starts a helper for `name::`; curl ends the host at these signs.
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
_UNCLEAR = r"/?#\\\[\]\s\x00-\x1f\x7f"
_AUTHORITY = re.compile(
    rf"(?:[^{_UNCLEAR}]*@)?(?P<host>\[[0-9A-Za-z:.%]+\]|[^@:{_UNCLEAR}]+)(?::(?P<port>\d*))?(?=/|\Z)"
)
_NOT_IN_PATH = re.compile(r"[?#\\\s\x00-\x1f\x7f]")
_SCP = re.compile(r"(?:[^/\\@:]*@)?(\[[^\]]*\]|[^/\\:]{2,}):(?![/\\]{2})(.*)\Z")
_USUAL_PORTS = {"ssh": "22", "git+ssh": "22", "ssh+git": "22", "https": "443", "http": "80", "git": "9418"}
_BY_CURL = ("http", "https", "ftp", "ftps")
_LINE = re.compile(r"\(at line (\d+), column \d+\)\Z")


@dataclass(frozen=True, slots=True)
class Project:
    """A project's name, its folder, and the branch that is checked out there."""

    name: str
    root: Path
    branch: str = ""
    known: bool = True  # False: the folder is missing, and memem has never seen it


@dataclass(frozen=True, slots=True)
class Claim:
    """The project that a folder claims, how, and the identity that the claim is bound to: a root and a remote."""

    name: str
    by: str
    place: Path  # the folder that makes the claim
    root: str  # the main root of its repository; else the same folder
    remote: str = ""  # the normalised address of the remote
    branch: str = ""
    refusing: tuple[tuple[Path, Path], ...] = ()  # folders that refuse mining, each with the folder of its file
    key: str = ""  # the place, as state stores it
    is_foreign: bool = False  # the folder is another user's


def read_claim(folder: Path, user_home: Path) -> Claim:
    folder = folder.resolve()
    git = _find_git(folder)
    branch = git.branch() if git else ""
    address = git.remote() if git else ""
    remote = normalise_remote(address, git.root) if git and address else ""
    places = [folder, *folder.parents]
    if git:  # up to the root of the repository; then the main worktree
        places = [*places[: places.index(git.worktree) + 1], git.common_dir.parent]
    refusals, owner = dict[Path, Path](), safe_open.owner_of(folder)
    claim = None
    for place in places:
        name, may_mine = read_override(place, owner) or ("", True)
        if not may_mine:
            refusals[place] = place
            if git and place == places[-1]:
                refusals[git.worktree] = place  # which may outlive the main one
        if name:
            claim = Claim(name, BY_OVERRIDE, place, str(git.root if git else place), remote, branch)
            break
    if claim is None and git:
        by = BY_REMOTE if remote else BY_REPOSITORY
        claim = Claim(normalise(git.name(address)), by, git.worktree, str(git.root), remote, branch)
    if claim is None and folder in (user_home.resolve(), Path(folder.anchor)):
        claim = Claim(GENERAL, BY_HOME, folder, str(folder))
    claim = claim or Claim(normalise(folder.name), BY_FOLDER, folder, str(folder))
    return replace(claim, refusing=tuple(refusals.items()), is_foreign=owner is not None)


def git_folder(folder: Path) -> Path | None:
    """Return the git dir of the worktree that a folder is in; None if it is in none."""
    git = _find_git(folder.resolve())
    return git.git_dir if git else None


def read_refusals(folder: Path) -> dict[Path, Path]:
    """Map folders that may not be mined to the one whose `.memem.toml` says so: here, above, or in the main worktree.

    A linked worktree, and a folder reached through a link, are listed themselves, since they may disappear alone.
    """
    given, folder = Path(os.path.abspath(folder)), folder.resolve()  # noqa: PTH100 - links are not followed
    git = _find_git(folder)
    refusals, owner = dict[Path, Path](), safe_open.owner_of(folder)
    for place in (folder, *folder.parents):
        if (override := read_override(place, owner)) and not override[1]:
            refusals[place] = place
            if given != folder:
                linked = (above for above in (given, *given.parents) if above.resolve() == place)
                refusals |= dict.fromkeys(linked, place)
    main = git.common_dir.parent if git else folder
    if git and not folder.is_relative_to(main) and (override := read_override(main, owner)) and not override[1]:
        refusals |= {main: main, git.worktree: main}
    return refusals


def normalise(name: str) -> str:
    """Spell a project's name in lower case, with words joined by hyphens."""
    folded = unicodedata.normalize("NFC", name.strip().lower())
    allowed = (char if char in ".+-_" or unicodedata.category(char)[0] in "LMN" else " " for char in folded)
    joined = "-".join("".join(allowed).split()).strip("-.")
    return unicodedata.normalize("NFC", joined)[:MAX_NAME].strip("-.") or GENERAL


def normalise_remote(address: str, root: Path) -> str:
    """Spell a remote's address as host, unusual port and path, whatever its scheme and user; a local one as a path.

    An address whose host git could read in another way gets a spelling that no other address has.
    """
    address = re.sub(r"[/\\]\.git\Z", "", address.strip().rstrip("/\\"))
    scheme, separator, rest = address.partition("://")
    scheme = scheme.lower()
    if _HELPER.match(address):
        return _spell_unclear(address)
    if separator and scheme != "file":
        authority = _AUTHORITY.match(rest)
        if authority is None or (scheme in _BY_CURL and _NOT_IN_PATH.search(rest)):
            return _spell_unclear(address)
        port = authority["port"] or ""
        host = f"{authority['host']}:{port}" if port not in ("", _USUAL_PORTS.get(scheme)) else authority["host"]
        path = rest[authority.end() :]
    elif not separator and (match := _SCP.match(address)):
        host, path = match[1], match[2]
    else:
        local = rest if separator else address
        return local if re.match(r"[A-Za-z]:[/\\]", local) else os.path.normpath(root / local)
    return f"{host}/{path.strip('/').removesuffix('.git')}".lower()


def without_port(remote: str) -> str:
    """Return a normalised remote as earlier releases spelled it."""
    host, slash, path = remote.partition("/")
    return re.sub(r":\d+\Z", "", host) + slash + path


def _spell_unclear(address: str) -> str:
    import hashlib

    # No host begins with this mark; a digest, since the address may have a password.
    return f"?{hashlib.sha256(address.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def list_foreign(folder: Path) -> list[Path]:
    """List the `.memem.toml` and `.git` of other users that are ignored for this folder."""
    folder = folder.resolve()
    found = [place / name for place in (folder, *folder.parents) for name in (OVERRIDE, ".git")]
    return [path for path in found if safe_open.is_foreign(path, safe_open.owner_of(folder))]


def read_override(place: Path, owner: int | None) -> tuple[str, bool] | None:
    """Return the project that a folder's `.memem.toml` names, empty for none, and whether sessions may be mined.

    Besides the user's and root's, files of an accepted `owner` count.
    """
    path = place / OVERRIDE
    try:
        # The file comes with the repository: it may be a link to a device.
        raw = safe_open.read_own(path, MAX_CONFIG_BYTES, owner)
        table = from_toml(raw.decode())
    except (FileNotFoundError, NotADirectoryError, safe_open.ForeignFile):
        return None
    except OSError as problem:
        if safe_open.is_foreign(path, owner):
            return None
        raise OverrideError(path, f" cannot be read: {reason(problem)}.") from None
    except UnicodeDecodeError:
        raise OverrideError(path, " cannot be read: it is not UTF-8. Save it as UTF-8 and try again.") from None
    except ValueError as problem:
        line = match[1] if (match := _LINE.search(str(problem))) else len(raw.splitlines()) or 1
        raise OverrideError(path, f" is not valid TOML: see line {line}. Correct it and try again.") from None
    name, mining = table.get("project", ""), table.get("mining", True)
    if not isinstance(name, str):
        raise OverrideError(path, ': project must be text, as in project = "shop-api".')
    if not isinstance(mining, bool):
        raise OverrideError(path, ": mining must be true or false, as in mining = false.")
    return normalise(name) if name.strip() else "", mining


@dataclass(frozen=True, slots=True)
class _Git:
    worktree: Path
    git_dir: Path
    common_dir: Path

    @property
    def root(self) -> Path:
        """The folder that all worktrees have in common: the main one, or a bare repository."""
        return self.common_dir.parent if self.common_dir.name == ".git" else self.common_dir

    def remote(self) -> str:
        return _remote_url(self.common_dir / "config")

    def name(self, remote: str) -> str:
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
    owner = safe_open.owner_of(folder)
    for place in (folder, *folder.parents):
        dot_git = place / ".git"
        if dot_git.is_dir():
            git_dir = dot_git
        elif dot_git.is_file():
            pointer = _first_line(dot_git).replace("\0", "").removeprefix("gitdir:").strip()
            git_dir = (place / pointer).resolve()
        else:
            continue
        if not (git_dir / "HEAD").is_file() or any(safe_open.is_foreign(path, owner) for path in (dot_git, git_dir)):
            continue
        common = _first_line(git_dir / "commondir")
        common_dir = (git_dir / common).resolve() if common else git_dir
        if _belongs_to(dot_git, git_dir, common_dir):
            return _Git(place, git_dir, common_dir)
    return None


def _belongs_to(dot_git: Path, git_dir: Path, common_dir: Path) -> bool:
    """Whether a repository knows this worktree: an unpacked archive may contain a `.git` that names any other one."""
    if common_dir != git_dir:
        back = _first_line(git_dir / "gitdir")
        return git_dir.parent == common_dir / "worktrees" and (git_dir / back).resolve() == dot_git.resolve()
    return git_dir == dot_git or git_dir.name != ".git"


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
