"""Tell a person's and Claude's own words from tool output and pasted text."""

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, filterfalse, pairwise
from pathlib import Path
from typing import BinaryIO

from memem.core import safe_open
from memem.core.conversation import ANSWER, ASSISTANT, HUMAN, PLAN, QUEUED, Chunk, Turn
from memem.mine.proof import approvals
from memem.safety.folding import LOOK_ALIKE
from memem.safety.invisible import neutralise
from memem.transcript import backwards, session
from memem.transcript.readings import list_readings
from memem.transcript.turns import TranscriptLine
from memem.transcript.utterances import APPROVED_PLAN

MAX_CHARS_OF_ONE = 1_000_000  # more than Claude is shown
MAX_CHARS = 1_000_000  # of output before the place where a reading begins
MAX_RUNS = 75_000  # in a generation of the latest output: two have about a million characters
READ_BACK_BYTES = 64_000_000  # in which that output is looked for: images have no words
MAX_SIBLINGS = 3  # latest sessions of the same folder
SIBLING_CHARS, SIBLING_BYTES = 400_000, 16_000_000  # how much of each is read
RUN_WORDS = {"human": 10, "assistant": 6}  # in a row that are not equal by chance; a person may retype a file's words
WHOLE_WORDS = RUN = 5  # of a whole sentence that is not equal by chance; every comparison is made of such runs
MAX_TYPED_CHARS = 6_000  # in a longer message only the first and last paragraph were typed

_CJK = r"\u3040-\u30ff\u3400-\u9fff"  # a word per character
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+(?:[\u0300-\u036f]+[^\W_{_CJK}]*)*")
_IDEOGRAPH = re.compile(rf"[{_CJK}]")
_SENTENCE_END = re.compile(r"""[\n。！？；："“”„«»「」]|[.!?;:][^\w\s]*\s""")
_QUOTED = re.compile(r"(?:^[ \t]*>.*\n?)+", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s*\n")
_PATH = re.compile(r"\S*\w[/\\]\S*")  # also an address: a tool's spelling of it makes a person's rule no tool's
_IMAGE_DATA = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{4096,}")  # has no words
_ESCAPED_SPACE = re.compile(r"\\[nrt]")  # in JSON that a tool printed
_SIGNS = re.compile("[\u00a0-\u00bf\u2010-\u2bff\ufffd]")  # punctuation, arrows, boxes: most of what is not ASCII
_LETTERS = bytes(
    code + 32 if chr(code) in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" else code if chr(code).isalnum() and code < 128 else 32
    for code in range(256)
)


class _RecentRuns:
    """The runs of words in the latest texts: those of a generation that fills up, and of the one before."""

    def __init__(self) -> None:
        self._new: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, run: int) -> bool:
        return run in self._new or run in self._old

    def add(self, text: str, others: "_RecentRuns", same_line: Iterable[str] = ()) -> None:
        """Add the runs of a text, except those that are known as others'."""
        if len(self._new) > MAX_RUNS:
            self._new, self._old = set(), self._new
        text = _drop_middle(text)
        for reading in chain((text,), list_readings(text, same_line)):
            runs = _runs(_words(reading))
            for known in filter(None, (others._new, others._old)):
                runs = filterfalse(known.__contains__, runs)
            self._new.update(runs)


class Origins:
    """The words of a session by their first speaker, to recognise turns and statements that repeat a tool."""

    def __init__(self) -> None:
        self._output = _RecentRuns()
        self._own = _RecentRuns()  # a person's, and those that Claude gave a tool, which prints them again
        self._reply: Turn | None = None  # Claude's last, until a person answers
        self._answered: Turn | None = None  # the one before a person's latest words
        self.is_cut = False  # earlier output could not be read as far as it matters

    def follow(self, line: TranscriptLine) -> None:
        """Record whose words a line of the session has."""
        self.add_output(line.output)
        for text in line.inputs:
            self._own.add(text, self._output)
        if line.turn and line.turn.role == HUMAN and not line.is_sdk:
            self._own.add(_without(line.turn.text, pasted(line.turn.text)), self._output)
        if line.turn and line.turn.role == HUMAN and not line.turn.place.startswith("/"):
            self._answered, self._reply = self._reply, None  # what they say next, without a reply, is about their words
        if line.turn and line.turn.role == ASSISTANT:
            self._reply = line.turn

    def add_output(self, texts: Sequence[str]) -> None:
        for text in texts:
            self._output.add(text, self._own, texts)

    def find_proposal(self, turn: Turn) -> str:
        """Return Claude's words that a person's turn, the last one that was followed, approves or chooses."""
        is_prompt = turn.role == HUMAN and turn.place in ("", QUEUED)
        if not is_prompt or turn.proposal or not self._answered or self._answered.session != turn.session:
            return turn.proposal
        return approvals.find_proposal(turn.text, self._answered.text)

    def mark(self, turn: Turn) -> Turn:
        """Return a turn with those of its parts that a tool has output before, or that were pasted."""
        is_person = turn.role == HUMAN
        repeats = self.repeated(turn.text, RUN_WORDS[turn.role], whole=is_person)
        if turn.proposal:
            repeats += self.repeated(turn.proposal, RUN_WORDS[ASSISTANT])
        untyped = (*pasted(turn.text), *_find_labels(turn)) if is_person else ()
        return replace(turn, repeats=repeats, pasted=untyped)

    def repeated(self, text: str, least: int, *, whole: bool = True) -> tuple[str, ...]:
        """Return the parts of a text that a tool has output: runs of words, and sentences as a `whole`."""
        words = list(_WORD.finditer(_blank(text)))
        hits = [run in self._output for run in _runs([_fold(word.group()) for word in words])]
        spans = [(start, end) for start, end in _stretches(hits) if end - start >= least]
        if whole and any(hits):
            gaps = [_SENTENCE_END.search(text, one.end(), other.start()) for one, other in pairwise(words)]
            starts = [0, *(place for place, gap in enumerate(gaps, 1) if gap), len(words)]
            spans += [(s, e) for s, e in pairwise(starts) if e - s >= WHOLE_WORDS and all(hits[s : e - RUN + 1])]
        return tuple(dict.fromkeys(text[words[start].start() : words[end - 1].end()] for start, end in spans))

    def is_output(self, statement: Sequence[str], turns: Iterable[Turn]) -> bool:
        """Whether a statement repeats a tool where no person's own words in these turns do."""
        spoken = (select_own_words(turn) for turn in turns if turn.role == HUMAN)
        own = {run for text in spoken for run in _runs(_words(text))}
        for text in statement:
            for part in self.repeated(_PATH.sub(" … ", text), RUN_WORDS["assistant"]):
                weight = len(_words(part)) - len(_IDEOGRAPH.findall(part)) / 2
                if weight >= WHOLE_WORDS and not own.issuperset(_runs(_words(part))):
                    return True
        return False


def read_back(file: BinaryIO, end: int, session_id: str, siblings: Iterable[Path] = ()) -> Origins:
    """Collect the origins of words before a place in a session file, and in earlier sessions that matter."""
    origins, lines, left = Origins(), list[TranscriptLine](), MAX_CHARS
    left -= _read_lines(lines, file, end, READ_BACK_BYTES, session_id, left)
    origins.is_cut = left >= 0 and end > READ_BACK_BYTES
    for path in siblings:
        if left > 0:
            with suppress(OSError, ValueError), safe_open.open_plain(path) as other:
                size = os.fstat(other.fileno()).st_size
                left -= _read_lines(lines, other, size, SIBLING_BYTES, path.stem, min(left, SIBLING_CHARS))
    for line in reversed(lines):
        origins.follow(line)
    return origins


def _read_lines(
    lines: list[TranscriptLine], file: BinaryIO, end: int, most_bytes: int, session_id: str, left: int
) -> int:
    """Append lines, the last one first, until there is enough output; return how much."""
    chars = 0
    for line in backwards.read_back(file, end, most_bytes, session_id):
        lines.append(line)
        chars += sum(min(len(text), MAX_CHARS_OF_ONE) for text in line.output)
        if chars > left:
            break
    return chars


def list_siblings(path: Path) -> list[Path]:
    """List the latest other sessions of a session's folder: what one shows may be pasted into the next."""
    dated = list[tuple[float, Path]]()
    for other in path.parent.glob("*.jsonl"):
        with suppress(OSError):  # deleted meanwhile
            dated += [(other.stat().st_mtime, other)] if other != path else []
    return [other for _, other in sorted(dated, reverse=True)[:MAX_SIBLINGS]]


def read_origins(chunk: Chunk) -> Origins | None:
    """Collect the origins of words up to the end of a chunk; None if its transcript is gone or was rewritten."""
    path = Path(chunk.path)
    with suppress(OSError, ValueError), safe_open.open_plain(path) as file:
        if session.start_of(file, chunk.cursor) == chunk.offset:
            return read_back(file, chunk.offset, chunk.session, list_siblings(path))
    return None


def select_own_words(turn: Turn) -> str:
    """Return a turn without its repeated and pasted parts."""
    return _without(turn.text, (*turn.repeats, *turn.pasted))


def pasted(text: str) -> tuple[str, ...]:
    """Return the parts of a person's message that are not their own words."""
    parts = [match.group() for pattern in (approvals.FENCE, _QUOTED) for match in pattern.finditer(text)]
    if len(text) > MAX_TYPED_CHARS:
        parts += _PARAGRAPH.split(text)[1:-1]
    return tuple(part.strip() for part in parts if part.strip())


def _drop_middle(text: str) -> str:
    """Drop image data from a long text, and the middle of a very long one, which nobody is shown."""
    if len(text) > MAX_CHARS_OF_ONE // 50:
        text = _IMAGE_DATA.sub(" ", text)
    half = MAX_CHARS_OF_ONE // 2
    return text if len(text) <= MAX_CHARS_OF_ONE else f"{text[:half]}\n{text[-half:]}"


def _find_labels(turn: Turn) -> tuple[str, ...]:
    """Return the labels of chosen options in an answer, and the approval of a plan, which Claude Code words."""
    offered = APPROVED_PLAN if turn.place == PLAN else turn.proposal if turn.place == ANSWER else ""
    parts = map(str.strip, re.split(r"\n|, ", turn.text))
    return tuple(part for part in parts if part and part.casefold() in offered.casefold())


def _without(text: str, parts: Iterable[str]) -> str:
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, "\n")
    return text


def _stretches(hits: Sequence[bool]) -> list[tuple[int, int]]:
    """Return the first word and the end of each row of hits."""
    edges = [place for place, (one, other) in enumerate(pairwise((False, *hits, False))) if one != other]
    return [(start, end + RUN - 1) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def _words(text: str) -> list[bytes]:
    text = _blank(neutralise(text)[0])
    if text.isascii():
        return text.encode().translate(_LETTERS).split()  # four times as fast
    return [_fold(word) for word in _WORD.findall(text)]


def _blank(text: str) -> str:
    """Replace escaped white space and signs by spaces, in place."""
    if "\\" in text:
        text = _ESCAPED_SPACE.sub("  ", text)
    return text if text.isascii() else _SIGNS.sub(" ", text)


def _fold(word: str) -> bytes:
    if word.isascii():
        return word.lower().encode()
    return unicodedata.normalize("NFKC", word).casefold().translate(LOOK_ALIKE).encode("utf-8", "replace")


def _runs(words: Sequence[bytes]) -> Iterable[int]:
    return map(hash, zip(*(words[start:] for start in range(RUN)), strict=False))
