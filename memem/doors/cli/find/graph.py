"""memem graph"""

import argparse
from collections.abc import Callable
from pathlib import Path

from memem.core.memory import MUTUAL
from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.pages import draw
from memem.search.graph import build, read
from memem.search.graph.read import GraphStats, Neighbor
from memem.upkeep import graph_audit
from memem.upkeep.graph_audit import Audit
from memem.workspace import Workspace

SHOWN_FLAWS = 20
"""Of each kind, on a screen; --json has all of them."""
BEHIND = "Notes changed since the graph was made; `memem graph rebuild` makes it anew."


def arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(prog="memem graph", dest="what", metavar="WHAT", required=True)
    own = {}
    for name, (meaning, _) in _WHAT.items():
        own[name] = verbs.add_parser(name, help=meaning, description=f"{meaning[0].upper()}{meaning[1:]}.")
        output.json_option(own[name])
    own["audit"].add_argument("--fix", action="store_true", help="mend what a machine may, in notes it wrote itself")
    own["neighbors"].add_argument("id", metavar="ID", help="the id of a memory, or its first characters")
    own["neighbors"].add_argument("-d", "--depth", type=int, default=1, help="how many steps to go; default 1")
    own["neighbors"].add_argument("-n", "--limit", type=int, default=20, help="at most so many; default 20")
    own["draw"].add_argument("file", metavar="FILE", type=Path, help="where to; ends in .svg")
    own["draw"].add_argument("-p", "--project", help="only this project")


def run(options: argparse.Namespace) -> int:
    with fresh_workspace() as ws:
        _, act = _WHAT[options.what]
        act(ws, options)
    return 0


def _rebuild(ws: Workspace, options: argparse.Namespace) -> None:
    with output.progress("Comparing the notes", quiet=options.json):
        woven = build.rebuild(ws)
    if options.json:
        output.as_json(woven)
        return
    output.say(f"{woven.edges:,} edges between {woven.memories:,} memories, found by {woven.by}.")
    output.table(["kind", "edges"], [[kind, f"{count:,}"] for kind, count in woven.kinds.items()])


def _stats(ws: Workspace, options: argparse.Namespace) -> None:
    build.refresh_graph(ws)
    stats = read.compute_stats(ws)
    if options.json:
        output.as_json(stats)
        return
    output.table(["what", "is"], _rows(stats))
    if stats.behind:
        output.aside(BEHIND)


def _rows(stats: GraphStats) -> list[list[str]]:
    return [
        ["memories", f"{stats.memories:,}"],
        ["edges", _told(stats.edges, stats.kinds)],
        ["from", ", ".join(f"{name} {count:,}" for name, count in stats.origins.items()) or "nothing"],
        ["orphans", f"{stats.orphans:,}"],
        ["clusters", f"{stats.clusters:,}; the largest has {stats.largest:,} memories"],
        ["edges each", f"{stats.mean:g}, at most {stats.most:,}"],
        ["compared by", stats.by],
        ["made", stats.built[:16].replace("T", " ")],
    ]


def _told(count: int, parts: dict[str, int]) -> str:
    named = ", ".join(f"{name} {each:,}" for name, each in parts.items())
    return f"{count:,} ({named})" if named else f"{count:,}"


def _audit(ws: Workspace, options: argparse.Namespace) -> None:
    audit = graph_audit.audit(ws, fix=options.fix)
    if options.json:
        output.as_json(audit)
        return
    for flaw in audit.mended:
        output.say(f"mended {flaw.path}: {flaw.detail}")
    if audit.batch:
        output.aside(f"`memem undo {audit.batch}` takes that back.")
    _show_flaws(audit)
    counts = ", ".join(f"{name.replace('_', ' ')}s: {count:,}" for name, count in audit.counts.items())
    output.aside(f"{audit.stats.edges:,} edges between {audit.stats.memories:,} memories. {counts.capitalize()}.")
    if audit.stats.behind:
        output.aside(BEHIND)


def _show_flaws(audit: Audit) -> None:
    rows = []
    for problem in audit.counts:
        some = [flaw for flaw in audit.flaws if flaw.problem == problem]
        rows += [
            [problem.replace("_", " "), flaw.id[:8], flaw.title, flaw.detail, output.advice(flaw.fix)]
            for flaw in some[:SHOWN_FLAWS]
        ]
        if len(some) > SHOWN_FLAWS:
            rows.append(
                [
                    problem.replace("_", " "),
                    "",
                    f"{len(some) - SHOWN_FLAWS:,} more",
                    "",
                    output.advice("`memem graph audit --json` has them."),
                ]
            )
    if rows:
        output.table(["problem", "id", "title", "what", "what mends it"], rows)


def _neighbors(ws: Workspace, options: argparse.Namespace) -> None:
    build.refresh_graph(ws)
    found = read.find_neighbors(ws, options.id, depth=options.depth, limit=options.limit)
    if options.json:
        output.as_json(found)
        return
    output.say(f"{found.entry.memory.id8}  {found.entry.project}  {found.entry.title}")
    if found.neighbors:
        headings = ["steps", "id", "edge", "score", "from", "project", "title"]
        output.table(headings, [_row(each) for each in found.neighbors])
    else:
        output.aside("No edge leads to it or away from it.")
    if found.behind:
        output.aside(BEHIND)


def _row(each: Neighbor) -> list[str]:
    edge = each.edge
    arrow = "-" if edge.kind in MUTUAL else "->" if edge.target == each.id else "<-"
    told = [f"{arrow} {edge.kind}", f"{edge.score:.2f}", edge.origin]
    return [str(each.steps), each.memory.id8, *told, each.project, each.title]


def _draw(ws: Workspace, options: argparse.Namespace) -> None:
    drawn = draw.draw(ws, options.file.expanduser(), project=options.project)
    if options.json:
        output.as_json(drawn)
        return
    told = f"{drawn.drawn:,} of {drawn.memories:,} memories, {drawn.edges:,} edges, {drawn.projects:,} projects"
    output.say(f"{told}: {drawn.file}")
    if drawn.drawn < drawn.memories:
        output.aside("The most linked of the largest projects are drawn; `--project` draws one alone.")


_WHAT: dict[str, tuple[str, Callable[[Workspace, argparse.Namespace], None]]] = {
    "rebuild": ("make all edges anew, from the notes' links and from what they mean", _rebuild),
    "audit": ("list what is out of order: orphans, dead links, hubs, stale edges, and what mends each", _audit),
    "stats": ("show the graph in numbers", _stats),
    "neighbors": ("show what is around a memory", _neighbors),
    "draw": ("draw the graph as a picture (SVG)", _draw),
}
