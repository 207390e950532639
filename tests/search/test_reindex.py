"""The index follows the vault, whatever a person does to it, and can be thrown away."""

import errno
import os
import shutil
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memem.core.errors import IndexTooNew, NoteUnreadable, VaultError
from memem.notes import save, write
from memem.search import find, note_rows, rebuild, refresh
from memem.search.notes import NoteIndex
from memem.upkeep import status
from memem.workspace import Workspace, open_workspace
from tests.fakes import SteppingClock

BROKEN = "---\ntitle: half: typed\n---\nA broken note about walruses.\n"


@pytest.fixture
def saved(ws: Workspace) -> write.Written:
    return save.save(ws, "The deploy runs on Fridays.", title="Deploy day", project="shop")


def search_titles(ws: Workspace, query: str) -> list[str]:
    return [hit.id for hit in find.search(ws, query)]


def test_without_its_cache_the_next_search_finds_the_same_notes(ws: Workspace, tmp_path: Path) -> None:
    for number in range(30):
        save.save(ws, f"Service number {number} listens on port {8000 + number}.", project=f"p{number % 3}")
    queries = ("which port does service 7 use", "8012", "listens")
    refresh.refresh(ws)
    before = [[(hit.id, hit.score) for hit in find.search(ws, query)] for query in queries]
    ws.close()
    shutil.rmtree(ws.home.cache)
    refresh.refresh(ws)
    assert [[(hit.id, hit.score) for hit in find.search(ws, query)] for query in queries] == before


def test_a_note_edited_outside_is_seen_by_the_next_scan(ws: Workspace, saved: write.Written) -> None:
    path = ws.store.absolute(saved.path)
    path.write_text(path.read_text().replace("Fridays", "Mondays"))
    assert refresh.refresh(ws).changed == 1
    assert search_titles(ws, "mondays") == [saved.memory.id]
    assert search_titles(ws, "fridays") == []


def test_an_edit_of_the_same_length_within_the_same_instant_is_seen(ws: Workspace, saved: write.Written) -> None:
    path = ws.store.absolute(saved.path)
    status = path.stat()
    path.write_text(path.read_text().replace("Fridays", "Mondays"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    refresh.refresh(ws)
    assert search_titles(ws, "mondays") == [saved.memory.id]


def test_a_hit_that_changed_since_the_last_scan_is_read_again_before_it_is_shown(
    ws: Workspace, saved: write.Written
) -> None:
    refresh.refresh(ws)
    path = ws.store.absolute(saved.path)
    path.write_text(path.read_text().replace("Fridays", "Mondays"))
    (hit,) = find.search(ws, "deploy day")
    assert "Mondays" in hit.body


def test_a_deleted_note_is_gone_from_recall_at_once(ws: Workspace, saved: write.Written) -> None:
    ws.store.absolute(saved.path).unlink()
    assert search_titles(ws, "deploy day") == []
    assert refresh.refresh(ws).files == 0


@pytest.mark.parametrize("target", ["memories/renamed.md", "memories/sub folder/x.md", "archive/old.md", "top.md"])
def test_a_renamed_or_moved_note_keeps_its_identity(ws: Workspace, saved: write.Written, target: str) -> None:
    moved = ws.store.absolute(target)
    moved.parent.mkdir(parents=True, exist_ok=True)
    ws.store.absolute(saved.path).rename(moved)
    refresh.refresh(ws)
    assert find.get(ws, saved.memory.id).path == target
    assert search_titles(ws, "deploy day") == [saved.memory.id]
    assert write.edit(ws, saved.memory.id, importance=5).path == target


def test_a_note_moved_out_of_our_folder_is_the_persons_own(ws: Workspace, saved: write.Written) -> None:
    ws.store.absolute(saved.path).rename(ws.settings.vault / "mine.md")
    refresh.refresh(ws)
    assert search_titles(ws, "deploy day") == []
    assert (ws.settings.vault / "mine.md").exists()


def test_a_page_of_ones_own_in_our_folder_is_not_a_memory(ws: Workspace, saved: write.Written) -> None:
    (ws.store.paths.ours / "Index of walruses.md").write_text("---\ntitle: walruses\n---\nwalruses")
    refresh.refresh(ws)
    assert search_titles(ws, "walruses") == []


def test_two_files_with_one_id_are_both_recalled(ws: Workspace, saved: write.Written) -> None:
    path = ws.store.absolute(saved.path)
    copy = path.with_name("conflict copy.md")
    copy.write_text(path.read_text().replace("Fridays", "Fridays or Mondays"))
    refresh.refresh(ws)
    hits = find.search(ws, "deploy day")
    assert sorted(hit.path for hit in hits) == sorted(["memories/conflict copy.md", saved.path])


def test_a_note_written_by_hand_without_any_properties_is_recalled(ws: Workspace, saved: write.Written) -> None:
    (ws.store.paths.memories / "Walruses.md").write_text("Walruses sleep in the water.\n")
    refresh.refresh(ws)
    (hit,) = find.search(ws, "where do walruses sleep")
    assert (hit.title, hit.project) == ("Walruses", "general")


def test_an_unreadable_note_is_quarantined_untouched_and_returns_by_itself(ws: Workspace, saved: write.Written) -> None:
    path = ws.store.absolute(saved.path)
    good = path.read_text()
    path.write_text(good.replace('title: "Deploy day"', "title: Deploy: day"))
    bad = path.read_bytes()
    refresh.refresh(ws)
    assert search_titles(ws, "deploy") == []
    assert path.read_bytes() == bad
    path.write_text(good)
    refresh.refresh(ws)
    assert search_titles(ws, "deploy") == [saved.memory.id]


@pytest.mark.parametrize(("strict", "listed"), [("quarantine", 1), ("skip", 0)])
def test_how_strict_to_be_with_unreadable_notes(tmp_path: Path, clock: SteppingClock, strict: str, listed: int) -> None:
    ws = strict_workspace(tmp_path, clock, strict)
    refresh.refresh(ws)
    assert len(ws.index.rows("problem IS NOT NULL")) == listed
    ws.close()


def test_strictness_raise_names_the_file(tmp_path: Path, clock: SteppingClock) -> None:
    ws = strict_workspace(tmp_path, clock, "raise")
    with pytest.raises(NoteUnreadable, match=r"broken\.md cannot be read.*Obsidian"):
        refresh.refresh(ws)
    ws.close()


def strict_workspace(tmp_path: Path, clock: SteppingClock, strict: str) -> Workspace:
    environ = {"MEMEM_FRONTMATTER_STRICT": strict, "HOME": str(tmp_path)}
    ws = open_workspace(actor="test", home=tmp_path / "home", vault=tmp_path / "vault", environ=environ, clock=clock)
    ws.store.make_vault()
    (ws.store.paths.memories / "broken.md").write_text(BROKEN)
    return ws


def test_another_strictness_is_applied_to_notes_already_seen(tmp_path: Path, clock: SteppingClock) -> None:
    first = strict_workspace(tmp_path, clock, "quarantine")
    refresh.refresh(first)
    first.close()
    second = strict_workspace(tmp_path, clock, "skip")
    refresh.refresh(second)
    assert second.index.rows("problem IS NOT NULL") == []
    second.close()


def test_another_vault_under_the_same_home_does_not_leak(
    ws: Workspace, saved: write.Written, tmp_path: Path, clock: SteppingClock
) -> None:
    ws.close()
    other = open_workspace(actor="test", home=ws.home.root, vault=tmp_path / "other", clock=clock)
    save.save(other, "Nothing about that day here.")
    assert search_titles(other, "deploy") == []
    other.close()


def test_hand_written_notes_pass_the_gate_before_they_are_indexed(ws: Workspace, saved: write.Written) -> None:
    token = "ghp_" + "a1B2c3D4" * 5
    own = ws.store.paths.memories / "own.md"
    links = f"related: ['{token}']\nsource_session: {token}"
    own.write_text(f"---\n{links}\n---\nThe walrus token is {token} \u202e reversed")
    refresh.refresh(ws)
    (hit,) = find.search(ws, "walrus")
    assert token not in str(hit)
    assert token not in hit.body
    assert "\u202e" not in hit.body
    assert token in own.read_text()
    ws.close()
    assert token.encode() not in ws.index_file.read_bytes()


def test_a_file_name_that_is_not_text_is_passed_over_and_listed(ws: Workspace, saved: write.Written) -> None:
    (ws.store.paths.memories / os.fsdecode(b"bad\xff.md")).write_text("A walrus.")
    refresh.refresh(ws)
    assert search_titles(ws, "deploy") == [saved.memory.id]
    (finding,) = status.check(ws)
    assert "not UTF-8" in finding.problem
    finding.path.encode()


def test_a_few_bytes_that_stand_for_billions_are_unreadable(ws: Workspace, saved: write.Written) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    (ws.store.paths.memories / "bomb.md").write_text("---\n" + "\n".join(levels) + "\n---\nboom")
    refresh.refresh(ws)
    assert search_titles(ws, "deploy") == [saved.memory.id]
    (row,) = ws.index.rows("problem IS NOT NULL")
    assert "too large" in row.problem


def test_a_second_change_within_one_tick_of_the_clock_is_seen(
    ws: Workspace, saved: write.Written, clock: SteppingClock
) -> None:
    path = ws.store.absolute(saved.path)
    os.utime(path)
    clock.now = datetime.fromtimestamp(path.stat().st_ctime, UTC)  # the moment of the change itself
    refresh.refresh(ws)
    assert ws.index.rows()[0].stamp[2] == -1  # a stamp that never matches
    clock.forward(minutes=1)
    refresh.refresh(ws)
    assert ws.index.rows()[0].stamp[2] == path.stat().st_size


def test_a_file_from_the_future_is_not_read_again_at_each_scan(
    ws: Workspace, saved: write.Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(ws.store.absolute(saved.path), (4_000_000_000, 4_000_000_000))
    refresh.refresh(ws)
    monkeypatch.setattr(ws.store, "read", None)
    refresh.refresh(ws)


def test_two_who_fill_an_empty_index_at_once_both_end_with_all_notes(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "BATCH", 2)
    ws.store.make_vault()
    for number in range(10):
        (ws.store.paths.memories / f"n{number}.md").write_text(f"walrus number {number}")
    other = open_workspace(actor="test", home=ws.home.root, vault=ws.settings.vault)
    real, seen = note_rows.read_row, 0

    def read_while_another_begins(*arguments: Any) -> object:
        nonlocal seen
        seen += 1
        if seen == 6:
            refresh.refresh(other)
        return real(*arguments)

    monkeypatch.setattr(note_rows, "read_row", read_while_another_begins)
    refresh.refresh(ws)
    assert len(find.list_memories(ws)) == len(find.list_memories(other)) == 10
    other.close()


@pytest.mark.parametrize("head", ["'id': aaaaaaaa", '"id" : aaaaaaaa', "x: " + "y" * 5000 + "\nid: aaaaaaaa"])
def test_a_moved_note_keeps_its_id(ws: Workspace, saved: write.Written, head: str) -> None:
    (ws.store.paths.ours / "moved.md").write_text(f"---\n{head}\n---\na walrus")
    refresh.refresh(ws)
    assert search_titles(ws, "walrus") == ["aaaaaaaa"]


def test_a_note_we_may_not_read_is_listed_rather_than_lost(
    ws: Workspace, saved: write.Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    os.utime(ws.store.absolute(saved.path), (1, 1))
    with monkeypatch.context() as patched:
        patched.setattr("memem.core.safe_open.open_plain", refuse)
        refresh.refresh(ws)
    (row,) = ws.index.rows("problem IS NOT NULL")
    assert "permission denied" in row.problem
    assert search_titles(ws, "deploy") == []
    os.utime(ws.store.absolute(saved.path))  # as chmod does, by the change time
    refresh.refresh(ws)
    assert search_titles(ws, "deploy") == [saved.memory.id]


def test_a_folder_we_may_not_read_stops_a_scan_rather_than_losing_its_notes(
    ws: Workspace, saved: write.Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def refuse(folder: Path) -> object:
        if Path(folder).name == "memories":
            raise PermissionError(13, "Permission denied")
        return real(folder)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refuse)
        with pytest.raises(VaultError, match=r"Cannot read .*memories: permission denied"):
            refresh.refresh(ws)
    assert search_titles(ws, "deploy") == [saved.memory.id]


def test_a_damaged_index_is_set_aside_and_rebuilt(ws: Workspace, saved: write.Written) -> None:
    ws.close()
    for path in ws.index_file.parent.iterdir():
        path.unlink()
    ws.index_file.write_bytes(b"this is not a database" * 200)
    assert refresh.refresh(ws).changed == 1
    assert search_titles(ws, "deploy") == [saved.memory.id]


def test_an_index_of_a_newer_memem_gives_advice_that_works(ws: Workspace, saved: write.Written) -> None:
    import sqlite3

    ws.close()
    with sqlite3.connect(ws.index_file) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(IndexTooNew, match=r"Upgrade memem.*Run `memem index rebuild`"):
        refresh.refresh(ws)
    rebuild.rebuild(ws)
    assert search_titles(ws, "deploy") == [saved.memory.id]


def test_a_touched_but_unchanged_note_is_not_indexed_again(
    ws: Workspace, saved: write.Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(ws.store.absolute(saved.path))
    monkeypatch.setattr(NoteIndex, "_insert", None)
    assert refresh.refresh(ws) == refresh.Refreshed(changed=0, gone=0, files=1)


def test_an_unchanged_vault_is_not_even_read(
    ws: Workspace, saved: write.Written, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.forward(days=10_000)  # long after the files' own stamps
    refresh.refresh(ws)
    monkeypatch.setattr(ws.store, "read", None)
    assert refresh.refresh(ws) == refresh.Refreshed(changed=0, gone=0, files=1)


def test_reindex_sweeps_up_what_a_killed_writer_left(ws: Workspace, saved: write.Written, clock: SteppingClock) -> None:
    leftover = ws.store.paths.memories / ".memem-00.tmp"
    leftover.write_text("half a no")
    rebuild.rebuild(ws)
    assert leftover.exists()
    clock.forward(days=10_000)
    rebuild.rebuild(ws)
    assert not leftover.exists()


def test_many_notes_are_indexed_in_batches(
    ws: Workspace, saved: write.Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "BATCH", 3)
    for number in range(10):
        (ws.store.paths.memories / f"n{number}.md").write_text(f"walrus number {number}")
    assert refresh.refresh(ws).changed == 10
    assert len(find.search(ws, "walrus", limit=20)) == 10


# --- a look at the vault beside other work ------------------------------------------------------------------------


@pytest.fixture
def refreshed(monkeypatch: pytest.MonkeyPatch) -> list[Workspace]:
    """The refreshes that took place in this process. Its other threads, those of the test runner, do not count."""
    done: list[Workspace] = []
    monkeypatch.setattr(refresh, "refresh", done.append)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return done


@pytest.fixture
def settled(ws: Workspace, clock: SteppingClock, saved: write.Written) -> Workspace:
    """A home whose index knows everything, closed as it is before a command."""
    clock.forward(days=400)  # long after the files' own time stamps
    refresh.refresh(ws)
    ws.close()
    return ws


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_that_sees_no_change_spares_the_refresh(settled: Workspace, refreshed: list[Workspace]) -> None:
    refresh.refresher(settled)()
    assert refreshed == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("change", ["edited", "added", "deleted", "index gone", "vault gone"])
def test_a_child_that_sees_a_change_or_fails_leaves_it_to_the_refresh(
    settled: Workspace, refreshed: list[Workspace], memories: Path, change: str
) -> None:
    (note,) = memories.iterdir()
    if change == "edited":
        note.write_text(note.read_text() + "\nMore.\n")
    elif change == "added":
        (memories / "other.md").write_text("Another one.\n")
    elif change == "deleted":
        note.unlink()
    elif change == "index gone":
        shutil.rmtree(settled.home.cache)
    else:
        shutil.rmtree(settled.settings.vault)
    refresh.refresher(settled)()
    assert refreshed == [settled]


@pytest.mark.parametrize("lacking", ["fork", "cores", "solitude"])
def test_where_a_child_would_not_help_the_refresh_is_made_here(
    settled: Workspace, refreshed: list[Workspace], monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    if lacking == "fork":
        monkeypatch.delattr(os, "fork", raising=False)
    elif lacking == "cores":
        monkeypatch.setattr(os, "cpu_count", lambda: 1)
    else:
        monkeypatch.setattr(threading, "active_count", lambda: 2)
    finish = refresh.refresher(settled)
    assert refreshed == []
    finish()
    assert refreshed == [settled]


def test_a_child_that_cannot_be_made_is_done_without(
    settled: Workspace, refreshed: list[Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fork() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fork, raising=False)
    refresh.refresher(settled)()
    assert refreshed == [settled]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_whose_end_is_lost_leaves_it_to_the_refresh(
    settled: Workspace, refreshed: list[Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.waitpid

    def waitpid(child: int, options: int) -> tuple[int, int]:
        real(child, options)
        raise ChildProcessError(10, "No child processes")

    monkeypatch.setattr(os, "waitpid", waitpid)
    refresh.refresher(settled)()
    assert refreshed == [settled]


def test_a_rebuild_leaves_session_turns_and_cli_state(ws: Workspace, saved: write.Written) -> None:
    kept = [ws.home.turns_file, ws.home.claude_flags]
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    rebuild.rebuild(ws)
    assert all(path.exists() for path in kept)


def test_a_rebuild_sweeps_the_cache_of_what_it_left_and_of_nothing_else(ws: Workspace, saved: write.Written) -> None:
    aside = ws.home.cache / f".index-{'0a' * 16}"
    for folder in (aside, ws.home.cache / "somebody-elses"):
        folder.mkdir()
    for path in (ws.home.cache / "index.db", ws.home.cache / "index.db-wal", aside / "index.db"):
        path.write_text("The walrus.")
    rebuild.rebuild(ws)
    assert sorted(path.name for path in ws.home.cache.iterdir()) == ["index", "somebody-elses"]


def test_a_note_that_the_system_would_not_give_is_read_again_once_it_does(
    ws: Workspace, saved: write.Written, memories: Path, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    (note,) = memories.glob("*.md")
    os.utime(note, (clock.now.timestamp() - 3_600,) * 2)
    clock.now = datetime.now(UTC) + timedelta(hours=1)

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr("memem.core.safe_open.open_plain", refused)
        refresh.refresh(ws)
        assert search_titles(ws, "deploy") == []
    refresh.refresh(ws)
    assert search_titles(ws, "deploy") == [saved.memory.id]
