"""Forget for good: remove the note and every word of it from all files of memem. This cannot be undone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from memem.core import files
from memem.core.dates import iso
from memem.core.errors import Ambiguous, InputError, NoteError, NotFound
from memem.core.memory import Entry, Memory
from memem.inject import statusline
from memem.notes import forget
from memem.pages import conflicts
from memem.pages import refresh as pages_refresh
from memem.search.refresh import ensure_filled, index_note, refresh
from memem.state.events import Event
from memem.transcript.session import find_sessions
from memem.upkeep import scour
from memem.upkeep.scour import Traces
from memem.vault import note as notes
from memem.vault.note import Note
from memem.vault.opening import require_vault
from memem.vault.store import Change
from memem.vault.write_lock import record_change, writing

if TYPE_CHECKING:
    from memem.workspace import Workspace

PURGE = "purge"
MIN_ID_CHARS = 4
SYNC_SERVICES = {
    **{"dropbox": "Dropbox", "onedrive": "OneDrive", "mobile documents": "iCloud", "icloud": "iCloud"},
    **{"google drive": "Google Drive", "googledrive": "Google Drive", "nextcloud": "Nextcloud"},
    **{"syncthing": "Syncthing"},
}
_LINK_LISTS, _LINKS = ("related", "contradicts"), ("supersedes", "superseded_by")


@dataclass(frozen=True, slots=True)
class Purged:
    id: str
    title: str
    removed: tuple[str, ...]
    elsewhere: tuple[str, ...]  # where its words may remain


def find(ws: Workspace, identity: str) -> Memory:
    """Return the memory that a purge would remove. Raises NotFound or Ambiguous."""
    require_vault(ws)
    refresh(ws)
    return _find_notes(ws, identity)[0].memory


def purge(ws: Workspace, identity: str) -> Purged:
    refresh(ws)
    with ws.events.batch(PURGE):
        with writing(ws):
            ensure_filled(ws, require_vault(ws))
            found = _find_notes(ws, identity)
            traces = _collect_traces(ws, found)
            turns, transcripts = scour.clean_turns(ws, traces)
            removed, left = _clean(ws, found, traces, turns)
        if ws.store.paths.conflicts.exists():
            conflicts.write_page(ws)
        pages_refresh.write_pages_quietly(ws, only_if_there=True)
        statusline.update(ws)  # it may show the title
        with writing(ws):
            busy = scour.scrub_databases(ws)
            left += [f"{path} is in use, and may contain some of its words until the next purge." for path in busy]
            # The note itself last, so that an interrupted purge can be repeated.
            for note in list(_notes_set_aside(ws)):
                if note.memory.id == traces.id:
                    files.remove(ws.store.absolute(note.path), fsync=ws.settings.fsync)
    remaining = scour.find_traces(ws.home.root, traces, excluded=ws.home.models)
    left += [f"{path} still contains some of its words." for path in remaining]
    left += _list_external_traces(ws, traces, transcripts)
    return Purged(traces.id, found[0].memory.title, tuple(removed), tuple(dict.fromkeys(left)))


def _clean(ws: Workspace, found: list[Note], traces: Traces, turns: frozenset[str]) -> tuple[list[str], list[str]]:
    """Remove everything but the note set aside; returns what was cleaned, and sentences about what is left."""
    for memory in traces.memories:
        forget.write_tombstone(ws, memory, purged=True, also_in=turns - traces.turns)
    apart = (ws.store.paths.forgotten.name, ws.store.paths.review.name)
    for note in found:
        # First, so that a note without an id is recognised where it is set aside.
        path = str(PurePosixPath(note.path).with_name(traces.placeholder))
        record_change(ws, PURGE, traces.id, Change(path, note.document.text.encode(), None), "")
        if PurePosixPath(note.path).parts[0] not in apart and ws.store.stamp(note.path) is not None:
            ws.store.set_aside(note)
            ws.index.update([], gone=[note.path])
    untouched = list(_remove_links(ws, traces))
    cleaned = {
        "the note": True,
        "the mining journal": scour.clean_journal(ws, traces),
        "receipts": scour.clean_contexts(ws, traces),
        "the undo store": scour.clean_undo_store(ws, traces),
        "the log": scour.clean_events(ws, traces),
        "the transcript index": bool(turns),
    }
    scour.clean_small_files(ws, traces)
    left = [f"memem/{path} is your own note and links to it." for path in untouched]
    left += [f"{folder} may contain a vector of it, but no words." for folder in scour.clean_vectors(ws, traces)]
    return [place for place, changed in cleaned.items() if changed], left


def _find_notes(ws: Workspace, identity: str) -> list[Note]:
    wanted = identity.strip().lower()
    if len(wanted) < MIN_ID_CHARS:
        raise InputError(f"{identity!r} is too short for a purge: give at least {MIN_ID_CHARS} characters of the id.")
    found = [ws.store.read(row.path) for row in ws.index.by_id(wanted) if row.memory]
    found += [note for note in _notes_set_aside(ws) if note.memory.id.lower().startswith(wanted)]
    if not found:  # the newest versions in the undo store
        newest: dict[str, Note] = {}
        for event in ws.events.read_backwards():
            is_wanted = event.id.lower().startswith(wanted) and event.id not in newest
            if is_wanted and (versions := _read_versions(ws, event)):
                newest[event.id] = versions[-1]
        found = list(newest.values())
    ids = {note.memory.id for note in found}
    ids = ids & {wanted} or ids
    if not ids:
        raise NotFound(f"No memory has the id {identity!r}; forgotten notes and the undo store were searched too.")
    if len(ids) > 1:
        raise Ambiguous(f"{len(ids)} memories have an id that starts with {identity!r}. Use more of the id.")
    return [note for note in found if note.memory.id in ids]


def _notes_set_aside(ws: Workspace) -> Iterator[Note]:
    """Notes in the forgotten and review folders; one without an id gets it from the log, by its bytes."""
    ids = {event.before: event.id for event in ws.events.read() if event.before and event.id}
    for folder in (ws.store.paths.forgotten, ws.store.paths.review):
        for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
            with suppress(NoteError):
                note = ws.store.read(f"{folder.name}/{path.name}")
                identity = note.memory.id if note.has_id else ids.get(note.digest, note.memory.id)
                yield replace(note, memory=replace(note.memory, id=identity))


def _collect_traces(ws: Workspace, found: list[Note]) -> Traces:
    events = [event for event in ws.events.read() if event.id == found[0].memory.id]
    versions = [*found, *(version for event in events for version in _read_versions(ws, event))]
    paths = dict.fromkeys((*(note.path for note in found), *(event.path for event in events)))
    memories = dict.fromkeys(version.memory for version in versions)
    return Traces(tuple(memories), tuple(path for path in paths if PurePosixPath(path).name))


def _read_versions(ws: Workspace, event: Event) -> list[Note]:
    """The note before and after an event, as far as the undo store has them."""
    found = []
    for digest in filter(None, (event.before, event.after)):
        with suppress(NoteError):
            if data := ws.events.read_undo(digest):
                found.append(notes.parse(event.path, data, event.id))
    return found


def _remove_links(ws: Workspace, traces: Traces) -> Iterator[str]:
    """Remove links to it from notes that memem wrote; yields the paths of a person's notes that link to it."""
    targets = [Entry(memory, path) for memory in traces.memories[:1] for path in traces.paths]

    def others(links: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(link for link in links if not any(entry.is_named_by(link) for entry in targets))

    def without_links(memory: Memory) -> dict[str, Any]:
        lists = {name: others(getattr(memory, name)) for name in _LINK_LISTS}
        return lists | {name: "".join(others((getattr(memory, name),))) for name in _LINKS}

    for row in ws.index.rows("instr(memory, ?)", (traces.memories[0].id8,)):
        memory = row.memory
        if memory is None or memory == replace(memory, **without_links(memory)):
            continue
        note = ws.store.read(row.path)
        if note.memory.author != "model" or note.touched_by_hand:
            yield row.path
            continue
        changed = replace(note.memory, **without_links(note.memory), updated=iso(ws.clock()))
        # Without an undo copy: it would contain the link, and so the title.
        rewritten, change = ws.store.rewrite(note, changed)
        record_change(ws, "edit", memory.id, change, "a link to what was purged")
        index_note(ws, rewritten)


def _list_external_traces(ws: Workspace, traces: Traces, transcripts: set[str]) -> Iterator[str]:
    sessions = {memory.source_session for memory in traces.memories if memory.source_session}
    for path in find_sessions(ws.session_folders) if sessions or transcripts else ():
        if path.stem in sessions:
            yield f"{path} is Claude Code's own transcript of the session it came from."
        elif str(path) in transcripts:
            yield f"{path} is Claude Code's own transcript of a session that repeats it."
    root = ws.store.paths.root
    paths = [*scour.find_traces(ws.store.paths.ours, traces), *scour.find_traces(root, traces, "*.md")]
    for path in dict.fromkeys(paths):
        yield f"{path.relative_to(root).as_posix()} in the vault contains the same words, or a link to it."
    for folder in (ws.store.paths.trash, root / ".stversions"):
        if any(traces.is_name(path.name) for path in folder.rglob("*.md")):
            yield f"{folder} contains a file with its name."
    root = root.resolve()
    folders = (root, *root.parents)
    if repository := next((folder for folder in folders if (folder / ".git").exists()), None):
        yield f"{repository} is a git repository: committed versions remain in its history."
    services = {name for part in root.parts for sign, name in SYNC_SERVICES.items() if sign in part.lower()}
    services |= {"Syncthing" for folder in folders if files.stamp(folder / ".stfolder")}
    services |= {"Obsidian Sync"} if has_obsidian_sync(root) else set()
    for name in sorted(services):
        yield f"{name} seems to sync the vault, and may keep earlier versions and deleted files."
    yield "Backups, disk snapshots, other synced devices and exports may still contain it; memem cannot check them."


def has_obsidian_sync(root: Path) -> bool:
    try:
        plugins = files.from_json((root / ".obsidian" / "core-plugins.json").read_bytes())
    except (OSError, ValueError):
        return False
    return bool(plugins.get("sync")) if isinstance(plugins, dict) else isinstance(plugins, list) and "sync" in plugins
