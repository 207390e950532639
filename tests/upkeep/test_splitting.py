"""A note with several independent bullets is split; any other note stays whole."""

from typing import Any

import pytest

from memem.core.memory import Memory
from memem.upkeep.curation_rules import split_parts

CENTS = "Invoices are rounded to whole cents before tax."
NIGHT = "The staging cluster sleeps at night to save money."
SHOTS = "Screenshots belong into the folder docs/img of every release."


def split(body: str, title: str = "", **stated: Any) -> tuple[str, ...]:
    return split_parts(Memory("0" * 8, title, body, **stated))


def test_bullets_lose_their_mark_and_keep_indented_lines() -> None:
    assert split(f"- {CENTS}\n  Credit notes too.\n- {NIGHT}\n* {SHOTS}") == (
        f"{CENTS}\nCredit notes too.",
        NIGHT,
        SHOTS,
    )


def test_parts_that_share_a_word_stay_together() -> None:
    body = f"- {CENTS}\n- {NIGHT}\n- {SHOTS}\n- Credit notes refer to the invoices they correct."
    assert split(body) == (f"- {CENTS}\n- Credit notes refer to the invoices they correct.", NIGHT, SHOTS)


def test_bullet_that_refers_to_the_previous_one_stays_with_it() -> None:
    body = f"- {CENTS}\n- {NIGHT}\n- It wakes when somebody pushes code.\n- {SHOTS}"
    assert split(body) == (CENTS, f"- {NIGHT}\n- It wakes when somebody pushes code.", SHOTS)


def test_project_name_is_not_a_common_subject() -> None:
    body = (
        "- Walrus rounds invoices to cents.\n- Walrus sleeps on staging at night.\n- Walrus keeps screenshots in docs."
    )
    assert len(split(body, project="walrus")) == 3
    assert split(body) == ()


@pytest.mark.parametrize(
    "body",
    [
        f"{CENTS} {NIGHT} {SHOTS}",
        f"{CENTS}\n\n{NIGHT}\n\n{SHOTS}",
        "Staging is different.\n\nMetrics are scraped over port 8080 there.\n\nEmails land in mailhog.",
        f"- {CENTS}\n- {NIGHT}\n- Emails land in the mailhog inbox there.",
        f"- {CENTS}\n- {NIGHT}",
        f"Three things to know:\n\n- {CENTS}\n- {NIGHT}\n- {SHOTS}",
        f"1. {CENTS}\n2. {NIGHT}\n3. {SHOTS}",
        f"# Billing\n\n- {CENTS}\n- {NIGHT}\n- {SHOTS}",
        f"- {CENTS}\n- {NIGHT}\n```\nmake night\n```\n- {SHOTS}",
        f"- {CENTS}\n- {NIGHT}\n- {SHOTS}\n| a | b |\n|---|---|",
        f"- {CENTS}\n- {NIGHT}\n- {SHOTS}\n> as was said",
        f"- {CENTS}\n- {NIGHT}\n- {SHOTS} {'Every release has a folder of its own. ' * 110}",
        "- red\n- green\n- blue",
        f"- It depends.\n- {CENTS}\n- {NIGHT}\n- {SHOTS}",
    ],
    ids=[
        "sentences",
        "paragraphs",
        "scene",
        "there",
        "two",
        "lead-in",
        "steps",
        "sections",
        "code",
        "table",
        "quotation",
        "document",
        "words",
        "pronoun",
    ],
)
def test_text_that_may_be_one_statement_is_not_split(body: str) -> None:
    assert split(body) == ()


def test_subject_named_only_by_the_title_prevents_a_split() -> None:
    body = f"- {CENTS}\n- {NIGHT}\n- {SHOTS}"
    assert split(body, "Quirks of Odoo") == ()
    assert len(split(body, "Notes on invoices, staging and screenshots")) == 3


def test_procedure_is_never_split() -> None:
    assert split(f"{CENTS}\n\n{NIGHT}\n\n{SHOTS}", kind="procedure") == ()
