"""`memem doctor`: everything that memem needs, one thing at a time, with what to do about what is missing."""

import sqlite3
import sys
from dataclasses import dataclass

from memem.core.errors import MememError
from memem.flows import health, model
from memem.flows.mining_state import mining_state
from memem.flows.opening import require_vault
from memem.flows.reindex import refresh
from memem.workspace import Workspace

FINE, DEGRADED, BROKEN = "fine", "degraded", "broken"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing memem needs. `state` is fine, degraded (memem works, but not as well) or broken."""

    what: str
    state: str
    detail: str


def diagnose(ws: Workspace) -> list[Diagnosis]:
    """All of them, in the order in which they need each other."""
    found = [Diagnosis("python", FINE, f"{sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}")]
    try:
        require_vault(ws)
        found.append(Diagnosis("vault", FINE, str(ws.settings.vault)))
        scanned = refresh(ws)
        serious = [finding for finding in health.check(ws) if finding.serious]
        found.append(Diagnosis("index", FINE, f"{ws.index.count():,} memories in {scanned.files:,} files"))
    except MememError as problem:
        broken = Diagnosis("index" if len(found) > 1 else "vault", BROKEN, str(problem))
        return [*found, broken, *_mining(ws)]
    if serious:
        found.append(Diagnosis("notes", DEGRADED, f"{len(serious)} need attention; `memem check` lists them"))
    return [*found, *_meaning(ws), *_background(ws), *_mining(ws)]


def _meaning(ws: Workspace) -> list[Diagnosis]:
    state = model.state(ws)
    if state.encoder == "none":
        return [Diagnosis("encoder", DEGRADED, "none, as MEMEM_ENCODER says: recall is by keywords alone")]
    if state.problem:
        return [Diagnosis("encoder", DEGRADED, f"{state.problem} Until then recall is by keywords alone.")]
    place = f" from {state.folder} ({state.source})" if state.folder else ""
    found = [Diagnosis("encoder", FINE, f"{state.encoder}: {state.model}{place}")]
    if state.notice:
        found.append(Diagnosis("weights", DEGRADED, state.notice))
    how_far = f"{state.encoded:,} of {state.passages:,} passages"
    if state.encoded < state.passages:
        return [*found, Diagnosis("vectors", DEGRADED, f"{how_far}; `memem encode` computes the rest")]
    try:
        if state.encoder == "minilm":
            ws.vectors().check()
    except MememError as problem:
        return [*found, Diagnosis("vectors", BROKEN, str(problem))]
    return [*found, Diagnosis("vectors", FINE, how_far)]


def _background(ws: Workspace) -> list[Diagnosis]:
    """What the last encoding in the background complained about."""
    try:
        said = ws.home.encode_log.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return []
    return [Diagnosis("background", DEGRADED, said.splitlines()[-1])] if said else []


def _mining(ws: Workspace) -> list[Diagnosis]:
    """Whether sessions can be mined; and a call of the model whose miner is gone is ended."""
    state = mining_state(ws)
    if state.problem:
        return [Diagnosis("mining", BROKEN, state.problem)]
    if not state.since:
        found = [Diagnosis("mining", FINE, "off; `memem mining on` switches it on")]
    elif ws.settings.extractor == "claude" and not ws.claude_command:
        found = [Diagnosis("mining", DEGRADED, "there is no `claude` on the PATH: rules do the mining, and find less")]
    else:
        found = [Diagnosis("mining", FINE, f"on since {state.since[:16].replace('T', ' ')}, with {state.extractor}")]
    if not ws.home.state_file.exists():
        return found
    try:
        ws.state.check()
    except MememError as problem:
        return [*found, Diagnosis("state", BROKEN, str(problem))]
    if ended := ws.state.children.end_orphans():
        found.append(Diagnosis("leftovers", DEGRADED, f"{ended} calls outlived their miner and were ended now"))
    if state.stopped:
        told = f"not asked at the moment: {state.stopped} `memem mine --all` asks all the same."
        found.append(Diagnosis("model", DEGRADED, told))
    if state.dead_letters:
        told = f"{state.dead_letters} parts failed too often; `memem mine --retry` tries them again"
        found.append(Diagnosis("dead letters", DEGRADED, told))
    return found
