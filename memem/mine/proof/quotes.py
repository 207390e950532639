"""Find the words of a conversation that a model's quote copies, exactly or with small errors.

Markup, quotation marks, dashes, white space and case do not count. A typo of one letter, a filler word, and words
replaced by an ellipsis are allowed. Everything else has to be the same, in the same order: numbers, identifiers,
negations and every other word. `python -m bench quotes` measures it, and prints the curve of the threshold.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from memem.core.conversation import ASSISTANT, HUMAN, Turn
from memem.inject.prompt_kinds import is_approval
from memem.mine.proof.quote_places import MAX_PLACES, QuotePlace, find_cut, find_exact, find_parts, is_same_case
from memem.mine.proof.quote_tokens import Tokens, read_tokens

MIN_SCORE = 0.85  # of a near match: the similarity of the folded texts
MIN_BYTES = 6  # of the words of a quote, unless it is a whole message of a person
MAX_PARTS = 8  # into which ellipses divide a quote
MIN_CUT_CHARS = 200  # a quote of this length may end within a word

_ELLIPSIS = re.compile(r"[\[(]\s*(?:…|\.{3,})\s*[\])]|…|\.{3,}")
_MARKUP, _CLOSERS = "*_`", {"(": ")", "[": "]", "“": "”", "‘": "’", "«": "»"}
_OPENERS = {closer: opener for opener, closer in _CLOSERS.items()}


@dataclass(frozen=True, slots=True)
class QuoteMatch:
    """The place of a quote in a turn."""

    turn: Turn
    start: int
    end: int
    exact: bool  # except for markup, punctuation, white space and case
    score: float
    is_repeated: bool  # some of it was printed by a tool before
    is_pasted: bool  # some of it was not typed
    is_approved: bool = False  # Claude's words, which the person approves or chooses with this turn

    @property
    def text(self) -> str:
        """The words as the turn or its proposal has them."""
        return (self.turn.proposal if self.is_approved else self.turn.text)[self.start : self.end]

    @property
    def is_choice(self) -> bool:
        """Whether the words are Claude's that the person chose or approved, or only approve something."""
        return self.is_approved or (bool(self.turn.proposal) and (self.is_pasted or is_approval(self.text)))

    @property
    def is_own_wording(self) -> bool:
        return not (self.is_repeated or self.is_pasted)


def match_quote(turns: Sequence[Turn], quote: str, *, min_score: float = MIN_SCORE) -> QuoteMatch | None:
    """Return the best match: a person's words before those that they approved, and these before Claude's others.

    An approval that a person gave to several proposals tells none of them: it is no match.
    """
    spoken = _match(turns, quote, min_score)
    if spoken and spoken.turn.role == HUMAN:
        return None if _is_ambiguous(turns, spoken) else spoken
    # Claude's words, as the model knows them from the turn before.
    proposals = [_make_proposal_turn(turn) for turn in turns if turn.proposal]
    approved = _match(proposals, quote, min_score)
    if approved is None or (spoken and spoken.exact and not approved.exact):
        return spoken
    answer = next(turn for turn in turns if turn.uuid == approved.turn.uuid)
    return replace(approved, turn=answer, is_approved=True)


def _is_ambiguous(turns: Sequence[Turn], match: QuoteMatch) -> bool:
    if not is_approval(match.text):
        return False
    words = read_tokens(match.text).keys
    same = (turn for turn in turns if turn.role == HUMAN and read_tokens(turn.text).keys == words)
    return len({turn.proposal for turn in same}) > 1


def _make_proposal_turn(turn: Turn) -> Turn:
    return replace(turn, role=ASSISTANT, text=turn.proposal, pasted=())


def _match(turns: Sequence[Turn], quote: str, min_score: float) -> QuoteMatch | None:
    """Return the best match in the texts of turns: exact before near; own words, then pasted ones, then repeated."""
    wanted = read_tokens(quote)
    is_long_enough = len(" ".join(wanted.keys).encode("utf-8", "replace")) >= MIN_BYTES
    if not is_long_enough:
        return _choose_best(_match_whole(turn, wanted, quote) for turn in turns)
    find = find_cut if len(quote) >= MIN_CUT_CHARS and quote[-1].isalnum() else find_exact
    exact = _choose_best(_locate(turn, quote, find(read_tokens(turn.text), wanted), exact=True) for turn in turns)
    if exact:
        return exact
    parts = [part for part in map(read_tokens, _ELLIPSIS.split(quote)) if len(part)]
    if len(parts) <= 1:
        parts = [wanted]
    return _choose_best(
        _locate(turn, quote, find_parts(turn.text, parts, min_score), exact=False)
        for turn in turns
        if len(parts) <= MAX_PARTS
    )


def _choose_best(matches: Iterable[QuoteMatch | None]) -> QuoteMatch | None:
    return min(filter(None, matches), key=_rank, default=None)


def _rank(match: QuoteMatch) -> tuple[bool, bool, bool, float]:
    return match.turn.role != HUMAN, not match.is_own_wording, match.is_repeated, -match.score


def _match_whole(turn: Turn, wanted: Tokens, quote: str) -> QuoteMatch | None:
    """Match a quote that is a person's whole message: only then does a short approval prove something."""
    text = read_tokens(turn.text)
    is_same = (
        text.keys == wanted.keys and is_same_case(text, 0, wanted) if wanted else turn.text.strip() == quote.strip()
    )
    if turn.role != HUMAN or not is_same or not turn.text.strip():
        return None
    start = len(turn.text) - len(turn.text.lstrip())
    return _describe(turn, start, len(turn.text.rstrip()), exact=True, score=1.0)


def _locate(turn: Turn, quote: str, places: Iterable[QuotePlace], *, exact: bool) -> QuoteMatch | None:
    """Return the best of the places in a turn."""
    text = read_tokens(turn.text)
    return _choose_best(
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
    """Include punctuation around the words if the quote has it, and markup that would be left open."""
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
