"""Measure what Claude Code waits for: memem's hooks, with and without a server, and the server itself.

Hooks are run as Claude Code runs them: the command of `hooks.json` through a shell, the launcher included, with the
envelope on standard input, each time in a session of its own. Mining is on, by rules. What a hook has begun is waited
for before anything else has its turn, and is not timed. Most of the vault's vectors are random; some of the project's
own notes have theirs, so that prompts get their slices as in a real vault.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from statistics import median
from typing import Any

from bench import vaults
from bench.latency import Bed, say, verdict
from bench.measure import (
    BARE,
    Peak,
    Program,
    Promise,
    Task,
    against_bare,
    interleave,
    machine,
    ratio,
    save_json,
    table,
    timed,
)
from bench.scene import Hook, Scene, Server, starting, write_transcript
from memem.search.encoders import model
from memem.workspace import open_workspace

NOTES, LEAST_NOTES, QUERIES = 10_000, 40, 100
WARM_LIMIT, COLD_LIMIT, START_LIMIT, STOP_LIMIT, SERVER_LIMIT, FOLLOWER_LIMIT = 2.0, 30.0, 10.0, 4.0, 4.0, 1.2
STATUS_LIMIT = 2.0

START, PROMPT, STOP = "session start", "prompt", "stop"
TOOL_OFF, TOOL, PERMISSION = "tool use, switched off", "tool use", "permission"
STATUS = "status line"
UP = ", server up"
ENCODE, SERVE = "encode the prompt", "server up to tools/list"


@dataclass
class Report:
    """Everything that was measured, and what the hooks complained of meanwhile."""

    times: list[dict[str, Any]] = field(default_factory=list)
    memory: list[Peak] = field(default_factory=list)
    promises: list[Promise] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def run(arguments: list[str]) -> int:
    """Measure, print the tables, and write the JSON when asked; 1 when a promise is broken, or a hook complained."""
    options = _options(arguments)
    folder = model.model_state(open_workspace(actor="bench")).folder
    if not folder:
        print("There is no model: run `memem index model fetch` first.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="memem-bench-", dir=options.folder) as place:
        chosen = {"MEMEM_MODEL_DIR": folder, "MEMEM_EXTRACTOR": "rules", "MEMEM_PRETOOL_GATING": "1"}
        bed = Bed(Path(place, "bed"), options.notes, count(), **chosen)
        try:
            report = measure(Scene(bed), options)
        finally:
            bed.close()
    _print(report)
    if options.json:
        save_json(options.json, _as_json(report, options))
    kept = all(promise.holds or not promise.judged for promise in report.promises)
    return 0 if kept and not report.complaints else 1


def measure(scene: Scene, options: argparse.Namespace) -> Report:
    """Hooks without a server, hooks with one, and servers."""
    report = Report()
    say(f"{scene.notes:,} notes: writing, reading, and filling in vectors")
    scene.prepare()
    say("hooks, no server up")
    _cold(scene, options.repeat, report)
    say("hooks, a server up")
    _warm(scene, options.repeat, report)
    say("servers")
    _starts(scene, options.repeat, report)
    _weigh(scene, options.queries, report)
    report.complaints = scene.complaints()
    return report


def _cold(scene: Scene, rounds: int, report: Report) -> None:
    tasks: dict[str, Task] = {
        BARE: scene.bare(),
        START: scene.hook("SessionStart"),
        PROMPT: scene.prompt(),
        STOP: scene.hook("Stop", write_transcript),
        TOOL_OFF: scene.tool_use(without="MEMEM_PRETOOL_GATING"),
        TOOL: scene.tool_use(),
        PERMISSION: scene.hook("PermissionRequest"),
        STATUS: scene.status_line(),
    }
    taken = _taken(scene, tasks, rounds, report)
    for what, limit in ((PROMPT, COLD_LIMIT), (START, START_LIMIT), (STOP, STOP_LIMIT), (STATUS, STATUS_LIMIT)):
        _promise(scene, f"{what}, no server up / {BARE}", ratio(taken, what, BARE), limit, report)


def _warm(scene: Scene, rounds: int, report: Report) -> None:
    encoder = scene.ws.encoder()
    with scene.leader() as server:
        server.search(scene.prompts[0])  # so that it has its encoder, as after the first prompt of a day
        tasks: dict[str, Task] = {
            BARE: scene.bare(),
            ENCODE: timed(encoder.query, cycle(scene.prompts)),
            PROMPT + UP: scene.prompt(),
            START + UP: scene.hook("SessionStart"),
            TOOL + UP: scene.tool_use(),
            PERMISSION + UP: scene.hook("PermissionRequest"),
        }
        taken = _taken(scene, tasks, rounds, report)
    both = median(taken[BARE]) + median(taken[ENCODE])
    _promise(scene, f"{PROMPT + UP} / ({BARE} + {ENCODE})", median(taken[PROMPT + UP]) / both, WARM_LIMIT, report)


def _starts(scene: Scene, rounds: int, report: Report) -> None:
    tasks: dict[str, Task] = {BARE: scene.bare(), SERVE: starting(scene.start_server)}
    taken = _taken(scene, tasks, rounds, report)
    _promise(scene, f"{SERVE} / {BARE}", ratio(taken, SERVE, BARE), SERVER_LIMIT, report)


def _weigh(scene: Scene, searches: int, report: Report) -> None:
    """Two servers: the second, the follower, lets the first answer its searches and never loads the encoder.

    An idle follower has loaded nothing at all, so the comparison is with a leader that has loaded memem but not yet the
    encoder: a follower that loaded the encoder as well would be several times as large.
    """

    def weigh(what: str, server: Server) -> int:
        report.memory.append(Peak(what, scene.notes, server.resident()))
        return report.memory[-1].bytes

    queries = cycle(vaults.queries(min(scene.notes, searches)))
    with scene.leader() as leader:
        without_encoder = weigh("leader, idle", leader)
        for _ in range(searches):
            leader.search(next(queries))
        weigh(f"leader, after {searches} searches", leader)
        with scene.start_server() as follower:
            weigh("follower, idle", follower)
            for _ in range(searches):
                follower.search(next(queries))
            used = weigh(f"follower, after {searches} searches", follower)
            weigh(f"leader, after {searches} more for the follower", leader)
    what = "follower after its searches / loaded leader without the encoder (leader, idle)"
    _promise(scene, what, used / without_encoder, FOLLOWER_LIMIT, report)


def _taken(scene: Scene, tasks: Mapping[str, Task], rounds: int, report: Report) -> dict[str, tuple[float, ...]]:
    taken = interleave(tasks, rounds)
    for row in against_bare(taken, scene.notes):
        task = tasks[row.what]
        peak = round(max(task.peaks) / 1e6, 1) if isinstance(task, Hook | Program) else None
        answered = scene.answered(task) if isinstance(task, Hook) else None
        report.times.append(row.as_json() | {"peak_mb": peak, "answered": answered})
    return taken


def _promise(scene: Scene, what: str, measured: float, limit: float, report: Report) -> None:
    report.promises.append(Promise(what, measured, limit, judged=scene.notes == NOTES))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench hooks", description=__doc__)
    parser.add_argument("--notes", type=int, default=NOTES, help=f"in the vault (default: {NOTES:,})")
    parser.add_argument("--repeat", type=int, default=20, help="runs of each (default: 20)")
    parser.add_argument("--queries", type=int, default=QUERIES, help=f"to each server (default: {QUERIES})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to this file")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where the vault is made, and removed again")
    options = parser.parse_args(arguments)
    if options.notes < LEAST_NOTES or min(options.repeat, options.queries) < 1:
        parser.error(f"at least {LEAST_NOTES} notes, one run, one query")
    return options


def _print(report: Report) -> None:
    print("Medians; the bare start is `python -I -S -c pass`.")
    print("`answered` is the share of runs that showed something, or were mined.\n")
    columns = ("what", "ms", "p95_ms", "x_bare", "peak_mb", "answered")
    rows = [["" if row[column] is None else row[column] for column in columns] for row in report.times]
    print(table([column.replace("_", " ") for column in columns], rows))
    print("\n" + table(("resident memory of", "MB"), [(each.what, each.bytes / 1e6) for each in report.memory]))
    promised = [(each.what, each.ratio, each.limit, verdict(each)) for each in report.promises]
    print("\n" + table(("promise", "measured", "at most", ""), promised))
    if report.complaints:
        print("\nThe hooks complained:", *report.complaints, sep="\n")


def _as_json(report: Report, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "bench": "hooks",
        "machine": machine(),
        "notes": options.notes,
        "repeat": options.repeat,
        "queries": options.queries,
        "times": report.times,
        "memory": [each.as_json() for each in report.memory],
        "promises": [promise.as_json() for promise in report.promises],
        "complaints": len(report.complaints),
    }
