"""Have the lessons of a chunk extracted: by a model through the user's own CLI, within a budget, or by rules."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from memem.core.errors import BudgetSpent, ExtractError, NotJson, NotSchema
from memem.core.memory import Memory
from memem.core.mining import HUMAN, Chunk, Operation
from memem.core.usage import FREE
from memem.extract import candidates, prompt, rules
from memem.extract.claude import Claude
from memem.extract.prompt import Prompt
from memem.flows import postponing, retrieve
from memem.gate.verdict import clean_line, clean_text
from memem.jobs.budget import Limits
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
        for hit in retrieve.eligible(ws, query, chunk.project)[:MOST_NEIGHBOURS]:
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
    if used_up := ws.state.ledger.used_up(ws.today(), limits(ws)):
        raise BudgetSpent(used_up)
    whole = replace(chunks[0], turns=tuple(turn for chunk in chunks for turn in chunk.turns))
    memories = neighbours(ws, whole)
    question = prompt.build_packed(chunks, memories)
    try:
        operations = _asked(ws, claude, whole, question)
    except (NotJson, NotSchema) as problem:
        operations = _asked(ws, claude, whole, prompt.corrected(question, str(problem)))
    known = tuple(memory.id8 for memory in memories)
    chunks = tuple(replace(chunk, known=known) for chunk in chunks)
    return list(zip(chunks, _assign(chunks, operations), strict=True))


def _assign(chunks: Sequence[Chunk], operations: Sequence[Operation]) -> list[list[Operation]]:
    """The operations on each chunk, by the turn that their quote is from; without one, the first chunk refuses it."""
    owners = {turn.uuid: number for number, chunk in enumerate(chunks) for turn in chunk.turns}
    turns = [turn for chunk in chunks for turn in chunk.turns]
    assigned: list[list[Operation]] = [[] for _ in chunks]
    for operation in operations:
        turn = candidates.source(turns, operation.quote)
        assigned[owners[turn.uuid] if turn else 0].append(operation)
    return assigned


def _asked(ws: Workspace, claude: Claude, chunk: Chunk, question: Prompt) -> list[Operation]:
    operations = asked(ws, claude, chunk.session, question, candidates.SCHEMA, candidates.parse)
    return [_safe(each, chunk) for each in operations] if ws.settings.redact_before_model else operations


def _safe(operation: Operation, chunk: Chunk) -> Operation:
    """What a model says is kept until it is applied, and it may say a secret of its own accord. Words of the text as it
    was sent have none, and have to stay what they are."""
    quote = operation.quote
    return replace(
        operation,
        title=clean_text(operation.title),
        content=clean_text(operation.content),
        keys=tuple(map(clean_text, operation.keys)),
        paths=tuple(map(clean_text, operation.paths)),
        quote=quote if any(quote in turn.text for turn in chunk.turns) else clean_text(quote),
    )


def asked(
    ws: Workspace,
    claude: Claude,
    session: str,
    question: Prompt,
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
        is_free = postponing.is_of_the_service(problem) and problem.usage.dollars is None
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


def asked_besides(
    ws: Workspace,
    claude: Claude,
    session: str,
    question: Prompt,
    schema: Mapping[str, Any],
    parse: Callable[[Any], Answered],
) -> Answered | None:
    """The same for what can do without an answer: None when there is none, and who wants to ask next is warned."""
    try:
        return asked(ws, claude, session, question, schema, parse)
    except BudgetSpent:
        return None
    except ExtractError as problem:
        postponing.warn(ws, problem)
        return None


def limits(ws: Workspace) -> Limits:
    """What may be asked of a model on one day."""
    return Limits(ws.settings.daily_calls, ws.settings.daily_usd)
