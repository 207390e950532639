"""The half of a search that is not words: which notes are near the query, or in plain words why that is not known."""

from collections.abc import Collection
from dataclasses import replace

from memem.core.errors import Busy, HomeError, IndexUnusable, ModelError
from memem.core.query import Near, Scope
from memem.index.asking import Asked
from memem.index.passages import key, passages
from memem.workspace import Workspace

AT_ONCE = 32
"""So many passages are encoded on the spot by whoever needs them: about half a second's work."""
AGAIN_SECONDS = 60
MOST_MISSING = 0.05
"""With a larger part of the passages still without a vector, comparing the others would be unfair: words decide."""


def near(
    ws: Workspace, asked: Asked | None, scope: Scope, limit: int, also: Collection[int]
) -> tuple[Near | None, str]:
    """The nearest notes, and the cosines of the rows in `also`; or None and the reason, empty when nobody asked."""
    if asked is None:
        return None, ""
    try:
        answer = asked.wait(ws.settings.query_seconds)
        if answer is None:
            return None, f"the query's vector was not ready within {ws.settings.query_seconds:g} s"
        missing = catch_up(ws)
        total = ws.index.passages.count() if missing else 0
        begun = missing > AT_ONCE and begin_in_background(ws)
        if not suffice(missing, total):
            rest = "the rest is being computed" if begun else "`memem encode` computes the rest"
            return None, f"{total - missing:,} of {total:,} passages have a vector so far; {rest}"
        from memem.index.nearest import nearest

        encoder, vector = answer
        with ws.vectors().reading() as view:
            found = nearest(ws.index.passages, view, vector, scope, limit, also)
        return replace(found, multilingual=encoder.multilingual), ""
    except (ModelError, IndexUnusable, HomeError, Busy) as problem:
        return None, str(problem)


def suffice(missing: int, total: int) -> bool:
    """Whether so many passages have a vector that meaning may have its part."""
    return missing <= max(AT_ONCE, MOST_MISSING * total)


def catch_up(ws: Workspace) -> int:
    """See which passages have no vector, and compute those of a few; returns how many are left."""
    missing = settle(ws)
    if 0 < missing <= AT_ONCE and encode_some(ws, missing):
        missing = ws.index.passages.pending()
    return missing


def begin_in_background(ws: Workspace) -> bool:
    """Have the rest computed by a process of its own, unless one was started just now; False when that cannot be."""
    if not ws.settings.background:
        return False
    log = ws.home.encode_log
    try:
        if log.exists() and abs(ws.clock().timestamp() - log.stat().st_mtime) < AGAIN_SECONDS:
            return True
        from memem.jobs import detach

        detach.start(["encode", "--background"], ws.environ_for_children(), log)
    except OSError:
        return False
    return True


def settle(ws: Workspace) -> int:
    """Compare what waits for a vector with the vectors there are; returns how many passages have none."""
    store, waiting = ws.vectors(), ws.index.passages
    if ws.index.meta("encoded_for") != store.id:
        waiting.begin()
        ws.index.set_meta("encoded_for", store.id)
    ws.index.set_meta("encoded_by", _chosen(ws))
    unknown = waiting.unknown()
    if unknown:
        with store.reading() as view:
            known = view.slots(unknown)
        waiting.settle(known, [each for each in unknown if each not in known])
    return waiting.pending()


def is_settled(ws: Workspace) -> bool:
    """Whether what waits for a vector is known for the encoder in use, without loading it."""
    return ws.index.meta("encoded_by") == _chosen(ws)


def _chosen(ws: Workspace) -> str:
    return f"{ws.settings.encoder} {ws.settings.embed_model}"


def encode_some(ws: Workspace, most: int) -> int:
    """Compute the vectors of some notes' passages, about `most`; returns how many passages have one now."""
    store = ws.vectors()
    done: set[bytes] = set()
    missing: dict[bytes, str] = {}
    with store.reading() as view:
        for memory in ws.index.waiting(most):
            texts = {key(text): text for text in passages(memory)}
            known = view.slots(list(texts))
            done |= texts.keys()
            missing |= {each: text for each, text in texts.items() if each not in known}
            if len(missing) >= most:
                break
    if missing:
        store.add(list(missing), ws.encoder().passages(list(missing.values())))
    ws.index.passages.settle(done)
    return len(done)
