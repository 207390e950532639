"""A playbook's lines: what matters most of a project, a line for each memory, linked to its note.

    # Playbook

    ## Decisions in force
    - Tokens are signed with RS256. [[tokens-are-signed-3f2c9a1e|3f2c9a1e]]

    <!-- written: @0 @3 3f2c9a1e.3.5d41402a.9b74c989 -->

What is between the marks may be edited too. The record in the last line says what memem wrote there: headings (`@3`),
and of each line the note's id, the section, a digest of the line, one of the statement it was made of, and `*` once a
model was asked to word it. A line that stands where and as it was written is memem's, to be renewed or dropped; any
other line is a person's and stays. A line or heading of the record that is no longer there was changed or deleted by a
person: it is put down as `-3f2c9a1e` or `-@3`, and not written again. Without the record everything is a person's.
"""

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memem.pages import markdown
from memem.pages.playbook_lines import (
    GONE,
    HEADED,
    HEADINGS,
    RECORD,
    TITLE,
    WRITTEN,
    is_record,
    list_lines,
    placed_lines,
    split_line,
)

MAX_PAGE_CHARS = 4_000
"""Of memem's part, its marks and the record included."""


@dataclass(frozen=True, slots=True)
class PlaybookLine:
    """A line about a memory: in which section, in which words, made of which statement."""

    section: int
    id8: str
    words: str
    link: str = ""
    statement: str = ""  # a digest
    asked: bool = False  # whether a model was asked to word it

    @property
    def text(self) -> str:
        return f"- {self.words} {self.link}"

    @property
    def entry(self) -> str:
        """What the record says of it. The link does not count: Obsidian changes it when a note is renamed."""
        return f"{self.id8}.{self.section}.{digest(f'{self.words} {self.id8}')}.{self.statement}{'*' * self.asked}"


@dataclass(frozen=True, slots=True)
class Playbook:
    """A page as it is: memem's lines by the note's id, a person's by section, and what a person took out."""

    ours: Mapping[str, PlaybookLine] = field(default_factory=dict)
    theirs: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()

    def has_own(self, id8: str) -> bool:
        """Whether a person has a line of their own about a memory, or wants none."""
        return id8 in self.gone or any(id8 in line for lines in self.theirs.values() for line in lines)


def digest(text: str) -> str:
    """A few characters that tell whether a line is still the same."""
    return f"{zlib.crc32(text.strip().encode('utf-8', 'replace')):08x}"


def parse_page(text: str) -> Playbook:
    """What is whose on a page."""
    recorded, gone = _recorded(text)
    ours: dict[str, PlaybookLine] = {}
    theirs: dict[int, tuple[str, ...]] = {}
    headings = {f"@{number}" for _, number, _ in placed_lines(text) if number is not None}
    above: list[str] = []  # the empty lines before a line
    begun: set[int] = set()
    for place, line in list_lines(text):
        words, id8 = split_line(line)
        known = recorded.get(id8)
        is_ours = known and known.entry == PlaybookLine(place, id8, words, "", known.statement, known.asked).entry
        if known and is_ours and id8 not in ours and line.startswith("- "):
            ours[id8] = PlaybookLine(
                place, id8, words, line.strip()[len(words) + 2 :].strip(), known.statement, known.asked
            )
        elif line.strip():
            theirs[place] = (*theirs.get(place, ()), *(above if place in begun else []), line)
        if line.strip():
            begun.add(place)
        above = [] if line.strip() else [*above, line]
    missing = {name for name in recorded if name not in ours and name not in headings}
    return Playbook(ours, theirs, frozenset(gone | missing))


def render_part(lines: Sequence[PlaybookLine], kept: Playbook) -> str:
    """Memem's part of the page: its lines under their headings, before those that a person wrote there."""
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
    """Memem's part without its lines; empty when a person has changed nothing of it."""
    kept = parse_page(text)
    return render_part([], kept) if kept.theirs or kept.gone else ""


def fit_lines(lines: Iterable[PlaybookLine], kept: Playbook) -> list[PlaybookLine]:
    """As many lines as there is room for, the first ones first, whatever section they are in."""
    taken: list[PlaybookLine] = []
    for line in lines:
        if len(markdown.merge_part("", render_part([*taken, line], kept))) <= MAX_PAGE_CHARS:
            taken.append(line)
    return taken


@dataclass(frozen=True, slots=True)
class _Known:
    """A line or a heading as the record has it."""

    entry: str
    statement: str = ""
    asked: bool = False


def _recorded(text: str) -> tuple[dict[str, _Known], set[str]]:
    """What memem wrote, by the note's id or the heading's number; and what a person took out."""
    record = next((line.strip() for line in reversed(markdown.get_own_lines(text)) if is_record(line)), "")
    written: dict[str, _Known] = {}
    gone: set[str] = set()
    for entry in record.split():
        if found := re.fullmatch(WRITTEN, entry):
            written[found[1]] = _Known(entry, found[4], bool(found[5]))
        elif found := re.fullmatch(GONE, entry):
            gone.add(found[1])
        elif re.fullmatch(HEADED, entry):
            written[entry] = _Known(entry)
    return written, gone
