"""Choose the memories of a playbook by rules, their sections and their order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from memem.core import memory as layers
from memem.core import safe_open
from memem.core.dates import is_in_force
from memem.core.memory import Entry, Memory
from memem.pages import markdown, playbook_format
from memem.pages.playbook_format import Playbook, PlaybookLine
from memem.pages.playbook_lines import CONVENTIONS, DECISIONS, ENVIRONMENT, IDENTITY, SECTIONS, TRAPS
from memem.pages.read_playbook import format_line
from memem.search.notes import NoteRow
from memem.state import usefulness
from memem.vault.store import MAX_NOTE_BYTES

if TYPE_CHECKING:
    from memem.workspace import Workspace

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
class PlaybookCandidate:
    """A memory, the time of its last change, and its usefulness (`inject/usefulness.py`)."""

    memory: Memory
    changed: float
    used: float = 1.0


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
    is_of_place = memory.kind == "procedure" or _SURROUNDINGS.search(memory.body)
    return ENVIRONMENT if is_of_place and memory.kind in ("fact", "procedure") else None


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


MAX_CANDIDATES = 100  # more than fit


def update_part(ws: Workspace, rows: Sequence[NoteRow], text: str) -> str:
    """Memem's part of the playbook page `text`, with the most important of these rows; empty when it stays empty."""
    page = playbook_format.parse_page(text)
    entries = {row.memory.id8: Entry(row.memory, row.path) for row in rows if row.memory}
    page = replace(page, gone=frozenset(name for name in page.gone if name in entries or _may_return(ws, name)))
    order = choose_memories(_list_candidates(ws, rows))
    wanted = (one for one in order if not page.has_own(one[1].id8) and f"@{one[0]}" not in page.gone)
    lines = [_make_line(section, entries[memory.id8], page) for section, memory in islice(wanted, MAX_CANDIDATES)]
    fitting = playbook_format.fit_lines(lines, page)
    return playbook_format.render_part(fitting, page) if fitting or markdown.find_own_part(text) else ""


def apply_wording(text: str, words: Mapping[str, str], statements: Mapping[str, str]) -> str:
    """Memem's part with a model's `words` for the lines whose statements are still those it was asked about."""
    page = playbook_format.parse_page(text)
    lines = [
        replace(line, words=words.get(line.id8, line.words), refined=True)
        if statements.get(line.id8) == line.statement
        else line
        for line in page.ours.values()
    ]
    return playbook_format.render_part(lines, page) if lines else ""


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
    """A line keeps its words until its statement changes."""
    memory, before = entry.memory, page.ours.get(entry.memory.id8)
    statement, link = playbook_format.digest(memory.body), markdown.link(entry.link[2:-2], memory.id8)
    if before and before.statement == statement:
        return replace(before, section=section, link=link)
    return PlaybookLine(section, memory.id8, format_line(memory), link, statement)


def _list_candidates(ws: Workspace, rows: Sequence[NoteRow]) -> list[PlaybookCandidate]:
    now = ws.clock()
    current = [row for row in rows if row.memory and is_in_force(row.memory, now)]
    used = usefulness.boosts(ws, [row.memory.id for row in current if row.memory])
    return [PlaybookCandidate(row.memory, row.changed, used.get(row.memory.id, 1.0)) for row in current if row.memory]
