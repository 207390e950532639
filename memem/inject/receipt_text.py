"""Receipts: made of what was decided, and told in words to whoever asks why."""

import math
from collections.abc import Iterable
from datetime import datetime, tzinfo

from memem.core.memory import Entry, Hit, Slice
from memem.safety.quote import one_line
from memem.state.receipts import FILE, SESSION_START, UNUSED, Receipt, ReceiptItem

TITLE_CHARACTERS = 80
MOST_TERMS = 12
MOST_WORDS_TOLD = 6
NEAR, HALF_NEAR = 0.5, 0.3
"""What a cosine is called: over the first, texts mostly say the same; under the second they seldom do."""
_INDENT = "  "
_FIRST_SPACELESS = "\u0e00"
"""From Thai on, Unicode has the scripts without spaces, and hardly others."""
_WHOLE = 1e-9
"""How little a number may lack to a whole one: 0.29 times 100 is a little less than 29."""


def slice_items(found: Slice) -> tuple[ReceiptItem, ...]:
    """What a slice shows, by its relevance and by being pinned, and what it nearly showed."""
    pinned = (ReceiptItem(identity, pinned=True) for identity in found.pinned)
    return (
        *(_of_hit(hit, shown=True) for hit in found.hits),
        *pinned,
        *(_of_hit(hit, shown=False) for hit in found.runners_up),
    )


def entry_item(entry: Entry) -> ReceiptItem:
    """A memory that was shown and had no rivals."""
    return ReceiptItem(entry.id, one_line(entry.title, TITLE_CHARACTERS))


def _of_hit(hit: Hit, *, shown: bool) -> ReceiptItem:
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


def explain(receipt: Receipt, zone: tzinfo | None) -> list[str]:
    """A decision for a person, a line each: what came in and why, what nearly did, or why nothing was said."""
    lines = [_decided(receipt, zone)]
    lines += [_INDENT + _told(item, receipt) for item in receipt.shown if not item.pinned]
    if pinned := sum(item.pinned for item in receipt.shown):
        came = "memory of the project came" if pinned == 1 else "memories of the project came"
        lines.append(f"{_INDENT}{pinned} pinned {came} along.")
    if receipt.runners_up:
        lines.append("What nearly came in:" if receipt.shown else "What came nearest:")
        lines += [_INDENT + _told(item, receipt) for item in receipt.runners_up]
    if receipt.line and any(item.confidence is not None for item in receipt.items):
        lines.append(f"A memory comes in when it is at least {receipt.line * 100:.4g} % likely to help.")
    if receipt.degraded:
        lines.append(f"Words alone were compared, not meaning: {_ended(receipt.degraded)}")
    return lines


def _decided(receipt: Receipt, zone: tzinfo | None) -> str:
    """The first line: when, what for, and how much was said or why nothing."""
    when = _when(receipt.time, zone)
    where = f" in project {receipt.project}" if receipt.project else ""
    if not receipt.shown:
        return f"{when}, a {receipt.event}{where} was given nothing: {_ended(receipt.reason)}"
    count = len(receipt.shown)
    given = f"{count} {'memory' if count == 1 else 'memories'} ({receipt.characters:,} characters)"
    told = {
        SESSION_START: f"a session{where} began and was told {given}, whatever would be asked:",
        FILE: f"before a file{where} was opened, Claude was shown {given} about it:",
    }
    return f"{when}, {told.get(receipt.event, f'a {receipt.event}{where} was given {given}:')}"


def _when(seconds: float, zone: tzinfo | None) -> str:
    moment = datetime.fromtimestamp(seconds, zone)
    return f"On {moment:%Y-%m-%d} at {moment:%H:%M}"


def _told(item: ReceiptItem, receipt: Receipt) -> str:
    """A memory in a few sentences: how sure, by what, and what came of it."""
    said = [_sure(item, receipt), _kept_out(item), _found_by(item, receipt), _use(item)]
    return f"{item.title or 'A memory'} ({item.id8}){': ' if any(said) else ''}{' '.join(filter(None, said))}"


def _sure(item: ReceiptItem, receipt: Receipt) -> str:
    return "" if item.confidence is None else f"{_percent(item.confidence, receipt.line)} likely to help."


def _kept_out(item: ReceiptItem) -> str:
    """Why a memory was not shown; of an old receipt nobody can tell."""
    return f"Kept out: {_ended(item.kept_out)}" if item.kept_out else ""


def _found_by(item: ReceiptItem, receipt: Receipt) -> str:
    """Through which words, and how near in meaning, where 1 would be the same."""
    asked = "the prompt, or with what was asked or said before" if receipt.followed else "the prompt"
    shared = f"shares {_listed(_joined(item.terms))} with {asked}" if item.terms else ""
    near = "" if item.cosine is None else f"is {_nearness(item.cosine)} in meaning ({item.cosine:.2f})"
    reasons = f"{',' if receipt.followed else ''} and ".join(filter(None, (shared, near)))
    return f"It {reasons}." if reasons else ""


def _nearness(cosine: float) -> str:
    return "near" if cosine >= NEAR else "half near" if cosine >= HALF_NEAR else "far"


def _use(item: ReceiptItem) -> str:
    if item.used == UNUSED:
        return "Nothing shows that it was used."
    return f"It was used: {_ended(item.used)}" if item.used else ""


def _joined(terms: Iterable[str]) -> list[str]:
    """Words as they were written: in scripts without spaces the index knows pairs of characters, which overlap."""
    words: list[str] = []
    for term in terms:
        if words and _is_pair(term) and _is_spaceless(words[-1]) and words[-1][-1] == term[0]:
            words[-1] += term[1]
        else:
            words.append(term)
    return words


def _is_pair(term: str) -> bool:
    return len(term) == 2 and _is_spaceless(term)


def _is_spaceless(word: str) -> bool:
    return len(word) > 1 and min(word) >= _FIRST_SPACELESS


def _listed(words: list[str]) -> str:
    named = [f"“{word}”" for word in words[:MOST_WORDS_TOLD]]
    if more := len(words) - len(named):
        named.append(f"{more} more {'word' if more == 1 else 'words'}")
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _percent(share: float, line: float) -> str:
    """On the right side of the line: what does not reach it is rounded down."""
    near = share * 100
    return f"{math.floor(near + _WHOLE) if share < line else max(round(near), math.ceil(line * 100 - _WHOLE))} %"


def _ended(text: str) -> str:
    """Words that may end with a full stop, with one."""
    return f"{text.rstrip('. ')}."
