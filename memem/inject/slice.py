"""Build the slice: the memories Claude should know for a prompt, and which part of a long one. Often none."""

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
from memem.search import find
from memem.search import pinned as search_pinned
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


MAX_CANDIDATES = 2 * MOST_HITS  # hits further behind the best would not be shown anyway
FILES_SHOWN = 6
MAX_NAMES_CHECKED = 50  # names in a prompt, which may be a listing, that are looked for on disk
SESSION_FILE_WEIGHT = 0.4  # of a file the session used, compared with one that the prompt names
LONGEST_CHAIN = 20
NOD = "the prompt does not ask for anything"
WEAK = "no memory matches the prompt well enough"
ALREADY_SHOWN = "it is already in this session's context"
SUPERSEDED = "it was superseded"
REPEATS = "it repeats a better match"
NO_ROOM = "it does not fit in MEMEM_SLICE_CHARACTERS"
_REASONS = {
    ALREADY_SHOWN: "the matching memories are already in this session's context",
    NO_ROOM: "the matching memories do not fit in MEMEM_SLICE_CHARACTERS",
    SUPERSEDED: "the matching memories were superseded by one that may not be shown here",
    confidence.FOREIGN: "no memory covers enough of the prompt",
}


@dataclass(frozen=True, slots=True)
class SliceContext:
    """The session around a prompt."""

    query: str = ""  # to search with, where it says more than the prompt
    files: Sequence[str] = ()  # that the session has used
    shown_ids: Collection[str] = ()  # in its context already; not shown again


NO_CONTEXT = SliceContext()


def choose_passages(ws: Workspace, query: str, hits: Sequence[Hit], most: int) -> list[Hit]:
    """Return the hits; those with more than `most` characters get the passage that answers best."""
    return [replace(hit, passage=_best_passage(ws, query, hit)) if len(hit.body) > most else hit for hit in hits]


def _best_passage(ws: Workspace, query: str, hit: Hit) -> str:
    """Choose by meaning if possible, else by the number of matching words."""
    texts = split_passages(hit.memory)
    best = ""
    if confidence.has_meaning(hit):
        with suppress(MememError):
            best = _closest_passage(ws, query, texts)
    if not best:
        counts = [sum(term in fold(text) for term in hit.terms) for text in texts]
        best = texts[counts.index(max(counts))]
    return best.removeprefix(" ".join(hit.title.split()) + "\n")


def _closest_passage(ws: Workspace, query: str, texts: Sequence[str]) -> str:
    encoded = ws.encode_query(truncate_query(query))  # the search has computed this vector
    answer = encoded.wait(ws.settings.query_seconds) if encoded else None
    if answer is None:
        return ""
    _, vector = answer
    by_key = {passage_key(text): text for text in texts}
    with ws.vectors().reading() as view:
        slots = view.slots(list(by_key))
        return by_key[max(slots, key=lambda key: float(view.rows[slots[key]] @ vector))] if slots else ""


def build_slice(
    ws: Workspace,
    prompt: str,
    *,
    cwd: Path,
    project: str | None = None,
    task_mode: str = "",
    session_id: str = "",
    always: bool = False,
    context: SliceContext = NO_CONTEXT,
    max_chars: int | None = None,
) -> Slice:
    """Return what Claude should know for this prompt: nothing, unless a memory is good enough (or `always`).

    `max_chars` may lower the limit of the settings.
    """
    require_vault(ws)
    place = ws.project_of(cwd)
    name = clean_project_name(project) if project else place.name
    mode = task_mode.strip() or prompt_kinds.infer_task(prompt)
    if is_trivial(prompt) and not always:
        return Slice("", (), NOD, name, mode, session_id)
    files = _files_in_prompt(prompt, cwd, place)
    found, features, hits = find_candidates(
        ws, prompt, name, query=context.query, named=files, files=_session_files(context.files, place)
    )
    passing = confidence.apply_thresholds(hits, features, thresholds(ws))
    hits = _mark_unwanted(ws, passing, name, context, past=_asks_for_past(ws, prompt))
    wanted = [hit for hit in hits if not hit.kept_out]
    branch = naming.display_name(place.branch) if name == place.name else ""
    facts = quote.list_facts(project=naming.display_name(name), branch=branch, task_mode=mode, files=files)
    pinned = search_pinned.pinned(ws, name) if wanted or always else []
    identity = [entry.memory for entry in pinned if entry.id not in context.shown_ids]
    shown = choose_passages(ws, context.query or prompt, wanted[:MOST_HITS], BODY_CHARACTERS)
    budget = min(ws.settings.slice_characters, max_chars or ws.settings.slice_characters)
    packed = pack(shown, identity, facts, name, budget)
    missed = _unshown(hits, packed.hits)[:MAX_RUNNERS_UP]
    if not packed.hits and not always:
        why = _reason_for_silence(found, missed)
        return Slice("", (), why, name, mode, session_id, found.degraded, runners_up=missed)
    why = f"{len(packed.hits)} of {len(found.matches)} memories found were relevant enough"
    return Slice(packed.text, packed.hits, why, name, mode, session_id, found.degraded, packed.pinned, missed)


def _mark_unwanted(ws: Workspace, hits: Sequence[Hit], project: str, context: SliceContext, *, past: bool) -> list[Hit]:
    """Return the hits, best first; those that must not be shown have the reason in `kept_out`."""
    current = replace_superseded(ws, hits, project, past=past)
    unseen = [_mark(hit, ALREADY_SHOWN) if hit.id in context.shown_ids and not hit.kept_out else hit for hit in current]
    distinct = {hit.id for hit in drop_repeats([hit for hit in unseen if not hit.kept_out])}
    return [hit if hit.kept_out or hit.id in distinct else _mark(hit, REPEATS) for hit in unseen]


def _mark(hit: Hit, why: str) -> Hit:
    return replace(hit, kept_out=why)


def _unshown(hits: Iterable[Hit], shown: Collection[Hit]) -> tuple[Hit, ...]:
    there = {hit.id for hit in shown}
    return tuple(hit if hit.kept_out else _mark(hit, NO_ROOM) for hit in hits if hit.id not in there)


def thresholds(ws: Workspace) -> Thresholds:
    given = ws.settings
    return Thresholds(given.recall_min_confidence, given.recall_min_item_score, given.recall_oov_threshold)


def find_candidates(
    ws: Workspace, prompt: str, project: str, *, query: str = "", named: Sequence[str] = (), files: Sequence[str] = ()
) -> tuple[SearchMatches, PromptFeatures, list[Hit]]:
    """Return the matches, the prompt's features, and the best hits with their confidence.

    `named` are files that the prompt names, `files` others that its session has used.
    """
    query = query or prompt

    def best(found: SearchMatches) -> list[Hit]:
        ranked = rank(found, find.collect_boosts(ws, found, query, project, (*named, *files)))
        own = [_mark_file_match(hit, named, files) for hit in ranked if hit.memory.layer != PINNED][:MAX_CANDIDATES]
        return confidence.rate_hits(own, confidence.describe_prompt(prompt, found))

    found, hits = find.find(ws, query, find.injection_scope(ws, project), MAX_CANDIDATES, best)
    return found, confidence.describe_prompt(prompt, found), hits


def _mark_file_match(hit: Hit, named: Sequence[str], files: Sequence[str]) -> Hit:
    """Mark a memory about these files; one that the prompt names is as good as naming the memory."""
    if matches_path(hit.memory, named):
        return replace(hit, named=True, about_file=1.0)
    return replace(hit, about_file=SESSION_FILE_WEIGHT) if matches_path(hit.memory, files) else hit


def replace_superseded(ws: Workspace, hits: Iterable[Hit], project: str, *, past: bool = False) -> list[Hit]:
    """Put the current memory before the one it superseded, which is kept out unless the prompt is about the `past`."""
    current: dict[str, Hit] = {}
    for hit in hits:
        superseded = hit.memory.superseded_by and not hit.kept_out and not past
        for each in _with_successor(ws, hit, project) if superseded else [hit]:
            if each.id not in current or current[each.id].kept_out:
                current[each.id] = each
    return list(current.values())


def _with_successor(ws: Workspace, hit: Hit, project: str) -> list[Hit]:
    """Return the current memory, with the evidence of the superseded one, and that one, kept out."""
    now = _find_successor(ws, hit)
    if now and now.id == hit.id:
        return [hit]
    may_come = now and now.project in (project, GENERAL)
    return [*([replace(hit, memory=now.memory, path=now.path)] if now and may_come else []), _mark(hit, SUPERSEDED)]


def _find_successor(ws: Workspace, entry: Entry) -> Entry | None:
    """Return the last memory of a chain of successors, if it may be shown unasked.

    If the chain leads to a missing note, the last one that exists is current again, unless its own status forbids it.
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
    """Whether a memory is active and valid now, and in a layer that prompts may recall."""
    now, memory = ws.clock(), entry.memory
    holds = memory.status == "active" and dates.get_stated_span(memory, now.tzinfo).contains(now.timestamp())
    return holds and PINNED < memory.layer < ARCHIVE


def _asks_for_past(ws: Workspace, prompt: str) -> bool:
    return query.parse_time(prompt, ws.clock().date()).past


def _reason_for_silence(found: SearchMatches, missed: Sequence[Hit]) -> str:
    """Say why nothing is shown: the reason that keeps out a memory which was good enough, if there is one."""
    good = [hit.kept_out for hit in missed if hit.kept_out not in (confidence.UNSURE, confidence.FEW_WORDS)]
    if not missed:
        return "no memory matches the prompt" if not found.matches else WEAK
    return next((reason for why, reason in _REASONS.items() if why in good), WEAK)


def _files_in_prompt(prompt: str, cwd: Path, place: Project) -> tuple[str, ...]:
    """Return the files that the prompt names and that exist, relative to the project's root."""
    found: dict[str, None] = {}
    for name in find.extract_paths(prompt)[:MAX_NAMES_CHECKED]:
        for base in (cwd, place.root):
            inside = find.relative_file(place.root, base / name)
            if inside:
                found[inside] = None
                break
        if len(found) == FILES_SHOWN:
            break
    return tuple(found)


def _session_files(files: Sequence[str], place: Project) -> tuple[str, ...]:
    """Return the session's files that are in the project, relative to its root."""
    inside = (find.relative_path(place.root, Path(file)) for file in files)
    return tuple(file for file in inside if file)
