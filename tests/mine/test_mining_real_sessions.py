"""Real sessions, mined while they grow: everything that a person said is sent, and nothing twice."""

from collections import Counter
from pathlib import Path

import pytest

from memem.core.conversation import HUMAN, Chunk, Operation
from memem.mine import ask, schedule
from memem.search.transcripts import consent
from memem.workspace import Workspace
from tests.real_sessions import NEEDS_DATA, SESSIONS, grown

pytestmark = NEEDS_DATA
CUTS = 200


@pytest.fixture
def calls(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The turns that a model would have been sent, and how often."""
    sent: Counter[str] = Counter()

    def extract(_: Workspace, chunk: Chunk) -> tuple[Chunk, list[Operation]]:
        sent.update(turn.uuid for turn in chunk.turns if turn.role == HUMAN)
        return chunk, []

    monkeypatch.setattr(ask, "extract", extract)
    ws.home.opt_in.parent.mkdir(parents=True)
    ws.home.opt_in.write_text("2000-01-01T00:00:00+00:00\n")
    assert consent.opted_in(ws)
    return sent


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name[:8])
def test_a_session_is_mined_as_it_grows_each_word_once(
    session: Path, ws: Workspace, asked: Counter[str], tmp_path: Path
) -> None:
    path = tmp_path / f"{session.name}.jsonl"
    for expected in grown(session, path, CUTS, lambda: schedule.mine_in_background(ws, path)):
        schedule.mine_in_background(ws, path, flush=True)
        assert asked == dict.fromkeys(expected, 1)
