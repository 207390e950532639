"""Commands about views of the vault: graph and pages."""

import argparse

from memem.core.memory import MUTUAL
from memem.doors.cli import output
from memem.doors.cli.command import Command
from memem.doors.cli.output import count
from memem.pages import conflicts
from memem.pages import draw as pages_draw
from memem.pages import refresh as pages_refresh
from memem.pages.draw import GraphPicture
from memem.pages.refresh import Pages
from memem.search.graph import build, read
from memem.search.graph.build import GraphSummary
from memem.search.graph.read import GraphStats, Neighborhood
from memem.upkeep import graph_audit
from memem.upkeep.graph_audit import Audit
from memem.workspace import Workspace

MAX_SHOWN_FLAWS = 20  # of each kind; --json has all of them
_OUTDATED = "Notes changed since the graph was built; `memem graph rebuild` updates it."


def rebuild(ws: Workspace, options: argparse.Namespace) -> int:
    with output.progress("Comparing the notes", quiet=options.json):
        result = build.rebuild(ws)
    return output.emit(result, options, _show_rebuilt)


def _show_rebuilt(result: GraphSummary) -> None:
    output.say(f"{count(result.edges, 'edge')} between {count(result.memories, 'memory')}, compared by {result.by}.")
    output.table(["kind", "edges"], [[kind, f"{number:,}"] for kind, number in result.kinds.items()])


def stats(ws: Workspace, options: argparse.Namespace) -> int:
    build.refresh_graph(ws)
    return output.emit(read.compute_stats(ws), options, _show_stats)


def _show_stats(stats: GraphStats) -> None:
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


def audit(ws: Workspace, options: argparse.Namespace) -> int:
    return output.emit(graph_audit.audit(ws, fix=options.fix), options, _show_audit)


def _show_audit(audit: Audit) -> None:
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
    if rows:
        output.table(["problem", "id", "title", "detail", "fix"], rows, optional=("detail", "title"))
    counts = ", ".join(count(number, problem.replace("_", " ")) for problem, number in audit.counts.items())
    edges, memories = count(audit.stats.edges, "edge"), count(audit.stats.memories, "memory")
    output.aside(f"{edges} between {memories}: {counts}.")
    if audit.stats.behind:
        output.aside(_OUTDATED)


def neighbors(ws: Workspace, options: argparse.Namespace) -> int:
    build.refresh_graph(ws)
    neighborhood = read.find_neighbors(ws, options.id, depth=options.depth, limit=options.limit)
    return output.emit(neighborhood, options, _show_neighborhood)


def _show_neighborhood(neighborhood: Neighborhood) -> None:
    entry = neighborhood.entry
    output.say(f"{entry.memory.id8}  {entry.project}  {entry.title}")
    rows = []
    for neighbor in neighborhood.neighbors:
        edge = neighbor.edge
        arrow = "-" if edge.kind in MUTUAL else "->" if edge.target == neighbor.id else "<-"
        columns = [f"{arrow} {edge.kind}", f"{edge.score:.2f}", edge.origin]
        rows.append([str(neighbor.steps), neighbor.memory.id8, *columns, neighbor.project, neighbor.title])
    if rows:
        headings = ["steps", "id", "edge", "score", "origin", "project", "title"]
        output.table(headings, rows, optional=("origin", "score", "project", "steps"))
    else:
        output.aside("It has no edges.")
    if neighborhood.behind:
        output.aside(_OUTDATED)


def draw(ws: Workspace, options: argparse.Namespace) -> int:
    drawn = pages_draw.draw(ws, options.file.expanduser(), project=options.project)
    return output.emit(drawn, options, _show_drawn)


def _show_drawn(drawn: GraphPicture) -> None:
    counts = f"{count(drawn.edges, 'edge')}, {count(drawn.projects, 'project')}"
    output.say(f"{drawn.drawn:,} of {count(drawn.memories, 'memory')}, {counts}: {drawn.file}")
    if drawn.drawn < drawn.memories:
        output.aside("Only the best-linked memories of the largest projects are drawn; `--project` draws one project.")


def pages(ws: Workspace, options: argparse.Namespace) -> int:
    conflicts.write_page(ws)
    return output.emit(pages_refresh.write_pages(ws), options, _show_pages)


def _show_pages(result: Pages) -> None:
    rows = [["written", path] for path in result.written] + [["removed", path] for path in result.removed]
    if rows:
        output.table(["", "page in memem/"], rows)
    for path in result.left:
        output.aside(f"memem/{path} is your own note; rename it to make room for the page.")
    for path in result.linked:
        output.aside(f"memem/{path} is behind a symbolic link and was not written; remove the link.")
    for path in result.busy:
        output.aside(f"memem/{path} was being saved by another program; run `memem pages` again.")
    if not (rows or result.left or result.linked or result.busy):
        output.aside("All pages are up to date. Start with memem/Home.md.")


COMMANDS = {
    "graph stats": Command(stats, scan=True),
    "graph neighbors": Command(neighbors, scan=True),
    "graph audit": Command(audit, scan=True),
    "graph rebuild": Command(rebuild, scan=True),
    "graph draw": Command(draw, scan=True),
    "pages": Command(pages, scan=True),
}
