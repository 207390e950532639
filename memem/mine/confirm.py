"""Ask the model about suspected contradictions after mining; pairs that it calls compatible become related."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.core.conversation import OWN_CALL
from memem.core.dates import get_said_day, get_said_time, is_in_force
from memem.core.errors import NoteError, NotSchema
from memem.core.memory import Entry, Memory
from memem.mine import ask
from memem.mine.prompt import TEXT, ModelPrompt, strict_object
from memem.notes import conflicts, write
from memem.safety.naming import display_name
from memem.safety.quote import escape_brackets
from memem.search.graph import read
from memem.state.suspicions import COMPATIBLE, CONTRADICT, Suspicion

if TYPE_CHECKING:
    from memem.workspace import Workspace

QUESTION_VERSION = 1
VERDICTS = (CONTRADICT, COMPATIBLE)
INSTRUCTION = "Which of the pairs on standard input contradict each other?"
MEMORY_CHARACTERS = 600
WHY_CHARACTERS = 200
MAX_PAIRS = 8
_PAIR = strict_object(number={"type": "integer", "minimum": 1}, verdict={**TEXT, "enum": list(VERDICTS)}, why=TEXT)
SCHEMA: Mapping[str, Any] = strict_object(pairs={"type": "array", "items": _PAIR})
Pair = tuple[Suspicion, Entry, Entry]


# Read at import, since an update may remove this folder while a miner runs.
_SYSTEM = Path(__file__).with_name("contradiction.md").read_text(encoding="utf-8")


def build_question(pairs: Sequence[tuple[Memory, Memory]]) -> ModelPrompt:
    """Build the question about some pairs, the earlier memory of each first."""
    blocks = [
        f"<pair number={number}>\n{_memory(one)}\n{_memory(other)}\n</pair>"
        for number, (one, other) in enumerate(pairs, 1)
    ]
    text = "\n".join([f"{OWN_CALL} version {QUESTION_VERSION}", "", *blocks])
    return ModelPrompt(_SYSTEM, INSTRUCTION, text + "\n", SCHEMA)


def parse_verdicts(answer: Any) -> dict[int, tuple[str, str]]:
    """Return each pair's verdict and reason by number; raises NotSchema."""
    if not isinstance(answer, dict) or not isinstance(answer.get("pairs"), list):
        raise NotSchema("The answer has no `pairs` list.")
    verdicts = {}
    for each in answer["pairs"]:
        number, verdict = (each.get("number"), each.get("verdict")) if isinstance(each, dict) else (None, None)
        if type(number) is not int or verdict not in VERDICTS:
            raise NotSchema(f"A pair has no number, or its verdict is not one of {', '.join(VERDICTS)}.")
        why = " ".join(str(each.get("why", "")).encode("utf-8", "replace").decode().split())
        verdicts[number] = (verdict, why[:WHY_CHARACTERS])
    return verdicts


def _memory(memory: Memory) -> str:
    text = " ".join(memory.body.split())[:MEMORY_CHARACTERS]
    return escape_brackets(
        f"- {get_said_day(memory)} ({memory.kind}, {display_name(memory.project)}) {memory.title}: {text}"
    )


def confirm(ws: Workspace, session: str) -> int:
    """Ask about waiting pairs; return how many were judged. Failures are retried later, a few times."""
    model = ws.model()
    waiting = ws.state.suspicions.waiting(MAX_PAIRS) if model else []
    pairs = [pair for pair in (_pair(ws, each) for each in waiting) if pair]
    if not model or not pairs or ws.state.ledger.limit_reached(ws.today(), ask.limits(ws)):
        return 0
    ws.state.suspicions.count_try([suspicion for suspicion, _, _ in pairs])
    question = build_question([(one.memory, other.memory) for _, one, other in pairs])
    verdicts = ask.try_model(ws, model, session, question, parse_verdicts) or {}
    for number, (suspicion, *entries) in enumerate(pairs, 1):
        verdict, why = verdicts.get(number, ("", ""))
        if verdict == COMPATIBLE:
            for entry, other in (entries, entries[::-1]):
                _relate(ws, entry, other)
        if verdict:
            ws.state.suspicions.judge(suspicion, verdict, why)
    return len(verdicts)


def _pair(ws: Workspace, suspicion: Suspicion) -> Pair | None:
    """Return the two memories, the earlier first; None if one of them has changed or is gone."""
    zone = ws.clock().tzinfo
    entries = list(read.resolve_links(ws, (suspicion.one, suspicion.other)))
    if len(entries) == 2 and conflicts.pair_of(*(each.memory for each in entries)).statements == suspicion.statements:
        one, other = sorted(entries, key=lambda entry: (get_said_time(entry.memory, zone) or 0.0, entry.id))
        if is_in_force(one.memory, ws.clock()) and is_in_force(other.memory, ws.clock()):
            return suspicion, one, other
    ws.state.suspicions.forget_pair(suspicion)
    return None


def _relate(ws: Workspace, entry: Entry, other: Entry) -> None:
    """Replace the contradiction in a machine's note by a relation; for a person's note the verdict is enough."""
    memory = entry.memory
    left = tuple(link for link in memory.contradicts if not other.is_named_by(link))
    if left != memory.contradicts:
        related = tuple(dict.fromkeys((*memory.related, other.link)))
        with suppress(NoteError):  # it is being edited
            write.revise(ws, entry.id, why="the model found them compatible", contradicts=left, related=related)
