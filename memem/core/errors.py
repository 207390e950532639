"""Every error that memem raises on purpose.

    MememError                      exit 1, one line on stderr
    ├── SettingsError               a variable or config.toml has an invalid value
    ├── InputError                  an argument is empty, too long or malformed
    │   ├── SecretOnly              the text is nothing but secrets
    │   └── Forgotten               the text was forgotten, and returns only when a person says so
    ├── NotFound                    no memory has this id
    ├── Ambiguous                   several memories match this id
    ├── VaultError                  the vault cannot be used
    │   ├── VaultMissing            it is not there: unmounted, moved
    │   │   └── VaultUnmade         it was never created
    │   └── VaultUnwritable         it is there, but not writable
    ├── NoteError                   one note cannot be used
    │   ├── NoteUnreadable          its frontmatter cannot be parsed: quarantined
    │   ├── NoteChanged             it changed on disk since it was read
    │   └── RewriteRefused          a rewrite might change other bytes of the note
    ├── HomeError                   MEMEM_DIR cannot be used: unwritable, full
    ├── IndexUnusable               the derived index cannot be used
    │   ├── IndexDamaged            not a database, or a broken one
    │   └── IndexTooNew             made by a newer memem
    ├── StateUnusable               the state database is damaged or too new: mining stops, notes and recall work
    │   └── StateTooNew             made by a newer memem
    ├── BudgetSpent                 today's calls or dollars are used up: the turns wait until tomorrow
    ├── ModelError                  the embedding model cannot be used: missing, wrong, or not loadable
    │   ├── WeightsMissing          no folder has the published weights
    │   └── FetchFailed             the weights could not be downloaded or saved
    ├── ExtractError                no lessons could be extracted: the turns wait, nothing is lost
    │   ├── CliMissing              there is no `claude`
    │   ├── NotLoggedIn             `claude` has no account
    │   ├── RateLimited             the account has to wait, until `retry_at` if that is stated
    │   ├── Overloaded              the service is overloaded
    │   ├── TookTooLong             no answer within the time limit
    │   ├── Refused                 the model refuses to answer
    │   ├── NotJson                 the answer is not JSON
    │   ├── NotSchema               the answer is JSON of another shape
    │   └── CallFailed              any other failure: an exit code, an empty answer, a killed process
    └── Busy                        another memem process has the lock

A message says what happened, to which file, and what to do. It is always a single line.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of a model call. `dollars` is None when it is unknown."""

    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0


FREE = Usage()
UNKNOWN_COST = Usage(dollars=None)


class MememError(Exception):
    """The root of the tree above; a door prints its message and exits 1."""


class SettingsError(MememError): ...


class InputError(MememError): ...


class SecretOnly(InputError): ...


class Forgotten(InputError): ...


class NotFound(MememError): ...


class Ambiguous(MememError): ...


class VaultError(MememError): ...


class VaultMissing(VaultError): ...


class VaultUnmade(VaultMissing): ...


class VaultUnwritable(VaultError): ...


class NoteError(MememError): ...


class NoteUnreadable(NoteError): ...


class NoteChanged(NoteError): ...


class RewriteRefused(NoteError): ...


class HomeError(MememError): ...


class IndexUnusable(MememError): ...


class IndexDamaged(IndexUnusable): ...


class IndexTooNew(IndexUnusable): ...


class StateUnusable(MememError): ...


class StateTooNew(StateUnusable): ...


class BudgetSpent(MememError): ...


class ModelError(MememError): ...


class WeightsMissing(ModelError): ...


class FetchFailed(ModelError): ...


class ExtractError(MememError):
    """Raised after a call, too: `usage` is its cost."""

    def __init__(self, message: str, usage: Usage = FREE) -> None:
        super().__init__(message)
        self.usage = usage


class CliMissing(ExtractError): ...


class NotLoggedIn(ExtractError): ...


class RateLimited(ExtractError):
    def __init__(self, message: str, usage: Usage = FREE, retry_at: datetime | None = None) -> None:
        super().__init__(message, usage)
        self.retry_at = retry_at


class Overloaded(ExtractError): ...


class TookTooLong(ExtractError): ...


class Refused(ExtractError): ...


class NotJson(ExtractError): ...


class NotSchema(ExtractError): ...


class CallFailed(ExtractError): ...


class Busy(MememError): ...
