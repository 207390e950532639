"""Measure the cost of meaning: a new process up to a fused answer, a search with its vector ready, the encoder.

The vaults' vectors are random ones: how long a search takes does not depend on what they say. With --reference, an
interpreter that has sentence-transformers, and the folder of the whole model, the same is measured through that
library, in turns; with --data, the encoder is also timed on the real prompts in it.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, cycle, repeat
from pathlib import Path
from typing import Any

import memem
from bench import corpora, vaults
from bench.latency import LARGE, Bed, say, sizes, verdict
from bench.measure import (
    BARE,
    Peak,
    Promise,
    Task,
    Timed,
    against_bare,
    interleave,
    machine,
    ratio,
    save_json,
    table,
    timed,
)
from memem.inject import slice
from memem.search import find, meaning, refresh
from memem.search.encoders import model
from memem.workspace import Workspace, open_workspace

SIZES = (10_000, 100_000)
COLD_LIMIT, REFERENCE_LIMIT, BULK_LIMIT = 30.0, 0.1, 2.0
WARM_LIMITS = {10_000: 1.0, 100_000: 4.0}
SLICE_LIMITS = {10_000: 2.0}
MEMORY_LIMIT = 160.0
QUERY = "how do we sign the access tokens of the gateway when the key rotates every week"
"""Twenty tokens with those at its ends, as a test counts."""
COLD, THROUGH, WARM, ENCODE = "cold fused search", "the same through sentence-transformers", "warm search", "encode"
SLICE, ENCODE_PROMPT = "warm slice", "encode the same prompts"
SHOW_ALL = {
    "MEMEM_RECALL_MIN_CONFIDENCE": "0",
    "MEMEM_RECALL_MIN_ITEM_SCORE": "0",
    "MEMEM_RECALL_OOV_THRESHOLD": "1",
}
SLOW_ROUNDS = 3
PORTION = 10_000


@dataclass
class Report:
    """Everything that was measured."""

    times: list[Timed] = field(default_factory=list)
    peaks: list[Peak] = field(default_factory=list)
    promises: list[Promise] = field(default_factory=list)
    prompts: dict[str, float] = field(default_factory=dict)


def run(arguments: list[str]) -> int:
    """Measure, print the tables, and write the JSON when asked; 1 when a promise is broken."""
    options = _options(arguments)
    folder = model.model_state(open_workspace(actor="bench")).folder
    if not folder:
        print("There is no model: run `memem index model fetch` first.", file=sys.stderr)
        return 1
    report = Report()
    with tempfile.TemporaryDirectory(prefix="memem-bench-", dir=options.folder) as place:
        for notes in options.sizes:
            _measure_size(Path(place) / str(notes), notes, SHOW_ALL | {"MEMEM_MODEL_DIR": folder}, options, report)
        if options.reference:
            report.promises.append(_bulk(options))
    _print(report)
    if options.json:
        save_json(options.json, _as_json(report, options))
    return 0 if all(promise.holds or not promise.judged for promise in report.promises) else 1


def _measure_size(
    place: Path, notes: int, environ: dict[str, str], options: argparse.Namespace, report: Report
) -> None:
    bed = Bed(place, notes, count(10 * LARGE), **environ)
    try:
        say(f"{notes:,} notes: writing, reading, and filling in vectors")
        vaults.write_notes(bed.workspace, notes)
        refresh.refresh(bed.workspace)
        fill(bed.workspace)
        say(f"{notes:,} notes: searching")
        _cold(bed, notes, options, report)
        _warm(bed, notes, options, report)
        if options.data and not report.prompts:
            report.prompts = _prompts(bed.workspace, options.data)
    finally:
        bed.close()


def _cold(bed: Bed, notes: int, options: argparse.Namespace, report: Report) -> None:
    fused = bed.cold_search()
    taken = interleave({BARE: bed.bare(), COLD: fused}, options.repeat)
    judged = notes == SIZES[0]
    report.times += against_bare(taken, notes)
    report.promises.append(Promise(f"{COLD} in {notes:,} / {BARE}", ratio(taken, COLD, BARE), COLD_LIMIT, judged))
    peak = max(fused.peaks)
    report.peaks.append(Peak(COLD, notes, peak))
    report.promises.append(Promise(f"peak memory in MB, {COLD} in {notes:,}", peak / 1e6, MEMORY_LIMIT, judged))
    if options.reference and judged:
        library = {"MEMEM_ENCODER": "sentence-transformers", "MEMEM_EMBED_MODEL": str(options.model)}
        through = bed.cold_search(options.reference, **library, MEMEM_QUERY_SECONDS="600")
        both = interleave({BARE: bed.bare(), COLD: bed.cold_search(), THROUGH: through}, SLOW_ROUNDS)
        report.times += [row for row in against_bare(both, notes) if row.what == THROUGH]
        report.promises.append(Promise(f"{COLD} / {THROUGH}", ratio(both, COLD, THROUGH), REFERENCE_LIMIT))


def _warm(bed: Bed, notes: int, options: argparse.Namespace, report: Report) -> None:
    ws, cwd, project = bed.workspace, bed.folder / "user", vaults.PROJECTS[1]

    def ready(texts: Sequence[str]) -> Iterator[str]:
        """With their vectors, so that encoding is not timed."""
        for text in cycle(texts):
            asked = ws.encode_query(text)
            assert asked
            asked.wait(600)
            yield text

    prompts = vaults.prompts(12)
    tasks: dict[str, Task] = {
        BARE: bed.bare(),
        WARM: timed(lambda query: find.search(ws, query), ready(vaults.queries(12))),
        ENCODE: timed(ws.encoder().query, repeat(QUERY)),
        SLICE: timed(lambda prompt: _sliced(ws, prompt, cwd, project), ready(prompts)),
        ENCODE_PROMPT: timed(ws.encoder().query, cycle(prompts)),
    }
    taken = interleave(tasks, options.repeat)
    report.times += [row for row in against_bare(taken, notes) if row.what != BARE]
    searched = f"{WARM} in {notes:,}, vector ready / {ENCODE} 20 tokens on one thread"
    sliced = f"{SLICE} in {notes:,}, vector ready / {ENCODE_PROMPT} on one thread"
    for name, over, under, limits in (
        (searched, WARM, ENCODE, WARM_LIMITS),
        (sliced, SLICE, ENCODE_PROMPT, SLICE_LIMITS),
    ):
        limit = limits.get(notes, math.inf)
        report.promises.append(Promise(name, ratio(taken, over, under), limit, notes in limits))


def _sliced(ws: Workspace, prompt: str, cwd: Path, project: str) -> None:
    """Find, judge and render, as for a prompt. Whatever is found is shown, so that rendering has its full share."""
    assert slice.build_slice(ws, prompt, cwd=cwd, project=project).hits


def fill(ws: Workspace) -> None:
    """A random vector for every passage that has none."""
    import numpy as np

    random = np.random.default_rng(vaults.SEED)
    keys = sorted(ws.index.passages.keys())
    for start in range(0, len(keys), PORTION):
        some = keys[start : start + PORTION]
        rows = random.standard_normal((len(some), ws.encoder().dimensions), dtype=np.float32)
        ws.vectors().add(some, rows / np.linalg.norm(rows, axis=1, keepdims=True))
    assert meaning.update_pending(ws) == 0


def _prompts(ws: Workspace, data: Path) -> dict[str, float]:
    """How long the encoder takes on prompts that people typed."""
    prompts = corpora.prompts(data)
    task = timed(ws.encoder().query, iter(prompts))
    taken = sorted(task() for _ in prompts)
    return {f"p{share}": 1000 * taken[math.ceil(share / 100 * len(taken)) - 1] for share in (50, 90, 99)}


def _bulk(options: argparse.Namespace) -> Promise:
    say("a batch through both encoders")
    command = [options.reference, "-m", "bench.encoders", str(options.model)]
    root = Path(memem.__file__).parent.parent
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    taken = json.loads(done.stdout.splitlines()[-1])
    name = f"{taken.pop('texts')} passages in bulk / by sentence-transformers"
    return Promise(name, ratio(taken, "ours", "reference"), BULK_LIMIT)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench meaning", description=__doc__)
    parser.add_argument("--sizes", type=sizes, default=SIZES, help="notes per vault, comma-separated")
    parser.add_argument("--repeat", type=int, default=20, help="runs of each (default: 20)")
    parser.add_argument("--reference", metavar="PYTHON", help="an interpreter that has sentence-transformers")
    parser.add_argument("--model", type=Path, metavar="DIR", help="the whole model, for the reference")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the evaluation files")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to this file")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where the vaults are made, and removed again")
    options = parser.parse_args(arguments)
    if options.repeat < 1:
        parser.error("repeat at least once")
    if bool(options.reference) != bool(options.model):
        parser.error("--reference and --model go together")
    return options


def _print(report: Report) -> None:
    print("Medians; the bare start is `python -I -S -c pass`.\n")
    times = [row.as_json() for row in report.times]
    rows: Sequence[Sequence[object]] = [
        (row["what"], row["notes"], row["ms"], row["p95_ms"], row["x_bare"]) for row in times
    ]
    print(table(("what", "notes", "ms", "p95", "x bare"), rows))
    if report.prompts:
        shown = ", ".join(f"{name} {value:.1f} ms" for name, value in report.prompts.items())
        print(f"\nEncoding of the real prompts: {shown}")
    promised = [(p.what, p.ratio, p.limit, verdict(p)) for p in report.promises]
    print("\n" + table(("promise", "measured", "at most", ""), promised))


def _as_json(report: Report, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "bench": "meaning",
        "machine": machine(),
        "repeat": options.repeat,
        "times": [row.as_json() for row in report.times],
        "memory": [peak.as_json() for peak in report.peaks],
        "encode_prompts_ms": report.prompts,
        "promises": [promise.as_json() for promise in report.promises],
    }
