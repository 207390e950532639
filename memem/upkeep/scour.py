"""Where a purged memory may have left its words in the home, place by place. Called under the write lock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from memem.core import files, sqlite
from memem.core.conversation import NOOP
from memem.core.errors import Busy, HomeError, IndexDamaged, IndexUnusable, ModelError
from memem.core.files import from_json
from memem.core.sqlite import Purpose
from memem.search import vanished
from memem.search.database import INDEX
from memem.search.encoders import encode
from memem.search.passages import passage_key, split_passages
from memem.search.transcripts.turns import SESSIONS, TurnIndex
from memem.state import note_records
from memem.state.journal import DEAD
from memem.state.notices import NoticeBoard
from memem.state.tables import CONTEXTS, STATE
from memem.upkeep.traces import Traces

if TYPE_CHECKING:
    from memem.workspace import Workspace


_TEMPORARY = f"{files.TEMPORARY_PREFIX}*{files.TEMPORARY_SUFFIX}"
_WORDS = (("sessions", "detail"), ("suspicions", "why"), ("breaker", "reason"), ("journal", "reason"))
_UNFINISHED = (("journal", "chunk"), ("journal", "answer"))
_REASONS = (("receipts", "prompt"), ("receipts", "reason"), ("receipts", "degraded"))
_ITEMS = (("receipts", "items"),)
"""Where words of memories stand in tables of ours. Paths, ids, digests and times are never emptied."""
_GONE = {"op": NOOP, "title": "", "content": "", "quote": "", "keys": [], "paths": []}


def journal(ws: Workspace, traces: Traces) -> bool:
    """What mining has not finished: a dead letter goes, an answer loses what is about it."""
    if not ws.home.state_file.exists():
        return False
    changed = False
    for record in ws.state.journal.records():
        turns = [_without(turn, traces) for turn in record.chunk["turns"]]
        answer = [_rest(each, traces) for each in record.answer]
        if turns == record.chunk["turns"] and answer == record.answer:
            continue
        changed = True
        if record.state == DEAD and any(_is_said(turn, traces) for turn in record.chunk["turns"]):
            ws.state.journal.finish(record.number)
        else:
            ws.state.journal.rewrite(record.number, {**record.chunk, "turns": turns}, answer)
    ws.state.suspicions.forget(traces.id)
    sqlite.blank(ws.home.state_file, STATE, traces.forms, _WORDS, _UNFINISHED)
    return changed


def _without(turn: dict[str, Any], traces: Traces) -> dict[str, Any]:
    """A turn without the words; all of it goes where they cannot be told from the rest."""
    text = str(turn["text"])
    for words in sorted(traces.texts, key=len, reverse=True):
        text = text.replace(words, "")
    told = traces.are_said_in(text) or (text == turn["text"] and _is_said(turn, traces))
    return {**turn, "text": "" if told else text}


def _is_said(turn: dict[str, Any], traces: Traces) -> bool:
    return turn["uuid"] in traces.turns or traces.are_said_in(str(turn["text"]))


def _rest(operation: dict[str, Any], traces: Traces) -> dict[str, Any]:
    """What is left of what a model wants done: nothing if it is about the memory, else all but a title like its own."""
    if _is_about(operation, traces):
        return {**operation, **_GONE}
    return {**operation, "title": ""} if str(operation.get("title", "")).strip() in traces.titles else operation


def _is_about(operation: dict[str, Any], traces: Traces) -> bool:
    return any(traces.are_said_in(str(operation.get(name, ""))) for name in ("content", "quote", "title"))


def contexts(ws: Workspace, traces: Traces) -> bool:
    """Receipts, usefulness, and what sessions were shown."""
    if not ws.home.contexts_file.exists():
        return False
    ws.contexts.forget_memory(traces.id)
    sqlite.blank(ws.home.contexts_file, CONTEXTS, traces.forms, _REASONS, _ITEMS)
    return True


def undo_store(ws: Workspace, traces: Traces) -> bool:
    """Every state that any note of it had, and those of others that hold its statement, its quote or a link to it."""
    digests = {digest for event in ws.events.read() if event.id == traces.id for digest in (event.before, event.after)}
    found = False
    for path in _inside(ws.home.undo):
        if path.name in digests or traces.are_told_by(_bytes(path)):
            files.remove(path, fsync=ws.settings.fsync)
            found = True
    return found


def events(ws: Workspace, traces: Traces) -> bool:
    """The log keeps that something was done, and says no longer to what, or why."""
    path = ws.home.events_file
    if not path.exists():
        return False
    before = path.read_bytes().splitlines()
    after = [line for each in before if (line := _redacted(each, traces))]
    if after != before:
        files.write_atomic(path, b"".join(line + b"\n" for line in after), fsync=ws.settings.fsync, mode=0o600)
    return after != before


def _redacted(line: bytes, traces: Traces) -> bytes:
    try:
        told = from_json(line)
        own = told["id"] == traces.id
        if own:
            told |= {"path": str(PurePosixPath(told["path"]).with_name(traces.placeholder)), "why": ""}
    except (ValueError, TypeError, KeyError):
        return b"" if traces.are_in(line) else line
    changed = json.dumps(told, ensure_ascii=False).encode()
    if traces.are_in(changed):
        changed = json.dumps({**told, "why": ""}, ensure_ascii=False).encode()
    return changed if own or traces.are_in(line) else line


def turns(ws: Workspace, traces: Traces) -> frozenset[str]:
    """What was said: the turns it came from, and others that hold its words. Returns which those are."""
    path = ws.home.turns_file
    if not path.exists():
        return traces.turns
    try:
        with closing(TurnIndex(path)) as index:
            sessions = dict.fromkeys(memory.source_session for memory in traces.memories)
            found = {
                uuid: text
                for session in sessions
                for uuid, text in index.list_containing(traces.texts, session).items()
            }
            said = traces.turns | {uuid for uuid, text in found.items() if traces.are_said_in(text)}
            index.remove(said)
    except IndexDamaged:
        sqlite.drop(path)  # nobody sets aside what holds those words; sessions are read again, without those turns
        return traces.turns
    except IndexUnusable:
        return traces.turns
    return said


def vectors(ws: Workspace, traces: Traces) -> list[Path]:
    """What it meant, as numbers. Returns where that could not be taken out now."""
    folders = [folder for folder in _inside(ws.home.vectors) if (folder / "vectors.db").exists()]
    if not folders:
        return []
    ws.load_numpy()
    from memem.search.vectors import describe_folder

    wanted = [passage_key(text) for memory in traces.memories for text in split_passages(memory)]
    left = []
    for folder in folders:
        try:
            described = describe_folder(folder)
            held = encode.passages_in_use(ws)
            with encode.encode_lock(ws, ws.settings.lock_seconds):
                if described:
                    with closing(described.open(fsync=ws.settings.fsync)) as store:
                        if held is not None:
                            store.compact(held, even_few=True)
                        with store.reading() as view:
                            if view.slots([each for each in wanted if each not in (held or ())]):
                                left.append(folder)
        except (Busy, HomeError, IndexUnusable, ModelError):
            left.append(folder)
    return left


def small_files(ws: Workspace, traces: Traces) -> None:
    """What else is written down of notes, and logs."""
    vanished.drop_missing(ws, traces.id)
    _stale(ws, traces)
    damaged = [*ws.home.state.glob("*.damaged"), *ws.home.cache.rglob("*.damaged")]
    leftovers = [*ws.home.root.rglob(_TEMPORARY), *ws.store.leftovers()]
    leftovers += ws.home.letters.glob("*.json")
    NoticeBoard(ws.home.notices).drop_news()
    for path in (*damaged, *leftovers):
        if _holds(path, traces):
            files.remove_quietly(path)
    logs = [*ws.home.root.glob("*.log*"), *ws.home.write_lock.parent.glob("*.log*")]
    for path in filter(Path.is_file, logs):
        lines = path.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if not traces.are_in(line)]
        if kept != lines:
            files.write_atomic(path, b"".join(kept), fsync=False, mode=files.PRIVATE_FILE)


def _stale(ws: Workspace, traces: Traces) -> None:
    vault = ws.store.vault_id()
    record = note_records.read_stale(ws.home.stale_file, vault)
    if traces.id in record.notes:
        notes = {identity: each for identity, each in record.notes.items() if identity != traces.id}
        changed = note_records.StaleRecord(notes, record.places, record.withheld)
        note_records.write_stale(ws.home.stale_file, vault, changed, fsync=ws.settings.fsync)


def scrub(ws: Workspace) -> list[Path]:
    """Have the databases let go of what is deleted in them. Returns those that others kept from it."""
    ws.close()
    busy = []
    for path, purpose in _databases(ws):
        try:
            done = not path.exists() or sqlite.scrub(path, purpose)
        except (Busy, HomeError, IndexUnusable):
            done = False
        if not done:
            busy.append(path)
    return busy


def _databases(ws: Workspace) -> Iterator[tuple[Path, Purpose]]:
    yield ws.home.state_file, STATE
    yield ws.home.contexts_file, CONTEXTS
    yield ws.home.turns_file, SESSIONS
    yield ws.index_file, INDEX


def left_in(folder: Path, traces: Traces, pattern: str = "*", *, but: Path | None = None) -> list[Path]:
    """The files under a folder that still hold its words."""
    paths = (path for path in sorted(folder.rglob(pattern)) if but not in path.parents)
    return [path for path in paths if path.is_file() and _holds(path, traces)]


def _holds(path: Path, traces: Traces) -> bool:
    return traces.are_in(_bytes(path))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # gone meanwhile, or not ours to read


def _inside(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
