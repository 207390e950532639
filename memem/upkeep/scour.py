"""Recognise the words of a purged memory, as plain text or JSON, and remove them from the home, place by place.

Called under the write lock.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from memem.core import files, sqlite
from memem.core.conversation import NOOP
from memem.core.errors import Busy, HomeError, IndexDamaged, IndexUnusable, ModelError
from memem.core.evidence import strip_speakers
from memem.core.files import from_json
from memem.core.memory import Memory
from memem.safety.gate import cleanse
from memem.search import vanished
from memem.search.database import INDEX
from memem.search.encoders import model
from memem.search.passages import passage_key, split_passages
from memem.search.transcripts.turns import SESSIONS, TurnIndex
from memem.state import note_records
from memem.state.journal import DEAD
from memem.state.notices import NoticeBoard
from memem.state.tables import CONTEXTS, STATE
from memem.vault.forgotten import fold

if TYPE_CHECKING:
    from memem.workspace import Workspace

MIN_STATEMENT_CHARS = 8  # shorter texts may mean many other things
MIN_PART_CHARS = 20  # of a title, a quote, a line of either, or a file's name
MIN_WORD_CHARS = 4  # of a word that says something
MIN_ECHO_WORDS, ECHO_SHARE = 3, 0.6  # a turn with so many of its words, and this share of them, repeats it
RARE_LITERAL = 2, 6  # digits and characters of a code that means the same in another session, unlike `python3`
_SENTENCE_END = re.compile(r"[\n。！？]|[.!?;]\s")
_TEMPORARY = f"{files.TEMPORARY_PREFIX}*{files.TEMPORARY_SUFFIX}"
# Columns with words of memories: plain texts, then JSON. Paths, ids, digests and times are never emptied.
_STATE_TEXTS = (("sessions", "detail"), ("suspicions", "why"), ("breaker", "reason"), ("journal", "reason"))
_STATE_JSON = (("journal", "chunk"), ("journal", "answer"))
_RECEIPT_TEXTS = (("receipts", "prompt"), ("receipts", "reason"), ("receipts", "degraded"))
_RECEIPT_JSON = (("receipts", "items"),)
_NO_OPERATION = {"op": NOOP, "title": "", "content": "", "quote": "", "keys": [], "paths": []}


class Traces:
    """A memory to be purged, with the memories and paths of its notes, their copies and earlier versions."""

    def __init__(self, memories: tuple[Memory, ...], paths: tuple[str, ...]) -> None:
        self.memories, self.paths = memories, paths
        self.id, id8 = memories[0].id, memories[0].id8
        self.placeholder = f"purged-{id8}.md"  # replaces the name of its file, which contains the title
        self.turns = frozenset(memory.source_turn for memory in memories if memory.source_turn)
        self._stems = tuple(dict.fromkeys(PurePosixPath(path).stem for path in paths))
        self._names = [stem for stem in self._stems if stem.endswith(f"-{id8}") or len(stem) >= MIN_PART_CHARS]
        readings = [reading for memory in memories for reading in (memory, cleanse(memory).memory)]
        self.titles = frozenset(title for memory in readings if (title := memory.title.strip()))
        own = list(self._names)  # texts that belong to the memory alone, and links to it
        for memory in readings:
            body = memory.body.strip()
            own += [body] if len(body) >= MIN_STATEMENT_CHARS else []
            own += [*_parts(strip_speakers(memory.evidence).strip()), *_parts(body)]
        self.texts = tuple(dict.fromkeys((*own, *(title for title in self.titles if len(title) >= MIN_PART_CHARS))))
        self.forms = _forms(self.texts)
        self._bytes, self._own_bytes = (
            [form.encode("utf-8", "surrogatepass") for form in forms] for forms in (self.forms, _forms(own))
        )
        stated = [folded for memory in memories if len(folded := fold(memory.body)) >= MIN_STATEMENT_CHARS]
        quoted = [fold(part) for memory in memories for part in _parts(strip_speakers(memory.evidence))]
        self._folded = tuple(filter(None, (*stated, *quoted)))
        self._words = [words for text in self._folded if (words := _list_words(text))]
        # An echo has one of the longest words, or a literal.
        longest = {word for words in self._words for word in sorted(words, key=len)[-MIN_ECHO_WORDS:] if len(words) > 1}
        literals = {word for words in self._words for word in words if any(map(str.isdigit, word))}
        self.hints = tuple(sorted({form for word in longest | literals for form in (word, word.capitalize())}))

    def are_in(self, data: bytes) -> bool:
        return any(form in data for form in self._bytes)

    def are_quoted_in(self, data: bytes) -> bool:
        """Whether another note contains its statement, its quote or a link to it; the title may be that note's own."""
        return any(form in data for form in self._own_bytes)

    def is_name(self, name: str) -> bool:
        """Whether a file has the name of one of its own; a trash or a sync may have extended it."""
        return any(own in name for own in self._names) or PurePosixPath(name).stem.split("~")[0] in self._stems

    def are_stated_in(self, text: str) -> bool:
        """Whether a text contains its statement or its quote, apart from case, spacing and marks."""
        folded = fold(text)
        return any(own in folded for own in self._folded)

    def are_echoed_in(self, text: str, *, same_session: bool) -> bool:
        """Whether a sentence of a turn has most of its words, or a literal of it and another word."""
        least_digits, least_chars = (1, MIN_WORD_CHARS) if same_session else RARE_LITERAL
        for sentence in _SENTENCE_END.split(text):
            said = _list_words(fold(sentence))
            for words in self._words:
                repeated = words & said
                if len(repeated) >= max(MIN_ECHO_WORDS, ECHO_SHARE * len(words)):
                    return True
                digits = (sum(map(str.isdigit, word)) for word in repeated if len(word) >= least_chars)
                if len(repeated) > 1 and any(count >= least_digits for count in digits):
                    return True
        return False


def _list_words(folded: str) -> set[str]:
    return {word for word in re.findall(r"\w+", folded) if len(word) >= MIN_WORD_CHARS}


def _parts(text: str) -> list[str]:
    """A text and its lines that are long enough, without headings: many notes share them."""
    parts = [text, *(line for line in text.splitlines() if not line.lstrip().startswith("#"))]
    return [part.strip() for part in parts if len(part.strip()) >= MIN_PART_CHARS]


def _forms(texts: Collection[str]) -> tuple[str, ...]:
    escaped = [json.dumps(text, ensure_ascii=ascii)[1:-1] for text in texts for ascii in (True, False)]
    return tuple(dict.fromkeys((*texts, *escaped)))


def clean_journal(ws: Workspace, traces: Traces) -> bool:
    """Clean unfinished mining: dead letters about the memory are removed, answers lose what is about it."""
    if not ws.home.state_file.exists():
        return False
    changed = False
    for record in ws.state.journal.records():
        old_turns = record.chunk["turns"]
        turns = [_clean_turn(turn, traces) for turn in old_turns]
        answer = [_clean_operation(operation, traces) for operation in record.answer]
        if turns == old_turns and answer == record.answer:
            continue
        changed = True
        if record.state == DEAD and any(_is_stated(turn, traces) for turn in old_turns):
            ws.state.journal.finish(record.number)
        else:
            ws.state.journal.rewrite(record.number, {**record.chunk, "turns": turns}, answer)
    ws.state.suspicions.forget(traces.id)
    ws.state.statements.forget(traces.id)
    sqlite.erase_texts(ws.home.state_file, STATE, traces.forms, _STATE_TEXTS, _STATE_JSON)
    return changed


def _is_stated(turn: dict[str, Any], traces: Traces) -> bool:
    return turn["uuid"] in traces.turns or traces.are_stated_in(str(turn["text"]))


def _clean_turn(turn: dict[str, Any], traces: Traces) -> dict[str, Any]:
    """Remove the words from a turn, or its whole text where they cannot be told from the rest."""
    text = str(turn["text"])
    for words in sorted(traces.texts, key=len, reverse=True):
        text = text.replace(words, "")
    remains = traces.are_stated_in(text) or (text == turn["text"] and _is_stated(turn, traces))
    return {**turn, "text": "" if remains else text}


def _clean_operation(operation: dict[str, Any], traces: Traces) -> dict[str, Any]:
    if any(traces.are_stated_in(str(operation.get(name, ""))) for name in ("content", "quote", "title")):
        return {**operation, **_NO_OPERATION}
    return {**operation, "title": ""} if str(operation.get("title", "")).strip() in traces.titles else operation


def clean_contexts(ws: Workspace, traces: Traces) -> bool:
    """Clean receipts, usefulness and the records of shown memories."""
    if not ws.home.contexts_file.exists():
        return False
    ws.contexts.forget_memory(traces.id)
    sqlite.erase_texts(ws.home.contexts_file, CONTEXTS, traces.forms, _RECEIPT_TEXTS, _RECEIPT_JSON)
    return True


def clean_undo_store(ws: Workspace, traces: Traces) -> bool:
    """Remove every version of its notes, and versions of other notes that quote it or link to it."""
    digests = {digest for event in ws.events.read() if event.id == traces.id for digest in (event.before, event.after)}
    paths = [path for path in _list(ws.home.undo) if path.name in digests or traces.are_quoted_in(_read(path))]
    for path in paths:
        files.remove(path, fsync=ws.settings.fsync)
    return bool(paths)


def clean_events(ws: Workspace, traces: Traces) -> bool:
    """Keep in the log that something was done, but not to what or why."""
    path = ws.home.events_file
    if not path.exists():
        return False
    before = path.read_bytes().splitlines()
    after = [line for line in (_clean_event(line, traces) for line in before) if line]
    if after != before:
        files.write_atomic(path, b"".join(line + b"\n" for line in after), fsync=ws.settings.fsync, mode=0o600)
    return after != before


def _clean_event(line: bytes, traces: Traces) -> bytes:
    try:
        event = from_json(line)
        is_own = event["id"] == traces.id
        if is_own:
            event |= {"path": str(PurePosixPath(event["path"]).with_name(traces.placeholder)), "why": ""}
    except (ValueError, TypeError, KeyError):
        return b"" if traces.are_in(line) else line
    cleaned = json.dumps(event, ensure_ascii=False).encode()
    if traces.are_in(cleaned):
        cleaned = json.dumps({**event, "why": ""}, ensure_ascii=False).encode()
    return cleaned if is_own or traces.are_in(line) else line


def clean_turns(ws: Workspace, traces: Traces) -> tuple[frozenset[str], set[str]]:
    """Remove turns with its words, whoever spoke, from the transcript index; returns their ids and sessions' files."""
    path = ws.home.turns_file
    if not path.exists():
        return traces.turns, set()
    try:
        with closing(TurnIndex(path)) as index:
            sessions = {memory.source_session for memory in traces.memories if memory.source_session}
            own = {uuid: text for session in sessions for uuid, text in index.list_said_in(session).items()}
            found = {**index.list_containing((*traces.texts, *traces.hints)), **own}
            turns = traces.turns | {
                uuid
                for uuid, text in found.items()
                if traces.are_stated_in(text) or traces.are_echoed_in(text, same_session=uuid in own)
            }
            transcripts = index.list_files(turns)
            index.remove(turns)
            return turns, transcripts
    except IndexDamaged:
        sqlite.drop(path)  # a damaged copy would keep the words; sessions are read again without these turns
    except IndexUnusable:
        pass  # doctor reports it
    return traces.turns, set()


def clean_vectors(ws: Workspace, traces: Traces) -> list[Path]:
    """Remove its vectors; returns the folders that may still contain one."""
    folders = [folder for folder in _list(ws.home.vectors) if (folder / "vectors.db").exists()]
    if not folders:
        return []
    ws.load_numpy()
    from memem.search.vectors import describe_folder

    purged = [passage_key(text) for memory in traces.memories for text in split_passages(memory)]
    left = []
    for folder in folders:
        try:
            described = describe_folder(folder)
            if not described:
                continue
            in_use = model.passages_in_use(ws)
            fsync = ws.settings.fsync
            with model.encode_lock(ws, ws.settings.lock_seconds), closing(described.open(fsync=fsync)) as store:
                if in_use is not None:
                    store.compact(in_use, even_few=True)
                with store.reading() as view:
                    if view.slots([key for key in purged if key not in (in_use or ())]):
                        left.append(folder)
        except (Busy, HomeError, IndexUnusable, ModelError):
            left.append(folder)
    return left


def clean_small_files(ws: Workspace, traces: Traces) -> None:
    """Clean records of vanished and stale notes, notices, temporary and damaged files, and logs."""
    vanished.drop_missing(ws, traces.id)
    vault = ws.store.vault_id()
    stale = note_records.read_stale(ws.home.stale_file, vault)
    if traces.id in stale.notes:
        others = {identity: note for identity, note in stale.notes.items() if identity != traces.id}
        note_records.write_stale(ws.home.stale_file, vault, replace(stale, notes=others), fsync=ws.settings.fsync)
    NoticeBoard(ws.home.notices).drop_news()
    candidates = [*ws.home.state.glob("*.damaged"), *ws.home.cache.rglob("*.damaged"), *ws.store.leftovers()]
    candidates += [*ws.home.root.rglob(_TEMPORARY), *ws.home.inbox.glob("*.json")]
    for path in candidates:
        if traces.are_in(_read(path)):
            files.remove_quietly(path)
    logs = [*ws.home.root.glob("*.log*"), *ws.home.write_lock.parent.glob("*.log*")]
    for path in filter(Path.is_file, logs):
        lines = path.read_bytes().splitlines(keepends=True)
        clean = [line for line in lines if not traces.are_in(line)]
        if clean != lines:
            files.write_atomic(path, b"".join(clean), fsync=False, mode=files.PRIVATE_FILE)


def scrub_databases(ws: Workspace) -> list[Path]:
    """Overwrite deleted rows in the databases; returns those that are in use and could not be scrubbed."""
    ws.close()
    home, busy = ws.home, []
    purposes = {home.state_file: STATE, home.contexts_file: CONTEXTS, home.turns_file: SESSIONS, ws.index_file: INDEX}
    for path, purpose in purposes.items():
        try:
            done = not path.exists() or sqlite.scrub(path, purpose)
        except (Busy, HomeError, IndexUnusable):
            done = False
        busy += [] if done else [path]
    return busy


def find_traces(folder: Path, traces: Traces, pattern: str = "*", *, excluded: Path | None = None) -> Iterator[Path]:
    for path in sorted(folder.rglob(pattern)):
        if excluded not in path.parents and path.is_file() and traces.are_in(_read(path)):
            yield path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # it disappeared meanwhile, or may not be read


def _list(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
