"""What a memory may be known by in a file: its words as they are, and as JSON has them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from memem.core.memory import Memory
from memem.safety.gate import cleanse
from memem.vault.fingerprints import fold

SHORTEST_STATEMENT, SHORTEST_PART = 8, 20
"""Characters of what is looked for everywhere: a statement; or its title, its quote, a line of either, the name of its
file. Shorter ones may be many other things."""


@dataclass(frozen=True)
class Traces:
    """A memory that is to be purged, with all notes of it that were found: itself, copies, earlier states."""

    memories: tuple[Memory, ...]
    paths: tuple[str, ...]

    @property
    def id(self) -> str:
        return self.memories[0].id

    @property
    def placeholder(self) -> str:
        """The name that stands in for that of its file, which tells its title."""
        return f"purged-{self.memories[0].id8}.md"

    @cached_property
    def turns(self) -> frozenset[str]:
        return frozenset(memory.source_turn for memory in self.memories if memory.source_turn)

    @cached_property
    def titles(self) -> frozenset[str]:
        return frozenset(title for each in self._readings if (title := each.title.strip()))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its files, which tell its title, as far as no other file or word is likely to be called so."""
        ends = f"-{self.memories[0].id8}"
        return tuple(stem for stem in self._stems if stem.endswith(ends) or len(stem) >= SHORTEST_PART)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Everything that tells what it said."""
        return tuple(dict.fromkeys((*self._own, *(title for title in self.titles if len(title) >= SHORTEST_PART))))

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """The same, also as JSON writes it."""
        return _forms(self.texts)

    def are_in(self, data: bytes) -> bool:
        """Whether a file's bytes hold it."""
        return any(form in data for form in self._bytes)

    def are_told_by(self, data: bytes) -> bool:
        """Whether another note's bytes hold its statement, its quote or a link to it; a title may be that note's."""
        return any(form in data for form in self._own_bytes)

    def is_name(self, name: str) -> bool:
        """Whether a file is called like one of its own; a trash or a sync may have added to that."""
        return any(each in name for each in self.names) or PurePosixPath(name).stem.split("~")[0] in self._stems

    def are_said_in(self, text: str) -> bool:
        """Whether a text holds its statement or its quote, as somebody who reads quickly sees it."""
        folded = fold(text)
        return any(each in folded for each in self._folded)

    @cached_property
    def _readings(self) -> tuple[Memory, ...]:
        """Each as it was, and as the gate lets it pass."""
        return tuple(each for memory in self.memories for each in (memory, cleanse(memory).memory))

    @cached_property
    def _stems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(PurePosixPath(path).stem for path in self.paths))

    @cached_property
    def _own(self) -> tuple[str, ...]:
        """What nothing but the memory says, or links to it."""
        found: dict[str, None] = dict.fromkeys(self.names)
        for each in self._readings:
            body, evidence = each.body.strip(), each.evidence.strip()
            found |= {body: None} if len(body) >= SHORTEST_STATEMENT else {}
            found |= dict.fromkeys((*_parts(evidence), *_parts(body)))
        return tuple(found)

    @cached_property
    def _bytes(self) -> tuple[bytes, ...]:
        return _encoded(self.forms)

    @cached_property
    def _own_bytes(self) -> tuple[bytes, ...]:
        return _encoded(_forms(self._own))

    @cached_property
    def _folded(self) -> tuple[str, ...]:
        said = [fold(memory.body) for memory in self.memories if len(fold(memory.body)) >= SHORTEST_STATEMENT]
        quoted = [fold(part) for memory in self.memories for part in _parts(memory.evidence)]
        return tuple(dict.fromkeys(filter(None, (*said, *quoted))))


def _parts(text: str) -> list[str]:
    """A text, and its lines, as far as they are long enough; a heading stands in many notes."""
    parts = [text, *(line for line in text.splitlines() if not line.lstrip().startswith("#"))]
    return [part.strip() for part in parts if len(part.strip()) >= SHORTEST_PART]


def _forms(texts: Iterable[str]) -> tuple[str, ...]:
    texts = tuple(texts)
    told = [json.dumps(text, ensure_ascii=ascii)[1:-1] for text in texts for ascii in (True, False)]
    return tuple(dict.fromkeys((*texts, *told)))


def _encoded(forms: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(form.encode("utf-8", "surrogatepass") for form in forms)
