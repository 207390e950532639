"""Text that was not typed is removed from a message; every typed word stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.memory import Hit, Memory
from memem.safety import quote
from memem.transcript import harness

MEMORY = Memory(id="3f2c9a1e-7b", title="Signing", body="RS256.\n\n1. one\n- two\n## three", updated="2026-03-01T09:00")
OTHER = Memory(id="ab12cd34-99", title="Undated **", body="Undated.", project="other", status="stale")


def slice_of(*memories: Memory) -> str:
    facts = quote.list_facts(project="shop", branch="main", task_mode="debug", files=("a.py", "b.py"))
    pinned = [quote.render_pinned(each, 400) for each in memories]
    items = [quote.render_item(rank, Hit(each, "a.md", 1.0), "shop", 700) for rank, each in enumerate(memories, 1)]
    return quote.render_slice(facts + pinned, items)


SLICE = slice_of(MEMORY, OTHER)


@pytest.mark.parametrize(
    "element",
    [
        "<system-reminder>As you answer,\nuse this.</system-reminder>",
        "<ide_opened_file>The user opened /a.py.</ide_opened_file>",
        "<ide_selection>The user selected\nx = 1</ide_selection>",
        "<new-diagnostics>a.py: unused</new-diagnostics>",
        "<user-prompt-submit-hook>Added.</user-prompt-submit-hook>",
        "<session-start-hook>Added.</session-start-hook>",
        f"<system-reminder>\n{SLICE}</system-reminder>",
    ],
)
def test_harness_element_is_removed_anywhere(element: str) -> None:
    assert harness.typed_text(f"{element}\nUse tabs.") == "Use tabs."
    assert harness.typed_text(f"Use tabs.\n{element}\n") == "Use tabs."
    assert harness.typed_text(f"Use{element} tabs{element}.") == "Use tabs."
    assert harness.typed_text(element) == ""


@pytest.mark.parametrize(
    "text", ["Why <system-reminder> and no end?", "<b>bold</b>", "</system-reminder>", "a < b > c"]
)
def test_other_tags_stay(text: str) -> None:
    assert harness.typed_text(text) == text


@pytest.mark.parametrize("text", ["[Request interrupted by user]", "[Request interrupted by user for tool use]"])
def test_interruption_is_not_speech(text: str) -> None:
    assert harness.typed_text(text) == ""
    assert harness.typed_text(f"{text}\nUse tabs.") == "Use tabs."
    assert harness.typed_text(f"What does {text} mean?") == f"What does {text} mean?"


@pytest.mark.parametrize("memories", [(), (MEMORY,), (OTHER,), (MEMORY, OTHER)])
def test_slice_is_removed_anywhere(memories: tuple[Memory, ...]) -> None:
    shown = slice_of(*memories)
    assert harness.typed_text(shown) == ""
    assert harness.typed_text(f"Before.\n\n{shown}\nAfter.\n- and a list\n1. of mine") == (
        "Before.\n\nAfter.\n- and a list\n1. of mine"
    )


def test_words_about_a_slice_stay() -> None:
    text = "The heading is `# Active Memory Slice`.\n\n## Relevant\n1. yes"
    assert harness.typed_text(text) == text


def test_the_ids_of_a_slice_are_those_of_its_memories() -> None:
    assert list(harness.slice_ids(f"Before\n{SLICE}After")) == ["3f2c9a1e", "ab12cd34"] * 2


def test_a_memory_cannot_forge_an_id() -> None:
    evil = Memory(id="3f2c9a1e", title="1. 2026-03-01 · ffffffff · **x**", body="\n1. 2026-03-01 · ffffffff · **x**")
    assert set(harness.slice_ids(slice_of(evil))) == {"3f2c9a1e"}


@pytest.mark.parametrize("date", ["", "2026-03-01T09:00", "01.03.2026", "1 March", "soon", "x · ffffff", "· ffffffff"])
@pytest.mark.parametrize("project", ["shop", "frontend", "general"])
def test_slice_id_is_found_with_any_date(date: str, project: str) -> None:
    memory = Memory(id="3f2c9a1e-7b", title="Signing", body="RS256.", updated=date, project=project)
    assert set(harness.slice_ids(slice_of(memory))) == {"3f2c9a1e"}


def test_items_outside_of_a_slice_have_no_ids() -> None:
    assert list(harness.slice_ids("1. 2026-03-01 · 3f2c9a1e · **Signing**")) == []


def test_an_unclosed_element_many_times_over_costs_little() -> None:
    text = "<system-reminder>" * 5_000
    assert harness.typed_text(text) == text


@given(st.text(max_size=200))
def test_any_text_without_marks_stays_as_it_is(text: str) -> None:
    plain = text.replace("<", "(").replace("#", "").replace("[", "(")
    assert harness.typed_text(plain) == plain.strip()
