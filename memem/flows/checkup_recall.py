"""What recall needs: the vault, an index that is true to it, and the encoder with its vectors."""

from pathlib import Path

from memem.core.errors import MememError, VaultUnmade
from memem.flows import health, model, staleness
from memem.flows.checkup_databases import OTHERWISE
from memem.flows.checkup_folders import is_usable
from memem.flows.diagnosis import DEGRADED, Diagnosis, broken, degraded, fine, of_error
from memem.flows.model import ModelState
from memem.flows.opening import replaced_since, require_vault
from memem.flows.reindex import refresh
from memem.workspace import Workspace

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
        return [*found, of_error("index", problem, OTHERWISE)]
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
    serious = [finding for finding in health.check(ws) if finding.serious]
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
    state = model.state(ws)
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
        return of_error("vectors", problem, OTHERWISE)
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
