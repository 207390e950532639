"""Slices for prompts: when, how often, and never twice."""

import os
import shutil
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from memem.core import sqlite
from memem.core.errors import ModelError, VaultMissing, VaultUnmade
from memem.core.memory import Slice
from memem.inject import prompt as inject_prompt
from memem.inject import receipts, session_start
from memem.inject.prompt import NOT_TYPED, PromptRequest
from memem.notes import save
from memem.search import find, refresh
from memem.state.contexts import Context
from memem.state.receipts import Receipt
from memem.transcript import session as transcript_session
from memem.workspace import Workspace
from tests.builders import change_settings, list_titles
from tests.fakes import FakeEncoder
from tests.transcripts import Transcript

SIGNING = "how are the access tokens signed with RS256?"
WALRUS = "how does the walrus of the harbour sleep?"
CARTS = "when do abandoned carts expire?"
OFF_TOPIC = "please rename this variable"
COMMANDS = [
    "/compact",
    "/memem:recall access tokens signed with RS256",
    "/memem-status",
    "  /recall access tokens signed with RS256",
    "/model\nRS256",
]
SYNTHETIC = [
    "<task-notification>access tokens signed with RS256</task-notification>",
    "<command-name>/recall</command-name><command-args>access tokens signed with RS256</command-args>",
    "<local-command-stdout>access tokens signed with RS256</local-command-stdout>",
    "<bash-stdout>access tokens signed with RS256</bash-stdout>",
    "<system-reminder>access tokens signed with RS256</system-reminder>",
    "This session is being continued from a previous conversation about access tokens signed with RS256",
    "[Request interrupted by user]",
]


def fill(ws: Workspace) -> Workspace:
    for title, text in {
        "Signing": "Access tokens are signed with RS256, since the gateway shares no secret.",
        "Walrus": "The walrus of the harbour does sleep on the pier.",
        "Carts": "Abandoned carts expire after 30 days.",
    }.items():
        save.save(ws, text, title=title, project="shop")
    save.save(ws, "shop is the checkout backend.", title="What shop is", project="shop", layer=0)
    save.save(ws, "Access tokens elsewhere are signed with HS256.", title="Elsewhere", project="other")
    return ws


@pytest.fixture
def filled(ws: Workspace) -> Workspace:
    return fill(ws)


@pytest.fixture
def by_meaning(meant: Workspace) -> Workspace:
    """The same, where topics can be told apart."""
    return fill(meant)


def prompted(ws: Workspace, prompt: str, cwd: Path, session: str = "s1", transcript: Path | None = None) -> Slice:
    return inject_prompt.slice_prompt(ws, PromptRequest(prompt, cwd, session, transcript))


def looked(ws: Workspace, prompt: str, cwd: Path, transcript: Path | None = None) -> Slice:
    """The same by a process that has just started."""
    return inject_prompt.slice_prompt(ws, PromptRequest(prompt, cwd, "s1", transcript), rescan=True)


# --- what deserves it -----------------------------------------------------------------------------------------------


@pytest.fixture
def session(sessions: Path, shop: Path) -> Transcript:
    """A session in the folder that prompts come from."""
    return Transcript(sessions / "s1.jsonl", cwd=shop)


def test_a_prompt_that_needs_a_memory_gets_it(filled: Workspace, shop: Path) -> None:
    found = prompted(filled, SIGNING, shop)
    assert list_titles(found) == ["Signing"]
    assert found.session_id == "s1"
    assert "Access tokens are signed with RS256" in found.text
    assert "HS256" not in found.text


@pytest.mark.parametrize("mode", ["auto", "hybrid"])
@pytest.mark.parametrize("prompt", ["ok thanks", "好的，继续", OFF_TOPIC, "hi"])
def test_a_prompt_that_needs_none_gets_silence_and_a_reason(
    filled: Workspace, shop: Path, mode: str, prompt: str
) -> None:
    found = prompted(change_settings(filled, injection_mode=mode), prompt, shop)
    assert (found.text, found.hits) == ("", ())
    assert found.reason
    assert filled.contexts.shown("s1") == []


@pytest.mark.parametrize("mode", ["auto", "hybrid", "tool"])
@pytest.mark.parametrize("prompt", ["", "  \n", *COMMANDS, *SYNTHETIC])
def test_what_nobody_said_gets_nothing(filled: Workspace, shop: Path, mode: str, prompt: str) -> None:
    found = prompted(change_settings(filled, injection_mode=mode), prompt, shop)
    assert (found.text, found.reason) == ("", NOT_TYPED)
    assert not filled.contexts.has_session("s1")


@pytest.mark.parametrize("prompt", ["/etc/keys: are access tokens signed with RS256?", "//RS256 access tokens signed"])
def test_a_path_is_no_command(filled: Workspace, shop: Path, prompt: str) -> None:
    assert list_titles(prompted(filled, prompt, shop)) == ["Signing"]


def test_only_what_was_said_is_looked_for(filled: Workspace, shop: Path) -> None:
    shown = prompted(filled, SIGNING, shop).text
    for aside in (f"<system-reminder>{SIGNING}</system-reminder>", f"<ide_selection>{SIGNING}</ide_selection>", shown):
        assert prompted(filled, f"{aside}\n{OFF_TOPIC}", shop, "s2").text == ""
    reminded = f"<system-reminder>Be brief.</system-reminder>\n{SIGNING}"
    assert list_titles(prompted(filled, reminded, shop, "s2")) == ["Signing"]


def test_in_the_mode_tool_nothing_is_said(filled: Workspace, shop: Path) -> None:
    found = prompted(change_settings(filled, injection_mode="tool"), SIGNING, shop)
    assert found.text == ""
    assert "MEMEM_INJECTION_MODE is tool" in found.reason
    assert filled.contexts.shown("s1") == []
    assert not filled.contexts.has_session("s1")


@pytest.mark.parametrize("mode", ["auto", "hybrid"])
def test_without_a_vault_the_caller_is_told(ws: Workspace, shop: Path, mode: str) -> None:
    change_settings(ws, injection_mode=mode)
    with pytest.raises(VaultUnmade):
        prompted(ws, SIGNING, shop)
    save.save(ws, "A fact.")
    ws.store.paths.marker.unlink()
    with pytest.raises(VaultMissing, match="is gone"):
        prompted(ws, SIGNING, shop)


# --- never twice ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "hybrid"])
def test_a_memory_is_not_shown_twice_in_a_session(filled: Workspace, shop: Path, mode: str) -> None:
    change_settings(filled, injection_mode=mode, inject_cadence=1)
    assert list_titles(prompted(filled, SIGNING, shop)) == ["Signing"]
    again = prompted(filled, SIGNING, shop)
    assert (again.text, again.reason) == ("", "the matching memories are already in this session's context")


def test_another_session_is_shown_it_too(filled: Workspace, shop: Path) -> None:
    first = prompted(filled, SIGNING, shop)
    assert prompted(filled, SIGNING, shop, "s2").text == first.text


def test_a_session_without_a_name_is_never_taken_for_another(filled: Workspace, shop: Path) -> None:
    assert prompted(filled, SIGNING, shop, "").text == prompted(filled, SIGNING, shop, "").text != ""


def test_a_prompt_is_shown_only_what_is_new_to_its_session(filled: Workspace, shop: Path) -> None:
    prompted(filled, SIGNING, shop)
    found = prompted(filled, f"{SIGNING} And {WALRUS}", shop)
    assert list_titles(found) == ["Walrus"]
    assert "RS256" not in found.text


def test_what_is_pinned_accompanies_the_first_slice_and_no_other(filled: Workspace, shop: Path) -> None:
    assert "- Pinned · " in prompted(filled, SIGNING, shop).text
    assert "- Pinned · " not in prompted(filled, WALRUS, shop).text


def test_what_the_session_was_told_at_its_start_is_not_repeated(filled: Workspace, shop: Path) -> None:
    save.save(filled, "Money is kept in cents, never as a float.", project="shop", kind="convention")
    session_start.brief(filled, cwd=shop, session="s1", source="startup")
    assert prompted(filled, "is money kept in cents or as a float?", shop).text == ""
    found = prompted(filled, SIGNING, shop)
    assert "- Pinned · " not in found.text
    assert found.pinned == ()


def test_after_a_compaction_what_came_back_is_not_repeated(filled: Workspace, shop: Path) -> None:
    prompted(filled, SIGNING, shop)
    assert "RS256" in session_start.brief(filled, cwd=shop, session="s1", source="compact")
    assert prompted(filled, SIGNING, shop).text == ""


def test_after_a_clear_everything_may_be_shown_again(filled: Workspace, shop: Path) -> None:
    prompted(filled, SIGNING, shop)
    assert "RS256" not in session_start.brief(filled, cwd=shop, session="s1", source="clear")
    assert list_titles(prompted(filled, SIGNING, shop)) == ["Signing"]


def test_a_record_that_was_damaged_costs_no_more_than_a_repetition(filled: Workspace, shop: Path) -> None:
    prompted(filled, SIGNING, shop)
    filled.close()
    filled.home.contexts_file.write_bytes(b"not a database at all" * 100)
    assert list_titles(prompted(filled, SIGNING, shop)) == ["Signing"]
    assert prompted(filled, SIGNING, shop).text == ""


def test_a_record_that_was_deleted_is_made_anew_also_by_who_had_it_open(filled: Workspace, shop: Path) -> None:
    prompted(filled, SIGNING, shop)
    sqlite.drop(filled.home.contexts_file)
    assert list_titles(prompted(filled, SIGNING, shop)) == ["Signing"]
    assert filled.home.contexts_file.exists()


# --- hybrid: less often ---------------------------------------------------------------------------------------------


def test_auto_neither_pauses_nor_counts(filled: Workspace, shop: Path) -> None:
    assert [list_titles(prompted(filled, each, shop)) for each in (SIGNING, WALRUS)] == [["Signing"], ["Walrus"]]
    assert filled.contexts.get("s1") == Context()


@pytest.mark.parametrize("mode", ["auto", "hybrid"])
@pytest.mark.parametrize("nod", ["ok", "继续", "2", "option b", "<system-reminder>Be brief.</system-reminder>thanks!"])
def test_a_nod_gets_nothing_and_is_not_looked_up(
    filled: Workspace, shop: Path, monkeypatch: pytest.MonkeyPatch, mode: str, nod: str
) -> None:
    monkeypatch.setattr(find, "find", None)
    monkeypatch.setattr(find, "truncate_query", None)
    found = prompted(
        change_settings(filled, injection_mode=mode), nod, shop, transcript=shop / "not looked at either.jsonl"
    )
    assert (found.text, found.reason) == ("", "the prompt does not ask for anything")


def test_hybrid_passes_over_nods_and_does_not_count_them(filled: Workspace, shop: Path) -> None:
    change_settings(filled, injection_mode="hybrid")
    prompted(filled, SIGNING, shop)
    before = filled.contexts.get("s1")
    for nod in ("ok", "继续", "<system-reminder>Be brief.</system-reminder>\nthanks!"):
        assert prompted(filled, nod, shop).reason == "the prompt does not ask for anything"
    assert filled.contexts.get("s1") == before


@pytest.mark.parametrize(
    ("cadence", "shown"),
    [
        (1, ["Signing", "Walrus", "Carts", "", "", ""]),
        (2, ["Signing", "", "Carts", "", "Walrus", ""]),
        (3, ["Signing", "", "", "Carts", "", ""]),
    ],
)
def test_after_a_slice_hybrid_pauses(filled: Workspace, shop: Path, cadence: int, shown: list[str]) -> None:
    change_settings(filled, injection_mode="hybrid", inject_cadence=cadence)
    prompts = (SIGNING, WALRUS, CARTS, CARTS, WALRUS, SIGNING)
    assert ["".join(list_titles(prompted(filled, each, shop))) for each in prompts] == shown


def test_a_pause_is_explained(filled: Workspace, shop: Path) -> None:
    change_settings(filled, injection_mode="hybrid")
    prompted(filled, SIGNING, shop)
    assert prompted(filled, WALRUS, shop).reason.startswith("the last slice was 1 prompt ago")


def test_sessions_pause_by_themselves(filled: Workspace, shop: Path) -> None:
    change_settings(filled, injection_mode="hybrid")
    prompted(filled, SIGNING, shop)
    assert list_titles(prompted(filled, WALRUS, shop, "s2")) == ["Walrus"]
    assert prompted(filled, WALRUS, shop).text == ""


def test_a_compaction_ends_a_pause(filled: Workspace, shop: Path) -> None:
    change_settings(filled, injection_mode="hybrid")
    prompted(filled, SIGNING, shop)
    session_start.brief(filled, cwd=shop, session="s1", source="compact")
    assert list_titles(prompted(filled, WALRUS, shop)) == ["Walrus"]


def test_another_topic_ends_a_pause(by_meaning: Workspace, shop: Path) -> None:
    change_settings(by_meaning, injection_mode="hybrid", inject_cadence=5)
    assert list_titles(prompted(by_meaning, SIGNING, shop)) == ["Signing"]
    assert list_titles(prompted(by_meaning, WALRUS, shop)) == ["Walrus"]


def test_the_same_topic_does_not(by_meaning: Workspace, shop: Path) -> None:
    change_settings(by_meaning, injection_mode="hybrid", inject_cadence=3)
    prompted(by_meaning, SIGNING, shop)
    reasons = [prompted(by_meaning, SIGNING, shop).reason for _ in range(3)]
    assert [reason.startswith("the last slice was") for reason in reasons] == [True, True, False]


def test_how_much_another_topic_differs_is_a_setting(by_meaning: Workspace, shop: Path) -> None:
    change_settings(by_meaning, injection_mode="hybrid", topic_shift_threshold=0.0)
    prompted(by_meaning, SIGNING, shop)
    assert prompted(by_meaning, WALRUS, shop).reason.startswith("the last slice was")


def test_once_nothing_was_found_many_times_nobody_looks_until_the_topic_changes(
    by_meaning: Workspace, shop: Path
) -> None:
    change_settings(by_meaning, injection_mode="hybrid", empty_streak_max=3)
    reasons = [prompted(by_meaning, OFF_TOPIC, shop).reason for _ in range(5)]
    assert [reason.startswith("nothing matched 3 prompts") for reason in reasons] == [False] * 3 + [True] * 2
    assert list_titles(prompted(by_meaning, WALRUS, shop)) == ["Walrus"]


def test_a_new_topic_is_looked_at_as_patiently_as_the_first(by_meaning: Workspace, shop: Path) -> None:
    change_settings(by_meaning, injection_mode="hybrid", empty_streak_max=3)
    for _ in range(5):
        prompted(by_meaning, OFF_TOPIC, shop)
    reasons = [prompted(by_meaning, "another matter altogether", shop).reason for _ in range(5)]
    assert [reason.startswith("nothing matched 3 prompts") for reason in reasons] == [False] * 3 + [True] * 2


def test_a_topic_that_drifts_away_step_by_step_is_another_in_the_end(by_meaning: Workspace, shop: Path) -> None:
    change_settings(by_meaning, injection_mode="hybrid", empty_streak_max=1)
    words = [f"topic{number:02}" for number in range(30)]
    reasons = [prompted(by_meaning, " ".join(words[at : at + 10]), shop).reason for at in range(6)]
    # One word of ten changes at a time: every second prompt is too far from the last that was looked at.
    assert [reason.startswith("nothing matched") for reason in reasons] == [False, True] * 3


def test_without_vectors_nobody_knows_that_the_topic_is_the_same_and_hybrid_goes_on_looking(
    filled: Workspace, shop: Path
) -> None:
    change_settings(filled, injection_mode="hybrid", empty_streak_max=1)
    for _ in range(4):
        prompted(filled, OFF_TOPIC, shop)
    assert list_titles(prompted(filled, WALRUS, shop)) == ["Walrus"]


def test_an_encoder_that_fails_leaves_the_pause_and_the_words(
    by_meaning: Workspace, encoder: FakeEncoder, shop: Path
) -> None:
    change_settings(by_meaning, injection_mode="hybrid")
    encoder.trouble = ModelError("The encoder is ill.")
    found = [prompted(by_meaning, each, shop) for each in (SIGNING, WALRUS, CARTS)]
    assert [list_titles(each) for each in found] == [["Signing"], [], ["Carts"]]
    assert found[0].degraded == "The encoder is ill."


def test_an_encoder_that_is_late_is_not_waited_for(by_meaning: Workspace, encoder: FakeEncoder, shop: Path) -> None:
    change_settings(by_meaning, injection_mode="hybrid", query_seconds=0.0)
    encoder.gate.clear()
    assert list_titles(prompted(by_meaning, SIGNING, shop)) == ["Signing"]


def test_a_prompt_is_encoded_once(by_meaning: Workspace, encoder: FakeEncoder, shop: Path) -> None:
    change_settings(by_meaning, injection_mode="hybrid")
    prompted(by_meaning, f"<system-reminder>Be brief.</system-reminder>{SIGNING}" + " please" * 3_000, shop)
    assert len(encoder.queries) == 1


# --- a look at the vault --------------------------------------------------------------------------------------------


def write_by_hand(ws: Workspace) -> None:
    path = ws.store.paths.memories / "by hand.md"
    path.write_text("---\nproject: shop\n---\nThe zeppelin hangar is locked at night.\n")


def test_a_process_that_has_just_started_sees_what_was_written_by_hand(filled: Workspace, shop: Path) -> None:
    write_by_hand(filled)
    prompt = "when is the zeppelin hangar locked?"
    assert prompted(filled, prompt, shop).text == ""
    assert "zeppelin hangar is locked at night" in looked(filled, prompt, shop).text


def test_the_vector_is_computed_during_the_look_and_not_again(
    by_meaning: Workspace, encoder: FakeEncoder, shop: Path
) -> None:
    assert list_titles(looked(by_meaning, SIGNING, shop)) == ["Signing"]
    assert encoder.queries == [SIGNING]


@pytest.mark.parametrize("mode", ["auto", "hybrid"])
def test_the_vault_is_scanned_once_and_the_transcript_read_once(
    filled: Workspace, shop: Path, session: Transcript, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    counts: Counter[str] = Counter()

    def counted(module: ModuleType, name: str) -> None:
        plain = getattr(module, name)

        def call(*given: Any, **named: Any) -> Any:
            counts[name] += 1
            return plain(*given, **named)

        monkeypatch.setattr(module, name, call)

    counted(refresh, "refresher")
    counted(transcript_session, "recent")
    session.human("what signs our access tokens?")
    session.claude("Access tokens are signed with RS256.")
    change_settings(filled, injection_mode=mode)
    assert list_titles(looked(filled, FOLLOWING, shop, session.path)) == ["Signing"]
    assert counts == {"refresher": 1, "recent": 1}
    prompted(filled, FOLLOWING, shop, "s2", session.path)
    assert counts == {"refresher": 1, "recent": 2}


@pytest.mark.parametrize(("mode", "prompt"), [("tool", SIGNING), ("auto", "/compact"), ("hybrid", "ok")])
def test_for_a_prompt_that_gets_nothing_nobody_looks(filled: Workspace, shop: Path, mode: str, prompt: str) -> None:
    write_by_hand(filled)
    assert looked(change_settings(filled, injection_mode=mode), prompt, shop).text == ""
    assert filled.index.count_where("path = ?", ("memories/by hand.md",)) == 0


def test_a_look_at_a_vault_that_is_not_there_says_so(ws: Workspace, shop: Path) -> None:
    with pytest.raises(VaultUnmade):
        looked(ws, SIGNING, shop)


def test_what_nobody_waits_for_any_more_has_not_been_shown(filled: Workspace, shop: Path) -> None:
    filled.wanted_until = filled.ticks() - 1
    assert prompted(filled, SIGNING, shop).text
    filled.wanted_until = filled.ticks() + 1
    assert prompted(filled, SIGNING, shop).text
    assert not prompted(filled, SIGNING, shop).text


def test_no_prompt_waits_for_a_large_index_to_be_made(
    filled: Workspace, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[str, ...]] = []

    def start(arguments: tuple[str, ...], _environ: dict[str, str], log: Path) -> None:
        begun.append(arguments)
        log.touch()
        os.utime(log, (filled.ticks(), filled.ticks()))

    monkeypatch.setattr("memem.core.background.start_memem", start)
    monkeypatch.setattr(refresh, "MAX_INLINE_NOTES", 2)
    filled.close()
    shutil.rmtree(filled.home.cache)
    filled.home.refresh_log.parent.mkdir(exist_ok=True)
    for _ in range(2):
        assert looked(filled, SIGNING, shop).reason == "the index is being built"
    assert begun == [("hook", "SessionStart", "--later")]
    monkeypatch.setattr(refresh, "MAX_INLINE_NOTES", 300)
    assert prompted(filled, SIGNING, shop).text


# --- what was said before -------------------------------------------------------------------------------------------

FOLLOWING = "and why is that?"


def test_a_follow_up_finds_what_was_spoken_of(filled: Workspace, shop: Path, session: Transcript) -> None:
    session.human("what signs our access tokens?")
    session.claude("Access tokens are signed with RS256.")
    assert list_titles(prompted(filled, FOLLOWING, shop, transcript=session.path)) == ["Signing"]


def test_a_follow_up_without_anything_before_it_gets_nothing(
    filled: Workspace, shop: Path, session: Transcript
) -> None:
    assert prompted(filled, FOLLOWING, shop).text == ""
    assert prompted(filled, FOLLOWING, shop, transcript=session.path).text == ""
    assert prompted(filled, FOLLOWING, shop, transcript=shop / "there is none.jsonl").text == ""


def test_the_prompt_itself_may_stand_in_the_transcript_already(
    filled: Workspace, shop: Path, session: Transcript
) -> None:
    session.human("what signs our access tokens?")
    session.claude("Access tokens are signed with RS256.")
    session.human(FOLLOWING)
    assert list_titles(prompted(filled, FOLLOWING, shop, transcript=session.path)) == ["Signing"]


def test_a_prompt_that_says_what_it_is_about_is_not_led_astray_by_what_was_said_before(
    filled: Workspace, shop: Path, session: Transcript
) -> None:
    session.human("what signs our access tokens?")
    session.claude("Access tokens are signed with RS256.")
    assert list_titles(prompted(filled, WALRUS, shop, transcript=session.path)) == ["Walrus"]


@pytest.mark.parametrize("done", ["Done.", "", "ok"])
def test_a_follow_up_after_a_nod_finds_what_was_spoken_of_before_it(
    filled: Workspace, shop: Path, session: Transcript, done: str
) -> None:
    session.human("what signs our access tokens?")
    session.claude("Access tokens are signed with RS256.")
    session.human("ok")
    if done:
        session.claude(done)
    assert list_titles(prompted(filled, FOLLOWING, shop, transcript=session.path)) == ["Signing"]


def test_a_follow_up_refers_to_the_last_that_was_spoken_of(filled: Workspace, shop: Path, session: Transcript) -> None:
    for said, answered in (
        ("what signs our access tokens?", "Access tokens are signed with RS256."),
        ("where does the walrus of the harbour sleep?", "The walrus of the harbour sleeps on the pier."),
        ("ok", "Done."),
    ):
        session.human(said)
        session.claude(answered)
    assert list_titles(prompted(filled, FOLLOWING, shop, transcript=session.path)) == ["Walrus"]


PASTED = "ERROR worker 17 lost its lease\n" * 20


def test_a_long_paste_that_ends_in_a_question_is_looked_for_by_that_question_first() -> None:
    assert inject_prompt.build_query(f"{PASTED}{SIGNING}", ()) == f"{SIGNING}\n{PASTED}".rstrip("\n")
    assert inject_prompt.build_query(f"{PASTED}{SIGNING} \n\n", ()).startswith(f"{SIGNING}\n")
    before = ("what signs our access tokens?", "They are signed with RS256.")
    assert inject_prompt.build_query(f"{PASTED}{SIGNING}", before).startswith(f"{SIGNING}\n")


@pytest.mark.parametrize(
    "prompt",
    [
        f"{PASTED}sign the access tokens",
        f"ERROR worker 17\n{SIGNING}",
        f"{PASTED}{'why ' * inject_prompt.LONG_CHARS}?",
        f"{PASTED.strip()} {SIGNING}".replace("\n", " "),
        PASTED,
        "",
    ],
)
def test_any_other_prompt_is_looked_for_as_it_is(prompt: str) -> None:
    assert inject_prompt.build_query(prompt, ()) == prompt


def test_a_question_under_what_is_longer_than_any_query_is_answered(filled: Workspace, shop: Path) -> None:
    """Only the beginning of such a long text is searched for."""
    pasted = "The walrus sleeps. " * (find.MAX_QUERY_CHARS // 10)
    assert "Signing" in list_titles(prompted(filled, f"{pasted}\n{SIGNING}", shop))
    assert "Signing" not in list_titles(prompted(filled, f"{pasted} {SIGNING}", shop, "s2"))


def test_what_is_looked_for_is_the_prompt_unless_it_refers_to_something() -> None:
    before = ("what signs our access tokens?", "They are signed with RS256.")
    assert inject_prompt.build_query(WALRUS, before) == WALRUS
    assert inject_prompt.build_query(FOLLOWING, ()) == FOLLOWING
    assert inject_prompt.build_query(FOLLOWING, before) == "\n".join((FOLLOWING, *before))


def test_a_follow_up_is_encoded_once_with_what_it_refers_to(
    by_meaning: Workspace, encoder: FakeEncoder, shop: Path, session: Transcript
) -> None:
    session.human("what signs our access tokens?")
    session.claude("Access tokens are signed with RS256.")
    looked(change_settings(by_meaning, injection_mode="hybrid"), FOLLOWING, shop, session.path)
    (query,) = encoder.queries
    assert query.splitlines()[0] == FOLLOWING
    assert "RS256" in query


def test_files_that_the_session_was_at_raise_a_memory_about_them(
    filled: Workspace, shop: Path, session: Transcript
) -> None:
    save.save(filled, "Stock levels are counted in boxes.", title="Boxes", project="shop")
    save.save(filled, "Stock levels are counted in pieces.", title="Pieces", project="shop", paths=("src/stock/**",))
    prompt = "in what are stock levels counted?"
    first = list_titles(prompted(filled, prompt, shop, "s1", session.path))
    session.human("Look at the stock.")
    session.tool("Read", file_path=str(shop / "src" / "stock" / "levels.py"))
    assert list_titles(prompted(filled, prompt, shop, "s2", session.path)) == ["Pieces", "Boxes"]
    assert sorted(first) == ["Boxes", "Pieces"]


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00 not text at all\n",
        b'{broken\n[]\n3\nnull\n"text"\n{}\n',
        b'{"type": "user", "message": null}\n{"type": "assistant", "message": {"content": 7}}\n',
        b'{"type": "user", "message": {"role": "user", "content": [null, 3, {"type": "text", "text": 5}]}}\n',
        b'{"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Read", "input": []}]}}\n',
        b'{"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Read", '
        b'"input": {"file_path": "\\u0000"}}]}}\n',
    ],
)
@pytest.mark.parametrize("prompt", [SIGNING, f"and {SIGNING}"])
def test_a_transcript_that_cannot_be_read_costs_a_prompt_nothing(
    filled: Workspace, shop: Path, session: Transcript, content: bytes, prompt: str
) -> None:
    session.raw(content)
    assert list_titles(prompted(filled, prompt, shop, transcript=session.path)) == ["Signing"]


@pytest.mark.parametrize("name", ["", "x" * 300, "a\0b"])
def test_whatever_is_given_as_a_transcript_costs_a_prompt_nothing(filled: Workspace, shop: Path, name: str) -> None:
    assert list_titles(prompted(filled, SIGNING, shop, transcript=shop / name)) == ["Signing"]


# --- receipts -------------------------------------------------------------------------------------------------------


def receipt_of(ws: Workspace) -> Receipt | None:
    return receipts.last_decision(ws).receipt


@pytest.mark.parametrize("mode", ["auto", "hybrid"])
def test_every_decision_leaves_a_receipt(filled: Workspace, shop: Path, mode: str) -> None:
    change_settings(filled, injection_mode=mode)
    for number, prompt in enumerate((SIGNING, SIGNING, OFF_TOPIC, "ok", WALRUS, WALRUS), start=1):
        found = prompted(filled, prompt, shop)
        kept = receipt_of(filled)
        assert kept is not None
        assert (kept.number, kept.reason, kept.characters) == (number, found.reason, len(found.text))
        assert tuple(item.id for item in kept.shown) == found.ids
        assert [item.id for item in kept.runners_up] == [hit.id for hit in found.runners_up]


def test_in_the_mode_tool_a_receipt_says_so(filled: Workspace, shop: Path) -> None:
    prompted(change_settings(filled, injection_mode="tool"), SIGNING, shop)
    kept = receipt_of(filled)
    assert kept is not None
    assert (kept.items, kept.reason) == ((), "MEMEM_INJECTION_MODE is tool: Claude uses its tools to search")


@pytest.mark.parametrize("mode", ["auto", "hybrid", "tool"])
@pytest.mark.parametrize("prompt", ["", *COMMANDS[:2], *SYNTHETIC[:2]])
def test_what_nobody_said_leaves_none(filled: Workspace, shop: Path, mode: str, prompt: str) -> None:
    prompted(change_settings(filled, injection_mode=mode), prompt, shop)
    assert receipt_of(filled) is None


def test_a_receipt_tells_the_line_that_was_asked_for(filled: Workspace, shop: Path) -> None:
    prompted(change_settings(filled, recall_min_confidence=0.33), SIGNING, shop)
    kept = receipt_of(filled)
    assert kept is not None
    assert kept.line == 0.33
    assert all(item.pinned or (item.confidence or 0) >= 0.33 for item in kept.shown)


# --- a home that is ill ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["receipts", "usefulness", "shown", "contexts"])
@pytest.mark.parametrize("mode", ["auto", "hybrid"])
def test_a_record_without_one_of_its_tables_costs_a_prompt_nothing(
    filled: Workspace, shop: Path, mode: str, table: str
) -> None:
    change_settings(filled, injection_mode=mode)
    filled.contexts.receipts._connect().execute(f"DROP TABLE {table}")
    assert list_titles(prompted(filled, SIGNING, shop)) == ["Signing"]


@pytest.mark.parametrize("mode", ["auto", "hybrid"])
def test_a_record_that_cannot_be_made_costs_a_prompt_nothing(filled: Workspace, shop: Path, mode: str) -> None:
    change_settings(filled, injection_mode=mode)
    filled.close()
    sqlite.drop(filled.home.contexts_file)
    filled.home.contexts_file.mkdir(parents=True)
    assert list_titles(prompted(filled, SIGNING, shop)) == ["Signing"]
