"""Time and memory, measured so that a busy machine hits everything alike, and shown as tables and JSON.

Whatever is compared runs in turns: one of each, then one of each again. The yardstick is the bare start of the same
interpreter, in the same rounds, so that numbers of different machines can be held against each other.
"""

import json
import math
import os
import platform
import select
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")
Task = Callable[[], float]
"""Does its work once and returns the seconds that took."""

BARE = "bare start"
INTERPRETER = str(Path(sys.executable).resolve())
LEFT_SECONDS = 120.0
"""So long what a program has left running is waited for before the next one has its turn."""
# A process inherits the peak memory of the one that starts it; so a small one starts, times and weighs the others.
_WITNESS = """
import os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
begun = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, used = os.wait4(child, 0)
print(time.perf_counter() - begun, used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True, slots=True)
class Timed:
    """How long something took, each time, and the median of the bare starts between them."""

    what: str
    notes: int
    seconds: tuple[float, ...]
    bare: float

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def p95(self) -> float:
        """The nearest rank: the smallest time that 95 in 100 do not exceed."""
        return sorted(self.seconds)[math.ceil(0.95 * len(self.seconds)) - 1]

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "notes": self.notes,
            "ms": round(self.median * 1000, 3),
            "p95_ms": round(self.p95 * 1000, 3),
            "x_bare": round(self.median / self.bare, 3),
            "runs": len(self.seconds),
        }


@dataclass(frozen=True, slots=True)
class Peak:
    """The most memory a process used."""

    what: str
    notes: int
    bytes: int

    def as_json(self) -> dict[str, Any]:
        return {"what": self.what, "notes": self.notes, "mb": round(self.bytes / 1e6, 1)}


@dataclass(frozen=True, slots=True)
class Promise:
    """A ratio that has to stay within a limit; `judged` is False when it was measured at other sizes."""

    what: str
    ratio: float
    limit: float
    judged: bool = True

    @property
    def holds(self) -> bool:
        return self.ratio <= self.limit

    def as_json(self) -> dict[str, Any]:
        verdict = self.holds if self.judged else None
        return {"what": self.what, "ratio": round(self.ratio, 3), "limit": self.limit, "holds": verdict}


@dataclass
class Program:
    """A program as a task. `arguments` gives its command line anew at each run, `told` what it reads, if anything."""

    arguments: Callable[[], Sequence[str]]
    environ: Mapping[str, str]
    folder: Path
    told: Callable[[], bytes] | None = None
    peaks: list[int] = field(default_factory=list)

    def __call__(self) -> float:
        command = [INTERPRETER, "-I", "-S", "-c", _WITNESS, *self.arguments()]
        told = self.told() if self.told else None
        with _to_the_last() as held:
            done = subprocess.run(
                command,
                env=dict(self.environ),
                cwd=self.folder,
                check=True,
                input=told,
                stdout=subprocess.PIPE,
                pass_fds=[held],
            )
        seconds, peak = done.stdout.split()
        # Kilobytes, except on macOS.
        self.peaks.append(int(peak) * (1 if sys.platform == "darwin" else 1024))
        return float(seconds)


def bare_start(environ: Mapping[str, str], folder: Path) -> Program:
    """The interpreter doing nothing."""
    return Program(lambda: (INTERPRETER, "-I", "-S", "-c", "pass"), environ, folder)


def timed(work: Callable[[T], object], given: Iterator[T]) -> Task:
    """Work within this process as a task. What it is given is made before the clock starts."""

    def task() -> float:
        argument = next(given)
        begun = time.perf_counter()
        work(argument)
        return time.perf_counter() - begun

    return task


def interleave(tasks: Mapping[str, Task], repeat: int, *, warm_up: bool = True) -> dict[str, tuple[float, ...]]:
    """The seconds of each task, run in turns `repeat` times, after one round that does not count."""
    taken: dict[str, list[float]] = {what: [] for what in tasks}
    for number in range(repeat + warm_up):
        for what, task in tasks.items():
            seconds = task()
            if number >= warm_up:
                taken[what].append(seconds)
    return {what: tuple(seconds) for what, seconds in taken.items()}


def against_bare(taken: Mapping[str, tuple[float, ...]], notes: int) -> list[Timed]:
    """Rows of what ran in turns with a bare start."""
    bare = statistics.median(taken[BARE])
    return [Timed(what, notes, seconds, bare) for what, seconds in taken.items()]


def ratio(taken: Mapping[str, tuple[float, ...]], over: str, under: str) -> float:
    """How many times the median of one is that of the other."""
    return statistics.median(taken[over]) / statistics.median(taken[under])


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns as wide as their content: the first to the left, numbers to the right."""
    cells = [list(headings), *([_shown(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    lines = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def machine() -> dict[str, Any]:
    """Describe the machine as far as the numbers depend on it, without identifying its owner."""
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
    }


def save_json(path: Path, report: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


@contextmanager
def _to_the_last() -> Iterator[int]:
    """A descriptor for a program to inherit: whatever it leaves running holds it too, and is waited for."""
    left, held = os.pipe()
    with os.fdopen(left, "rb") as ending:
        try:
            yield held
        finally:
            os.close(held)
        if not select.select([ending], [], [], LEFT_SECONDS)[0]:
            raise TimeoutError(f"What a program has begun is not done after {LEFT_SECONDS:g} s.")


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.2f}"
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)


@contextmanager
def changed(module: ModuleType, name: str, value: object) -> Iterator[None]:
    """With another value of a constant, for as long as the block lasts."""
    used = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, used)
