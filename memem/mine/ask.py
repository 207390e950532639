"""Ask about chunks within the budget, journal the answers and apply them; only then move the cursors."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from memem.core.conversation import HUMAN, NOOP, Chunk, Operation, Turn, list_turn_ids
from memem.core.dates import iso
from memem.core.errors import FREE, BudgetSpent, ExtractError, MememError, NotJson, NotSchema
from memem.core.memory import Memory
from memem.inject import notices
from memem.mine import apply as mine_apply
from memem.mine import failures, prompt, rules
from memem.mine.apply import Applied
from memem.mine.prompt import ModelPrompt
from memem.mine.proof.origins import Origins
from memem.mine.proof.quotes import QuoteMatch, match_quote
from memem.model.answer import Model
from memem.safety.gate import clean_line, clean_text
from memem.search import find
from memem.state.calls import Limits
from memem.state.journal import JournalRecord
from memem.state.sessions import Mark, SessionRecord

if TYPE_CHECKING:
    from memem.workspace import Workspace

Answer = TypeVar("Answer")
MAX_NEIGHBOURS = 12
MAX_QUERIES = 12
QUERY_CHARS = 1_000
BATCH = "mine"
OUTDATED = "outdated"
SAVED = ("added", "updated", "superseded", OUTDATED)
OUTCOME_WORDS = {"buried": "gave up", "spent": "paused"}  # for people; --json and the state have the names


@dataclass(frozen=True, slots=True)
class Mined:
    session: str
    path: str
    # mined, nothing (new), waiting (too little), missing (no readable transcript), own (a call of memem), failed,
    # refused (by its project, or no person took part), spent (the budget) or buried (a dead letter)
    outcome: str = "nothing"
    detail: str = ""
    turns: int = 0
    chunks: int = 0
    buried: int = 0  # chunks that became dead letters
    applied: tuple[Applied, ...] = ()
    project: str = ""  # of the last chunk

    @property
    def counted_turns(self) -> str:
        return "1 turn" if self.turns == 1 else f"{self.turns} turns"

    def count(self, *outcomes: str) -> int:
        return sum(applied.outcome in outcomes for applied in self.applied)

    def with_failure(self, problem: ExtractError | BudgetSpent) -> Mined:
        outcome = "spent" if isinstance(problem, BudgetSpent) else "failed"
        return replace(self, outcome=outcome, detail=str(problem))


class DeadLettered(Exception):
    """A chunk has failed so often that it became a dead letter."""


def find_neighbours(ws: Workspace, chunk: Chunk) -> list[Memory]:
    """Return the memories closest to a chunk, which the model may change instead of adding new ones."""
    prompts = [turn.text[:QUERY_CHARS] for turn in chunk.turns if turn.role == HUMAN]
    queries = sorted(prompts or [chunk.turns[-1].text[:QUERY_CHARS]], key=len, reverse=True)[:MAX_QUERIES]
    best: dict[str, tuple[float, Memory]] = {}
    for query in queries:
        for hit in find.rank_candidates(ws, query, chunk.project)[:MAX_NEIGHBOURS]:
            if hit.score > best.get(hit.memory.id, (0.0, None))[0]:
                best[hit.memory.id] = (hit.score, hit.memory)
    ordered = sorted(best.values(), key=lambda scored: (-scored[0], scored[1].id))
    return [memory for _, memory in ordered[:MAX_NEIGHBOURS]]


def asks_model(ws: Workspace) -> bool:
    """Whether extracting takes a model call, which costs something."""
    return ws.asks_model


def extract(ws: Workspace, *chunks: Chunk) -> list[tuple[Chunk, list[Operation]]]:
    """Return each chunk, with the memories that the model was shown, and its operations; one call for all chunks."""
    model = ws.model()
    if model is None:
        return [(chunk, rules.extract(chunk.turns)) for chunk in chunks]
    if used_up := ws.state.ledger.limit_reached(ws.today(), limits(ws)):
        raise BudgetSpent(used_up)
    together = replace(chunks[0], turns=tuple(turn for chunk in chunks for turn in chunk.turns))
    memories = find_neighbours(ws, together)
    question = prompt.build(chunks, memories)
    try:
        operations = call_model(ws, model, together.session, question, prompt.parse_operations)
    except (NotJson, NotSchema) as problem:
        question = prompt.add_correction(question, str(problem))
        operations = call_model(ws, model, together.session, question, prompt.parse_operations)
    operations = _ask_for_quotes(ws, model, together, question, _redact(operations, together.turns))
    shown = tuple(memory.id8 for memory in memories)
    return [(replace(chunk, known=shown), own) for chunk, own in zip(chunks, _assign(chunks, operations), strict=True)]


def _ask_for_quotes(
    ws: Workspace, model: Model, chunk: Chunk, question: ModelPrompt, operations: list[Operation]
) -> list[Operation]:
    """Ask once more for the words that prove operations whose quotes are not in the conversation.

    The answer changes quotes only. Without one, for want of budget or service, the operations are refused later.
    """
    unproven = [
        place
        for place, operation in enumerate(operations)
        if operation.op != NOOP and not match_quote(chunk.turns, operation.quote)
    ]
    if not unproven:
        return operations
    again = prompt.ask_for_quotes(question, [operations[place] for place in unproven])
    try:
        quotes = call_model(ws, model, chunk.session, again, prompt.parse_quotes)
    except (BudgetSpent, ExtractError):
        return operations
    proven = list(operations)
    for number, place in enumerate(unproven, 1):
        proven[place] = replace(operations[place], quote=quotes.get(number) or operations[place].quote)
    return _redact(proven, chunk.turns)


def _redact(operations: Sequence[Operation], turns: Sequence[Turn]) -> list[Operation]:
    """Redact an answer, since a model may produce a secret. Turns are redacted already."""
    return [_redact_operation(operation, match_quote(turns, operation.quote)) for operation in operations]


def _redact_operation(operation: Operation, match: QuoteMatch | None) -> Operation:
    return replace(
        operation,
        title=clean_text(operation.title),
        content=clean_text(operation.content),
        keys=tuple(map(clean_text, operation.keys)),
        paths=tuple(map(clean_text, operation.paths)),
        quote=match.text if match else clean_text(operation.quote),
    )


def _assign(chunks: Sequence[Chunk], operations: Sequence[Operation]) -> list[list[Operation]]:
    """Group operations by the chunk that their quote is from; without a match, the first chunk will refuse them."""
    owners = {turn.uuid: number for number, chunk in enumerate(chunks) for turn in chunk.turns}
    turns = [turn for chunk in chunks for turn in chunk.turns]
    assigned: list[list[Operation]] = [[] for _ in chunks]
    for operation in operations:
        match = match_quote(turns, operation.quote)
        if match:
            assigned[owners[match.turn.uuid]].append(operation)
        else:  # what is ambiguous among several chunks may match in one
            assigned[0].append(operation if len(chunks) == 1 else replace(operation, quote=""))
    return assigned


def call_model(
    ws: Workspace, model: Model, session: str, question: ModelPrompt, parse: Callable[[Any], Answer]
) -> Answer:
    """Make one call, counted before it is made and settled after it, whatever the result."""
    number = ws.state.ledger.reserve(ws.today(), session, limits(ws))
    own_session = str(uuid.uuid4())
    if model.makes_sessions:
        ws.state.sessions.put_own(own_session, "", ws.clock().timestamp())
    answer = None
    try:
        answer = model.ask(
            system=question.system,
            instruction=question.instruction,
            text=question.text,
            schema=question.schema,
            session=own_session,
        )
        value = parse(answer.value)
    except ExtractError as problem:
        usage = answer.usage if answer else problem.usage
        # A truncated or garbled answer may have cost as much as any other call; a refused call has not.
        is_free = failures.is_service_failure(problem) and usage.dollars is None
        ws.state.ledger.settle(number, type(problem).__name__, FREE if is_free else usage)
        problem.args = (clean_line(str(problem)),)  # it quotes the CLI, and is stored
        raise
    ws.state.ledger.settle(number, "answered", answer.usage)
    return value


def try_model(
    ws: Workspace, model: Model, session: str, question: ModelPrompt, parse: Callable[[Any], Answer]
) -> Answer | None:
    """Make a call whose answer is optional: None when there is none, and later callers back off."""
    try:
        return call_model(ws, model, session, question, parse)
    except BudgetSpent:
        return None
    except ExtractError as problem:
        failures.back_off(ws, problem)
        return None


def limits(ws: Workspace) -> Limits:
    return failures.limits(ws)


def ask_about(ws: Workspace, parts: Sequence[tuple[Mark, Chunk]]) -> list[JournalRecord]:
    """Ask about chunks of one project in one call, and journal each answer; a failure marks every session again."""
    try:
        answered = extract(ws, *(chunk for _, chunk in parts))
    except (ExtractError, BudgetSpent) as problem:
        _handle_failure(ws, parts, problem)
        raise
    failures.clear_after_answer(ws)
    with ws.state.transaction():
        ws.state.ledger.reset_failures()
        now = iso(ws.clock())
        return [
            ws.state.journal.add_answer(chunk.session, chunk.as_json(), prompt.operations_as_json(operations), now)
            for chunk, operations in answered
        ]


def _handle_failure(ws: Workspace, parts: Sequence[tuple[Mark, Chunk]], problem: ExtractError | BudgetSpent) -> None:
    """Postpone the sessions, or dead-letter a hopeless chunk: never several together, each is first asked alone."""
    sessions = [load_session(ws, mark) for mark, _ in parts]
    if len(parts) == 1 and failures.is_hopeless(ws, sessions[0], problem):
        failures.dead_letter(ws, parts[0][1], problem)
        raise DeadLettered(str(problem)) from None
    with ws.state.transaction():
        failures.postpone(ws, problem, *sessions)
        for mark, chunk in parts:
            ws.state.sessions.release(list_turn_ids(chunk.turns), chunk.session)
            ws.state.queue.mark(mark, ws.clock().timestamp())


def record_error(ws: Workspace, mark: Mark, problem: MememError) -> Mined:
    """Record an error of a session that is not the model's; the session stays marked."""
    failures.report_trouble(ws, problem)
    session = ws.state.sessions.get(mark.session) or SessionRecord(mark.session, mark.path)
    ws.state.sessions.put(session.with_outcome("failed", str(problem), iso(ws.clock())))
    return Mined(mark.session, mark.path, "failed", str(problem))


def apply(
    ws: Workspace, mined: Mined, record: JournalRecord, undone: Collection[str] = (), words: Origins | None = None
) -> Mined:
    """Apply an answer to the vault, except notes undone since; then, in one transaction, finish turns and journal."""
    chunk = Chunk.from_json(record.chunk)
    operations = prompt.parse_operations({"operations": record.answer})
    with ws.events.batch(BATCH):
        applied = mine_apply.apply_all(ws, chunk, operations, undone, words)
    mined = replace(
        mined,
        outcome="mined",
        turns=mined.turns + len(chunk.turns),
        chunks=mined.chunks + 1,
        applied=(*mined.applied, *applied),
        project=chunk.project,
    )
    with ws.state.transaction():
        detail = f"{mined.count(*SAVED)} of {len(mined.applied)} saved, {mined.counted_turns}"
        ws.state.sessions.move_cursor(chunk, "mined", detail, iso(ws.clock()))
        ws.state.journal.finish(record.number)
    notices.clear_problem(ws, failures.CAPTURE)
    return mined


def load_session(ws: Workspace, mark: Mark) -> SessionRecord:
    return replace(ws.state.sessions.get(mark.session) or SessionRecord(mark.session, ""), path=mark.path)
