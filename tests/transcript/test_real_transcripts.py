"""Real sessions, growing as they did, give every word of their people, once."""

from pathlib import Path

import pytest

from memem.core.conversation import HUMAN, Cursor
from memem.transcript.session import cursor_at, find_turn, start_of, steps
from tests.real_sessions import NEEDS_DATA, SESSIONS, count_words, grown, snapshots, spoken

CUTS = 200

pytestmark = NEEDS_DATA


class Reader:
    """Reads what is new in a file, again and again, and remembers it by its id."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cursor: Cursor | None = None
        self.texts: dict[str, str] = {}

    def read_on(self) -> None:
        with self.path.open("rb") as file:
            end = start_of(file, self.cursor)
            for step in steps(file, end, self.path.stem):
                if step.line.turn and step.line.turn.role == HUMAN:
                    self.texts[step.line.turn.uuid] = step.line.turn.text
                end = step.end
            self.cursor = cursor_at(file, end)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name[:8])
def test_a_session_that_grows_in_pieces_gives_every_word_of_its_people(session: Path, tmp_path: Path) -> None:
    reader = Reader(tmp_path / "session.jsonl")
    for expected in grown(session, reader.path, CUTS, reader.read_on):
        assert count_words(reader.texts.values()) == expected


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name[:8])
def test_a_session_read_in_one_go_gives_each_word_of_its_people_once(session: Path, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(snapshots(session)[-1])
    with path.open("rb") as file:
        turns = [step.line.turn for step in steps(file, 0, "s") if step.line.turn]
    human = {turn.uuid: turn.text for turn in turns if turn.role == HUMAN}
    assert count_words(human.values()) == count_words(spoken(path.read_bytes()).values())
    last = next(reversed(human), "")
    found = find_turn(path, last) if last else None
    assert not last or (found and found[0][found[1]].uuid == last)
