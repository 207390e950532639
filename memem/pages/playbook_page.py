"""A playbook: the most important memories of a project, one line each, linked to their notes.

    # Playbook

    ## Current decisions
    - Tokens are signed with RS256. [[tokens-are-signed-3f2c9a1e|3f2c9a1e]]

    <!-- written: @0 @3 3f2c9a1e.3.5d41402a.9b74c989 -->

The record in the last line lists memem's headings (`@3`) and lines: the note's id, the section, digests of the line and
the statement, and `*` once a model was asked to reword it. An unchanged line is memem's, any other the user's. Recorded
lines that are missing were removed by the user (`-3f2c9a1e`) and are not written again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from memem.core import memory as layers
from memem.core import safe_open
from memem.core.dates import is_in_force
from memem.core.memory import Entry, Memory
from memem.pages import markdown, read_playbook
from memem.pages.read_playbook import (
    CONVENTIONS,
    DECISIONS,
    ENVIRONMENT,
    IDENTITY,
    SECTIONS,
    TITLE,
    TRAPS,
    is_cut_by_earlier_version,
)
from memem.search.notes import NoteRow
from memem.state import usefulness
from memem.vault import page_text
from memem.vault.page_text import RECORD, digest
from memem.vault.store import MAX_NOTE_BYTES

if TYPE_CHECKING:
    from memem.workspace import Workspace

MAX_PAGE_CHARS = 4_000  # of memem's part, with its marks and the record
MAX_CANDIDATES = 100  # more than fit
TURNS = (1, 1, 2, 2, 1)  # memories per section in each round: decisions and traps are needed most
OLDEST_SHARE = 0.6
HALF_LIFE_DAYS = 120.0  # recency falls from 1 towards OLDEST_SHARE
_TRAP_TAGS = frozenset(("trap", "gotcha", "pitfall", "bug"))
# Signs of an environment: a variable, a path, an address, a port, a version, a command.
_SURROUNDINGS = re.compile(
    r"""\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b | (?:^|\s)[~.]?/[\w.-]+ | \b[\w-]+/[\w./-]+\.\w+ | \bhttps?:// | `[^`]+`
      | \b(?:\d{1,3}\.){3}\d{1,3}\b | \bv?\d+\.\d+(?:\.\d+)?\b | \bports?\ \d+ | \blocalhost\b
      | \b(?:runs?|running|deploy\w*|install\w*|hosted|server|staging|production|docker|container|database|ci)\b""",
    re.VERBOSE | re.IGNORECASE,
)


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
    ours: Mapping[str, PlaybookLine] = field(default_factory=dict)  # memem's lines, by note id
    theirs: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # the user's lines, by section
    gone: frozenset[str] = frozenset()  # ids of lines and headings that the user removed

    def has_own(self, id8: str) -> bool:
        """Whether the user has their own line about a memory, or removed it."""
        return id8 in self.gone or any(id8 in line for lines in self.theirs.values() for line in lines)


def parse_page(text: str) -> Playbook:
    """Tell memem's lines of a page from the user's."""
    recorded, gone = _parse_record(text)
    ours: dict[str, PlaybookLine] = {}
    theirs: dict[int, tuple[str, ...]] = {}
    headings = {f"@{number}" for _, number, _ in read_playbook.placed_lines(text) if number is not None}
    blank: list[str] = []  # the empty lines before a line
    started: set[int] = set()
    for place, line in read_playbook.list_lines(text):
        words, id8 = page_text.split_line(line)
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
    for number, name in enumerate(read_playbook.HEADINGS):
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
    taken: list[PlaybookLine] = []
    for line in lines:
        if len(markdown.merge_part("", render_part([*taken, line], kept))) <= MAX_PAGE_CHARS:
            taken.append(line)
    return taken


def _parse_record(text: str) -> tuple[dict[str, str], set[str]]:
    """Recorded lines by note id, headings by number, and the names of those that the user removed."""
    records = [line.strip() for line in page_text.get_own_lines(text) if read_playbook.is_record(line)]
    written: dict[str, str] = {}
    gone: set[str] = set()
    for entry in records[-1].removeprefix(RECORD).removesuffix("-->").split() if records else ():
        if "." in entry:
            written[entry.partition(".")[0]] = entry
        elif entry.startswith("-"):
            gone.add(entry[1:])
        else:
            written[entry] = entry
    return written, gone


@dataclass(frozen=True, slots=True)
class PlaybookCandidate:
    memory: Memory
    changed: float  # time of its last change
    used: float = 1.0  # its usefulness (`state/usefulness.py`)


def section_of(memory: Memory) -> int | None:
    """The section of a memory; None when it does not belong in a playbook."""
    if memory.layer == layers.ARCHIVE:
        return None
    if memory.layer == layers.PINNED:
        return IDENTITY
    if memory.kind == "lesson" or _TRAP_TAGS & {tag.lower() for tag in memory.tags}:
        return TRAPS
    if memory.layer == layers.CONVENTIONS or memory.kind in ("convention", "preference"):
        return CONVENTIONS
    if memory.kind == "decision":
        return DECISIONS
    is_environment = memory.kind == "procedure" or (memory.kind == "fact" and _SURROUNDINGS.search(memory.body))
    return ENVIRONMENT if is_environment else None


def choose_memories(candidates: Sequence[PlaybookCandidate]) -> Iterator[tuple[int, Memory]]:
    """Memories with their sections in order of priority: sections take turns with their best."""
    newest = max((candidate.changed for candidate in candidates), default=0.0)
    queues: dict[int | None, list[Memory]] = {section: [] for section in (*SECTIONS, None)}
    for candidate in sorted(candidates, key=lambda one: (-_weight(one, newest), -one.changed, one.memory.id)):
        queues[section_of(candidate.memory)].append(candidate.memory)
    del queues[None]
    while any(queues.values()):
        for section, turns in zip(SECTIONS, TURNS, strict=True):
            for memory in queues[section][:turns]:
                yield section, memory
            del queues[section][:turns]


def _weight(candidate: PlaybookCandidate, newest: float) -> float:
    """Importance first, then use and recency, counted from the project's last change so that an idle page stays."""
    age = max(0.0, newest - candidate.changed) / 86_400
    recency = OLDEST_SHARE + (1 - OLDEST_SHARE) * float(0.5 ** (age / HALF_LIFE_DAYS))
    own = 1.1 if candidate.memory.author == "human" else 1.0
    return candidate.memory.importance * candidate.used * recency * own


def update_part(ws: Workspace, rows: Sequence[NoteRow], text: str) -> str:
    """Memem's part of the playbook page `text`, with the most important of these rows; empty when it stays empty."""
    page = parse_page(text)
    entries = {row.memory.id8: Entry(row.memory, row.path) for row in rows if row.memory}
    page = replace(page, gone=frozenset(name for name in page.gone if name in entries or _may_return(ws, name)))
    now = ws.clock()
    current = [(row.memory, row.changed) for row in rows if row.memory and is_in_force(row.memory, now)]
    used = usefulness.boosts(ws, [memory.id for memory, _ in current])
    order = choose_memories([PlaybookCandidate(memory, time, used.get(memory.id, 1.0)) for memory, time in current])
    wanted = (
        (section, entries[memory.id8])
        for section, memory in order
        if not page.has_own(memory.id8) and f"@{section}" not in page.gone
    )
    lines = [_make_line(section, entry, page) for section, entry in islice(wanted, MAX_CANDIDATES)]
    fitting = fit_lines(lines, page)
    return render_part(fitting, page) if fitting or page_text.find_own_part(text) else ""


def apply_wording(text: str, words: Mapping[str, str], statements: Mapping[str, str]) -> str:
    """Memem's part with a model's `words` for the lines whose statements are still those it was asked about."""
    page = parse_page(text)
    lines = [
        replace(line, words=words.get(line.id8, line.words), refined=True)
        if statements.get(line.id8) == line.statement
        else line
        for line in page.ours.values()
    ]
    return render_part(lines, page) if lines else ""


def _may_return(ws: Workspace, name: str) -> bool:
    """Whether a removed heading or line could come back: its note exists, even if unreadable or moved elsewhere."""
    if name.startswith("@") or any(ws.store.paths.memories.rglob(f"*{name.lower()}*.md")):
        return True
    rows = ws.index.rows("problem IS NOT NULL OR (id >= ? AND id < ?)", (name, f"{name}\x7f"))
    for row in rows:
        if row.memory:
            return True
        with suppress(OSError), safe_open.open_plain(ws.store.absolute(row.path), follow=False) as file:
            if name.encode() in file.read(MAX_NOTE_BYTES):
                return True
    return False


def _make_line(section: int, entry: Entry, page: Playbook) -> PlaybookLine:
    memory, before = entry.memory, page.ours.get(entry.memory.id8)
    statement, link = digest(memory.body), markdown.link(entry.link[2:-2], memory.id8)
    if before and before.statement == statement:  # a line keeps its words until its statement changes
        words = read_playbook.format_line(memory) if is_cut_by_earlier_version(before.words) else before.words
        return replace(before, section=section, words=words, link=link)
    return PlaybookLine(section, memory.id8, read_playbook.format_line(memory), link, statement)
