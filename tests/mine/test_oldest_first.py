"""Sessions are mined oldest first, by their first unmined turn, and the model sees when each memory was said."""

import os
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from memem.mine import history, order, schedule
from memem.search import find, refresh
from memem.search.transcripts import consent
from memem.workspace import Workspace
from tests import fake_claude
from tests.fakes import START, SteppingClock
from tests.transcripts import AT_LENGTH, Transcript, fact

NAMES = ("a", "b", "c", "d")
DAYS = {"a": 3, "b": 1, "c": 4, "d": 2}  # ago; the order of time is c, a, d, b
IN_TIME = ["c", "a", "d", "b"]


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    return miner


def write_session(folder: Path, name: str, *, short: bool = False, start: datetime | None = None) -> Transcript:
    session = Transcript(folder / f"{name}.jsonl", start=start or START - timedelta(days=DAYS[name]))
    session.human(fact(name)) if short else session.tells(name)
    return session


def list_questions(claude: Path) -> list[str]:
    """The facts that the model was asked about, in order."""
    return [name for call in fake_claude.calls(claude) for name in re.findall(r"FACT-(\w+):", call["stdin"])]


def test_history_is_mined_oldest_first(ws: Workspace, claude: Path, sessions: Path) -> None:
    for name in NAMES:
        write_session(sessions, name)
    steps: list[tuple[int, int]] = []
    history.mine(ws, history.survey_history(ws, lambda *_: None), lambda *step: steps.append(step))
    asked_names = [
        name for call in fake_claude.calls(claude) for name in re.findall(r"FACT-(\w+):", call["stdin"])[-1:]
    ]
    assert asked_names == IN_TIME
    assert steps == [(number, 4) for number in range(5)]


def test_the_first_unmined_turn_counts(ws: Workspace, claude: Path, sessions: Path) -> None:
    """A session that was mined long ago and goes on today comes after what was said in between."""
    long_ago = write_session(sessions, "a", start=START - timedelta(days=30))
    schedule.mine_file(ws, long_ago.path)
    long_ago.now = START - timedelta(hours=1)
    long_ago.tells("more")
    write_session(sessions, "b")
    paths = schedule.unmined_sessions(ws, None)
    assert [path.stem for path in order.sort_unmined(ws, paths, None)] == ["b", "a"]
    assert [path.stem for path in history.survey_history(ws, lambda *_: None).paths] == ["b", "a"]


def test_without_a_readable_time_the_files_time_counts(ws: Workspace, sessions: Path) -> None:
    for name in NAMES:
        path = write_session(sessions, name).path
        path.write_text(re.sub(r'"timestamp": ?"[^"]*"', '"timestamp": "soon"', path.read_text()))
        os.utime(path, (START.timestamp() - 86_400 * DAYS[name],) * 2)
    assert [path.stem for path in history.survey_history(ws, lambda *_: None).paths] == IN_TIME
    assert [path.stem for path in order.sort_unmined(ws, sorted(sessions.glob("*.jsonl")), None)] == IN_TIME


def test_times_are_compared_across_zones(ws: Workspace, sessions: Path) -> None:
    for name, time in (
        ("a", "2026-02-01T09:00:00+09:00"),
        ("b", "2026-02-01T00:30:00Z"),
        ("c", "2026-01-31T20:00:00-08:00"),
    ):
        Transcript(sessions / f"{name}.jsonl").human(fact(name), timestamp=time)
    paths = order.sort_unmined(ws, sorted(sessions.glob("*.jsonl"), reverse=True), None)
    assert [path.stem for path in paths] == ["a", "b", "c"]


def test_a_session_of_which_everything_is_mined_is_last(ws: Workspace, sessions: Path) -> None:
    first = write_session(sessions, "a")
    schedule.mine_file(ws, first.path)
    first.tool("Bash", command="make")  # a line without a turn
    write_session(sessions, "b")
    assert [path.stem for path in history.survey_history(ws, lambda *_: None).paths] == ["b", "a"]


def test_a_sweep_mines_the_file_first_that_was_written_first(
    ws: Workspace, clock: SteppingClock, sessions: Path
) -> None:
    consent.opt_in(ws)
    clock.forward(days=10)
    for name in NAMES:
        start = clock() - timedelta(days=DAYS[name])
        path = write_session(sessions, name, start=start).path
        os.utime(path, (start.timestamp() + 60,) * 2)
    assert [mined.session for mined in schedule.sweep(ws) if mined.outcome == "mined"] == IN_TIME


def test_the_conversations_of_a_pack_are_in_the_order_of_time(ws: Workspace, claude: Path, sessions: Path) -> None:
    for name in NAMES:
        path = write_session(sessions, name, short=True).path
        os.utime(path, (START.timestamp(),) * 2)
    history.mine(ws, history.survey_history(ws, lambda *_: None), lambda *_: None)
    assert len(fake_claude.calls(claude)) == 1
    assert list_questions(claude) == IN_TIME


def test_a_mined_note_states_when_it_was_said(ws: Workspace, sessions: Path) -> None:
    session = write_session(sessions, "a")
    session.add(type="user", message={"role": "user", "content": f"{fact('b')} {'And so on. ' * 30}"}, timestamp="soon")
    schedule.mine_file(ws, session.path)
    refresh.refresh(ws)
    said = {entry.memory.keys[0]: entry.memory.valid_from for entry in find.list_memories(ws)}
    begin = (START - timedelta(days=3, minutes=-1)).isoformat(timespec="seconds")
    assert said == {"a": begin, "b": START.isoformat(timespec="seconds")}, "an unknown time is that of mining"


def test_evidence_names_the_day_in_the_zone_of_the_person(miner: Workspace, claude: Path, session: Transcript) -> None:
    session.human(
        f"{fact('late')} {AT_LENGTH}", timestamp="2026-02-01T23:30:00.000Z"
    )  # 00:30 on the 2nd, one hour east
    session.human(f"{fact('after')} {AT_LENGTH}", timestamp="")
    schedule.mine_file(miner, session.path)
    memories = [entry.memory for entry in find.list_memories(miner)]
    assert {memory.valid_from[:10] for memory in memories} == {"2026-02-02"}
    assert {memory.evidence.partition(":")[0] for memory in memories} == {"you, 2026-02-02"}
