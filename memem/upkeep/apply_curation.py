"""Apply what would tidy the vault, in one batch, which an undo takes back as a whole.

Each suggestion is looked at once more as it is applied: when a note says anything else by now than it did when it was
judged, it is left. What is superseded stays, and says until when it held and by what.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from memem.core import memory as layers
from memem.core.dates import is_in_force, iso
from memem.core.errors import Ambiguous, Forgotten, InputError, NoteChanged, NoteError, NotFound
from memem.core.memory import Entry, Memory, fingerprint
from memem.notes import forget, write
from memem.notes.reconcile import EVIDENCE_CHARACTERS
from memem.safety.gate import MAX_ITEMS, Verdict, cleanse
from memem.upkeep import curate as upkeep_curate
from memem.upkeep import curation_rules
from memem.upkeep.curate import ARCHIVE, MERGE, SPLIT, Suggestion

if TYPE_CHECKING:
    from memem.workspace import Workspace


GONE = "there is no such suggestion any more: it is done, or a note that it was about has changed"
CHANGED = "a note that it is about has changed since"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "memem:split")
_JUDGED = ("title", "body", "project", "kind", "layer", "valid_to", "contradicts", "author", "source_type")
"""What a suggestion was made of: as long as this is the same, and the note in force, it holds."""


@dataclass(frozen=True, slots=True)
class NotApplied:
    """A suggestion that was left, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Curated:
    """What would tidy the vault, and what was done of it.

    `more` says that there is more than is told of; `applied` are the ids of suggestions, `left` those that were to be
    applied and were not, and `batch` is what undoes it all, empty when nothing was changed.
    """

    suggestions: tuple[Suggestion, ...]
    memories: int
    more: bool = False
    applied: tuple[str, ...] = ()
    left: tuple[NotApplied, ...] = ()
    batch: str = ""


def curate(ws: Workspace, *, project: str | None = None, apply: Sequence[str] | None = None) -> Curated:
    """What would tidy the vault, or one project; with `apply` it is done: what has these ids, or else all."""
    found = upkeep_curate.suggest(ws, project=project)
    looked = Curated(found.found, found.memories, found.more)
    if apply is None:
        return looked
    by_id = {each.id: each for each in found.found}
    wanted = list(dict.fromkeys(each.strip().lower() for each in apply))
    chosen = [by_id[each] for each in wanted if each in by_id] if wanted else list(found.found)
    left = [NotApplied(each, GONE) for each in wanted if each not in by_id]
    applied: list[str] = []
    with ws.events.batch("curate") as batch:
        for suggestion in chosen:
            reason = suggestion.yours or _applied(ws, suggestion)
            left += [NotApplied(suggestion.id, reason)] if reason else []
            applied += [] if reason else [suggestion.id]
    return replace(looked, applied=tuple(applied), left=tuple(left), batch=batch if applied else "")


def _applied(ws: Workspace, suggestion: Suggestion) -> str:
    """Do it; returns why it was left, or nothing when it is done."""
    try:
        now = [_as_judged(ws, entry) for entry in suggestion.notes]
        _HOW[suggestion.what](ws, suggestion, now)
    except (NoteError, NotFound, Ambiguous, InputError) as problem:
        return str(problem)
    return ""


def _as_judged(ws: Workspace, entry: Entry) -> Entry:
    """The note as it is now, as long as it is in force and says what it said. Raises NoteChanged."""
    memory = write.note_of(ws, entry.id).memory
    shown = cleanse(memory).memory
    same = all(getattr(shown, name) == getattr(entry.memory, name) for name in _JUDGED)
    if not same or not is_in_force(memory, ws.clock()):
        raise NoteChanged(CHANGED)
    return Entry(memory, entry.path)


def _revise(ws: Workspace, entry: Entry, why: str, **changes: Any) -> None:
    if write.revise_same(ws, entry.memory, why=why, **changes) is None:
        raise NoteChanged(CHANGED)


def _superseded(ws: Workspace, by: str) -> dict[str, str]:
    return {"superseded_by": by, "status": "deprecated", "valid_to": iso(ws.clock())}


# --- merge --------------------------------------------------------------------------------------------------------


def _merge(ws: Workspace, suggestion: Suggestion, notes: Sequence[Entry]) -> None:
    """The one that stays first: at every moment all that is said can be found."""
    kept, ended = notes
    why = f"curated {suggestion.id}: {suggestion.reason}"
    if not upkeep_curate.is_theirs(ws, kept):
        _revise(ws, kept, why, **_gained(kept, ended, suggestion.into))
    elif suggestion.into or curation_rules.gained(kept.memory, ended.memory):
        raise NoteChanged(CHANGED)  # it is a person's by now, who would have to change it
    _revise(ws, ended, why, **_superseded(ws, kept.link))


def _gained(kept: Entry, ended: Entry, into: Sequence[str]) -> dict[str, Any]:
    """What the note that stays has from then on."""
    mine, other = kept.memory, ended.memory
    related = [link for link in (*mine.related, *other.related) if not kept.is_named_by(link)]
    return {
        **curation_rules.gained(mine, other),
        **({"body": into[0]} if into else {}),
        "related": tuple(dict.fromkeys(link for link in related if not ended.is_named_by(link)))[:MAX_ITEMS],
        "importance": max(mine.importance, other.importance),
        "evidence": _evidence(mine.evidence, other.evidence),
        "supersedes": mine.supersedes or ended.link,
    }


def _evidence(kept: str, ended: str) -> str:
    """Both, as far as there is room: what ends keeps its own."""
    new = [line for line in ended.splitlines() if line not in kept.splitlines()]
    both = "\n".join((*kept.splitlines(), *new))
    return both if len(both) <= EVIDENCE_CHARACTERS else kept


# --- archive ------------------------------------------------------------------------------------------------------


def _archive(ws: Workspace, suggestion: Suggestion, notes: Sequence[Entry]) -> None:
    why = f"curated {suggestion.id}: {suggestion.reason}"
    _revise(ws, notes[0], why, layer=layers.ARCHIVE)


# --- split --------------------------------------------------------------------------------------------------------


def _split(ws: Workspace, suggestion: Suggestion, notes: Sequence[Entry]) -> None:
    """New notes first, each of which says what it supersedes; then the old one, which names the first of them."""
    (old,) = notes
    if upkeep_curate.is_theirs(ws, old):
        raise NoteChanged(CHANGED)
    why = f"curated {suggestion.id}: {suggestion.reason}"
    parts = [_part(ws, old, text, suggestion.into) for text in suggestion.into]
    for part in parts:
        _refuse_forgotten(ws, part.memory)
    made = [write.put(ws, part, why=why, at_last=lambda memory: _refuse_forgotten(ws, memory)) for part in parts]
    _revise(ws, old, why, **_superseded(ws, f"[[{PurePosixPath(made[0].path).stem}]]"))


def _part(ws: Workspace, old: Entry, text: str, all_of_them: Sequence[str]) -> Verdict:
    """One of the new memories: of the same origin, with those of the words and files that it is about."""
    now = iso(ws.clock())
    others = [each for each in all_of_them if each != text]
    memory = replace(
        old.memory,
        id=str(uuid.uuid5(_NAMESPACE, f"{old.id}\n{fingerprint(text)}")),
        title="",
        body=text,
        keys=_about(old.memory.keys, text, others),
        paths=_about(old.memory.paths, text, others),
        anchors=_about(old.memory.anchors, text, others),
        supersedes=old.link,
        created=now,
        updated=now,
        valid_from=now,
    )
    return write.prepared(memory)


def _about(items: Sequence[str], text: str, others: Sequence[str]) -> tuple[str, ...]:
    """Those that a text names, and those that no part names: they may be about any."""

    def names(said: str, item: str) -> bool:
        last = PurePosixPath(item.rpartition("#")[2]).name
        return item.casefold() in said.casefold() or last.casefold() in said.casefold()

    return tuple(item for item in items if names(text, item) or not any(names(each, item) for each in others))


def _refuse_forgotten(ws: Workspace, memory: Memory) -> None:
    hold = forget.check_forgotten(ws, memory)
    if hold:
        raise Forgotten(hold.reason)


_HOW: dict[str, Callable[[Workspace, Suggestion, Sequence[Entry]], None]] = {
    MERGE: _merge,
    SPLIT: _split,
    ARCHIVE: _archive,
}
