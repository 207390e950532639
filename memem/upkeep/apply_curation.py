"""Apply suggestions of curation, in one batch that can be undone.

A suggestion is skipped if one of its notes has changed since. Superseded notes are kept and dated.
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


GONE = "there is no such suggestion: it was applied, or one of its notes has changed"
CHANGED = "one of its notes has changed since"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "memem:split")
# A suggestion is valid as long as these are unchanged and the note is in force.
_JUDGED = ("title", "body", "project", "kind", "layer", "valid_to", "contradicts", "author", "source_type")


@dataclass(frozen=True, slots=True)
class NotApplied:
    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Curated:
    suggestions: tuple[Suggestion, ...]
    memories: int
    more: bool = False
    applied: tuple[str, ...] = ()  # ids of suggestions
    left: tuple[NotApplied, ...] = ()  # chosen, but not applied
    batch: str = ""  # undoes it all; empty if nothing changed


def curate(ws: Workspace, *, project: str | None = None, apply: Sequence[str] | None = None) -> Curated:
    """Suggest how to tidy the vault or one project; `apply` lists ids to apply, an empty list all of them."""
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
            reason = suggestion.yours or _apply(ws, suggestion)
            left += [NotApplied(suggestion.id, reason)] if reason else []
            applied += [] if reason else [suggestion.id]
    return replace(looked, applied=tuple(applied), left=tuple(left), batch=batch if applied else "")


def _apply(ws: Workspace, suggestion: Suggestion) -> str:
    """Apply a suggestion; returns why it was not applied, or an empty string."""
    try:
        now = [_as_judged(ws, entry) for entry in suggestion.notes]
        _HOW[suggestion.what](ws, suggestion, now)
    except (NoteError, NotFound, Ambiguous, InputError) as problem:
        return str(problem)
    return ""


def _as_judged(ws: Workspace, entry: Entry) -> Entry:
    """The note as it is now. Raises NoteChanged if it is no longer valid or says something else."""
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
    """Change the note that stays first, so that nothing is ever missing."""
    kept, ended = notes
    why = f"curated {suggestion.id}: {suggestion.reason}"
    if not upkeep_curate.is_theirs(ws, kept):
        _revise(ws, kept, why, **_gained(kept, ended, suggestion.into))
    elif suggestion.into or curation_rules.gained(kept.memory, ended.memory):
        raise NoteChanged(CHANGED)  # a person has changed it meanwhile
    _revise(ws, ended, why, **_superseded(ws, kept.link))


def _gained(kept: Entry, ended: Entry, into: Sequence[str]) -> dict[str, Any]:
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
    """Both quotes if there is room; the superseded note keeps its own."""
    new = [line for line in ended.splitlines() if line not in kept.splitlines()]
    both = "\n".join((*kept.splitlines(), *new))
    return both if len(both) <= EVIDENCE_CHARACTERS else kept


# --- archive ------------------------------------------------------------------------------------------------------


def _archive(ws: Workspace, suggestion: Suggestion, notes: Sequence[Entry]) -> None:
    why = f"curated {suggestion.id}: {suggestion.reason}"
    _revise(ws, notes[0], why, layer=layers.ARCHIVE)


# --- split --------------------------------------------------------------------------------------------------------


def _split(ws: Workspace, suggestion: Suggestion, notes: Sequence[Entry]) -> None:
    """Write the new notes first, then mark the old one as superseded by the first of them."""
    (old,) = notes
    if upkeep_curate.is_theirs(ws, old):
        raise NoteChanged(CHANGED)
    why = f"curated {suggestion.id}: {suggestion.reason}"
    parts = [_part(ws, old, text, suggestion.into) for text in suggestion.into]
    for part in parts:
        _refuse_forgotten(ws, part.memory)
    made = [write.put(ws, part, why=why, at_last=lambda memory: _refuse_forgotten(ws, memory)) for part in parts]
    _revise(ws, old, why, **_superseded(ws, f"[[{PurePosixPath(made[0].path).stem}]]"))


def _part(ws: Workspace, old: Entry, text: str, parts: Sequence[str]) -> Verdict:
    now = iso(ws.clock())
    others = [each for each in parts if each != text]
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
    """The items that this text names, and those that no part names."""

    def names(part: str, item: str) -> bool:
        last = PurePosixPath(item.rpartition("#")[2]).name
        return item.casefold() in part.casefold() or last.casefold() in part.casefold()

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
