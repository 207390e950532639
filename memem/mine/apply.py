"""Apply what an extractor wants: each claim proven by a quote, then reconciled with what is known.

What is made of a chunk takes its identity from the chunk, so an answer that is applied again, after a crash, finds its
own notes.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.conversation import ADD, ASSISTANT, GENERAL_SCOPE, NOOP, UPDATE, Chunk, Operation, Turn
from memem.core.dates import iso
from memem.core.errors import Ambiguous, InputError, NoteError, NotFound, SettingsError
from memem.core.memory import GENERAL, Entry, Memory, classify_layer
from memem.core.trust import OUTPUT, PROSE, SPEECH, Trust
from memem.inject import receipts
from memem.mine import prompt
from memem.notes import forget, reconcile
from memem.notes.reconcile import Candidate, since
from memem.notes.write import Written
from memem.safety.gate import MAX_ITEM, MAX_ITEMS, MAX_TITLE, clean_line, cleanse
from memem.search import find

if TYPE_CHECKING:
    from memem.workspace import Workspace


MOST_REWRITES = 3
"""Of notes that were there, by one chunk: who wants to rewrite more has misunderstood something."""
REWRITES = ("updated", "superseded")
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "memem:mined")
_OUTCOMES = {"created": "added", "exists": "known"}


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of an operation: added, updated, superseded, known, proposed (to the person, in `memem/review/`),
    nothing or refused, and why."""

    outcome: str
    id: str = ""
    title: str = ""
    reason: str = ""


def apply_all(
    ws: Workspace, chunk: Chunk, operations: Sequence[Operation], undone: Collection[str] = ()
) -> list[Applied]:
    """Apply the operations on a chunk, in order, but for those whose notes were `undone` meanwhile."""
    done: list[Applied] = []
    for number, operation in enumerate(operations):
        if operation_id(chunk, number) in undone:
            done.append(_refused(operation, "it was taken back since"))
            continue
        rewrites = sum(each.outcome in REWRITES for each in done)
        done.append(apply_one(ws, chunk, number, operation, may_rewrite=rewrites < MOST_REWRITES))
    return done


def apply_one(ws: Workspace, chunk: Chunk, number: int, operation: Operation, *, may_rewrite: bool = True) -> Applied:
    """Apply one operation. What cannot be kept is refused; what goes wrong with vault or home is raised."""
    if operation.op == NOOP:
        return Applied("nothing")
    turn = prompt.find_quoted_turn(chunk.turns, operation.quote)
    if turn is None:
        return _refused(operation, "its quote is not in the conversation")
    if turn.role == ASSISTANT and _is_an_echo(ws, chunk, operation):
        return _refused(operation, "it repeats a memory that was shown in this session")
    try:
        candidate = replace(_candidate(ws, chunk, number, operation, turn), may_rewrite=may_rewrite)
        written = reconcile.settle(ws, candidate, why=f"mined from session {chunk.session}")
    except (InputError, NoteError) as problem:
        return _refused(operation, str(problem))
    return _applied(written)


def operation_id(chunk: Chunk, number: int) -> str:
    """The id of the note that an operation makes, however often it is applied."""
    return str(uuid.uuid5(_NAMESPACE, f"{chunk.name}:{number}"))


def _applied(written: Written) -> Applied:
    return Applied(_OUTCOMES.get(written.outcome, written.outcome), written.memory.id, written.memory.title)


def _candidate(ws: Workspace, chunk: Chunk, number: int, operation: Operation, turn: Turn) -> Candidate:
    target = _target(ws, chunk, operation)
    if operation.op == UPDATE and target is None and _is_known(chunk, operation):
        _refuse_forgotten(ws, _id8(operation))
    return Candidate(
        _memory(ws, chunk, number, operation, turn),
        _trust(turn, operation.quote),
        said=turn.time,
        wish=operation.op if target else ADD,
        target=target,
        root=_root(ws, turn.cwd),
    )


def _trust(turn: Turn, quote: str) -> Trust:
    """By whose words prove it: text known only from a tool's output, or pasted, is nobody's rule."""
    if not prompt.is_own_wording(turn, quote, even_if_pasted=True):
        return OUTPUT
    return SPEECH if turn.role != ASSISTANT and prompt.is_own_wording(turn, quote) else PROSE


def _root(ws: Workspace, folder: str) -> Path | None:
    """The project's folder, if that is one."""
    try:
        return ws.project_of(Path(folder)).root if folder else None
    except (OSError, ValueError, RuntimeError, SettingsError):  # a name that no folder can have, a loop of links
        return None


def _refuse_forgotten(ws: Workspace, identity: str) -> None:
    if forget.was_forgotten(ws, identity):
        raise InputError("it was forgotten since")


def _memory(ws: Workspace, chunk: Chunk, number: int, operation: Operation, turn: Turn) -> Memory:
    now = iso(ws.clock())
    memory = Memory(
        id=operation_id(chunk, number),
        title=operation.title,
        body=operation.content,
        project=GENERAL if operation.scope == GENERAL_SCOPE else chunk.project,
        kind=operation.kind,
        layer=classify_layer(operation.kind, operation.importance, ()),
        importance=operation.importance,
        keys=operation.keys,
        paths=operation.paths,
        created=now,
        updated=now,
        valid_from=since(ws, turn.time) if turn.time else "",
        source_session=chunk.session,
        source_turn=turn.uuid,
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
    shown = receipts.shown_id8s(ws, chunk.session)
    if not shown:
        return False
    nearest = find.rank_candidates(ws, f"{operation.title}\n{operation.content}", chunk.project)[:1]
    return any(hit.memory.id8 in shown for hit in nearest)


def _target(ws: Workspace, chunk: Chunk, operation: Operation) -> Entry | None:
    """The memory that is to change: one that the model was shown, and that is still there."""
    if operation.op == ADD or not _is_known(chunk, operation):
        return None
    try:
        return find.get(ws, _id8(operation))
    except (NotFound, Ambiguous, NoteError):
        return None


def _is_known(chunk: Chunk, operation: Operation) -> bool:
    return _id8(operation) in chunk.known


def _id8(operation: Operation) -> str:
    return (operation.target or "").strip()


def _refused(operation: Operation, reason: str) -> Applied:
    return Applied("refused", title=clean_line(operation.title)[:MAX_TITLE], reason=reason)


def _fitting(items: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for item in items if len(item) <= MAX_ITEM))[:MAX_ITEMS]
