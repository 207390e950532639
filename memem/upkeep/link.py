"""Link `memem` into `~/.local/bin`, and print the status line's setting. Other people's files are never changed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files, surroundings
from memem.core.errors import InputError
from memem.upkeep.checks.result import Diagnosis, fine

if TYPE_CHECKING:
    from memem.workspace import Workspace

LINKED, MISSING, STALE, FOREIGN = "linked", "missing", "stale", "foreign"


@dataclass(frozen=True, slots=True)
class Link:
    path: str
    target: str
    state: str  # linked, missing, stale (left by a removed memem) or foreign (another program's file)
    works: bool  # `memem` starts this installation
    found: str = ""  # otherwise the program that it starts
    advice: str = ""


def look(ws: Workspace) -> Link:
    import shutil

    target, state = surroundings.command_path(ws.prefix), _state(ws)
    works = surroundings.is_on_path(ws.environ, ws.prefix)
    found = "" if works else shutil.which(surroundings.COMMAND, path=ws.environ.get("PATH", "")) or ""
    advice = _path_advice(ws, found) if state == LINKED and not works else ""
    return Link(str(ws.link), str(target), state, works, found, advice)


def create(ws: Workspace) -> Link:
    """Create the link if it is missing. Raises InputError if another file is in its place."""
    state, target = _state(ws), surroundings.command_path(ws.prefix)
    if state == FOREIGN:
        raise InputError(
            f"{ws.link} {_described(ws.link)} and was left alone. Move it out of the way, then run this again."
        )
    if state != LINKED:
        if not target.is_file():
            raise InputError(f"There is no command at {target}: this copy of memem is not installed. Install it first.")
        try:
            files.make_folder(ws.link.parent)
            ws.link.unlink(missing_ok=True)
            ws.link.symlink_to(target)
        except OSError as error:
            raise InputError(f"Cannot create {ws.link}: {files.reason(error)}.") from None
    return look(ws)


def remove(ws: Workspace) -> Link:
    if _state(ws) == FOREIGN:
        raise InputError(f"{ws.link} {_described(ws.link)} and was left alone.")
    try:
        ws.link.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"Cannot remove {ws.link}: {files.reason(error)}.") from None
    return look(ws)


def is_ours(ws: Workspace) -> bool:
    return _state(ws) in (LINKED, STALE)


def check(ws: Workspace) -> list[Diagnosis]:
    """Check for the doctor; the link is optional, so the result is always fine."""
    state = look(ws)
    if state.works:
        return [fine("command", "`memem` on the PATH runs this installation")]
    other = f"`memem` on the PATH is {state.found}" if state.found else "`memem` is not on the PATH"
    return [fine("command", f"{other}; this installation's command is {state.target}")]


def _state(ws: Workspace) -> str:
    if not os.path.lexists(ws.link):
        return MISSING
    if not ws.link.is_symlink():
        return FOREIGN
    target = _target(ws.link)
    if target == surroundings.command_path(ws.prefix):
        return LINKED
    # Claude Code removes a plugin with its environment, but not this link.
    is_gone = target.parts[-2:] == ("bin", surroundings.COMMAND) and not os.path.lexists(target)
    return STALE if is_gone and target.parent.parent.name in ("venv", ".venv") else FOREIGN


def _target(link: Path) -> Path:
    return Path(os.path.normpath(link.parent / link.readlink()))


def _described(path: Path) -> str:
    if path.is_symlink():
        return f"is a link to {_target(path)}, another program or another memem,"
    return "is a folder" if path.is_dir() else "is not a link created by this memem"


def _path_advice(ws: Workspace, found: str) -> str:
    folder = ws.link.parent
    if str(folder) in ws.environ.get("PATH", "").split(os.pathsep):
        return f"{found} comes before {folder} on your PATH; run memem as {ws.link}." if found else ""
    shell = Path(ws.environ.get("SHELL", "")).name
    if shell == "fish":
        return f"{folder} is not on your PATH. Run: fish_add_path ~/.local/bin"
    profile = {"zsh": "~/.zshrc", "bash": "~/.bashrc"}.get(shell, "~/.profile")
    return f'{folder} is not on your PATH. Add to {profile}: export PATH="$HOME/.local/bin:$PATH"'


REFRESH_SECONDS = 10  # mining ends after a turn, when no message makes Claude Code run the status line


def setting(ws: Workspace) -> dict[str, dict[str, str | int]]:
    """The part of Claude Code's `settings.json` for the status line. Its command survives updates of the plugin."""
    import shlex

    command = ws.link if look(ws).state == LINKED else surroundings.command_path(ws.prefix)
    line = f"{shlex.quote(str(command))} statusline"
    return {"statusLine": {"type": "command", "command": line, "refreshInterval": REFRESH_SECONDS}}
