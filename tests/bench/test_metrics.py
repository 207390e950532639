"""Metrics against values computed by hand."""

from math import log2

import pytest

from bench.metrics import (
    CURVES,
    METRICS,
    PLACES,
    all_at,
    any_at,
    bootstrap,
    difference,
    mean,
    ndcg_at,
    reciprocal_rank,
    resamples,
)

RANKING = ["a", "b", "c", "d", "e", "f"]


def test_any_is_one_when_the_last_of_the_first_k_is_wanted() -> None:
    assert any_at(RANKING, {"e", "z"}, 5) == 1.0


def test_any_is_zero_when_the_first_wanted_comes_after_k() -> None:
    assert any_at(RANKING, {"f"}, 5) == 0.0


def test_all_is_one_when_every_wanted_is_among_the_first_k() -> None:
    assert all_at(RANKING, {"a", "e"}, 5) == 1.0


def test_all_is_zero_when_one_wanted_comes_after_k() -> None:
    assert all_at(RANKING, {"a", "f"}, 5) == 0.0


def test_all_is_zero_when_more_are_wanted_than_k() -> None:
    assert all_at(RANKING, {"a", "b", "c"}, 2) == 0.0


def test_the_reciprocal_rank_is_that_of_the_first_wanted() -> None:
    assert reciprocal_rank(RANKING, {"f", "d"}) == 1 / 4


def test_ndcg_of_one_wanted_falls_with_its_place() -> None:
    assert [ndcg_at(RANKING, {each}, 10) for each in "abc"] == pytest.approx([1.0, 1 / log2(3), 0.5])


def test_ndcg_with_several_wanted_is_relative_to_the_best_order() -> None:
    best = 1 + 1 / log2(3)
    assert ndcg_at(RANKING, {"b", "d"}, 10) == pytest.approx((1 / log2(3) + 1 / log2(5)) / best)


def test_ndcg_is_one_when_the_wanted_come_first_in_any_order() -> None:
    assert ndcg_at(["b", "a", "c"], {"a", "b"}, 10) == ndcg_at(["a", "b", "c"], {"a", "b"}, 10) == 1.0


def test_ndcg_counts_a_wanted_that_was_not_found_against_the_ranking() -> None:
    assert ndcg_at(RANKING, {"a", "z"}, 10) == pytest.approx(1 / (1 + 1 / log2(3)))


def test_ndcg_looks_no_further_than_k() -> None:
    assert ndcg_at(RANKING, {"c"}, 2) == 0.0


def test_ndcg_is_one_when_the_first_k_are_all_wanted_though_more_are() -> None:
    assert ndcg_at(RANKING, set(RANKING), 3) == 1.0


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
@pytest.mark.parametrize("ranking", [[], ["x", "y"]], ids=["nothing found", "nothing wanted found"])
def test_every_metric_is_zero_when_nothing_wanted_was_found(metric: object, ranking: list[str]) -> None:
    assert callable(metric)
    assert metric(ranking, {"a"}) == 0.0


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_one_when_the_only_wanted_comes_first(name: str) -> None:
    assert METRICS[name](["a", "b"], {"a"}) == 1.0


def test_the_names_of_metrics_tell_how_far_they_look() -> None:
    sixth, second = {"f"}, {"b"}
    assert [METRICS[name](RANKING, sixth) for name in ("any@5", "any@10", "all@5", "all@10")] == [0, 1, 0, 1]
    assert METRICS["any@1"](RANKING, second) == 0
    eleven = [str(number) for number in range(11)]
    assert METRICS["nDCG@10"](eleven, {"10"}) == 0


def test_a_curve_looks_one_place_further_each_time() -> None:
    third, both = {"c"}, {"b", "d"}
    assert [CURVES["any"][k](RANKING, third) for k in PLACES] == [0, 0, *[1] * 8]
    assert [CURVES["all"][k](RANKING, both) for k in PLACES] == [0, 0, 0, *[1] * 7]


def test_the_same_seed_gives_the_same_interval() -> None:
    values = [0.0, 0.2, 1.0, 0.7, 0.1, 0.9]
    assert bootstrap(values, resamples(6, seed=3)) == bootstrap(values, resamples(6, seed=3))
    assert resamples(6, seed=3) != resamples(6, seed=4)


def test_draws_are_as_many_as_asked_and_as_long_as_the_questions() -> None:
    draws = resamples(7, seed=1, times=50)
    assert len(draws) == 50
    assert {len(draw) for draw in draws} == {7}
    assert {place for draw in draws for place in draw} == set(range(7))


def test_the_interval_brackets_the_average_and_is_as_wide_as_theory_says() -> None:
    values = [0.0, 1.0] * 50
    interval = bootstrap(values, resamples(100, seed=1))
    assert interval.value == 0.5
    assert interval.low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.02)
    assert interval.high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.02)


def test_questions_that_all_score_alike_leave_no_doubt() -> None:
    interval = bootstrap([0.25] * 8, resamples(8, seed=1))
    assert (interval.value, interval.low, interval.high) == (0.25, 0.25, 0.25)


def test_the_interval_leaves_out_one_in_forty_at_each_end() -> None:
    draws = [[place] for place in range(80)]  # averages 0 to 79, each once
    interval = bootstrap([float(place) for place in range(80)], draws)
    assert (interval.low, interval.high) == (2.0, 77.0)


def test_a_difference_counts_questions_better_equal_and_worse() -> None:
    found = difference([1.0, 0.5, 0.5, 0.0], [0.0, 0.5, 0.0, 0.5], resamples(4, seed=1))
    assert (found.better, found.equal, found.worse) == (2, 1, 1)
    assert found.interval.value == pytest.approx(0.25)


def test_a_difference_is_taken_question_by_question() -> None:
    hard_and_easy = [0.0, 0.9] * 20
    a_little_better = [value + 0.1 for value in hard_and_easy]
    interval = difference(a_little_better, hard_and_easy, resamples(40, seed=1)).interval
    assert (interval.low, interval.high) == pytest.approx((0.1, 0.1))


def test_a_difference_has_the_other_sign_the_other_way_round() -> None:
    ours, theirs, draws = [1.0, 0.4, 0.3], [0.2, 0.5, 0.1], resamples(3, seed=1)
    forth, back = difference(ours, theirs, draws), difference(theirs, ours, draws)
    assert forth.interval.value == pytest.approx(-back.interval.value)
    assert (forth.better, forth.worse) == (back.worse, back.better)


def test_the_mean_is_the_sum_over_the_count() -> None:
    assert mean([1.0, 0.0, 0.5]) == 0.5
