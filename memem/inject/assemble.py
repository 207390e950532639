"""Assemble everything for a task in one text: the playbook, the slice for the query, what earlier sessions said.

Only on request. Each part has its own budget, and is left out when it is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.errors import InputError
from memem.core.memory import Hit, Slice
from memem.core.project import normalise
from memem.inject import answers, slice
from memem.inject.pack import fit_budget
from memem.inject.slice import SliceContext
from memem.pages import read_playbook
from memem.pages.playbook_lines import NAMES
from memem.pages.read_playbook import VisibleLine
from memem.search.transcripts import sessions
from memem.search.transcripts.sessions import TurnHit
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


PLAYBOOK = "# Playbook"
EARLIER_TURNS = "# Said in earlier sessions"
PLAYBOOK_BUDGET = 3_000
TURNS_BUDGET = 2_000
MOST_TURNS = 3
_LAST_WORDS = 300  # for what a door says besides


@dataclass(frozen=True, slots=True)
class Assembled:
    """The text, empty if nothing is known, and its parts; `degraded` says why only keywords were searched."""

    text: str
    project: str
    playbook: tuple[str, ...] = ()
    hits: tuple[Hit, ...] = ()
    turns: tuple[TurnHit, ...] = ()
    degraded: str = ""
    shown: tuple[str, ...] = ()  # the ids of all that is said whole


def assemble(ws: Workspace, query: str, *, cwd: Path, project: str | None = None, session_id: str = "") -> Assembled:
    """Collect what is known of a project, and what is known for this query."""
    require_vault(ws)
    if not query.strip():
        raise InputError("The query is empty; describe the task.")
    name = normalise(project) if project else ws.project_of(cwd).name
    recited, lines = _playbook(read_playbook.read_lines(ws, name), name)
    said, turns = _turns(ws, query, name)
    room = answers.ANSWER_CHARACTERS - _LAST_WORDS - len(recited) - len(said) - 4
    whole = [each.entry.id for each in lines if each.entry and each.is_whole]
    context = SliceContext(shown_ids=frozenset(whole))
    found = slice.build_slice(ws, query, cwd=cwd, project=name, session_id=session_id, context=context, max_chars=room)
    text = "\n\n".join(part.strip("\n") for part in (recited, found.text, said) if part)
    return Assembled(text, name, _ids(lines), found.hits, turns, found.degraded, (*whole, *_shown(found)))


def _shown(found: Slice) -> tuple[str, ...]:
    return found.ids if found.text else ()


def _ids(lines: Sequence[VisibleLine]) -> tuple[str, ...]:
    return tuple(each.entry.id for each in lines if each.entry)


def _playbook(lines: Sequence[VisibleLine], project: str) -> tuple[str, list[VisibleLine]]:
    """Render as many lines of the playbook as fit; also return those lines."""
    texts: list[str] = []
    for number, each in enumerate(lines):
        begins = number == 0 or lines[number - 1].section != each.section
        heading = f"\n## {NAMES[each.section]}\n" if begins else ""
        rank = sum(before.section == each.section for before in lines[:number]) + 1
        texts.append(heading + read_playbook.render_line(rank, each, project))
    kept = fit_budget(texts, PLAYBOOK_BUDGET - len(PLAYBOOK) - 1)
    return ("\n".join((PLAYBOOK, *kept)) if kept else ""), list(lines[: len(kept)])


def _turns(ws: Workspace, query: str, project: str) -> tuple[str, tuple[TurnHit, ...]]:
    """Render turns of earlier sessions that match, if sessions are indexed."""
    found: list[TurnHit] = []
    with suppress(InputError):  # mining is off, or nobody wants sessions indexed
        found = sessions.search(ws, query, limit=MOST_TURNS, project=project)
    texts = fit_budget(
        [answers.render_turn(number, each) for number, each in enumerate(found, 1)],
        TURNS_BUDGET - len(EARLIER_TURNS) - 1,
    )
    return ("\n".join((EARLIER_TURNS, *texts)) if texts else ""), tuple(found[: len(texts)])
