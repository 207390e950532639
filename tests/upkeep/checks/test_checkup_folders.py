"""The home as a folder: what keeps memem from using it, who else could, and what was left in it."""

import os
from collections import namedtuple
from datetime import timedelta
from pathlib import Path

import pytest

from memem.core import files, locks
from memem.core.dates import iso
from memem.core.errors import HomeError
from memem.notes import save
from memem.upkeep.checks import machine
from memem.upkeep.checks.result import BROKEN, DEGRADED, FINE, Diagnosis
from memem.workspace import Workspace, open_workspace

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def used(ws: Workspace) -> Workspace:
    """A home with one memory."""
    save.save(ws, "A fact.")
    return ws


def check(ws: Workspace) -> dict[str, Diagnosis]:
    found = [*machine.check_home(ws), *machine.check_logs(ws)]
    assert [each for each in found if bool(each.fix) != (each.state != FINE)] == []
    return {each.what: each for each in found}


def test_a_home_in_use_is_fine_and_private(used: Workspace) -> None:
    assert {what: found.state for what, found in check(used).items()} == dict.fromkeys(("home", "space", "locks"), FINE)
    assert check(used)["home"].detail == str(used.home.root)


def test_a_home_that_is_to_be_is_fine_and_not_made(ws: Workspace) -> None:
    assert check(ws)["home"] == Diagnosis("home", FINE, f"{ws.home.root}, to be created when needed")
    assert not ws.home.root.exists()


def test_a_home_that_cannot_be_made_is_broken(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert (
        check(ws)["home"].detail == f"{ws.home.root} cannot be created in {ws.home.root.parent}: you cannot write to it"
    )
    assert (check(ws)["home"].state, "MEMEM_DIR" in check(ws)["home"].fix) == (BROKEN, True)


@pytest.mark.parametrize("below", ["", "further/down"])
def test_a_file_in_its_place_is_broken(ws: Workspace, below: str) -> None:
    ws.home.root.write_text("a file")
    opened = open_workspace(actor="test", home=ws.home.root / below)
    assert check(opened)["home"].state == BROKEN
    assert f"{ws.home.root}: it is a file" in check(opened)["home"].detail


@pytest.mark.parametrize("name", ["", "state", "cache", "run"])
def test_a_folder_in_it_that_cannot_be_used_is_broken(
    used: Workspace, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = used.home.root / name
    monkeypatch.setattr(machine, "is_usable", lambda folder: folder != closed)
    assert check(used)["home"].detail == f"you cannot read or write {closed}"
    assert check(used)["home"].state == BROKEN


def test_a_home_that_others_can_read_is_to_be_closed(used: Workspace) -> None:
    used.home.root.chmod(0o755)
    found = check(used)["home"]
    assert (found.state, found.fix) == (DEGRADED, f"Run `chmod -R go-rwx {used.home.root}` to close it.")


def test_path_too_long_for_a_socket_is_fine(tmp_path: Path) -> None:
    opened = open_workspace(actor="test", home=tmp_path / ("long" * 30))
    opened.home.root.mkdir(mode=0o700)
    assert check(opened)["home"].state == FINE
    assert "too long for a socket" in check(opened)["home"].detail


def test_low_disk_space_is_reported_with_its_folder(used: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = used.settings.vault
    monkeypatch.setattr("shutil.disk_usage", lambda place: Usage(1, 1, 150_000_000 if place == vault else 10**12))
    found = check(used)["space"]
    assert (found.state, found.detail) == (DEGRADED, f"only 150 MB free on the disk that holds {vault}")


def test_old_leftovers_of_killed_writers_are_reported(used: Workspace) -> None:
    now = used.clock().timestamp()
    left = [used.home.state / ".memem-01.tmp", used.store.paths.memories / ".memem-02.tmp"]
    for path in left:
        path.touch()
        os.utime(path, (now - 60, now - 60))
    assert "leftovers" not in check(used)
    for path in left:
        os.utime(path, (now - 7200, now - 7200))
    assert check(used)["leftovers"].detail == f"2 temporary files left by killed processes, in {left[0].parent}"
    assert all(path.exists() for path in left)


def test_a_temporary_file_that_is_gone_meanwhile_was_in_use(
    used: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(used.store, "leftovers", lambda: iter([tmp_path / ".memem-gone.tmp"]))
    assert "leftovers" not in check(used)


def test_held_lock_is_reported_with_its_process(used: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "WAIT_SECONDS", 0.0)
    with locks.holding(used.home.write_lock, 0):
        found = check(used)["locks"]
    assert (found.state, str(used.home.write_lock) in found.detail) == (DEGRADED, True)
    if Path("/proc/locks").exists():
        assert f"process {os.getpid()}" in found.detail
        assert f"kill {os.getpid()}" in found.fix


def test_held_lock_is_reported_without_a_known_process(used: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "WAIT_SECONDS", 0.0)
    monkeypatch.setattr(machine, "LOCKS", Path("/nowhere"))
    with locks.holding(used.home.write_lock, 0):
        assert "another process holds" in check(used)["locks"].detail


def test_a_file_system_without_locks_is_broken(used: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, _: float) -> None:
        raise HomeError(f"{path} cannot be locked: no. Set MEMEM_DIR to a folder on a local disk.")

    monkeypatch.setattr(locks, "holding", refuse)
    assert check(used)["locks"].state == BROKEN
    assert check(used)["locks"].fix == "Set MEMEM_DIR to a folder on a local disk."


def test_hook_errors_of_the_last_day_are_reported(used: Workspace) -> None:
    now = used.clock()
    old, new = iso(now - timedelta(days=2)), now.strftime("%Y-%m-%dT%H:%M:%S%z")
    used.home.hooks_log.write_text(f"lost\n{old} Stop: long ago\nof then\n")
    assert "hooks log" not in check(used)
    lines = [f"{new} Stop: first", f"{new} Stop: second", "without a time", "", f"{new} Stop: last"]
    with used.home.hooks_log.open("a") as log:
        log.write("\n".join(lines))
    found = check(used)["hooks log"]
    assert found.state == DEGRADED
    assert found.detail == f"{new} Stop: second | without a time | {new} Stop: last"
    assert "has the rest of the last day" in found.fix


@pytest.mark.parametrize(
    ("last", "told"),
    [
        ("ready; installed with uv", None),
        (
            "failed: cannot install requirements.lock\nhelp: of the installer",
            "failed: cannot install requirements.lock",
        ),
    ],
)
def test_failed_last_setup_is_reported(used: Workspace, last: str, told: str | None) -> None:
    log = "2026-02-28T09:00:00+0100 failed: no network\n2026-03-01T09:00:00+0100 setting up\n"
    files.write_atomic(used.home.bootstrap_log, f"{log}2026-03-01T09:01:00+0100 {last}\n".encode(), fsync=False)
    found = check(used).get("set-up")
    assert (found.detail if found else None) == told


@pytest.mark.parametrize("runtime", ["open", "link", "missing/deep"])
def test_a_socket_without_a_folder_of_its_own_is_degraded(tmp_path: Path, runtime: str) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path)
    opened = open_workspace(
        actor="test", home=tmp_path / ("long" * 30), environ={"XDG_RUNTIME_DIR": str(tmp_path / runtime)}
    )
    opened.home.root.mkdir(mode=0o700)
    assert f"{tmp_path / runtime} is not private" in check(opened)["home"].detail
    assert (check(opened)["home"].state, "XDG_RUNTIME_DIR" in check(opened)["home"].fix) == (DEGRADED, True)
