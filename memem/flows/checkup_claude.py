"""The user's own claude: where it is, which one, and whether it can be asked. Only mining needs it."""

import tempfile
from pathlib import Path

from memem.core.errors import ExtractError
from memem.extract import cli_account
from memem.extract.claude import Claude
from memem.extract.cli_account import Account
from memem.flows.diagnosis import DEGRADED, FINE, Diagnosis, degraded, fine, of_error
from memem.workspace import Workspace

INSTALL = "Install Claude Code and put `claude` on your PATH, or `memem config extractor rules`."
LOG_IN = "`claude auth login` logs in, or `memem config extractor rules` does without."
TRY_IT = "`claude --version` should answer; install Claude Code again if it does not."


def check(ws: Workspace, *, wanted: bool) -> list[Diagnosis]:
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
        return cli_account.look(asked.says)


def _login(account: Account) -> str:
    if account.logged_in is None:
        return "which does not say whether it is logged in"
    return f"logged in ({account.method})" if account.logged_in else "not logged in"
