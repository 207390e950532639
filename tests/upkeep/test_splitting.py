"""A memory that says many things is parted where each can stand by itself, and nowhere else."""

from typing import Any

import pytest

from memem.core.memory import Memory
from memem.upkeep.curation_rules import split_parts

CENTS = "Invoices are rounded to whole cents before tax."
NIGHT = "The staging cluster sleeps at night to save money."
SHOTS = "Screenshots belong into the folder docs/img of every release."


def split(body: str, title: str = "", **stated: Any) -> tuple[str, ...]:
    return split_parts(Memory("0" * 8, title, body, **stated))


def test_bullets_lose_their_mark_and_keep_what_is_indented_below_them() -> None:
    assert split(f"- {CENTS}\n  Credit notes too.\n- {NIGHT}\n* {SHOTS}") == (
        f"{CENTS}\nCredit notes too.",
        NIGHT,
        SHOTS,
    )


def test_parts_that_share_a_word_stay_together() -> None:
    body = f"- {CENTS}\n- {NIGHT}\n- {SHOTS}\n- Credit notes refer to the invoices they correct."
    assert split(body) == (f"- {CENTS}\n- Credit notes refer to the invoices they correct.", NIGHT, SHOTS)


def test_what_refers_to_the_part_before_it_stays_with_it() -> None:
    body = f"- {CENTS}\n- {NIGHT}\n- It wakes when somebody pushes code.\n- {SHOTS}"
    assert split(body) == (CENTS, f"- {NIGHT}\n- It wakes when somebody pushes code.", SHOTS)


def test_the_name_of_the_project_is_no_common_subject() -> None:
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
def test_what_may_be_one_stays_one(body: str) -> None:
    assert split(body) == ()


def test_what_only_the_title_names_may_be_what_all_of_it_is_about() -> None:
    body = f"- {CENTS}\n- {NIGHT}\n- {SHOTS}"
    assert split(body, "Quirks of Odoo") == ()
    assert len(split(body, "Notes on invoices, staging and screenshots")) == 3


def test_a_procedure_is_never_parted() -> None:
    assert split(f"{CENTS}\n\n{NIGHT}\n\n{SHOTS}", kind="procedure") == ()
