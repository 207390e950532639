"""Ask about chunks within the budget, journal the answers and apply them; only then move the cursors.

After a crash a journaled answer is applied again, not asked for again. Chunks of several sessions may share a call;
each is journaled, applied and finished by itself.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from memem.core.conversation import HUMAN, Chunk, Operation
from memem.core.dates import iso
from memem.core.errors import FREE, BudgetSpent, ExtractError, MememError, NotJson, NotSchema
from memem.core.memory import Memory
from memem.mine import apply as mine_apply
from memem.mine import failures, prompt, rules
from memem.mine.apply import Applied
from memem.mine.prompt import ModelPrompt
from memem.model.claude import Claude
from memem.safety.gate import clean_line, clean_text
from memem.search import find
from memem.state.cursors import SessionRecord
from memem.state.journal import JournalRecord
from memem.state.ledger import Limits
from memem.state.queue import Mark

if TYPE_CHECKING:
    from memem.workspace import Workspace


Answered = TypeVar("Answered")
MOST_NEIGHBOURS = 12
MOST_QUERIES = 12
QUERY_CHARACTERS = 1_000


def neighbours(ws: Workspace, chunk: Chunk) -> list[Memory]:
    """The memories nearest to what is said in a chunk: what the model may want to change instead of adding to it."""
    said = [turn.text[:QUERY_CHARACTERS] for turn in chunk.turns if turn.role == HUMAN]
    queries = sorted(said or [chunk.turns[-1].text[:QUERY_CHARACTERS]], key=len, reverse=True)[:MOST_QUERIES]
    best: dict[str, tuple[float, Memory]] = {}
    for query in queries:
        for hit in find.rank_candidates(ws, query, chunk.project)[:MOST_NEIGHBOURS]:
            if hit.score > best.get(hit.memory.id, (0.0, None))[0]:
                best[hit.memory.id] = (hit.score, hit.memory)
    ordered = sorted(best.values(), key=lambda each: (-each[0], each[1].id))
    return [memory for _, memory in ordered[:MOST_NEIGHBOURS]]


def asks_model(ws: Workspace) -> bool:
    """Whether extracting takes a model call, which costs something."""
    return ws.settings.extractor == "claude" and bool(ws.claude_command)


def extract(ws: Workspace, *chunks: Chunk) -> list[tuple[Chunk, list[Operation]]]:
    """Each chunk, with the ids of the memories that the model was shown, and the operations on it.

    Several chunks, of one project, take one call. Raises ExtractError, or BudgetSpent before anything is asked.
    """
    claude = ws.claude() if ws.settings.extractor == "claude" else None
    if claude is None:
        return [(chunk, rules.extract(chunk.turns)) for chunk in chunks]
    if used_up := ws.state.ledger.limit_reached(ws.today(), limits(ws)):
        raise BudgetSpent(used_up)
    whole = replace(chunks[0], turns=tuple(turn for chunk in chunks for turn in chunk.turns))
    memories = neighbours(ws, whole)
    question = prompt.build_packed(chunks, memories)
    try:
        operations = _asked(ws, claude, whole, question)
    except (NotJson, NotSchema) as problem:
        operations = _asked(ws, claude, whole, prompt.add_correction(question, str(problem)))
    known = tuple(memory.id8 for memory in memories)
    chunks = tuple(replace(chunk, known=known) for chunk in chunks)
    return list(zip(chunks, _assign(chunks, operations), strict=True))


def _assign(chunks: Sequence[Chunk], operations: Sequence[Operation]) -> list[list[Operation]]:
    """The operations on each chunk, by the turn that their quote is from; without one, the first chunk refuses it."""
    owners = {turn.uuid: number for number, chunk in enumerate(chunks) for turn in chunk.turns}
    turns = [turn for chunk in chunks for turn in chunk.turns]
    assigned: list[list[Operation]] = [[] for _ in chunks]
    for operation in operations:
        turn = prompt.find_quoted_turn(turns, operation.quote)
        assigned[owners[turn.uuid] if turn else 0].append(operation)
    return assigned


def _asked(ws: Workspace, claude: Claude, chunk: Chunk, question: ModelPrompt) -> list[Operation]:
    operations = call_model(ws, claude, chunk.session, question, prompt.SCHEMA, prompt.parse_operations)
    return [_safe(each, chunk) for each in operations]


def _safe(operation: Operation, chunk: Chunk) -> Operation:
    """The answer as it enters: a model may say a secret of its own accord, and its answer is journaled and cut.

    Words of the text as it was sent have to stay what they are.
    """
    quote = operation.quote
    return replace(
        operation,
        title=clean_text(operation.title),
        content=clean_text(operation.content),
        keys=tuple(map(clean_text, operation.keys)),
        paths=tuple(map(clean_text, operation.paths)),
        quote=quote if any(quote in turn.text for turn in chunk.turns) else clean_text(quote),
    )


def call_model(
    ws: Workspace,
    claude: Claude,
    session: str,
    question: ModelPrompt,
    schema: Mapping[str, Any],
    parse: Callable[[Any], Answered],
) -> Answered:
    """One call, counted before it is made and settled after it, whatever came of it."""
    number = ws.state.ledger.reserve(ws.today(), session, limits(ws))
    own = str(uuid.uuid4())
    ws.state.sessions.put_own(own, "", ws.clock().timestamp())
    try:
        answer = claude.ask(
            system=question.system, instruction=question.instruction, text=question.text, schema=schema, session=own
        )
    except ExtractError as problem:
        # What was cut off, or garbled, may have cost as much as any other call; what the service refused has not.
        is_free = failures.is_of_the_service(problem) and problem.usage.dollars is None
        ws.state.ledger.settle(number, type(problem).__name__, FREE if is_free else problem.usage)
        problem.args = (clean_line(str(problem)),)  # it says what the CLI said, and is written down
        raise
    try:
        value = parse(answer.value)
    except NotSchema as problem:
        ws.state.ledger.settle(number, type(problem).__name__, answer.usage)
        raise
    ws.state.ledger.settle(number, "answered", answer.usage)
    return value


def try_model(
    ws: Workspace,
    claude: Claude,
    session: str,
    question: ModelPrompt,
    schema: Mapping[str, Any],
    parse: Callable[[Any], Answered],
) -> Answered | None:
    """The same for what can do without an answer: None when there is none, and who wants to ask next is warned."""
    try:
        return call_model(ws, claude, session, question, schema, parse)
    except BudgetSpent:
        return None
    except ExtractError as problem:
        failures.warn(ws, problem)
        return None


def limits(ws: Workspace) -> Limits:
    """What may be asked of a model on one day."""
    return Limits(ws.settings.daily_calls, ws.settings.daily_usd)


BATCH = "mine"
SAVED = ("added", "updated", "superseded")


@dataclass(frozen=True, slots=True)
class Mined:
    """The result of mining a session.

    `outcome` is mined, nothing (there was nothing new), waiting (too little), missing (no transcript that can be read),
    own (a call of ours), refused (by its project, or since no person was there), failed, spent (the budget) or buried;
    `detail` says more. `buried` counts the chunks that became dead letters. `project` is that of the last chunk.
    """

    session: str
    path: str
    outcome: str = "nothing"
    detail: str = ""
    turns: int = 0
    chunks: int = 0
    buried: int = 0
    applied: tuple[Applied, ...] = ()
    project: str = ""

    def count(self, *outcomes: str) -> int:
        """How many operations ended so."""
        return sum(each.outcome in outcomes for each in self.applied)

    def with_chunk(self, chunk: Chunk, applied: list[Applied]) -> Mined:
        turns, chunks = self.turns + len(chunk.turns), self.chunks + 1
        applied = [*self.applied, *applied]
        return replace(self, outcome="mined", turns=turns, chunks=chunks, applied=tuple(applied), project=chunk.project)


@dataclass(frozen=True, slots=True)
class MarkedChunk:
    """A chunk to ask about, and the mark of its session."""

    mark: Mark
    chunk: Chunk


class PutAside(Exception):
    """A chunk has failed so often that it became a dead letter."""


def ask_about(ws: Workspace, parts: Sequence[MarkedChunk]) -> list[JournalRecord]:
    """Ask about chunks of one project in one call, and journal the answer to each.

    Raises ExtractError or BudgetSpent, after marking every session again. Raises PutAside when a chunk that was asked
    about alone has failed too often.
    """
    try:
        answered = extract(ws, *(part.chunk for part in parts))
    except (ExtractError, BudgetSpent) as problem:
        _note_failure(ws, parts, problem)
        raise
    failures.clear_after_answer(ws)
    with ws.state.transaction():
        ws.state.ledger.reset_failures()
        now = iso(ws.clock())
        return [
            ws.state.journal.add_answer(chunk.session, chunk.as_json(), prompt.operations_as_json(operations), now)
            for chunk, operations in answered
        ]


def _note_failure(ws: Workspace, parts: Sequence[MarkedChunk], problem: ExtractError | BudgetSpent) -> None:
    """Postpone the sessions, or put a hopeless chunk aside: never several together, each is first asked about alone."""
    sessions = [load_session(ws, part.mark) for part in parts]
    chunk = parts[0].chunk
    with ws.state.transaction():
        is_hopeless = len(parts) == 1 and failures.is_hopeless(ws, sessions[0], problem)
        if is_hopeless:
            failures.dead_letter(ws, chunk, problem)
            ws.state.sessions.move_cursor(chunk, "buried", str(problem), iso(ws.clock()))
        else:
            failures.postpone(ws, problem, *sessions)
            for part in parts:
                ws.state.sessions.release([turn.uuid for turn in part.chunk.turns], part.chunk.session)
                ws.state.queue.mark(part.mark, ws.clock().timestamp())
    if is_hopeless:
        failures.announce_dead_letter(ws)
        raise PutAside(str(problem)) from None


def record_error(ws: Workspace, mark: Mark, problem: MememError) -> Mined:
    """Record an error of a session that is not the model's; the session stays marked."""
    failures.report_trouble(ws, problem)
    known = ws.state.sessions.get(mark.session) or SessionRecord(mark.session, mark.path)
    ws.state.sessions.put(known.with_outcome("failed", str(problem), iso(ws.clock())))
    return Mined(mark.session, mark.path, "failed", str(problem))


def apply(ws: Workspace, mined: Mined, record: JournalRecord, undone: Collection[str] = ()) -> Mined:
    """Apply an answer to the vault; then, in one transaction, finish its turns and its journal record.

    `undone` are notes that somebody has taken back since a first attempt to apply it.
    """
    chunk = Chunk.from_json(record.chunk)
    operations = prompt.parse_operations({"operations": record.answer})
    with ws.events.batch(BATCH):
        applied = mine_apply.apply_all(ws, chunk, operations, undone)
    mined = mined.with_chunk(chunk, applied)
    with ws.state.transaction():
        ws.state.sessions.move_cursor(
            chunk, "mined", f"{mined.count(*SAVED)} kept of {len(mined.applied)}, {mined.turns} turns", iso(ws.clock())
        )
        ws.state.journal.finish(record.number)
    failures.clear_after_apply(ws)
    return mined


def as_failed(mined: Mined, problem: ExtractError | BudgetSpent) -> Mined:
    """The result of a session that failed after the chunks in `mined`."""
    outcome = "spent" if isinstance(problem, BudgetSpent) else "failed"
    return replace(mined, outcome=outcome, detail=str(problem))


def load_session(ws: Workspace, mark: Mark) -> SessionRecord:
    return replace(ws.state.sessions.get(mark.session) or SessionRecord(mark.session, ""), path=mark.path)
