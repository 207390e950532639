"""Have the model shorten a playbook's new lines: one call per day and project, within the budget.

A shorter line is used only if it says the same; otherwise, and after any error, the line stays as it is.
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
    lines = [f"<line id={memory.id8}>\n{_statement(memory)}\n</line>" for memory in memories]
    return ModelPrompt(
        _system(), INSTRUCTION, "\n".join([f"{OWN_CALL} version {VERSION}", f"Project: {project}", *lines]) + "\n"
    )


def parse_lines(answer: Any) -> dict[str, str]:
    """Map short ids to new texts. Raises NotSchema."""
    if not isinstance(answer, dict) or not isinstance(answer.get("lines"), list):
        raise NotSchema("The answer has no list `lines`.")
    texts: dict[str, str] = {}
    for item in answer["lines"]:
        line = item if isinstance(item, dict) else {}
        if not isinstance(line.get("id"), str) or not isinstance(line.get("text"), str):
            raise NotSchema("A line has no id or no text.")
        texts[line["id"]] = " ".join(line["text"].encode("utf-8", "replace").decode().split())
    return texts


@cache
def _system() -> str:
    return Path(__file__).with_name("playbook.md").read_text(encoding="utf-8")


def _statement(memory: Memory) -> str:
    return escape_tags(" ".join(memory.body.split())[:MEMORY_CHARACTERS].replace("<", "‹"))


MIN_KNOWN_SHARE = 0.75  # of the long words of a new sentence, in the old line
_WORD = re.compile(r"[^\W_][\w./:@+-]*[^\W_]|[^\W_]")
_LITERAL = re.compile(r"[\d_./:@+-]|.[A-Z]|[^\x00-\x7f]")
_NEGATIONS = frozenset("no not never none without only cannot neither nor unless except must".split())
_TIMES = frozenset("before after until since always first last every all any more less than to from off on".split())
_CONDITIONS = frozenset("before after until if when while in for at during on from".split())
# The main point ends here; a reason or consequence that follows may be dropped.
_ASIDE = re.compile(r"[,;(]\s|\s\(|\s[-–—]+\s|\s(?:because|since|otherwise|so that)\s", re.IGNORECASE)
_DROPPABLE = frozenset("every always there been have having that this they them their which please really very".split())
_SENTENCE = re.compile(r"(?<=[^\W\d_])[.!?;:]\s+")
_MARKUP = re.compile(r"[\[\]<>`|#*]|https?://")
_SHORT_WORD = 3


def is_rewording(old: str, new: str) -> bool:
    """Whether a shorter text by a model says the same: nothing invented, negated or lost from the main point."""
    if not new.strip() or len(new) > len(old) or _MARKUP.search(new) or neutralise(new)[1] or redact.redact(new)[1]:
        return False
    old_words, new_words = (list(map(_fold, _WORD.findall(text))) for text in (old, new))
    known, words = set(old_words), set(new_words)
    literals = [_fold(word) for word in _WORD.findall(new) if _LITERAL.search(word)]
    rest = iter(old_words)
    return (
        set(filter(_is_negation, known)) == set(filter(_is_negation, words))
        and known.issuperset(_TIMES & words)
        and all(any(literal == word for word in rest) for literal in literals)  # all known, and in the same order
        and _keeps_main_point(old, words)
        and all(_is_known(sentence, known) for sentence in _SENTENCE.split(new))
        and compare(Statement(old), Statement(new)).relation not in (CHANGED, OTHER)
    )


def _is_known(sentence: str, known: set[str]) -> bool:
    """Whether the old line has most of the long words of a sentence, in this form or another."""
    long_words = [word for word in map(_fold, _WORD.findall(sentence)) if len(word) > _SHORT_WORD]
    stems = {word[:4] for word in known if len(word) > _SHORT_WORD}
    return sum(word in known or word[:4] in stems for word in long_words) >= MIN_KNOWN_SHARE * len(long_words)


def _keeps_main_point(old: str, words: set[str]) -> bool:
    """Whether every meaningful word before the first aside is kept: it may be a condition, or the subject."""
    stems = {word[:4] for word in words}
    main = map(_fold, _WORD.findall(_ASIDE.split(old, maxsplit=1)[0]))
    needed = [word for word in main if (len(word) > _SHORT_WORD or word in _CONDITIONS) and word not in _DROPPABLE]
    return all(word in words or (len(word) > _SHORT_WORD and word[:4] in stems) for word in needed)


def _fold(word: str) -> str:
    return word.lower().rstrip(".")


def _is_negation(word: str) -> bool:
    return word in _NEGATIONS or word.endswith(("n't", "n’t"))


MIN_LINE_CHARS = 90  # shorter lines are fine as they are
MAX_LINES = 30


def refine(ws: Workspace, folder: Path) -> int:
    """Shorten lines of the playbook of a folder's project; returns how many changed."""
    claude = ws.claude() if ws.settings.extractor == "claude" and _may_ask(ws, folder) else None
    if claude is None:
        return 0
    project = ws.project_of(folder).name
    memories = _new_lines(ws, project)
    session, today = f"playbook {project}", ws.today()
    ledger = ws.state.ledger
    if not memories or ledger.has_call(today, session) or ledger.limit_reached(today, ask.limits(ws)):
        return 0
    question = build_question(project, list(memories.values()))
    answer = ask.try_model(ws, claude, session, question, SCHEMA, parse_lines)
    if answer is None:
        return 0
    better = _accepted(memories, answer)
    asked = {id8: choose_playbook.digest(memory) for id8, memory in memories.items()}
    page = get_playbook_path(ws, project)
    try:
        with writing(ws):
            markdown.write_part(
                page, lambda text: choose_playbook.apply_wording(text, better, asked), fsync=ws.settings.fsync
            )
    except NoteChanged:
        return 0  # a person saved it meanwhile; the model is asked again another day
    return len(better)


def _may_ask(ws: Workspace, folder: Path) -> bool:
    """Whether the user has opted in to mining here, and model calls are not paused."""
    if ws.is_own_call or not consent.opted_in(ws) or not may_be_mined(folder):
        return False
    return ws.state.ledger.pause(ws.clock().timestamp()) is None


def _new_lines(ws: Workspace, project: str) -> dict[str, Memory]:
    """Memories with long lines that the model has not seen, by short id."""
    page = get_playbook_path(ws, project)
    text = "" if belongs_to_user(ws, page) else markdown.read_page(page) or ""
    lines = choose_playbook.list_unrefined(text, MIN_LINE_CHARS)[:MAX_LINES]
    if not lines:
        return {}
    condition = f"substr(id, 1, {ID8}) IN ({', '.join('?' * len(lines))}) AND project = ? AND status = 'active'"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, (*(line.id8 for line in lines), project)))
    found = {row.memory.id8: row.memory for row in rows if row.memory}
    digests = {line.id8: line.statement for line in lines}
    return {id8: memory for id8, memory in found.items() if choose_playbook.digest(memory) == digests[id8]}


def _accepted(memories: Mapping[str, Memory], answer: Mapping[str, str]) -> dict[str, str]:
    """The model's answers that are true rewordings of the lines it was given."""
    return {
        id8: markdown.escape(text)
        for id8, text in answer.items()
        if id8 in memories and len(text) <= LINE_CHARACTERS and is_rewording(flatten(memories[id8]), text)
        if recorded_line(text)
    }
