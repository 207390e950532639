"""What would tidy the vault: memories that say the same, that say many things, that nobody needs. Nothing is changed.

Each suggestion stands by itself, so that any of them can be applied without the others: a note is in one of them, but
for one that several others become part of. What a person wrote or changed is theirs to tidy, and only told of.
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
MOST_OF_A_KIND = 100
"""More than anybody reads at once; when these are done, the next look finds the others."""
IMPORTED = "import"
_LINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_SAYS = {
    SAME: "says the same as",
    CONTAINS: "says nothing that is not in",
    CONTAINED: "says nothing that is not in",
    NEAR: "says in nearly the same words what is in",
}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One thing that would tidy the vault.

    `id` is made of what it is about: the same notes with the same statements give the same. `what` is merge, split or
    archive; `notes` are those it is about, of a merge first the one that stays. `into` are the statements that there
    would be instead, where one changes. `yours` says why memem does not do it; empty when it may.
    """

    id: str
    what: str
    project: str
    reason: str
    outcome: str
    notes: tuple[Entry, ...]
    into: tuple[str, ...] = ()
    yours: str = ""


@dataclass(frozen=True, slots=True)
class Suggestions:
    """What was found among so many memories in force, and whether there is more than is told of."""

    found: tuple[Suggestion, ...]
    memories: int
    more: bool = False


def suggest(ws: Workspace, *, project: str | None = None) -> Suggestions:
    """All that would tidy the vault, or one project: first what can be merged, then what can be parted, then what can
    be archived."""
    require_vault(ws)
    everything, only = _in_force(ws), None if project is None else normalise(project)
    held = [entry for entry in everything if only in (None, entry.project)]
    disputed, linked = _disputed(everything), _linked(everything)
    free = [entry for entry in held if entry.id not in disputed]
    # What says many things is parted first: else all that says one of them would become part of it.
    parted = {entry.id: parts for entry in free if (parts := curation_rules.split_parts(entry.memory))}
    splits, more = _first(_split(ws, entry, parted[entry.id]) for entry in free if entry.id in parted)
    theirs = {entry.id for each in splits if each.yours for entry in each.notes}
    merges, beyond = _merges(ws, [entry for entry in free if entry.id not in parted or entry.id in theirs])
    taken = parted.keys() | {entry.id for each in merges for entry in each.notes}
    idle, unread = _first(_idle(ws, [entry for entry in free if entry.id not in taken], linked))
    return Suggestions((*merges, *splits, *idle), len(held), more or beyond or unread)


def is_theirs(ws: Workspace, entry: Entry) -> bool:
    """Whether a note is a person's: written or changed by one, or imported, where nobody can tell whose words it is."""
    if entry.memory.author != "model" or entry.memory.source_type == IMPORTED:
        return True
    try:
        return ws.store.read(entry.path).touched_by_hand
    except NoteError:
        return True  # being written to, or gone


def _in_force(ws: Workspace) -> list[Entry]:
    """The memories that hold now, whose id no other file carries, in the order of their ids."""
    rows = ws.index.rows("status = 'active' ORDER BY id, path")
    found = [Entry(row.memory, row.path) for row in rows if row.memory and is_in_force(row.memory, ws.clock())]
    places: dict[str, int] = {}
    for entry in found:
        places[entry.id] = places.get(entry.id, 0) + 1
    return [entry for entry in found if places[entry.id] == 1]


def _first(found: Iterable[Suggestion]) -> tuple[list[Suggestion], bool]:
    """As many as are told of, and whether there are more."""
    some = list(islice(found, MOST_OF_A_KIND + 1))
    return some[:MOST_OF_A_KIND], len(some) > MOST_OF_A_KIND


def _identity(what: str, notes: Sequence[Entry]) -> str:
    import hashlib

    told = sorted(f"{entry.id} {fingerprint(entry.body)}" for entry in notes)
    return hashlib.sha256("\n".join([what, *told]).encode()).hexdigest()[:8]


def _called(entry: Entry) -> str:
    return f"{entry.memory.id8} ({entry.title})"


# --- two that can be one ------------------------------------------------------------------------------------------


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
        if len(merges) >= MOST_OF_A_KIND:
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
        f"{_called(ended)} {_SAYS[merge.relation]} {_called(kept)}",
        f"{kept.memory.id8} stays{gets}; {ended.memory.id8} is superseded by it",
        (kept, ended),
        ("\n\n".join((kept.body, "\n".join(merge.added))),) if merge.added else (),
        merge.yours,
    )


def _gets(merge: Merge) -> str:
    told = [f"{len(merge.added)} sentence{'s' * (len(merge.added) > 1)} of it"] if merge.added else []
    told += ["its evidence"] if merge.ended.memory.evidence else []
    told += [f"its {name}" for name in curation_rules.gained(merge.kept.memory, merge.ended.memory)]
    return f" and gets {', '.join(told)}" if told else ""


# --- one that says many things ------------------------------------------------------------------------------------


def _split(ws: Workspace, entry: Entry, parts: tuple[str, ...]) -> Suggestion:
    return Suggestion(
        _identity(SPLIT, (entry,)),
        SPLIT,
        entry.project,
        f"{_called(entry)} says {len(parts)} things that have no word in common",
        f"{len(parts)} notes of the same origin take its place; {entry.memory.id8} is superseded by them",
        (entry,),
        parts,
        f"{entry.memory.id8} is yours" if is_theirs(ws, entry) else "",
    )


# --- one that nobody needs ----------------------------------------------------------------------------------------


def _idle(ws: Workspace, entries: Sequence[Entry], linked: frozenset[str]) -> Iterator[Suggestion]:
    asked = usefulness.prompts(ws)
    if not asked:
        return  # nobody knows what was of use
    counts = usefulness.tally(ws, [entry.id for entry in entries])
    times = _times(asked)
    for entry in entries:
        prompts = _since(entry.memory, times)
        shown, used = counts.get(entry.id, (0, 0))
        reason = curation_rules.idle(entry.memory, ws.clock(), prompts=prompts, shown=shown, used=used)
        if reason and not _is_linked(entry, linked) and not is_theirs(ws, entry):
            outcome = f"{entry.memory.id8} goes to the archive (layer 3): only a search finds it"
            about = f"{_called(entry)} was {reason}"
            yield Suggestion(_identity(ARCHIVE, (entry,)), ARCHIVE, entry.project, about, outcome, (entry,))


def _times(asked: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    """When there were prompts, by project; what belongs to none may serve in all of them."""
    times: dict[str, list[float]] = {GENERAL: []}
    for project, time in asked:
        times[GENERAL].append(time)
        if project != GENERAL:
            times.setdefault(project, []).append(time)
    return times


def _since(memory: Memory, times: Mapping[str, Sequence[float]]) -> int:
    """How many prompts could have called for a memory."""
    written = moment(memory.updated or memory.created)
    mine = times.get(memory.project, ())
    return len(mine) - bisect_left(mine, written.timestamp()) if written else 0


def _disputed(entries: Sequence[Entry]) -> frozenset[str]:
    """The ids of those that contradict another, or are contradicted: a person decides on them first."""
    named = {id8_of(link) for entry in entries for link in entry.memory.contradicts}
    return frozenset(entry.id for entry in entries if entry.memory.contradicts or entry.memory.id8 in named)


def _linked(entries: Iterable[Entry]) -> frozenset[str]:
    """What memories in force link to, in their properties or their words: the names of notes, and the ends of them."""
    found: set[str] = set()
    for entry in entries:
        stated = (link for name in read.LINK_PROPERTIES for link in read.get_links(entry.memory, name))
        named = [link_target(link) for link in (*stated, *_LINK.findall(entry.body))]
        found |= {*named, *map(id8_of, named)}
    return frozenset(found)


def _is_linked(entry: Entry, linked: frozenset[str]) -> bool:
    return entry.memory.id8 in linked or link_target(entry.link) in linked
