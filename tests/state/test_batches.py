"""The log as batches: whole, in order, and read no further than needed."""

from collections.abc import Iterable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from memem.state import batches
from memem.state.batches import LoggedBatch
from memem.state.events import Event


def event(
    batch: str, number: int, *, note: str = "n", before: str = "", after: str = "x", action: str = "edit"
) -> Event:
    return Event("t", "a", action, note, f"{note}.md", "", before, after, batch, "test", number)


class Watched:
    """Events, newest first, and how many of them were asked for."""

    def __init__(self, oldest_first: Iterable[Event]) -> None:
        self.events = list(oldest_first)[::-1]
        self.read = 0

    def __iter__(self) -> Iterator[Event]:
        for each in self.events:
            self.read += 1
            yield each


def test_the_last_batch_is_known_without_reading_the_one_before_it() -> None:
    log = Watched([event("one", number) for number in (1, 2, 3)] + [event("two", 1), event("two", 2)])
    assert next(batches.read_batches(log)).id == "two"
    assert log.read == 2


def test_a_batch_is_told_whole_though_others_wrote_in_between() -> None:
    log = [event("one", 1), event("two", 1), event("one", 2), event("three", 1), event("two", 2)]
    found = list(batches.read_batches(log[::-1]))
    assert [(deed.id, [each.number for each in deed.events]) for deed in found] == [
        ("two", [1, 2]),
        ("three", [1]),
        ("one", [1, 2]),
    ]


def test_a_batch_whose_first_line_was_torn_is_told_all_the_same() -> None:
    assert [deed.id for deed in batches.read_batches([event("one", 3), event("one", 2)])] == ["one"]


@given(st.lists(st.sampled_from("abcd"), max_size=30))
def test_no_event_is_lost_and_batches_come_by_their_last_event(order: list[str]) -> None:
    log = [event(name, order[: place + 1].count(name)) for place, name in enumerate(order)]
    found = list(batches.read_batches(log[::-1]))
    assert [deed.id for deed in found] == list(dict.fromkeys(order[::-1]))
    for deed in found:
        assert list(deed.events) == [each for each in log if each.batch == deed.id]


def test_what_a_batch_did_to_a_note_is_one_step_from_its_first_state_to_its_last() -> None:
    deed = LoggedBatch(
        "one",
        (
            event("one", 1, before="", after="x"),
            event("one", 2, note="m", before="p", after=""),
            event("one", 3, before="x", after="y"),
        ),
    )
    assert [(step.id, step.before, step.after, step.is_whole) for step in deed.changes] == [
        ("m", "p", "", True),
        ("n", "", "y", True),
    ]


def test_a_note_that_is_as_it_was_is_no_step() -> None:
    deed = LoggedBatch("one", (event("one", 1, before="x", after="y"), event("one", 2, before="y", after="x")))
    assert deed.changes == ()


def test_a_step_that_others_interrupted_is_not_whole() -> None:
    deed = LoggedBatch("one", (event("one", 1, before="x", after="y"), event("one", 2, before="z", after="w")))
    assert [(step.before, step.after, step.is_whole) for step in deed.changes] == [("z", "w", False)]


def test_only_an_undo_that_came_to_its_end_names_what_it_took_back() -> None:
    begun = LoggedBatch("two", (event("two", 1, action="remove", after=""),))
    ended = LoggedBatch(
        "two", (*begun.events, Event("t", "a", batches.UNDONE, "", "one", "", "", "", "two", "undo", 2))
    )
    assert (begun.undoes, ended.undoes) == ("", "one")
    assert len(ended.changes) == len(begun.changes)
