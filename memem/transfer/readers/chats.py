"""Conversations that other programs export as JSON: Claude.ai, ChatGPT, or a plain list of messages."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memem.core.conversation import ASSISTANT, HUMAN, Turn
from memem.core.dates import iso, moment
from memem.core.errors import InputError

Object = dict[str, Any]

_ROLES = {"human": HUMAN, "user": HUMAN, "assistant": ASSISTANT, "ai": ASSISTANT, "model": ASSISTANT}
_MESSAGES = ("chat_messages", "messages", "conversation")
_SPOKEN = ("text", "multimodal_text")
"""What ChatGPT calls what somebody said; the rest is code, pages, and what a person once told of themselves."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said in one, in order."""

    id: str
    title: str
    turns: tuple[Turn, ...]


def conversations(values: Iterable[Any]) -> Iterator[Conversation]:
    """Those that the values of a file hold. Raises InputError when the first one is no part of any."""
    loose: list[Turn] = []  # of a list that is itself one conversation
    for number, value in enumerate(values):
        found = list(_found(value))
        turn = None if found else _message(value, "", len(loose))
        if not (found or turn or number or _is_one(value)):
            raise InputError(
                "it is JSON, but no export that memem knows: neither conversations of Claude or ChatGPT, "
                "nor a list of role and content, nor an export of memem"
            )
        yield from found
        loose += [turn] if turn else []
    if loose:
        yield Conversation("", "", tuple(loose))


def _is_one(value: Any) -> bool:
    """Whether it has the form of a conversation, though nothing was said in it."""
    return isinstance(value, dict) and any(
        isinstance(value.get(name), list | dict) for name in (*_MESSAGES, "mapping", "conversations")
    )


def _found(value: Any) -> Iterator[Conversation]:
    if not isinstance(value, dict):
        return
    within = value.get("conversations")
    for each in within if isinstance(within, list) else [value]:
        turns = _turns(each) if isinstance(each, dict) else ()
        if turns:
            yield Conversation(turns[0].session, _text(each, "name", "title"), turns)


def _turns(value: Object) -> tuple[Turn, ...]:
    identity = _text(value, "uuid", "conversation_id", "id")
    told = next((value[name] for name in _MESSAGES if isinstance(value.get(name), list)), None)
    if told is None:
        told = _branch(value)
    turns = (_message(each, identity, number) for number, each in enumerate(told))
    return tuple(turn for turn in turns if turn)


def _branch(value: Object) -> list[Any]:
    """What was said last in a tree of messages, and all that led to it; without such a leaf, everything by its time."""
    mapping = value.get("mapping")
    if not isinstance(mapping, dict):
        return []
    nodes = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    leaf, path = value.get("current_node"), dict[str, Any]()
    while isinstance(leaf, str) and leaf in nodes and leaf not in path:
        path[leaf] = nodes[leaf].get("message")
        leaf = nodes[leaf].get("parent")
    if path:
        return list(reversed(path.values()))
    messages = [node.get("message") for node in nodes.values()]
    told = [each for each in messages if isinstance(each, dict)]
    return sorted(told, key=_time)


def _message(value: Any, session: str, number: int) -> Turn | None:
    """A message as a turn; None for what nobody said."""
    if not isinstance(value, dict):
        return None
    author = value.get("author")
    role = _text(author, "role") if isinstance(author, dict) else _text(value, "sender", "role")
    text, time = _said(value).strip(), _time(value)
    if role.lower() not in _ROLES or not text:
        return None
    identity = _text(value, "uuid", "id") or _derived(session, number, text)
    return Turn(identity, _ROLES[role.lower()], text, time, session)


def _said(value: Object) -> str:
    content = value.get("content")
    if isinstance(content, dict):  # of ChatGPT
        spoken = content.get("content_type", "text") in _SPOKEN and not _is_hidden(value)
        content = content.get("parts") if spoken else None
    if isinstance(content, str):
        return _encodable(content)
    parts = content if isinstance(content, list) else []
    texts = [each if isinstance(each, str) else _block(each) for each in parts]
    return "\n".join(filter(None, map(_encodable, texts))) or _text(value, "text")


def _block(value: Any) -> str:
    spoken = isinstance(value, dict) and value.get("type", "text") in ("text", "audio_transcription")
    return _text(value, "text") if spoken else ""


def _is_hidden(value: Object) -> bool:
    metadata = value.get("metadata")
    return isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation") is True


def _time(value: Object) -> str:
    """When it was said, in ISO 8601; empty where that is not known."""
    told = next((value[name] for name in ("created_at", "create_time", "timestamp") if value.get(name)), None)
    if isinstance(told, str):
        return told if moment(told) else ""
    if isinstance(told, bool) or not isinstance(told, int | float):
        return ""
    try:
        return iso(datetime.fromtimestamp(told / 1000 if told > 1e11 else told, UTC))
    except (ValueError, OverflowError, OSError):
        return ""


def _text(value: Object, *names: str) -> str:
    """The first of these that is a text."""
    return next((_encodable(value[name]) for name in names if isinstance(value.get(name), str) and value[name]), "")


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _derived(session: str, number: int, text: str) -> str:
    return f"m-{hashlib.sha256(f'{session}:{number}:{text}'.encode()).hexdigest()[:32]}"
