"""List places where words of a purged memory may remain, because memem cannot or must not reach them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.files import from_json
from memem.transcript.session import find_sessions
from memem.upkeep import scour
from memem.upkeep.traces import Traces

if TYPE_CHECKING:
    from memem.workspace import Workspace

SYNC_SERVICES = {
    **{"dropbox": "Dropbox", "onedrive": "OneDrive", "mobile documents": "iCloud", "icloud": "iCloud"},
    **{"google drive": "Google Drive", "googledrive": "Google Drive", "nextcloud": "Nextcloud"},
    **{"syncthing": "Syncthing"},
}
ALWAYS = "Backups, disk snapshots, other synced devices and exports may still contain it; memem cannot check them."


def external_traces(ws: Workspace, traces: Traces) -> Iterator[str]:
    """Yield a sentence for each place."""
    sessions = {memory.source_session for memory in traces.memories if memory.source_session}
    for path in find_sessions(ws.session_folders) if sessions else ():
        if path.stem in sessions:
            yield f"{path} is Claude Code's own transcript of the session it came from."
    root = ws.store.paths.root
    paths = [*scour.find_traces(ws.store.paths.ours, traces), *scour.find_traces(root, traces, "*.md")]
    for path in dict.fromkeys(paths):
        yield f"{path.relative_to(root).as_posix()} in the vault contains the same words, or a link to it."
    for folder in (ws.store.paths.trash, root / ".stversions"):
        if any(traces.is_name(path.name) for path in folder.rglob("*.md")):
            yield f"{folder} contains a file with its name."
    yield from _versions(root.resolve())
    yield ALWAYS


def _versions(root: Path) -> Iterator[str]:
    folders = (root, *root.parents)
    repository = next((folder for folder in folders if (folder / ".git").exists()), None)
    if repository:
        yield f"{repository} is a git repository: committed versions remain in its history."
    services = {name for part in root.parts for sign, name in SYNC_SERVICES.items() if sign in part.lower()}
    services |= {"Syncthing" for folder in folders if files.stamp(folder / ".stfolder")}
    services |= {"Obsidian Sync"} if _has_obsidian_sync(root) else set()
    for name in sorted(services):
        yield f"{name} seems to sync the vault, and may keep earlier versions and deleted files."


def _has_obsidian_sync(root: Path) -> bool:
    try:
        plugins = from_json((root / ".obsidian" / "core-plugins.json").read_bytes())
    except (OSError, ValueError):
        return False
    if isinstance(plugins, dict):
        return bool(plugins.get("sync"))
    return isinstance(plugins, list) and "sync" in plugins
