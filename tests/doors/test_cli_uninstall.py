"""memem uninstall, as a person calls it."""

import io
import sys

import pytest

from memem.doors import cli
from memem.notes import save
from memem.workspace import Workspace, open_workspace
from tests.command_line import Outcome, Run, Terminal


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def call(*arguments: str, answer: str | None = None) -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.StringIO() if answer is None else Terminal(answer))
        code = cli.main(["uninstall", *arguments])
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture
def home() -> Workspace:
    """The home that commands use, with a memory in it."""
    ws = open_workspace(actor="test")
    save.save(ws, "The walrus sleeps.")
    ws.close()
    return ws


def test_uninstall_lists_suggests_an_export_asks_and_removes(home: Workspace, run: Run) -> None:
    outcome = run(answer="y\n")
    assert outcome.code == 0
    removed, kept = outcome.out.split("Kept:")
    assert str(home.home.events_file) in removed
    assert str(home.store.paths.ours) in kept
    assert "memem export" in outcome.err
    assert outcome.out.endswith("memem was removed from this machine.\n")
    assert not home.home.root.exists()
    assert home.store.paths.marker.exists()


@pytest.mark.parametrize("answer", ["n\n", "\n", "", "maybe\n"])
def test_any_answer_but_yes_removes_nothing(home: Workspace, run: Run, answer: str) -> None:
    outcome = run(answer=answer)
    assert outcome.code == 1
    assert "Nothing was removed." in outcome.err
    assert home.home.events_file.exists()


def test_removing_the_vault_needs_a_second_yes(home: Workspace, run: Run) -> None:
    assert run("--vault", answer="y\nn\n").code == 1
    assert home.home.events_file.exists()
    assert run("--vault", answer="y\ny\n").code == 0
    assert not home.settings.vault.exists()


def test_uninstall_removes_nothing_without_a_terminal_or_yes(home: Workspace, run: Run) -> None:
    outcome = run()
    assert outcome.code == 1
    assert "--yes" in outcome.err
    assert home.home.events_file.exists()
    assert run("--yes").code == 0
    assert not home.home.root.exists()


def test_a_dry_run_only_lists(home: Workspace, run: Run) -> None:
    listed = run("--dry-run", "--json").data
    assert str(home.home.events_file) in [part["path"] for part in listed["parts"]]
    assert (listed["done"], listed["to_do"]) == (False, [])
    assert run("--json").data == listed
    assert home.home.events_file.exists()


def test_uninstall_reports_when_nothing_is_installed(run: Run) -> None:
    outcome = run(answer="y\n")
    assert outcome.out.startswith("There is nothing to remove.")
    assert outcome.code == 1


def test_uninstall_prints_the_remaining_commands(home: Workspace, run: Run) -> None:
    plugins = home.claude_folder / "plugins"
    plugins.mkdir(parents=True)
    (plugins / "known_marketplaces.json").write_text('{"memem-marketplace": {}}')
    (home.home.root / "mine.txt").write_text("mine")
    outcome = run("--yes")
    assert "Run: claude plugin marketplace remove memem-marketplace" in outcome.out
    assert f"Not removed: {home.home.root / 'mine.txt'} (not created by memem)" in outcome.out
