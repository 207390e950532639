"""Everything that a person says in a session is read, wherever Claude Code stores it: two independent readers agree."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from memem.core.conversation import ANSWER, HUMAN, PLAN, QUEUED, REJECTION, WITH_RESULT, Turn
from memem.transcript.session import steps
from tests.real_sessions import count_words, spoken
from tests.reference_reader import BESIDE_RESULT, COMMAND, PLAN_APPROVAL, PLAN_REJECTION, PROMPT, SHELL, utterances

RECORDINGS = sorted((Path(__file__).parents[1] / "fixtures" / "sessions").glob("*/*.jsonl"))


def turns_of(data: bytes) -> list[Turn]:
    """Return what people said, in order, each turn once."""
    turns = (step.line.turn for step in steps(io.BytesIO(data), 0, "s"))
    return list({turn.uuid: turn for turn in turns if turn and turn.role == HUMAN}.values())


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recording_is_read_like_by_the_reference_reader(recording: Path) -> None:
    data = recording.read_bytes()
    assert count_words(turn.text for turn in turns_of(data)) == count_words(spoken(data).values())
    plans = [each.text for each in utterances(data) if each.place == PLAN_APPROVAL]
    assert [turn.proposal for turn in turns_of(data) if turn.place == PLAN] == plans


@pytest.mark.parametrize(
    ("recording", "place"),
    [
        ("rejection_with_reason", REJECTION),
        ("plan_rejected", REJECTION),
        ("answer_with_option", ANSWER),
        ("answer_with_own_words", ANSWER),
        ("approval_with_comment", WITH_RESULT),
        ("typed_while_a_tool_runs", QUEUED),
        ("queued_and_delivered", ""),
        ("plan_approved", PLAN),
        ("command_with_arguments", "/ship"),
    ],
)
@pytest.mark.parametrize("version", ["2.1.197", "2.1.325", "2.1.326"])
def test_the_place_of_the_words_is_known(recording: str, place: str, version: str) -> None:
    (path,) = (path for path in RECORDINGS if (path.parent.name, path.stem) == (version, recording))
    assert turns_of(path.read_bytes())[-1].place == place


def test_shell_commands_are_work() -> None:
    path = RECORDINGS[0].parent / "shell_command.jsonl"
    commands = [step.line.work.commands for step in steps(io.BytesIO(path.read_bytes()), 0, "s") if step.line.work]
    typed = [each.text for each in utterances(path.read_bytes()) if each.place == SHELL]
    assert typed
    assert [command for each in commands for command in each] == typed


def replaced(recording: str, old: str, new: str, *, version: str = "2.1.197") -> bytes:
    path = RECORDINGS[0].parents[1] / version / f"{recording}.jsonl"
    data = path.read_bytes()
    assert old.encode() in data
    return data.replace(old.encode(), new.encode())


@pytest.mark.parametrize(
    ("recording", "tool"),
    [
        ("rejection_with_reason", "Bash"),
        ("answer_with_own_words", "AskUserQuestion"),
        ("plan_approved", "ExitPlanMode"),
    ],
)
def test_a_foreign_tool_cannot_speak_for_the_person(recording: str, tool: str) -> None:
    data = replaced(recording, f'"name":"{tool}"', '"name":"mcp__evil__run"')
    assert {turn.place for turn in turns_of(data)} == {""}


def test_a_result_without_a_call_is_not_the_persons() -> None:
    data = replaced("rejection_with_reason", '"type":"tool_use"', '"type":"tool_used"')
    assert {turn.place for turn in turns_of(data)} == {""}


def test_words_of_a_person_are_not_output() -> None:
    for recording in ("rejection_with_reason", "answer_with_own_words", "plan_approved_with_comment"):
        data = (RECORDINGS[0].parents[1] / "2.1.326" / f"{recording}.jsonl").read_bytes()
        own = turns_of(data)[-1].text
        outputs = [text for step in steps(io.BytesIO(data), 0, "s") for text in step.line.output]
        assert outputs
        assert not any(own in text for text in outputs)


def test_a_queued_prompt_with_an_image_is_one_turn() -> None:
    words = "[Image #1] Never use red here."
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo"}}
    queued = {"type": "queued_command", "prompt": [{"type": "text", "text": words}, image], "commandMode": "prompt"}
    lines = [
        {"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-03-01T09:00:00Z", "content": words},
        {"type": "queue-operation", "operation": "remove", "timestamp": "2026-03-01T09:00:01Z"},
        {"type": "attachment", "uuid": "u1", "timestamp": "2026-03-01T09:00:01Z", "attachment": queued},
    ]
    turns = turns_of("".join(json.dumps(line) + "\n" for line in lines).encode())
    assert {(turn.uuid, turn.text) for turn in turns} == {(turns[0].uuid, "Never use red here.")}


def image_line(**more: Any) -> bytes:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 800_000}}
    content = [image, {"type": "text", "text": "The button must be green, as in this picture."}]
    line = {"type": "user", "uuid": "u1", "timestamp": "2026-03-01T09:00:00Z", "cwd": "/srv/shop", **more}
    return json.dumps(line | {"message": {"role": "user", "content": content}}).encode() + b"\n"


def test_words_beside_a_large_image_are_read_and_reading_resumes_behind_them() -> None:
    data = image_line() + image_line(uuid="u2")
    assert len(data) > 16 * 1024 * 1024
    read = list(steps(io.BytesIO(data), 0, "s"))
    assert [step.line.turn.text for step in read if step.line.turn] == [
        "The button must be green, as in this picture."
    ] * 2
    assert [step.end for step in read] == [len(data) // 2, len(data)]
    assert not list(steps(io.BytesIO(data[:-1]), read[0].end, "s"))  # its end is not written yet


def test_places_are_those_of_the_reference_reader() -> None:
    heard = {each.place for path in RECORDINGS for each in utterances(path.read_bytes())}
    assert heard >= {PROMPT, BESIDE_RESULT, COMMAND, PLAN_APPROVAL, PLAN_REJECTION, SHELL}
