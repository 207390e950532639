"""Render tool answers for a model within a budget. All remembered text is quoted; only our own is outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memem.core import dates
from memem.core.memory import DEPENDS_ON, QUARANTINED, SUPERSEDES, SUPPORTS, Entry, Memory
from memem.inject.pack import fit_budget
from memem.safety import quote

if TYPE_CHECKING:
    from memem.search.graph.read import Neighborhood, Timeline
    from memem.search.transcripts.sessions import TurnHit
    from memem.upkeep.graph_audit import Audit


ANSWER_CHARACTERS = 9_000  # Claude Code truncates longer answers, and the context is not ours to fill
WAITS = "(held back until the user has reviewed it, with /memem-review in Claude Code)"
UNNAMED = "(file name withheld: it reads like an instruction)"
STATEMENT_CHARACTERS = 700
BRIEF_CHARACTERS = 240
TURN_CHARACTERS = 600
NEIGHBOUR_CHARACTERS = 160
_BACKWARD = {SUPPORTS: "supported by", DEPENDS_ON: "needed by", SUPERSEDES: "superseded by"}
_LAST_WORDS = 600  # kept back for what is said besides: that something is left out, why keywords answered alone


def render_memories(entries: Sequence[Entry], advice: str) -> tuple[str, int]:
    """Render memories as a numbered list; also return how many fitted. `advice` says how to see the others."""
    return _join_fitting([_render_item(f"{number}. ", entry) for number, entry in enumerate(entries, 1)], advice)


def render_whole(entries: Sequence[Entry]) -> tuple[str, int]:
    """Render memories with all their properties; also return how many fitted."""
    room = ANSWER_CHARACTERS - _LAST_WORDS
    return _join_fitting([_render_whole(entry, room) for entry in entries], "ask for fewer ids at once")


def render_timeline(found: Timeline) -> str:
    parts = {
        "Replaced (most recent first)": found.predecessors,
        "Replaced by (oldest first)": found.successors,
        "Related": found.related,
        "Contradicts": found.contradicts,
        "Changed just before it in the same project": found.earlier,
        "Changed just after it in the same project": found.later,
    }
    texts = [_render_item("", found.entry, held=True)]
    for heading, entries in parts.items():
        items = [_render_item("- ", entry, BRIEF_CHARACTERS, held=True) for entry in entries]
        texts += [f"{heading}:\n{items[0]}", *items[1:]] if items else []
    return _join_fitting(texts, "memory_get shows each of them")[0]


def render_neighborhood(found: Neighborhood) -> tuple[str, int]:
    """Render a memory and its neighbours, each with the edge that leads there; also return how many fitted."""
    texts = [_render_item("", found.entry)]
    for neighbor in found.neighbors:
        edge, step = neighbor.edge, "" if neighbor.steps == 1 else f", {neighbor.steps} steps away"
        onward = edge.kind.replace("_", " ")
        name = onward if edge.target == neighbor.id else _BACKWARD.get(edge.kind, onward)
        mark = f"- {name} ({edge.score:.2f}, by {edge.origin}{step}): "
        texts.append(_render_item(mark, neighbor, BRIEF_CHARACTERS))
    if not found.neighbors:
        texts.append("(It has no edges.)")
    text, count = _join_fitting(texts, "memory_get shows each of them")
    return text, min(count, 1 + len(found.neighbors))


def render_audit(audit: Audit, most: int) -> str:
    """Render statistics of the graph, and up to `most` flaws of each kind."""
    stats = audit.stats
    memories, largest = (quote.count_noun(number, "memory", "memories") for number in (stats.memories, stats.largest))
    clusters = f"{quote.count_noun(stats.clusters, 'cluster')} (the largest has {largest})"
    shape = f"{quote.count_noun(stats.orphans, 'orphan')}, {clusters}"
    edges = f"{quote.count_noun(stats.edges, 'edge')} between {memories}, found by {quote.one_line(stats.by)}"
    kinds = f" Edges by kind: {_counts(stats.kinds)}." if stats.kinds else ""
    texts = [
        f"{edges}.{kinds} {shape}; {stats.mean:g} edges per memory on average, at most {stats.most:,}.",
        *(["(Notes have changed since; memory_graph_rebuild updates the graph.)"] if stats.behind else []),
        f"Problems: {_counts(audit.counts)}.",
    ]
    for problem in audit.counts:
        some = [flaw for flaw in audit.flaws if flaw.problem == problem]
        for flaw in some[:most]:
            head = f"{problem} {quote.one_line(flaw.id[:8])} **{quote.escape_title(flaw.title)}**"
            texts.append(f"- {head} {quote.one_line(flaw.detail)}. {quote.one_line(flaw.fix)}")
        texts += [f"({len(some) - most:,} more.)"] if len(some) > most else []
    return _join_fitting(texts, "use a smaller limit")[0]


def render_turns(found: Sequence[TurnHit]) -> str:
    """Render turns of sessions as a numbered list, each with its neighbours."""
    return _join_fitting([render_turn(number, turn) for number, turn in enumerate(found, 1)], "use a smaller limit")[0]


def name_memory(memory: Memory) -> str:
    memory = hide_quarantined(memory)
    return f"{quote.one_line(memory.id8)} · {quote.one_line(memory.project)} · **{quote.escape_title(memory.title)}**"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "nothing"


def _join_fitting(texts: list[str], advice: str) -> tuple[str, int]:
    """Join as many texts as fit, always the first; also return their number."""
    kept = fit_budget(texts, ANSWER_CHARACTERS - _LAST_WORDS) or texts[:1]
    left = len(texts) - len(kept)
    return "\n".join([*kept, *([f"({left} more; {advice}.)"] if left else [])]), len(kept)


def _render_item(mark: str, entry: Entry, most: int = STATEMENT_CHARACTERS, *, held: bool = False) -> str:
    """Render a memory as a list item, with its validity if `held`; the title only if it adds something."""
    memory = hide_quarantined(entry.memory)
    status = memory.status if memory.status != "active" else ""
    labels = [memory.id8, memory.project, memory.kind, dates.get_said_day(memory)]
    labels += [status, dates.describe_period(memory)] if held else [dates.describe_status(memory)]
    head = mark + " · ".join(quote.one_line(label) for label in labels if label)
    if not memory.body.startswith(memory.title.rstrip("….。")):
        head += f" · **{quote.escape_title(memory.title)}**"
    return f"{head}\n{quote.quote_block(memory.body, most)}"


def hide_quarantined(memory: Memory) -> Memory:
    """Replace the content of a quarantined memory: only its owner may see it."""
    if memory.status != QUARANTINED:
        return memory
    said = dates.get_said_day(memory)  # a date and nothing else, whatever the property says
    shown: dict[str, Any] = {"status": memory.status, "created": memory.created, "valid_from": said}
    return Memory(memory.id, WAITS, WAITS, memory.project, **shown)


def _render_whole(entry: Entry, room: int) -> str:
    from memem.safety.gate import recorded_line  # a file's name may say anything

    memory = hide_quarantined(entry.memory)
    session = f", session {memory.source_session}" if memory.source_session else ""
    facts = {
        "layer": str(memory.layer),
        "importance": str(memory.importance),
        "status": memory.status,
        "stale because": memory.stale_because if memory.status == "stale" else "",
        "valid from": memory.valid_from,
        "valid to": memory.valid_to,
        "tags": ", ".join(memory.tags),
        "paths": ", ".join(memory.paths),
        "based on": ", ".join(memory.anchors),
        "supersedes": memory.supersedes,
        "superseded by": memory.superseded_by,
        "related": ", ".join(memory.related),
        "contradicts": ", ".join(memory.contradicts),
        "from": f"{memory.source_type}, author: {memory.author}{session}",
        "note": (recorded_line(f"memem/{entry.path}") or UNNAMED) if memory.status != QUARANTINED else "",
    }
    labels = [memory.id8, memory.project, memory.kind, dates.get_said_day(memory)]
    head = " · ".join(quote.one_line(label) for label in labels if label)
    lines = [f"{head} · **{quote.escape_title(memory.title)}**"]
    lines += [f"   {fact}: {quote.one_line(value)}" for fact, value in facts.items() if value]
    evidence = ["   evidence:", quote.quote_block(memory.evidence, TURN_CHARACTERS)] if memory.evidence else []
    room -= sum(len(each) + 1 for each in (*lines, *evidence))
    return "\n".join([*lines, _quote_fitting(memory.body, room), *evidence])


def _quote_fitting(text: str, room: int) -> str:
    """Quote as much of a text as fits; many short lines take more room than a few long ones."""
    most = room
    quoted = quote.quote_block(text, most)
    while len(quoted) > room and most > 1:
        most = most * room // len(quoted)
        quoted = quote.quote_block(text, most)
    return quoted


def render_turn(number: int, hit: TurnHit) -> str:
    labels = (hit.time[:16].replace("T", " "), hit.project, f"session {hit.session}")
    head = f"{number}. " + " · ".join(quote.one_line(label) for label in labels if label)
    around = (
        (", before", hit.before, NEIGHBOUR_CHARACTERS),
        ("", hit, TURN_CHARACTERS),
        (", after", hit.after, NEIGHBOUR_CHARACTERS),
    )
    parts = [head]
    for place, turn, most in around:
        if turn:
            said = quote.quote_block(turn.text, most)
            if turn.withheld:
                time = quote.one_line(turn.time[:19])
                said = f"   (withheld: it {turn.withheld}; the user can read it in that session, at {time})"
            parts += [f"   {quote.one_line(turn.role)}{place}:", said]
    return "\n".join(parts)
