"""The interpreter, the environment of bootstrap.sh and its packages are compared with what this memem wants."""

import sqlite3
import sys
from importlib import metadata
from pathlib import Path

import pytest

from memem.upkeep.checks import machine
from memem.upkeep.checks.result import BROKEN, DEGRADED, FINE, Diagnosis

LOCK = """\
numpy==2.4.6 ; python_full_version < '3.12' \\
    --hash=sha256:00
    # via memem
numpy==2.5.4 ; python_full_version >= '3.12' \\
    --hash=sha256:00
pywin32==312 ; sys_platform == 'win32' \\
    --hash=sha256:00
rich==14.1.0 \\
    --hash=sha256:00
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout."""
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "requirements.lock").write_text(LOCK)
    return folder


@pytest.fixture
def prefix(tmp_path: Path, root: Path) -> Path:
    """Its environment."""
    ours = tmp_path / "venv" / ".memem"
    ours.mkdir(parents=True)
    (ours / "built").write_text(f"{ours.parent}\n\n{root}\n")
    (ours / "requirements.lock").write_text(LOCK)
    return ours.parent


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The packages that are there."""
    here = {"numpy": "2.5.4", "rich": "14.1.0"}

    def version(name: str) -> str:
        try:
            return here[name]
        except KeyError:
            raise metadata.PackageNotFoundError(name) from None

    monkeypatch.setattr(metadata, "version", version)
    return here


def check(root: Path, prefix: Path) -> dict[str, Diagnosis]:
    found = machine.check_environment(root, prefix)
    assert [each for each in found if bool(each.fix) != (each.state != FINE)] == []
    return {each.what: each for each in found}


@pytest.mark.usefixtures("installed")
def test_a_set_up_as_it_should_be_is_fine(root: Path, prefix: Path) -> None:
    found = check(root, prefix)
    assert {each.state for each in found.values()} == {FINE}
    assert sys.executable in found["python"].detail
    assert found["environment"].detail == str(prefix)
    assert found["packages"].detail == f"2 as pinned in {root / 'requirements.lock'}"


def test_the_set_up_that_runs_this_is_looked_at() -> None:
    assert machine.check_environment()[0].state == FINE


def test_an_old_interpreter_is_broken(root: Path, prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    assert check(root, prefix)["python"].state == BROKEN
    assert "MEMEM_PYTHON" in check(root, prefix)["python"].fix


def test_an_sqlite_without_full_text_is_broken(root: Path, prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lesser(sqlite3.Connection):
        def execute(self, *_: object) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("no such module: fts5")

    monkeypatch.setattr("memem.upkeep.checks.machine.sqlite3.connect", lambda _: Lesser(":memory:"))
    assert "has no full-text search (FTS5)" in check(root, prefix)["python"].detail


@pytest.mark.parametrize("missing", ["built", "requirements.lock"])
def test_an_environment_that_was_not_finished_is_to_be_set_up(root: Path, prefix: Path, missing: str) -> None:
    (prefix / ".memem" / missing).unlink()
    found = check(root, prefix)["environment"]
    assert (found.state, found.detail) == (DEGRADED, f"{prefix} is incomplete")
    assert str(root / "bootstrap.sh") in found.fix


def test_an_environment_of_another_memem_is_to_be_set_up(root: Path, prefix: Path) -> None:
    (prefix / ".memem" / "built").write_text(f"{prefix}\n\n/srv/older\n")
    assert "belongs to the memem in /srv/older" in check(root, prefix)["environment"].detail


def test_an_environment_of_other_packages_is_to_be_set_up(root: Path, prefix: Path) -> None:
    (prefix / ".memem" / "requirements.lock").write_text("numpy==1.0 \\\n")
    assert check(root, prefix)["environment"].state == DEGRADED


def test_foreign_environment_is_not_checked(root: Path, tmp_path: Path) -> None:
    assert "environment" not in check(root, tmp_path)


def test_a_missing_package_is_broken(root: Path, prefix: Path, installed: dict[str, str]) -> None:
    del installed["rich"]
    found = check(root, prefix)["packages"]
    assert (found.state, found.detail) == (BROKEN, "missing: rich")


def test_untested_version_is_reported(root: Path, prefix: Path, installed: dict[str, str]) -> None:
    installed |= {"rich": "13.0", "numpy": "2.4.6"}
    found = check(root, prefix)["packages"]
    assert (found.state, found.detail) == (DEGRADED, "versions that differ from the tested ones: rich 13.0")


@pytest.mark.usefixtures("installed")
def test_only_the_first_few_of_many_are_named(root: Path, prefix: Path) -> None:
    (root / "requirements.lock").write_text("".join(f"p{n}==1 \\\n" for n in range(7)))
    assert check(root, prefix)["packages"].detail == "missing: p0, p1, p2, p3, p4 and 2 more"


@pytest.mark.usefixtures("installed")
def test_packages_are_not_checked_without_a_lock_file(root: Path, prefix: Path) -> None:
    (root / "requirements.lock").unlink()
    assert "packages" not in check(root, prefix)
