"""A clock that is set back, or leaps and comes back, stops nothing for long, and costs nobody what was kept."""

import os
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from memem.core.dates import iso
from memem.core.errors import CallFailed
from memem.mine import failures, schedule
from memem.mine.status import mining_state
from memem.notes import forget, save, undo
from memem.search import find, refresh
from memem.search.transcripts import consent
from memem.search.transcripts.turns import TurnIndex
from memem.state.calls import Limits
from memem.state.sessions import Mark, SessionRecord
from memem.upkeep import session_start
from memem.vault.opening import ensure_vault
from memem.workspace import Workspace
from tests.fakes import SteppingClock
from tests.transcripts import Transcript, count_saved, once

YEARS = 3_650


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    return miner


def write_session(ws: Workspace, path: Path, name: str) -> Transcript:
    """A session whose fact is told now, by a file whose time is that of the clock."""
    session = Transcript(path, start=ws.clock())
    session.tells(name)
    os.utime(path, (session.now.timestamp() + 1,) * 2)
    return session


def indexed_texts(ws: Workspace) -> list[str]:
    with closing(TurnIndex(ws.home.turns_file)) as index:
        return [text for (text,) in index._connection.execute("SELECT text FROM turns")]


def mine_everything(ws: Workspace, clock: SteppingClock) -> dict[str, int]:
    clock.forward(minutes=30)
    ensure_vault(ws)
    schedule.sweep(ws)
    return count_saved(ws)


def test_an_opt_in_by_a_clock_that_was_ahead_counts_from_the_last_earlier_session(
    ws: Workspace, clock: SteppingClock, sessions: Path
) -> None:
    write_session(ws, sessions / "old.jsonl", "old")
    clock.forward(days=YEARS)
    stored = consent.opt_in(ws)
    clock.forward(days=-YEARS)
    clock.forward(minutes=5)
    write_session(ws, sessions / "new.jsonl", "new")
    assert mine_everything(ws, clock) == once("new")
    assert ws.home.opt_in.read_text().strip() == ws.state.opt_in_record.since() == iso(stored)


def test_an_opt_in_by_a_clock_ahead_without_sessions_waits_and_says_how_to_renew_it(
    ws: Workspace, clock: SteppingClock, sessions: Path
) -> None:
    clock.forward(days=YEARS)
    consent.opt_in(ws)
    clock.forward(days=-YEARS)
    write_session(ws, sessions / "s1.jsonl", "one")
    assert mine_everything(ws, clock) == {}
    assert "`memem mine on` switches it on from now" in mining_state(ws).problem
    consent.opt_in(ws)
    assert not mining_state(ws).problem
    write_session(ws, sessions / "s2.jsonl", "two")
    assert mine_everything(ws, clock) == once("two")


@pytest.mark.parametrize("leap", [-YEARS, -2, YEARS])
def test_a_clock_that_is_wrong_for_a_moment_never_moves_the_opt_in(
    ws: Workspace, clock: SteppingClock, sessions: Path, leap: int
) -> None:
    clock.forward(days=-30)
    write_session(ws, sessions / "old.jsonl", "old")
    clock.forward(days=30)
    since = consent.opt_in(ws)
    clock.forward(days=leap)
    assert mine_everything(ws, clock) == {}
    clock.forward(days=-leap)
    assert consent.opted_in(ws) == since
    assert mine_everything(ws, clock) == {}
    clock.forward(minutes=5)
    write_session(ws, sessions / "new.jsonl", "new")
    assert mine_everything(ws, clock) == once("new")


def test_an_opt_in_by_a_clock_that_was_behind_reads_nothing_written_before(
    ws: Workspace, clock: SteppingClock, sessions: Path
) -> None:
    session = write_session(ws, sessions / "s1.jsonl", "old")
    clock.forward(days=-YEARS)
    consent.opt_in(ws)
    clock.forward(days=YEARS)
    assert mine_everything(ws, clock) == {}
    assert indexed_texts(ws) == []
    session.tells("new")
    assert mine_everything(ws, clock) == once("new")
    assert len(indexed_texts(ws)) == 1
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == once("old", "new"), "a person who asks for it gets everything"


def test_a_copy_of_an_older_session_is_not_read_though_the_opt_in_was_made_by_a_clock_that_was_behind(
    ws: Workspace, clock: SteppingClock, sessions: Path
) -> None:
    session = write_session(ws, sessions / "s1.jsonl", "old")
    clock.forward(days=-YEARS)
    consent.opt_in(ws)
    clock.forward(days=YEARS, hours=1)
    fork = sessions / "fork.jsonl"
    fork.write_bytes(session.path.read_bytes().replace(b"s1", b"fork"))
    os.utime(fork, (clock().timestamp(),) * 2)
    assert mine_everything(ws, clock) == {}


def test_a_file_rewritten_since_the_opt_in_is_read_by_its_dates(
    ws: Workspace, clock: SteppingClock, sessions: Path
) -> None:
    clock.forward(days=-1)
    session = write_session(ws, sessions / "s1.jsonl", "old")
    clock.forward(days=1)
    consent.opt_in(ws)
    clock.forward(minutes=5)
    session.now = clock()
    before = session.path.read_bytes()
    session.tells("new")
    added = session.path.read_bytes().removeprefix(before)
    session.path.write_bytes(added + before)
    assert mine_everything(ws, clock) == once("new")


def test_an_opt_in_of_an_older_version_learns_which_sessions_came_before_it(
    ws: Workspace, clock: SteppingClock, sessions: Path
) -> None:
    clock.forward(days=-1)
    write_session(ws, sessions / "old.jsonl", "old")
    clock.forward(days=1)
    consent.opt_in(ws)
    ws.close()
    with closing(sqlite3.connect(ws.home.state_file)) as state, state:
        state.execute("UPDATE agreed SET last_write = NULL")
        state.execute("DELETE FROM sessions_at_opt_in")
    clock.forward(minutes=5)
    write_session(ws, sessions / "new.jsonl", "new")
    clock.forward(days=-YEARS)
    assert mine_everything(ws, clock) == once("new")
    assert ws.state.opt_in_record.count_sessions() == 1


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
