"""Show what is known of a file that Claude is about to read or change, once per file and session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memem.inject import receipts
from memem.inject.pack import BODY_CHARACTERS, render_numbered
from memem.safety import naming, quote
from memem.search import find, refresh
from memem.state.receipts import FILE

if TYPE_CHECKING:
    from memem.workspace import Workspace


HEADING = "## About {file}"
MOST_OF_FILE = 4
BUDGET = 2_000


def about_file(ws: Workspace, file: Path, *, cwd: Path, session: str) -> str:
    """Render the memories about a file; empty if there are none, or this session has seen them."""
    if not refresh.has_usable_index(ws):
        return ""
    place = ws.project_of(cwd)
    inside = find.relative_path(place.root, cwd / file)
    if not inside:
        return ""
    whole, shown_before = str(place.root / inside), receipts.shown_ids(ws, session)
    if whole in shown_before:
        return ""
    found = [entry for entry in find.find_about_file(ws, inside, place.name) if entry.id not in shown_before]
    found = found[:MOST_OF_FILE]
    items = render_numbered(found, place.name, BODY_CHARACTERS, BUDGET)
    if not items:
        return ""
    shown, text = (
        found[: len(items)],
        quote.render_page((HEADING.format(file=quote.one_line(naming.display_name(inside))), items)),
    )
    receipts.note_shown(ws, session, [whole, *(entry.id for entry in shown)])
    receipts.record_shown(ws, shown, event=FILE, session=session, project=place.name, text=text)
    return text
