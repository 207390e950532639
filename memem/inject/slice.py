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
from memem.safety import naming, quote
from memem.search import find
from memem.search import pinned as search_pinned
from memem.search.dates.query import parse_time
from memem.search.fulltext import fold
from memem.search.passages import passage_key, split_passages
from memem.search.query import SearchMatches
from memem.search.ranking import matches_path, rank
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
    query: str = ""  # to search with, where it says more than the prompt
    files: Sequence[str] = ()  # that the session has used
    shown_ids: Collection[str] = ()  # in its context already; not shown again


NO_CONTEXT = SliceContext()


def choose_passages(ws: Workspace, query: str, hits: Sequence[Hit], most: int) -> list[Hit]:
    """Return the hits; those with more than `most` characters get the passage that answers best."""
    return [replace(hit, passage=_best_passage(ws, query, hit)) if len(hit.body) > most else hit for hit in hits]


def _best_passage(ws: Workspace, query: str, hit: Hit) -> str:
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
    encoded = ws.encode_query(find.truncate_query(query))  # the search has computed this vector
    answer = encoded.wait(ws.settings.query_seconds) if encoded else None
    if answer is None:
        return ""
    vector = answer[1]
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
    max_chars: int | None = None,  # may lower the limit of the settings
) -> Slice:
    """Return what Claude should know for this prompt: nothing, unless a memory is good enough (or `always`)."""
    require_vault(ws)
    place = ws.project_of(cwd)
    name = naming.clean_project_name(project) if project else place.name
    mode = task_mode.strip() or prompt_kinds.infer_task(prompt)
    if prompt_kinds.is_trivial(prompt) and not always:
        return Slice("", (), NOD, name, mode, session_id)
    files = _files_in_prompt(prompt, cwd, place)
    session_files = filter(None, (find.relative_path(place.root, Path(file)) for file in context.files))
    found, features, hits = find_candidates(
        ws, prompt, name, query=context.query, named=files, files=tuple(session_files)
    )
    passing = confidence.apply_thresholds(hits, features, thresholds(ws))
    asks_for_past = parse_time(prompt, ws.clock().date()).past
    hits = _mark_unwanted(replace_superseded(ws, passing, name, past=asks_for_past), context.shown_ids)
    wanted = [hit for hit in hits if not hit.kept_out]
    branch = naming.display_name(place.branch) if name == place.name else ""
    facts = quote.list_facts(project=naming.display_name(name), branch=branch, task_mode=mode, files=files)
    pinned = search_pinned.pinned(ws, name) if wanted or always else []
    identity = [entry.memory for entry in pinned if entry.id not in context.shown_ids]
    shown = choose_passages(ws, context.query or prompt, wanted[:MOST_HITS], BODY_CHARACTERS)
    budget = min(ws.settings.slice_characters, max_chars or ws.settings.slice_characters)
    packed = pack(shown, identity, facts, name, budget)
    packed_ids = {hit.id for hit in packed.hits}
    unshown = [replace(hit, kept_out=hit.kept_out or NO_ROOM) for hit in hits if hit.id not in packed_ids]
    missed = tuple(unshown[:MAX_RUNNERS_UP])
    if not packed.hits and not always:
        why = _reason_for_silence(found, missed)
        return Slice("", (), why, name, mode, session_id, found.degraded, runners_up=missed)
    memories = "memory" if len(found.matches) == 1 else "memories"
    why = f"{len(packed.hits)} of {len(found.matches)} matching {memories} qualified"
    return Slice(packed.text, packed.hits, why, name, mode, session_id, found.degraded, packed.pinned, missed)


def _mark_unwanted(hits: Sequence[Hit], shown_ids: Collection[str]) -> list[Hit]:
    """Mark the hits that the session has seen, or that repeat a better one, with the reason in `kept_out`."""
    unseen = [replace(hit, kept_out=ALREADY_SHOWN) if hit.id in shown_ids and not hit.kept_out else hit for hit in hits]
    distinct = {hit.id for hit in drop_repeats([hit for hit in unseen if not hit.kept_out])}
    return [hit if hit.kept_out or hit.id in distinct else replace(hit, kept_out=REPEATS) for hit in unseen]


def thresholds(ws: Workspace) -> Thresholds:
    given = ws.settings
    return Thresholds(given.recall_min_confidence, given.recall_min_item_score, given.recall_oov_threshold)


def find_candidates(
    ws: Workspace, prompt: str, project: str, *, query: str = "", named: Sequence[str] = (), files: Sequence[str] = ()
) -> tuple[SearchMatches, PromptFeatures, list[Hit]]:
    """Return matches, features and rated hits for a prompt that names the files `named`, in a session with `files`."""
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
        is_superseded = hit.memory.superseded_by and not hit.kept_out and not past
        for each in _with_successor(ws, hit, project) if is_superseded else [hit]:
            if each.id not in current or current[each.id].kept_out:
                current[each.id] = each
    return list(current.values())


def _with_successor(ws: Workspace, hit: Hit, project: str) -> list[Hit]:
    """Return the current memory, with the evidence of the superseded one, and that one, kept out."""
    successor = _find_successor(ws, hit)
    if successor and successor.id == hit.id:
        return [hit]
    superseded = replace(hit, kept_out=SUPERSEDED)
    if successor and successor.project in (project, GENERAL):
        return [replace(hit, memory=successor.memory, path=successor.path), superseded]
    return [superseded]


def _find_successor(ws: Workspace, entry: Entry) -> Entry | None:
    """Return the last memory of a chain of successors, if it may be shown unasked."""
    at, seen = entry, {entry.id}
    while at.memory.superseded_by and len(seen) <= LONGEST_CHAIN:
        try:
            at = find.get(ws, at.memory.superseded_by)
        except (NotFound, InputError):  # the note is missing: the last one that exists is current again
            return at if _may_be_shown(ws, at) else None
        except (Ambiguous, NoteError):
            return None
        if at.id in seen:
            return None
        seen.add(at.id)
    return at if not at.memory.superseded_by and _may_be_shown(ws, at) else None


def _may_be_shown(ws: Workspace, entry: Entry) -> bool:
    now, memory = ws.clock(), entry.memory
    is_valid = memory.status == "active" and dates.get_stated_span(memory, now.tzinfo).contains(now.timestamp())
    return is_valid and PINNED < memory.layer < ARCHIVE


def _reason_for_silence(found: SearchMatches, missed: Sequence[Hit]) -> str:
    """Say why nothing is shown: the reason that keeps out a memory which was good enough, if there is one."""
    if not found.matches and not missed:
        return "no memory matches the prompt"
    kept_out = {hit.kept_out for hit in missed}
    return next((reason for why, reason in _REASONS.items() if why in kept_out), WEAK)


def _files_in_prompt(prompt: str, cwd: Path, place: Project) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for name in find.extract_paths(prompt)[:MAX_NAMES_CHECKED]:
        inside = find.relative_file(place.root, cwd / name) or find.relative_file(place.root, place.root / name)
        if inside:
            found[inside] = None
        if len(found) == FILES_SHOWN:
            break
    return tuple(found)
