"""Find or create the vault. A vault that was here and is gone is never silently replaced."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.dates import iso, moment
from memem.core.errors import VaultMissing, VaultUnmade
from memem.core.files import from_json
from memem.core.home import using_home

if TYPE_CHECKING:
    from memem.workspace import Workspace


NEWS = timedelta(days=7)  # for this long a replaced vault is reported


def require_vault(ws: Workspace) -> str:
    """Return the vault's id. Raises VaultMissing, with what to do."""
    ws.store.refuse_links()
    root, paths, vault_id = ws.settings.vault, ws.store.paths, ws.store.vault_id()
    is_unknown = not vault_id and str(root) not in vault_history(ws)
    # A person may have created the marker empty, or a sync brought notes without it.
    if not vault_id and (paths.marker.is_file() or (is_unknown and any(paths.memories.rglob("*.md")))):
        vault_id = ws.store.make_vault()
    if vault_id:
        _remember(ws, vault_id)
        return vault_id
    if not is_unknown:
        raise VaultMissing(
            f"The vault {root} is gone: its marker {paths.marker} is missing. Mount or sync it, or set "
            "MEMEM_OBSIDIAN_VAULT to where it is now; to start a new vault there, create the marker as an empty file."
        )
    raise VaultUnmade(
        f"There is no vault at {root} yet. Save a memory to create one there, or set MEMEM_OBSIDIAN_VAULT to yours."
    )


def replaced_since(ws: Workspace) -> str:
    """The time since when another vault is at this path; empty when that is not news."""
    known = vault_history(ws).get(str(ws.settings.vault), {})
    since = moment(known.get("since", ""))
    is_news = bool(known.get("before")) and since is not None and abs(ws.clock() - since) < NEWS
    return known["since"] if is_news else ""


def ensure_vault(ws: Workspace) -> str:
    """Return the vault's id; create the vault if there has never been one here."""
    if not ws.store.vault_id() and str(ws.settings.vault) not in vault_history(ws):
        ws.store.make_vault()
    return require_vault(ws)


def vault_history(ws: Workspace) -> dict[str, dict[str, str]]:
    """Read which vaults were used with this home, by path."""
    try:
        known = from_json(ws.home.known_vaults_file.read_bytes())
    except (OSError, ValueError):
        return {}
    entries = known.items() if isinstance(known, dict) else ()
    return {vault: entry for vault, entry in entries if isinstance(entry, dict)}


def _remember(ws: Workspace, vault_id: str) -> None:
    known = vault_history(ws)
    path = str(ws.settings.vault)
    before = known.get(path, {})
    if before.get("vault_id") == vault_id:
        return
    known[path] = {"vault_id": vault_id, "since": iso(ws.clock()), "before": before.get("vault_id", "")}
    with using_home(ws.home):
        files.make_private_folder(ws.home.state)
        data = json.dumps(known, indent=1).encode()
        files.write_atomic(ws.home.known_vaults_file, data, fsync=ws.settings.fsync, mode=files.PRIVATE_FILE)
