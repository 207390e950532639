"""Apply operations: a quote must prove each claim, which is then reconciled with the existing notes."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.conversation import ADD, ASSISTANT, GENERAL_SCOPE, HUMAN, NOOP, UPDATE, Chunk, Operation
from memem.core.dates import iso
from memem.core.errors import Ambiguous, InputError, NoteError, NotFound, SettingsError
from memem.core.evidence import QuotedWords, quote_proposal, quote_turn, render_evidence
from memem.core.memory import GENERAL, Memory, classify_layer
from memem.core.trust import APPROVED, OUTPUT, PROSE, SPEECH, Trust
from memem.inject import receipts
from memem.inject.prompt_kinds import is_approval
from memem.mine.proof.approvals import is_assent
from memem.mine.proof.origins import Origins, read_origins
from memem.mine.proof.quotes import QuoteMatch, match_quote
from memem.mine.proof.wording import limit_by_wording
from memem.notes import forget, reconcile
from memem.notes.reconcile import Candidate, since
from memem.safety.gate import MAX_ITEM, MAX_ITEMS, MAX_TITLE, clean_line
from memem.search import find

if TYPE_CHECKING:
    from memem.workspace import Workspace

MAX_REWRITES = 3  # of existing notes by one chunk; a model that wants more has misunderstood something
REWRITES = ("updated", "superseded", "outdated")
MAX_PROPOSAL_CHARS = 300  # that evidence shows of a proposal, if the model quotes only the answer
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "memem:mined")
_OUTCOMES = {"created": "added", "exists": "known"}


@dataclass(frozen=True, slots=True)
class Applied:
    """The outcome of an operation and the reason for it.

    Outcomes: added, updated, superseded, outdated, known, proposed, nothing, refused.
    """

    outcome: str
    id: str = ""
    title: str = ""
    reason: str = ""


def apply_all(
    ws: Workspace,
    chunk: Chunk,
    operations: Sequence[Operation],
    undone: Collection[str] = (),
    origins: Origins | None = None,
) -> list[Applied]:
    """Apply the operations on a chunk in order, except those whose notes were `undone` meanwhile.

    `origins` are those of the reading that the chunk is from; otherwise they are read again.
    """
    done: list[Applied] = []
    words = ChunkWords(ws, chunk, origins)
    for number, operation in enumerate(operations):
        if operation_id(chunk, number) in undone:
            done.append(_refuse(operation, "its note was removed by an undo"))
            continue
        rewrites = sum(applied.outcome in REWRITES for applied in done)
        done.append(apply_one(ws, chunk, number, operation, words, may_rewrite=rewrites < MAX_REWRITES))
    return done


class ChunkWords:
    """The origins of the words in a chunk, read when an operation first needs them."""

    def __init__(self, ws: Workspace, chunk: Chunk, read: Origins | None = None) -> None:
        self.chunk = chunk
        self._ws = ws
        self._read = read

    @cached_property
    def origins(self) -> Origins | None:
        """The words of tools up to the chunk, and of memories that come from tools; None if they cannot be read."""
        known = self._read or read_origins(self.chunk)
        for id8 in self.chunk.known if known else ():
            with suppress(NotFound, Ambiguous, NoteError):
                memory = find.get(self._ws, id8).memory
                if known and memory.source_type == OUTPUT.source_type and memory.confidence <= OUTPUT.confidence:
                    known.add_output((memory.title, memory.body))
        return known


def apply_one(
    ws: Workspace,
    chunk: Chunk,
    number: int,
    operation: Operation,
    words: ChunkWords | None = None,
    *,
    may_rewrite: bool = True,
) -> Applied:
    """Apply or refuse one operation. Errors of the vault and of memem's own files are raised."""
    if operation.op == NOOP:
        return Applied("nothing")
    match = match_quote(chunk.turns, operation.quote)
    if match is None:
        return _refuse(operation, "the text it quotes as evidence is not in the conversation")
    if match.turn.role == ASSISTANT and _is_echo(ws, chunk, operation):  # nobody approved it
        return _refuse(operation, "it repeats a memory that was shown in this session")
    try:
        candidate = replace(
            _make_candidate(ws, words or ChunkWords(ws, chunk), number, operation, match), may_rewrite=may_rewrite
        )
        written = reconcile.settle(ws, candidate, why=f"mined from session {chunk.session}")
    except (InputError, NoteError) as problem:
        return _refuse(operation, str(problem))
    return Applied(_OUTCOMES.get(written.outcome, written.outcome), written.memory.id, written.memory.title)


def operation_id(chunk: Chunk, number: int) -> str:
    """Return the id of an operation's new note, so that one applied again after a crash finds its own note."""
    return str(uuid.uuid5(_NAMESPACE, f"{chunk.name}:{number}"))


def _make_candidate(
    ws: Workspace, words: ChunkWords, number: int, operation: Operation, match: QuoteMatch
) -> Candidate:
    chunk, turn, trust = words.chunk, match.turn, _trust(words, match, operation)
    id8 = (operation.target or "").strip()
    was_shown = id8 in chunk.known  # only a memory that the model was shown may change
    target = None
    if operation.op != ADD and was_shown:
        with suppress(NotFound, Ambiguous, NoteError):
            target = find.get(ws, id8)
    if operation.op == UPDATE and target is None and was_shown and forget.was_forgotten(ws, id8):
        raise InputError("it has been forgotten since")
    root = None
    with suppress(OSError, ValueError, RuntimeError, SettingsError):  # an impossible name, a loop of links
        root = ws.project_of(Path(turn.cwd)).root if turn.cwd else None
    return Candidate(
        _make_memory(ws, chunk, number, operation, match, trust),
        trust,
        said=turn.time,
        wish=operation.op if target else ADD,
        target=target,
        root=root,
    )


def _trust(words: ChunkWords, match: QuoteMatch, operation: Operation) -> Trust:
    """Trust the source of the quoted words, unless the statement repeats a tool's output or cannot be checked."""
    if match.is_repeated:
        return OUTPUT
    is_own = match.turn.role == HUMAN and (match.is_choice or not match.is_pasted)
    if not is_own or words.origins is None:
        return PROSE
    statement = (operation.title, operation.content)
    if words.origins.is_output((*statement, *operation.keys), words.chunk.turns):
        return OUTPUT
    is_approved = match.is_choice or is_assent(match.text)
    if words.origins.is_cut or (is_approval(match.text) and not is_approved):  # it may say no
        return PROSE
    if is_approved:
        return APPROVED
    return limit_by_wording(SPEECH, statement, words.chunk.turns)


def _make_memory(
    ws: Workspace, chunk: Chunk, number: int, operation: Operation, match: QuoteMatch, trust: Trust
) -> Memory:
    """Build the memory; too long a title, or too many keys, are cut rather than refused."""
    turn, now = match.turn, iso(ws.clock())
    return Memory(
        id=operation_id(chunk, number),
        title=clean_line(operation.title)[:MAX_TITLE].rstrip(),  # cleaned first: half a secret is not recognised
        body=operation.content,
        project=GENERAL if operation.scope == GENERAL_SCOPE and trust.general else chunk.project,
        kind=operation.kind,
        layer=classify_layer(operation.kind, operation.importance, ()),
        importance=operation.importance,
        keys=_fit_items(operation.keys),
        paths=_fit_items(operation.paths),
        created=now,
        updated=now,
        valid_from=since(ws, turn.time),
        source_session=chunk.session,
        source_turn=turn.uuid,
        evidence=render_evidence(_quote(match)),
    )


def _quote(match: QuoteMatch) -> QuotedWords:
    """Quote the words, with what a person approved and their answer to it."""
    if match.is_approved:
        return quote_proposal(match.turn, match.text)
    if match.is_choice:  # `1.` alone proves nothing to a reader
        return quote_proposal(match.turn, match.turn.proposal[:MAX_PROPOSAL_CHARS])
    return quote_turn(match.turn, match.text)


def _fit_items(items: Sequence[str]) -> tuple[str, ...]:
    lines = (" ".join(item.split()) for item in items)
    return tuple(dict.fromkeys(line for line in lines if 0 < len(line) <= MAX_ITEM))[:MAX_ITEMS]


def _is_echo(ws: Workspace, chunk: Chunk, operation: Operation) -> bool:
    """Whether Claude only repeated a memory it was shown: memory must not feed on itself."""
    shown = receipts.shown_id8s(ws, chunk.session)
    text = f"{operation.title}\n{operation.content}"
    return bool(shown) and any(hit.memory.id8 in shown for hit in find.rank_candidates(ws, text, chunk.project)[:1])


def _refuse(operation: Operation, reason: str) -> Applied:
    return Applied("refused", title=clean_line(operation.title)[:MAX_TITLE], reason=reason)
