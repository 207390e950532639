"""The quick suite leaves out slow cases, and still has a representative of every kind of proof."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from tests.conftest import find_slow

FOLDER = Path(__file__).parent


@dataclass(eq=False)
class Case:
    """A collected test, as far as the choice looks at it."""

    originalname: str
    number: int
    marker: Any = None
    path: Path = FOLDER

    @property
    def name(self) -> str:
        return f"{self.originalname}[{self.number}]"

    def get_closest_marker(self, name: str) -> Any:
        return self.marker if name == "slow" else None


def choose(*cases: Case) -> list[int]:
    """Return the numbers of the cases that a quick run leaves out."""
    return sorted(cast("Case", item).number for item in find_slow(cast("list[pytest.Item]", list(cases))))


def make_cases(count: int, **kept: int) -> list[Case]:
    return [Case("one", number, pytest.mark.slow(**kept).mark) for number in range(count)]


def test_a_test_without_the_marker_is_quick() -> None:
    assert choose(Case("one", 1), Case("two", 2, pytest.mark.slow.mark)) == [2]


def test_a_slow_test_keeps_the_stated_number_of_cases_evenly_spread() -> None:
    assert choose(*make_cases(6)) == [0, 1, 2, 3, 4, 5]
    assert choose(*make_cases(6, keep=1)) == [1, 2, 3, 4, 5]
    assert choose(*make_cases(6, keep=2)) == [1, 2, 4, 5]
    assert choose(*make_cases(2, keep=5)) == []


def test_each_test_keeps_cases_of_its_own() -> None:
    other = [Case("other", number + 10, pytest.mark.slow(keep=1).mark) for number in range(2)]
    assert choose(*make_cases(2, keep=1), *other) == [1, 11]


def is_slow(decorator: ast.expr) -> bool:
    """Tell whether a marker makes every case of a test slow."""
    words = ast.unparse(decorator)
    return words.startswith("pytest.mark.slow") and "keep=" not in words


def has_quick_test(source: str) -> bool:
    """Whether the quick suite runs anything of a module."""
    body = ast.parse(source).body
    all_slow = any(
        isinstance(part, ast.Assign)
        and ast.unparse(part.targets[0]) == "pytestmark"
        and "pytest.mark.slow" in ast.unparse(part.value)
        for part in body
    )
    tests = [part for part in body if isinstance(part, ast.FunctionDef) and part.name.startswith("test_")]
    kept = [test for test in tests if any("keep=" in ast.unparse(each) for each in test.decorator_list)]
    return bool(kept) or (not all_slow and any(not any(map(is_slow, test.decorator_list)) for test in tests))


def test_every_file_with_slow_tests_has_a_quick_one_too() -> None:
    marked = {path: path.read_text(encoding="utf-8") for path in FOLDER.rglob("test_*.py")}
    marked = {path: text for path, text in marked.items() if "pytest.mark.slow" in text}
    assert len(marked) > 10
    assert [path.name for path, text in marked.items() if not has_quick_test(text)] == []


@pytest.mark.parametrize(
    ("source", "quick"),
    [
        ("@pytest.mark.slow\ndef test_one(): ...", False),
        ("@pytest.mark.slow\ndef test_one(): ...\ndef test_two(): ...", True),
        ("pytestmark = pytest.mark.slow\ndef test_one(): ...", False),
        ("pytestmark = [pytest.mark.slow]\n@pytest.mark.slow(keep=1)\ndef test_one(): ...", True),
    ],
)
def test_a_module_without_a_quick_test_would_be_found(source: str, quick: bool) -> None:
    assert has_quick_test(source) is quick
