"""Conversations that other programs export as JSON: Claude.ai, ChatGPT, or a plain list of messages."""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from memem.core.conversation import ASSISTANT, HUMAN, Turn
from memem.core.dates import iso, moment
from memem.core.errors import InputError

Object = dict[str, Any]

_ROLES = {"human": HUMAN, "user": HUMAN, "assistant": ASSISTANT, "ai": ASSISTANT, "model": ASSISTANT}
_MESSAGE_LISTS = ("chat_messages", "messages", "conversation")
_CONTAINERS = (*_MESSAGE_LISTS, "mapping", "conversations")
_SPOKEN_TYPES = ("text", "multimodal_text")  # ChatGPT's other types are code, web pages and the user's profile

Conversation = tuple[Turn, ...]


def conversations(values: Iterable[Any]) -> Iterator[Conversation]:
    """Yield the conversations of a file. Raises InputError if its first value belongs to none."""
    loose_turns: list[Turn] = []  # of a list that is itself one conversation
    for number, value in enumerate(values):
        inner = value.get("conversations") if isinstance(value, dict) else None
        candidates = inner if isinstance(inner, list) else [value]
        complete = [turns for each in candidates if isinstance(each, dict) and (turns := _read_turns(each))]
        turn = None if complete else _read_message(value, "", len(loose_turns))
        is_empty = isinstance(value, dict) and any(isinstance(value.get(name), list | dict) for name in _CONTAINERS)
        if not (complete or turn or number or is_empty):
            raise InputError(
                "it is JSON that memem does not recognise; memem imports conversations from Claude or ChatGPT, "
                "a list of objects with role and content, or its own exports"
            )
        yield from complete
        loose_turns += [turn] if turn else []
    if loose_turns:
        yield tuple(loose_turns)


def _read_turns(value: Object) -> Conversation:
    session = _text(value, "uuid", "conversation_id", "id")
    lists = (value[name] for name in _MESSAGE_LISTS if isinstance(value.get(name), list))
    messages = next(lists, None)
    if messages is None:
        messages = _current_branch(value)
    turns = (_read_message(message, session, number) for number, message in enumerate(messages))
    return tuple(turn for turn in turns if turn)


def _current_branch(value: Object) -> list[Any]:
    """Return the messages from ChatGPT's root to its current node; without such a node, all of them by time."""
    mapping = value.get("mapping")
    if not isinstance(mapping, dict):
        return []
    nodes = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    node, branch = value.get("current_node"), dict[str, Any]()
    while isinstance(node, str) and node in nodes and node not in branch:
        branch[node] = nodes[node].get("message")
        node = nodes[node].get("parent")
    if branch:
        return list(reversed(branch.values()))
    messages = (node.get("message") for node in nodes.values())
    return sorted((message for message in messages if isinstance(message, dict)), key=_time)


def _read_message(value: Any, session: str, number: int) -> Turn | None:
    if not isinstance(value, dict):
        return None
    author = value.get("author")
    role = (_text(author, "role") if isinstance(author, dict) else _text(value, "sender", "role")).lower()
    text = _message_text(value).strip()
    if role not in _ROLES or not text:
        return None
    digest = hashlib.sha256(f"{session}:{number}:{text}".encode()).hexdigest()
    return Turn(_text(value, "uuid", "id") or f"m-{digest[:32]}", _ROLES[role], text, _time(value), session)


def _message_text(value: Object) -> str:
    content = value.get("content")
    if isinstance(content, dict):  # ChatGPT
        metadata = value.get("metadata")
        hidden = isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation") is True
        is_spoken = content.get("content_type", "text") in _SPOKEN_TYPES and not hidden
        content = content.get("parts") if is_spoken else None
    if isinstance(content, str):
        return _encodable(content)
    parts = content if isinstance(content, list) else []
    blocks = (part if isinstance(part, dict) else {"text": part} for part in parts)
    texts = (_text(block, "text") for block in blocks if block.get("type", "text") in ("text", "audio_transcription"))
    return "\n".join(filter(None, texts)) or _text(value, "text")


def _time(value: Object) -> str:
    time = next((value[name] for name in ("created_at", "create_time", "timestamp") if value.get(name)), None)
    if isinstance(time, str):
        return time if moment(time) else ""
    if isinstance(time, bool) or not isinstance(time, int | float):
        return ""
    try:
        return iso(datetime.fromtimestamp(time / 1000 if time > 1e11 else time, UTC))
    except (ValueError, OverflowError, OSError):
        return ""


def _text(value: Object, *names: str) -> str:
    return next((_encodable(value[name]) for name in names if isinstance(value.get(name), str) and value[name]), "")


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
