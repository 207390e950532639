"""Search, get, list and the slice."""

import subprocess
from datetime import timedelta, timezone
from pathlib import Path

import pytest

from memem.core.errors import InputError, NotFound, VaultMissing
from memem.doors.cli.verb_demo import example_memories
from memem.flows import rebuild, reindex, remember, retrieve, slicing
from memem.workspace import Workspace
from tests.fakes import START, SteppingClock


@pytest.fixture
def shop(ws: Workspace) -> Workspace:
    """The memories of the demo: two projects and some general ones."""
    for memory in example_memories():
        remember.save(ws, **memory)
    return ws


def titles(ws: Workspace, query: str, **options: object) -> list[str]:
    return [hit.title for hit in retrieve.search(ws, query, **options)]  # type: ignore[arg-type]


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
    assert {hit.project for hit in retrieve.search(shop, "shop-api cart")} == {"shop-api", "web-store"}
    assert {hit.project for hit in retrieve.search(shop, "shop-api cart", project="Web Store")} == {"web-store"}


def test_a_hit_says_through_which_words_it_was_found(shop: Workspace) -> None:
    hit = retrieve.search(shop, "how do we sign tokens?")[0]
    assert set(hit.terms) == {"sign", "tokens"}
    assert 0 < hit.score <= 1


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_query_is_refused(shop: Workspace, query: str) -> None:
    with pytest.raises(InputError, match="query is empty"):
        retrieve.search(shop, query)


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_limit_out_of_range_is_refused(shop: Workspace, limit: int) -> None:
    with pytest.raises(InputError, match="limit is a number"):
        retrieve.search(shop, "cart", limit=limit)
    with pytest.raises(InputError, match="limit is a number"):
        retrieve.list_memories(shop, limit=limit)


def test_the_limit_holds(shop: Workspace) -> None:
    assert len(retrieve.search(shop, "shop-api web-store", limit=2)) == 2


def test_a_query_of_nothing_but_stop_words_finds_nothing(shop: Workspace) -> None:
    assert titles(shop, "what is it that you do?") == []


def test_deprecated_notes_come_behind_and_quarantined_ones_never(ws: Workspace) -> None:
    first = remember.save(ws, "Deploys run on Fridays, by hand.")
    second = remember.save(ws, "Deploys run on Mondays, by hand.")
    remember.edit(ws, first.memory.id, status="deprecated")
    assert [hit.id for hit in retrieve.search(ws, "deploys by hand")] == [second.memory.id, first.memory.id]
    remember.edit(ws, first.memory.id, status="quarantined")
    assert [hit.id for hit in retrieve.search(ws, "deploys by hand")] == [second.memory.id]


def test_get_takes_an_id_its_beginning_or_a_link(shop: Workspace) -> None:
    hit = retrieve.search(shop, "OPS-4821")[0]
    stem = Path(hit.path).stem
    for identity in (hit.id, hit.id[:8], hit.id[:6], f"[[{stem}]]", f"[[{stem}|shown]]", f"{stem}.md", f" {hit.id} "):
        assert retrieve.get(shop, identity).id == hit.id
    (shop.store.paths.memories / "own.md").write_text("---\nid: my-own-id-0001\n---\ntext")
    reindex.refresh(shop)
    assert retrieve.get(shop, "my-own-id-0001").id == retrieve.get(shop, "my-own").id == "my-own-id-0001"
    with pytest.raises(InputError, match="too short"):
        retrieve.get(shop, "a")


def test_a_note_deleted_by_hand_cannot_be_got(shop: Workspace) -> None:
    hit = retrieve.search(shop, "OPS-4821")[0]
    shop.store.absolute(hit.path).unlink()
    with pytest.raises(NotFound):
        retrieve.get(shop, hit.id)


def test_list_shows_the_last_changed_first_whatever_the_zone_and_whoever_changed_it(
    ws: Workspace, clock: SteppingClock
) -> None:
    for text, hours in (("First.", 0), ("Second.", 1), ("Third.", 2)):
        clock.now = START + timedelta(hours=hours)
        remember.save(ws, text)
    clock.now = (START + timedelta(hours=3)).astimezone(timezone(timedelta(hours=-8)))
    remember.save(ws, "Fourth, far in the west.")
    assert [entry.body[:6] for entry in retrieve.list_memories(ws)] == ["Fourth", "Third.", "Second", "First."]
    first = retrieve.search(ws, "first")[0]
    path = ws.store.absolute(first.path)
    path.write_text(path.read_text().replace("First.", "First, by hand."))
    reindex.refresh(ws)
    assert retrieve.list_memories(ws)[0].id == first.id


def test_pinned_memories_and_lists_are_as_fresh_as_hits(shop: Workspace) -> None:
    (pinned,) = [entry for entry in retrieve.list_memories(shop, project="shop-api") if entry.memory.layer == 0]
    shop.store.absolute(pinned.path).unlink()
    assert "- Pinned" not in sliced(shop, "are access tokens signed with RS256?")
    assert pinned.id not in [entry.id for entry in retrieve.list_memories(shop)]


def test_the_limit_does_not_change_the_order(ws: Workspace) -> None:
    for project in ("other", "mine"):
        remember.save(ws, f"The walrus of {project} sleeps.", project=project)
    first = [retrieve.search(ws, "walrus sleeps", current="mine", limit=limit)[0].project for limit in (1, 2, 10)]
    assert first == ["mine"] * 3


def test_list_filters(shop: Workspace) -> None:
    assert len(retrieve.list_memories(shop)) == 12
    assert {entry.memory.kind for entry in retrieve.list_memories(shop, kind="lesson")} == {"lesson"}
    assert {entry.project for entry in retrieve.list_memories(shop, project="web-store")} == {"web-store"}
    assert len(retrieve.list_memories(shop, limit=3)) == 3


def test_reading_before_there_is_a_vault_says_what_to_do(ws: Workspace, tmp_path: Path) -> None:
    with pytest.raises(VaultMissing, match="Save a memory to begin one"):
        retrieve.search(ws, "anything")
    with pytest.raises(VaultMissing):
        slicing.slice_for(ws, "anything", cwd=tmp_path)
    assert not ws.settings.vault.exists()


# --- the slice --------------------------------------------------------------------------------------------------


def sliced(ws: Workspace, prompt: str, **options: object) -> str:
    options = {"cwd": ws.settings.vault, "project": "shop-api", **options}
    return slicing.slice_for(ws, prompt, **options).text  # type: ignore[arg-type]


def test_a_prompt_that_needs_a_memory_gets_it(shop: Workspace) -> None:
    text = sliced(shop, "are access tokens signed with RS256?")
    assert text.startswith("# Active Memory Slice\n\n## Working (current state)\n- Project: shop-api\n")
    assert "## Relevant\n1. 2026-03-01 · " in text
    assert "   > Access tokens of shop-api are signed with RS256" in text


@pytest.mark.parametrize(
    "prompt", ["hi", "ok thanks", "yes please", "continue", "why?", "好的", "1", "", "🎉", "go on then"]
)
def test_a_prompt_that_needs_none_gets_silence(shop: Workspace, prompt: str) -> None:
    result = slicing.slice_for(shop, prompt, cwd=shop.settings.vault, project="shop-api")
    assert (result.text, result.hits) == ("", ())
    assert result.reason


def test_a_slice_shows_this_project_and_general_only(shop: Workspace) -> None:
    text = sliced(shop, "the hydration mismatch on order pages came from formatting dates")
    assert "Hydration" not in text
    assert "small and say why" in sliced(shop, "what is our rule for commits and the commit message?")
    assert "Hydration" in sliced(shop, "the hydration mismatch on order pages", project="web-store")


def test_a_memory_of_no_project_is_labelled_as_such(shop: Workspace) -> None:
    assert " · general · **Small commits**" in sliced(shop, "what is our rule for commits and the commit message?")


def test_pinned_memories_accompany_a_slice_but_never_cause_one(shop: Workspace) -> None:
    pinned = "shop-api is the checkout backend"
    assert pinned in sliced(shop, "are access tokens signed with RS256?")
    assert sliced(shop, "which checkout backend runs FastAPI on Python 3.12?") == ""


def test_asked_for_always_the_working_state_is_shown(shop: Workspace) -> None:
    text = sliced(shop, "hi", always=True)
    assert "- Pinned · " in text
    assert "## Relevant" not in text


def test_archived_and_deprecated_memories_are_not_shown_unasked(shop: Workspace) -> None:
    hit = retrieve.search(shop, "OPS-4821")[0]
    prompt = "open ticket OPS-4821 for the rollback"
    assert "OPS-4821" in sliced(shop, prompt)
    remember.edit(shop, hit.id, layer=3)
    assert sliced(shop, prompt) == ""
    remember.edit(shop, hit.id, layer=2, status="deprecated")
    assert sliced(shop, prompt) == ""
    assert titles(shop, "OPS-4821") == ["How to roll back a release"]


def test_a_slice_is_the_same_bytes_every_time(shop: Workspace) -> None:
    first = sliced(shop, "are access tokens signed with RS256?")
    rebuild.rebuild(shop)
    assert sliced(shop, "are access tokens signed with RS256?") == first


def test_a_slice_stays_within_its_budget(ws: Workspace) -> None:
    for number in range(30):
        remember.save(ws, f"walrus fact {number}: " + "the walrus swims and sleeps. " * 100, project="zoo")
    text = sliced(ws, "how does the walrus swim and sleep?", project="zoo")
    assert 0 < len(text) <= ws.settings.slice_characters


def test_the_task_mode_is_given_or_inferred(shop: Workspace) -> None:
    assert "- Task: debug\n" in sliced(shop, "fix the failing access tokens signed with RS256")
    assert "- Task: on call ## x\n" in sliced(shop, "access tokens signed with RS256", task_mode="on call\n## x")


def test_project_and_branch_come_from_the_folder(shop: Workspace, tmp_path: Path) -> None:
    repo = tmp_path / "shop-api"
    (repo / "src").mkdir(parents=True)
    (repo / "src" / "token.py").write_text("")
    subprocess.run(["git", "init", "-q", "-b", "feature/auth", str(repo)], check=True)
    text = sliced(shop, "are the access tokens in src/token.py signed with RS256?", project=None, cwd=repo)
    assert "- Project: shop-api\n- Branch: feature/auth\n" in text
    assert "- Files: src/token.py\n" in text
    assert "Branch" not in sliced(shop, "how is the cart of web-store read", project="web-store", cwd=repo)


def test_files_out_of_the_project_are_not_looked_at(shop: Workspace, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("")
    folder = tmp_path / "work"
    folder.mkdir()
    text = sliced(shop, "access tokens signed with RS256 in ../secret.txt and /etc/passwd", cwd=folder)
    assert "Files" not in text


@pytest.mark.parametrize("name", ["a" * 300 + ".py", "名" * 200 + "/x.py", "a/" * 2000 + "b", "a" * 8000, "~/x.py"])
def test_no_name_of_a_file_is_too_odd(shop: Workspace, name: str) -> None:
    assert "Files" not in sliced(shop, f"access tokens signed with RS256 in {name}", always=True)


def test_a_loop_of_links_is_no_file(shop: Workspace, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "Files" not in sliced(shop, "access tokens signed with RS256 in loop/file.py", cwd=tmp_path)


def test_a_session_id_only_labels_the_result(shop: Workspace) -> None:
    result = slicing.slice_for(shop, "hi", cwd=shop.settings.vault, session_id="../../x")
    assert result.session_id == "../../x"
    assert not list(shop.home.root.parent.glob("x*"))


# --- what a session knows already ---------------------------------------------------------------------------------


def test_what_is_known_already_is_neither_a_hit_nor_pinned_again(shop: Workspace) -> None:
    prompt = "are access tokens signed with RS256?"
    first = slicing.slice_for(shop, prompt, cwd=shop.settings.vault, project="shop-api")
    (pinned,) = first.pinned
    without_pinned = slicing.slice_for(shop, prompt, cwd=shop.settings.vault, project="shop-api", beside=slicing.Beside(known={pinned}))
    assert "- Pinned" not in without_pinned.text
    assert without_pinned.hits == first.hits
    known = {hit.id for hit in first.hits}
    nothing = slicing.slice_for(shop, prompt, cwd=shop.settings.vault, project="shop-api", beside=slicing.Beside(known=known))
    assert (nothing.text, nothing.hits, nothing.pinned) == ("", (), ())
    assert nothing.reason == "what the prompt needs stands in this session's context already"


def test_who_asks_for_the_working_state_gets_it_without_what_is_known(shop: Workspace) -> None:
    prompt = "are access tokens signed with RS256?"
    first = slicing.slice_for(shop, prompt, cwd=shop.settings.vault, project="shop-api")
    known = {hit.id for hit in first.hits}
    asked = slicing.slice_for(shop, prompt, cwd=shop.settings.vault, project="shop-api", beside=slicing.Beside(known=known), always=True)
    assert "- Pinned" in asked.text
    assert "RS256" not in asked.text
