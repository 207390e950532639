"""The index of turns: each once, in its place, within a limit."""

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memem.core import sqlite
from memem.core.conversation import ReadSession
from memem.core.errors import Busy, IndexDamaged, IndexTooNew
from memem.search import fulltext
from memem.search.transcripts import turns
from memem.search.transcripts.turns import IndexedTurn, TurnIndex, TurnMatch


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "turns" / "turns.db"


@pytest.fixture
def index(path: Path) -> Iterator[TurnIndex]:
    opened = TurnIndex(path)
    yield opened
    opened.close()


def make_turn(
    uuid: str, text: str = "", *, moment: float = 0.0, position: int = 0, project: str = "shop"
) -> IndexedTurn:
    """A turn whose text is its uuid, unless it is given one."""
    return IndexedTurn(uuid, "human", "2026-03-01T09:00:00Z", project, text or uuid, moment, position)


def fill(index: TurnIndex, session: str, *spoken: IndexedTurn) -> int:
    return index.add(ReadSession(session, f"/srv/{session}.jsonl"), spoken)


def find_matches(index: TurnIndex, query: str, limit: int = 10, project: str | None = None) -> list[TurnMatch]:
    return index.search(query, limit, project)[1]


def uuids(index: TurnIndex, query: str, limit: int = 10, project: str | None = None) -> list[str]:
    return [match.turn.uuid for match in find_matches(index, query, limit, project)]


def around(match: TurnMatch) -> tuple[str, str]:
    """The neighbours' texts, empty where there is none."""
    return match.before.text if match.before else "", match.after.text if match.after else ""


# --- finding ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query", ["pool", "PGBOUNCER_POOL_MODE", "pgbouncer_pool_mode", "restart", "the restarting of it"]
)
def test_turn_matches_identifiers_their_parts_and_inflected_words(index: TurnIndex, query: str) -> None:
    fill(
        index,
        "s1",
        make_turn("a", "We restarted it after setting PGBOUNCER_POOL_MODE."),
        make_turn("b", "Good morning."),
    )
    assert uuids(index, query) == ["a"]


@pytest.mark.parametrize("query", ["数据库", "库", "連線"])
def test_a_turn_in_a_script_without_spaces_is_found(index: TurnIndex, query: str) -> None:
    fill(index, "s1", make_turn("a", "我们把数据库換成新的連線池"), make_turn("b", "今天天气很好"))
    assert uuids(index, query) == ["a"]


def test_any_query_word_matches_and_rarer_words_count_more(index: TurnIndex) -> None:
    fill(index, "s1", make_turn("common", "the fox ran"), make_turn("rare", "the badger slept"))
    fill(index, "s1", *(make_turn(f"n{number}", "another fox") for number in range(5)))
    assert uuids(index, "fox or badger?")[0] == "rare"
    assert "common" in uuids(index, "fox or badger?")


def test_later_turn_wins_a_tie(index: TurnIndex) -> None:
    fill(index, "s1", make_turn("early", "a fox", moment=1.0), make_turn("late", "a fox", moment=2.0))
    assert uuids(index, "fox") == ["late", "early"]


def test_query_of_stop_words_finds_nothing(index: TurnIndex) -> None:
    fill(index, "s1", make_turn("a", "what is it"))
    assert uuids(index, "what is it") == []


def test_limit_applies_to_ties(index: TurnIndex) -> None:
    fill(index, "s1", *(make_turn(f"n{number}", "a fox") for number in range(9)))
    assert len(find_matches(index, "fox", limit=4)) == 4


def test_search_can_be_limited_to_a_project(index: TurnIndex) -> None:
    fill(index, "s1", make_turn("a", "a fox"), make_turn("b", "a fox", project="zoo"))
    assert uuids(index, "fox", project="zoo") == ["b"]
    assert uuids(index, "fox", project="elsewhere") == []


# --- places -------------------------------------------------------------------------------------------------------


def test_neighbours_are_ordered_by_time_then_position(index: TurnIndex) -> None:
    early, late = make_turn("early", moment=1.0, position=90), make_turn("late", moment=3.0, position=10)
    first, second = make_turn("first", "one fox", moment=2.0, position=40), make_turn("second", moment=2.0, position=50)
    fill(index, "s1", late, second, first, early)
    fill(index, "s2", make_turn("elsewhere", moment=2.0, position=45))
    (match,) = find_matches(index, "fox")
    assert (match.session, match.path) == ("s1", "/srv/s1.jsonl")
    assert around(match) == ("early", "second")


def test_first_and_last_turn_lack_a_neighbour(index: TurnIndex) -> None:
    fill(index, "s1", make_turn("fox"))
    assert around(find_matches(index, "fox")[0]) == ("", "")


def test_turn_added_again_moves(index: TurnIndex) -> None:
    assert fill(index, "s1", make_turn("fox", position=5), make_turn("hen", position=9)) == 2
    assert fill(index, "s1", make_turn("fox", position=15), make_turn("hen", position=9)) == 0
    assert index.count() == 2
    assert around(find_matches(index, "fox")[0]) == ("hen", "")


def test_turn_shared_by_forks_is_found_once_with_neighbours_in_both(index: TurnIndex) -> None:
    shared = make_turn("fox", moment=1.0)
    fill(index, "origin", shared, make_turn("hen", moment=2.0))
    assert fill(index, "fork", shared, make_turn("goose", moment=2.0)) == 1
    (match,) = find_matches(index, "fox")
    assert match.session == "origin"
    assert around(match) == ("", "hen")
    assert around(find_matches(index, "goose")[0]) == ("fox", "")


def test_session_progress_is_stored(index: TurnIndex) -> None:
    reading = ReadSession("s1", "/srv/s1.jsonl", 1, 2, "abc", False, 3, 4)
    index.add(reading)
    assert index.get_session("s1") == reading
    assert index.get_session("s2") is None
    assert index.list_sessions() == {"s1": reading}


# --- room ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(path: Path) -> Iterator[TurnIndex]:
    """One with room for twenty turns."""
    opened = TurnIndex(path, most=20)
    yield opened
    opened.close()


def numbered(name: str, moment: float, count: int) -> list[IndexedTurn]:
    return [make_turn(f"{name}{number}", f"{name} fox", moment=moment, position=number) for number in range(count)]


def test_oldest_sessions_are_pruned(small: TurnIndex) -> None:
    for name, moment in (("middle", 2.0), ("old", 1.0), ("new", 3.0)):
        fill(small, name, *numbered(name, moment, 8))
    assert small.count() == 16
    assert uuids(small, "old") == []
    assert len(uuids(small, "middle")) == 8


def test_pruned_session_keeps_its_progress(small: TurnIndex) -> None:
    for moment, name in enumerate(("one", "two", "three")):
        fill(small, name, *numbered(name, float(moment), 8))
    assert small.list_sessions().keys() == {"one", "two", "three"}


def test_shared_turn_survives_pruning(small: TurnIndex) -> None:
    old = numbered("old", 1.0, 8)
    fill(small, "origin", *old)
    fill(small, "fork", old[0], *numbered("fork", 2.0, 8))
    fill(small, "third", *numbered("third", 3.0, 8))
    assert [(match.turn.uuid, match.session) for match in find_matches(small, "old")] == [("old0", "fork")]


def test_latest_session_is_never_pruned(small: TurnIndex) -> None:
    fill(small, "old", *numbered("old", 1.0, 5))
    fill(small, "new", *numbered("new", 2.0, 30))
    assert small.count() == 30


def test_new_session_older_than_all_others_is_pruned(small: TurnIndex) -> None:
    fill(small, "new", *numbered("new", 2.0, 18))
    fill(small, "history", *numbered("history", 1.0, 8))
    assert uuids(small, "history") == []
    assert len(uuids(small, "new", limit=50)) == 18


# --- the file -----------------------------------------------------------------------------------------------------


def test_index_file_is_private(index: TurnIndex, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_file_that_is_not_a_database_is_damaged(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database" * 1_000)
    with pytest.raises(IndexDamaged, match=r"The index of sessions .*turns\.db is damaged"):
        TurnIndex(path)


def test_old_file_is_migrated_for_other_languages(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(turns, "MIGRATIONS", turns.MIGRATIONS[:1])
        before.setattr(fulltext, "index_text", str.lower)
        with closing(TurnIndex(path)) as old:
            fill(old, "s1", make_turn("a", "Gałąź wydania"), make_turn("b", "The release branch"))
            assert uuids(old, "galaz") == []
    with closing(TurnIndex(path)) as index:
        assert (uuids(index, "galaz"), uuids(index, "branch"), index.count()) == (["a"], ["b"], 2)


def test_file_of_a_newer_version_is_left_alone(path: Path) -> None:
    TurnIndex(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(IndexTooNew, match="Upgrade memem"):
        TurnIndex(path)


def test_locked_index_raises_busy(index: TurnIndex, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memem.core.sqlite.BUSY_MILLISECONDS", 0)
    with closing(TurnIndex(path)) as other, closing(sqlite3.connect(path)) as writing:
        writing.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy, match="index of sessions"):
            fill(other, "s1", make_turn("fox"))
    assert index.count() == 0


def test_deleted_index_leaves_no_files(path: Path) -> None:
    index = TurnIndex(path)
    fill(index, "s1", make_turn("fox"))
    assert len(list(path.parent.iterdir())) == 3
    sqlite.drop(path)
    index.close()
    sqlite.drop(path)
    assert list(path.parent.iterdir()) == []
