"""Full-text search: exact identifiers and their parts, natural questions, every script, and only what may be seen."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memem.core import sqlite
from memem.core.errors import Busy, HomeError, IndexDamaged
from memem.core.memory import Memory
from memem.search import fulltext
from memem.search.fulltext import MIN_COMMON
from memem.search.notes import NoteIndex, NoteRow
from memem.search.query import Scope, SearchMatches, Term

STAMP = (1, 2, 3)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[NoteIndex]:
    opened = NoteIndex(tmp_path / "cache" / "index.db")
    yield opened
    opened.close()


def row(name: str, body: str = "", **fields: Any) -> NoteRow:
    """The row of a note whose path and id are its name."""
    return NoteRow(f"memories/{name}.md", STAMP, f"digest of {body}", Memory(id=name, title="", body=body, **fields))


def fill(index: NoteIndex, *rows: NoteRow, **bodies: str) -> None:
    index.update([*rows, *(row(name, body) for name, body in bodies.items())])


def search(
    index: NoteIndex, query: str, *, projects: list[str] | None = None, limit: int = 50, archive: bool = False
) -> SearchMatches:
    scope = Scope(None if projects is None else tuple(projects), archive)
    answer = index.search_words(query, scope, limit)
    held = index.read_matched(list(answer.scores), answer, scope)
    matches = sorted(index.combine_matches(answer, {}, scope, held), key=lambda match: (-match.bm25, match.path))
    return SearchMatches(tuple(matches[:limit]), answer.frequencies, answer.notes)


def names(index: NoteIndex, query: str, **options: Any) -> list[str]:
    return [match.memory.id for match in search(index, query, **options).matches]


def test_a_long_note_is_found_by_a_name_among_shorter_ones(index: NoteIndex) -> None:
    for number in range(60):
        fill(index, **{f"short{number}": f"The red fox, the lazy dog, and number {number}."})
    fill(index, long="Nothing of interest. " * 500 + "OPS-4821 was about a fox.")
    assert "long" in names(index, "what about the red fox and the lazy dog in OPS-4821", limit=20, archive=True)


# --- identifiers --------------------------------------------------------------------------------------------------

NOTES = {
    "pool": "Set PGBOUNCER_POOL_MODE to transaction in production.",
    "ledger": "ledger_sync.py must run before midnight.",
    "release": "v3.3.0 broke the importer.",
    "ticket": "OPS-4821 is the outage of the login page.",
    "oracle": "ORA-00942 means that the grant is missing.",
    "token": "Signing lives in src/auth/token.py and nowhere else.",
    "account": "getUserName returns None for guests.",
    "cpp": "The parser is written in C++ for speed.",
    "coffee": "The café closes at six.",
    "chinese": "数据库连接池的大小是二十。",
    "korean": "데이터베이스를 재시작한다.",
    "japanese": "日本語のAPIキーは金庫にある。",
    "thai": "ฐานข้อมูลสำรองทุกคืน",
    "persian": "پایگاه داده هر شب پشتیبان می‌گیرد",
    "hindi": "डेटाबेस हर रात सहेजा जाता है",
}


@pytest.fixture
def filled(index: NoteIndex) -> NoteIndex:
    fill(index, **NOTES)
    return index


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("PGBOUNCER_POOL_MODE", "pool"),
        ("pgbouncer_pool_mode", "pool"),
        ("pgbouncer", "pool"),
        ("pool mode", "pool"),
        ("ledger_sync.py", "ledger"),
        ("ledger sync", "ledger"),
        ("v3.3.0", "release"),
        ("3.3.0", "release"),
        ("OPS-4821", "ticket"),
        ("ops 4821", "ticket"),
        ("4821", "ticket"),
        ("ORA-00942", "oracle"),
        ("src/auth/token.py", "token"),
        ("token.py", "token"),
        ("auth", "token"),
        ("getUserName", "account"),
        ("user name", "account"),
        ("C++", "cpp"),
        ("parsers", "cpp"),
        ("signed", "token"),
        ("How do we sign our tokens?", "token"),
        ("what is the mode of the pool supposed to be in production", "pool"),
        ("Why was the login page down?", "ticket"),
        ("café", "coffee"),
        ("CAFE", "coffee"),
        ("数据库", "chinese"),
        ("连接池", "chinese"),
        ("池", "chinese"),
        ("数", "chinese"),
        ("데이터베이스", "korean"),
        ("재시작", "korean"),
        ("金庫", "japanese"),
        ("APIキー", "japanese"),
        ("ฐานข้อมูล", "thai"),
        ("پشتیبان", "persian"),
        ("می‌گیرد", "persian"),
        ("डेटाबेस", "hindi"),
    ],
)
def test_a_query_finds_its_note_first(filled: NoteIndex, query: str, expected: str) -> None:
    assert names(filled, query)[:1] == [expected]


@pytest.mark.parametrize("query", ["", "  ", "how do we do it", "hi", "ok thanks", "zebra", "数学", "?!", '"'])
def test_a_query_that_asks_for_nothing_that_is_there_finds_nothing(filled: NoteIndex, query: str) -> None:
    assert names(filled, query) == []


def test_accents_are_folded_both_ways(index: NoteIndex) -> None:
    fill(index, plain="the cafe", accented="the café")
    assert set(names(index, "cafe")) == set(names(index, "café")) == {"plain", "accented"}


@pytest.mark.parametrize(
    ("fields", "query"),
    [
        ({"keys": ("connection reset",)}, "reset"),
        ({"tags": ("kubernetes",)}, "kubernetes"),
        ({"paths": ("src/billing/**",)}, "billing"),
        ({"project": "storefront"}, "storefront"),
    ],
)
def test_keys_tags_paths_and_the_project_are_words_too(index: NoteIndex, fields: dict[str, Any], query: str) -> None:
    fill(index, row("it", "nothing of this", **fields), row("other", "else"))
    assert names(index, query) == ["it"]


def test_a_word_in_the_title_weighs_more_than_one_in_the_body(index: NoteIndex) -> None:
    in_title = Memory(id="title", title="zebra", body="one two three four")
    in_body = Memory(id="body", title="one", body="zebra two three four")
    index.update([NoteRow("a.md", STAMP, "", in_body), NoteRow("b.md", STAMP, "", in_title)])
    assert names(index, "zebra") == ["title", "body"]


# --- common words -------------------------------------------------------------------------------------------------


def fill_with_common(index: NoteIndex, count: int = 100) -> None:
    fill(index, **{f"note{number}": "deploy the service" for number in range(count)})


def test_a_common_word_is_dropped_when_a_rarer_one_is_there(index: NoteIndex) -> None:
    fill_with_common(index)
    fill(index, zebra="zebra")
    assert names(index, "deploy zebra") == ["zebra"]


def test_a_common_word_alone_is_searched_for(index: NoteIndex) -> None:
    fill_with_common(index)
    assert len(names(index, "deploy")) == 50


def test_a_common_word_counts_when_the_rarer_one_occurs_nowhere(index: NoteIndex) -> None:
    fill_with_common(index)
    assert len(names(index, "deploy zebra")) == 50


def test_a_common_word_counts_when_the_rarer_one_is_out_of_scope(
    index: NoteIndex,
) -> None:
    fill_with_common(index)
    fill(index, row("elsewhere", "zebra", project="other"))
    assert len(names(index, "deploy zebra", projects=["general"])) == 50


def test_a_search_can_be_limited_to_the_rarest_words(index: NoteIndex) -> None:
    fill(index, one="walrus harbour", two="harbour pier", three="pier harbour ice", four="ice pier")
    answer = index.search_words("harbour pier walrus ice", Scope(), 10, max_terms=2)
    assert [term.text for term in answer.terms] == ["walrus", "ice"]
    assert len(answer.scores) == 3
    assert len(index.search_words("harbour pier walrus ice", Scope(), 10).scores) == 4


def test_words_that_stand_only_elsewhere_give_way_to_others(index: NoteIndex) -> None:
    fill(index, row("here", "harbour pier", project="a"), row("there", "walrus harbour pier", project="b"))
    fill(index, row("again", "harbour pier", project="b"))
    answer = index.search_words("walrus harbour pier", Scope(("a",)), 10, max_terms=1)
    assert len(answer.scores) == 1


def test_nothing_is_common_among_few_notes(index: NoteIndex) -> None:
    fill_with_common(index, MIN_COMMON - 1)
    fill(index, both="deploy a zebra")
    assert len(names(index, "deploy zebra")) == MIN_COMMON


# --- what may be seen ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("projects", "expected"),
    [
        (None, {"shop", "ledger", "general"}),
        (["shop"], {"shop"}),
        (["shop", "general"], {"shop", "general"}),
        (["nowhere"], set()),
        ([], set()),
        (["shop' OR '1'='1"], set()),
    ],
)
def test_a_search_is_limited_to_the_given_projects(
    index: NoteIndex, projects: list[str] | None, expected: set[str]
) -> None:
    fill(index, *(row(project, "zebra", project=project) for project in ("shop", "ledger", "general")))
    assert set(names(index, "zebra", projects=projects)) == expected


@pytest.mark.parametrize(
    ("fields", "seen", "seen_in_archive"),
    [
        ({}, True, True),
        ({"layer": 0}, True, True),
        ({"layer": 3}, False, True),
        ({"status": "deprecated"}, False, True),
        ({"status": "stale"}, False, True),
        ({"status": "quarantined"}, False, False),
    ],
)
def test_inactive_notes_are_found_only_in_the_archive_and_quarantined_never(
    index: NoteIndex, fields: dict[str, Any], seen: bool, seen_in_archive: bool
) -> None:
    fill(index, row("it", "zebra", **fields))
    assert bool(names(index, "zebra")) == seen
    assert bool(names(index, "zebra", archive=True)) == seen_in_archive


def test_an_unreadable_note_is_indexed_and_never_found(index: NoteIndex) -> None:
    index.update([NoteRow("memories/zebra.md", STAMP, "", None, problem="its frontmatter is not closed")])
    assert names(index, "zebra", archive=True) == []
    assert index.count() == 0
    unread = index.by_path("memories/zebra.md")
    assert unread is not None
    assert (unread.memory, unread.problem) == (None, "its frontmatter is not closed")


# --- what a search tells ------------------------------------------------------------------------------------------


def test_a_match_has_its_path_and_its_terms(index: NoteIndex) -> None:
    fill(index, both="zebra with stripes", one="zebra")
    both, one = search(index, "striped zebra unicorn").matches
    assert (both.memory.id, one.memory.id) == ("both", "one")
    assert both.terms == (Term("striped"), Term("zebra"))
    assert one.terms == (Term("zebra"),)
    assert (one.path, one.stamp, one.memory) == ("memories/one.md", STAMP, row("one", "zebra").memory)
    assert both.bm25 > one.bm25 > 0


def test_a_search_returns_the_frequency_of_each_word(index: NoteIndex) -> None:
    fill(index, a="zebra stripes", b="zebra", c="lion")
    found = search(index, "zebra stripes unicorn")
    assert found.frequencies == {Term("zebra"): 2, Term("stripes"): 1, Term("unicorn"): 0}
    assert found.notes == 3


def test_frequencies_are_returned_without_matches(index: NoteIndex) -> None:
    fill(index, a="zebra")
    assert search(index, "unicorn") == SearchMatches((), {Term("unicorn"): 0}, 1)


def test_a_memory_is_read_back_unchanged(index: NoteIndex) -> None:
    memory = Memory(
        id="3f2c9a1e-7",
        title='A "quoted" title',
        body="zebra\n\n- a list\n- ünï 数据",
        project="shop",
        kind="decision",
        tags=("memem", "shop"),
        layer=1,
        importance=5,
        keys=("a", "b"),
        paths=("src/**",),
        related=("[[x]]",),
        created="2026-03-01T09:00:00+01:00",
        confidence=0.5,
        evidence="they said so",
    )
    index.update([NoteRow("a.md", STAMP, "d", memory, fingerprint="f")])
    assert search(index, "zebra").matches[0].memory == memory
    assert index.by_path("a.md") == NoteRow("a.md", STAMP, "d", memory, fingerprint="f")


def test_a_search_gives_no_more_than_its_limit_and_the_best_ones(index: NoteIndex) -> None:
    fill(index, a="zebra and much else that is said here", b="zebra", c="zebra zebra")
    best = names(index, "zebra")
    assert len(best) == 3
    assert names(index, "zebra", limit=2) == best[:2]


def test_the_order_of_saving_does_not_change_the_order_of_finding(tmp_path: Path) -> None:
    bodies = {f"note{number}": f"zebra {'stripes' if number % 3 else 'hooves'}" for number in range(12)}
    orders = []
    for number, ordered in enumerate((bodies, dict(reversed(bodies.items())))):
        index = NoteIndex(tmp_path / str(number) / "index.db")
        fill(index, **ordered)
        orders.append(names(index, "zebra stripes"))
        index.close()
    assert orders[0] == orders[1]
    assert len(orders[0]) == 12


# --- any query, any word ------------------------------------------------------------------------------------------

SYNTAX = ['"', '" OR NEAR( * ^ : - )', "title:x", "NEAR(a b)", "a*", "^a", "-a", "a AND NOT b", "(", "'", "a\0b", "\\"]


@given(st.one_of(st.text(st.characters(), max_size=80), st.lists(st.sampled_from(SYNTAX), max_size=6).map(" ".join)))
@example("ـ")
@example("\ufdfa\ud800")
def test_any_query_is_answered(filled: NoteIndex, query: str) -> None:
    found = search(filled, query, archive=True)
    assert all(match.terms for match in found.matches)
    assert all(set(match.terms) <= set(found.frequencies) for match in found.matches)


@pytest.mark.parametrize("query", ['"zebra"', "zebra*", "NOT zebra", "zebra OR", "-zebra", "^zebra", "NEAR(zebra)"])
def test_the_syntax_of_the_full_text_index_means_nothing_in_a_query(index: NoteIndex, query: str) -> None:
    fill(index, it="a zebra", other="a lion")
    assert names(index, query) == ["it"]


@given(st.text(st.characters(categories=["L"]), min_size=1, max_size=10))
def test_a_note_is_found_by_any_word_in_it_that_means_something(index: NoteIndex, word: str) -> None:
    index.update([row("it", f"before {word} after")])
    if any(term.text.strip() for term in fulltext.query_terms(word, 32)):
        assert names(index, word) == ["it"]


# --- keeping up with the vault ------------------------------------------------------------------------------------


def test_an_updated_note_is_found_by_its_new_words_only(index: NoteIndex) -> None:
    fill(index, it="zebra")
    fill(index, it="lion")
    assert (names(index, "zebra"), names(index, "lion")) == ([], ["it"])
    assert index.count() == 1


def test_a_deleted_note_is_not_found(index: NoteIndex) -> None:
    fill(index, it="zebra", other="zebra")
    index.update([], gone=["memories/it.md", "memories/never-there.md"])
    assert names(index, "zebra") == ["other"]
    assert index.by_path("memories/it.md") is None


def test_a_moved_note_is_found_once_at_its_new_place(index: NoteIndex) -> None:
    fill(index, it="zebra")
    moved = NoteRow("elsewhere/it.md", STAMP, "d", row("it", "zebra").memory)
    index.update([moved], gone=["memories/it.md"])
    assert [match.path for match in search(index, "zebra").matches] == ["elsewhere/it.md"]


def test_a_note_that_became_unreadable_is_not_found(index: NoteIndex) -> None:
    fill(index, it="zebra")
    index.update([NoteRow("memories/it.md", STAMP, "", None, problem="half-typed")])
    assert names(index, "zebra") == []
    assert index.by_id("it") == []


def test_an_update_that_fails_changes_nothing(index: NoteIndex) -> None:
    fill(index, it="zebra", other="zebra")
    unfit = row("unfit", tags=(object(),))  # no such thing as JSON
    with pytest.raises(TypeError):
        index.update([row("it", "lion"), unfit], gone=["memories/other.md"])
    assert (names(index, "zebra"), names(index, "lion")) == (["it", "other"], [])


def test_a_new_stamp_changes_nothing_else(index: NoteIndex) -> None:
    fill(index, it="zebra", other="lion")
    before = index.stamps()
    index.restamp([NoteRow("memories/it.md", (7, 8, 9), "ignored", None)])
    assert index.stamps() == before | {"memories/it.md": ((7, 8, 9), "digest of zebra")}
    assert names(index, "zebra") == ["it"]


def test_one_connection_finds_rows_written_by_another(index: NoteIndex) -> None:
    other = NoteIndex(index.path)
    fill(index, it="zebra")
    assert names(other, "zebra") == ["it"]
    other.close()


def test_an_index_created_for_another_vault_is_emptied(index: NoteIndex) -> None:
    index.reset_for("one vault")
    fill(index, it="zebra")
    index.set_meta("built_for", "x")
    index.reset_for("another vault")
    assert (index.count(), index.stamps(), index.meta("built_for"), names(index, "zebra")) == (0, {}, "", [])
    fill(index, it="zebra")
    assert names(index, "zebra") == ["it"]


def test_an_index_another_process_is_filling_is_not_emptied(index: NoteIndex) -> None:
    index.reset_for("one vault")
    fill(index, it="zebra")
    other = NoteIndex(index.path)
    other.reset_for("one vault")
    assert names(other, "zebra") == ["it"]
    other.close()


@pytest.mark.parametrize("one", ["alias", "status", "bus", "virus", "canvas", "class", "process", "test"])
def test_singular_and_plural_find_each_other(index: NoteIndex, one: str) -> None:
    many = one + ("es" if one.endswith("s") else "s")
    fill(index, single=f"the {one} here", several=f"the {many} here")
    assert set(names(index, one)) == set(names(index, many)) == {"single", "several"}


def test_metadata_of_the_index_is_stored(index: NoteIndex) -> None:
    assert index.meta("built_for") == ""
    for value in ("one", "two", "two"):
        index.set_meta("built_for", value)
        assert index.meta("built_for") == value


# --- by id --------------------------------------------------------------------------------------------------------


def ids(rows: list[NoteRow]) -> list[str]:
    return [each.memory.id for each in rows if each.memory]


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("3f2c9a1e-aaaa", ["3f2c9a1e-aaaa"]),
        ("3f2c9a1e", ["3f2c9a1e-aaaa", "3f2c9a1e-bbbb"]),
        ("3f2c", ["3f2c9a1e-aaaa", "3f2c9a1e-bbbb", "3f2cffff-cccc"]),
        ("3f2cf", ["3f2cffff-cccc"]),
        ("abcdefgh", ["abcdefgh"]),
        ("abcdefgh-", ["abcdefgh-longer"]),
        ("abcd", ["abcdefgh", "abcdefgh-longer"]),
        ("9999", []),
        ("%", []),
        ("3f2c_a1e", []),
    ],
)
def test_a_note_is_found_by_the_start_of_its_id(index: NoteIndex, prefix: str, expected: list[str]) -> None:
    known = ("3f2c9a1e-bbbb", "3f2c9a1e-aaaa", "3f2cffff-cccc", "abcdefgh-longer", "abcdefgh", "00000000-dddd")
    fill(index, *(row(name) for name in known))
    assert ids(index.by_id(prefix)) == expected


def test_two_files_with_one_id_are_both_found(index: NoteIndex) -> None:
    twin = row("3f2c9a1e-aaaa", "zebra").memory
    index.update([NoteRow("b.md", STAMP, "", twin), NoteRow("a.md", STAMP, "", twin)])
    assert [each.path for each in index.by_id("3f2c9a1e-aaaa")] == ["a.md", "b.md"]


def test_a_note_is_found_by_the_fingerprint_of_its_statement(index: NoteIndex) -> None:
    index.update([NoteRow("a.md", STAMP, "", row("it", "zebra").memory, fingerprint="f")])
    assert ids(index.by_fingerprint("f")) == ["it"]
    assert index.by_fingerprint("g") == []


# --- damage -------------------------------------------------------------------------------------------------------


def damage(index: NoteIndex, statement: str) -> None:
    """Change the file behind the index's back."""
    connection = sqlite3.connect(index.path)
    with connection:
        connection.execute(statement)
    connection.close()


def test_a_sound_index_passes_the_check(filled: NoteIndex) -> None:
    filled.check()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM words_data WHERE id > 10",
        "DELETE FROM words_content",
        "UPDATE words_content SET c2 = 'something else'",
        "DELETE FROM words",
        "DELETE FROM words WHERE rowid = 1",
        "DELETE FROM notes WHERE row = 1",
    ],
)
def test_words_that_no_longer_belong_to_the_notes_are_detected(filled: NoteIndex, statement: str) -> None:
    damage(filled, statement)
    with pytest.raises(IndexDamaged, match="memem index rebuild"):
        filled.check()


def test_a_lost_table_is_damage_in_every_method(filled: NoteIndex) -> None:
    damage(filled, "DROP TABLE notes")
    damage(filled, "DROP TABLE memories")
    damage(filled, "DROP TABLE words")
    for use in (filled.count, filled.stamps, lambda: names(filled, "zebra"), lambda: filled.by_id("zebra")):
        with pytest.raises(IndexDamaged, match="memem index rebuild"):
            use()


def test_an_index_that_another_process_is_writing_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_MILLISECONDS", 0)
    index = NoteIndex(tmp_path / "cache" / "index.db")
    fill(index, it="zebra")
    other = sqlite3.connect(index.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match="Try again"):
        fill(index, it="lion")
    assert names(index, "zebra") == ["it"], "readers do not wait"
    other.close()
    index.close()


def test_a_full_disk_is_reported_and_leaves_the_index_unchanged(index: NoteIndex) -> None:
    fill(index, it="zebra")
    pages = index._connection.execute("PRAGMA page_count").fetchone()[0]
    index._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(HomeError, match="full"):
        fill(index, it="lion", **{f"note{number}": "a long story " * 500 for number in range(20)})
    assert (names(index, "zebra"), names(index, "lion")) == (["it"], [])
