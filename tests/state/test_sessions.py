"""Records of sessions: a cursor for each, and the mined turns of all."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memem.core.conversation import Cursor
from memem.state.database import State
from memem.state.sessions import SessionRecord, Sessions


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "state.db"


@pytest.fixture
def sessions(path: Path) -> Iterator[Sessions]:
    with closing(State(path, fsync=False)) as state:
        yield state.sessions


def begun(sessions: Sessions, folder: Path, name: str) -> Path:
    """A session with a file, known to us."""
    file = folder / f"{name}.jsonl"
    file.touch()
    sessions.put(SessionRecord(name, str(file)))
    return file


# --- sessions -----------------------------------------------------------------------------------------------------


def test_a_session_that_nobody_has_read_is_not_known(sessions: Sessions) -> None:
    assert sessions.get("s1") is None


def test_a_session_is_known_as_it_was_put_last(sessions: Sessions) -> None:
    first = SessionRecord("s1", "/a/s1.jsonl", 7, 100, "abc", whole=False, size=120, mtime=5, own=True, failures=2)
    sessions.put(first)
    assert sessions.get("s1") == first
    later = (
        replace(first, not_before=9.5)
        .placed(Cursor(8, 200, "def"))
        .with_outcome("mined", "2 kept", "2026-03-01T09:00:00+01:00")
    )
    sessions.put(later)
    assert sessions.get("s1") == later
    assert (later.inode, later.offset, later.digest, later.outcome) == (8, 200, "def", "mined")


def test_large_files_and_times_fit(sessions: Sessions) -> None:
    huge = SessionRecord("s1", "/a", inode=2**62, offset=2**40, size=2**40, mtime=2**62)
    sessions.put(huge)
    assert sessions.get("s1") == huge


def test_the_last_sessions_are_those_mined_last(sessions: Sessions) -> None:
    for name, time in (("a", "2026-03-01"), ("b", "2026-03-03"), ("c", "2026-03-02"), ("never", "")):
        sessions.put(SessionRecord(name, f"/{name}").with_outcome("mined" if time else "", "", time))
    assert [each.session for each in sessions.last(2)] == ["b", "c"]
    assert len(sessions.last(10)) == 3


def test_those_that_wait_after_a_failure_are_counted_until_their_time_has_come(sessions: Sessions) -> None:
    sessions.put(SessionRecord("s1", "/a", failures=1, not_before=100.0))
    sessions.put(SessionRecord("s2", "/b"))
    assert sessions.waiting(99.0) == 1
    assert sessions.waiting(100.0) == 0


# --- turns --------------------------------------------------------------------------------------------------------


def test_a_turn_that_nobody_has_claimed_is_not_known(sessions: Sessions) -> None:
    assert not sessions.is_taken("t1", "s1")


def test_a_session_is_given_the_turns_that_it_claims(sessions: Sessions, tmp_path: Path) -> None:
    begun(sessions, tmp_path, "s1")
    assert sessions.claim(["t1", "t2"], "s1") == {"t1", "t2"}


def test_a_claimed_turn_is_still_to_be_mined_by_its_own_session(sessions: Sessions, tmp_path: Path) -> None:
    begun(sessions, tmp_path, "s1")
    sessions.claim(["t1"], "s1")
    assert not sessions.is_taken("t1", "s1")
    assert sessions.claim(["t1"], "s1") == {"t1"}, "after a crash it is claimed again"


def test_a_claimed_turn_is_known_to_every_other_session(sessions: Sessions, tmp_path: Path) -> None:
    begun(sessions, tmp_path, "s1")
    begun(sessions, tmp_path, "fork")
    sessions.claim(["t1"], "s1")
    assert sessions.is_taken("t1", "fork")
    assert sessions.claim(["t1", "t2"], "fork") == {"t2"}


def test_a_turn_whose_session_has_lost_its_file_is_there_for_others(sessions: Sessions, tmp_path: Path) -> None:
    begun(sessions, tmp_path, "s1").unlink()
    sessions.claim(["t1"], "s1")
    assert not sessions.is_taken("t1", "fork")
    assert sessions.claim(["t1"], "fork") == {"t1"}


def test_a_turn_taken_over_belongs_to_whoever_took_it(sessions: Sessions, tmp_path: Path) -> None:
    file = begun(sessions, tmp_path, "s1")
    sessions.claim(["t1"], "s1")
    file.unlink()
    begun(sessions, tmp_path, "fork")
    sessions.claim(["t1"], "fork")
    file.touch()
    assert sessions.is_taken("t1", "s1")


def test_a_turn_whose_session_is_not_known_at_all_is_there_for_others(sessions: Sessions) -> None:
    sessions.claim(["t1"], "s1")
    assert not sessions.is_taken("t1", "fork")


def test_a_mined_turn_is_known_to_all_for_good(sessions: Sessions, tmp_path: Path) -> None:
    file = begun(sessions, tmp_path, "s1")
    sessions.claim(["t1"], "s1")
    sessions.finish(["t1"], "s1")
    file.unlink()
    for session in ("s1", "fork"):
        assert sessions.is_taken("t1", session)
        assert sessions.claim(["t1"], session) == frozenset()


def test_turns_can_be_finished_that_were_never_claimed_and_twice(sessions: Sessions) -> None:
    sessions.finish(["t1"], "s1")
    sessions.finish(["t1"], "s1")
    assert sessions.is_taken("t1", "s1")


def test_of_two_who_claim_the_same_turns_one_gets_them(sessions: Sessions, path: Path, tmp_path: Path) -> None:
    begun(sessions, tmp_path, "s1")
    begun(sessions, tmp_path, "fork")
    with closing(State(path, fsync=False)) as other:
        assert sessions.claim(["t1", "t2"], "s1") == {"t1", "t2"}
        assert other.sessions.claim(["t2", "t3"], "fork") == {"t3"}


# --- what was shown -----------------------------------------------------------------------------------------------


def test_what_was_shown_in_a_session_is_known_of_that_session(sessions: Sessions) -> None:
    sessions.add_injected("s1", ["aaaaaaaa", "bbbbbbbb"])
    sessions.add_injected("s1", ["bbbbbbbb", "cccccccc"])
    assert sessions.injected("s1") == {"aaaaaaaa", "bbbbbbbb", "cccccccc"}
    assert sessions.injected("s2") == frozenset()
