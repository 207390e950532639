"""Have the model look at what comparison takes for a contradiction: in one call, after mining, within the budget.

What it calls compatible is related from then on. Without a model a contradiction stays what it is: found, and listed.
"""

from contextlib import suppress

from memem.core.errors import NoteError
from memem.core.memory import Entry
from memem.core.validity import is_in_force
from memem.extract import contradiction
from memem.flows import conflicts, editing, extraction, links
from memem.jobs.suspicions import COMPATIBLE, Suspicion
from memem.workspace import Workspace

MOST_PAIRS = 8
Pair = tuple[Suspicion, Entry, Entry]


def confirm(ws: Workspace, session: str) -> int:
    """Ask about the pairs that wait; how many were judged. Whatever fails is tried again, a few times, later."""
    claude = ws.claude() if ws.settings.extractor == "claude" else None
    waiting = ws.state.suspicions.waiting(MOST_PAIRS) if claude else []
    pairs = [pair for pair in (_pair(ws, each) for each in waiting) if pair]
    if not claude or not pairs or ws.state.ledger.used_up(ws.today(), extraction.limits(ws)):
        return 0
    ws.state.suspicions.tried([suspicion for suspicion, _, _ in pairs])
    question = contradiction.build([(one.memory, other.memory) for _, one, other in pairs])
    verdicts = extraction.asked_besides(ws, claude, session, question, contradiction.SCHEMA, contradiction.parse) or {}
    for number, pair in enumerate(pairs, 1):
        if number in verdicts:
            _judge(ws, pair, *verdicts[number])
    return len(verdicts)


def _pair(ws: Workspace, suspicion: Suspicion) -> Pair | None:
    """The two memories, the earlier first; None when the question has gone: one of them has changed, or is no more."""
    found = list(links.followed(ws, (suspicion.one, suspicion.other)))
    if len(found) == 2 and conflicts.pair_of(found[0].memory, found[1].memory).said == suspicion.said:
        one, other = sorted(found, key=lambda entry: (entry.memory.valid_from or entry.memory.created, entry.id))
        if is_in_force(one.memory, ws.clock()) and is_in_force(other.memory, ws.clock()):
            return suspicion, one, other
    ws.state.suspicions.forget_pair(suspicion)
    return None


def _judge(ws: Workspace, pair: Pair, verdict: str, why: str) -> None:
    suspicion, *entries = pair
    if verdict == COMPATIBLE:
        for entry, beside in (entries, entries[::-1]):
            _relate(ws, entry, beside)
    ws.state.suspicions.judge(suspicion, verdict, why)


def _relate(ws: Workspace, entry: Entry, beside: Entry) -> None:
    """In a machine's note; beside a person's the verdict alone counts."""
    memory = entry.memory
    left = tuple(link for link in memory.contradicts if not beside.is_named_by(link))
    if left != memory.contradicts:
        related = tuple(dict.fromkeys((*memory.related, beside.link)))
        with suppress(NoteError):  # somebody is at it
            editing.revise(ws, entry.id, why="the model says that both hold", contradicts=left, related=related)
