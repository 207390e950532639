"""Build the briefing of a new session: the project's pinned notes, conventions, playbook lines and state.

After a compaction also what the session was shown before, because it has left the context. Every session waits for the
briefing, so it neither scans the vault nor searches.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.errors import MememError, VaultUnmade
from memem.core.memory import GENERAL, PINNED_MAX_CHARACTERS, PINNED_MAX_NOTES, Entry
from memem.inject import notices, receipts
from memem.inject.pack import BODY_CHARACTERS, PINNED_CHARACTERS, fit_budget
from memem.pages import read_playbook
from memem.pages.playbook_lines import DECISIONS, ENVIRONMENT, NAMES, TRAPS
from memem.pages.read_playbook import VisibleLine
from memem.safety import naming, quote
from memem.search import pinned as search_pinned
from memem.search.refresh import fresh_rows, is_filled
from memem.state.receipts import SESSION_START
from memem.state.tables import UNUSABLE
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


CONVENTIONS = "## Conventions"
EARLIER = "## Shown earlier in this session"
CONVENTION_CHARACTERS = 240
MOST_CONVENTIONS = 12
CONVENTIONS_BUDGET = 1_500
EARLIER_BUDGET = 3_000  # characters; with pinned notes and a few facts the briefing stays under 8,000
BRIEFED_SECTIONS = (DECISIONS, TRAPS, ENVIRONMENT)  # other sections are pinned notes and conventions
SECTION_BUDGET = 600
MAX_CHARS = 7_900  # the playbook gets the room that the rest leaves
MOST_EARLIER = 200  # more than fit
KEYWORDS_ALONE = "recall uses keywords only so far; /memem-doctor shows what is missing"
# Fixed words for Claude about a problem, by its key.
TROUBLE = {
    "recall": "recall uses keywords only",
    "capture": "new sessions are not mined at the moment",
    "login": "new sessions are not mined: claude is not logged in",
    "budget": "mining waits for tomorrow: today's budget is used up",
    "vault": "the vault is read-only: nothing can be saved",
    "disk": "the disk is full: nothing can be saved",
}
UNREAD = "their index is being built; memory_search finds them once it is ready"

WITHOUT_CONTEXT = ("compact", "clear")  # the session continues with an empty context
WITH_CONTEXT = ("resume", "fork")  # it continues with its whole context


def brief(ws: Workspace, *, cwd: Path, session: str, source: str) -> str:
    """Return the briefing of a session; empty if it has seen it, or if there is nothing to say."""
    try:
        vault_id = require_vault(ws)
    except VaultUnmade:
        return ""
    ws.follow_index()
    project = ws.project_of(cwd).name
    before = _shown_before(ws, session, source)
    if not is_filled(ws, vault_id):
        facts = [quote.render_fact("Project", naming.display_name(project)), quote.render_fact("Memories", UNREAD)]
        return "" if before is None else quote.render_page((quote.WORKING, facts))
    return "" if before is None else _build_text(ws, project, session, before)


def banner(ws: Workspace, *, cwd: Path) -> str:
    """Return one line about the memory for the user."""
    mining = "mining on" if ws.home.opt_in.exists() else "mining off (/memem-mine)"
    return f"memem: {_how_many(ws, cwd)} · {mining}"


def _how_many(ws: Workspace, cwd: Path) -> str:
    try:
        vault_id = require_vault(ws)
    except VaultUnmade:
        return "no memories yet"
    if not is_filled(ws, vault_id):
        return "the index is being built"
    project = ws.project_of(cwd).name
    count, name = search_pinned.count_in_force(ws, project), naming.display_name(project)
    return f"{_counted(count, 'memory', 'memories')} of {name}" if count else f"no memories of {name} yet"


def _build_text(ws: Workspace, project: str, session: str, before: Sequence[str]) -> str:
    """Return the briefing, and record what it shows; empty if there are no memories."""
    facts = _facts(ws, project)
    if not facts:
        return ""
    pinned = search_pinned.pinned(ws, project)[:PINNED_MAX_NOTES]
    identity = fit_budget(
        [quote.render_pinned(entry.memory, PINNED_CHARACTERS) for entry in pinned], PINNED_MAX_CHARACTERS
    )
    conventions = search_pinned.conventions(ws, project)[:MOST_CONVENTIONS]
    rules = _numbered(conventions, project, CONVENTION_CHARACTERS, CONVENTIONS_BUDGET)
    told = [*pinned[: len(identity)], *conventions[: len(rules)]]
    earlier = _load_entries(ws, before, project, besides={entry.id for entry in told})
    again = _numbered(earlier, project, BODY_CHARACTERS, EARLIER_BUDGET)
    working = [quote.render_fact("Project", naming.display_name(project)), *facts, *identity]
    first, last = (quote.WORKING, working), _filled((CONVENTIONS, rules), (EARLIER, again))
    known = {entry.id for entry in (*told, *earlier[: len(again)])}
    room = MAX_CHARS - len(quote.render_page(first, *last))
    recited = _fit_playbook(read_playbook.read_lines(ws, project, BRIEFED_SECTIONS), project, known, room)
    text = quote.render_page(first, *_filled((CONVENTIONS, rules)), *recited.parts, *_filled((EARLIER, again)))
    cut = {entry.id for entry in conventions if len(entry.body) > CONVENTION_CHARACTERS}
    # What is told in part has not been shown: the prompt that needs it gets more of it.
    whole = [*(entry for entry in told if entry.id not in cut), *recited.whole, *earlier[: len(again)]]
    receipts.note_shown(ws, session, [entry.id for entry in whole])
    everything = [*told, *recited.entries, *earlier[: len(again)]]
    receipts.record_shown(ws, everything, event=SESSION_START, session=session, project=project, text=text)
    return text


@dataclass(frozen=True, slots=True)
class _PlaybookPart:
    """The playbook part of the briefing, the memories in it, and those it contains in full."""

    parts: list[tuple[str, list[str]]]
    entries: list[Entry]
    whole: list[Entry]


def _fit_playbook(lines: Sequence[VisibleLine], project: str, known: Collection[str], room: int) -> _PlaybookPart:
    """Fit the playbook lines into the room, without memories that are in the briefing already."""
    parts, kept = [], list[VisibleLine]()
    for section in BRIEFED_SECTIONS:
        news = [each for each in lines if each.section == section and not (each.entry and each.entry.id in known)]
        heading = f"## {NAMES[section]}"
        texts = [read_playbook.render_line(rank, each, project) for rank, each in enumerate(news, 1)]
        taken = fit_budget(texts, min(SECTION_BUDGET, room - len(heading) - 2))
        if taken:
            parts.append((heading, taken))
            kept += news[: len(taken)]
            room -= len("\n".join(("", heading, *taken))) + 1
    entries = [each.entry for each in kept if each.entry]
    return _PlaybookPart(parts, entries, [each.entry for each in kept if each.entry and each.is_whole])


def _filled(*parts: tuple[str, list[str]]) -> list[tuple[str, list[str]]]:
    return [part for part in parts if part[1]]


def _shown_before(ws: Workspace, session: str, source: str) -> Sequence[str] | None:
    """Return what the session was shown and has lost; None if it still has its context."""
    before: Sequence[str] = []
    with suppress(*UNUSABLE):
        if source in WITH_CONTEXT and ws.contexts.has_session(session):
            return None
        before = ws.contexts.shown(session) if source == "compact" else []
        if source in WITHOUT_CONTEXT:
            ws.contexts.forget(session)
    return before


def _load_entries(ws: Workspace, ids: Sequence[str], project: str, besides: Collection[str]) -> list[Entry]:
    """Return the memories that are still valid and belong here, the last shown first."""
    place = {identity: number for number, identity in enumerate(ids[-MOST_EARLIER:]) if identity not in besides}
    here, values = search_pinned.in_force(ws, project, GENERAL)
    condition = f"id IN ({', '.join('?' * len(place))}){here} ORDER BY path"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, (*place, *values)))
    found = [Entry(row.memory, row.path) for row in rows if row.memory and not row.memory.superseded_by]
    return sorted(found, key=lambda entry: -place.get(entry.id, 0))


def _numbered(entries: list[Entry], project: str, most: int, budget: int) -> list[str]:
    return fit_budget([quote.render_item(rank, entry, project, most) for rank, entry in enumerate(entries, 1)], budget)


def _facts(ws: Workspace, project: str) -> list[str]:
    """Return counts, what waits, and what does not work; nothing for an empty memory."""
    of_project, general = search_pinned.count_in_force(ws, project), search_pinned.count_in_force(ws, GENERAL)
    if not of_project and not general:
        return []
    counted = f"{of_project} of {naming.display_name(project)}" + (f", {general} general" if project != GENERAL else "")
    facts = [quote.render_fact("Memories", f"{counted}; memory_search finds them")]
    waiting = _waiting(ws)
    if waiting:
        facts.append(quote.render_fact("Mining", f"{_counted(waiting, 'session', 'sessions')} still to be mined"))
    asked = ws.index.count_where("review = 'waiting'") + _proposed(ws)
    if asked:
        facts.append(
            quote.render_fact("Review", f"{_counted(asked, 'note waits', 'notes wait')} for the user: /memem-review")
        )
    return facts + [quote.render_fact("Trouble", each) for each in _trouble(ws)]


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _proposed(ws: Workspace) -> int:
    if not any(ws.store.paths.review.glob("*.md")):
        return 0  # mostly; to read notes is not needed, and its import would be waited for
    from memem.vault import review

    return review.count_proposals(ws.store)


def _waiting(ws: Workspace) -> int:
    from memem.state.queue import count_marks

    try:
        return count_marks(ws.home.state_file) if ws.home.opt_in.exists() else 0
    except MememError:
        return 0  # doctor says what is wrong with the state; a session need not know


def _trouble(ws: Workspace) -> list[str]:
    """Return ongoing problems in fixed words: their own text may quote others, and is for the user's screen."""
    known = notices.problems(ws)
    if "recall" not in known and ws.settings.encoder != "none" and not ws.index.meta("encoded_by"):
        return [KEYWORDS_ALONE]
    return [f"{words}; see /memem-doctor" for key, words in TROUBLE.items() if key in known]
