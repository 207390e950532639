"""Find the places in a text that have the words of a quote, exactly or with typos and fillers."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from memem.mine.proof.quote_tokens import CASED, DROPPABLE, EXACT, MARKER, WORDS, Tokens, read_tokens

MIN_NEAR_TOKENS = 3
MAX_NEAR_TOKENS = 150  # a longer quote has to be exact
MAX_GAP_CHARS = 300  # that one ellipsis stands for: as much as a quote may have
MAX_PLACES = 30  # where equal words are looked at
TOKENS_PER_SLIP, MAX_SLIPS = 6, 6
MIN_SLIP_CHARS = 5  # in shorter words one letter makes another word
DENIAL_REACH = 3  # words between a negation and what it denies
ANCHORS, ANCHOR_PLACES = 8, 8  # rare words of a quote by which a near match is found, and how often each
MAX_REACH = 8  # tokens before a near match that a quote may leave out
_BEYOND_CYRILLIC = "\u0530"  # in other scripts one letter may be a word, such as a negation


class QuotePlace(NamedTuple):
    """A row of tokens that matches a quote."""

    start: int
    end: int
    score: float


# --- exact ----------------------------------------------------------------------------------------------------------


def find_exact(text: Tokens, wanted: Tokens) -> Iterator[QuotePlace]:
    """Yield the places that have the same tokens. Droppable tokens may be missing from the quote."""
    seen = set[QuotePlace]()
    for words in (wanted, wanted.without_markers):
        for tokens in (text, text.without_droppable):
            for start in islice(tokens.find(words.keys), MAX_PLACES):
                end = start + len(words)
                place = QuotePlace(start, end, 1.0)
                if tokens is not text:
                    place = QuotePlace(text.kept[start], text.kept[end - 1] + 1, 1.0)
                if (
                    place not in seen
                    and is_same_case(tokens, start, words)
                    and not _is_denied(text, place.start, place.end)
                ):
                    seen.add(place)
                    yield place


def find_cut(text: Tokens, wanted: Tokens) -> Iterator[QuotePlace]:
    """Yield the places of a long quote, whose last word may be cut."""
    yield from find_exact(text, wanted)
    cut, last = wanted.pick(range(len(wanted) - 1)), wanted.keys[-1]
    for start, end, score in find_exact(text, cut):
        if end < len(text) and text.keys[end].startswith(last) and text.keys[end] not in WORDS["negations"]:
            yield QuotePlace(start, end + 1, score)


def is_same_case(text: Tokens, start: int, wanted: Tokens) -> bool:
    """Whether identifiers and units are written alike, unless the quote is all in small or in capital letters."""
    forms = text.forms[start : start + len(wanted)]
    if forms == wanted.forms:
        return True
    return all(
        not (text.flags[start + place] | wanted.flags[place]) & CASED or _is_form_alike(form, wanted, place)
        for place, form in enumerate(forms)
    )


def _is_form_alike(form: str, wanted: Tokens, place: int) -> bool:
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


def find_parts(source: str, parts: Sequence[Tokens], min_score: float) -> Iterator[QuotePlace]:
    """Yield the places of a quote, or of its parts in order, unless the words between them change the meaning."""
    text = read_tokens(source)
    found = list[list[QuotePlace]]()
    for part in parts:
        places = list(islice(find_exact(text, part) if len(parts) > 1 else (), MAX_PLACES))
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
            yield QuotePlace(first.start, end, score)


def _can_follow(text: Tokens, end: int, start: int) -> bool:
    if start < end or text.starts[start] - text.ends[end - 1] > MAX_GAP_CHARS:
        return False
    left_out = text.keys[end:start]
    return not any(key in WORDS["negations"] or key in WORDS["limits"] or key in ("!", "!=", "~~") for key in left_out)


def _find_near(text: Tokens, quote: Tokens, min_score: float) -> list[QuotePlace]:
    """Return the places that differ in slips and fillers only, and not in too many of them."""
    quote = quote.without_markers
    if not MIN_NEAR_TOKENS <= len(quote) <= MAX_NEAR_TOKENS:
        return []
    most = min(1 + len(quote) // TOKENS_PER_SLIP, MAX_SLIPS)
    missing = sum(key not in text.positions for key in quote.keys)
    if missing > most:
        return []
    from rapidfuzz import fuzz

    known = sorted((len(text.positions[key]), place) for place, key in enumerate(quote.keys) if key in text.positions)
    windows = dict[tuple[int, int], None]()
    for _, place in known[:ANCHORS]:
        for at in text.positions[quote.keys[place]][:ANCHOR_PLACES]:
            windows[max(at - place - most, 0), min(at - place + most + 1, len(text))] = None
    wanted, best = " ".join(quote.keys), dict[tuple[int, int], QuotePlace]()
    for low, high in windows:
        aligned = _align(text, quote, _reach_back(text, low), high, most)
        if aligned is None or aligned in best or _is_denied(text, *aligned):
            continue
        start, end = aligned
        words = " ".join(
            text.keys[place] for place in range(start, end) if not text.flags[place] & (DROPPABLE | MARKER)
        )
        score = fuzz.ratio(wanted, words) / 100
        if score >= min_score:
            best[aligned] = QuotePlace(start, end, score)
    return list(best.values())


def _reach_back(text: Tokens, low: int) -> int:
    """Move the start of a window back over as many tokens as a quote may have left out."""
    for _ in range(MAX_REACH):
        if low and text.flags[low - 1] & (DROPPABLE | MARKER):
            low -= 1
    return low


class _Row(NamedTuple):
    """A row of tokens that has the beginning of a quote."""

    cost: int  # slips and fillers
    start: int
    lacking: tuple[str, ...] = ()  # fillers that the quote leaves out
    added: tuple[str, ...] = ()  # fillers that only the quote has

    def is_better(self, other: "_Row") -> bool:
        return (self.cost, -self.start) < (other.cost, -other.start)


def _align(text: Tokens, quote: Tokens, low: int, high: int, most: int) -> tuple[int, int] | None:
    """Return the row of tokens, beginning in a window, that has the quote's tokens with the fewest differences."""
    rows = {
        start: _Row(0, start) for start in range(low, high)
    }  # by their end; few, since most tokens must be the same
    for place, key in enumerate(quote.keys):
        reached: list[tuple[int, _Row]] = []
        for end, so_far in rows.items():
            at, row = end, so_far
            if _is_filler(quote, place):
                reached.append((end, row._replace(cost=row.cost + 1, added=(*row.added, key))))
            while at < len(text) and row.cost <= most:
                if (slip := _compare(text, at, quote, place)) is not None:
                    reached.append((at + 1, row._replace(cost=row.cost + slip)))
                if at == row.start or (skipped := _compute_skip_cost(text, at)) is None:
                    break
                lacking = (*row.lacking, text.keys[at]) if skipped else row.lacking
                at, row = at + 1, row._replace(cost=row.cost + skipped, lacking=lacking)
        rows = {}
        for end, row in reached:
            if row.cost <= most and (end not in rows or row.is_better(rows[end])):
                rows[end] = row
        if not rows:
            return None
    ends = [(row.cost, -row.start, end, row) for end, row in rows.items() if end > row.start]
    if not ends:
        return None
    _, _, end, row = min(ends)
    # A filler that moved, even to just outside the row, is a sign of shuffled words.
    neighbours = {*_list_fillers(text, range(row.start - 1, -1, -1)), *_list_fillers(text, range(end, len(text)))}
    return None if not neighbours.union(row.lacking).isdisjoint(row.added) else (row.start, end)


def _list_fillers(text: Tokens, places: Iterable[int]) -> list[str]:
    return [text.keys[place] for place in takewhile(lambda place: text.keys[place] in WORDS["fillers"], places)]


def _compute_skip_cost(text: Tokens, place: int) -> int | None:
    """Return the cost of a token that the quote lacks; None if the quote may not lack it."""
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
        return 0 if not is_cased or _is_form_alike(text.forms[at], quote, place) else None
    if (text.flags[at] | quote.flags[place]) & EXACT or not _is_slip(key, other):
        return None
    # A word that the text uses more than once, and a similar one that it uses too, are both intended.
    return None if other in text.positions and len(text.positions[key]) > 1 else 1


def _is_slip(word: str, other: str) -> bool:
    """Whether one of two words is the other with one letter wrong, and neither has a meaning that must not change."""
    if abs(len(word) - len(other)) > 1 or max(len(word), len(other)) < MIN_SLIP_CHARS:
        return False
    if word[0] != other[0] and sorted(word) != sorted(other):
        return False  # a prefix may deny: `sync` and `async`
    if not (word.isalpha() and other.isalpha()) or max(word + other) >= _BEYOND_CYRILLIC:
        return False
    if word in WORDS["negations"] or other in WORDS["negations"]:
        return False
    if all(each in WORDS["words"] or each in WORDS["directions"] for each in (word, other)):
        return False  # both are words
    from rapidfuzz.distance import OSA

    return OSA.distance(word, other, score_cutoff=1) <= 1
