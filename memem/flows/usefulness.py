"""After a turn: which of the memories that it was shown were used, and what that counts for from then on."""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import clock, files, plain
from memem.core.errors import Busy
from memem.core.memory import Memory
from memem.core.mining import HUMAN
from memem.core.query import RARE, Scope, Term
from memem.core.receipt import UNUSED, Receipt
from memem.flows import notices
from memem.index import words
from memem.jobs.tables import UNUSABLE
from memem.recall import usefulness
from memem.recall.usefulness import Answered
from memem.workspace import Workspace

if TYPE_CHECKING:  # a prompt that only wants to know how memories fared reads no transcript
    from memem.transcript.delta import Step

TAIL_BYTES = 4 * 1024 * 1024
"""Of a transcript so much is read, from its end: a turn, with all that its tools said, is seldom longer."""
SLACK_SECONDS = 5.0
"""A prompt's line in the transcript may bear a time just after that of its receipt."""
PATIENCE_SECONDS = 86_400.0
"""What was shown is judged within a day, or not at all."""
RARE_SHARE = 0.01
"""A word that stands in a larger part of the notes says little about one of them."""


@dataclass(frozen=True, slots=True)
class Usefulness:
    """How often a memory's use was judged, how often it was used, and what that counts in ranking."""

    shown: int = 0
    used: int = 0
    multiplier: float = 1.0


UNSEEN = Usefulness()


def judge(ws: Workspace, session: str, transcript: Path | None, last_message: str, *, ended: bool = False) -> int:
    """Look after what a session was shown, once its turn has ended; returns how many receipts were judged.

    `last_message` is the end of the answer, which may not be in the transcript yet; of one that is gone it is all there
    is. What cannot be judged waits for the next turn, but not of a session that has `ended`.
    """
    if not ws.home.contexts_file.exists() or ws.is_a_call_of_ours:
        return 0
    try:
        return _judge(ws, session, transcript, last_message, ended=ended)
    except UNUSABLE as problem:
        if not isinstance(problem, Busy):  # else the next turn that ends tries again
            files.remove_quietly(ws.home.shown_unjudged)
        return 0


def _judge(ws: Workspace, session: str, transcript: Path | None, last_message: str, *, ended: bool) -> int:
    kept, now = ws.contexts.receipts, ws.clock().timestamp()
    waiting = kept.unjudged(session)
    heard = _tail(transcript, session) if waiting and transcript else None
    judged = 0
    for receipt in waiting:
        verdicts = _verdicts(ws, receipt, heard, last_message)
        if verdicts is None and (heard is None or ended):
            verdicts = {}
        if verdicts is not None:
            kept.mark_used(receipt.number, verdicts, now)
            used = [item.title for item in receipt.items if item.title and verdicts.get(item.id, UNUSED) != UNUSED]
            notices.announce_used(ws, used, session=session)
            judged += 1
    kept.give_up(now - PATIENCE_SECONDS)
    _tidy_mark(ws)
    return judged


def factors(ws: Workspace, ids: Sequence[str]) -> dict[str, float]:
    """What the use of memories counts in their ranking; of those without any, nothing."""
    return {identity: usefulness.multiplier(*counted) for identity, counted in tally(ws, ids).items()}


def of_memory(ws: Workspace, identity: str) -> Usefulness:
    """How one memory fared."""
    counted = tally(ws, [identity]).get(identity, (0, 0))
    return Usefulness(*counted, round(usefulness.multiplier(*counted), 4))


def tally(ws: Workspace, ids: Sequence[str]) -> Mapping[str, tuple[int, int]]:
    """Of each memory, how often its use was judged, and how often it was used; nothing of the others."""
    if ids and ws.home.contexts_file.exists():
        with suppress(*UNUSABLE):
            return ws.contexts.receipts.tally(ids)
    return {}


def prompts(ws: Workspace) -> list[tuple[str, float]]:
    """The project and the time of every prompt of which a receipt is kept, the oldest first."""
    if ws.home.contexts_file.exists():
        with suppress(*UNUSABLE):
            return ws.contexts.receipts.prompts()
    return []


def _tidy_mark(ws: Workspace) -> None:
    """Take the mark away, and put it back when something is left: what comes meanwhile is seen, or marks again."""
    mark = ws.home.shown_unjudged
    with suppress(OSError):
        mark.unlink(missing_ok=True)
        is_any_left = True
        with suppress(Busy):
            is_any_left = ws.contexts.receipts.is_any_unjudged()
        if is_any_left:
            mark.touch(files.PRIVATE_FILE)


def _tail(transcript: Path, session: str) -> "list[Step] | None":
    """The end of a transcript, from its first whole line on; None when there is none to be read."""
    from memem.transcript.delta import steps

    try:
        with plain.open_plain(transcript) as file:
            start = max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES)
            if start:
                file.seek(start)
                start += len(file.readline())
            return list(steps(file, start, session))
    except (OSError, ValueError):  # gone, or not the name of a file
        return None


def _verdicts(
    ws: Workspace, receipt: Receipt, heard: Sequence["Step"] | None, last_message: str
) -> dict[str, str] | None:
    """How each memory of a receipt was used; None as long as nothing was answered."""
    answered = _unheard(receipt, last_message) if heard is None else _answered(receipt, heard, last_message)
    if not answered.text and not answered.files:
        return None
    verdicts = {}
    for item in receipt.to_judge:
        row = next(iter(ws.index.rows("id = ?", (item.id,))), None)
        if row and row.memory:  # else it was forgotten meanwhile
            marks = _marks(ws, row.memory, answered)
            verdicts[item.id] = usefulness.used(row.memory, marks, answered) or UNUSED
    return verdicts


def _answered(receipt: Receipt, heard: Sequence["Step"], last_message: str) -> Answered:
    """What was said and done since a receipt, and what was asked before and since."""
    exchange = _exchange(receipt, heard)
    turns = [(step.line.turn, _time(step)) for step in exchange if step.line.turn]
    asked = [turn.text for turn, _ in turns if turn.role == HUMAN]
    said = [turn.text for turn, time in turns if turn.role != HUMAN and time >= receipt.time - SLACK_SECONDS]
    works = [step.line.work for step in exchange if step.line.work and _time(step) >= receipt.time - SLACK_SECONDS]
    text = "\n".join(said)
    if last_message.strip() not in text:
        text = f"{text}\n{last_message}"
    written = dict.fromkeys(file for work in works for file in work.written)
    return Answered(text.strip(), _spelled(text), tuple(written), "\n".join(asked))


def _unheard(receipt: Receipt, last_message: str) -> Answered:
    """The same without a transcript: of what was asked there is what the receipt has kept."""
    asked = " ".join(term for item in receipt.items for term in item.terms)
    return Answered(last_message.strip(), _spelled(last_message), asked=asked)


def _exchange(receipt: Receipt, heard: Sequence["Step"]) -> Sequence["Step"]:
    """From the prompt on that the receipt belongs to, as far as that was read."""
    begun = receipt.time + SLACK_SECONDS
    prompts = [n for n, step in enumerate(heard) if step.line.turn and step.line.turn.role == HUMAN]
    return heard[max((n for n in prompts if _time(heard[n]) <= begun), default=0) :]


def _time(step: "Step") -> float:
    """When a line was written; one that does not say so is taken for new."""
    moment = clock.moment(step.line.time)
    return moment.timestamp() if moment else float("inf")


def _spelled(text: str) -> frozenset[str]:
    return frozenset(words.indexed(text).split())


def _marks(ws: Workspace, memory: Memory, answered: Answered) -> list[Term]:
    """The words by which one can tell a memory from others: rare ones, whole ones, and not the person's own."""
    known: Collection[str] = _spelled(answered.asked)
    text = "\n".join((memory.title, *memory.keys, memory.body))
    found = ws.index.keywords(text, Scope(archive=True), 1)
    most = max(RARE, found.notes * RARE_SHARE)
    return [
        term
        for term, frequency in found.frequencies.items()
        if not term.part and 0 < frequency <= most and term.text not in known
    ]
