"""How long memem takes, and how much memory, in vaults from small to very large, by words alone: see also `meaning`.

`cold` is a new process with everything it costs: imports, the scan of the vault, the work. `warm` is the same flow in
a process that has been running. Everything is a multiple of the interpreter's own bare start, measured in between.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, cycle, repeat
from pathlib import Path
from typing import Any

import memem
from bench import vaults
from bench.measure import (
    BARE,
    Peak,
    Program,
    Promise,
    Task,
    Timed,
    against_bare,
    bare_start,
    interleave,
    machine,
    ratio,
    save_json,
    table,
    timed,
)
from memem.doors.api.home import MemoryHome
from memem.inject import slice as inject_slice
from memem.search import find, refresh
from memem.workspace import open_workspace

SIZES = (100, 1_000, 10_000, 100_000)
LARGE = 100_000
REBUILDS = 3
QUERIES = 12
SMALL_SAVE, LARGE_SAVE = 100, 10_000
SAVE_LIMIT, SEARCH_LIMIT = 1.5, 1.0
SAVE, SAVE_UNSYNCED = "warm save", "warm save, fsync off"
COLD_SEARCH, REINDEX = "cold search", "reindex"


@dataclass
class Report:
    """Everything that was measured."""

    times: list[Timed] = field(default_factory=list)
    peaks: list[Peak] = field(default_factory=list)
    promises: list[Promise] = field(default_factory=list)


class Bed:
    """One vault of a given size with its memory home, ready to be measured."""

    def __init__(self, folder: Path, notes: int, fresh: Iterator[int], **environ: str) -> None:
        self.notes = notes
        self.folder = folder
        (folder / "user").mkdir(parents=True)
        self.environ = _environ(folder, fsync=True) | environ
        self.workspace = open_workspace(actor="api", environ=self.environ)
        self.unsynced = open_workspace(actor="api", environ=_environ(folder, fsync=False) | environ)
        self._bodies = (vaults.memory(number).body for number in fresh)

    def close(self) -> None:
        self.workspace.close()
        self.unsynced.close()

    def program(self, arguments: Callable[[], list[str]], python: str = sys.executable, **environ: str) -> Program:
        """`python -m memem`, at work in this home."""
        command = [python, "-m", "memem"]
        return Program(lambda: [*command, *arguments(), "--json"], self.environ | environ, self.folder / "user")

    def bare(self) -> Program:
        return bare_start(self.environ, self.folder)

    def cold_search(self, python: str = sys.executable, **environ: str) -> Program:
        queries = cycle(vaults.queries(QUERIES))
        return self.program(lambda: ["search", next(queries)], python, **environ)

    def cold_save(self) -> Program:
        return self.program(lambda: ["save", next(self._bodies)])

    def search(self) -> Task:
        queries = cycle(vaults.queries(QUERIES))
        return timed(lambda query: find.search(self.workspace, query), queries)

    def slice(self) -> Task:
        cwd, project, prompts = self.folder / "user", vaults.PROJECTS[1], cycle(vaults.prompts(QUERIES))
        return timed(lambda prompt: inject_slice.build_slice(self.workspace, prompt, cwd=cwd, project=project), prompts)

    def refresh(self) -> Task:
        return timed(refresh.refresh, repeat(self.workspace))

    def save(self) -> Task:
        return timed(MemoryHome(self.workspace).save, self._bodies)

    def save_unsynced(self) -> Task:
        return timed(MemoryHome(self.unsynced).save, self._bodies)


def run(arguments: list[str]) -> int:
    """Measure, print the tables, and write the JSON when asked; 1 when a promise is broken."""
    options = _options(arguments)
    with tempfile.TemporaryDirectory(prefix="memem-bench-", dir=options.folder) as folder:
        report = measure(Path(folder), options)
    _print(report)
    if options.json:
        save_json(options.json, _as_json(report, options))
    return 0 if all(promise.holds or not promise.judged for promise in report.promises) else 1


def measure(folder: Path, options: argparse.Namespace) -> Report:
    """All sizes, then the promises, which need a small and a large vault side by side."""
    report = Report()
    fresh = count(10 * LARGE)  # notes that no vault begins with
    beds = [Bed(folder / str(notes), notes, fresh, MEMEM_ENCODER="none") for notes in sorted(set(options.sizes))]
    try:
        for bed in beds:
            say(f"{bed.notes:,} notes: writing the vault")
            vaults.write_notes(bed.workspace, bed.notes)
            rounds, rebuilds = (options.repeat_large, 1) if bed.notes >= LARGE else (options.repeat, REBUILDS)
            _measure_size(bed, rounds, rebuilds, report)
        say("the promises")
        known = {bed.notes: bed for bed in beds}
        small, large = known.get(SMALL_SAVE, beds[0]), known.get(LARGE_SAVE, beds[-1])
        report.promises = promises(small, large, options.repeat)
    finally:
        for bed in beds:
            bed.close()
    return report


def promises(small: Bed, large: Bed, rounds: int) -> list[Promise]:
    """Compare saves into a small and a large vault, interleaved so that noise affects both."""
    found = interleave({BARE: large.bare(), "search": large.search()}, rounds)
    saved = interleave(
        {
            "small": small.save(),
            "large": large.save(),
            "small unsynced": small.save_unsynced(),
            "large unsynced": large.save_unsynced(),
        },
        rounds,
    )
    judged = (small.notes, large.notes) == (SMALL_SAVE, LARGE_SAVE)
    save = f"{SAVE} into {large.notes:,} / into {small.notes:,}"
    return [
        Promise(save, ratio(saved, "large", "small"), SAVE_LIMIT, judged),
        Promise(f"{save}, fsync off", ratio(saved, "large unsynced", "small unsynced"), SAVE_LIMIT, judged),
        Promise(f"warm search in {large.notes:,} / {BARE}", ratio(found, "search", BARE), SEARCH_LIMIT, judged),
    ]


def _measure_size(bed: Bed, rounds: int, rebuilds: int, report: Report) -> None:
    say(f"{bed.notes:,} notes: reindex")
    rebuild = bed.program(lambda: ["reindex"])
    rebuilt = interleave({BARE: bed.bare(), REINDEX: rebuild}, min(rebuilds, rounds), warm_up=False)
    say(f"{bed.notes:,} notes: reading and writing")
    cold_search = bed.cold_search()
    reads: dict[str, Task] = {
        BARE: bed.bare(),
        COLD_SEARCH: cold_search,
        "warm search": bed.search(),
        "warm slice": bed.slice(),
        "refresh, nothing changed": bed.refresh(),
    }
    read = interleave(reads, rounds)
    # Writing comes last: each run adds a note.
    writes: dict[str, Task] = {
        BARE: bed.bare(),
        "cold save": bed.cold_save(),
        SAVE: bed.save(),
        SAVE_UNSYNCED: bed.save_unsynced(),
        "warm search after a save": bed.search(),
    }
    written = interleave(writes, rounds)
    report.times += against_bare(read, bed.notes)
    report.times += [row for taken in (written, rebuilt) for row in against_bare(taken, bed.notes) if row.what != BARE]
    report.peaks += [
        Peak(COLD_SEARCH, bed.notes, max(cold_search.peaks)),
        Peak(REINDEX, bed.notes, max(rebuild.peaks)),
    ]


def _environ(folder: Path, *, fsync: bool) -> dict[str, str]:
    """The caller's environment without their memory, and without what would recompile every import."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("MEMEM_", "PYTHON"))}
    return ours | {
        "HOME": str(folder / "user"),
        "MEMEM_DIR": str(folder / "home"),
        "MEMEM_OBSIDIAN_VAULT": str(folder / "vault"),
        "MEMEM_FSYNC": str(int(fsync)),
        "PYTHONPATH": str(Path(memem.__file__).parent.parent),
    }


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench latency", description=__doc__)
    parser.add_argument("--sizes", type=sizes, default=SIZES, help="notes per vault, comma-separated")
    parser.add_argument("--repeat", type=int, default=30, help="runs of each (default: 30)")
    parser.add_argument("--repeat-large", type=int, default=5, help=f"the same from {LARGE:,} notes on (default: 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to this file")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where the vaults are made, and removed again")
    options = parser.parse_args(arguments)
    if min(options.repeat, options.repeat_large) < 1:
        parser.error("repeat at least once")
    return options


def sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(int(part) for part in text.split(","))
    if min(sizes) < QUERIES:
        raise argparse.ArgumentTypeError(f"a vault has at least {QUERIES} notes")
    return sizes


def _print(report: Report) -> None:
    print("Medians; fsync is on unless said; the bare start is `python -I -S -c pass`.\n")
    times = [row.as_json() for row in report.times]
    print(
        table(
            ("what", "notes", "ms", "p95", "x bare"),
            [(row["what"], row["notes"], row["ms"], row["p95_ms"], row["x_bare"]) for row in times],
        )
    )
    print("\n" + table(("peak memory of", "notes", "MB"), [(p.what, p.notes, p.bytes / 1e6) for p in report.peaks]))
    rows = [(p.what, p.ratio, p.limit, verdict(p)) for p in report.promises]
    print("\n" + table(("promise", "ratio", "at most", ""), rows))


def verdict(promise: Promise) -> str:
    if not promise.judged:
        return "not judged at this size"
    return "holds" if promise.holds else "BROKEN"


def _as_json(report: Report, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "bench": "latency",
        "machine": machine(),
        "fsync": True,
        "repeat": options.repeat,
        "repeat_large": options.repeat_large,
        "times": [row.as_json() for row in report.times],
        "memory": [peak.as_json() for peak in report.peaks],
        "promises": [promise.as_json() for promise in report.promises],
    }


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
