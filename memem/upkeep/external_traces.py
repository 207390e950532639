"""Where what is purged may still be: where memem cannot reach, or must not."""

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


SYNCED = {
    "dropbox": "Dropbox",
    "onedrive": "OneDrive",
    "mobile documents": "iCloud",
    "icloud": "iCloud",
    "google drive": "Google Drive",
    "googledrive": "Google Drive",
    "nextcloud": "Nextcloud",
    "syncthing": "Syncthing",
}
ALWAYS = "Backups and snapshots of the disk, other devices of a sync, and exports may hold it; memem cannot tell."


def external_traces(ws: Workspace, traces: Traces) -> Iterator[str]:
    """Each in a sentence."""
    yield from _transcripts(ws, traces)
    yield from _around(ws, traces)
    yield from _versioned(ws)
    yield ALWAYS


def _transcripts(ws: Workspace, traces: Traces) -> Iterator[str]:
    sessions = {memory.source_session for memory in traces.memories if memory.source_session}
    for path in find_sessions(ws.session_folders) if sessions else ():
        if path.stem in sessions:
            yield f"{path} is Claude Code's own record of the session it came from."


def _around(ws: Workspace, traces: Traces) -> Iterator[str]:
    """In the vault: Obsidian's trash, and whatever else holds its words."""
    root = ws.store.paths.root
    found = [*scour.left_in(ws.store.paths.ours, traces), *scour.left_in(root, traces, "*.md")]
    for path in dict.fromkeys(found):
        yield f"{path.relative_to(root).as_posix()} in the vault holds the same words, or a link to it."
    for folder in (ws.store.paths.trash, root / ".stversions"):
        if any(traces.is_name(path.name) for path in folder.rglob("*.md")):
            yield f"{folder} has a file of its name."


def _versioned(ws: Workspace) -> Iterator[str]:
    root = ws.store.paths.root.resolve()
    above = (root, *root.parents)
    repository = next((folder for folder in above if (folder / ".git").exists()), None)
    if repository:
        yield f"{repository} is a git repository: what was committed stays in its history."
    services = {name for part in root.parts for sign, name in SYNCED.items() if sign in part.lower()}
    services |= {"Syncthing" for folder in above if files.stamp(folder / ".stfolder")}
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
