"""Whether a memory is worth putting before Claude unasked. Silence is the default.

Each number is a point on a curve that `python -m bench silence` prints: off-topic prompts that fire against questions
that are answered. Words alone cannot do much better; meaning will move the line.
"""

from dataclasses import dataclass

from memem.core.memory import Hit


@dataclass(frozen=True, slots=True)
class Line:
    """What a memory must hold of a prompt to be shown: so many of its words, and so much of what it asks for."""

    words: int = 2
    coverage: float = 0.30
    coverage_with_literal: float = 0.15


IN_USE = Line()


def deserves(hit: Hit, line: Line = IN_USE) -> bool:
    """A memory stands on its own: it holds enough of what the prompt asks for, less if that is an exact identifier."""
    if hit.literal and hit.coverage >= line.coverage_with_literal:
        return True
    return len(hit.terms) >= line.words and hit.coverage >= line.coverage
