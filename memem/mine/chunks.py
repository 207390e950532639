"""Read a transcript into chunks: the unmined turns, redacted and cut as the model gets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from memem.core.conversation import Turn
from memem.core.dates import moment
from memem.mine.prompt import escape_tags
from memem.mine.proof import origins
from memem.mine.proof.origins import Origins
from memem.safety.gate import clean_text
from memem.search.transcripts.consent import allowed_from
from memem.search.transcripts.sessions import Projects, is_before, read_conversation, shorten_turn
from memem.transcript.turns import LONGEST_ITEM, TranscriptLine, Work

if TYPE_CHECKING:
    from memem.workspace import Workspace

CHUNK_CHARACTERS = 24_000  # about 6,000 tokens: Haiku reads them in seconds for less than a cent, and misses little
MAX_WORKS = 300
SDK_REFUSAL = "Sessions from claude -p and the Agent SDK are skipped; set MEMEM_MINE_SDK=1 to mine them."


@dataclass(slots=True)
class PendingChunk:
    end: int  # the offset behind the last turn
    project: str = ""
    turns: list[Turn] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    injected: set[str] = field(default_factory=set)
    passed: bool = False  # something was left out that may be wanted another time
    is_last: bool = False

    @property
    def characters(self) -> int:
        return sum(map(_count_chars, self.turns))


class ChunkReader:
    """Reads the unmined turns of a session since a time; those of `claude -p` and the Agent SDK only with `sdk`."""

    def __init__(self, ws: Workspace, is_taken: Callable[[str], bool], since: datetime | None, *, sdk: bool) -> None:
        self._ws = ws
        self._is_taken = is_taken
        self._since = since
        self._sdk = sdk
        self.has_left_out_sdk = False
        self._projects = Projects(ws, on_request=since is None)
        self._seen_ids: set[str] = set(ws.tombstones.load().purged_turns)  # purged turns are never sent again
        self.objects = 0
        self.words: Origins | None = None  # said up to where the reading is

    @property
    def refusals(self) -> list[str]:
        return [*self._projects.refusals.values(), *([SDK_REFUSAL] if self.has_left_out_sdk else [])]

    def read_chunks(self, file: BinaryIO, start: int, path: Path) -> Iterator[PendingChunk]:
        """Yield chunks in order; the last one, which may have no turns, is where reading ended."""
        chunk, works, session = PendingChunk(start), list[Work](), path.stem
        allowed = allowed_from(self._ws, file, session) if self._since else 0
        for step in read_conversation(file, start, session):
            line = step.line
            self.objects += 1
            self.words = self.words or self._read_back(file, start, path)
            chunk.injected.update(line.injected)
            self.words.follow(line)
            if line.work:
                parts = (line.work.files, line.work.commands, line.work.errors)
                works = [*works, Work(*(tuple(map(_redact_item, items)) for items in parts))][-MAX_WORKS:]
            if line.turn is None:
                continue
            spoken = replace(line.turn, proposal=self.words.find_proposal(line.turn))
            turn = self._prepare_turn(spoken, line, chunk, is_allowed=step.end > allowed)
            if turn is None:
                works = []
                if not chunk.turns:
                    chunk.end = step.end
                continue
            turn = self.words.mark(self._drop_repeated_plan(turn))
            name = self._projects.name(line.turn.cwd) or ""
            if chunk.turns and (name != chunk.project or chunk.characters + _count_chars(turn) > CHUNK_CHARACTERS):
                yield chunk
                chunk = PendingChunk(chunk.end, passed=chunk.passed)
            chunk.project, chunk.end = name, step.end
            chunk.turns.append(turn)
            chunk.works += works
            works = []
        chunk.is_last = True
        yield chunk

    def _read_back(self, file: BinaryIO, start: int, path: Path) -> Origins:
        place = file.tell()
        words = origins.read_back(file, start, path.stem, origins.list_siblings(path))
        file.seek(place)  # the file is being read
        return words

    def _prepare_turn(self, turn: Turn, line: TranscriptLine, chunk: PendingChunk, *, is_allowed: bool) -> Turn | None:
        if turn.uuid in self._seen_ids or self._is_taken(turn.uuid):
            return None
        self._seen_ids.add(turn.uuid)
        is_left_out = not is_allowed or is_before(line.time, self._since)
        if is_left_out or self._projects.name(turn.cwd) is None:
            chunk.passed = True
            return None
        if line.is_sdk and not self._sdk:
            chunk.passed = self.has_left_out_sdk = True
            return None
        text, proposal = (escape_tags(shorten_turn(clean_text(words))) for words in (turn.text, turn.proposal))
        time = self._to_local_time(turn.time or line.time)
        cwd, branch = clean_text(turn.cwd), clean_text(turn.branch)
        return replace(turn, text=text, proposal=proposal, time=time, cwd=cwd, branch=branch)

    def _to_local_time(self, time: str) -> str:
        """Claude Code writes UTC; evidence and prompt name the day that the person had."""
        spoken_at = moment(time)
        return spoken_at.astimezone(self._ws.clock().tzinfo).isoformat() if spoken_at else time

    def _drop_repeated_plan(self, turn: Turn) -> Turn:
        """Shorten a plan that was sent before: Claude Code repeats it in the next session and in copies."""
        identity = turn.plan_id
        if identity and (identity in self._seen_ids or self._is_taken(identity)):
            return turn.without_plan()
        self._seen_ids.add(identity)
        return turn


def _count_chars(turn: Turn) -> int:
    return len(turn.text) + len(turn.proposal)


def _redact_item(item: str) -> str:
    text = clean_text(item)
    # A cut item may end within a secret, which is then not recognised: drop its last word.
    return text.rpartition(" ")[0] if len(item) >= LONGEST_ITEM else text
