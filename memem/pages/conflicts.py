"""`Conflicts.md`: the memories that contradict each other, for a person to decide."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memem.core.errors import NoteChanged
from memem.core.memory import Entry
from memem.notes.conflicts import FOUND_BY, Conflict, conflicts
from memem.pages import markdown
from memem.vault.write_lock import writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


MOST_ON_PAGE = 200
SIDE_CHARACTERS = 1_200
"""Of a statement, and of its evidence, on the page: the note has the rest."""
_INTRODUCTION = (
    "Each pair says different things of one. /memem-conflicts in Claude Code goes through them with you. "
    "In a terminal, `memem conflicts resolve ID keep` keeps the one with that id and ends the other; "
    "`memem conflicts resolve ID both` says that both hold."
)


def write_page(ws: Workspace) -> None:
    """Bring `Conflicts.md` up to date. There is none before the first conflict."""
    found = conflicts(ws)
    page = ws.store.paths.conflicts
    if found or page.exists():
        with writing(ws), suppress(NoteChanged):  # whoever saves it now gets ours the next time
            markdown.write(page, _page(found), fsync=ws.settings.fsync, is_ours=_is_ours)


def _is_ours(line: str) -> bool:
    """Headings, quotations and what the model said of them: of a conflict that is no more, that too."""
    return line.startswith(("# ", "## ", ">", *(f"{each[0].upper()}{each[1:]}" for each in FOUND_BY.values())))


def _page(found: list[Conflict]) -> str:
    if not found:
        return "# Conflicts\n\nNo two memories contradict each other."
    parts = [f"# Conflicts\n\n{_INTRODUCTION}"]
    parts += [_section(number, each) for number, each in enumerate(found[:MOST_ON_PAGE], 1)]
    if len(found) > MOST_ON_PAGE:
        parts.append(
            f"{len(found) - MOST_ON_PAGE} more: /memem-conflicts in Claude Code, or `memem conflicts`, lists them all."
        )
    return "\n\n".join(parts)


def _section(number: int, conflict: Conflict) -> str:
    head = f"{number}. {conflict.one.project}: {'; '.join(conflict.differences) or 'in other words'}"
    told = f"{conflict.found[0].upper()}{conflict.found[1:]}{f': {conflict.why}' if conflict.why else ''}."
    return "\n\n".join((f"## {markdown.plain(head)}", markdown.plain(told), _side(conflict.one), _side(conflict.other)))


def _side(entry: Entry) -> str:
    """One side as a callout: who said it, when, in which words, and what proves it."""
    memory = entry.memory
    by = {"human": "written by you", "model": f"{memory.source_type} by memem"}.get(memory.author, memory.author)
    since = (memory.valid_from or memory.created)[:10]
    head = markdown.plain(f"{memory.id8} · {since} · {by}")
    lines = [f"[!quote] {head}", entry.link, *_shown(memory.body)]
    if memory.evidence:
        lines += ["", "Evidence:", *(f"> {line}" for line in _shown(memory.evidence))]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _shown(text: str) -> list[str]:
    """Its lines, as far as there is room for them."""
    cut = text if len(text) <= SIDE_CHARACTERS else f"{text[:SIDE_CHARACTERS].rstrip()} […]"
    return [markdown.plain(line) for line in cut.splitlines()]
