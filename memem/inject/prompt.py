"""Choose what a prompt gets unasked: a slice, if there is something to say that the session has not seen.

`MEMEM_INJECTION_MODE` sets how readily: `auto` leaves it to confidence; `hybrid` also pauses after each slice and,
after many prompts without a match, until the topic changes; `tool` injects nothing. Every decision about a prompt that
a person typed leaves a receipt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.conversation import HUMAN
from memem.core.errors import MememError
from memem.core.memory import Slice
from memem.inject import prompt_kinds, receipts, slice
from memem.inject.confidence import is_question
from memem.inject.slice import SliceContext
from memem.search import find
from memem.search import refresh as search_refresh
from memem.state.contexts import Context
from memem.transcript import harness

if TYPE_CHECKING:
    from memem.workspace import Workspace


_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?:\s|\Z)")
NOT_TYPED = "it is a command or a message from Claude Code, not a typed prompt"
RECENT_TURNS = 6  # a follow-up may refer to these
LONG_CHARS = 400  # about as much as a vector covers


@dataclass(frozen=True, slots=True)
class PromptRequest:
    prompt: str
    cwd: Path
    session: str = ""
    transcript: Path | None = None  # of the conversation so far


def slice_prompt(ws: Workspace, request: PromptRequest, *, rescan: bool = False) -> Slice:
    """Return and record the slice for a prompt. `rescan` the vault in a new process, which does not know of edits."""
    typed = harness.typed_text(request.prompt)
    if not typed or _COMMAND.match(typed) or harness.is_untyped(request.prompt):
        return _no_slice(NOT_TYPED, request.session)
    context, query = None, ""
    if ws.settings.injection_mode == "tool":
        found = _no_slice("MEMEM_INJECTION_MODE is tool: Claude uses its tools to search", request.session)
    elif prompt_kinds.is_trivial(typed):
        found = _no_slice(slice.NOD, request.session)
    else:
        around = _read_context(request, typed)
        found, context = _find_slice(ws, request, typed, around, rescan=rescan)
        query = around.query
    receipts.record(
        ws,
        found,
        prompt=request.prompt,
        threshold=ws.settings.recall_min_confidence,
        followed=len(query) > len(typed),
        context=context,
    )
    return found


def build_query(prompt: str, before: Sequence[str]) -> str:
    """Return the prompt with what it refers to in the turns `before` it, the latest last."""
    if before and prompt_kinds.refers_back(prompt):
        return prompt_kinds.add_referent(prompt, before)
    # A long prompt is mostly pasted: a question at its end goes first, because a vector covers the beginning.
    pasted, _, last = prompt.rstrip().rpartition("\n")
    ends_asking = len(pasted) > LONG_CHARS and len(last) <= LONG_CHARS and is_question(last)
    return f"{last}\n{pasted}" if ends_asking else prompt


def _read_context(request: PromptRequest, typed: str) -> SliceContext:
    if request.transcript is None:
        return SliceContext(build_query(typed, ()))
    from memem.transcript.session import recent

    latest = recent(request.transcript, turns=RECENT_TURNS, unless=request.prompt)
    by_person = [turn.text for turn in latest.turns if turn.role == HUMAN]
    by_claude = [turn.text for turn in latest.turns if turn.role != HUMAN]
    answer = max(by_claude[-2:], key=len, default="")  # a "Done." says less than the message before it
    return SliceContext(build_query(typed, (*by_person, answer) if by_person or answer else ()), latest.files)


def _find_slice(
    ws: Workspace, request: PromptRequest, typed: str, around: SliceContext, *, rescan: bool
) -> tuple[Slice, Context | None]:
    """Return the slice, and in hybrid mode the session's updated counters."""
    if not search_refresh.has_usable_index(ws):
        return _no_slice("the index is being built", request.session), None
    refresh = search_refresh.refresher(ws) if rescan else None  # forks, so it comes before there is a second thread
    ws.encode_query(find.truncate_query(around.query))
    if refresh:
        refresh()
    if ws.settings.injection_mode == "hybrid":
        return _slice_unless_paused(ws, request, typed, around)
    return _slice_unseen(ws, request, typed, around), None


def _slice_unseen(ws: Workspace, request: PromptRequest, typed: str, around: SliceContext) -> Slice:
    around = replace(around, shown_ids=receipts.shown_ids(ws, request.session))
    return slice.build_slice(ws, typed, cwd=request.cwd, session_id=request.session, context=around)


def _slice_unless_paused(
    ws: Workspace, request: PromptRequest, typed: str, around: SliceContext
) -> tuple[Slice, Context]:
    context, topic = receipts.context_of(ws, request.session), _topic_vector(ws, around.query)
    has_changed = _has_topic_changed(ws, context, topic)
    why = "" if has_changed else _reason_to_pause(ws, context, is_same_topic=has_changed is False)
    found = _no_slice(why, request.session) if why else _slice_unseen(ws, request, typed, around)
    if not why:
        context = replace(context, topic=topic or context.topic, empty=0 if has_changed else context.empty)
    if found.text:
        return found, replace(context, since_slice=0, empty=0)
    since = context.since_slice + 1 if context.since_slice >= 0 else -1
    return found, replace(context, since_slice=since, empty=context.empty + (0 if why else 1))


def _reason_to_pause(ws: Workspace, context: Context, *, is_same_topic: bool) -> str:
    if 0 <= context.since_slice < ws.settings.inject_cadence - 1:
        ago = context.since_slice + 1
        return f"the last slice was {ago} prompt{'s' * (ago != 1)} ago, and the topic seems unchanged"
    if is_same_topic and context.empty >= ws.settings.empty_streak_max:
        prompts = f"prompt{'s' * (context.empty != 1)}"
        return f"nothing matched {context.empty} {prompts} in a row, and the topic has not changed"
    return ""


def _topic_vector(ws: Workspace, query: str) -> bytes:
    try:
        vector = ws.encode_query(find.truncate_query(query))
        answer = vector.wait(ws.settings.query_seconds) if vector else None
    except MememError:
        return b""
    return answer[1].tobytes() if answer else b""


def _has_topic_changed(ws: Workspace, context: Context, topic: bytes) -> bool | None:
    """Compare the topics; None without two vectors to compare."""
    if len(topic) != len(context.topic) or not topic:
        return None
    import numpy as np  # the encoder has loaded it

    cosine = float(np.frombuffer(topic, np.float32) @ np.frombuffer(context.topic, np.float32))
    return cosine < ws.settings.topic_shift_threshold


def _no_slice(why: str, session: str) -> Slice:
    return Slice("", (), why, "", "", session)
