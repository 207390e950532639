"""`python -m bench pages`: what the pages for Obsidian cost, as multiples of a bare start of the interpreter.

In a vault of many notes: all of them for the first time, once nothing has changed, and after one note has; a refresh of
the index that finds nothing new, beside which all that happens; and a session's start with and without playbooks.
"""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, repeat
from pathlib import Path

from bench import vaults
from bench.measure import BARE, Task, against_bare, bare_start, interleave, table, timed
from memem.inject import session_start
from memem.pages import refresh as pages_refresh
from memem.search import refresh
from memem.workspace import Workspace, open_workspace

NOTES, ROUNDS = 10_000, 7
FIRST, AGAIN, ONE, REFRESH = "all pages anew", "nothing has changed", "one note has changed", "a refresh of the index"
START, WITHOUT = "briefing with a playbook", "briefing without"


def run(arguments: list[str]) -> int:
    """Print the times."""
    parser = argparse.ArgumentParser(prog="python -m bench pages")
    parser.add_argument("--notes", type=int, default=NOTES, help=f"in the vault; default {NOTES:,}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"that count; default {ROUNDS}")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), options.notes, options.rounds)
    print(table(["what", "median ms", "x bare start"], rows))
    return 0


def measure(folder: Path, notes: int, rounds: int) -> list[tuple[str, float, float]]:
    """Time each step, interleaved, in milliseconds and as a multiple of a bare start."""
    folder.mkdir(exist_ok=True)
    environ = {"HOME": str(folder), "MEMEM_ENCODER": "none", "MEMEM_BACKGROUND": "0"}
    ws = open_workspace(actor="bench", home=folder / "home", vault=folder / "vault", environ=environ)
    ws.store.make_vault()
    vaults.write_notes(ws, notes)
    refresh.refresh(ws)
    pages_refresh.write_pages(ws)
    here = folder / vaults.memory(0).project
    here.mkdir()
    tasks: dict[str, Task] = {
        BARE: bare_start(environ, folder),
        REFRESH: timed(lambda _: refresh.refresh(ws), repeat(None)),
        AGAIN: timed(lambda _: pages_refresh.write_pages(ws), repeat(None)),
        ONE: timed(lambda _: pages_refresh.write_pages(ws), _after(lambda number: _add(ws, notes + number))),
        WITHOUT: timed(_briefing(ws, here), _after(lambda _: shutil.rmtree(ws.store.paths.playbooks))),
        FIRST: timed(lambda _: pages_refresh.write_pages(ws), _after(lambda _: ws.index.set_meta("pages", ""))),
        START: timed(_briefing(ws, here), count()),
    }
    taken = interleave(tasks, rounds)
    ws.close()
    return [(row.what, row.median * 1_000, row.median / row.bare) for row in against_bare(taken, notes)]


def _after(prepare: Callable[[int], object]) -> Iterator[int]:
    """Numbers, each after something was done that is not to be measured."""
    for number in count():
        prepare(number)
        yield number


def _add(ws: Workspace, number: int) -> None:
    vaults.write_note(ws, replace(vaults.memory(number), project=vaults.memory(0).project))
    refresh.refresh(ws)


def _briefing(ws: Workspace, here: Path) -> Callable[[int], object]:
    return lambda number: session_start.brief(ws, cwd=here, session=f"{number}", source="startup")
