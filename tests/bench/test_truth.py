"""The labelled memories, saved one after another: contradictions are found, and little else is taken for one."""

from pathlib import Path

import pytest

from bench import labelled, truth
from bench.truth import in_order, measure
from memem.core.memory import id8_of


def test_a_superseded_memory_comes_before_its_successor() -> None:
    memories = in_order(labelled.load().memories)
    places = {memory.id8: place for place, memory in enumerate(memories)}
    for memory in memories:
        if memory.superseded_by:
            assert places[memory.id8] < places[id8_of(memory.superseded_by)]


def test_most_contradictions_are_found_and_nothing_is_lost(tmp_path: Path) -> None:
    """The measured figures are better, and in the changelog; this is the line below which something is broken."""
    found = measure(tmp_path, in_order(labelled.load().memories))
    assert len(found.expected) >= 14
    assert len(found.missed) <= 5
    assert len(found.false) <= 3
    assert found.lost == ()


def test_it_prints_counts_and_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    assert truth.run(["--show"]) == 0
    printed = capsys.readouterr().out
    assert "contradictions found" in printed
    assert "missed:" in printed
