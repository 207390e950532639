"""What is remembered about a file that Claude is about to read or change: once for a file and session."""

from pathlib import Path

from memem.core.memory import Entry
from memem.core.receipt import FILE
from memem.flows import receipts, reindex, retrieve, showed
from memem.recall import render
from memem.recall.pack import BODY_CHARACTERS, within
from memem.workspace import Workspace

HEADING = "## About {file}"
MOST = 4
BUDGET = 2_000


def about_file(ws: Workspace, file: Path, *, cwd: Path, session: str) -> str:
    """The memories about a file as text; empty when there are none, or this session has been told."""
    if not reindex.is_at_hand(ws):
        return ""
    place = ws.project_of(cwd)
    inside = retrieve.path_in(place.root, cwd / file)
    if not inside:
        return ""
    whole, known = str(place.root / inside), showed.shown(ws, session)
    if whole in known:
        return ""
    found = [entry for entry in retrieve.about(ws, inside, place.name) if entry.id not in known][:MOST]
    items = within(_items(found, place.name), BUDGET)
    if not items:
        return ""
    shown, text = found[: len(items)], render.page((HEADING.format(file=render.one_line(inside)), items))
    showed.note(ws, session, [whole, *(entry.id for entry in shown)])
    receipts.record_shown(ws, shown, event=FILE, session=session, project=place.name, text=text)
    return text


def _items(entries: list[Entry], project: str) -> list[str]:
    return [render.item(rank, entry, project, BODY_CHARACTERS) for rank, entry in enumerate(entries, 1)]
