"""How text becomes words: identifiers whole and in parts, every script, and the same on both sides."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memem.search import fulltext
from memem.search.query import Term

MOST = 32
HAN = st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)
KANA = st.characters(min_codepoint=0x3041, max_codepoint=0x30FA)
HANGUL = st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3)
THAI = st.characters(min_codepoint=0x0E01, max_codepoint=0x0E2E)
LETTERS = st.characters(categories=["L"])
WORDS = st.one_of(*(st.text(alphabet, min_size=1, max_size=12) for alphabet in (HAN, KANA, HANGUL, THAI, LETTERS)))


def tokens(text: str) -> list[str]:
    return fulltext.index_text(text).split()


def terms_of(query: str, most: int = MOST) -> list[str]:
    return [term.text for term in fulltext.query_terms(query, most)]


def term(query: str) -> Term:
    """The first thing a query asks for: the whole of its first word."""
    return fulltext.query_terms(query, MOST)[0]


# --- identifiers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PGBOUNCER_POOL_MODE", {"pgbouncer_pool_mode", "pgbouncer", "pool", "mode"}),
        ("ledger_sync.py", {"ledger_sync.py", "ledger", "sync", "py"}),
        ("v3.3.0", {"v3.3.0", "3.3.0"}),
        ("V2.1-rc1", {"v2.1-rc1", "2.1-rc1"}),
        ("OPS-4821", {"ops-4821", "ops", "4821"}),
        ("ORA-00942", {"ora-00942", "ora", "00942"}),
        ("src/auth/token.py", {"src/auth/token.py", "src", "auth", "token.py", "token"}),
        ("./src/auth/token.py", {"src/auth/token.py", "token.py"}),
        ("C:\\repos\\shop\\main.rs", {"c:\\repos\\shop\\main.rs", "main.rs", "repos"}),
        ("getUserName", {"getusername", "get", "user", "name"}),
        ("UserAccount", {"useraccount", "user", "account"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
        ("parseHTTPResponse", {"parsehttpresponse", "parse", "http", "response"}),
        ("std::vector", {"std::vector", "std", "vector"}),
        ("feature-flag", {"feature-flag", "feature", "flag"}),
        ("user@example.com", {"user@example.com", "user", "example"}),
        ("C++", {"c++"}),
        ("C#", {"c#"}),
        (".env", {"env"}),
        ("__init__.py", {"init", "py"}),
        ("_emphasis_", {"emphasis"}),
        ("**bold**", {"bold"}),
        ("`code`", {"code"}),
        ("127.0.0.1:5432", {"127.0.0.1:5432", "127.0.0.1", "5432"}),
    ],
)
def test_an_identifier_is_kept_whole_and_split(text: str, expected: set[str]) -> None:
    assert expected <= set(tokens(f"see {text} there"))


@pytest.mark.parametrize("text", ["C++", "C#"])
def test_a_language_with_a_sign_in_its_name_is_not_the_letter(text: str) -> None:
    assert "c" not in tokens(f"we write {text} here")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't", ["don't"]),
        ("don’t", ["don't"]),
        ("user's", ["user"]),
        ("user’s", ["user"]),
        ("USER'S", ["user"]),
        ("users'", ["users"]),
        ("aujourd’hui", ["aujourd'hui"]),
        ("комп’ютер", ["комп'ютер"]),
        ("компʼютер", ["комп'ютер"]),
        ("o‘zbek", ["o'zbek"]),
    ],
)
def test_an_apostrophe_is_part_of_a_word_and_a_possessive_is_not(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("l'eau", ["eau"]),
        ("L’accès", ["acces"]),
        ("jusqu'ici", ["ici"]),
        ("dell'utente", ["utente"]),
        ("d'a", ["d'a"]),
        ("o'brien", ["o'brien"]),
    ],
)
def test_an_article_before_an_apostrophe_is_not_part_of_a_word(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_a_part_that_repeats_the_whole_or_is_one_letter_is_left_out() -> None:
    assert tokens("pool x/y") == ["pool", "x/y"]


def test_a_run_without_spaces_that_is_too_long_is_not_a_word() -> None:
    longest = "x" * fulltext.MAX_TERM
    assert tokens(longest) == [longest]
    assert tokens(longest + "x") == []


def test_a_long_compound_is_found_by_its_parts_alone() -> None:
    assert set(tokens("/".join(["alpha", "beta"] * fulltext.MAX_TERM))) == {"alpha", "beta"}


# --- scripts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Café", {"cafe"}),
        ("Cafe\u0301", {"cafe"}),
        ("Straße", {"strasse"}),
        ("naïve", {"naive"}),
        ("ＡＰＩ", {"api"}),
        ("Ёлка", {"елка"}),
        ("Đường", {"duong"}),
        ("Łódź", {"lodz"}),
        ("smørrebrød", {"smorrebrod"}),
        ("Œuvre", {"oeuvre"}),
        ("IŞIK ışık", {"isik"}),
        ("٤٢٧", {"427"}),
        ("مكتبة مستشفى", {"مكتبه", "مستشفي"}),
        ("ज़रूर", {"जरूर"}),
        ("co\u00adoperate", {"cooperate"}),
        ("葛\U000e0100城", {"葛城"}),
        ("メール・アドレス", {"ルア"}),
        ("ㄅㄆㄇ", {"ㄅㄆ", "ㄆㄇ"}),
        ("བོད་ཡིག", {"བོད", "ཡིག"}),
        ("العَرَبِيَّة", {"العربيه"}),
        ("العـــربية", {"العربيه"}),
        ("हिन्दी", {"हिन्दी"}),
        ("עִבְרִית", {"עברית"}),
        ("ภาษาไทย", {"ภา", "าษ", "ษา", "าไ", "ไท", "ทย"}),
        ("数据库", {"数据", "据库"}),
        ("한국어", {"한국", "국어"}),
        ("ガイド", {"ガイ", "イド"}),
        ("日本語のAPIキー", {"日本", "本語", "語の", "api", "キー"}),
        ("第3章", {"第", "3", "章"}),
        ("𠮷野家", {"𠮷野", "野家"}),
    ],
)
def test_every_script_has_its_words(text: str, expected: set[str]) -> None:
    assert expected <= set(tokens(text))


@pytest.mark.parametrize("spelling", ["می\u200cخواهم", "می خواهم", "میخواهم"])
def test_a_persian_word_is_found_with_a_joiner_a_space_or_neither(spelling: str) -> None:
    note = set(tokens("کاربر می\u200cخواهم نوشت"))
    assert {term.text for term in fulltext.query_terms(spelling, MOST)} & note


def test_half_width_and_full_width_kana_are_the_same_words() -> None:
    assert tokens("ﾊﾝｶｸ") == tokens("ハンカク")


def test_voiced_kana_are_not_folded_into_unvoiced_ones() -> None:
    assert set(tokens("ガギ")).isdisjoint(tokens("カキ"))


@pytest.mark.parametrize("character", ["数", "池", "가", "あ", "ก"])
def test_a_single_character_of_a_spaceless_script_is_a_prefix_query(character: str) -> None:
    assert fulltext.query_terms(character, MOST) == [Term(character, prefix=True)]


@pytest.mark.parametrize("character", "数据库")
def test_every_character_of_a_run_begins_one_of_its_tokens(character: str) -> None:
    assert any(token.startswith(character) for token in tokens("数据库"))


def test_a_run_is_queried_by_its_bigrams() -> None:
    assert fulltext.query_terms("数据库", MOST) == [Term("数据", bigram=True), Term("据库", bigram=True)]


# --- what is exact ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word",
    [
        *("PGBOUNCER_POOL_MODE", "snake_case", "ledger_sync.py", "token.py", "package.json", "src/auth/token.py"),
        *("v3.3.0", "3.3.0", "1.10", "10.0.0.1", "OPS-4821", "ORA-00942", "E1101", "8080", "5432", "k8s", "utf-8"),
        *("2026-03-01", "10:30", "camelCase", "getUserName", "UserAccount"),
    ],
)
def test_an_identifier_a_path_or_a_number_is_literal(word: str) -> None:
    assert term(word).literal


@pytest.mark.parametrize(
    "word",
    [
        *("database", "Tokens", "API", "follow-up", "well-known", "pre-commit", "and/or", "e.g", "i.e", "e.g.", "a.m"),
        *("U.S.A", "end.Start", "done.Then", "_emphasis_", "**bold**", "l'eau", "7", "42", "Café", "数据", "C++"),
    ],
)
def test_an_ordinary_word_is_not_literal(word: str) -> None:
    assert not any(term.literal for term in fulltext.query_terms(word, MOST))


def test_a_part_of_a_compound_is_marked_as_one_and_is_not_literal() -> None:
    whole, *parts = fulltext.query_terms("PGBOUNCER_POOL_MODE", MOST)
    assert whole == Term("pgbouncer_pool_mode", literal=True)
    assert parts == [Term("pgbouncer", part=True), Term("pool", part=True), Term("mode", part=True)]


@pytest.mark.parametrize("query", ["pool_mode pool", "pool pool_mode"])
def test_a_word_queried_alone_is_not_a_part(query: str) -> None:
    assert Term("pool") in fulltext.query_terms(query, MOST)


# --- what a query asks for ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("How do we sign the tokens?", ["sign", "tokens"]),
        ("What's the way to use it, please", []),
        ("hi", []),
        ("ok thanks", []),
        ("Don't", []),
        ("I don’t know", []),
        ("", []),
        ("  \n\t ", []),
        ("?!… — ()", []),
        ("pool POOL Pool", ["pool"]),
        ("café cafe\u0301 CAFE", ["cafe"]),
    ],
)
def test_a_query_asks_for_its_meaningful_words_once(query: str, expected: list[str]) -> None:
    assert terms_of(query) == expected


def test_stop_words_are_dropped_from_queries_only() -> None:
    assert tokens("to be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert terms_of("to be or not to be") == []


def test_a_long_query_is_bounded_and_keeps_what_is_literal() -> None:
    filler = " ".join(f"word{'abcdefghij'[n % 10]}{'abcdefghij'[n // 10]}" for n in range(100))
    chosen = terms_of(f"{filler} OPS-4821 {filler} ledger_sync.py", most=10)
    assert len(chosen) == 10
    assert {"ops-4821", "ledger_sync.py"} <= set(chosen)


def test_query_terms_are_in_the_order_of_the_query() -> None:
    assert [text for text in terms_of("zebra ops_mode apple") if text not in ("ops", "mode")] == [
        "zebra",
        "ops_mode",
        "apple",
    ]


@given(st.text(max_size=200), st.integers(min_value=0, max_value=8))
def test_a_query_never_asks_for_more_than_it_may(query: str, most: int) -> None:
    assert len(fulltext.query_terms(query, most)) <= most


# --- both sides agree ---------------------------------------------------------------------------------------------


@given(st.text(st.characters(), max_size=200))
@example("ـ")
@example("\u0301")
@example("\u037a")
@example("\ufdfa")
@example("\ud800 \x00")
def test_any_text_gives_words_that_are_neither_empty_nor_several(text: str) -> None:
    terms = fulltext.query_terms(text, MOST)
    assert [term for term in terms if len(term.text.split()) != 1] == []


@given(WORDS)
@example("\ufdfa")
@example("・")
@example("İIıi")
@example("l'é")
@example("ﾊﾝｶｸ")
@example("İstanbul")
@example("ǅ")
@example("ŉ")
def test_what_a_word_asks_for_is_in_the_index_of_a_text_that_holds_it(word: str) -> None:
    held = tokens(f"before {word} after")
    for each in fulltext.query_terms(word, MOST):
        assert any(token.startswith(each.text) if each.prefix else token == each.text for token in held)


@given(st.text(HAN, min_size=1, max_size=4), st.text(HAN, max_size=4), st.text(HAN, max_size=4))
def test_a_part_of_a_run_is_found_wherever_it_stands(part: str, before: str, after: str) -> None:
    held = tokens(before + part + after)
    for each in fulltext.query_terms(part, MOST):
        assert any(token.startswith(each.text) if each.prefix else token == each.text for token in held)


@given(st.text(max_size=60))
def test_composition_makes_no_difference(text: str) -> None:
    assert fulltext.index_text(unicodedata.normalize("NFD", text)) == fulltext.index_text(
        unicodedata.normalize("NFC", text)
    )


@given(st.from_regex(r"[a-z]{1,10}([_./-][a-z0-9]{1,6}){0,3}", fullmatch=True))
def test_case_does_not_change_what_is_found(word: str) -> None:
    assert tokens(word)[0] == tokens(word.upper())[0]
