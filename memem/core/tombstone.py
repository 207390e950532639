"""Tombstones: enough of a forgotten memory to recognise it, and nothing to read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tombstone:
    """Salted hashes of a forgotten memory, and the turns it came from."""

    key: str  # by which it is lifted
    salt: str  # the name of the salt, which has its own line
    time: str
    ids: tuple[str, ...]
    statements: tuple[str, ...]
    sizes: tuple[int, ...] = ()  # numbers of sentences of its statement
    quotes: tuple[str, ...] = ()
    vague: tuple[str, ...] = ()  # quotes too short to mean anything outside their turn
    pieces: tuple[str, ...] = ()  # parts of its quote
    turns: tuple[str, ...] = ()
    session: str = ""
    purged: bool = False
    by_hand: bool = False  # its note was deleted outside memem


@dataclass(frozen=True, slots=True)
class Removal:
    """Tells all who share the vault that an undo removed a note: it was neither forgotten nor deleted."""

    key: str
    id: str  # a salted hash
    time: str
