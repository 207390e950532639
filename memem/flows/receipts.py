"""Every decision to show something, or nothing, is written down, and told to whoever asks why."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from memem.core import files
from memem.core.clock import iso
from memem.core.errors import Busy, HomeError, StateUnusable
from memem.core.memory import Entry, Slice
from memem.core.receipt import PROMPT, Receipt
from memem.recall import receipts
from memem.workspace import Workspace

MOST_INJECTIONS = 20
_LONGEST_KEY = 64
"""In bytes: so much of a session's name goes into the hash of its prompts."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The last decision, and the same in words; no receipt when there was none yet."""

    receipt: Receipt | None
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Injection:
    """Where a memory was shown: when, on what occasion, how sure that was, and how it was used."""

    time: str  # ISO 8601
    event: str
    session: str
    project: str
    confidence: float | None
    terms: tuple[str, ...]
    used: str


def record(ws: Workspace, found: Slice, *, prompt: str, event: str = PROMPT, line: float = 0.0) -> None:
    """Write down what a prompt was given, or why nothing; `line` is the least confidence asked of a memory."""
    if ws.ticks() > ws.wanted_until:
        return  # nobody waits any more for what was found
    receipt = Receipt(
        time=ws.clock().timestamp(),
        event=event,
        session=found.session_id,
        project=found.project,
        prompt=_hashed(prompt, found.session_id),
        reason=found.reason,
        characters=len(found.text),
        line=line,
        degraded=found.degraded,
        items=receipts.of_slice(found),
    )
    _keep(ws, receipt)


def record_shown(ws: Workspace, entries: Sequence[Entry], *, event: str, session: str, project: str, text: str) -> None:
    """Write down what was shown on another occasion than a prompt."""
    if entries and ws.ticks() <= ws.wanted_until:
        items = tuple(map(receipts.of_entry, entries))
        _keep(ws, Receipt(ws.clock().timestamp(), event, session, project, characters=len(text), items=items))


def last(ws: Workspace, session: str = "") -> Decision:
    """The last decision of a session, or of all when that one has none, told in words."""
    receipt = None
    if ws.home.contexts_file.exists():
        kept = ws.contexts.receipts
        receipt = (kept.last(session) if session else None) or kept.last()
    if receipt is None:
        return Decision(None, ("Nothing was decided yet: no session of Claude Code has asked.",))
    return Decision(receipt, tuple(receipts.in_words(receipt, ws.clock().tzinfo)))


def injections(ws: Workspace, identity: str) -> tuple[Injection, ...]:
    """Where a memory was shown, the last time first; nothing where that is not known."""
    if not ws.home.contexts_file.exists():
        return ()
    with suppress(StateUnusable):
        found = ws.contexts.receipts.of_memory(identity, MOST_INJECTIONS)
        return tuple(_injection(ws, receipt, identity) for receipt in found)
    return ()


def _injection(ws: Workspace, receipt: Receipt, identity: str) -> Injection:
    item = next(each for each in receipt.shown if each.id == identity)
    time = iso(datetime.fromtimestamp(receipt.time, ws.clock().tzinfo))
    return Injection(time, receipt.event, receipt.session, receipt.project, item.confidence, item.terms, item.used)


def _keep(ws: Workspace, receipt: Receipt) -> None:
    """As far as that can be done: nothing that was found is held back because it cannot be written down.

    The mark comes after the receipt, so that whoever takes it away has seen all that it stands for.
    """
    with suppress(StateUnusable, HomeError, Busy, OSError):
        ws.contexts.receipts.add(receipt)
        if receipt.to_judge and not ws.home.shown_unjudged.exists():
            ws.home.shown_unjudged.touch(files.PRIVATE_FILE)


def _hashed(prompt: str, session: str) -> str:
    from memem.transcript import harness

    try:
        from _blake2 import blake2b  # without OpenSSL, which takes longer to load than the whole receipt to write
    except ImportError:
        from hashlib import blake2b

    key = session.encode("utf-8", "replace")[:_LONGEST_KEY]
    return blake2b(harness.said(prompt).encode("utf-8", "replace"), digest_size=8, key=key).hexdigest()
