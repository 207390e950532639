"""Draw the graph as an SVG picture: a card for each project lists its memories, and arcs join those that are linked."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.data_files import load_table
from memem.core.dates import is_in_force
from memem.core.errors import InputError
from memem.core.memory import EDGE_KINDS, SUPERSEDES, Edge, Entry
from memem.core.project import normalise
from memem.safety.quote import count_noun
from memem.search.graph import build, read

if TYPE_CHECKING:
    from memem.workspace import Workspace

MAX_DOTS, MAX_PER_PROJECT, MAX_PROJECTS = 400, 100, 40
MAX_TITLE_CHARS, MAX_TOOLTIP_CHARS = 38, 120
CARD_WIDTH, CARD_HEAD, ROW_HEIGHT, GAP, PAGE_HEAD, PAGE_FOOT = 330, 40, 17, 16, 68, 40
DOT_X, MAX_ARC = 62, 50
FIRST_HUE, HUE_STEP = 215, 137.5  # degrees; cards next to each other get clearly different colours


@dataclass(frozen=True, slots=True)
class GraphPicture:
    file: str
    drawn: int  # memories shown
    memories: int  # in all
    edges: int
    projects: int


def draw(ws: Workspace, file: Path, *, project: str | None = None) -> GraphPicture:
    """Draw all memories or those of one project; when there are too many, the most linked of the largest projects."""
    if file.suffix.lower() != ".svg":
        raise InputError(f"Cannot draw to {file.name!r}: the file name must end in .svg.")
    build.refresh_graph(ws)
    only = None if project is None else normalise(project)
    entries = [entry for entry in read.list_memories(ws).values() if only in (None, entry.project)]
    if not entries:
        raise InputError("There are no memories to draw." if only is None else f"{only} has no memories to draw.")
    all_edges = read.list_edges(ws)
    cards = choose_memories(entries, read.count_degrees(all_edges))
    drawn = {entry.id for card in cards for entry in card}
    edges = [edge for edge in all_edges if edge.source in drawn and edge.target in drawn]
    in_force = {entry.id for entry in entries if is_in_force(entry.memory, ws.clock())}
    picture = render_svg([order_by_links(card, edges) for card in cards], edges, in_force, len(entries))
    try:
        files.write_atomic(file, picture.encode(), fsync=False)
    except OSError as error:
        raise InputError(f"Cannot write the picture to {file}: {files.reason(error)}.") from None
    return GraphPicture(str(file), len(drawn), len(entries), len(edges), len(cards))


def choose_memories(entries: Sequence[Entry], degrees: Mapping[str, int]) -> list[list[Entry]]:
    """Pick the most linked memories of the largest projects, which take turns until MAX_DOTS are picked."""
    projects: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: (-degrees[entry.id], -entry.memory.importance, entry.id)):
        projects[entry.project].append(entry)
    largest = sorted(projects.values(), key=lambda card: (-len(card), card[0].project))[:MAX_PROJECTS]
    cards: list[list[Entry]] = [[] for _ in largest]
    for rank in range(MAX_PER_PROJECT):
        for card, candidates in zip(cards, largest, strict=True):
            if rank < len(candidates) and sum(map(len, cards)) < MAX_DOTS:
                card.append(candidates[rank])
    return [card for card in cards if card]


def order_by_links(card: Sequence[Entry], edges: Sequence[Edge]) -> list[Entry]:
    """Put linked memories next to each other, the most linked first."""
    links: defaultdict[str, list[str]] = defaultdict(list)
    for edge in edges:
        links[edge.source].append(edge.target)
        links[edge.target].append(edge.source)
    left = {entry.id: entry for entry in card}
    ahead = [entry.id for entry in reversed(card)]
    ordered = []
    while ahead:
        if entry := left.pop(ahead.pop(), None):
            ordered.append(entry)
            ahead += reversed(links[entry.id])
    return ordered


def render_svg(cards: Sequence[Sequence[Entry]], edges: Sequence[Edge], in_force: set[str], total: int) -> str:
    """Lay the cards out in columns of similar height, on a page about as high as wide."""
    templates = load_table(__file__, "picture.toml")
    heights = [CARD_HEAD + ROW_HEIGHT * len(card) for card in cards]
    bottoms = [PAGE_HEAD] * max(1, min(len(cards), round((sum(heights) / CARD_WIDTH) ** 0.5)))
    degrees = read.count_degrees(edges)
    dots: dict[str, tuple[int, int]] = {}
    parts: list[str] = []
    for number, (card, height) in enumerate(zip(cards, heights, strict=True)):
        column = bottoms.index(min(bottoms))
        left, top = GAP + column * (CARD_WIDTH + GAP), bottoms[column]
        bottoms[column] += height + GAP
        colour = f"hsl({(FIRST_HUE + number * HUE_STEP) % 360:.0f},55%,50%)"
        name = to_xml(card[0].project, MAX_TITLE_CHARS)
        x, y = left + DOT_X, top + CARD_HEAD
        parts.append(templates["card"].format(left=left, top=top, x=x, height=height, colour=colour, name=name))
        for entry in card:
            values = {
                "radius": f"{min(7.0, 2.6 + degrees[entry.id] ** 0.5):.1f}",
                "fill": colour if entry.id in in_force else "none",
                "label": "linked" if degrees[entry.id] else "alone",
                "title": to_xml(entry.title, MAX_TITLE_CHARS),
                "full_title": to_xml(entry.title, MAX_TOOLTIP_CHARS),
            }
            parts.append(templates["dot"].format(x=x, y=y, colour=colour, **values))
            dots[entry.id] = x, y
            y += ROW_HEIGHT
    for edge in sorted(edges, key=lambda edge: (edge.source, edge.target, edge.kind)):
        parts.append(_arc(edge, *dots[edge.source], *dots[edge.target]))
    some = f" of {total:,}" if total > len(dots) else ""
    memories = count_noun(len(dots), "memory", "memories")
    kinds = [kind for kind in EDGE_KINDS if any(edge.kind == kind for edge in edges)]
    values = {
        "counts": f"{memories}{some} · {count_noun(len(edges), 'link')} · {count_noun(len(cards), 'project')}",
        "legend": "".join(templates["legend"].format(kind=kind, name=kind.replace("_", " ")) for kind in kinds),
        "hollow": "" if in_force >= dots.keys() else "Hollow dots are outdated memories.",
        "parts": "\n".join(parts),
    }
    width, bottom = GAP + len(bottoms) * (CARD_WIDTH + GAP), max(bottoms)
    size = {"width": width, "height": bottom + PAGE_FOOT, "foot": bottom + PAGE_FOOT // 2}
    return str(templates["page"]).format(css=templates["css"], **size, **values)


def _arc(edge: Edge, x1: int, y1: int, x2: int, y2: int) -> str:
    """A curve to the left of the dots, faint when it leads to another column."""
    bulge = min(MAX_ARC, 10 + abs(y2 - y1) // 3)
    classes = edge.kind if x1 == x2 else f"{edge.kind} far"
    tip = ' marker-end="url(#tip)"' if edge.kind == SUPERSEDES else ""
    return f'<path class="{classes}" d="M{x1} {y1}C{x1 - bulge} {y1} {x2 - bulge} {y2} {x2} {y2}"{tip}/>'


def to_xml(text: str, limit: int) -> str:
    """Any text as one line of visible characters, escaped for XML."""
    spaced = (" " if character.isspace() else character for character in text)
    line = " ".join("".join(character for character in spaced if unicodedata.category(character)[0] != "C").split())
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in line)
    limit = max(limit // 2, limit - wide)  # Chinese characters take the room of two letters
    return escape(line if len(line) <= limit else line[: limit - 1].rstrip() + "…")
