"""A forgotten memory is recognised however it is written; another statement is not."""

import string
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.memory import Memory
from memem.core.tombstone import Tombstone
from memem.vault.forgotten import MOST_PIECES, Hasher, MemoryHashes, fold, fold_variants, split_sentences

HASHER = Hasher("salt", b"0123456789abcdef")
STATEMENT = "Tokens are signed with RS256."
QUOTE = "let's move signing to RS256, the gateway cannot share a secret"
TURN = "turn-1"


def memory(body: str = STATEMENT, evidence: str = "", turn: str = "") -> Memory:
    return Memory("3f2c9a1e-0000-4000-8000-000000000000", "", body, evidence=evidence, source_turn=turn)


def stone(**given: str) -> Tombstone:
    return HASHER.tombstone(memory(**given), key="k", time="2026-03-01T09:00:00+01:00")


def is_known(body: str, tombstone: Tombstone, evidence: str = "") -> bool:
    """By its texts alone."""
    candidate = MemoryHashes(memory(body, evidence), HASHER)
    return bool(candidate.texts(tombstone.sizes) & {*tombstone.statements, *tombstone.quotes})


def repeats(quote: str, tombstone: Tombstone) -> bool:
    return MemoryHashes(memory("Something else.", quote, TURN), HASHER).repeats(tombstone)


@pytest.mark.parametrize(
    "written",
    [
        "TOKENS ARE SIGNED WITH RS256",
        "  tokens are   signed\twith RS256 !",
        "**Tokens are signed with RS256.**",
        '"Tokens are signed with RS256"',
        "To\u200bkens are s\u00adigned with RS256.",
        "Т\u043ekens \u0430r\u0435 sign\u0435d with RS256.",
        "Τokens are signed with RS256.",
        "Ｔｏｋｅｎｓ are signed with 𝐑𝐒𝟐𝟓𝟔.",
        "Tokens are signed with RS٢٥٦.",
        "- Tokens are signed\n  with RS256.",
        "1. Tokens are signed with RS256.",
        "Tokens\ufe0f are signed with RS256.",
    ],
)
def test_a_statement_is_known_in_every_guise(written: str) -> None:
    assert is_known(written, stone())


@pytest.mark.parametrize(
    "written",
    [
        "Tokens are signed with ES256.",
        "Tokens are signed with RS512.",
        "Tokens are not signed with RS256.",
        "Tokens are signed with RS2560.",
        "Tokens are signed with RS25\u00b2\u2076.",
        "Cookies are signed with RS256.",
        "Tokens are signed.",
    ],
)
def test_a_neighbouring_value_is_another_fact(written: str) -> None:
    assert not is_known(written, stone())


@pytest.mark.parametrize(
    "written",
    [
        "We talked about auth. Tokens are signed with RS256. That is new.",
        "# Auth\n\n- Tokens are signed with RS256\n- Sessions last a day",
        "Auth: see below.\nTokens are signed with RS256.",
        "Sessions last a day; tokens are signed with RS256; nothing else.",
    ],
)
def test_a_longer_text_that_holds_the_statement_is_known(written: str) -> None:
    assert is_known(written, stone())


def test_a_statement_of_several_sentences_is_known_within_a_longer_one() -> None:
    both = stone(body="Deploys run on Friday. Nobody reviews them.")
    assert is_known("First this. Deploys run on Friday. Nobody reviews them! Then that.", both)
    assert not is_known("Deploys run on Friday. Somebody reviews them.", both)
    assert not is_known("Deploys run on Friday.", both)


def test_a_short_statement_is_known_as_a_whole_and_not_as_a_part() -> None:
    short = stone(body="Use npm.")
    assert is_known("use npm", short)
    assert not is_known("Do what you like. Use npm. Be happy.", short)


def test_title_and_quote_of_a_candidate_count_too() -> None:
    candidate = MemoryHashes(replace(memory("See the title."), title="Tokens are signed with RS256"), HASHER)
    assert candidate.texts(()) & set(stone().statements)
    assert is_known("Something else.", stone(), evidence="well: yes.\nTokens are signed with RS256.")


def test_a_forgotten_quote_is_known_as_statement_and_as_quote() -> None:
    quoted = stone(evidence=QUOTE)
    assert is_known("Something else.", quoted, evidence=QUOTE.upper())
    assert is_known(QUOTE, quoted)
    assert not is_known("Something else.", quoted, evidence="let's move signing to ES256, the gateway wants it")


@pytest.mark.parametrize("quote", ["ok", "yes do that", "Yes, do that!"])
def test_a_short_quote_tells_nothing_outside_its_turn(quote: str) -> None:
    vague = stone(evidence=quote)
    assert vague.quotes == ()
    assert not is_known("Something else entirely.", vague, evidence=quote)
    assert repeats(quote.lower(), vague)
    assert repeats(f"No. {quote}", vague)
    assert not repeats("another matter", vague)


@pytest.mark.parametrize(
    "quote",
    [
        QUOTE,
        "move signing to RS256, the gateway",
        f"So {QUOTE}, and that is all there is to it",
        "signing to RS256, THE GATEWAY cannot  share",
    ],
)
def test_in_one_turn_a_quote_that_overlaps_is_the_same(quote: str) -> None:
    assert repeats(quote, stone(evidence=QUOTE))


@pytest.mark.parametrize(
    "quote", ["", "ok", "the port of the gateway is 8080, by the way", "move the file to the attic"]
)
def test_in_one_turn_another_quote_is_another_claim(quote: str) -> None:
    assert not repeats(quote, stone(evidence=QUOTE))


def test_every_line_of_an_evidence_is_a_quote_of_its_own() -> None:
    both = stone(evidence=f"{QUOTE}\nand cookies go away with the next release")
    assert is_known("Something else.", both, evidence="And cookies go away with the next release.")


def test_pieces_are_bounded_and_nothing_can_be_read_in_a_tombstone() -> None:
    long = " ".join(f"word{number}" for number in range(2_000))
    made = stone(evidence=long)
    assert len(made.pieces) == MOST_PIECES
    assert "word" not in repr(made)
    assert "RS256" not in repr(made)


def test_another_salt_gives_other_hashes() -> None:
    other = Hasher("other", b"fedcba9876543210").tombstone(memory(), key="k", time="")
    assert not {*other.statements, *other.ids} & {*stone().statements, *stone().ids}


def test_greek_letters_are_read_both_ways() -> None:
    assert "never" in fold_variants("neνer")
    assert "no" in fold_variants("Νo")
    assert len(fold_variants("ΝΟΥΣ")) == 2
    assert fold_variants("ΝΟΥΣ") == fold_variants("νους")


def test_joiners_that_an_emoji_needs_do_not_count() -> None:
    assert fold("The 👩\u200d💻 decides") == fold("the 👩💻 decides")


def test_a_text_of_nothing_has_no_sentences() -> None:
    assert split_sentences(" \u200b\n...\n") == []


TEXTS = st.text(min_size=0, max_size=60)


@given(TEXTS)
def test_folding_twice_is_folding_once(text: str) -> None:
    for folded in fold_variants(text):
        assert folded in fold_variants(folded)
    assert fold(fold(text)) == fold(text)


PLAIN = st.text(alphabet=string.ascii_letters + string.digits + " .,-", min_size=1, max_size=60)
ALIKE = str.maketrans("aceopxyABEKMHOPCTX", "асеорхуАВЕКМНОРСТХ")


@given(PLAIN, st.sampled_from(["upper", "lower", "space", "alike", "wide", "hidden", "bold"]))
def test_disguises_never_separate(text: str, disguise: str) -> None:
    wide = {ord(each): chr(ord(each) + 0xFEE0) for each in string.ascii_letters + string.digits}
    bold = {
        ord(each): chr(0x1D400 + place) for place, each in enumerate(string.ascii_uppercase + string.ascii_lowercase)
    }
    disguised = {
        "upper": text.upper(),
        "lower": text.lower(),
        "space": "\t" + text.replace(" ", "  \u00a0") + "\n",
        "alike": text.translate(ALIKE),
        "wide": text.translate(wide),
        "hidden": "\u2060".join(text),
        "bold": text.translate(bold),
    }[disguise]
    assert fold(disguised) == fold(text)


DIGITS = [
    str.maketrans(string.digits, "".join(chr(start + n) for n in range(10))) for start in (0x30, 0x660, 0xFF10, 0x966)
]
NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,4})?", fullmatch=True)


@given(NUMBERS, NUMBERS, st.sampled_from(DIGITS), st.sampled_from(DIGITS))
def test_different_numbers_never_collide_and_the_same_one_is_known_in_any_script(
    one: str, other: str, script: dict[int, int], another: dict[int, int]
) -> None:
    first = fold(f"The limit is {one.translate(script)} MB.")
    second = fold(f"The limit is {other.translate(another)} MB.")
    assert (first == second) == (one == other)


@given(st.integers(0, 999), st.sampled_from("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂½¼①②㈠"))
def test_a_sign_that_holds_a_number_does_not_become_a_digit_of_another(number: int, sign: str) -> None:
    plain = unicodedata.normalize("NFKC", sign)
    if plain.isascii() or "\u2044" in plain:
        assert fold(f"{number}{sign}") != fold(f"{number}{plain}")
