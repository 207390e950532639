"""The answer to each event: JSON for Claude Code, or nothing."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memem.core import sqlite as databases
from memem.core.errors import HomeError, IndexTooNew, InputError, MememError, SettingsError, VaultMissing
from memem.doors.hook import answers
from memem.doors.mcp import tools
from memem.inject import session_start
from memem.inject.permissions import SCOPED_TOOLS, TOOLS_BY_ID
from memem.notes import save
from memem.search import find
from memem.workspace import Workspace
from tests.builders import examples

TOOL = "mcp__plugin_memem_memem__"
PROMPT = "are access tokens signed with RS256?"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The folder of a project."""
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    return folder


@pytest.fixture
def filled(ws: Workspace) -> Workspace:
    save.save(ws, "Access tokens are signed with RS256.", title="Signing", project="shop", paths=("src/**",))
    save.save(ws, "Tests are named for one behaviour.", project="shop", kind="convention")
    return ws


def using(ws: Workspace, **changes: Any) -> Workspace:
    ws.settings = replace(ws.settings, **changes)
    return ws


def answer(ws: Workspace, event: str, cwd: Path | str = "", **more: Any) -> Any:
    """The answer to an envelope as Claude Code writes it; empty for none."""
    common = {"session_id": "s1", "transcript_path": "/srv/s1.jsonl", "cwd": str(cwd), "hook_event_name": event}
    told = answers.answer(ws, event, json.dumps(common | more).encode())
    return json.loads(told) if told else ""


# --- the shape ------------------------------------------------------------------------------------------------------


def test_a_session_start_gets_a_briefing(filled: Workspace, shop: Path) -> None:
    told = answer(filled, "SessionStart", shop, source="startup")
    context = told["hookSpecificOutput"].pop("additionalContext")
    assert told == {"hookSpecificOutput": {"hookEventName": "SessionStart"}}
    assert context.startswith("# Active Memory Slice\n\n## Working (current state)\n- Project: shop\n")
    assert "Tests are named for one behaviour" in context


def test_the_user_sees_a_banner(filled: Workspace, shop: Path) -> None:
    using(filled, notices="all")
    told = answer(filled, "SessionStart", shop, source="startup")
    assert sorted(told) == ["hookSpecificOutput", "systemMessage"]
    assert told["systemMessage"] == "memem: 2 memories for shop · mining off (/memem-mine)"
    assert answer(filled, "SessionStart", shop, source="resume") == {"systemMessage": told["systemMessage"]}


def test_a_resumed_session_gets_nothing(filled: Workspace, shop: Path) -> None:
    answer(filled, "SessionStart", shop, source="startup")
    assert answer(filled, "SessionStart", shop, source="resume") == ""


def test_a_prompt_is_answered_with_its_slice_once(filled: Workspace, shop: Path) -> None:
    told = answer(filled, "UserPromptSubmit", shop, prompt=PROMPT)
    context = told["hookSpecificOutput"].pop("additionalContext")
    assert told == {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit"}}
    assert "   > Access tokens are signed with RS256." in context
    assert answer(filled, "UserPromptSubmit", shop, prompt=PROMPT) == ""


def test_a_prompt_that_needs_nothing_is_answered_with_nothing_at_all(filled: Workspace, shop: Path) -> None:
    for prompt in ("hi", "", "/compact", "<task-notification>RS256 tokens signed</task-notification>"):
        assert answers.answer(filled, "UserPromptSubmit", json.dumps({"prompt": prompt}).encode()) == b""


def test_non_ascii_text_is_not_escaped(filled: Workspace, shop: Path) -> None:
    save.save(filled, "访问令牌使用 RS256 签名。", title="签名", project="shop")
    envelope = json.dumps({"prompt": "访问令牌如何签名？", "cwd": str(shop)}).encode()
    assert "访问令牌使用 RS256 签名。" in answers.answer(filled, "UserPromptSubmit", envelope).decode()


@pytest.mark.parametrize("tool", ["Read", "Edit", "Write"])
def test_a_file_is_answered_with_what_is_known_of_it_where_that_is_wanted(
    filled: Workspace, shop: Path, tool: str
) -> None:
    given = {"tool_name": tool, "tool_input": {"file_path": str(shop / "src" / "token.py")}}
    assert answer(filled, "PreToolUse", shop, **given) == ""
    told = answer(using(filled, pretool_gating=True), "PreToolUse", shop, **given)
    context = told["hookSpecificOutput"].pop("additionalContext")
    assert told == {"hookSpecificOutput": {"hookEventName": "PreToolUse"}}
    assert context.startswith("# Active Memory Slice\n\n## About src/token.py\n1. ")
    assert answer(filled, "PreToolUse", shop, **given) == ""


@pytest.mark.parametrize(
    "given", [None, [], "src/a.py", {}, {"file_path": None}, {"file_path": ""}, {"file_path": [1]}]
)
def test_a_tool_without_a_file_is_answered_with_nothing(filled: Workspace, shop: Path, given: Any) -> None:
    using(filled, pretool_gating=True)
    assert answer(filled, "PreToolUse", shop, tool_name="Read", tool_input=given) == ""


# --- permissions ----------------------------------------------------------------------------------------------------


ALLOWED = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}


@pytest.mark.parametrize("name", sorted(SCOPED_TOOLS))
def test_our_reading_tools_need_no_permission(ws: Workspace, name: str) -> None:
    given: dict[str, Any] = {"tool_name": TOOL + name, "tool_input": {"query": "x"}}
    assert answer(ws, "PermissionRequest", **given) == ALLOWED
    decided = answer(ws, "PreToolUse", **given)["hookSpecificOutput"]
    assert (decided["hookEventName"], decided["permissionDecision"]) == ("PreToolUse", "allow")


@pytest.mark.parametrize(
    "name",
    [
        f"{TOOL}memory_save",
        f"{TOOL}memory_forget",
        f"{TOOL}memory_import",
        f"{TOOL}memory_graph_rebuild",
        f"{TOOL}memory_search_and_destroy",
        f"{TOOL}{TOOL}memory_search",
        f"{TOOL}",
        "memory_search",
        "mcp__memem__memory_search",
        "mcp__plugin_other_memem__memory_search",
        "mcp__plugin_memem_memem__memory_search ",
        " mcp__plugin_memem_memem__memory_search",
        "MCP__PLUGIN_MEMEM_MEMEM__memory_search",
        "Bash",
        "Read",
        "",
        None,
        ["memory_search"],
    ],
)
def test_no_other_tool_is_allowed(ws: Workspace, name: Any) -> None:
    assert answer(ws, "PermissionRequest", tool_name=name) == ""


def test_permission_is_asked_for_if_the_settings_say_so(ws: Workspace) -> None:
    using(ws, allow_reading=False)
    assert answer(ws, "PermissionRequest", tool_name=f"{TOOL}memory_search") == ""


def test_every_tool_that_can_be_allowed_only_reads() -> None:
    assert {*SCOPED_TOOLS, *TOOLS_BY_ID} < {
        name for name, tool in tools.TOOLS.items() if tool["annotations"]["readOnlyHint"]
    }


def test_forgetting_asks_with_the_title_when_there_is_somebody_to_ask(filled: Workspace) -> None:
    (entry,) = [each for each in find.list_memories(filled) if "RS256" in each.body]
    given: dict[str, Any] = {"tool_name": f"{TOOL}memory_forget", "tool_input": {"id": entry.memory.id8}}
    decided = answer(filled, "PreToolUse", **given)["hookSpecificOutput"]
    assert decided["permissionDecision"] == "ask"
    assert f"“{entry.title}” ({entry.memory.id8}, project shop)" in decided["permissionDecisionReason"]
    assert answer(filled, "PermissionRequest", **given) == ""
    envelope = json.dumps({"session_id": "s1", **given}).encode()
    script = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
    assert answers.answer(filled, "PreToolUse", envelope, environ=script) == b""


# --- trouble --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PreToolUse"])
def test_before_there_is_a_vault_there_is_silence(ws: Workspace, shop: Path, event: str) -> None:
    using(ws, pretool_gating=True)
    more = {"source": "startup", "prompt": PROMPT, "tool_input": {"file_path": str(shop / "src" / "a.py")}}
    assert answer(ws, event, shop, **more) == ""
    assert answers.answer(ws, event, json.dumps({"cwd": str(shop), **more}).encode(), look=True) == b""
    assert not ws.settings.vault.exists()


def test_a_banner_is_shown_before_there_is_a_vault_too(ws: Workspace, shop: Path) -> None:
    using(ws, notices="all")
    told = answer(ws, "SessionStart", shop, source="startup")
    assert told == {"systemMessage": "memem: no memories yet · mining off (/memem-mine)"}


def test_problems_are_shown_at_session_start_only(filled: Workspace, shop: Path) -> None:
    using(filled, pretool_gating=True)
    answer(filled, "SessionStart", shop, source="startup")
    filled.store.paths.marker.unlink()
    told = answer(filled, "SessionStart", shop, source="startup")
    assert list(told) == ["systemMessage"]
    assert told["systemMessage"].startswith(f"memem: The vault {filled.settings.vault} is gone")
    assert told["systemMessage"].endswith("See /memem-doctor.")
    assert "\n" not in told["systemMessage"]
    for event in ("UserPromptSubmit", "PreToolUse"):
        with pytest.raises(VaultMissing):
            answer(filled, event, shop, prompt=PROMPT, tool_input={"file_path": str(shop / "src" / "a.py")})


def test_an_index_that_cannot_be_used_is_named(filled: Workspace, shop: Path) -> None:
    filled.close()
    with closing(sqlite3.connect(filled.index_file)) as connection:
        connection.execute("PRAGMA user_version = 99")
    assert (
        "written by a newer version of memem" in answer(filled, "SessionStart", shop, source="startup")["systemMessage"]
    )
    with pytest.raises(IndexTooNew):
        answer(filled, "UserPromptSubmit", shop, prompt=PROMPT)


def test_a_damaged_record_of_contexts_does_not_prevent_an_answer(filled: Workspace, shop: Path) -> None:
    filled.close()
    databases.drop(filled.home.contexts_file)
    filled.home.contexts_file.mkdir()
    assert "systemMessage" not in answer(filled, "SessionStart", shop, source="startup")
    told = answer(filled, "UserPromptSubmit", shop, prompt=PROMPT)
    assert "RS256" in told["hookSpecificOutput"]["additionalContext"]


def test_a_project_whose_settings_are_wrong_is_named(filled: Workspace, shop: Path) -> None:
    (shop / ".memem.toml").write_text("project = 7")
    assert ".memem.toml: project must be text" in answer(filled, "SessionStart", shop)["systemMessage"]
    with pytest.raises(SettingsError):
        answer(filled, "UserPromptSubmit", shop, prompt=PROMPT)


def test_a_message_may_name_a_path_that_is_not_utf8(filled: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise HomeError("Cannot use /srv/\udcff.")

    monkeypatch.setattr(session_start, "brief", gone)
    assert answer(filled, "SessionStart")["systemMessage"].startswith("memem: Cannot use /srv/?.")


@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd", "PostToolUse", "", "SessionStart ", "é"])
def test_an_event_that_is_not_answered_is_refused(ws: Workspace, event: str) -> None:
    with pytest.raises(InputError, match=r"memem does not handle the event .* Use one of SessionStart"):
        answers.answer(ws, event, b"{}")


MALFORMED = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"1",
    b'"x"',
    b"\xff\xfe",
    b"{}{}",
    b"[" * 100_000,
    b'{"a": ' + b"1" * 5_000 + b"}",
]


@pytest.mark.parametrize("envelope", MALFORMED, ids=range(len(MALFORMED)))
def test_an_envelope_that_is_none_is_refused(filled: Workspace, envelope: bytes) -> None:
    for event in ("UserPromptSubmit", "PreToolUse", "PermissionRequest"):
        with pytest.raises(InputError, match="expects a JSON object"):
            answers.answer(filled, event, envelope)
    told = json.loads(answers.answer(filled, "SessionStart", envelope))
    assert told == {"systemMessage": "memem: The hook expects a JSON object on standard input. See /memem-doctor."}


# --- any envelope at all --------------------------------------------------------------------------------------------


ODD_PATHS = (
    "",
    "\0",
    "\ud800",
    "\udcff",
    "a\0b",
    "/",
    "~",
    "..",
    "/srv/shop",
    "x" * 5_000,
    "/" + "y" * 300,
    "名" * 300,
)
SOURCES = ("startup", "resume", "compact", "clear", "fork")
ODD = st.sampled_from((*ODD_PATHS, *SOURCES, PROMPT, f"{TOOL}memory_search", "/compact", "ok", "# Active Memory Slice"))
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = ("session_id", "cwd", "source", "prompt", "tool_name", "tool_input", "transcript_path", "file_path")
ENVELOPE = st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, VALUE | ODD)) | st.fixed_dictionaries(
    {"tool_input": st.fixed_dictionaries({"file_path": VALUE | ODD}), "cwd": VALUE | ODD}
)
EVENTS = sorted(answers.ANSWERS)


def stands_it(ws: Workspace, event: str, envelope: bytes) -> None:
    """Any input gets JSON of the right shape, or an error of ours."""
    try:
        told = answers.answer(ws, event, envelope, look=event == "UserPromptSubmit")
    except MememError as problem:
        assert "\n" not in str(problem)
        assert event != "SessionStart"
        return
    if told:
        said = json.loads(told.decode("utf-8"))
        assert set(said) <= {"hookSpecificOutput", "systemMessage"}
        assert said.get("hookSpecificOutput", {"hookEventName": event})["hookEventName"] == event


@pytest.mark.parametrize("event", EVENTS)
@given(envelope=ENVELOPE)
@settings(max_examples=examples(100))
@example(envelope={"cwd": "a\0b"})
@example(envelope={"cwd": "/" + "y" * 300, "prompt": PROMPT})
@example(envelope={"tool_input": {"file_path": "\udcff"}, "cwd": "/"})
@example(envelope={"session_id": "\ud800", "source": "compact"})
def test_any_envelope_is_answered_or_refused_in_our_words(
    filled: Workspace, event: str, envelope: dict[str, Any]
) -> None:
    using(filled, pretool_gating=True, injection_mode="hybrid", notices="all")
    stands_it(filled, event, json.dumps(envelope).encode())


@pytest.mark.parametrize("event", EVENTS)
@given(envelope=st.binary(max_size=60) | VALUE.map(lambda value: json.dumps(value).encode()))
@settings(max_examples=examples(50))
def test_any_bytes_are_answered_or_refused_in_our_words(filled: Workspace, event: str, envelope: bytes) -> None:
    stands_it(using(filled, pretool_gating=True), event, envelope)


def test_a_loop_of_links_counts_as_no_folder(filled: Workspace, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    save.save(filled, "A fact of none.")
    told = answer(filled, "SessionStart", tmp_path / "loop", source="startup")
    assert "- Project: general" in told["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("cwd", ["gone", "file.txt", "file.txt/below"])
def test_a_missing_folder_is_accepted(filled: Workspace, tmp_path: Path, cwd: str) -> None:
    (tmp_path / "file.txt").touch()
    stands_it(filled, "UserPromptSubmit", json.dumps({"cwd": str(tmp_path / cwd), "prompt": PROMPT}).encode())
    assert "systemMessage" not in answer(filled, "SessionStart", tmp_path / cwd, source="startup")


# --- in a process of its own ----------------------------------------------------------------------------------------


@pytest.fixture
def here(filled: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The home that a hook finds by its environment."""
    monkeypatch.setenv("MEMEM_DIR", str(filled.home.root))
    monkeypatch.setenv("MEMEM_OBSIDIAN_VAULT", str(filled.settings.vault))
    filled.close()
    return filled


def test_a_process_of_its_own_sees_what_was_written_by_hand(here: Workspace, shop: Path) -> None:
    path = here.store.paths.memories / "by hand.md"
    path.write_text("---\nproject: shop\n---\nThe zeppelin hangar is locked at night.\n")
    envelope = json.dumps({"prompt": "when is the zeppelin hangar locked?", "cwd": str(shop), "session_id": "s1"})
    assert b"zeppelin hangar is locked at night" in answers.answer_here("UserPromptSubmit", envelope.encode())


def test_wrong_settings_are_named_at_session_start(here: Workspace) -> None:
    here.home.config_file.write_text("vault_ = 1")
    told = json.loads(answers.answer_here("SessionStart", b"{}"))
    assert "has an unknown key 'vault_'" in told["systemMessage"]
    with pytest.raises(SettingsError):
        answers.answer_here("UserPromptSubmit", b"{}")
