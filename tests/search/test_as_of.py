"""Memories that are valid now are shown unasked; those of another time are found on request."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memem.core.errors import InputError
from memem.core.memory import Memory
from memem.inject import session_start, slice
from memem.notes import write
from memem.search import database, find, pinned, refresh
from memem.search.database import MIGRATIONS
from memem.search.query import Scope
from memem.workspace import Workspace
from tests.fakes import SteppingClock

TODAY, YESTERDAY, TOMORROW = "2026-03-01", "2026-02-28", "2026-03-02"
"""By the clock of the tests it is nine in the morning."""
SIGNED = "Tokens of the gateway are signed with HS256."


def keep(ws: Workspace, number: int, body: str = SIGNED, **properties: object) -> Memory:
    """A memory of the shop, written down in January."""
    identity = f"{number:08d}-0000-4000-8000-000000000000"
    memory = Memory(identity, f"N{number}", f"{body} {number}", "shop", created="2026-01-10T09:00:00+01:00")
    memory = replace(memory, **{"updated": memory.created, **properties})  # type: ignore[arg-type]
    return write.keep(ws, memory).memory


def search_titles(ws: Workspace, as_of: str | None = None, query: str = "gateway tokens signed") -> set[str]:
    return {hit.title for hit in find.search(ws, query, as_of=as_of)}


def unasked(ws: Workspace) -> set[str]:
    return {hit.title for hit in find.rank_candidates(ws, "gateway tokens signed", "shop")}


# --- what holds now -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("properties", "shown"),
    [
        ({}, True),
        ({"valid_to": TODAY}, True),
        ({"valid_to": YESTERDAY}, False),
        ({"valid_to": "2026-03-01T08:59:00+01:00"}, False),
        ({"valid_to": "2026-03-01T09:01:00+01:00"}, True),
        ({"valid_from": TODAY}, True),
        ({"valid_from": TOMORROW}, False),
        ({"valid_from": "2026-03-01T09:01:00"}, False),
        ({"created": "2030-01-01T09:00:00+01:00"}, True),  # of a machine whose clock is wrong
        ({"valid_to": "never"}, True),
        ({"valid_from": TOMORROW, "valid_to": TOMORROW}, False),
    ],
)
def test_only_memories_valid_by_their_own_dates_are_injected(
    ws: Workspace, properties: dict[str, str], shown: bool
) -> None:
    keep(ws, 1, **properties)
    assert unasked(ws) == ({"N1"} if shown else set())
    assert search_titles(ws) == {"N1"}


def test_an_expired_memory_is_hidden_without_reindexing(ws: Workspace, clock: SteppingClock) -> None:
    keep(ws, 1, valid_to=TODAY)
    clock.forward(hours=15)
    assert not unasked(ws)


def test_a_slice_shows_only_valid_memories(ws: Workspace, tmp_path: Path) -> None:
    keep(ws, 1, valid_to=YESTERDAY)
    keep(ws, 2)
    shown = slice.build_slice(ws, "with what are gateway tokens signed, HS256?", cwd=tmp_path, project="shop")
    assert [hit.title for hit in shown.hits] == ["N2"]


def test_pinned_notes_and_conventions_are_valid_ones(ws: Workspace) -> None:
    for number, layer in enumerate((0, 1, 2, 0, 1, 2), 1):
        keep(ws, number, layer=layer, importance=5, **({"valid_to": YESTERDAY} if number > 3 else {}))
    assert [entry.title for entry in pinned.pinned(ws, "shop")] == ["N1"]
    assert [entry.title for entry in pinned.conventions(ws, "shop")] == ["N2"]
    assert pinned.count_in_force(ws, "shop") == 3


def test_after_a_compaction_only_valid_memories_are_shown_again(
    ws: Workspace, clock: SteppingClock, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    ids = [keep(ws, 1, valid_to=TODAY).id, keep(ws, 2).id]
    ws.contexts.add("s1", ids, clock.ticks())
    clock.forward(days=1)
    briefing = session_start.brief(ws, cwd=folder, session="s1", source="compact")
    assert ("HS256. 1" in briefing, "HS256. 2" in briefing) == (False, True)


def test_file_notes_show_only_valid_memories(ws: Workspace) -> None:
    keep(ws, 1, paths=("src/auth.py",), valid_to=YESTERDAY)
    keep(ws, 2, paths=("src/auth.py",))
    assert [entry.title for entry in find.find_about_file(ws, "src/auth.py", "shop")] == ["N2"]


# --- what held then -----------------------------------------------------------------------------------------------


@pytest.fixture
def thread(ws: Workspace) -> Workspace:
    """Three that replaced each other, and one that was archived."""
    keep(ws, 1, status="deprecated", superseded_by="[[n2-00000002]]", valid_to="2026-01-31T12:00:00+01:00")
    keep(
        ws,
        2,
        valid_from="2026-01-31T12:00:00+01:00",
        status="deprecated",
        supersedes="[[n1-00000001]]",
        superseded_by="[[n3-00000003]]",
        updated="2026-02-20T09:00:00+01:00",
    )
    keep(ws, 3, created="2026-02-20T09:00:00+01:00", supersedes="[[n2-00000002]]")
    keep(ws, 4, layer=3, valid_to="2026-02-10")
    return ws


@pytest.mark.parametrize(
    ("then", "titles"),
    [
        ("2026-01-09", set()),
        ("2026-01-10", {"N1", "N4"}),
        ("2026-01-31T11:59:59+01:00", {"N1", "N4"}),
        ("2026-01-31T11:00:00Z", {"N2", "N4"}),
        ("2026-01-31", {"N2", "N4"}),
        ("2026-02-10", {"N2", "N4"}),
        ("2026-02-11", {"N2"}),
        ("2026-02-20T08:59:59+01:00", {"N2"}),
        ("2026-02-20", {"N3"}),
        ("2030-01-01", {"N3"}),
        ("yesterday", {"N3"}),
        ("last month", {"N3"}),
        ("in January", {"N2", "N4"}),
        ("January 2026", {"N2", "N4"}),
        ("last year", set()),
    ],
)
def test_a_search_as_of_a_time_finds_memories_held_true_then(thread: Workspace, then: str, titles: set[str]) -> None:
    assert search_titles(thread, then) == titles


def test_without_a_time_all_are_found(thread: Workspace) -> None:
    assert search_titles(thread) == {"N1", "N2", "N3", "N4"}


def test_a_memory_without_a_start_was_always_held_true(ws: Workspace, memories: Path) -> None:
    keep(ws, 1)
    (memories / "own.md").write_text("The gateway tokens are signed by hand.")
    refresh.refresh(ws)
    assert search_titles(ws, "2020-01-01") == {"own"}


def test_a_quarantined_memory_was_never_held_true(ws: Workspace) -> None:
    keep(ws, 1, status="quarantined")
    assert search_titles(ws, TODAY) == set()


def test_a_deprecated_memory_was_held_true_until_then(ws: Workspace, memories: Path, clock: SteppingClock) -> None:
    keep(ws, 1)
    clock.forward(days=10)
    write.edit(ws, "00000001", status="deprecated")
    assert (search_titles(ws, "2026-03-10"), search_titles(ws, "2026-03-11")) == ({"N1"}, set())


def test_later_changes_do_not_count_as_of_then(ws: Workspace) -> None:
    aside = {"status": "deprecated", "valid_to": TODAY, "superseded_by": "[[n2-00000002]]"}
    keep(ws, 1, **aside)
    keep(ws, 2, supersedes="[[n1-00000001]]")
    now = {hit.title: hit.score for hit in find.search(ws, "gateway tokens signed")}
    then = {hit.title: hit.score for hit in find.search(ws, "gateway tokens signed", as_of="2026-02-01")}
    assert now["N1"] < now["N2"]
    assert then["N1"] == then["N2"]


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "since March", "the day the shop opened"])
def test_an_invalid_time_is_refused_with_advice(ws: Workspace, text: str) -> None:
    keep(ws, 1)
    with pytest.raises(InputError, match=r"is not a date; use 2026-06-01"):
        search_titles(ws, text)


# --- in the index -------------------------------------------------------------------------------------------------


def test_an_old_index_is_migrated_and_refilled(ws: Workspace) -> None:
    keep(ws, 1, valid_to=YESTERDAY)
    ws.close()
    ws.index_file.unlink()
    with closing(database.connect(ws.index_file, MIGRATIONS[:2])) as old:
        old.execute("INSERT INTO meta VALUES ('built_for', 'a memem of before')")
        old.execute("INSERT INTO notes (path, mtime, ctime, size, digest) VALUES ('x.md', 1, 1, 1, 'x')")
    refresh.refresh(ws)
    (row,) = ws.index.rows()
    assert row.memory
    assert row.stated.ends == row.held.ends
    assert row.held.begins
    with closing(sqlite3.connect(ws.index_file)) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert not unasked(ws)


def test_a_rebuilt_index_gives_the_same_results(thread: Workspace) -> None:
    before = [(row.path, row.stated, row.held) for row in thread.index.rows("1 ORDER BY path")]
    thread.close()
    thread.index_file.unlink()
    refresh.refresh(thread)
    assert [(row.path, row.stated, row.held) for row in thread.index.rows("1 ORDER BY path")] == before


def test_a_scope_can_combine_now_and_as_of(thread: Workspace) -> None:
    scope = Scope(
        ("shop",), archive=True, now=thread.clock().timestamp(), as_of=find.parse_moment(thread, "2026-02-05")
    )
    conditions, values = database.scope_conditions(scope)
    assert thread.index.count_where(f"1{conditions}", values) == 1


# --- when the successor is gone -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "shown"), [("active", {"N2"}), ("deprecated", set()), ("stale", set())])
def test_the_last_of_a_broken_chain_is_shown_unless_deprecated(
    ws: Workspace, tmp_path: Path, status: str, shown: set[str]
) -> None:
    keep(ws, 1, superseded_by="[[n2-00000002]]")
    keep(ws, 2, "Something else entirely.", superseded_by="[[gone-99999999]]", status=status)
    prompt = "with what are the gateway tokens signed, HS256?"
    assert {hit.title for hit in slice.build_slice(ws, prompt, cwd=tmp_path, project="shop").hits} == shown


def test_an_expired_successor_is_not_shown(ws: Workspace, tmp_path: Path) -> None:
    keep(ws, 1, superseded_by="[[n2-00000002]]")
    keep(ws, 2, "Something else entirely.", valid_to=YESTERDAY)
    prompt = "with what are the gateway tokens signed, HS256?"
    assert not slice.build_slice(ws, prompt, cwd=tmp_path, project="shop").hits
