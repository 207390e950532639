"""The values of a JSON file one by one: a list of any length is never held in memory as a whole."""

import codecs
import json
from collections.abc import Iterator
from typing import IO, Any

from memem.core.errors import InputError

BLOCK = 1 << 20
LARGEST = 64_000_000
"""Characters of one value of the list, or of all where there is no list: as Python objects it takes more."""
_SPACE = " \t\r\n"
_NUMBER = "0123456789.eE+-"


def values(file: IO[bytes]) -> Iterator[Any]:
    """The elements of the list that the file holds, or the one object. Raises InputError, which says what is wrong."""
    text = _Text(file)
    first = text.next()
    if first == "{":
        yield text.value()
    elif first == "[":
        yield from _elements(text)
    else:
        raise InputError("it holds no list and no object of JSON" if first else "it is empty")


def _elements(text: "_Text") -> Iterator[Any]:
    text.skip()
    if text.next() == "]":
        return
    while True:
        text.next()
        yield text.value()
        end = text.next()
        if end == "]":
            return
        if end != ",":
            raise InputError("it is not whole: the list of JSON does not end" if not end else _broken("a list"))
        text.skip()


def _broken(what: str) -> str:
    return f"it is not JSON: {what} is damaged"


class _Text:
    """A file as text, of which only what is not yet understood is kept."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._scan = json.JSONDecoder().raw_decode
        self._held = ""
        self._at = 0
        self._ended = False

    def next(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            while self._at < len(self._held) and self._held[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._held):
                return self._held[self._at]
            if self._ended:
                return ""
            self._read(BLOCK)

    def skip(self) -> None:
        self._at += 1

    def value(self) -> Any:
        """The value that begins here. What is only half there cannot be told from what is damaged: more is read."""
        while True:
            try:
                value, end = self._scan(self._held, self._at)
            except (ValueError, RecursionError):
                self._need_more()
                continue
            if not self._ended and not self._held[end : end + 4].strip(_NUMBER):  # a number may go on
                self._read(BLOCK)
                continue
            self._at = end
            return value

    def _need_more(self) -> None:
        if self._ended:
            raise InputError("it is not JSON, or not whole: a value in it is damaged, or nested too deep")
        held = len(self._held) - self._at
        if held >= LARGEST:
            raise InputError(f"one value in it is damaged, or has more than {LARGEST // 1_000_000} million characters")
        self._read(max(BLOCK, held))

    def _read(self, size: int) -> None:
        try:
            data = self._file.read(size)
            self._held = self._held[self._at :] + self._decoder.decode(data, final=not data)
        except UnicodeDecodeError:
            raise InputError("it is not UTF-8 text") from None
        self._at = 0
        self._ended = not data
