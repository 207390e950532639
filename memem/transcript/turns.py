"""Interpret a line of a transcript. The format changes without notice: unknown shapes are never an error."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from memem.core.conversation import ASSISTANT, HUMAN, OWN_CALL, QUEUED, Turn
from memem.core.home import OWN_FOLDER
from memem.transcript.harness import hidden_parts, is_command, is_untyped, slice_ids, typed_text
from memem.transcript.lookback import NOTHING, Lookback, QueuedPrompt
from memem.transcript.utterances import Utterance, find_utterance, is_text
from memem.transcript.work import ToolCall, Work, read_calls, work_of_assistant, work_of_user

Object = dict[str, Any]

_SDK = "sdk-"  # sdk-cli is `claude -p`, sdk-py and sdk-ts are the Agent SDK
_SPOKEN = ("text", "thinking", "redacted_thinking", "tool_use", "server_tool_use")  # by Claude
# Names of values without words, or with those of a whole file that neither Claude nor a person is shown.
_UNSEEN = frozenset(("type", "tool_use_id", "originalFile"))


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    turn: Turn | None = None
    work: Work | None = None
    injected: tuple[str, ...] = ()  # ids of memories that memem showed here
    own: bool = False  # in a call of memem's own
    time: str = ""
    output: tuple[str, ...] = ()  # all words that are neither the person's nor Claude's own: of tools, files, hooks
    inputs: tuple[str, ...] = ()  # that Claude gave to tools
    is_sdk: bool = False  # asked by `claude -p` or the Agent SDK; older lines do not say so


def read(value: Object, session: str, earlier: Lookback = NOTHING) -> TranscriptLine:
    """Return the meaning of an object; `session` is used if it names none, `earlier` are the lines before it."""
    kind, blocks = value.get("type"), _blocks(value)
    line = TranscriptLine()
    if value.get("isSidechain"):  # a conversation of Claude with a sub-agent
        line = TranscriptLine(output=_words_in(value.get("message"), value.get("toolUseResult")))
    elif kind == "user":
        utterance = find_utterance(value, blocks, earlier.name_tool)
        output = _output_of_user(value, blocks, utterance)
        turn = _make_spoken_turn(value, utterance, session) if utterance else None
        line = TranscriptLine(turn, work_of_user(value, blocks), _ids(_texts(blocks)), output=output)
    elif kind == "assistant":
        turn = _assistant(value, blocks, session)
        # A message without a turn is an error or a notice of Claude Code, if it has texts at all.
        foreign = (block for block in blocks if block.get("type") not in _SPOKEN or (not turn and _is(block, "text")))
        inputs = _words_in(*(block.get("input") for block in blocks))
        line = TranscriptLine(
            turn, work_of_assistant(blocks, _word(value, "cwd")), output=_words_in(*foreign), inputs=inputs
        )
    elif kind == "attachment":
        attachment = _part(value, "attachment")
        texts = _words_in(attachment)
        if utterance := _find_delivered_prompt(attachment):
            prompts = _texts(_content({"content": attachment.get("prompt")}))  # one, unless an image is with it
            queued = next(filter(None, map(earlier.find_queued_prompt, prompts)), None)
            line = TranscriptLine(_make_spoken_turn(value, utterance, session, queued))
        else:
            shown = texts if _is(attachment, "hook_additional_context") else ()
            line = TranscriptLine(injected=_ids(shown), output=texts)
    elif kind == "queue-operation" and value.get("operation") == "remove":
        # Recent releases name the prompt here and store it again as an attachment when Claude gets it.
        queued = None if _word(value, "content") else earlier.find_removed_prompt()
        if queued and not is_untyped(queued.text):
            utterance = Utterance(typed_text(queued.text), QUEUED)
            line = TranscriptLine(
                _make_spoken_turn(value | earlier.find_folder_and_branch(), utterance, session, queued)
            )
    elif kind == "system" and not is_command(_word(value, "content")):
        line = TranscriptLine(output=_words_in(value.get("content")))
    elif kind == "progress":
        line = TranscriptLine(output=_words_in(_part(value, "data").get("message")))  # of a sub-agent
    first = next(_texts(blocks), "") if kind == "user" else ""
    folder = re.split(r"[\\/]", _word(value, "cwd").rstrip("\\/"))[-1]
    return replace(
        line,
        own=first.startswith(OWN_CALL) or folder == OWN_FOLDER,
        time=_word(value, "timestamp"),
        is_sdk=_word(value, "entrypoint").startswith(_SDK),
    )


def calls_in(value: Object) -> Iterator[ToolCall]:
    """Yield the calls of tools in a line of Claude; those of a sub-agent are not its own."""
    return iter(()) if value.get("isSidechain") else read_calls(_blocks(value), _word(value, "cwd"))


def _output_of_user(value: Object, blocks: list[Object], utterance: Utterance | None) -> tuple[str, ...]:
    """Return everything in a user's message that no person typed."""
    texts = list(_texts(blocks))
    if utterance and utterance.proposal and not utterance.result:
        texts = []  # a plan that the person approved: Claude's words, not a tool's
    elif utterance:
        texts = [part for text in texts for part in hidden_parts(text)]
    else:
        texts = [text for text in texts if not is_command(text)]
    stored = utterance.result if utterance else None
    results = (block for block in blocks if not _is(block, "text") and block is not stored)
    return _words_in(*results, None if stored else value.get("toolUseResult"), texts)


def _find_delivered_prompt(attachment: Object) -> Utterance | None:
    """Return the prompt that a person typed while Claude worked, if the attachment delivers one."""
    origin = _part(attachment, "origin").get("kind") or "human"
    if (
        not _is(attachment, "queued_command")
        or attachment.get("commandMode", "prompt") != "prompt"
        or origin != "human"
    ):
        return None
    texts = list(_texts(_content({"content": attachment.get("prompt")})))
    text = "\n\n".join(filter(None, map(typed_text, texts)))
    return Utterance(text, QUEUED) if text and not any(map(is_untyped, texts)) else None


def _make_spoken_turn(
    value: Object, utterance: Utterance, session: str, queued: QueuedPrompt | None = None
) -> Turn | None:
    if queued:  # it has one id and time, wherever it is stored
        value = {**value, "uuid": queued.uuid, "timestamp": queued.time}
    turn = _turn(value, HUMAN, [utterance.text], session)
    return turn and replace(turn, place=utterance.place, proposal=utterance.proposal)


def _assistant(value: Object, blocks: list[Object], session: str) -> Turn | None:
    is_made_up = value.get("isMeta") or value.get("isApiErrorMessage")
    if is_made_up or _part(value, "message").get("model") == "<synthetic>":
        return None
    return _turn(value, ASSISTANT, _texts(blocks), session)


def _turn(value: Object, role: str, texts: Iterable[str], session: str) -> Turn | None:
    text = "\n\n".join(filter(None, map(typed_text, texts)))
    if not text:
        return None
    time = _word(value, "timestamp")
    content = "\0".join((role, time, text)).encode("utf-8", "surrogatepass")
    return Turn(
        uuid=_word(value, "uuid") or f"c-{hashlib.sha256(content).hexdigest()[:32]}",
        role=role,
        text=text,
        time=time,
        session=_word(value, "sessionId") or session,
        cwd=_word(value, "cwd"),
        branch=_word(value, "gitBranch"),
    )


def _ids(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for text in texts for each in slice_ids(text)))


def _blocks(value: Object) -> list[Object]:
    """Return the blocks of a message, if its role is that of the line."""
    message = _part(value, "message")
    return _content(message) if message.get("role") in (None, value.get("type")) else []


def _content(part: Object) -> list[Object]:
    content = part.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _texts(blocks: Iterable[Object]) -> Iterator[str]:
    return (block["text"] for block in blocks if is_text(block))


def _words_in(*values: Any) -> tuple[str, ...]:
    """Return the texts in JSON values, each once, the lines of a list as one."""
    texts: dict[str, None] = {}
    left = list(reversed(values))
    while left:
        value = left.pop()
        if isinstance(value, str):
            texts[value] = None
        elif isinstance(value, dict):
            is_binary = value.get("type") == "base64"  # an image
            left += [part for name, part in value.items() if name not in _UNSEEN and not (is_binary and name == "data")]
        elif isinstance(value, list):
            lines = [part for part in value if isinstance(part, str)]
            left += [*(part for part in value if not isinstance(part, str)), "\n".join(lines)]
    return tuple(filter(None, texts))


def _is(block: Object, kind: str) -> bool:
    return block.get("type") == kind


def _part(value: Object, key: str) -> Object:
    part = value.get(key)
    return part if isinstance(part, dict) else {}


def _word(value: Object, key: str) -> str:
    word = value.get(key)
    return word if isinstance(word, str) else ""
