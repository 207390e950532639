"""Judge after a turn which of the memories it was shown were used."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import dates, files, safe_open
from memem.core.conversation import HUMAN
from memem.core.data_files import load_table
from memem.core.errors import Busy
from memem.core.memory import ID8, Memory
from memem.inject import notices
from memem.search.fulltext import index_text
from memem.search.query import RARE, Scope, Term
from memem.state.receipts import UNUSED, Receipt
from memem.state.tables import UNUSABLE

if TYPE_CHECKING:
    from memem.transcript.session import TranscriptStep
    from memem.workspace import Workspace


# So many of a memory's distinctive words, and such a share, must be in the answer: a long one has a few of any memory.
MIN_WORDS = 3
MIN_SHARE = 0.5
MAX_NAMED_WORDS = 3  # in the explanation
MAX_PATH_CHARS = 200  # a longer run without a gap is data, not a path
TAIL_BYTES = 4 * 1024 * 1024  # read from the end of a transcript: a turn with its tools' output is seldom longer
SLACK_SECONDS = 5.0  # a prompt's line in the transcript may be dated just after its receipt
PATIENCE_SECONDS = 86_400.0  # memories are judged within a day, or not at all
RARE_SHARE = 0.01  # a word in a larger share of the notes says little about one of them

_PIECE = re.compile(r"[\w.~/-]+")
_FILE = re.compile(r"[\w.~-]+(?:/[\w.~-]+)*\.\w{1,8}")
_NUMBER = re.compile(r"[\d.,:/-]+")
_WILD = re.compile(r"[*?\[]")
_WORDS = load_table(__file__, "usefulness.toml")
_COMMON_FILES = frozenset(_WORDS["common_files"].split())
_GENERIC = frozenset(_WORDS["generic_words"].split())


@dataclass(frozen=True, slots=True)
class Exchange:
    """The answer after a memory was shown, its words as the index spells them, the files changed, and the prompts."""

    text: str
    words: Collection[str] = ()
    files: Sequence[str] = ()
    prompts: str = ""


def describe_use(memory: Memory, marks: Sequence[Term], answered: Exchange) -> str:
    """Say how a memory was used; empty without evidence. `marks` are rare words of it that the person did not use."""
    # Without a digit an id may be a word.
    is_unmistakable = len(memory.id8) >= ID8 and any(character.isdigit() for character in memory.id8)
    if is_unmistakable and re.search(rf"(?<!\w){re.escape(memory.id8)}(?![^\W_])", answered.text):
        return "its id is in the answer"
    return _use_by_files(memory, answered) or _use_by_words(marks, answered.words)


def _use_by_files(memory: Memory, answered: Exchange) -> str:
    patterns = [*filter(_is_specific, memory.paths), *_files_in(memory.body)]
    for file in answered.files:
        name = file.rpartition("/")[2]
        # An absolute path is compared with patterns relative to the project's root.
        if name not in answered.prompts and any(
            file == pattern or file.endswith(f"/{pattern}") or fnmatchcase(file, f"*/{pattern}") for pattern in patterns
        ):
            return f"{name}, which it is about, was changed"
    return ""


def _files_in(text: str) -> list[str]:
    """Return the files that a text names; it is split first, because matching is slow in text without gaps."""
    pieces = (piece.lstrip("/").rstrip("./-") for piece in _PIECE.findall(text) if len(piece) <= MAX_PATH_CHARS)
    return [piece for piece in pieces if _FILE.fullmatch(piece) and piece.lower() not in _COMMON_FILES]


def _is_specific(pattern: str) -> bool:
    """Whether a pattern names a file or a certain folder, not half of the project."""
    if not _WILD.search(pattern.rpartition("/")[2]):
        return pattern.lower() not in _COMMON_FILES
    return sum(bool(segment) and not _WILD.search(segment) for segment in pattern.split("/")) >= 2


def _use_by_words(marks: Sequence[Term], answer: Collection[str]) -> str:
    distinctive = [mark for mark in marks if not is_generic(mark.text)]
    used = [mark for mark in distinctive if mark.text in answer]
    # Identifiers: not numbers, nor files, which Claude may have found itself.
    names = [
        mark for mark in used if mark.literal and not _NUMBER.fullmatch(mark.text) and not _FILE.fullmatch(mark.text)
    ]
    if not names and (len(used) < MIN_WORDS or len(used) < MIN_SHARE * len(distinctive)):
        return ""
    examples = ", ".join(mark.text for mark in (names or used)[:MAX_NAMED_WORDS])
    return f"the answer uses its words ({examples})"


def is_generic(word: str) -> bool:
    """Whether a word, in any form, occurs in answers about anything."""
    stems = {word.removesuffix(ending) for ending in ("", "s", "es", "d", "ed", "ing", "ly")}
    undoubled = {stem[:-1] for stem in stems if stem[-1:] == stem[-2:-1]}  # running, committed
    return len(word) < 2 or not _GENERIC.isdisjoint(stems | undoubled | {f"{word.removesuffix('ing')}e"})


def judge(ws: Workspace, session: str, transcript: Path | None, last_message: str, *, ended: bool = False) -> int:
    """Judge what a session was shown in a turn that ended with `last_message`; return how many receipts were judged."""
    if ws.home.contexts_file.exists() and not ws.is_own_call:
        try:
            return _judge(ws, session, transcript, last_message, ended=ended)
        except Busy:
            pass  # the next turn that ends tries again
        except UNUSABLE:
            files.remove_quietly(ws.home.shown_unjudged)
    return 0


def _judge(ws: Workspace, session: str, transcript: Path | None, last_message: str, *, ended: bool) -> int:
    kept, now = ws.contexts.receipts, ws.clock().timestamp()
    waiting = kept.unjudged(session)
    transcript_steps = _tail(transcript, session) if waiting and transcript else None
    judged = 0
    for receipt in waiting:
        verdicts = _verdicts(ws, receipt, transcript_steps, last_message)
        # A receipt that cannot be judged waits for the next turn, unless the session has ended.
        if verdicts is not None or transcript_steps is None or ended:
            verdicts = verdicts or {}
            kept.mark_used(receipt.number, verdicts, now)
            used = [item.title for item in receipt.items if item.title and verdicts.get(item.id, UNUSED) != UNUSED]
            notices.announce_used(ws, used, session=session)
            judged += 1
    kept.expire_unjudged(now - PATIENCE_SECONDS)
    # Remove the mark, and put it back if something is left; receipts that come meanwhile are seen, or mark again.
    with suppress(OSError):
        ws.home.shown_unjudged.unlink(missing_ok=True)
        is_any_left = True
        with suppress(Busy):
            is_any_left = kept.has_unjudged()
        if is_any_left:
            ws.home.shown_unjudged.touch(files.PRIVATE_FILE)
    return judged


def _tail(transcript: Path, session: str) -> list[TranscriptStep] | None:
    """Return the end of a transcript, from its first whole line on; None if it cannot be read."""
    from memem.transcript.session import steps

    try:
        with safe_open.open_plain(transcript) as file:
            start = max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES)
            if start:
                file.seek(start)
                start += len(file.readline())
            return list(steps(file, start, session))
    except (OSError, ValueError):  # gone, or not the name of a file
        return None


def _verdicts(
    ws: Workspace, receipt: Receipt, transcript_steps: Sequence[TranscriptStep] | None, last_message: str
) -> dict[str, str] | None:
    """Say how each memory of a receipt was used; None as long as there is no answer."""
    if transcript_steps is None:  # the receipt has a few words of the prompt
        asked = " ".join(term for item in receipt.items for term in item.terms)
        answered = Exchange(last_message.strip(), _spelled(last_message), prompts=asked)
    else:
        answered = _exchange_since(receipt, transcript_steps, last_message)
    if not answered.text and not answered.files:
        return None
    verdicts = {}
    for item in receipt.to_judge:
        row = next(iter(ws.index.rows("id = ?", (item.id,))), None)
        if row and row.memory:  # else it was forgotten meanwhile
            marks = _marks(ws, row.memory, answered)
            verdicts[item.id] = describe_use(row.memory, marks, answered) or UNUSED
    return verdicts


def _exchange_since(receipt: Receipt, transcript_steps: Sequence[TranscriptStep], last_message: str) -> Exchange:
    # From the prompt that the receipt belongs to, as far as the transcript was read.
    prompts = [n for n, step in enumerate(transcript_steps) if step.line.turn and step.line.turn.role == HUMAN]
    latest = receipt.time + SLACK_SECONDS
    exchange = transcript_steps[max((n for n in prompts if _time(transcript_steps[n]) <= latest), default=0) :]
    turns = [(step.line.turn, _time(step)) for step in exchange if step.line.turn]
    asked = [turn.text for turn, _ in turns if turn.role == HUMAN]
    said = [turn.text for turn, time in turns if turn.role != HUMAN and time >= receipt.time - SLACK_SECONDS]
    works = [step.line.work for step in exchange if step.line.work and _time(step) >= receipt.time - SLACK_SECONDS]
    text = "\n".join(said)
    if last_message.strip() not in text:  # it may not be in the transcript yet
        text = f"{text}\n{last_message}"
    written = dict.fromkeys(file for work in works for file in work.written)
    return Exchange(text.strip(), _spelled(text), tuple(written), "\n".join(asked))


def _time(step: TranscriptStep) -> float:
    moment = dates.moment(step.line.time)
    return moment.timestamp() if moment else math.inf  # a line without a date counts as new


def _spelled(text: str) -> frozenset[str]:
    return frozenset(index_text(text).split())


def _marks(ws: Workspace, memory: Memory, answered: Exchange) -> list[Term]:
    """Return the words that distinguish a memory: rare ones, whole ones, and not the person's own."""
    prompt_words = _spelled(answered.prompts)
    text = "\n".join((memory.title, *memory.keys, memory.body))
    found = ws.index.search_words(text, Scope(archive=True), 1)
    most = max(RARE, found.notes * RARE_SHARE)
    return [
        term
        for term, frequency in found.frequencies.items()
        if not term.part and 0 < frequency <= most and term.text not in prompt_words
    ]
