"""What the claude CLI says about itself: its version, and whether it has an account to ask with. No model is asked."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from memem.core.formats import from_json

_HAS_ACCOUNTS = re.compile(r"^ {1,8}auth\b", re.MULTILINE)
_VERSION = re.compile(r"(?<![\d.])\d+(?:\.\d+)+\S*")


@dataclass(frozen=True, slots=True)
class Account:
    """`version` is empty when it does not say, `logged_in` None. `method` is how it is logged in, in its own words."""

    version: str
    logged_in: bool | None
    method: str = ""


def look(says: Callable[..., str]) -> Account:
    """Ask the CLI; `says` gives its answer to arguments."""
    version = _VERSION.search(says("--version"))
    return Account(version[0] if version else "", *_login(says))


def _login(says: Callable[..., str]) -> tuple[bool | None, str]:
    # A CLI without that command would take its name for a question to the model.
    if not _HAS_ACCOUNTS.search(says("--help")):
        return None, ""
    try:
        told = from_json(says("auth", "status"))
    except ValueError:
        return None, ""
    logged_in = told.get("loggedIn") if isinstance(told, dict) else None
    if not isinstance(logged_in, bool):
        return None, ""
    return logged_in, str(told.get("authMethod") or "")
