"""Let the model shorten a playbook's new lines: one call per day and project, within the budget."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.compare.relation import CHANGED, OTHER
from memem.compare.replacements import Statement
from memem.compare.shorten import shorten
from memem.compare.statements import compare
from memem.core.conversation import OWN_CALL
from memem.core.errors import NoteChanged, NotSchema
from memem.core.memory import ID8, Memory
from memem.mine import ask
from memem.mine.prompt import TEXT, ModelPrompt, strict_object
from memem.pages import markdown, playbook_page
from memem.pages.read_playbook import LINE_CHARACTERS, belongs_to_user, flatten, get_playbook_path
from memem.safety.credentials import redact
from memem.safety.gate import recorded_line
from memem.safety.invisible import neutralise
from memem.safety.naming import display_name
from memem.safety.quote import escape_brackets
from memem.search.refresh import fresh_rows
from memem.search.transcripts import consent
from memem.vault.page_text import digest
from memem.vault.write_lock import writing

if TYPE_CHECKING:
    from memem.workspace import Workspace

VERSION = 1
INSTRUCTION = "Which of the lines on standard input can be said shorter, and how?"
SCHEMA: Mapping[str, Any] = strict_object(lines={"type": "array", "items": strict_object(id=TEXT, text=TEXT)})
MEMORY_CHARACTERS = 600
MIN_LINE_CHARS = 90  # shorter statements are fine as they are
MAX_LINES = 30

MIN_SHARED = 0.75  # of the long words of a new sentence, in the old line
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


def refine(ws: Workspace, folder: Path) -> int:
    """Shorten lines of the playbook of a folder's project; returns how many changed."""
    if not ws.asks_model or ws.is_own_call or not consent.opted_in(ws) or ws.folders.explain_refusal(folder):
        return 0
    ledger, today = ws.state.ledger, ws.today()
    model = None if ledger.pause(ws.clock().timestamp()) else ws.model()
    if model is None:
        return 0
    project = ws.project_of(folder).name
    memories, session = _list_new(ws, project), f"playbook {project}"
    if not memories or ledger.has_call(today, session) or ledger.limit_reached(today, ask.limits(ws)):
        return 0
    answer = ask.try_model(ws, model, session, build_question(project, list(memories.values())), parse_lines)
    if answer is None:
        return 0
    words = _select_rewordings(memories, answer)
    statements = {id8: digest(memory.body) for id8, memory in memories.items()}
    try:
        with writing(ws):
            markdown.write_part(
                get_playbook_path(ws, project),
                lambda text: playbook_page.apply_wording(text, words, statements),
                fsync=ws.settings.fsync,
            )
    except NoteChanged:
        return 0  # a person saved it meanwhile; the model is asked again another day
    return len(words)


def _list_new(ws: Workspace, project: str) -> dict[str, Memory]:
    page = get_playbook_path(ws, project)
    text = "" if belongs_to_user(ws, page) else markdown.read_page(page) or ""
    lines = [line for line in playbook_page.parse_page(text).ours.values() if not line.refined]
    statements = {line.id8: line.statement for line in lines}
    wanted = list(statements)
    condition = f"substr(id, 1, {ID8}) IN ({', '.join('?' * len(wanted))}) AND project = ? AND status = 'active'"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, (*wanted, project))) if wanted else []
    memories = [row.memory for row in rows if row.memory]
    # A line may be short because it is only the first sentence of a long statement.
    long = (each for each in memories if len(flatten(each)) > MIN_LINE_CHARS)
    new = {each.id8: each for each in long if digest(each.body) == statements[each.id8]}
    return {id8: new[id8] for id8 in [id8 for id8 in wanted if id8 in new][:MAX_LINES]}


def build_question(project: str, memories: Sequence[Memory]) -> ModelPrompt:
    system = Path(__file__).with_name("playbook.md").read_text(encoding="utf-8")
    texts = {memory.id8: escape_brackets(shorten(flatten(memory), MEMORY_CHARACTERS)) for memory in memories}
    lines = [f"<line id={id8}>\n{text}\n</line>" for id8, text in texts.items()]
    text = "\n".join([f"{OWN_CALL} version {VERSION}", f"Project: {display_name(project)}", *lines])
    return ModelPrompt(system, INSTRUCTION, f"{text}\n", SCHEMA)


def parse_lines(answer: Any) -> dict[str, str]:
    """Map short ids to new texts. Raises NotSchema."""
    if not isinstance(answer, dict) or not isinstance(answer.get("lines"), list):
        raise NotSchema("The answer has no `lines` list.")
    texts: dict[str, str] = {}
    for item in answer["lines"]:
        line = item if isinstance(item, dict) else {}
        if not isinstance(line.get("id"), str) or not isinstance(line.get("text"), str):
            raise NotSchema("A line has no id or no text.")
        text = line["text"].replace("&lt;", "<")  # as in the memory, before it was escaped for the question
        texts[line["id"]] = " ".join(text.encode("utf-8", "replace").decode().split())
    return texts


def _select_rewordings(memories: Mapping[str, Memory], answer: Mapping[str, str]) -> dict[str, str]:
    return {
        id8: markdown.escape(text)
        for id8, text in answer.items()
        if id8 in memories and len(text) <= LINE_CHARACTERS and is_rewording(flatten(memories[id8]), text)
        if recorded_line(text)
    }


def is_rewording(old: str, new: str) -> bool:
    """Whether a shorter text by a model says the same: nothing invented, negated or lost from the main point."""
    if not new.strip() or len(new) > len(old) or _MARKUP.search(new) or neutralise(new)[1] or redact.redact(new)[1]:
        return False
    old_list, words = _list_words(old), set(_list_words(new))
    old_words, rest = set(old_list), iter(old_list)
    literals = [word for raw in _WORD.findall(new) if _LITERAL.search(raw) for word in _list_words(raw)]
    return (
        set(filter(_is_negation, old_words)) == set(filter(_is_negation, words))
        and old_words.issuperset(_TIMES & words)
        and all(any(literal == word for word in rest) for literal in literals)  # all are old, in the same order
        and _keeps_main_point(old, words)
        and all(_has_old_words(sentence, old_words) for sentence in _SENTENCE.split(new))
        and compare(Statement(old), Statement(new)).relation not in (CHANGED, OTHER)
    )


def _has_old_words(sentence: str, old_words: set[str]) -> bool:
    """Whether the old line has most of the long words of a sentence, in this form or another."""
    long_words = [word for word in _list_words(sentence) if len(word) > _SHORT_WORD]
    stems = {word[:4] for word in old_words if len(word) > _SHORT_WORD}
    return sum(word in old_words or word[:4] in stems for word in long_words) >= MIN_SHARED * len(long_words)


def _keeps_main_point(old: str, words: set[str]) -> bool:
    """Whether every meaningful word before the first aside is kept: it may be a condition, or the subject."""
    stems = {word[:4] for word in words}
    main = _list_words(_ASIDE.split(old, maxsplit=1)[0])
    needed = [word for word in main if (len(word) > _SHORT_WORD or word in _CONDITIONS) and word not in _DROPPABLE]
    return all(word in words or (len(word) > _SHORT_WORD and word[:4] in stems) for word in needed)


def _list_words(text: str) -> list[str]:
    return [word.lower().rstrip(".") for word in _WORD.findall(text)]


def _is_negation(word: str) -> bool:
    return word in _NEGATIONS or word.endswith(("n't", "n’t"))
