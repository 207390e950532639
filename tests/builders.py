"""What many tests build: homes, memories, notes written by hand, and calls of the command line."""

import hypothesis


def examples(number: int) -> int:
    """How many examples a property is tried with: all of them, or its share in a quick run."""
    return max(1, number * hypothesis.settings().max_examples // 100)
