"""The meaning of a line: words, work, memories shown; and nothing, without a fault, when it is of another shape."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.conversation import ASSISTANT, HUMAN, OWN_CALL, WITH_RESULT, Turn
from memem.core.home import OWN_FOLDER
from memem.transcript.turns import TranscriptLine, read
from memem.transcript.work import Result, ToolCall, Work
from tests.transcript.test_harness import SLICE

WRITING = ("Edit", "Write", "MultiEdit")
FRAME = {
    "uuid": "u-1",
    "timestamp": "2026-03-01T09:00:00.000Z",
    "sessionId": "s-1",
    "cwd": "/home/me/shop",
    "gitBranch": "main",
    "isSidechain": False,
}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {**FRAME, "type": "user", "message": {"role": "user", "content": content}, **more}


def claude(*blocks: Any, model: str = "claude-opus-4-6", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "model": model, "type": "message", "content": list(blocks)}
    return {**FRAME, "type": "assistant", "message": message, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t", "name": name, "input": given}


def result(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t", "content": content, **more}


def text_of(value: dict[str, Any]) -> str | None:
    turn = read(value, "").turn
    return turn.text if turn else None


def work(value: dict[str, Any]) -> Work | None:
    return read(value, "").work


# --- words --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "role"),
    [(user("Use tabs."), HUMAN), (user([text("Use tabs.")]), HUMAN), (claude(text("Use tabs.")), ASSISTANT)],
)
def test_speech_is_a_turn(value: dict[str, Any], role: str) -> None:
    turn = Turn("u-1", role, "Use tabs.", "2026-03-01T09:00:00.000Z", "s-1", "/home/me/shop", "main")
    assert read(value, "other") == TranscriptLine(turn, time="2026-03-01T09:00:00.000Z")


def test_the_texts_of_a_message_are_its_paragraphs() -> None:
    blocks = [text("<ide_opened_file>a.py</ide_opened_file>"), text("One."), {"type": "image"}, text(" Two.\n")]
    assert text_of(user(blocks)) == "One.\n\nTwo."


def test_a_message_without_a_role_is_that_of_its_line() -> None:
    assert text_of({"type": "user", "message": {"content": "Hello."}}) == "Hello."
    assert text_of({"type": "user", "message": {"role": "assistant", "content": "Hello."}}) is None


def test_a_turn_of_no_session_belongs_to_that_of_its_file() -> None:
    turn = read({"type": "user", "message": {"content": "Hello."}}, "s-2").turn
    assert turn
    assert turn.session == "s-2"


@pytest.mark.parametrize("uuid", [None, "", 7, [], {}])
def test_a_turn_without_a_uuid_is_named_after_its_content(uuid: Any) -> None:
    names = [
        turn.uuid
        for value in (user("A."), user("A."), user("B."), user("A.", timestamp="later"), claude(text("A.")))
        if (turn := read(value | {"uuid": uuid}, "").turn)
    ]
    content = "human\0002026-03-01T09:00:00.000Z\0A."
    assert names[0] == names[1] == f"c-{hashlib.sha256(content.encode()).hexdigest()[:32]}"
    assert len(set(names)) == 4


@pytest.mark.parametrize(
    "marks",
    [
        {"isMeta": True},
        {"isSidechain": True},
        {"isCompactSummary": True},
        {"isVisibleInTranscriptOnly": True},
        {"toolUseResult": {"stdout": "Use tabs."}},
        {"toolUseResult": "Error: x"},
        {"origin": {"kind": "task-notification"}},
        {"promptSource": "system"},
        {"sourceToolUseID": "toolu_1"},
    ],
)
def test_synthetic_message_is_not_speech(marks: dict[str, Any]) -> None:
    assert text_of(user("Use tabs.", **marks)) is None


@pytest.mark.parametrize(
    "marks",
    [
        {"isMeta": False},
        {"toolUseResult": None},
        {"origin": {"kind": "human"}},
        {"origin": None},
        {"origin": {"kind": None}},
        {"promptSource": "typed"},
        {"promptSource": "sdk"},
    ],
)
def test_typed_message_is_speech(marks: dict[str, Any]) -> None:
    assert text_of(user("Use tabs.", **marks)) == "Use tabs."


@pytest.mark.parametrize(
    "content",
    [
        "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
        "<command-message>init is running</command-message>",
        "<command-args>x</command-args>",
        "<local-command-stdout>Bye!</local-command-stdout>",
        "<local-command-stderr>No.</local-command-stderr>",
        "<local-command-caveat>Caveat: ...</local-command-caveat>",
        "<bash-stdout>a.py</bash-stdout><bash-stderr></bash-stderr>",
        "<bash-stderr>No.</bash-stderr>",
        "<bash-input>git status</bash-input>",
        "\n<task-notification>\n<task-id>1</task-id></task-notification>",
        '<teammate-message teammate_id="a">Done.</teammate-message>',
        "<user-prompt-submit-hook>Added.</user-prompt-submit-hook>",
        "<system-reminder>x</system-reminder>\n<command-name>/clear</command-name>",
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
        "Stop hook feedback:\n- [make test]: Always run the tests.",
        "Tool loaded.",
        '<agent-message from="a">Done.</agent-message>',
        "[Image: original 3000x2000, displayed at 2000x1333. Multiply coordinates by 1.50.]",
        "[Image source: /tmp/a.png]",
        "This session is being continued from a previous conversation that ran out of context.",
        "Caveat: The messages below were generated by the user while running local commands. DO NOT respond.",
        SLICE,
        "",
        " \n",
    ],
)
def test_harness_text_is_not_speech(content: str) -> None:
    assert text_of(user(content)) is None
    assert text_of(user([text(content)])) is None


def test_expanded_slash_command_is_not_speech() -> None:
    blocks = [text("<command-name>/init</command-name>"), text("Please analyse this codebase.")]
    assert text_of(user(blocks)) is None


def test_tag_within_a_sentence_is_speech() -> None:
    assert text_of(user("Strip <command-name> too.")) == "Strip <command-name> too."


def test_slice_is_removed_from_speech() -> None:
    assert text_of(user(f"Use tabs.\n\n{SLICE}")) == "Use tabs."
    assert text_of(claude(text(f"{SLICE}\nI use tabs."))) == "I use tabs."


@pytest.mark.parametrize(
    "value",
    [
        claude(text("Hello."), isSidechain=True),
        claude(text("Hello."), isMeta=True),
        claude(text("API Error: 500"), isApiErrorMessage=True),
        claude(text("No response requested."), model="<synthetic>"),
        claude({"type": "thinking", "thinking": "Hm."}),
        claude(call("Bash", command="ls")),
    ],
)
def test_synthetic_answers_are_not_prose(value: dict[str, Any]) -> None:
    assert text_of(value) is None


@pytest.mark.parametrize(
    "kind",
    [
        "queue-operation",
        "file-history-snapshot",
        "api-request-blob",
        "progress",
        "summary",
        "new",
        None,
        3,
        [],
    ],
)
def test_other_lines_mean_nothing(kind: Any) -> None:
    value = {"type": kind, "content": "Hello.", "summary": "Hello.", "message": {"content": "Hello."}}
    assert read(value, "") == TranscriptLine()


# --- work ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tool", "written"), [("Read", ()), *((name, ("/a.py",)) for name in WRITING)])
def test_a_file_that_a_tool_was_given_was_touched_and_written_unless_it_was_read(
    tool: str, written: tuple[str, ...]
) -> None:
    done = work(claude(call(tool, file_path="/a.py", old_string="x")))
    assert done
    assert (done.files, done.written) == (("/a.py",), written)


def test_a_notebook_is_a_file() -> None:
    done = work(claude(call("NotebookEdit", notebook_path="/a.ipynb")))
    assert done
    assert done.files == done.written == ("/a.ipynb",)


def test_a_call_has_its_command_and_folder() -> None:
    done = work(claude(call("Bash", command="git log\nrm x")))
    assert done
    assert done.calls == (ToolCall("t", "Bash", "git log\nrm x", str(FRAME["cwd"])),)
    assert done.files == ()


def test_a_command_that_a_person_ran_is_its_first_line_and_never_long() -> None:
    assert work(user("<bash-input>git status\nrm x</bash-input>")) == Work(commands=("git status",))
    assert work(user(f"<bash-input>{'y' * 999}</bash-input>")) == Work(commands=("y" * 200,))


@pytest.mark.parametrize("name", ["Grep", "mcp__plugin_memem_memem__memory_save", "mcp__memem__Bash", "", None, 7, []])
def test_other_tools_have_neither_files_nor_commands(name: Any) -> None:
    done = work(claude(call(name, command="ls", file_path="/a.py")))
    assert done is None or (done.files, [each.target for each in done.calls]) == ((), [""])


def test_words_and_work_may_stand_in_one_line() -> None:
    line = read(claude(text("I look."), call("Read", file_path="/a.py")), "")
    assert line.turn
    assert line.work
    assert (line.turn.text, line.work.files) == ("I look.", ("/a.py",))


def test_a_result_names_its_call_and_whether_it_was_denied() -> None:
    failed, denied = result([text("No such file"), text("at all")], is_error=True), result("no", is_error=True)
    assert work(user([failed])) == Work(results=(Result("t", "No such file\nat all", is_error=True),))
    assert work(user([denied]) | {"toolDenialKind": "permission-rule"}) == Work(
        results=(Result("t", "no", is_error=True, is_denied=True),)
    )


@pytest.mark.parametrize(
    "block",
    [
        result("fine"),
        result("fine", is_error=False),
        result("", is_error=True),
        result(None, is_error=True),
        result("The user doesn't want to proceed with this tool use.", is_error=True),
    ],
)
def test_tool_output_is_not_speech(block: dict[str, Any]) -> None:
    line = read(user([block]), "")
    assert (line.turn, line.output) == (None, tuple(filter(None, [block["content"]])))


def test_text_beside_a_tool_result_is_a_persons() -> None:
    line = read(user([result("fine"), text("Always use pnpm.")]), "")
    assert line.turn
    assert (line.turn.role, line.turn.place, line.turn.text) == (HUMAN, WITH_RESULT, "Always use pnpm.")
    assert line.output == ("fine",)


def test_the_work_of_a_subagent_is_not_that_of_the_session() -> None:
    assert work(claude(call("Bash", command="ls"), isSidechain=True)) is None


# --- what memem put there -----------------------------------------------------------------------------------------


def attachment(content: Any, kind: str = "hook_additional_context") -> dict[str, Any]:
    return {**FRAME, "type": "attachment", "attachment": {"type": kind, "content": content, "hookEvent": "x"}}


@pytest.mark.parametrize(
    "value",
    [
        attachment(SLICE),
        attachment(["first", SLICE, 7]),
        user(f"<system-reminder>\n{SLICE}</system-reminder>", isMeta=True),
        user([text(f"<system-reminder>UserPromptSubmit hook: \n{SLICE}</system-reminder>"), text("Use tabs.")]),
    ],
)
def test_memories_that_were_shown_are_known(value: dict[str, Any]) -> None:
    assert read(value, "").injected == ("3f2c9a1e", "ab12cd34")


@pytest.mark.parametrize(
    "value", [attachment("x"), attachment(SLICE, "file"), attachment(None), attachment({}), claude(text(SLICE))]
)
def test_other_lines_show_no_memories(value: dict[str, Any]) -> None:
    assert read(value, "").injected == ()


@pytest.mark.parametrize(
    "value",
    [
        user(f"{OWN_CALL} lessons\n..."),
        user([text(f"{OWN_CALL} lessons")]),
        user("x", cwd=f"/home/me/.memem/{OWN_FOLDER}"),
        claude(text("x"), cwd=f"/home/me/{OWN_FOLDER}/"),
        {"type": "system", "cwd": rf"C:\Users\me\{OWN_FOLDER}"},
    ],
)
def test_a_call_of_memem_is_known_as_its_own(value: dict[str, Any]) -> None:
    assert read(value, "").own


@pytest.mark.parametrize(
    "value",
    [user(f"What is {OWN_CALL}?"), user("x", cwd=f"/{OWN_FOLDER}/src"), claude(text(f"{OWN_CALL} x")), user(None)],
)
def test_other_conversations_are_not_its_own(value: dict[str, Any]) -> None:
    assert not read(value, "").own


# --- any shape ----------------------------------------------------------------------------------------------------

_keys = st.sampled_from(
    "type message role content text name input is_error uuid timestamp sessionId cwd gitBranch attachment origin kind"
    " isMeta toolUseResult file_path command model".split()
)
_words = st.sampled_from(
    ("user", "assistant", "attachment", "text", "tool_use", "tool_result", "hook_additional_context", "Bash", "Read")
)
_anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(st.characters(), max_size=5) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(_keys, _anything, max_size=8), st.sampled_from(("user", "assistant", "attachment")))
def test_no_shape_of_a_line_is_an_error(value: dict[str, Any], kind: str) -> None:
    line = read({"type": kind, **value}, "s")
    assert line.turn is None or line.turn.text.strip()


@given(st.sampled_from(("user", "assistant")), _anything)
def test_no_shape_of_a_message_is_an_error(kind: str, content: Any) -> None:
    for message in (content, {"content": content}, {"role": kind, "content": [content]}):
        read({"type": kind, "message": message}, "s")
