"""The links between memories: which lead to one, which lead nowhere, and which lead in a circle."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from memem.core.errors import Ambiguous, InputError, NoteError, NotFound
from memem.core.memory import Entry, Memory, link_target
from memem.flows import retrieve
from memem.flows.reindex import fresh_rows
from memem.workspace import Workspace

PROPERTIES = ("supersedes", "superseded_by", "related", "contradicts")


def of(memory: Memory, name: str) -> tuple[str, ...]:
    """The links that a property holds, one or several."""
    value: str | tuple[str, ...] = getattr(memory, name)
    return value if isinstance(value, tuple) else (value,) if value else ()


def followed(ws: Workspace, links: Iterable[str]) -> Iterator[Entry]:
    """What links lead to, as far as that is there and can be read."""
    for link in filter(None, links):
        with suppress(NotFound, Ambiguous, InputError, NoteError):
            yield retrieve.get(ws, link)


def leading_here(ws: Workspace, entry: Entry) -> list[Entry]:
    """The memories that link to this one by any property, those that may be found, by their id."""
    naming = "(instr(memory, ?) OR instr(memory, ?)) AND status <> 'quarantined' AND id <> ? ORDER BY id, path"
    names = (entry.memory.id8, link_target(entry.link), entry.id)
    rows = fresh_rows(ws, lambda: ws.index.rows(naming, names))
    found = [Entry(row.memory, row.path) for row in rows if row.memory]
    return [each for each in found if any(leads_to(each, entry, name) for name in PROPERTIES)]


def leads_to(entry: Entry, other: Entry, name: str) -> bool:
    """Whether one memory links to another by this property."""
    return any(other.is_named_by(link) for link in of(entry.memory, name))


def in_properties(memory: Memory) -> list[tuple[str, str]]:
    """The links of a note's properties, each with the name of its property."""
    return [(name, link) for name in PROPERTIES for link in of(memory, name)]


def everywhere(memory: Memory) -> list[tuple[str, str]]:
    """The same, and the links of its statement, under the name `body`."""
    from memem.index import stated  # a session that begins follows properties alone

    return [*in_properties(memory), *(("body", link) for link, _, _ in stated.in_sentences(memory.body))]


def dangling(
    memories: Mapping[str, Memory],
    vault: Path,
    among: Callable[[Memory], Iterable[tuple[str, str]]] = in_properties,
) -> Iterator[tuple[str, str, str]]:
    """The path of a note, the property and the link, for each that leads to no note of the vault."""
    ends = {memory.id8 for memory in memories.values()}
    ids = {memory.id for memory in memories.values()}
    others: Collection[str] | None = None
    for path, memory in memories.items():
        for name, link in among(memory):
            wanted = link_target(link)
            if wanted.rpartition("-")[2] in ends or wanted in ids or any(id.startswith(wanted) for id in ids if wanted):
                continue
            others = _stems(vault) if others is None else others
            if wanted not in others:
                yield path, name, link


def circles(memories: Mapping[str, Memory]) -> list[tuple[str, ...]]:
    """The paths of notes that superseded each other in a circle, each circle by itself."""
    after = {path: set[str]() for path in memories}
    paths = {memory.id8: path for path, memory in memories.items()}
    for path, memory in memories.items():
        later, earlier = (
            paths.get(link_target(link).rpartition("-")[2]) for link in (memory.superseded_by, memory.supersedes)
        )
        if later:
            after[path].add(later)
        if earlier:
            after[earlier].add(path)
    reached = {path: _reached(path, after) for path in after if after[path]}
    within = {path: {each for each in found if path in reached.get(each, ())} for path, found in reached.items()}
    return sorted({tuple(sorted(circle)) for path, circle in within.items() if path in circle})


def _reached(start: str, after: Mapping[str, Collection[str]]) -> set[str]:
    found: set[str] = set()
    ahead = list(after[start])
    while ahead:
        path = ahead.pop()
        if path not in found:
            found.add(path)
            ahead += after[path]
    return found


def names(vault: Path) -> Iterator[str]:
    """The paths of all files that a person sees in the vault."""
    for folder, folders, files in os.walk(vault):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = Path(folder).relative_to(vault)
        yield from ((inside / name).as_posix() for name in files)


def _stems(vault: Path) -> set[str]:
    return {path.rpartition("/")[2].removesuffix(".md") for path in names(vault)}
