"""A short answer approves what Claude proposed right before it, and no more."""

import pytest

from memem.mine.proof.approvals import MAX_CHARS, find_proposal

OPTIONS = """I looked at the queue. There are three ways:

1. **Outbox table**: events are written in the same transaction.
2. **Debezium**: reads the log of the database.

   It needs Kafka.
3. Publish after the commit, and accept lost events.

Which one do you want?"""
LETTERS = """Where do we keep sessions?

### Option A: Redis
Fast, but another service.

### Option B: Postgres
Slower; we have it already.

I would take B."""
QUESTION = """The tests pass now, the cache uses Redis 6.

I would like to move the job to a cron service, because the worker restarts every night.

Shall I go ahead?"""


@pytest.mark.parametrize(
    ("answer", "start", "end"),
    [
        ("1", "1. **Outbox table**", "same transaction."),
        ("1.", "1. **Outbox table**", "same transaction."),
        ("option 2", "2. **Debezium**", "It needs Kafka."),
        ("the second one please", "2. **Debezium**", "It needs Kafka."),
        ("let's do the last one", "3. Publish", "lost events."),
        ("3 please", "3. Publish", "lost events."),
    ],
)
def test_a_choice_is_the_item_of_the_list(answer: str, start: str, end: str) -> None:
    proposal = find_proposal(answer, OPTIONS)
    assert (proposal.startswith(start), proposal.endswith(end)) == (True, True), proposal


def test_several_choices_are_several_items() -> None:
    proposal = find_proposal("1 and 3", OPTIONS)
    assert "Outbox" in proposal
    assert "Publish" in proposal
    assert "Debezium" not in proposal


@pytest.mark.parametrize("answer", ["b", "B.", "option b", "Option B please"])
def test_options_may_have_letters(answer: str) -> None:
    proposal = find_proposal(answer, LETTERS)
    assert "Postgres" in proposal
    assert "Redis" not in proposal


@pytest.mark.parametrize("answer", ["4", "option 7", "c", "the fifth"])
@pytest.mark.parametrize("message", [OPTIONS, QUESTION])
def test_a_choice_that_is_not_there_approves_nothing(answer: str, message: str) -> None:
    assert find_proposal(answer, message) == ""


@pytest.mark.parametrize("answer", ["yes", "lgtm", "do it", "好的", "ja, mach das", "Sounds good, go ahead."])
def test_a_yes_approves_what_was_asked_and_not_what_was_reported(answer: str) -> None:
    proposal = find_proposal(answer, QUESTION)
    assert proposal.startswith("I would like to move")
    assert "Redis 6" not in proposal


DESIGN = """I read the code. The cache uses Redis 6.

---

**Data model**

```go
EndedAt *time.Time
```

- `nil` = session active

The field stands beside `StartedAt`.

---

Does this look right so far for the data model?"""


def test_a_yes_to_a_review_approves_the_section_that_it_is_about() -> None:
    proposal = find_proposal("yes continue", DESIGN)
    assert proposal.startswith("**Data model**")
    assert "`nil` = session active" in proposal
    assert "Redis 6" not in proposal


def test_a_message_without_a_question_is_approved_as_a_whole() -> None:
    assert (
        find_proposal("lgtm", "I will use tabs.\n\nAnd sort the targets.")
        == "I will use tabs.\n\nAnd sort the targets."
    )


def test_only_the_end_of_a_long_message_is_approved() -> None:
    assert find_proposal("yes", "Start. " + "x" * 5_000 + " End.") == ("x" * (MAX_CHARS - 5)) + " End."


@pytest.mark.parametrize("answer", ["no", "don't", "use pnpm instead", "why?", "", "the tests fail on 5433"])
def test_other_answers_approve_nothing(answer: str) -> None:
    assert find_proposal(answer, QUESTION if answer else "") == ""


def test_the_last_list_of_a_message_counts() -> None:
    message = "I did:\n1. tests\n2. docs\n\nNext:\n1. release 4.2\n2. wait for Monday\n"
    assert find_proposal("2", message) == "2. wait for Monday"


@pytest.mark.parametrize(
    "answer",
    ["n", "ok no", "yes, no", "please stop", "ok wait stop", "thats a no", "thanks, no", "不行", "不用", "好的，不用"],
)
@pytest.mark.parametrize("message", [QUESTION, OPTIONS])
def test_a_refusal_may_begin_politely(answer: str, message: str) -> None:
    assert find_proposal(answer, message) == ""


@pytest.mark.parametrize(
    "answer", ["yes?", "1?", "ok, 1?", "thanks!", "hi", "I see", "got it", "commit this", "...", "👎"]
)
def test_a_question_thanks_and_a_chore_approve_nothing(answer: str) -> None:
    assert find_proposal(answer, QUESTION) == find_proposal(answer, OPTIONS) == ""


@pytest.mark.parametrize("answer", ["1 or 2", "either", "either one works"])
def test_who_leaves_the_choice_to_claude_has_chosen_nothing(answer: str) -> None:
    assert find_proposal(answer, OPTIONS) == ""


@pytest.mark.parametrize("answer", ["没问题", "不错", "没错", "👍", "all", "all of them"])
def test_a_yes_may_be_a_sign_or_have_a_negation_in_chinese(answer: str) -> None:
    assert find_proposal(answer, QUESTION).startswith("I would like to move")


NESTED = """1. An outbox table.
2. Redis:
   1. install it
   2. run it as a service

```
1: a line of a file
```

Which one?"""
SECTIONS = """### Option A: Redis
1. install it

### Option B: Postgres

1. add a table
2. migrate

I would take B."""
MIXED = "A. Redis\n\n1. install it\n\nB. Postgres\n\n1. add a table\n\nI would take B."


@pytest.mark.parametrize(
    ("message", "answer", "proposal"),
    [
        (NESTED, "1", "1. An outbox table."),
        (NESTED, "2", "2. Redis:\n   1. install it\n   2. run it as a service"),
        (SECTIONS, "a", "### Option A: Redis\n1. install it"),
        (SECTIONS, "option b", "### Option B: Postgres"),
        (SECTIONS, "1", ""),
        (MIXED, "a", "A. Redis\n\n1. install it"),
        (MIXED, "1", ""),
        ("A. Redis\nB. Postgres\n\nNext:\n\n1. test\n2. release", "2", "2. release"),
    ],
)
def test_a_list_inside_an_item_is_part_of_it(message: str, answer: str, proposal: str) -> None:
    assert find_proposal(answer, message) == proposal


@pytest.mark.parametrize("question", ["Which one, Redis or Postgres?", "Redis or Postgres?", "What port do you want?"])
def test_a_yes_to_alternatives_chooses_none(question: str) -> None:
    assert find_proposal("yes", f"We need a store.\n\n{question}") == ""


def test_a_rule_before_a_question_is_no_proposal() -> None:
    message = "The jobs run in a cron service.\n\n---\n\nDoes this look right?"
    assert find_proposal("yes", message) == "The jobs run in a cron service.\n\nDoes this look right?"
