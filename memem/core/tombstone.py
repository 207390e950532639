"""What is left of a memory that was forgotten: enough to know it again, and nothing to read it by."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tombstone:
    """Salted hashes of a forgotten memory, and the turns it came from.

    `sizes` are the numbers of sentences that its statement was parted into; `pieces` are of parts of its quote.
    `vague` are quotes that are too short to mean anything outside their turn. `key` is what a lifting names.
    """

    key: str
    salt: str  # its name; the salt itself stands in a line of its own
    time: str
    ids: tuple[str, ...]
    statements: tuple[str, ...]
    sizes: tuple[int, ...] = ()
    quotes: tuple[str, ...] = ()
    vague: tuple[str, ...] = ()
    pieces: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    session: str = ""
    purged: bool = False
    by_hand: bool = False  # its note was deleted, and nobody told memem


@dataclass(frozen=True, slots=True)
class Removal:
    """That an undo took a note out, told to all who share the vault: it is not forgotten, and nobody deleted it."""

    key: str
    id: str  # a salted hash
    time: str
