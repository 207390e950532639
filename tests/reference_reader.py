"""A slow, simple reader of what a person said in a session of Claude Code, written from recordings of the real program.

It shares no code and no tables with `memem.transcript`, so that the two can be compared: `utterances(data)` reads one
whole session file. `tests/fixtures/sessions/README.md` shows the lines it is made for.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PROMPT = "prompt"
REJECTION = "rejection"
ANSWER = "answer"
BESIDE_RESULT = "beside_result"
QUEUED = "queued"
COMMAND = "command"
SHELL = "shell"
PLAN_APPROVAL = "plan_approval"
PLAN_REJECTION = "plan_rejection"
PLACES = (PROMPT, REJECTION, ANSWER, BESIDE_RESULT, QUEUED, COMMAND, SHELL, PLAN_APPROVAL, PLAN_REJECTION)

_REFUSED = "The user doesn't want to proceed with this tool use."
_REASON = "the user said:\n"
_HINT = "\n\nNote: The user's next message may contain a correction or preference."
_CLARIFY = "The user wants to clarify these questions."
_CLARIFY_ANSWER = re.compile(r'^- "(.*)"\n  Answer: (.*(?:\n(?!- ").*)*)', re.MULTILINE)
_APPROVED_PLAN = re.compile(r"User has approved your plan.*?\n## Approved Plan[^\n]*:\n(.*)", re.DOTALL)
_ANSWERED = re.compile(r"(?:User has answered your questions|Your questions have been answered|The user answered): ")
_QUOTED_ANSWER = re.compile(r'"="(.*?)"(?=, "|\. |$| selected preview:| notes:)', re.DOTALL)
_NO_ANSWER = ("", "(notes only)", "(no option selected)")
_IMPLEMENT = "Implement the following plan:"
_PLAN_FOOTER = "\n\nIf you need specific details from before exiting plan mode"
_COMMAND_NAME = re.compile(r"<command-name>/?(.*?)</command-name>", re.DOTALL)
_COMMAND_ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_SHELL_INPUT = re.compile(r"<bash-input>(.*?)</bash-input>", re.DOTALL)
_WRAPPED = re.compile(
    r"<(system-reminder|ide_\w+|user-prompt-submit-hook|post-tool-use-hook|persisted-output)>.*?</\1>", re.DOTALL
)
_SYNTHETIC = (
    *("<local-command-", "<bash-stdout>", "<bash-stderr>", "<task-notification>", "<teammate-message", "<tick>"),
    *("<agent-message", "<cross-session-message", "<channel", "<fork-boilerplate>", "<mcp-", "<command-"),
    *(
        "[Request interrupted by user",
        "[Image: ",
        "[Image source: ",
        "Operation stopped by hook",
        "Stop hook feedback:",
    ),
    *("Caveat: The messages below", "This session is being continued from a previous conversation", "Tool loaded."),
)
_IMAGE_MARK = re.compile(r"\[Image #\d+\] ?")
_NOT_SPOKEN = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly")


@dataclass(frozen=True)
class Utterance:
    """Words or an act of the person: where they stand, what they say, when, and what tells them from a repetition."""

    place: str
    text: str
    time: str
    key: str


def utterances(data: bytes) -> list[Utterance]:
    """Return everything the person said in one session file, each utterance once, in order of time."""
    lines = [line for line in every_object(data) if not any(line.get(mark) is True for mark in _NOT_SPOKEN)]
    tools = tool_names(lines)
    found: dict[str, Utterance] = {}
    for line in lines:
        for utterance in [*read_user_line(line, tools), *read_attachment(line)]:
            found.setdefault(utterance.key, utterance)
    for utterance in undelivered_twice(lines, list(found.values())):
        found.setdefault(utterance.key, utterance)
    return sorted(found.values(), key=lambda utterance: utterance.time)


def every_object(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a file, also two on one line or one over several lines; skip what is broken."""
    decoder = json.JSONDecoder(strict=False)
    text = data.decode("utf-8", "replace")
    start = text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except ValueError:
            end = text.find("\n", start)
            if end < 0:
                return
        else:
            if isinstance(value, dict):
                yield value
        start = text.find("{", end)


def tool_names(lines: list[dict[str, Any]]) -> dict[str, str]:
    """Return the name of the tool of each call, by the id of the call."""
    return {
        block["id"]: str(block.get("name"))
        for line in lines
        if line.get("type") == "assistant"
        for block in blocks_of(line)
        if block.get("type") == "tool_use" and "id" in block
    }


def blocks_of(line: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the content of a message as blocks."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def read_user_line(line: dict[str, Any], tools: dict[str, str]) -> Iterator[Utterance]:
    """Yield what the person said in a line of type user."""
    if line.get("type") != "user":
        return
    time = str(line.get("timestamp", ""))
    key = str(line.get("uuid") or digest(time, json.dumps(line.get("message"))))
    blocks = blocks_of(line)
    results = [block for block in blocks if block.get("type") == "tool_result"]
    words = "\n".join(part for part in map(human_text, blocks) if part)
    if results:
        for result in results:
            for place, text in read_result(line, result, tools):
                yield Utterance(place, text, time, f"{key}:{digest(str(result.get('tool_use_id')), text)}")
        if words:
            yield Utterance(BESIDE_RESULT, words, time, key)
    elif is_plan(line, blocks):
        yield Utterance(PLAN_APPROVAL, plan_of(line, blocks), time, key)
    elif is_human(line):
        yield from (Utterance(place, text, time, key) for place, text in read_words(line, blocks, words))


def read_words(line: dict[str, Any], blocks: list[dict[str, Any]], words: str) -> Iterator[tuple[str, str]]:
    """Yield a prompt, the arguments of a command or a shell command."""
    raw = raw_text(blocks)
    if shell := _SHELL_INPUT.search(raw):
        yield SHELL, shell[1].strip()
    elif _COMMAND_NAME.search(raw) and raw.lstrip().startswith("<command-"):
        arguments = _COMMAND_ARGS.search(raw)
        if arguments and arguments[1].strip():
            yield COMMAND, arguments[1].strip()
    elif words:
        yield (QUEUED if line.get("promptSource") == "queued" else PROMPT), words


def read_result(line: dict[str, Any], result: dict[str, Any], tools: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what the person said through the result of a tool call."""
    text = result_text(result)
    tool = tools.get(str(result.get("tool_use_id")), "")
    details = line.get("toolUseResult")
    if text.startswith(_REFUSED):
        _, marker, reason = text.partition(_REASON)
        reason = reason.split(_HINT)[0].strip()
        if reason.startswith(_CLARIFY):
            yield from ((ANSWER, given[2].strip()) for given in _CLARIFY_ANSWER.finditer(reason))
        elif marker and reason:
            yield (PLAN_REJECTION if tool == "ExitPlanMode" else REJECTION), reason
    elif tool == "AskUserQuestion":
        yield from ((ANSWER, given) for given in answers_of(details, text))
    elif tool == "ExitPlanMode" and not result.get("is_error"):
        approved = _APPROVED_PLAN.match(text)
        if approved and not (isinstance(details, dict) and details.get("isAgent")):
            yield PLAN_APPROVAL, approved[1].strip()


def answers_of(details: object, text: str) -> Iterator[str]:
    """Yield the answers to questions, and the notes written beside them."""
    if not isinstance(details, dict) or not isinstance(details.get("answers"), dict):
        if _ANSWERED.match(text):
            yield from (given[1].strip() for given in _QUOTED_ANSWER.finditer(text))
        return
    notes = details.get("annotations") or {}
    for question in dict.fromkeys([*details["answers"], *notes]):
        given = details["answers"].get(question)
        if isinstance(given, list):
            given = ", ".join(map(str, given))
        beside = notes.get(question)
        note = beside.get("notes") if isinstance(beside, dict) else None
        yield from (str(words).strip() for words in (given, note) if words and str(words).strip() not in _NO_ANSWER)


def read_attachment(line: dict[str, Any]) -> Iterator[Utterance]:
    """Yield a prompt that was typed while Claude worked and delivered to the running turn."""
    attachment = line.get("attachment")
    if line.get("type") != "attachment" or not isinstance(attachment, dict):
        return
    is_prompt = attachment.get("commandMode", "prompt") == "prompt" and not attachment.get("isMeta")
    if attachment.get("type") == "queued_command" and is_prompt and is_human(attachment):
        given = attachment.get("prompt")
        blocks = given if isinstance(given, list) else [{"type": "text", "text": given}]
        if words := "\n".join(part for part in map(human_text, blocks) if part):
            time = str(attachment.get("timestamp") or line.get("timestamp", ""))
            yield Utterance(QUEUED, words, time, str(line.get("uuid") or digest(time, words)))


def undelivered_twice(lines: list[dict[str, Any]], heard: list[Utterance]) -> Iterator[Utterance]:
    """Yield queued prompts that were delivered but stand nowhere else in the file.

    `popAll` and `popOne` put a prompt back into the input box; `dequeue` and `remove` deliver it. Old versions write no
    line for the words they deliver to a running turn. What still waits at the end of the file is not said yet.
    """
    waiting: list[dict[str, Any]] = []
    delivered: list[dict[str, Any]] = []
    for line in lines:
        if line.get("type") != "queue-operation":
            continue
        operation, words = line.get("operation"), line.get("content")
        if operation == "enqueue":
            waiting.append(line)
            continue
        same = [entry for entry in waiting if words is not None and entry.get("content") == words]
        taken = same[:1] or waiting[:1]
        for entry in taken:
            waiting.remove(entry)
            if operation in ("dequeue", "remove"):
                delivered.append(entry)
    counted: set[str] = set()
    for entry in delivered:
        words, time = entry.get("content"), str(entry.get("timestamp", ""))
        if not isinstance(words, str) or not human_text({"type": "text", "text": words}):
            continue
        twin = next((said for said in heard if said.key not in counted and is_delivery(said, words, time)), None)
        if twin:
            if plain(twin.text) == plain(words):
                counted.add(twin.key)
        elif not is_bare_command(words):
            yield Utterance(QUEUED, words.strip(), time, digest(time, words))


def is_delivery(said: Utterance, queued: str, time: str) -> bool:
    """Tell whether an utterance is a queued prompt that arrived, alone or joined with others."""
    if said.place not in (PROMPT, QUEUED, COMMAND, SHELL) or said.time[:19] < time[:19]:
        return False
    if said.place == COMMAND:
        return plain(queued).startswith("/") and plain(queued).endswith(plain(said.text))
    if said.place == SHELL:
        return plain(queued).lstrip("! ") == plain(said.text)
    return plain(queued) == plain(said.text) or f"\n{queued.strip()}\n" in f"\n{said.text}\n"


def is_bare_command(words: str) -> bool:
    """Tell whether these are a slash command without arguments, which says nothing."""
    return re.fullmatch(r"/[\w:.-]+", words.strip()) is not None


def is_human(holder: dict[str, Any]) -> bool:
    """Tell whether the origin of a line is a person; old versions and `claude -p` write none."""
    origin = holder.get("origin")
    return not isinstance(origin, dict) or origin.get("kind") in (None, "human")


def is_plan(line: dict[str, Any], blocks: list[dict[str, Any]]) -> bool:
    return bool(line.get("planContent")) or raw_text(blocks).startswith(_IMPLEMENT + "\n")


def plan_of(line: dict[str, Any], blocks: list[dict[str, Any]]) -> str:
    """Return Claude's plan, which the person approved."""
    plan = line.get("planContent") or raw_text(blocks).removeprefix(_IMPLEMENT).split(_PLAN_FOOTER)[0]
    return str(plan).strip()


def human_text(block: dict[str, Any]) -> str:
    """Return the words of a block that a person typed, without what programs wrap around them."""
    if block.get("type") != "text":
        return ""
    words = _IMAGE_MARK.sub("", _WRAPPED.sub("", str(block.get("text") or ""))).strip()
    return "" if words.startswith(_SYNTHETIC) or _SHELL_INPUT.match(words) else words


def raw_text(blocks: list[dict[str, Any]]) -> str:
    return "\n".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")


def result_text(result: dict[str, Any]) -> str:
    content = result.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def plain(words: str) -> str:
    return " ".join(words.split())


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
