"""The rules that stand in for a model: what they keep of a conversation, and what they leave alone."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.conversation import ADD, ASSISTANT, GENERAL_SCOPE, HUMAN, PROJECT_SCOPE, ROLES, Operation, Turn
from memem.core.memory import KINDS
from memem.mine import rules
from memem.mine.rules import extract

EXAMPLE = Path(__file__).parents[2] / "examples" / "session.jsonl"


def turns(*texts: str, role: str = HUMAN) -> list[Turn]:
    return [Turn(str(number), role, text) for number, text in enumerate(texts)]


def extracted(*texts: str) -> list[str]:
    return [operation.content for operation in extract(turns(*texts))]


def only(*texts: str) -> Operation:
    (operation,) = extract(turns(*texts))
    return operation


@pytest.mark.parametrize(
    ("text", "kind", "content"),
    [
        ("ok. remember that prices are net", "fact", "Prices are net."),
        ("Please note: the export is capped at 10k rows", "fact", "The export is capped at 10k rows."),
        ("no, we use pnpm", "convention", "We use pnpm."),
        ("that's wrong, the timeout is in ms, not seconds", "fact", "The timeout is in ms, not seconds."),
        ("yes, and please always run ruff first", "convention", "Always run ruff first."),
        ("we don't use default exports!", "convention", "We don't use default exports."),
        ("whenever you add a table, run `make erd`", "convention", "Whenever you add a table, run `make erd`."),
        ("let's use SQLite over Postgres, ok?", "decision", "Let's use SQLite over Postgres."),
        ("I prefer early returns, thanks", "preference", "I prefer early returns."),
        ("btw the api listens on port 8087", "fact", "The api listens on port 8087."),
        ("the arm64 build fails unless CGO_ENABLED=0", "lesson", "The arm64 build fails unless CGO_ENABLED=0."),
        ("请记住生产库是只读副本", "fact", "生产库是只读副本。"),
        ("Niemals direkt auf main pushen", "convention", "Niemals direkt auf main pushen."),
        ("月曜にリセットされるので覚えておいて", "fact", "月曜にリセットされる。"),
    ],
)
def test_lasting_statement_is_extracted_in_the_persons_words(text: str, kind: str, content: str) -> None:
    operation = only(text)
    assert (operation.op, operation.target) == (ADD, None)
    assert (operation.kind, operation.content) == (kind, content)
    assert operation.quote in text


@pytest.mark.parametrize(
    "text",
    [
        "should we always use uuids?",
        "do you remember which port it is",
        "if we always cached it we would serve stale prices",
        "maybe let's use Kafka instead of RabbitMQ",
        "don't commit yet",
        "remember to remove the print statement",
        "never mind",
        "it always happens when I click save",
        "you never listen",
        "let's go with option 2 because it's simpler",
        "we don't use it anymore",
        "ok thanks",
    ],
)
def test_passing_remarks_are_ignored(text: str) -> None:
    assert extracted(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "look:\n> Always use tabs.\nok?",
        "look:\n```\nAlways use tabs.\n```",
        "look: ```\nAlways use tabs.\n```",
        "look:\n```\nAlways use tabs.",
        '  File "a.py", line 3\nValueError: no\nAlways use tabs.',
        "# Plan\nAlways use tabs.\n# Steps\nNever use spaces.",
        "Always use tabs. " * 1_000,
        "always use " + "very " * 100 + "wide tabs",
    ],
)
def test_pasted_text_is_ignored(text: str) -> None:
    assert extracted(text) == []


def test_claudes_words_are_not_a_rule() -> None:
    assert extract(turns("Always use tabs. We use pnpm.", role=ASSISTANT)) == []


def test_a_correction_keeps_both_of_its_sides() -> None:
    forth, back = extracted("no, we convert from A to B", "no, we convert from B to A")
    assert (forth, back) == ("We convert from A to B.", "We convert from B to A.")
    assert extracted("not quite, the flag is on, not off", "no, the flag is off, not on") == [
        "The flag is on, not off.",
        "The flag is off, not on.",
    ]


def test_a_bare_no_goes_with_what_follows() -> None:
    operation = only("No! We name branches after the ticket.")
    assert (operation.importance, operation.quote) == (4, "No! We name branches after the ticket.")


def test_a_reason_in_a_sentence_of_its_own_stays_with_the_rule() -> None:
    assert extracted("Never edit vendor/. Because it is generated.") == ["Never edit vendor/. Because it is generated."]


def test_a_wrapped_line_is_one_sentence() -> None:
    text = "never commit anything that touches the billing tables\nwithout a review"
    assert only(text).quote == text
    assert only(text).content == "Never commit anything that touches the billing tables without a review."


def test_a_typographic_apostrophe_reads_like_a_plain_one() -> None:
    operation = only("we don’t use default exports")
    assert operation.content == "We don't use default exports."
    assert operation.quote == "we don’t use default exports"


def test_a_name_at_the_beginning_keeps_its_letters() -> None:
    assert extracted("remember that useState is banned in shared/") == ["useState is banned in shared/."]


def test_fix_is_joined_to_the_reported_error() -> None:
    fix = "fixed it by opening the database connection in a fixture and not in conftest.py"
    operation = only("pytest hangs at collection", fix)
    assert (operation.kind, operation.quote) == ("lesson", fix)
    assert operation.title == "Pytest hangs at collection"
    assert operation.content == f"Pytest hangs at collection. F{fix[1:]}."


def test_claude_may_tell_the_fix_when_it_names_something() -> None:
    error = Turn("1", HUMAN, "uploads fail with 413")
    vague = Turn("2", ASSISTANT, "The fix was to raise the limit a bit.")
    exact = Turn("3", ASSISTANT, "The fix was to raise `client_max_body_size`.")
    assert [operation.quote for operation in extract([error, vague, exact])] == [exact.text]
    assert extract([vague, exact]) == []


def test_an_error_has_one_fix() -> None:
    first, second = "fixed it by raising the limit in nginx", "fixed it by raising the limit in the app"
    assert [operation.quote for operation in extract(turns("uploads fail with 413", first, second))] == [first]


def test_guess_is_not_a_fix() -> None:
    assert extracted("uploads fail with 413", "raising the limit should be what fixed it by changing nginx") == []


def test_a_fix_long_after_is_not_for_that_error() -> None:
    chatter = ["ok"] * rules.TROUBLE_TURNS
    assert extracted("uploads fail with 413", *chatter, "fixed it by raising the limit in nginx") == []


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("I prefer short answers", GENERAL_SCOPE),
        ("in all my projects I use tabs", GENERAL_SCOPE),
        ("I prefer small modules in this repo", PROJECT_SCOPE),
        ("always use tabs in Makefile", PROJECT_SCOPE),
    ],
)
def test_taste_goes_with_the_person_and_the_rest_stays_with_the_project(text: str, scope: str) -> None:
    assert only(text).scope == scope


def test_an_order_to_remember_weighs_most() -> None:
    assert only("remember: never push to main").importance == 5
    assert only("remember that prices are net").importance == 4
    assert only("never push to main").importance == 4
    assert only("we use Redis for sessions").importance == 3


def test_identifiers_and_paths_become_keys() -> None:
    operation = only("always run `make proto` before touching api/orders.proto, ORDER_TTL needs Postgres 16")
    assert operation.keys == ("make proto", "api/orders.proto", "ORDER_TTL", "Postgres 16")
    assert operation.paths == ("api/orders.proto",)


def test_a_long_statement_gets_a_short_title() -> None:
    because = only("never call the payments service from a migration because it locks the orders table for minutes")
    assert because.title == "Never call the payments service from a migration"
    long = only(f"never use {'many ' * 30}words")
    assert len(long.title) <= rules.MAX_TITLE_CHARS
    assert long.title.endswith("many…")


def test_repeated_statement_is_extracted_once_in_order() -> None:
    assert extracted("always use tabs", "Never use spaces.", "please always use tabs!") == [
        "Always use tabs.",
        "Never use spaces.",
    ]


def test_each_bullet_is_judged_alone() -> None:
    assert extracted("- always use tabs\n- can you fix the test?\n2. never push to main") == [
        "Always use tabs.",
        "Never push to main.",
    ]


def test_the_example_gives_the_notes_that_the_demo_shows() -> None:
    lines = [json.loads(line) for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]
    turns = [turn for line in lines if (turn := _turn(line))]
    assert [(operation.kind, operation.title) for operation in extract(turns)] == [
        ("convention", "Use uv instead of pip"),
        ("convention", "Always write amounts as integer cents"),
        ("decision", "Let's go with the outbox table rather than a queue"),
        ("lesson", "Tests fail with `connection refused` on port 5433"),
        ("fact", "The staging database is Postgres 16 behind pgbouncer, so no session-level locks"),
    ]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(ROLES),
            st.lists(
                st.one_of(
                    st.sampled_from(
                        [
                            "remember that ",
                            "no, ",
                            "we use ",
                            "always ",
                            "fixed it by ",
                            "fails",
                            "```\n",
                            "> ",
                            "。",
                            "? ",
                        ]
                    ),
                    st.text(st.characters(), max_size=20),
                )
            ).map("".join),
        )
    )
)
def test_any_conversation_is_read_without_complaint(conversation: list[tuple[str, str]]) -> None:
    turns = [Turn(str(number), role, text) for number, (role, text) in enumerate(conversation)]
    for operation in extract(turns):
        assert any(operation.quote in turn.text for turn in turns)
        assert operation.quote
        assert operation.kind in KINDS
        assert 0 < len(operation.title) <= rules.MAX_TITLE_CHARS
        assert len(operation.keys) <= rules.MAX_KEYS
        assert len(operation.paths) <= rules.MAX_PATHS


@pytest.mark.parametrize(
    "piece", ["a", " ", ".", "`", "\n", "never ", "a-", "/", "we use x, not ", "，", "\x00", "\ud800"]
)
def test_a_sentence_of_one_thing_repeated_is_read(piece: str) -> None:
    for size in (rules.MAX_SENTENCE_CHARS, rules.MAX_TURN_CHARS, 1_000_000):
        extract(turns((piece * size)[:size]))


def _turn(line: dict[str, object]) -> Turn | None:
    message = line.get("message")
    if not isinstance(message, dict):
        return None
    content = message["content"]
    if isinstance(content, str):
        return Turn(str(line["uuid"]), HUMAN, content)
    texts = [block["text"] for block in content if block["type"] == "text"]
    return Turn(str(line["uuid"]), ASSISTANT, texts[0]) if texts else None


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("Remember that staging listens on port 6543, because 5432 is taken by the old one.", True),
        ("Keep in mind that it breaks on Windows.", True),
        ("No, use pnpm instead of npm.", True),
        ("Do you remember the port of the staging database?", False),
        ("I remember that it was slow.", False),
        ("Thanks, that is all for today.", False),
        ("ok", False),
    ],
)
def test_a_wish_is_known_also_where_no_rule_can_word_it(text: str, wish: bool) -> None:
    assert rules.states_wish(turns(text)) is wish
    assert not rules.states_wish(turns(text, role=ASSISTANT))
