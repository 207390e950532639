"""Draw the graph into a file, for those who look at it without Obsidian."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.dates import is_in_force
from memem.core.errors import InputError
from memem.core.project import normalise
from memem.pages import picture
from memem.pages.picture import Dot
from memem.search.graph import build, read

if TYPE_CHECKING:
    from memem.workspace import Workspace


MOST_DRAWN = 400
"""More dots than these are a cloud in which nothing can be read."""
SUFFIX = ".svg"


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was drawn where: how many of all the memories, the links between them, and how many projects."""

    file: str
    drawn: int
    memories: int
    edges: int
    projects: int


def draw(ws: Workspace, file: Path, *, project: str | None = None) -> Drawn:
    """Draw the memories, or those of one project: the most linked of the largest projects, when there are too many."""
    if file.suffix.lower() != SUFFIX:
        raise InputError(f"{file.name!r} is no name for a picture: it should end in {SUFFIX}.")
    build.look_at_graph(ws)
    edges, only = read.edges(ws), None if project is None else normalise(project)
    degrees = read.degrees_of(edges)
    entries = [entry for entry in read.memories(ws).values() if only in (None, entry.project)]
    if not entries:
        raise InputError("There are no memories to draw." if only is None else f"{only} has no memories to draw.")
    now = ws.clock()
    dots = [
        Dot(each.id, each.title, each.project, degrees[each.id], each.memory.importance, is_in_force(each.memory, now))
        for each in entries
    ]
    shown = picture.chosen(dots, MOST_DRAWN)
    at = {dot.id: place for place, dot in enumerate(shown)}
    between = [edge for edge in edges if edge.source in at and edge.target in at]
    ws.load_numpy()
    from memem.pages.labels import layout

    links = [(at[edge.source], at[edge.target], edge.score) for edge in between]
    groups = picture.groups(shown)
    names = [picture.name_size(name) for name in groups]
    places = layout(list(groups.values()), links, [dot.radius for dot in shown], names)
    _write(file, picture.svg(shown, between, places, total=len(dots)))
    return Drawn(str(file), len(shown), len(dots), len(between), len(groups))


def _write(file: Path, text: str) -> None:
    try:
        files.write_atomic(file, text.encode(), fsync=False)
    except OSError as error:
        raise InputError(f"The picture cannot be written to {file}: {files.reason(error)}.") from None
