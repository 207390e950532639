"""Check what mining needs: the user's `claude`, its login, and the state of mining."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.errors import ExtractError, MememError
from memem.mine.status import MiningState
from memem.model import flags
from memem.model.claude import Claude
from memem.upkeep.checks.result import DEGRADED, FINE, Diagnosis, degraded, fine, of_error

if TYPE_CHECKING:
    from memem.workspace import Workspace

INSTALL = "Install Claude Code and put `claude` on your PATH, or run `memem config extractor rules`."
LOG_IN = "Run `claude auth login`, or `memem config extractor rules` to mine without it."
TRY_IT = "Run `claude --version`; reinstall Claude Code if it does not answer."
MAKE_USABLE = "Make it readable and writable, and try again."


def check_claude(ws: Workspace, *, wanted: bool) -> list[Diagnosis]:
    """Check the CLI; if mining does not want it, nothing that is missing is a problem."""
    command = ws.claude_command
    if not command:
        missing = "`claude` is not on the PATH"
        if wanted:
            return [degraded("claude", f"{missing}: mining uses rules, which find less", INSTALL)]
        return [fine("claude", f"{missing}, but nothing uses it")]
    try:
        # Outside of the home and its state, which may be broken.
        with tempfile.TemporaryDirectory(prefix="memem-") as folder:
            claude = Claude(
                command,
                model=ws.settings.model,
                seconds=ws.settings.model_timeout,
                folder=Path(folder),
                environ=ws.environ,
                flags_file=ws.home.claude_flags,
                clock=ws.clock,
            )
            account = flags.look_at_account(claude.says)
    except ExtractError as problem:
        return [of_error("claude", problem, TRY_IT, DEGRADED)]
    login = "login unknown" if account.logged_in is None else "not logged in"
    login = f"logged in ({account.method})" if account.logged_in else login
    detail = f"{account.version or 'unknown version'} in {command}, {login}"
    needs_login = wanted and account.logged_in is False
    return [Diagnosis("claude", DEGRADED if needs_login else FINE, detail, LOG_IN if needs_login else "")]


def check_mining(ws: Workspace, state: MiningState) -> list[Diagnosis]:
    if state.problem:
        return [of_error("mining", MememError(state.problem), MAKE_USABLE)]
    if state.since:
        found = [fine("mining", f"on since {state.since[:16].replace('T', ' ')}, with {state.extractor}")]
    else:
        found = [fine("mining", "off; `memem mine on` switches it on")]
    if ws.home.state_file.exists():
        try:
            ended = ws.state.children.end_orphans()
            calls = "1 model call" if ended == 1 else f"{ended} model calls"
            ended_calls = degraded("orphans", f"stopped {calls} that had outlived the miner", "Nothing to do.")
            found += [ended_calls] if ended else []
        except MememError as problem:
            found.append(of_error("orphans", problem, MAKE_USABLE))
    if state.stopped:
        fix = "Wait, or run `memem mine --all` to call it anyway."
        found.append(degraded("model", f"not called at the moment: {state.stopped}", fix))
    if state.dead_letters:
        parts = "1 part of a session" if state.dead_letters == 1 else f"{state.dead_letters} parts of sessions"
        fix = "Run `memem mine --retry` to try again."
        found.append(degraded("dead letters", f"{parts} could not be mined", fix))
    return found
