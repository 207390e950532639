"""A new memory becomes a note: past the gate, under the lock, never twice, and with an event."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from memem.core.errors import InputError
from memem.core.memory import KINDS, LAYERS, PINNED, PINNED_MAX_CHARACTERS, PINNED_MAX_NOTES, STATUSES, Memory
from memem.core.validity import is_in_force
from memem.flows.opening import ensure_vault
from memem.flows.reindex import claim, fresh_rows, index_note, ready
from memem.flows.writing import record, writing
from memem.gate import settling
from memem.gate.duplicates import fingerprint
from memem.gate.verdict import Verdict, judge
from memem.vault.note import escape_evidence
from memem.workspace import Workspace

TITLE_CHARACTERS = 80
EDITABLE = ("body", "title", "project", "kind", "layer", "importance", "status", "tags", "keys", "paths")


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a write.

    `outcome` is created, exists, updated, superseded, proposed, edited, unchanged or forgotten. `doubt` says in which
    way it reads like an instruction to the model, where that keeps it from being recalled.
    """

    outcome: str
    memory: Memory
    path: str
    redacted: tuple[str, ...] = ()
    neutralised: int = 0
    doubt: str = ""


def prepared(memory: Memory) -> Verdict:
    """A memory as its note would state it: past the gate, with its tags and a title."""
    memory = replace(memory, tags=tags_of(memory.tags, memory.project))
    check_choices(memory, EDITABLE)
    verdict = judge(memory)
    title = verdict.memory.title or title_of(verdict.memory.body)
    return replace(verdict, memory=replace(verdict.memory, title=title, body=escape_evidence(verdict.memory.body)))


def keep(ws: Workspace, memory: Memory, *, why: str = "") -> Written:
    """Keep a memory under the id it has, unless that id, or its very statement, is known already."""
    return put(ws, prepared(memory), why=why)


def put(
    ws: Workspace, verdict: Verdict, *, why: str = "", at_last: Callable[[Memory], object] = lambda _: None
) -> Written:
    """The same of one that has passed the gate; `at_last` raises, under the lock, when it may not be kept after all."""
    memory = verdict.memory
    with writing(ws):
        ready(ws, ensure_vault(ws))
        twin = _same(ws, memory.id) or _twin(ws, memory)
        at_last(memory)
        if twin:
            return replace(twin, redacted=verdict.redacted, neutralised=verdict.neutralised)
        check_room(ws, memory)
        claim(ws, ws.store.path_for(memory), memory)
        note, change = ws.store.create(memory)
        record(ws, "save", memory.id, change, why)
        index_note(ws, note)
    return Written("created", note.memory, note.path, verdict.redacted, verdict.neutralised)


def _same(ws: Workspace, identity: str) -> Written | None:
    """The note with this very id: a save that was interrupted after it had written it."""
    for row in fresh_rows(ws, lambda: ws.index.rows("id = ?", (identity,))):
        if row.memory:
            return Written("exists", row.memory, row.path)
    return None


def _twin(ws: Workspace, memory: Memory) -> Written | None:
    key = fingerprint(memory.body)
    for row in fresh_rows(ws, lambda: ws.index.by_fingerprint(key)):
        if row.memory and row.memory.project == memory.project and _says_the_same(ws, row.memory, memory):
            return Written("exists", row.memory, row.path)
    return None


def _says_the_same(ws: Workspace, known: Memory, memory: Memory) -> bool:
    """Of two with one text: unless it holds no longer, or the titles name two things that it is said of."""
    return is_in_force(known, ws.clock()) and not settling.are_of_two_things(known, memory)


def check_choices(memory: Memory, fields: Collection[str]) -> None:
    if "kind" in fields and memory.kind not in KINDS:
        raise InputError(f"There is no kind {memory.kind!r}. Use one of {', '.join(KINDS)}.")
    if "status" in fields and memory.status not in STATUSES:
        raise InputError(f"There is no status {memory.status!r}. Use one of {', '.join(STATUSES)}.")
    if "layer" in fields and (type(memory.layer) is not int or memory.layer not in LAYERS):
        raise InputError("The layer is 0 (pinned), 1 (conventions), 2 (ordinary) or 3 (archive).")
    if "importance" in fields and (type(memory.importance) is not int or not 1 <= memory.importance <= 5):
        raise InputError("The importance is a whole number from 1 to 5.")


def check_room(ws: Workspace, memory: Memory) -> None:
    """What is pinned is in every session's context: it stays small."""
    if memory.layer != PINNED:
        return
    condition = "project = ? AND layer = 0 AND status = 'active' AND id <> ?"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, (memory.project, memory.id)))
    pinned = [row.memory for row in rows if row.memory]
    characters = sum(len(each.body) for each in (*pinned, memory))
    if len(pinned) >= PINNED_MAX_NOTES or characters > PINNED_MAX_CHARACTERS:
        raise InputError(
            f"Layer 0 of {memory.project} is full: at most {PINNED_MAX_NOTES} notes and {PINNED_MAX_CHARACTERS:,} "
            "characters. Use --layer 1, or move another one with `memem edit ID --layer 1`."
        )


def tags_of(tags: tuple[str, ...], project: str) -> tuple[str, ...]:
    """Every memory also carries `memem` and its project."""
    return tuple(dict.fromkeys(tag for tag in map(tag_of, ("memem", project, *tags)) if tag))


def tag_of(text: str) -> str:
    """A tag as Obsidian takes it: no spaces, no `#`, not a bare number."""
    tag = re.sub(r"[^\w/-]+", "-", text.strip().lstrip("#")).strip("-")
    return f"n{tag}" if tag.isdigit() else tag


def title_of(body: str) -> str:
    """The first sentence, or as much of it as a title holds."""
    line = next((line.strip() for line in body.splitlines() if re.search(r"\w", line)), body.strip())
    line = re.sub(r"^(?:(?:#{1,6}|>|[-*+]|\d+[.)])\s+)+", "", line)
    # A full stop ends a sentence where another begins: not in `e.g. ruff`, not in `the U.S. region`.
    end = re.search(r"(?<=\w\w)[.!?](?=\s+[A-Z])|[。！？]", line)
    sentence = line[: end.start()] if end else line.removesuffix(".")
    if len(sentence) <= TITLE_CHARACTERS:
        return sentence or "Memory"
    cut, _, rest = sentence[:TITLE_CHARACTERS].rpartition(" ")
    return (cut or rest).rstrip(" ,;:") + "…"
