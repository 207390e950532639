"""Whose words a turn holds: what a tool said, or somebody pasted, is not the speaker's own.

Told by what can be seen: words that stand so in a tool's output before it, a block in a fence or under quotation
marks, and the middle of a message that is too long to have been typed. What was pasted without any of these marks is
taken for speech.
"""

import re
from collections import deque
from collections.abc import Iterable

MOST_CHARACTERS = 1_000_000
"""Of tools' output that are compared: the last ones."""
MOST_OF_ONE = 100_000
"""Characters of one output: Claude is shown no more of it."""
RUN = {"human": 10, "assistant": 6}
"""So many words after another are not the same by chance; a person may well type what stands in a file."""
TYPED = 6_000
"""Characters: of a longer message of a person, what is neither its first nor its last paragraph was pasted."""
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"(?:^[ \t]*>.*\n?)+", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s*\n")


class Outputs:
    """What tools said, as far as it is compared."""

    def __init__(self) -> None:
        self._outputs: deque[_Output] = deque()
        self._size = 0

    def add(self, texts: Iterable[str]) -> None:
        for text in texts:
            self._outputs.append(_Output(text[:MOST_OF_ONE]))
            self._size += len(self._outputs[-1].text)
        while self._size > MOST_CHARACTERS:
            self._size -= len(self._outputs.popleft().text)

    def repeated(self, role: str, text: str) -> tuple[str, ...]:
        """The parts of a turn that a tool has said before, word for word."""
        if not self._size:
            return ()
        size, spans = RUN[role], list[tuple[int, int]]()
        known = [output.runs(size) for output in self._outputs]
        found = list(_WORD.finditer(text))
        for at, run in enumerate(_hashes([each.group().casefold() for each in found], size)):
            if any(run in runs for runs in known):
                begin = spans.pop()[0] if spans and spans[-1][1] >= found[at].start() else found[at].start()
                spans.append((begin, found[at + size - 1].end()))
        return tuple(dict.fromkeys(text[start:end] for start, end in spans))


class _Output:
    """What one tool said, and the runs of words in it, once somebody asks for them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._runs: dict[int, frozenset[int]] = {}

    def runs(self, size: int) -> frozenset[int]:
        if size not in self._runs:
            self._runs[size] = frozenset(_hashes(_WORD.findall(self.text.casefold()), size))
        return self._runs[size]


def pasted(text: str) -> tuple[str, ...]:
    """The parts of a person's message that are not their own words."""
    parts = [match.group() for match in _FENCE.finditer(text)]
    parts += [match.group() for match in _QUOTED.finditer(text)]
    if len(text) > TYPED:
        parts += _PARAGRAPH.split(text)[1:-1]
    return tuple(part.strip() for part in parts if part.strip())


def _hashes(words: list[str], size: int) -> Iterable[int]:
    """One for each run of so many words."""
    return map(hash, zip(*(words[start:] for start in range(size)), strict=False))
