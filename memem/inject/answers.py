"""Answers as text for a model: memories and turns, quoted so that they cannot leave their place, within a budget.

What is shown is data. Every line of it stands under a quotation mark, as in a slice; what is ours stands outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memem.core import dates
from memem.core.memory import (
    CONTRADICTS,
    DEPENDS_ON,
    QUARANTINED,
    SAME_TOPIC,
    SUPERSEDES,
    SUPPORTS,
    Edge,
    Entry,
    Memory,
)
from memem.safety import quote

if TYPE_CHECKING:
    from memem.search.graph.read import Neighborhood
    from memem.search.timeline import Timeline
    from memem.search.transcripts.sessions import TurnContext, TurnHit
    from memem.upkeep.graph_audit import Audit


ANSWER_CHARACTERS = 9_000
"""Of all that is said at once: Claude Code shortens what is longer, and a context is not ours to fill."""
WAITS = "(held back until the user has reviewed it, with /memem-review in Claude Code)"
UNNAMED = "(a file whose name speaks to the model)"
UNTITLED = "(a title that reads like an instruction)"
STATEMENT_CHARACTERS = 700
GLANCE_CHARACTERS = 240
TURN_CHARACTERS = 600
BESIDE_CHARACTERS = 160
_ONWARD = {
    SAME_TOPIC: "same topic",
    CONTRADICTS: "contradicts",
    SUPPORTS: "supports",
    DEPENDS_ON: "depends on",
    SUPERSEDES: "supersedes",
}
_BACKWARD = {SUPPORTS: "supported by", DEPENDS_ON: "needed by", SUPERSEDES: "superseded by"}
_LAST_WORDS = 600  # kept back for what is said besides: that something is left out, why keywords answered alone


def title(text: str) -> str:
    """A title as a model may read it outside of a quotation."""
    from memem.safety.gate import recorded_line

    return recorded_line(text) or UNTITLED


def memories(entries: Sequence[Entry], advice: str) -> tuple[str, int]:
    """Memories as a numbered list, and how many there was room for; `advice` says how to see the others."""
    return _within([_item(f"{number}. ", entry) for number, entry in enumerate(entries, 1)], advice)


def whole(entries: Sequence[Entry]) -> tuple[str, int]:
    """Memories with everything known of them, and how many there was room for."""
    room = ANSWER_CHARACTERS - _LAST_WORDS
    return _within([_whole(entry, room) for entry in entries], "ask for fewer ids at once")


def time_line(found: Timeline) -> str:
    """A memory in its time."""
    parts = {
        "Replaced (the last first)": found.predecessors,
        "Replaced by (the next first)": found.successors,
        "Related": found.related,
        "Contradicts": found.contradicts,
        "Changed just before in its project": found.earlier,
        "Changed just after in its project": found.later,
    }
    texts = [_item("", found.entry, held=True)]
    for heading, entries in parts.items():
        items = [_item("- ", entry, GLANCE_CHARACTERS, held=True) for entry in entries]
        texts += [f"{heading}:\n{items[0]}", *items[1:]] if items else []
    return _within(texts, "memory_get shows each of them")[0]


def neighborhood(found: Neighborhood) -> tuple[str, int]:
    """A memory and what is around it, each with what leads there; and how many of them all there was room for."""
    texts = [_item("", found.entry)]
    for each in found.neighbors:
        step = "" if each.steps == 1 else f", {each.steps} steps away"
        mark = f"- {_leading(each.edge, each.id)} ({each.edge.score:.2f}, by {each.edge.origin}{step}): "
        texts.append(_item(mark, each, GLANCE_CHARACTERS))
    if not found.neighbors:
        texts.append("(No edge leads to it or away from it.)")
    text, count = _within(texts, "memory_get shows each of them")
    return text, min(count, 1 + len(found.neighbors))


def audited(audit: Audit, most: int) -> str:
    """The graph in numbers, and up to so many of each kind of what is wrong with it."""
    stats = audit.stats
    shape = f"{stats.orphans:,} orphans, {stats.clusters:,} clusters, the largest of {stats.largest:,}"
    made = f"{stats.edges:,} edges between {stats.memories:,} memories, found by {line(stats.by)}"
    texts = [
        f"{made}: {_counts(stats.kinds)}. {shape}; {stats.mean:g} edges for each, at most {stats.most:,}.",
        *(["(Notes changed since; memory_graph_rebuild makes it anew.)"] if stats.behind else []),
        f"Out of order: {_counts(audit.counts)}.",
    ]
    for problem in audit.counts:
        some = [flaw for flaw in audit.flaws if flaw.problem == problem]
        texts += [
            f"- {problem} {line(each.id[:8])} **{quote.bold(each.title)}** {line(each.detail)}. {line(each.fix)}"
            for each in some[:most]
        ]
        texts += [f"({len(some) - most:,} more.)"] if len(some) > most else []
    return _within(texts, "ask with a smaller limit")[0]


def turns(found: Sequence[TurnHit]) -> str:
    """Turns of sessions as a numbered list, each with what was said around it."""
    texts = [turn(number, said) for number, said in enumerate(found, 1)]
    return _within(texts, "ask with a smaller limit")[0]


def name(memory: Memory) -> str:
    """A memory in a line."""
    memory = shown(memory)
    return f"{quote.one_line(memory.id8)} · {quote.one_line(memory.project)} · **{quote.bold(memory.title)}**"


def line(text: str, most: int = 200) -> str:
    """Any text as one harmless line."""
    return quote.one_line(text, most)


def _leading(edge: Edge, there: str) -> str:
    """What an edge is, seen from the memory that it leads on from."""
    return _ONWARD[edge.kind] if edge.target == there else _BACKWARD.get(edge.kind, _ONWARD[edge.kind])


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "nothing"


def _within(texts: list[str], advice: str) -> tuple[str, int]:
    """As many as there is room for, from the first on, which is always there; and their number."""
    room = ANSWER_CHARACTERS - _LAST_WORDS
    kept: list[str] = []
    for text in texts:
        room -= len(text) + 1
        if room < 0 and kept:
            break
        kept.append(text)
    left = len(texts) - len(kept)
    return "\n".join([*kept, *([f"({left} more; {advice}.)"] if left else [])]), len(kept)


def _item(mark: str, entry: Entry, most: int = STATEMENT_CHARACTERS, *, held: bool = False) -> str:
    """A memory as an item of a list, with from when until when it was `held` true. A title that the statement begins
    with is not said twice."""
    memory = shown(entry.memory)
    status = memory.status if memory.status != "active" else ""
    labels = [memory.id8, memory.project, memory.kind, _day(memory)]
    labels += [status, dates.period(memory)] if held else [dates.remark(memory)]
    head = mark + " · ".join(quote.one_line(label) for label in labels if label)
    if not memory.body.startswith(memory.title.rstrip("….。")):
        head += f" · **{quote.bold(memory.title)}**"
    return f"{head}\n{quote.quoted(memory.body, most)}"


def shown(memory: Memory) -> Memory:
    """Of one that waits for a person, that it does: nobody else is shown what it says."""
    if memory.status != QUARANTINED:
        return memory
    return Memory(memory.id, WAITS, WAITS, memory.project, status=memory.status, created=memory.created)


def _whole(entry: Entry, room: int) -> str:
    from memem.safety.gate import recorded_line  # a file's name may say anything

    memory = shown(entry.memory)
    facts = {
        "layer": str(memory.layer),
        "importance": str(memory.importance),
        "status": memory.status,
        "stale because": memory.stale_because if memory.status == "stale" else "",
        "valid from": memory.valid_from,
        "valid to": memory.valid_to,
        "tags": ", ".join(memory.tags),
        "paths": ", ".join(memory.paths),
        "stands on": ", ".join(memory.anchors),
        "supersedes": memory.supersedes,
        "superseded by": memory.superseded_by,
        "related": ", ".join(memory.related),
        "contradicts": ", ".join(memory.contradicts),
        "from": _origin(memory),
        "note": (recorded_line(f"memem/{entry.path}") or UNNAMED) if memory.status != QUARANTINED else "",
    }
    labels = [memory.id8, memory.project, memory.kind, _day(memory)]
    head = " · ".join(quote.one_line(label) for label in labels if label)
    lines = [f"{head} · **{quote.bold(memory.title)}**"]
    lines += [f"   {fact}: {quote.one_line(value)}" for fact, value in facts.items() if value]
    evidence = ["   evidence:", quote.quoted(memory.evidence, TURN_CHARACTERS)] if memory.evidence else []
    room -= sum(len(each) + 1 for each in (*lines, *evidence))
    return "\n".join([*lines, _fitting(memory.body, room), *evidence])


def _fitting(text: str, room: int) -> str:
    """As much of a text, quoted, as there is room for: short lines take more of it than long ones."""
    most = room
    quoted = quote.quoted(text, most)
    while len(quoted) > room and most > 1:
        most = most * room // len(quoted)
        quoted = quote.quoted(text, most)
    return quoted


def turn(number: int, said: TurnHit) -> str:
    """A turn of a session, with what was said around it."""
    labels = (said.time[:16].replace("T", " "), said.project, f"session {said.session}")
    head = f"{number}. " + " · ".join(quote.one_line(label) for label in labels if label)
    parts = [
        head,
        *_beside(said.before),
        f"   {quote.one_line(said.role)}:",
        quote.quoted(said.text, TURN_CHARACTERS),
        *_beside(said.after),
    ]
    return "\n".join(parts)


def _beside(turn: TurnContext | None) -> list[str]:
    if turn is None:
        return []
    return [f"   {quote.one_line(turn.role)}, beside it:", quote.quoted(turn.text, BESIDE_CHARACTERS)]


def _day(memory: Memory) -> str:
    return (memory.updated or memory.created)[:10]


def _origin(memory: Memory) -> str:
    session = f", session {memory.source_session}" if memory.source_session else ""
    return f"{memory.source_type}, written by {memory.author}{session}"
