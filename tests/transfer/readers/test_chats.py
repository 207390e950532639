"""Conversations of other programs: who said what, in which order, and nothing that nobody said."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.errors import InputError
from memem.transfer.readers import chats
from memem.transfer.readers.chats import Conversation
from tests.foreign import ANYTHING


def read(*values: Any) -> list[Conversation]:
    return list(chats.conversations(values))


def roles_and_texts(conversation: Conversation) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in conversation]


CLAUDE = {
    "uuid": "c1",
    "name": "Otters",
    "created_at": "2025-01-02T10:00:00Z",
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "text": "This block is not supported.",
            "content": [{"type": "text", "text": "Otters float."}, {"type": "tool_result", "text": "no"}],
            "created_at": "2025-01-02T10:00:01.5Z",
        },
        {"uuid": "m2", "sender": "assistant", "text": "They do."},
        {"uuid": "m3", "sender": "human", "text": " "},
    ],
}


def node(parent: str | None, role: str = "", *parts: Any, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": list(parts)}
    message = {"id": f"m-{role}", "author": {"role": role}, "content": content, "create_time": 1_700_000_000.5, **more}
    return {"parent": parent, "message": message if role else None}


def test_a_conversation_of_claude() -> None:
    (found,) = read(CLAUDE)
    assert found[0].session == "c1"
    assert roles_and_texts(found) == [("human", "Otters float."), ("assistant", "They do.")]
    assert found[0].uuid == "m1"
    assert found[0].time == "2025-01-02T10:00:01.5Z"


def test_current_branch_of_a_chatgpt_tree_is_read() -> None:
    mapping = {
        "root": node(None),
        "one": node("root", "user", "Otters float.", {"content_type": "image"}),
        "given up": node("one", "assistant", "They sink."),
        "two": node("one", "assistant", "They do."),
        "tool": node("two", "tool", "a page"),
    }
    (found,) = read({"title": "Otters", "id": "g1", "mapping": mapping, "current_node": "tool"})
    assert roles_and_texts(found) == [("human", "Otters float."), ("assistant", "They do.")]
    assert found[0].time == "2023-11-14T22:13:20+00:00"


def test_a_tree_without_an_end_is_read_by_time_and_one_that_is_a_circle_ends() -> None:
    mapping = {"a": node("b", "user", "Second.", create_time=2), "b": node("a", "user", "First.", create_time=1)}
    (found,) = read({"mapping": mapping})
    assert [text for _, text in roles_and_texts(found)] == ["First.", "Second."]
    (circle,) = read({"mapping": mapping, "current_node": "a"})
    assert [text for _, text in roles_and_texts(circle)] == ["First.", "Second."]


def test_hidden_chatgpt_messages_are_skipped() -> None:
    hidden = {"metadata": {"is_visually_hidden_from_conversation": True}}
    about = {"content": {"content_type": "user_editable_context", "parts": ["I am a baker."]}}
    assert read({"mapping": {"a": node(None, "user", "Hidden.", **hidden), "b": node(None, "user", **about)}}, {}) == []


def test_a_plain_list_is_one_conversation() -> None:
    blocks = [{"type": "text", "text": "Otters"}, {"type": "image"}, "float."]
    (found,) = read({"role": "user", "content": blocks}, {"role": "system", "content": "x"}, {"role": "assistant"})
    assert roles_and_texts(found) == [("human", "Otters\nfloat.")]
    assert read({"role": "user", "content": blocks})[0][0].uuid == found[0].uuid


def test_conversations_within_an_object_are_found_and_empty_ones_are_none() -> None:
    assert [turns[0].session for turns in read({"conversations": [CLAUDE, {"uuid": "c2", "chat_messages": []}]})] == [
        "c1"
    ]
    assert read({"uuid": "c2", "chat_messages": []}) == []


def test_json_that_is_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="does not recognise"):
        read({"name": "package", "version": "1.0"})


_NAMES = st.sampled_from(
    "uuid chat_messages messages mapping current_node conversations sender role content text parts message author "
    "parent create_time created_at metadata content_type type id title human user assistant".split()
)
_LIKE = st.recursive(
    ANYTHING | _NAMES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=6)
)


@given(st.lists(_LIKE, max_size=4))
def test_whatever_the_shape_it_is_read_or_refused(values: list[Any]) -> None:
    try:
        found = read(*values)
    except InputError:
        return
    for conversation in found:
        for turn in conversation:
            assert turn.role in ("human", "assistant")
            (turn.text + turn.uuid).encode()
