"""The bench of the graph: the curve, the ranking with and without edges, and what is compared for the cost."""

from pathlib import Path

import pytest

from bench import edges, graph, labelled
from bench.edges import Point
from memem.search import find, refresh
from memem.search.encoders import model
from memem.search.graph import build
from memem.vault import note
from memem.workspace import Workspace


@pytest.fixture
def set_up(meant: Workspace) -> Workspace:
    """The labelled memories in a vault, with the vectors of a stand-in."""
    meant.store.make_vault()
    for memory in labelled.load().memories:
        (meant.store.paths.memories / note.file_name(memory)).write_text(note.new_text(memory))
    refresh.refresh(meant)
    model.encode_all(meant)
    return meant


def test_the_higher_the_threshold_the_fewer_pairs_are_linked(set_up: Workspace) -> None:
    points = list(edges.curve(set_up, labelled.load()))
    assert [each.least for each in points] == list(edges.LINES)
    for name in ("superseded", "together", "chance", "project", "degree"):
        values = [getattr(each, name) for each in points]
        assert values == sorted(values, reverse=True)
    assert points[0].superseded > points[0].project > points[0].chance > 0
    assert build.MIN_COSINE in edges.LINES


def test_the_share_by_chance_is_that_of_pairs_with_nothing_in_common() -> None:
    assert Point(0.4, 1, 1, 0.01, 0.1, 1, 0).by_chance == pytest.approx(0.1)
    assert Point(0.4, 1, 1, 0.0, 0.0, 1, 0).by_chance == 0


@pytest.mark.slow
def test_the_ranking_is_measured_with_every_strength_and_leaves_the_one_in_use(set_up: Workspace) -> None:
    build.rebuild(set_up)
    used, corpus = find.STRONG_EDGE, labelled.load().sample(10, 1)
    rows = list(edges.ranked(set_up, corpus))
    assert [row["least"] for row in rows] == list(edges.STRENGTHS)
    assert all(0 < row[name] <= 1 for row in rows for name in edges.SHOWN)
    assert used == find.STRONG_EDGE


def test_a_vault_is_made_with_a_vector_for_every_passage_and_topics_to_find(meant: Workspace) -> None:
    graph.prepare(meant, 60, "general")
    assert meant.index.passages.count_pending() == 0
    assert build.rebuild(meant).origins["meaning"] > 30
    graph.whole_pass(meant)
    graph.search_some(meant)


def test_without_a_model_nothing_is_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert graph.run(["--folder", str(tmp_path)]) == 1
    assert "memem index model fetch" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--parts", "x"], ["--repeat", "0"], ["--notes", "5"]])
def test_wrong_options_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        graph.run(arguments)
