"""Contradictions are found in the notes, listed with both sides, and resolved by a person."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.core.errors import InputError
from memem.core.memory import Entry, Memory
from memem.notes import conflicts, forget, save, write
from memem.pages import conflicts as pages_conflicts
from memem.pages.catch_up import catching_up
from memem.search import find, refresh
from memem.vault import page_text
from memem.workspace import Workspace
from tests.fakes import SteppingClock

REDIS = "Redis of the shop listens on port 6379."
MOVED = "Redis of the shop listens on port 6380."

Pair = Callable[..., tuple[Entry, Entry]]


def note(ws: Workspace, body: str, number: int, **more: Any) -> Entry:
    identity = f"{number:08x}-8d1b-4c55-9a43-1f0e6f0d7a11"
    memory = Memory(identity, f"Note {number}", body, "shop", author="model", evidence=f"said {number}")
    times = {"created": f"2026-02-0{number}T09:00:00+01:00", "updated": f"2026-02-0{number}T09:00:00+01:00"}
    written = write.keep(ws, replace(memory, **{**times, **more}))
    return Entry(written.memory, written.path)


@pytest.fixture
def pair(ws: Workspace) -> Pair:
    """Makes two memories, of which the later contradicts the earlier."""

    def make(**more: Any) -> tuple[Entry, Entry]:
        old = note(ws, REDIS, 1, **more)
        return old, note(ws, MOVED, 2, contradicts=(old.link,), **more)

    return make


def page(ws: Workspace) -> str:
    return ws.store.paths.conflicts.read_text(encoding="utf-8")


def test_a_pair_is_one_conflict_the_later_first_with_what_differs(ws: Workspace, pair: Pair) -> None:
    old, new = pair()
    (found,) = conflicts.conflicts(ws)
    assert (found.one.id, found.other.id) == (new.id, old.id)
    assert found.differences == ("number: 6379 / 6380",)
    assert (found.found, found.why) == ("linked in the notes", "")


def test_a_pair_that_names_each_other_is_one_conflict(ws: Workspace, pair: Pair) -> None:
    old, new = pair()
    write.revise(ws, old.id, contradicts=(new.link,))
    assert len(conflicts.conflicts(ws)) == 1


@pytest.mark.parametrize(
    "end",
    [
        {"status": "deprecated"},
        {"superseded_by": "[[another]]"},
        {"valid_to": "2026-02-20T00:00:00+01:00"},
        {"status": "stale"},
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_expired_memory_contradicts_nothing(ws: Workspace, pair: Pair, side: int, end: dict[str, Any]) -> None:
    write.revise(ws, pair()[side].id, **end)
    assert conflicts.conflicts(ws) == []


def test_forgotten_memory_contradicts_nothing(ws: Workspace, pair: Pair) -> None:
    forget.forget(ws, pair()[0].id)
    assert conflicts.conflicts(ws) == []


def test_broken_or_circular_link_is_not_a_conflict(ws: Workspace) -> None:
    lost = note(ws, REDIS, 1, contradicts=("[[nowhere-00000000]]", "[[x]]"))
    write.revise(ws, lost.id, contradicts=(lost.link, "[[nowhere-00000000]]"))
    assert conflicts.conflicts(ws) == []


def test_a_project_has_its_own(ws: Workspace, pair: Pair) -> None:
    pair()
    assert len(conflicts.conflicts(ws, project="Shop")) == 1
    assert conflicts.conflicts(ws, project="garage") == []


def test_the_latest_conflict_comes_first(ws: Workspace, pair: Pair) -> None:
    old, _ = pair()
    latest = note(ws, "Redis of the shop listens on port 6381.", 3, contradicts=(old.link,))
    assert conflicts.conflicts(ws)[0].one.id == latest.id


# --- the page -----------------------------------------------------------------------------------------------------


def test_page_is_created_with_the_first_conflict(ws: Workspace) -> None:
    note(ws, REDIS, 1)
    pages_conflicts.write_page(ws)
    assert not ws.store.paths.conflicts.exists()


def test_the_page_shows_both_sides_with_their_evidence(ws: Workspace, pair: Pair) -> None:
    old, new = pair()
    pages_conflicts.write_page(ws)
    shown = page(ws)
    for entry in (old, new):
        assert f"> {entry.link}\n> {entry.body}\n>\n> Evidence:\n> > {entry.memory.evidence}" in shown
    assert shown.index(new.link) < shown.index(old.link)
    assert "## 1. shop: number: 6379 / 6380" in shown


def test_a_save_that_contradicts_is_on_the_page_at_once(ws: Workspace) -> None:
    with catching_up(ws):
        for text in (REDIS, MOVED):
            save.save(ws, text, project="shop")
    assert MOVED in page(ws)


def test_long_sides_are_cut_on_the_page_and_compared_in_no_time(ws: Workspace) -> None:
    old = note(ws, "\n".join(f"Server s{number} listens on port {number}." for number in range(800)), 1)
    lines = "\n".join(f"Server s{number} listens on port {number + 1}." for number in range(800))
    note(ws, lines, 2, contradicts=(old.link,))
    (found,) = conflicts.conflicts(ws)
    assert found.differences == ("number: 0 / 1",)  # of the first sentences alone
    pages_conflicts.write_page(ws)
    assert len(page(ws)) < 4_000
    assert conflicts.count(ws) == 1


def test_page_is_not_a_memory(ws: Workspace, pair: Pair) -> None:
    pair()
    pages_conflicts.write_page(ws)
    refresh.refresh(ws)
    assert len(find.list_memories(ws)) == 2


def test_persons_text_on_the_page_stays(ws: Workspace, pair: Pair) -> None:
    pair()
    pages_conflicts.write_page(ws)
    file = ws.store.paths.conflicts
    file.write_text(f"My notes on this.\n\n{page(ws)}\nAsk Ada.\n", encoding="utf-8")
    with catching_up(ws):
        conflicts.resolve(ws, "00000002", "keep")
    assert page(ws).startswith("My notes on this.\n")
    assert page(ws).endswith("Ask Ada.\n")
    assert "No memories contradict each other." in page(ws)


def test_remembered_text_cannot_end_our_part_of_the_page(ws: Workspace) -> None:
    old = note(ws, f"{REDIS}\n{page_text.END}\nOut.", 1)
    note(ws, MOVED, 2, contradicts=(old.link,))
    pages_conflicts.write_page(ws)
    pages_conflicts.write_page(ws)
    assert page(ws).count(page_text.END) == 1


# --- resolve ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [0, 1])
def test_winner_supersedes_the_loser(ws: Workspace, pair: Pair, clock: SteppingClock, kept: int) -> None:
    sides = pair()
    done = conflicts.resolve(ws, sides[kept].memory.id8, "keep")
    keeps, ended = find.get(ws, sides[kept].id).memory, find.get(ws, sides[1 - kept].id).memory
    assert (done.way, done.entry.id, [each.id for each in done.others]) == ("keep", keeps.id, [ended.id])
    assert (keeps.status, keeps.supersedes, keeps.contradicts) == ("active", sides[1 - kept].link, ())
    assert (ended.status, ended.superseded_by) == ("deprecated", sides[kept].link)
    assert ended.valid_to.startswith(f"{clock.now:%Y-%m-%d}")
    assert ended.body == sides[1 - kept].body, "nothing is deleted"
    assert conflicts.conflicts(ws) == []


def test_when_both_hold_they_are_related(ws: Workspace, pair: Pair) -> None:
    old, new = pair()
    conflicts.resolve(ws, old.id, "both")
    kept = [find.get(ws, each.id).memory for each in (old, new)]
    assert [each.status for each in kept] == ["active", "active"]
    assert (kept[1].contradicts, kept[1].related) == ((), (old.link,))
    assert conflicts.conflicts(ws) == []


def test_one_of_several_conflicts_can_be_ended(ws: Workspace, pair: Pair) -> None:
    old, new = pair()
    third = note(ws, "Redis of the shop listens on port 6381.", 3, contradicts=(old.link, new.link))
    conflicts.resolve(ws, third.id, "keep", over=old.id)
    assert [(each.one.id, each.other.id) for each in conflicts.conflicts(ws)] == [(third.id, new.id)]


def test_all_conflicts_of_a_memory_are_ended_at_once(ws: Workspace, pair: Pair) -> None:
    old, new = pair()
    third = note(ws, "Redis of the shop listens on port 6381.", 3, contradicts=(old.link, new.link))
    done = conflicts.resolve(ws, third.id, "keep")
    assert {each.id for each in done.others} == {old.id, new.id}
    assert conflicts.conflicts(ws) == []


def test_a_persons_own_notes_are_resolved_by_their_word(ws: Workspace) -> None:
    old = save.save(ws, REDIS, project="shop").memory
    new = save.save(ws, MOVED, project="shop").memory
    path = ws.store.absolute(find.get(ws, old.id).path)
    path.write_text(f"{path.read_text(encoding='utf-8')}\nMy own words.\n", encoding="utf-8")
    refresh.refresh(ws)
    conflicts.resolve(ws, new.id, "keep")
    assert "My own words." in path.read_text(encoding="utf-8")
    assert find.get(ws, old.id).memory.status == "deprecated"


def test_a_machines_note_stays_a_machines(ws: Workspace, pair: Pair) -> None:
    old, new = pair()
    conflicts.resolve(ws, new.id, "keep")
    assert write.is_a_machines(ws, old.id)
    assert write.is_a_machines(ws, new.id)


def test_memory_without_conflict_cannot_be_resolved(ws: Workspace, pair: Pair) -> None:
    old, _ = pair()
    alone = note(ws, "The office closes at six.", 3)
    with pytest.raises(InputError, match="not part of that conflict"):
        conflicts.resolve(ws, alone.id, "keep")
    with pytest.raises(InputError, match="not part of that conflict"):
        conflicts.resolve(ws, old.id, "keep", over=alone.id)


def test_there_are_two_ways(ws: Workspace, pair: Pair) -> None:
    with pytest.raises(InputError, match="Use keep or both"):
        conflicts.resolve(ws, pair()[0].id, "drop")


def test_it_is_one_batch(ws: Workspace, pair: Pair) -> None:
    _, new = pair()
    before = len(list(ws.events.read()))
    conflicts.resolve(ws, new.id, "keep")
    made = list(ws.events.read())[before:]
    assert len(made) == 2
    assert {each.batch for each in made} == {made[0].batch}


def test_a_renamed_side_is_still_in_conflict(ws: Workspace, pair: Pair, memories: Path) -> None:
    old, new = pair()
    file = ws.store.absolute(old.path)
    file.rename(file.with_name(f"renamed-{old.memory.id8}.md"))
    refresh.refresh(ws)
    conflicts.resolve(ws, new.id, "keep")
    assert find.get(ws, old.id).memory.status == "deprecated"
