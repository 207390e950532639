"""Links between what is imported together: they lead to the new notes.

Where a note will be is known before it is made, so it is made with its links. Only those that lead to what turned out
otherwise, as it was known already or is refused, are put right at the end: by whichever run comes to the end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from memem.core.errors import Ambiguous, InputError, NoteError, NotFound
from memem.core.memory import Memory, link_target
from memem.notes import write
from memem.notes.write import Written
from memem.safety.gate import MAX_ITEMS
from memem.search.graph import read
from memem.search.refresh import ensure_filled
from memem.transfer import read as transfer_read
from memem.transfer.items import Item
from memem.transfer.read import Tally
from memem.transfer.sources import MARKDOWN, REMEMBERED, Source
from memem.vault.store import MAX_NOTE_BYTES

if TYPE_CHECKING:
    from memem.workspace import Workspace


_LISTS = ("related", "contradicts")
_LINKING = re.compile(rb"^[\"']?(?:related|contradicts|supersedes|superseded_by)[\"']?[ \t]*:", re.MULTILINE)


@dataclass(slots=True)
class Joined:
    """The links that notes of an import will be called by, under every name that others of it have for them.

    A name that several share is nobody's. `unmet` are those links whose notes were not made yet.
    """

    names: dict[str, str] = field(default_factory=dict)
    unmet: set[str] = field(default_factory=set)
    otherwise: dict[str, str] = field(default_factory=dict)
    linking: list[tuple[str, frozenset[str]]] = field(default_factory=list)

    def linked(self, ws: Workspace, item: Item, memory: Memory) -> Memory:
        """The memory with those of the links of its source that lead to a note."""
        found = {name: self._leading(ws, item, targets)[:MAX_ITEMS] for name, targets in item.links.items()}
        changes: dict[str, Any] = {name: each if name in _LISTS else "".join(each[:1]) for name, each in found.items()}
        return replace(memory, **changes)

    def met(self, item: Item, memory: Memory, written: Written) -> None:
        """What became of an item, and so where links to it lead."""
        link = f"[[{PurePosixPath(written.path).stem}]]" if written.path else ""
        for wanted in {self.names.get(name, "") for name in item.names} - {""}:
            self.unmet.discard(wanted)
            if link and wanted != link:
                self.otherwise[wanted] = link
        own = frozenset(each for name in read.PROPERTIES for each in read.links_of(memory, name))
        if own and written.memory.id == memory.id:
            self.linking.append((memory.id, own))

    def _leading(self, ws: Workspace, item: Item, targets: Sequence[str]) -> tuple[str, ...]:
        found = []
        for target in filter(None, map(link_target, targets)):
            name = target.strip().lower()
            if name in self.names:
                found.append("" if name in item.names else self.names[name])
            elif _is_in_vault(ws, target):
                found.append(f"[[{target}]]")
        return tuple(dict.fromkeys(filter(None, found)))


def foreseen(ws: Workspace, sources: Sequence[Source], as_memory: Callable[[Item], Memory]) -> Joined:
    """Where the links between sources will lead. Without any link nothing is read but their bytes."""
    notes = [source for source in sources if source.format in (MARKDOWN, REMEMBERED) and not source.problem]
    linking = [item for source in notes if _may_link(source) for item in _items(ws, source)]
    targets = (target for item in linking for each in item.links.values() for target in each)
    wanted = {link_target(target).strip().lower() for target in targets} - {""}
    if not wanted:
        return Joined()
    shared = Counter(source.path.stem.lower() for source in notes)
    named: dict[str, str] = {name: "" for name, count in shared.items() if name in wanted and count > 1}
    for source in notes:
        stem = source.path.stem.lower()
        if stem not in wanted and wanted <= shared.keys():
            continue
        for item in _items(ws, source):
            for name in wanted.intersection(item.names) - {stem if shared[stem] > 1 else ""}:
                named[name] = "" if name in named else _link(ws, as_memory(item))
    return Joined(named, set(named.values()) - {""})


def correct(ws: Workspace, joined: Joined) -> int:
    """Put right the links that lead elsewhere, or nowhere; says how many notes had some."""
    changed = joined.otherwise | dict.fromkeys(joined.unmet, "")
    corrected = 0
    for identity, own in joined.linking:
        if own.isdisjoint(changed):
            continue
        with suppress(NoteError, NotFound, Ambiguous, InputError):  # it is a person's by now, or has moved
            memory = write.note_of(ws, identity).memory
            changes = {name: _corrected(memory, name, changed) for name in read.PROPERTIES}
            changes = {name: value for name, value in changes.items() if value != getattr(memory, name)}
            if changes:
                corrected += write.revise(ws, identity, why="links of an import", **changes) is not None
    return corrected


def _corrected(memory: Memory, name: str, changed: dict[str, str]) -> tuple[str, ...] | str:
    found = tuple(dict.fromkeys(filter(None, (changed.get(each, each) for each in read.links_of(memory, name)))))
    return found if name in _LISTS else "".join(found)


def _items(ws: Workspace, source: Source) -> Iterator[Item]:
    with suppress(InputError, NoteError, OSError):  # told when it is its turn
        yield from transfer_read.items(ws, source, Tally())


def _may_link(source: Source) -> bool:
    with suppress(OSError), source.path.open("rb") as file:
        return bool(_LINKING.search(file.read(MAX_NOTE_BYTES)))
    return False


def _link(ws: Workspace, memory: Memory) -> str:
    with suppress(InputError):
        return f"[[{PurePosixPath(ws.store.path_for(write.prepared(memory).memory)).stem}]]"
    return ""


def _is_in_vault(ws: Workspace, stem: str) -> bool:
    vault_id = ws.store.vault_id()
    if not vault_id:
        return False
    ensure_filled(ws, vault_id)
    if ws.index.by_path(f"{ws.store.paths.memories.name}/{stem}.md"):
        return True
    end = f"/{stem}.md"
    return ws.index.count_where("substr(path, ?) = ?", (-len(end), end)) > 0
