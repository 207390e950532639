"""Save a memory that a person, or Claude on a person's wish, wants remembered."""

from __future__ import annotations

import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.dates import iso
from memem.core.errors import SettingsError
from memem.core.memory import GENERAL, Memory, classify_layer
from memem.core.trust import PERSON, Trust
from memem.notes import reconcile
from memem.notes.reconcile import Candidate
from memem.notes.write import Written
from memem.safety.naming import clean_project_name

if TYPE_CHECKING:
    from memem.workspace import Workspace


def save(
    ws: Workspace,
    text: str,
    *,
    title: str = "",
    project: str = GENERAL,
    kind: str = "fact",
    tags: tuple[str, ...] = (),
    layer: int | None = None,
    importance: int = 3,
    keys: tuple[str, ...] = (),
    paths: tuple[str, ...] = (),
    why: str = "",
    trust: Trust = PERSON,  # SAVED for Claude's words
    session: str = "",
    folder: Path | None = None,  # in its project are the files that the text names
    anyway: bool = False,
) -> Written:
    """Save a new memory, unless the same statement is in the project, or was forgotten and is not wanted `anyway`."""
    now, project, root = iso(ws.clock()), clean_project_name(project), None
    if folder is not None and project != GENERAL:
        with suppress(SettingsError):  # reported where the project of this folder is asked for
            place = ws.project_of(folder)
            root = place.root if place.name == project else None
    memory = Memory(
        str(uuid.uuid4()),
        title,
        text,
        project,
        kind,
        tags,
        classify_layer(kind, importance, tags) if layer is None else layer,
        importance,
        keys=keys,
        paths=paths,
        created=now,
        updated=now,
        source_session=session,
    )
    candidate = Candidate(memory, trust, root=root, anyway=anyway)
    with ws.events.batch("save"):
        written = reconcile.settle(ws, candidate, why=why)
    if written.memory.contradicts and written.outcome == "created":
        ws.changed.add("conflicts")
    return written
