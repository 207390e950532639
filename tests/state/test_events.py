"""Every mutation leaves a line, and what it replaced can be brought back, within bounds."""

import json
import os
import re
import tracemalloc
from pathlib import Path

import pytest

from memem.core.errors import HomeError
from memem.core.home import Home
from memem.state import events as module
from memem.state.events import EventLog
from tests.fakes import SteppingClock


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def log(home: Home, clock: SteppingClock) -> EventLog:
    return EventLog(home, clock, actor="test", fsync=False)


def record(log: EventLog, number: int = 1) -> None:
    told = {"path": "memories/x.md", "why": "because", "before": "", "after": "hash", "vault": "vault-1"}
    log.record("save", id=f"id-{number}", **told)


def test_an_event_says_who_what_where_why_and_both_hashes(log: EventLog, home: Home) -> None:
    record(log)
    line = json.loads(home.events_file.read_text())
    assert re.fullmatch(r"[0-9a-f]{8}", line.pop("batch"))
    assert line == {
        "time": "2026-03-01T09:00:00+01:00",
        "actor": "test",
        "action": "save",
        "id": "id-1",
        "path": "memories/x.md",
        "why": "because",
        "before": "",
        "after": "hash",
        "what": "save",
        "number": 1,
        "vault": "vault-1",
    }


def test_events_are_private_and_only_appended(log: EventLog, home: Home) -> None:
    record(log, 1)
    first = home.events_file.read_bytes()
    record(log, 2)
    assert home.events_file.read_bytes().startswith(first)
    assert home.events_file.stat().st_mode & 0o777 == 0o600
    assert [event.id for event in log.read()] == ["id-1", "id-2"]


def test_a_line_torn_by_a_crash_harms_no_other(log: EventLog, home: Home) -> None:
    record(log, 1)
    with home.events_file.open("ab") as file:
        file.write(b'{"time": "2026-')
    record(log, 2)
    assert [event.id for event in log.read()] == ["id-1", "id-2"]


def test_no_events_yet(log: EventLog) -> None:
    assert list(log.read()) == []
    assert log.last() is None


@pytest.mark.parametrize("size", [1, 7, 100, 400, 65_536])
def test_events_are_read_backwards_whatever_the_blocks(
    log: EventLog, home: Home, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", size)
    for number in range(5):
        record(log, number)
    with home.events_file.open("ab") as file:
        file.write(b'{"time": "2026-')
    assert [event.id for event in log.read_backwards()] == [f"id-{number}" for number in reversed(range(5))]
    assert list(log.read_backwards()) == list(log.read())[::-1]


def test_the_last_event_is_found_without_reading_all(log: EventLog, home: Home) -> None:
    for number in range(50):
        record(log, number)
    whole = home.events_file.read_bytes()
    home.events_file.write_bytes(b"\xff" * 10_000_000 + b"\n" + whole)
    tracemalloc.start()
    last = log.last()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert last is not None
    assert last.id == "id-49"
    assert peak < 1_000_000


# --- batches ------------------------------------------------------------------------------------------------------


def test_everything_within_a_batch_is_one_and_an_inner_one_belongs_to_the_outer(log: EventLog) -> None:
    with log.batch("mine") as outer:
        record(log, 1)
        with log.batch("save") as inner:
            record(log, 2)
        record(log, 3)
    assert inner == outer
    assert [(event.batch, event.what, event.number) for event in log.read()] == [
        (outer, "mine", 1),
        (outer, "mine", 2),
        (outer, "mine", 3),
    ]


def test_a_record_without_a_batch_is_one_of_its_own_named_by_its_action(log: EventLog) -> None:
    record(log, 1)
    record(log, 2)
    one, two = log.read()
    assert one.batch != two.batch
    assert (one.what, one.number) == (two.what, two.number) == ("save", 1)


def test_a_batch_ends_with_whatever_ends_it(log: EventLog) -> None:
    with pytest.raises(KeyboardInterrupt), log.batch("mine") as broken:
        raise KeyboardInterrupt
    record(log)
    last = log.last()
    assert last is not None
    assert (last.what, last.batch != broken) == ("save", True)


def test_a_line_from_before_there_were_batches_is_still_read(log: EventLog, home: Home) -> None:
    old = {"time": "t", "actor": "a", "action": "save", "id": "i", "path": "p", "why": "", "before": "", "after": "x"}
    home.state.mkdir(parents=True)
    home.events_file.write_text(json.dumps(old) + "\n")
    assert [(event.id, event.batch, event.what) for event in log.read()] == [("i", "", "")]


def test_what_was_replaced_is_kept_privately(log: EventLog, home: Home) -> None:
    log.store_undo("digest", b"old bytes")
    assert log.read_undo("digest") == b"old bytes"
    assert log.read_undo("unknown") is None
    assert (home.undo / "digest").stat().st_mode & 0o777 == 0o600


def test_no_digest_leads_out_of_the_undo_store(log: EventLog, home: Home) -> None:
    log.store_undo("digest", b"x")
    (home.state / "secret").write_bytes(b"secret")
    assert log.read_undo("../secret") is None


def test_the_undo_store_forgets_after_thirty_days(log: EventLog, home: Home, clock: SteppingClock) -> None:
    log.store_undo("old", b"x")
    os.utime(home.undo / "old", (clock.now.timestamp(), clock.now.timestamp()))
    clock.forward(days=29)
    log.store_undo("newer", b"x")
    assert log.read_undo("old") == b"x"
    clock.forward(days=2)
    log.store_undo("newest", b"x")
    assert log.read_undo("old") is None
    assert log.read_undo("newest") == b"x"


def test_the_undo_store_never_exceeds_its_size(
    log: EventLog, home: Home, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNDO_BYTES", 10_000)
    monkeypatch.setattr(module, "_PRUNE_EVERY_BYTES", 1_000)
    for number in range(60):
        log.store_undo(f"digest-{number}", b"x" * 300)
        stamp = clock.now.timestamp() + number
        os.utime(home.undo / f"digest-{number}", (stamp, stamp))
        assert sum(path.stat().st_size for path in home.undo.glob("digest-*")) <= 10_000
    assert log.read_undo("digest-59") is not None
    assert log.read_undo("digest-0") is None


def test_a_spoilt_counter_only_means_pruning_now(log: EventLog, home: Home) -> None:
    log.store_undo("one", b"x")
    (home.undo / ".pruned.json").write_text("rubbish")
    log.store_undo("two", b"x")
    assert log.read_undo("one") == b"x"


def test_a_home_that_cannot_be_written_says_so(tmp_path: Path, clock: SteppingClock) -> None:
    (tmp_path / "file").write_text("")
    log = EventLog(Home(tmp_path / "file"), clock, actor="test", fsync=False)
    with pytest.raises(HomeError, match="undo copy"):
        log.store_undo("digest", b"x")
    with pytest.raises(HomeError, match=r"Cannot record the change to memories/x\.md"):
        record(log)


@pytest.mark.parametrize("value", [5, None, ["x"], {"a": 1}, True])
def test_a_line_with_something_else_than_a_text_in_it_is_passed_over(log: EventLog, home: Home, value: object) -> None:
    record(log)
    damaged = {**json.loads(home.events_file.read_text()), "time": value}
    with home.events_file.open("a") as file:
        file.write(json.dumps(damaged) + "\n" + "[" * 100_000 + "\n")
    record(log, 2)
    assert [event.id for event in log.read()] == ["id-1", "id-2"]


@pytest.mark.parametrize("counted", ["[1, Infinity]", "[NaN, 1]", "[1]", "{}", "[" * 100_000, "[1, 1e999]"])
def test_a_counter_that_was_damaged_is_begun_anew(log: EventLog, home: Home, counted: str) -> None:
    log.store_undo("a", b"1")
    (home.undo / ".pruned.json").write_text(counted)
    log.store_undo("b", b"2")
    assert log.read_undo("b") == b"2"


@pytest.mark.parametrize("digest", ["..", ".", "", "a\0b", "x" * 5_000])
def test_what_is_no_name_was_not_kept(log: EventLog, digest: str) -> None:
    log.store_undo("a", b"1")
    assert log.read_undo(digest) is None
