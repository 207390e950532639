"""Check what mining needs: the user's `claude`, its account, and how mining stands."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.errors import ExtractError, MememError
from memem.mine.status import MiningState
from memem.model import flags
from memem.model.claude import Claude
from memem.model.flags import Account
from memem.upkeep.checks.result import DEGRADED, FINE, Diagnosis, degraded, fine, of_error

if TYPE_CHECKING:
    from memem.workspace import Workspace

INSTALL = "Install Claude Code and put `claude` on your PATH, or `memem config extractor rules`."
LOG_IN = "`claude auth login` logs in, or `memem config extractor rules` does without."
TRY_IT = "`claude --version` should answer; install Claude Code again if it does not."


def check_claude(ws: Workspace, *, wanted: bool) -> list[Diagnosis]:
    """`wanted` says whether mining would ask it: else whatever is missing is nobody's loss."""
    command = ws.claude_command
    if not command:
        told = "there is no `claude` on the PATH"
        if wanted:
            return [degraded("claude", f"{told}: rules do the mining, and find less", INSTALL)]
        return [fine("claude", f"{told}; nothing asks it")]
    try:
        account = _account(ws, command)
    except ExtractError as problem:
        return [of_error("claude", problem, TRY_IT, DEGRADED)]
    login = _login(account)
    detail = f"{account.version or 'of unknown version'} in {command}, {login}"
    lost = wanted and account.logged_in is False
    return [Diagnosis("claude", DEGRADED if lost else FINE, detail, LOG_IN if lost else "")]


def _account(ws: Workspace, command: str) -> Account:
    """Asked from outside the home and its state: those may be what is broken."""
    with tempfile.TemporaryDirectory(prefix="memem-") as folder:
        asked = Claude(
            command,
            model=ws.settings.model,
            seconds=ws.settings.model_timeout,
            folder=Path(folder),
            environ=ws.environ,
            flags_file=ws.home.claude_flags,
            clock=ws.clock,
        )
        return flags.look_at_account(asked.says)


def _login(account: Account) -> str:
    if account.logged_in is None:
        return "which does not say whether it is logged in"
    return f"logged in ({account.method})" if account.logged_in else "not logged in"


OTHERWISE = "Make it readable and writable for you, and try again."


def check_mining(ws: Workspace, state: MiningState) -> list[Diagnosis]:
    """Mining itself, and what it leaves to be done by a person."""
    if state.problem:
        return [of_error("mining", MememError(state.problem), OTHERWISE)]
    if not state.since:
        found = [fine("mining", "off; `memem mining on` switches it on")]
    else:
        found = [fine("mining", f"on since {state.since[:16].replace('T', ' ')}, with {state.extractor}")]
    if ws.home.state_file.exists():
        found += _orphans(ws)
    if state.stopped:
        told = f"not asked at the moment: {state.stopped}"
        found.append(degraded("model", told, "Wait, or `memem mine --all`, which asks all the same."))
    if state.dead_letters:
        told = f"{state.dead_letters} parts failed too often"
        found.append(degraded("dead letters", told, "`memem mine --retry` tries them again."))
    return found


def _orphans(ws: Workspace) -> list[Diagnosis]:
    try:
        ended = ws.state.children.end_orphans()
    except MememError as problem:
        return [of_error("orphans", problem, OTHERWISE)]
    if not ended:
        return []
    return [degraded("orphans", f"{ended} calls outlived their miner and were ended now", "Nothing: they are gone.")]
