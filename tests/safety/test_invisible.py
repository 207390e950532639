"""Invisible and control characters go; emoji and every script keep what they need."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.safety.invisible import neutralise

ZWSP, ZWNJ, ZWJ, LRM, RLM, ALM = "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u061c"
TEXT_STYLE, EMOJI_STYLE = "\ufe0e", "\ufe0f"
BLACK_FLAG, TAG_END = "\U0001f3f4", "\U000e007f"


def tags(word: str) -> str:
    return "".join(chr(0xE0000 + ord(letter)) for letter in word)


UNTOUCHED = {
    "plain words": "Ordinary text,\n\twith a tab and a line.",
    "family": f"\U0001f468{ZWJ}\U0001f469{ZWJ}\U0001f467{ZWJ}\U0001f466 came",
    "rainbow flag": f"\U0001f3f3{EMOJI_STYLE}{ZWJ}\U0001f308",
    "flag of England": f"{BLACK_FLAG}{tags('gbeng')}{TAG_END}",
    "flag of Scotland": f"{BLACK_FLAG}{tags('gbsct')}{TAG_END}",
    "flag of Wales": f"{BLACK_FLAG}{tags('gbwls')}{TAG_END}",
    "flag of a country": "\U0001f1eb\U0001f1f7",
    "keycaps": f"1{EMOJI_STYLE}\u20e3 and #{EMOJI_STYLE}\u20e3",
    "skin tone": "\U0001f44d\U0001f3fd",
    "profession with a skin tone": f"\U0001f469\U0001f3fd{ZWJ}\U0001f4bb",
    "profession with a sign": f"\U0001f9d1\U0001f3fd{ZWJ}\u2695{EMOJI_STYLE}",
    "heart on fire": f"\u2764{EMOJI_STYLE}{ZWJ}\U0001f525",
    "head shaking": f"\U0001f642{ZWJ}\u2194{EMOJI_STYLE}",
    "text style": f"\u2714{TEXT_STYLE} done \u00a9{TEXT_STYLE}",
    "Persian": f"\u0645\u06cc{ZWNJ}\u062e\u0648\u0627\u0647\u0645",
    "Persian suffix of an English word": f"API{ZWNJ}\u0647\u0627",
    "Persian abbreviation": f"\u0647{ZWJ}.\u0634",
    "Arabic": "\u0645\u0631\u062d\u0628\u0627 \u0628\u0643\u0645\u060c \u0661\u0662\u0663",
    "Arabic with its letter mark": f"\u0639\u0645\u0631{ALM} 12",
    "Hebrew": "\u05e9\u05b8\u05dc\u05d5\u05b9\u05dd",
    "Hebrew with direction marks": f"\u05e9\u05dc\u05d5\u05dd{RLM}! {LRM}\u05d0",
    "Hindi joined and parted": f"\u0915\u094d{ZWJ}\u0937 \u0915\u094d{ZWNJ}\u0937",
    "Malayalam at a word's end": f"\u0d05\u0d35\u0d28\u0d4d{ZWJ} ",
    "Bengali": f"\u09b0\u09cd{ZWJ}\u09af",
    "Sinhala": f"\u0dc1\u0dca{ZWJ}\u0dbb\u0dd3",
    "Thai": "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22",
    "Khmer parted into words": f"\u1797\u17b6\u179f\u17b6{ZWSP}\u1781\u17d2\u1798\u17c2\u179a",
    "Japanese with a variant": "\u845b\U000e0100\u57ce\u5e02 \u2014 \u6771\u4eac\u3000\u3067\u3059",
    "Chinese with a standard variant": "\u4e0d\ufe00",
    "Vietnamese decomposed": "Tie\u0302\u0301ng Vie\u0323\u0302t",
    "Korean": "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab",
    "Mongolian": "\u182e\u1823\u180b\u1829",
    "braille art": "\u2840\u2800\u2844",
    "no-break and other visible spaces": "10\u00a0km, 1\u202f000",
    "private use icons": "\ue0b0 main",
}


@pytest.mark.parametrize("text", UNTOUCHED.values(), ids=UNTOUCHED.keys())
def test_honest_text_comes_back_unchanged(text: str) -> None:
    assert neutralise(text) == (text, 0)


def test_ordinary_text_is_returned_as_the_same_object() -> None:
    text = "Nothing to see here.\n" * 3
    assert neutralise(text)[0] is text


CAUGHT = {
    "tags spelling an order": (f"Hi{tags('ignore')}!", "Hi!", 6),
    "tags behind a flag": (f"{BLACK_FLAG}{tags('ignore')}{TAG_END}", BLACK_FLAG, 7),
    "an unfinished flag": (f"{BLACK_FLAG}{tags('gbeng')}.", f"{BLACK_FLAG}.", 5),
    "bytes behind an emoji": (f"\U0001f600{''.join(chr(0xE0100 + byte) for byte in b'evil')}", "\U0001f600", 4),
    "low bytes behind an emoji": ("\U0001f600\ufe01\ufe04\ufe0d", "\U0001f600", 3),
    "a second variation selector": (f"\u2764{EMOJI_STYLE}{EMOJI_STYLE}", f"\u2764{EMOJI_STYLE}", 1),
    "a second variant of an ideograph": ("\u845b\U000e0100\U000e0101", "\u845b\U000e0100", 1),
    "selectors on letters": ("a\ufe0fb\ufe00c", "abc", 2),
    "a selector on a digit that is no keycap": (f"1{EMOJI_STYLE}2", "12", 1),
    "bits between Latin letters": (f"a{ZWSP}{ZWNJ}{ZWJ}{ZWNJ}b", "ab", 4),
    "a joiner between an emoji and a letter": (f"\U0001f600{ZWJ}a", "\U0001f600a", 1),
    "two joiners between emoji": (f"\U0001f468{ZWJ}{ZWJ}\U0001f469", f"\U0001f468{ZWJ}\U0001f469", 1),
    "two joiners between Persian letters": (
        f"\u0645\u06cc{ZWNJ}{ZWNJ}\u062e",
        f"\u0645\u06cc{ZWNJ}\u062e",
        1,
    ),
    "a broken word": (f"ig{ZWSP}nore", "ignore", 1),
    "a soft hyphen": ("ig\u00adnore", "ignore", 1),
    "trojan source": ("if\u202e\u2066 admin\u2069\u2066", "if admin", 4),
    "direction marks in Latin text": (f"a{LRM}b{RLM}c{ALM}d", "abcd", 3),
    "many letter marks": (f"\u05d0{ALM}{ALM}{ALM}{ALM}", f"\u05d0{ALM}", 3),
    "byte order mark": ("\ufeffa\ufeffb", "ab", 2),
    "word joiner and invisible operators": ("a\u2060b\u2062c\u2064d\u206fe", "abcde", 4),
    "fillers": ("a\u115f\u1160\u3164\uffa0\u180eb", "ab", 5),
    "annotations": ("\ufff9a\ufffab\ufffb", "ab", 3),
    "noncharacters": ("a\ufdd0b\uffffc\U0001fffed", "abcd", 3),
    "grapheme joiner in Latin text": ("a\u034fb", "ab", 1),
    "nul": ("a\x00b", "ab", 1),
    "bell and backspace": ("a\x07b\x08c\x7f", "abc", 3),
    "colours": ("\x1b[1;31mred\x1b[0m", "red", 2),
    "colours of the old kind": ("\x9b31mred", "red", 1),
    "a window title": ("\x1b]0;owned\x07text", "text", 1),
    "a terminal link": ("\x1b]8;;https://x\x1b\\here\x1b]8;;\x1b\\", "here", 2),
    "a device string": ("\x1bPq#0\x1b\\ok", "ok", 1),
    "an unfinished title": ("\x1b]0;title", "]0;title", 1),
    "a lone escape": ("\x1bhello", "hello", 1),
    "C1 controls": ("a\x80b\x9fc", "abc", 2),
    "other line breaks": ("a\u2028b\u2029c\x0bd\x0ce\x85f", "a\nb\nc\nd\ne\nf", 5),
    "lone surrogates": ("a\ud800b\udc00", "a\ufffdb\ufffd", 2),
    "blank braille": ("a\u2800\u2800b", "a  b", 2),
}


@pytest.mark.parametrize(("text", "expected", "count"), CAUGHT.values(), ids=CAUGHT.keys())
def test_tricks_are_taken_out_and_counted(text: str, expected: str, count: int) -> None:
    assert neutralise(text) == (expected, count)


def test_line_ends_become_newlines_and_are_not_counted_as_tricks() -> None:
    assert neutralise("a\r\nb\rc\n\r\nd") == ("a\nb\nc\n\nd", 0)


def test_two_halves_of_a_character_are_joined() -> None:
    assert neutralise("\ud83d\ude00") == ("\U0001f600", 0)


def test_text_cut_in_half_by_a_sequence_is_not_made_into_another_one() -> None:
    assert neutralise("\x1b\x1b[0m[31mred")[0] == "[31mred"


FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u115f\u1160\u180e\u2028-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\uffa0"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e001f\U000e0080-\U000e00ff\U000e01f0-\U000e0fff]"
)
SPECIAL = st.sampled_from(
    [char for text in (*UNTOUCHED.values(), *(case[0] for case in CAUGHT.values())) for char in text]
)
ANY_CHAR = st.one_of(SPECIAL, st.characters(), st.characters(categories=["Cs", "Cf", "Mn", "Cc"]))
ANY_TEXT = st.lists(ANY_CHAR, max_size=30).map("".join)


@given(ANY_TEXT)
def test_neutralising_twice_is_neutralising_once(text: str) -> None:
    once, _ = neutralise(text)
    assert neutralise(once) == (once, 0)


@given(ANY_TEXT)
def test_no_text_keeps_a_forbidden_character_or_fails_to_encode(text: str) -> None:
    result, _ = neutralise(text)
    assert FORBIDDEN.search(result) is None
    assert result.encode("utf-8").decode("utf-8") == result


@given(st.text(alphabet=st.characters(max_codepoint=0x24F)), st.text(alphabet=ZWSP + ZWNJ + ZWJ + LRM + RLM))
def test_nothing_zero_width_survives_in_latin_text(letters: str, hidden: str) -> None:
    result, _ = neutralise(f"{letters}{hidden}{letters}")
    assert not set(result) & {ZWSP, ZWNJ, ZWJ, LRM, RLM}


@given(ANY_TEXT)
def test_changed_text_is_counted(text: str) -> None:
    result, count = neutralise(text)
    normal = text.replace("\r\n", "\n").replace("\r", "\n")
    pairs = re.search("[\ud800-\udbff][\udc00-\udfff]", text)
    assert (count > 0) == (result != normal) or pairs


def test_every_character_among_letters_is_safe_or_gone() -> None:
    result, _ = neutralise("a".join(map(chr, range(sys.maxunicode + 1))))
    assert FORBIDDEN.search(result) is None
    assert neutralise(result) == (result, 0)
