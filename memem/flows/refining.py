"""Have the model say the lines of a playbook in fewer words: one call for a project, at most once a day, within the
budget, and only about lines that are new.

What it makes of a line counts if that says the same; else, and whatever goes wrong, the line stays as it is.
"""

from collections.abc import Mapping
from pathlib import Path

from memem.core.errors import NoteChanged
from memem.core.memory import ID8, Memory
from memem.core.project import may_be_mined
from memem.extract import playbook
from memem.flows import consent, extraction, playbooks
from memem.flows.reciting import LINE_CHARACTERS, flat, is_theirs, path_of
from memem.flows.reindex import fresh_rows
from memem.flows.writing import writing
from memem.gate.rewording import is_rewording
from memem.gate.verdict import recorded_line
from memem.vault import pages
from memem.workspace import Workspace

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
    if not memories or ledger.has_call(today, session) or ledger.used_up(today, extraction.limits(ws)):
        return 0
    question = playbook.build(project, list(memories.values()))
    answer = extraction.asked_besides(ws, claude, session, question, playbook.SCHEMA, playbook.parse)
    if answer is None:
        return 0
    better = _better(memories, answer)
    asked = {id8: playbooks.digest(memory) for id8, memory in memories.items()}
    page = path_of(ws, project)
    try:
        with writing(ws):
            pages.write(page, lambda text: playbooks.reworded(text, better, asked), fsync=ws.settings.fsync)
    except NoteChanged:
        return 0  # whoever saves it now has the first word; the model is asked again another day
    return len(better)


def _may_ask(ws: Workspace, folder: Path) -> bool:
    """Whether its user has agreed that a model reads what is said here, and nobody waits for it to recover."""
    if ws.is_a_call_of_ours or not consent.opted_in(ws) or not may_be_mined(folder):
        return False
    return ws.state.ledger.stopped(ws.clock().timestamp()) is None


def _unasked(ws: Workspace, project: str) -> dict[str, Memory]:
    """The memories whose lines are long and were never asked about, by the beginning of their ids."""
    page = path_of(ws, project)
    text = "" if is_theirs(ws, page) else pages.read(page) or ""
    lines = playbooks.unasked(text, WORTH_CHARACTERS)[:MOST_LINES]
    if not lines:
        return {}
    condition = f"substr(id, 1, {ID8}) IN ({', '.join('?' * len(lines))}) AND project = ? AND status = 'active'"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, (*(line.id8 for line in lines), project)))
    found = {row.memory.id8: row.memory for row in rows if row.memory}
    known = {line.id8: line.statement for line in lines}
    return {id8: memory for id8, memory in found.items() if playbooks.digest(memory) == known[id8]}


def _better(memories: Mapping[str, Memory], answer: Mapping[str, str]) -> dict[str, str]:
    """What the model made of lines that it was given, as far as it invents nothing."""
    return {
        id8: pages.plain(text)
        for id8, text in answer.items()
        if id8 in memories and len(text) <= LINE_CHARACTERS and is_rewording(flat(memories[id8]), text)
        if recorded_line(text)
    }
