"""One home, several vaults: each has an index of its own, all of them share the vectors."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memem.core.home import Home
from memem.notes import forget as notes_forget
from memem.notes import save
from memem.search import find, rebuild, refresh
from memem.search.encoders.model import encode_all
from memem.upkeep import doctor, session_start
from memem.vault.store import Store
from memem.workspace import Workspace, open_workspace
from tests.fakes import FakeEncoder, SteppingClock

DAY = 86_400
HERE = ("walrus", "coffee", "ticket")
THERE = ("ledger", "garden", "window", "lantern")


def filled(ws: Workspace, words: tuple[str, ...]) -> Workspace:
    """A memory about each word."""
    for word in words:
        save.save(ws, f"It is about a {word}.", title=word)
    return ws


@pytest.fixture
def here(meant: Workspace) -> Workspace:
    return filled(meant, HERE)


@pytest.fixture
def there(here: Workspace, tmp_path: Path) -> Iterator[Workspace]:
    """Another vault over the same home."""
    vault = tmp_path / "another vault"
    opened = replace(here, settings=replace(here.settings, vault=vault), _vectors=None, _query=None)
    yield filled(opened, THERE)
    opened.close()


@pytest.fixture
def _long_after(clock: SteppingClock) -> None:
    """Long after the files' own stamps, so that they are relied on."""
    clock.forward(days=10_000)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every note that is read, by its path."""
    paths: list[str] = []
    real = Store.read
    monkeypatch.setattr(Store, "read", lambda store, path: paths.append(path) or real(store, path))  # type: ignore[func-returns-value]
    return paths


def titles(ws: Workspace, query: str) -> list[str]:
    refresh.refresh(ws)
    return [hit.title for hit in find.search(ws, query)]


def last_used(ws: Workspace, when: float) -> None:
    """Close a vault's index and have it look as if that was then."""
    ws.close()
    os.utime(ws.index_file.parent, (when, when))


# --- the index of each ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_long_after")
def test_vaults_that_are_used_in_turns_do_not_rebuild_each_others_index(
    here: Workspace, there: Workspace, reads: list[str]
) -> None:
    for ws in (here, there):
        refresh.refresh(ws)
    reads.clear()
    for _ in range(3):
        assert refresh.refresh(here) == refresh.Refreshed(changed=0, gone=0, files=3)
        assert refresh.refresh(there) == refresh.Refreshed(changed=0, gone=0, files=4)
    assert reads == []


def test_each_vault_is_recalled_and_only_that(here: Workspace, there: Workspace) -> None:
    for _ in range(2):
        assert (titles(here, "walrus"), titles(here, "ledger")) == (["walrus"], [])
        assert (titles(there, "walrus"), titles(there, "ledger")) == ([], ["ledger"])


def test_a_vault_that_is_opened_again_finds_its_index(here: Workspace, there: Workspace) -> None:
    again = open_workspace(actor="test", home=there.home.root, vault=there.settings.vault)
    assert again.index_file == there.index_file != here.index_file
    again.close()


def test_a_vault_in_the_place_of_another_is_not_taken_for_it(here: Workspace, there: Workspace) -> None:
    here.settings.vault.rename(here.settings.vault.with_name("moved"))
    there.settings.vault.rename(here.settings.vault)
    assert (titles(here, "walrus"), titles(here, "ledger")) == ([], ["ledger"])


def test_the_folder_of_an_index_is_known_without_a_vault_whatever_its_path(tmp_path: Path) -> None:
    home = Home(tmp_path)
    folders = {home.index_folder(Path(path)) for path in ("/srv/notes", "/srv/Notes", "/srv/mý 記憶", "/srv/\udcff")}
    assert len(folders) == 4
    assert {folder.parent for folder in folders} == {home.indexes}


# --- thrown away ----------------------------------------------------------------------------------------------------


def test_a_rebuild_of_one_leaves_the_others(here: Workspace, there: Workspace) -> None:
    other = there.index
    rebuild.rebuild(here)
    assert other.is_current()
    assert (titles(here, "walrus"), titles(there, "ledger")) == (["walrus"], ["ledger"])


def test_a_rebuild_removes_the_index_that_all_vaults_once_shared(here: Workspace) -> None:
    for name in ("index.db", "index.db-wal", "index.db-shm"):
        (here.home.indexes / name).write_text("The walrus.")
    rebuild.rebuild(here)
    assert list(here.home.indexes.iterdir()) == [here.index_file.parent]
    assert titles(here, "walrus") == ["walrus"]


@pytest.mark.parametrize("place", ["indexes", "own"])
def test_a_rebuild_removes_a_file_where_a_folder_should_be(here: Workspace, place: str) -> None:
    here.close()
    own = here.index_file.parent
    own.rename(here.home.cache / "away")
    if place == "indexes":
        here.home.indexes.rmdir()
    (here.home.indexes if place == "indexes" else own).write_text("a file")
    rebuild.rebuild(here)
    assert {path.name for path in here.home.cache.iterdir()} == {"away", "index", "vectors"}
    assert titles(here, "walrus") == ["walrus"]


def test_the_index_of_a_vault_that_nobody_used_for_thirty_days_is_removed(
    here: Workspace, there: Workspace, clock: SteppingClock
) -> None:
    last_used(there, clock.ticks())
    clock.forward(days=30)
    session_start.after_session_start(here)
    clock.forward(seconds=1)
    session_start.after_session_start(here)
    assert there.index_file.exists(), "it may be the clock that is wrong"
    clock.forward(hours=8)
    session_start.after_session_start(here)
    assert [path.name for path in here.home.indexes.iterdir()] == [here.index_file.parent.name]
    assert not [path for path in here.home.cache.iterdir() if path.name.startswith(".")]
    assert titles(there, "ledger") == ["ledger"], "it is made anew"


def test_what_all_vaults_once_shared_is_removed_when_nobody_uses_it(here: Workspace, clock: SteppingClock) -> None:
    old = here.home.indexes / "index.db"
    old.write_text("The walrus.")
    os.utime(old, (clock.ticks(), clock.ticks()))
    clock.forward(days=31)
    session_start.after_session_start(here)
    assert not old.exists()


def test_the_index_of_the_vault_in_use_stays_however_long_it_was_open(
    here: Workspace, there: Workspace, clock: SteppingClock
) -> None:
    for ws in (here, there):
        os.utime(ws.index_file.parent, (0, 0))
    own = here.index
    rebuild.drop_unused(here)
    assert (own.is_current(), there.index_file.exists()) == (True, False)
    clock.forward(days=29)
    rebuild.drop_unused(there)
    assert own.is_current(), "it was in use a moment ago"


def test_whoever_opens_an_index_uses_it(here: Workspace, there: Workspace, clock: SteppingClock) -> None:
    clock.now = datetime.now(UTC)
    last_used(there, clock.ticks() - 31 * DAY)
    assert there.index.count() == 4
    there.close()
    rebuild.drop_unused(here)
    assert there.index_file.exists()


def test_where_there_is_no_index_nothing_is_removed_or_made(ws: Workspace) -> None:
    rebuild.drop_unused(ws)
    assert not ws.home.root.exists()


def test_a_server_whose_index_was_removed_meanwhile_makes_another(here: Workspace, there: Workspace) -> None:
    kept = there.index
    os.utime(there.index_file.parent, (0, 0))
    rebuild.drop_unused(here)
    assert not kept.is_current()
    assert titles(there, "ledger") == ["ledger"]


# --- vectors --------------------------------------------------------------------------------------------------------


def forget(ws: Workspace, *words: str) -> None:
    for word in words:
        notes_forget.forget(ws, find.search(ws, word)[0].id)


@pytest.mark.usefixtures("_eager")
def test_vectors_that_another_vault_needs_are_kept(here: Workspace, there: Workspace, encoder: FakeEncoder) -> None:
    encode_all(here)
    assert not encode_all(there).compacted
    assert not encode_all(here).compacted
    assert here.vectors().count() == 7
    assert (titles(here, "walrus"), titles(there, "ledger")) == (["walrus"], ["ledger"])
    assert len(encoder.encoded) == 7


@pytest.mark.usefixtures("_eager")
def test_vectors_that_no_vault_needs_are_dropped_by_either(
    here: Workspace, there: Workspace, encoder: FakeEncoder
) -> None:
    encode_all(here)
    encode_all(there)
    forget(there, *THERE[:3])
    assert encode_all(here).compacted
    assert here.vectors().count() == 4
    assert (titles(here, "walrus"), titles(there, "lantern")) == (["walrus"], ["lantern"])
    assert len(encoder.encoded) == 7


@pytest.mark.usefixtures("_eager")
@pytest.mark.parametrize("state", ["damaged", "half-filled"])
def test_while_an_index_cannot_tell_what_it_needs_nothing_is_dropped(
    here: Workspace, there: Workspace, state: str
) -> None:
    encode_all(here)
    encode_all(there)
    if state == "damaged":
        there.close()
        there.index_file.write_bytes(b"this is not a database " * 100)
    else:
        there.index.reset_for("another vault, or other rules")
    assert not encode_all(here).compacted
    rebuild.rebuild(there)
    forget(there, *THERE[:3])
    assert encode_all(here).compacted


@pytest.mark.usefixtures("_eager")
def test_vectors_of_a_vault_that_nobody_uses_any_more_are_dropped(here: Workspace, there: Workspace) -> None:
    encode_all(here)
    encode_all(there)
    last_used(there, 0)
    rebuild.drop_unused(here)
    assert encode_all(here).compacted
    assert here.vectors().count() == 3


# --- vectors of other models ----------------------------------------------------------------------------------------


@pytest.fixture
def switched(here: Workspace, encoder: FakeEncoder) -> Workspace:
    """A vault that was encoded with one model and then with another, and has not used the first one for a long time."""
    encode_all(here)
    here.close()
    for folder in here.home.vectors.iterdir():
        os.utime(folder, (0, 0))
    here._encoder, here._query = FakeEncoder("somebody/other-model 2"), None
    encode_all(here)
    return here


def models(ws: Workspace) -> set[str]:
    return {folder.name.rpartition("-model-")[0] for folder in ws.home.vectors.iterdir()}


def test_vectors_of_a_model_that_nobody_used_for_thirty_days_are_removed(
    switched: Workspace, clock: SteppingClock
) -> None:
    clock.now = datetime.now(UTC)
    rebuild.drop_unused(switched)
    assert models(switched) == {"other"}
    clock.forward(days=31)
    rebuild.drop_unused(switched)
    assert models(switched) == {"other"}, "a vault is encoded in it, however long ago"


def test_a_model_that_was_used_lately_costs_nothing_to_go_back_to(switched: Workspace, clock: SteppingClock) -> None:
    clock.now = datetime.now(UTC)
    for folder in switched.home.vectors.iterdir():
        os.utime(folder, (clock.ticks() - 29 * DAY,) * 2)
    rebuild.drop_unused(switched)
    assert models(switched) == {"fake", "other"}


def test_the_vectors_of_the_old_model_stay_until_those_of_the_new_one_are_complete(
    switched: Workspace, clock: SteppingClock
) -> None:
    clock.now = datetime.now(UTC)
    save.save(switched, "It is about a lantern.", title="lantern")
    rebuild.drop_unused(switched)
    assert models(switched) == {"fake", "other"}
    encode_all(switched)
    rebuild.drop_unused(switched)
    assert models(switched) == {"other"}


def test_vectors_that_another_vault_is_encoded_in_stay(
    here: Workspace, there: Workspace, encoder: FakeEncoder, clock: SteppingClock
) -> None:
    encode_all(there)
    last_used(there, clock.ticks())
    there._encoder, here._encoder = encoder, FakeEncoder("somebody/other-model 2")
    encode_all(here)
    os.utime(next(here.home.vectors.glob("fake-*")), (0, 0))
    seen = there.index_file.parent.stat().st_mtime_ns
    rebuild.drop_unused(here)
    assert models(here) == {"fake", "other"}
    assert there.index_file.parent.stat().st_mtime_ns == seen, "to ask it is not to use it"


def test_a_damaged_index_cannot_tell_which_vectors_it_wants(switched: Workspace, clock: SteppingClock) -> None:
    clock.now = datetime.now(UTC)
    other = switched.home.indexes / "another" / "index.db"
    other.parent.mkdir()
    other.write_bytes(b"this is not a database " * 100)
    rebuild.drop_unused(switched)
    assert models(switched) == {"fake", "other"}


def test_another_vault_in_the_place_of_one_that_was_here_is_told(ws: Workspace, tmp_path: Path) -> None:
    saved = save.save(ws, "Walruses sleep on the beach.")
    ws.settings.vault.rename(tmp_path / "away")
    ws.store.make_vault()
    (told,) = [each for each in doctor.diagnose(ws) if each.what == "vault"]
    assert "was replaced by another vault on" in told.detail
    assert find.list_memories(ws) == []
    shutil.rmtree(ws.settings.vault)
    (tmp_path / "away").rename(ws.settings.vault)
    refresh.refresh(ws)
    assert [entry.id for entry in find.list_memories(ws)] == [saved.memory.id]
    assert not ws.home.vanished_file.exists()
    assert not ws.store.paths.tombstones.exists()
