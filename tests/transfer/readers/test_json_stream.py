"""A JSON file is read value by value, in bounded memory, with a clear error if it is damaged."""

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
def test_values_do_not_depend_on_the_size_of_reads(values: list[Any], size: int) -> None:
    class Dripping(io.BytesIO):
        def read(self, _: int | None = -1) -> bytes:
            return super().read(size)

    assert list(json_stream.values(Dripping(json.dumps(values, ensure_ascii=False).encode()))) == values


@given(st.binary())
def test_any_bytes_give_values_or_an_input_error(data: bytes) -> None:
    for start in (b"", b"[", b'{"a":', b'["', b"\xef\xbb\xbf["):
        try:
            read(start + data)
        except InputError as problem:
            assert "\n" not in str(problem)


def test_an_object_is_one_value_and_a_byte_order_mark_is_skipped() -> None:
    assert read(b'\xef\xbb\xbf {"a": [1, 2]} ') == [{"a": [1, 2]}]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "incomplete"),
        (b"words", "not valid JSON"),
        (b'"words"', "neither a JSON list nor a JSON object"),
        (b'[{"a": 1}, {"a"', "incomplete"),
        (b"[1, 2", "incomplete"),
        (b"[1 2]", "not valid JSON"),
        (b"[" * 100_000, "nested more than 200 levels"),
        (b'[{"a":' * 1_000 + b"1" + b"}]" * 1_000, "nested more than 200 levels"),
        (b'["\xff"]', "UTF-8"),
        (b"[" + b"9" * 5_000 + b"]", "not valid JSON"),
    ],
)
def test_errors_name_the_problem(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(data)


def test_values_before_the_damage_are_read() -> None:
    values = json_stream.values(io.BytesIO(b'[1, {"a": 2}, 3 4]'))
    assert [next(values), next(values), next(values)] == [1, {"a": 2}, 3]
    with pytest.raises(InputError):
        next(values)


def test_only_a_part_of_a_long_list_is_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "BLOCK_BYTES", 64)
    file = io.BytesIO(json.dumps([{"number": number} for number in range(1_000)]).encode())
    values = json_stream.values(file)
    assert [next(values)["number"] for _ in range(10)] == list(range(10))
    assert file.tell() < 400


def test_a_value_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MAX_VALUE_BYTES", 1_000)
    monkeypatch.setattr(json_stream, "BLOCK_BYTES", 100)
    file = io.BytesIO(b'["' + b"a" * 1_000_000)
    with pytest.raises(InputError, match="a value of more than"):
        list(json_stream.values(file))
    assert file.tell() < 5_000
