"""Find the JSON objects of a transcript, whatever state it is in.

Real transcripts have two objects on a line, objects over many lines, lines torn by a crash, NULs and invalid UTF-8.
Every whole object is found; an unfinished one is left for a later reading, which may begin behind any object.
"""

import json
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

MAX_DEPTH = 100  # deeper than any line of a transcript
# A string without an `end` is torn. No possessive groups: Python 3.11.2 matches them wrongly.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?P<end>"?)|[{}\[\]]|[^\s"{}\[\]]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Nesting:
    """The open brackets of an object after some rows, each with the number of its row."""

    open: bytes = b""
    since: tuple[int, ...] = ()
    last: bytes = b""  # the last character that is no space
    rows: int = 0
    broken: bool = False

    def after(self, row: bytes) -> "Nesting":
        """Return the state after one more row, or where the object is closed or can no longer be JSON."""
        brackets, since, last = self.open, self.since, self.last
        for match in _TOKEN.finditer(row):
            token = match.group()
            if match["end"] == b"" or not _may_stand(token, brackets, last):
                return Nesting(brackets, since, last, self.rows + 1, broken=True)
            if token in (b"{", b"["):
                brackets, since = brackets + token, (*since, self.rows)
            elif token in (b"}", b"]"):
                brackets, since = brackets[:-1], since[:-1]
                if not brackets:
                    break
            last = token[-1:]
        return Nesting(brackets, since, last, self.rows + 1)


def _may_stand(token: bytes, brackets: bytes, last: bytes) -> bool:
    if token in (b"}", b"]"):
        return brackets[-1:] + token in (b"{}", b"[]")
    if not brackets or token not in (b"{", b"["):
        return bool(brackets) or token == b"{"
    return len(brackets) < MAX_DEPTH and (last in (b"[", b":") or (last == b"," and brackets.endswith(b"[")))


MAX_LINE_BYTES = 8 * 1024 * 1024  # the longest line in 700 MB of real transcripts has one megabyte
PASSED_OVER = b"?\n"  # replaces a line that is too long even without its images; it is not JSON
_BLOCK = 64 * 1024
# Base64: images make a line long, not words. A run is matched only from its start, so matching takes linear time.
IMAGE_DATA = re.compile(rb"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{4096,}")


@dataclass(frozen=True, slots=True)
class TranscriptRow:
    """A line, or the rest of one after an object; `ended` says whether its newline is written."""

    start: int
    data: bytes
    ended: bool
    cut_bytes: int = 0  # of image data that a long line has lost

    @property
    def end(self) -> int:
        return self.start + len(self.data) + self.cut_bytes


class Rows:
    """The rows of a file from an offset on; rows can be given back, the last one first."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._given_back: list[TranscriptRow] = []
        self._file = _lines(file, start)

    def take(self) -> TranscriptRow | None:
        return self._given_back.pop() if self._given_back else next(self._file, None)

    def give_back(self, row: TranscriptRow) -> None:
        self._given_back.append(row)


def _lines(file: BinaryIO, start: int) -> Iterator[TranscriptRow]:
    file.seek(start)
    while data := file.readline(MAX_LINE_BYTES + 1):
        is_long = len(data) > MAX_LINE_BYTES
        row = _read_long_line(file, start, data) if is_long else TranscriptRow(start, data, data.endswith(b"\n"))
        if row:
            yield row
        if row is None or not row.ended:
            return  # the rest of this line may be written at any moment
        start = row.end


def _read_long_line(file: BinaryIO, start: int, data: bytes) -> TranscriptRow | None:
    """Read the rest of a long line without its images; None if its end is not written yet."""
    size, kept = 0, bytearray()
    while data:
        size += len(data)
        if len(kept) <= MAX_LINE_BYTES:
            kept += IMAGE_DATA.sub(b"", data)
        if data.endswith(b"\n"):
            whole = bytes(kept) if len(kept) <= MAX_LINE_BYTES else PASSED_OVER
            return TranscriptRow(start, whole, True, size - len(whole))
        data = file.readline(_BLOCK)
    return None


# An integer of 5,000 digits would be refused.
_DECODER = json.JSONDecoder(strict=False, parse_int=float)
_SPACE = re.compile("[ \t\r\n\ufeff]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_OPENING = re.compile(r'\{\s*"')
_MAX_TRIES = 1_000  # places in a torn row at which an object may begin
# Types of parts of a message; every other type is that of a line.
_INNER = frozenset(
    "text thinking redacted_thinking tool_use tool_result tool_reference server_tool_use web_search_tool_result image"
    " document base64 url file message ephemeral create update".split()
)


@dataclass(frozen=True, slots=True)
class JsonObject:
    value: dict[str, Any]
    start: int
    end: int  # just behind it


def objects(file: BinaryIO, start: int = 0) -> Iterator[JsonObject]:
    """Yield every whole object from an offset on, with only a few lines in memory."""
    rows = Rows(file, start)
    while row := rows.take():
        if row.cut_bytes:
            yield from _parse_long_line(row)
            continue
        rest = yield from _side_by_side(row)
        if rest.data and rest.ended and (match := _over_rows(rest, rows)):
            yield match


def _parse_long_line(row: TranscriptRow) -> Iterator[JsonObject]:
    """Yield the objects of a cut line. Reading resumes before or after the line, never within it."""
    whole = list(_side_by_side(row))
    for number, each in enumerate(whole, 1):
        yield JsonObject(each.value, row.start, row.end if number == len(whole) else row.start)


def _side_by_side(row: TranscriptRow) -> Generator[JsonObject, None, TranscriptRow]:
    """Yield the objects that a row begins with; return what is behind them."""
    text = _text(row.data)
    place, offset = 0, row.start
    while (begin := _behind_space(text, place)) < len(text) and (decoded := _value_at(text, begin)):
        value, end = decoded
        first = offset + _size(text[place:begin])
        place, offset = end, first + _size(text[begin:end])
        if isinstance(value, dict):
            yield JsonObject(value, first, offset)
    return TranscriptRow(offset, row.data[offset - row.start :] if begin < len(text) else b"", row.ended)


def _over_rows(first: TranscriptRow, rows: Rows) -> JsonObject | None:
    """Return the object that begins with a row and continues over the next; else give back rows of other objects."""
    taken, size = [first], len(first.data)
    nesting = Nesting().after(first.data)
    while nesting.open and not nesting.broken:
        row = rows.take()
        if row is None:
            return None
        taken.append(row)
        size += len(row.data)
        if size > MAX_LINE_BYTES or row.cut_bytes or _is_line(row):
            break
        nesting = nesting.after(row.data)
        if not row.ended and nesting.open:
            return None  # the object is unfinished: there is nothing more to read
    if not nesting.open and not nesting.broken:
        data = b"".join(row.data for row in taken)
        if match := next(_side_by_side(TranscriptRow(first.start, data, True)), None):
            rows.give_back(TranscriptRow(match.end, data[match.end - first.start :], taken[-1].ended))
            return match
    for number, row in reversed(list(enumerate(taken))):
        # The first row is lost, and so are those with a bracket that never closed, except the last.
        is_lost = number == 0 or (number in nesting.since and row is not taken[-1])
        if reusable := _behind_a_tear(row) if is_lost else row:
            rows.give_back(reusable)
    return None


def _is_line(row: TranscriptRow) -> bool:
    """Whether a row begins with a line of a transcript, which is never part of an earlier object."""
    decoded = _value_at(_text(row.data), 0) if row.data.startswith(b"{") else None
    return decoded is not None and _has_type(decoded[0])


def _behind_a_tear(row: TranscriptRow) -> TranscriptRow | None:
    """Return the row from the object on that was written right behind a torn one and ends with the row."""
    text = _text(row.data)
    for opening in islice(_OPENING.finditer(text, 1), _MAX_TRIES):
        decoded = _value_at(text, opening.start())
        if decoded and _has_type(decoded[0]) and _behind_space(text, decoded[1]) == len(text):
            before = _size(text[: opening.start()])
            return TranscriptRow(row.start + before, row.data[before:], row.ended)
    return None


def _has_type(value: Any) -> bool:
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind not in _INNER


def _text(data: bytes) -> str:
    """Decode so that each invalid byte is one surrogate, and a place in the text gives an offset in the file."""
    return data.replace(b"\0", b" ").decode("utf-8", "surrogateescape")


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def _behind_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _value_at(text: str, place: int) -> tuple[Any, int] | None:
    """Return the JSON value that begins here, without lone surrogates, and its end."""
    try:
        value, end = _DECODER.raw_decode(text, place)
        source = text[place:end]
        if "\\ud" in source or "\\uD" in source or (not source.isascii() and _SURROGATE.search(source)):
            value = _DECODER.decode(_SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
    return value, end
