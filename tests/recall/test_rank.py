"""Relevance decides the order; everything else may only nudge it, within bounds."""

from dataclasses import replace
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.memory import STATUSES, Hit, Memory
from memem.core.query import Found, Match, Term
from memem.recall import rank as module
from memem.recall.rank import rank

ZEBRA, STRIPES, LITERAL = Term("zebra"), Term("stripes"), Term("ops-4821", literal=True)
FREQUENCIES = {ZEBRA: 2, STRIPES: 1, LITERAL: 1}
MOST = module.SAME_PROJECT * module.PATH_MATCH * (1 + 2 * module.IMPORTANCE_STEP)
LEAST = module.SET_ASIDE * (1 - 2 * module.IMPORTANCE_STEP)


def match(name: str, bm25: float = 1.0, terms: tuple[Term, ...] = (ZEBRA,), **fields: Any) -> Match:
    return Match(f"{name}.md", (0, 0, 0), Memory(id=name, title=name, body="", **fields), bm25, terms)


def found(*matches: Match, notes: int = 100) -> Found:
    return Found(matches, FREQUENCIES, notes)


def order(*matches: Match, project: str = "shop", files: tuple[str, ...] = ()) -> list[str]:
    return [hit.id for hit in rank(found(*matches), project, files)]


def only(one: Match, **options: Any) -> Hit:
    (hit,) = rank(found(one, **options), "shop")
    return hit


# --- order --------------------------------------------------------------------------------------------------------


def test_nothing_found_is_nothing_ranked() -> None:
    assert rank(found(), "shop") == []


def test_the_more_relevant_comes_first() -> None:
    assert order(match("weak", 1.0), match("strong", 3.0), match("middle", 2.0)) == ["strong", "middle", "weak"]


@pytest.mark.parametrize(
    ("ahead", "behind"),
    [
        ({"project": "shop"}, {"project": "general"}),
        ({"importance": 5}, {"importance": 3}),
        ({"importance": 3}, {"importance": 1}),
        ({"paths": ("src/auth/*",)}, {"paths": ("docs/*",)}),
        ({}, {"status": "deprecated"}),
        ({}, {"status": "stale"}),
        ({}, {"superseded_by": "[[newer-3f2c9a1e]]"}),
        ({"importance": 1}, {"status": "deprecated", "importance": 5, "project": "shop", "paths": ("src/**",)}),
    ],
)
def test_among_equals_what_fits_better_comes_first(ahead: dict[str, Any], behind: dict[str, Any]) -> None:
    files = ("src/auth/token.py",)
    for names in (("a", "b"), ("b", "a")):
        assert order(match(names[0], **ahead), match(names[1], **behind), files=files)[0] == names[0]


@pytest.mark.parametrize(
    ("pattern", "file", "fits"),
    [
        ("src/auth/**", "src/auth/token.py", True),
        ("src/auth/**", "src/auth/deep/token.py", True),
        ("*.py", "src/auth/token.py", True),
        ("src/auth/token.py", "src/auth/token.py", True),
        ("src/auth/**", "src/billing/token.py", False),
        ("SRC/**", "src/auth/token.py", False),
        ("", "src/auth/token.py", False),
    ],
)
def test_a_memory_about_a_file_in_play_is_nudged(pattern: str, file: str, fits: bool) -> None:
    plain, about = rank(found(match("a"), match("b", paths=(pattern,))), "shop", (file,))
    assert ((plain.id, about.id) == ("b", "a")) == fits


def test_a_superseded_memory_is_behind_the_one_that_holds_now_even_if_it_matches_a_little_better() -> None:
    assert order(match("old", 1.2, superseded_by="[[new]]"), match("new", 1.0)) == ["new", "old"]


def test_ties_are_broken_by_id_whatever_order_they_come_in() -> None:
    paths = {"a": "z.md", "b": "y.md", "c": "x.md"}
    matches = [replace(match(name), path=path) for name, path in paths.items()]
    assert {tuple(order(*ordered)) for ordered in permutations(matches)} == {("a", "b", "c")}


def test_two_files_with_one_id_keep_the_order_of_their_paths() -> None:
    twins = [replace(match("twin"), path=path) for path in ("b.md", "a.md")]
    assert [hit.path for hit in rank(found(*twins), "shop")] == ["a.md", "b.md"]


# --- bounds -------------------------------------------------------------------------------------------------------

_fields = st.fixed_dictionaries(
    {
        "project": st.sampled_from(("shop", "general", "other")),
        "importance": st.integers(min_value=1, max_value=5),
        "status": st.sampled_from(STATUSES),
        "superseded_by": st.sampled_from(("", "[[x]]")),
        "paths": st.sampled_from(((), ("src/**",), ("src/**", "*.py"))),
    }
)
_bm25 = st.floats(min_value=1e-6, max_value=1e3)


@given(_fields, _fields, _bm25, st.floats(min_value=1.01, max_value=1e3), st.sampled_from((1.0, 50.0, 1e6)))
def test_nudges_together_cannot_overturn_a_clear_difference_in_relevance(
    better: dict[str, Any], worse: dict[str, Any], bm25: float, factor: float, best: float
) -> None:
    """Whatever else was found, and however good it was."""
    clear = bm25 * factor * MOST / LEAST
    matches = (match("z", clear, **better), match("a", bm25, **worse), match("best", clear * best))
    ordered = order(*matches, files=("src/x.py",))
    assert ordered.index("z") < ordered.index("a")


@given(st.lists(st.tuples(_bm25, _fields), min_size=1, max_size=8))
def test_a_score_is_between_nothing_and_one(found_fields: list[tuple[float, dict[str, Any]]]) -> None:
    matches = [match(str(n), bm25, **fields) for n, (bm25, fields) in enumerate(found_fields)]
    hits = rank(found(*matches), "shop", ("src/x.py",))
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_the_best_match_with_everything_for_it_scores_one() -> None:
    (hit,) = rank(found(match("a", project="shop", importance=5, paths=("*",))), "shop", ("x",))
    assert hit.score == 1


# --- what a hit tells ---------------------------------------------------------------------------------------------


def test_a_hit_tells_its_memory_its_place_and_its_words() -> None:
    hit = only(match("a", terms=(ZEBRA, LITERAL)))
    assert (hit.memory.id, hit.path, hit.terms) == ("a", "a.md", ("zebra", "ops-4821"))


@pytest.mark.parametrize(("terms", "literal"), [((ZEBRA,), False), ((ZEBRA, LITERAL), True), ((), False)])
def test_a_hit_is_literal_when_it_holds_something_exact(terms: tuple[Term, ...], literal: bool) -> None:
    assert only(match("a", terms=terms)).literal == literal


def test_coverage_is_the_share_of_what_was_asked_by_rarity() -> None:
    nothing, common, rare, everything = (
        only(match("a", terms=terms)).coverage for terms in ((), (ZEBRA,), (STRIPES,), tuple(FREQUENCIES))
    )
    assert nothing == 0 < common < rare < everything == 1


def test_a_part_of_a_compound_covers_less_than_a_word() -> None:
    whole, part = Term("pool"), Term("pool", part=True)
    shares = []
    for asked in (whole, part):
        hits = rank(Found((match("a", terms=(asked,)),), {asked: 1, STRIPES: 1}, 100), "shop")
        shares.append(hits[0].coverage)
    assert shares[1] < shares[0]


@given(
    st.dictionaries(
        st.builds(Term, st.text("abc", min_size=1, max_size=3), part=st.booleans()),
        st.integers(min_value=0, max_value=50),
        max_size=6,
    ),
    st.data(),
)
def test_coverage_is_between_nothing_and_one(frequencies: dict[Term, int], data: st.DataObject) -> None:
    held = data.draw(st.lists(st.sampled_from(sorted(frequencies, key=str)), unique=True)) if frequencies else []
    hits = rank(Found((match("a", terms=tuple(held)),), frequencies, 50), "shop")
    assert 0 <= hits[0].coverage <= 1


@pytest.mark.parametrize(("projects", "statuses"), list(product((("shop",), ("general", "shop")), STATUSES[:2])))
def test_ranking_is_the_same_every_time(projects: tuple[str, ...], statuses: str) -> None:
    matches = [match(str(n), 1 + n % 3, project=projects[n % len(projects)], status=statuses) for n in range(9)]
    assert rank(found(*matches), "shop") == rank(found(*reversed(matches)), "shop")
