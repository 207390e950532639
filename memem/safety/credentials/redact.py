"""Secrets in text: known by their own format or by the name they are given, and replaced in place.

Only the secret goes, so that the sentence around it stays useful: `postgres://app:[redacted: password]@db/shop`,
`DB_PASSWORD=[redacted: password]`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from memem.safety.credentials.formats import BLOCK_RULES, PHRASE_RULES, WORD_RULES, BlockRule, Rule
from memem.safety.credentials.names import by_name
from memem.safety.folding import folded


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


_MARK = re.compile(r"\[redacted: ([a-z0-9 ]{2,40})\]")


def marked(text: str) -> tuple[str, ...]:
    """The kinds of the secrets that were taken out of a text before."""
    return tuple(dict.fromkeys(_MARK.findall(text)))


def without_marks(text: str) -> str:
    """The text without what stands for its secrets."""
    return _MARK.sub("", text)


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
_ROOTS = ("auth", "pass", "private", "sql", "mongo", "login", "cred", "-", "otp", "")
_PHRASE_HINTS = {
    root: [
        (hint, rule)
        for rule in PHRASE_RULES
        for hint in rule.hints
        if next(each for each in _ROOTS if each in hint) == root
    ]
    for root in _ROOTS
}
"""By what many of them have in common, so that most texts are not asked for each."""
_BLOCK_HINTS = [(hint, rule) for rule in BLOCK_RULES for hint in rule.hints]
_RUN_WITH_A_DIGIT = re.compile(r"(?=[A-Za-z_=+~-]{0,80}\d)[\w=+~-]{12,}", re.ASCII)
_CAPITALS = re.compile(r"[A-Z]{20}")
_DIGIT, _TURN = re.compile(r"\d"), re.compile(r"[a-z][A-Z]")


def _candidates(text: str) -> list[Redaction]:
    words = text.split()
    made = [number for number, word in enumerate(words) if len(word) > 14 and _is_made(word)]
    lowered = text.replace("\u0130", "I").lower()  # the one letter that grows when lowered
    rules = _of_words(words, made) if made else []
    hints = [hint for root, each in _PHRASE_HINTS.items() if root in lowered for hint in each]
    rules += [rule for hint, rule in hints if hint in lowered]
    found = [span for rule in dict.fromkeys(rules) for span in _matches(rule, text)]
    blocks = dict.fromkeys(rule for hint, rule in _BLOCK_HINTS if hint in lowered)
    found += [span for rule in blocks for span in _within(rule, text)]
    found += [Redaction(*span) for span in by_name(text, lowered)]
    return found + list(_over_two_lines(text))


def _matches(rule: Rule, text: str) -> list[Redaction]:
    matches = _compiled(rule.pattern).finditer(text)
    return [Redaction(rule.kind, *match.span(1)) for match in matches if rule.holds(match[1])]


def _is_made(word: str) -> bool:
    """Whether a machine may have made a long word: digits among its letters, or capitals here and there."""
    if _DIGIT.search(word) and _RUN_WITH_A_DIGIT.search(word):
        return True
    return not word.islower() and (len(_TURN.findall(word)) > 3 or _CAPITALS.search(word) is not None)


def _of_words(words: list[str], made: list[int]) -> list[Rule]:
    """The rules to try where there are long words that a machine may have made: every secret they know is one."""
    from memem.safety.credentials.gitleaks import format_rules, named_rules

    secrets = " ".join([words[number] for number in made])
    lowered = secrets.lower()
    # A name stands at most 20 characters before its value.
    named = [number for number in made if _DIGIT.search(words[number])]
    around = " ".join([word for number in named for word in words[max(0, number - 4) : number + 1]]).lower()
    rules = [rule for hint, rule in _WORD_HINTS if hint in secrets]
    rules += [rule for hint, rule in format_rules() if hint in lowered]
    rules = [rule for rule in rules if r"\s" in rule.pattern or _compiled(rule.pattern).search(secrets)]
    return rules + [rule for hint, rule in named_rules() if hint in around]


def _within(rule: BlockRule, text: str) -> Iterator[Redaction]:
    for block in _compiled(rule.block).finditer(text):
        for item in _compiled(rule.item).finditer(text, *block.span(1)):
            if rule.holds(item[1]):
                yield Redaction(rule.kind, *item.span(1))


_PREFIXES = [(hint, rule) for hint, rule in _WORD_HINTS if len(hint) > 2]
# How the next line goes on: behind what marks a quotation or a comment, letters with digits among them. Of fewer than
# eight nobody can tell.
_CONTINUED = re.compile(
    r"\n[ \t>|#*]{0,20}(?=[A-Za-z_+/=.-]{0,40}\d)(?=[\d_+/=.-]{0,40}[A-Za-z])([\w+/=.-]{8,})(?=[\s\"'`,;)]|\Z)",
    re.ASCII,
)
_LONGEST_WORD, _LINES = 4_096, 8


def _over_two_lines(text: str) -> Iterator[Redaction]:
    """A secret that was wrapped: the end of one line begins like a known format, and the next line goes on with it."""
    reached = 0
    for continued in _CONTINUED.finditer(text):
        place = continued.start()
        start = max(text.rfind("\n", 0, place) + 1, place - _LONGEST_WORD)
        end = text[start:place].rstrip(" \t\r\\").rpartition(" ")[2]
        rules = [rule for hint, rule in _PREFIXES if hint in end] if place >= reached else []
        if not rules:
            continue
        start += text[start:place].rindex(end)
        word, ends = _joined(end, text, place)
        reached = ends[-1][1]
        # With each line that is added, since the next one may be none of it; a long one goes on for many.
        for length, stop in (*ends[:_LINES], ends[-1]):
            for rule in rules:
                match = _compiled(rule.pattern).search(word, 0, length)
                if match and match.end(1) > len(end) and rule.holds(match[1]):
                    yield Redaction(rule.kind, start + match.start(1), stop)


def _joined(word: str, text: str, place: int) -> tuple[str, list[tuple[int, int]]]:
    """The word with what the lines after this place add to it; and how long it is with each, and where that ends."""
    ends: list[tuple[int, int]] = []
    while len(word) < _LONGEST_WORD and (rest := _CONTINUED.match(text, place)):
        word += rest[1]
        place = rest.end()
        ends.append((len(word), place))
    return word, ends


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
