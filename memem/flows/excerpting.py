"""Of a long memory that is shown, the part that the prompt is about: what stands at its beginning may be about
something else."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from memem.core.errors import MememError
from memem.core.memory import Hit
from memem.flows.retrieve import cut
from memem.index.passages import key, passages
from memem.index.words import fold
from memem.workspace import Workspace


def focused(ws: Workspace, query: str, hits: Sequence[Hit], most: int) -> list[Hit]:
    """The hits; those whose statement is longer than `most` characters with the passage that answers best."""
    return [replace(hit, passage=_best(ws, query, hit)) if len(hit.body) > most else hit for hit in hits]


def _best(ws: Workspace, query: str, hit: Hit) -> str:
    """By its meaning, where that is known; else the one that has most of the words."""
    texts = passages(hit.memory)
    if hit.understood and hit.cosine is not None:
        with suppress(MememError):
            near = _nearest(ws, query, texts)
            if near:
                return _without_title(near, hit.title)
    counts = [sum(term in fold(text) for term in hit.terms) for text in texts]
    return _without_title(texts[counts.index(max(counts))], hit.title)


def _nearest(ws: Workspace, query: str, texts: Sequence[str]) -> str:
    asked = ws.ask(cut(query))  # what was looked for, whose vector is there
    answer = asked.wait(ws.settings.query_seconds) if asked else None
    if answer is None:
        return ""
    _, vector = answer
    named = {key(text): text for text in texts}
    with ws.vectors().reading() as view:
        slots = view.slots(list(named))
        return named[max(slots, key=lambda each: float(view.rows[slots[each]] @ vector))] if slots else ""


def _without_title(passage: str, title: str) -> str:
    return passage.removeprefix(" ".join(title.split()) + "\n")
