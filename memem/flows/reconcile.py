"""Apply what an extractor wants to the vault: proven by a quote, judged by the gate, and never twice.

What is made of a chunk takes its identity from the chunk, so an answer that is applied again, after a crash, finds its
own notes. A machine rewrites only what a machine has written; beside a person's note it puts one of its own, linked.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from memem.core.clock import iso, moment
from memem.core.errors import Ambiguous, InputError, NoteChanged, NoteError, NotFound, RewriteRefused
from memem.core.memory import GENERAL, Entry, Memory, classify_layer
from memem.core.mining import ADD, ASSISTANT, GENERAL_SCOPE, NOOP, SUPERSEDE, UPDATE, Chunk, Operation, Turn
from memem.extract import candidates
from memem.flows import remember, retrieve, showed
from memem.flows.remember import Written
from memem.gate.verdict import MAX_ITEM, MAX_ITEMS, MAX_TITLE, clean_line, cleanse
from memem.workspace import Workspace

FROM_A_PERSON, FROM_CLAUDE = 0.9, 0.6
"""How far a mined memory is trusted, by whose words prove it."""
EVIDENCE_CHARACTERS = 2_000
MOST_TRIES = 3
_OF_PERSONS = ("preference", "convention")
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "memem:mined")


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of an operation: added, updated, superseded, known, nothing or refused, and why."""

    outcome: str
    id: str = ""
    title: str = ""
    reason: str = ""


def apply_all(ws: Workspace, chunk: Chunk, operations: Sequence[Operation]) -> list[Applied]:
    """Apply the operations on a chunk, in order."""
    return [apply_one(ws, chunk, number, operation) for number, operation in enumerate(operations)]


def apply_one(ws: Workspace, chunk: Chunk, number: int, operation: Operation) -> Applied:
    """Apply one operation. What cannot be kept is refused; what goes wrong with vault or home is raised."""
    if operation.op == NOOP:
        return Applied("nothing")
    turn = candidates.source(chunk.turns, operation.quote)
    if turn is None:
        return _refused(operation, "its quote is not in the conversation")
    if turn.role == ASSISTANT and _is_an_echo(ws, chunk, operation):
        return _refused(operation, "it repeats a memory that was shown in this session")
    try:
        return _apply(ws, chunk, operation, _memory(ws, chunk, number, operation, turn), turn)
    except (InputError, NoteError) as problem:
        return _refused(operation, str(problem))


def _apply(ws: Workspace, chunk: Chunk, operation: Operation, memory: Memory, turn: Turn) -> Applied:
    target = _target(ws, chunk, operation)
    if target and operation.op == SUPERSEDE:
        return _supersede(ws, memory, target, turn)
    if target:
        return _update(ws, memory, target, turn)
    if operation.op == UPDATE and _is_known(chunk, operation):
        _refuse_forgotten(ws, _id8(operation))
    return _kept(_keep(ws, memory))


def _update(ws: Workspace, memory: Memory, target: Entry, turn: Turn) -> Applied:
    """The note itself says it better, if it is a machine's; else another one does, beside it."""
    old = target.memory
    if _has_learned(old, memory, turn):
        return Applied("known", old.id, old.title)
    if old.status == "active" and _may_overrule(old, turn):
        revised = _revised(ws, old.id, memory, _changes(old, memory))
        if revised:
            return Applied("updated", revised.memory.id, revised.memory.title)
    return _kept(_keep(ws, replace(memory, related=(_link(target.path),))))


def _changes(old: Memory, new: Memory) -> dict[str, Any]:
    return {
        "title": new.title or old.title,
        "body": new.body,
        "importance": max(old.importance, new.importance),
        "confidence": new.confidence,
        "keys": _merged(old.keys, new.keys),
        "paths": _merged(old.paths, new.paths),
        "source_session": new.source_session,
        "source_turn": new.source_turn,
        "evidence": _evidence(old.evidence, new.evidence),
    }


def _supersede(ws: Workspace, memory: Memory, target: Entry, turn: Turn) -> Applied:
    """A new note first, then the old one points to it: at every moment what holds now can be found."""
    old, link = target.memory, _link(target.path)
    # What holds in one project does not end what holds in all of them.
    reaches = memory.project == GENERAL or old.project != GENERAL
    if not (reaches and _may_overrule(old, turn) and _is_a_machines(ws, old.id)):
        return _kept(_keep(ws, replace(memory, contradicts=(link,))))
    written = _keep(ws, replace(memory, supersedes=link))
    if written.memory.id == old.id or old.superseded_by:
        return _kept(written, "superseded")
    changes = {"superseded_by": _link(written.path), "status": "deprecated", "valid_to": iso(ws.clock())}
    _revised(ws, old.id, memory, changes)
    return Applied("superseded", written.memory.id, written.memory.title)


def _keep(ws: Workspace, memory: Memory) -> Written:
    _refuse_forgotten(ws, memory.id)
    return remember.keep(ws, memory, why=_why(memory))


def _refuse_forgotten(ws: Workspace, identity: str) -> None:
    if remember.was_forgotten(ws, identity):
        raise InputError("it was forgotten since")


def _revised(ws: Workspace, identity: str, memory: Memory, changes: dict[str, Any]) -> Written | None:
    """None when the note is not ours to change: a person's, in a form we cannot keep, or just being written to."""
    for _ in range(MOST_TRIES):
        try:
            return remember.revise(ws, identity, why=_why(memory), **changes)
        except NoteChanged:
            continue
        except RewriteRefused:
            break
    return None


def _is_a_machines(ws: Workspace, identity: str) -> bool:
    try:
        return remember.is_a_machines(ws, identity)
    except NoteChanged:
        return False  # somebody is at it


def _may_overrule(old: Memory, turn: Turn) -> bool:
    """What a person wants is not changed by what Claude said alone."""
    return turn.role != ASSISTANT or old.kind not in _OF_PERSONS


def _has_learned(old: Memory, new: Memory, turn: Turn) -> bool:
    """Whether a note holds these words and was written after they were said: the answer is applied again.

    Whatever was made of the note since, by a person or by a later answer, stays.
    """
    return _holds(old.evidence, new.evidence) and not _is_before(old.updated, turn.time)


def _memory(ws: Workspace, chunk: Chunk, number: int, operation: Operation, turn: Turn) -> Memory:
    now = iso(ws.clock())
    said_by_claude = turn.role == ASSISTANT
    kind = "fact" if said_by_claude and operation.kind in _OF_PERSONS else operation.kind
    importance = min(operation.importance, 3) if said_by_claude else operation.importance
    memory = Memory(
        id=str(uuid.uuid5(_NAMESPACE, f"{chunk.name}:{number}")),
        title=operation.title,
        body=operation.content,
        project=GENERAL if operation.scope == GENERAL_SCOPE else chunk.project,
        kind=kind,
        layer=classify_layer(kind, importance, ()),
        importance=importance,
        keys=operation.keys,
        paths=operation.paths,
        created=now,
        updated=now,
        source_type="mined",
        source_session=chunk.session,
        source_turn=turn.uuid,
        confidence=FROM_CLAUDE if said_by_claude else FROM_A_PERSON,
        author="model",
        evidence=operation.quote,
    )
    return _fitted(memory)


def _fitted(memory: Memory) -> Memory:
    """What a model gives too much of is not worth a refusal; cleaned first, since half a secret is not known for one.

    The evidence is brought into the form in which it stands in a note.
    """
    clean = cleanse(memory, ("title", "keys", "paths", "evidence")).memory
    return replace(
        clean,
        title=clean.title[:MAX_TITLE].rstrip(),
        keys=_fitting(clean.keys),
        paths=_fitting(clean.paths),
        evidence="\n".join(line.rstrip() for line in clean.evidence.splitlines()),
    )


def _is_an_echo(ws: Workspace, chunk: Chunk, operation: Operation) -> bool:
    """Whether Claude only said what a memory had told it: memory must not feed on itself."""
    shown = showed.known_by(ws, chunk.session)
    if not shown:
        return False
    nearest = retrieve.eligible(ws, f"{operation.title}\n{operation.content}", chunk.project)[:1]
    return any(hit.memory.id8 in shown for hit in nearest)


def _target(ws: Workspace, chunk: Chunk, operation: Operation) -> Entry | None:
    """The memory that is to change: one that the model was shown, and that is still there."""
    if operation.op == ADD or not _is_known(chunk, operation):
        return None
    try:
        return retrieve.get(ws, _id8(operation))
    except (NotFound, Ambiguous, NoteError):
        return None


def _is_known(chunk: Chunk, operation: Operation) -> bool:
    return _id8(operation) in chunk.known


def _id8(operation: Operation) -> str:
    return (operation.target or "").strip()


def _refused(operation: Operation, reason: str) -> Applied:
    return Applied("refused", title=clean_line(operation.title)[:MAX_TITLE], reason=reason)


def _kept(written: Written, outcome: str = "added") -> Applied:
    known = written.outcome == "exists"
    return Applied("known" if known else outcome, written.memory.id, written.memory.title)


def _why(memory: Memory) -> str:
    return f"mined from session {memory.source_session}"


def _link(path: str) -> str:
    return f"[[{PurePosixPath(path).stem}]]"


def _fitting(items: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for item in items if len(item) <= MAX_ITEM))[:MAX_ITEMS]


def _merged(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*old, *new)))[:MAX_ITEMS]


def _evidence(old: str, new: str) -> str:
    """The new words below the old ones, which are given up when there are too many."""
    if _holds(old, new):
        return old
    both = f"{old}\n{new}" if old else new
    return both if len(both) <= EVIDENCE_CHARACTERS else new


def _holds(evidence: str, quote: str) -> bool:
    """As lines of its own: `use npm` is not in `do not use npm`."""
    return f"\n{quote}\n" in f"\n{evidence}\n"


def _is_before(written: str, said: str) -> bool:
    """Whether a note was written before something was said; what bears no time was said before everything."""
    earlier, later = moment(written), moment(said)
    if earlier is None or later is None:
        return False
    return earlier < later.replace(microsecond=0)  # notes know whole seconds
