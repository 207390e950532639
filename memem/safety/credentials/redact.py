"""Replace credentials in text with a mark, so that the sentence stays useful: `DB_PASSWORD=[redacted: password]`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from memem.safety.credentials.formats import FormatRule, load_gitleaks, load_rules
from memem.safety.credentials.names import find_named
from memem.safety.folding import fold

_MARK = re.compile(r"\[redacted: ([a-z0-9 ]{2,40})\]")


@dataclass(frozen=True, slots=True)
class Redaction:
    """The place of a secret in a text, and its kind in plain words."""

    kind: str
    start: int
    end: int


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace each secret with `[redacted: <kind>]`; return the text and the kinds, in order."""
    pieces: list[str] = []
    position = 0
    spans = find(text)
    for span in spans:
        pieces += [text[position : span.start], f"[redacted: {span.kind}]"]
        position = span.end
    return "".join([*pieces, text[position:]]), tuple(dict.fromkeys(span.kind for span in spans))


def marked(text: str) -> tuple[str, ...]:
    """Return the kinds of the secrets that were redacted from a text before."""
    return tuple(dict.fromkeys(_MARK.findall(text)))


def without_marks(text: str) -> str:
    return _MARK.sub("", text)


def find(text: str) -> list[Redaction]:
    """Find the secrets in a text, in order and without overlaps; invisible and full-width characters hide none."""
    plain = fold(text)
    if plain is None:
        return _find_plain(text)
    return [Redaction(span.kind, *plain.place(span.start, span.end)) for span in _find_plain(plain.text)]


def _find_plain(text: str) -> list[Redaction]:
    spans: list[Redaction] = []
    # The text between two redactions is searched again on its own, as it will be when the redacted text comes back:
    # so redacting twice is the same as redacting once.
    segments = _between(text, 0, [mark.span() for mark in _MARK.finditer(text)])
    while segments:
        offset, segment = segments.pop()
        inside = _merge_overlaps(_find_candidates(segment))
        spans += [Redaction(span.kind, offset + span.start, offset + span.end) for span in inside]
        if inside:
            segments += _between(segment, offset, [(span.start, span.end) for span in inside])
    return sorted(spans, key=lambda span: span.start)


def _between(text: str, offset: int, spans: list[tuple[int, int]]) -> list[tuple[int, str]]:
    starts = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(text)]
    return [(offset + start, text[start:end]) for start, end in zip(starts, ends, strict=True) if end > start]


def _merge_overlaps(spans: list[Redaction]) -> list[Redaction]:
    merged: list[Redaction] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if merged and span.start < merged[-1].end:
            merged[-1] = Redaction(merged[-1].kind, merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


_RUN_WITH_A_DIGIT = re.compile(r"(?=[A-Za-z_=+~-]{0,80}\d)[\w=+~-]{12,}", re.ASCII)
_CAPITALS = re.compile(r"[A-Z]{20}")
_DIGIT, _CASE_CHANGE = re.compile(r"\d"), re.compile(r"[a-z][A-Z]")


def _find_candidates(text: str) -> list[Redaction]:
    words = text.split()
    generated = [number for number, word in enumerate(words) if len(word) > 14 and _may_be_generated(word)]
    lowered = text.replace("\u0130", "I").lower()  # the one letter that grows when lowered
    rules = _select_word_rules(words, generated) if generated else []
    rules += [rule for part in ("phrases", "blocks") for hint, rule in load_rules(part) if hint in lowered]
    spans = [span for rule in dict.fromkeys(rules) for span in _match_rule(rule, text)]
    spans += [Redaction(*span) for span in find_named(text, lowered)]
    return spans + list(_find_wrapped(text))


def _match_rule(rule: FormatRule, text: str) -> Iterator[Redaction]:
    areas = [block.span(1) for block in _compile(rule.block).finditer(text)] if rule.block else [(0, len(text))]
    for area in areas:
        for match in _compile(rule.pattern).finditer(text, *area):
            if rule.check(match[1]):
                yield Redaction(rule.kind, *match.span(1))


def _may_be_generated(word: str) -> bool:
    if _DIGIT.search(word) and _RUN_WITH_A_DIGIT.search(word):
        return True
    return not word.islower() and (len(_CASE_CHANGE.findall(word)) > 3 or _CAPITALS.search(word) is not None)


def _select_word_rules(words: list[str], generated: list[int]) -> list[FormatRule]:
    secrets = " ".join([words[number] for number in generated])
    lowered = secrets.lower()
    # A name stands at most 20 characters before its value.
    named = [number for number in generated if _DIGIT.search(words[number])]
    around = " ".join([word for number in named for word in words[max(0, number - 4) : number + 1]]).lower()
    rules = [rule for hint, rule in load_rules("words") if hint in secrets]
    rules += [rule for hint, rule in load_gitleaks("formats") if hint in lowered]
    rules = [rule for rule in rules if r"\s" in rule.pattern or _compile(rule.pattern).search(secrets)]
    return rules + [rule for hint, rule in load_gitleaks("named") if hint in around]


# A line that continues a word: after marks of a quotation or a comment, letters with digits. Fewer than eight prove
# nothing.
_CONTINUED = re.compile(
    r"\n[ \t>|#*]{0,20}(?=[A-Za-z_+/=.-]{0,40}\d)(?=[\d_+/=.-]{0,40}[A-Za-z])([\w+/=.-]{8,})(?=[\s\"'`,;)]|\Z)",
    re.ASCII,
)
_MAX_WORD_CHARS, _MAX_LINES = 4_096, 8


def _find_wrapped(text: str) -> Iterator[Redaction]:
    """Find secrets that start like a known format at the end of a line and continue on the next lines."""
    reached = 0
    for continued in _CONTINUED.finditer(text):
        place = continued.start()
        start = max(text.rfind("\n", 0, place) + 1, place - _MAX_WORD_CHARS)
        beginning = text[start:place].rstrip(" \t\r\\").rpartition(" ")[2]
        hints = load_rules("words") if place >= reached else ()
        rules = [rule for hint, rule in hints if len(hint) > 2 and hint in beginning]
        if not rules:
            continue
        start += text[start:place].rindex(beginning)
        word, ends = _join_lines(beginning, text, place)
        reached = ends[-1][1]
        # Each number of lines is tried, since the next line may not belong to the secret; a long one has many.
        for length, stop in (*ends[:_MAX_LINES], ends[-1]):
            for rule in rules:
                match = _compile(rule.pattern).search(word, 0, length)
                if match and match.end(1) > len(beginning) and rule.check(match[1]):
                    yield Redaction(rule.kind, start + match.start(1), stop)


def _join_lines(word: str, text: str, place: int) -> tuple[str, list[tuple[int, int]]]:
    """Return the word with its continuations, and for each line the length so far and where it ends in the text."""
    ends: list[tuple[int, int]] = []
    while len(word) < _MAX_WORD_CHARS and (rest := _CONTINUED.match(text, place)):
        word += rest[1]
        place = rest.end()
        ends.append((len(word), place))
    return word, ends


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
