"""Find the words of a conversation that a model's quote copies, though it did not copy them exactly.

Markup, quotation marks, dashes, white space and case do not count; a slip of a letter, a filler word or words replaced by
an ellipsis may differ. Everything else has to be the same, in the same order: numbers, identifiers, negations and every
other word. `python -m bench quotes` measures it, and shows the curve from which the threshold is read.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from memem.core.conversation import HUMAN, Turn
from memem.mine.quote_tokens import CASED, DROPPABLE, EXACT, MARKER, WORDS, Tokens, read_tokens

MIN_SCORE = 0.85  # of a near match: the similarity of the folded texts
MIN_BYTES = 6  # of the words of a quote, unless it is a whole message of a person
MIN_NEAR_TOKENS = 3
MAX_NEAR_TOKENS = 400  # a longer quote has to be exact
MAX_PARTS = 8  # that ellipses leave of a quote
MAX_GAP_CHARS = 300  # that one ellipsis stands for: as much as a quote may have
MAX_PLACES = 30  # where equal words are looked at
TOKENS_PER_SLIP = 6
MIN_SLIP_CHARS = 5  # in shorter words one letter makes another word
MIN_CUT_CHARS = 200  # a quote of this length may end within a word
DENIAL_REACH = 3  # words between a negation and what it denies
ANCHORS = 3

_ELLIPSIS = re.compile(r"[\[(]\s*(?:…|\.{3,})\s*[\])]|…|\.{3,}")
_BEYOND_CYRILLIC = "\u0530"  # in other scripts one letter may be a word, such as a negation
_MARKUP, _CLOSERS = "*_`", {"(": ")", "[": "]", "“": "”", "‘": "’", "«": "»"}
_OPENERS = {closer: opener for opener, closer in _CLOSERS.items()}


@dataclass(frozen=True, slots=True)
class QuoteMatch:
    """The place of a quote in a turn."""

    turn: Turn
    start: int
    end: int
    exact: bool  # but for markup, marks, white space and case
    score: float
    is_repeated: bool  # some of it was printed by a tool before
    is_pasted: bool  # some of it was not typed

    @property
    def text(self) -> str:
        """The words as the turn has them."""
        return self.turn.text[self.start : self.end]

    @property
    def is_own_wording(self) -> bool:
        return not (self.is_repeated or self.is_pasted)


class _Place(NamedTuple):
    """A row of tokens that matches a quote."""

    start: int
    end: int
    score: float


def match_quote(turns: Sequence[Turn], quote: str, *, min_score: float = MIN_SCORE) -> QuoteMatch | None:
    """Return the best match: exact before near; a person's own words, then pasted ones, then the assistant's."""
    wanted = read_tokens(quote)
    is_long_enough = len(" ".join(wanted.keys).encode("utf-8", "replace")) >= MIN_BYTES
    if not is_long_enough:
        return _best(_match_whole(turn, wanted, quote) for turn in turns)
    exact = _best(_locate(turn, quote, _find_exact(read_tokens(turn.text), wanted), exact=True) for turn in turns)
    if exact:
        return exact
    parts = [part for part in map(read_tokens, _ELLIPSIS.split(quote)) if len(part)]
    if len(parts) <= 1:
        parts = [wanted]
    return _best(
        _locate(turn, quote, _find_parts(turn.text, parts, min_score), exact=False)
        for turn in turns
        if len(parts) <= MAX_PARTS
    )


def _best(matches: Iterable[QuoteMatch | None]) -> QuoteMatch | None:
    return min(filter(None, matches), key=_rank, default=None)


def _rank(match: QuoteMatch) -> tuple[bool, bool, bool, float]:
    return match.turn.role != HUMAN, not match.is_own_wording, match.is_repeated, -match.score


def _match_whole(turn: Turn, wanted: Tokens, quote: str) -> QuoteMatch | None:
    """A short approval proves something when it is the whole message of a person."""
    text = read_tokens(turn.text)
    is_same = text.keys == wanted.keys and _cases_match(text, 0, wanted) if wanted else turn.text.strip() == quote.strip()
    if turn.role != HUMAN or not is_same or not turn.text.strip():
        return None
    start = len(turn.text) - len(turn.text.lstrip())
    return _describe(turn, start, len(turn.text.rstrip()), exact=True, score=1.0)


def _locate(turn: Turn, quote: str, places: Iterable[_Place], *, exact: bool) -> QuoteMatch | None:
    """Return the best of the places in a turn."""
    text = read_tokens(turn.text)
    return _best(
        _describe(turn, *_widen(turn.text, text.starts[start], text.ends[end - 1], quote), exact=exact, score=score)
        for start, end, score in islice(places, MAX_PLACES)
    )


def _describe(turn: Turn, start: int, end: int, *, exact: bool, score: float) -> QuoteMatch:
    repeated, pasted = (
        any(first < end and start < last for first, last in _find_spans(turn.text, parts))
        for parts in (turn.repeats, turn.pasted)
    )
    return QuoteMatch(turn, start, end, exact, score, repeated, pasted)


@lru_cache(maxsize=256)
def _find_spans(text: str, parts: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Return every place of these parts, also where markup or case differ."""
    spans, tokens = set[tuple[int, int]](), read_tokens(text)
    for part in filter(None, parts):
        start = text.find(part)
        while start >= 0:
            spans.add((start, start + len(part)))
            start = text.find(part, start + len(part))
        wanted = read_tokens(part)
        for place in tokens.find(wanted.keys):
            spans.add((tokens.starts[place], tokens.ends[place + len(wanted) - 1]))
    return tuple(sorted(spans))


def _widen(text: str, start: int, end: int, quote: str) -> tuple[int, int]:
    """Take in the marks around the words that the quote has too, and markup that would be left open."""
    stripped = quote.strip()
    at = text.rfind(stripped, 0, start + len(stripped)) if stripped else -1
    if 0 <= at <= start and end <= at + len(stripped):
        return at, at + len(stripped)
    if stripped[-1:] and text[end : end + 1] == stripped[-1:] and not stripped[-1].isalnum():
        end += 1
    mark = text[start - 1 : start] if start else ""
    if mark and mark in _MARKUP:
        opened = len(text[:start].rstrip(mark))
        start = opened if text.count(text[opened:start], start, end) % 2 else start
    elif mark in _CLOSERS and text.count(_CLOSERS[mark], start, end) > text.count(mark, start, end):
        start -= 1
    mark = text[end : end + 1]
    if mark and mark in _MARKUP:
        closed = len(text) - len(text[end:].lstrip(mark))
        end = closed if text.count(text[end:closed], start, end) % 2 else end
    elif mark in _OPENERS and text.count(_OPENERS[mark], start, end) > text.count(mark, start, end):
        end += 1
    return start, end


# --- exact ----------------------------------------------------------------------------------------------------------


def _find_exact(text: Tokens, wanted: Tokens) -> Iterator[_Place]:
    """Yield the places that have the same tokens. Only what the quote lacks may be left out."""
    seen = set[_Place]()
    for words in (wanted, wanted.without_markers):
        for read in (text, text.without_droppable):
            for start in islice(read.find(words.keys), MAX_PLACES):
                end = start + len(words)
                place = _Place(start, end, 1.0)
                if read is not text:
                    place = _Place(text.kept[start], text.kept[end - 1] + 1, 1.0)
                if place not in seen and _cases_match(read, start, words) and not _is_denied(text, place.start, place.end):
                    seen.add(place)
                    yield place


def _cases_match(text: Tokens, start: int, wanted: Tokens) -> bool:
    """Whether identifiers and units are written alike, unless the quote is all in small or in capital letters."""
    forms = text.forms[start : start + len(wanted)]
    if forms == wanted.forms:
        return True
    return all(
        not (text.flags[start + place] | wanted.flags[place]) & CASED or _is_same_case(form, wanted, place)
        for place, form in enumerate(forms)
    )


def _is_same_case(form: str, wanted: Tokens, place: int) -> bool:
    other = wanted.forms[place]
    if form == other or (place == 0 and form[1:] == other[1:]):
        return True
    whole = "".join(wanted.forms)
    return whole in (whole.lower(), whole.upper())


def _is_denied(text: Tokens, start: int, end: int) -> bool:
    """Whether a negation in the same clause turns the words into their opposite."""
    for place in range(start, max(start - DENIAL_REACH, 0), -1):
        before = text.keys[place - 1]
        if text.new_clause[place] or before in WORDS["clause_starts"]:
            break
        if before in WORDS["negations"] or before == "!":
            return True
    return end < len(text) and not text.new_clause[end] and text.keys[end] in WORDS["negations_behind"]


# --- near -----------------------------------------------------------------------------------------------------------


def _find_parts(source: str, parts: Sequence[Tokens], min_score: float) -> Iterator[_Place]:
    """Yield the places of a quote, or of its parts in order, with nothing left out that changes their meaning."""
    text = read_tokens(source)
    found = list[list[_Place]]()
    for part in parts:
        places = list(islice(_find_exact(text, part) if len(parts) > 1 else (), MAX_PLACES))
        places = places or _find_near(text, part, min_score)
        if not places:
            return
        found.append(sorted(places))
    for first in found[0]:
        end, score = first.end, first.score
        for places in found[1:]:
            following = next((place for place in places if _can_follow(text, end, place.start)), None)
            if following is None:
                break
            end, score = following.end, min(score, following.score)
        else:
            yield _Place(first.start, end, score)


def _can_follow(text: Tokens, end: int, start: int) -> bool:
    if start < end or text.starts[start] - text.ends[end - 1] > MAX_GAP_CHARS:
        return False
    left_out = text.keys[end:start]
    return not any(key in WORDS["negations"] or key in WORDS["limits"] or key in ("!", "!=", "~~") for key in left_out)


def _find_near(text: Tokens, quote: Tokens, min_score: float) -> list[_Place]:
    """Return the places that differ in slips and fillers only, and not in too many of them."""
    quote = quote.without_markers
    if not MIN_NEAR_TOKENS <= len(quote) <= MAX_NEAR_TOKENS:
        return []
    most = 1 + len(quote) // TOKENS_PER_SLIP
    missing = sum(key not in text.positions for key in quote.keys)
    if missing > most:
        return []
    from rapidfuzz import fuzz

    known = sorted((len(text.positions[key]), place) for place, key in enumerate(quote.keys) if key in text.positions)
    windows = dict[tuple[int, int], None]()
    for _, place in known[: ANCHORS + most]:
        for at in text.positions[quote.keys[place]][:MAX_PLACES]:
            windows[max(at - place - most, 0), min(at - place + most + 1, len(text))] = None
    wanted, best = " ".join(quote.keys), dict[tuple[int, int], _Place]()
    for low, high in windows:
        aligned = _align(text, quote, _reach_back(text, low), high, most)
        if aligned is None or aligned in best or _is_denied(text, *aligned):
            continue
        start, end = aligned
        words = " ".join(text.keys[place] for place in range(start, end) if not text.flags[place] & (DROPPABLE | MARKER))
        score = fuzz.ratio(wanted, words) / 100
        if score >= min_score:
            best[aligned] = _Place(start, end, score)
    return list(best.values())


def _reach_back(text: Tokens, low: int) -> int:
    """Move the start of a window back over as many tokens as a quote may have left out."""
    for _ in range(MAX_PARTS):
        if low and text.flags[low - 1] & (DROPPABLE | MARKER):
            low -= 1
    return low


def _align(text: Tokens, quote: Tokens, low: int, high: int, most: int) -> tuple[int, int] | None:
    """Return the row of tokens, beginning in a window, that has the quote's tokens with the fewest differences."""
    # Each end of a possible row so far: its differences, start and slips. They are few: most tokens have to be the same.
    rows: dict[int, tuple[int, int, int]] = {start: (0, start, 0) for start in range(low, high)}
    for place in range(len(quote)):
        reached: list[tuple[int, tuple[int, int, int]]] = []
        for end, (cost, start, slips) in rows.items():
            if _is_filler(quote, place):
                reached.append((end, (cost + 1, start, slips)))
            at = end
            while at < len(text) and cost <= most:
                if (slip := _compare(text, at, quote, place)) is not None:
                    reached.append((at + 1, (cost + slip, start, slips + slip)))
                if at == start or (skipped := _cost_of_skipping(text, at)) is None:
                    break
                at, cost = at + 1, cost + skipped
        rows = {}
        for end, row in reached:
            if row[0] <= most and (end not in rows or (row[0], -row[1]) < (rows[end][0], -rows[end][1])):
                rows[end] = row
        if not rows:
            return None
    ends = [(cost, -start, end, slips) for end, (cost, start, slips) in rows.items() if end > start]
    if not ends:
        return None
    cost, start, end, slips = min(ends)
    return None if _is_reordered(text, -start, end, quote, cost + slips) else (-start, end)


def _is_reordered(text: Tokens, start: int, end: int, quote: Tokens, differences: int) -> bool:
    """Whether a filler was left out in one place and added in another, as in shuffled words."""
    kept = (text.keys[place] for place in range(start, end) if not text.flags[place] & (DROPPABLE | MARKER))
    said, quoted = Counter(kept), Counter(quote.keys)
    return (said - quoted).total() + (quoted - said).total() < differences


def _cost_of_skipping(text: Tokens, place: int) -> int | None:
    """What it costs that a quote lacks a token; None if it may not."""
    if text.flags[place] & (DROPPABLE | MARKER):
        return 0
    is_doubled = text.keys[place] == text.keys[place - 1] and text.keys[place].isalpha()
    return 1 if _is_filler(text, place) or (is_doubled and text.keys[place] not in WORDS["negations"]) else None


def _is_filler(tokens: Tokens, place: int) -> bool:
    """Whether a word says nothing: `just` does in `not just`, and `a` in `a few`."""
    if tokens.keys[place] not in WORDS["fillers"] or tokens.flags[place] & EXACT:
        return False
    before = tokens.keys[place - 1] if place else ""
    after = tokens.keys[place + 1] if place + 1 < len(tokens) else ""
    return before not in WORDS["negations"] and after not in WORDS["measures"] and after not in WORDS["negations"]


def _compare(text: Tokens, at: int, quote: Tokens, place: int) -> int | None:
    """Return 0 for equal tokens, 1 for a slip, None for different ones."""
    key, other = text.keys[at], quote.keys[place]
    if key == other:
        is_cased = (text.flags[at] | quote.flags[place]) & CASED
        return 0 if not is_cased or _is_same_case(text.forms[at], quote, place) else None
    if (text.flags[at] | quote.flags[place]) & EXACT or not _is_slip(key, other):
        return None
    # A word that is written more than once, and another one that is there too, are both meant.
    return None if other in text.positions and len(text.positions[key]) > 1 else 1


def _is_slip(word: str, other: str) -> bool:
    """Whether one of two words is the other with one letter wrong, and neither has a meaning that must not change."""
    if abs(len(word) - len(other)) > 1 or max(len(word), len(other)) < MIN_SLIP_CHARS:
        return False
    if word[0] != other[0] and sorted(word) != sorted(other):
        return False  # a prefix may deny: `sync` and `async`
    if not (word.isalpha() and other.isalpha()) or max(word + other) >= _BEYOND_CYRILLIC:
        return False
    if any(each in WORDS["negations"] or each in WORDS["directions"] for each in (word, other)):
        return False
    if word in WORDS["words"] and other in WORDS["words"]:
        return False
    from rapidfuzz.distance import OSA

    return OSA.distance(word, other, score_cutoff=1) <= 1
