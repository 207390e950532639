"""Relevance decides the order; everything else may only nudge it, within bounds."""

from dataclasses import replace
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memem.core.memory import STATUSES, Hit, Memory
from memem.search import ranking as module
from memem.search.query import NoteMatch, SearchMatches, Term
from memem.search.ranking import CHANCE, COSINE, FUSED, KEYWORDS, PASSAGE_CHARACTERS, Blend, Boosts, rank
from tests.builders import examples

ZEBRA, STRIPES, LITERAL = Term("zebra"), Term("stripes"), Term("ops-4821", literal=True)
FREQUENCIES = {ZEBRA: 2, STRIPES: 1, LITERAL: 1}
MOST = module.SAME_PROJECT * module.PATH_MATCH * (1 + 2 * module.IMPORTANCE_STEP)
LEAST = module.SET_ASIDE * (1 - 2 * module.IMPORTANCE_STEP)


def match(name: str, bm25: float = 1.0, terms: tuple[Term, ...] = (ZEBRA,), **fields: Any) -> NoteMatch:
    return NoteMatch(f"{name}.md", (0, 0, 0), Memory(id=name, title=name, body="", **fields), bm25, terms)


def make_matches(*matches: NoteMatch, notes: int = 100) -> SearchMatches:
    return SearchMatches(matches, FREQUENCIES, notes)


def order(*matches: NoteMatch, project: str = "shop", files: tuple[str, ...] = ()) -> list[str]:
    return [hit.id for hit in rank(make_matches(*matches), Boosts(project, files))]


def only(one: NoteMatch, **options: Any) -> Hit:
    (hit,) = rank(make_matches(one, **options), Boosts("shop"))
    return hit


# --- order --------------------------------------------------------------------------------------------------------


def test_no_matches_give_no_hits() -> None:
    assert rank(make_matches(), Boosts("shop")) == []


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
def test_among_equals_the_boosted_memory_comes_first(ahead: dict[str, Any], behind: dict[str, Any]) -> None:
    files = ("src/auth/token.py",)
    for names in (("a", "b"), ("b", "a")):
        assert order(match(names[0], **ahead), match(names[1], **behind), files=files)[0] == names[0]


@pytest.mark.parametrize("relevance", list(permutations((0.1, 1.0, 10.0))))
def test_a_superseded_memory_ranks_behind_its_successor(
    relevance: tuple[float, float, float],
) -> None:
    """The ids are such that by them alone the oldest would come first."""
    oldest, older, newest = relevance
    chain = (
        match("a" * 8, oldest, superseded_by=f"[[older-{'b' * 8}]]"),
        match("b" * 8, older, superseded_by=f"[[newest-{'c' * 8}]]"),
        match("c" * 8, newest),
    )
    assert order(*chain) == ["c" * 8, "b" * 8, "a" * 8]


def test_two_that_superseded_each_other_are_still_ranked() -> None:
    one, other = match("a" * 8, superseded_by=f"[[b-{'b' * 8}]]"), match("b" * 8, superseded_by=f"[[a-{'a' * 8}]]")
    assert order(one, other) == order(other, one) == ["a" * 8, "b" * 8]


def test_ties_are_broken_by_id_in_any_order() -> None:
    paths = {"a": "z.md", "b": "y.md", "c": "x.md"}
    matches = [replace(match(name), path=path) for name, path in paths.items()]
    assert {tuple(order(*ordered)) for ordered in permutations(matches)} == {("a", "b", "c")}


def test_two_files_with_one_id_keep_the_order_of_their_paths() -> None:
    twins = [replace(match("twin"), path=path) for path in ("b.md", "a.md")]
    assert [hit.path for hit in rank(make_matches(*twins), Boosts("shop"))] == ["a.md", "b.md"]


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


@settings(max_examples=examples(60))
@given(_fields, _fields, _bm25, st.floats(min_value=1.01, max_value=1e3), st.sampled_from((1.0, 50.0, 1e6)))
def test_nudges_together_cannot_overturn_a_clear_difference_in_relevance(
    better: dict[str, Any], worse: dict[str, Any], bm25: float, factor: float, best: float
) -> None:
    """Independent of the other matches and their scores."""
    clear = bm25 * factor * MOST / LEAST
    matches = (match("z", clear, **better), match("a", bm25, **worse), match("best", clear * best))
    ordered = order(*matches, files=("src/x.py",))
    assert ordered.index("z") < ordered.index("a")


@given(st.lists(st.tuples(_bm25, _fields), min_size=1, max_size=8))
def test_a_score_is_between_nothing_and_one(found_fields: list[tuple[float, dict[str, Any]]]) -> None:
    matches = [match(str(n), bm25, **fields) for n, (bm25, fields) in enumerate(found_fields)]
    hits = rank(make_matches(*matches), Boosts("shop", ("src/x.py",)))
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_the_best_match_with_everything_for_it_scores_one() -> None:
    (hit,) = rank(make_matches(match("a", project="shop", importance=5, paths=("*",))), Boosts("shop", ("x",)))
    assert hit.score == 1


# --- what a hit tells ---------------------------------------------------------------------------------------------


def test_a_hit_has_its_memory_path_and_terms() -> None:
    hit = only(match("a", terms=(ZEBRA, LITERAL)))
    assert (hit.memory.id, hit.path, hit.terms) == ("a", "a.md", ("zebra", "ops-4821"))


@pytest.mark.parametrize(("terms", "literal"), [((ZEBRA,), False), ((ZEBRA, LITERAL), True), ((), False)])
def test_a_hit_is_literal_when_a_literal_matches(terms: tuple[Term, ...], literal: bool) -> None:
    assert only(match("a", terms=terms)).literal == literal


def test_coverage_is_the_matched_share_of_the_query_by_rarity() -> None:
    nothing, common, rare, everything = (
        only(match("a", terms=terms)).coverage for terms in ((), (ZEBRA,), (STRIPES,), tuple(FREQUENCIES))
    )
    assert nothing == 0 < common < rare < everything == 1


def test_bigrams_that_are_not_words_do_not_lower_coverage() -> None:
    known, across = Term("连接", bigram=True), Term("库连", bigram=True)
    hits = rank(SearchMatches((match("a", terms=(known,)),), {known: 1, across: 0}, 100))
    assert hits[0].coverage > 0.85


@pytest.mark.parametrize(
    ("terms", "frequency", "named"), [((LITERAL,), 1, True), ((LITERAL,), 40, False), ((ZEBRA,), 1, False)]
)
def test_a_hit_is_named_by_an_identifier_in_few_notes(terms: tuple[Term, ...], frequency: int, named: bool) -> None:
    (hit,) = rank(SearchMatches((match("a", terms=terms),), FREQUENCIES | {LITERAL: frequency}, 100))
    assert hit.named == named


def test_a_part_of_a_compound_covers_less_than_a_word() -> None:
    whole, part = Term("pool"), Term("pool", part=True)
    shares = []
    for term in (whole, part):
        hits = rank(SearchMatches((match("a", terms=(term,)),), {term: 1, STRIPES: 1}, 100), Boosts("shop"))
        shares.append(hits[0].coverage)
    assert shares[1] < shares[0]


@given(
    st.dictionaries(
        st.builds(Term, st.text("abc", min_size=1, max_size=3), part=st.booleans(), bigram=st.booleans()),
        st.integers(min_value=0, max_value=50),
        max_size=6,
    ),
    st.data(),
)
def test_coverage_is_between_nothing_and_one(frequencies: dict[Term, int], data: st.DataObject) -> None:
    known = sorted((term for term, count in frequencies.items() if count), key=str)
    held = data.draw(st.lists(st.sampled_from(known), unique=True)) if known else []
    hits = rank(SearchMatches((match("a", terms=tuple(held)),), frequencies, 50), Boosts("shop"))
    assert 0 <= hits[0].coverage <= 1


@pytest.mark.parametrize(("projects", "statuses"), list(product((("shop",), ("general", "shop")), STATUSES[:2])))
def test_ranking_is_the_same_every_time(projects: tuple[str, ...], statuses: str) -> None:
    matches = [match(str(n), 1 + n % 3, project=projects[n % len(projects)], status=statuses) for n in range(9)]
    assert rank(make_matches(*matches), Boosts("shop")) == rank(make_matches(*reversed(matches)), Boosts("shop"))


# --- words and meaning --------------------------------------------------------------------------------------------


def make_match(name: str, cosine: float | None, bm25: float = 0.0, **fields: Any) -> NoteMatch:
    """A match with a vector; with a word too, if it has a BM25."""
    return replace(match(name, bm25, (ZEBRA,) if bm25 else (), **fields), cosine=cosine)


def relevance(*matches: NoteMatch, blend: Blend = FUSED, query: tuple[Term, ...] = (ZEBRA,)) -> dict[str, Any]:
    """Score each match without boosts, which are the same for all of them."""
    frequencies = {term: FREQUENCIES[term] for term in query}
    hits = rank(SearchMatches(matches, frequencies, 100), Boosts("shop"), blend)
    return {hit.id: pytest.approx(hit.score * MOST, abs=2e-4) for hit in hits}


def test_relevance_is_seven_parts_meaning_and_three_parts_words() -> None:
    found = relevance(make_match("a", 0.8, 1.0), make_match("b", 0.4, 2.0), make_match("c", 0.4))
    assert found == {"a": 0.7 + 0.3 * 0.5, "b": 0.7 * 0.5 + 0.3, "c": 0.7 * 0.5}


def test_a_literal_in_the_query_gives_words_their_half() -> None:
    matches = (make_match("a", 0.8), make_match("b", 0.4, 2.0), make_match("c", 0.4, 1.0))
    assert relevance(*matches, query=(ZEBRA, LITERAL)) == {"a": 0.5, "b": 0.75, "c": 0.5}


def test_an_exact_identifier_ranks_before_the_same_topic() -> None:
    exact = replace(make_match("exact", 0.5, 2.0), terms=(LITERAL,))
    found = SearchMatches((make_match("about", 0.7), exact), {LITERAL: 1}, 100)
    assert [hit.id for hit in rank(found, Boosts("shop"))] == ["exact", "about"]


def test_meaning_is_measured_from_nothing_to_the_nearest_candidate() -> None:
    found = relevance(make_match("nearest", 0.8), make_match("half", 0.4), make_match("against", -0.3, 1.0))
    assert found == {"nearest": 0.7, "half": 0.35, "against": 0.3}


def test_equally_close_notes_are_ordered_by_words() -> None:
    found = relevance(make_match("a", 0.4, 1.0), make_match("b", 0.4, 2.0), make_match("c", 0.4))
    assert found == {"a": 0.7 + 0.15, "b": 1.0, "c": 0.7}


def test_a_note_without_a_vector_is_ranked_by_words() -> None:
    assert relevance(make_match("a", 0.8, 1.0), make_match("b", None, 2.0)) == {"a": 0.85, "b": 1.0}


def test_where_meaning_had_no_part_words_decide_alone() -> None:
    assert order(match("weak", 1.0), match("strong", 2.0)) == ["strong", "weak"]


HALF = {Term(f"asked{number}"): 1 for number in range(10)}


def covering(name: str, words: int, *, cosine: float | None, bm25: float = 1.0, **fields: Any) -> NoteMatch:
    """A match with this many of ten query terms."""
    return replace(match(name, bm25, tuple(HALF)[:words], **fields), cosine=cosine)


def of_ten(*matches: NoteMatch, blend: Blend = FUSED, more: dict[Term, int] | None = None) -> dict[str, Any]:
    hits = rank(SearchMatches(matches, HALF | (more or {}), 100), Boosts("shop"), blend)
    return {hit.id: pytest.approx(hit.score * MOST, abs=2e-4) for hit in hits}


def test_low_coverage_counts_nothing_with_a_cosine() -> None:
    ranked = of_ten(covering("few", 3, cosine=0.4), covering("enough", 4, cosine=0.4))
    assert ranked == {"few": 0.7, "enough": 1.0}


def test_without_a_vector_few_words_count_too() -> None:
    assert of_ten(covering("few", 1, cosine=None), covering("enough", 4, cosine=0.4))["few"] == 1.0


def test_in_a_script_the_encoder_does_not_read_few_words_count_too() -> None:
    unread = covering("few", 1, cosine=0.4)
    unread = replace(unread, memory=replace(unread.memory, body="海象在码头上睡觉"))
    assert of_ten(unread) == {"few": 0.2 + 0.8}


def test_a_name_counts_at_any_coverage() -> None:
    named = replace(covering("named", 0, cosine=0.4), terms=(LITERAL,))
    ranked = of_ten(named, covering("few", 1, cosine=0.4), more={LITERAL: 1})
    assert ranked == {"named": 0.5 + 0.5, "few": 0.5}
    common = of_ten(named, covering("few", 1, cosine=0.4), more={LITERAL: 40})
    assert common["named"] == common["few"]


def test_how_small_a_part_counts_nothing_is_the_blends_to_say() -> None:
    few = covering("few", 1, cosine=0.4)
    assert of_ten(few, blend=replace(FUSED, least_coverage=0.0)) == {"few": 1.0}
    assert of_ten(few, blend=KEYWORDS) == {"few": 1.0}


def length_costs(characters: int, blend: Blend = FUSED) -> float:
    """How much less relevant a note of this length is than a short one that is as near."""
    long = make_match("long", 0.5)
    ranked = of_ten(
        make_match("short", 0.5), replace(long, memory=replace(long.memory, body="x" * characters)), blend=blend
    )
    return float(ranked["short"].expected - ranked["long"].expected)


@pytest.mark.parametrize("characters", [0, 10, PASSAGE_CHARACTERS])
def test_a_note_of_one_passage_loses_nothing_by_its_length(characters: int) -> None:
    assert length_costs(characters) == 0


def test_the_longer_a_note_the_more_of_its_nearness_it_loses_but_never_much() -> None:
    costs = [length_costs(PASSAGE_CHARACTERS * passages) for passages in (2, 10, 100)]
    assert 0 < costs[0] < costs[1] < costs[2] < 0.3
    assert length_costs(50_000, COSINE) == 0


def test_a_long_note_that_is_hardly_near_is_not_pushed_below_nothing() -> None:
    long = make_match("long", 0.11)
    long = replace(long, memory=replace(long.memory, body="x" * 500_000))
    assert of_ten(make_match("short", 0.5), long) == {"short": 0.7, "long": 0.0}


def test_a_hit_has_its_full_cosine_at_any_length() -> None:
    long = make_match("long", 0.5)
    (hit,) = rank(make_matches(replace(long, memory=replace(long.memory, body="x" * 5_000))))
    assert hit.cosine == 0.5


def test_keywords_alone_know_nothing_of_what_is_near() -> None:
    found = relevance(
        make_match("near", 0.9), make_match("weak", 0.8, 1.0), make_match("strong", 0.2, 2.0), blend=KEYWORDS
    )
    assert found == {"strong": 1.0, "weak": 0.5}


def test_the_cosine_alone_knows_nothing_of_words() -> None:
    found = relevance(
        make_match("near", 0.8), make_match("weak", 0.4, 1.0), make_match("strong", 0.2, 2.0), blend=COSINE
    )
    assert found == {"near": 1.0, "weak": 0.5, "strong": 0.25}


@pytest.mark.parametrize(
    ("cosine", "bm25", "kept"),
    [(0.0999, 0.0, False), (CHANCE, 0.0, True), (0.0999, 1.0, True), (-0.5, 1.0, True), (None, 1.0, True)],
)
def test_a_match_without_common_words_needs_more_than_a_chance_cosine(
    cosine: float | None, bm25: float, kept: bool
) -> None:
    found = relevance(make_match("best", 0.9, 2.0), make_match("it", cosine, bm25))
    assert ("it" in found) == kept


@pytest.mark.parametrize(
    ("cosine", "bm25", "source"), [(None, 1.0, "keyword"), (0.5, 0.0, "cosine"), (0.5, 1.0, "both")]
)
def test_a_hit_has_its_source(cosine: float | None, bm25: float, source: str) -> None:
    (hit,) = rank(SearchMatches((make_match("a", cosine, bm25),), {ZEBRA: 1}, 100), Boosts("shop"))
    assert (hit.source, hit.cosine) == (source, cosine)


def test_every_hit_says_why_meaning_did_not_count() -> None:
    hits = rank(SearchMatches((match("a"), match("b")), FREQUENCIES, 100, degraded="no weights"), Boosts("shop"))
    assert [hit.degraded for hit in hits] == ["no weights", "no weights"]


_links = st.fixed_dictionaries(
    {
        "superseded_by": st.sampled_from(("", "[[note-1-------]]", "[[note-2-------]]")),
        "related": st.sampled_from(((), ("[[note-0-------]]",), ("[[note-1-------]]", "[[note-3-------]]"))),
    }
)
_found = st.tuples(
    st.one_of(st.none(), st.sampled_from((0.3, 0.5)), st.floats(-1, 1)),
    st.sampled_from((0.0, 0.5, 2.0)),
    st.tuples(_fields, _links).map(lambda both: both[0] | both[1]),
)
_blend = st.sampled_from((FUSED, KEYWORDS, COSINE))


@settings(max_examples=examples(150))
@given(st.lists(_found, min_size=1, max_size=8), st.randoms(use_true_random=False), _blend)
def test_the_order_does_not_depend_on_the_order_of_finding_and_scores_are_between_nothing_and_one(
    parts: list[tuple[float | None, float, dict[str, Any]]], random: Any, blend: Blend
) -> None:
    matches = [
        make_match(str(n).ljust(8, "-"), cosine, bm25, **fields) for n, (cosine, bm25, fields) in enumerate(parts)
    ]
    ranked = rank(SearchMatches(tuple(matches), FREQUENCIES, 100), Boosts("shop", ("src/x.py",)), blend)
    random.shuffle(matches)
    assert rank(SearchMatches(tuple(matches), FREQUENCIES, 100), Boosts("shop", ("src/x.py",)), blend) == ranked
    assert all(0 <= hit.score <= 1 for hit in ranked)


@given(_fields, _fields, st.floats(0.11, 0.4))
def test_nudges_together_cannot_overturn_a_clear_difference_in_meaning(
    better: dict[str, Any], worse: dict[str, Any], cosine: float
) -> None:
    matches = (make_match("z", cosine * 1.01 * MOST / LEAST, **better), make_match("a", cosine, **worse))
    ordered = [hit.id for hit in rank(SearchMatches(matches, {}, 100), Boosts("shop", ("src/x.py",)))]
    assert ordered == ["z", "a"]


# --- names --------------------------------------------------------------------------------------------------------


def test_a_named_note_scores_like_the_best_by_words() -> None:
    ranked = rank(make_matches(match("short", 9.0), match("long", 1.0, terms=(LITERAL,))), Boosts("shop"))
    assert ranked[0].score == ranked[1].score


@pytest.mark.parametrize("frequency", [4, 40])
def test_a_literal_in_many_notes_is_not_a_name(frequency: int) -> None:
    matches = (match("short", 9.0), match("long", 1.0, terms=(LITERAL,)))
    ranked = rank(SearchMatches(matches, FREQUENCIES | {LITERAL: frequency}, 100), Boosts("shop"))
    assert ranked[0].score > 5 * ranked[1].score


def test_a_note_must_contain_both_of_two_names() -> None:
    other = Term("v3.3.0", literal=True)
    matches = (match("short", 9.0), match("one", 1.0, terms=(LITERAL,)), match("both", 1.0, terms=(LITERAL, other)))
    ranked = {hit.id: hit.score for hit in rank(SearchMatches(matches, FREQUENCIES | {other: 1}, 100), Boosts("shop"))}
    assert ranked["short"] == ranked["both"] > ranked["one"]


# --- scripts that the encoder does not read -----------------------------------------------------------------------

HAN = Term("连接")


def in_han(*matches: NoteMatch, multilingual: bool = False) -> SearchMatches:
    return SearchMatches(matches, {HAN: 1}, 100, multilingual=multilingual)


def test_in_a_script_the_encoder_does_not_read_words_decide() -> None:
    said, near = replace(match("said", 2.0, (HAN,)), cosine=0.3), replace(match("near", 1.0, (HAN,)), cosine=0.9)
    assert [hit.id for hit in rank(in_han(said, near), Boosts("shop"))] == ["said", "near"]
    assert [hit.id for hit in rank(in_han(said, near, multilingual=True), Boosts("shop"))] == ["near", "said"]


def test_a_cosine_alone_is_no_match_for_a_query_in_an_unread_script() -> None:
    near = replace(match("near", 0.0, ()), cosine=0.9)
    assert rank(in_han(near), Boosts("shop")) == []
    (hit,) = rank(in_han(near, multilingual=True), Boosts("shop"))
    assert hit.understood


@pytest.mark.parametrize(
    ("terms", "understood"), [((), True), ((ZEBRA,), True), ((HAN,), False), ((HAN, ZEBRA, STRIPES), True)]
)
def test_the_script_of_a_query_is_that_of_most_of_it(terms: tuple[Term, ...], understood: bool) -> None:
    assert SearchMatches((match("a"),), dict.fromkeys(terms, 1), 100).encoder_reads() == [understood]


def test_a_cosine_alone_is_no_match_for_a_note_in_an_unread_script() -> None:
    unread = match("unread", 0.0, ())
    unread = replace(unread, cosine=0.9, memory=replace(unread.memory, body="数据库连接池的大小"))
    read = replace(match("read", 0.0, ()), cosine=0.4)
    one = SearchMatches((unread, read), {ZEBRA: 0}, 100)
    assert [hit.id for hit in rank(one, Boosts("shop"))] == ["read"]
    assert [hit.id for hit in rank(replace(one, multilingual=True), Boosts("shop"))] == ["unread", "read"]
