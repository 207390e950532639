"""The evidence of a memory: quotes, each with its speaker and day.

Claude's words that a person approved are followed by the answer: `Claude proposed, 2026-11-18: … · you: "1"`.
"""

import re
from dataclasses import dataclass

from memem.core.conversation import HUMAN, PLAN, Turn

PERSON, CLAUDE, PROPOSAL = "you", "Claude", "Claude proposed"
MAX_ANSWER_CHARS = 80
_HEAD = re.compile(rf"^({PERSON}|{PROPOSAL}|{CLAUDE})(?:, ([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}))?: (?=\S)", re.MULTILINE)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class QuotedWords:
    """One quote. Notes written before 0.12, and people, name neither speaker nor day."""

    words: str
    speaker: str = ""
    day: str = ""  # ISO, in the zone in which it was said


def quote_turn(turn: Turn, words: str) -> QuotedWords:
    day = _DAY.match(turn.time)
    return QuotedWords(words, PERSON if turn.role == HUMAN else CLAUDE, day[0] if day else "")


def quote_proposal(turn: Turn, words: str) -> QuotedWords:
    """Quote Claude's words and the answer by which the person approved them."""
    day, answer = _DAY.match(turn.time), " ".join(turn.text.split())
    if len(answer) > MAX_ANSWER_CHARS:
        answer = f"{answer[:MAX_ANSWER_CHARS].rstrip()}…"
    approval = "you approved this plan" if turn.place == PLAN else f'{PERSON}: "{answer}"'
    return QuotedWords(f"{words.strip()} · {approval}", PROPOSAL, day[0] if day else "")


def render_evidence(evidence: QuotedWords) -> str:
    """Render a quote as `you, 2026-11-18: its words`; more lines follow as they are."""
    head = evidence.speaker and f"{evidence.speaker}{evidence.day and f', {evidence.day}'}: "
    lines = [line.rstrip() for line in evidence.words.strip().splitlines()]
    # A line that looks like a head is joined to the words before, so words cannot pass for somebody else's quote.
    safe = lines[:1]
    for line in lines[1:]:
        if head and _HEAD.match(line):
            while not safe[-1]:
                safe.pop()
            safe[-1] += f" {line}"
        else:
            safe.append(line)
    return head + "\n".join(safe)


def parse_evidence(text: str) -> list[QuotedWords]:
    """Return the quotes in a memory's evidence; a line that no head precedes is a quote of its own."""
    quotes: list[QuotedWords] = []
    for line in text.splitlines():
        if head := _HEAD.match(line):
            quotes.append(QuotedWords(line[head.end() :], head[1], head[2] or ""))
        elif quotes and quotes[-1].speaker:
            last = quotes[-1]
            quotes[-1] = QuotedWords(f"{last.words}\n{line}", last.speaker, last.day)
        else:
            quotes.append(QuotedWords(line))
    return quotes


def strip_speakers(text: str) -> str:
    """Return the evidence without speakers and days."""
    return "\n".join(quote.words for quote in parse_evidence(text))


def has_quote(text: str, evidence: str) -> bool:
    """Whether evidence has a quote as lines of its own: `use npm` is not in `do not use npm`."""
    return f"\n{strip_speakers(evidence)}\n" in f"\n{strip_speakers(text)}\n"


def append_evidence(old: str, new: str) -> str:
    """Add quotes to others. Those without a speaker go first: after one with a speaker they would read as its lines."""
    if not old or not new:
        return old or new
    has_speaker = _HEAD.match(new) or not _HEAD.search(old)
    return f"{old}\n{new}" if has_speaker else f"{new}\n{old}"


def merge_evidence(one: str, other: str) -> str:
    """Join the evidence of two memories, each quote once."""
    quotes: dict[str, QuotedWords] = {}
    for quote in (*parse_evidence(one), *parse_evidence(other)):
        quotes.setdefault(quote.words, quote)
    ordered = sorted(quotes.values(), key=lambda quote: bool(quote.speaker))
    return "\n".join(map(render_evidence, ordered))
