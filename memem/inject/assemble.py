"""Assemble everything for a task, on request: the playbook, the slice for the query, what earlier sessions said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.errors import InputError
from memem.core.memory import Hit
from memem.core.project import normalise
from memem.inject import answers, slice
from memem.inject.pack import fit_budget
from memem.inject.slice import SliceContext
from memem.pages import read_playbook
from memem.pages.read_playbook import NAMES, VisibleLine
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
    whole = [line.entry.id for line in lines if line.entry and line.is_whole]
    context = SliceContext(shown_ids=frozenset(whole))
    found = slice.build_slice(ws, query, cwd=cwd, project=name, session_id=session_id, context=context, max_chars=room)
    text = "\n\n".join(part.strip("\n") for part in (recited, found.text, said) if part)
    playbook = tuple(line.entry.id for line in lines if line.entry)
    shown = (*whole, *(found.ids if found.text else ()))
    return Assembled(text, name, playbook, found.hits, turns, found.degraded, shown)


def _playbook(lines: Sequence[VisibleLine], project: str) -> tuple[str, list[VisibleLine]]:
    """Render as many lines of the playbook as fit; also return those lines."""
    texts: list[str] = []
    ranks = Counter[int]()
    for section, members in groupby(lines, key=lambda line: line.section):
        heading = f"\n## {NAMES[section]}\n"
        for line in members:
            ranks[section] += 1
            texts.append(heading + read_playbook.render_line(ranks[section], line, project))
            heading = ""
    kept = fit_budget(texts, PLAYBOOK_BUDGET - len(PLAYBOOK) - 1)
    return ("\n".join((PLAYBOOK, *kept)) if kept else ""), list(lines[: len(kept)])


def _turns(ws: Workspace, query: str, project: str) -> tuple[str, tuple[TurnHit, ...]]:
    found: list[TurnHit] = []
    with suppress(InputError):  # mining is off, or sessions are not indexed
        found = sessions.search(ws, query, limit=MOST_TURNS, project=project)
    texts = [answers.render_turn(number, turn) for number, turn in enumerate(found, 1)]
    texts = fit_budget(texts, TURNS_BUDGET - len(EARLIER_TURNS) - 1)
    return ("\n".join((EARLIER_TURNS, *texts)) if texts else ""), tuple(found[: len(texts)])
