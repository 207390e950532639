"""The link in ~/.local/bin: created, checked and removed, and never in the place of somebody else's file."""

import errno
import os
from pathlib import Path

import pytest

from memem.core.errors import InputError
from memem.core.surroundings import Surroundings, command_path
from memem.upkeep import link, uninstall
from memem.workspace import Workspace

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")


@pytest.fixture
def installed(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A memem in an environment of the plugin, in a folder with a space; nothing but system folders is on the PATH."""
    prefix = tmp_path / "plugin data" / "venv"
    command = command_path(prefix)
    command.parent.mkdir(parents=True)
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setattr(Surroundings, "prefix", prefix)
    return on_path(ws, "/usr/bin")


def on_path(ws: Workspace, *folders: str, **more: str) -> Workspace:
    ws.environ = {"PATH": os.pathsep.join(folders), **more}
    return ws


def test_a_link_is_created_and_memem_works_once_its_folder_is_on_the_path(installed: Workspace) -> None:
    assert link.look(installed).state == link.MISSING
    made = link.create(installed)
    assert (made.state, made.works) == (link.LINKED, False)
    assert installed.link.resolve() == command_path(installed.prefix).resolve()
    assert link.look(on_path(installed, str(installed.link.parent))).works


@pytest.mark.parametrize(
    ("shell", "expected"),
    [
        ("/bin/zsh", 'Add to ~/.zshrc: export PATH="$HOME/.local/bin:$PATH"'),
        ("/usr/bin/bash", "Add to ~/.bashrc: export"),
        ("/usr/bin/fish", "fish_add_path ~/.local/bin"),
        ("", "Add to ~/.profile: export"),
    ],
)
def test_advice_names_the_line_for_the_path(installed: Workspace, shell: str, expected: str) -> None:
    made = link.create(on_path(installed, "/usr/bin", SHELL=shell))
    assert expected in made.advice


def test_other_memem_earlier_on_the_path_is_named(installed: Workspace, tmp_path: Path) -> None:
    other = tmp_path / "other" / "memem"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    made = link.create(on_path(installed, str(other.parent), str(installed.link.parent)))
    assert (made.works, made.found) == (False, str(other))
    assert f"{other} comes before" in made.advice


def test_to_link_twice_changes_nothing(installed: Workspace) -> None:
    link.create(installed)
    before = installed.link.lstat()
    link.create(installed)
    assert installed.link.lstat() == before


def test_somebody_elses_file_stays(installed: Workspace) -> None:
    installed.link.parent.mkdir(parents=True)
    installed.link.write_text("mine")
    for work in (link.create, link.remove):
        with pytest.raises(InputError, match="was left alone"):
            work(installed)
    assert installed.link.read_text() == "mine"
    assert not link.is_ours(installed)


@pytest.mark.parametrize("target", ["/usr/bin/env", "/opt/venv/bin/other", "gone"])
def test_somebody_elses_link_stays(installed: Workspace, target: str) -> None:
    installed.link.parent.mkdir(parents=True)
    installed.link.symlink_to(target)
    with pytest.raises(InputError, match="is a link to"):
        link.create(installed)
    assert str(installed.link.readlink()) == target


def test_a_folder_in_its_place_is_named(installed: Workspace) -> None:
    installed.link.mkdir(parents=True)
    with pytest.raises(InputError, match="is a folder"):
        link.create(installed)


def test_a_link_to_a_memem_that_is_gone_is_replaced(installed: Workspace, tmp_path: Path) -> None:
    installed.link.parent.mkdir(parents=True)
    installed.link.symlink_to(tmp_path / "removed" / "venv" / "bin" / "memem")
    assert link.is_ours(installed)
    assert link.create(installed).state == link.LINKED


def test_without_an_installed_command_there_is_nothing_to_link(ws: Workspace) -> None:
    with pytest.raises(InputError, match="There is no command at"):
        link.create(ws)


def test_folder_that_cannot_be_created_is_reported(installed: Workspace) -> None:
    (installed.user_home / ".local").write_text("a file")
    with pytest.raises(InputError, match="Cannot create"):
        link.create(installed)


def test_link_that_cannot_be_removed_is_reported(installed: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "no")

    link.create(installed)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(InputError, match="Cannot remove"):
        link.remove(installed)


def test_the_link_is_removed(installed: Workspace) -> None:
    link.create(installed)
    assert link.remove(installed).state == link.MISSING
    assert link.remove(installed).state == link.MISSING


def test_uninstall_lists_and_removes_the_link(installed: Workspace) -> None:
    link.create(installed)
    assert str(installed.link) in [part.path for part in uninstall.plan(installed).parts]
    uninstall.uninstall(installed)
    assert not os.path.lexists(installed.link)


def test_uninstall_leaves_somebody_elses_link(installed: Workspace) -> None:
    installed.link.parent.mkdir(parents=True)
    installed.link.symlink_to("/usr/bin/env")
    uninstall.uninstall(installed)
    assert installed.link.is_symlink()


def test_doctor_mentions_the_command_and_finds_it_fine_either_way(installed: Workspace) -> None:
    (before,) = link.check(installed)
    assert "is not on the PATH" in before.detail
    link.create(installed)
    (after,) = link.check(on_path(installed, str(installed.link.parent)))
    assert "runs this installation" in after.detail
    assert {before.state, after.state} == {"fine"}
