"""claude-mem's database, of every version there was: what is in it is read, and it is never written to."""

import hashlib
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.errors import InputError
from memem.core.memory import ARCHIVE, ORDINARY
from memem.transfer.items import ImportItem
from memem.transfer.readers import claude_mem
from tests.foreign import CLAUDE_MEM

FIRST = """
CREATE TABLE overviews (id INTEGER PRIMARY KEY, session_id TEXT, content TEXT, project TEXT);
CREATE TABLE memories (id INTEGER PRIMARY KEY, session_id TEXT, text TEXT, keywords TEXT, project TEXT);
INSERT INTO memories VALUES (1, 's-1', 'Otters float.', 'otter, sea', 'zoo');
INSERT INTO overviews VALUES (1, 's-1', 'A day at the zoo.', 'zoo');
"""


def database(folder: Path, script: str) -> Path:
    path = folder / "claude-mem.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(script)
    return path


def read(path: Path) -> dict[str, ImportItem]:
    return {item.place: item for item in claude_mem.items(path)}


def test_an_observation_with_everything_that_is_known_of_it(tmp_path: Path) -> None:
    found = read(database(tmp_path, CLAUDE_MEM))["claude-mem observations/7"].memory
    assert (found.title, found.body) == ("Pump", "The pump stopped.\n\n- It ran dry")
    assert (found.kind, found.layer, found.project) == ("lesson", ORDINARY, "the-zoo")
    assert (found.keys, found.paths) == (("pump",), ("src/pump.py",))
    assert (found.created, found.source_session) == ("2025-03-01T10:00:00Z", "claude-1")


def test_work_done_is_archived_in_the_merged_project(tmp_path: Path) -> None:
    found = read(database(tmp_path, CLAUDE_MEM))["claude-mem observations/8"].memory
    assert (found.body, found.layer, found.project) == ("A gate was added.", ARCHIVE, "park")
    assert (found.created, found.source_session) == ("2025-03-01T10:00:00+00:00", "memory-2")


def test_summaries_become_lessons_and_directives_conventions(tmp_path: Path) -> None:
    found = read(database(tmp_path, CLAUDE_MEM))
    summary, rule = found["claude-mem session_summaries/1"].memory, found["claude-mem directives/1"].memory
    assert (summary.title, summary.body, summary.paths) == ("Mend the pump", "It needs water.", ("a.py", "b.py"))
    assert (rule.body, rule.kind) == ("Never feed by hand.", "convention")
    assert found["claude-mem session_summaries/2"].problem == "it has no text"


def test_the_first_version_had_memories_and_overviews(tmp_path: Path) -> None:
    found = read(database(tmp_path, FIRST))
    assert found["claude-mem memories/1"].memory.keys == ("otter", "sea")
    assert found["claude-mem overviews/1"].memory.layer == ARCHIVE


def test_reading_writes_nothing_next_to_the_database(tmp_path: Path) -> None:
    path = database(tmp_path, f"PRAGMA journal_mode = WAL; {CLAUDE_MEM}")

    def state() -> dict[str, str]:
        return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in tmp_path.glob("claude-mem*")}

    before = state()
    assert claude_mem.count(path) == len(read(path)) == 5
    assert state() == before


def test_uncheckpointed_rows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(path)) as owner:
        owner.executescript(f"PRAGMA journal_mode = WAL; {FIRST}")
        assert len(read(path)) == 2


def test_another_database_and_a_damaged_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a claude-mem database"):
        read(database(tmp_path, "CREATE TABLE memories (id INTEGER, text TEXT);"))
    (tmp_path / "claude-mem.db").write_bytes(claude_mem.MAGIC + b"\0" * 500)
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "claude-mem.db")


@given(data=st.data())
def test_a_file_with_any_byte_changed_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    (tmp_path / "claude-mem.db").unlink(missing_ok=True)
    path = database(tmp_path, CLAUDE_MEM)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 40))):
        content[data.draw(st.integers(16, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with suppress(InputError):
        for item in claude_mem.items(path):
            item.memory.body.encode()


@given(st.lists(st.none() | st.integers() | st.floats() | st.binary() | st.text(), min_size=15, max_size=15))
def test_columns_may_hold_anything(tmp_path: Path, values: list[object]) -> None:
    (tmp_path / "claude-mem.db").unlink(missing_ok=True)
    path = database(tmp_path, CLAUDE_MEM)
    with closing(sqlite3.connect(path)) as made, suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
        made.execute(f"INSERT INTO observations VALUES ({','.join('?' * 15)})", [None, *values[1:]])  # noqa: S608
        made.commit()
    for item in claude_mem.items(path):
        (item.memory.body + item.memory.title + item.place).encode()


def test_a_view_without_end_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(CLAUDE_MEM.replace("INSERT INTO sdk_sessions", "-- "))
        database.executescript(
            "DROP TABLE sdk_sessions; CREATE VIEW sdk_sessions AS WITH RECURSIVE n(id) AS"
            " (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, 'a' AS memory_session_id FROM n;"
        )
    assert len(list(claude_mem.items(path))) > 0


def test_a_value_that_is_larger_than_anything_observed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(CLAUDE_MEM)
        database.execute("UPDATE observations SET narrative = zeroblob(?)", (claude_mem.MAX_VALUE_BYTES + 1,))
        database.commit()
    with pytest.raises(InputError, match="cannot be read"):
        list(claude_mem.items(path))
