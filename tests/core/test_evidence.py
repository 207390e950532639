"""Evidence names who said the words, and the day; notes from before, and people's, do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.conversation import ASSISTANT, HUMAN, Turn
from memem.core.evidence import (
    QuotedWords,
    append_evidence,
    has_quote,
    merge_evidence,
    parse_evidence,
    quote_turn,
    render_evidence,
    strip_speakers,
)

OLD = "No, use pnpm here.\nThe lockfile of npm breaks the build."
NEW = "you, 2026-11-18: let's implement options 2"


@pytest.mark.parametrize(
    ("role", "time", "line"),
    [
        (HUMAN, "2026-11-18T23:59:00.000+02:00", NEW),
        (ASSISTANT, "2026-11-18T08:00:00Z", "Claude, 2026-11-18: let's implement options 2"),
        (HUMAN, "", "you: let's implement options 2"),
        (HUMAN, "soon", "you: let's implement options 2"),
    ],
)
def test_a_line_names_the_speaker_and_the_day(role: str, time: str, line: str) -> None:
    quote = quote_turn(Turn("t", role, "…", time), "let's implement options 2")
    assert render_evidence(quote) == line
    assert parse_evidence(line) == [quote]


def test_old_evidence_is_read_line_by_line() -> None:
    assert [quote.words for quote in parse_evidence(OLD)] == OLD.splitlines()
    assert strip_speakers(OLD) == OLD
    assert "".join(map(render_evidence, parse_evidence(OLD[:18]))) == OLD[:18]


def test_more_lines_belong_to_the_quote_before_them() -> None:
    text = f"{OLD}\n{NEW}\nand then 3\nClaude, 2026-11-19: done"
    assert [(quote.speaker, quote.words) for quote in parse_evidence(text)] == [
        ("", "No, use pnpm here."),
        ("", "The lockfile of npm breaks the build."),
        ("you", "let's implement options 2\nand then 3"),
        ("Claude", "done"),
    ]


@given(st.text(max_size=40), st.text(max_size=40))
def test_words_cannot_pass_for_a_quote_of_somebody_else(one: str, other: str) -> None:
    words = f"x{one}\nyou, 2026-01-01: {other}y"
    (quote,) = parse_evidence(render_evidence(QuotedWords(words, "Claude", "2026-01-02")))
    assert quote.speaker == "Claude"
    assert "".join(quote.words.split()) == "".join(words.split())


def test_words_behind_an_empty_line_are_joined_to_those_before_it() -> None:
    assert render_evidence(QuotedWords("one\n\n \nClaude: two", "you")) == "you: one Claude: two"


@pytest.mark.parametrize("quote", ["let's implement options 2", NEW, "Claude, 2026-12-01: let's implement options 2"])
def test_a_quote_is_known_whoever_is_named(quote: str) -> None:
    assert has_quote(NEW, quote)
    assert has_quote("let's implement options 2", quote)
    assert not has_quote("please do not: let's implement options 2", quote)


def test_new_words_follow_old_ones_and_those_without_a_speaker_come_first() -> None:
    assert append_evidence("", NEW) == append_evidence(NEW, "") == NEW
    assert append_evidence(OLD, NEW) == f"{OLD}\n{NEW}"
    assert append_evidence(NEW, OLD) == f"{OLD}\n{NEW}"
    assert append_evidence(OLD, "so it is") == f"{OLD}\nso it is"


def test_merged_evidence_has_each_quote_once() -> None:
    assert merge_evidence(NEW, f"{OLD}\nlet's implement options 2") == f"{OLD}\n{NEW}"
    assert merge_evidence(OLD, OLD) == OLD
