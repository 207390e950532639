"""Recorded sessions of Claude Code, mined while they grow: every utterance is sent, and none twice."""

import io
import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memem.core.conversation import HUMAN, Chunk, Operation
from memem.mine import ask, schedule
from memem.search.transcripts import consent
from memem.transcript.session import steps
from memem.workspace import Workspace
from tests.fakes import SteppingClock
from tests.real_sessions import move_to

RECORDINGS = sorted((Path(__file__).parents[1] / "fixtures" / "sessions").glob("*/*.jsonl"))
CUTS = 6


@pytest.mark.slow(keep=6)
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recording_is_mined_as_it_grows_each_utterance_once(
    recording: Path, ws: Workspace, clock: SteppingClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: Counter[str] = Counter()

    def extract(_: Workspace, *chunks: Chunk) -> list[tuple[Chunk, list[Operation]]]:
        sent.update(turn.uuid for chunk in chunks for turn in chunk.turns if turn.role == HUMAN)
        return [(chunk, []) for chunk in chunks]

    monkeypatch.setattr(ask, "extract", extract)
    clock.now = datetime(2020, 1, 1, tzinfo=UTC)
    consent.opt_in(ws)
    data, path = move_to(recording.read_bytes(), tmp_path), tmp_path / recording.name
    chance = random.Random(recording.name)  # noqa: S311
    written = 0
    for cut in [*sorted(chance.randrange(len(data)) for _ in range(CUTS)), len(data)]:
        with path.open("ab") as file:
            file.write(data[written:cut])
        written = cut
        schedule.mine_in_background(ws, path, flush=cut == len(data))
    schedule.mine_file(ws, path)  # what waits for other small sessions, and sessions without a terminal
    turns = [step.line.turn for step in steps(io.BytesIO(data), 0, path.stem)]
    assert sent == dict.fromkeys((turn.uuid for turn in turns if turn and turn.role == HUMAN), 1)
