"""Record every decision to show something or nothing, explain it, and remember what each session was shown."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.dates import iso
from memem.core.memory import ID8, Entry, Hit, Slice
from memem.safety.quote import count_noun, join_words, one_line
from memem.state.contexts import Context
from memem.state.receipts import FILE, PROMPT, SESSION_START, UNUSED, Receipt, ReceiptItem
from memem.state.tables import UNUSABLE

if TYPE_CHECKING:
    from memem.workspace import Workspace


MOST_INJECTIONS = 20
KEY_BYTES = 32
TITLE_CHARACTERS = 80
MOST_TERMS = 12
MAX_WORDS_NAMED = 6
CLOSE, FAIRLY_CLOSE = 0.5, 0.3  # cosines: from the first on texts mostly mean the same, below the second they seldom do
_FIRST_SPACELESS = "\u0e00"  # from Thai on, Unicode has scripts without spaces, and hardly others
_WHOLE = 1e-9  # tolerance: 0.29 times 100 is a little less than 29


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
    threshold: float = 0.0,  # the least confidence of a shown memory
    followed: bool = False,  # earlier turns were part of the query
    context: Context | None = None,  # the session's counters in hybrid mode
) -> None:
    """Record what a prompt was given, or why nothing, and mark it as shown in its session."""
    if ws.ticks() > ws.wanted_until:
        return  # the hook has given up waiting
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
        items=slice_items(found),
        followed=followed,
    )
    _store(ws, receipt, found.ids if found.text else (), context)


def record_shown(ws: Workspace, entries: Sequence[Entry], *, event: str, session: str, project: str, text: str) -> None:
    """Record memories that were shown on another occasion than a prompt."""
    if entries and ws.ticks() <= ws.wanted_until:
        items = tuple(ReceiptItem(entry.id, one_line(entry.title, TITLE_CHARACTERS)) for entry in entries)
        _store(ws, Receipt(ws.clock().timestamp(), event, session, project, characters=len(text), items=items))


def slice_items(found: Slice) -> tuple[ReceiptItem, ...]:
    """Return the items a slice shows, for relevance or because they are pinned, and its runners-up."""
    return (
        *(_hit_item(hit, shown=True) for hit in found.hits),
        *(ReceiptItem(identity, pinned=True) for identity in found.pinned),
        *(_hit_item(hit, shown=False) for hit in found.runners_up),
    )


def _hit_item(hit: Hit, *, shown: bool) -> ReceiptItem:
    return ReceiptItem(
        id=hit.id,
        title=one_line(hit.title, TITLE_CHARACTERS),
        shown=shown,
        score=hit.score,
        confidence=hit.helps,
        cosine=hit.cosine if hit.understood else None,
        terms=hit.terms[:MOST_TERMS],
        kept_out="" if shown else hit.kept_out,
    )


def _store(ws: Workspace, receipt: Receipt, shown: Iterable[str] = (), context: Context | None = None) -> None:
    """Store a receipt if possible: a failure must not keep the slice from being shown."""
    with suppress(*UNUSABLE, OSError):
        ws.contexts.add_all(receipt, shown, context)
        # The mark comes last, so that a process that removes it has seen every receipt it stands for.
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

    data = f"{session}\0{harness.typed_text(prompt)}".encode("utf-8", "replace")
    return blake2b(data, digest_size=8, key=key).hexdigest()


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


def shown_id8s(ws: Workspace, session: str) -> frozenset[str]:
    """Return the short ids of all memories a session was shown, by its transcript, tools and hooks."""
    shown = ws.contexts.shown(session) if ws.home.contexts_file.exists() else []
    return ws.state.sessions.injected(session) | {identity[:ID8] for identity in shown}


def context_of(ws: Workspace, session: str) -> Context:
    with suppress(*UNUSABLE):
        return ws.contexts.get(session)
    return Context()


def injections(ws: Workspace, identity: str) -> tuple[Injection, ...]:
    """Return where a memory was shown, the latest first."""
    found: list[Injection] = []
    with suppress(*UNUSABLE):
        stored = ws.contexts.receipts.for_memory(identity, MOST_INJECTIONS) if ws.home.contexts_file.exists() else []
        for receipt in stored:
            item = next(item for item in receipt.shown if item.id == identity)
            time = iso(datetime.fromtimestamp(receipt.time, ws.clock().tzinfo))
            where = (receipt.event, receipt.session, receipt.project)
            found.append(Injection(time, *where, item.confidence, item.terms, item.used))
    return tuple(found)


def last_decision(ws: Workspace, session: str = "") -> InjectionDecision:
    """Return the last decision of a session, or of any if it has none."""
    receipt = None
    if ws.home.contexts_file.exists():
        kept = ws.contexts.receipts
        receipt = (kept.last(session) if session else None) or kept.last()
    if receipt is None:
        return InjectionDecision(
            None, ("There is nothing to explain yet: no Claude Code session has asked for memories.",)
        )
    words = explain(receipt, ws.clock().tzinfo)
    if session and receipt.session != session:
        words.insert(
            0, "memem has not been asked for memories in this session yet. The most recent answer in any session:"
        )
    return InjectionDecision(receipt, tuple(words))


def explain(receipt: Receipt, zone: tzinfo | None) -> list[str]:
    """Explain a decision to a person, line by line: what was shown and why, what nearly was, or why nothing was."""
    lines = [_describe_decision(receipt, zone)]
    lines += [f"  {_describe_item(item, receipt)}" for item in receipt.shown if not item.pinned]
    if pinned := sum(item.pinned for item in receipt.shown):
        memories = "memory of the project was" if pinned == 1 else "memories of the project were"
        lines.append(f"  {pinned} pinned {memories} also shown.")
    if receipt.runners_up:
        lines.append("Nearly shown:" if receipt.shown else "Closest:")
        lines += [f"  {_describe_item(item, receipt)}" for item in receipt.runners_up]
    if receipt.line and any(item.confidence is not None for item in receipt.items):
        lines.append(f"A memory is shown when it is at least {receipt.line * 100:.4g}% likely to help.")
    if receipt.degraded:
        lines.append(f"Only words were compared, not meaning: {_end_sentence(receipt.degraded)}")
    return lines


def _describe_decision(receipt: Receipt, zone: tzinfo | None) -> str:
    when = f"On {datetime.fromtimestamp(receipt.time, zone):%Y-%m-%d at %H:%M}"
    where = f" in project {receipt.project}" if receipt.project else ""
    if not receipt.shown:
        return f"{when}, memem showed nothing for a {receipt.event}{where}: {_end_sentence(receipt.reason)}"
    given = f"{count_noun(len(receipt.shown), 'memory', 'memories')} ({receipt.characters:,} characters)"
    if receipt.event == SESSION_START:
        return f"{when}, a session{where} started with {given}, before any prompt:"
    if receipt.event == FILE:
        return f"{when}, before a file{where} was opened, Claude was shown {given} about it:"
    return f"{when}, memem showed {given} for a {receipt.event}{where}:"


def _describe_item(item: ReceiptItem, receipt: Receipt) -> str:
    sentences = []
    if item.confidence is not None:
        sentences.append(f"{_percent(item.confidence, receipt.line)}% likely to help.")
    if item.kept_out:
        sentences.append(f"Kept out: {_end_sentence(item.kept_out)}")
    reasons = []
    if item.terms:
        source = "the prompt or with earlier turns" if receipt.followed else "the prompt"
        reasons.append(f"shares {_list_words(_join_pairs(item.terms))} with {source}")
    if item.cosine is not None:
        how = "close" if item.cosine >= CLOSE else "fairly close" if item.cosine >= FAIRLY_CLOSE else "distant"
        reasons.append(f"is {how} in meaning ({item.cosine:.2f})")
    if reasons:
        sentences.append(f"It {(', and ' if receipt.followed else ' and ').join(reasons)}.")
    if item.used:
        is_unused = item.used == UNUSED
        sentences.append("Nothing shows that it was used." if is_unused else f"It was used: {_end_sentence(item.used)}")
    details = f": {' '.join(sentences)}" if sentences else ""
    return f"{item.title or 'A memory'} ({item.id8}){details}"


def _join_pairs(terms: Iterable[str]) -> list[str]:
    """Join the overlapping pairs of characters that the index has for scripts without spaces."""
    words: list[str] = []
    for term in terms:
        is_pair = len(term) == 2 and min(term) >= _FIRST_SPACELESS
        last = words[-1] if words else ""
        if is_pair and len(last) > 1 and min(last) >= _FIRST_SPACELESS and last[-1] == term[0]:
            words[-1] += term[1]
        else:
            words.append(term)
    return words


def _list_words(words: list[str]) -> str:
    named = [f"“{word}”" for word in words[:MAX_WORDS_NAMED]]
    if more := len(words) - len(named):
        named.append(count_noun(more, "more word"))
    return join_words(named)


def _percent(share: float, threshold: float) -> int:
    """Round to the correct side of the threshold."""
    if share < threshold:
        return math.floor(share * 100 + _WHOLE)
    return max(round(share * 100), math.ceil(threshold * 100 - _WHOLE))


def _end_sentence(text: str) -> str:
    return f"{text.rstrip('. ')}."
