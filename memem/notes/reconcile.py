"""A candidate meets what is known: one way for what was mined, saved or imported.

A machine rewrites only what a machine has written; beside a person's note it puts one of its own, linked. Superseding
deletes nothing: the old note says until when it held, and what holds now.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.compare.relation import OTHER
from memem.core.conversation import ADD, SUPERSEDE, UPDATE
from memem.core.dates import is_in_force, iso, moment
from memem.core.errors import Ambiguous, Forgotten, NoteChanged, NoteError, NotFound, RewriteRefused
from memem.core.memory import GENERAL, Entry, Hit, Memory
from memem.core.trust import IMPORTED, OF_PERSONS, Trust
from memem.notes import conflicts, decide, forget, review, staleness, write
from memem.notes.decide import KNOWN, Decision, Neighbour
from memem.notes.write import Written
from memem.safety.gate import MAX_ITEMS, Verdict
from memem.search import find
from memem.search.query import Scope, SearchMatches
from memem.search.ranking import Boosts, rank
from memem.search.refresh import ensure_filled
from memem.vault.write_lock import writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


NEIGHBOURS = 12
EVIDENCE_CHARACTERS = 2_000
MOST_TRIES = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that is to be saved.

    `trust` is that of the way it came, and holds whatever it claims to what that allows; a person's words were said at
    `said`. `wish` and `target` are what a model wants done to a memory that it was shown. `root` is the project's
    folder, if there is one; `anyway` says that a person wants it though it was forgotten or reads like an instruction,
    `may_rewrite` that no note has to stay as it is for it.
    """

    memory: Memory
    trust: Trust
    said: str = ""
    wish: str = ADD
    target: Entry | None = None
    root: Path | None = None
    anyway: bool = False
    may_rewrite: bool = True
    titled: bool = True  # whether the title is its own, and not made of its first words

    @property
    def own(self) -> bool:
        return self.trust.own

    @property
    def proven(self) -> bool:
        return self.trust.proven


def settle(ws: Workspace, candidate: Candidate, *, why: str = "") -> Written:
    """Keep it, or make it part of what is known; what speaks to the model instead of recording a fact is proposed.

    Raises Forgotten, or InputError where the gate refuses it.
    """
    verdict = write.prepared(candidate.trust.limited(candidate.memory))
    candidate = replace(candidate, memory=verdict.memory, titled=bool(candidate.memory.title.strip()))
    doubt = verdict.doubt
    proposed = _held_back(ws, candidate, doubt)
    if proposed:
        return replace(proposed, redacted=verdict.redacted, neutralised=verdict.neutralised)
    anchored = staleness.anchored(ws, verdict.memory, candidate.root)
    settled = _settled(ws, replace(candidate, memory=anchored), verdict, why)
    if doubt:
        with writing(ws):
            review.allow_held(ws, settled.memory)
    return replace(settled, redacted=verdict.redacted, neutralised=verdict.neutralised)


def _held_back(ws: Workspace, candidate: Candidate, doubt: str) -> Written | None:
    """Refuse what was forgotten; propose what a person said again or what is doubtful."""
    memory = candidate.memory
    if candidate.anyway:
        forget.lift(ws, memory)
        return None
    hold = forget.check_forgotten(
        ws, memory, session=memory.source_session, said=candidate.said, person=candidate.proven and not candidate.own
    )
    if hold is None:
        return replace(review.propose(ws, memory, doubt), doubt=doubt) if doubt else None
    if hold.again:
        return review.propose(ws, memory, hold.reason)
    raise Forgotten(f"Not kept: {hold.reason}. {hold.advice}" if candidate.own else hold.reason)


def _settled(ws: Workspace, candidate: Candidate, verdict: Verdict, why: str) -> Written:
    target = candidate.target
    if target and candidate.wish == UPDATE and _has_learned(target.memory, candidate):
        return Written("exists", target.memory, target.path)
    entries = _neighbours(ws, candidate)
    common = decide.common_words([entry.memory for entry in entries])
    decision = decide.decide(
        [_compared(ws, candidate, entry, common) for entry in entries],
        own=candidate.own,
        proven=candidate.proven,
        wish=candidate.wish,
        target=0 if target else None,
    )
    memory = _linked(candidate.memory, entries, decision)
    at = entries[decision.place] if decision.place is not None else None
    if at and decision.what == KNOWN:
        return Written("exists", at.memory, at.path)
    if at and decision.what == UPDATE:
        revised = _revised(ws, at.memory.id, _changes(at.memory, replace(candidate, memory=memory)), why)
        if revised:
            return replace(revised, outcome="updated")
        memory = replace(memory, related=_merged((at.link,), memory.related))
    if at and decision.what == SUPERSEDE:
        return _supersede(ws, replace(candidate, memory=memory), at, verdict, why)
    if decision.contradicts:  # before the note: whoever is interrupted has it, and tries again, and it is known by then
        conflicts.suspect(ws, memory, [entries[place].memory for place in decision.contradicts])
    return _put(ws, candidate, replace(verdict, memory=memory), why)


def _put(ws: Workspace, candidate: Candidate, verdict: Verdict, why: str) -> Written:
    """A note of its own, unless somebody forgets it at this very moment."""

    def refuse_forgotten(memory: Memory) -> None:
        hold = None if candidate.anyway else forget.check_forgotten(ws, memory)
        if hold:
            raise Forgotten(hold.reason)

    return write.put(ws, verdict, why=why, at_last=refuse_forgotten)


def _neighbours(ws: Workspace, candidate: Candidate) -> list[Entry]:
    """The nearest memories of its project that are in force; first the one that the wish is about."""
    memory, target = candidate.memory, candidate.target
    vault_id = ws.store.vault_id()
    if not vault_id:
        return []
    ensure_filled(ws, vault_id)

    def closest(found: SearchMatches) -> list[Hit]:
        return rank(found, Boosts(memory.project))[:NEIGHBOURS]

    query, scope = f"{memory.title}\n{memory.body}", Scope((memory.project,), now=ws.clock().timestamp())
    # What can be compared shares words; no save waits for a model.
    hits = find.find(ws, query, scope, NEIGHBOURS, closest, max_terms=find.MAX_RARE_TERMS)[1]
    held = [hit for hit in hits if is_in_force(hit.memory, ws.clock())]
    others = [hit for hit in held if hit.id not in (memory.id, target and target.id)]
    return [target, *others] if target else list(others)


def _compared(ws: Workspace, candidate: Candidate, entry: Entry, common: Collection[str]) -> Neighbour:
    compared = decide.compared(entry.memory, candidate.memory, common)
    if entry is not candidate.target and compared.relation == OTHER:
        return Neighbour(compared)
    return Neighbour(compared, _yields(ws, candidate, entry))


def _yields(ws: Workspace, candidate: Candidate, entry: Entry) -> bool:
    """Whether a note may be changed for this candidate: a machine's, in force, and its subject within reach."""
    old, new = entry.memory, candidate.memory
    if not (candidate.may_rewrite and candidate.trust.rewrites) or old.source_type == IMPORTED.source_type:
        return False  # of what was imported nobody can tell whose words it is
    if old.status != "active" or old.superseded_by:  # its successor is linked, and that is all
        return candidate.wish == SUPERSEDE and _is_a_machines(ws, old.id)
    # What holds in one project does not end what holds in all of them.
    reaches = new.project == GENERAL or old.project != GENERAL
    may_overrule = candidate.own or candidate.proven or old.kind not in OF_PERSONS
    return reaches and may_overrule and _is_a_machines(ws, old.id)


def _is_a_machines(ws: Workspace, identity: str) -> bool:
    try:
        return write.is_a_machines(ws, identity)
    except (NoteError, NotFound, Ambiguous):
        return False  # somebody is at it, or nobody can tell which it is


def _linked(memory: Memory, entries: Sequence[Entry], decision: Decision) -> Memory:
    related = tuple(entries[place].link for place in decision.related)
    contradicts = tuple(entries[place].link for place in decision.contradicts)
    return replace(
        memory, related=_merged(memory.related, related), contradicts=_merged(memory.contradicts, contradicts)
    )


def _changes(old: Memory, candidate: Candidate) -> dict[str, Any]:
    """A note says it better from now on, and gives up nothing else."""
    new = candidate.memory
    return {
        "title": new.title if candidate.titled else old.title,
        "body": new.body,
        "importance": max(old.importance, new.importance),
        "confidence": new.confidence,
        "keys": _merged(old.keys, new.keys),
        "paths": _merged(old.paths, new.paths),
        "anchors": _merged(old.anchors, new.anchors),
        "related": _merged(old.related, new.related),
        "contradicts": _merged(old.contradicts, new.contradicts),
        "source_session": new.source_session,
        "source_turn": new.source_turn,
        "evidence": _evidence(old.evidence, new.evidence),
    }


def _supersede(ws: Workspace, candidate: Candidate, at: Entry, verdict: Verdict, why: str) -> Written:
    """A new note first, then the old one points to it: at every moment what holds now can be found."""
    old, start = at.memory, since(ws, candidate.said)
    memory = replace(candidate.memory, supersedes=at.link, valid_from=candidate.memory.valid_from or start)
    written = _put(ws, candidate, replace(verdict, memory=memory), why)
    if written.memory.id == old.id or old.superseded_by:
        return written if written.outcome == "exists" else replace(written, outcome="superseded")
    now = Entry(written.memory, written.path)
    _revised(ws, old.id, {"superseded_by": now.link, "status": "deprecated", "valid_to": start}, why)
    return replace(written, outcome="superseded")


def since(ws: Workspace, said: str) -> str:
    """Since when something holds: since it was said, as far as that is known."""
    now, then = ws.clock(), moment(said) if said else None
    return iso(min(then, now).astimezone(now.tzinfo)) if then else iso(now)


def _revised(ws: Workspace, identity: str, changes: dict[str, Any], why: str) -> Written | None:
    """None when the note is not ours to change: a person's, in a form we cannot keep, or just being written to."""
    for _ in range(MOST_TRIES):
        try:
            return write.revise(ws, identity, why=why, **changes)
        except NoteChanged:
            continue
        except RewriteRefused:
            break
    return None


def _has_learned(old: Memory, candidate: Candidate) -> bool:
    """Whether a note holds these words and was written after they were said: the answer is applied again.

    Whatever was made of the note since, by a person or by a later answer, stays.
    """
    return _holds(old.evidence, candidate.memory.evidence) and not _is_before(old.updated, candidate.said)


def _merged(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*old, *new)))[:MAX_ITEMS]


def _evidence(old: str, new: str) -> str:
    """The new words below the old ones, which are given up when there are too many."""
    if not new or _holds(old, new):
        return old
    both = f"{old}\n{new}" if old else new
    return both if len(both) <= EVIDENCE_CHARACTERS else new


def _holds(evidence: str, quote: str) -> bool:
    """As lines of its own: `use npm` is not in `do not use npm`."""
    return f"\n{quote}\n" in f"\n{evidence}\n"


def _is_before(written: str, said: str) -> bool:
    """Whether a note was written before something was said; what bears no time was said before everything."""
    earlier, later = moment(written), moment(said)
    if earlier is None or later is None:
        return False
    return earlier < later.replace(microsecond=0)  # notes know whole seconds
