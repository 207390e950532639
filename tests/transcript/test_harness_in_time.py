"""Recognising what was typed takes time in proportion to the length of a message."""

import time

import pytest

from memem.transcript.harness import typed_text

LENGTH, TIMES = 200_000, 4


@pytest.mark.parametrize("unit", ["<system-reminder>", "<ide_{}>", "<a-hook>", "<ide_a></ide_a><ide_a>"])
def test_four_times_the_unclosed_tags_take_about_four_times_as_long(unit: str) -> None:
    """Quadratic would be sixteen times; the processor's time does not depend on who else is busy."""
    small, large = (
        "".join(unit.format(number) for number in range(length // len(unit))) for length in (LENGTH, TIMES * LENGTH)
    )
    assert _seconds(large) < 10 * max(_seconds(small), 0.02)


def _seconds(text: str) -> float:
    times = []
    for _ in range(3):
        begun = time.process_time()
        typed_text(text)
        times.append(time.process_time() - begun)
    return min(times)
