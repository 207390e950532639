"""The name of a note that is memem's own follows its title; one that a person wrote, named or links to stays."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memem.core import files
from memem.core.errors import RewriteRefused
from memem.core.memory import Entry, Memory
from memem.notes import forget, history, rename, undo, write
from memem.pages import refresh as pages_refresh
from memem.pages.catch_up import catching_up
from memem.search import find, refresh, vanished
from memem.search.graph import read
from memem.upkeep import purge, status
from memem.vault import mentions
from memem.workspace import Workspace
from tests.builders import Crash, keep_note

OLD, NEW = "memories/note-1-00000001.md", "memories/tokens-00000001.md"
OLD_LINK, NEW_LINK = "[[note-1-00000001]]", "[[tokens-00000001]]"


def retitle(ws: Workspace, title: str = "Tokens", number: int = 1, **more: Any) -> str:
    written = write.revise(ws, f"{number:08x}", title=title, **more)
    assert written
    return written.path


def names(ws: Workspace) -> list[str]:
    """Every note where it is, and as the index has it; nothing is missed."""
    refresh.refresh(ws)
    scanned = sorted(path for path, _ in ws.store.scan())
    assert scanned == sorted(row.path for row in ws.index.rows())
    assert vanished.list_undecided(ws) == []
    assert not ws.store.paths.tombstones.exists()
    return scanned


def text(ws: Workspace, path: str) -> str:
    return ws.store.absolute(path).read_text(encoding="utf-8")


def write_file(ws: Workspace, path: str, words: str) -> Path:
    """A file of a person, somewhere in the vault."""
    file = ws.store.paths.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(words, encoding="utf-8")
    return file


@pytest.fixture
def note(ws: Workspace) -> Entry:
    return keep_note(ws, 1)


# --- what is renamed ----------------------------------------------------------------------------------------------


def test_the_name_follows_the_title_and_the_note_stays_the_same(ws: Workspace, note: Entry) -> None:
    before = text(ws, OLD)
    assert note.path == OLD
    assert retitle(ws) == NEW
    assert names(ws) == [NEW]
    after = text(ws, NEW)
    assert "title: Tokens\n" in after
    assert "aliases: [Tokens]\n" in after
    changed = ("title:", "aliases:", "updated:", "written_hash:")
    kept = [line for line in before.splitlines() if not line.startswith(changed)]
    assert [line for line in after.splitlines() if line in kept] == kept
    assert find.get(ws, note.id).path == NEW
    assert find.get(ws, OLD_LINK).path == NEW
    assert ws.store.read(NEW).is_a_machines


def test_a_title_with_the_same_slug_changes_no_name(ws: Workspace, note: Entry) -> None:
    assert retitle(ws, "Note: 1!") == note.path


def test_a_note_in_a_folder_of_its_own_stays_in_it(ws: Workspace, note: Entry) -> None:
    target = ws.store.paths.memories / "auth" / "note-1-00000001.md"
    target.parent.mkdir()
    ws.store.absolute(note.path).rename(target)
    refresh.refresh(ws)
    assert retitle(ws) == "memories/auth/tokens-00000001.md"


def test_a_persons_new_title_for_a_note_of_memem_renames_it_too(ws: Workspace, note: Entry) -> None:
    assert write.edit(ws, note.id, title="Tokens").path == NEW
    assert write.edit(ws, note.id, title="Signing").path == NEW  # since then it is theirs
    assert names(ws) == [NEW]


def test_links_in_notes_of_memem_follow(ws: Workspace, note: Entry) -> None:
    body = "See [[note-1-00000001]], [[memem/memories/Note-1-00000001#Why|why]] and [it](note-1-00000001.md)."
    other = keep_note(ws, 2, body, related=(OLD_LINK,), contradicts=(OLD_LINK, "[[x-1]]"), supersedes=OLD_LINK)
    retitle(ws)
    memory = ws.store.read(other.path).memory
    assert memory.body == body.replace("Note-", "note-").replace("note-1-", "tokens-")
    assert (memory.related, memory.contradicts, memory.supersedes) == ((NEW_LINK,), (NEW_LINK, "[[x-1]]"), NEW_LINK)
    assert ws.store.read(other.path).is_a_machines
    assert memory.updated == other.memory.updated
    assert ws.index.edges.of([note.id]) == ws.index.edges.of([other.id]) != []
    assert not [each for each in status.check(ws) if "cannot find" in each.problem and "x-1" not in each.problem]


def test_a_name_that_ends_like_the_former_one_is_no_link_to_it(ws: Workspace, note: Entry) -> None:
    other = keep_note(ws, 2, related=(OLD_LINK,))
    assert retitle(ws, "An old note 1") == "memories/an-old-note-1-00000001.md"
    assert ws.store.read(other.path).memory.related == ("[[an-old-note-1-00000001]]",)


def test_a_refused_change_leaves_the_name(ws: Workspace, note: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RewriteRefused("no")

    monkeypatch.setattr(write, "rewrite_text", refuse)
    with pytest.raises(RewriteRefused):
        retitle(ws)
    assert names(ws) == [OLD]


def test_pages_link_the_new_name(ws: Workspace, note: Entry) -> None:
    keep_note(ws, 2, kind="decision", related=(OLD_LINK,))
    write.revise(ws, note.id, kind="decision")
    pages_refresh.write_pages(ws)
    with catching_up(ws):
        retitle(ws)
    pages = [path.read_text() for path in ws.store.paths.ours.rglob("*.md") if path.parent.name != "memories"]
    assert not [page for page in pages if "note-1-00000001" in page]
    assert len([page for page in pages if "[[tokens-00000001|" in page]) == 3


# --- what keeps its name ------------------------------------------------------------------------------------------


def by_a_person(ws: Workspace) -> None:
    write.edit(ws, "00000001", importance=5)


def touched(ws: Workspace) -> None:
    write_file(ws, f"memem/{OLD}", text(ws, OLD).replace("Statement", "My statement"))


@pytest.mark.parametrize("change", [by_a_person, touched])
def test_a_persons_note_keeps_its_name(ws: Workspace, note: Entry, change: Callable[[Workspace], None]) -> None:
    change(ws)
    refresh.refresh(ws)
    assert write.edit(ws, note.id, title="Tokens").path == OLD
    assert names(ws) == [OLD]
    assert "aliases: [Tokens]\n" in text(ws, OLD)


def test_a_note_that_a_person_renamed_keeps_its_name(ws: Workspace, note: Entry) -> None:
    ws.store.absolute(note.path).rename(ws.store.paths.memories / "Mine.md")
    refresh.refresh(ws)
    assert retitle(ws) == "memories/Mine.md"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("Diary.md", "As in [[note-1-00000001]]."),
        ("deep/in/a folder/Diary.md", "As in [it](../memem/memories/Note-1-00000001.md)."),
        ("Board.canvas", '{"nodes": [{"type": "file", "file": "memem/memories/note-1-00000001.md"}]}'),
        ("Table.base", 'filters: file.hasLink("note-1-00000001")'),
        (".obsidian/workspace.json", '{"file": "memem/memories/note-1-00000001.md"}'),
        (".obsidian/bookmarks.json", '{"items": [{"type": "file", "path": "memem/memories/note-1-00000001.md"}]}'),
        ("memem/memories/mine.md", "---\nsee: '[[note-1-00000001]]'\n---\nMy own."),
        ("memem/memories/broken.md", "---\nid: [\n---\n[[note-1-00000001]]"),
        ("memem/projects/other.md", "My page about [[note-1-00000001]]."),
        ("memem/memories/note-1-00000001 2.md", "A copy by a sync service."),
        ("memem/memories/note-1-00000001.sync-conflict-20260102-101112-ABCDEFG.md", "Another one."),
        ("memem/memories/tokens-00000001.md", "Something else."),
    ],
)
def test_a_note_that_a_persons_text_links_to_keeps_its_name(ws: Workspace, note: Entry, path: str, words: str) -> None:
    file = write_file(ws, path, words)
    refresh.refresh(ws)
    assert retitle(ws) == note.path
    assert "title: Tokens\n" in text(ws, OLD)
    assert file.read_text() == words


def test_text_without_a_link_does_not_keep_a_name(ws: Workspace, note: Entry) -> None:
    write_file(ws, "Diary.md", "About note 1, with the id 00000001, and [[note-2-00000002]].")
    write_file(ws, ".trash/Diary.md", "[[note-1-00000001]]")
    write_file(ws, "picture.png", "note-1-00000001")
    assert retitle(ws) == NEW


@pytest.mark.parametrize("page", ["Home.md", "projects/shop.md", "playbooks/shop.md"])
@pytest.mark.parametrize("below", [True, False])
def test_a_link_typed_into_a_page_keeps_the_name(ws: Workspace, note: Entry, page: str, below: bool) -> None:
    write.revise(ws, note.id, kind="decision")
    pages_refresh.write_pages(ws)
    path = ws.store.paths.ours / page
    typed = "- Mine: [[note-1-00000001|00000001]]"
    lines = path.read_text().splitlines()
    assert any("[[note-1-00000001|" in line for line in lines)
    lines.insert(len(lines) if below else next(at for at, line in enumerate(lines) if "[[note-1" in line), typed)
    path.write_text("\n".join(lines) + "\n")
    assert retitle(ws) == OLD


def test_a_link_of_a_touched_note_keeps_the_name(ws: Workspace, note: Entry) -> None:
    other = keep_note(ws, 2, related=(OLD_LINK,))
    write.edit(ws, other.id, importance=5)
    assert retitle(ws) == OLD
    assert OLD_LINK in text(ws, other.path)


def test_a_vault_that_cannot_be_searched_completely_keeps_names(
    ws: Workspace, note: Entry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = ws.store.paths.root / "linked"
    link.symlink_to(tmp_path / "elsewhere")
    assert retitle(ws) == OLD
    link.unlink()
    monkeypatch.setattr(mentions, "MAX_ENTRIES", 3)
    assert retitle(ws, "Signing") == OLD
    monkeypatch.undo()
    monkeypatch.setattr(mentions, "MAX_BYTES", 100)
    assert retitle(ws, "Keys") == OLD


# --- undo, forget, purge ------------------------------------------------------------------------------------------


def test_an_undo_restores_name_content_and_links_and_can_be_undone(ws: Workspace, note: Entry) -> None:
    other = keep_note(ws, 2, related=(OLD_LINK,))
    before = {path: text(ws, path) for path in names(ws)}
    with ws.events.batch("mine"):
        retitle(ws, "Signing")
        retitle(ws, body="Tokens are signed.")
    after = {path: text(ws, path) for path in names(ws)}
    assert list(after) == [other.path, NEW]
    done = undo.undo(ws)
    assert OLD in done.restored
    assert done.left == ()
    assert {path: text(ws, path) for path in names(ws)} == before
    assert undo.undo(ws, done.undo).left == ()
    assert {path: text(ws, path) for path in names(ws)} == after


def test_an_undo_leaves_a_name_that_a_person_gave_or_links_to(ws: Workspace, note: Entry) -> None:
    retitle(ws)
    batch = history.log(ws)[0].id
    write_file(ws, "Diary.md", "As in [[tokens-00000001]].")
    assert undo.undo(ws, batch).restored == (NEW,)
    assert 'title: "Note 1"\n' in text(ws, NEW)
    (ws.store.paths.root / "Diary.md").unlink()
    retitle(ws, "Signing")
    ws.store.absolute(NEW).rename(ws.store.paths.memories / "Mine.md")
    assert undo.undo(ws).restored == ("memories/Mine.md",)


def test_a_renamed_note_is_forgotten_and_comes_back_under_its_name(ws: Workspace, note: Entry) -> None:
    retitle(ws)
    forget.forget(ws, note.id)
    assert find.list_memories(ws) == []
    undo.undo(ws)
    assert [entry.path for entry in find.list_memories(ws)] == [NEW]


def test_a_purge_leaves_neither_name_nor_title(ws: Workspace) -> None:
    body = "Long-legged birds stand in shallow water at dawn."
    heron = Memory("00000001-8d1b-4c55-9a43-1f0e6f0d7a11", "The heron nests in reeds", body, "shop", author="model")
    write.keep(ws, heron)
    keep_note(ws, 2, related=("[[the-heron-nests-in-reeds-00000001]]",))
    retitle(ws, "The egret nests in willows")
    purge.purge(ws, "00000001")
    for path in (*ws.home.root.rglob("*"), *ws.store.paths.root.rglob("*")):
        for word in ("heron", "egret"):
            assert word not in path.name
            assert not path.is_file() or word.encode() not in path.read_bytes(), path


# --- interruptions ------------------------------------------------------------------------------------------------

PLACES = [
    (files, "move"),
    (files, "write_atomic"),
    (rename, "record_change"),
    (rename, "index_note"),
    (write, "record_change"),
]


@contextmanager
def crashing(monkeypatch: pytest.MonkeyPatch, module: object, name: str, at: int, *, after: bool) -> Iterator[None]:
    """The process ends at the n-th call of a function, before or after it."""
    real, calls = getattr(module, name), iter(range(1_000))

    def crash(*given: Any, **more: Any) -> Any:
        now = next(calls) == at
        if now and not after:
            raise Crash
        result = real(*given, **more)
        if now:
            raise Crash
        return result

    with monkeypatch.context() as patched:
        patched.setattr(module, name, crash)
        try:
            yield
        except Crash:
            return


@pytest.mark.parametrize(("module", "name"), PLACES, ids=[f"{name}" for _, name in PLACES])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(3))
def test_a_crash_leaves_one_valid_note_and_the_same_change_completes_it(
    ws: Workspace, note: Entry, monkeypatch: pytest.MonkeyPatch, module: object, name: str, at: int, after: bool
) -> None:
    other = keep_note(ws, 2, related=(OLD_LINK,))
    with crashing(monkeypatch, module, name, at, after=after):
        retitle(ws, body="Tokens are signed.")
    there = [path for path in names(ws) if path != other.path]
    assert there in ([OLD], [NEW])
    assert ws.store.read(there[0]).is_a_machines
    assert find.get(ws, ws.store.read(other.path).memory.related[0]).path == there[0]
    assert retitle(ws, body="Tokens are signed.") == NEW
    assert names(ws) == [other.path, NEW]
    assert OLD_LINK not in text(ws, other.path)
    assert read.find_neighbors(ws, note.id).neighbors


def test_an_undo_of_a_completed_rename_restores_the_former_name(
    ws: Workspace, note: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    with crashing(monkeypatch, rename, "index_note", 0, after=False):
        retitle(ws)
    assert names(ws) == [NEW]
    retitle(ws)
    undo.undo(ws)
    assert names(ws) == [OLD]


def test_an_interrupted_undo_is_completed(ws: Workspace, note: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    before = text(ws, OLD)
    with ws.events.batch("mine"):
        retitle(ws)
    batch = history.log(ws)[0].id
    with crashing(monkeypatch, rename, "index_note", 0, after=True):
        undo.undo(ws, batch)
    assert names(ws) == [OLD]
    assert undo.undo(ws, batch).left == ()
    assert text(ws, OLD) == before


def test_a_person_who_saves_a_linking_note_meanwhile_does_not_stop_the_change(
    ws: Workspace, note: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = keep_note(ws, 2, related=(OLD_LINK,))
    real = rename._relink

    def meanwhile(*given: Any) -> None:
        write_file(ws, f"memem/{other.path}", text(ws, other.path) + "\nMine.\n")
        real(*given)

    monkeypatch.setattr(rename, "_relink", meanwhile)
    assert retitle(ws) == NEW
    assert text(ws, other.path).endswith("\nMine.\n")
    assert find.get(ws, OLD_LINK).path == NEW
