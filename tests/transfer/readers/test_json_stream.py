"""A JSON file is read value by value: in bounded memory, and with a word on what is wrong with it."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.errors import InputError
from memem.transfer.readers import json_stream
from tests.foreign import ANYTHING


def read(data: bytes) -> list[Any]:
    return list(json_stream.values(io.BytesIO(data)))


@given(st.lists(ANYTHING))
def test_the_elements_of_a_list_come_one_by_one(values: list[Any]) -> None:
    assert read(json.dumps(values, indent=1).encode()) == values


@given(st.lists(ANYTHING), st.integers(1, 7))
def test_wherever_a_read_ends_the_values_are_the_same(values: list[Any], size: int) -> None:
    class Dripping(io.BytesIO):
        def read(self, _: int | None = -1) -> bytes:
            return super().read(size)

    file = Dripping(json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    try:
        assert list(json_stream.values(file)) == values
    except InputError as problem:
        assert "UTF-8" in str(problem)  # a text with half a character in it cannot be encoded


@given(st.binary())
def test_any_bytes_give_values_or_an_error_of_ours(data: bytes) -> None:
    for start in (b"", b"[", b'{"a":', b'["', b"\xef\xbb\xbf["):
        try:
            read(start + data)
        except InputError as problem:
            assert "\n" not in str(problem)


def test_an_object_is_one_value_and_a_mark_of_utf_8_does_no_harm() -> None:
    assert read(b'\xef\xbb\xbf {"a": [1, 2]} ') == [{"a": [1, 2]}]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"words", "no list and no object"),
        (b'[{"a": 1}, {"a"', "not whole"),
        (b"[1, 2", "does not end"),
        (b"[1 2]", "damaged"),
        (b"[" * 100_000, "nested too deep"),
        (b'["\xff"]', "UTF-8"),
        (b"[" + b"9" * 5_000 + b"]", "damaged"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(data)


def test_of_a_long_list_only_a_part_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "BLOCK", 64)
    data = json.dumps([{"number": number} for number in range(1_000)]).encode()
    file = io.BytesIO(data)
    values = json_stream.values(file)
    assert [next(values)["number"] for _ in range(10)] == list(range(10))
    assert file.tell() < 400


def test_a_value_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "LARGEST", 1_000)
    monkeypatch.setattr(json_stream, "BLOCK", 100)
    file = io.BytesIO(b'["' + b"a" * 1_000_000)
    with pytest.raises(InputError, match="more than"):
        list(json_stream.values(file))
    assert file.tell() < 5_000
