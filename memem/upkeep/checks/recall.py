"""Check what recall needs: the vault, the index, the databases, the encoder and its vectors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import sqlite
from memem.core.errors import Busy, IndexUnusable, MememError, VaultError, VaultUnmade
from memem.notes import staleness
from memem.search import excluded, vanished
from memem.search.database import INDEX
from memem.search.encoders import model
from memem.search.encoders.model import ModelState
from memem.search.refresh import refresh
from memem.search.transcripts.turns import SESSIONS
from memem.state import contexts
from memem.state.tables import STATE
from memem.upkeep import status
from memem.upkeep.checks.folders import is_usable
from memem.upkeep.checks.result import BROKEN, DEGRADED, Diagnosis, broken, degraded, fine, of_error
from memem.vault import review
from memem.vault.opening import replaced_since, require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


MEND_DATABASE = "Make it readable and writable for you, or run `memem reindex`."


def check_databases(ws: Workspace) -> list[Diagnosis]:
    """Everything thoroughly: `memem --integrity-check`."""
    found = [_looked_at("index", ws.index_file, partial(_index_database, ws))] if ws.index_file.exists() else []
    return [*found, *vector_databases(ws), *_others(ws, thorough=True)]


def check_records(ws: Workspace) -> list[Diagnosis]:
    """All but the index and its vectors, at a glance."""
    return _others(ws, thorough=False)


def vector_databases(ws: Workspace) -> list[Diagnosis]:
    """The vectors of every model that was used."""
    stores = sorted(ws.home.vectors.glob("*/vectors.db"))
    if not stores:
        return []
    ws.load_numpy()
    return [_looked_at("vectors", path, partial(_vectors_database, path)) for path in stores]


def _index_database(ws: Workspace) -> None:
    sqlite.check_integrity(ws.index_file, INDEX, thorough=True)
    ws.index.check()


def _vectors_database(path: Path) -> None:
    from memem.search.vectors import check_folder

    sqlite.check_integrity(path, INDEX, thorough=True)
    check_folder(path.parent)


def _others(ws: Workspace, *, thorough: bool) -> list[Diagnosis]:
    home = ws.home
    looks: tuple[tuple[str, Path, Callable[[], None]], ...] = (
        ("state", home.state_file, partial(sqlite.check_integrity, home.state_file, STATE, thorough=thorough)),
        ("contexts", home.contexts_file, partial(contexts.check, home.contexts_file, thorough=thorough)),
        ("turns", home.turns_file, partial(sqlite.check_integrity, home.turns_file, SESSIONS, thorough=thorough)),
    )
    return [_looked_at(what, path, look) for what, path, look in looks if path.exists()]


def _looked_at(what: str, path: Path, look: Callable[[], None]) -> Diagnosis:
    try:
        look()
    except MememError as problem:
        return of_error(what, problem, MEND_DATABASE, DEGRADED if isinstance(problem, Busy) else BROKEN)
    return fine(what, f"{path}, {path.stat().st_size:,} bytes")


FETCH = "`memem model fetch` gets the weights."
MULTILINGUAL = "a multilingual model finds them by meaning too (docs/configuration.md, Other languages)"
MOUNT = "Mount it, or set MEMEM_OBSIDIAN_VAULT to where your vault is."


def check(ws: Workspace) -> list[Diagnosis]:
    """In the order in which they need each other; what needs something that is missing is not looked at."""
    try:
        require_vault(ws)
    except VaultUnmade as nothing_yet:
        return [of_error("vault", nothing_yet, MOUNT, DEGRADED)]
    except MememError as problem:
        return [of_error("vault", problem, MOUNT)]
    found = [_vault(ws)]
    try:
        found += _index(ws)
    except MememError as problem:
        return [*found, of_error("index", problem, MEND_DATABASE)]
    return [*found, *_staleness(ws), *_meaning(ws), *_background(ws)]


def _vault(ws: Workspace) -> Diagnosis:
    vault, memories = ws.settings.vault, ws.store.paths.memories
    for folder in (memories, ws.store.paths.ours):
        if folder.exists() and not is_usable(folder):
            return broken("vault", f"{folder} cannot be written by you", "Make it writable for you.")
    since = replaced_since(ws)
    if since:
        told = f"{vault} is another vault since {since[:16].replace('T', ' ')} than the one that was here before"
        return degraded("vault", told, "Nothing, if you meant that; else mount or sync the one you want.")
    other = ws.home.root.exists() and vault.stat().st_dev != ws.home.root.stat().st_dev
    return fine("vault", f"{vault}, on another file system than {ws.home.root}" if other else str(vault))


def _index(ws: Workspace) -> list[Diagnosis]:
    """The index as it was found, and brought up to date."""
    scanned = refresh(ws)
    serious = [finding for finding in status.check(ws) if finding.serious]
    behind = scanned.changed + scanned.gone
    caught_up = f"; {behind:,} had changed and were read now" if behind else ""
    found = [fine("index", f"{ws.index.count():,} memories in {scanned.files:,} files{caught_up}")]
    if serious:
        found.append(degraded("notes", f"{len(serious)} need attention", "`memem check` lists them."))
    return found


def _staleness(ws: Workspace) -> list[Diagnosis]:
    """Where so much is gone that memem would not believe it."""
    fix = "Have the whole project checked out there; memories that are wrong by now can be corrected or forgotten."
    return [degraded("staleness", f"{why}, so none of them was called stale", fix) for why in staleness.withheld(ws)]


def _meaning(ws: Workspace) -> list[Diagnosis]:
    state = model.model_state(ws)
    if state.encoder == "none":
        alone = "none, as MEMEM_ENCODER says: recall is by keywords alone"
        return [degraded("encoder", alone, "`memem config encoder minilm` finds by meaning too.")]
    if state.problem:
        return [_no_encoder(ws, state.problem)]
    place = f"; from {state.folder} ({state.source})" if state.folder else ""
    found = [fine("encoder", f"{state.encoder}: {state.described}{place}")]
    if state.unread:
        told = f"{state.unread:,} memories are in scripts that the model does not read: keywords find them"
        found.append(fine("languages", f"{told}; {MULTILINGUAL}"))
    if state.notice:
        found.append(degraded("weights", state.notice, "Correct MEMEM_MODEL_DIR, or unset it: another place serves."))
    return [*found, _vectors(ws, state)]


def _vectors(ws: Workspace, state: ModelState) -> Diagnosis:
    how_far = f"{state.encoded:,} of {state.passages:,} passages"
    if state.encoded < state.passages:
        return degraded("vectors", how_far, "`memem encode` computes the rest.")
    try:
        if state.encoder == "minilm":
            ws.vectors().check()
    except MememError as problem:
        return of_error("vectors", problem, MEND_DATABASE)
    return fine("vectors", how_far)


def _no_encoder(ws: Workspace, problem: str) -> Diagnosis:
    found = of_error("encoder", MememError(problem), FETCH, DEGRADED)
    tried = _last_line(ws.home.fetch_log)
    told = f" The last try to fetch them said: {tried}" if tried else ""
    return degraded("encoder", f"{found.detail} Until then recall is by keywords alone.{told}", found.fix)


def _background(ws: Workspace) -> list[Diagnosis]:
    """What the last encoding in the background complained about."""
    said = _last_line(ws.home.encode_log)
    return [degraded("background", said, "`memem encode` tries again while you look.")] if said else []


def _last_line(log: Path) -> str:
    try:
        return log.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
    except OSError:
        return ""


MOST_SHOWN = 3


def check_vault(ws: Workspace) -> list[Diagnosis]:
    """Nothing to say where nothing waits; a vault that is not there is told of by those who need it."""
    try:
        require_vault(ws)
    except VaultError:
        return []
    return [*_vanished(ws), *_proposals(ws)]


def _vanished(ws: Workspace) -> list[Diagnosis]:
    gone = vanished.list_undecided(ws)
    if not gone:
        return []
    first = ", ".join(f"memem/{each.path}" for each in gone[:MOST_SHOWN])
    many = f"{len(gone)} notes went away together ({first}{', ...' if len(gone) > MOST_SHOWN else ''})"
    fix = "Bring them back (mount, sync, Obsidian's trash), or `memem forget --vanished` if you deleted them."
    return [degraded("vanished", f"{many}: they are not recalled, and nothing brings them back by itself", fix)]


def _proposals(ws: Workspace) -> list[Diagnosis]:
    waiting, held = review.count_proposals(ws.store), 0
    with suppress(IndexUnusable):  # told of by those who look at the index
        held = excluded.count_quarantined(ws)
    found = [fine("review", f"{waiting} proposals wait for you: `memem review`")] if waiting else []
    if held:
        told = f"{held} notes read like an instruction to the model, and are not recalled until you have looked at them"
        found.append(degraded("held", told, "`memem review` lists them; accept or reject each."))
    return found
