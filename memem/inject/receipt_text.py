"""Make receipts of decisions, and explain them to people."""

import math
from collections.abc import Iterable
from datetime import datetime, tzinfo

from memem.core.memory import Entry, Hit, Slice
from memem.safety.quote import one_line
from memem.state.receipts import FILE, SESSION_START, UNUSED, Receipt, ReceiptItem

TITLE_CHARACTERS = 80
MOST_TERMS = 12
MAX_WORDS_NAMED = 6
CLOSE, FAIRLY_CLOSE = 0.5, 0.3  # cosines: from the first on texts mostly mean the same, below the second they seldom do
_INDENT = "  "
_FIRST_SPACELESS = "\u0e00"  # from Thai on, Unicode has scripts without spaces, and hardly others
_WHOLE = 1e-9  # tolerance: 0.29 times 100 is a little less than 29


def slice_items(found: Slice) -> tuple[ReceiptItem, ...]:
    """Return the items a slice shows, for relevance or because they are pinned, and its runners-up."""
    pinned = (ReceiptItem(identity, pinned=True) for identity in found.pinned)
    return (
        *(_hit_item(hit, shown=True) for hit in found.hits),
        *pinned,
        *(_hit_item(hit, shown=False) for hit in found.runners_up),
    )


def entry_item(entry: Entry) -> ReceiptItem:
    return ReceiptItem(entry.id, one_line(entry.title, TITLE_CHARACTERS))


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


def explain(receipt: Receipt, zone: tzinfo | None) -> list[str]:
    """Explain a decision to a person, line by line: what was shown and why, what nearly was, or why nothing was."""
    lines = [_describe_decision(receipt, zone)]
    lines += [_INDENT + _describe_item(item, receipt) for item in receipt.shown if not item.pinned]
    if pinned := sum(item.pinned for item in receipt.shown):
        memories = "memory of the project was" if pinned == 1 else "memories of the project were"
        lines.append(f"{_INDENT}{pinned} pinned {memories} also shown.")
    if receipt.runners_up:
        lines.append("Nearly shown:" if receipt.shown else "Closest:")
        lines += [_INDENT + _describe_item(item, receipt) for item in receipt.runners_up]
    if receipt.line and any(item.confidence is not None for item in receipt.items):
        lines.append(f"A memory is shown when it is at least {receipt.line * 100:.4g} % likely to help.")
    if receipt.degraded:
        lines.append(f"Only words were compared, not meaning: {_end_sentence(receipt.degraded)}")
    return lines


def _describe_decision(receipt: Receipt, zone: tzinfo | None) -> str:
    moment = datetime.fromtimestamp(receipt.time, zone)
    when = f"On {moment:%Y-%m-%d} at {moment:%H:%M}"
    where = f" in project {receipt.project}" if receipt.project else ""
    if not receipt.shown:
        return f"{when}, memem showed nothing for a {receipt.event}{where}: {_end_sentence(receipt.reason)}"
    count = len(receipt.shown)
    given = f"{count} {'memory' if count == 1 else 'memories'} ({receipt.characters:,} characters)"
    if receipt.event == SESSION_START:
        return f"{when}, a session{where} started with {given}, before any prompt:"
    if receipt.event == FILE:
        return f"{when}, before a file{where} was opened, Claude was shown {given} about it:"
    return f"{when}, memem showed {given} for a {receipt.event}{where}:"


def _describe_item(item: ReceiptItem, receipt: Receipt) -> str:
    """Describe a memory: confidence, matches, and use."""
    sentences = [
        f"{_percent(item.confidence, receipt.line)} likely to help." if item.confidence is not None else "",
        f"Kept out: {_end_sentence(item.kept_out)}" if item.kept_out else "",
        _describe_match(item, receipt),
        _describe_use(item),
    ]
    details = " ".join(filter(None, sentences))
    return f"{item.title or 'A memory'} ({item.id8}){': ' if details else ''}{details}"


def _describe_match(item: ReceiptItem, receipt: Receipt) -> str:
    """Name the shared words, and the similarity in meaning."""
    source = "the prompt or with earlier turns" if receipt.followed else "the prompt"
    shared = f"shares {_list_words(_join_pairs(item.terms))} with {source}" if item.terms else ""
    near = "" if item.cosine is None else f"is {_name_similarity(item.cosine)} in meaning ({item.cosine:.2f})"
    reasons = f"{',' if receipt.followed else ''} and ".join(filter(None, (shared, near)))
    return f"It {reasons}." if reasons else ""


def _name_similarity(cosine: float) -> str:
    return "close" if cosine >= CLOSE else "fairly close" if cosine >= FAIRLY_CLOSE else "distant"


def _describe_use(item: ReceiptItem) -> str:
    if item.used == UNUSED:
        return "Nothing shows that it was used."
    return f"It was used: {_end_sentence(item.used)}" if item.used else ""


def _join_pairs(terms: Iterable[str]) -> list[str]:
    """Join the overlapping pairs of characters that the index has for scripts without spaces."""
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


def _list_words(words: list[str]) -> str:
    named = [f"“{word}”" for word in words[:MAX_WORDS_NAMED]]
    if more := len(words) - len(named):
        named.append(f"{more} more {'word' if more == 1 else 'words'}")
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _percent(share: float, line: float) -> str:
    """Round to the correct side of the threshold."""
    near = share * 100
    return f"{math.floor(near + _WHOLE) if share < line else max(round(near), math.ceil(line * 100 - _WHOLE))} %"


def _end_sentence(text: str) -> str:
    """End a text with exactly one full stop."""
    return f"{text.rstrip('. ')}."
