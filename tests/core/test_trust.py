"""The origin of a memory limits its claims."""

from dataclasses import fields

import pytest

from memem.core.memory import Memory
from memem.core.trust import IMPORTED, OUTPUT, PERSON, PROSE, SAVED, SPEECH, Trust

CLAIMS = Memory(
    "66666666-aaaa-4aaa-8aaa-666666666666",
    "Claims",
    "It claims everything.",
    "shop",
    "convention",
    layer=0,
    importance=5,
    confidence=1.0,
    author="human",
    source_type="user",
)
EVERY = {"person": PERSON, "speech": SPEECH, "saved": SAVED, "prose": PROSE, "output": OUTPUT, "imported": IMPORTED}


@pytest.mark.parametrize("name", EVERY)
def test_author_and_source_are_those_of_the_way(name: str) -> None:
    held = EVERY[name].limited(CLAIMS)
    assert (held.author == "human") == (name == "person")
    assert held.source_type == EVERY[name].source_type


@pytest.mark.parametrize("name", [name for name in EVERY if name != "person"])
def test_only_a_person_pins(name: str) -> None:
    assert EVERY[name].limited(CLAIMS).layer > 0
    assert PERSON.limited(CLAIMS) == CLAIMS


@pytest.mark.parametrize("trust", [PROSE, OUTPUT])
@pytest.mark.parametrize("kind", ["convention", "preference"])
def test_words_of_claude_or_a_tool_state_no_rule(trust: Trust, kind: str) -> None:
    held = trust.limited(Memory("x", "", "Tabs.", kind=kind, layer=1, importance=5))
    assert (held.kind, held.layer) == ("fact", 2)
    assert held.importance <= 3


def test_trust_falls_from_a_person_to_a_tool() -> None:
    ladder = [PERSON, SPEECH, PROSE, OUTPUT]
    assert [each.confidence for each in ladder] == sorted({each.confidence for each in ladder}, reverse=True)
    assert [each.importance for each in ladder] == sorted((each.importance for each in ladder), reverse=True)
    assert not any((OUTPUT.rules, OUTPUT.pins, OUTPUT.rewrites, OUTPUT.proven))


def test_imported_memory_rewrites_nothing() -> None:
    assert not IMPORTED.rewrites


def test_a_claim_that_is_less_than_allowed_stays() -> None:
    modest = Memory("x", "", "Tabs.", importance=1, confidence=0.2, layer=3)
    for trust in EVERY.values():
        held = trust.limited(modest)
        assert (held.importance, held.confidence, held.layer) == (1, 0.2, 3)


def test_nothing_else_of_a_memory_is_touched() -> None:
    told = {each.name for each in fields(Memory)} - {
        *("kind", "importance", "layer", "confidence", "author", "source_type"),
    }
    held = OUTPUT.limited(CLAIMS)
    assert all(getattr(held, name) == getattr(CLAIMS, name) for name in told)
