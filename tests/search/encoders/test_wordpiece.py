"""How text becomes ids: what vanishes, what separates, what stands alone, and the longest pieces of what is left.

The vocabulary here is a small one. That the real one gives the ids of the reference is shown in `tests/parity`.
"""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memem.search.encoders import wordpiece
from memem.search.encoders.wordpiece import WordPiece

TOKENS = (
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "cafe", "ca", "##fe", "tok", "token", "##ent", "##ize"),
    *("##r", "##rs", "##s", "un", "x", "##x", "σ", "##σ", "数", "据", "か", "##か", "ᄒ", "##ᅡ", "##ᆫ", "क", "##क", "ι"),
    *(".", ",", "[", "]", "$", "+", "<", "=", ">", "^", "`", "|", "~", "_", "-", "…", "—", "“", "、", "·", ";", "##,"),
    *("cls", "mask", "1", "##2"),
)
VOCABULARY = "\n".join(TOKENS)
MOST = 100_000  # more than any text here gives

# Every kind of character that is treated apart, and the seams of special tokens.
MIXED = st.lists(
    st.sampled_from(
        ["a", "xx", "cafe", "tokens", "[MASK]", "[[SEP]", "[CLS", "]", " ", "\n", "\t", ",", "…", "€", "😀"]
    )
    | st.sampled_from(["é", "\u0301", "\u200b", "\x0b", "\x1c", "\x85", "\u3000", "数", "한", "\ud83d", "\ude00"])
    | st.characters(),
    max_size=60,
).map("".join)


@pytest.fixture(scope="module")
def tokenizer() -> WordPiece:
    return WordPiece(VOCABULARY)


def pieces(text: str, most: int = MOST) -> list[str]:
    """The tokens of a text, without those that frame it."""
    begin, *found, end = (TOKENS[number] for number in WordPiece(VOCABULARY).ids(text, most))
    assert (begin, end) == ("[CLS]", "[SEP]")
    return found


# --- the vocabulary -----------------------------------------------------------------------------------------------


def test_a_token_has_the_number_of_its_line(tokenizer: WordPiece) -> None:
    assert tokenizer.ids("cafe", MOST) == [2, 7, 3]


@pytest.mark.parametrize("text", ["", "cafe tokenizers", "∅"])
def test_a_newline_at_the_end_of_the_vocabulary_makes_no_difference(text: str) -> None:
    assert WordPiece(VOCABULARY + "\n").ids(text, MOST) == WordPiece(VOCABULARY).ids(text, MOST)


# --- pieces -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("token", ["token"]),
        ("tokens", ["token", "##s"]),
        ("tokenizers", ["token", "##ize", "##rs"]),
        ("tokrs", ["tok", "##rs"]),
        ("cafes", ["cafe", "##s"]),
    ],
)
def test_the_longest_token_is_taken_first(word: str, expected: list[str]) -> None:
    assert pieces(word) == expected


@pytest.mark.parametrize("word", ["zebra", "cafez", "zcafe", "s"])
def test_a_word_without_matching_tokens_is_unknown_as_a_whole(word: str) -> None:
    assert pieces(f"a {word} b") == ["a", "[UNK]", "b"]


def test_matching_is_greedy_without_backtracking() -> None:
    # "tok" and "##ent" would make up the word, but "token" is longer, and nothing continues it with a t.
    assert "##ent" in TOKENS
    assert pieces("tokent") == ["[UNK]"]


def test_a_word_of_more_than_a_hundred_characters_is_unknown() -> None:
    assert pieces("x" * 100) == ["x", *["##x"] * 99]
    assert pieces("x" * 101) == ["[UNK]"]


def test_the_length_of_a_word_is_counted_without_what_vanishes() -> None:
    assert pieces("x\u0301\u200b" * 100) == ["x", *["##x"] * 99]
    assert pieces("x\u0301\u200b" * 101) == ["[UNK]"]


@pytest.mark.parametrize("text", ["", " ", "\n\n \t", "\u3000", "\u200b", "\u0301", "\x00\x0b\x1c", "\ufffd", "\ue000"])
def test_a_text_without_words_is_its_frame_alone(text: str) -> None:
    assert pieces(text) == []


# --- folding ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["CAFE", "Café", "CAFÉ", "càfe", "Cafe\u0301", "c\u0327afé\u0301", "ca\ufe0ffe"])
def test_case_and_accents_are_folded(text: str) -> None:
    assert pieces(text) == ["cafe"]


def test_a_final_capital_sigma_becomes_an_ordinary_sigma() -> None:
    assert pieces("ΣΣ") == ["σ", "##σ"]


def test_a_syllable_is_taken_apart_into_its_letters() -> None:
    assert pieces("한") == ["ᄒ", "##ᅡ", "##ᆫ"]


def test_only_nonspacing_vowel_signs_are_dropped() -> None:
    assert pieces("क\u0941क") == ["क", "##क"]
    assert pieces("क\u093fक") == ["[UNK]"]


@pytest.mark.parametrize(
    "character",
    [
        *("\x00", "\x0b", "\x0c", "\x1c", "\x1f", "\x7f", "\x85", "\xad", "\u180e", "\u200b", "\u200d", "\u202e"),
        *("\u2060", "\ufeff", "\ufffd", "\ue000", "\U000e0041", "\U00100000", "\ud800", "\udfff"),
    ],
)
def test_control_format_private_and_lone_characters_vanish(character: str) -> None:
    assert pieces(f"ca{character}fe") == ["cafe"]


@pytest.mark.parametrize("character", " \t\n\r\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000")
def test_every_space_separates_words(character: str) -> None:
    assert pieces(f"ca{character}cafe") == ["ca", "cafe"]


@pytest.mark.parametrize("character", ".,[]$+<=>^`|~_-…—“、·")
def test_punctuation_and_ascii_symbols_stand_alone(character: str) -> None:
    assert pieces(f"a{character}{character}b") == ["a", character, character, "b"]


@pytest.mark.parametrize(("character", "expected"), [("\u037e", ";"), ("\u0387", "·"), ("\u1fef", "`"), ("≠", "=")])
def test_a_character_that_decomposes_into_punctuation_is_split_off(character: str, expected: str) -> None:
    assert pieces(f"a{character}b") == ["a", expected, "b"]


def test_punctuation_never_continues_a_word() -> None:
    assert pieces("a,") == ["a", ","]


@pytest.mark.parametrize("symbol", ["€", "→", "😀", "²", "™"])
def test_a_symbol_beyond_ascii_is_part_of_its_word(symbol: str) -> None:
    assert pieces(f"a{symbol}b") == ["[UNK]"]


def test_chinese_characters_stand_alone() -> None:
    assert pieces("a数据b") == ["a", "数", "据", "b"]


def test_kana_form_words() -> None:
    assert pieces("かか") == ["か", "##か"]


@pytest.mark.parametrize(
    "ideograph", ["\u3400", "\u9fff", "\uf900", "\ufaff", "\U00020000", "\U0002a700", "\U0002f800"]
)
def test_an_ideograph_without_a_token_does_not_take_its_neighbours_with_it(ideograph: str) -> None:
    assert pieces(f"a{ideograph}b") == ["a", "[UNK]", "b"]


@pytest.mark.parametrize("ideograph", ["\U0002b820", "\U0002b91f", "\U0002ceb0", "\U00030000", "\u2e80", "\u3007"])
def test_the_reference_does_not_know_every_ideograph(ideograph: str) -> None:
    assert pieces(f"a{ideograph}b") == ["[UNK]"]


# --- frozen at Unicode 8 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "character",
    [
        *("\u08d4", "\u1df6", "\U0001e944"),  # marks
        *("\u2e43", "\u0a76", "\U00011660"),  # punctuation
        *("\u08e2", "\u0890", "\U00013430"),  # format
        *("\u0378", "\U000effff", "\U0010ffff"),  # not assigned yet
    ],
)
def test_a_character_newer_than_unicode_8_is_a_letter(character: str) -> None:
    assert pieces(f"a{character}b") == ["[UNK]"]


def test_a_character_whose_category_has_changed_keeps_its_old_one() -> None:
    assert pieces("ca\u1734fe") == ["cafe"]  # a mark, since widened
    assert pieces("a\u166db") == ["a", "[UNK]", "b"]  # punctuation, since a symbol
    assert pieces("a\U000111c9b") == ["a", "[UNK]", "b"]  # punctuation, since a mark


# --- special tokens -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
def test_a_special_token_written_in_a_text_is_that_token(token: str) -> None:
    assert pieces(f"a{token}b {token}{token}") == ["a", token, "b", token, token]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[mask]", ["[", "mask", "]"]),
        ("[MASK", ["[", "mask"]),
        ("[ MASK]", ["[", "mask", "]"]),
        ("[MA\u200bSK]", ["[", "mask", "]"]),
        ("[[MASK]]", ["[", "[MASK]", "]"]),
        ("[CLS[MASK]", ["[", "cls", "[MASK]"]),
        ("[MASK]s", ["[MASK]", "[UNK]"]),
        ("[MASK] [mask] [MASK]", ["[MASK]", "[", "mask", "]", "[MASK]"]),
    ],
)
def test_only_exact_special_tokens_are_recognised(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


# --- cutting, and reading no further than needed ------------------------------------------------------------------


def test_a_text_that_just_fits_is_not_cut() -> None:
    assert pieces("a b tokens", 6) == ["a", "b", "token", "##s"]


def test_a_text_is_cut_in_the_middle_of_a_word_and_still_ends_as_it_should() -> None:
    assert pieces("a b tokens", 5) == ["a", "b", "token"]
    assert pieces("a b tokens", 2) == []


def test_a_cut_does_not_shorten_cached_chunks(tokenizer: WordPiece) -> None:
    fresh = WordPiece(VOCABULARY)
    fresh.ids("tokenizers,cafes", 3)
    assert fresh.ids("tokenizers,cafes", MOST) == tokenizer.ids("tokenizers,cafes", MOST)


def test_callers_may_change_the_returned_list() -> None:
    fresh = WordPiece(VOCABULARY)
    first = fresh.ids("tokens", MOST)
    first.clear()
    assert fresh.ids("tokens", MOST) == WordPiece(VOCABULARY).ids("tokens", MOST)


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpiece, "_MAX_CACHED_CHUNKS", 2)
    assert pieces("a b cafe a b tokens a") == ["a", "b", "cafe", "a", "b", "token", "##s", "a"]


@pytest.mark.parametrize("filler", [" ", "\n", "\u200b", "\u0301", "\x0b", "\u3000", "\ud800"])
def test_a_word_is_found_after_any_number_of_blanks(filler: str) -> None:
    assert pieces(filler * 5000 + "cafe", 4) == ["cafe"]


@pytest.mark.parametrize("before", range(1014, 1035))
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cafe", ["cafe"]),
        ("ca\u200bfé,", ["cafe", ","]),
        ("a\tcafe", ["a", "cafe"]),
        ("a[MASK]b", ["a", "[MASK]", "b"]),
        ("[[MASK]", ["[", "[MASK]"]),
        ("数据", ["数", "据"]),
    ],
)
def test_a_long_run_without_spaces_is_read_whole(text: str, expected: list[str], before: int) -> None:
    assert pieces("." * before + text + "." * 2000) == ["."] * before + expected + ["."] * 2000


def test_a_very_long_word_is_one_unknown_word() -> None:
    assert pieces("a," + "é" * 10_000 + ",b") == ["a", ",", "[UNK]", ",", "b"]


# --- whatever the text --------------------------------------------------------------------------------------------


@given(MIXED, st.integers(min_value=2, max_value=40))
@example("\ud800 \x00 \udfff", 2)
@example("[MASK]" * 20, 7)
def test_ids_are_framed_and_never_more_than_asked_for(text: str, most: int) -> None:
    ids = WordPiece(VOCABULARY).ids(text, most)
    assert 2 <= len(ids) <= most
    assert (TOKENS[ids[0]], TOKENS[ids[-1]]) == ("[CLS]", "[SEP]")


@given(MIXED, st.integers(min_value=2, max_value=40), st.integers(min_value=1, max_value=60))
@example("a b c", 2, 1)
def test_a_cut_text_begins_like_the_whole(text: str, most: int, times: int) -> None:
    whole = pieces(text * times)
    assert pieces(text * times, most) == whole[: most - 2]


@given(MIXED, MIXED)
@example("[MA", "SK]")
@example("[MASK", "]")
def test_words_on_either_side_of_a_space_do_not_touch(left: str, right: str) -> None:
    assert pieces(f"{left} {right}") == pieces(left) + pieces(right)


@given(MIXED)
def test_composition_makes_no_difference(text: str) -> None:
    assert pieces(unicodedata.normalize("NFD", text)) == pieces(unicodedata.normalize("NFC", text))


@given(MIXED, st.sampled_from(["\u200b", "\x0b", "\u0301", "\ud800"]))
def test_what_vanishes_leaves_no_trace(text: str, nothing: str) -> None:
    plain = text.replace("[", "(").replace("]", ")")  # within a special token it would leave one
    assert pieces(nothing.join(plain)) == pieces(plain)
