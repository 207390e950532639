"""Any text is parsed as JSON or TOML, or raises ValueError."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.data_files import load_table
from memem.core.files import from_json, from_toml
from tests.foreign import ANYTHING


@given(ANYTHING)
def test_json_is_read_as_it_was_written(value: object) -> None:
    assert from_json(json.dumps(value)) == value


def test_toml_is_read_as_it_was_written() -> None:
    assert from_toml("a = 1\n[b]\nc = 'x'\n") == {"a": 1, "b": {"c": "x"}}


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a":' * 100_000, "9" * 5_000, "\ud800", "nul"])
def test_invalid_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        from_json(text)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"\xed\xa0\x80", b"\x00"])
def test_bytes_that_are_no_json_are_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        from_json(data)


@pytest.mark.parametrize("text", ["a", "a = ", "a = " + "[" * 100_000, f"a = {'9' * 5_000}", "a = {" * 100_000, "a.b"])
def test_invalid_toml_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        from_toml(text)


@given(st.text())
def test_any_text_is_json_and_toml_or_a_value_error(text: str) -> None:
    for read in (from_json, from_toml):
        try:
            read(text)
        except ValueError:
            continue


def test_a_shipped_table_is_read_from_the_folder_of_its_module(tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text('stop = ["a", "the"]\n', encoding="utf-8")
    assert load_table(str(tmp_path / "words.py"), "words.toml") == {"stop": ["a", "the"]}
