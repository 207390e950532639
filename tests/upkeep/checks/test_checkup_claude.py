"""The user's own claude is found, asked for its version and its account, and left alone otherwise."""

import json
from pathlib import Path

import pytest

from memem.upkeep import doctor
from memem.upkeep.checks.result import DEGRADED, FINE, Diagnosis
from memem.workspace import Workspace
from tests import fake_claude

HELP = "Commands:\n  auth    Manage authentication\n"


def check(ws: Workspace, *, wanted: bool = True) -> Diagnosis:
    (found,) = doctor.check_claude(ws, wanted=wanted)
    return found


def install(tmp_path: Path, status: object, help: str = HELP) -> Path:
    """In a place that is looked at though it is not on the PATH."""
    return fake_claude.install(tmp_path / "user" / ".local" / "bin", [{"raw": json.dumps(status)}], help=help)


@pytest.mark.parametrize("wanted", [True, False])
def test_path_and_login_are_reported(ws: Workspace, tmp_path: Path, wanted: bool) -> None:
    command = install(tmp_path, {"loggedIn": True, "authMethod": "claude.ai"})
    assert check(ws, wanted=wanted) == Diagnosis("claude", FINE, f"2.1.325 at {command}, logged in (claude.ai)")


@pytest.mark.parametrize(("wanted", "state"), [(True, DEGRADED), (False, FINE)])
def test_one_that_is_not_logged_in_is_a_loss_where_it_is_wanted(
    ws: Workspace, tmp_path: Path, wanted: bool, state: str
) -> None:
    install(tmp_path, {"loggedIn": False})
    found = check(ws, wanted=wanted)
    assert (found.state, bool(found.fix)) == (state, wanted)
    assert found.detail.endswith("not logged in")


def test_one_that_does_not_say_is_fine(ws: Workspace, tmp_path: Path) -> None:
    install(tmp_path, {}, help="Commands:\n")
    assert check(ws).state == FINE
    assert "login status unknown" in check(ws).detail


@pytest.mark.parametrize(("wanted", "state"), [(True, DEGRADED), (False, FINE)])
def test_none_at_all_is_a_loss_where_it_is_wanted(ws: Workspace, wanted: bool, state: str) -> None:
    found = check(ws, wanted=wanted)
    assert (found.state, bool(found.fix)) == (state, wanted)


def test_unusable_claude_is_reported_with_a_fix(ws: Workspace, tmp_path: Path) -> None:
    command = install(tmp_path, {})
    command.write_text("#!/nowhere/at/all\n")
    found = check(ws)
    assert (found.state, bool(found.fix)) == (DEGRADED, True)
    assert str(command) in found.detail


def test_claude_runs_marked_in_an_empty_folder_outside_the_home(ws: Workspace, tmp_path: Path) -> None:
    command = install(tmp_path, {"loggedIn": True})
    check(ws)
    calls = fake_claude.calls(command.parent, questions=True)
    assert [call["argv"] for call in calls] == [["--version"], ["--help"], ["auth", "status"]]
    assert {call["env"]["MEMEM_HOOKS_OFF"] for call in calls} == {"1"}
    (folder,) = {Path(call["cwd"]) for call in calls}
    assert not folder.exists()
    assert not ws.home.root.exists()
