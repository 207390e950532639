"""A fixed clock and fixed randomness for memem and every process it starts, put in place before memem is imported.

Only the standard library is replaced, so nothing here knows how memem is organised. `GOLDEN_STEP` is the number of the
recorded step: each step takes place a minute after the one before it, and has random numbers of its own.

Run as a program (`frozen.py SCRIPT ARGUMENT...`) it freezes both and then runs SCRIPT: memem starts its background
processes with `sys.executable`, which is a shell script that leads here.
"""

import datetime as datetime_module
import hashlib
import os
import runpy
import sys
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

STEP = "GOLDEN_STEP"
ENVIRONMENT = "GOLDEN_ENVIRONMENT"
"""The folder that stands for the Python environment memem runs in."""
FIRST_SECOND = 1_772_442_000
"""2026-03-02 09:00 UTC, a Monday."""
STEP_SECONDS = 60

_drawn: Counter[str] = Counter()


def read_step() -> int:
    return int(os.environ.get(STEP, "0"))


def read_clock() -> float:
    return float(FIRST_SECOND + STEP_SECONDS * read_step())


def draw_bytes(stream: str, size: int) -> bytes:
    """The next random bytes of a stream: how often one stream is used does not change another."""
    name = f"{read_step()} {stream}"
    _drawn[name] += 1
    return hashlib.shake_256(f"{name} {_drawn[name]}".encode()).digest(size)


class FrozenDatetime(datetime_module.datetime):
    """`datetime.datetime` by the fixed clock."""

    @classmethod
    def now(cls, tz: datetime_module.tzinfo | None = None) -> "FrozenDatetime":
        return cls.fromtimestamp(read_clock(), tz)

    @classmethod
    def utcnow(cls) -> "FrozenDatetime":
        return cls.fromtimestamp(read_clock(), datetime_module.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> "FrozenDatetime":
        return cls.now()


class FrozenDate(datetime_module.date):
    """`datetime.date` by the fixed clock."""

    @classmethod
    def today(cls) -> "FrozenDate":
        return cls.fromtimestamp(read_clock())


def freeze() -> None:
    """Replace clock and randomness. The processes that memem starts are frozen too."""
    for frozen, name in ((FrozenDatetime, "datetime"), (FrozenDate, "date")):
        frozen.__name__ = frozen.__qualname__ = name
        frozen.__module__ = "datetime"
        setattr(datetime_module, name, frozen)
    local, utc, write = time.localtime, time.gmtime, time.strftime
    clock: dict[str, Any] = {
        "time": read_clock,
        "time_ns": lambda: int(read_clock()) * 1_000_000_000,
        "localtime": lambda seconds=None: local(read_clock() if seconds is None else seconds),
        "gmtime": lambda seconds=None: utc(read_clock() if seconds is None else seconds),
        "strftime": lambda text, moment=None: write(text, local(read_clock()) if moment is None else moment),
    }
    randomness: dict[tuple[Any, str], Any] = {
        (os, "urandom"): lambda size: draw_bytes(f"urandom {size}", size),
        (uuid, "uuid4"): lambda: uuid.UUID(bytes=draw_bytes("uuid4", 16), version=4),
    }
    for (module, name), function in {**{(time, name): each for name, each in clock.items()}, **randomness}.items():
        setattr(module, name, function)
    if folder := os.environ.get(ENVIRONMENT):
        use_environment(Path(folder))


def use_environment(folder: Path) -> None:
    """Let memem take this folder for its Python environment, so that it never touches the real one."""
    sys.executable = str(write_interpreter(folder))
    sys.prefix = str(folder)


def write_interpreter(environment: Path) -> Path:
    """A `python` that freezes clock and randomness first; returns its path."""
    program = environment / "bin" / "python"
    if not program.exists():
        program.parent.mkdir(parents=True)
        lines = [
            "#!/bin/sh",
            'flags=""',
            'while case "$1" in -*) true ;; *) false ;; esac; do flags="$flags $1"; shift; done',
            f'exec "{sys.executable}" $flags "{Path(__file__).resolve()}" "$@"',
        ]
        program.write_text("\n".join(lines) + "\n", encoding="utf-8")
        program.chmod(0o755)
    return program


if __name__ == "__main__":
    freeze()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
