"""Builders shared by many tests: homes, memories, hand-written notes, command-line calls."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis

from memem.core.memory import Entry, Memory, Slice
from memem.doors.cli.demo import example_memories
from memem.notes import save, write
from memem.search import find, refresh
from memem.transfer.import_ import Imported
from memem.transfer.items import ImportedFile
from memem.workspace import Workspace, open_workspace
from tests.fakes import SteppingClock

QUIET: Mapping[str, str] = {"MEMEM_FSYNC": "0", "MEMEM_ENCODER": "none", "MEMEM_BACKGROUND": "0"}
"""Most tests are about words, do without processes in the background, and survive no power cut."""


def open_home(folder: Path, clock: SteppingClock | None = None, environ: Mapping[str, str] | None = None) -> Workspace:
    """Open the memory home in `folder`, whatever the environment of the process is; time stands still."""
    clock = clock or SteppingClock()
    environ = {**QUIET, "HOME": str(folder)} if environ is None else environ
    return open_workspace(
        actor="test",
        home=folder / "home",
        vault=folder / "vault",
        environ=environ,
        clock=clock,
        ticks=clock.ticks,
    )


def examples(number: int) -> int:
    """How many examples a property is tried with: all of them, or its share in a quick run."""
    return max(1, number * hypothesis.settings().max_examples // 100)


def change_settings(ws: Workspace, **settings: Any) -> Workspace:
    ws.settings = replace(ws.settings, **settings)
    return ws


def keep_note(ws: Workspace, number: int, body: str = "", **more: Any) -> Entry:
    """Write a note of the project shop, as a miner does; its id begins with its number, in hexadecimal."""
    identity = f"{number:08x}-8d1b-4c55-9a43-1f0e6f0d7a11"
    given = {"project": "shop", "author": "model", **more}
    written = write.keep(ws, Memory(identity, f"Note {number}", body or f"Statement number {number}.", **given))
    return Entry(written.memory, written.path)


def save_examples(ws: Workspace) -> Workspace:
    """Save the memories of the demo: two projects and some general ones."""
    for memory in example_memories():
        save.save(ws, **memory)
    return ws


def list_by_title(ws: Workspace) -> dict[str, Memory]:
    refresh.refresh(ws)
    return {entry.title: entry.memory for entry in find.list_memories(ws, limit=1_000)}


def list_titles(found: Slice) -> list[str]:
    return [hit.title for hit in found.hits]


def get_only_file(result: Imported) -> ImportedFile:
    """Return what became of the only file of an import."""
    (one,) = result.files
    return one


class Crash(BaseException):
    """The end of a process, at a place of our choice."""


def crash_in_call(number: int, real: Callable[..., Any], *, after: bool = False) -> Callable[..., Any]:
    """Wrap a function so that its n-th call ends the process: before it does anything, or after all is done."""
    calls = 0

    def crashing(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number and not after:
            raise Crash
        result = real(*args, **options)
        if calls == number:
            raise Crash
        return result

    return crashing
