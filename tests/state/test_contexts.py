"""The memories each session was shown, and how its last prompts went."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from memem.core import sqlite
from memem.core.errors import Busy, HomeError, StateTooNew, StateUnusable
from memem.state import contexts
from memem.state.contexts import Context, Contexts
from memem.state.receipts import PROMPT, Receipt, Receipts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "contexts.db"


def damage(path: Path) -> None:
    """Overwrite the middle of a file."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\xff" * (size // 4))


@pytest.fixture
def contexts_file(path: Path) -> Iterator[Contexts]:
    with closing(Contexts(path)) as opened:
        yield opened


def test_a_session_that_nobody_knows_was_shown_nothing(contexts_file: Contexts) -> None:
    assert contexts_file.shown("s1") == []
    assert contexts_file.get("s1") == Context(since_slice=-1, empty=0, topic=b"")
    assert not contexts_file.has_session("s1")


def test_what_was_shown_is_known_in_the_order_in_which_it_came(contexts_file: Contexts) -> None:
    contexts_file.add("s1", ["b", "a"], 1)
    contexts_file.add("s1", ["c", "b"], 2)
    assert contexts_file.shown("s1") == ["b", "a", "c"]


def test_a_session_that_was_shown_nothing_is_known_all_the_same(contexts_file: Contexts) -> None:
    contexts_file.add("s1", [], 1)
    assert contexts_file.has_session("s1")
    assert contexts_file.shown("s1") == []


def test_sessions_know_nothing_of_each_other(contexts_file: Contexts) -> None:
    contexts_file.add("s1", ["a"], 1)
    contexts_file.put("s1", Context(0, 3, b"x"), 1)
    assert contexts_file.shown("s2") == []
    assert contexts_file.get("s2") == Context()
    contexts_file.add("s2", ["a"], 1)
    contexts_file.forget("s1")
    assert contexts_file.shown("s2") == ["a"]


def test_how_the_last_prompts_went_is_kept_beside_what_was_shown(contexts_file: Contexts) -> None:
    contexts_file.add("s1", ["a"], 1)
    contexts_file.put("s1", Context(2, 3, b"\0\xff"), 2)
    contexts_file.add("s1", ["b"], 3)
    assert contexts_file.get("s1") == Context(2, 3, b"\0\xff")
    assert contexts_file.shown("s1") == ["a", "b"]


def test_a_session_that_is_forgotten_begins_anew(contexts_file: Contexts) -> None:
    contexts_file.add("s1", ["a"], 1)
    contexts_file.put("s1", Context(2, 3, b"x"), 2)
    contexts_file.forget("s1")
    assert not contexts_file.has_session("s1")
    assert (contexts_file.shown("s1"), contexts_file.get("s1")) == ([], Context())


def test_sessions_that_nobody_has_touched_for_long_are_dropped(contexts_file: Contexts) -> None:
    contexts_file.add("old", ["a"], 10)
    contexts_file.add("shown again", ["a"], 10)
    contexts_file.add("shown again", ["b"], 30)
    contexts_file.add("prompted again", ["a"], 10)
    contexts_file.put("prompted again", Context(), 30)
    contexts_file.prune(before=20)
    assert [session for session in ("old", "shown again", "prompted again") if contexts_file.shown(session)] == [
        "shown again",
        "prompted again",
    ]
    assert not contexts_file.has_session("old")


def test_of_a_session_without_a_name_nothing_is_noted(contexts_file: Contexts) -> None:
    contexts_file.add("", ["a"], 1)
    contexts_file.put("", Context(2, 3, b"x"), 1)
    assert (contexts_file.has_session(""), contexts_file.shown(""), contexts_file.get("")) == (False, [], Context())


@pytest.mark.parametrize("name", ["../../x", "'; DROP TABLE shown; --", "会话", "a\nb", "x" * 10_000])
def test_any_name_will_do(contexts_file: Contexts, name: str) -> None:
    contexts_file.add(name, [name], 1)
    assert contexts_file.shown(name) == [name]


def test_what_was_shown_is_known_to_the_next_process(contexts_file: Contexts, path: Path) -> None:
    contexts_file.add("s1", ["a"], 1)
    with closing(Contexts(path)) as again:
        assert again.shown("s1") == ["a"]


def test_the_file_is_private(contexts_file: Contexts, path: Path) -> None:
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 2_000])
def test_a_file_that_is_no_database_is_made_anew(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with closing(Contexts(path)) as contexts_file:
        contexts_file.add("s1", ["a"], 1)
        assert contexts_file.shown("s1") == ["a"]


def test_a_damaged_file_is_set_aside_and_only_the_last_of_them_is_kept(path: Path) -> None:
    path.parent.mkdir()
    for content in (b"not a database" * 100, b"nor this one" * 100):
        path.write_bytes(content)
        Contexts(path).close()
        assert path.with_name("contexts.db.damaged").read_bytes() == content
    assert sorted(each.name for each in path.parent.iterdir()) == ["contexts.db", "contexts.db.damaged"]


def test_a_file_of_a_newer_memem_is_left_as_it_is(path: Path) -> None:
    with closing(Contexts(path)) as contexts_file:
        contexts_file.add("s1", ["a"], 1)
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(StateTooNew, match=r"written by a newer version of memem\. Upgrade memem"):
        Contexts(path)
    with pytest.raises(StateTooNew):
        contexts.check(path, thorough=False)
    assert path.read_bytes() == before
    assert not path.with_name("contexts.db.damaged").exists()


def test_nothing_of_it_is_synced(contexts_file: Contexts) -> None:
    assert contexts_file._connect().execute("PRAGMA synchronous").fetchone() == (0,)


@contextmanager
def held(path: Path, how: str = "IMMEDIATE") -> Iterator[None]:
    """The file, in use by somebody else; `EXCLUSIVE` for readers too."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(f"PRAGMA locking_mode = {'EXCLUSIVE' if how == 'EXCLUSIVE' else 'NORMAL'}")
        other.execute(f"BEGIN {how}")
        yield
        other.execute("ROLLBACK")


def test_whoever_holds_it_is_waited_for_a_moment_only(contexts_file: Contexts, path: Path) -> None:
    with held(path):
        began = time.monotonic()
        with pytest.raises(Busy, match="in use by another memem process"):
            contexts_file.add("s1", ["a"], 1)
        assert 0.1 < time.monotonic() - began < 1
        assert contexts_file.shown("s1") == []
    contexts_file.add("s1", ["a"], 1)
    assert contexts_file.shown("s1") == ["a"]


def test_what_cannot_be_opened_is_waited_for_once_and_used_once_it_can_be(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Contexts(path).close()
    tried: list[Path] = []
    connect = contexts._connect_or_replace

    def connected(path: Path) -> sqlite3.Connection:
        tried.append(path)
        return connect(path)

    monkeypatch.setattr(contexts, "_connect_or_replace", connected)
    with held(path, "EXCLUSIVE"):
        contexts_file = Contexts(path)
        for use in (
            lambda: contexts_file.shown("s1"),
            contexts_file.receipts.last,
            lambda: contexts_file.add("s1", ["a"], 1),
        ):
            with pytest.raises(Busy, match="in use by another memem process"):
                use()
        assert (len(tried), contexts_file.is_current()) == (1, True)
        contexts_file.close()
    monkeypatch.setattr(contexts, "RETRY_SECONDS", 0)
    contexts_file._retry_at = 0.0
    contexts_file.add("s1", ["a"], 1)
    assert (contexts_file.shown("s1"), contexts_file.is_current()) == (["a"], True)
    contexts_file.close()


def test_what_a_prompt_came_to_is_written_in_one_go_or_not_at_all(
    contexts_file: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = Receipt(1.0, PROMPT, "s1")
    contexts_file.add_all(receipt, ["a"], Context(0, 2, b"x"))
    assert (contexts_file.shown("s1"), contexts_file.get("s1")) == (["a"], Context(0, 2, b"x"))
    assert contexts_file.receipts.last("s1")

    def fails(*_: object) -> int:
        raise Busy("x")

    monkeypatch.setattr(Receipts, "add", fails)
    with pytest.raises(Busy):
        contexts_file.add_all(receipt, ["b"], Context(5, 5, b"y"))
    assert (contexts_file.shown("s1"), contexts_file.get("s1")) == (["a"], Context(0, 2, b"x"))


def test_damage_within_is_told_in_our_words(path: Path) -> None:
    with closing(Contexts(path)) as contexts_file:
        contexts_file.add("s1", [f"memory {number}" for number in range(2_000)], 1)
    damage(path)
    with closing(Contexts(path)) as contexts_file, pytest.raises(StateUnusable, match=r"damaged.*Delete the file"):
        contexts_file.shown("s1")


def test_a_file_that_was_deleted_is_no_longer_the_current_one(contexts_file: Contexts, path: Path) -> None:
    assert contexts_file.is_current()
    sqlite.drop(path)
    assert not contexts_file.is_current()
    assert list(path.parent.iterdir()) == []


def test_a_file_that_cannot_be_removed_is_named(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(HomeError, match=r"Cannot remove .*contexts.db"):
        sqlite.drop(path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(HomeError, match=r"Cannot use .*state"):
        Contexts(tmp_path / "state" / "contexts.db")
