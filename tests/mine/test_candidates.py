"""Answers of a model: only what has the one schema counts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.conversation import OPERATIONS, SCOPES, Operation
from memem.core.errors import NotSchema
from memem.core.memory import KINDS
from memem.mine import prompt

GIVEN: dict[str, Any] = {
    "op": "UPDATE",
    "target": "3f2c9a1e",
    "title": "Signing",
    "content": "Tokens are signed with RS256.",
    "kind": "decision",
    "scope": "project",
    "importance": 4,
    "keys": ["JWT"],
    "paths": ["src/auth/**"],
    "quote": "sign with RS256",
}
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_operations = st.builds(
    Operation,
    op=st.sampled_from(OPERATIONS[:3]),
    target=st.none() | st.from_regex(r"[0-9a-f]{8}", fullmatch=True),
    title=st.text(max_size=20),
    content=st.text(min_size=1).filter(str.strip),
    kind=st.sampled_from(KINDS),
    scope=st.sampled_from(SCOPES),
    importance=st.integers(1, 5),
    keys=st.lists(st.text(max_size=8), max_size=3).map(tuple),
    paths=st.lists(st.text(max_size=8), max_size=3).map(tuple),
    quote=st.text(max_size=20),
)


def parse_one(**changes: Any) -> Operation:
    (operation,) = prompt.parse_operations({"operations": [GIVEN | changes]})
    return operation


# --- the schema ---------------------------------------------------------------------------------------------------


def test_an_answer_becomes_operations() -> None:
    assert parse_one() == Operation(
        "UPDATE",
        "3f2c9a1e",
        "Signing",
        "Tokens are signed with RS256.",
        "decision",
        "project",
        4,
        ("JWT",),
        ("src/auth/**",),
        "sign with RS256",
    )


def test_most_conversations_give_none() -> None:
    assert prompt.parse_operations({"operations": []}) == []


@pytest.mark.parametrize("answer", [None, [], "operations", 7, {}, {"operations": None}, {"operations": {"op": "ADD"}}])
def test_an_answer_without_a_list_of_operations_is_not_one(answer: Any) -> None:
    with pytest.raises(NotSchema, match="no `operations` list"):
        prompt.parse_operations(answer)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("op", ["DELETE", "add", None, 1, ["ADD"], {}]),
        ("target", [7, ["3f2c9a1e"], {}, False]),
        *((name, [None, 7, ["text"]]) for name in ("title", "content", "quote")),
        ("kind", ["idea", "Decision", "", None, 7]),
        ("scope", ["global", "", None]),
        ("importance", [0, 6, -1, 3.5, "3", None, True]),
        *((name, [None, "JWT", [7], [None], [["a"]], {"a": "b"}]) for name in ("keys", "paths")),
    ],
)
def test_wrong_shape_is_refused_with_name_and_number(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(NotSchema, match=rf"^Operation 2: `{name}` is .+\.$") as refusal:
            prompt.parse_operations({"operations": [GIVEN, GIVEN | {name: value}]})
        assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize("name", [name for name in GIVEN if name != "target"])
def test_missing_field_is_refused(name: str) -> None:
    lacking = {key: value for key, value in GIVEN.items() if key != name}
    with pytest.raises(NotSchema, match=f"`{name}`"):
        prompt.parse_operations({"operations": [lacking]})


@pytest.mark.parametrize("content", ["", "  \n"])
def test_a_memory_without_a_statement_is_refused(content: str) -> None:
    with pytest.raises(NotSchema, match="`content` is empty"):
        parse_one(content=content)


@pytest.mark.parametrize("operation", [7, None, "ADD", [], {"operation": "ADD"}])
def test_unknown_operation_is_refused(operation: Any) -> None:
    with pytest.raises(NotSchema, match="`op`"):
        prompt.parse_operations({"operations": [operation]})


def test_too_many_operations_are_refused() -> None:
    assert len(prompt.parse_operations({"operations": [GIVEN] * prompt.MAX_OPERATIONS})) == prompt.MAX_OPERATIONS
    with pytest.raises(NotSchema, match="more than 40"):
        prompt.parse_operations({"operations": [GIVEN] * (prompt.MAX_OPERATIONS + 1)})


def test_noop_ignores_its_other_fields() -> None:
    (operation,) = prompt.parse_operations({"operations": [{"op": "NOOP", "target": 7, "kind": "idea"}]})
    assert (operation.op, operation.target) == ("NOOP", None)


def test_unknown_fields_are_dropped() -> None:
    assert parse_one(confidence=1) == parse_one()


def test_half_a_character_becomes_a_question_mark() -> None:
    operation = parse_one(title="a\ud83d", content="b\udc00", keys=["\ud800"], quote="\udfff", target="\ud800aaaaaaa")
    assert (operation.title, operation.content, operation.keys, operation.quote) == ("a?", "b?", ("?",), "?")
    assert operation.target == "?aaaaaaa"


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def test_an_answer_that_is_nested_without_end_is_refused_or_passed_over() -> None:
    with pytest.raises(NotSchema, match="`keys`"):
        parse_one(keys=nested(900))
    assert parse_one(more=nested(900)) == parse_one()


@given(_json)
def test_whatever_the_answer_is_it_is_understood_or_refused(answer: Any) -> None:
    for whole in (answer, {"operations": answer}, {"operations": [answer]}):
        try:
            operations = prompt.parse_operations(whole)
        except NotSchema:
            continue
        assert all(isinstance(operation, Operation) for operation in operations)


@given(st.dictionaries(st.sampled_from(list(GIVEN)), _json, max_size=3))
def test_whatever_a_part_of_the_answer_is_it_is_understood_or_refused(changes: dict[str, Any]) -> None:
    try:
        operation = parse_one(**changes)
    except NotSchema:
        return
    json.dumps(prompt.operations_as_json([operation])).encode()
    operation.content.encode()


@given(st.lists(_operations, max_size=4))
def test_operations_come_back_from_the_journal_as_they_were(operations: list[Operation]) -> None:
    written = json.loads(json.dumps(prompt.operations_as_json(operations)))
    assert prompt.parse_operations({"operations": written}) == operations


def test_the_schema_that_the_model_is_sent_asks_for_what_is_checked() -> None:
    (item,) = [prompt.SCHEMA["properties"]["operations"]["items"]]
    assert set(item["required"]) == set(item["properties"]) == set(GIVEN)
    assert item["properties"]["kind"]["enum"] == list(KINDS)
    assert json.loads(json.dumps(prompt.SCHEMA)) == prompt.SCHEMA


# --- the second answer ----------------------------------------------------------------------------------------------


def test_quotes_of_the_second_answer_are_numbered() -> None:
    quotes = [{"number": 2, "quote": "use\udfff"}, {"number": 1, "quote": ""}, {"number": 2, "quote": "again"}]
    assert prompt.parse_quotes({"quotes": quotes}) == {2: "use?", 1: ""}


@given(_json)
def test_whatever_the_second_answer_is_it_is_understood_or_refused(answer: Any) -> None:
    for whole in (answer, {"quotes": answer}, {"quotes": [answer]}):
        try:
            quotes = prompt.parse_quotes(whole)
        except NotSchema:
            continue
        assert all(isinstance(number, int) and isinstance(quote, str) for number, quote in quotes.items())


def test_the_second_schema_asks_for_what_is_checked() -> None:
    item = prompt.QUOTE_SCHEMA["properties"]["quotes"]["items"]
    assert set(item["required"]) == {"number", "quote"}
    assert json.loads(json.dumps(prompt.QUOTE_SCHEMA)) == prompt.QUOTE_SCHEMA
