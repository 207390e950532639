"""Link notes that were imported together, once all of them are written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from memem.core.errors import Ambiguous, InputError, NoteError, NotFound
from memem.core.memory import Memory, link_target
from memem.notes import write
from memem.notes.write import Written
from memem.safety.gate import MAX_ITEMS
from memem.transfer.items import ImportItem

if TYPE_CHECKING:
    from memem.workspace import Workspace

_LISTS = ("related", "contradicts")


@dataclass(slots=True)
class ImportLinks:
    """The names of notes of one import, and the notes that have links."""

    links: dict[str, str] = field(default_factory=dict)  # by name; empty for a name of several notes
    linking: list[tuple[str, ImportItem]] = field(default_factory=list)  # ids of notes, and their items

    def record(self, item: ImportItem, memory: Memory, written: Written) -> None:
        link = f"[[{PurePosixPath(written.path).stem}]]"
        for name in item.names if written.path else ():
            self.links[name] = link if self.links.get(name, link) == link else ""
        if any(map(any, item.links.values())) and written.memory.id == memory.id:
            self.linking.append((memory.id, item))

    def write(self, ws: Workspace) -> list[Memory]:
        """Add the links that a note lacks, also after an interrupted import; returns the changed memories."""
        changed = []
        for identity, item in self.linking:
            with suppress(NoteError, NotFound, Ambiguous, InputError):  # changed by a person meanwhile, or moved
                memory = write.note_of(ws, identity).memory
                changes: dict[str, Any] = {}
                for name, targets in item.links.items():
                    links = tuple(dict.fromkeys(self._resolve(ws, item, targets)))
                    if links and not getattr(memory, name):
                        changes[name] = links[:MAX_ITEMS] if name in _LISTS else links[0]
                written = write.revise(ws, identity, why="links of an import", **changes) if changes else None
                changed += [written.memory] if written else []
        return changed

    def _resolve(self, ws: Workspace, item: ImportItem, targets: tuple[str, ...]) -> Iterator[str]:
        for stem in filter(None, map(link_target, targets)):
            name = stem.strip().lower()
            if name in self.links:
                yield from [self.links[name]] if self.links[name] and name not in item.names else []
            elif _is_in_vault(ws, stem):
                yield f"[[{stem}]]"


def _is_in_vault(ws: Workspace, stem: str) -> bool:
    if ws.index.by_path(f"{ws.store.paths.memories.name}/{stem}.md"):
        return True
    end = f"/{stem}.md"
    return ws.index.count_where("substr(path, ?) = ?", (-len(end), end)) > 0
