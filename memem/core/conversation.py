"""The values of reading and mining sessions: cursors, turns, chunks, operations."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

HUMAN, ASSISTANT = ROLES = ("human", "assistant")

ADD, UPDATE, SUPERSEDE, NOOP = OPERATIONS = ("ADD", "UPDATE", "SUPERSEDE", "NOOP")
PROJECT_SCOPE, GENERAL_SCOPE = SCOPES = ("project", "general")

OWN_CALL = "memem-extract:"
"""What a question of ours begins with, so that a transcript of it is known for what it is."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a session file; `digest` is of the bytes before it, and tells whether the file was rewritten."""

    inode: int = 0
    offset: int = 0
    digest: str = ""


@dataclass(frozen=True, slots=True)
class ReadSession:
    """How far a session file is read: by the miner, and by the index of what was said.

    The cursor is `inode`, `offset` and `digest`; `whole` says that nothing before it was passed over. `size` and
    `mtime` are the file's when it was last read to its end.
    """

    session: str
    path: str
    inode: int = 0
    offset: int = 0
    digest: str = ""
    whole: bool = True
    size: int = -1
    mtime: int = 0

    @property
    def cursor(self) -> Cursor:
        return Cursor(self.inode, self.offset, self.digest)

    def placed(self, cursor: Cursor) -> Self:
        """With the cursor there."""
        return replace(self, inode=cursor.inode, offset=cursor.offset, digest=cursor.digest)


@dataclass(frozen=True, slots=True)
class Turn:
    """What a person or Claude said in a conversation: prose, never a tool's output."""

    uuid: str
    role: str
    text: str
    time: str = ""  # ISO 8601, as the transcript has it
    session: str = ""
    cwd: str = ""
    branch: str = ""
    repeats: tuple[str, ...] = ()  # what of it a tool had said before
    pasted: tuple[str, ...] = ()  # what of it a person did not type


@dataclass(frozen=True, slots=True)
class Operation:
    """What an extractor wants done to the memories, with the words that it concludes it from."""

    op: str
    target: str | None
    title: str
    content: str
    kind: str
    scope: str
    importance: int
    keys: tuple[str, ...]
    paths: tuple[str, ...]
    quote: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some turns of one session, as a model is sent them, and the cursor behind the last of them.

    `known` are the ids of the memories it was shown beside them: only those can it want to change.
    """

    session: str
    path: str
    project: str
    turns: tuple[Turn, ...]
    work: str
    inode: int
    offset: int
    digest: str
    known: tuple[str, ...] = ()

    @property
    def cursor(self) -> Cursor:
        return Cursor(self.inode, self.offset, self.digest)

    @property
    def name(self) -> str:
        """The same for the same turns, whenever they are mined: what is made of them takes its identity from it."""
        return f"{self.turns[0].uuid}:{self.turns[-1].uuid}"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        turns = tuple(Turn(**_typed(turn)) for turn in value["turns"])
        return cls(**{**value, "turns": turns, "known": tuple(value["known"])})


def _typed(turn: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(each) if isinstance(each, list) else each for name, each in turn.items()}
