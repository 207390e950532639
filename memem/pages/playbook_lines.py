"""Read the lines of a playbook: section, text and linked note."""

import re
from collections.abc import Sequence

from memem.pages import markdown

IDENTITY, CONVENTIONS, DECISIONS, TRAPS, ENVIRONMENT = SECTIONS = (1, 2, 3, 4, 5)
_NAMES = ("Identity", "Conventions", "Decisions in force", "Known traps", "Environment")
NAMES = dict(zip(SECTIONS, _NAMES, strict=True))
TITLE = 0  # the number of the page's own heading; sections follow
HEADINGS = ("# Playbook", *map("## {}".format, NAMES.values()))
RECORD = "<!-- written:"
WRITTEN = r"([0-9A-Za-z-]{8})\.([1-5])\.([0-9a-f]{8})\.([0-9a-f]{8})(\*?)"
GONE = r"-(@[0-5]|[0-9A-Za-z-]{8})"
HEADED = r"@[0-5]"
_RECORD = re.compile(rf"{RECORD}(?: (?:{WRITTEN}|{GONE}|{HEADED}))* -->")
_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}(?!.*`)|~{3,})(?P<more>.*)")
_LINK = re.compile(r"\s*\[\[[^\[\]|]*\|([0-9A-Za-z-]{8})\]\]\s*\Z")


def split_line(line: str) -> tuple[str, str]:
    """The text of a line, and the short id of the linked note or nothing."""
    bare = line.strip().removeprefix("- ").strip()
    found = _LINK.search(bare)
    return (bare[: found.start()], found[1]) if found else (bare, "")


def list_lines(text: str) -> list[tuple[int, str]]:
    """The lines between the marks with their sections, without headings and record."""
    return [(place, line) for place, number, line in placed_lines(text) if number is None and not is_record(line)]


def placed_lines(text: str) -> list[tuple[int, int | None, str]]:
    """Every line between the marks with its section and, for memem's headings outside code, its number."""
    lines, place = markdown.get_own_lines(text), TITLE
    fenced = _find_fenced(lines)
    placed = []
    for at, line in enumerate(lines):
        number = HEADINGS.index(line.strip()) if at not in fenced and line.strip() in HEADINGS else None
        place = place if number is None else number
        placed.append((place, number, line))
    return placed


def is_record(line: str) -> bool:
    """Whether a comment is memem's record; any other is the user's."""
    return line.startswith(RECORD) and _RECORD.fullmatch(line.strip()) is not None


def _find_fenced(lines: Sequence[str]) -> set[int]:
    """Line numbers in code blocks that are closed and contain no line of memem's."""
    inside: set[int] = set()
    start, fence = 0, ""
    for at, line in enumerate(lines):
        found = _FENCE.match(line)
        if fence and found and found["fence"].startswith(fence) and not found["more"].strip():
            inside.update(range(start, at + 1))
            fence = ""
        elif fence and split_line(line)[1]:
            fence = ""
        elif found and not fence:
            start, fence = at, found["fence"]
    return inside
