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
    trust: Trust = PERSON,
    session: str = "",
    folder: Path | None = None,
    anyway: bool = False,
) -> Written:
    """Save a new memory, unless the same statement is in the project, or was forgotten and is not wanted `anyway`.

    `trust` is SAVED for Claude's words. Files that the text names are looked for in the project of `folder`.
    """
    now, project = iso(ws.clock()), clean_project_name(project)
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
    candidate = Candidate(memory, trust, root=_root(ws, folder, project), anyway=anyway)
    with ws.events.batch("save"):
        written = reconcile.settle(ws, candidate, why=why)
    if written.memory.contradicts and written.outcome == "created":
        ws.changed.add(notes=False)
    return written


def _root(ws: Workspace, folder: Path | None, project: str) -> Path | None:
    """The root of the folder's project, if the memory is about that project."""
    if folder is None or project == GENERAL:
        return None
    with suppress(SettingsError):  # reported where the project of this folder is asked for
        place = ws.project_of(folder)
        return place.root if place.name == project else None
    return None
