"""A week, or a year, that nobody looks after: whatever memem writes down by itself stays within a bound."""

import inspect
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memem.core import files, sqlite
from memem.core.conversation import Chunk, Turn
from memem.mine import ask, schedule
from memem.notes import save, undo
from memem.search.transcripts import consent
from memem.state import batches, events, inbox, journal, receipts
from memem.state.receipts import PROMPT, Receipt, ReceiptItem
from memem.state.tables import STATE
from memem.upkeep import session_start
from memem.workspace import Workspace
from tests import fake_claude
from tests.fakes import SteppingClock
from tests.transcripts import Transcript

DAY = 86_400
CHUNK = Chunk("s1", "/s1.jsonl", "shop", (Turn("u1", "human", "said"),), "", 1, 2, "d")


@pytest.fixture(autouse=True)
def _leaving_our_own_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_start, "renew_environment", lambda _: False)


# --- what was done ------------------------------------------------------------------------------------------------


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(events, "EVENTS_BYTES", 40_000)
    return 40_000


def record(ws: Workspace, number: int) -> None:
    ws.events.record("save", id=f"id-{number}", path="memories/x.md", why="because", before="", after="hash")


def test_the_log_of_what_was_done_keeps_the_newest_and_stays_within_its_bound(ws: Workspace, short: int) -> None:
    for number in range(1_000):
        record(ws, number)
        assert ws.home.events_file.stat().st_size <= short + 1_000
    kept = [event.id for event in ws.events.read()]
    assert kept == [f"id-{number}" for number in range(1_000 - len(kept), 1_000)]
    assert len(kept) > 50


def test_log_batch_is_retained_whole_or_not_at_all(ws: Workspace, short: int) -> None:
    for _ in range(60):
        with ws.events.batch("mine"):
            for number in range(7):
                record(ws, number)
    found = list(batches.read_batches(ws.events.read_backwards()))
    assert {len(deed.events) for deed in found} == {7}
    assert ws.home.events_file.stat().st_size <= short + 7_000


def test_a_batch_that_is_longer_than_the_log_may_be_can_be_taken_back_as_a_whole(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    save.save(ws, "The house is painted yellow.", project="general")
    monkeypatch.setattr(events, "EVENTS_BYTES", 500)
    with ws.events.batch("import") as batch:
        for number in range(5):
            save.save(ws, f"Room {number} of the annexe was built in {1950 + number}.", project="general")
    save.save(ws, "The garden is looked after by Swoboda & Sons.", project="general")
    undo.undo(ws, batch)
    assert len(list(ws.store.paths.memories.glob("*.md"))) == 2


def test_unreadable_log_lines_are_pruned_with_the_oldest(ws: Workspace, short: int) -> None:
    ws.home.state.mkdir(parents=True)
    ws.home.events_file.write_bytes(b"torn " * 10_000 + b"\n" + b'{"half": \n' + b"\xff\n")
    record(ws, 1)
    assert [event.id for event in ws.events.read()] == ["id-1"]
    assert ws.home.events_file.stat().st_size < 1_000


# --- mining -------------------------------------------------------------------------------------------------------


def test_dead_letters_make_room_for_newer_ones_and_answers_stay(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX_DEAD_LETTERS", 5)
    ws.state.journal.add_answer("s0", CHUNK.as_json(), [], "now")
    for number in range(20):
        ws.state.journal.add_dead_letter(f"s{number}", CHUNK.as_json(), "No.", "now")
    assert [letter.session for letter in ws.state.journal.dead_letters()] == ["s15", "s16", "s17", "s18", "s19"]
    assert ws.state.journal.sessions() == ["s0"]


def rows(ws: Workspace, table: str) -> int:
    with closing(sqlite3.connect(ws.home.state_file)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - ours


def test_a_year_of_calls_leaves_those_of_its_last_weeks(
    miner: Workspace, claude: Path, session: Transcript, clock: SteppingClock
) -> None:
    consent.opt_in(miner)
    fake_claude.set_steps(claude, [{"operations": []}])
    for number in range(6):
        session.now = clock()
        session.tells(f"n{number}")
        schedule.mine_in_background(miner, session.path, flush=True)
        clock.forward(days=60)
    assert rows(miner, "calls") == 6
    session_start.after_session_start(miner)
    assert rows(miner, "calls") == 1, "of the last 90 days"
    assert rows(miner, "sessions") == 1, "of calls of ours none is left, and the session itself is"
    assert rows(miner, "turns") == 6, "what is mined is known for good"


def test_shown_ids_are_pruned_long_after_mining(miner: Workspace, session: Transcript, clock: SteppingClock) -> None:
    consent.opt_in(miner)
    session.tells("one")
    schedule.mine_in_background(miner, session.path)
    miner.state.sessions.add_injected(session.session, ["aaaaaaaa"])
    miner.state.sessions.add_injected("waits", ["bbbbbbbb"])
    session_start.after_session_start(miner)
    assert rows(miner, "injected") == 2
    clock.forward(days=session_start.OWN_CALL_DAYS + 1)
    session_start.after_session_start(miner)  # the clock may be wrong
    clock.forward(hours=8)
    session_start.after_session_start(miner)
    assert miner.state.sessions.injected(session.session) == frozenset()
    assert miner.state.sessions.injected("waits") == {"bbbbbbbb"}


def test_a_call_of_ours_is_known_for_as_long_as_its_session_may_be_there(
    miner: Workspace, clock: SteppingClock
) -> None:
    miner.state.sessions.put_own("call", "", clock().timestamp())
    clock.forward(days=session_start.OWN_CALL_DAYS - 1)
    session_start.after_session_start(miner)
    known = miner.state.sessions.get("call")
    assert known
    assert known.own


def test_the_log_of_mining_has_two_files_of_a_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LOG_BYTES", 2_000)
    for number in range(1_000):
        files.append_log(tmp_path / "logs" / "mine_delta.log", f"line {number}")
    written = sorted((tmp_path / "logs").iterdir())
    assert [path.name for path in written] == ["mine_delta.log", "mine_delta.log.1"]
    assert all(path.stat().st_size < 2_100 for path in written)


# --- what was shown -----------------------------------------------------------------------------------------------


def test_receipts_and_contexts_stay_within_their_bound(
    ws: Workspace, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts, "MOST_RECEIPTS", 50)
    for number in range(400):
        clock.forward(hours=3)
        shown = [f"id-{number % 30}"]
        receipt = Receipt(clock().timestamp(), PROMPT, f"s{number // 4}", items=(ReceiptItem(shown[0], "Title"),))
        ws.contexts.add_all(receipt, shown, None)
        if number % 8 == 0:
            session_start.after_session_start(ws)
    with closing(sqlite3.connect(ws.home.contexts_file)) as connection:
        count = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - ours
            for table in ("receipts", "contexts", "shown")
        }
    assert count["receipts"] == 50
    assert count["contexts"] <= count["shown"] <= 8 * session_start.CONTEXT_DAYS + 8


# --- what is left by those that were killed -----------------------------------------------------------------------


def aged(path: Path, ws: Workspace, seconds: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"{}")
    os.utime(path, (ws.clock().timestamp() - seconds,) * 2)
    return path


@pytest.mark.parametrize("name", ["1a2b3c4d-s1-Stop.json", "hook-77.json"])
def test_unprocessed_inbox_files_are_removed_after_a_day(ws: Workspace, name: str) -> None:
    old = aged(ws.home.inbox / name, ws, inbox.EXPIRE_SECONDS + 1)
    young = aged(ws.home.inbox / f"a-{name}", ws, 60)
    lock = aged(ws.home.inbox / "1a2b3c4d.lock", ws, 90 * DAY)
    session_start.after_session_start(ws)
    assert (old.exists(), young.exists(), lock.exists()) == (False, True, True)


def test_leftovers_of_killed_writers_are_removed_live_files_stay(ws: Workspace) -> None:
    save.save(ws, "The house is painted yellow.", project="general")
    places = (ws.home.state, ws.home.undo, ws.store.paths.memories)
    old = [aged(place / ".memem-0123456789abcdef.tmp", ws, 2 * 3_600) for place in places]
    young = aged(ws.home.state / ".memem-fedcba9876543210.tmp", ws, 60)
    theirs = aged(ws.store.paths.memories / "draft.tmp", ws, 90 * DAY)
    session_start.after_session_start(ws)
    assert not any(path.exists() for path in old)
    assert young.exists()
    assert theirs.exists()


# --- databases ----------------------------------------------------------------------------------------------------


def _table(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE held (data BLOB)")


def test_a_write_ahead_log_that_one_large_change_has_made_long_is_cut_while_others_have_the_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LOG_BYTES", 100_000)
    path = tmp_path / "held.db"
    opened = [sqlite.connect(path, [_table], STATE, durable=False) for _ in range(2)]
    with closing(opened[0]) as other, closing(opened[1]) as writer:
        other.execute("SELECT count(*) FROM held").fetchone()
        with sqlite.transaction(writer):
            writer.executemany("INSERT INTO held VALUES (zeroblob(1000))", [()] * 6_000)
        assert path.with_name("held.db-wal").stat().st_size > 5_000_000
        for _ in range(2):
            writer.execute("INSERT INTO held VALUES (zeroblob(1))")
        assert path.with_name("held.db-wal").stat().st_size <= 100_000


def test_there_is_one_way_to_the_model_and_it_is_counted() -> None:
    """Mining, contradictions and playbooks ask by `ask.call_model`, which reserves the call first."""
    sources = {path: path.read_text(encoding="utf-8") for path in Path(ask.__file__).parents[1].rglob("*.py")}
    assert [path.name for path, text in sources.items() if "model.ask(" in text] == ["ask.py"]
    asked = inspect.getsource(ask.call_model)
    assert asked.index("ledger.reserve(") < asked.index("model.ask(")
