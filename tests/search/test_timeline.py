"""A memory in its time: chains of replacement, links, and what changed around it; whatever links lead to."""

from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from memem.core.errors import NotFound
from memem.core.memory import Entry, Memory
from memem.notes import write
from memem.search.graph.read import LONGEST_CHAIN, NEIGHBOURS, Timeline, timeline
from memem.workspace import Workspace
from tests.fakes import SteppingClock


@pytest.fixture
def keep(ws: Workspace, clock: SteppingClock) -> "Keeper":
    return Keeper(ws, clock)


class Keeper:
    """Save memories a minute apart, each with an id made from its number."""

    def __init__(self, ws: Workspace, clock: SteppingClock) -> None:
        self.ws, self.clock, self.number = ws, clock, 0

    def __call__(self, title: str, project: str = "shop", **properties: object) -> Memory:
        self.clock.forward(minutes=1)
        self.number += 1
        now = self.clock().isoformat()
        identity = f"{self.number:08d}-0000-4000-8000-000000000000"
        memory = Memory(identity, title, f"{title} is so.", project, created=now, updated=now)
        written = write.keep(self.ws, replace(memory, **properties))  # type: ignore[arg-type]
        assert written.outcome == "created"
        return written.memory


def link(number: int, title: str) -> str:
    return f"[[{title.lower()}-{number:08d}]]"


def titles(entries: tuple[Entry, ...]) -> list[str]:
    return [entry.title for entry in entries]


def test_the_chain_of_what_it_replaced_begins_next_to_it(ws: Workspace, keep: Keeper) -> None:
    keep("First", superseded_by=link(2, "Second"))
    keep("Second", supersedes=link(1, "First"), superseded_by=link(3, "Third"))
    third = keep("Third", supersedes=link(2, "Second"))
    assert titles(timeline(ws, third.id8).predecessors) == ["Second", "First"]
    assert titles(timeline(ws, "00000001").successors) == ["Second", "Third"]


def test_links_are_followed_and_distinguished(ws: Workspace, keep: Keeper) -> None:
    keep("Other")
    keep("Rival")
    here = keep("Here", related=(link(1, "Other"), link(1, "Other")), contradicts=(link(2, "Rival"),))
    found = timeline(ws, here.id)
    assert (titles(found.related), titles(found.contradicts)) == (["Other"], ["Rival"])


def test_a_link_that_leads_nowhere_is_passed_over(ws: Workspace, keep: Keeper) -> None:
    here = keep("Here", supersedes="[[gone-99999999]]", superseded_by="[[x]]", related=("[[gone-99999999]]",))
    assert timeline(ws, here.id) == Timeline(Entry(here, f"memories/here-{here.id8}.md"))


def test_a_link_to_a_note_that_cannot_be_read_is_passed_over(ws: Workspace, keep: Keeper, memories: Path) -> None:
    old = keep("Old")
    here = keep("Here", supersedes=link(1, "Old"))
    note = memories / f"old-{old.id8}.md"
    note.write_text(note.read_text().replace("importance: 3", "importance: many"))
    assert timeline(ws, here.id).predecessors == ()


def test_a_circle_of_links_ends(ws: Workspace, keep: Keeper) -> None:
    keep("One", supersedes=link(2, "Two"), superseded_by=link(2, "Two"))
    keep("Two", supersedes=link(1, "One"), superseded_by=link(1, "One"))
    found = timeline(ws, "00000001")
    assert (titles(found.predecessors), titles(found.successors)) == (["Two"], ["Two"])


def test_a_memory_that_links_to_itself_is_not_its_own_relative(ws: Workspace, keep: Keeper) -> None:
    own = link(1, "Self")
    here = keep("Self", supersedes=own, superseded_by=own, related=(own,), contradicts=(own,))
    found = timeline(ws, here.id)
    assert (found.predecessors, found.successors, found.related, found.contradicts) == ((), (), (), ())


def test_a_long_chain_is_cut(ws: Workspace, keep: Keeper) -> None:
    count = LONGEST_CHAIN + 3
    for number in range(1, count + 1):
        keep(f"N{number}", supersedes=link(number - 1, f"N{number - 1}"))
    assert len(timeline(ws, f"{count:08d}").predecessors) == LONGEST_CHAIN


def test_neighbours_are_those_of_the_project_that_changed_nearest(ws: Workspace, keep: Keeper) -> None:
    for number in range(1, NEIGHBOURS + 3):
        keep(f"Before {number}")
    keep("Elsewhere", project="other")
    here = keep("Here")
    keep("Aside", status="quarantined")
    for number in range(1, NEIGHBOURS + 3):
        keep(f"After {number}")
    found = timeline(ws, here.id)
    assert titles(found.earlier) == [f"Before {NEIGHBOURS + 2 - number}" for number in range(NEIGHBOURS)]
    assert titles(found.later) == [f"After {number + 1}" for number in range(NEIGHBOURS)]


def test_those_that_changed_in_the_same_second_are_neighbours_too(
    ws: Workspace, keep: Keeper, clock: SteppingClock
) -> None:
    for title in ("One", "Two", "Three"):
        keep(title)
        clock.forward(minutes=-1)
    found = timeline(ws, "00000002")
    assert (titles(found.earlier), titles(found.later)) == (["One"], ["Three"])


def test_listed_memories_are_not_neighbours(ws: Workspace, keep: Keeper) -> None:
    keep("Old")
    keep("Stranger")
    here = keep("Here", supersedes=link(1, "Old"))
    found = timeline(ws, here.id)
    assert (titles(found.predecessors), titles(found.earlier)) == (["Old"], ["Stranger"])


def test_an_edit_moves_a_memory_in_time(ws: Workspace, keep: Keeper, clock: SteppingClock) -> None:
    keep("First")
    here = keep("Here")
    clock.forward(minutes=1)
    write.edit(ws, "00000001", importance=5)
    found = timeline(ws, here.id)
    assert (titles(found.earlier), titles(found.later)) == ([], ["First"])


def test_with_a_project_only_its_memories_are_shown(ws: Workspace, keep: Keeper) -> None:
    keep("Strange", project="other")
    keep("Own")
    both = (link(1, "Strange"), link(2, "Own"))
    here = keep("Here", supersedes=link(1, "Strange"), related=both)
    assert titles(timeline(ws, here.id).related) == ["Strange", "Own"]
    found = timeline(ws, here.id, project="Shop")
    assert (titles(found.related), found.predecessors) == (["Own"], ())


def test_a_memory_of_another_project_is_not_found(ws: Workspace, keep: Keeper) -> None:
    here = keep("Here")
    with pytest.raises(NotFound, match=f"{here.id8} belongs to shop, not to other"):
        timeline(ws, here.id, project="other")


def test_a_note_that_was_moved_is_still_found_by_links(ws: Workspace, keep: Keeper, memories: Path) -> None:
    old = keep("Old")
    here = keep("Here", supersedes=link(1, "Old"))
    (memories / "drawer").mkdir()
    (memories / f"old-{old.id8}.md").rename(memories / "drawer" / "renamed.md")
    (found,) = timeline(ws, here.id).predecessors
    assert PurePosixPath(found.path).name == "renamed.md"


# --- links that only the other side has ----------------------------------------------------------------------------


def test_predecessors_and_successors_are_also_found_by_their_own_links(ws: Workspace, keep: Keeper) -> None:
    keep("First", superseded_by=link(2, "Second"))
    keep("Second")
    keep("Third", supersedes=link(2, "Second"))
    found = timeline(ws, "00000002")
    assert (titles(found.predecessors), titles(found.successors)) == (["First"], ["Third"])
    assert titles(timeline(ws, "00000001").successors) == ["Second", "Third"]
    assert titles(timeline(ws, "00000003").predecessors) == ["Second", "First"]


def test_all_predecessors_are_listed_closest_first(ws: Workspace, keep: Keeper) -> None:
    keep("Oldest", superseded_by=link(2, "Old"))
    keep("Old", superseded_by=link(4, "New"))
    keep("Rival", superseded_by=link(4, "New"))
    keep("New", supersedes=link(3, "Rival"))
    assert titles(timeline(ws, "00000004").predecessors) == ["Rival", "Old", "Oldest"]


def test_related_and_contradicting_links_count_in_both_directions(ws: Workspace, keep: Keeper) -> None:
    keep("Here")
    keep("Friend", related=(link(1, "Here"),))
    keep("Rival", contradicts=(link(1, "Here"),))
    keep("Aside", contradicts=(link(1, "Here"),), status="quarantined")
    keep("Chatter", keys=("00000001",))
    found = timeline(ws, "00000001")
    assert (titles(found.related), titles(found.contradicts)) == (["Friend"], ["Rival"])


def test_a_link_by_the_name_that_a_person_gave_the_file_leads_here_too(
    ws: Workspace, keep: Keeper, memories: Path
) -> None:
    here = keep("Here")
    (memories / f"here-{here.id8}.md").rename(memories / "My own name.md")
    keep("Friend", related=("[[My own name]]",))
    assert titles(timeline(ws, "00000001").related) == ["Friend"]
