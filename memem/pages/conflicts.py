"""`Conflicts.md`: the memories that contradict each other, for a person to decide."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memem.core.dates import get_said_day
from memem.core.errors import NoteChanged
from memem.core.memory import Entry
from memem.notes.conflicts import FOUND_BY, Conflict, conflicts, describe_origin
from memem.pages import markdown
from memem.vault.write_lock import writing

if TYPE_CHECKING:
    from memem.workspace import Workspace

MAX_ON_PAGE = 200
MAX_SIDE_CHARS = 1_200  # of a statement, and of its evidence
_INTRODUCTION = (
    "The two memories in each of these pairs contradict each other. /memem-conflicts in "
    "Claude Code goes through them with you. In a terminal, `memem conflicts resolve ID keep` keeps "
    "that memory and retires the other; `memem conflicts resolve ID both` keeps both."
)
_NONE = "No memories contradict each other."
# With the wording of earlier versions, whose lines must not be taken for the user's.
_EARLIER = (
    "Each pair says different things of one. /memem",
    "Each of these pairs of memories disagrees. /memem",
    "No two memories contradict each other.",
)


def write_page(ws: Workspace) -> None:
    """Update `Conflicts.md`; there is none before the first conflict."""
    all_conflicts = conflicts(ws)
    page = ws.store.paths.conflicts
    if all_conflicts or page.exists():
        with writing(ws), suppress(NoteChanged):  # if the user is saving it, the next update follows
            markdown.write_part(page, _render(all_conflicts), fsync=ws.settings.fsync, is_ours=_is_ours)


def _is_ours(line: str) -> bool:
    """Whether memem may have written this line, also about a conflict that is resolved."""
    origins = (f"{origin[0].upper()}{origin[1:]}" for origin in FOUND_BY.values())
    return (
        line.startswith(("# ", "## ", ">", *origins, _INTRODUCTION, _NONE, *_EARLIER))
        or " more: /memem-conflicts" in line
    )


def _render(all_conflicts: list[Conflict]) -> str:
    parts = ["# Conflicts", _INTRODUCTION if all_conflicts else _NONE]
    for number, conflict in enumerate(all_conflicts[:MAX_ON_PAGE], 1):
        head = f"{number}. {conflict.one.project}: {'; '.join(conflict.differences) or 'different statements'}"
        origin = f"{conflict.found[0].upper()}{conflict.found[1:]}{f': {conflict.why}' if conflict.why else ''}."
        parts += [f"## {markdown.escape(head)}", markdown.escape(origin)]
        parts += [_render_side(conflict.one), _render_side(conflict.other)]
    if more := len(all_conflicts[MAX_ON_PAGE:]):
        parts.append(f"{more} more: /memem-conflicts in Claude Code, or `memem conflicts`, lists them all.")
    return "\n\n".join(parts)


def _render_side(entry: Entry) -> str:
    memory = entry.memory
    head = markdown.escape(f"{memory.id8} · {get_said_day(memory)} · {describe_origin(memory)}")
    lines = [f"[!quote] {head}", entry.link, *_shorten(memory.body)]
    if memory.evidence:
        lines += ["", "Evidence:", *(f"> {line}" for line in _shorten(memory.evidence))]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _shorten(text: str) -> list[str]:
    text = text if len(text) <= MAX_SIDE_CHARS else f"{text[:MAX_SIDE_CHARS].rstrip()} […]"
    return [markdown.escape(line) for line in text.splitlines()]
