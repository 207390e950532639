"""What a prompt of a session gets unasked: the slice, when there is something to say that was not said before.

How willingly is the user's choice: `auto` leaves it to confidence; `hybrid` also leaves a pause after each slice, and
looks no further once nothing was found many times, until the topic changes; `tool` says nothing. Whatever is decided
about what somebody said leaves a receipt.
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
from memem.inject import receipts, slice
from memem.inject.confidence import is_question
from memem.inject.prompt_kinds import is_trivial
from memem.inject.slice import Beside
from memem.search import find, prescan
from memem.search import refresh as search_refresh
from memem.state.contexts import Context
from memem.transcript import harness

if TYPE_CHECKING:
    from memem.workspace import Workspace


_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?:\s|\Z)")
UNSAID = "nobody said this: it is a command, or news from Claude Code"
TURNS = 6
"""So many of the last turns may be what a follow-up refers to."""
LONG = 400
"""In characters: about what a vector is made of."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt as it came: what was typed, where, in which session, and the transcript of what was said before."""

    prompt: str
    cwd: Path
    session: str = ""
    transcript: Path | None = None


def for_prompt(ws: Workspace, asked: Asked, *, look: bool = False) -> Slice:
    """The slice for a prompt, whose `text` is empty when there is nothing to say; then `reason` says why.

    With `look` the vault is scanned before: a process that has just started does not know what was edited.
    """
    why = _unwanted(ws, asked.prompt)
    if why == UNSAID:
        return _nothing(why, asked.session)
    beside = Beside() if why else _beside(asked)
    found, context = (_nothing(why, asked.session), None) if why else _found(ws, asked, beside, look=look)
    followed = len(beside.query) > len(harness.said(asked.prompt))
    line = ws.settings.recall_min_confidence
    receipts.record(ws, found, prompt=asked.prompt, line=line, followed=followed, context=context)
    return found


def looking_for(prompt: str, before: Sequence[str]) -> str:
    """What to look for: the prompt, and what it refers to in what was said `before`, the last words last.

    Of a long one, mostly something pasted, the question that it ends with comes first: a vector is of the beginning.
    """
    from memem.inject import prompt_kinds

    if before and prompt_kinds.refers_back(prompt):
        return prompt_kinds.resolved(prompt, before)
    pasted, _, last = prompt.rstrip().rpartition("\n")
    ends_asking = len(pasted) > LONG and len(last) <= LONG and is_question(last)
    return f"{last}\n{pasted}" if ends_asking else prompt


def _found(ws: Workspace, asked: Asked, beside: Beside, *, look: bool) -> tuple[Slice, Context | None]:
    """The slice, and how the session's prompts went, where that is counted."""
    if not search_refresh.has_usable_index(ws):
        return _nothing("the index is being made", asked.session), None
    refresh = prescan.refresher(ws) if look else None  # forks, so it comes before there is a second thread
    find.start_query_vector(ws, beside.query)
    if refresh:
        refresh()
    if ws.settings.injection_mode == "hybrid":
        return _now_and_then(ws, asked, beside)
    return _new_to(ws, asked, beside), None


def _beside(asked: Asked) -> Beside:
    """What the session was about just now: its last words, and the files it was at."""
    said = harness.said(asked.prompt)
    if asked.transcript is None:
        return Beside(looking_for(said, ()))
    from memem.transcript.session import recent

    lately = recent(asked.transcript, turns=TURNS, unless=asked.prompt)
    spoken = [turn.text for turn in lately.said if turn.role == HUMAN]
    answered = [turn.text for turn in lately.said if turn.role != HUMAN]
    last = max(answered[-2:], key=len, default="")  # a "Done." says less than what came before it
    return Beside(looking_for(said, (*spoken, last) if spoken or last else ()), lately.files)


def _now_and_then(ws: Workspace, asked: Asked, beside: Beside) -> tuple[Slice, Context]:
    """The same, unless it is too soon after the last one, or has been in vain too often."""
    session = asked.session
    context, topic = receipts.context_of(ws, session), _topic(ws, beside.query)
    changed = _is_another(ws, context, topic)
    why = _too_soon(ws, context, changed=changed)
    found = _nothing(why, session) if why else _new_to(ws, asked, beside)
    if not why:
        context = replace(context, topic=topic or context.topic, empty=0 if changed else context.empty)
    return found, _counted(context, found, looked=not why)


def _unwanted(ws: Workspace, prompt: str) -> str:
    """Why a prompt gets nothing, whatever is remembered."""
    said = harness.said(prompt)
    if not said or _COMMAND.match(said) or harness.is_untyped(prompt):
        return UNSAID
    if ws.settings.injection_mode == "tool":
        return "MEMEM_INJECTION_MODE is tool: Claude asks by its tools"
    return slice.NOD if is_trivial(said) else ""


def _new_to(ws: Workspace, asked: Asked, beside: Beside) -> Slice:
    beside = replace(beside, known=receipts.shown(ws, asked.session))
    said = harness.said(asked.prompt)
    return slice.slice_for(ws, said, cwd=asked.cwd, session_id=asked.session, beside=beside)


def _too_soon(ws: Workspace, context: Context, *, changed: bool | None) -> str:
    if changed:
        return ""
    if 0 <= context.since_slice < ws.settings.inject_cadence - 1:
        return f"a slice came {context.since_slice + 1} prompts ago, and the topic is the same as far as is known"
    if changed is False and context.empty >= ws.settings.empty_streak_max:
        return f"nothing was found for {context.empty} prompts in a row, and the topic is the same"
    return ""


def _counted(context: Context, found: Slice, *, looked: bool) -> Context:
    if found.text:
        return replace(context, since_slice=0, empty=0)
    since = context.since_slice + 1 if context.since_slice >= 0 else -1
    return replace(context, since_slice=since, empty=context.empty + (1 if looked else 0))


def _topic(ws: Workspace, query: str) -> bytes:
    """The vector of what is looked for; empty where there is none to be had."""
    try:
        vector = ws.ask(find.truncate_query(query))
        answer = vector.wait(ws.settings.query_seconds) if vector else None
    except MememError:
        return b""
    return answer[1].tobytes() if answer else b""


def _is_another(ws: Workspace, context: Context, topic: bytes) -> bool | None:
    """Whether the topic has changed; None without two vectors to compare."""
    if len(topic) != len(context.topic) or not topic:
        return None
    import numpy as np  # the encoder has loaded it

    cosine = float(np.frombuffer(topic, np.float32) @ np.frombuffer(context.topic, np.float32))
    return cosine < ws.settings.topic_shift_threshold


def _nothing(why: str, session: str) -> Slice:
    return Slice("", (), why, "", "", session)
