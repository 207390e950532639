"""Record every decision to show something or nothing, and what each session was shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.dates import iso
from memem.core.memory import ID8, Entry, Slice
from memem.inject import receipt_text
from memem.state.contexts import Context
from memem.state.receipts import PROMPT, Receipt
from memem.state.tables import UNUSABLE

if TYPE_CHECKING:
    from memem.workspace import Workspace


MOST_INJECTIONS = 20
KEY_BYTES = 32
NONE_YET = "No decision in this session yet; the latest of all sessions:"


@dataclass(frozen=True, slots=True)
class InjectionDecision:
    """The last decision and its explanation; `receipt` is None if there was none yet."""

    receipt: Receipt | None
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Injection:
    """An occasion on which a memory was shown."""

    time: str  # ISO 8601
    event: str
    session: str
    project: str
    confidence: float | None
    terms: tuple[str, ...]
    used: str


def record(
    ws: Workspace,
    found: Slice,
    *,
    prompt: str,
    event: str = PROMPT,
    threshold: float = 0.0,
    followed: bool = False,
    context: Context | None = None,
) -> None:
    """Record what a prompt was given, or why nothing, and mark it as shown in its session.

    `threshold` is the least confidence of a shown memory; `followed` says that earlier turns were part of the query;
    `context` has the session's counters in hybrid mode.
    """
    if ws.ticks() > ws.wanted_until:
        return  # nobody waits any more for what was found
    receipt = Receipt(
        time=ws.clock().timestamp(),
        event=event,
        session=found.session_id,
        project=found.project,
        prompt=_hash_prompt(ws, prompt, found.session_id),
        reason=found.reason,
        characters=len(found.text),
        line=threshold,
        degraded=found.degraded,
        items=receipt_text.slice_items(found),
        followed=followed,
    )
    _store(ws, receipt, found.ids if found.text else (), context)


def record_shown(ws: Workspace, entries: Sequence[Entry], *, event: str, session: str, project: str, text: str) -> None:
    """Record memories that were shown on another occasion than a prompt."""
    if entries and ws.ticks() <= ws.wanted_until:
        items = tuple(map(receipt_text.entry_item, entries))
        _store(ws, Receipt(ws.clock().timestamp(), event, session, project, characters=len(text), items=items))


def last_decision(ws: Workspace, session: str = "") -> InjectionDecision:
    """Return the last decision of a session, or of any if it has none."""
    receipt = None
    if ws.home.contexts_file.exists():
        kept = ws.contexts.receipts
        receipt = (kept.last(session) if session else None) or kept.last()
    if receipt is None:
        return InjectionDecision(None, ("There are no decisions yet: no Claude Code session has asked for memories.",))
    of_another = (NONE_YET,) if session and receipt.session != session else ()
    return InjectionDecision(receipt, (*of_another, *receipt_text.explain(receipt, ws.clock().tzinfo)))


def injections(ws: Workspace, identity: str) -> tuple[Injection, ...]:
    """Return where a memory was shown, the latest first."""
    if not ws.home.contexts_file.exists():
        return ()
    with suppress(*UNUSABLE):
        found = ws.contexts.receipts.for_memory(identity, MOST_INJECTIONS)
        return tuple(_injection(ws, receipt, identity) for receipt in found)
    return ()


def _injection(ws: Workspace, receipt: Receipt, identity: str) -> Injection:
    item = next(each for each in receipt.shown if each.id == identity)
    time = iso(datetime.fromtimestamp(receipt.time, ws.clock().tzinfo))
    return Injection(time, receipt.event, receipt.session, receipt.project, item.confidence, item.terms, item.used)


def _store(ws: Workspace, receipt: Receipt, shown: Iterable[str] = (), context: Context | None = None) -> None:
    """Store a receipt if possible: a failure must not keep the slice from being shown.

    The mark follows the receipt, so that a process that removes it has seen every receipt it stands for.
    """
    with suppress(*UNUSABLE, OSError):
        ws.contexts.add_all(receipt, shown, context)
        if receipt.to_judge and not ws.home.shown_unjudged.exists():
            ws.home.shown_unjudged.touch(files.PRIVATE_FILE)


def _hash_prompt(ws: Workspace, prompt: str, session: str) -> str:
    """Return a keyed hash that distinguishes the prompts of a session; empty without a key."""
    key = _load_key(ws)
    if not key:
        return ""
    from memem.transcript import harness

    try:
        from _blake2 import blake2b  # without OpenSSL, which takes longer to load than the whole receipt to write
    except ImportError:
        from hashlib import blake2b

    told = f"{session}\0{harness.typed_text(prompt)}".encode("utf-8", "replace")
    return blake2b(told, digest_size=8, key=key).hexdigest()


def _load_key(ws: Workspace) -> bytes:
    """Return this home's secret, created once; empty if that fails."""
    path = ws.home.prompt_key
    with suppress(OSError):
        key = path.read_bytes() if path.exists() else b""
        if len(key) != KEY_BYTES:
            files.make_private_folder(path.parent)
            files.write_atomic(path, os.urandom(KEY_BYTES), fsync=False, mode=files.PRIVATE_FILE)
            key = path.read_bytes()
        return key
    return b""


def note_shown(ws: Workspace, session: str, what: Iterable[str]) -> None:
    """Record that a session is shown these memories (by id) and files, unless the hook has given up waiting."""
    if session and ws.ticks() <= ws.wanted_until:
        with suppress(*UNUSABLE):
            ws.contexts.add(session, what, ws.clock().timestamp())


def shown_ids(ws: Workspace, session: str) -> frozenset[str]:
    """Return what is in a session's context: ids of memories, paths of files."""
    with suppress(*UNUSABLE):
        return frozenset(ws.contexts.shown(session))
    return frozenset()


def context_of(ws: Workspace, session: str) -> Context:
    """Return the counters of a session's last prompts."""
    with suppress(*UNUSABLE):
        return ws.contexts.get(session)
    return Context()


def shown_id8s(ws: Workspace, session: str) -> frozenset[str]:
    """Return the short ids of all memories a session was shown, by its transcript, tools and hooks."""
    told = ws.contexts.shown(session) if ws.home.contexts_file.exists() else []
    return ws.state.sessions.injected(session) | {each[:ID8] for each in told}
