"""The format of a playbook: the most important memories of a project, one line each, linked to their notes.

    # Playbook

    ## Decisions in force
    - Tokens are signed with RS256. [[tokens-are-signed-3f2c9a1e|3f2c9a1e]]

    <!-- written: @0 @3 3f2c9a1e.3.5d41402a.9b74c989 -->

The record in the last line lists memem's headings (`@3`) and lines: the note's id, the section, digests of the line and
the statement, and `*` once a model was asked to reword it. An unchanged line is memem's, any other the user's. Recorded
lines that are missing were removed by the user (`-3f2c9a1e`) and are not written again.
"""

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memem.pages import markdown, playbook_lines
from memem.pages.playbook_lines import GONE, HEADED, HEADINGS, RECORD, TITLE, WRITTEN

MAX_PAGE_CHARS = 4_000  # of memem's part, with its marks and the record


@dataclass(frozen=True, slots=True)
class PlaybookLine:
    section: int
    id8: str
    words: str
    link: str = ""
    statement: str = ""  # a digest
    refined: bool = False  # whether a model was asked to reword it

    @property
    def text(self) -> str:
        return f"- {self.words} {self.link}"

    @property
    def entry(self) -> str:
        """The line's record, without the link, which Obsidian changes when a note is renamed."""
        return f"{self.id8}.{self.section}.{digest(f'{self.words} {self.id8}')}.{self.statement}{'*' * self.refined}"


@dataclass(frozen=True, slots=True)
class Playbook:
    """A page's lines: memem's by note id, the user's by section, and the ids that the user removed."""

    ours: Mapping[str, PlaybookLine] = field(default_factory=dict)
    theirs: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()

    def has_own(self, id8: str) -> bool:
        """Whether the user has their own line about a memory, or removed it."""
        return id8 in self.gone or any(id8 in line for lines in self.theirs.values() for line in lines)


def digest(text: str) -> str:
    return f"{zlib.crc32(text.strip().encode('utf-8', 'replace')):08x}"


def parse_page(text: str) -> Playbook:
    """Tell memem's lines of a page from the user's."""
    recorded, gone = _parse_record(text)
    ours: dict[str, PlaybookLine] = {}
    theirs: dict[int, tuple[str, ...]] = {}
    headings = {f"@{number}" for _, number, _ in playbook_lines.placed_lines(text) if number is not None}
    blank: list[str] = []  # the empty lines before a line
    started: set[int] = set()
    for place, line in playbook_lines.list_lines(text):
        words, id8 = playbook_lines.split_line(line)
        link, statement = line.strip()[len(words) + 2 :].strip(), recorded.get(id8, "").rpartition(".")[2]
        own = PlaybookLine(place, id8, words, link, statement.rstrip("*"), statement.endswith("*"))
        if recorded.get(id8) == own.entry and id8 not in ours and line.startswith("- "):
            ours[id8] = own
        elif line.strip():
            theirs[place] = (*theirs.get(place, ()), *(blank if place in started else []), line)
        if line.strip():
            started.add(place)
        blank = [] if line.strip() else [*blank, line]
    missing = {name for name in recorded if name not in ours and name not in headings}
    return Playbook(ours, theirs, frozenset(gone | missing))


def render_part(lines: Sequence[PlaybookLine], kept: Playbook) -> str:
    """Memem's part of the page: under each heading its own lines, then the user's."""
    written: list[str] = []
    blocks: list[str] = []
    for number, name in enumerate(HEADINGS):
        own = [line for line in lines if line.section == number]
        under = [*(line.text for line in own), *kept.theirs.get(number, ())]
        if f"@{number}" not in kept.gone and (under or number == TITLE):
            written.append(f"@{number}")
            blocks.append("\n".join([name, *([""] if under and number == TITLE else []), *under]))
        elif under:
            blocks.append("\n".join(under))
        written += [line.entry for line in own]
    record = " ".join([*written, *(f"-{name}" for name in sorted(kept.gone))])
    return "\n\n".join([*blocks, f"{RECORD} {record} -->"])


def render_without_lines(text: str) -> str:
    """Memem's part with the user's lines only; empty when the user changed nothing."""
    kept = parse_page(text)
    return render_part([], kept) if kept.theirs or kept.gone else ""


def fit_lines(lines: Iterable[PlaybookLine], kept: Playbook) -> list[PlaybookLine]:
    """The first lines that fit on the page."""
    taken: list[PlaybookLine] = []
    for line in lines:
        if len(markdown.merge_part("", render_part([*taken, line], kept))) <= MAX_PAGE_CHARS:
            taken.append(line)
    return taken


def _parse_record(text: str) -> tuple[dict[str, str], set[str]]:
    """Recorded lines by note id, headings by number, and the names of those that the user removed."""
    records = [line.strip() for line in markdown.get_own_lines(text) if playbook_lines.is_record(line)]
    written: dict[str, str] = {}
    gone: set[str] = set()
    for entry in records[-1].split() if records else ():
        if found := re.fullmatch(WRITTEN, entry):
            written[found[1]] = entry
        elif found := re.fullmatch(GONE, entry):
            gone.add(found[1])
        elif re.fullmatch(HEADED, entry):
            written[entry] = entry
    return written, gone
