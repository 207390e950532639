"""Tables shipped as TOML files are parsed once, and again when their file changes."""

import os
from pathlib import Path

import pytest

from memem.core import data_files
from memem.core.data_files import load_table


@pytest.fixture
def module(tmp_path: Path) -> str:
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "words.toml").write_text("words = ['a', 'b']\n")
    return str(tmp_path / "module.py")


def reload(module: str) -> dict[str, object]:
    load_table.cache_clear()
    return load_table(module, "words.toml")


def test_second_process_does_not_parse(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    table = reload(module)
    monkeypatch.setattr(data_files, "from_toml", lambda _: pytest.fail("parsed again"))
    assert reload(module) == table == {"words": ["a", "b"]}


def test_changed_file_is_parsed_again(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    reload(module)
    source = Path(module).with_name("words.toml")
    source.write_text("words = ['c', 'd']\n")
    os.utime(source, ns=(1, 1))
    assert reload(module) == {"words": ["c", "d"]}


@pytest.mark.parametrize("damage", ["", "{}", "[]", '{"version": 1', "\udcff"])
def test_damaged_cache_is_ignored(module: str, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    table = reload(module)
    cached = Path(module).with_name("__pycache__") / "words.toml.json"
    assert cached.exists()
    cached.write_bytes(damage.encode(errors="surrogateescape"))
    assert reload(module) == table


def test_missing_cache_folder_is_tolerated(module: str) -> None:
    Path(module).with_name("__pycache__").rmdir()
    assert reload(module) == {"words": ["a", "b"]}
