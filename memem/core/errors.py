"""Every error that memem raises on purpose. A message is one line: what happened, to which file, what to do.

MememError                           a door prints the message on stderr and exits 1
├── SettingsError                    a variable or config.toml has an invalid value
│   └── OverrideError                a `.memem.toml` cannot be used
├── InputError                       an argument is empty, too long or malformed
│   ├── SecretOnly                   the text is nothing but secrets
│   └── Forgotten                    the text was forgotten, and returns only when a person says so
├── NotFound, Ambiguous              no memory, or several, match this id
├── VaultError                       the vault cannot be used
│   ├── VaultMissing                 it is not there: unmounted, moved
│   │   └── VaultUnmade              it was never created
│   └── VaultUnwritable              it is there, but not writable
├── NoteError                        one note cannot be used
│   ├── NoteUnreadable               its frontmatter cannot be parsed: quarantined
│   ├── NoteChanged                  it changed on disk since it was read
│   └── RewriteRefused               a rewrite might change other bytes of the note
├── HomeError                        MEMEM_DIR cannot be used: unwritable, full
├── IndexUnusable                    the derived index cannot be used
│   └── IndexDamaged, IndexTooNew    it is broken, or made by a newer memem
├── StateUnusable                    the state database cannot be used: mining stops, notes and recall work
│   └── StateTooNew                  made by a newer memem
├── BudgetSpent                      today's calls or dollars are used up: the turns wait until tomorrow
├── ModelError                       the embedding model cannot be used: missing, wrong, or not loadable
│   └── WeightsMissing, FetchFailed  no folder has the weights, or they could not be downloaded or saved
├── ExtractError                     no lessons could be extracted: the turns wait, nothing is lost
│   ├── CliMissing, NotLoggedIn      there is no `claude`, or it has no account; a model's server refuses the key
│   ├── ModelMissing                 MEMEM_MODEL_URL leads to no model that may be asked
│   ├── RateLimited, Overloaded      the account has to wait, or the service is overloaded
│   ├── TookTooLong, Refused         no answer in time, or the model refuses to answer
│   ├── NotJson, NotSchema           the answer is not JSON, or JSON of another shape
│   └── CallFailed                   an exit code, an empty answer, a killed process
└── Busy                             another memem process has the lock
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


class MememError(Exception): ...


class SettingsError(MememError): ...


class OverrideError(SettingsError):
    """Names the file and what is wrong; its content, and a parser's words about it, stay out of the message."""

    def __init__(self, path: object, problem: str) -> None:
        super().__init__(f"{path}{problem}")
        self.path, self.problem = path, problem


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
    """After a call, `usage` is its cost."""

    def __init__(self, message: str, usage: Usage = FREE) -> None:
        super().__init__(message)
        self.usage = usage


class CliMissing(ExtractError): ...


class ModelMissing(ExtractError): ...


class NotLoggedIn(ExtractError): ...


class RateLimited(ExtractError):
    """`retry_at` is the end of the wait, if that is stated."""

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
