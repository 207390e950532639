"""From a transcript to chunks: the turns that nobody has mined yet, redacted and cut as a model will be sent them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, BinaryIO

from memem.core.conversation import HUMAN, Turn
from memem.mine.prompt import escape_tags
from memem.mine.redact import redact_turn, redact_work
from memem.search.transcripts.readable import Projects, is_before, read_conversation, shorten_turn
from memem.transcript.session import Outputs, digest, pasted
from memem.transcript.turns import TranscriptLine, Work

if TYPE_CHECKING:
    from memem.workspace import Workspace


CHUNK_CHARACTERS = 24_000
"""About 6,000 tokens: Haiku reads them in seconds and for less than a cent, and overlooks little in so much text."""
MOST_WORKS = 300
SDK_REFUSAL = "Sessions of claude -p and the Agent SDK are skipped; set MEMEM_MINE_SDK=1 to mine them."


@dataclass(slots=True)
class PendingChunk:
    """Turns of one project that make a chunk. `end` is the offset behind the last of them.

    `passed`: something was left out that somebody may want mined another time. `is_last`: there is nothing behind it.
    """

    end: int
    project: str = ""
    turns: list[Turn] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    injected: set[str] = field(default_factory=set)
    passed: bool = False
    is_last: bool = False

    @property
    def characters(self) -> int:
        return sum(len(turn.text) for turn in self.turns)

    @property
    def work(self) -> str:
        return digest(self.works)

    def follower(self) -> PendingChunk:
        """An empty one that goes on behind this."""
        return PendingChunk(self.end, passed=self.passed)


class ChunkReader:
    """Reads a session. `is_known` tells of a turn whether it is mined; what was said before `since` is passed over.

    Turns of `claude -p` and the Agent SDK are left out unless `sdk`; `has_left_out_sdk` says that there were any.
    """

    def __init__(self, ws: Workspace, is_known: Callable[[str], bool], since: datetime | None, *, sdk: bool) -> None:
        self._is_known = is_known
        self._since = since
        self._sdk = sdk
        self.has_left_out_sdk = False
        self._projects = Projects(ws)
        self._met: set[str] = set(ws.tombstones.load().purged_turns)  # nobody is sent those again
        self.objects = 0

    @property
    def refusals(self) -> list[str]:
        """Why something was left out: its folder may not be mined, or no person was there."""
        return [*self._projects.refusals.values(), *([SDK_REFUSAL] if self.has_left_out_sdk else [])]

    def read_chunks(self, file: BinaryIO, start: int, session: str) -> Iterator[PendingChunk]:
        """Chunks in order; the last one, which may be without turns, is where reading ended."""
        held, works, outputs = PendingChunk(start), list[Work](), Outputs()
        for step in read_conversation(file, start, session):
            line = step.line
            self.objects += 1
            held.injected.update(line.injected)
            outputs.add(line.output)
            if line.work:
                work = redact_work(line.work)
                works = [*works, work][-MOST_WORKS:]
            if line.turn is None:
                continue
            turn = self._wanted(line.turn, line, held)
            if turn is not None:
                foreign = pasted(turn.text) if turn.role == HUMAN else ()
                turn = replace(turn, repeats=outputs.repeated(turn.role, turn.text), pasted=foreign)
            else:
                works = []
                if not held.turns:
                    held.end = step.end
                continue
            name = self._projects.name(line.turn.cwd) or ""
            if held.turns and (name != held.project or held.characters + len(turn.text) > CHUNK_CHARACTERS):
                yield held
                held = held.follower()
            held.project, held.end = name, step.end
            held.turns.append(turn)
            held.works += works
            works = []
        held.is_last = True
        yield held

    def _wanted(self, turn: Turn, line: TranscriptLine, held: PendingChunk) -> Turn | None:
        """The turn as it is sent, or None when it is not to be mined now."""
        if turn.uuid in self._met or self._is_known(turn.uuid):
            return None
        self._met.add(turn.uuid)
        if is_before(line.time, self._since) or self._projects.name(turn.cwd) is None:
            held.passed = True
            return None
        if line.is_sdk and not self._sdk:
            held.passed = self.has_left_out_sdk = True
            return None
        turn = redact_turn(turn)
        return replace(turn, text=escape_tags(shorten_turn(turn.text)))
