"""A long text is cut where a reader would pause, and never in the middle of a word or of markup."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memem.compare.shorten import ELLIPSIS, first_sentence, shorten
from tests.builders import examples

MORE = "and this goes on " * 20


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        (f"Use tabs. They are wide. But {MORE}", "Use tabs. They are wide."),
        (f"Is it on? Yes! Then {MORE}", "Is it on? Yes!"),
        (f"使用制表符。它们很宽！但是{'一直' * 60}", "使用制表符。它们很宽！"),
        (f"Run `make check`. Then {MORE}", "Run `make check`."),
        (f"**Use tabs.** They {MORE}", "**Use tabs.**"),
        (f"He said “use tabs.” Then {MORE}", "He said “use tabs.”"),
        (f"The key is HS256's. Then {MORE}", "The key is HS256's."),
        (f"It needs Python 3.12. Then {MORE}", "It needs Python 3.12."),
        (f"Set the retries to 5. Then {MORE}", "Set the retries to 5."),
        (f"See [the page](https://example.com/a.html). Then {MORE}", "See [the page](https://example.com/a.html)."),
    ],
)
def test_it_ends_with_the_last_whole_sentence(text: str, cut: str) -> None:
    assert shorten(text, 100) == cut


@pytest.mark.parametrize(
    "beginning",
    [
        "Use a linter, e.g. Ruff",
        "Prices incl. VAT",
        "The U.S. Region",
        "As described in Fig. 3",
        "Version 3.12 of it",
        "Node v20.1.0",
        "1. Install it",
        "Do these: 1. Install it",
        "It reads config.yaml and main.go",
        "Ask Dr. Who",
        "Use npm.not",
        "Do not call foo(). bar",
        "Run `a. B` once",
        "See [[Notes. Today]] once",
        "This is **bold. Very** bold",
        "Note!",
    ],
)
def test_a_full_stop_within_a_sentence_does_not_end_it(beginning: str) -> None:
    text = f"{beginning} {MORE}"
    assert shorten(text, 60).startswith(beginning)
    assert shorten(text, 60).endswith(ELLIPSIS)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        (f"We sign tokens with RS256 at the gateway, because {MORE}", "We sign tokens with RS256 at the gateway…"),
        (f"We sign tokens with RS256 at the gateway (never {MORE})", "We sign tokens with RS256 at the gateway…"),
        (
            f"Well, we sign tokens with RS256 at the gateway before {MORE}",
            "Well, we sign tokens with RS256 at the gateway before and…",
        ),
        (
            f"We sign tokens with RS256 and always run `{'make check ' * 9}` first",
            "We sign tokens with RS256 and always run…",
        ),
        (
            f"We sign tokens with RS256 and always see [[{'a long name ' * 9}]] first",
            "We sign tokens with RS256 and always see…",
        ),
        (f"We sign tokens with RS256 and always [{'see this ' * 9}](x) first", "We sign tokens with RS256 and always…"),
        (f"We sign tokens with RS256 and **{'never this ' * 9}now** first", "We sign tokens with RS256 and…"),
        ("使用制表符，" + "因为" * 60, "使用制表符，" + "因为" * 26 + "因…"),
        ("x" * 100, "x" * 59 + "…"),
        (f"`{'make check ' * 9}`", "make check make check make check make check make check make…"),
    ],
)
def test_without_a_sentence_it_ends_with_a_clause_or_a_word(text: str, cut: str) -> None:
    assert shorten(text, 60) == cut


def test_a_text_that_fits_stays() -> None:
    assert shorten("One. Two", 8) == "One. Two"


@settings(max_examples=examples(300))
@given(st.lists(st.text("ab.,` *[]()!?。中 ", max_size=12)).map(" ".join), st.integers(2, 80))
def test_it_never_grows_and_never_cuts_a_word_that_fits(text: str, most: int) -> None:
    cut = shorten(text, most)
    assert len(cut) <= most or cut == text
    kept = cut.removesuffix(ELLIPSIS)
    assert kept.strip("*`[!_ ") in text
    if cut != text and text.isascii() and kept and text.startswith(kept) and " " in text[: most - 1].strip():
        assert text[len(kept) : len(kept) + 1] in ",;:([{ -" or not text[len(kept) - 1].isalnum()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("Use tabs. They are wide.", "Use tabs."),
        ("Use e.g. Ruff. Then stop.", "Use e.g. Ruff."),
        ("Use tabs", "Use tabs"),
        ("使用制表符。它们很宽。", "使用制表符。"),
        ("Run `a. B` now. Then stop.", "Run `a. B` now."),
        ("word " * 1_000 + "end. Then", "word " * 1_000 + "end. Then"),
    ],
)
def test_the_first_sentence_of_a_line(line: str, sentence: str) -> None:
    assert first_sentence(line) == sentence
