"""The relation of a new statement to an old one: labelled pairs, properties of any text, and titles."""

import re
import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memem.compare.relation import CHANGED, CONTAINED, CONTAINS, NEAR, OTHER, RELATIONS, SAME, Comparison, Difference
from memem.compare.replacements import Statement
from memem.compare.statements import compare
from memem.compare.tokens import words as word_list
from tests.compare.pairs import PAIRS, Labelled

MIRRORED = {CONTAINS: CONTAINED, CONTAINED: CONTAINS}
STATEMENTS = sorted({text for pair in PAIRS for text in (pair.old, pair.new)})
APART = (NEAR, OTHER)
EXCHANGED = "new after by without old never xyz or from only must my for if before all with on".split()
WORD = re.compile(r"(?<![^ ])[a-zA-Z]+ ")
ASIDE = "The espresso machine beside the lift is called Bruno."

statements = st.sampled_from(STATEMENTS)
texts = st.one_of(statements, st.text(max_size=80), st.text(string.printable, max_size=80))


def _compared(old: str, new: str) -> Comparison:
    return compare(Statement(old), Statement(new))


def _relation(old: str, new: str) -> str:
    return _compared(old, new).relation


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.kind}: {pair.old[:30]} | {pair.new[:30]}")
def test_a_labelled_pair_ends_as_it_is_labelled(pair: Labelled) -> None:
    compared = _compared(pair.old, pair.new)
    assert (compared.relation, compared.replaces) == (pair.relation, pair.replaces)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.kind}: {pair.old[:30]} | {pair.new[:30]}")
def test_a_labelled_pair_reads_the_same_from_the_other_side(pair: Labelled) -> None:
    assert _relation(pair.new, pair.old) == MIRRORED.get(pair.relation, pair.relation)


def test_only_changed_pairs_have_differences() -> None:
    for pair in PAIRS:
        assert bool(_compared(pair.old, pair.new).differences) == (pair.relation == CHANGED), pair


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ("Redis listens on port 6379.", "Redis listens on port 6380.", Difference("number", "6379", "6380")),
        ("Flag X is on.", "Flag X is off.", Difference("negation", "on", "off")),
        (
            "We moved from npm to pnpm.",
            "We moved from pnpm to npm.",
            Difference("direction", "npm -> pnpm", "pnpm -> npm"),
        ),
        ("The TTL is 300 ms.", "The TTL is 300 s.", Difference("unit", "300 ms", "300 s")),
        ("Clients talk to the v1 API.", "Clients talk to the v2 API.", Difference("version", "v1", "v2")),
        ("The default branch is main.", "The default branch is master.", Difference("value", "main", "master")),
        ("We use npm.", "We switched from npm to pnpm.", Difference("replaced", "npm", "")),
        ("Commits must be signed.", "Commits may be signed.", Difference("negation", "must", "may")),
        ("The entry is `parseUrl`.", "The entry is `parseURL`.", Difference("name", "parseUrl", "parseURL")),
        ("Cache it.", "Cache it not.", Difference("negation", "", "not")),
        ("Refunds are possible.", "Refunds are impossible.", Difference("negation", "possible", "impossible")),
        ("Write to the log.", "Write from the log.", Difference("negation", "to", "from")),
    ],
)
def test_a_difference_is_named_by_its_kind(old: str, new: str, difference: Difference) -> None:
    assert difference in _compared(old, new).differences


@given(texts)
def test_a_text_is_the_same_as_itself(text: str) -> None:
    assert _relation(text, text) == SAME


@given(texts, texts)
def test_any_two_texts_compare_and_mirror_each_other(one: str, other: str) -> None:
    relation = _relation(one, other)
    assert relation in RELATIONS
    assert _relation(other, one) == MIRRORED.get(relation, relation)


@given(statements, st.sampled_from(["  {}", "{}\n", "**{}**", "- {}", "> {}", "{}\u200b", "# {}"]))
def test_markdown_and_white_space_around_a_statement_leave_it_the_same(text: str, frame: str) -> None:
    assume(not text.startswith(("-", "*", "#")))
    assert _relation(text, frame.format(text)) == SAME


@pytest.mark.parametrize("text", [text for text in STATEMENTS if "?" not in text])
def test_a_sentence_more_contains_what_was_there(text: str) -> None:
    longer = f"{text}\n{ASIDE}"
    assert _relation(text, longer) == CONTAINS
    assert _relation(longer, text) == CONTAINED


@given(st.data())
def test_a_changed_digit_is_never_the_same_and_never_contained(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([text for text in STATEMENTS if re.search(r"[0-9]", text)]))
    place = data.draw(st.sampled_from([found.start() for found in re.finditer("[0-9]", text)]))
    digit = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != text[place]]))
    changed = text[:place] + digit + text[place + 1 :]
    assert _relation(text, changed) not in (SAME, CONTAINS, CONTAINED)


@given(st.data())
def test_an_inserted_not_is_never_the_same_and_never_contained(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([text for text in STATEMENTS if text.isascii()]))
    words = text.split(" ")
    place = data.draw(st.integers(0, len(words)))
    denied = " ".join([*words[:place], "not", *words[place:]])
    assert _relation(text, denied) not in (SAME, CONTAINED)
    assert _relation(denied, text) not in (SAME, CONTAINED)


@given(st.data())
def test_a_word_for_another_is_never_the_same_and_never_contained(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([text for text in STATEMENTS if text.isascii() and WORD.search(text)]))
    place, word = data.draw(st.sampled_from([(i, word) for i, word in enumerate(text.split(" ")) if word.isalpha()]))
    other = data.draw(st.sampled_from([other for other in EXCHANGED if other not in re.split(r"\W+", text.lower())]))
    assume(word.lower() not in word_list("ignored"))
    words = text.split(" ")
    changed = " ".join([*words[:place], other, *words[place + 1 :]])
    assert _relation(text, changed) not in (SAME, CONTAINS, CONTAINED)


@given(st.data())
def test_an_exchanged_name_is_never_the_same_and_never_contained(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([text for text in STATEMENTS if "Redis" in text or "pytest" in text]))
    name = "Redis" if "Redis" in text else "pytest"
    assert _relation(text, text.replace(name, "Quxly")) not in (SAME, CONTAINS, CONTAINED)


def test_no_correction_counts_as_known() -> None:
    told = {(pair.old, pair.new): _relation(pair.old, pair.new) for pair in PAIRS if pair.relation == CHANGED}
    assert len(told) > 100
    assert not {SAME, CONTAINED, OTHER} & set(told.values())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The hook is called before the render.", "The hook is called after the render."),
        ("The handler called by the client returns JSON.", "The handler called by the client returns XML."),
        ("Modules use named exports.", "Modules use no named exports."),
    ],
)
def test_called_by_and_named_parts_are_not_names(old: str, new: str) -> None:
    assert _relation(old, new) == CHANGED


@pytest.mark.parametrize(
    "subject",
    ["Worker {}", "Service number {} of the shop", "Shard-{}", "Phase {} of the move", "#{}", "The port of node {}"],
)
def test_another_number_of_a_thing_is_another_thing(subject: str) -> None:
    third, fourth = subject.format(3), subject.format(4)
    assert _relation(f"{third} is in Oslo.", f"{fourth} is in Turin.") in APART
    assert _relation(f"{third} is in Oslo.", f"{fourth} is in Oslo.") in APART
    assert _relation(f"{third} is in Oslo. It has 5 cores.", f"{third} is in Oslo. It has 9 cores.") == CHANGED


@pytest.mark.parametrize("said", ["Python {} is required.", "Retries: {}"])
def test_a_version_a_port_and_a_count_are_values_of_what_they_stand_with(said: str) -> None:
    assert _relation(said.format(3), said.format(4)) == CHANGED


@pytest.mark.parametrize(
    ("wider", "narrower"),
    [
        ("The API is slow.", "The new API is slow."),
        ("Redis or Memcached holds the sessions.", "Redis holds the sessions."),
        ("Use Redis or Postgres.", "Use Redis."),
        ("Tests run in CI.", "Tests should run in CI."),
        ("The debug switch keeps the logs.", "The debug switch keeps the logs only."),
        ("The job ends at 6 am.", "The job ends at 6."),
        ("My editor is vim.", "Your editor is vim."),
        ("The editor is vim.", "My editor is vim."),
        ("Deploy on Fridays.", "Deploy on Fridays. Not."),
    ],
)
def test_wider_and_narrower_statements_differ(wider: str, narrower: str) -> None:
    assert _relation(wider, narrower) not in (SAME, CONTAINS, CONTAINED)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ana is the lead of search.", "Bo was the lead of search."),
        ("The parser is slow.", "The parser is new fancy stuff."),
        ("Fact number 3 haunts the proxy.", "Fact number 4 haunts the mailer."),
        ("In phase 2 the import takes 5 s.", "In phase 3 the import takes 9 s."),
        ("The import takes 5 s in phase 2.", "The import takes 9 s in phase 3."),
    ],
)
def test_compatible_statements_do_not_contradict(old: str, new: str) -> None:
    assert _relation(old, new) in (NEAR, OTHER)


def test_a_title_with_a_number_tells_one_thing_from_another() -> None:
    old, new = Statement("The limit is 5 MB.", "Worker 3"), Statement("The limit is 6 MB.", "Worker 4")
    assert compare(old, new).relation == OTHER


def test_a_title_tells_what_a_text_leaves_out() -> None:
    redis, postgres = Statement("The port is 6379.", "Redis"), Statement("The port is 5432.", "Postgres")
    assert compare(redis, postgres).relation == OTHER
    assert compare(redis, Statement("The port is 6380.", "Redis")).relation == CHANGED
    assert compare(redis, Statement("The port is 6380.")).relation == CHANGED


def test_the_same_text_under_the_titles_of_two_things_is_not_the_same() -> None:
    assert compare(Statement("The port is 80.", "Nginx"), Statement("The port is 80.", "Caddy")).relation == OTHER


def test_a_text_that_says_nothing_is_the_same_only_as_itself() -> None:
    assert _relation("", "") == SAME
    assert _relation("...", "!!!") == OTHER
    assert _relation("", "Use pnpm.") == OTHER


def test_a_sentence_that_refers_back_is_only_known_behind_what_it_refers_to() -> None:
    old = "Redis is the cache. It listens on 6379. Postgres is the database. It listens on 5432."
    assert _relation(old, "Redis is the cache. It listens on 6379.") == CONTAINED
    assert _relation(old, "Redis is the cache. It listens on 5432.") not in (SAME, CONTAINED)


def test_words_that_lead_in_or_say_from_when_on_are_no_part_of_what_is_said() -> None:
    for said in ("Note: use ruff.", "Please note that use ruff.", "Use ruff from now on.", "Update: use ruff."):
        assert _relation("Use ruff.", said) == SAME
    assert _relation("Answers are in French.", "Answers are in Spanish from now on.") == CHANGED


def test_equal_sentences_about_other_names_are_no_contradiction() -> None:
    old = "Redis is our cache. The port is 6379."
    assert _relation(old, "Postgres is our database. The port is 5432.") in APART
    assert _relation(old, "Redis is our cache. The port is 6380.") == CHANGED
