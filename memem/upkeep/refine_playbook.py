"""Have the model shorten a playbook's new lines: one call a day and project, within the budget.

A shorter line counts if it says the same; else, and whatever goes wrong, the line stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.compare.relation import CHANGED, OTHER
from memem.compare.replacements import Statement
from memem.compare.statements import compare
from memem.core.conversation import OWN_CALL
from memem.core.errors import NoteChanged, NotSchema
from memem.core.memory import ID8, Memory
from memem.core.project import may_be_mined
from memem.mine import ask
from memem.mine.prompt import ModelPrompt, escape_tags
from memem.pages import choose_playbook, markdown
from memem.pages.read_playbook import LINE_CHARACTERS, belongs_to_user, flatten, get_playbook_path
from memem.safety.credentials import redact
from memem.safety.gate import recorded_line
from memem.safety.invisible import neutralise
from memem.search.refresh import fresh_rows
from memem.state import consent
from memem.vault.write_lock import writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


VERSION = 1
INSTRUCTION = "Which of the lines on standard input can be said shorter, and how?"
MEMORY_CHARACTERS = 600
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "text": {"type": "string"}},
                "required": ["id", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["lines"],
    "additionalProperties": False,
}


def build_question(project: str, memories: Sequence[Memory]) -> ModelPrompt:
    """The question about the lines that some memories have on a page."""
    told = [f"<line id={memory.id8}>\n{_statement(memory)}\n</line>" for memory in memories]
    return ModelPrompt(
        _system(), INSTRUCTION, "\n".join([f"{OWN_CALL} version {VERSION}", f"Project: {project}", *told]) + "\n"
    )


def parse_lines(answer: Any) -> dict[str, str]:
    """From the beginning of a memory's id to the new text; raises NotSchema."""
    if not isinstance(answer, dict) or not isinstance(answer.get("lines"), list):
        raise NotSchema("The answer has no list `lines`.")
    texts: dict[str, str] = {}
    for each in answer["lines"]:
        known = each if isinstance(each, dict) else {}
        if not isinstance(known.get("id"), str) or not isinstance(known.get("text"), str):
            raise NotSchema("A line has no id or no text.")
        texts[known["id"]] = " ".join(known["text"].encode("utf-8", "replace").decode().split())
    return texts


@cache
def _system() -> str:
    return Path(__file__).with_name("playbook.md").read_text(encoding="utf-8")


def _statement(memory: Memory) -> str:
    return escape_tags(" ".join(memory.body.split())[:MEMORY_CHARACTERS].replace("<", "‹"))


LEAST_SHARE = 0.75
"""Of the words of the new text, so many stand in the old one, but for the small ones that join them."""
_WORD = re.compile(r"[^\W_][\w./:@+-]*[^\W_]|[^\W_]")
_LITERAL = re.compile(r"[\d_./:@+-]|.[A-Z]|[^\x00-\x7f]")
_DENIALS = frozenset("no not never none without only cannot neither nor unless except must".split())
_WHEN = frozenset("before after until since always first last every all any more less than to from off on".split())
_UNDER = frozenset("before after until if when while in for at during on from".split())
"""What begins a condition, or a place that something holds for."""
_ASIDE = re.compile(r"[,;(]\s|\s\(|\s[-–—]+\s|\s(?:because|since|otherwise|so that)\s", re.IGNORECASE)
"""Where what is said ends, and a reason, a consequence or more of it begins: that may be left out."""
_DROPPED = frozenset("every always there been have having that this they them their which please really very".split())
_SENTENCE = re.compile(r"(?<=[^\W\d_])[.!?;:]\s+")
_MARKUP = re.compile(r"[\[\]<>`|#*]|https?://")
_SMALL = 3


def is_rewording(old: str, new: str) -> bool:
    """Whether a machine's `new` words may stand for the `old` ones: shorter, no literal or denial that is not there, no
    denial lost, no word lost of what is mainly said, nothing that comparing calls a change, and what the gate lets
    pass as it is."""
    if not new.strip() or len(new) > len(old) or _MARKUP.search(new) or not _may_pass(new):
        return False
    known = set(map(_folded, _WORD.findall(old)))
    words = set(map(_folded, _WORD.findall(new)))
    if {word for word in known if _is_denial(word)} != {word for word in words if _is_denial(word)}:
        return False
    if not known.issuperset(_WHEN & words) or any(_LITERAL.search(each) for each in _unknown(new, known)):
        return False
    if not _keeps_the_main_point(old, words):
        return False
    if not all(_is_of(sentence, known) for sentence in _SENTENCE.split(new)):
        return False
    return compare(Statement(old), Statement(new)).relation not in (CHANGED, OTHER)


def _is_of(sentence: str, known: set[str]) -> bool:
    """Whether most of the words that tell something are there already, in this form or another."""
    telling = [word for word in map(_folded, _WORD.findall(sentence)) if len(word) > _SMALL]
    beginnings = {word[:4] for word in known if len(word) > _SMALL}
    return sum(word in known or word[:4] in beginnings for word in telling) >= LEAST_SHARE * len(telling)


def _keeps_the_main_point(old: str, words: set[str]) -> bool:
    """Whether every word is kept that tells something before the first aside: one that is lost there may be a
    condition, or whom it is about."""
    beginnings = {word[:4] for word in words}
    said = map(_folded, _WORD.findall(_ASIDE.split(old, maxsplit=1)[0]))
    telling = [word for word in said if (len(word) > _SMALL or word in _UNDER) and word not in _DROPPED]
    return all(word in words or (len(word) > _SMALL and word[:4] in beginnings) for word in telling)


def _unknown(new: str, known: set[str]) -> list[str]:
    return [word for word in _WORD.findall(new) if _folded(word) not in known]


def _may_pass(text: str) -> bool:
    return neutralise(text)[1] == 0 and not redact.redact(text)[1]


def _folded(word: str) -> str:
    return word.lower().rstrip(".")


def _is_denial(word: str) -> bool:
    return word in _DENIALS or word.endswith(("n't", "n’t"))


WORTH_CHARACTERS = 90
"""A shorter line is short enough."""
MOST_LINES = 30


def refine(ws: Workspace, folder: Path) -> int:
    """Ask about the playbook of the project that a folder belongs to; how many lines are worded better for it."""
    claude = ws.claude() if ws.settings.extractor == "claude" and _may_ask(ws, folder) else None
    if claude is None:
        return 0
    project = ws.project_of(folder).name
    memories = _unasked(ws, project)
    session, today = f"playbook {project}", ws.today()
    ledger = ws.state.ledger
    if not memories or ledger.has_call(today, session) or ledger.limit_reached(today, ask.limits(ws)):
        return 0
    question = build_question(project, list(memories.values()))
    answer = ask.try_model(ws, claude, session, question, SCHEMA, parse_lines)
    if answer is None:
        return 0
    better = _better(memories, answer)
    asked = {id8: choose_playbook.digest(memory) for id8, memory in memories.items()}
    page = get_playbook_path(ws, project)
    try:
        with writing(ws):
            markdown.write_part(
                page, lambda text: choose_playbook.apply_wording(text, better, asked), fsync=ws.settings.fsync
            )
    except NoteChanged:
        return 0  # whoever saves it now has the first word; the model is asked again another day
    return len(better)


def _may_ask(ws: Workspace, folder: Path) -> bool:
    """Whether its user has agreed that a model reads what is said here, and nobody waits for it to recover."""
    if ws.is_a_call_of_ours or not consent.opted_in(ws) or not may_be_mined(folder):
        return False
    return ws.state.ledger.pause(ws.clock().timestamp()) is None


def _unasked(ws: Workspace, project: str) -> dict[str, Memory]:
    """The memories whose lines are long and were never asked about, by the beginning of their ids."""
    page = get_playbook_path(ws, project)
    text = "" if belongs_to_user(ws, page) else markdown.read_page(page) or ""
    lines = choose_playbook.list_unrefined(text, WORTH_CHARACTERS)[:MOST_LINES]
    if not lines:
        return {}
    condition = f"substr(id, 1, {ID8}) IN ({', '.join('?' * len(lines))}) AND project = ? AND status = 'active'"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, (*(line.id8 for line in lines), project)))
    found = {row.memory.id8: row.memory for row in rows if row.memory}
    known = {line.id8: line.statement for line in lines}
    return {id8: memory for id8, memory in found.items() if choose_playbook.digest(memory) == known[id8]}


def _better(memories: Mapping[str, Memory], answer: Mapping[str, str]) -> dict[str, str]:
    """What the model made of lines that it was given, as far as it invents nothing."""
    return {
        id8: markdown.escape(text)
        for id8, text in answer.items()
        if id8 in memories and len(text) <= LINE_CHARACTERS and is_rewording(flatten(memories[id8]), text)
        if recorded_line(text)
    }
