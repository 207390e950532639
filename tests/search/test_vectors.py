"""Every passage keeps its own vector, despite failures, concurrent writers and readers."""

import errno
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memem.core import sqlite
from memem.core.errors import Busy, HomeError, IndexDamaged, MememError
from memem.search import vectors
from memem.search.encoders.interface import Vectors
from memem.search.vectors import VectorStore, folder_name
from tests.fakes import FaultyOs

IDENTITY = "somebody/some-model 0123abcd"
DIMENSIONS = 4

Open = Callable[..., VectorStore]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "vectors" / "model"


@pytest.fixture
def open_store(folder: Path) -> Iterator[Open]:
    opened: list[VectorStore] = []

    def call(where: Path = folder, identity: str = IDENTITY, dimensions: int = DIMENSIONS) -> VectorStore:
        opened.append(VectorStore(where, identity, dimensions, fsync=True))
        return opened[-1]

    yield call
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Open) -> VectorStore:
    return open_store()


def key(number: int) -> bytes:
    return f"key {number}".encode()


def vector(number: int) -> Vectors:
    """The one vector that belongs to this key."""
    direction = np.random.default_rng(number).standard_normal(DIMENSIONS)
    return (direction / np.linalg.norm(direction)).astype(np.float32)


def add(store: VectorStore, numbers: Iterable[int]) -> None:
    numbers = list(numbers)
    store.add([key(number) for number in numbers], np.array([vector(number) for number in numbers]))


def content(store: VectorStore) -> dict[bytes, bytes]:
    """Every key with the bytes of its row."""
    with store.reading() as view:
        slots = view.keys(range(len(view.rows)))
        assert len(slots) == len(view.rows)
        return {each: view.rows[slot].tobytes() for each, slot in slots.items()}


def expected(numbers: Iterable[int]) -> dict[bytes, bytes]:
    return {key(number): vector(number).tobytes() for number in numbers}


def rows_of(folder: Path) -> Path:
    """The file with the rows, when there is one."""
    (path,) = folder.glob("rows-*")
    return path


def row_files(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("rows-*")}


# --- kept and given back ------------------------------------------------------------------------------------------


def test_an_empty_store_is_read(store: VectorStore) -> None:
    assert content(store) == {}
    assert store.count() == 0
    store.check()


def test_each_key_gets_its_own_vector_back(store: VectorStore, open_store: Open) -> None:
    add(store, range(3))
    add(store, range(3, 5))
    assert content(store) == content(open_store()) == expected(range(5))
    assert store.count() == 5


def test_only_stored_keys_have_a_slot(store: VectorStore) -> None:
    add(store, [1, 2])
    with store.reading() as view:
        assert view.slots([key(2), key(3)]) == {key(2): 1}
        assert view.keys([0, 7]) == {key(1): 0}


def test_more_keys_than_one_statement_allows_are_looked_up(store: VectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "MAX_VALUES", 2)
    add(store, range(5))
    with store.reading() as view:
        assert view.slots([key(number) for number in range(7)]) == {key(number): number for number in range(5)}


def test_a_stored_key_keeps_its_vector_and_row(store: VectorStore, folder: Path) -> None:
    add(store, range(3))
    store.add([key(1), key(3)], np.array([vector(99), vector(3)]))
    assert content(store) == expected(range(4))
    assert rows_of(folder).stat().st_size == 4 * DIMENSIONS * 4


def test_nothing_to_add_is_nothing_written(store: VectorStore, folder: Path) -> None:
    add(store, [1])
    before = rows_of(folder).read_bytes()
    store.add([], np.empty((0, DIMENSIONS), np.float32))
    assert rows_of(folder).read_bytes() == before


def test_double_precision_vectors_are_stored_as_float32(store: VectorStore) -> None:
    exact: Any = np.array([[0.6, 0.8, 0, 0]], np.float64)
    store.add([key(1)], exact)
    with store.reading() as view:
        assert view.rows.dtype == np.float32
        assert view.rows.tolist() == exact.astype(np.float32).tolist()


def test_the_files_are_private_whatever_the_umask(folder: Path, open_store: Open) -> None:
    before = os.umask(0)
    try:
        add(open_store(), [1])
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert set(modes) >= {"vectors.db", *row_files(folder)}
    assert set(modes.values()) == {0o600}


# --- one view -----------------------------------------------------------------------------------------------------


def test_a_view_does_not_change_while_another_adds(store: VectorStore, open_store: Open) -> None:
    add(store, range(3))
    with store.reading() as view:
        add(open_store(), range(3, 6))
        assert view.rows.tobytes() == b"".join(expected(range(3)).values())
        assert view.slots([key(number) for number in range(6)]) == {key(number): number for number in range(3)}
    assert content(store) == expected(range(6))


@pytest.mark.usefixtures("_eager")
def test_a_view_does_not_change_while_another_drops_rows(store: VectorStore, open_store: Open, folder: Path) -> None:
    add(store, range(6))
    with store.reading() as view:
        assert open_store().compact([key(4), key(5)])
        assert len(row_files(folder)) == 1
        assert view.rows.tobytes() == b"".join(expected(range(6)).values())
        assert view.slots([key(5)]) == {key(5): 5}
    assert content(store) == expected([4, 5])


@pytest.mark.usefixtures("_eager")
def test_a_reader_retries_when_its_file_is_compacted_away(
    store: VectorStore, open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, range(6))
    reader, real = open_store(), VectorStore._file
    others = [lambda: store.compact([key(5)])]

    def slow(self: VectorStore, identity: str) -> Path:
        if others:
            others.pop()()
        return real(self, identity)

    monkeypatch.setattr(VectorStore, "_file", slow)
    with reader.reading() as view:
        assert view.slots([key(5)]) == {key(5): 0}
        assert view.rows.tobytes() == vector(5).tobytes()


@pytest.mark.usefixtures("_eager")
def test_a_reader_sees_that_the_rows_are_others_though_they_are_as_many(store: VectorStore, open_store: Open) -> None:
    add(store, range(4))
    reader = open_store()
    assert content(reader) == expected(range(4))
    assert store.compact([key(2), key(3)])
    add(store, [7, 8])
    assert content(reader) == expected([2, 3, 7, 8])


def test_rows_are_mapped_once_while_nothing_is_added(store: VectorStore) -> None:
    add(store, [1])
    with store.reading() as first:
        pass
    with store.reading() as second:
        assert second.rows is first.rows


# --- interrupted --------------------------------------------------------------------------------------------------


class _Failing:
    """A connection whose `executemany` fails."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        if name == "executemany":
            raise KeyboardInterrupt
        return getattr(self._connection, name)


def test_rows_that_were_written_but_not_committed_are_never_read(
    store: VectorStore, open_store: Open, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    add(store, range(2))
    with monkeypatch.context() as patched:
        patched.setattr(store, "_connection", _Failing(store._connection))
        with pytest.raises(KeyboardInterrupt):
            add(store, range(10, 15))
    assert rows_of(folder).stat().st_size == 7 * DIMENSIONS * 4
    assert content(store) == content(open_store()) == expected(range(2))
    add(store, range(2, 5))
    assert content(store) == content(open_store()) == expected(range(5))


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from memem.search.vectors import VectorStore
real = VectorStore._write
def write(self, *arguments):
    real(self, *arguments)
    os.kill(os.getpid(), signal.SIGKILL)
VectorStore._write = write
store = VectorStore(Path(sys.argv[1]), sys.argv[2], 4, fsync=False)
if sys.argv[3] == "add":
    store.add([b"one", b"two"], np.ones((2, 4), np.float32))
else:
    store.compact([b"key 5"])
"""


@pytest.mark.usefixtures("_eager")
@pytest.mark.parametrize("work", ["add", "compact"])
def test_a_writer_killed_before_it_commits_has_changed_nothing(
    store: VectorStore, open_store: Open, folder: Path, work: str
) -> None:
    add(store, range(600))
    script = [sys.executable, "-c", KILLED, str(folder), IDENTITY, work]
    assert subprocess.run(script, check=False).returncode == -signal.SIGKILL
    assert content(open_store()) == expected(range(600))
    add(store, [601])
    assert store.compact({key(number) for number in (*range(3), 601)})
    assert content(store) == content(open_store()) == expected([*range(3), 601])


@pytest.mark.usefixtures("_eager")
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()], ids=["full", "ctrl-c"])
@pytest.mark.parametrize("work", ["add", "compact"])
def test_a_failing_disk_leaves_the_old_rows_or_the_new_and_trying_again_works(
    tmp_path: Path, open_store: Open, monkeypatch: pytest.MonkeyPatch, work: str, error: BaseException
) -> None:
    def change(store: VectorStore) -> None:
        if work == "add":
            add(store, range(4, 8))
        else:
            store.compact([key(2), key(3)])

    old, new = expected(range(4)), expected(range(8) if work == "add" else (2, 3))
    steps = 0
    while True:
        where = tmp_path / str(steps)
        store = open_store(where)
        add(store, range(4))
        faulty = FaultyOs(steps, error)
        with monkeypatch.context() as patched:
            patched.setattr("memem.core.files.os", faulty)
            try:
                change(store)
            except (MememError, KeyboardInterrupt) as problem:
                assert "\n" not in str(problem)
        if len(faulty.calls) <= steps:
            break
        assert not faulty.open_files
        assert content(store) == content(open_store(where))
        assert content(store) in (old, new)
        change(store)
        assert content(store) == content(open_store(where)) == new
        steps += 1
    assert steps == (4 if work == "add" else 5)


def test_a_full_disk_is_reported_in_one_line(store: VectorStore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memem.core.files.os", FaultyOs(1))
    with pytest.raises(HomeError, match="the disk is full; free some space") as raised:
        add(store, [1])
    assert str(rows_of(folder)) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_write_in_portions_is_complete(store: VectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = FaultyOs()
    faulty.longest_write = 5
    with monkeypatch.context() as patched:
        patched.setattr("memem.core.files.os", faulty)
        add(store, range(4))
    assert content(store) == expected(range(4))


# --- several writers ----------------------------------------------------------------------------------------------


def test_two_writers_at_once_lose_nothing(folder: Path, open_store: Open) -> None:
    shared = range(1000, 1020)
    problems: list[BaseException] = []

    def write(own: Sequence[int]) -> None:
        try:
            store = VectorStore(folder, IDENTITY, DIMENSIONS, fsync=False)
            for number, common in zip(own, shared, strict=True):
                add(store, [number, common])
            store.close()
        except BaseException as problem:  # noqa: BLE001 - shown by the test
            problems.append(problem)

    threads = [threading.Thread(target=write, args=(range(first, first + 20),)) for first in (0, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert content(open_store()) == expected([*range(20), *range(100, 120), *shared])


def test_a_store_being_written_is_busy_for_writers_and_open_to_readers(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch, open_store: Open
) -> None:
    add(store, [1])
    monkeypatch.setattr(sqlite, "BUSY_MILLISECONDS", 0)
    second = open_store()
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match="Try again"):
        add(second, [2])
    assert content(second) == expected([1])
    other.close()


def test_a_store_being_written_can_be_opened(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch, open_store: Open
) -> None:
    add(store, [1])
    monkeypatch.setattr(sqlite, "BUSY_MILLISECONDS", 0)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert content(open_store()) == expected([1])
    other.close()


# --- dropped rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "unheld", "dropped"),
    [(1_000, 255, False), (1_000, 256, True), (2_000, 499, False), (2_000, 500, True), (10, 10, False), (0, 0, False)],
)
def test_many_unused_rows_are_dropped(store: VectorStore, rows: int, unheld: int, dropped: bool) -> None:
    numbers = range(rows)
    store.add([key(number) for number in numbers], np.full((rows, DIMENSIONS), 0.5, np.float32))
    assert store.compact({key(number) for number in numbers[unheld:]}) == dropped
    assert store.count() == (rows - unheld if dropped else rows)


@pytest.mark.usefixtures("_eager")
def test_used_rows_survive_compaction_bit_for_bit(store: VectorStore, folder: Path, open_store: Open) -> None:
    add(store, range(10))
    kept = [9, 0, 4]
    assert store.compact({key(number) for number in (*kept, 77)})
    assert content(store) == content(open_store()) == expected(kept)
    first = rows_of(folder)
    add(store, [3, 4, 5])
    assert content(store) == content(open_store()) == expected([*kept, 3, 5])
    assert store.compact({key(5)})
    assert rows_of(folder) != first
    assert content(store) == expected([5])


@pytest.mark.usefixtures("_eager")
def test_dropping_rows_gives_the_store_another_id_so_that_what_was_looked_up_is_looked_up_again(
    store: VectorStore, open_store: Open
) -> None:
    add(store, range(4))
    before = store.id
    add(store, range(4, 8))
    assert store.id == before
    assert store.compact({key(7)})
    assert store.id == open_store().id != before


@pytest.mark.usefixtures("_eager")
def test_a_store_without_used_rows_becomes_empty_and_usable(store: VectorStore) -> None:
    add(store, range(4))
    assert store.compact(set())
    assert content(store) == {}
    add(store, [7])
    assert content(store) == expected([7])


@pytest.mark.usefixtures("_eager")
def test_leftovers_of_a_killed_compaction_do_no_harm(store: VectorStore, folder: Path) -> None:
    add(store, range(6))
    (folder / "rows-0123.f32").write_bytes(b"\xff" * 1000)
    assert content(store) == expected(range(6))
    assert store.compact({key(3)})
    assert content(store) == expected([3])
    assert rows_of(folder).stat().st_size == DIMENSIONS * 4


def test_an_open_deleted_store_does_not_write_into_its_successor(
    store: VectorStore, open_store: Open, folder: Path
) -> None:
    add(store, range(3))
    shutil.rmtree(folder)
    other = open_store()
    add(other, range(10, 16))
    with suppress(MememError):
        add(store, range(3, 6))
    assert content(other) == expected(range(10, 16))


# --- one model ----------------------------------------------------------------------------------------------------


def test_each_model_has_a_folder_of_its_own() -> None:
    names = {
        folder_name(identity, dimensions)
        for identity in ("a/model 1", "a/model 2", "b/model 1", "model 1", "/a folder/model/ 1")
        for dimensions in (4, 8)
    }
    assert len(names) == 10
    assert all(Path(name).name == name for name in names)
    assert folder_name("a/model 1", 4) == folder_name("a/model 1", 4)
    assert re.fullmatch(r"all-MiniLM-L6-v2-[0-9a-f]{8}-384-float32", folder_name("a/all-MiniLM-L6-v2 53aa", 384))


@pytest.mark.parametrize(("identity", "dimensions"), [("somebody/another 4567", 4), (IDENTITY, 8)])
def test_vectors_of_another_model_are_refused_and_untouched(
    store: VectorStore, open_store: Open, identity: str, dimensions: int
) -> None:
    add(store, range(3))
    with pytest.raises(IndexDamaged, match=r"another model.*memem index rebuild"):
        open_store(identity=identity, dimensions=dimensions)
    assert content(store) == expected(range(3))


def test_the_rows_are_described(store: VectorStore) -> None:
    connection = sqlite3.connect(store.path)
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    connection.close()
    described = {"identity": IDENTITY, "dimensions": "4", "dtype": "<f4"}
    assert meta == described | {"id": store.id}


def test_a_recreated_store_has_another_id(store: VectorStore, folder: Path, open_store: Open) -> None:
    assert open_store().id == store.id
    shutil.rmtree(folder)
    assert open_store().id != store.id


# --- damage -------------------------------------------------------------------------------------------------------


def complaint(check: Callable[[], object]) -> str:
    with pytest.raises(IndexDamaged) as raised:
        check()
    assert "memem index rebuild" in str(raised.value)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_sound_store_passes_the_check(store: VectorStore) -> None:
    add(store, range(3))
    store.check()


@pytest.mark.parametrize("value", [0.0, 2.0, float("nan")])
def test_an_invalid_row_is_detected(store: VectorStore, folder: Path, value: float) -> None:
    add(store, range(3))
    with rows_of(folder).open("r+b") as file:
        file.seek(DIMENSIONS * 4)
        file.write(np.full(DIMENSIONS, value, np.float32).tobytes())
    assert "a row is not a vector" in complaint(store.check)


@pytest.mark.parametrize("size", [0, 20])
def test_truncated_rows_are_detected(store: VectorStore, open_store: Open, folder: Path, size: int) -> None:
    add(store, range(3))
    os.truncate(rows_of(folder), size)
    assert "is shorter than it should be" in complaint(open_store().check)
    assert "shorter" in complaint(lambda: content(open_store()))


def test_missing_rows_are_detected(store: VectorStore, open_store: Open, folder: Path) -> None:
    add(store, range(3))
    rows_of(folder).unlink()
    assert "the rows are gone" in complaint(open_store().check)


def test_a_damaged_database_is_detected(store: VectorStore, open_store: Open) -> None:
    numbers = range(2_000)
    store.add([key(number) for number in numbers], np.full((2_000, DIMENSIONS), 0.5, np.float32))
    store.close()
    whole = store.path.read_bytes()
    half = len(whole) // 2
    store.path.write_bytes(whole[:half] + b"\xff" * (len(whole) - half))
    complaint(open_store().check)


def test_a_deleted_folder_is_noticed(store: VectorStore, folder: Path, open_store: Open) -> None:
    assert store.is_current()
    shutil.rmtree(folder)
    assert not store.is_current()
    assert open_store().is_current()
    assert not store.is_current()


# --- what a folder says of itself ---------------------------------------------------------------------------------


def test_a_described_folder_can_be_opened_without_the_model(folder: Path, store: VectorStore) -> None:
    described = vectors.describe_folder(folder)
    assert described == vectors.VectorFolder(folder, store.id, IDENTITY, DIMENSIONS, None)
    store.record_multilingual(multilingual=True)
    assert vectors.describe_folder(folder) == replace(described, multilingual=True)
    store.record_multilingual(multilingual=False)
    assert vectors.describe_folder(folder) == replace(described, multilingual=False)
    with closing(described.open()) as again:
        assert again.id == store.id


def test_an_empty_folder_has_no_description(folder: Path) -> None:
    assert vectors.describe_folder(folder) is None
