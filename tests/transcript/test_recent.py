"""The end of a transcript: its last words and files, whatever state the file is in."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.conversation import ASSISTANT, HUMAN
from memem.core.memory import SLICE_HEADING
from memem.transcript.session import MAX_FILES, WIDER_BYTES, Recent, recent
from memem.transcript.work import LONGEST_ITEM
from tests.transcripts import Transcript


def words(found: Recent) -> list[str]:
    return [turn.text for turn in found.turns]


def result(text: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": text}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def long_output(session: Transcript, size: int) -> None:
    session.add(**result("x" * size))


def test_the_last_turns_come_oldest_first(session: Transcript) -> None:
    for number in range(6):
        session.human(f"question {number}")
        session.claude(f"answer {number}")
    assert words(recent(session.path)) == ["question 4", "answer 4", "question 5", "answer 5"]
    assert words(recent(session.path, turns=1)) == ["question 5"]
    assert [turn.role for turn in recent(session.path, turns=2).turns] == [HUMAN, ASSISTANT]


def test_last_prompt_is_included_however_long_the_answer(session: Transcript) -> None:
    session.human("fix the login")
    for number in range(9):
        session.claude(f"step {number}")
    assert words(recent(session.path)) == ["fix the login", "step 6", "step 7", "step 8"]


def test_first_prompt_has_no_recent_turns(session: Transcript) -> None:
    assert words(recent(session.path)) == []
    session.human("fix the login")
    assert words(recent(session.path)) == ["fix the login"]


def test_only_speech_counts(session: Transcript) -> None:
    session.human("fix the login")
    session.human("meta", isMeta=True)
    session.human("side", isSidechain=True)
    session.human("<task-notification>done</task-notification>")
    session.shows(f"{SLICE_HEADING}\n\n1. abcd1234 · **x**")
    session.tool_failed("boom")
    session.add(type="assistant", message={"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]})
    assert words(recent(session.path)) == ["fix the login"]


def test_text_next_to_a_thought_counts(session: Transcript) -> None:
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Done."}]
    session.raw(json.dumps({"type": "assistant", "message": {"content": blocks}}, separators=(",", ":")).encode())
    assert words(recent(session.path)) == ["Done."]


def test_a_thought_alone_is_passed_over_unread(session: Transcript) -> None:
    session.human("fix the login")
    session.raw(b'{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"}]}}\n')
    assert words(recent(session.path)) == ["fix the login"]


def test_a_person_may_write_about_the_format(session: Transcript) -> None:
    said = 'why is "tool_result" empty when {"isSidechain":true}'
    session.human(said)
    assert words(recent(session.path)) == [said]


def test_the_prompt_that_is_being_asked_is_left_out(session: Transcript) -> None:
    session.human("same again")
    session.claude("Done.")
    session.human("same again")
    assert words(recent(session.path, unless=" same again\n")) == ["same again", "Done."]
    assert words(recent(session.path, unless="another")) == ["same again", "Done.", "same again"]


def test_an_older_prompt_of_the_same_words_stays(session: Transcript) -> None:
    session.human("same again")
    session.claude("Done.")
    assert words(recent(session.path, unless="same again")) == ["same again", "Done."]


def test_files_are_the_latest_first_and_named_once(session: Transcript) -> None:
    session.human("an older question")
    session.tool("Read", file_path="/srv/shop/old.py")
    session.human("fix the login")
    session.tool("Read", file_path="/srv/shop/a.py")
    session.tool("Edit", file_path="/srv/shop/b.py")
    session.tool("Bash", command="make")
    session.claude("Now the rest.")
    session.tool("Write", file_path="/srv/shop/a.py")
    assert recent(session.path, turns=2).files == ("/srv/shop/a.py", "/srv/shop/b.py")
    assert recent(session.path).files == ("/srv/shop/a.py", "/srv/shop/b.py", "/srv/shop/old.py")


def test_there_are_not_too_many_files_nor_any_with_half_a_name(session: Transcript) -> None:
    session.human("fix the login")
    for number in range(MAX_FILES + 3):
        session.tool("Read", file_path=f"/srv/shop/{number}.py")
    session.tool("Read", file_path="/srv/" + "x" * LONGEST_ITEM)
    files = recent(session.path).files
    assert len(files) == MAX_FILES
    assert files[0] == f"/srv/shop/{MAX_FILES + 2}.py"


def test_a_person_who_spoke_further_back_is_looked_for_once_more(session: Transcript) -> None:
    session.human("fix the login")
    session.tool("Read", file_path="/srv/shop/a.py")
    long_output(session, 100_000)
    session.claude("Read it.")
    found = recent(session.path)
    assert words(found) == ["fix the login", "Read it."]
    assert found.files == ("/srv/shop/a.py",)


def test_nothing_further_back_than_the_second_look_is_read(session: Transcript) -> None:
    session.human("fix the login")
    long_output(session, WIDER_BYTES)
    session.claude("Read it.")
    assert words(recent(session.path)) == ["Read it."]


def test_a_line_longer_than_all_that_is_read_says_nothing(session: Transcript) -> None:
    session.human("x" * (WIDER_BYTES + 1))
    assert recent(session.path) == Recent()


def test_a_larger_first_look_is_the_only_one(session: Transcript) -> None:
    session.human("fix the login")
    long_output(session, WIDER_BYTES)
    assert words(recent(session.path, most_bytes=2 * WIDER_BYTES)) == ["fix the login"]


def test_a_torn_last_line_and_junk_are_passed_over(session: Transcript) -> None:
    session.raw(b"\x00\xff junk\n[1, 2]\n{}\n\n")
    session.human("fix the login")
    session.raw(b'{"type":"user","message":{"role":"user","content":"half a li')
    assert words(recent(session.path)) == ["fix the login"]


def test_two_objects_on_a_line_keep_their_order(session: Transcript) -> None:
    lines = [json.dumps({"type": "user", "message": {"role": "user", "content": text}}) for text in ("one", "two")]
    session.raw("".join(lines).encode() + b"\n")
    assert words(recent(session.path)) == ["one", "two"]


def test_a_session_that_names_itself_nowhere_is_named_by_its_file(session: Transcript) -> None:
    session.raw(b'{"type":"user","message":{"role":"user","content":"hi"}}\n')
    assert recent(session.path).turns[0].session == session.path.stem


@pytest.mark.parametrize("name", ["missing.jsonl", "", "a\0b", "x" * 400])
def test_missing_file_gives_nothing(tmp_path: Path, name: str) -> None:
    assert recent(tmp_path / name) == Recent()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert recent(tmp_path / "pipe.jsonl") == Recent()


def test_a_file_that_may_not_be_read_says_nothing(session: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    session.human("fix the login")

    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "open", refused)
    assert recent(session.path) == Recent()


@given(st.binary(max_size=300), st.integers(1, 400))
def test_any_bytes_are_read(tmp_path: Path, data: bytes, most: int) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(data)
    recent(path, most_bytes=most)


@given(st.integers(1, 2_000))
def test_wherever_the_reading_begins_the_words_are_the_same(tmp_path: Path, most: int) -> None:
    session = Transcript(tmp_path / "cut.jsonl")
    session.path.write_bytes(b"")
    for number in range(4):
        session.human(f"question {number} 数据库")
    assert words(recent(session.path, turns=1, most_bytes=most)) == ["question 3 数据库"]
