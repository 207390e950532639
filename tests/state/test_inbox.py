"""Events that were left for a process of its own: one is at them, and none is missed."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memem.state.inbox import Inbox, read_event


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "later").mkdir()
    return tmp_path / "later"


def leave(folder: Path, session: str, event: str = "Stop", *, name: str = "1a2b3c4d", at: int = 0) -> Path:
    path = folder / f"{name}-{session}-{event}.json"
    path.write_bytes(session.encode())
    os.utime(path, (at, at))
    return path


@contextmanager
def held(folder: Path) -> Iterator[int]:
    """The lock as a hook hands it on."""
    lock = os.open(folder / "1a2b3c4d.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    yield lock


def taken(letters: Inbox) -> list[str]:
    found = []
    for event, path in letters.take_events():
        found.append(f"{event} {(read_event(path) or b'').decode()}")
        path.unlink()
    return found


def test_letters_are_taken_up_in_the_order_in_which_they_came(folder: Path) -> None:
    leave(folder, "b", at=1)
    leave(folder, "a-b-c", "SessionEnd", at=3)
    leave(folder, "a", at=2)
    assert taken(Inbox(folder, "1a2b3c4d")) == ["Stop b", "Stop a", "SessionEnd a-b-c"]


def test_letters_of_other_settings_are_left_to_those_that_have_them(folder: Path) -> None:
    theirs = leave(folder, "s1", name="ffffffff")
    assert taken(Inbox(folder, "1a2b3c4d")) == []
    assert theirs.exists()


def test_who_finds_somebody_at_them_leaves_them_alone(folder: Path) -> None:
    leave(folder, "s1")
    with held(folder) as lock:
        assert taken(Inbox(folder, "1a2b3c4d")) == []
        assert taken(Inbox(folder, "1a2b3c4d", lock)) == ["Stop s1"]


def test_a_letter_that_comes_before_we_let_go_is_ours(folder: Path) -> None:
    leave(folder, "s1")
    with held(folder) as lock:
        turns = Inbox(folder, "1a2b3c4d", lock).take_events()
        _, first = next(turns)
        first.unlink()
        leave(folder, "s2")  # by a hook that finds the lock held, and starts nobody
        _, second = next(turns)
        assert read_event(second) == b"s2"
        second.unlink()
        assert list(turns) == []


def test_the_lock_is_free_once_nothing_is_left(folder: Path) -> None:
    leave(folder, "s1")
    with held(folder) as lock:
        assert taken(Inbox(folder, "1a2b3c4d", lock)) == ["Stop s1"]
    leave(folder, "s2")
    assert taken(Inbox(folder, "1a2b3c4d")) == ["Stop s2"]


def test_a_letter_that_somebody_took_meanwhile_is_no_trouble(folder: Path) -> None:
    assert read_event(folder / "gone.json") is None


def test_a_name_never_becomes_a_path(folder: Path) -> None:
    assert taken(Inbox(folder, "../1a2b3c4d")) == []
    assert list(folder.parent.glob("*.lock")) == []
