"""Recognise the words of a purged memory in any file, as plain text or JSON."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from memem.core.memory import Memory
from memem.safety.gate import cleanse
from memem.vault.fingerprints import fold

MIN_STATEMENT_CHARS = 8  # shorter texts may mean many other things
MIN_PART_CHARS = 20  # of a title, a quote, a line of either, or a file's name


@dataclass(frozen=True)
class Traces:
    """A memory to be purged, with the memories and paths of its notes, their copies and earlier versions."""

    memories: tuple[Memory, ...]
    paths: tuple[str, ...]

    @property
    def id(self) -> str:
        return self.memories[0].id

    @property
    def placeholder(self) -> str:
        """Replaces the name of its file, which contains the title."""
        return f"purged-{self.memories[0].id8}.md"

    @cached_property
    def turns(self) -> frozenset[str]:
        return frozenset(memory.source_turn for memory in self.memories if memory.source_turn)

    @cached_property
    def titles(self) -> frozenset[str]:
        return frozenset(title for memory in self._readings if (title := memory.title.strip()))

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The distinctive names of its files, which contain the title."""
        ends = f"-{self.memories[0].id8}"
        return tuple(stem for stem in self._stems if stem.endswith(ends) or len(stem) >= MIN_PART_CHARS)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._own, *(title for title in self.titles if len(title) >= MIN_PART_CHARS))))

    @cached_property
    def forms(self) -> tuple[str, ...]:
        return _forms(self.texts)

    def are_in(self, data: bytes) -> bool:
        return any(form in data for form in self._bytes)

    def are_quoted_in(self, data: bytes) -> bool:
        """Whether another note contains its statement, its quote or a link to it; the title may be that note's own."""
        return any(form in data for form in self._own_bytes)

    def is_name(self, name: str) -> bool:
        """Whether a file has the name of one of its own; a trash or a sync may have extended it."""
        return any(own in name for own in self._names) or PurePosixPath(name).stem.split("~")[0] in self._stems

    def are_stated_in(self, text: str) -> bool:
        """Whether a text contains its statement or its quote, apart from case, spacing and marks."""
        folded = fold(text)
        return any(own in folded for own in self._folded)

    @cached_property
    def _readings(self) -> tuple[Memory, ...]:
        """Each memory as it was, and as the gate cleans it."""
        return tuple(reading for memory in self.memories for reading in (memory, cleanse(memory).memory))

    @cached_property
    def _stems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(PurePosixPath(path).stem for path in self.paths))

    @cached_property
    def _own(self) -> tuple[str, ...]:
        """Texts that belong to the memory alone, and links to it."""
        texts = list(self._names)
        for memory in self._readings:
            body = memory.body.strip()
            texts += [body] if len(body) >= MIN_STATEMENT_CHARS else []
            texts += [*_parts(memory.evidence.strip()), *_parts(body)]
        return tuple(dict.fromkeys(texts))

    @cached_property
    def _bytes(self) -> list[bytes]:
        return [form.encode("utf-8", "surrogatepass") for form in self.forms]

    @cached_property
    def _own_bytes(self) -> list[bytes]:
        return [form.encode("utf-8", "surrogatepass") for form in _forms(self._own)]

    @cached_property
    def _folded(self) -> tuple[str, ...]:
        stated = [fold(memory.body) for memory in self.memories if len(fold(memory.body)) >= MIN_STATEMENT_CHARS]
        quoted = [fold(part) for memory in self.memories for part in _parts(memory.evidence)]
        return tuple(dict.fromkeys(filter(None, (*stated, *quoted))))


def _parts(text: str) -> list[str]:
    """A text and its lines that are long enough, without headings: many notes share them."""
    parts = [text, *(line for line in text.splitlines() if not line.lstrip().startswith("#"))]
    return [part.strip() for part in parts if len(part.strip()) >= MIN_PART_CHARS]


def _forms(texts: tuple[str, ...]) -> tuple[str, ...]:
    escaped = [json.dumps(text, ensure_ascii=ascii)[1:-1] for text in texts for ascii in (True, False)]
    return tuple(dict.fromkeys((*texts, *escaped)))
