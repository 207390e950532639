"""Reading goes on where it ended, as long as the file is the one that was read; else it begins again."""

import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.conversation import Cursor
from memem.transcript.session import cursor_at, find_turn, start_of, steps


def line(number: int, words: str = "Hello.", kind: str = "user") -> bytes:
    value: dict[str, Any] = {"type": kind, "uuid": f"u{number}", "message": {"role": kind, "content": words}}
    return json.dumps(value).encode() + b"\n"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(b"".join(line(number) for number in range(200)))
    return path


def cursor(path: Path, offset: int) -> Cursor:
    with path.open("rb") as file:
        return cursor_at(file, offset)


def start(path: Path, at: Cursor | None) -> int:
    with path.open("rb") as file:
        return start_of(file, at)


# --- cursors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, 1, 4_095, 4_096, 4_097, 10_000])
def test_a_file_that_only_grew_is_read_on(session: Path, offset: int) -> None:
    at = cursor(session, offset)
    with session.open("ab") as file:
        file.write(line(999))
    assert start(session, at) == offset


def test_without_a_cursor_all_is_read(session: Path) -> None:
    assert start(session, None) == 0


def test_a_file_that_was_replaced_is_read_again(session: Path) -> None:
    at = cursor(session, 10_000)
    copy = session.with_suffix(".new")
    copy.write_bytes(session.read_bytes())
    copy.rename(session)
    assert start(session, at) == 0


def test_a_file_that_was_shortened_is_read_again(session: Path) -> None:
    at = cursor(session, 10_000)
    os.truncate(session, 9_999)
    assert start(session, at) == 0


@pytest.mark.parametrize("place", [10_000 - 4_096, 9_999])
def test_a_file_that_was_rewritten_in_place_is_read_again(session: Path, place: int) -> None:
    at = cursor(session, 10_000)
    with session.open("r+b") as file:
        file.seek(place)
        file.write(b"~")
    assert start(session, at) == 0


@pytest.mark.parametrize("offset", [-1, 10**12])
def test_cursor_outside_the_file_is_ignored(session: Path, offset: int) -> None:
    assert start(session, replace(cursor(session, 0), offset=offset)) == 0


# --- steps --------------------------------------------------------------------------------------------------------


def test_every_object_is_a_step() -> None:
    data = line(1) + b'{"type": "summary"}\n' + line(2, "Hi.", "assistant")
    found = list(steps(io.BytesIO(data), 0, "s"))
    assert [each.line.turn and each.line.turn.text for each in found] == ["Hello.", None, "Hi."]
    assert [data[: each.end].count(b"}\n") for each in found] == [0, 1, 2]


@given(st.integers(0, 400), st.data())
def test_two_readings_see_what_one_would(cut: int, data: st.DataObject) -> None:
    whole = line(1) + line(2)[:-1] + line(3, "é\n", "assistant") + b'{"torn\n' + line(4)
    all_at_once = list(steps(io.BytesIO(whole), 0, "s"))
    first = list(steps(io.BytesIO(whole[:cut]), 0, "s"))
    kept = first[: data.draw(st.integers(0, len(first)))]
    begin = kept[-1].end if kept else 0
    assert [*kept, *steps(io.BytesIO(whole), begin, "s")] == all_at_once


# --- one turn -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uuid", "uuids", "place"),
    [
        ("u0", ["u0", "u1", "u2"], 0),
        ("u1", ["u0", "u1", "u2", "u3"], 1),
        ("u100", ["u98", "u99", "u100", "u101", "u102"], 2),
        ("u199", ["u197", "u198", "u199"], 2),
    ],
)
def test_a_turn_is_found_with_its_neighbours(session: Path, uuid: str, uuids: list[str], place: int) -> None:
    found = find_turn(session, uuid)
    assert found
    turns, where = found
    assert ([turn.uuid for turn in turns], where) == (uuids, place)
    assert {turn.session for turn in turns} == {"s-1"}


def test_a_turn_is_found_alone_when_nothing_is_wanted_around_it(session: Path) -> None:
    found = find_turn(session, "u100", around=0)
    assert found
    assert ([turn.uuid for turn in found[0]], found[1]) == (["u100"], 0)


def test_a_turn_or_a_file_that_is_gone_is_not_found(session: Path) -> None:
    assert find_turn(session, "u200") is None
    assert find_turn(session.with_name("gone.jsonl"), "u1") is None
