"""Search, get and list."""

from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from memem.core.errors import InputError, NotFound, VaultMissing
from memem.core.memory import Memory
from memem.notes import save, write
from memem.search import find, refresh
from memem.search.graph import build
from memem.search.ranking import LINKED
from memem.state.receipts import PROMPT, Receipt, ReceiptItem
from memem.workspace import Workspace
from tests.builders import save_examples
from tests.fakes import START, SteppingClock


@pytest.fixture
def shop(ws: Workspace) -> Workspace:
    return save_examples(ws)


def titles(ws: Workspace, query: str, **options: object) -> list[str]:
    return [hit.title for hit in find.search(ws, query, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("how do we sign tokens?", "Access tokens are signed with RS256"),
        ("PGBOUNCER_POOL_MODE", "PgBouncer in transaction mode breaks prepared statements"),
        ("pool mode", "PgBouncer in transaction mode breaks prepared statements"),
        ("src/db/pool.py", "PgBouncer in transaction mode breaks prepared statements"),
        ("ledger_sync.py", "The nightly ledger job"),
        ("where is v3.3.0 mentioned", "How to roll back a release"),
        ("OPS-4821", "How to roll back a release"),
        ("what did we do about hydration mismatches?", "Hydration errors came from dates"),
        ("中文 全文检索", "东亚语言的搜索"),
        ("JWT", "Access tokens are signed with RS256"),
    ],
)
def test_the_right_memory_comes_first(shop: Workspace, query: str, title: str) -> None:
    assert titles(shop, query)[0] == title


def test_a_search_sees_all_projects_and_a_named_project_filters_hard(shop: Workspace) -> None:
    assert {hit.project for hit in find.search(shop, "shop-api cart")} == {"shop-api", "web-store"}
    assert {hit.project for hit in find.search(shop, "shop-api cart", project="Web Store")} == {"web-store"}


def test_a_hit_lists_its_terms(shop: Workspace) -> None:
    hit = find.search(shop, "how do we sign tokens?")[0]
    assert set(hit.terms) == {"sign", "tokens"}
    assert 0 < hit.score <= 1


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_query_is_refused(shop: Workspace, query: str) -> None:
    with pytest.raises(InputError, match="query is empty"):
        find.search(shop, query)


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_limit_out_of_range_is_refused(shop: Workspace, limit: int) -> None:
    with pytest.raises(InputError, match="limit must be a number"):
        find.search(shop, "cart", limit=limit)
    with pytest.raises(InputError, match="limit must be a number"):
        find.list_memories(shop, limit=limit)


def test_the_limit_is_respected(shop: Workspace) -> None:
    assert len(find.search(shop, "shop-api web-store", limit=2)) == 2


def test_a_query_of_nothing_but_stop_words_finds_nothing(shop: Workspace) -> None:
    assert titles(shop, "what is it that you do?") == []


def test_deprecated_notes_come_behind_and_quarantined_ones_never(ws: Workspace) -> None:
    first = save.save(ws, "Deploys run on Fridays, by hand.")
    second = save.save(ws, "Deploys run on Mondays, by hand.")
    write.edit(ws, first.memory.id, status="deprecated")
    assert [hit.id for hit in find.search(ws, "deploys by hand")] == [second.memory.id, first.memory.id]
    write.edit(ws, first.memory.id, status="quarantined")
    assert [hit.id for hit in find.search(ws, "deploys by hand")] == [second.memory.id]


def test_a_note_linked_in_a_statement_is_boosted(ws: Workspace) -> None:
    texts = ("Walrus walrus walrus.", "Walrus walrus colony.", "Walrus walrus beach.", "The sea has a walrus.")
    written = [
        write.keep(ws, Memory(f"{number:08}{'0' * 24}", f"Note {number}", text)) for number, text in enumerate(texts)
    ]
    path = ws.store.absolute(written[-1].path)
    path.write_text(path.read_text().replace("The sea", f"[[{Path(written[0].path).stem}]] The sea"))
    refresh.refresh(ws)

    def score() -> float:
        return next(hit.score for hit in find.search(ws, "walrus") if hit.id == written[-1].memory.id)

    before = score()
    build.rebuild(ws)
    assert score() == pytest.approx(before * LINKED, abs=1e-3)


def test_get_takes_an_id_its_beginning_or_a_link(shop: Workspace) -> None:
    hit = find.search(shop, "OPS-4821")[0]
    stem = Path(hit.path).stem
    for identity in (hit.id, hit.id[:8], hit.id[:6], f"[[{stem}]]", f"[[{stem}|shown]]", f"{stem}.md", f" {hit.id} "):
        assert find.get(shop, identity).id == hit.id
    (shop.store.paths.memories / "own.md").write_text("---\nid: my-own-id-0001\n---\ntext")
    refresh.refresh(shop)
    assert find.get(shop, "my-own-id-0001").id == find.get(shop, "my-own").id == "my-own-id-0001"
    with pytest.raises(InputError, match="too short"):
        find.get(shop, "a")


def test_a_note_deleted_by_hand_cannot_be_got(shop: Workspace) -> None:
    hit = find.search(shop, "OPS-4821")[0]
    shop.store.absolute(hit.path).unlink()
    with pytest.raises(NotFound):
        find.get(shop, hit.id)


def test_list_shows_the_last_changed_first_in_any_zone(ws: Workspace, clock: SteppingClock) -> None:
    for text, hours in (("First.", 0), ("Second.", 1), ("Third.", 2)):
        clock.now = START + timedelta(hours=hours)
        save.save(ws, text)
    clock.now = (START + timedelta(hours=3)).astimezone(timezone(timedelta(hours=-8)))
    save.save(ws, "Fourth, far in the west.")
    assert [entry.body[:6] for entry in find.list_memories(ws)] == ["Fourth", "Third.", "Second", "First."]
    first = find.search(ws, "first")[0]
    path = ws.store.absolute(first.path)
    path.write_text(path.read_text().replace("First.", "First, by hand."))
    refresh.refresh(ws)
    assert find.list_memories(ws)[0].id == first.id


def test_lists_are_as_fresh_as_hits(shop: Workspace) -> None:
    gone = find.list_memories(shop, project="shop-api")[0]
    shop.store.absolute(gone.path).unlink()
    assert gone.id not in [entry.id for entry in find.list_memories(shop)]


def test_the_limit_does_not_change_the_order(ws: Workspace) -> None:
    for project in ("other", "mine"):
        save.save(ws, f"The walrus of {project} sleeps.", project=project)
    first = [find.search(ws, "walrus sleeps", current="mine", limit=limit)[0].project for limit in (1, 2, 10)]
    assert first == ["mine"] * 3


def test_list_filters(shop: Workspace) -> None:
    assert len(find.list_memories(shop)) == 12
    assert {entry.memory.kind for entry in find.list_memories(shop, kind="lesson")} == {"lesson"}
    assert {entry.project for entry in find.list_memories(shop, project="web-store")} == {"web-store"}
    assert len(find.list_memories(shop, limit=3)) == 3


def test_reading_without_a_vault_gives_advice(ws: Workspace) -> None:
    with pytest.raises(VaultMissing, match="Save a memory to create one"):
        find.search(ws, "anything")
    assert not ws.settings.vault.exists()


# --- time and links ---------------------------------------------------------------------------------------------------


def keep(ws: Workspace, name: str, body: str, **fields: Any) -> str:
    return write.keep(ws, Memory(name * 8, name, body, **fields)).memory.id


def test_a_query_about_a_time_puts_what_was_written_down_then_first(ws: Workspace) -> None:
    keep(ws, "a", "The walrus pump was replaced by the crew.", created="2025-11-03T09:00:00+01:00")
    keep(ws, "b", "The walrus pump was replaced by a firm.", created="2026-02-20T09:00:00+01:00")
    assert titles(ws, "walrus pump replaced") == ["a", "b"]
    assert titles(ws, "walrus pump replaced last month") == ["b", "a"]
    assert titles(ws, "walrus pump replaced in November 2025") == ["a", "b"]


def test_a_search_puts_what_was_superseded_behind_what_replaced_it(ws: Workspace) -> None:
    keep(ws, "b", "The walrus is fed at noon, fed by hand, every day at noon.", superseded_by=f"[[c-{'c' * 8}]]")
    keep(ws, "c", "The walrus gets its meal in the evening.")
    for query in ("when is the walrus fed at noon by hand", "when was the walrus originally fed at noon by hand"):
        assert titles(ws, query) == ["c", "b"]


def test_useful_memories_come_first_among_equals(ws: Workspace) -> None:
    keep(ws, "a", "The walrus sleeps on the pier at noon.")
    keep(ws, "b", "The walrus sleeps on the pier at dusk.")
    assert titles(ws, "walrus sleeps pier") == ["a", "b"]
    number = ws.contexts.receipts.add(Receipt(1.0, PROMPT, "s1", items=(ReceiptItem("b" * 8),)))
    ws.contexts.receipts.mark_used(number, {"b" * 8: "its id stands in the answer"}, 0)
    assert titles(ws, "walrus sleeps pier") == ["b", "a"]


@pytest.mark.parametrize(
    ("prompt", "files"),
    [
        ("look at src/auth/token.py, please", ("src/auth/token.py",)),
        ("see README.md. And ./run.sh!", ("README.md", "./run.sh")),
        ("a/b a/b", ("a/b",)),
        ("it costs 3.50 or so", ("3.50",)),
        ("no file at all...", ()),
    ],
)
def test_paths_are_extracted_from_a_prompt(prompt: str, files: tuple[str, ...]) -> None:
    assert find.extract_paths(prompt) == files


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("a few words", "a few words"),
        ("lorem " * 2_000, ("lorem " * 1_333).rstrip()),
        ("x" * 9_000, "x" * 8_000),
        ("数" * 9_000, "数" * 8_000),
    ],
)
def test_a_long_query_is_cut_between_two_words(query: str, kept: str) -> None:
    assert find.truncate_query(query) == kept
