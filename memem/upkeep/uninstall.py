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
from memem.search.transcripts import consent
from memem.upkeep import link
from memem.vault.opening import vault_history

if TYPE_CHECKING:
    from memem.workspace import Workspace


@dataclass(frozen=True, slots=True)
class InstalledPart:
    what: str
    path: str
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class UninstallReport:
    parts: tuple[InstalledPart, ...]  # removed, or to be removed
    kept: tuple[InstalledPart, ...]
    to_do: tuple[str, ...] = ()  # commands that the person has to run
    done: bool = False


def plan(ws: Workspace, *, vault: bool = False) -> UninstallReport:
    parts = [InstalledPart(each.what, str(each.path), each.bytes) for each in belongings.list_belongings(ws.home)]
    parts += [InstalledPart(what, str(path), belongings.size_of(path)) for what, path in _parts_outside_home(ws)]
    parts += [InstalledPart(f"the plugin in Claude Code, {each.where}", each.key) for each in plugin.installed(ws)]
    kept = list(_foreign_parts(ws))
    paths = memem_files(ws.store.paths)
    if paths:
        what = f"your memories, in {len(paths):,} file{'s' * (len(paths) > 1)}"
        notes = InstalledPart(what, str(ws.store.paths.ours), sum(path.stat().st_size for path in paths))
        (parts if vault else kept).append(notes)
    return UninstallReport(tuple(parts), tuple(kept))


def uninstall(ws: Workspace, *, vault: bool = False) -> UninstallReport:
    """Remove memem. Raises Busy before anything is changed if a part of memem is running."""
    planned = plan(ws, vault=vault)
    _check_idle(ws)
    consent.opt_out(ws)
    with suppress(MememError):  # a damaged state has no record of calls
        if ws.home.state_file.exists():
            ws.state.children.end_orphans()
    ws.close()
    to_do = tuple(_remove_plugin(ws))
    left = _remove_notes(ws) if vault else []
    with using_home(ws.home):
        for _, path in _parts_outside_home(ws):
            if path == ws.prefix:
                continue
            belongings.remove(path)
            if path.parent.name.startswith("memem-"):
                belongings.remove_empty(path.parent)
        left += belongings.remove_all(ws.home)
        if _is_own_environment(ws.prefix):
            belongings.remove(ws.prefix)  # last, because this program runs in it
    kept = (*planned.kept, *(InstalledPart("not created by memem", str(path)) for path in left))
    return UninstallReport(planned.parts, kept, to_do, done=True)


def memem_files(paths: VaultPaths) -> list[Path]:
    """The Markdown files and records in memem's folder of the vault, without links and other programs' files."""
    candidates = [] if paths.ours.is_symlink() else sorted(_walk(paths.ours))
    return [path for path in candidates if path.is_file() and not path.is_symlink() and _is_ours(paths, path)]


def _is_ours(paths: VaultPaths, path: Path) -> bool:
    """Whether a file is Markdown, the marker, temporary, or a list of tombstones or verdicts (or a sync's copy)."""
    folders = path.relative_to(paths.ours).parts[:-1]
    if any(name.startswith(".") for name in folders if name != paths.forgotten.name):
        return False
    name, lists = path.name, (paths.tombstones, paths.reviewed)
    is_temporary = name.startswith(files.TEMPORARY_PREFIX) and name.endswith(files.TEMPORARY_SUFFIX)
    is_list = any(name.startswith(record.stem) and name.endswith(record.suffix) for record in lists)
    return path.suffix == ".md" or is_temporary or path == paths.marker or (path.parent == paths.ours and is_list)


def _walk(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)


def _foreign_parts(ws: Workspace) -> Iterator[InstalledPart]:
    cache = ws.claude_folder / "plugins" / "cache" / plugin.MARKETPLACE
    if cache.is_dir():
        yield InstalledPart("Claude Code's copy of the plugin, which Claude Code removes", str(cache))
    if (ROOT / ".git").exists():
        yield InstalledPart("the folder that memem runs from", str(ROOT))
    for path in vault_history(ws):
        if path != str(ws.settings.vault) and Path(path).is_dir():
            yield InstalledPart("another vault of yours", path)


def _parts_outside_home(ws: Workspace) -> list[tuple[str, Path]]:
    found: list[tuple[str, Path]] = []
    if hasattr(os, "getuid"):
        run = ws.home.engine_lock.parent
        socket = socket_address(run, ws.environ.get("XDG_RUNTIME_DIR", ""), os.getuid())
        found += [("locks and sockets", socket)] if socket.parent != run else []
    # Some versions of Claude Code keep the sessions of memem's model calls.
    name = "".join(char if char.isascii() and char.isalnum() else "-" for char in str(ws.home.call_folder))
    found.append(("sessions of memem's own model calls", ws.claude_folder / "projects" / name))
    if link.is_ours(ws):
        found.append(("the link made by `memem config link`", ws.link))
    if _is_own_environment(ws.prefix):
        found.append(("memem's environment", ws.prefix))
    return [(what, path) for what, path in found if os.path.lexists(path)]


def _is_own_environment(prefix: Path) -> bool:
    """Whether bootstrap.sh made this environment, for memem alone."""
    return (prefix / ".memem" / "built").is_file()


def _check_idle(ws: Workspace) -> None:
    """Raise Busy if a process would write into what is being removed."""
    reasons = {
        ws.home.engine_lock: "Claude Code is running with memem. Close its sessions",
        ws.home.upkeep_lock: "memem's background upkeep is running. Wait a moment",
        ws.home.encode_lock: "memem is computing vectors in the background. Wait a moment",
        ws.home.write_lock: "another memem process is writing. Wait a moment",
        **dict.fromkeys(ws.home.mining_locks.glob("*.lock"), "a session is being mined. Wait a moment"),
        **dict.fromkeys(ws.home.inbox.glob("*.lock"), "a hook is still working. Wait a moment"),
    }
    for path, reason in reasons.items():
        if not path.exists():
            continue
        try:
            with locks.holding(path, 0):
                pass
        except Busy:
            raise Busy(f"Nothing was removed: {reason}, and try again.") from None


def _remove_plugin(ws: Workspace) -> Iterator[str]:
    steps = [(["uninstall", each.key, "--scope", each.scope], each.folder) for each in plugin.installed(ws)]
    steps += [(["marketplace", "remove", name], None) for name in plugin.marketplaces(ws)]
    command = ws.claude_command
    for arguments, folder in steps:
        if not (command and plugin.run_plugin_command(command, arguments, ws.environ, folder)):
            yield f"claude plugin {' '.join(arguments)}" + (f" (in {folder})" if folder else "")


def _remove_notes(ws: Workspace) -> list[Path]:
    """Remove memem's files and empty folders from the vault; returns what stays in its folder."""
    paths = ws.store.paths
    try:
        for path in memem_files(paths):
            path.unlink()
        is_link = paths.ours.is_symlink()
        for folder, _, _ in [] if is_link else sorted(os.walk(paths.ours), reverse=True):
            belongings.remove_empty(Path(folder))
        left = [paths.ours] if is_link else sorted(_walk(paths.ours))
    except OSError as error:
        reason = files.reason(error)
        raise VaultError(f"Cannot remove {error.filename}: {reason}. Fix that and run this again.") from None
    belongings.remove_empty(paths.root)
    return left
