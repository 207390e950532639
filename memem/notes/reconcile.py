"""Reconcile a mined, saved or imported candidate with the notes that are there.

A machine rewrites only a machine's notes; beside a person's note it writes its own, linked. Superseding deletes
nothing: the old note states until when it was valid, and its successor.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.compare.relation import CHANGED, CONTAINED, CONTAINS, OTHER, SAME
from memem.core import dates
from memem.core.conversation import ADD, SUPERSEDE, UPDATE
from memem.core.dates import is_in_force, iso, moment
from memem.core.errors import Forgotten
from memem.core.evidence import append_evidence, has_quote
from memem.core.memory import GENERAL, Entry, Hit, Memory
from memem.core.trust import IMPORTED, Trust, is_proven, is_rule, may_overrule
from memem.notes import conflicts, decide, forget, review, staleness, succession, write
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
NOT_GENERAL = "applies to every project, but no person said or saved it"
_MERGED = ("keys", "paths", "anchors", "related", "contradicts")


@dataclass(frozen=True, slots=True)
class Candidate:
    memory: Memory
    trust: Trust  # of its source; limits what the memory may claim
    said: str = ""  # when a person said it
    wish: str = ADD  # what a model wants done to `target`
    target: Entry | None = None
    root: Path | None = None  # the project's folder
    anyway: bool = False  # a person wants it though it was forgotten or reads like an instruction
    may_rewrite: bool = True
    titled: bool = True  # whether the title is its own, and not made of its first words

    def get_time(self, zone: tzinfo | None) -> float | None:
        """Return when it was said, in seconds; None for a statement that a person writes now."""
        return None if self.trust.own else dates.get_said_time(self.memory, zone)


def settle(ws: Workspace, candidate: Candidate, *, why: str = "") -> Written:
    """Save it, merge it into a note or propose it. Raises Forgotten, or InputError where the gate refuses it."""
    verdict = write.prepared(candidate.trust.limited(candidate.memory))
    candidate = replace(candidate, memory=verdict.memory, titled=bool(candidate.memory.title.strip()))
    written = _held_back(ws, candidate, verdict.doubt)
    if not written:
        anchored = staleness.anchored(ws, verdict.memory, candidate.root)
        written = _settled(ws, replace(candidate, memory=anchored), verdict, why)
        if verdict.doubt:
            with writing(ws):
                review.allow_held(ws, written.memory)
    return replace(written, redacted=verdict.redacted, neutralised=verdict.neutralised)


def _held_back(ws: Workspace, candidate: Candidate, doubt: str) -> Written | None:
    """Refuse a forgotten statement; propose one that a person repeated, or a doubtful one."""
    memory, trust = candidate.memory, candidate.trust
    if candidate.anyway:
        forget.lift(ws, memory)
        return None
    hold = forget.check_forgotten(
        ws, memory, session=memory.source_session, said=candidate.said, person=trust.proven and not trust.own
    )
    if hold is None:
        return replace(review.propose(ws, memory, doubt), doubt=doubt) if doubt else None
    if hold.again:
        return review.propose(ws, memory, hold.reason)
    raise Forgotten(f"Not saved: {hold.reason}. {hold.advice}" if trust.own else hold.reason)


def _settled(ws: Workspace, candidate: Candidate, verdict: Verdict, why: str) -> Written:
    candidate = _follow_successors(ws, candidate)
    target = candidate.target
    if target and candidate.wish == UPDATE and _is_applied(target.memory, candidate):
        return Written("exists", target.memory, target.path)
    entries = _neighbours(ws, candidate)
    common = decide.common_words([entry.memory for entry in entries])
    decision = decide.decide(
        [_compare(ws, candidate, entry, common) for entry in entries],
        own=candidate.trust.own,
        proven=candidate.trust.proven,
        wish=candidate.wish,
        target=0 if target else None,
    )
    if decision.what == KNOWN and decision.place is not None:
        at = entries[decision.place]
        _record_repetition(ws, candidate, at.memory)
        return Written("exists", at.memory, at.path)
    return _carry_out(ws, candidate, entries, decision, verdict, why)


def _carry_out(
    ws: Workspace, candidate: Candidate, entries: Sequence[Entry], decision: Decision, verdict: Verdict, why: str
) -> Written:
    memory = candidate.memory
    related = _merged(memory.related, [entries[place].link for place in decision.related])
    contradicts = _merged(memory.contradicts, [entries[place].link for place in decision.contradicts])
    memory = replace(memory, related=related, contradicts=contradicts)
    at = entries[decision.place] if decision.place is not None else None
    if memory.project == GENERAL and not candidate.trust.general:
        return review.propose(ws, memory, NOT_GENERAL)
    if decision.successor is not None:
        newer = entries[decision.successor]
        return _put_outdated(ws, replace(candidate, memory=memory), newer, at, verdict, why)
    if at and decision.what == UPDATE:
        revised = succession.revise(ws, at.memory.id, _changes(at.memory, replace(candidate, memory=memory)), why)
        if revised:
            succession.record_repetition(ws, revised.memory, candidate.get_time(ws.clock().tzinfo))
            return replace(revised, outcome="updated")
        memory = replace(memory, related=_merged((at.link,), memory.related))
    if at and decision.what == SUPERSEDE:
        return _supersede(ws, replace(candidate, memory=memory), at, verdict, why)
    if decision.contradicts:  # before the note: after an interruption the note would count as known
        conflicts.suspect(ws, memory, [entries[place].memory for place in decision.contradicts])
    return _put(ws, candidate, replace(verdict, memory=memory), why)


def _follow_successors(ws: Workspace, candidate: Candidate) -> Candidate:
    """Redirect a wish about a superseded memory to its current successor, if that is about the same thing."""
    target, memory = candidate.target, candidate.memory
    if not target or not target.memory.superseded_by:
        return candidate
    current = succession.find_current(ws, target, memory.id)
    if current is None:
        return candidate
    same = (SAME, CONTAINS, CONTAINED)
    if decide.compared(current.memory, memory).relation in (CHANGED, *same):
        return replace(candidate, target=current)
    # The statement may have been repeated after it had been replaced.
    zone = ws.clock().tzinfo
    said, ended = candidate.get_time(zone), dates.begin_of(target.memory.valid_to, zone)
    is_repeated = said is not None and ended is not None and said > ended
    is_same = decide.compared(target.memory, memory).relation in same
    return replace(candidate, target=None, wish=ADD) if is_repeated and is_same else candidate


def _put(ws: Workspace, candidate: Candidate, verdict: Verdict, why: str) -> Written:
    """Write a note of its own, unless it is forgotten meanwhile."""

    def refuse_forgotten(memory: Memory) -> None:
        hold = None if candidate.anyway else forget.check_forgotten(ws, memory)
        if hold:
            raise Forgotten(hold.reason)

    written = write.put(ws, verdict, why=why, at_last=refuse_forgotten)
    if written.outcome == "exists" and written.memory.id != verdict.memory.id:
        _record_repetition(ws, candidate, written.memory)
    return written


def _record_repetition(ws: Workspace, candidate: Candidate, known: Memory) -> None:
    """Record that a person repeated a memory."""
    if candidate.trust.own or candidate.trust.proven:
        said = ws.clock().timestamp() if candidate.trust.own else candidate.get_time(ws.clock().tzinfo)
        succession.record_repetition(ws, known, said)


def _neighbours(ws: Workspace, candidate: Candidate) -> list[Entry]:
    """The closest memories of its project that are in force, the target of the wish first."""
    memory, target = candidate.memory, candidate.target
    vault_id = ws.store.vault_id()
    if not vault_id:
        return []
    ensure_filled(ws, vault_id)

    def closest(matches: SearchMatches) -> list[Hit]:
        return rank(matches, Boosts(memory.project))[:NEIGHBOURS]

    query, scope = f"{memory.title}\n{memory.body}", Scope((memory.project,), now=ws.clock().timestamp())
    # Comparable memories share words, so no save waits for an encoder.
    hits = find.find(ws, query, scope, NEIGHBOURS, closest, max_terms=find.MAX_RARE_TERMS)[1]
    excluded = (memory.id, target and target.id)
    others = [hit for hit in hits if is_in_force(hit.memory, ws.clock()) and hit.id not in excluded]
    return [target, *others] if target else list(others)


def _compare(ws: Workspace, candidate: Candidate, entry: Entry, common: Collection[str]) -> Neighbour:
    compared = decide.compared(entry.memory, candidate.memory, common)
    is_concerned = entry is candidate.target or compared.relation != OTHER
    if not is_concerned:
        return Neighbour(compared)
    if not succession.is_said_later(ws, entry.memory, candidate.get_time(ws.clock().tzinfo)):
        return Neighbour(compared, _yields(ws, candidate, entry))
    # A statement cannot change a memory that was said later; that memory may have replaced the statement instead.
    is_imported = candidate.trust.source_type == IMPORTED.source_type
    overrules = not is_imported and may_overrule(entry.memory, candidate.memory)
    is_retired = compared.relation == CHANGED and decide.compared(candidate.memory, entry.memory, common).replaces
    return Neighbour(compared, overrules=overrules, retires=is_retired, proven=is_proven(entry.memory))


def _yields(ws: Workspace, candidate: Candidate, entry: Entry) -> bool:
    """Whether a note may be changed for this candidate: a machine's, in force, and its subject within reach."""
    old, new = entry.memory, candidate.memory
    if not (candidate.may_rewrite and candidate.trust.rewrites) or old.source_type == IMPORTED.source_type:
        return False  # an imported note may be a person's
    if old.status != "active" or old.superseded_by:  # it only gets a link to its successor
        return candidate.wish == SUPERSEDE and write.is_a_machines(ws, old.id)
    # A project's memory does not end a general one.
    reaches = old.project != GENERAL or (new.project == GENERAL and candidate.trust.general)
    may_overrule = candidate.trust.own or candidate.trust.proven or not is_rule(old)
    return reaches and may_overrule and write.is_a_machines(ws, old.id)


def _changes(old: Memory, candidate: Candidate) -> dict[str, Any]:
    new, evidence = candidate.memory, old.evidence
    if new.evidence and not has_quote(old.evidence, new.evidence):
        both = append_evidence(old.evidence, new.evidence)
        evidence = both if len(both) <= EVIDENCE_CHARACTERS else new.evidence
    return {
        "title": new.title if candidate.titled else old.title,
        "body": new.body,
        "importance": max(old.importance, new.importance),
        "confidence": new.confidence,
        **{name: _merged(getattr(old, name), getattr(new, name)) for name in _MERGED},
        "source_session": new.source_session,
        "source_turn": new.source_turn,
        "evidence": evidence,
    }


def _supersede(ws: Workspace, candidate: Candidate, at: Entry, verdict: Verdict, why: str) -> Written:
    # The new note is written first, so that an interruption leaves one in force.
    old, start = at.memory, since(ws, candidate.said)
    memory = replace(candidate.memory, supersedes=at.link, valid_from=candidate.memory.valid_from or start)
    written = _put(ws, candidate, replace(verdict, memory=memory), why)
    # An existing note that has been replaced since does not replace another.
    if written.memory.id == old.id or old.superseded_by or written.memory.superseded_by:
        return written if written.outcome == "exists" else replace(written, outcome="superseded")
    succession.end_validity(ws, at, Entry(written.memory, written.path), memory.valid_from, why)
    return replace(written, outcome="superseded")


def _put_outdated(
    ws: Workspace, candidate: Candidate, newer: Entry, older: Entry | None, verdict: Verdict, why: str
) -> Written:
    """Save a statement that a later memory has already replaced, as a note between that memory and its predecessor."""
    place = succession.find_place(ws, candidate.memory, newer)
    if place.twin:
        return Written("exists", place.twin.memory, place.twin.path)
    predecessor = older or place.predecessor
    announced, zone = candidate.memory.valid_to, ws.clock().tzinfo
    start = candidate.memory.valid_from or since(ws, candidate.said)
    ends = [text for text in (announced, place.end) if dates.begin_of(text, zone) is not None]
    memory = replace(
        candidate.memory,
        status="deprecated",
        valid_from=start,
        supersedes=predecessor.link if predecessor else "",
        superseded_by=place.successor.link,
        valid_to=min(ends, key=lambda text: dates.begin_of(text, zone) or 0.0),
        contradicts=tuple(link for link in candidate.memory.contradicts if not place.successor.is_named_by(link)),
    )
    written = _put(ws, candidate, replace(verdict, memory=memory), why)
    if written.memory.id != memory.id:
        return written
    entry, later = Entry(written.memory, written.path), place.successor.memory
    if not later.supersedes or (predecessor and predecessor.is_named_by(later.supersedes)):
        succession.revise(ws, later.id, {"supersedes": entry.link}, why)
    if predecessor:
        succession.end_validity(ws, predecessor, entry, start, why)
    return replace(written, outcome="outdated") if written.outcome == "created" else written


def since(ws: Workspace, said: str) -> str:
    """The time from which a statement is valid: when it was said, if that is stated."""
    now, then = ws.clock(), moment(said) if said else None
    return iso(min(then, now).astimezone(now.tzinfo)) if then else iso(now)


def _is_applied(old: Memory, candidate: Candidate) -> bool:
    """Whether a note quotes these words and was written after they were said; later changes to it stay."""
    if not has_quote(old.evidence, candidate.memory.evidence):
        return False
    written, said = moment(old.updated), moment(candidate.said)
    return not written or not said or written >= said.replace(microsecond=0)  # notes have whole seconds


def _merged(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*old, *new)))[:MAX_ITEMS]
