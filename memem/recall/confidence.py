"""Whether a memory is worth putting before Claude unasked. Silence is the default.

The numbers are points on the curve that `python -m bench silence` prints: off-topic prompts that fire against
questions that are answered. Words alone cannot do better; meaning will move the line.
"""

from memem.core.memory import Hit

MIN_WORDS = 2
MIN_COVERAGE = 0.30
MIN_COVERAGE_WITH_LITERAL = 0.15


def deserves(hit: Hit, coverage: float = MIN_COVERAGE) -> bool:
    """A memory stands on its own: it holds enough of what the prompt asks for, less if that is an exact identifier."""
    if hit.literal and hit.coverage >= MIN_COVERAGE_WITH_LITERAL:
        return True
    return len(hit.terms) >= MIN_WORDS and hit.coverage >= coverage
