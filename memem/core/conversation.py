"""Values for reading and mining sessions: cursors, turns, chunks, operations."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

HUMAN, ASSISTANT = ROLES = ("human", "assistant")

# Where a person's words are stored, if not in a prompt; for the arguments of a slash command it is the command's name.
REJECTION, ANSWER, WITH_RESULT, QUEUED, PLAN = ("rejection", "answer", "beside", "queued", "plan")

ADD, UPDATE, SUPERSEDE, NOOP = OPERATIONS = ("ADD", "UPDATE", "SUPERSEDE", "NOOP")
PROJECT_SCOPE, GENERAL_SCOPE = SCOPES = ("project", "general")

OWN_CALL = "memem-extract:"  # the start of memem's own prompts, which marks their transcripts


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a session file; `digest`, of the bytes before it, shows whether the file was rewritten."""

    inode: int = 0
    offset: int = 0
    digest: str = ""


@dataclass(frozen=True, slots=True)
class ReadSession:
    """How far the miner, or the index of turns, has read a session file."""

    session: str
    path: str
    inode: int = 0
    offset: int = 0
    digest: str = ""
    whole: bool = True  # nothing before the cursor was skipped
    size: int = -1  # of the file when it was last read to its end, as `mtime`
    mtime: int = 0

    @property
    def cursor(self) -> Cursor:
        return Cursor(self.inode, self.offset, self.digest)

    def placed(self, cursor: Cursor) -> Self:
        return replace(self, inode=cursor.inode, offset=cursor.offset, digest=cursor.digest)


@dataclass(frozen=True, slots=True)
class Turn:
    """Prose of a person or Claude in a conversation, never the output of a tool."""

    uuid: str
    role: str
    text: str
    time: str = ""  # ISO 8601, as the transcript has it
    session: str = ""
    cwd: str = ""
    branch: str = ""
    repeats: tuple[str, ...] = ()  # parts that a tool printed before
    pasted: tuple[str, ...] = ()  # parts that a person did not type
    place: str = ""  # where a person's words are stored, if not in a prompt
    proposal: str = ""  # Claude's words that a person chose or approved with this turn

    @property
    def plan_id(self) -> str:
        """An id for an approved plan, which Claude Code repeats in later sessions; empty without one."""
        if self.place != PLAN or not self.proposal:
            return ""
        import hashlib

        words = " ".join(self.proposal.split()).encode("utf-8", "surrogatepass")
        return f"plan-{hashlib.sha256(words).hexdigest()[:32]}"

    def without_plan(self) -> Self:
        """Return the turn with the heading of its plan alone, because the plan is sent elsewhere."""
        return replace(self, proposal=self.proposal.partition("\n")[0])

    def as_json(self) -> dict[str, Any]:
        """Return the fields; new ones only with a value, as older releases do not know them."""
        return {name: value for name, value in asdict(self).items() if value or name not in ("place", "proposal")}


def list_turn_ids(turns: Iterable[Turn]) -> list[str]:
    """Return the ids by which turns, and the plans in them, are sent only once."""
    return [identity for turn in turns for identity in (turn.uuid, turn.plan_id) if identity]


@dataclass(frozen=True, slots=True)
class Operation:
    """A change to the memories that an extractor wants, with the words it is based on."""

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
    """Turns of one session as sent to a model, and the cursor after the last of them."""

    session: str
    path: str
    project: str
    turns: tuple[Turn, ...]
    work: str
    inode: int
    offset: int
    digest: str
    known: tuple[str, ...] = ()  # ids of the memories sent along: only those can be changed

    @property
    def cursor(self) -> Cursor:
        return Cursor(self.inode, self.offset, self.digest)

    @property
    def name(self) -> str:
        """A name for these turns, from which the ids of their memories are made."""
        return f"{self.turns[0].uuid}:{self.turns[-1].uuid}"

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"turns": [turn.as_json() for turn in self.turns]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        turns = []
        for turn in value["turns"]:
            fields: dict[str, Any] = {
                key: tuple(part) if isinstance(part, list) else part for key, part in turn.items()
            }
            turns.append(Turn(**fields))
        return cls(**{**value, "turns": tuple(turns), "known": tuple(value["known"])})
