"""Somebody saves, deletes or renames files in Obsidian while memem writes: what they saved stays as they saved it."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memem.core import files
from memem.core.errors import Busy, MememError
from memem.notes import save, write
from memem.search import find, refresh
from memem.upkeep import status
from memem.vault.write_lock import writing
from memem.workspace import Workspace, open_workspace
from tests import fake_claude
from tests.fakes import SteppingClock
from tests.faulted import ACTIONS
from tests.transcripts import open_miner

FLOWS = ("edit", "supersede", "stale", "accept", "undo an edit", "curate", "pages", "mine", "import", "forget")
MINE = "\nMine, saved at that very moment.\n"


class Meanwhile:
    """The `os` of the file layer: before the so-and-so-many-th new file takes its place, somebody does something.

    memem has read the note by then, and its new bytes are on the disk under another name.
    """

    def __init__(self, number: int, deed: Callable[[], object]) -> None:
        self.count = 0
        self._number = number
        self._deed = deed

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def fsync(self, descriptor: int) -> None:
        os.fsync(descriptor)
        if self.count == self._number:
            self._deed()
        self.count += 1


def notes_of(folder: Path) -> list[Path]:
    ours = folder / "vault" / "memem"
    return [path for path in sorted(ours.rglob("*.md")) if not path.relative_to(ours).as_posix().startswith(".")]


def in_place(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(MINE)


def by_rename(path: Path) -> None:
    new = path.with_suffix(".obsidian-tmp")
    new.write_text(path.read_text(encoding="utf-8") + MINE, encoding="utf-8")
    new.replace(path)


def half_typed(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace("title: ", "title: [half: typed", 1) + MINE)


def attempted(tmp_path: Path, name: str, number: int, deed: Callable[[Path], object]) -> tuple[list[Path], int]:
    """Do it, with somebody at all files meanwhile; which those were, and how many moments there are."""
    fake_claude.install(tmp_path / "claude", [{"echo": True}])
    environ = {**os.environ, "HOME": str(tmp_path / "user"), "MEMEM_FSYNC": "1"}
    ws = open_miner(tmp_path, SteppingClock(), environ)
    known = ACTIONS[name].prepare(ws, tmp_path)
    touched: list[Path] = []

    def everywhere() -> None:
        touched.extend(notes_of(tmp_path))
        for path in touched:
            deed(path)

    meanwhile = Meanwhile(number, everywhere)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(files, "os", meanwhile)
        with suppress(MememError):
            ACTIONS[name].act(ws, known)
    ws.close()
    return touched, meanwhile.count


@pytest.mark.slow(keep=4)
@pytest.mark.parametrize(
    ("name", "deed"),
    [*((name, in_place) for name in FLOWS), ("edit", by_rename), ("pages", by_rename), ("edit", half_typed)],
)
def test_concurrent_saves_stay_unchanged(tmp_path: Path, name: str, deed: Callable[[Path], object]) -> None:
    moments = 1
    for number in (1, 4):
        folder = tmp_path / str(number)
        (folder / "user").mkdir(parents=True)
        touched, moments = attempted(folder, name, number, deed)
        texts = [path.read_text(encoding="utf-8") for path in (folder / "vault").rglob("*.md")]
        assert sum(MINE in text for text in texts) >= len(touched)
        for path in touched:
            if path.exists():
                assert MINE in path.read_text(encoding="utf-8")
        if number >= moments:
            break
    assert moments > 0


@pytest.mark.parametrize("name", ["edit", "stale", "curate", "undo an edit"])
def test_a_note_that_is_deleted_meanwhile_is_not_written_again(tmp_path: Path, name: str) -> None:
    (tmp_path / "user").mkdir(exist_ok=True)
    before = len(list((tmp_path / "vault").rglob("memories/*.md")))
    touched, _ = attempted(tmp_path, name, 1, Path.unlink)
    assert touched
    again = [path for path in touched if path.exists() and path.parent.name == "memories"]
    assert (before, again) == (0, [])


@pytest.mark.parametrize("name", ["edit", "stale", "undo an edit"])
def test_a_note_that_is_renamed_meanwhile_is_not_doubled(tmp_path: Path, name: str) -> None:
    (tmp_path / "user").mkdir(exist_ok=True)
    touched, _ = attempted(tmp_path, name, 1, lambda path: path.rename(path.with_name(f"Renamed {path.name}")))
    assert [path for path in touched if path.exists() and path.parent.name == "memories"] == []


# Two homes on one vault


def homes(tmp_path: Path) -> tuple[Workspace, Workspace]:
    one, other = (
        open_workspace(actor=name, home=tmp_path / name, vault=tmp_path / "vault", clock=SteppingClock())
        for name in ("one", "other")
    )
    return one, other


def test_two_homes_do_not_write_one_vault_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMEM_LOCK_SECONDS", "0.05")
    one, other = homes(tmp_path)
    saved = save.save(one, "Walruses sleep.")
    with writing(one), pytest.raises(Busy, match=r"\.vault\.toml"):
        write.edit(other, saved.memory.id, importance=5)
    assert write.edit(other, saved.memory.id, importance=5).outcome == "edited"


def test_two_homes_save_concurrently_without_loss_or_duplicates(tmp_path: Path) -> None:
    one, other = homes(tmp_path)
    ws_of = {ws.actor: ws for ws in (one, other)}
    save.save(one, "Walruses sleep.")
    one.close()

    def work(ws: Workspace) -> None:
        for number in range(8):
            save.save(ws, f"The home called {ws.actor} keeps the key{number} of room{number}{ws.actor}.")
        ws.close()

    with ThreadPoolExecutor() as pool:
        list(pool.map(work, ws_of.values()))
    refresh.refresh(one)
    assert len(find.list_memories(one)) == len(list((tmp_path / "vault").rglob("memories/*.md"))) == 17
    assert not [each for each in status.check(one) if each.serious]
    one.close()
