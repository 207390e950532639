"""The graph: where the line is above which two notes are linked, what its edges do to the ranking, what it costs.

The curve is drawn on our labelled set. Nobody has labelled every pair of it as of one topic or not, so two things stand
in for that: pairs that must be linked (one superseded the other) or that answer a question together, and pairs of two
different projects, which are linked by chance, if at all. What share of the links within projects such chance explains
is the last column.

The ranking is measured with edges of different strength, from all of them to none, on the labelled set (its queries,
and its prompts) and, where their files are (--data, or the variable MEMEM_BENCH_DATA), on devmem and devmem in a crowd.

The cost is a whole rebuild in a vault of 10,000 notes whose vectors are there, over one pass of the vector search: all
passages against all, in blocks of a matrix product, with the best 64 of each picked out, as a search does at first, and
nothing else. That is the cheapest way to search for every note; one search after the other, as `memem search` does it,
is told beside it, from a sample. The rebuild also reads every note and its passages, keeps what is connected connected,
and writes the edges. Vectors are made up, of topics with some twelve notes each; once the notes are of eight projects,
and once all of one, which is the most that there can be to compare. Both run in turns.
"""

import argparse
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from itertools import count, repeat
from pathlib import Path
from typing import Any

from bench import edges, vaults
from bench.latency import LARGE, Bed, say, verdict
from bench.measure import Promise, interleave, machine, ratio, save_json, table, timed
from bench.options import folder, shared
from memem.core.memory import GENERAL
from memem.search import find, meaning, refresh
from memem.search.encoders import model
from memem.search.graph import build
from memem.search.query import Scope
from memem.workspace import Workspace, open_workspace

NOTES, TOPIC = 10_000, 12
LIMIT = 2.0
SAMPLE = 100
REBUILD, PASS, EACH = "rebuild of the graph", "one pass of the vector search, in blocks", "one search after the other"
PARTS = ("curve", "ranking", "cost")


def run(arguments: list[str]) -> int:
    """Measure, print the tables, and write the JSON when asked; 1 when the promise is broken."""
    options = _options(arguments)
    if not model.model_state(open_workspace(actor="bench")).folder:
        print("There is no model: run `memem index model fetch` first.", file=sys.stderr)
        return 1
    Workspace.load_numpy()
    report: dict[str, Any] = {"bench": "graph", "machine": machine()}
    with folder(options.cache) as place:
        if "curve" in options.parts:
            report["curve"] = edges.print_curve(Path(place))
        if "ranking" in options.parts:
            report["ranking"] = edges.print_ranking(Path(place), options.data)
    promises = _cost(options) if "cost" in options.parts else []
    if options.json:
        save_json(options.json, report | {"promises": [promise.as_json() for promise in promises]})
    return 0 if all(promise.holds or not promise.judged for promise in promises) else 1


def _cost(options: argparse.Namespace) -> list[Promise]:
    promises = []
    where = model.model_state(open_workspace(actor="bench")).folder
    for name, project in (("eight projects", ""), ("one project", GENERAL)):
        with tempfile.TemporaryDirectory(prefix="memem-bench-", dir=options.folder) as place:
            bed = Bed(Path(place) / "bed", options.notes, count(10 * LARGE), MEMEM_MODEL_DIR=where)
            with closing(bed):
                say(f"{options.notes:,} notes of {name}: writing, reading, and filling in vectors")
                prepare(bed.workspace, options.notes, project)
                promises.append(_measured(bed.workspace, options, name))
    rows = [(each.what, each.ratio, each.limit, verdict(each)) for each in promises]
    print(table(("promise", "measured", "at most", ""), rows))
    return promises


def prepare(ws: Workspace, notes: int, project: str = "") -> None:
    """A vault of so many notes with a vector for each passage; all of one project, if one is named."""
    ws.store.make_vault()
    for number in range(notes):
        memory = vaults.memory(number)
        vaults.write_note(ws, replace(memory, project=project) if project else memory)
    refresh.refresh(ws)
    _fill(ws, notes)


def _fill(ws: Workspace, notes: int) -> None:
    import numpy as np

    random = np.random.default_rng(vaults.SEED)
    dimensions = ws.encoder().dimensions
    topics = random.standard_normal((max(1, notes // TOPIC), dimensions)).astype(np.float32)
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    pairs = sorted(ws.index.passages.in_scope(Scope(archive=True)))
    rows = topics[np.array([row for _, row in pairs]) % len(topics)]
    rows = rows + random.standard_normal(rows.shape).astype(np.float32) / np.sqrt(dimensions)
    ws.vectors().add([key for key, _ in pairs], rows / np.linalg.norm(rows, axis=1, keepdims=True))
    assert meaning.update_pending(ws) == 0


def _measured(ws: Workspace, options: argparse.Namespace, name: str) -> Promise:
    say(f"{options.notes:,} notes of {name}: comparing")
    taken = interleave(
        {
            REBUILD: timed(build.rebuild, repeat(ws)),
            PASS: timed(whole_pass, repeat(ws)),
            EACH: timed(search_some, repeat(ws)),
        },
        options.repeat,
    )
    passages = ws.index.passages.count()
    woven = build.rebuild(ws)
    print(
        f"{options.notes:,} notes of {name}, {passages:,} passages, {woven.edges:,} edges; medians of {options.repeat}"
    )
    milliseconds = {what: 1000 * sorted(seconds)[len(seconds) // 2] for what, seconds in taken.items()}
    milliseconds[EACH] *= options.notes / SAMPLE
    print(table(("what", "ms"), list(milliseconds.items())) + "\n", flush=True)
    judged = options.notes == NOTES
    return Promise(f"{REBUILD} / {PASS}, {name}", ratio(taken, REBUILD, PASS), LIMIT, judged)


def whole_pass(ws: Workspace) -> None:
    """All passages against all, and the best of each: no less than a search for every note has to do."""
    import numpy as np

    from memem.search import vectors as search_vectors
    from memem.search.graph import similar

    with ws.vectors().reading() as view:
        best = min(search_vectors.FIRST_LOOK, len(view.rows))
        for start in range(0, len(view.rows), similar.BLOCK_ROWS):
            scores = view.rows[start : start + similar.BLOCK_ROWS] @ view.rows.T
            np.argpartition(scores, -best, axis=1)[:, -best:]


def search_some(ws: Workspace) -> None:
    """A search by its own vector for each of a sample of the notes."""
    from memem.search.vectors import find_closest

    with ws.vectors().reading() as view:
        for place in range(0, len(view.rows), max(1, len(view.rows) // SAMPLE))[:SAMPLE]:
            find_closest(ws.index.passages, view, view.rows[place], Scope(archive=True), find.MIN_CANDIDATES, ())


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench graph", description=__doc__)
    shared(parser)
    parser.add_argument("--parts", type=lambda text: text.split(","), default=PARTS, help=f"of {','.join(PARTS)}")
    parser.add_argument("--notes", type=int, default=NOTES, help=f"in the vault that is timed (default: {NOTES:,})")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each (default: 5)")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where the vaults are made, and removed again")
    options = parser.parse_args(arguments)
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}, only {', '.join(PARTS)}")
    if options.repeat < 1 or options.notes < SAMPLE:
        parser.error(f"repeat at least once, with at least {SAMPLE} notes")
    return options
