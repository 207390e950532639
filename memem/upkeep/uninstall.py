"""Uninstall: list what memem has put on this machine and into the vault, then remove it. The vault stays by default."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import belongings, files, locks
from memem.core.errors import Busy, MememError, VaultError
from memem.core.home import VaultPaths, socket_address, using_home
from memem.core.surroundings import ROOT
from memem.model import plugin
from memem.state import consent
from memem.upkeep import link
from memem.vault.opening import vault_history

if TYPE_CHECKING:
    from memem.workspace import Workspace


def files_of_memem(paths: VaultPaths) -> list[Path]:
    """The files in `memem/`: what is markdown, also when it was set aside, and what memem keeps beside it.

    Pictures, canvases and links that somebody put there are theirs, and so are hidden folders of other programs.
    """
    return sorted(path for path in _plain_files(paths) if path.suffix == ".md" or _is_a_record(paths, path))


def remove_from_vault(paths: VaultPaths) -> list[Path]:
    """Remove them for good, and the folders that are empty then; returns what stays in `memem/`."""
    for path in files_of_memem(paths):
        path.unlink()
    if paths.ours.is_symlink():
        return [paths.ours]
    for folder, _, _ in sorted(os.walk(paths.ours), reverse=True):
        belongings.remove_empty(Path(folder))
    return sorted(_everything(paths.ours))


def _is_a_record(paths: VaultPaths, path: Path) -> bool:
    temporary = path.name.startswith(files.TEMPORARY_PREFIX) and path.name.endswith(files.TEMPORARY_SUFFIX)
    return temporary or path == paths.marker or (path.parent == paths.ours and _is_a_list(paths, path.name))


def _is_a_list(paths: VaultPaths, name: str) -> bool:
    """What was forgotten, or said in a review; also in a copy that a sync has made of it."""
    return any(name.startswith(each.stem) and name.endswith(each.suffix) for each in (paths.tombstones, paths.reviewed))


def _plain_files(paths: VaultPaths) -> Iterator[Path]:
    if paths.ours.is_symlink():
        return
    for path in _everything(paths.ours):
        folders = path.relative_to(paths.ours).parts[:-1]
        foreign = any(name.startswith(".") for name in folders if name != paths.forgotten.name)
        if path.is_file() and not path.is_symlink() and not foreign:
            yield path


def _everything(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)


@dataclass(frozen=True, slots=True)
class Part:
    """A file or folder, what it is, and how large."""

    what: str
    path: str
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Leaving:
    """What is removed, or would be; what stays; and what is left for the person to do, as commands in words."""

    parts: tuple[Part, ...]
    kept: tuple[Part, ...]
    to_do: tuple[str, ...] = ()
    done: bool = False


def look(ws: Workspace, *, vault: bool = False) -> Leaving:
    """What there is. Nothing is changed."""
    parts = [Part(each.what, str(each.path), each.bytes) for each in belongings.belongings(ws.home)]
    parts += [Part(what, str(path), belongings.size_of(path)) for what, path in _elsewhere(ws)]
    parts += [Part(f"the plugin of Claude Code, {each.where}", each.key) for each in plugin.installed(ws)]
    kept = _kept(ws)
    (parts if vault else kept).extend(_notes(ws))
    return Leaving(tuple(parts), tuple(kept))


def leave(ws: Workspace, *, vault: bool = False) -> Leaving:
    """Remove it. Raises Busy, before anything is changed, while something of memem still runs."""
    found = look(ws, vault=vault)
    _refuse_while_at_work(ws)
    consent.opt_out(ws)
    with suppress(MememError):  # a damaged state knows of no call
        if ws.home.state_file.exists():
            ws.state.children.end_orphans()
    ws.close()
    to_do = _without_plugin(ws)
    left = _without_notes(ws) if vault else []
    with using_home(ws.home):
        elsewhere = [path for _, path in _elsewhere(ws) if path != ws.prefix]
        for path in elsewhere:
            belongings.remove(path)
            if path.parent.name.startswith("memem-"):
                belongings.remove_empty(path.parent)
        left += belongings.remove_all(ws.home)
        # The last of all: this very program runs in it.
        if _is_ours(ws.prefix):
            belongings.remove(ws.prefix)
    kept = (*found.kept, *(Part("not memem's", str(path)) for path in left))
    return Leaving(found.parts, kept, tuple(to_do), done=True)


def _kept(ws: Workspace) -> list[Part]:
    """What others have made, and what is the person's own."""
    cache = ws.claude_folder / "plugins" / "cache" / plugin.MARKETPLACE
    known = [Path(path) for path in vault_history(ws) if path != str(ws.settings.vault)]
    return [
        *([Part("Claude Code's copy of the plugin, which it removes by itself", str(cache))] if cache.is_dir() else []),
        *([Part("the folder that memem runs from", str(ROOT))] if (ROOT / ".git").exists() else []),
        *(Part("another vault of yours", str(path)) for path in known if path.is_dir()),
    ]


def _notes(ws: Workspace) -> list[Part]:
    paths = files_of_memem(ws.store.paths)
    size = sum(path.stat().st_size for path in paths)
    return [Part(f"what you have remembered, in {len(paths):,} files", str(ws.store.paths.ours), size)] if paths else []


def _elsewhere(ws: Workspace) -> list[tuple[str, Path]]:
    """What is outside of the home: a socket whose path was too long, sessions of our own calls, the environment."""
    found: list[tuple[str, Path]] = []
    if hasattr(os, "getuid"):
        run = ws.home.engine_lock.parent
        socket = socket_address(run, ws.environ.get("XDG_RUNTIME_DIR", ""), os.getuid())
        found += [("locks and sockets", socket)] if socket.parent != run else []
    # Versions of Claude Code that cannot be told to keep no session have kept those of our calls.
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in str(ws.home.call_folder))
    found.append(("sessions of memem's own calls of the model", ws.claude_folder / "projects" / name))
    if link.is_ours(ws):
        found.append(("the link that `memem link` made", ws.link))
    if _is_ours(ws.prefix):
        found.append(("memem's environment", ws.prefix))
    return [(what, path) for what, path in found if os.path.lexists(path)]


def _is_ours(prefix: Path) -> bool:
    """Whether bootstrap.sh has made this environment, and nobody else uses it."""
    return (prefix / ".memem" / "built").is_file()


def _refuse_while_at_work(ws: Workspace) -> None:
    """A server would write into what is removed, and so would a miner."""
    at_work = {
        ws.home.engine_lock: "Claude Code is open with memem in it: close its sessions",
        ws.home.upkeep_lock: "memem is putting things in order in the background: wait a moment",
        ws.home.encode_lock: "memem is computing vectors in the background: wait a moment",
        ws.home.write_lock: "another memem is writing: wait a moment",
        **dict.fromkeys(ws.home.mining_locks.glob("*.lock"), "a session is being mined: wait a moment"),
        **dict.fromkeys(ws.home.letters.glob("*.lock"), "what a hook began is not done: wait a moment"),
    }
    for path, what in at_work.items():
        if not path.exists():
            continue
        try:
            with locks.holding(path, 0):
                pass
        except Busy:
            raise Busy(f"Nothing was removed, as {what}, and try again.") from None


def _without_plugin(ws: Workspace) -> list[str]:
    """Have Claude Code remove what it has installed; returns the commands that did not work."""
    steps: list[tuple[list[str], Path | None]] = [
        (["uninstall", each.key, "--scope", each.scope], each.folder) for each in plugin.installed(ws)
    ]
    steps += [(["marketplace", "remove", name], None) for name in plugin.marketplaces(ws)]
    command = ws.claude_command
    return [
        f"claude plugin {' '.join(arguments)}" + (f" (in {folder})" if folder else "")
        for arguments, folder in steps
        if not (command and plugin.run_plugin_command(command, arguments, ws.environ, folder))
    ]


def _without_notes(ws: Workspace) -> list[Path]:
    """Returns what stays in the vault's folder, as it is somebody else's."""
    try:
        left = remove_from_vault(ws.store.paths)
    except OSError as error:
        raise VaultError(
            f"Cannot remove {error.filename}: {files.reason(error)}. Try again: the rest follows."
        ) from None
    belongings.remove_empty(ws.store.paths.root)
    return left
