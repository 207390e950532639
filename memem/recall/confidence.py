"""Whether a memory is worth putting before Claude unasked. Silence is the default."""

from memem.core.memory import Hit

MIN_COVERAGE = 0.35
MIN_WORDS = 2


def deserves(hit: Hit) -> bool:
    """A memory stands on its own: it holds a literal of the prompt, or enough of what the prompt is about."""
    if hit.literal:
        return True
    return len(hit.terms) >= MIN_WORDS and hit.coverage >= MIN_COVERAGE
