"""Whether a memory was used, by what stands in the answer; and what that counts for."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.memory import Memory
from memem.inject.usefulness import Exchange, describe_use, is_generic
from memem.search.query import Term
from memem.state.usefulness import multiplier

ID = "3f2c9a1e-8d1b-4c55-9a43-1f0e6f0d7a11"
MEMORY = Memory(ID, "Signing", "Tokens are signed in src/auth/token.py.", paths=("src/auth/**",))
PLAIN = Memory(ID, "Walrus", "The walrus of the harbour sleeps.")


def terms(*texts: str, literal: bool = False) -> list[Term]:
    return [Term(text, literal=literal) for text in texts]


def by_words(marks: list[Term], *said: str) -> str:
    return describe_use(PLAIN, marks, Exchange(" ".join(said), frozenset(said)))


# --- by its id ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["3f2c9a1e", "As memory 3f2c9a1e says.", f"({ID})", "[[signing-3f2c9a1e]]", "`3f2c9a1e`"]
)
def test_a_memory_whose_id_is_cited_was_used(text: str) -> None:
    assert describe_use(MEMORY, [], Exchange(text)) == "its id is in the answer"


@pytest.mark.parametrize("text", ["", "3f2c9a1", "03f2c9a1e", "3f2c9a1e0", "3f2c 9a1e"])
def test_what_only_looks_like_its_id_is_none(text: str) -> None:
    assert describe_use(MEMORY, [], Exchange(text)) == ""


@pytest.mark.parametrize("identity", ["database", "defaced-badface", "7", ""])
def test_an_id_that_may_be_a_word_is_no_citation(identity: str) -> None:
    assert describe_use(Memory(identity, "", ""), [], Exchange(f"the {identity} database defaced 7")) == ""


# --- by its files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "body"),
    [
        (("src/auth/**",), ""),
        (("src/auth/*.py",), ""),
        (("src/auth/token.py",), ""),
        (("**/token.py",), ""),
        ((), "See src/auth/token.py."),
        ((), "See `token.py`, which is generated."),
    ],
)
def test_a_memory_about_a_file_that_was_changed_was_used(paths: tuple[str, ...], body: str) -> None:
    memory = Memory(ID, "Title", body, paths=paths)
    answered = Exchange("Done.", files=("/srv/shop/a.py", "/srv/shop/src/auth/token.py"))
    assert describe_use(memory, [], answered) == "token.py, which it is about, was changed"


@pytest.mark.parametrize(
    ("paths", "body"),
    [
        (("src/**",), ""),
        (("**",), ""),
        (("*.py",), ""),
        (("src/carts/**",), ""),
        (("oken.py",), ""),
        ((), "All tokens are signed in auth, and py is python."),
        ((), "See other_token.py."),
    ],
)
def test_a_pattern_that_says_little_or_another_file_shows_nothing(paths: tuple[str, ...], body: str) -> None:
    memory = Memory(ID, "Title", body, paths=paths)
    assert describe_use(memory, [], Exchange("Done.", files=("/srv/shop/src/auth/token.py",))) == ""


@pytest.mark.parametrize("unbroken", ["a" * 100_000, "a/" * 50_000, "a." * 50_000, "ab12-" * 20_000])
def test_a_memory_that_holds_long_data_is_looked_through_at_once(unbroken: str) -> None:
    memory = Memory(ID, "Title", f"{unbroken} (see /src/auth/token.py:12)\n{unbroken}")
    began = time.process_time()
    assert describe_use(memory, [], Exchange("Done.", files=("/srv/shop/src/auth/token.py",))).startswith("token.py")
    assert describe_use(memory, [], Exchange("Done.", files=("/srv/shop/other.py",))) == ""
    assert time.process_time() - began < 1


@pytest.mark.parametrize("memory", [Memory(ID, "T", "See README.md."), Memory(ID, "T", "", paths=("README.md",))])
def test_a_file_that_every_project_has_shows_nothing(memory: Memory) -> None:
    assert describe_use(memory, [], Exchange("Done.", files=("/srv/shop/README.md",))) == ""


def test_a_file_that_the_person_named_needed_no_memory() -> None:
    answered = Exchange("Done.", files=("/srv/shop/src/auth/token.py",), prompts="please tidy up token.py")
    assert describe_use(MEMORY, [], answered) == ""


# --- by its words -------------------------------------------------------------------------------------------------


def test_an_identifier_in_the_answer_is_enough() -> None:
    marks = [*terms("walrus", "harbour", "gateway", "ledger"), *terms("rs256", literal=True)]
    assert by_words(marks, "rs256", "is", "walrus") == "the answer uses its words (rs256)"


@pytest.mark.parametrize("literal", ["8080", "10:30", "3.3.0", "token.py", "src/auth/token.py", "x86_64", "sha256"])
def test_a_number_a_file_or_what_everybody_writes_is_not_enough(literal: str) -> None:
    assert by_words([*terms(literal, literal=True), *terms("walrus", "harbour")], literal) == ""


def test_half_of_its_words_are_enough_when_they_are_three() -> None:
    marks = terms("walrus", "harbour", "pier", "sleep", "winter", "moustache")
    assert by_words(marks, "walrus", "harbour", "pier") == "the answer uses its words (walrus, harbour, pier)"
    assert by_words(marks, "walrus", "harbour") == ""
    assert by_words(marks[:2], "walrus", "harbour") == ""
    assert by_words([*marks, *terms("ice")], "walrus", "harbour", "pier") == ""


def test_generic_words_never_count() -> None:
    marks = terms("tests", "running", "committed", "configured", "files", "branches", "releasing")
    assert by_words(marks, *(mark.text for mark in marks)) == ""


@pytest.mark.parametrize("word", ["test", "tests", "tested", "testing", "storing", "fixes", "used_by_x", "a", ""])
def test_a_generic_word_is_generic_in_its_forms(word: str) -> None:
    assert is_generic(word) == (word != "used_by_x")


@pytest.mark.parametrize("word", ["walrus", "rs256", "gateway", "pgbouncer", "网关"])
def test_a_word_that_means_something_is_not(word: str) -> None:
    assert not is_generic(word)


def test_an_answer_about_something_else_shows_nothing() -> None:
    assert (
        describe_use(MEMORY, terms("gateway", "secret", "shares"), Exchange("Renamed.", frozenset({"renamed"}))) == ""
    )


# --- what it counts for -------------------------------------------------------------------------------------------

COUNTS = st.integers(0, 10_000).flatmap(lambda shown: st.tuples(st.just(shown), st.integers(0, shown)))


def test_nothing_known_changes_nothing() -> None:
    assert multiplier(0, 0) == 1.0


@given(COUNTS)
def test_it_stays_within_its_bounds(counts: tuple[int, int]) -> None:
    assert 0.92 <= multiplier(*counts) <= 1.08


@given(COUNTS)
def test_one_more_use_never_lowers_it_and_one_more_in_vain_never_lifts_it(counts: tuple[int, int]) -> None:
    shown, times = counts
    assert multiplier(shown + 1, times + 1) >= multiplier(shown, times) >= multiplier(shown + 1, times)


def test_little_evidence_counts_little() -> None:
    assert 1 < multiplier(1, 1) < 1.02 < multiplier(10, 10) < 1.08
    assert 1 > multiplier(1, 0) > 0.99 > multiplier(40, 0) > 0.92
