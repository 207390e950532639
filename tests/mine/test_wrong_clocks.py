"""A clock that is set back, or leaps and comes back, stops nothing for long, and costs nobody what was kept."""

from datetime import timedelta
from pathlib import Path

import pytest

from memem.core.errors import CallFailed
from memem.mine import failures, schedule
from memem.notes import forget, save, undo
from memem.search import find, refresh
from memem.state import consent
from memem.state.calls import Limits
from memem.state.sessions import Mark, SessionRecord
from memem.upkeep import session_start
from memem.workspace import Workspace
from tests.fakes import SteppingClock
from tests.transcripts import Transcript, count_saved, once

YEARS = 3_650


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    return miner


def test_an_opt_in_by_a_clock_that_was_ahead_counts_from_when_that_is_seen(
    ws: Workspace, clock: SteppingClock, sessions: Path
) -> None:
    clock.forward(days=YEARS)
    consent.opt_in(ws)
    clock.forward(days=-YEARS)
    assert consent.opted_in(ws) == clock()
    clock.forward(minutes=1)
    session = Transcript(sessions / "s1.jsonl", start=clock())
    session.tells("one")
    clock.forward(minutes=5)
    schedule.mine_in_background(ws, session.path)
    assert count_saved(ws) == once("one")


def test_an_opt_in_of_yesterday_stays_when_the_clock_is_set_back_a_little(ws: Workspace, clock: SteppingClock) -> None:
    since = consent.opt_in(ws)
    clock.forward(hours=-12)
    assert consent.opted_in(ws) == since


@pytest.mark.parametrize("days", [-1, -YEARS, YEARS])
def test_a_failure_by_a_wrong_clock_keeps_no_session_waiting(ws: Workspace, clock: SteppingClock, days: int) -> None:
    from dataclasses import replace

    ws.settings = replace(ws.settings, retry_base_seconds=3_600)
    clock.forward(days=days)
    failures.postpone(ws, CallFailed("no"), SessionRecord("s1", "/x"))
    ws.state.queue.mark(Mark("s1", "/x"), clock().timestamp())
    clock.forward(days=-days)
    clock.forward(days=8, hours=1)
    assert [mark.session for mark in ws.state.queue.due(clock().timestamp())] == ["s1"]
    assert ws.state.ledger.pause(clock().timestamp()) is None


def test_a_day_that_comes_again_has_only_what_is_left_of_it(ws: Workspace, clock: SteppingClock) -> None:
    limits = Limits(2, 10.0)
    for _ in range(2):
        ws.state.ledger.reserve(ws.today(), "s1", limits)
    clock.forward(days=1)
    ws.state.ledger.reserve(ws.today(), "s1", limits)
    clock.forward(days=-1)
    assert ws.state.ledger.limit_reached(ws.today(), limits)


def test_notes_saved_with_the_clock_set_back_are_found_and_undoable(ws: Workspace, clock: SteppingClock) -> None:
    save.save(ws, "Walruses sleep on the beach.")
    clock.forward(days=-YEARS)
    saved = save.save(ws, "Penguins are fed at four.")
    refresh.refresh(ws)
    assert [hit.id for hit in find.search(ws, "penguins fed")] == [saved.memory.id]
    assert undo.undo(ws).removed == (saved.path,)


def test_a_leap_of_the_clock_takes_neither_forgotten_notes_nor_undo_copies(ws: Workspace, clock: SteppingClock) -> None:
    saved = save.save(ws, "Walruses sleep on the beach.")
    forget.forget(ws, saved.memory.id)
    session_start.after_session_start(ws)
    clock.forward(days=YEARS)
    session_start.after_session_start(ws)
    session_start.after_session_start(ws)  # of the next window
    save.save(ws, "Penguins are fed at four.")
    assert len(list(ws.store.paths.forgotten.glob("*.md"))) == 1
    clock.forward(days=-YEARS)
    assert undo.undo(ws).removed
    forgotten = next(each for each in ws.events.read() if each.action == "forget")
    assert undo.undo(ws, forgotten.batch).restored == (saved.path,)


def test_old_records_are_pruned_once_the_clock_is_right(ws: Workspace, clock: SteppingClock) -> None:
    saved = save.save(ws, "Walruses sleep on the beach.")
    forget.forget(ws, saved.memory.id)
    session_start.after_session_start(ws)
    clock.forward(days=31)
    session_start.after_session_start(ws)
    clock.forward(hours=8)
    session_start.after_session_start(ws)
    assert list(ws.store.paths.forgotten.glob("*.md")) == []


def test_a_note_deleted_by_hand_under_a_wrong_clock_is_not_forgotten_too_early(
    ws: Workspace, clock: SteppingClock
) -> None:
    saved = save.save(ws, "Walruses sleep on the beach.")
    for number in range(3):
        save.save(ws, f"The gate number{number} opens at dawn{number}.")
    ws.store.absolute(saved.path).unlink()
    refresh.refresh(ws)
    clock.now -= timedelta(days=YEARS)
    refresh.refresh(ws)
    assert not ws.tombstones.load().standing
