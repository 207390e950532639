"""The graph as a picture: SVG that can be read on light and on dark, made of places that are given.

Titles are anybody's words: what is no character of XML is left out, the rest is written as text and never as markup.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memem.core.memory import CONTRADICTS, DEPENDS_ON, EDGE_KINDS, SAME_TOPIC, SUPERSEDES, SUPPORTS, Edge
from memem.pages.labels import LABEL, Box, Label, Point, cut, escaped, set_beside, width_of

HEADING, SMALL = 16.0, 12.0
"""The sizes of letters: of a project's name, and of the legend."""
MARGIN, HEAD, FOOT = 26.0, 58.0, 66.0
LEAST_WIDTH = 640.0
ABOVE = 8.0
"""Between the dots of a project and its name."""
MOST_PROJECTS = 40
"""More clusters than these are mere crumbs."""
TITLE_CHARACTERS, PROJECT_CHARACTERS = 120, 40

_COLOURS = (
    ("#3b6fd4", "#7aa2f7"), ("#c2571a", "#ff9e64"), ("#2f8a57", "#7fcf9a"), ("#8a4fc0", "#bb9af7"),
    ("#b8860b", "#e0c060"), ("#c03a5e", "#f7768e"), ("#12889a", "#5fd0dc"), ("#6b7a1f", "#b8cc52"),
    ("#a0488f", "#e08fd0"), ("#5a6b7a", "#a9b8c6"),
)  # fmt: skip
"""Of a project: its dots on light, and on dark."""
_LINES = {
    SAME_TOPIC: ("about the same", "#8d99a8", "#66707f", "0.9", ""),
    SUPPORTS: ("bears out", "#2f8a57", "#7fcf9a", "1.1", ""),
    DEPENDS_ON: ("rests on", "#3b6fd4", "#7aa2f7", "1.2", "5 3"),
    SUPERSEDES: ("replaces", "#8a4fc0", "#bb9af7", "1.8", ""),
    CONTRADICTS: ("contradicts", "#d0242f", "#ff5f6d", "2", "2 3"),
}
"""Of a kind: its name, its colour on light and on dark, how thick it is, how it is broken."""
_FONTS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Dot:
    """A memory to be drawn: `degree` is how many edges it has in the whole graph; one not in force is drawn hollow."""

    id: str
    title: str
    project: str
    degree: int = 0
    importance: int = 3
    in_force: bool = True

    @property
    def radius(self) -> float:
        return float(round(min(13.0, 2.6 + 1.5 * self.degree**0.5 + 0.7 * (self.importance - 3)), 1))


def chosen(dots: Sequence[Dot], most: int) -> list[Dot]:
    """At most so many, of the largest projects: of each the most linked, the first of each before the second of any."""
    largest = dict(list(groups(dots).items())[:MOST_PROJECTS])
    order = sorted((rank, project, at) for project, mine in largest.items() for rank, at in enumerate(mine))
    return [dots[at] for _, _, at in order[:most]]


def groups(dots: Sequence[Dot]) -> dict[str, list[int]]:
    """The places of each project's dots, the projects with the most first; of a project the most linked first."""
    found: dict[str, list[int]] = {}
    for at, dot in enumerate(dots):
        found.setdefault(dot.project, []).append(at)
    for mine in found.values():
        mine.sort(key=lambda at: (-dots[at].degree, -dots[at].importance, dots[at].id))
    return dict(sorted(found.items(), key=lambda each: (-len(each[1]), each[0])))


def name_size(project: str) -> tuple[float, float]:
    """How much room the name of a project takes above its dots."""
    return width_of(cut(project, PROJECT_CHARACTERS), HEADING), HEADING * 1.25 + ABOVE


def svg(dots: Sequence[Dot], edges: Iterable[Edge], places: Sequence[Point], *, total: int) -> str:
    """The picture. `total` is how many memories there are, of which the dots are some."""
    places, width, height = _framed(dots, places)
    at = {dot.id: number for number, dot in enumerate(dots)}
    drawn = [edge for edge in edges if edge.source in at and edge.target in at]
    projects = groups(dots)
    names = dict(_names(projects, dots, places))
    labels = _labels(dots, places, (0.0, HEAD - 8, width, height - FOOT + 10), names.values())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="{_FONTS}" role="img">',
        f"<title>{_count(len(dots), 'memory', 'memories')} of {_count(len(projects), 'project', 'projects')}</title>",
        _style(),
        f'<rect class="paper" width="{width:.0f}" height="{height:.0f}"/>',
        *(_ground(number, [places[dot] for dot in mine]) for number, mine in enumerate(projects.values())),
        *_drawn(drawn, at, dots, places),
        *_circles(projects, dots, places),
        *(_name(number, project, names[project]) for number, project in enumerate(projects)),
        *(_label(label, linked=dots[number].degree > 0) for number, label in labels),
        *_heading(len(dots), len(drawn), len(projects), total),
        *_legend({edge.kind for edge in drawn}, any(not dot.in_force for dot in dots), height),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _framed(dots: Sequence[Dot], places: Sequence[Point]) -> tuple[list[Point], float, float]:
    """The places moved to where there is room around them, and the size of the whole."""
    room = 26.0
    left = min((x - dot.radius for dot, (x, _) in zip(dots, places, strict=True)), default=0.0) - room
    top = min((y - dot.radius for dot, (_, y) in zip(dots, places, strict=True)), default=0.0) - room - HEADING
    right = max((x + dot.radius for dot, (x, _) in zip(dots, places, strict=True)), default=0.0) + room
    bottom = max((y + dot.radius for dot, (_, y) in zip(dots, places, strict=True)), default=0.0) + room
    width = max(LEAST_WIDTH, right - left + 2 * MARGIN)
    height = bottom - top + HEAD + FOOT
    across, down = (width - (right - left)) / 2 - left, HEAD - top
    return [(round(x + across, 1), round(y + down, 1)) for x, y in places], round(width), round(height)


# --- the parts of it ----------------------------------------------------------------------------------------------


def _style() -> str:
    light = [
        ".paper{fill:#fbfbf9}",
        ".ink{fill:#2b3138}",
        ".quiet{fill:#6c7680}",
        ".label{fill:#2b3138;stroke:#fbfbf9}.alone{fill:#78828c}",
    ]
    dark = [
        ".paper{fill:#16181d}",
        ".ink{fill:#e6e8eb}",
        ".quiet{fill:#98a2ad}",
        ".label{fill:#d7dbe0;stroke:#16181d}.alone{fill:#8d97a3}",
    ]
    for number, colours in enumerate(_COLOURS):
        for rules, colour, paper in zip((light, dark), colours, ("#fbfbf9", "#16181d"), strict=True):
            rules.append(f".c{number}{{fill:{colour};stroke:{paper}}}.g{number}{{fill:{colour};stroke:{colour}}}")
            rules.append(f".h{number}{{fill:{paper};stroke:{colour}}}.n{number}{{fill:{colour};stroke:{paper}}}")
    for kind, (_, on_light, on_dark, thick, broken) in _LINES.items():
        dashes = f";stroke-dasharray:{broken}" if broken else ""
        light.append(f".{kind}{{stroke:{on_light};stroke-width:{thick}{dashes}}}.{kind}-tip{{fill:{on_light}}}")
        dark.append(f".{kind}{{stroke:{on_dark}}}.{kind}-tip{{fill:{on_dark}}}")
    shared = (
        "path{fill:none}.label,.name{paint-order:stroke;stroke-linejoin:round;stroke-width:3px}.name{font-weight:650}"
        ".ground{opacity:.09;stroke-width:44;stroke-linejoin:round;stroke-linecap:round}circle{stroke-width:1.2}.far{opacity:.35}"
    )
    return f"<style>{shared}{''.join(light)}@media(prefers-color-scheme:dark){{{''.join(dark)}}}</style>"


def _ground(number: int, points: Sequence[Point]) -> str:
    """The soft ground that a project lies on: its outline, and a broad edge around it."""
    outline = " ".join(f"{x:g},{y:g}" for x, y in _hull(points))
    return f'<path class="ground g{number % len(_COLOURS)}" d="M{outline}Z"/>'


def _hull(points: Sequence[Point]) -> list[Point]:
    """The points around all others, in their order."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered

    def half(some: Iterable[Point]) -> list[Point]:
        around: list[Point] = []
        for x, y in some:
            while len(around) > 1 and _turns_right(around[-2], around[-1], (x, y)):
                around.pop()
            around.append((x, y))
        return around[:-1]

    return half(ordered) + half(reversed(ordered))


def _turns_right(one: Point, two: Point, three: Point) -> bool:
    return (two[0] - one[0]) * (three[1] - one[1]) - (two[1] - one[1]) * (three[0] - one[0]) <= 0


def _drawn(edges: Sequence[Edge], at: dict[str, int], dots: Sequence[Dot], places: Sequence[Point]) -> Iterator[str]:
    """The lines: one path for all of a kind, those between projects fainter; what replaces another points to it."""
    for kind in EDGE_KINDS:
        for far in (True, False):
            mine = [(at[edge.source], at[edge.target]) for edge in edges if edge.kind == kind]
            mine = sorted({pair for pair in mine if (dots[pair[0]].project != dots[pair[1]].project) == far})
            if not mine:
                continue
            told = "".join(
                f"M{places[one][0]:g} {places[one][1]:g}L{places[two][0]:g} {places[two][1]:g}" for one, two in mine
            )
            yield f'<path class="{kind}{" far" * far}" d="{told}"/>'
            if kind == SUPERSEDES:
                tips = "".join(_tip(places[one], places[two], dots[two].radius) for one, two in mine)
                yield f'<path class="{kind}-tip" d="{tips}"/>'


def _tip(start: Point, end: Point, radius: float) -> str:
    """An arrow's head before the dot that a line ends in."""
    across, down = end[0] - start[0], end[1] - start[1]
    length = max(1e-6, (across**2 + down**2) ** 0.5)
    across, down = across / length, down / length
    x, y = end[0] - across * (radius + 1.5), end[1] - down * (radius + 1.5)
    back = (x - across * 8, y - down * 8)
    sides = [(back[0] - down * 3.6, back[1] + across * 3.6), (back[0] + down * 3.6, back[1] - across * 3.6)]
    return f"M{x:.1f} {y:.1f}" + "".join(f"L{left:.1f} {top:.1f}" for left, top in sides) + "Z"


def _circles(projects: dict[str, list[int]], dots: Sequence[Dot], places: Sequence[Point]) -> Iterator[str]:
    for number, mine in enumerate(projects.values()):
        for at in mine:
            dot, (x, y) = dots[at], places[at]
            colour = f"{'c' if dot.in_force else 'h'}{number % len(_COLOURS)}"
            title = _text(dot.title, TITLE_CHARACTERS)
            yield f'<circle class="{colour}" cx="{x:g}" cy="{y:g}" r="{dot.radius:g}"><title>{title}</title></circle>'


def _names(projects: dict[str, list[int]], dots: Sequence[Dot], places: Sequence[Point]) -> Iterator[tuple[str, Box]]:
    """Where the name of each project stands: above its dots."""
    for project, mine in projects.items():
        width, height = name_size(project)
        top = min(places[at][1] - dots[at].radius for at in mine) - height
        middle = (min(places[at][0] for at in mine) + max(places[at][0] for at in mine)) / 2
        yield project, (middle - width / 2, top, middle + width / 2, top + HEADING * 1.25)


def _name(number: int, project: str, box: Box) -> str:
    place = f'x="{(box[0] + box[2]) / 2:.1f}" y="{box[3] - 4:.1f}" text-anchor="middle" font-size="{HEADING:g}"'
    return f'<text class="name n{number % len(_COLOURS)}" {place}>{_text(project, PROJECT_CHARACTERS)}</text>'


def _labels(dots: Sequence[Dot], places: Sequence[Point], frame: Box, taken: Iterable[Box]) -> list[tuple[int, Label]]:
    """The titles of the most linked, where there is room for them; of what no longer holds none."""
    order = sorted(range(len(dots)), key=lambda at: (-dots[at].degree, -dots[at].importance, dots[at].id))
    titles = [dots[at].title if dots[at].in_force else "" for at in order]
    found = set_beside(titles, [places[at] for at in order], [dots[at].radius for at in order], frame, taken)
    return [(order[number], label) for number, label in found]


def _label(label: Label, *, linked: bool) -> str:
    place = f'x="{label.x:.1f}" y="{label.y:.1f}" text-anchor="{label.anchor}" font-size="{LABEL:g}"'
    return f'<text class="label{"" if linked else " alone"}" {place}>{escaped(label.text)}</text>'


def _heading(dots: int, edges: int, projects: int, total: int) -> Iterator[str]:
    some = "" if total <= dots else f" of {total:,}, the most linked of the largest projects"
    told = f"{_count(dots, 'memory', 'memories')}{some} · {_count(edges, 'link', 'links')}"
    told = f"{told} · {_count(projects, 'project', 'projects')}"
    yield f'<text class="ink" x="{MARGIN:g}" y="32" font-size="18" font-weight="650">What memem remembers</text>'
    yield f'<text class="quiet" x="{MARGIN:g}" y="50" font-size="{SMALL:g}">{told}</text>'


def _legend(kinds: set[str], hollow: bool, height: float) -> Iterator[str]:
    """What the lines mean, of those that are there; and what the dots do."""
    x, y = MARGIN, height - 36
    for kind in EDGE_KINDS:
        if kind in kinds:
            name = _LINES[kind][0]
            yield f'<path class="{kind}" d="M{x:.0f} {y - 4:.0f}h26"/>'
            if kind == SUPERSEDES:
                yield f'<path class="{kind}-tip" d="{_tip((x, y - 4), (x + 28, y - 4), 0)}"/>'
            yield f'<text class="quiet" x="{x + 32:.0f}" y="{y:.0f}" font-size="{SMALL:g}">{name}</text>'
            x += 32 + width_of(name, SMALL) + 22
    told = "A larger dot has more links" + ("; a hollow one no longer holds." if hollow else ".")
    yield f'<text class="quiet" x="{MARGIN:g}" y="{height - 16:.0f}" font-size="{SMALL:g}">{told}</text>'


def _count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _text(words: str, most: int) -> str:
    return escaped(cut(words, most))
