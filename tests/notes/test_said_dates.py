"""Statements are compared by when they were said: an older one never changes or ends a newer one."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memem.compare.relation import CHANGED, CONTAINED, CONTAINS, SAME, Comparison
from memem.core import dates
from memem.core.conversation import ADD, SUPERSEDE, UPDATE
from memem.core.memory import Entry, Memory
from memem.core.trust import PROSE, SPEECH, Trust, may_overrule
from memem.notes import conflicts, decide, reconcile, save
from memem.notes.decide import KNOWN, Neighbour
from memem.notes.reconcile import Candidate, since
from memem.notes.write import Written
from memem.search import find, refresh
from memem.search.graph import read
from memem.upkeep import status
from memem.workspace import Workspace
from tests.builders import keep_note
from tests.fakes import SteppingClock

JANUARY, FEBRUARY, MARCH, APRIL = (f"2026-{month:02}-05T09:00:00+01:00" for month in (1, 2, 3, 4))
PORTS = {
    day: f"The staging database listens on port {5432 + number}."
    for number, day in enumerate((JANUARY, FEBRUARY, MARCH))
}


@pytest.fixture
def ws(ws: Workspace, clock: SteppingClock) -> Workspace:
    """A home in which everything is mined long after it was said."""
    clock.forward(days=200)
    ws.state.suspicions.pairs()  # creates the state, as mining does
    return ws


def say(
    ws: Workspace, number: int, day: str, body: str = "", wish: str = ADD, target: Entry | None = None, **more: Any
) -> Written:
    """Reconcile what a person said on a day, as the mining model wishes it."""
    trust: Trust = more.pop("trust", SPEECH)
    valid_from = since(ws, day) if more.pop("has_date", True) else ""
    identity = f"{number:08x}-8d1b-4c55-9a43-1f0e6f0d7a11"
    now = dates.iso(ws.clock())
    given = {"project": "shop", "created": now, "updated": now, "evidence": f"Quote {number}", **more}
    memory = Memory(identity, "", body or PORTS[day], valid_from=valid_from, **given)
    written = reconcile.settle(ws, Candidate(memory, trust, said=day, wish=wish, target=target))
    refresh.refresh(ws)
    return written


def entry_of(ws: Workspace, written: Written) -> Entry:
    return find.get(ws, written.memory.id)


def reread(ws: Workspace, *written: Written) -> list[Memory]:
    return [find.get(ws, each.memory.id).memory for each in written]


# --- the decision -------------------------------------------------------------------------------------------------


def newer(relation: str, **more: bool) -> Neighbour:
    return Neighbour(Comparison(relation), **{"overrules": True, "proven": True, **more})


@pytest.mark.parametrize("wish", [UPDATE, SUPERSEDE])
def test_a_newer_contradiction_that_the_model_names_is_the_successor(wish: str) -> None:
    decision = decide.decide([newer(CHANGED)], proven=True, wish=wish, target=0)
    assert (decision.what, decision.successor, decision.contradicts) == (ADD, 0, ())


def test_a_newer_memory_that_says_what_it_replaced_is_the_successor() -> None:
    decision = decide.decide([newer(CHANGED, retires=True)], proven=True)
    assert (decision.what, decision.successor) == (ADD, 0)


def test_without_certainty_both_stay_and_are_linked() -> None:
    decision = decide.decide([newer(CHANGED)], proven=True)
    assert (decision.what, decision.successor, decision.contradicts) == (ADD, None, (0,))
    unproven = decide.decide([newer(CHANGED, retires=True, proven=False)], proven=True)
    assert (unproven.successor, unproven.contradicts) == (None, (0,))
    foreign = decide.decide([newer(CHANGED, overrules=False)], proven=True, wish=SUPERSEDE, target=0)
    assert (foreign.successor, foreign.contradicts) == (None, (0,))


@pytest.mark.parametrize("wish", [ADD, UPDATE])
@pytest.mark.parametrize("relation", [SAME, CONTAINED])
def test_the_same_said_earlier_is_known(relation: str, wish: str) -> None:
    decision = decide.decide([newer(relation)], proven=True, wish=wish, target=None if wish == ADD else 0)
    assert (decision.what, decision.place, decision.successor) == (KNOWN, 0, None)


@pytest.mark.parametrize("wish", [ADD, UPDATE, SUPERSEDE])
def test_more_said_earlier_is_kept_beside_what_was_said_later(wish: str) -> None:
    decision = decide.decide([newer(CONTAINS)], proven=True, wish=wish, target=None if wish == ADD else 0)
    assert (decision.what, decision.successor) == (ADD, None)


def test_what_came_between_ends_the_older_and_is_ended_by_the_newer() -> None:
    older = Neighbour(Comparison(CHANGED), yields=True)
    decision = decide.decide([older, newer(CHANGED, retires=True)], proven=True, wish=SUPERSEDE, target=0)
    assert (decision.what, decision.place, decision.successor) == (SUPERSEDE, 0, 1)


def test_an_outdated_addition_is_not_merged_into_a_note_in_force() -> None:
    older = Neighbour(Comparison(CONTAINS), yields=True)
    decision = decide.decide([older, newer(CHANGED, retires=True)], proven=True)
    assert (decision.what, decision.successor, decision.related) == (ADD, 1, (0,))


def test_only_what_could_have_ended_a_memory_overrules_it() -> None:
    said = SPEECH.limited(Memory("a", "", "x", "shop", kind="convention"))
    prose = PROSE.limited(Memory("b", "", "x", "shop"))
    assert may_overrule(replace(said, kind="fact"), said)
    assert may_overrule(prose, replace(said, kind="fact"))
    assert not may_overrule(prose, said), "Claude's words end no rule"
    assert not may_overrule(replace(said, source_type="import"), said), "nor does a file, which may be anybody's"
    assert not may_overrule(said, replace(said, project="general"))
    assert may_overrule(Memory("c", "", "x", "shop"), said), "a person's own note may"


# --- notes --------------------------------------------------------------------------------------------------------


def test_an_older_contradiction_becomes_history(ws: Workspace) -> None:
    current = say(ws, 1, FEBRUARY)
    done = say(ws, 2, JANUARY, wish=SUPERSEDE, target=entry_of(ws, current))
    new, old = reread(ws, current, done)
    assert done.outcome == "outdated"
    assert (old.status, old.valid_from, old.valid_to) == ("deprecated", JANUARY, FEBRUARY)
    assert old.superseded_by == entry_of(ws, current).link
    assert old.contradicts == ()
    supersedes, kept = entry_of(ws, done).link, ("status", "valid_from", "valid_to", "body", "contradicts", "related")
    assert new.supersedes == supersedes
    assert [getattr(new, name) for name in kept] == [getattr(current.memory, name) for name in kept]
    assert conflicts.conflicts(ws) == []


def test_a_newer_contradiction_still_supersedes(ws: Workspace) -> None:
    old = say(ws, 1, JANUARY)
    done = say(ws, 2, FEBRUARY, wish=SUPERSEDE, target=entry_of(ws, old))
    first, second = reread(ws, old, done)
    assert (done.outcome, first.status, first.valid_to, second.status) == (
        "superseded",
        "deprecated",
        FEBRUARY,
        "active",
    )


@pytest.mark.parametrize("order", [(2, 0, 1), (2, 1, 0), (1, 2, 0), (1, 0, 2), (0, 2, 1), (0, 1, 2)])
def test_any_order_of_mining_gives_the_same_chain(ws: Workspace, order: tuple[int, ...]) -> None:
    written: dict[int, Written] = {}
    for number in order:
        current = [each.memory for each in find.list_memories(ws) if each.memory.status == "active"] if written else []
        target = find.get(ws, current[0].id) if current else None
        written[number] = say(ws, number, list(PORTS)[number], wish=SUPERSEDE if target else ADD, target=target)
    first, second, third = reread(ws, *(written[number] for number in range(3)))
    links = [entry_of(ws, written[number]).link for number in range(3)]
    assert [first.superseded_by, second.superseded_by, third.superseded_by] == [*links[1:], ""]
    assert [first.supersedes, second.supersedes, third.supersedes] == ["", *links[:2]]
    assert [first.valid_to, second.valid_to, third.valid_to] == [FEBRUARY, MARCH, ""]
    assert [entry.id for entry in read.timeline(ws, third.id).predecessors] == [second.id, first.id]


def test_an_older_statement_never_rewrites_a_newer_one_that_says_less(ws: Workspace) -> None:
    current = say(ws, 1, FEBRUARY)
    longer = f"{PORTS[FEBRUARY]} It runs in the cluster of Frankfurt."
    done = say(ws, 2, JANUARY, longer, wish=UPDATE, target=entry_of(ws, current))
    first, second = reread(ws, current, done)
    assert first == current.memory
    assert (done.outcome, second.status, second.related) == ("created", "active", (entry_of(ws, current).link,))


def test_the_same_said_earlier_changes_nothing(ws: Workspace) -> None:
    current = say(ws, 1, FEBRUARY)
    done = say(ws, 2, JANUARY, PORTS[FEBRUARY], wish=SUPERSEDE, target=entry_of(ws, current))
    assert (done.outcome, done.memory.id, find.get(ws, done.memory.id).memory) == (
        "exists",
        current.memory.id,
        current.memory,
    )


def test_an_uncertain_older_contradiction_is_linked_and_stays(ws: Workspace) -> None:
    current = say(ws, 1, FEBRUARY)
    done = say(ws, 2, JANUARY)
    first, second = reread(ws, current, done)
    assert first == current.memory
    assert (second.status, second.contradicts) == ("active", (entry_of(ws, current).link,))


def test_a_memory_that_names_what_it_replaced_ends_it_also_when_mined_first(ws: Workspace) -> None:
    current = say(ws, 1, FEBRUARY, "We use pnpm instead of npm in the shop.", kind="decision")
    done = say(ws, 2, JANUARY, "We use npm in the shop.", kind="decision")
    new, old = reread(ws, current, done)
    assert (done.outcome, old.superseded_by, new.status) == ("outdated", entry_of(ws, current).link, "active")


def test_a_persons_newer_note_keeps_its_bytes(ws: Workspace) -> None:
    own = save.save(ws, PORTS[FEBRUARY], project="shop")
    path = ws.store.absolute(own.path)
    before = path.read_bytes()
    done = say(ws, 2, JANUARY, wish=SUPERSEDE, target=entry_of(ws, own))
    (old,) = reread(ws, done)
    assert (done.outcome, old.superseded_by, old.valid_to) == ("outdated", entry_of(ws, own).link, own.memory.created)
    assert path.read_bytes() == before


def test_what_was_said_again_counts_from_then(ws: Workspace) -> None:
    first = say(ws, 1, JANUARY)
    assert say(ws, 2, MARCH, PORTS[JANUARY]).outcome == "exists"
    done = say(ws, 3, FEBRUARY, wish=SUPERSEDE, target=entry_of(ws, first))
    current, between = reread(ws, first, done)
    assert (current.status, current.valid_from) == ("active", JANUARY), "it is still valid since it was first said"
    assert (between.status, between.valid_from, between.valid_to) == ("deprecated", FEBRUARY, MARCH)


def test_what_was_added_later_is_not_overruled_by_what_was_said_before(ws: Workspace) -> None:
    first = say(ws, 1, JANUARY)
    longer = f"{PORTS[JANUARY]} It requires TLS."
    assert say(ws, 2, MARCH, longer, wish=UPDATE, target=entry_of(ws, first)).outcome == "updated"
    say(ws, 3, FEBRUARY, wish=SUPERSEDE, target=entry_of(ws, first))
    (current,) = reread(ws, first)
    assert (current.body, current.status) == (longer, "active")


def test_a_value_that_comes_back_is_in_force_again(ws: Workspace) -> None:
    first = say(ws, 1, JANUARY)
    second = say(ws, 2, FEBRUARY, wish=SUPERSEDE, target=entry_of(ws, first))
    third = say(ws, 3, MARCH, PORTS[JANUARY], wish=UPDATE, target=entry_of(ws, first))
    assert [memory.status for memory in reread(ws, first, second, third)] == ["deprecated", "deprecated", "active"]


def test_an_outdated_statement_is_kept_once(ws: Workspace) -> None:
    current = say(ws, 1, MARCH)
    older = say(ws, 2, JANUARY, wish=SUPERSEDE, target=entry_of(ws, current))
    again = say(ws, 3, FEBRUARY, PORTS[JANUARY], wish=SUPERSEDE, target=entry_of(ws, current))
    assert (again.outcome, again.memory.id) == ("exists", older.memory.id)


def test_an_unknown_time_counts_as_now(ws: Workspace) -> None:
    current = say(ws, 1, MARCH)
    done = say(ws, 2, "", PORTS[JANUARY], wish=SUPERSEDE, target=entry_of(ws, current))
    old, new = reread(ws, current, done)
    assert (done.outcome, old.status, new.valid_from) == ("superseded", "deprecated", dates.iso(ws.clock()))
    late = say(ws, 3, "no time", PORTS[FEBRUARY], wish=SUPERSEDE, target=entry_of(ws, done), has_date=False)
    assert late.outcome == "superseded"


def test_times_of_different_zones_are_compared_as_instants(ws: Workspace) -> None:
    current = say(ws, 1, "2026-02-05T09:00:00+09:00", PORTS[FEBRUARY])  # midnight in UTC
    later = say(ws, 2, "2026-02-05T01:00:00Z", PORTS[JANUARY], wish=SUPERSEDE, target=entry_of(ws, current))
    assert later.outcome == "superseded"
    earlier = say(ws, 3, "2026-02-05T02:30:00+02:00", PORTS[MARCH], wish=SUPERSEDE, target=entry_of(ws, later))
    assert earlier.outcome == "outdated"


def test_a_clock_in_the_future_counts_as_now(ws: Workspace) -> None:
    ahead = say(ws, 1, "2031-01-01T00:00:00Z", PORTS[JANUARY])
    assert ahead.memory.valid_from == dates.iso(ws.clock())
    behind = say(ws, 2, FEBRUARY, wish=SUPERSEDE, target=entry_of(ws, ahead))
    assert behind.outcome == "outdated"
    assert dates.is_in_force(find.get(ws, ahead.memory.id).memory, ws.clock())


def test_an_end_is_never_before_the_beginning(ws: Workspace) -> None:
    memory, zone = say(ws, 1, FEBRUARY).memory, ws.clock().tzinfo
    assert dates.clamp_end(memory, JANUARY, zone) == FEBRUARY
    assert dates.clamp_end(memory, FEBRUARY, zone) == FEBRUARY
    assert dates.clamp_end(memory, MARCH, zone) == MARCH
    assert dates.clamp_end(replace(memory, valid_from=""), JANUARY, zone) == JANUARY


def test_a_resolved_conflict_counts_as_said_then(ws: Workspace) -> None:
    one = say(ws, 1, JANUARY)
    say(ws, 2, FEBRUARY)
    conflicts.resolve(ws, one.memory.id, conflicts.KEEP)
    again = say(ws, 3, MARCH, wish=SUPERSEDE, target=entry_of(ws, one))
    assert (again.outcome, find.get(ws, one.memory.id).memory.status) == ("outdated", "active")


def test_check_reports_dates_in_the_wrong_order_only(ws: Workspace) -> None:
    keep_note(ws, 1, valid_from=MARCH, valid_to=MARCH, superseded_by="[[x]]", status="deprecated")
    keep_note(ws, 2, valid_from=MARCH, valid_to=FEBRUARY, superseded_by="[[x]]", status="deprecated")
    keep_note(ws, 3, valid_from=MARCH, valid_to=MARCH)
    refresh.refresh(ws)
    wrong = [finding.path for finding in status.check(ws) if "is never valid" in finding.problem]
    assert [path[-11:-3] for path in sorted(wrong)] == ["00000002", "00000003"]


# --- the date that people see -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "day"),
    [
        ({"valid_from": FEBRUARY, "created": MARCH, "updated": APRIL}, "2026-02-05"),
        ({"created": MARCH, "updated": APRIL}, "2026-03-05"),
        ({"valid_from": "some day", "created": MARCH}, "2026-03-05"),
        ({"updated": APRIL}, "2026-04-05"),
        ({"valid_from": "2026-02-05"}, "2026-02-05"),
        ({}, ""),
    ],
)
def test_said_on_is_the_day_it_was_said(stated: dict[str, Any], day: str) -> None:
    memory = Memory("a", "", "x", **stated)
    assert dates.get_said_day(memory) == day
    at = dates.get_said_time(replace(memory, updated=""), UTC)
    assert (at is None) == (day in ("", "2026-04-05"))
    if at is not None:
        assert datetime.fromtimestamp(at, UTC).date().isoformat() == day
