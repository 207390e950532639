"""The cost of the plugin in a real Claude Code that talks to a stub model on loopback: time, memory, request size.

`claude -p` runs in turns without a plugin, with an empty one, which shows the part nobody can save, and with memem.
Each has a home of its own; mining is off. `--parts` adds homes with only the server or the hook of one event.
"""

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

from bench import vaults
from bench.latency import say, verdict
from bench.measure import BARE, Peak, Promise, Task, Timed, against_bare, interleave, machine, ratio, save_json, table
from bench.plugin_homes import SERVER, Home, Homes, Variant
from bench.scene import Server, starting
from memem.search.encoders import model
from memem.workspace import open_workspace

CLAUDE_VARIABLE = "MEMEM_TEST_CLAUDE"
NOTES, LEAST_NOTES, QUERIES, REPEAT = 300, 40, 100, 15
RUN_LIMIT, TOOLS_LIMIT = 1.5, 4.0
NO_PLUGIN, EMPTY, PLUGIN = "no plugin", "empty plugin", "memem"
TOOLS_LISTED = "server start to tools/list"
RUN_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
"""The events that fire in a run of one prompt that uses no tool."""


@dataclass
class Report:
    """All measurements, and the errors that the plugin logged meanwhile."""

    runs: dict[str, tuple[float, ...]] = field(default_factory=dict)
    servers: list[Timed] = field(default_factory=list)
    memory: list[Peak] = field(default_factory=list)
    request_bytes: dict[str, int] = field(default_factory=dict)
    promises: list[Promise] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def run(arguments: list[str]) -> int:
    """Measure, print the tables, and write the JSON when asked; 1 when a promise is broken or the plugin failed."""
    options = _options(arguments)
    with tempfile.TemporaryDirectory(prefix="memem-bench-", dir=options.folder) as place:
        report = measure(Path(place), options)
    _print(report)
    if options.json:
        save_json(options.json, _as_json(report, options))
    kept = all(promise.holds or not promise.judged for promise in report.promises)
    return 0 if kept and not report.complaints else 1


def measure(place: Path, options: argparse.Namespace) -> Report:
    """Runs of Claude Code in all homes, then the server by itself."""
    report = Report()
    homes = Homes(place, options.claude, model.model_state(open_workspace(actor="bench")).folder)
    say(f"{options.notes:,} notes: writing and indexing")
    homes.prepare(options.notes)
    with ExitStack() as stack:
        say("installing the plugin")
        memem = stack.enter_context(homes.with_plugin(Variant(PLUGIN)))
        compared = {NO_PLUGIN: stack.enter_context(homes.without_plugin())}
        for variant in _variants(parts=options.parts):
            compared[variant.name] = stack.enter_context(homes.with_plugin(variant))
        compared[PLUGIN] = memem
        say("claude -p")
        _time_runs(compared, options, report)
        say("the server")
        _time_servers(memem, options, report)
        _weigh(memem, options, report)
        report.complaints = [
            f"{name}: {complaint}" for name, home in compared.items() for complaint in home.complaints()
        ]
    return report


def _variants(*, parts: bool) -> list[Variant]:
    single = (SERVER, *RUN_EVENTS) if parts else ()
    return [Variant(EMPTY, frozenset()), *(Variant(f"only {part}", frozenset({part})) for part in single)]


def _time_runs(compared: dict[str, Home], options: argparse.Namespace, report: Report) -> None:
    tasks: dict[str, Task] = {name: home.session() for name, home in compared.items()}
    report.runs = interleave(tasks, options.repeat)
    report.request_bytes = {name: home.first_request_bytes() for name, home in compared.items()}
    _promise(f"claude -p, {PLUGIN} / {NO_PLUGIN}", ratio(report.runs, PLUGIN, NO_PLUGIN), RUN_LIMIT, options, report)


def _time_servers(home: Home, options: argparse.Namespace, report: Report) -> None:
    tasks: dict[str, Task] = {BARE: home.bare_start(), TOOLS_LISTED: starting(home.start_server)}
    taken = interleave(tasks, options.repeat)
    report.servers = against_bare(taken, options.notes)
    _promise(f"{TOOLS_LISTED} / {BARE}", ratio(taken, TOOLS_LISTED, BARE), TOOLS_LIMIT, options, report)


def _weigh(home: Home, options: argparse.Namespace, report: Report) -> None:
    def weigh(what: str, server: Server) -> None:
        report.memory.append(Peak(what, options.notes, server.resident()))

    queries = cycle(vaults.queries(min(options.notes, options.queries)))
    with home.start_server() as server:
        weigh("after tools/list", server)
        server.search(next(queries))
        weigh("loaded: after the first search", server)
        for _ in range(options.queries):
            server.search(next(queries))
        weigh(f"after {options.queries} more searches", server)


def _promise(what: str, measured: float, limit: float, options: argparse.Namespace, report: Report) -> None:
    report.promises.append(Promise(what, measured, limit, judged=options.notes == NOTES))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench plugin", description=__doc__)
    given = os.environ.get(CLAUDE_VARIABLE)
    parser.add_argument("--claude", type=Path, default=given, help=f"Claude Code (default: {CLAUDE_VARIABLE})")
    parser.add_argument("--notes", type=int, default=NOTES, help=f"in the vault (default: {NOTES})")
    parser.add_argument("--repeat", type=int, default=REPEAT, help=f"runs of each (default: {REPEAT})")
    parser.add_argument("--queries", type=int, default=QUERIES, help=f"to the server (default: {QUERIES})")
    parser.add_argument("--parts", action="store_true", help="also time the server and each hook alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to this file")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where the homes are made, and removed again")
    options = parser.parse_args(arguments)
    if not options.claude or not options.claude.exists():
        parser.error(f"Claude Code not found; pass --claude or set {CLAUDE_VARIABLE} to its path")
    if sys.platform != "linux":
        parser.error("needs /proc to wait for background processes; run it on Linux")
    if options.notes < LEAST_NOTES or min(options.repeat, options.queries) < 1:
        parser.error(f"needs at least {LEAST_NOTES} notes, one run and one query")
    options.claude = options.claude.absolute()
    return options


def _run_rows(report: Report) -> list[dict[str, Any]]:
    """One row per home: its median, its ratio to and difference from a run without a plugin."""
    without = median(report.runs[NO_PLUGIN])
    return [
        {
            "what": name,
            "ms": round(median(seconds) * 1000, 1),
            "least_ms": round(min(seconds) * 1000, 1),
            "x_without": round(median(seconds) / without, 3),
            "extra_ms": round((median(seconds) - without) * 1000, 1),
            "extra_bytes": report.request_bytes[name] - report.request_bytes[NO_PLUGIN],
            "runs": len(seconds),
        }
        for name, seconds in report.runs.items()
    ]


def _print(report: Report) -> None:
    print("Medians; the bare start is `python -I -S -c pass` with the environment's own interpreter.\n")
    columns = ("what", "ms", "least_ms", "x_without", "extra_ms", "extra_bytes")
    headings = ("claude -p with", "ms", "least ms", "x without", "extra ms", "extra bytes of the request")
    print(table(headings, [[row[column] for column in columns] for row in _run_rows(report)]))
    times = [each.as_json() for each in report.servers]
    print(
        "\n" + table(("server", "ms", "p95", "x bare"), [[r["what"], r["ms"], r["p95_ms"], r["x_bare"]] for r in times])
    )
    print("\n" + table(("resident memory of the server", "MB"), [(p.what, p.bytes / 1e6) for p in report.memory]))
    promised = [(each.what, each.ratio, each.limit, verdict(each)) for each in report.promises]
    print("\n" + table(("promise", "measured", "at most", ""), promised))
    if report.complaints:
        print("\nThe plugin failed:", *report.complaints, sep="\n")


def _as_json(report: Report, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "bench": "plugin",
        "machine": machine(),
        "notes": options.notes,
        "repeat": options.repeat,
        "queries": options.queries,
        "runs": _run_rows(report),
        "servers": [each.as_json() for each in report.servers],
        "memory": [each.as_json() for each in report.memory],
        "promises": [promise.as_json() for promise in report.promises],
        "complaints": len(report.complaints),
    }
