"""Whether a memory is worth putting before Claude unasked. Silence is the default.

Each number is a point on a curve that `python -m bench silence` prints: off-topic prompts that fire against questions
that are answered.
"""

from dataclasses import dataclass

from memem.core.memory import Hit


@dataclass(frozen=True, slots=True)
class Line:
    """What a memory must be to a prompt: near enough to it; or hold so many of its words and so much of what it asks.

    Words alone say little: where meaning is known too, it may not contradict them. An exact identifier needs nobody.
    """

    words: int = 2
    coverage: float = 0.30
    coverage_with_literal: float = 0.15
    cosine: float = 0.50
    cosine_with_words: float = 0.35


IN_USE = Line()


def deserves(hit: Hit, line: Line = IN_USE) -> bool:
    """A memory stands on its own, by an identifier it shares with the prompt, by its meaning, or by both and words."""
    if hit.literal and hit.coverage >= line.coverage_with_literal:
        return True
    cosine = hit.cosine if hit.understood else None
    if cosine is not None and cosine >= line.cosine:
        return True
    said = len(hit.terms) >= line.words and hit.coverage >= line.coverage
    return said and (cosine is None or cosine >= line.cosine_with_words)
