"""Every database that is there is looked at, those that are not are not made, and damage names its remedy."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memem.core import sqlite
from memem.core.errors import Busy
from memem.notes import save
from memem.search.encoders import model
from memem.search.transcripts import consent
from memem.search.transcripts.turns import TurnIndex
from memem.upkeep import doctor
from memem.upkeep.checks.recall import check_records
from memem.upkeep.checks.result import BROKEN, DEGRADED, FINE, Diagnosis
from memem.workspace import Workspace

NOT_ONE = b"this is not a database " * 100
ALL = ("index", "vectors", "state", "contexts", "turns")


@pytest.fixture
def full(meant: Workspace, small_weights: Path) -> Workspace:
    """A home with every database there is."""
    save.save(meant, "Tokens are signed with RS256.")
    model.encode_all(meant)
    consent.opt_in(meant)
    meant.contexts.add("s", ["a"], 0)
    TurnIndex(meant.home.turns_file).close()
    meant.close()
    return meant


def check(ws: Workspace) -> dict[str, Diagnosis]:
    found = doctor.integrity(ws)
    assert [each for each in found if bool(each.fix) != (each.state != FINE)] == []
    return {each.what: each for each in found}


def path_of(ws: Workspace, what: str) -> Path:
    home = ws.home
    own = {"index": ws.index_file, "state": home.state_file, "contexts": home.contexts_file}
    return own.get(what) or (next(home.vectors.glob("*/vectors.db")) if what == "vectors" else home.turns_file)


def test_intact_databases_are_listed_with_their_files(full: Workspace) -> None:
    found = check(full)
    assert {what: each.state for what, each in found.items()} == dict.fromkeys(ALL, FINE)
    for what, each in found.items():
        path = path_of(full, what)
        assert each.detail == f"{path}, {path.stat().st_size:,} bytes"


def test_missing_databases_are_not_created(ws: Workspace) -> None:
    assert check(ws) == {}
    assert not ws.home.root.exists()


@pytest.mark.parametrize("what", ALL)
def test_damaged_database_is_reported_with_a_fix(full: Workspace, what: str) -> None:
    path = path_of(full, what)
    path.write_bytes(NOT_ONE)
    found = check(full)
    assert {name for name, each in found.items() if each.state == BROKEN} == {what}
    assert str(path) in found[what].detail


@pytest.mark.parametrize("look", [doctor.integrity, check_records])
def test_contexts_of_a_newer_memem_are_reported(full: Workspace, look: Callable[[Workspace], list[Diagnosis]]) -> None:
    with closing(sqlite3.connect(full.home.contexts_file)) as connection:
        connection.execute("PRAGMA user_version = 99")
    (found,) = [each for each in look(full) if each.what == "contexts"]
    assert (found.state, "Upgrade memem" in f"{found.detail} {found.fix}") == (BROKEN, True)


def test_words_that_do_not_belong_to_the_notes_are_damage(full: Workspace) -> None:
    with closing(sqlite3.connect(full.index_file)) as connection, connection:
        connection.execute("DELETE FROM memories")
    assert check(full)["index"].state == BROKEN
    assert "memem index rebuild" in check(full)["index"].fix


def test_vector_rows_of_zeros_are_damage(full: Workspace) -> None:
    (rows,) = full.home.vectors.glob("*/rows-*.f32")
    rows.write_bytes(bytes(rows.stat().st_size))
    assert check(full)["vectors"].state == BROKEN


def test_vectors_of_a_model_that_is_not_here_are_looked_at_too(full: Workspace) -> None:
    folder = path_of(full, "vectors").parent
    shutil.copytree(folder, folder.with_name("another"))
    assert [each.what for each in doctor.integrity(full)].count("vectors") == 2


def test_vector_store_without_meta_is_intact(full: Workspace) -> None:
    with closing(sqlite3.connect(path_of(full, "vectors"))) as connection, connection:
        connection.execute("DELETE FROM meta")
    assert check(full)["vectors"].state == FINE


def test_vectors_that_do_not_say_how_long_they_are_are_damaged(full: Workspace) -> None:
    with closing(sqlite3.connect(path_of(full, "vectors"))) as connection, connection:
        connection.execute("DELETE FROM meta WHERE key = 'dimensions'")
    assert check(full)["vectors"].state == BROKEN


def test_one_that_is_in_use_could_not_be_looked_at(full: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(path: Path, *_: object, **__: object) -> None:
        raise Busy(f"The state {path} is in use by another memem process. Try again in a moment.")

    monkeypatch.setattr(sqlite, "check_integrity", busy)
    assert check(full)["state"].state == DEGRADED
    assert check(full)["state"].fix == "Try again in a moment."
