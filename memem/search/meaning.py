"""Search by meaning: the notes closest to a query, or the reason why they cannot be found."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memem.core.errors import Busy, HomeError, IndexUnusable, MememError, ModelError
from memem.search.encoders.query_vector import EncodedQuery
from memem.search.passages import passage_key, split_passages
from memem.search.query import Scope
from memem.search.refresh import start_in_background

if TYPE_CHECKING:
    from memem.workspace import Workspace


MAX_INLINE_PASSAGES = 32  # encoded by a search itself: about half a second's work
MAX_PROMPT_PASSAGES = 4  # the same where the caller has a deadline; another thread of the engine encodes the rest
MAX_MISSING_SHARE = 0.05  # with more passages unencoded, comparing the others would be unfair: words decide


@dataclass(frozen=True, slots=True)
class MeaningMatches:
    """Rows with the cosine of their best passage; `degraded` says why there are none when there should be."""

    cosines: dict[int, float] = field(default_factory=dict)
    multilingual: bool = False
    degraded: str = ""


def find_by_meaning(
    ws: Workspace, query: EncodedQuery | None, scope: Scope, limit: int, also: Collection[int]
) -> MeaningMatches:
    if query is None:
        return MeaningMatches()
    seconds = ws.settings.query_seconds
    try:
        degraded = _encode_missing(ws) if query.is_loaded(seconds) else ""  # while the vector is being computed
        encoded = query.wait(seconds)
        if encoded is None:
            return MeaningMatches(degraded=f"the query's vector was not ready within {seconds:g} s")
        if degraded:
            return MeaningMatches(degraded=degraded)
        from memem.search.vectors import find_closest

        encoder, vector = encoded
        with ws.vectors().reading() as view:
            cosines = find_closest(ws.index.passages, view, vector, scope, limit, also)
            return MeaningMatches(cosines, encoder.multilingual)
    except (ModelError, IndexUnusable, HomeError, Busy) as problem:
        return MeaningMatches(degraded=str(problem))


def has_enough_vectors(missing: int, total: int) -> bool:
    return missing <= max(MAX_INLINE_PASSAGES, MAX_MISSING_SHARE * total)


def _encode_missing(ws: Workspace) -> str:
    """Encode a few missing passages, or start a process for many; return the progress if it is too little."""
    missing = update_pending(ws)
    if 0 < missing <= MAX_INLINE_PASSAGES:
        if missing <= MAX_PROMPT_PASSAGES or math.isinf(ws.wanted_until):
            encode_some(ws, missing)
    elif missing:
        is_started = encode_in_background(ws)
        total = ws.index.passages.count()
        if not has_enough_vectors(missing, total):
            rest = "the rest are being computed" if is_started else "`memem index encode` computes the rest"
            return f"{total - missing:,} of {total:,} passages have a vector so far; {rest}"
    return ""


def encode_in_background(ws: Workspace) -> bool:
    from memem.core.background import ENCODE

    return ws.settings.background and start_in_background(ws, ENCODE, ws.home.encode_log)


def update_pending(ws: Workspace) -> int:
    """Look up new passages in the vectors; return how many passages have none."""
    store, passages = ws.vectors(), ws.index.passages
    store_id = store.id
    if passages.store_id() != store_id:
        passages.reset_pending(store_id)
    ws.index.set_meta("encoded_by", _encoder_settings(ws))
    ws.index.set_meta("encoded_in", store.folder.name)
    unchecked = passages.unchecked()
    if unchecked:
        with store.reading() as view:
            present = view.slots(unchecked)
        passages.mark(store_id, present, [key for key in unchecked if key not in present])
    return passages.count_pending()


def is_pending_current(ws: Workspace) -> bool:
    """Tell, without loading the encoder, whether pending passages were looked up for it."""
    return ws.index.meta("encoded_by") == _encoder_settings(ws)


def _encoder_settings(ws: Workspace) -> str:
    return f"{ws.settings.encoder} {ws.settings.embed_model}"


def encode_some(ws: Workspace, limit: int) -> None:
    store = ws.vectors()
    store_id = store.id
    done: set[bytes] = set()
    missing: dict[bytes, str] = {}
    with store.reading() as view:
        for memory in ws.index.memories_without_vectors(limit):
            texts = {passage_key(text): text for text in split_passages(memory)}
            present = view.slots(list(texts))
            done |= texts.keys()
            missing |= {key: text for key, text in texts.items() if key not in present}
            if len(missing) >= limit:
                break
    if missing:
        try:
            vectors = ws.encoder().passages(list(missing.values()))
        except MememError:
            raise
        except Exception as problem:
            raise ModelError(f"The encoder failed ({type(problem).__name__}: {problem}).") from problem
        store.add(list(missing), vectors)
    ws.index.passages.mark(store_id, done)
