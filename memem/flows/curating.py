"""What would tidy the vault: memories that say the same, that say many things, that nobody needs. Nothing is changed.

Each suggestion stands by itself, so that any of them can be applied without the others: a note is in one of them, but
for one that several others become part of. What a person wrote or changed is theirs to tidy, and only told of.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import TYPE_CHECKING

from memem.core.clock import moment
from memem.core.errors import MememError, NoteError
from memem.core.memory import GENERAL, Entry, Memory, id8_of, link_target
from memem.core.project import normalise
from memem.core.validity import is_in_force
from memem.flows import links, usefulness
from memem.flows.opening import require_vault
from memem.gate import curation, likely, splitting
from memem.gate.curation import Merge
from memem.gate.duplicates import fingerprint
from memem.gate.relation import CONTAINED, CONTAINS, NEAR, SAME
from memem.workspace import Workspace

if TYPE_CHECKING:
    from memem.index.encoder import Vectors

MERGE, SPLIT, ARCHIVE = KINDS = ("merge", "split", "archive")
MOST_COMPARED, MOST_EFFORT = 2_000, 600_000_000
"""So many pairs, the likeliest, are compared, fewer when they are long: each sentence is held beside each, which takes
as long as the product of their lengths. A few seconds in all; `python -m bench curation` tells."""
MOST_OF_A_KIND = 100
"""More than anybody reads at once; when these are done, the next look finds the others."""
LEAST_NEAR = 0.85
"""Notes that are less near say different things: what comparison finds to be the same is nearer."""
IMPORTED = "import"
_LINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_SAYS = {
    SAME: "says the same as",
    CONTAINS: "says nothing that is not in",
    CONTAINED: "says nothing that is not in",
    NEAR: "says in nearly the same words what is in",
}


_Pair = tuple[Entry, Entry, tuple[float, float | None]]
"""Two memories, how alike their words are, and how near they are, where that is known."""


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
    held = _in_force(ws, None if project is None else normalise(project))
    disputed = _disputed(held)
    free = [entry for entry in held if entry.id not in disputed]
    # What says many things is parted first: else all that says one of them would become part of it.
    parted = {entry.id: parts for entry in free if (parts := splitting.parts(entry.memory))}
    splits, more = _first(_split(ws, entry, parted[entry.id]) for entry in free if entry.id in parted)
    theirs = {entry.id for each in splits if each.yours for entry in each.notes}
    merges, beyond = _merges(ws, [entry for entry in free if entry.id not in parted or entry.id in theirs])
    taken = parted.keys() | {entry.id for each in merges for entry in each.notes}
    idle, unread = _first(_idle(ws, [entry for entry in free if entry.id not in taken], _linked(held)))
    return Suggestions((*merges, *splits, *idle), len(held), more or beyond or unread)


def is_theirs(ws: Workspace, entry: Entry) -> bool:
    """Whether a note is a person's: written or changed by one, or imported, where nobody can tell whose words it is."""
    if entry.memory.author != "model" or entry.memory.source_type == IMPORTED:
        return True
    try:
        return ws.store.read(entry.path).touched_by_hand
    except NoteError:
        return True  # being written to, or gone


def _in_force(ws: Workspace, project: str | None) -> list[Entry]:
    """The memories that hold now, whose id no other file carries, in the order of their ids."""
    of = "status = 'active' AND (? IS NULL OR project = ?) ORDER BY id, path"
    rows = ws.index.rows(of, (project, project))
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
    pairs = _likely(ws, entries)
    compared = _affordable(pairs)
    for one, other, (likeness, cosine) in compared:
        relation = curation.relation(one.memory, other.memory, likeness, cosine)
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
        merge = curation.merge(one, other, relation, theirs)
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
    told += [f"its {name}" for name in curation.gained(merge.kept.memory, merge.ended.memory)]
    return f" and gets {', '.join(told)}" if told else ""


def _likely(ws: Workspace, entries: Sequence[Entry]) -> list[_Pair]:
    """The pairs that are worth comparing, the likeliest first: by the same text, by meaning, and by words."""
    pairs: dict[tuple[int, int], tuple[float, float | None]] = {}
    for places in _by_project(entries):
        mine = [entries[place] for place in places]
        alike = {(one, other): likeness for one, other, likeness in likely.likely([each.body for each in mine])}
        alike |= dict.fromkeys(_same_text(mine), 1.0)
        cosines = _cosines(ws, mine)
        for one, other in alike.keys() | cosines.keys():
            likeness = alike.get((one, other), likely.likeness(mine[one].body, mine[other].body))
            pairs[(places[one], places[other])] = (likeness, cosines.get((one, other)))
    best = sorted(pairs.items(), key=lambda each: (-max(each[1][0], each[1][1] or 0.0), each[0]))
    return [(entries[one], entries[other], near) for (one, other), near in best]


def _affordable(pairs: Sequence[_Pair]) -> Sequence[_Pair]:
    efforts = accumulate(len(one.body) * len(other.body) for one, other, _ in pairs[:MOST_COMPARED])
    return pairs[: sum(effort <= MOST_EFFORT for effort in efforts)]


def _by_project(entries: Sequence[Entry]) -> list[list[int]]:
    places: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        places.setdefault(entry.project, []).append(place)
    return list(places.values())


def _same_text(entries: Sequence[Entry]) -> Iterator[tuple[int, int]]:
    first: dict[str, int] = {}
    for place, entry in enumerate(entries):
        earlier = first.setdefault(fingerprint(entry.body), place)
        if earlier != place:
            yield earlier, place


def _cosines(ws: Workspace, entries: Sequence[Entry]) -> dict[tuple[int, int], float]:
    """How near notes are whose passages have vectors; none where there is no encoder."""
    if ws.settings.encoder == "none":
        return {}
    from memem.index.passages import key, passages

    keys = [(key(text), place) for place, entry in enumerate(entries) for text in passages(entry.memory)]
    try:
        with ws.vectors().reading() as view:
            slots = view.slots(list({each for each, _ in keys}))
            known = [(slots[each], place) for each, place in keys if each in slots]
            return _nearest(view.rows[[slot for slot, _ in known]], [place for _, place in known])
    except MememError:
        return {}  # `memem doctor` says what is wrong with them; words find nearly all of it


def _nearest(rows: "Vectors", owners: Sequence[int]) -> dict[tuple[int, int], float]:
    """Pairs of notes of which two passages are near, with the cosine of the nearest."""
    import numpy as np

    from memem.index.similar import nearest

    every = np.arange(len(rows))
    near = nearest(rows, every, every, LEAST_NEAR, likely.MOST_BESIDE)
    found: dict[tuple[int, int], float] = {}
    for one, other, cosine in zip(near.ones.tolist(), near.others.tolist(), near.cosines.tolist(), strict=True):
        first, second = sorted((owners[one], owners[other]))
        if first != second:
            found[first, second] = max(cosine, found.get((first, second), cosine))
    return found


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
        reason = curation.idle(entry.memory, ws.clock(), prompts=prompts, shown=shown, used=used)
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
        stated = (link for name in links.PROPERTIES for link in links.of(entry.memory, name))
        named = [link_target(link) for link in (*stated, *_LINK.findall(entry.body))]
        found |= {*named, *map(id8_of, named)}
    return frozenset(found)


def _is_linked(entry: Entry, linked: frozenset[str]) -> bool:
    return entry.memory.id8 in linked or link_target(entry.link) in linked
