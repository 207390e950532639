"""Which of two memories can go: none that says anything the other does not, and never a person's."""

from typing import Any

import pytest
from hypothesis import example, given

from memem.compare.relation import CONTAINED, CONTAINS, NEAR, SAME
from memem.core.memory import Entry, Memory
from memem.upkeep import curation_rules
from memem.upkeep.curation_rules import merge, relation, says, sentences_of
from tests.compare.pairs import PAIRS, Labelled
from tests.compare.test_comparing import texts

WRAPPED = "Commits are small and their first line is an imperative. Ticket numbers go\ninto the last line."


def memory(body: str, **stated: Any) -> Memory:
    return Memory(**{"id": "0" * 8, "title": "", "body": body, "author": "model", **stated})


def entry(identity: str, body: str, **stated: Any) -> Entry:
    return Entry(memory(body, id=identity * 8, **stated), f"memories/{identity}.md")


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.kind}: {pair.old[:30]} | {pair.new[:30]}")
def test_labelled_pair_is_merged_only_if_nothing_differs(pair: Labelled) -> None:
    found = relation(memory(pair.old), memory(pair.new), likeness=1.0, cosine=1.0)
    if pair.relation == SAME:
        assert found == SAME
    elif pair.relation in (CONTAINS, CONTAINED):
        assert found in (pair.relation, "")
    else:
        assert found == ""


@pytest.mark.parametrize(
    ("general", "narrower"),
    [
        ("Contractors can push to the repository.", "Contractors can push to the repository with approval."),
        ("Sessions expire after one hour.", "Guest sessions expire after one hour."),
        ("Customers get a full refund.", "Premium customers get a full refund."),
        ("Backups are encrypted.", "Backups are encrypted, supposedly."),
        ("Dates are stored in UTC.", "Dates are stored in UTC in the reporting tables."),
        ("Errors are reported to Sentry.", "Errors are reported to Sentry on weekdays."),
        ("The cluster is scaled by hand.", "The cluster is scaled by hand at night."),
        ("Reminders go to all members.", "Reminders go to all active members."),
        ("Users may delete comments.", "Users may delete their own comments."),
        ("Retry failed payments three times.", "Retry failed payments three times in staging, never in production."),
        ("Squash with `git rebase`.", "Squash with `git rebase -i`."),
    ],
)
def test_a_statement_is_not_part_of_a_narrower_one(general: str, narrower: str) -> None:
    one, other = memory(general), memory(narrower)
    assert relation(one, other, likeness=1.0, cosine=1.0) == ""
    assert relation(other, one, likeness=1.0, cosine=1.0) == ""


def test_whole_sentences_of_a_longer_note_are_part_of_it() -> None:
    one, other = memory("Use ruff for formatting."), memory("Use ruff for formatting. Line length is 120.")
    assert relation(one, other, likeness=0.0) == CONTAINS
    assert relation(other, one, likeness=0.0) == CONTAINED


def test_near_texts_are_merged_only_if_very_similar() -> None:
    one = memory("Log files of the search service on atlas rotate daily and stay on disk.")
    other = memory("The log files of the search service at atlas rotate daily, and they stay on the disk.")
    assert relation(one, other, likeness=curation_rules.MIN_LIKENESS) == NEAR
    assert relation(one, other, likeness=0.0, cosine=curation_rules.MIN_COSINE) == NEAR
    assert relation(one, other, likeness=0.5, cosine=0.9) == ""
    assert relation(one, other, likeness=0.5) == ""


@example(WRAPPED, WRAPPED)
@given(texts, texts)
def test_whatever_goes_every_sentence_of_it_is_in_what_stays(old: str, new: str) -> None:
    one, other = entry("a", old), entry("b", new)
    found = relation(one.memory, other.memory, likeness=1.0, cosine=1.0)
    merged = merge(one, other, found, frozenset()) if found else None
    if merged and found != SAME:
        left = "\n\n".join((merged.kept.body, *merged.added))
        assert all(says(left, sentence) for sentence in sentences_of(merged.ended.body))


def test_rule_gets_no_sentence_of_a_memory_that_is_none() -> None:
    text = "Log files of the search service on atlas rotate daily and stay on disk."
    said = "The log files of the search service at atlas rotate daily, and they stay on the disk."
    rule, other = entry("a", text, kind="convention", layer=1), entry("b", said)
    assert merge(rule, other, NEAR, frozenset()) is None
    assert merge(rule, entry("c", said, kind="convention", layer=1), NEAR, frozenset()) is not None


def test_persons_note_stays_of_two_equal_ones() -> None:
    one, other = entry("a", "Tokens expire.", importance=5), entry("b", "Tokens expire.")
    chosen = merge(one, other, SAME, frozenset([other.id]))
    assert chosen is not None
    assert (chosen.kept, chosen.yours) == (other, "")


def test_merge_that_changes_a_persons_note_is_left_to_them() -> None:
    one, other = entry("a", "Tokens expire."), entry("b", "Tokens expire. We renew them.", keys=("JWT",))
    ended = merge(one, other, CONTAINS, frozenset([one.id]))
    assert ended is not None
    assert ended.yours == "aaaaaaaa is your own note"
    changed = merge(other, entry("c", "Tokens expire.", paths=("auth/**",)), CONTAINED, frozenset([other.id]))
    assert changed is not None
    assert changed.yours == "it would change bbbbbbbb, which is your own note"


def test_sentences_are_as_they_are_written_without_bullets() -> None:
    text = "Use ruff. Not black!\n\n- Run it in CI; always.\n会话过期。缓存也过期。\n---"
    assert sentences_of(text) == ("Use ruff.", "Not black!", "Run it in CI;", "always.", "会话过期。", "缓存也过期。")


def test_a_text_says_a_sentence_that_is_one_of_its_own() -> None:
    assert says("We use  **ruff** in CI. Not black.", "We use ruff in CI")
    assert not says("In CI we use ruff for everything.", "We use ruff.")
    assert not says("Migrations run before the deploy.", "Migrations run after the deploy.")
    assert not says("We use ruff.", "We do not use ruff.")
    assert not says("We do not use ruff.", "We use ruff and black.")
