"""Secrets in text: known by their own format or by the name they are given, and replaced in place.

Only the secret goes, so that the sentence around it stays useful: `postgres://app:[redacted: password]@db/shop`,
`DB_PASSWORD=[redacted: password]`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from memem.gate.folding import folded
from memem.gate.secret_formats import BLOCK_RULES, PHRASE_RULES, WORD_RULES, BlockRule, Rule
from memem.gate.secret_names import by_name


@dataclass(frozen=True, slots=True)
class Redaction:
    """Where in the text a secret stands, and what it is in plain words."""

    kind: str
    start: int
    end: int


def find(text: str) -> list[Redaction]:
    """The secrets in a text, in order, never overlapping. What cannot be seen, and full-width letters, hide none."""
    plain = folded(text)
    if plain is None:
        return _found(text)
    return [Redaction(span.kind, *plain.place(span.start, span.end)) for span in _found(plain.text)]


def _found(text: str) -> list[Redaction]:
    found: list[Redaction] = []
    # What lies between two redactions is judged on its own, just as it will be when the redacted text comes
    # back: so redacting twice is the same as redacting once.
    segments = _between(text, 0, [mark.span() for mark in _MARK.finditer(text)])
    while segments:
        offset, segment = segments.pop()
        spans = _without_overlaps(_candidates(segment))
        found += [Redaction(span.kind, offset + span.start, offset + span.end) for span in spans]
        if spans:
            segments += _between(segment, offset, [(span.start, span.end) for span in spans])
    return sorted(found, key=lambda span: span.start)


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with each secret replaced by `[redacted: <kind>]`, and the kinds found, in order."""
    pieces: list[str] = []
    position = 0
    spans = find(text)
    for span in spans:
        pieces += [text[position : span.start], f"[redacted: {span.kind}]"]
        position = span.end
    pieces.append(text[position:])
    return "".join(pieces), tuple(dict.fromkeys(span.kind for span in spans))


_MARK = re.compile(r"\[redacted: [a-z0-9 ]{2,40}\]")


def _between(text: str, offset: int, spans: list[tuple[int, int]]) -> list[tuple[int, str]]:
    starts = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(text)]
    return [(offset + start, text[start:end]) for start, end in zip(starts, ends, strict=True) if end > start]


def _without_overlaps(spans: list[Redaction]) -> list[Redaction]:
    kept: list[Redaction] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if kept and span.start < kept[-1].end:
            # The earlier one names the secret; the tail of the later one is not for reading either.
            kept[-1] = Redaction(kept[-1].kind, kept[-1].start, max(kept[-1].end, span.end))
        else:
            kept.append(span)
    return kept


_WORD_HINTS = [(hint, rule) for rule in WORD_RULES for hint in rule.hints]
_PHRASE_HINTS = [(hint, rule) for rule in PHRASE_RULES for hint in rule.hints]
_BLOCK_HINTS = [(hint, rule) for rule in BLOCK_RULES for hint in rule.hints]
_DIGIT = re.compile(r"\d")


def _candidates(text: str) -> list[Redaction]:
    words = [word for word in text.split() if len(word) > 14]
    long_words = " ".join(words)
    lowered = text.replace("\u0130", "I").lower()  # the one letter that grows when lowered
    rules = [rule for hint, rule in _WORD_HINTS if hint in long_words] if long_words else []
    rules += [rule for hint, rule in _PHRASE_HINTS if hint in lowered]
    if numbered := " ".join([word for word in words if _DIGIT.search(word)]).lower():
        rules += _of_the_table(numbered, lowered)
    found = [span for rule in dict.fromkeys(rules) for span in _matches(rule, text)]
    found += [
        span
        for rule in dict.fromkeys(rule for hint, rule in _BLOCK_HINTS if hint in lowered)
        for span in _within(rule, text)
    ]
    found += [Redaction(*span) for span in by_name(text, lowered)]
    return found + list(_over_two_lines(text)) if "\n" in text else found


def _matches(rule: Rule, text: str) -> list[Redaction]:
    matches = _compiled(rule.pattern).finditer(text)
    return [Redaction(rule.kind, *match.span(1)) for match in matches if rule.holds(match[1])]


def _of_the_table(numbered: str, lowered: str) -> list[Rule]:
    """Every secret that those rules know is one long word with a digit in it."""
    from memem.gate.secret_table import format_rules, named_rules

    found = [rule for rule in format_rules() if any(hint in numbered for hint in rule.hints)]
    return found + [rule for rule in named_rules() if any(hint in lowered for hint in rule.hints)]


def _within(rule: BlockRule, text: str) -> Iterator[Redaction]:
    for block in _compiled(rule.block).finditer(text):
        for item in _compiled(rule.item).finditer(text, *block.span(1)):
            if rule.holds(item[1]):
                yield Redaction(rule.kind, *item.span(1))


_PREFIXES = [(hint, rule) for hint, rule in _WORD_HINTS if len(hint) > 2 and rule.pattern.startswith("(?<!")]
_REST = re.compile(r"[ \t>|#*]{0,20}([\w+/=.-]{4,})(?=[\s\"'`,;)]|\Z)")
_FRAGMENT = re.compile(r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])|[a-z][A-Z]")


def _over_two_lines(text: str) -> Iterator[Redaction]:
    """A secret that was wrapped: the end of one line begins like a known format, and the next line goes on with it."""
    lines = text.split("\n")
    ends = [line.rstrip(" \t\r\\").rpartition(" ")[2] for line in lines]
    all_ends = "\n".join(ends)
    rules = [(hint, rule) for hint, rule in _PREFIXES if hint in all_ends]
    place = 0
    for number, (line, end) in enumerate(zip(lines, ends, strict=True)) if rules else ():
        for hint, rule in rules:
            if hint in end and (joined := _joined(end, lines[number + 1 :])):
                start = place + line.rindex(end)
                word, length = joined
                for match in _compiled(rule.pattern).finditer(word):
                    if match.end(1) > len(end) and rule.holds(match[1]):
                        yield Redaction(rule.kind, start + match.start(1), place + len(line) + length)
        place += len(line) + 1


def _joined(end: str, following: Iterable[str]) -> tuple[str, int] | None:
    """The word that goes on over the next lines, and how many characters of the text that takes."""
    word, length = end, 0
    for line in following:
        rest = _REST.match(line)
        if rest is None or not _FRAGMENT.search(rest[1]) or len(word) > 4_096:
            break
        word += rest[1]
        taken = length + 1 + rest.end()
        length += 1 + len(line)
        if rest.end() < len(line.rstrip()):
            return word, taken
    else:
        taken = length
    return (word, taken) if length else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
