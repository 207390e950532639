"""Read a transcript into chunks: the unmined turns, redacted and cut as the model gets them."""

from __future__ import annotations

from collections import deque
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
from memem.transcript import lookback
from memem.transcript.deeds import Deed, DeedReader
from memem.transcript.turns import TranscriptLine, calls_in
from memem.transcript.work import ToolCall

if TYPE_CHECKING:
    from memem.workspace import Workspace

CHUNK_CHARACTERS = 24_000  # about 6,000 tokens: Haiku reads them in seconds for less than a cent, and misses little
MAX_DEEDS = 300  # between two turns
SDK_REFUSAL = "Sessions from claude -p and the Agent SDK are skipped; set MEMEM_MINE_SDK=1 to mine them."


@dataclass(slots=True)
class PendingChunk:
    end: int  # the offset behind the last turn
    project: str = ""
    turns: list[Turn] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
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
        chunk, deeds, session = PendingChunk(start), deque[Deed](maxlen=MAX_DEEDS), path.stem
        allowed = allowed_from(self._ws, file, session) if self._since else 0
        work = DeedReader(clean_text, lambda: self._earlier_calls(file, start) if start > allowed else ())
        for step in read_conversation(file, start, session):
            line = step.line
            self.objects += 1
            self.words = self.words or self._read_back(file, start, path)
            chunk.injected.update(line.injected)
            self.words.follow(line)
            if line.work:
                deeds.extend(work.follow(line.work))
            if line.turn is None:
                continue
            spoken = replace(line.turn, proposal=self.words.find_proposal(line.turn))
            turn = self._prepare_turn(spoken, line, chunk, is_allowed=step.end > allowed)
            if turn is None:
                deeds.clear()
                work.forget()
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
            roots = self._list_roots(line.turn.cwd)
            chunk.deeds += [deed.seen_from(roots) for deed in deeds]
            deeds.clear()
        chunk.is_last = True
        yield chunk

    def _read_back(self, file: BinaryIO, start: int, path: Path) -> Origins:
        place = file.tell()
        words = origins.read_back(file, start, path.stem, origins.list_siblings(path))
        file.seek(place)  # the file is being read
        return words

    def _list_roots(self, cwd: str) -> tuple[str, ...]:
        """Return the project's root as the folder spells it, and its real path."""
        root, folder = self._projects.roots.get(cwd), Path(cwd)
        if root is None:
            return ()
        real = folder.resolve()
        depth = len(real.relative_to(root).parts) if real.is_relative_to(root) else 0
        return str([folder, *folder.parents][: depth + 1][-1]), str(root)

    def _earlier_calls(self, file: BinaryIO, start: int) -> Iterator[ToolCall]:
        lines = lookback.look_back(file, start).lines_with_calls()
        return (
            call
            for value in lines
            if not is_before(str(value.get("timestamp")), self._since)
            for call in calls_in(value)
        )

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
