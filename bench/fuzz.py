"""`python -m bench fuzz`: what reads text of others is given text that is nearly right, for a while each.

Nothing but an error of memem's own may come out, and nothing may take long. `--seconds` is for each target; the same
`--seed` tries the same inputs. Exit code 1 when something was found; the input is printed so that it can be a test.
"""

import argparse
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.fuzz_homes import HOMELY
from bench.fuzz_targets import TARGETS
from bench.hunting import Hunt, hunt

ALL = {target.name: target for target in (*TARGETS, *HOMELY)}
MOST_MEMORY = 4_000_000_000
"""In bytes, of addresses: who wants more while it reads a few kilobytes is found."""
LONGEST_SHOWN = 600


def run(arguments: list[str]) -> int:
    """Print a line for each target, and what was found."""
    parser = argparse.ArgumentParser(prog="python -m bench fuzz")
    parser.add_argument("targets", metavar="TARGET", nargs="*", help=f"of {', '.join(ALL)}; default: all")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target; default 60")
    parser.add_argument("--inputs", type=int, help="so many for each target, however long that takes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trace", action="store_true", help="show where each finding came through")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.targets if name not in ALL]
    if unknown:
        parser.error(f"there is no target {unknown[0]!r}")
    found = 0
    print(f"{'target':<16}{'inputs':>9}{'refused':>9}{'lines':>7}{'slowest':>9}{'findings':>9}")
    for name in options.targets or ALL:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, _bounded_memory():
            done = hunt(ALL[name], Path(folder), seconds=options.seconds, seed=options.seed, most=options.inputs)
        print(_row(done), flush=True)
        for line in _format_findings(done, with_trace=options.trace):
            print(line, flush=True)
        found += len(done.findings)
    return 1 if found else 0


def _row(done: Hunt) -> str:
    slowest = f"{done.slowest * 1000:,.0f} ms"
    counts = f"{done.executions:>9,}{done.refused:>9,}{len(done.lines):>7,}"
    return f"{done.target:<16}{counts}{slowest:>9}{len(done.findings):>9}"


def _format_findings(done: Hunt, *, with_trace: bool) -> Iterator[str]:
    for finding in done.findings.values():
        yield f"  {finding.what}\n    at {finding.where}\n    {ascii(finding.data[:LONGEST_SHOWN])[1:]}"
        if with_trace:
            yield finding.trace


@contextmanager
def _bounded_memory() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
