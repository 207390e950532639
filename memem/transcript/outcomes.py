"""Read how a command ended from its output: exit code, test counts, the lines that say what is wrong."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from memem.core.data_files import Patterns, load_table

MAX_OUTPUT_CHARS = 60_000  # Claude Code stores about 30,000 of a command
MAX_LINE_CHARS = 200
MAX_ERROR_LINES = 3
_PATTERNS = Patterns(__file__, "outcomes.toml")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class TestCounts:
    """The counts that a test runner printed at its end."""

    runner: str
    failed: int
    passed: int
    unit: str = ""  # unless it counts tests

    def __str__(self) -> str:
        unit = f" ({self.unit})" if self.unit else ""
        failed = f"{self.failed} failed, " if self.failed else ""
        return f"{failed}{self.passed} passed{unit}"


def without_escapes(text: str) -> str:
    return _PATTERNS["ansi"].sub("", text) if "\x1b" in text else text


def read_exit_code(text: str) -> str:
    match = _PATTERNS["exit_code"].match(text)
    return match[1] if match else ""


def is_rejected(text: str) -> bool:
    return _PATTERNS["rejected"].match(text) is not None


def is_started(text: str) -> bool:
    return _PATTERNS["started"].match(text) is not None


def is_own(tool: str, command: str) -> bool:
    """Whether a call is one of memem's tools or commands."""
    return bool(_PATTERNS["own_tool"].match(tool) or ("memem" in command and _PATTERNS["own_command"].search(command)))


def is_look(command: str) -> bool:
    """Whether a command only shows something."""
    return all(map(_PATTERNS["look"].match, _PATTERNS["separator"].split(_without_quotes(command))))


def hides_exit_code(command: str) -> bool:
    """Whether a command succeeds even if its first part fails, as in a pipe."""
    return _PATTERNS["hides_exit"].search(_without_quotes(command)) is not None


def without_shortening(line: str) -> str:
    """Remove what shortens the output of a command at its end."""
    return _PATTERNS["shortening"].sub("", line)


def _without_quotes(command: str) -> str:
    return _PATTERNS["quoted"].sub("''", command)


def find_errors(text: str) -> Iterator[str]:
    """Yield the last lines that say what is wrong; without any, the last one that says something."""
    if _PATTERNS["slip"].match(text):
        return
    lines = dict.fromkeys(_SPACE.sub(" ", line[: 2 * MAX_LINE_CHARS]).strip() for line in text.splitlines())
    telling, last = list[str](), ""
    for line in reversed(lines):
        if not line or _PATTERNS["noise"].match(line):
            continue
        last = last or line
        if _PATTERNS["telling"].search(line):
            telling.append(line)
        if len(telling) == MAX_ERROR_LINES:
            break
    for line in reversed(telling) if telling else filter(None, [last]):
        yield _PATTERNS["duration"].sub("", line)[:MAX_LINE_CHARS]


def count_tests(text: str) -> TestCounts | None:
    """Return the counts with which the last test run of an output ends."""
    found = (counts for runner in _runners() if (counts := runner.read(text)))
    return max(found, key=lambda each: each[0], default=(0, None))[1]


@dataclass(frozen=True, slots=True)
class _Runner:
    name: str
    unit: str
    mark: str
    adds_up: bool
    line: re.Pattern[str]
    numbers: dict[str, re.Pattern[str]]

    def read(self, text: str) -> tuple[int, TestCounts] | None:
        """Return where the counts end, and the counts."""
        closings = list(self.line.finditer(text)) if self.mark in text else []
        if not closings:
            return None
        parts = [closing[0] for closing in (closings if self.adds_up else closings[-1:])]
        sums = {kind: sum(_number(pattern, part) for part in parts) for kind, pattern in self.numbers.items()}
        failed = sums.get("failed", 0) + sums.get("errors", 0)
        passed = sums.get("passed", max(0, sums.get("total", 0) - failed - sums.get("skipped", 0)))
        return closings[-1].end(), TestCounts(self.name, failed, passed, self.unit)


def _number(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return int(match[1][:9] or 1) if match else 0


@cache
def _runners() -> tuple[_Runner, ...]:
    return tuple(map(_runner, load_table(__file__, "outcomes.toml")["runners"]))


def _runner(row: dict[str, Any]) -> _Runner:
    kinds = ("passed", "failed", "errors", "skipped", "total")
    numbers = {kind: re.compile(row[kind]) for kind in kinds if kind in row}
    line = re.compile(row["line"], re.MULTILINE)
    return _Runner(row["name"], row.get("unit", ""), row["mark"], row.get("sum", False), line, numbers)
