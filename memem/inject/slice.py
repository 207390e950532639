"""The slice: what Claude should know for a prompt, and which part of a long memory. Often nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import dates
from memem.core.errors import Ambiguous, InputError, MememError, NoteError, NotFound
from memem.core.memory import ARCHIVE, GENERAL, MOST_HITS, PINNED, Entry, Hit, Slice
from memem.core.project import Project
from memem.inject import confidence, prompt_kinds
from memem.inject.confidence import PromptFeatures, Thresholds
from memem.inject.pack import BODY_CHARACTERS, drop_repeats, pack
from memem.inject.prompt_kinds import is_trivial
from memem.safety import naming, quote
from memem.safety.naming import clean_project_name
from memem.search import find, pinned
from memem.search.dates import query
from memem.search.find import truncate_query
from memem.search.passages import passage_key, split_passages
from memem.search.query import SearchMatches
from memem.search.ranking import matches_path, rank
from memem.search.words import fold
from memem.state.receipts import MAX_RUNNERS_UP
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


def choose_passages(ws: Workspace, query: str, hits: Sequence[Hit], most: int) -> list[Hit]:
    """The hits; those whose statement is longer than `most` characters with the passage that answers best."""
    return [replace(hit, passage=_best(ws, query, hit)) if len(hit.body) > most else hit for hit in hits]


def _best(ws: Workspace, query: str, hit: Hit) -> str:
    """By its meaning, where that is known; else the one that has most of the words."""
    texts = split_passages(hit.memory)
    if hit.understood and hit.cosine is not None:
        with suppress(MememError):
            near = _nearest(ws, query, texts)
            if near:
                return _without_title(near, hit.title)
    counts = [sum(term in fold(text) for term in hit.terms) for text in texts]
    return _without_title(texts[counts.index(max(counts))], hit.title)


def _nearest(ws: Workspace, query: str, texts: Sequence[str]) -> str:
    asked = ws.ask(truncate_query(query))  # what was looked for, whose vector is there
    answer = asked.wait(ws.settings.query_seconds) if asked else None
    if answer is None:
        return ""
    _, vector = answer
    named = {passage_key(text): text for text in texts}
    with ws.vectors().reading() as view:
        slots = view.slots(list(named))
        return named[max(slots, key=lambda each: float(view.rows[slots[each]] @ vector))] if slots else ""


def _without_title(passage: str, title: str) -> str:
    return passage.removeprefix(" ".join(title.split()) + "\n")


CONSIDERED = 2 * MOST_HITS
"""Of what was found, so many are looked at closely: what is further behind the best would not be shown anyway."""
FILES_SHOWN = 6
MOST_MENTIONED = 50
"""So many of the names that a prompt has, which may be a listing, are looked for on disk."""
AT_HAND = 0.4
"""How much it counts that the session was at a file, to that the prompt names it."""
LONGEST_CHAIN = 20
NOD = "the prompt asks for nothing"
WEAK = "no memory matches the prompt well enough"
SAID = "it stands in this session's context already"
SUPERSEDED = "it was superseded"
REPEATS = "it says the same as a better one"
NO_ROOM = "it has no room in MEMEM_SLICE_CHARACTERS"
_REASONS = {
    SAID: "what the prompt needs stands in this session's context already",
    NO_ROOM: "what the prompt needs has no room in MEMEM_SLICE_CHARACTERS",
    SUPERSEDED: "what matches the prompt was superseded, by what may not be shown here",
    confidence.FOREIGN: "too much of what the prompt speaks of is in no memory",
}


@dataclass(frozen=True, slots=True)
class SliceContext:
    """What else is known of a prompt: the `query` to look with, where that says more; the `files` its session was at;
    and the ids it has been shown already, which are not said again."""

    query: str = ""
    files: Sequence[str] = ()
    shown_ids: Collection[str] = ()


NOTHING = SliceContext()


def build_slice(
    ws: Workspace,
    prompt: str,
    *,
    cwd: Path,
    project: str | None = None,
    task_mode: str = "",
    session_id: str = "",
    always: bool = False,
    context: SliceContext = NOTHING,
    max_chars: int | None = None,
) -> Slice:
    """What Claude should know for this prompt: nothing, unless a memory deserves it (or `always`).

    `max_chars` limits it, or as many as the settings allow.
    """
    require_vault(ws)
    place = ws.project_of(cwd)
    name = clean_project_name(project) if project else place.name
    mode = task_mode.strip() or prompt_kinds.infer_task(prompt)
    if is_trivial(prompt) and not always:
        return Slice("", (), NOD, name, mode, session_id)
    files = _in_play(prompt, cwd, place)
    worked_on = _worked_on(context.files, place)
    found, told, hits = find_candidates(ws, prompt, name, query=context.query, named=files, files=worked_on)
    sifted = _sifted(
        ws, confidence.apply_thresholds(hits, told, thresholds(ws)), name, context, past=_asks_for_past(ws, prompt)
    )
    left = [hit for hit in sifted if not hit.kept_out]
    branch = naming.display_name(place.branch) if name == place.name else ""
    facts = quote.working(project=naming.display_name(name), branch=branch, task_mode=mode, files=files)
    identity = (
        [entry.memory for entry in pinned.pinned(ws, name) if entry.id not in context.shown_ids]
        if left or always
        else []
    )
    shown = choose_passages(ws, context.query or prompt, left[:MOST_HITS], BODY_CHARACTERS)
    budget = min(ws.settings.slice_characters, max_chars or ws.settings.slice_characters)
    packed = pack(shown, identity, facts, name, budget)
    missed = _kept_out(sifted, packed.hits)[:MAX_RUNNERS_UP]
    if not packed.hits and not always:
        return Slice("", (), _why_not(found, missed), name, mode, session_id, found.degraded, runners_up=missed)
    why = f"{len(packed.hits)} of {len(found.matches)} memories found were relevant enough"
    return Slice(packed.text, packed.hits, why, name, mode, session_id, found.degraded, packed.pinned, missed)


def _sifted(ws: Workspace, hits: Sequence[Hit], project: str, context: SliceContext, *, past: bool) -> list[Hit]:
    """The hits after all that keeps one out of a slice, best first, those kept out with the reason."""
    current = replace_superseded(ws, hits, project, past=past)
    said = [_mark(hit, SAID) if hit.id in context.shown_ids and not hit.kept_out else hit for hit in current]
    telling = {hit.id for hit in drop_repeats([hit for hit in said if not hit.kept_out])}
    return [hit if hit.kept_out or hit.id in telling else _mark(hit, REPEATS) for hit in said]


def _mark(hit: Hit, why: str) -> Hit:
    return replace(hit, kept_out=why)


def _kept_out(hits: Iterable[Hit], shown: Collection[Hit]) -> tuple[Hit, ...]:
    """All that is not shown, best first."""
    there = {hit.id for hit in shown}
    return tuple(hit if hit.kept_out else _mark(hit, NO_ROOM) for hit in hits if hit.id not in there)


def thresholds(ws: Workspace) -> Thresholds:
    """What a memory must reach, by the settings."""
    given = ws.settings
    return Thresholds(given.recall_min_confidence, given.recall_min_item_score, given.recall_oov_threshold)


def find_candidates(
    ws: Workspace, prompt: str, project: str, *, query: str = "", named: Sequence[str] = (), files: Sequence[str] = ()
) -> tuple[SearchMatches, PromptFeatures, list[Hit]]:
    """What was found, what the prompt says of itself, and the best hits that a slice may show, with how sure
    each is.

    `named` are files that the prompt names, `files` others that its session was at.
    """
    query = query or prompt

    def best(found: SearchMatches) -> list[Hit]:
        ranked = rank(found, find.collect_boosts(ws, found, query, project, (*named, *files)))
        own = [_about(hit, named, files) for hit in ranked if hit.memory.layer != PINNED][:CONSIDERED]
        return confidence.rate_hits(own, confidence.describe_prompt(prompt, found))

    found, hits = find.find(ws, query, find.injection_scope(ws, project), CONSIDERED, best)
    return found, confidence.describe_prompt(prompt, found), hits


def _about(hit: Hit, named: Sequence[str], files: Sequence[str]) -> Hit:
    """A memory about a file that the prompt names is as good as named itself."""
    if matches_path(hit.memory, named):
        return replace(hit, named=True, about_file=1.0)
    return replace(hit, about_file=AT_HAND) if matches_path(hit.memory, files) else hit


def replace_superseded(ws: Workspace, hits: Iterable[Hit], project: str, *, past: bool = False) -> list[Hit]:
    """The hits, with what holds now before what it superseded, which is then kept out, unless the past is asked for."""
    current: dict[str, Hit] = {}
    for hit in hits:
        superseded = hit.memory.superseded_by and not hit.kept_out and not past
        for each in _replaced(ws, hit, project) if superseded else [hit]:
            if each.id not in current or current[each.id].kept_out:
                current[each.id] = each
    return list(current.values())


def _replaced(ws: Workspace, hit: Hit, project: str) -> list[Hit]:
    """What holds now, with the evidence of what it superseded, and that one, kept out."""
    now = _successor(ws, hit)
    if now and now.id == hit.id:
        return [hit]
    may_come = now and now.project in (project, GENERAL)
    return [*([replace(hit, memory=now.memory, path=now.path)] if now and may_come else []), _mark(hit, SUPERSEDED)]


def _successor(ws: Workspace, entry: Entry) -> Entry | None:
    """The last of the chain that a memory was superseded in, if it may be shown unasked; itself when there is none.

    Where the chain leads to what is gone, forgotten or never there, the last that is left holds again; unless it was
    set aside, and so says itself that it does not.
    """
    at, seen = entry, {entry.id}
    while at.memory.superseded_by and len(seen) <= LONGEST_CHAIN:
        try:
            at = find.get(ws, at.memory.superseded_by)
        except (NotFound, InputError):
            return at if _may_be_shown(ws, at) else None
        except (Ambiguous, NoteError):
            return None
        if at.id in seen:
            return None
        seen.add(at.id)
    return at if not at.memory.superseded_by and _may_be_shown(ws, at) else None


def _may_be_shown(ws: Workspace, entry: Entry) -> bool:
    """Whether a memory holds now, by its own word, and is of a layer that a prompt calls up."""
    now, memory = ws.clock(), entry.memory
    holds = memory.status == "active" and dates.stated_span(memory, now.tzinfo).holds(now.timestamp())
    return holds and PINNED < memory.layer < ARCHIVE


def _asks_for_past(ws: Workspace, prompt: str) -> bool:
    return query.parse_time(prompt, ws.clock().date()).past


def _why_not(found: SearchMatches, missed: Sequence[Hit]) -> str:
    """Why nothing is said: what keeps the best one out that was good enough, if there is one."""
    good = [hit.kept_out for hit in missed if hit.kept_out not in (confidence.UNSURE, confidence.FEW_WORDS)]
    if not missed:
        return "no memory matches the prompt" if not found.matches else WEAK
    return next((reason for why, reason in _REASONS.items() if why in good), WEAK)


def _in_play(prompt: str, cwd: Path, place: Project) -> tuple[str, ...]:
    """Files the prompt names that are there, as seen from the project's root."""
    found: dict[str, None] = {}
    for name in find.extract_paths(prompt)[:MOST_MENTIONED]:
        for base in (cwd, place.root):
            inside = find.relative_file(place.root, base / name)
            if inside:
                found[inside] = None
                break
        if len(found) == FILES_SHOWN:
            break
    return tuple(found)


def _worked_on(files: Sequence[str], place: Project) -> tuple[str, ...]:
    """Files of the session, as seen from the project's root: those that lie in it."""
    inside = (find.relative_path(place.root, Path(file)) for file in files)
    return tuple(file for file in inside if file)
