"""Find a person's words in a user's line: a prompt, a reason, an answer, an approved plan, a command's arguments.

Claude Code stores some of them in the result of a tool. Any tool could print the same text, so such a result counts
only if Claude Code marks it, or if the tool that was called is Claude Code's own.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from memem.core.conversation import ANSWER, PLAN, REJECTION, WITH_RESULT
from memem.transcript import harness

Object = dict[str, Any]

# Claude Code marks messages of its own in several ways; the last one is for those that a tool call has made.
_NOT_SPOKEN = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "sourceToolUseID")
_FOREIGN_TOOL = "mcp__"  # begins the names of tools that are not Claude Code's
_ASKING_TOOL, _PLANNING_TOOL = "AskUserQuestion", "ExitPlanMode"
_DENIED_BY_PERSON = "user-rejected"
_REJECTED = re.compile(r"\A(?:Error: )?The user doesn't want to (?:proceed with|take) this (?:tool use|action)")
_REASON = re.compile(
    r"(?:the user said|The user provided the following reason for the rejection):\s*(.*?)"
    r"(?:\n\nNote: The user's next message may contain a correction.*)?\Z",
    re.DOTALL,
)
_TO_DISCUSS = "The user wants to clarify these questions."
_ANSWER_SO_FAR = re.compile(r"^ *Answer: (.+)$", re.MULTILINE)
_ANSWERED = re.compile(r'"([^"\n]+)"="(.*?)"(?=, "[^"\n]+"="|\. You can|\. Read the|\Z)', re.DOTALL)
_APPROVED_PLAN = re.compile(r"\AUser has approved your plan.*?\n## Approved Plan[^\n]*:\n(.*)\Z", re.DOTALL)
_PLAN_PROMPT = re.compile(
    r"\A\s*Implement the following plan:\s*(?P<plan>.*?)"
    r"(?:\n+If you need specific details from before exiting plan mode.*?)?"
    r"(?:\n+User feedback on this plan: (?P<feedback>.*))?\Z",
    re.DOTALL,
)
_NOT_GIVEN = ("", "(notes only)", "(no option selected)")  # Claude Code's words
APPROVED_PLAN = "I approve this plan."


@dataclass(frozen=True, slots=True)
class Utterance:
    """A person's words, where they are stored, and Claude's words that they choose or approve."""

    text: str
    place: str = ""
    proposal: str = ""
    result: Object | None = None  # the tool result that they are stored in


def find_utterance(value: Object, blocks: list[Object], name_tool: Callable[[str], str]) -> Utterance | None:
    """Return what a person said in a user's line; `name_tool` returns the name of the tool that a call was made to."""
    if any(value.get(mark) for mark in _NOT_SPOKEN):
        return None
    texts = [str(block["text"]) for block in blocks if is_text(block)]
    results = [block for block in blocks if block.get("type") == "tool_result"]
    if results or value.get("toolUseResult") is not None:
        return _read_with_results(value, results, texts, name_tool)
    return _read_plan_prompt(value, texts) or _read_prompt(value, texts)


def is_text(block: Object) -> bool:
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def read_result_text(block: Object) -> str:
    content = block.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and is_text(part))


def _join_typed(texts: list[str]) -> str:
    return "\n\n".join(filter(None, map(harness.typed_text, texts)))


def _read_prompt(value: Object, texts: list[str]) -> Utterance | None:
    origin = value.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    # Another kind is a task's notification or another session.
    if kind not in (None, "", "human") or value.get("promptSource") == "system":
        return None
    if command := next(filter(None, map(harness.parse_command_arguments, texts)), None):
        name, arguments = command
        return Utterance(arguments, name)
    if any(harness.is_untyped(text) or harness.shell_command(text) is not None for text in texts):
        return None
    return Utterance(_join_typed(texts))


def _read_with_results(
    value: Object, results: list[Object], texts: list[str], name_tool: Callable[[str], str]
) -> Utterance | None:
    typed = _join_typed([text for text in texts if not harness.is_untyped(text)])
    for result in results:
        if stored := _read_result(value, result, name_tool):
            both = "\n\n".join(filter(None, (stored.text, typed)))
            return Utterance(both, stored.place, stored.proposal, result)
    return Utterance(typed, WITH_RESULT) if typed and results else None


def _read_result(value: Object, result: Object, name_tool: Callable[[str], str]) -> Utterance | None:
    text, identity = read_result_text(result), str(result.get("tool_use_id"))
    if _REJECTED.match(text) and result.get("is_error") is True:
        marked = value.get("toolDenialKind")  # older releases have no mark
        name = "" if marked else name_tool(identity)
        is_persons = marked == _DENIED_BY_PERSON or (bool(name) and not name.startswith(_FOREIGN_TOOL))
        return _read_rejection(text) if is_persons else None
    details = value.get("toolUseResult")
    if _is_answer(text) and name_tool(identity) == _ASKING_TOOL:
        return _read_answers(text, details if isinstance(details, dict) else {})
    if (plan := _APPROVED_PLAN.match(text)) and name_tool(identity) == _PLANNING_TOOL:
        return Utterance(APPROVED_PLAN, PLAN, plan[1].strip())
    return None


def _read_rejection(text: str) -> Utterance | None:
    match = _REASON.search(text)
    reason, place = match[1] if match else "", REJECTION
    if reason.startswith(_TO_DISCUSS):  # Claude Code's words, with the answers given so far
        reason, place = "\n".join(_ANSWER_SO_FAR.findall(reason)), ANSWER
    reason = harness.typed_text(reason)
    return Utterance(reason, place) if reason else None


def _is_answer(text: str) -> bool:
    return text.startswith(("User has answered", "Your questions have been answered", "The user answered"))


def _read_answers(text: str, details: Object) -> Utterance | None:
    """Return the answers, one per line; chosen options, with their questions, are the proposal."""
    answers = details.get("answers")
    if not isinstance(answers, dict):
        answers = dict(_ANSWERED.findall(text))
    answers = {question: answer for question, answer in answers.items() if _is_given(answer)}
    notes = [str(note) for note in _list_notes(details)]
    chosen = [line for question in _list_questions(details) for line in _list_chosen(question, answers)]
    spoken = harness.typed_text("\n".join([*answers.values(), *notes]))
    return Utterance(spoken, ANSWER, "\n".join(chosen)) if spoken else None


def _is_given(answer: object) -> bool:
    return isinstance(answer, str) and answer not in _NOT_GIVEN


def _list_questions(details: Object) -> Iterator[Object]:
    questions = details.get("questions")
    yield from (each for each in (questions if isinstance(questions, list) else []) if isinstance(each, dict))


def _list_chosen(question: Object, answers: dict[str, str]) -> Iterator[str]:
    asked = str(question.get("question", ""))
    options = question.get("options")
    labels = {
        str(option.get("label")): str(option.get("description") or "")
        for option in (options if isinstance(options, list) else [])
        if isinstance(option, dict)
    }
    answer = answers.get(asked, "")
    wanted = [answer] if answer in labels else answer.split(", ")
    chosen = [label for label in wanted if label in labels]
    if chosen:
        yield asked
        yield from (f"- {label}: {labels[label]}" if labels[label] else f"- {label}" for label in chosen)


def _list_notes(details: Object) -> Iterator[str]:
    annotations = details.get("annotations")
    for each in annotations.values() if isinstance(annotations, dict) else ():
        if isinstance(each, dict) and isinstance(each.get("notes"), str):
            yield each["notes"]


def _read_plan_prompt(value: Object, texts: list[str]) -> Utterance | None:
    match = _PLAN_PROMPT.match(texts[0]) if texts else None
    if not match:
        return None
    own, written = harness.typed_text(match["feedback"] or ""), value.get("planContent")
    if not isinstance(written, str) and value.get("promptSource"):
        return None  # recent releases mark the plan: a person typed this one
    plan = written if isinstance(written, str) else match["plan"]
    return Utterance(f"{APPROVED_PLAN}\n\n{own}" if own else APPROVED_PLAN, PLAN, plan.strip())
