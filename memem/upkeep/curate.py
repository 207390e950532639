"""Suggest how to tidy the vault: memories to merge, to split, and to archive. Nothing is changed here.

Suggestions are independent: a note is in one only, except a note that several others are merged into. Notes that a
person wrote or changed are only reported.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from memem.compare.relation import CONTAINED, CONTAINS, NEAR, SAME
from memem.core.dates import is_in_force, moment
from memem.core.errors import NoteError
from memem.core.memory import GENERAL, Entry, Memory, fingerprint, id8_of, link_target
from memem.core.project import normalise
from memem.search.graph import read
from memem.state import usefulness
from memem.upkeep import curation_rules, similar_notes
from memem.upkeep.curation_rules import Merge
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


MERGE, SPLIT, ARCHIVE = "merge", "split", "archive"
MAX_OF_A_KIND = 100  # the next run finds the others
IMPORTED = "import"
_LINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_SAYS = {
    SAME: "says the same as",
    CONTAINS: "says nothing that is not in",
    CONTAINED: "says nothing that is not in",
    NEAR: "says almost the same as",
}


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
class Suggestions:
    found: tuple[Suggestion, ...]
    memories: int  # valid ones that were examined
    more: bool = False  # whether there are more suggestions


def suggest(ws: Workspace, *, project: str | None = None) -> Suggestions:
    """Suggest merges, then splits, then archiving, for the vault or one project."""
    require_vault(ws)
    everything, only = _in_force(ws), None if project is None else normalise(project)
    entries = [entry for entry in everything if only in (None, entry.project)]
    disputed, linked = _disputed(everything), _linked(everything)
    free = [entry for entry in entries if entry.id not in disputed]
    # Splits are found first: otherwise notes would be merged into a note that says many things.
    parted = {entry.id: parts for entry in free if (parts := curation_rules.split_parts(entry.memory))}
    splits, more = _first(_split(ws, entry, parted[entry.id]) for entry in free if entry.id in parted)
    theirs = {entry.id for each in splits if each.yours for entry in each.notes}
    merges, beyond = _merges(ws, [entry for entry in free if entry.id not in parted or entry.id in theirs])
    taken = parted.keys() | {entry.id for each in merges for entry in each.notes}
    idle, unread = _first(_idle(ws, [entry for entry in free if entry.id not in taken], linked))
    return Suggestions((*merges, *splits, *idle), len(entries), more or beyond or unread)


def is_theirs(ws: Workspace, entry: Entry) -> bool:
    """Whether a note was written or changed by a person, or imported, which may be either."""
    if entry.memory.author != "model" or entry.memory.source_type == IMPORTED:
        return True
    try:
        return ws.store.read(entry.path).touched_by_hand
    except NoteError:
        return True  # being written to, or gone


def _in_force(ws: Workspace) -> list[Entry]:
    """The valid memories with a unique id, in the order of their ids."""
    rows = ws.index.rows("status = 'active' ORDER BY id, path")
    found = [Entry(row.memory, row.path) for row in rows if row.memory and is_in_force(row.memory, ws.clock())]
    places: dict[str, int] = {}
    for entry in found:
        places[entry.id] = places.get(entry.id, 0) + 1
    return [entry for entry in found if places[entry.id] == 1]


def _first(found: Iterable[Suggestion]) -> tuple[list[Suggestion], bool]:
    some = list(islice(found, MAX_OF_A_KIND + 1))
    return some[:MAX_OF_A_KIND], len(some) > MAX_OF_A_KIND


def _identity(what: str, notes: Sequence[Entry]) -> str:
    import hashlib

    parts = sorted(f"{entry.id} {fingerprint(entry.body)}" for entry in notes)
    return hashlib.sha256("\n".join([what, *parts]).encode()).hexdigest()[:8]


def _name(entry: Entry) -> str:
    return f"{entry.memory.id8} ({entry.title})"


# --- merge --------------------------------------------------------------------------------------------------------


def _merges(ws: Workspace, entries: Sequence[Entry]) -> tuple[list[Suggestion], bool]:
    found: list[tuple[float, Entry, Entry, str]] = []
    pairs = similar_notes.likely_pairs(ws, entries)
    compared = similar_notes.affordable(pairs)
    for one, other, (likeness, cosine) in compared:
        relation = curation_rules.relation(one.memory, other.memory, likeness, cosine)
        if relation:
            found.append((likeness, one, other, relation))
    found.sort(key=lambda each: (each[3] == NEAR, -each[0], each[1].id, each[2].id))
    kept: set[str] = set()
    done: set[str] = set()  # those that end, and those whose statement changes
    merges: list[Suggestion] = []
    for _, one, other, relation in found:
        if len(merges) >= MAX_OF_A_KIND:
            return merges, True
        if {one.id, other.id} & done:
            continue
        theirs = frozenset(each.id for each in (one, other) if is_theirs(ws, each))
        merge = curation_rules.merge(one, other, relation, theirs)
        if merge is None or merge.ended.id in kept or (merge.added and merge.kept.id in kept):
            continue
        done |= {merge.ended.id, *([merge.kept.id] if merge.added else [])}
        kept.add(merge.kept.id)
        merges.append(_merge(merge))
    return merges, len(compared) < len(pairs)


def _merge(merge: Merge) -> Suggestion:
    kept, ended = merge.kept, merge.ended
    gets = "" if merge.untouched else _gets(merge)
    return Suggestion(
        _identity(MERGE, (kept, ended)),
        MERGE,
        kept.project,
        f"{_name(ended)} {_SAYS[merge.relation]} {_name(kept)}",
        f"{kept.memory.id8} stays{gets}; {ended.memory.id8} is superseded by it",
        (kept, ended),
        ("\n\n".join((kept.body, "\n".join(merge.added))),) if merge.added else (),
        merge.yours,
    )


def _gets(merge: Merge) -> str:
    gains = [f"{len(merge.added)} sentence{'s' * (len(merge.added) > 1)} of it"] if merge.added else []
    gains += ["its evidence"] if merge.ended.memory.evidence else []
    gains += [f"its {name}" for name in curation_rules.gained(merge.kept.memory, merge.ended.memory)]
    return f" and gets {', '.join(gains)}" if gains else ""


# --- split --------------------------------------------------------------------------------------------------------


def _split(ws: Workspace, entry: Entry, parts: tuple[str, ...]) -> Suggestion:
    return Suggestion(
        _identity(SPLIT, (entry,)),
        SPLIT,
        entry.project,
        f"{_name(entry)} says {len(parts)} unrelated things",
        f"it is replaced by {len(parts)} notes of the same origin, which supersede {entry.memory.id8}",
        (entry,),
        parts,
        f"{entry.memory.id8} is yours" if is_theirs(ws, entry) else "",
    )


# --- archive ------------------------------------------------------------------------------------------------------


def _idle(ws: Workspace, entries: Sequence[Entry], linked: frozenset[str]) -> Iterator[Suggestion]:
    asked = usefulness.prompts(ws)
    if not asked:
        return
    counts = usefulness.tally(ws, [entry.id for entry in entries])
    times = _times(asked)
    for entry in entries:
        prompts = _since(entry.memory, times)
        shown, used = counts.get(entry.id, (0, 0))
        reason = curation_rules.idle(entry.memory, ws.clock(), prompts=prompts, shown=shown, used=used)
        if reason and not _is_linked(entry, linked) and not is_theirs(ws, entry):
            outcome = f"{entry.memory.id8} is archived (layer 3), where only a search finds it"
            about = f"{_name(entry)} was {reason}"
            yield Suggestion(_identity(ARCHIVE, (entry,)), ARCHIVE, entry.project, about, outcome, (entry,))


def _times(asked: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    """The times of prompts by project; `general` has all of them."""
    times: dict[str, list[float]] = {GENERAL: []}
    for project, time in asked:
        times[GENERAL].append(time)
        if project != GENERAL:
            times.setdefault(project, []).append(time)
    return times


def _since(memory: Memory, times: Mapping[str, Sequence[float]]) -> int:
    """The number of prompts that could have needed a memory."""
    written = moment(memory.updated or memory.created)
    mine = times.get(memory.project, ())
    return len(mine) - bisect_left(mine, written.timestamp()) if written else 0


def _disputed(entries: Sequence[Entry]) -> frozenset[str]:
    """The ids of memories in a conflict, which a person has to resolve first."""
    named = {id8_of(link) for entry in entries for link in entry.memory.contradicts}
    return frozenset(entry.id for entry in entries if entry.memory.contradicts or entry.memory.id8 in named)


def _linked(entries: Iterable[Entry]) -> frozenset[str]:
    """Names and short ids of notes that valid memories link to."""
    found: set[str] = set()
    for entry in entries:
        stated = (link for name in read.LINK_PROPERTIES for link in read.get_links(entry.memory, name))
        named = [link_target(link) for link in (*stated, *_LINK.findall(entry.body))]
        found |= {*named, *map(id8_of, named)}
    return frozenset(found)


def _is_linked(entry: Entry, linked: frozenset[str]) -> bool:
    return entry.memory.id8 in linked or link_target(entry.link) in linked
