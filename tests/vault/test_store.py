"""The vault's files: found wherever a person moved them, never written through a surprise."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.core.errors import InputError, NoteChanged, NoteError, NoteUnreadable, VaultMissing, VaultUnwritable
from memem.core.home import VaultPaths
from memem.core.memory import Memory
from memem.vault import store as stores
from memem.vault.page_text import BEGIN
from memem.vault.store import Store

MEMORY = Memory(id="aaaaaaaa-0000-4000-8000-000000000000", title="A fact", body="The sky is blue.")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(VaultPaths(tmp_path / "vault"), fsync=False)
    made.make_vault()
    return made


def scanned(store: Store) -> list[str]:
    return sorted(path for path, _ in store.scan())


def test_a_vault_keeps_its_id(store: Store) -> None:
    first = store.vault_id()
    assert first
    assert store.make_vault() == first


def test_an_empty_marker_is_filled(store: Store) -> None:
    store.paths.marker.write_text("")
    assert store.vault_id() == ""
    assert store.make_vault() == store.vault_id() != ""


def test_a_damaged_marker_is_named(store: Store) -> None:
    store.paths.marker.write_text("vault_id = ")
    with pytest.raises(VaultMissing, match=r"\.vault\.toml is damaged"):
        store.vault_id()


def test_an_unreadable_marker_is_named(store: Store) -> None:
    store.paths.marker.unlink()
    store.paths.marker.mkdir()
    with pytest.raises(VaultMissing, match="cannot be read"):
        store.vault_id()


def test_what_is_scanned(store: Store, tmp_path: Path) -> None:
    ours = store.paths.ours
    for name in ("memories/a.md", "memories/deep/er/b.MD", "archive/c.md", "top.md"):
        (ours / name).parent.mkdir(parents=True, exist_ok=True)
        (ours / name).write_text("x")
    for name in ("memories/.hidden.md", ".forgotten/d.md", "review/e.md", "playbooks/f.md", "memories/g.txt"):
        (ours / name).parent.mkdir(parents=True, exist_ok=True)
        (ours / name).write_text("x")
    outside = tmp_path / "outside.md"
    outside.write_text("x")
    (ours / "memories/link.md").symlink_to(outside)
    (ours / "memories/linked").symlink_to(tmp_path)
    assert scanned(store) == ["archive/c.md", "memories/a.md", "memories/deep/er/b.MD", "top.md"]
    assert sorted((path, advice) for path, _, advice in store.list_skipped()) == [
        ("memories/link.md", "Replace it with the file itself."),
        ("memories/linked", "Replace it with the folder itself."),
    ]


@pytest.mark.parametrize("name", ["Home.md", "projects/shop.md", "projects/deep/er.md", "Projects/shop.md"])
def test_where_pages_stand_only_what_carries_an_id_is_scanned(store: Store, name: str) -> None:
    page = store.paths.ours / name
    page.parent.mkdir(parents=True, exist_ok=True)
    for text in (BEGIN, "---\ntags: [mine]\n---\nAround it.", ""):
        page.write_text(text)
        assert scanned(store) == []
    page.write_text("---\ntitle: Mine\nid: aaaaaaaa\n---\nA memory that was here before there were pages.")
    assert scanned(store) == [name]


def test_outside_memories_only_files_with_an_id_are_ours(store: Store) -> None:
    (store.paths.ours / "mine.md").write_text("---\ntitle: my page\n---\n")
    (store.paths.ours / "moved.md").write_text("---\nid: aaaaaaaa\n---\n")
    (store.paths.ours / "bom.md").write_text("\ufeff---\nid: aaaaaaaa\n---\n")
    (store.paths.ours / "last.md").write_text('---\ntitle: "id"\nkeys:\n  - id\n"id": aaaaaaaa\n---\n')
    (store.paths.ours / "below.md").write_text("---\ntitle: my page\n---\nid: aaaaaaaa\n")
    names = ("mine.md", "moved.md", "bom.md", "last.md", "below.md", "memories/any.md", "gone.md")
    assert [store.is_memory(name) for name in names] == [False, True, True, True, False, True, False]


def test_a_created_note_is_readable_and_complete(store: Store) -> None:
    note, change = store.create(MEMORY)
    assert store.read(note.path).memory == MEMORY
    assert change.before is None
    assert change.after == store.absolute(note.path).read_bytes()


def test_creating_onto_an_existing_file_refuses(store: Store) -> None:
    note, _ = store.create(MEMORY)
    store.absolute(note.path).write_text("mine")
    with pytest.raises(NoteChanged, match="already exists"):
        store.create(MEMORY)
    assert store.absolute(note.path).read_text() == "mine"


def test_rewriting_a_file_that_changed_since_it_was_read_refuses(store: Store) -> None:
    note, _ = store.create(MEMORY)
    store.absolute(note.path).write_text("mine now")
    with pytest.raises(NoteChanged, match="changed on disk since it was read"):
        store.rewrite(note, replace(MEMORY, importance=5))
    assert store.absolute(note.path).read_text() == "mine now"


def test_rewriting_or_setting_aside_a_file_that_is_gone_refuses(store: Store) -> None:
    note, _ = store.create(MEMORY)
    store.absolute(note.path).unlink()
    with pytest.raises(NoteChanged, match="no longer there"):
        store.rewrite(note, replace(MEMORY, importance=5))
    with pytest.raises(NoteChanged, match="no longer there"):
        store.set_aside(note)
    assert not store.absolute(note.path).exists()


def test_a_rewrite_keeps_the_files_mode(store: Store) -> None:
    note, _ = store.create(MEMORY)
    store.absolute(note.path).chmod(0o664)
    store.rewrite(note, replace(MEMORY, importance=5))
    assert store.absolute(note.path).stat().st_mode & 0o777 == 0o664


def test_setting_aside_never_overwrites_what_was_set_aside_before(store: Store) -> None:
    for _ in range(3):
        note, _ = store.create(MEMORY)
        store.set_aside(note)
    assert len(list(store.paths.forgotten.iterdir())) == 3
    assert scanned(store) == []


def test_a_huge_file_is_not_read(store: Store) -> None:
    (store.paths.memories / "huge.md").write_text("x" * (stores.MAX_NOTE_BYTES + 1))
    with pytest.raises(NoteUnreadable, match="larger than"):
        store.read("memories/huge.md")


@pytest.mark.parametrize("path", ["../outside.md", "/etc/passwd", "memories/../../x.md", ""])
def test_no_path_leads_out_of_the_vault(store: Store, path: str) -> None:
    with pytest.raises(InputError, match="not a path inside the vault"):
        store.read(path)


def test_a_folder_in_place_of_a_note_is_an_error_of_ours(store: Store) -> None:
    (store.paths.memories / "folder.md").mkdir()
    with pytest.raises(NoteError, match="cannot be read"):
        store.read("memories/folder.md")
    assert store.stamp("memories/folder.md") is None
    assert store.stamp("memories/folder.md/x.md") is None


def test_a_note_without_an_id_is_known_by_its_path(store: Store) -> None:
    (store.paths.memories / "mine.md").write_text("written in Obsidian")
    first, second = store.read("memories/mine.md"), store.read("memories/mine.md")
    assert first.memory.id == second.memory.id
    assert not first.has_id


def test_a_file_that_vanishes_during_a_scan_is_passed_over(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.create(MEMORY)

    class Vanished:
        name = "ghost.md"

        def is_dir(self, *, follow_symlinks: bool) -> bool:
            return False

        def stat(self, *, follow_symlinks: bool) -> os.stat_result:
            raise FileNotFoundError

    real = os.scandir

    @contextmanager
    def haunted(folder: Path) -> Iterator[list[Any]]:
        with real(folder) as entries:
            yield [*entries, Vanished()]

    monkeypatch.setattr(os, "scandir", haunted)
    assert len(scanned(store)) == 1


def test_a_vault_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(VaultUnwritable, match=r"Cannot write .*file.*Nothing was changed"):
        Store(VaultPaths(tmp_path / "file"), fsync=False).make_vault()
