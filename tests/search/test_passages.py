"""A note becomes texts short enough for the model: parted at the best places, each under its title, nothing lost."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.memory import Memory
from memem.search.passages import PASSAGE_SIZE, passage_key, split_passages


def texts(body: str, title: str = "") -> list[str]:
    return split_passages(Memory(id="x", title=title, body=body))


def size(text: str) -> float:
    """In tokens, by the guess that holds for any script."""
    plain = sum(character.isascii() for character in text)
    return plain / 4 + len(text) - plain


def prose(number: int, characters: int) -> str:
    """A sentence of about this length, unlike any other."""
    return f"Sentence {number} {'goes on ' * ((characters - 12) // 8)}."


# --- one or several -----------------------------------------------------------------------------------------------


def test_a_short_note_is_one_passage_under_its_title() -> None:
    assert texts("Tokens are signed.\n\nWith RS256.", "Signing") == ["Signing\nTokens are signed.\n\nWith RS256."]


def test_a_title_that_the_text_begins_with_is_not_repeated() -> None:
    assert texts("Tokens are signed with RS256.", "Tokens are signed") == ["Tokens are signed with RS256."]


def test_a_title_is_one_line() -> None:
    assert texts("Body.", " A title\n of  two lines ") == ["A title of two lines\nBody."]


@pytest.mark.parametrize("body", ["", " \n\n\t "])
def test_a_note_without_a_text_is_its_title(body: str) -> None:
    assert texts(body, "Only a title") == ["Only a title"]


def test_a_note_without_anything_is_one_empty_passage() -> None:
    assert texts("") == [""]


@pytest.mark.parametrize("between", ["\n\n", "\n", " "], ids=["paragraphs", "lines", "sentences"])
def test_a_long_note_is_parted_where_its_text_is(between: str) -> None:
    sentences = [prose(number, 300) for number in range(4)]
    assert texts(between.join(sentences), "Title") == [f"Title\n{sentence}" for sentence in sentences]


def test_a_text_is_parted_at_paragraphs_rather_than_lines() -> None:
    first, second = "One.\nTwo.\n" + prose(1, 300), prose(2, 100) + "\n" + prose(3, 200)
    assert texts(f"{first}\n\n{second}") == [first, second]


def test_a_sentence_too_long_is_parted_between_words() -> None:
    words = ["".join(letters) for letters in product("abcdefgh", repeat=3)][:400]
    found = texts(" ".join(words))
    assert " ".join(found).split() == words
    assert len(found) == 4


def test_code_is_parted_sooner_since_each_of_its_marks_is_a_token() -> None:
    code = "\n".join("if (a[0] != b[1]) { f(x, y); } /* 0x7f */" for _ in range(12))
    assert len(code) < 4 * PASSAGE_SIZE * 1.2
    assert (
        max(sum(not character.isalpha() for character in "".join(text.split())) for text in texts(code)) <= PASSAGE_SIZE
    )


@pytest.mark.parametrize("word", ["数据库连接池", "ฐานข้อมูล"])
def test_a_script_without_spaces_is_parted_by_its_length(word: str) -> None:
    text = "".join(f"{word}{number}" for number in range(60))
    found = texts(text)
    assert "".join(found) == text
    assert max(map(size, found)) <= PASSAGE_SIZE
    assert len(found) > 2


def test_chinese_sentences_are_parted_at_their_ends() -> None:
    sentences = [f"{number}{'数据库连接池' * 13}。" for number in range(3)]
    assert texts("".join(sentences)) == sentences


def test_an_endless_word_is_cut() -> None:
    word = "".join(f"{number:04}" for number in range(500))
    assert "".join(texts(word)) == word
    assert len(texts(word)) > 1


def test_short_neighbours_are_joined() -> None:
    lines = [f"- point {number:02}" for number in range(100)]
    found = texts("\n".join(lines))
    assert "\n".join(found).split("\n") == lines
    assert len(found) < 100 / 20


def test_each_passage_starts_with_the_title() -> None:
    found = texts("\n\n".join(prose(number, 400) for number in range(5)), "Title")
    assert len(found) == 5
    assert all(text.startswith("Title\nSentence ") for text in found)


def test_a_passage_that_occurs_twice_is_one() -> None:
    again, between = prose(1, 400), prose(2, 400)
    assert texts("\n\n".join((again, between, again)), "Title") == [f"Title\n{again}", f"Title\n{between}"]


# --- any text -----------------------------------------------------------------------------------------------------

_word = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=30)
_between = st.sampled_from((" ", "\n", "\n\n", ". ", "。", "! ", "\t", "\u3000", "\r\n"))


@given(st.lists(st.tuples(_word, _between), max_size=150))
def test_nothing_of_a_text_is_lost_and_no_passage_is_too_long(parts: list[tuple[str, str]]) -> None:
    body = "".join(f"{number}{word}{between}" for number, (word, between) in enumerate(parts))
    found = texts(body)
    assert "".join("".join(found).split()) == "".join(body.split())
    assert max(map(size, found)) <= PASSAGE_SIZE


@given(st.text(st.characters(), max_size=2_000), st.text(st.characters(), max_size=40))
def test_any_text_has_passages_that_are_all_different_and_have_keys(body: str, title: str) -> None:
    found = texts(body, title)
    assert found
    assert len({passage_key(text) for text in found}) == len(found)


# --- keys ---------------------------------------------------------------------------------------------------------


def test_a_key_is_the_same_in_every_process_and_version() -> None:
    assert passage_key("Tokens are signed with RS256.").hex() == "a3064d280832b81bc81e873566f14de7"


def test_texts_that_differ_at_all_have_different_keys() -> None:
    different = ("", " ", "a", "A", "a ", "á", "a\u0301", "\ud800", "\udfff", "�")
    assert len({passage_key(text) for text in different}) == len(different)
    assert {len(passage_key(text)) for text in different} == {16}
