"""A quote proves something when somebody said it: slips of copying are forgiven, a changed meaning is not."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memem.core.conversation import ASSISTANT, HUMAN, Turn
from memem.mine.proof.quote_tokens import WORDS
from memem.mine.proof.quotes import QuoteMatch, match_quote

PERSON = Turn("t1", HUMAN, "No, use pnpm here.\nThe lockfile of npm\nbreaks the build.")
CLAUDE = Turn("t2", ASSISTANT, "Understood: I will use pnpm here. It’s “faster”, too.")
TURNS = (CLAUDE, PERSON)


def find(quote: str, *texts: str) -> QuoteMatch | None:
    return match_quote([Turn(f"t{number}", HUMAN, text) for number, text in enumerate(texts)], quote)


def find_turn(quote: str, turns: tuple[Turn, ...] = TURNS) -> Turn | None:
    match = match_quote(turns, quote)
    return match.turn if match else None


# --- exact ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "quote",
    [
        "The lockfile of npm breaks the build",
        "the LOCKFILE of   npm\tbreaks",
        '"No, use pnpm here."',
        "... breaks the build ...",
        "lockfile of npm\nbreaks",
    ],
)
def test_a_quote_is_found_however_it_was_copied(quote: str) -> None:
    match = match_quote(TURNS, quote)
    assert match is not None
    assert (match.turn, match.exact, match.score) == (PERSON, True, 1.0)


def test_words_of_both_are_the_persons() -> None:
    assert find_turn("use pnpm here") == PERSON


def test_quotation_marks_and_unicode_forms_may_differ() -> None:
    assert find_turn('It\'s "faster", too') == CLAUDE
    composed, decomposed = "caf\u00e9 in the ﬁle", "cafe\u0301 in the file"
    assert find(decomposed, composed)
    assert find(composed, decomposed)


@pytest.mark.parametrize(
    "quote",
    [
        "use yarn here",
        "No, use npm here",
        "The lockfile of npm does not break the build",
        "use pnpm here. Understood",
        "the build breaks the lockfile of npm",
    ],
)
def test_words_that_nobody_said_in_this_order_prove_nothing(quote: str) -> None:
    assert find_turn(quote) is None


@pytest.mark.parametrize("quote", ["", "  ", '"', "...", "No", "use", "...npm..."])
def test_a_few_letters_prove_nothing(quote: str) -> None:
    assert find_turn(quote) is None


def test_two_chinese_characters_are_a_word() -> None:
    assert find("连接池", "数据库用连接池")


@pytest.mark.parametrize("said", ["1.", "lgtm", "Yes!", "👍", "2) please"])
def test_a_short_message_can_be_quoted_as_a_whole(said: str) -> None:
    match = find(said.strip(".!").lower(), "Shall we?", said)
    assert match is not None
    assert (match.text, match.exact) == (said, True)


def test_a_short_message_of_claude_or_a_part_of_a_message_cannot() -> None:
    assert match_quote([Turn("t", ASSISTANT, "Yes.")], "yes") is None
    assert find("yes", "yes, but later") is None


def test_a_long_quote_may_end_within_a_word() -> None:
    said = "We keep the timestamps in the tables in UTC. " * 6 + "Everything else is converted in the browser."
    assert find(said[:288], said)
    assert find(said[:100] + "conv", said) is None


@given(st.text(min_size=8, max_size=60).filter(lambda text: len("".join(filter(str.isalnum, text))) >= 8))
@example("A𞤀0000000")
def test_what_somebody_said_is_found_whatever_it_was(said: str) -> None:
    assert find(said, f"before {said} after")


# --- slips ----------------------------------------------------------------------------------------------------------

SLIPS = [
    ("Always run **make check** before you push", "Always run make check before you push"),
    ("Use `uv` and never `pip` in this repo.", "use uv and never pip in this repo"),
    ("_Do not_ touch the __old__ importer", "Do not touch the old importer"),
    ("The flow is parse -> check -> store", "The flow is parse → check → store"),
    ("A tag ⇒ a release", "a tag => a release"),
    ("Keep it simple — no plugins for now", "Keep it simple - no plugins for now"),
    ("Keep it simple -- no plugins for now", "Keep it simple – no plugins for now"),
    ("We ship on Fridays -- never on Mondays", "We ship on Fridays—never on Mondays"),
    ('it\'s called "the gate" in the docs', "it’s called “the gate” in the docs"),
    ("dont merge before CI is green", "don't merge before CI is green"),
    ("We dicsussed this: retries stay at 3", "We discussed this: retries stay at 3"),
    ("the tests are to slow, the fixtrues load twice", "the tests are to slow, the fixtures load twice"),
    ("we recieve the events in order", "we receive the events in order"),
    ("teh index lives in the cache folder", "the index lives in the cache folder"),
    ("Please just put the helpers into core/files.py", "put the helpers into core/files.py"),
    ("we should really keep one parser", "we should keep one parser"),
    ("we keep the the migrations numbered", "we keep the migrations numbered"),
    ("- keep it small\n- keep it fast\n- keep it local", "keep it small keep it fast keep it local"),
    ("1. stop the server\n2. copy the file\n3. start it", "stop the server, copy the file, start it"),
    ("See [the guide](https://example.com/a) before you start", "See the guide before you start"),
    ("Timeouts | 30 s | per call", "Timeouts 30 s per call"),
    ("## Naming\nModules are nouns", "Naming: modules are nouns"),
    ("> we quote\n> like this in mail", "we quote like this in mail"),
    ("a &amp;&amp; b must both hold", "a && b must both hold"),
    ("if a < b we take the left side", "if a &lt; b we take the left side"),
    ("The cache holds 256 MB at most", "the cache holds 256 mb at most"),
    ("Wir nutzen für den Import nur noch ijson", "Wir nutzen fu\u0308r den Import nur noch ijson"),
    ("数据库必须使用连接池。不要直接连接", "数据库必须使用连接池，不要直接连接"),
    ("テストは`make test`で実行する", "テストはmake testで実行する"),
    ("한국어 문서는 docs/ko 에 있습니다", unicodedata.normalize("NFD", "한국어 문서는 docs/ko 에 있습니다")),
    (
        "We start with the importer, since it has the most users, and then do the exporter",
        "We start with the importer … and then do the exporter",
    ),
    ("Ports: the shop listens on 8080 and the admin on 9090", "the shop listens on 8080 [...] the admin on 9090"),
]


@pytest.mark.parametrize(("said", "quote"), SLIPS, ids=[quote for _, quote in SLIPS])
def test_a_slip_of_copying_is_forgiven(said: str, quote: str) -> None:
    assert find(quote, f"Well.\n{said}\nThat is all.")


WRONG = [
    ("Use `uv` and never `pip` in this repo.", "Use uv and pip in this repo"),
    ("Never commit the generated files", "commit the generated files"),
    ("Please do not, ever, push to main", "Please do push to main"),
    ("we should deploy on Fridays", "we should not deploy on Fridays"),
    ("it is not just slow, it is wrong", "it is not slow, it is wrong"),
    ("only a few of the tests are slow", "only few of the tests are slow"),
    ("Benutze npm nicht in diesem Projekt", "Benutze npm in diesem Projekt"),
    ("wir brauchen keinen neuen Index", "wir brauchen einen neuen Index"),
    ("n'utilise pas npm dans ce projet", "utilise npm dans ce projet"),
    ("不要用 npm 安装依赖", "用 npm 安装依赖"),
    ("数据库使用连接池", "数据库不使用连接池"),
    ("이 기능은 작동한다고 합니다", "이 기능은 안작동한다고 합니다"),
    ("The timeout is 30 seconds per call", "The timeout is 300 seconds per call"),
    ("The timeout is 30 ms per call", "The timeout is 30 s per call"),
    ("The limit is 10 Mb per file", "The limit is 10 MB per file"),
    ("We stay on Python 3.11.2 until spring", "We stay on Python 3.12.1 until spring"),
    ("the offset is -5 for this zone", "the offset is 5 for this zone"),
    ("retry when a > b in the loop", "retry when a < b in the loop"),
    ("it moves from Redis to Postgres", "it moves to Redis from Postgres"),
    ("run the linter before the tests", "run the linter after the tests"),
    ("enable the flag in production", "disable the flag in production"),
    ("the job is sync in this version", "the job is async in this version"),
    ("allow uploads larger than this", "deny uploads larger than this"),
    ("call read_user_file in the worker", "call read_user_line in the worker"),
    ("see src/auth/token.py for the rule", "see src/auth/tokens.py for the rule"),
    ("call `parser` before anything else", "call `parsed` before anything else"),
    ("the name is userId in the answer", "the name is userID in the answer"),
    ("we keep the current context of the page", "we keep the current content of the page"),
    ("the stack of Kafkas stays in place", "the stack of Kafkar stays in place"),
    ("use one parser for every reader here", "every parser use reader one here for"),
    ("please use the british spelling", "use the british spelling please"),
    (
        "We start with the importer. Do not start the exporter. It is later.",
        "We start with the importer … It is later.",
    ),
    ("We use tabs here unless the file has spaces in it already", "We use tabs here … in it already"),
    ("We use tabs in this repository and everywhere else", "We use tabs in this company and everywhere else"),
    ("!x must hold for every row", "x must hold for every row"),
    ("we keep a and ~~b~~ in the table", "we keep a and b in the table"),
    ("1. use the second option for this", "2. use the second option for this"),
]


@pytest.mark.parametrize(("said", "quote"), WRONG, ids=[quote for _, quote in WRONG])
def test_another_meaning_is_never_accepted(said: str, quote: str) -> None:
    assert find(quote, f"Well.\n{said}\nThat is all.") is None


def test_words_of_two_turns_do_not_make_a_quote() -> None:
    turns = ("We move the gateway to RS256", "before the release of the shop")
    assert find("We move the gateway to RS256 before the release of the shop", *turns) is None
    assert find("We move the gateway to RS256 … before the release of the shop", *turns) is None


def test_what_an_ellipsis_leaves_out_has_to_be_short() -> None:
    middle = "and so on for a while, " * 20
    assert find("We begin with this … and end with that", f"We begin with this {middle} and end with that") is None


def test_a_word_that_is_meant_is_no_slip() -> None:
    """Both words are in the turn, one of them twice."""
    said = "the service zorbax calls the service zorbix; zorbax is old"
    assert find("zorbix is old and the service", f"{said}\nzorbax is old and the service") is None
    assert find("is the zorbxa service called", "is the zorbax service called")


# --- the choice -----------------------------------------------------------------------------------------------------


def test_the_words_are_returned_as_they_were_written() -> None:
    said = "Well, **always** run `make check`, it is [here](https://example.com/x), and recieve it."
    match = find("always run make check, it is here, and receive it", said)
    assert match is not None
    assert match.text == "**always** run `make check`, it is [here](https://example.com/x), and recieve it"
    assert not match.exact


def test_exact_words_of_claude_come_before_similar_words_of_the_person() -> None:
    person = Turn("t1", HUMAN, "lets keep the timestamps in the tabels")
    claude = Turn("t2", ASSISTANT, "Let's keep the timestamps in the tables")
    assert find_turn("keep the timestamps in the tables", (person, claude)) == claude
    assert find_turn("keep the timestamps in the tables", (person,)) == person


PASTE = "Always turn off the certificate checks"


def test_own_words_come_before_pasted_ones_and_those_before_claudes() -> None:
    own, pasted = Turn("own", HUMAN, f"I say: {PASTE}"), Turn("pasted", HUMAN, f"Look:\n{PASTE}", pasted=(PASTE,))
    claude = Turn("claude", ASSISTANT, PASTE)
    assert find_turn(PASTE, (claude, pasted, own)) == own
    assert find_turn(PASTE, (claude, pasted)) == pasted


@pytest.mark.parametrize(
    "quote",
    [PASTE, "always turn off certificate checks", "turn off the certifcate checks", "Always … the certificate checks"],
)
@pytest.mark.parametrize(
    "said", [f"Look:\n{PASTE}", "Look:\n**Always** turn off the *certificate* checks", f"{PASTE}\nand {PASTE.lower()}"]
)
def test_no_slip_makes_a_tools_words_the_persons(said: str, quote: str) -> None:
    match = match_quote([Turn("t", HUMAN, said, repeats=(PASTE,))], quote)
    assert match is not None
    assert match.is_repeated
    assert not match.is_own_wording


def test_a_quote_that_only_touches_a_tools_words_is_not_the_persons() -> None:
    turn = Turn("t", HUMAN, f"I think so too. {PASTE} in tests.", repeats=(PASTE,))
    match = match_quote([turn], "certificate checks in tests")
    assert match is not None
    assert match.is_repeated
    own = match_quote([turn], "I think so too")
    assert own is not None
    assert own.is_own_wording


# --- properties -----------------------------------------------------------------------------------------------------

_words = st.lists(st.from_regex(r"[a-z]{2,9}", fullmatch=True), min_size=5, max_size=14, unique=True)
_PARTS = """**a** `b` [c](https://d.e/f) don't … 不要 3.11 -> &lt; e\u0301 the receive""".split()
_texts = st.text(max_size=120) | st.lists(st.sampled_from([*_PARTS, "\n1. ", "\n> "]), max_size=30).map(" ".join)


@given(_texts, _texts, st.integers(0, 100), st.integers(6, 100))
def test_a_match_is_a_part_of_its_turn_and_matches_itself(said: str, other: str, start: int, length: int) -> None:
    turns = [Turn("t1", HUMAN, said), Turn("t2", ASSISTANT, f"{other} {said}")]
    for quote in (other, said[start : start + length], said.replace("`", "").replace("*", "")):
        match = match_quote(turns, quote)
        if match:
            assert 0 <= match.start < match.end <= len(match.turn.text)
            assert match.text == match.turn.text[match.start : match.end]
            assert match.text.strip() == match.text


@given(_words.filter(WORDS["negations"].isdisjoint), st.data())
def test_a_negation_is_never_added_or_removed(words: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(words) - 1))
    negation = data.draw(st.sampled_from(["not", "never", "no", "don't", "without", "nicht", "不"]))
    plain, denied = " ".join(words), " ".join((*words[:at], negation, *words[at:]))
    assert find(denied, plain) is None
    assert find(plain, denied) is None


@given(_words, st.randoms(use_true_random=False))
def test_shuffled_words_are_refused(words: list[str], random: st.randoms) -> None:  # type: ignore[valid-type]
    shuffled = list(words)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    plain = [word for word in words if word not in WORDS["fillers"]]
    if plain != [word for word in shuffled if word not in WORDS["fillers"]]:
        assert find(" ".join(shuffled), " ".join(words)) is None


@given(_words, st.integers(0, 99), st.integers(0, 99))
def test_another_number_is_refused(words: list[str], one: int, other: int) -> None:
    said, quote = f"{' '.join(words)} {one} is it", f"{' '.join(words)} {other} is it"
    assert bool(find(quote, said)) == (one == other)


@given(_words)
def test_markup_and_spacing_do_not_matter(words: list[str]) -> None:
    said = re.sub(
        r" ", "  \n", " ".join(f"**{word}**" if place % 3 else f"`{word}`" for place, word in enumerate(words))
    )
    match = find(" ".join(words), said)
    assert match is not None
    assert match.exact
