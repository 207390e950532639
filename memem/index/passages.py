"""A note as the texts that get a vector: one for a short note, several for a long one, each under the note's title."""

import re
from collections.abc import Iterable, Iterator

from memem.core.memory import Memory

PASSAGE_SIZE = 120
"""In tokens, by a guess: about what the model was trained on, and half of what it reads."""
# Where a text may be parted, the best places first: after a paragraph, a line, a sentence, a word.
_PLACES = tuple(map(re.compile, (r"(?<=\n\n)", r"(?<=\n)", r"(?<=[.!?;])(?=\s)|(?<=[。！？；])", r"(?<=\s)")))


_MARKS = re.compile(r"[!-@\[-`{-~]")


def passages(memory: Memory) -> list[str]:
    """The texts of a memory, in order."""
    title = " ".join(memory.title.split())
    texts = [text if text.startswith(title) else f"{title}\n{text}" for text in _gathered(_pieces(memory.body))]
    return list(dict.fromkeys(texts)) or [title]


def key(passage: str) -> bytes:
    """What a vector is filed under: the same text is never encoded twice."""
    import hashlib  # 4 ms, which a query that reads no note is spared

    return hashlib.blake2b(passage.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _pieces(text: str, depth: int = 0) -> Iterator[str]:
    """The text in pieces that are short enough, parted at the best places that make them so."""
    if _size(text) <= PASSAGE_SIZE:
        yield text
    elif depth < len(_PLACES):
        for part in _PLACES[depth].split(text):
            yield from _pieces(part, depth + 1)
    else:  # one endless word, or a script without spaces
        for start in range(0, len(text), PASSAGE_SIZE):
            yield text[start : start + PASSAGE_SIZE]


def _gathered(pieces: Iterable[str]) -> Iterator[str]:
    """Neighbours put together again while they are short enough together."""
    held, size = "", 0.0
    for piece in pieces:
        more = _size(piece)
        if held and size + more > PASSAGE_SIZE:
            yield from filter(None, [held.strip()])
            held, size = "", 0.0
        held, size = held + piece, size + more
    yield from filter(None, [held.strip()])


def _size(text: str) -> float:
    """How many tokens a text has, by a guess: four letters make one; so does each digit or mark, where there are many,
    as in code, and each character of another script."""
    plain = len(text.encode("ascii", "ignore"))
    return max(plain / 4, len(_MARKS.findall(text))) + len(text) - plain
