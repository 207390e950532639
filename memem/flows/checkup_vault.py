"""What in the vault waits for a person: notes that went away and may have been deleted, and proposals."""

from contextlib import suppress

from memem.core.errors import IndexUnusable, VaultError
from memem.flows import holding, vanished
from memem.flows.diagnosis import Diagnosis, degraded, fine
from memem.flows.opening import require_vault
from memem.vault import review
from memem.workspace import Workspace

SHOWN = 3


def check(ws: Workspace) -> list[Diagnosis]:
    """Nothing to say where nothing waits; a vault that is not there is told of by those who need it."""
    try:
        require_vault(ws)
    except VaultError:
        return []
    return [*_vanished(ws), *_proposals(ws)]


def _vanished(ws: Workspace) -> list[Diagnosis]:
    gone = vanished.undecided(ws)
    if not gone:
        return []
    first = ", ".join(f"memem/{each.path}" for each in gone[:SHOWN])
    many = f"{len(gone)} notes went away together ({first}{', ...' if len(gone) > SHOWN else ''})"
    fix = "Bring them back (mount, sync, Obsidian's trash), or `memem forget --vanished` if you deleted them."
    return [degraded("vanished", f"{many}: they are not recalled, and nothing brings them back by itself", fix)]


def _proposals(ws: Workspace) -> list[Diagnosis]:
    waiting, held = review.count(ws.store), 0
    with suppress(IndexUnusable):  # told of by those who look at the index
        held = holding.count(ws)
    found = [fine("review", f"{waiting} proposals wait for you: `memem review`")] if waiting else []
    if held:
        told = f"{held} notes read like an instruction to the model, and are not recalled until you have looked at them"
        found.append(degraded("held", told, "`memem review` lists them; accept or reject each."))
    return found
