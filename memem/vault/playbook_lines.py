"""The lines of a playbook as they stand on its page: which section each is in, what it says, which note it is about.

Apart from `playbooks.py`, which tells whose they are, since a session's start reads them and has no time for more.
"""

import re

from memem.core.playbook import NAMES
from memem.vault import pages

TITLE = 0
"""The number of the page's own heading; those of the sections follow."""
HEADINGS = ("# Playbook", *map("## {}".format, NAMES.values()))
RECORD = "<!-- written:"
_LINK = re.compile(r"\s*\[\[[^\[\]|]*\|([0-9A-Za-z-]{8})\]\]\s*\Z")


def words_of(line: str) -> tuple[str, str]:
    """What a line says, and the beginning of the id of the note it is linked to, which may be none."""
    bare = line.strip().removeprefix("- ").strip()
    found = _LINK.search(bare)
    return (bare[: found.start()], found[1]) if found else (bare, "")


def below_headings(text: str) -> list[tuple[int, str]]:
    """The lines between the marks, without headings and record, each with its section, 0 for what stands before any."""
    return [(place, line) for place, line in placed(text) if heading(line) is None and not line.startswith(RECORD)]


def placed(text: str) -> list[tuple[int, str]]:
    """Every line between the marks, with the number of the section it stands in; a heading of a person's ends none."""
    found, place = [], TITLE
    for line in pages.own_lines(text):
        number = heading(line)
        place = place if number is None else number
        found.append((place, line))
    return found


def heading(line: str) -> int | None:
    """The number of the heading of ours that a line is."""
    return HEADINGS.index(line.strip()) if line.strip() in HEADINGS else None
