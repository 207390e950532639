"""The reference reader finds what the person of each recording typed, and nothing that a program wrote."""

import base64
import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.reference_reader import PLACES, every_object, utterances

FOLDER = Path(__file__).parents[1] / "fixtures" / "sessions"
RECORDINGS = sorted(FOLDER.glob("*/*.jsonl"))
EXPECTED: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "expected.toml").read_text(encoding="utf-8"))
LARGE_LINE_BYTES = 8 * 1024 * 1024
TIME = "2026-11-18T20:00:{:02}.000Z"


def expected_of(recording: Path) -> dict[str, Any]:
    entry = EXPECTED[recording.stem]
    return {**entry, **entry.get(recording.parent.name, {})}


def name_of(recording: Path) -> str:
    return f"{recording.parent.name}/{recording.stem}"


def as_file(*lines: dict[str, Any]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def user_line(content: object, second: int = 0, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": f"u{second}", "timestamp": TIME.format(second), "message": message, **more}


def queue(operation: str, second: int, words: str | None = None) -> dict[str, Any]:
    line = {"type": "queue-operation", "operation": operation, "timestamp": TIME.format(second), "sessionId": "s"}
    return line if words is None else line | {"content": words}


def read_words(*lines: dict[str, Any]) -> list[tuple[str, str]]:
    return [(utterance.place, utterance.text) for utterance in utterances(as_file(*lines))]


@pytest.mark.parametrize("recording", RECORDINGS, ids=name_of)
def test_a_recording_says_what_was_typed(recording: Path) -> None:
    expected = expected_of(recording)
    heard = utterances(recording.read_bytes())
    assert Counter((utterance.place, utterance.text) for utterance in heard) == Counter(
        (place, words.strip("\n")) for place, words in expected["said"]
    )
    assert all(utterance.time for utterance in heard)
    assert len({utterance.key for utterance in heard}) == len(heard)
    for words in expected.get("never_said", []):
        assert not any(words in utterance.text for utterance in heard), words
    for words in expected.get("approved", []):
        assert any(words in utterance.text for utterance in heard), words


def test_every_recording_is_expected_and_every_expected_one_exists_in_each_version() -> None:
    versions = {recording.parent.name for recording in RECORDINGS}
    assert len(versions) == 3
    for version in versions:
        assert {recording.stem for recording in RECORDINGS if recording.parent.name == version} == set(EXPECTED)
    assert {place for entry in EXPECTED.values() for place, _ in entry["said"]} == set(PLACES)


@pytest.mark.parametrize("place", EXPECTED)
def test_words_that_were_never_said_stand_in_a_recording(place: str) -> None:
    files = [path.read_text(encoding="utf-8") for path in RECORDINGS if path.stem == place]
    for words in EXPECTED[place].get("never_said", []):
        escaped = json.dumps(words, ensure_ascii=False)[1:-1]
        assert any(escaped in file for file in files), words


@pytest.mark.parametrize("recording", RECORDINGS, ids=name_of)
def test_a_recording_names_no_real_machine(recording: Path) -> None:
    text = recording.read_text(encoding="utf-8")
    assert not re.search(r"(?<!/home/person)/tmp/|/root\b|memem-record|-tmp-", text)
    folders = {line["cwd"] for line in every_object(text.encode()) if "cwd" in line}
    assert folders <= {"/home/person/shop-api"}


def test_a_large_image_does_not_hide_its_words() -> None:
    data = base64.b64encode(b"\0" * LARGE_LINE_BYTES).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    line = user_line([image, {"type": "text", "text": "The button must be green"}])
    assert len(as_file(line)) > LARGE_LINE_BYTES
    assert read_words(line) == [("prompt", "The button must be green")]


def test_an_image_alone_says_nothing() -> None:
    assert read_words(user_line([{"type": "image", "source": {"type": "base64", "data": ""}}])) == []


def test_old_versions_deliver_a_queued_prompt_to_the_running_turn_without_a_line_of_its_own() -> None:
    lines = (queue("enqueue", 1, "add unit tests too"), queue("remove", 3))
    assert read_words(*lines) == [("queued", "add unit tests too")]


def test_a_queued_prompt_that_still_waits_is_not_said_yet() -> None:
    assert read_words(queue("enqueue", 1, "add unit tests too")) == []


@pytest.mark.parametrize("operation", ["popAll", "popOne"])
def test_a_prompt_taken_back_is_not_said_while_its_neighbour_is(operation: str) -> None:
    waiting = (queue("enqueue", 1, "use Rust"), queue("enqueue", 2, "use Python"))
    assert read_words(*waiting, queue(operation, 3, "use Rust"), queue("remove", 4)) == [("queued", "use Python")]


def test_the_same_words_queued_twice_are_two_utterances() -> None:
    waiting = (queue("enqueue", 1, "yes"), queue("enqueue", 2, "yes"))
    delivered = (queue("dequeue", 3), user_line("yes", 3, promptSource="queued"), queue("remove", 4))
    assert read_words(*waiting, *delivered) == [("queued", "yes"), ("queued", "yes")]


def test_earlier_words_do_not_stand_for_a_queued_prompt() -> None:
    lines = (user_line("yes", 1), queue("enqueue", 5, "yes"), queue("remove", 6))
    assert read_words(*lines) == [("prompt", "yes"), ("queued", "yes")]


def test_queued_prompts_joined_in_one_line_are_said_once() -> None:
    waiting = (queue("enqueue", 1, "use Rust"), queue("enqueue", 2, "only the lexer"))
    delivered = (queue("dequeue", 3), queue("dequeue", 3), user_line("use Rust\nonly the lexer", 3))
    assert read_words(*waiting, *delivered) == [("prompt", "use Rust\nonly the lexer")]


def test_notifications_in_the_queue_are_not_of_a_person() -> None:
    assert read_words(queue("enqueue", 1, "<task-notification>\n<task-id>b1</task-id>"), queue("dequeue", 2)) == []


def test_answers_are_read_from_the_text_where_the_details_are_missing() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "AskUserQuestion", "input": {}}
    asked = {"type": "assistant", "message": {"role": "assistant", "content": [call]}}
    words = 'User has answered your questions: "Which store?"="Redis", "How long?"="Two days". You can now continue.'
    result = {"type": "tool_result", "tool_use_id": "t1", "content": words}
    assert read_words(asked, user_line([result])) == [("answer", "Redis"), ("answer", "Two days")]


def test_a_result_that_quotes_a_rejection_is_output() -> None:
    words = "grep: The user doesn't want to proceed with this tool use. the user said:\nno"
    assert read_words(user_line([{"type": "tool_result", "tool_use_id": "t1", "content": words}])) == []


@pytest.mark.parametrize("mark", ["isMeta", "isSidechain", "isCompactSummary"])
def test_lines_that_programs_write_are_skipped(mark: str) -> None:
    assert read_words(user_line("Use tabs", **{mark: True})) == []


@pytest.mark.parametrize("kind", ["auto-continuation", "task-notification", "channel"])
def test_prompts_of_another_origin_are_not_of_the_person(kind: str) -> None:
    assert read_words(user_line("Use tabs", origin={"kind": kind})) == []


def test_words_beside_what_an_editor_adds_are_kept() -> None:
    opened = "<ide_opened_file>The user opened the file a.py in the IDE.</ide_opened_file>"
    blocks = [{"type": "text", "text": opened}, {"type": "text", "text": "explain this file"}]
    assert read_words(user_line(blocks)) == [("prompt", "explain this file")]


def test_a_repeated_line_is_one_utterance() -> None:
    assert read_words(user_line("Use tabs"), user_line("Use tabs")) == [("prompt", "Use tabs")]


def test_a_command_without_arguments_says_nothing() -> None:
    assert read_words(user_line("<command-message>ship</command-message>\n<command-name>/ship</command-name>")) == []


def test_damaged_files_are_read_as_far_as_they_are_whole() -> None:
    one, two = json.dumps(user_line("Use tabs", 1)), json.dumps(user_line("Sort targets", 2), indent=2)
    three = json.dumps(user_line("Run the linter", 3))
    data = f'{one}{three}\n{{"type": "user", "mess\n{two}\n{{"type"'.encode()
    assert [utterance.text for utterance in utterances(data)] == ["Use tabs", "Sort targets", "Run the linter"]
