"""Every error memem raises on purpose.

    MememError                      exit 1, one line on stderr
    ├── SettingsError               a variable or config.toml holds a value we cannot use
    ├── InputError                  what the caller gave cannot be used: empty, too long, malformed
    │   ├── SecretOnly              nothing is left of the text once its secrets are taken out
    │   └── Forgotten               it was forgotten, and comes back only when a person says so
    ├── NotFound                    no memory has this id
    ├── Ambiguous                   several memories answer to this id
    ├── VaultError                  the vault cannot be used
    │   ├── VaultMissing            it is not there: unmounted, moved
    │   │   └── VaultUnmade         nor was it ever
    │   └── VaultUnwritable         it is there and does not take our bytes
    ├── NoteError                   one note cannot be used
    │   ├── NoteUnreadable          its frontmatter is not what we understand: quarantined
    │   ├── NoteChanged             it changed on disk since it was read
    │   └── RewriteRefused          a rewrite could not be proven to keep every other byte
    ├── HomeError                   MEMEM_DIR cannot be used: unwritable, full
    ├── IndexUnusable               the derived index cannot be used
    │   ├── IndexDamaged            not a database, or a broken one
    │   └── IndexTooNew             made by a newer memem
    ├── StateUnusable               the state database is damaged or too new: mining stops, notes and recall go on
    │   └── StateTooNew             made by a newer memem
    ├── BudgetSpent                 today's calls or dollars are used up: the turns wait for tomorrow
    ├── ModelError                  the embedding model cannot be used: not there, wrong, or not loadable
    │   ├── WeightsMissing          no place holds the weights as they were published
    │   └── FetchFailed             they could not be fetched, or not be kept
    ├── ExtractError                no lessons could be extracted: the turns wait, nothing is lost
    │   ├── CliMissing              there is no `claude` to ask
    │   ├── NotLoggedIn             it has no account to ask with
    │   ├── RateLimited             the account has to wait, until `retry_at` where that is known
    │   ├── Overloaded              the service has to recover
    │   ├── TookTooLong             no answer within the time agreed
    │   ├── Refused                 the model does not want to answer
    │   ├── NotJson                 the answer is not JSON
    │   ├── NotSchema               the answer is JSON of another shape
    │   └── CallFailed              any other failure of the call: an exit code, an empty answer, a killed process
    └── Busy                        another memem holds the lock

The message says what happened, to which file, and what to do. It is always a single line.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call of a model cost. `dollars` is None where nobody tells."""

    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0


FREE = Usage()
UNTOLD = Usage(dollars=None)


class MememError(Exception):
    """The root of the tree above; a door prints its message and exits 1."""


class SettingsError(MememError):
    pass


class InputError(MememError):
    pass


class SecretOnly(InputError):
    pass


class Forgotten(InputError):
    pass


class NotFound(MememError):
    pass


class Ambiguous(MememError):
    pass


class VaultError(MememError):
    pass


class VaultMissing(VaultError):
    pass


class VaultUnmade(VaultMissing):
    pass


class VaultUnwritable(VaultError):
    pass


class NoteError(MememError):
    pass


class NoteUnreadable(NoteError):
    pass


class NoteChanged(NoteError):
    pass


class RewriteRefused(NoteError):
    pass


class HomeError(MememError):
    pass


class IndexUnusable(MememError):
    pass


class IndexDamaged(IndexUnusable):
    pass


class IndexTooNew(IndexUnusable):
    pass


class StateUnusable(MememError):
    pass


class StateTooNew(StateUnusable):
    pass


class BudgetSpent(MememError):
    pass


class ModelError(MememError):
    pass


class WeightsMissing(ModelError):
    pass


class FetchFailed(ModelError):
    pass


class ExtractError(MememError):
    """`usage` is what the call cost all the same."""

    def __init__(self, message: str, usage: Usage = FREE) -> None:
        super().__init__(message)
        self.usage = usage


class CliMissing(ExtractError):
    pass


class NotLoggedIn(ExtractError):
    pass


class RateLimited(ExtractError):
    def __init__(self, message: str, usage: Usage = FREE, retry_at: datetime | None = None) -> None:
        super().__init__(message, usage)
        self.retry_at = retry_at


class Overloaded(ExtractError):
    pass


class TookTooLong(ExtractError):
    pass


class Refused(ExtractError):
    pass


class NotJson(ExtractError):
    pass


class NotSchema(ExtractError):
    pass


class CallFailed(ExtractError):
    pass


class Busy(MememError):
    pass
