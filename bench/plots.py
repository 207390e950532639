"""Line charts as SVG, by the standard library alone: the same numbers always give the same bytes.

A chart is a white card, so that it reads on any background. Its lines differ in colour, dash and dot: the colours are
those of Okabe and Ito, which the colour-blind tell apart as well.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

Style = tuple[str, str, str]
Place = tuple[float, float]

WIDTH, HEIGHT = 860, 416
TOP, BOTTOM, LEFT, RIGHT, GAP = 106, 64, 76, 32, 68
"""Around the panels, which stand side by side, and between them."""
INK, SOFT, FAINT, EDGE = "#1f2933", "#52606d", "#e4e7eb", "#cbd2d9"
STYLES = (("#0072b2", "", "circle"), ("#d55e00", "8 4", "square"), ("#009e73", "2 4", "triangle"))
"""The colour, the dashes and the dots of the first, second and third line."""
QUIET = ("#7b8794", "5 5", "")
"""Those of a line that the others are held against."""
_WIDE, _NARROW = "mwMW@", "fijlrt.,:;'| "


@dataclass(frozen=True, slots=True)
class Axis:
    """Label, range and tick distance of an axis, in percent if `percent` is set."""

    label: str
    low: float
    high: float
    step: float
    percent: bool = False

    def ticks(self) -> list[float]:
        count = math.floor((self.high - self.low) / self.step + 1e-9)
        return [round(self.low + number * self.step, 9) for number in range(count + 1)]

    def named(self, value: float) -> str:
        return f"{100 * value:.10g} %" if self.percent else f"{value:.10g}"

    def share(self, value: float) -> float:
        """Where a value lies between both ends."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Series:
    """A line: its name in the legend, and its points from left to right; others are held against a quiet one."""

    name: str
    points: tuple[tuple[float, float], ...]
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A point worth a ring and a word."""

    x: float
    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Two axes and the lines between them; lines of one name look alike in every panel."""

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    heading: str = ""
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class _Frame:
    """The place of a panel on the card."""

    left: float
    top: float
    width: float
    height: float

    def x(self, panel: Panel, value: float) -> float:
        return self.left + self.width * panel.x.share(value)

    def y(self, panel: Panel, value: float) -> float:
        return self.top + self.height * (1 - panel.y.share(value))


def svg(title: str, panels: Sequence[Panel], width: int = WIDTH) -> str:
    """A chart with its panels side by side under one legend."""
    styles = _styles(series for panel in panels for series in panel.series)
    wide = (width - LEFT - RIGHT - GAP * (len(panels) - 1)) / len(panels)
    frames = [_Frame(LEFT + place * (wide + GAP), TOP, wide, HEIGHT - TOP - BOTTOM) for place in range(len(panels))]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}"'
        ' role="img" font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
        f"<title>{escape(title)}</title>",
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{HEIGHT - 1}" rx="8" fill="#ffffff" stroke="{EDGE}"/>',
        _text(24, 34, title, size=17, colour=INK, weight="600"),
        *_legend(styles),
    ]
    for number, (panel, frame) in enumerate(zip(panels, frames, strict=True)):
        lines += _panel(panel, frame, f"panel-{number}", styles)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _styles(drawn: Iterable[Series]) -> dict[str, Style]:
    """How the line of each name looks."""
    unused = iter(STYLES)
    styles: dict[str, Style] = {}
    for series in drawn:
        if series.name not in styles:
            styles[series.name] = QUIET if series.quiet else next(unused)
    return styles


def _legend(styles: Mapping[str, Style]) -> Iterator[str]:
    x = 24.0
    for name, style in styles.items():
        yield from _drawn([(x, 56), (x + 34, 56)], [(x + 17, 56)], style)
        yield _text(x + 42, 60, name, colour=INK)
        x += 42 + sum(_char_width(letter) for letter in name) + 22


def _char_width(letter: str) -> float:
    """About how wide it is, in whatever font."""
    return 12.5 if letter in _WIDE else 5.0 if letter in _NARROW else 8.0


def _panel(panel: Panel, frame: _Frame, name: str, styles: Mapping[str, Style]) -> Iterator[str]:
    right, bottom = frame.left + frame.width, frame.top + frame.height
    around = _rect(frame.left - 6, frame.top - 6, frame.width + 12, frame.height + 12)
    yield f'<clipPath id="{name}">{around}</clipPath>'
    for tick in panel.y.ticks():
        y = frame.y(panel, tick)
        yield _line([(frame.left, y), (right, y)], FAINT)
        yield _text(frame.left - 9, y + 4, panel.y.named(tick), anchor="end")
    for tick in panel.x.ticks():
        x = frame.x(panel, tick)
        yield _line([(x, bottom), (x, bottom + 5)], SOFT)
        yield _text(x, bottom + 20, panel.x.named(tick), anchor="middle")
    yield _line([(frame.left, bottom), (right, bottom)], SOFT)
    yield _text(frame.left + frame.width / 2, bottom + 44, panel.x.label, anchor="middle")
    middle = frame.top + frame.height / 2
    turned = f' transform="rotate(-90 {_n(frame.left - 52)} {_n(middle)})"'
    yield _text(frame.left - 52, middle, panel.y.label, anchor="middle", more=turned)
    if panel.heading:
        yield _text(frame.left, frame.top - 14, panel.heading, colour=INK, weight="600")
    yield f'<g clip-path="url(#{name})">'
    for series in reversed(panel.series):  # the first lies on top
        points = [(frame.x(panel, x), frame.y(panel, y)) for x, y in series.points]
        yield from _drawn(points, points, styles[series.name])
    yield "</g>"
    if panel.mark:
        yield from _marked(panel.mark, panel, frame)


def _drawn(points: Sequence[Place], dots: Sequence[Place], style: Style) -> Iterator[str]:
    colour, dashes, dot = style
    yield _line(points, colour, dashes, width=2.5 if dot else 1.5)
    if dot:
        yield from (_dot(dot, x, y, colour) for x, y in dots)


def _marked(mark: Mark, panel: Panel, frame: _Frame) -> Iterator[str]:
    """A ring, with its words towards the nearer of top and bottom, where lines seldom are, and the wider side."""
    x, y = frame.x(panel, mark.x), frame.y(panel, mark.y)
    side = 1 if x < frame.left + frame.width / 2 else -1
    down = 1 if y > frame.top + frame.height / 2 else -1
    width = sum(map(_char_width, mark.label)) + 8
    left = x + 16 if side > 0 else x - 16 - width
    middle = y + down * 26
    yield f'<circle cx="{_n(x)}" cy="{_n(y)}" r="8" fill="none" stroke="{INK}" stroke-width="2"/>'
    yield _line([(x + side * 6, y + down * 6), (x + side * 16, y + down * 20)], INK)
    yield _rect(left, middle - 9, width, 18, ' fill="#ffffff" fill-opacity="0.9"')
    yield _text(left + 4, middle + 5, mark.label, colour=INK, weight="600")


def _line(points: Sequence[Place], colour: str, dashes: str = "", width: float = 1) -> str:
    path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{_n(width)}"{dashed}/>'


def _dot(shape: str, x: float, y: float, colour: str) -> str:
    painted = f'fill="{colour}" stroke="#ffffff" stroke-width="1"'
    if shape == "circle":
        return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="4.5" {painted}/>'
    corners = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "triangle": ((0, -5), (5, 4), (-5, 4)),
    }[shape]
    path = " ".join(f"{_n(x + right)},{_n(y + down)}" for right, down in corners)
    return f'<polygon points="{path}" {painted}/>'


def _rect(left: float, top: float, width: float, height: float, more: str = "") -> str:
    return f'<rect x="{_n(left)}" y="{_n(top)}" width="{_n(width)}" height="{_n(height)}"{more}/>'


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 13,
    colour: str = SOFT,
    anchor: str = "start",
    weight: str = "400",
    more: str = "",
) -> str:
    place = f'x="{_n(x)}" y="{_n(y)}" font-size="{size}" fill="{colour}"'
    looks = f' text-anchor="{anchor}"' if anchor != "start" else ""
    looks += f' font-weight="{weight}"' if weight != "400" else ""
    return f"<text {place}{looks}{more}>{escape(text)}</text>"


def _n(value: float) -> str:
    """A coordinate to a tenth, so that drawing anew changes little."""
    return f"{value:.1f}".removesuffix(".0")
