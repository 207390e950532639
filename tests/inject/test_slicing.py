"""The slice: what Claude should know for a prompt, and nothing unless a memory deserves it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from memem.core.errors import VaultMissing
from memem.core.memory import ARCHIVE, PINNED, Memory, Slice
from memem.inject import confidence, slice
from memem.inject.confidence import Thresholds
from memem.inject.slice import SliceContext
from memem.notes import forget, save, write
from memem.search import find, rebuild, refresh
from memem.search.encoders import model
from memem.state.receipts import MAX_RUNNERS_UP
from memem.workspace import Workspace
from tests.builders import change_settings, list_titles, save_examples

SIGNING = "are access tokens signed with RS256?"


@pytest.fixture
def shop(ws: Workspace) -> Workspace:
    return save_examples(ws)


def slice_of(ws: Workspace, prompt: str, **options: Any) -> Slice:
    given: dict[str, Any] = {"cwd": ws.settings.vault, "project": "shop-api"} | options
    return slice.build_slice(ws, prompt, **given)


def sliced(ws: Workspace, prompt: str, **options: Any) -> str:
    return slice_of(ws, prompt, **options).text


# --- what deserves it ---------------------------------------------------------------------------------------------


def test_a_prompt_that_needs_a_memory_gets_it(shop: Workspace) -> None:
    text = sliced(shop, SIGNING)
    assert text.startswith("# Active Memory Slice\n\n## Working (current state)\n- Project: shop-api\n")
    assert "## Relevant\n1. 2026-03-01 · " in text
    assert "   > Access tokens of shop-api are signed with RS256" in text


@pytest.mark.parametrize(
    "prompt",
    ["hi", "ok thanks", "yes please", "continue", "why?", "好的", "1", "", "🎉", "go on then", "rename this variable"],
)
def test_a_prompt_that_needs_none_gets_silence(shop: Workspace, prompt: str) -> None:
    result = slice_of(shop, prompt)
    assert (result.text, result.hits) == ("", ())
    assert result.reason


def test_a_nod_is_not_looked_up(shop: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "find", None)
    assert slice_of(shop, "ok, do it").reason == slice.NOD


def test_a_slice_shows_this_project_and_general_only(shop: Workspace) -> None:
    text = sliced(shop, "the hydration mismatch on order pages came from formatting dates")
    assert "Hydration" not in text
    assert "small and say why" in sliced(shop, "what is our rule for commits and the commit message?")
    assert "Hydration" in sliced(shop, "the hydration mismatch on order pages", project="web-store")


def test_a_memory_of_no_project_is_labelled_as_such(shop: Workspace) -> None:
    assert " · general · **Small commits**" in sliced(shop, "what is our rule for commits and the commit message?")


def test_pinned_memories_accompany_a_slice_but_never_cause_one(shop: Workspace) -> None:
    pinned = "shop-api is the checkout backend"
    assert pinned in sliced(shop, SIGNING)
    assert sliced(shop, "which checkout backend runs FastAPI on Python 3.12?") == ""


def test_pinned_memories_are_as_fresh_as_hits(shop: Workspace) -> None:
    (pinned,) = [entry for entry in find.list_memories(shop, project="shop-api") if entry.memory.layer == PINNED]
    shop.store.absolute(pinned.path).unlink()
    assert "- Pinned" not in sliced(shop, SIGNING)


def test_before_there_is_a_vault_a_slice_says_so(ws: Workspace, tmp_path: Path) -> None:
    with pytest.raises(VaultMissing):
        slice.build_slice(ws, "anything", cwd=tmp_path)
    assert not ws.settings.vault.exists()


def test_asked_for_always_the_working_state_is_shown(shop: Workspace) -> None:
    text = sliced(shop, "hi", always=True)
    assert "- Pinned · " in text
    assert "## Relevant" not in text


def test_archived_and_deprecated_memories_are_not_shown_unasked(shop: Workspace) -> None:
    hit = find.search(shop, "OPS-4821")[0]
    prompt = "open ticket OPS-4821 for the rollback"
    assert "OPS-4821" in sliced(shop, prompt)
    write.edit(shop, hit.id, layer=3)
    assert sliced(shop, prompt) == ""
    write.edit(shop, hit.id, layer=2, status="deprecated")
    assert sliced(shop, prompt) == ""
    assert [found.title for found in find.search(shop, "OPS-4821")] == ["How to roll back a release"]


def test_a_slice_is_the_same_bytes_every_time(shop: Workspace) -> None:
    first = sliced(shop, SIGNING)
    rebuild.rebuild(shop)
    assert sliced(shop, SIGNING) == first


def test_a_slice_stays_within_its_budget(ws: Workspace) -> None:
    for number in range(30):
        save.save(ws, f"walrus fact {number}: " + "the walrus swims and sleeps. " * 100, project="zoo")
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
    result = slice.build_slice(shop, "hi", cwd=shop.settings.vault, session_id="../../x")
    assert result.session_id == "../../x"
    assert not list(shop.home.root.parent.glob("x*"))


# --- what a session knows already ---------------------------------------------------------------------------------


def test_what_is_known_already_is_neither_a_hit_nor_pinned_again(shop: Workspace) -> None:
    first = slice_of(shop, SIGNING)
    (pinned,) = first.pinned
    without_pinned = slice_of(shop, SIGNING, context=SliceContext(shown_ids={pinned}))
    assert "- Pinned" not in without_pinned.text
    assert without_pinned.hits == first.hits
    known = {hit.id for hit in first.hits}
    nothing = slice_of(shop, SIGNING, context=SliceContext(shown_ids=known))
    assert (nothing.text, nothing.hits, nothing.pinned) == ("", (), ())
    assert nothing.reason == "the matching memories are already in this session's context"


def test_who_asks_for_the_working_state_gets_it_without_what_is_known(shop: Workspace) -> None:
    first = slice_of(shop, SIGNING)
    known = {hit.id for hit in first.hits}
    again = slice_of(shop, SIGNING, context=SliceContext(shown_ids=known), always=True)
    assert "- Pinned" in again.text
    assert "RS256" not in again.text


# --- what was superseded ------------------------------------------------------------------------------------------


def keep(ws: Workspace, name: str, body: str, **fields: Any) -> Memory:
    """A memory of the project `zoo`, whose id begins with its name."""
    given = {"title": name, "project": "zoo"} | fields
    return write.keep(ws, Memory(name.ljust(8, "0"), body=body, **given)).memory


def link(name: str) -> str:
    return f"[[{name}-{name.ljust(8, '0')}]]"


def zoo(ws: Workspace, prompt: str, **options: Any) -> Slice:
    return slice_of(ws, prompt, project="zoo", **options)


FEEDING = "when is the walrus fed with herring by its keeper?"
OLD = "The walrus is fed with herring by its keeper at noon."


@pytest.mark.parametrize("new", ["The walrus is fed with herring by its keeper at dusk.", "Meals come in the evening."])
def test_what_holds_now_comes_in_the_place_of_what_it_superseded_also_where_only_that_was_found(
    ws: Workspace, new: str
) -> None:
    keep(ws, "old", OLD, superseded_by=link("new"))
    keep(ws, "new", new, supersedes=link("old"))
    found = zoo(ws, FEEDING)
    assert list_titles(found) == ["new"]
    assert new in found.text
    assert "at noon" not in found.text


def test_a_chain_is_followed_to_its_end(ws: Workspace) -> None:
    keep(ws, "oldest", OLD, superseded_by=link("older"))
    keep(ws, "older", "Meals come in the morning.", superseded_by=link("newest"))
    keep(ws, "newest", "Meals come in the evening.")
    assert list_titles(zoo(ws, FEEDING)) == ["newest"]


def test_at_the_end_of_a_very_long_chain_nothing_that_was_superseded_is_shown(ws: Workspace) -> None:
    keep(ws, "n00", OLD, superseded_by=link("n01"))
    for number in range(1, slice.LONGEST_CHAIN + 5):
        keep(ws, f"n{number:02}", f"Meals come at {number} sharp.", superseded_by=link(f"n{number + 1:02}"))
    assert list_titles(zoo(ws, FEEDING)) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"project": "elsewhere"},
        {"layer": ARCHIVE},
        {"layer": PINNED},
        {"status": "deprecated"},
        {"status": "quarantined"},
    ],
)
def test_where_the_successor_may_not_be_shown_nothing_is(ws: Workspace, fields: dict[str, Any]) -> None:
    keep(ws, "old", OLD, superseded_by=link("new"))
    keep(ws, "new", "Meals come in the evening.", **fields)
    assert_superseded(zoo(ws, FEEDING), "old")


def assert_superseded(found: Slice, *names: str) -> None:
    """That nothing is shown, since these were superseded."""
    assert (list_titles(found), found.text) == ([], "")
    assert found.reason == "the matching memories were superseded by one that may not be shown here"
    assert {hit.title for hit in found.runners_up if hit.kept_out == slice.SUPERSEDED} == set(names)


def test_a_successor_of_no_project_in_particular_may_be_shown(ws: Workspace) -> None:
    keep(ws, "old", OLD, superseded_by=link("new"))
    keep(ws, "new", "Meals come in the evening.", project="general")
    assert list_titles(zoo(ws, FEEDING)) == ["new"]


@pytest.mark.parametrize("successor", ["[[gone-00000000]]", "[[]]", "a note", "x"])
def test_where_there_is_no_such_successor_the_memory_itself_is_shown(ws: Workspace, successor: str) -> None:
    keep(ws, "old", OLD, superseded_by=successor)
    found = zoo(ws, FEEDING)
    assert list_titles(found) == ["old"]
    assert " · superseded · **old**" in found.text


@pytest.mark.parametrize("how", ["forgotten", "deleted"])
def test_where_the_successor_is_gone_the_memory_itself_is_shown_again(ws: Workspace, how: str) -> None:
    keep(ws, "old", OLD, superseded_by=link("new"))
    new = keep(ws, "new", "The walrus is fed with herring by its keeper at dusk.")
    assert list_titles(zoo(ws, FEEDING)) == ["new"]
    if how == "forgotten":
        forget.forget(ws, new.id)
    else:
        ws.store.absolute(find.get(ws, new.id).path).unlink()
    assert list_titles(zoo(ws, FEEDING)) == ["old"]


def test_where_a_chain_ends_at_what_is_gone_the_last_that_is_there_is_shown(ws: Workspace) -> None:
    keep(ws, "oldest", OLD, superseded_by=link("older"))
    keep(ws, "older", "Meals come in the morning.", superseded_by=link("gone"))
    assert list_titles(zoo(ws, FEEDING)) == ["older"]


def test_an_ambiguous_link_leads_to_nothing(ws: Workspace) -> None:
    keep(ws, "old", OLD, superseded_by="newer")
    keep(ws, "newer1", "Meals come in the morning.")
    keep(ws, "newer2", "Meals come in the evening.")
    assert_superseded(zoo(ws, FEEDING), "old")


def test_what_was_superseded_is_told_beside_what_holds_now(ws: Workspace) -> None:
    keep(ws, "old", OLD, superseded_by=link("new"))
    keep(ws, "new", "Meals come in the evening.")
    found = zoo(ws, FEEDING)
    assert [(hit.title, hit.kept_out) for hit in found.runners_up] == [("old", slice.SUPERSEDED)]
    assert found.hits[0].helps == found.runners_up[0].helps


def test_who_asks_for_the_past_gets_it_too_and_is_told_that_it_is_over(ws: Workspace) -> None:
    keep(ws, "noon", OLD, superseded_by=link("dusk"))
    keep(ws, "dusk", "The walrus is fed with herring by its keeper at dusk.")
    found = zoo(ws, "when was the walrus fed with herring by its keeper before?")
    assert list_titles(found) == ["dusk", "noon"]
    assert " · superseded · **noon**" in found.text
    assert " · superseded · **dusk**" not in found.text
    assert list_titles(zoo(ws, FEEDING)) == ["dusk"]


def test_who_asks_for_the_past_gets_it_also_where_its_successor_may_not_be_shown(ws: Workspace) -> None:
    keep(ws, "old", "The old push gateway is pushgw-1.", superseded_by=link("new"))
    keep(ws, "new", "Metrics are scraped.", project="elsewhere")
    assert list_titles(zoo(ws, "what was our old push gateway?")) == ["old"]
    assert_superseded(zoo(ws, "which is the old push gateway pushgw-1?"), "old")


def test_a_successor_that_cannot_be_read_is_not_shown(ws: Workspace) -> None:
    keep(ws, "old", OLD, superseded_by=link("new"))
    keep(ws, "new", "Meals come in the evening.")
    path = ws.store.absolute(find.get(ws, "new00000").path)
    path.write_text("---\nid: [\n---\nMeals")
    assert_superseded(zoo(ws, FEEDING), "old")


@pytest.mark.parametrize("names", [("a",), ("a", "b"), ("a", "b", "c")])
def test_of_notes_that_superseded_each_other_in_a_loop_none_is_shown(ws: Workspace, names: tuple[str, ...]) -> None:
    for at, name in enumerate(names):
        keep(ws, name, f"{OLD} Said {name}.", superseded_by=link(names[(at + 1) % len(names)]))
    assert_superseded(zoo(ws, FEEDING), *names)


def test_a_successor_that_the_session_knows_is_not_said_again(ws: Workspace) -> None:
    keep(ws, "old", OLD, superseded_by=link("new"))
    new = keep(ws, "new", "Meals come in the evening.")
    found = zoo(ws, FEEDING, context=SliceContext(shown_ids={new.id}))
    assert (found.text, found.reason) == ("", "the matching memories are already in this session's context")


# --- not twice the same, and who came next ------------------------------------------------------------------------


def test_two_memories_that_say_the_same_are_shown_once(ws: Workspace) -> None:
    statement = (
        "The walrus is fed with fresh herring by its own keeper, who comes to the old pier near town before dark"
    )
    keep(ws, "a", f"{statement} each day.", title="Meals")
    keep(ws, "b", f"{statement} every day.", title="Meals")
    assert len(list_titles(zoo(ws, FEEDING))) == 1


@pytest.mark.parametrize("others", [("at 7 o'clock", "at 9 o'clock"), ("each day", "never")])
def test_two_that_differ_in_what_matters_are_both_shown(ws: Workspace, others: tuple[str, str]) -> None:
    for name, end in zip("ab", others, strict=True):
        keep(ws, name, f"The walrus is fed with fresh herring by its own keeper {end}.")
    assert len(list_titles(zoo(ws, FEEDING))) == 2


def flock(ws: Workspace, count: int) -> None:
    for number in range(count):
        keep(ws, f"n{number}", f"The walrus is fed with herring by its keeper number {number}.")


def test_the_next_best_are_told_at_most_three_and_none_that_is_shown(ws: Workspace) -> None:
    keep(ws, "best", OLD)
    for number in range(5):
        keep(ws, f"n{number}", f"A herring swims in basin {number}.")
    found = zoo(ws, FEEDING)
    assert list_titles(found) == ["best"]
    assert len(found.runners_up) == MAX_RUNNERS_UP == 3
    assert {hit.id for hit in found.runners_up}.isdisjoint(found.ids)
    assert all(hit.helps is not None for hit in (*found.hits, *found.runners_up))
    assert not any(hit.kept_out for hit in found.hits)
    assert all(hit.kept_out for hit in found.runners_up)


def test_silence_tells_the_next_best_too(ws: Workspace) -> None:
    flock(ws, 5)
    found = zoo(change_settings(ws, recall_min_confidence=1.0), FEEDING)
    assert (found.text, len(found.runners_up)) == ("", 3)


def test_what_found_no_room_is_told_and_what_did_is_not(ws: Workspace) -> None:
    """The second is too long, and the shorter one behind it is not."""
    keep(ws, "a", OLD)
    keep(ws, "b", f"{OLD} " + "It waits at the pier until then. " * 9)
    keep(ws, "c", f"{OLD} Ring twice, and wait for an answer, which may take a while, since they are old and slow.")
    found = zoo(change_settings(ws, slice_characters=500, recall_min_item_score=0.0), FEEDING)
    assert len(found.hits) == 2
    assert [(hit.title, hit.kept_out) for hit in found.runners_up] == [("b", slice.NO_ROOM)]


def test_the_best_is_cut_shorter_before_it_is_left_out(ws: Workspace) -> None:
    keep(ws, "long", f"{OLD} " + "The steps are many and wet. " * 20)
    found = zoo(change_settings(ws, slice_characters=500), FEEDING)
    assert list_titles(found) == ["long"]
    assert "fed with herring" in found.text
    assert len(found.text) <= 500


def test_where_no_memory_finds_room_nothing_is_said(ws: Workspace) -> None:
    keep(ws, "wide", "\n\n".join(f"The walrus is fed with herring by its keeper {'y ' * 99}".split()))
    keep(ws, "who", "zoo is in the harbour.", layer=PINNED)
    found = zoo(change_settings(ws, slice_characters=500), FEEDING)
    assert (found.text, found.hits, found.pinned) == ("", (), ())
    assert found.reason == "the matching memories do not fit in MEMEM_SLICE_CHARACTERS"
    assert [(hit.title, hit.kept_out) for hit in found.runners_up] == [("wide", slice.NO_ROOM)]


def test_what_repeats_a_better_one_is_told_to_do_so(ws: Workspace) -> None:
    statement = "The walrus is fed with fresh herring by its own keeper, who comes to the old pier near town"
    for name, often in (("a", "each day"), ("b", "every day")):
        keep(ws, name, f"{statement} {often}.", title="Meals")
    found = zoo(ws, FEEDING)
    assert len(found.hits) == 1
    assert [hit.kept_out for hit in found.runners_up] == [slice.REPEATS]


# --- why ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        (FEEDING, "1 of 2 matching memories qualified"),
        ("zeppelin hangar gondola", "no memory matches the prompt"),
        ("herring", "no memory matches the prompt well enough"),
    ],
)
def test_a_slice_says_why_it_is_as_it_is(ws: Workspace, prompt: str, reason: str) -> None:
    keep(ws, "a", OLD)
    keep(ws, "b", "A keeper sells herring. " + "All sorts of other things happen in the harbour. " * 9)
    line = {"recall_min_confidence": 0.9} if prompt == "herring" else {}
    assert zoo(change_settings(ws, **line), prompt).reason == reason


def test_a_prompt_that_is_foreign_is_told_to_be(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are enough notes to know that."""
    keep(ws, "a", OLD)
    prompt = "is the walrus fed with herring by its keeper at noon in the zeppelin?"
    change_settings(ws, recall_oov_threshold=0.1, recall_min_confidence=0.0)
    assert list_titles(zoo(ws, prompt)) == ["a"]
    monkeypatch.setattr(confidence, "ENOUGH_NOTES", 1)
    found = zoo(ws, prompt)
    assert (found.text, found.reason) == ("", "no memory covers enough of the prompt")
    assert [hit.kept_out for hit in found.runners_up] == [confidence.FOREIGN]


def test_the_reason_is_that_of_one_that_was_good_enough(ws: Workspace) -> None:
    keep(ws, "known", OLD)
    for number in range(3):
        keep(ws, f"n{number}", f"A herring swims in basin {number}.")
    known = {zoo(ws, FEEDING).hits[0].id}
    found = zoo(ws, FEEDING, context=SliceContext(shown_ids=known))
    assert found.runners_up[0].kept_out == slice.ALREADY_SHOWN
    assert len({hit.kept_out for hit in found.runners_up}) > 1
    assert found.reason == "the matching memories are already in this session's context"


# --- the settings -------------------------------------------------------------------------------------------------


def test_the_line_is_made_of_the_settings(ws: Workspace) -> None:
    change_settings(ws, recall_min_confidence=0.1, recall_min_item_score=0.2, recall_oov_threshold=0.3)
    assert slice.thresholds(ws) == Thresholds(confidence=0.1, score=0.2, unknown=0.3)


def test_more_confidence_asked_for_is_quieter(ws: Workspace) -> None:
    flock(ws, 3)
    counts = [len(zoo(change_settings(ws, recall_min_confidence=least), FEEDING).hits) for least in (0.0, 0.3, 1.0)]
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[-1]) == (3, 0)


def test_those_far_behind_the_best_stay_out(ws: Workspace) -> None:
    keep(ws, "best", OLD)
    keep(ws, "far", "A keeper sells herring on the pier.")
    change_settings(ws, recall_min_confidence=0.0)
    assert list_titles(zoo(change_settings(ws, recall_min_item_score=0.0), FEEDING)) == ["best", "far"]
    found = zoo(change_settings(ws, recall_min_item_score=0.9), FEEDING)
    assert list_titles(found) == ["best"]
    assert [(hit.title, hit.kept_out) for hit in found.runners_up] == [("far", confidence.FAR_BEHIND)]


@pytest.mark.parametrize(("named", "expected"), [("", []), (" OPS-4821", ["a"])])
def test_a_prompt_mostly_about_what_nobody_knows_gets_nothing_unless_it_names_a_memory(
    ws: Workspace, named: str, expected: list[str]
) -> None:
    keep(ws, "a", "The walrus basin leaks, see OPS-4821.")
    prompt = f"why does the gondola of the zeppelin lose helium near the mooring mast{named}?"
    change_settings(ws, recall_min_confidence=0.0, recall_oov_threshold=0.5)
    assert list_titles(zoo(ws, f"{prompt} walrus")) == expected


def test_a_prompt_in_a_script_without_spaces_finds_its_memory_without_a_model(ws: Workspace) -> None:
    keep(ws, "a", "海象每天中午由饲养员喂食鲱鱼。")
    keep(ws, "b", "码头的灯在晚上十点关闭。")
    assert list_titles(zoo(ws, "海象是中午由饲养员喂食吗？")) == ["a"]
    assert list_titles(zoo(ws, "请把按钮的颜色改成蓝色")) == []


# --- files --------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project's folder, with a file in it."""
    (tmp_path / "zoo" / "src").mkdir(parents=True)
    (tmp_path / "zoo" / "src" / "basin.py").write_text("")
    return tmp_path / "zoo"


def test_a_file_that_the_prompt_names_makes_a_memory_about_it_as_good_as_named(ws: Workspace, folder: Path) -> None:
    keep(ws, "about", "Levels are kept in metres.", paths=("src/basin.py",))
    keep(ws, "other", "Levels are kept in feet.")
    found = slice.build_slice(ws, "change how levels are kept in src/basin.py", cwd=folder)
    assert list_titles(found)[0] == "about"
    named = {hit.title: (hit.named, hit.about_file) for hit in (*found.hits, *found.runners_up)}
    assert named == {"about": (True, 1.0), "other": (False, 0.0)}


def test_a_memory_about_a_file_that_the_prompt_names_is_shown_where_its_words_would_not_do(
    ws: Workspace, folder: Path
) -> None:
    keep(ws, "a", "Levels are metres, never feet, since the pumps of the harbour were built abroad.", paths=("src/**",))
    orders = "make the levels in {} configurable by environment"
    assert list_titles(slice.build_slice(ws, orders.format("there"), cwd=folder)) == []
    assert list_titles(slice.build_slice(ws, orders.format("src/basin.py"), cwd=folder)) == ["a"]


def test_a_file_that_is_not_there_names_nothing(ws: Workspace, folder: Path) -> None:
    keep(ws, "about", "Levels are kept in metres.", paths=("src/go*.py",))
    found = slice.build_slice(ws, "change how levels are kept in src/gone.py", cwd=folder)
    assert not any(hit.named for hit in (*found.hits, *found.runners_up))


def test_files_that_the_session_was_at_nudge_and_do_not_name(ws: Workspace, folder: Path) -> None:
    keep(ws, "a", "Levels of basins are kept in metres.")
    keep(ws, "b", "Levels of basins are kept in feet.", paths=("src/**",))
    prompt = "in what are levels of basins kept?"
    assert list_titles(slice.build_slice(ws, prompt, cwd=folder)) == ["a", "b"]
    for file in (folder / "src" / "basin.py", folder / "src" / "about_to_be_made.py"):
        found = slice.build_slice(ws, prompt, cwd=folder, context=SliceContext(files=(str(file),)))
        assert list_titles(found) == ["b", "a"]
        assert not any(hit.named for hit in found.hits)
        assert [hit.about_file for hit in found.hits] == [slice.SESSION_FILE_WEIGHT, 0.0]


def test_files_of_the_session_that_lie_elsewhere_do_not_nudge(ws: Workspace, folder: Path) -> None:
    keep(ws, "a", "Levels of basins are kept in metres.")
    keep(ws, "b", "Levels of basins are kept in feet.", paths=("src/**",))
    for file in ("/srv/other/src/basin.py", "", "\0", "x" * 5_000):
        found = slice.build_slice(
            ws, "in what are levels of basins kept?", cwd=folder, context=SliceContext(files=(file,))
        )
        assert list_titles(found) == ["a", "b"]


# --- looking with other words -------------------------------------------------------------------------------------


def test_a_slice_is_looked_for_with_the_query_that_is_given_and_shaped_by_the_prompt(ws: Workspace) -> None:
    keep(ws, "a", OLD)
    assert list_titles(zoo(ws, "and the other one?")) == []
    found = zoo(ws, "and the other one?", context=SliceContext(query=f"and the other one?\n{FEEDING}"))
    assert list_titles(found) == ["a"]


# --- meaning ------------------------------------------------------------------------------------------------------


def test_near_in_meaning_is_enough(meant: Workspace) -> None:
    keep(meant, "a", "The lorry must be repaired before winter.")
    keep(meant, "b", "Herring is sold on the pier in summer.")
    model.encode_all(meant)
    found = zoo(meant, "when is the automobile repaired before winter?")
    assert list_titles(found) == ["a"]
    assert (found.hits[0].source, found.degraded) == ("both", "")


def test_a_slice_by_meaning_is_the_same_bytes_every_time(meant: Workspace) -> None:
    for name in "abc":
        keep(meant, name, f"The lorry {name} must be repaired before winter. " + f"It stands in yard {name}. " * 30)
    model.encode_all(meant)
    texts = set()
    for _ in range(3):
        texts.add(zoo(meant, "which lorry must be repaired before winter in the yard?").text)
        rebuild.rebuild(meant)
        refresh.refresh(meant)
    assert len(texts) == 1
    assert "lorry" in texts.pop()
