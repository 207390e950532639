"""Run one memem process and record which of its functions call which. Started by `bench walks`, never imported.

Takes the place of the interpreter: `walk_tracer.py [-I] [-S] [-P] (-m MODULE | FILE) ARG...`. Processes that memem
starts come here too, because `sys.executable` names the launcher that `bench walks` wrote.
"""

import inspect
import json
import os
import runpy
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

ROOT, RECORDS, LAUNCHER = (os.environ[f"WALK_{name}"] for name in ("ROOT", "RECORDS", "LAUNCHER"))
FOLDER = f"{ROOT}/memem/"
NESTED = ".<locals>."
calls: set[tuple[str, str]] = set()


def record(frame: FrameType, event: str, _: object) -> None:
    """Note a call, unless it is made while a module of memem is imported."""
    if event != "call" or not is_ours(frame) or not is_called(frame):
        return
    stack = list(ancestors(frame))
    if not any(is_import(each) for each in stack):
        calls.add((caller_in(stack), name_of(frame)))


def is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(FOLDER)


def is_called(frame: FrameType) -> bool:
    """False for a closure, which belongs to the function it stands in, and for a property, which is only read."""
    code = frame.f_code
    if code.co_name.startswith("<") or NESTED in code.co_qualname:
        return False
    owner = type(frame.f_locals.get("self"))
    return not isinstance(inspect.getattr_static(owner, code.co_name, None), property | cached_property)


def is_import(frame: FrameType) -> bool:
    return frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__"


def ancestors(frame: FrameType) -> Iterator[FrameType]:
    """The frames of memem's own functions that led to this one, the nearest first."""
    parent = frame.f_back
    while parent is not None:
        if is_ours(parent):
            yield parent
        parent = parent.f_back


def caller_in(stack: list[FrameType]) -> str:
    """The nearest function. A closure counts as the function it stands in while that runs; later, as a decorator's
    wrapper does, it only passes the call on."""
    running = {name_of(each) for each in stack if NESTED not in each.f_code.co_qualname}
    return next((name for each in stack if (name := name_of(each)) in running and ":<" not in name), "")


def name_of(frame: FrameType) -> str:
    """`file:function`; for what is nested in a function, that function."""
    code = frame.f_code
    return f"{code.co_filename[len(FOLDER) :]}:{code.co_qualname.partition('.<')[0]}"


def save() -> None:
    sys.setprofile(None)
    folder = Path(RECORDS)
    path = folder / f"{os.getpid()}-{len(list(folder.iterdir()))}.json"
    path.write_text(json.dumps(sorted(calls)), encoding="utf-8")


def save_before(leave: Callable[..., Any]) -> Callable[..., Any]:
    """A way to end this process that saves the record first."""

    def leaving(*arguments: Any) -> None:
        save()
        leave(*arguments)

    return leaving


def main(arguments: list[str]) -> None:
    os._exit = save_before(os._exit)
    os.execv = save_before(os.execv)
    sys.executable = LAUNCHER
    sys.path[:] = [path for path in sys.path if path != str(Path(__file__).parent)]
    while arguments[0] in ("-I", "-S", "-P"):
        arguments = arguments[1:]
    threading.setprofile(record)
    sys.setprofile(record)
    try:
        if arguments[0] == "-m":
            sys.path.insert(0, ROOT)
            sys.argv = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            runpy.run_path(arguments[0], run_name="__main__")
    finally:
        save()


main(sys.argv[1:])
