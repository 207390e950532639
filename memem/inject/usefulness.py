"""Judge after a turn which of the memories it was shown were used."""

from __future__ import annotations

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
from memem.core.errors import Busy
from memem.core.memory import ID8, Memory
from memem.inject import notices
from memem.search import words
from memem.search.query import RARE, Scope, Term
from memem.state.receipts import UNUSED, Receipt
from memem.state.tables import UNUSABLE

if TYPE_CHECKING:
    from memem.transcript.session import TranscriptStep
    from memem.workspace import Workspace


LEAST_WORDS = 3
LEAST_SHARE = 0.5
"""Of a memory's distinctive words so many, and such a part of them, have to stand in the answer: a long answer holds a
few of any memory's."""
TOLD = 3

LONGEST_FILE = 200
"""In characters. What is longer and has no gap is no path, but data."""

_PIECE = re.compile(r"[\w.~/-]+")
_FILE = re.compile(r"[\w.~-]+(?:/[\w.~-]+)*\.\w{1,8}")
_NUMBER = re.compile(r"[\d.,:/-]+")
_WILD = re.compile(r"[*?\[]")
_EVERYWHERE = frozenset(
    """readme.md changelog.md license.md claude.md __init__.py __main__.py main.py conftest.py setup.py pyproject.toml
    package.json package-lock.json tsconfig.json index.js index.ts index.html mod.rs lib.rs main.rs cargo.toml go.mod
    main.go requirements.txt docker-compose.yml config.toml config.json""".split()
)
"""Files that every project has: to change one says nothing."""
_GENERIC = frozenset(
    """add added api app apply argument array async available back base base64 begin behaviour bool branch break
    build call cause change check class clean client code command comment commit config configuration configure correct
    create current data database default define delete dependency deploy detail develop directory docs document
    documentation edit end ensure error event example exist expect extra fail failure false feature field file
    find fine fix folder follow format found function general git good handle happen help implement
    implementation import include index input install instance instead ipv4 ipv6 issue item job key kind large
    last late layer left level library like line list load local log logic main mean merge message method
    migration mode model module move name necessary new next node node_modules none note null number object old
    open option order output package page parameter part pass path place point possible prefer problem process
    project property provide pull push python3 query question read reason refactor release remove rename replace
    report request require response rest result return review right root rule run same save schema script second
    section server service session set setting setup sha256 shell show simple single small source start state
    status step still stop store string support sure system table task team test text thread time title tool true
    turn type unit update user usual utf-8 utf8 value variable version view wait work write written
    wrong x86_64""".split()
)
"""What stands in answers about anything, however rare it may be in a vault."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What came after a memory was shown: the prose, its words as the index spells them, and the files changed.

    `asked` is what the person said: what stands there already needed no memory.
    """

    text: str
    words: Collection[str] = ()
    files: Sequence[str] = ()
    prompts: str = ""


def describe_use(memory: Memory, marks: Sequence[Term], answered: Exchange) -> str:
    """How a memory was used; empty when nothing shows that it was.

    `marks` are the words that tell it from other memories and are not the person's own: rare in the vault.
    """
    return _cited(memory, answered) or _in_files(memory, answered) or _by_words(marks, answered.words)


def _cited(memory: Memory, answered: Exchange) -> str:
    """An id that looks like a word may stand anywhere."""
    id8 = memory.id8
    if len(id8) < ID8 or not any(character.isdigit() for character in id8):
        return ""
    found = re.search(rf"(?<!\w){re.escape(id8)}(?![^\W_])", answered.text)
    return "its id stands in the answer" if found else ""


def _in_files(memory: Memory, answered: Exchange) -> str:
    patterns = [*filter(_says_something, memory.paths), *_files_in(memory.body)]
    for file in answered.files:
        name = file.rpartition("/")[2]
        if name not in answered.prompts and any(_matches(file, pattern) for pattern in patterns):
            return f"{name} was changed, which it is about"
    return ""


def _files_in(text: str) -> list[str]:
    """The files that a text names. It is cut first: to search for them takes long in what has no gaps."""
    pieces = (piece.lstrip("/").rstrip("./-") for piece in _PIECE.findall(text) if len(piece) <= LONGEST_FILE)
    return [piece for piece in pieces if _FILE.fullmatch(piece) and piece.lower() not in _EVERYWHERE]


def _says_something(pattern: str) -> bool:
    """Whether a pattern names a file or a certain folder, and not half of the project."""
    segments = [segment for segment in pattern.split("/") if segment and not _WILD.search(segment)]
    if not _WILD.search(pattern.rpartition("/")[2]):
        return pattern.lower() not in _EVERYWHERE
    return len(segments) >= 2


def _matches(file: str, pattern: str) -> bool:
    """Whether a pattern, which counts from the root of a project, is met by a whole path."""
    return file == pattern or file.endswith(f"/{pattern}") or fnmatchcase(file, f"*/{pattern}")


def _by_words(marks: Sequence[Term], said: Collection[str]) -> str:
    telling = [mark for mark in marks if not is_generic(mark.text)]
    found = [mark for mark in telling if mark.text in said]
    names = [mark for mark in found if _is_a_name(mark)]
    if not names and (len(found) < LEAST_WORDS or len(found) < LEAST_SHARE * len(telling)):
        return ""
    told = ", ".join(mark.text for mark in (names or found)[:TOLD])
    return f"the answer has its words ({told})"


def _is_a_name(mark: Term) -> bool:
    """An identifier that nobody would hit upon; not a mere number, nor a file, which may be met on any way."""
    return mark.literal and not _NUMBER.fullmatch(mark.text) and not _FILE.fullmatch(mark.text)


def is_generic(word: str) -> bool:
    """Whether a word stands in answers about anything, in whatever form."""
    stems = {word.removesuffix(ending) for ending in ("", "s", "es", "d", "ed", "ing", "ly")}
    undoubled = {stem[:-1] for stem in stems if stem[-1:] == stem[-2:-1]}  # running, committed
    return len(word) < 2 or not _GENERIC.isdisjoint(stems | undoubled | {f"{word.removesuffix('ing')}e"})


TAIL_BYTES = 4 * 1024 * 1024
"""Of a transcript so much is read, from its end: a turn, with all that its tools said, is seldom longer."""
SLACK_SECONDS = 5.0
"""A prompt's line in the transcript may bear a time just after that of its receipt."""
PATIENCE_SECONDS = 86_400.0
"""What was shown is judged within a day, or not at all."""
RARE_SHARE = 0.01
"""A word that stands in a larger part of the notes says little about one of them."""


def judge(ws: Workspace, session: str, transcript: Path | None, last_message: str, *, ended: bool = False) -> int:
    """Look after what a session was shown, once its turn has ended; returns how many receipts were judged.

    `last_message` is the end of the answer, which may not be in the transcript yet; of one that is gone it is all there
    is. What cannot be judged waits for the next turn, but not of a session that has `ended`.
    """
    if not ws.home.contexts_file.exists() or ws.is_own_call:
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
    kept.expire_unjudged(now - PATIENCE_SECONDS)
    _tidy_mark(ws)
    return judged


def _tidy_mark(ws: Workspace) -> None:
    """Take the mark away, and put it back when something is left: what comes meanwhile is seen, or marks again."""
    mark = ws.home.shown_unjudged
    with suppress(OSError):
        mark.unlink(missing_ok=True)
        is_any_left = True
        with suppress(Busy):
            is_any_left = ws.contexts.receipts.has_unjudged()
        if is_any_left:
            mark.touch(files.PRIVATE_FILE)


def _tail(transcript: Path, session: str) -> list[TranscriptStep] | None:
    """The end of a transcript, from its first whole line on; None when there is none to be read."""
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
    ws: Workspace, receipt: Receipt, heard: Sequence[TranscriptStep] | None, last_message: str
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
            verdicts[item.id] = describe_use(row.memory, marks, answered) or UNUSED
    return verdicts


def _answered(receipt: Receipt, heard: Sequence[TranscriptStep], last_message: str) -> Exchange:
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
    return Exchange(text.strip(), _spelled(text), tuple(written), "\n".join(asked))


def _unheard(receipt: Receipt, last_message: str) -> Exchange:
    """The same without a transcript: of what was asked there is what the receipt has kept."""
    asked = " ".join(term for item in receipt.items for term in item.terms)
    return Exchange(last_message.strip(), _spelled(last_message), prompts=asked)


def _exchange(receipt: Receipt, heard: Sequence[TranscriptStep]) -> Sequence[TranscriptStep]:
    """From the prompt on that the receipt belongs to, as far as that was read."""
    begun = receipt.time + SLACK_SECONDS
    prompts = [n for n, step in enumerate(heard) if step.line.turn and step.line.turn.role == HUMAN]
    return heard[max((n for n in prompts if _time(heard[n]) <= begun), default=0) :]


def _time(step: TranscriptStep) -> float:
    """When a line was written; one that does not say so is taken for new."""
    moment = dates.moment(step.line.time)
    return moment.timestamp() if moment else float("inf")


def _spelled(text: str) -> frozenset[str]:
    return frozenset(words.index_text(text).split())


def _marks(ws: Workspace, memory: Memory, answered: Exchange) -> list[Term]:
    """The words by which one can tell a memory from others: rare ones, whole ones, and not the person's own."""
    known: Collection[str] = _spelled(answered.prompts)
    text = "\n".join((memory.title, *memory.keys, memory.body))
    found = ws.index.search_words(text, Scope(archive=True), 1)
    most = max(RARE, found.notes * RARE_SHARE)
    return [
        term
        for term, frequency in found.frequencies.items()
        if not term.part and 0 < frequency <= most and term.text not in known
    ]
