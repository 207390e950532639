"""SECURITY.md: every promise stands in a row of a table, with the tests that show it; each of those is there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PROMISED = PAGE.partition("## What is promised")[2].partition("\n## ")[0]
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split(" | "))
    for line in PROMISED.splitlines()
    if line.startswith("| ") and not line.startswith(("| promise |", "|---"))
]
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return frozenset(name for name in functions if name.startswith(("test_", "Test")))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_every_promise_is_one_sentence_with_an_existing_test(row: tuple[str, ...]) -> None:
    promise, shown = row
    assert re.search(r"[.!?] [A-Z]", promise) is None, "one sentence a row"
    named = NAMED.findall(shown)
    assert named
    for path, name in named:
        assert (ROOT / path).is_file(), path
        assert not name or name in names_in(path), f"{path} has no {name}"


def test_promises_are_in_tables_only() -> None:
    prose = [line for line in PROMISED.splitlines() if line and not line.startswith(("|", "###"))]
    assert prose == []
    assert len(ROWS) >= 30
