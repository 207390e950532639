"""Tidy the vault: suggest memories to merge, split or archive, and apply them in one batch that can be undone."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from memem.compare.relation import CONTAINED, CONTAINS, NEAR, SAME
from memem.core import memory as layers
from memem.core.dates import clamp_end, is_in_force, iso, moment
from memem.core.errors import Ambiguous, Forgotten, InputError, NoteChanged, NoteError, NotFound
from memem.core.evidence import merge_evidence
from memem.core.memory import GENERAL, Entry, Memory, fingerprint, id8_of, link_target
from memem.core.project import normalise
from memem.notes import forget, succession, write
from memem.notes.reconcile import EVIDENCE_CHARACTERS
from memem.safety.gate import MAX_ITEMS, cleanse
from memem.safety.quote import join_words
from memem.search.graph import read
from memem.state import usefulness
from memem.upkeep import curation_rules, similar_notes
from memem.upkeep.curation_rules import Merge
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace

MERGE, SPLIT, ARCHIVE = "merge", "split", "archive"
MAX_OF_A_KIND = 100  # the next run finds the others
GONE = "no such suggestion; it may have been applied already, or one of its notes may have changed"
CHANGED = "one of its notes has changed since"
_LINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_SAYS = {
    SAME: "says the same thing as",
    CONTAINS: "adds nothing to",
    CONTAINED: "adds nothing to",
    NEAR: "says almost the same thing as",
}
# A suggestion is valid as long as these are unchanged and the note is in force.
_JUDGED = ("title", "body", "project", "kind", "layer", "valid_to", "contradicts", "author", "source_type")


@dataclass(frozen=True, slots=True)
class Suggestion:
    id: str  # derived from the notes and their statements
    what: str  # merge, split or archive
    project: str
    reason: str
    outcome: str
    notes: tuple[Entry, ...]  # of a merge, the one that stays comes first
    into: tuple[str, ...] = ()  # the new statements, if any
    yours: str = ""  # why only a person may apply it


@dataclass(frozen=True, slots=True)
class NotApplied:
    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Curated:
    suggestions: tuple[Suggestion, ...]
    memories: int  # valid ones that were examined
    more: bool = False  # whether there are more suggestions
    applied: tuple[str, ...] = ()  # ids of suggestions
    left: tuple[NotApplied, ...] = ()  # chosen, but not applied
    batch: str = ""  # undoes it all; empty if nothing changed


def curate(ws: Workspace, *, project: str | None = None, apply: Sequence[str] | None = None) -> Curated:
    """Suggest how to tidy the vault or one project; `apply` lists ids to apply, an empty list all of them."""
    result = suggest(ws, project=project)
    if apply is None:
        return result
    by_id = {suggestion.id: suggestion for suggestion in result.suggestions}
    chosen = list(dict.fromkeys(identity.strip().lower() for identity in apply)) or list(by_id)
    reasons: dict[str, str] = {}
    with ws.events.batch("curate") as batch:
        for identity in chosen:
            reasons[identity] = _apply(ws, by_id[identity]) if identity in by_id else GONE
    applied = tuple(identity for identity, reason in reasons.items() if not reason)
    left = tuple(NotApplied(identity, reason) for identity, reason in reasons.items() if reason)
    return replace(result, applied=applied, left=left, batch=batch if applied else "")


def suggest(ws: Workspace, *, project: str | None = None) -> Curated:
    """Suggest merges, splits and archiving, each independent of the others, for the vault or one project."""
    require_vault(ws)
    everything, only = _list_in_force(ws), None if project is None else normalise(project)
    entries = [entry for entry in everything if only in (None, entry.project)]
    # A person has to resolve a conflict first.
    named = {id8_of(link) for entry in everything for link in entry.memory.contradicts}
    free = [entry for entry in entries if not entry.memory.contradicts and entry.memory.id8 not in named]
    # Splits are made first: otherwise notes would be merged into a note that says many things.
    parts = {entry.id: texts for entry in free if (texts := curation_rules.split_parts(entry.memory))}
    splits, more_splits = _take(_suggest_split(ws, entry, parts[entry.id]) for entry in free if entry.id in parts)
    theirs = {suggestion.notes[0].id for suggestion in splits if suggestion.yours}
    merges, more_merges = _suggest_merges(ws, [entry for entry in free if entry.id not in parts.keys() - theirs])
    taken = parts.keys() | {entry.id for suggestion in merges for entry in suggestion.notes}
    others = [entry for entry in free if entry.id not in taken]
    archived, more_archived = _take(_suggest_archiving(ws, others, _list_linked(everything)))
    return Curated((*merges, *splits, *archived), len(entries), more_merges or more_splits or more_archived)


def _take(suggestions: Iterator[Suggestion]) -> tuple[list[Suggestion], bool]:
    first = list(islice(suggestions, MAX_OF_A_KIND))
    return first, next(suggestions, None) is not None


def _list_in_force(ws: Workspace) -> list[Entry]:
    """The valid memories with a unique id, in the order of their ids."""
    rows = ws.index.rows("status = 'active' ORDER BY id, path")
    entries = [Entry(row.memory, row.path) for row in rows if row.memory and is_in_force(row.memory, ws.clock())]
    copies = Counter(entry.id for entry in entries)
    return [entry for entry in entries if copies[entry.id] == 1]


def _is_theirs(ws: Workspace, entry: Entry) -> bool:
    """Whether a note was written or changed by a person, or imported, which may be either."""
    if entry.memory.author != "model" or entry.memory.source_type == "import":
        return True
    try:
        return ws.store.read(entry.path).touched_by_hand
    except NoteError:
        return True  # being written to, or gone


def _suggestion(
    what: str, notes: tuple[Entry, ...], reason: str, outcome: str, into: tuple[str, ...] = (), yours: str = ""
) -> Suggestion:
    import hashlib

    statements = sorted(f"{entry.id} {fingerprint(entry.body)}" for entry in notes)
    identity = hashlib.sha256("\n".join([what, *statements]).encode()).hexdigest()[:8]
    return Suggestion(identity, what, notes[0].project, reason, outcome, notes, into, yours)


def _name(entry: Entry) -> str:
    return f"{entry.memory.id8} ({entry.title})"


def _suggest_merges(ws: Workspace, entries: Sequence[Entry]) -> tuple[list[Suggestion], bool]:
    pairs = similar_notes.likely_pairs(ws, entries)
    efforts = accumulate(len(one.body) * len(other.body) for one, other, _ in pairs[: similar_notes.MAX_PAIRS])
    compared = pairs[: sum(effort <= similar_notes.MAX_EFFORT for effort in efforts)]
    related = [
        (relation == NEAR, -likeness, one.id, other.id, relation, one, other)
        for one, other, (likeness, cosine) in compared
        if (relation := curation_rules.relation(one.memory, other.memory, likeness, cosine))
    ]
    staying: set[str] = set()
    finished: set[str] = set()  # those that end, and those whose statement changes
    merges: list[Suggestion] = []
    for *_, relation, one, other in sorted(related, key=lambda pair: pair[:4]):
        if len(merges) >= MAX_OF_A_KIND:
            return merges, True
        if {one.id, other.id} & finished:
            continue
        theirs = frozenset(entry.id for entry in (one, other) if _is_theirs(ws, entry))
        merge = curation_rules.merge(one, other, relation, theirs)
        if merge is None or merge.ended.id in staying or (merge.added and merge.kept.id in staying):
            continue
        finished |= {merge.ended.id, *([merge.kept.id] if merge.added else [])}
        staying.add(merge.kept.id)
        merges.append(_describe_merge(merge))
    return merges, len(compared) < len(pairs)


def _describe_merge(merge: Merge) -> Suggestion:
    kept, ended = merge.kept, merge.ended
    gains = [f"{len(merge.added)} sentence{'s' * (len(merge.added) > 1)}"] if merge.added else []
    gains += ["evidence"] if ended.memory.evidence else []
    gains += curation_rules.gained(kept.memory, ended.memory)
    gets = f", gains {join_words(gains)} from the other" if gains and not merge.untouched else ""
    reason = f"{_name(ended)} {_SAYS[merge.relation]} {_name(kept)}"
    outcome = f"{kept.memory.id8} stays{gets} and supersedes {ended.memory.id8}"
    into = ("\n\n".join((kept.body, "\n".join(merge.added))),) if merge.added else ()
    return _suggestion(MERGE, (kept, ended), reason, outcome, into, merge.yours)


def _suggest_split(ws: Workspace, entry: Entry, parts: tuple[str, ...]) -> Suggestion:
    reason = f"{_name(entry)} says {len(parts)} unrelated things"
    outcome = f"{entry.memory.id8} is superseded by {len(parts)} notes that keep its source"
    yours = f"{entry.memory.id8} is your own note" if _is_theirs(ws, entry) else ""
    return _suggestion(SPLIT, (entry,), reason, outcome, parts, yours)


def _suggest_archiving(ws: Workspace, entries: Sequence[Entry], linked: frozenset[str]) -> Iterator[Suggestion]:
    prompt_times: dict[str, list[float]] = {GENERAL: []}  # by project; `general` has all of them
    for project, time in usefulness.prompts(ws):
        for name in {GENERAL, project}:
            prompt_times.setdefault(name, []).append(time)
    if not prompt_times[GENERAL]:
        return
    counts = usefulness.tally(ws, [entry.id for entry in entries])
    for entry in entries:
        written = moment(entry.memory.updated or entry.memory.created)
        times = prompt_times.get(entry.project, [])
        prompts = len(times) - bisect_left(times, written.timestamp()) if written else 0
        shown, used = counts.get(entry.id, (0, 0))
        reason = curation_rules.idle(entry.memory, ws.clock(), prompts=prompts, shown=shown, used=used)
        if reason and linked.isdisjoint((entry.memory.id8, link_target(entry.link))) and not _is_theirs(ws, entry):
            outcome = f"{entry.memory.id8} is archived (layer 3), where only a search finds it"
            yield _suggestion(ARCHIVE, (entry,), f"{_name(entry)} was {reason}", outcome)


def _list_linked(entries: Iterable[Entry]) -> frozenset[str]:
    names: set[str] = set()
    for entry in entries:
        stated = (link for name in read.LINK_PROPERTIES for link in read.get_links(entry.memory, name))
        names |= {link_target(link) for link in (*stated, *_LINK.findall(entry.body))}
    return frozenset((*names, *map(id8_of, names)))


def _apply(ws: Workspace, suggestion: Suggestion) -> str:
    if suggestion.yours:
        return suggestion.yours
    why = f"curated {suggestion.id}: {suggestion.reason}"
    try:
        notes = [_read_unchanged(ws, entry) for entry in suggestion.notes]
        if suggestion.what == MERGE:
            _merge(ws, suggestion, why, *notes)
        elif suggestion.what == SPLIT:
            _split(ws, suggestion.into, why, *notes)
        else:
            _revise(ws, notes[0], why, layer=layers.ARCHIVE)
    except (NoteError, NotFound, Ambiguous, InputError) as problem:
        return str(problem)
    return ""


def _read_unchanged(ws: Workspace, entry: Entry) -> Entry:
    """The note as it is now. Raises NoteChanged if it is no longer valid or says something else."""
    memory = write.note_of(ws, entry.id).memory
    shown = cleanse(memory).memory
    is_same = all(getattr(shown, name) == getattr(entry.memory, name) for name in _JUDGED)
    if not is_same or not is_in_force(memory, ws.clock()):
        raise NoteChanged(CHANGED)
    return Entry(memory, entry.path)


def _revise(ws: Workspace, entry: Entry, why: str, **changes: Any) -> None:
    if write.revise(ws, entry.id, why=why, expected=entry.memory, **changes) is None:
        raise NoteChanged(CHANGED)


def _merge(ws: Workspace, suggestion: Suggestion, why: str, kept: Entry, ended: Entry) -> None:
    """Change the note that stays first, so that nothing is ever missing."""
    gained = curation_rules.gained(kept.memory, ended.memory)
    if not _is_theirs(ws, kept):
        mine, other = kept.memory, ended.memory
        links = dict.fromkeys((*mine.related, *other.related))
        related = [link for link in links if not (kept.is_named_by(link) or ended.is_named_by(link))]
        quotes = merge_evidence(mine.evidence, other.evidence)
        if len(quotes) > EVIDENCE_CHARACTERS:
            quotes = mine.evidence  # the superseded note keeps its own
        changes: dict[str, Any] = {
            **gained,
            "related": tuple(related[:MAX_ITEMS]),
            "importance": max(mine.importance, other.importance),
            "evidence": quotes,
            "supersedes": mine.supersedes or ended.link,
        }
        changes |= {"body": suggestion.into[0]} if suggestion.into else {}
        _revise(ws, kept, why, **changes)
        succession.record_repetition(ws, kept.memory, succession.get_last_said(ws, ended.memory))
    elif suggestion.into or gained:
        raise NoteChanged(CHANGED)  # a person has changed it meanwhile
    _supersede(ws, ended, why, kept.link)


def _supersede(ws: Workspace, entry: Entry, why: str, link: str) -> None:
    end = clamp_end(entry.memory, iso(ws.clock()), ws.clock().tzinfo)
    _revise(ws, entry, why, superseded_by=link, status="deprecated", valid_to=end)


def _split(ws: Workspace, texts: Sequence[str], why: str, old: Entry) -> None:
    """Write the new notes first, then mark the old one as superseded by the first of them."""
    if _is_theirs(ws, old):
        raise NoteChanged(CHANGED)

    def refuse_forgotten(memory: Memory) -> None:
        if hold := forget.check_forgotten(ws, memory):
            raise Forgotten(hold.reason)

    parts = [write.prepared(curation_rules.make_part(old, text, texts, iso(ws.clock()))) for text in texts]
    for part in parts:
        refuse_forgotten(part.memory)
    written = [write.put(ws, part, why=why, at_last=refuse_forgotten) for part in parts]
    _supersede(ws, old, why, f"[[{PurePosixPath(written[0].path).stem}]]")
