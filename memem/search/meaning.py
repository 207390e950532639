"""The half of a search that is not words: which notes are near the query, or in plain words why that is not known."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memem.core.errors import Busy, HomeError, IndexUnusable, MememError, ModelError
from memem.search.encoders.query_vector import EncodedQuery
from memem.search.passages import passage_key, split_passages
from memem.search.query import Scope

if TYPE_CHECKING:
    from memem.workspace import Workspace


MAX_INLINE_PASSAGES = 32
"""So many passages are encoded on the spot by whoever needs them: about half a second's work."""
MAX_PROMPT_PASSAGES = 4
"""So many where somebody waits who will not for long: the engine has another thread that sees to the rest."""
AGAIN_SECONDS = 60
"""A background run that gave no sign of life for so long is gone."""
MAX_MISSING_SHARE = 0.05
"""With a larger part of the passages still without a vector, comparing the others would be unfair: words decide."""


@dataclass(frozen=True, slots=True)
class MeaningMatches:
    """Rows with the cosine of their best passage; or none, and why, when there should have been some."""

    cosines: dict[int, float] = field(default_factory=dict)
    multilingual: bool = False
    degraded: str = ""


def find_by_meaning(
    ws: Workspace, asked: EncodedQuery | None, scope: Scope, limit: int, also: Collection[int]
) -> MeaningMatches:
    """The nearest notes in the scope, and the rows in `also`, however near they are."""
    if asked is None:
        return MeaningMatches()
    try:
        seconds = ws.settings.query_seconds
        how_far = _how_far(ws) if asked.is_loaded(seconds) else ""  # while the vector is being computed
        answer = asked.wait(seconds)
        if answer is None:
            return MeaningMatches(degraded=f"the query's vector was not ready within {seconds:g} s")
        if how_far:
            return MeaningMatches(degraded=how_far)
        from memem.search.nearest import find_closest

        encoder, vector = answer
        with ws.vectors().reading() as view:
            return MeaningMatches(
                find_closest(ws.index.passages, view, vector, scope, limit, also), encoder.multilingual
            )
    except (ModelError, IndexUnusable, HomeError, Busy) as problem:
        return MeaningMatches(degraded=str(problem))


def has_enough_vectors(missing: int, total: int) -> bool:
    """Whether so many passages have a vector that meaning may have its part."""
    return missing <= max(MAX_INLINE_PASSAGES, MAX_MISSING_SHARE * total)


def _how_far(ws: Workspace) -> str:
    """Compute the vectors of a few passages, have those of many computed; tells how far it is, if not far enough."""
    missing = update_pending(ws)
    if 0 < missing <= MAX_INLINE_PASSAGES:
        if missing <= MAX_PROMPT_PASSAGES or math.isinf(ws.wanted_until):
            encode_some(ws, missing)
    elif missing:
        begun = encode_in_background(ws)
        total = ws.index.passages.count()
        if not has_enough_vectors(missing, total):
            rest = "the rest is being computed" if begun else "`memem index encode` computes the rest"
            return f"{total - missing:,} of {total:,} passages have a vector so far; {rest}"
    return ""


def encode_in_background(ws: Workspace) -> bool:
    """Have the rest computed by a process of its own, unless one is at it; False when that cannot be."""
    if not ws.settings.background:
        return False
    log = ws.home.encode_log
    try:
        if log.exists() and abs(ws.clock().timestamp() - log.stat().st_mtime) < AGAIN_SECONDS:
            return True
        from memem.core import background

        background.start_memem(background.ENCODE, ws.environ_for_children(), log)
    except OSError:
        return False
    return True


def update_pending(ws: Workspace) -> int:
    """Compare what waits for a vector with the vectors there are; returns how many passages have none."""
    store, waiting = ws.vectors(), ws.index.passages
    identity = store.id
    if waiting.store_id() != identity:
        waiting.reset_pending(identity)
    ws.index.set_meta("encoded_by", _chosen(ws))
    ws.index.set_meta("encoded_in", store.folder.name)
    unknown = waiting.unchecked()
    if unknown:
        with store.reading() as view:
            known = view.slots(unknown)
        waiting.mark(identity, known, [each for each in unknown if each not in known])
    return waiting.count_pending()


def is_pending_current(ws: Workspace) -> bool:
    """Whether what waits for a vector is known for the encoder in use, without loading it."""
    return ws.index.meta("encoded_by") == _chosen(ws)


def last_vectors_folder(ws: Workspace) -> str:
    """The name of the folder of vectors that this was looked up in; empty when it is not known."""
    return ws.index.meta("encoded_in") if is_pending_current(ws) else ""


def _chosen(ws: Workspace) -> str:
    return f"{ws.settings.encoder} {ws.settings.embed_model}"


def encode_some(ws: Workspace, most: int) -> None:
    """Compute the vectors of some notes' passages, about `most`."""
    store = ws.vectors()
    identity = store.id
    done: set[bytes] = set()
    missing: dict[bytes, str] = {}
    with store.reading() as view:
        for memory in ws.index.memories_without_vectors(most):
            texts = {passage_key(text): text for text in split_passages(memory)}
            known = view.slots(list(texts))
            done |= texts.keys()
            missing |= {each: text for each, text in texts.items() if each not in known}
            if len(missing) >= most:
                break
    if missing:
        try:
            vectors = ws.encoder().passages(list(missing.values()))
        except MememError:
            raise
        except Exception as problem:
            raise ModelError(f"The encoder failed ({type(problem).__name__}: {problem}).") from problem
        store.add(list(missing), vectors)
    ws.index.passages.mark(identity, done)
