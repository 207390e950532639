"""CLAUDE.md as single statements: each can be understood alone, and nothing of the file is lost or torn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.transfer.readers import instructions
from memem.transfer.readers.instructions import Instruction


def read(text: str) -> list[Instruction]:
    return list(instructions.statements(text))


def bodies(text: str) -> list[str]:
    return [each.body for each in read(text)]


def test_bullets_and_paragraphs_get_their_headings() -> None:
    text = "# Zoo\n\nA zoo by\nthe sea.\n\n## Feeding\n- Feed at dawn\n* Never by hand\n\n### Otters\n1. Fish only\n"
    assert bodies(text) == [
        "Zoo:\nA zoo by\nthe sea.",
        "Feeding:\nFeed at dawn",
        "Feeding:\nNever by hand",
        "Feeding: Otters:\nFish only",
    ]


def test_bullet_includes_its_indented_lines() -> None:
    text = "- Feed at dawn\n  before the gates open\n  - otters first\n\n  and gulls last\n- Lock up\n"
    assert bodies(text) == ["Feed at dawn\nbefore the gates open\n- otters first\n\nand gulls last", "Lock up"]


def test_an_announcement_goes_with_each_of_its_bullets_and_with_nothing_else() -> None:
    text = "When it rains:\n- close the pools\n- open the roof\n\nGulls stay out.\n"
    assert bodies(text) == ["When it rains:\nclose the pools", "When it rains:\nopen the roof", "Gulls stay out."]


def test_code_belongs_to_the_text_before_it() -> None:
    fence = "```sh\n# no heading\n- no bullet\n@no/import\n```"
    assert bodies(f"## Feeding\nRun the feeder:\n\n{fence}\n\nThen wait.\n") == [
        f"Feeding:\nRun the feeder:\n{fence}",
        "Feeding:\nThen wait.",
    ]
    assert bodies(f"## Feeding\n{fence}\n") == [f"Feeding:\n{fence}"]
    assert bodies("- Run:\n  ```\n  feed\n  ```\n- Wait\n") == ["Run:\n```\nfeed\n```", "Wait"]
    assert bodies("~~~\n```\nnever closed") == ["~~~\n```\nnever closed"]


def test_an_import_is_named_and_one_within_a_sentence_is_text() -> None:
    found = read("@docs/git.md\n- @~/.claude/mine.md\n\nSee @README for more.\n")
    assert [each.imports for each in found] == ["docs/git.md", "~/.claude/mine.md", ""]


def test_comments_and_rules_say_nothing() -> None:
    assert bodies("<!-- hidden\n- words -->\n---\nGulls stay out.\n***\n") == ["Gulls stay out."]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Use fish, not bread", "convention"),
        ("**Never** feed by hand", "convention"),
        ("Keepers must wear boots", "convention"),
        ("不要喂面包", "convention"),
        ("Verwende nur Fisch", "convention"),
        ("The pools hold salt water", "fact"),
        ("Useful words are written on the gate", "fact"),
    ],
)
def test_instruction_is_a_convention(text: str, kind: str) -> None:
    assert [each.kind for each in read(f"- {text}")] == [kind]


def test_everything_under_a_heading_of_rules_is_a_convention() -> None:
    assert [each.kind for each in read("## Code style\n- two spaces\n")] == ["convention"]


def test_the_title_is_the_heading_and_the_first_words() -> None:
    (one,) = read(f"## Feeding\n- **Fish** {'and more ' * 20}")
    assert one.title.startswith("Feeding: Fish and more")
    assert len(one.title) <= 80


def test_a_title_of_one_long_word_is_cut_within_it() -> None:
    (one,) = read("- " + "a" * 300)
    assert one.title == "a" * 79 + "…"


def test_a_line_of_an_index_names_its_file() -> None:
    assert [instructions.indexed_file(each) for each in read("- [Gulls](gulls.md) — stay out\n- Gulls fly\n")] == [
        "gulls.md",
        "",
    ]


@given(
    st.lists(st.sampled_from(["# h", "## h", "- b", "  - c", "w x", "```", "~~~", "", "  i", "@a/b", "1. n", "---"]))
)
def test_every_word_of_any_file_stands_in_a_statement_or_heading(lines: list[str]) -> None:
    text = "\n".join(f"{line}{number}" if line[-1:].isalpha() else line for number, line in enumerate(lines))
    told = " ".join(f"{' '.join(each.headings)} {each.text}" for each in read(text))
    for word in text.replace("#", " ").split():
        if word[-1].isdigit() and word[0] in "bcwxni":
            assert word in told


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    for each in read(text):
        assert each.text.strip()
        assert (each.title, each.kind, each.place) is not None
