"""Each project's playbook, kept up to date by rules: what it is, how things are done, what is decided, what went wrong,
where it runs. `refining` has a model word it better; `reciting` shows it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from memem.core import plain
from memem.core.memory import Entry, Memory
from memem.core.validity import is_in_force
from memem.flows import usefulness
from memem.flows.reciting import line_of
from memem.index.notes import Row
from memem.recall import choosing
from memem.recall.choosing import Weighed
from memem.vault import pages, playbooks
from memem.vault.playbooks import Line, Playbook
from memem.vault.store import MAX_NOTE_BYTES
from memem.workspace import Workspace

MOST_CANDIDATES = 100
"""More than there is room for."""


def renewed(ws: Workspace, rows: Sequence[Row], text: str) -> str:
    """Memem's part of the playbook whose page says `text`: of these rows those that matter most.

    Empty when there is nothing to say, and nothing was.
    """
    kept = playbooks.read(text)
    entries = {row.memory.id8: Entry(row.memory, row.path) for row in rows if row.memory}
    kept = replace(kept, gone=frozenset(name for name in kept.gone if name in entries or _may_return(ws, name)))
    order = choosing.chosen(_candidates(ws, rows))
    wanted = ((section, memory) for section, memory in order if _may_be_written(kept, section, memory.id8))
    lines = [_line(section, entries[memory.id8], kept) for section, memory in islice(wanted, MOST_CANDIDATES)]
    taken = playbooks.fitting(lines, kept)
    return playbooks.part(taken, kept) if taken or pages.own_part(text) else ""


def unasked(text: str, least: int) -> list[Line]:
    """The lines of memem's on a page that are longer than `least` and that no model was asked about."""
    return [line for line in playbooks.read(text).ours.values() if not line.asked and len(line.words) > least]


def reworded(text: str, words: Mapping[str, str], asked: Mapping[str, str]) -> str:
    """Memem's part of a page after a model was asked about some statements, by their digests: with its `words` for
    those lines that are still made of them."""
    kept = playbooks.read(text)
    lines = [
        replace(line, words=words.get(line.id8, line.words), asked=True)
        if asked.get(line.id8) == line.statement
        else line
        for line in kept.ours.values()
    ]
    return playbooks.part(lines, kept) if lines else ""


def digest(memory: Memory) -> str:
    """By which a changed statement is known."""
    return playbooks.digest(memory.body)


def _may_return(ws: Workspace, name: str) -> bool:
    """Whether something that a person took out could come back: a heading, or the line of a note that is there, be it
    that it cannot be read while somebody types, or is of another project."""
    if name.startswith("@") or any(ws.store.paths.memories.rglob(f"*{name.lower()}*.md")):
        return True
    rows = ws.index.rows("problem IS NOT NULL OR (id >= ? AND id < ?)", (name, f"{name}\x7f"))
    return any(row.memory or _mentions(ws.store.absolute(row.path), name) for row in rows)


def _mentions(note: Path, name: str) -> bool:
    with suppress(OSError), plain.open_plain(note, follow=False) as file:
        return name.encode() in file.read(MAX_NOTE_BYTES)
    return False


def _may_be_written(kept: Playbook, section: int, id8: str) -> bool:
    return not kept.has_own(id8) and f"@{section}" not in kept.gone


def _line(section: int, entry: Entry, kept: Playbook) -> Line:
    """A line that is there already keeps its words for as long as the note says what it said."""
    memory, before = entry.memory, kept.ours.get(entry.memory.id8)
    statement, link = digest(memory), pages.link(entry.link[2:-2], memory.id8)
    if before and before.statement == statement:
        return replace(before, section=section, link=link)
    return Line(section, memory.id8, line_of(memory), link, statement)


def _candidates(ws: Workspace, rows: Sequence[Row]) -> list[Weighed]:
    now = ws.clock()
    alive = [row for row in rows if row.memory and is_in_force(row.memory, now)]
    used = usefulness.factors(ws, [row.memory.id for row in alive if row.memory])
    return [Weighed(row.memory, row.changed, used.get(row.memory.id, 1.0)) for row in alive if row.memory]
