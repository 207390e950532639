"""The memories of a playbook: section and order."""

from typing import Any

import pytest

from memem.core.memory import Memory
from memem.pages.playbook_page import PlaybookCandidate, choose_memories, section_of
from memem.pages.read_playbook import CONVENTIONS, DECISIONS, ENVIRONMENT, IDENTITY, SECTIONS, TRAPS

DAY = 86_400.0


def memory(number: int = 1, body: str = "It is so.", **more: Any) -> Memory:
    return Memory(f"{number:08}-0000-4000-8000-000000000000", f"Note {number}", body, "shop", **more)


def order(*candidates: PlaybookCandidate) -> list[int]:
    return [int(found.id8) for _, found in choose_memories(candidates)]


@pytest.mark.parametrize(
    ("more", "section"),
    [
        ({"layer": 0, "kind": "decision"}, IDENTITY),
        ({"layer": 1, "kind": "fact"}, CONVENTIONS),
        ({"kind": "preference"}, CONVENTIONS),
        ({"kind": "decision"}, DECISIONS),
        ({"kind": "lesson"}, TRAPS),
        ({"kind": "lesson", "layer": 1}, TRAPS),
        ({"kind": "fact", "tags": ("memem", "Gotcha")}, TRAPS),
        ({"kind": "procedure"}, ENVIRONMENT),
        ({"kind": "decision", "layer": 3}, None),
        ({"kind": "fact"}, None),
        ({"kind": "musing"}, None),
    ],
)
def test_kind_layer_and_tags_determine_the_section(more: dict[str, Any], section: int | None) -> None:
    assert section_of(memory(**more)) == section


@pytest.mark.parametrize(
    "body",
    [
        "Staging listens on port 8443.",
        "SHOP_DB_URL names the database.",
        "Logs are in /var/log/shop.",
        "The schema is in db/schema.sql.",
        "It needs Python 3.12.",
        "Nightly jobs run on the CI server.",
        "See https://wiki.example.com for it.",
    ],
)
def test_fact_about_deployment_is_environment(body: str) -> None:
    assert section_of(memory(body=body)) == ENVIRONMENT


def test_order_is_by_importance_then_use_then_recency() -> None:
    small = PlaybookCandidate(memory(1, kind="lesson", importance=2, author="model"), 100 * DAY, 1.08)
    great = PlaybookCandidate(memory(2, kind="lesson", importance=5, author="model"), 90 * DAY, 0.92)
    used = PlaybookCandidate(memory(3, kind="lesson", author="model"), 90 * DAY, 1.05)
    old = PlaybookCandidate(memory(4, kind="lesson", author="model"), 10 * DAY)
    new = PlaybookCandidate(memory(5, kind="lesson", author="model"), 90 * DAY)
    assert order(small, old, new, used, great) == [2, 3, 5, 4, 1]


def test_a_persons_note_comes_before_a_machines() -> None:
    assert order(
        PlaybookCandidate(memory(1, kind="lesson", author="model"), DAY),
        PlaybookCandidate(memory(2, kind="lesson"), DAY),
    ) == [
        2,
        1,
    ]


def test_sections_take_turns() -> None:
    kinds = [{"layer": 0}, {"layer": 1}, {"kind": "decision"}, {"kind": "lesson"}, {"kind": "procedure"}]
    many = [PlaybookCandidate(memory(number, **kinds[number % 5]), DAY) for number in range(50)]  # type: ignore[arg-type]
    first = [section for section, _ in choose_memories(many)][:7]
    assert set(first) == set(SECTIONS)
    assert (first.count(DECISIONS), first.count(TRAPS)) == (2, 2)


def test_the_order_does_not_depend_on_the_day() -> None:
    several = [memory(number, kind="lesson", importance=number % 3 + 1) for number in range(9)]
    at = [
        [PlaybookCandidate(each, start + number * DAY) for number, each in enumerate(several)]
        for start in (0.0, 900 * DAY)
    ]
    assert order(*at[0]) == order(*at[1])
    assert order(*reversed(at[0])) == order(*at[0])
