"""Real sessions, mined while they grow: everything that a person said is sent, and nothing twice."""

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
from tests.real_sessions import NEEDS_DATA, SESSIONS, grown

pytestmark = NEEDS_DATA
CUTS = 200


@pytest.fixture
def sent(ws: Workspace, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The turns of people that a model would have been sent, and how often."""
    counts: Counter[str] = Counter()

    def extract(_: Workspace, *chunks: Chunk) -> list[tuple[Chunk, list[Operation]]]:
        counts.update(turn.uuid for chunk in chunks for turn in chunk.turns if turn.role == HUMAN)
        return [(chunk, []) for chunk in chunks]

    monkeypatch.setattr(ask, "extract", extract)
    clock.now = datetime(2020, 1, 1, tzinfo=UTC)
    consent.opt_in(ws)
    return counts


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name[:8])
def test_a_session_is_mined_as_it_grows_each_word_once(
    session: Path, ws: Workspace, sent: Counter[str], tmp_path: Path
) -> None:
    path, expected = tmp_path / f"{session.name}.jsonl", set[str]()
    for _ in grown(session, path, CUTS, lambda: schedule.mine_in_background(ws, path), cwd=tmp_path):
        schedule.mine_in_background(ws, path, flush=True)
        with path.open("rb") as file:
            turns = [step.line.turn for step in steps(file, 0, path.stem)]
        expected |= {turn.uuid for turn in turns if turn and turn.role == HUMAN}
        assert sent == dict.fromkeys(expected, 1)
