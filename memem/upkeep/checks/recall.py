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
from memem.safety.quote import count_noun
from memem.search import vanished
from memem.search.database import INDEX
from memem.search.encoders import model
from memem.search.refresh import refresh
from memem.search.transcripts.turns import SESSIONS
from memem.state import contexts
from memem.state.tables import STATE
from memem.upkeep import status
from memem.upkeep.checks.machine import is_usable, read_text
from memem.upkeep.checks.result import BROKEN, DEGRADED, Diagnosis, broken, degraded, fine, of_error
from memem.vault.opening import replaced_since, require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace

REPAIR_DATABASE = "Make it readable and writable, or run `memem index rebuild`."
MOUNT = "Mount it, or set MEMEM_OBSIDIAN_VAULT to the folder of your vault."
MAX_SHOWN = 3


def check(ws: Workspace) -> list[Diagnosis]:
    """Check vault, index and vectors in the order in which they need each other, up to the first that is missing."""
    try:
        require_vault(ws)
    except MememError as problem:
        return [of_error("vault", problem, MOUNT, DEGRADED if isinstance(problem, VaultUnmade) else BROKEN)]
    found = [_check_vault_folder(ws)]
    try:
        found += _check_index(ws)
    except MememError as problem:
        return [*found, of_error("index", problem, REPAIR_DATABASE)]
    fix = "Check out the whole project there; correct or forget memories that are now wrong."
    found += [degraded("staleness", f"{why}, so no memory was marked stale", fix) for why in staleness.withheld(ws)]
    found += _check_meaning(ws)
    if error := _last_line(ws.home.encode_log):
        found.append(degraded("background", error, "Run `memem index encode` to try again and see the error."))
    return found


def _check_vault_folder(ws: Workspace) -> Diagnosis:
    vault = ws.settings.vault
    for folder in (ws.store.paths.memories, ws.store.paths.ours):
        if folder.exists() and not is_usable(folder):
            return broken("vault", f"you cannot write to {folder}", "Check its permissions.")
    if since := replaced_since(ws):
        detail = f"{vault} was replaced by another vault on {since[:16].replace('T', ' ')}"
        return degraded("vault", detail, "If you did not intend this, mount or sync the vault you want.")
    is_elsewhere = ws.home.root.exists() and vault.stat().st_dev != ws.home.root.stat().st_dev
    return fine("vault", f"{vault}, on a different file system from {ws.home.root}" if is_elsewhere else str(vault))


def _check_index(ws: Workspace) -> list[Diagnosis]:
    scanned = refresh(ws)
    serious = sum(finding.serious for finding in status.check(ws))
    changed = scanned.changed + scanned.gone
    updated = f"; {changed:,} changed since the last check" if changed else ""
    found = [
        fine(
            "index",
            f"{count_noun(ws.index.count(), 'memory', 'memories')} in {count_noun(scanned.files, 'file')}{updated}",
        )
    ]
    if serious:
        detail = "1 needs attention" if serious == 1 else f"{serious} need attention"
        found.append(degraded("notes", detail, "Run `memem index check` to list them."))
    return found


def _check_meaning(ws: Workspace) -> list[Diagnosis]:
    state = model.model_state(ws)
    if state.encoder == "none":
        detail = "none (MEMEM_ENCODER): memories are found by keywords only"
        return [degraded("encoder", detail, "Run `memem config encoder minilm` to find them by meaning too.")]
    if state.problem:
        error = of_error("encoder", MememError(state.problem), "Run `memem index model fetch` to download the weights.")
        log = _last_line(ws.home.fetch_log)
        last_try = f" The last download failed: {log}" if log else ""
        return [degraded("encoder", f"{error.detail} Memories are found by keywords only.{last_try}", error.fix)]
    place = f"; from {state.folder} ({state.source})" if state.folder else ""
    found = [fine("encoder", f"{state.encoder}: {state.described}{place}")]
    if state.unread:
        one = state.unread == 1
        memories = "1 memory is written in a script" if one else f"{state.unread:,} memories are written in scripts"
        detail = f"{memories} that the model does not know; only keywords find {'it' if one else 'them'}"
        advice = "a multilingual model supports search by meaning too (docs/configuration.md, Other languages)"
        found.append(fine("languages", f"{detail}; {advice}"))
    if state.notice:
        fix = "Correct or unset MEMEM_MODEL_DIR; until then memem uses another folder."
        found.append(degraded("weights", state.notice, fix))
    detail = f"{state.encoded:,} of {state.passages:,} passages"
    if state.encoded < state.passages:
        return [*found, degraded("vectors", detail, "Run `memem index encode` to compute the rest.")]
    try:
        if state.encoder == "minilm":
            ws.vectors().check()
    except MememError as problem:
        return [*found, of_error("vectors", problem, REPAIR_DATABASE)]
    return [*found, fine("vectors", detail)]


def _last_line(log: Path) -> str:
    return read_text(log).strip().rpartition("\n")[2]


def check_vault(ws: Workspace) -> list[Diagnosis]:
    """Check for notes that wait for a decision; a missing vault is reported by `check`."""
    try:
        require_vault(ws)
    except VaultError:
        return []
    found = []
    if gone := vanished.list_undecided(ws):
        names = ", ".join(f"memem/{note.path}" for note in gone[:MAX_SHOWN])
        more = ", ..." if len(gone) > MAX_SHOWN else ""
        detail = f"{count_noun(len(gone), 'note')} missing ({names}{more}) and not recalled"
        fix = "Restore them (mount, sync, Obsidian's trash), or run `memem forget --vanished` if you deleted them."
        found.append(degraded("vanished", detail, fix))
    if waiting := len(ws.store.proposal_files()):
        proposals = "1 proposal is" if waiting == 1 else f"{waiting} proposals are"
        found.append(fine("review", f"{proposals} waiting for you: `memem review`"))
    with suppress(IndexUnusable):  # reported by `check`
        if held := ws.index.count_where("review = 'waiting'"):
            notes, them = ("1 note reads", "it") if held == 1 else (f"{held} notes read", "them")
            detail = f"{notes} like an instruction to the model; not recalled until you have reviewed {them}"
            found.append(degraded("held", detail, "Run `memem review` to accept or reject what is held back."))
    return found


def check_databases(ws: Workspace) -> list[Diagnosis]:

    def check_index() -> None:
        sqlite.check_integrity(ws.index_file, INDEX, thorough=True)
        ws.index.check()

    def check_vectors(path: Path) -> None:
        ws.load_numpy()
        from memem.search.vectors import check_folder

        sqlite.check_integrity(path, INDEX, thorough=True)
        check_folder(path.parent)

    found = [_check_database("index", ws.index_file, check_index)] if ws.index_file.exists() else []
    stores = sorted(ws.home.vectors.glob("*/vectors.db"))
    found += [_check_database("vectors", path, partial(check_vectors, path)) for path in stores]
    return [*found, *check_records(ws, thorough=True)]


def check_records(ws: Workspace, *, thorough: bool = False) -> list[Diagnosis]:
    """Check the databases that cannot be rebuilt from the vault, and the index of turns."""
    home = ws.home
    checks: tuple[tuple[str, Path, Callable[[], None]], ...] = (
        ("state", home.state_file, partial(sqlite.check_integrity, home.state_file, STATE, thorough=thorough)),
        ("contexts", home.contexts_file, partial(contexts.check, home.contexts_file, thorough=thorough)),
        ("turns", home.turns_file, partial(sqlite.check_integrity, home.turns_file, SESSIONS, thorough=thorough)),
    )
    return [_check_database(what, path, check) for what, path, check in checks if path.exists()]


def _check_database(what: str, path: Path, check: Callable[[], None]) -> Diagnosis:
    try:
        check()
    except MememError as problem:
        return of_error(what, problem, REPAIR_DATABASE, DEGRADED if isinstance(problem, Busy) else BROKEN)
    return fine(what, f"{path}, {path.stat().st_size:,} bytes")
