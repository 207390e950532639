"""Damaged databases are noticed, set aside and rebuilt with the same recall."""

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memem.core.errors import MememError, StateUnusable
from memem.mine import schedule
from memem.mine import status as mine_status
from memem.notes import save
from memem.search import find, refresh
from memem.search.transcripts import consent
from memem.upkeep import doctor, session_start, status
from memem.upkeep.checks.result import BROKEN
from memem.workspace import Workspace
from tests.fakes import SteppingClock
from tests.transcripts import Transcript, count_saved, once

PAGE = 4_096
Wrong = Callable[[bytearray, random.Random], None]


def flipped(data: bytearray, chance: random.Random) -> None:
    start = PAGE * chance.randrange(len(data) // PAGE)
    data[start : start + PAGE] = bytes(each ^ 0xFF for each in data[start : start + PAGE])


def zeroed(data: bytearray, chance: random.Random) -> None:
    start = PAGE * chance.randrange(len(data) // PAGE)
    data[start : start + PAGE] = bytes(PAGE)


def cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def exchanged(data: bytearray, chance: random.Random) -> None:
    one, other = (PAGE * number for number in chance.sample(range(len(data) // PAGE), 2))
    data[one : one + PAGE], data[other : other + PAGE] = data[other : other + PAGE], data[one : one + PAGE]


def sprinkled(data: bytearray, chance: random.Random) -> None:
    start = PAGE * chance.randrange(len(data) // PAGE)
    for _ in range(40):
        data[start + chance.randrange(PAGE)] = chance.randrange(256)


@pytest.fixture
def full(ws: Workspace) -> Workspace:
    for number in range(25):
        save.save(ws, f"The engine number{number} of ship{number * 7} runs on fuel{number * 3}.", project="sea")
    ws.index._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return ws


def search_titles(ws: Workspace) -> list[str]:
    refresh.refresh(ws)
    return [hit.id for hit in find.search(ws, "engine number7 fuel21", limit=30)]


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("wrong", [flipped, zeroed, cut, exchanged, sprinkled])
def test_an_index_with_a_damaged_page_is_rebuilt_with_the_same_recall(full: Workspace, wrong: Wrong) -> None:
    chance, wanted = random.Random(wrong.__name__), search_titles(full)  # noqa: S311
    full.close()
    whole, path = full.index_file.read_bytes(), full.index_file
    for _ in range(4):
        for left in path.parent.iterdir():
            left.unlink()
        data = bytearray(whole)
        wrong(data, chance)
        path.write_bytes(data)
        for attempt in range(2):
            try:
                again = search_titles(full)
            except MememError:
                assert attempt == 0, "reported twice, and not rebuilt"
                full.follow_index()
                continue
            if again != wanted:  # the daily check finds an index that answers wrongly
                session_start.after_session_start(full)
                assert search_titles(full) == wanted
        if not path.with_name("index.db.damaged").exists():
            session_start.after_session_start(full)
        assert [each for each in status.check(full) if each.serious] == []
        assert search_titles(full) == wanted
        full.close()


def test_only_the_last_damaged_file_is_preserved(full: Workspace) -> None:
    for number in range(3):
        full.close()
        full.index_file.write_bytes(b"rubbish %d " % number * 500)
        search_titles(full)
    names = sorted(path.name for path in full.index_file.parent.iterdir() if "damaged" in path.name)
    assert names == ["index.db.damaged"]
    assert full.index_file.with_name("index.db.damaged").read_bytes().startswith(b"rubbish 2")


@pytest.mark.parametrize("content", [b"", None], ids=["empty", "a folder"])
def test_a_missing_index_or_a_folder_in_its_place_is_rebuilt(full: Workspace, content: bytes | None) -> None:
    wanted = search_titles(full)
    full.close()
    for left in full.index_file.parent.iterdir():
        left.unlink()
    if content is None:
        full.index_file.mkdir()
    else:
        full.index_file.write_bytes(content)
    assert search_titles(full) == wanted


def test_a_foreign_write_ahead_log_does_no_harm(full: Workspace) -> None:
    wanted = search_titles(full)
    full.close()
    full.index_file.with_name("index.db-wal").write_bytes(os.urandom(PAGE * 3))
    assert search_titles(full) == wanted


# State, which cannot be rebuilt


@pytest.fixture
def mined(miner: Workspace, session: Transcript) -> Workspace:
    consent.opt_in(miner)
    session.tells("one")
    schedule.mine_in_background(miner, session.path)
    assert count_saved(miner) == once("one")
    return miner


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(
    "wrong", [b"rubbish " * 600, b"", None, "folder"], ids=["rubbish", "empty", "gone", "a folder"]
)
def test_lost_state_stops_mining_until_the_next_opt_in_without_duplicates(
    mined: Workspace, clock: SteppingClock, session: Transcript, wrong: bytes | str | None
) -> None:
    mined.close()
    for left in mined.home.state.glob("state.db*"):
        left.unlink()
    if isinstance(wrong, str):
        mined.home.state_file.mkdir()
    elif wrong is not None:
        mined.home.state_file.write_bytes(wrong)
    session.tells("two")
    try:
        schedule.mine_in_background(mined, session.path)
    except StateUnusable as problem:
        assert "`memem mine on` sets it aside and starts a new one" in str(problem)
    assert mine_status.mining_state(mined).problem
    assert [each.what for each in doctor.diagnose(mined) if each.state == BROKEN and each.what == "mining"] == [
        "mining"
    ]
    assert count_saved(mined) == once("one")
    clock.forward(hours=1)
    consent.opt_in(mined)
    assert mine_status.mining_state(mined).problem == ""
    schedule.mine_in_background(mined, session.path)
    assert count_saved(mined) == once("one")


def test_a_damaged_page_of_the_state_is_noticed_at_opt_in(mined: Workspace) -> None:
    mined.state.queue._connect().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    mined.close()
    data = bytearray(mined.home.state_file.read_bytes())
    data[PAGE * 3 : PAGE * 4] = bytes(PAGE)
    mined.home.state_file.write_bytes(data)
    mined.home.opt_in.unlink()
    consent.opt_in(mined)
    with closing(sqlite3.connect(mined.home.state_file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert Path(f"{mined.home.state_file}.damaged").exists()
