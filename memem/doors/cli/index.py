"""Commands about everything derived from the notes: index, graph, pages."""

import argparse

from memem.core import processes
from memem.core.errors import Busy, ModelError
from memem.core.memory import MUTUAL
from memem.doors.cli import output
from memem.doors.cli.command import Command
from memem.doors.cli.output import count
from memem.pages import conflicts
from memem.pages import draw as pages_draw
from memem.pages import refresh as pages_refresh
from memem.search import rebuild as search_rebuild
from memem.search.encoders import model as encoders_model
from memem.search.encoders.model import EncodeReport
from memem.search.graph import build, read
from memem.upkeep import graph_audit
from memem.workspace import Workspace

MAX_SHOWN_FLAWS = 20  # of each kind; --json has all of them
_OUTDATED = "Notes have changed since the graph was built; `memem graph rebuild` updates it."


def rebuild(ws: Workspace, options: argparse.Namespace) -> int:
    with output.progress("Reading the notes", quiet=options.json):
        result = search_rebuild.rebuild(ws)
    files = f"Read {result.changed} of {count(result.files, 'file')} in {ws.settings.vault}."
    output.emit(result, options, lambda _: output.say(files))
    if ws.settings.encoder != "none":
        try:
            encoded = _encode(ws, quiet=options.json)
            if not options.json:
                done = f"Encoded {encoded.encoded:,} of {count(encoded.passages, 'passage')}"
                output.say(f"{done} with {encoders_model.model_state(ws).described}.")
        except ModelError as problem:
            output.degraded(str(problem))
        except Busy as problem:
            output.aside(str(problem))
    build.refresh_in_background(ws)
    return 0


def _encode(ws: Workspace, *, quiet: bool) -> EncodeReport:
    try:
        with output.progress("Encoding (Ctrl-C to stop; you can continue later)", quiet=quiet) as progress:
            return encoders_model.encode_all(ws, progress, wait=0)
    except KeyboardInterrupt:
        output.aside("Interrupted: finished vectors are kept; run `memem index encode` to continue.")
        raise


def encode(ws: Workspace, options: argparse.Namespace) -> int:
    if options.background:
        processes.give_way()
    try:
        result = _encode(ws, quiet=options.background or options.json)
    except Busy:
        if options.background:
            return 0
        raise
    if options.json or not options.background:
        done = f"Encoded {result.encoded:,} of {count(result.passages, 'passage')}"
        output.emit(result, options, lambda _: output.say(f"{done}; the others were up to date."))
    return 0


def check(ws: Workspace, options: argparse.Namespace) -> int:
    from memem.upkeep import status  # slow to import

    findings = status.check(ws)
    if options.json:
        output.as_json(findings)
    elif findings:
        rows = [[finding.path, finding.problem, output.advice(finding.advice)] for finding in findings]
        output.table(["note", "problem", "fix"], rows)
    else:
        output.say("All notes are fine.")
    return 1 if any(finding.serious for finding in findings) else 0


def model(ws: Workspace, options: argparse.Namespace) -> int:
    if options.what == "path" and not options.json:
        output.say(encoders_model.weights_folder(ws))
        return 0
    if options.what == "fetch":
        with output.progress("Downloading the model", quiet=options.json) as progress:
            folder = encoders_model.fetch(ws, lambda _name, done, total: progress(done, total))
        if not options.json:
            output.say(folder)
            return 0
    state = encoders_model.model_state(ws)
    if options.json:
        return output.as_json(state)
    rows = [["encoder", state.encoder], ["model", state.described], ["weights", state.folder], ["source", state.source]]
    rows.append(["vectors", f"{state.encoded:,} of {count(state.passages, 'passage')}"])
    if state.unread:
        rows.append(["keywords only", f"{count(state.unread, 'memory')} in scripts the model cannot read"])
    output.table(["", ""], [row for row in rows if row[1]])
    for trouble in filter(None, (state.notice, state.problem)):
        output.aside(trouble)
    return 0


def rebuild_graph(ws: Workspace, options: argparse.Namespace) -> int:
    with output.progress("Comparing the notes", quiet=options.json):
        result = build.rebuild(ws)
    if options.json:
        return output.as_json(result)
    output.say(f"{count(result.edges, 'edge')} between {count(result.memories, 'memory')}, compared by {result.by}.")
    output.table(["kind", "edges"], [[kind, f"{number:,}"] for kind, number in result.kinds.items()])
    return 0


def stats(ws: Workspace, options: argparse.Namespace) -> int:
    build.refresh_graph(ws)
    stats = read.compute_stats(ws)
    if options.json:
        return output.as_json(stats)
    kinds = ", ".join(f"{kind} {number:,}" for kind, number in stats.kinds.items())
    rows = [
        ["memories", f"{stats.memories:,}"],
        ["edges", f"{stats.edges:,} ({kinds})" if kinds else "0"],
        ["origins", ", ".join(f"{origin} {number:,}" for origin, number in stats.origins.items()) or "none"],
        ["orphans", f"{stats.orphans:,}"],
        ["clusters", f"{stats.clusters:,}; the largest has {count(stats.largest, 'memory')}"],
        ["edges per memory", f"{stats.mean:g}, at most {stats.most:,}"],
        ["compared by", stats.by],
        ["built", output.minute(stats.built)],
    ]
    output.table(["", ""], rows)
    if stats.behind:
        output.aside(_OUTDATED)
    return 0


def audit(ws: Workspace, options: argparse.Namespace) -> int:
    audit = graph_audit.audit(ws, fix=options.fix)
    if options.json:
        return output.as_json(audit)
    for flaw in audit.mended:
        output.say(f"fixed {flaw.path}: {flaw.detail}")
    if audit.batch:
        output.aside(f"`memem undo {audit.batch}` reverts this.")
    rows = []
    for problem in audit.counts:
        name = problem.replace("_", " ")
        flaws = [flaw for flaw in audit.flaws if flaw.problem == problem]
        for flaw in flaws[:MAX_SHOWN_FLAWS]:
            rows.append([name, flaw.id[:8], flaw.title, flaw.detail, output.advice(flaw.fix)])
        if hidden := len(flaws[MAX_SHOWN_FLAWS:]):
            rows.append([name, "", f"{hidden:,} more", "", output.advice("`memem graph audit --json` lists them.")])
    output.table(["problem", "id", "title", "detail", "fix"], rows, optional=("detail", "title"))
    counts = ", ".join(count(number, problem.replace("_", " ")) for problem, number in audit.counts.items())
    edges, memories = count(audit.stats.edges, "edge"), count(audit.stats.memories, "memory")
    output.aside(f"{edges} between {memories}: {counts}.")
    if audit.stats.behind:
        output.aside(_OUTDATED)
    return 0


def neighbors(ws: Workspace, options: argparse.Namespace) -> int:
    build.refresh_graph(ws)
    neighborhood = read.find_neighbors(ws, options.id, depth=options.depth, limit=options.limit)
    if options.json:
        return output.as_json(neighborhood)
    entry = neighborhood.entry
    output.say(f"{entry.memory.id8}  {entry.project}  {entry.title}")
    rows = []
    for neighbor in neighborhood.neighbors:
        edge = neighbor.edge
        arrow = "-" if edge.kind in MUTUAL else "->" if edge.target == neighbor.id else "<-"
        columns = [f"{arrow} {edge.kind}", f"{edge.score:.2f}", edge.origin]
        rows.append([str(neighbor.steps), neighbor.memory.id8, *columns, neighbor.project, neighbor.title])
    headings = ["steps", "id", "edge", "score", "origin", "project", "title"]
    output.table(headings, rows, optional=("origin", "score", "project", "steps"), empty="It has no edges.")
    if neighborhood.behind:
        output.aside(_OUTDATED)
    return 0


def draw(ws: Workspace, options: argparse.Namespace) -> int:
    drawn = pages_draw.draw(ws, options.file.expanduser(), project=options.project)
    if options.json:
        return output.as_json(drawn)
    counts = f"{count(drawn.edges, 'edge')}, {count(drawn.projects, 'project')}"
    output.say(f"{drawn.drawn:,} of {count(drawn.memories, 'memory')}, {counts}: {drawn.file}")
    if drawn.drawn < drawn.memories:
        output.aside("Only the best-linked memories of the largest projects are drawn; `--project` draws one project.")
    return 0


def pages(ws: Workspace, options: argparse.Namespace) -> int:
    conflicts.write_page(ws)
    result = pages_refresh.write_pages(ws)
    if options.json:
        return output.as_json(result)
    rows = [["written", path] for path in result.written] + [["removed", path] for path in result.removed]
    output.table(["", "page in memem/"], rows)
    for path in result.left:
        output.aside(f"memem/{path} is your own note; rename it to make room for the page.")
    for path in result.linked:
        output.aside(f"memem/{path} is behind a symbolic link and was not written; remove the link.")
    for path in result.busy:
        output.aside(f"memem/{path} was being saved by another program; run `memem pages` again.")
    if not (rows or result.left or result.linked or result.busy):
        output.aside("All pages are up to date. Start with memem/Home.md.")
    return 0


COMMANDS = {
    "index rebuild": Command(rebuild),
    "index encode": Command(encode, scan=True),
    "index check": Command(check, scan=True),
    "index model": Command(model),
    "graph stats": Command(stats, scan=True),
    "graph neighbors": Command(neighbors, scan=True),
    "graph audit": Command(audit, scan=True),
    "graph rebuild": Command(rebuild_graph, scan=True),
    "graph draw": Command(draw, scan=True),
    "pages": Command(pages, scan=True),
}
