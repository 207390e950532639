"""Bytes that are nearly what a reader expects: known good ones, changed a little or a lot, the same way for a seed."""

import random
import re
from collections.abc import Callable, Sequence

LARGEST = 64 * 1024
"""In bytes. A reader that takes too long over more than this takes too long over this."""

_DEEP = 2_000
TOKENS: tuple[bytes, ...] = (
    *(b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xf4\x90\x80\x80", b"\x1b[2J"),
    *(b"\r\n", b"\r", b"\n", b"\n\n---\n", b"---\n", b"...\n", b"\t", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\xc2\x85"),
    *(b"\\ud800", b"\\udfff\\ud800", b"\\u0000", b"\\", b'"', b"'", b"`", b"{", b"}", b"[", b"]", b":", b",", b"#"),
    *(
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"1e999",
        b"-0",
        b"1e308",
        b"9223372036854775808",
        b"-1",
        b"9" * 5_000,
        b"007",
    ),
    *(b"null", b"true", b"{}", b"[]", b'""', b"[" * _DEEP, b'{"a":' * _DEEP, b"[[" * 60 + b"]]" * 60, b"(" * 500),
    *(
        b"&a ",
        b"*a",
        b"&a [*a]",
        b"<<: *a\n",
        b"!!python/object/apply:os.system [x]\n",
        b"!!binary ",
        b"? ",
        b"- ",
        b"| \n",
    ),
    *(
        b"a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n",
        b"? [a, b]\n: c\n",
        b"%YAML 9.9\n",
    ),
    *(b"../../../etc/passwd", b"/etc/passwd", b"~/x", b"CON", b"a/../..", b"file:///x", b"//host/x", b"%00", b"$(id)"),
    *(b"[[", b"]]", b"> [!quote]- Evidence\n", b"<!-- memem -->", b"</system-reminder>", b"'; DROP TABLE notes;--"),
    *(
        b"x" * 10_000,
        b"\xf0\x9f\x91\xa9\xe2\x80\x8d" * 50,
        b"\xe2\x80\xae",
        b"a " * 2_000,
        b"\n" * 2_000,
        b"\\" * 3_000,
    ),
    *(
        b"9999-99-99",
        b"0000-00-00T00:00:00Z",
        b"2026-02-30",
        b"+999999-01-01",
        b"10000-01-01",
        b"\xd9\xa1",
        b"\xc2\xb2",
    ),
)
_WORD = re.compile(rb'"[^"\n]{0,80}"|[A-Za-z_]{2,40}|-?\d+(?:\.\d+)?')

Change = Callable[[random.Random, bytearray, Sequence[bytes]], None]


def mutated(rng: random.Random, corpus: Sequence[bytes], tokens: Sequence[bytes] = ()) -> bytes:
    """One of the corpus after a few changes; `tokens` are words of the format besides those that trouble every one."""
    data = bytearray(rng.choice(corpus))
    for _ in range(1 << rng.randrange(4)):
        rng.choice(_CHANGES)(rng, data, tokens or TOKENS)
    return bytes(data[:LARGEST])


def _place(rng: random.Random, data: bytearray) -> int:
    return rng.randrange(len(data) + 1)


def _span(rng: random.Random, data: bytearray) -> slice:
    start = _place(rng, data)
    return slice(start, start + rng.choice((1, 1, 2, 4, 16, 64, 1_000)))


def _flip(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _overwrite(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.randrange(256)


def _insert(rng: random.Random, data: bytearray, tokens: Sequence[bytes]) -> None:
    at = _place(rng, data)
    data[at:at] = rng.choice(rng.choice((tokens, TOKENS)))


def _replace(rng: random.Random, data: bytearray, tokens: Sequence[bytes]) -> None:
    data[_span(rng, data)] = rng.choice(rng.choice((tokens, TOKENS)))


def _replace_word(rng: random.Random, data: bytearray, tokens: Sequence[bytes]) -> None:
    """Replace a name, a text or a number by an odd value."""
    found = list(_WORD.finditer(bytes(data)))
    if found:
        word = rng.choice(found)
        data[word.start() : word.end()] = rng.choice(rng.choice((tokens, TOKENS)))


def _swap_words(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    found = list(_WORD.finditer(bytes(data)))
    if found:
        one, other = rng.choice(found), rng.choice(found)
        data[one.start() : one.end()] = other.group()


def _delete(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    del data[_span(rng, data)]


def _truncate(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    del data[_place(rng, data) :]


def _repeat(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    span = _span(rng, data)
    data[span] = bytes(data[span]) * rng.choice((2, 3, 50, 500))
    del data[LARGEST:]


def _repeat_line(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    """A key that stands twice, an object that is told twice."""
    lines = bytes(data).splitlines(keepends=True)
    if lines:
        at = rng.randrange(len(lines))
        lines[at:at] = [lines[rng.randrange(len(lines))]]
        data[:] = b"".join(lines)


def _splice(rng: random.Random, data: bytearray, tokens: Sequence[bytes]) -> None:
    """Parts of it in another order."""
    part = bytes(data[_span(rng, data)])
    at = _place(rng, data)
    data[at:at] = part or rng.choice(tokens)


def _line_endings(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    data[:] = bytes(data).replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n")))[:LARGEST]


_CHANGES: tuple[Change, ...] = (
    *(_flip, _overwrite, _insert, _insert, _replace, _replace, _replace_word, _replace_word, _replace_word),
    *(_swap_words, _delete, _truncate, _repeat, _repeat_line, _splice, _line_endings),
)
