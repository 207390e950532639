"""Writes docs/benchmarks.md anew: runs the benchmarks behind it, or reads what they wrote, and keeps all prose.

A section with numbers stands between `<!-- begin NAME -->` and `<!-- end NAME -->`; what stands around is written by
hand. With --from nothing is run, and sections whose benchmark is not among the files stay as they are.
"""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.measure import save_json
from bench.options import DATA_VARIABLE, shared
from bench.sections import PLOTS, SECTIONS, Numbers, Section
from memem.core.errors import InputError

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
ON_DATA = ("recall", "silence", "ranking")
"""The benchmarks that need the evaluation files."""
COST = ("meaning", "--sizes", "10000")


def run(arguments: list[str]) -> int:
    """Measure or read, write the page and its charts; 1 when a promise is broken or the page cannot be written."""
    options = _options(arguments)
    try:
        numbers = _read(options.given) if options.given else _measured(options.data, options.cache)
        written = write(options.page, numbers)
    except InputError as problem:
        print(problem, file=sys.stderr)
        return 1
    if options.json:
        save_json(options.json, numbers)
    print("\n".join(f"Written: {name}" for name in written))
    broken = [
        claim["what"] for each in numbers.values() for claim in each.get("promises", ()) if claim["holds"] is False
    ]
    for what in broken:
        print(f"BROKEN: {what}")
    return 1 if broken else 0


def write(page: Path, numbers: Mapping[str, Numbers]) -> list[str]:
    """Fill in the sections that there are numbers for, and draw their charts; the names of the files written."""
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as problem:
        raise InputError(f"The page {page} cannot be read: {problem.strerror}.") from problem
    plots: dict[str, str] = {}
    for name, (bench, _) in SECTIONS.items():
        if bench in numbers:
            section = _made(name, numbers[bench])
            text = filled(text, name, section.text)
            plots |= section.plots
    folder = page.parent / PLOTS
    folder.mkdir(exist_ok=True)
    for name, drawn in plots.items():
        (folder / name).write_text(drawn, encoding="utf-8")
    page.write_text(text, encoding="utf-8")
    return [page.name, *(f"{PLOTS}/{name}" for name in plots)]


def filled(page: str, name: str, text: str) -> str:
    """The page with this text between the markers of a section, and everything else as it was."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    for marker in (begin, end):
        if page.count(marker) != 1:
            raise InputError(
                f"The page holds the marker {marker} {page.count(marker)} times: it has to stand there once."
            )
    if page.index(begin) > page.index(end):
        raise InputError(f"On the page {end} stands before {begin}: exchange them.")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}"


def _made(name: str, numbers: Numbers) -> Section:
    bench, make = SECTIONS[name]
    try:
        return make(numbers)
    except (KeyError, IndexError) as problem:
        what = f"The numbers of {bench} lack {problem} for the section {name!r}"
        raise InputError(f"{what}: run `python -m bench {bench} --data DIR --json FILE` again.") from problem


def _read(files: list[Path]) -> dict[str, Any]:
    numbers = {}
    for file in files:
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
            numbers[found["bench"]] = found
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise InputError(f"{file} holds no numbers of a benchmark: write it with --json.") from problem
    if unknown := sorted(numbers.keys() - {bench for bench, _ in SECTIONS.values()}):
        raise InputError(f"The page shows nothing of the benchmark {unknown[0]!r}.")
    return numbers


def _measured(data: Path, cache: Path | None) -> dict[str, Any]:
    """The numbers of every benchmark that the page shows."""
    given = ["--data", str(data), *(["--cache", str(cache)] if cache else [])]
    with tempfile.TemporaryDirectory(prefix="memem-bench-") as folder:
        files = []
        for name, *arguments in (*((name, *given) for name in ON_DATA), COST):
            files.append(Path(folder) / f"{name}.json")
            import_module(f"bench.{name}").run([*arguments, "--json", str(files[-1])])
        return _read(files)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench report", description=__doc__)
    shared(parser)
    parser.add_argument(
        "--from", dest="given", type=_files, metavar="FILES", help="JSON to read instead, comma-separated"
    )
    parser.add_argument(
        "--page", type=Path, default=PAGE, metavar="FILE", help="the page (default: docs/benchmarks.md)"
    )
    options = parser.parse_args(arguments)
    if not (options.given or options.data):
        parser.error(f"the benchmarks need --data DIR or {DATA_VARIABLE}; or give their numbers with --from")
    return options


def _files(text: str) -> list[Path]:
    return [Path(name) for name in re.split(r"\s*,\s*", text) if name]
