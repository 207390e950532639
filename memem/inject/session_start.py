"""Build the briefing of a new session: the project's pinned notes, conventions, playbook lines and state.

After a compaction also what the session was shown before, because it has left the context. Every session waits for the
briefing, so it neither scans the vault nor searches.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.errors import MememError, VaultUnmade
from memem.core.memory import GENERAL, PINNED_MAX_CHARACTERS, PINNED_MAX_NOTES, Entry
from memem.inject import notices, receipts
from memem.inject.pack import BODY_CHARACTERS, PINNED_CHARACTERS, fit_budget, render_numbered
from memem.pages import read_playbook
from memem.pages.read_playbook import DECISIONS, ENVIRONMENT, NAMES, TRAPS, VisibleLine
from memem.safety import naming, quote
from memem.search import pinned as search_pinned
from memem.search.refresh import fresh_rows, is_filled
from memem.state.receipts import SESSION_START
from memem.state.tables import UNUSABLE, count_marks
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
    "endpoint": "new sessions are not mined: the model at MEMEM_MODEL_URL cannot be used",
    "budget": "mining resumes tomorrow: today's budget is used up",
    "vault": "the vault is read-only: nothing can be saved",
    "disk": "the disk is full: nothing can be saved",
}
UNREAD = "their index is being built; memory_search finds them once it is ready"


def brief(ws: Workspace, *, cwd: Path, session: str, source: str) -> str:
    """Return the briefing of a session; empty if it has seen it, or if there is nothing to say."""
    try:
        vault_id = require_vault(ws)
    except VaultUnmade:
        return ""
    ws.follow_index()
    project = ws.project_of(cwd).name
    before = _shown_before(ws, session, source)
    if before is None:
        return ""
    if not is_filled(ws, vault_id):
        facts = [quote.render_fact("Project", naming.display_name(project)), quote.render_fact("Memories", UNREAD)]
        return quote.render_page((quote.WORKING, facts))
    return _build_text(ws, project, session, before)


def banner(ws: Workspace, *, cwd: Path) -> str:
    """Return one line about the memory for the user."""
    mining = "mining on" if ws.home.opt_in.exists() else "mining off (/memem-mine)"
    try:
        vault_id = require_vault(ws)
    except VaultUnmade:
        return f"memem: no memories yet · {mining}"
    if not is_filled(ws, vault_id):
        return f"memem: the index is being built · {mining}"
    project = ws.project_of(cwd).name
    count, name = search_pinned.count_in_force(ws, project), naming.display_name(project)
    memories = f"{quote.count_noun(count, 'memory', 'memories')} for {name}" if count else f"no memories for {name} yet"
    return f"memem: {memories} · {mining}"


def _build_text(ws: Workspace, project: str, session: str, before: Sequence[str]) -> str:
    """Return the briefing, and record what it shows; empty if there are no memories."""
    if not (facts := _facts(ws, project)):
        return ""
    pinned = search_pinned.pinned(ws, project)[:PINNED_MAX_NOTES]
    identity = fit_budget(
        [quote.render_pinned(entry.memory, PINNED_CHARACTERS) for entry in pinned], PINNED_MAX_CHARACTERS
    )
    conventions = search_pinned.conventions(ws, project)[:MOST_CONVENTIONS]
    rules = render_numbered(conventions, project, CONVENTION_CHARACTERS, CONVENTIONS_BUDGET)
    standing = [*pinned[: len(identity)], *conventions[: len(rules)]]
    earlier = _load_entries(ws, before, project, besides={entry.id for entry in standing})
    again = render_numbered(earlier, project, BODY_CHARACTERS, EARLIER_BUDGET)
    earlier = earlier[: len(again)]
    working = [quote.render_fact("Project", naming.display_name(project)), *facts, *identity]
    head = [(quote.WORKING, working), *([(CONVENTIONS, rules)] if rules else [])]
    tail = [(EARLIER, again)] if again else []
    room = MAX_CHARS - len(quote.render_page(*head, *tail))
    parts, lines = _fit_playbook(ws, project, {entry.id for entry in (*standing, *earlier)}, room)
    text = quote.render_page(*head, *parts, *tail)
    # A memory shown in part does not count as shown: the prompt that needs it gets more of it.
    cut = {entry.id for entry in conventions if len(entry.body) > CONVENTION_CHARACTERS}
    recited = [line.entry for line in lines if line.entry]
    whole = [line.entry for line in lines if line.entry and line.is_whole]
    whole = [*(entry for entry in standing if entry.id not in cut), *whole, *earlier]
    receipts.note_shown(ws, session, [entry.id for entry in whole])
    everything = [*standing, *recited, *earlier]
    receipts.record_shown(ws, everything, event=SESSION_START, session=session, project=project, text=text)
    return text


def _fit_playbook(
    ws: Workspace, project: str, shown: Collection[str], room: int
) -> tuple[list[tuple[str, list[str]]], list[VisibleLine]]:
    """Return the sections of the playbook that fit, without memories shown already, and the lines in them."""
    lines = read_playbook.read_lines(ws, project, BRIEFED_SECTIONS)
    parts, kept = [], list[VisibleLine]()
    for section in BRIEFED_SECTIONS:
        news = [line for line in lines if line.section == section and not (line.entry and line.entry.id in shown)]
        heading = f"## {NAMES[section]}"
        texts = [read_playbook.render_line(rank, line, project) for rank, line in enumerate(news, 1)]
        taken = fit_budget(texts, min(SECTION_BUDGET, room - len(heading) - 2))
        if taken:
            parts.append((heading, taken))
            kept += news[: len(taken)]
            room -= len("\n".join(("", heading, *taken))) + 1
    return parts, kept


def _shown_before(ws: Workspace, session: str, source: str) -> Sequence[str] | None:
    """Return what the session was shown and has lost; None if it still has its context."""
    before: Sequence[str] = []
    with suppress(*UNUSABLE):
        if source in ("resume", "fork") and ws.contexts.has_session(session):
            return None
        before = ws.contexts.shown(session) if source == "compact" else []
        if source in ("compact", "clear"):  # the session continues with an empty context
            ws.contexts.forget(session)
    return before


def _load_entries(ws: Workspace, ids: Sequence[str], project: str, besides: Collection[str]) -> list[Entry]:
    place = {identity: number for number, identity in enumerate(ids[-MOST_EARLIER:]) if identity not in besides}
    here, values = search_pinned.in_force(ws, project, GENERAL)
    condition = f"id IN ({', '.join('?' * len(place))}){here} ORDER BY path"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, (*place, *values)))
    found = [Entry(row.memory, row.path) for row in rows if row.memory and not row.memory.superseded_by]
    return sorted(found, key=lambda entry: -place.get(entry.id, 0))


def _facts(ws: Workspace, project: str) -> list[str]:
    """Return counts, what waits, and what does not work; nothing for an empty memory."""
    of_project, general = search_pinned.count_in_force(ws, project), search_pinned.count_in_force(ws, GENERAL)
    if not of_project and not general:
        return []
    others = f", {general} general" if project != GENERAL else ""
    counted = f"{of_project} for {naming.display_name(project)}{others}"
    facts = [quote.render_fact("Memories", f"{counted}; memory_search finds them")]
    with suppress(MememError):  # the doctor reports what is wrong with the state
        if ws.home.opt_in.exists() and (waiting := count_marks(ws.home.state_file)):
            facts.append(quote.render_fact("Mining", f"{quote.count_noun(waiting, 'session')} still to be mined"))
    if asked := ws.index.count_where("review = 'waiting'") + len(ws.store.proposal_files()):
        notes = quote.count_noun(asked, "note is waiting", "notes are waiting")
        facts.append(quote.render_fact("Review", f"{notes} for the user: /memem-review"))
    # Problems in fixed words: their own text may quote others, and is for the user's screen.
    problems = notices.problems(ws)
    trouble = [f"{words}; see /memem-doctor" for key, words in TROUBLE.items() if key in problems]
    if "recall" not in problems and ws.settings.encoder != "none" and not ws.index.meta("encoded_by"):
        trouble = [KEYWORDS_ALONE]
    return facts + [quote.render_fact("Trouble", words) for words in trouble]
