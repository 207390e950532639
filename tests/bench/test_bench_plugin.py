"""`python -m bench plugin`: it times a real Claude Code where there is one, and judges what it measured."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from bench import plugin, vaults
from bench.measure import Peak, Promise, Timed
from bench.plugin import EMPTY, NO_PLUGIN, PLUGIN, Report
from bench.plugin_homes import SERVER, Home, keep_parts, project_prompts
from bench.scene import PROJECT
from memem.core.memory import GENERAL
from memem.model.plugin import HOOKS
from tests.conftest import skip_or_fail
from tests.e2e.claude_code import TOOL, Machine, copy_of_the_plugin
from tests.e2e.model_stub import ModelStub, Request

CLAUDE = os.environ.get(plugin.CLAUDE_VARIABLE)
TINY = ("--notes", "40", "--repeat", "1", "--queries", "2")


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """A file that passes for Claude Code as long as nobody starts it."""
    file = tmp_path / "claude"
    file.touch()
    return file


def measured(**changes: object) -> Report:
    report = Report(
        runs={NO_PLUGIN: (1.0, 2.0, 3.0), EMPTY: (2.1,), PLUGIN: (2.5,)},
        servers=[Timed(plugin.TOOLS_LISTED, 300, (0.03,), 0.01)],
        memory=[Peak("after tools/list", 300, 13_500_000)],
        request_bytes={NO_PLUGIN: 40_000, EMPTY: 40_008, PLUGIN: 43_140},
        promises=[Promise("claude -p, memem / no plugin", 1.25, 1.5)],
    )
    for name, value in changes.items():
        setattr(report, name, value)
    return report


def home_with_requests(folder: Path, *bodies: Mapping[str, object]) -> Home:
    """A home of the whole plugin in which the model was sent these requests."""
    stub = ModelStub(requests=[Request(dict(body)) for body in bodies])
    return Home(Machine(folder / "claude", folder, stub), folder, copy_of_the_plugin(folder / "plugin"))


def test_it_measures_a_real_claude_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not CLAUDE:
        skip_or_fail("claude", f"needs Claude Code: .ci/claude installs it and sets {plugin.CLAUDE_VARIABLE}")
    target = tmp_path / "plugin.json"
    plugin.run([*TINY, "--claude", CLAUDE, "--json", str(target)])
    assert "not judged at this size" in capsys.readouterr().out
    report = json.loads(target.read_text())
    rows = {row["what"]: row for row in report["runs"]}
    assert list(rows) == [NO_PLUGIN, EMPTY, PLUGIN]
    assert rows[EMPTY]["extra_bytes"] < 500 < rows[PLUGIN]["extra_bytes"]
    idle, loaded, used = (each["mb"] for each in report["memory"])
    assert 0 < idle <= loaded <= used
    assert [promise["holds"] for promise in report["promises"]] == [None, None]
    assert "memem-bench-" not in target.read_text()


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (["--notes", "39"], "at least 40 notes"),
        (["--repeat", "0"], "one run"),
        (["--queries", "0"], "one query"),
        (["--claude", "no/such/claude"], "Claude Code not found"),
    ],
)
def test_wrong_options_are_refused(
    wrong: list[str], reason: str, claude: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        plugin.run(["--claude", str(claude), *wrong])
    assert reason in capsys.readouterr().err


def test_another_system_is_refused(
    claude: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(SystemExit):
        plugin.run(["--claude", str(claude)])
    assert "run it on Linux" in capsys.readouterr().err


def test_the_table_compares_with_a_run_without_plugin(capsys: pytest.CaptureFixture[str]) -> None:
    plugin._print(measured())
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith(PLUGIN))
    assert row.split() == [PLUGIN, "2,500.00", "2,500.00", "1.25", "500.00", "3,140"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"promises": [Promise("claude -p", 1.6, 1.5)]}, 1),
        ({"promises": [Promise("claude -p", 1.6, 1.5, judged=False)]}, 0),
        ({"complaints": ["memem: Stop: the disk is full"]}, 1),
    ],
)
def test_a_broken_promise_and_a_complaint_are_failures(
    changes: dict[str, object], code: int, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin, "measure", lambda *_: measured(**changes))
    assert plugin.run(["--claude", str(claude)]) == code


def test_complaints_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    plugin._print(measured(complaints=["memem: Stop: the disk is full"]))
    assert "failed:\nmemem: Stop: the disk is full" in capsys.readouterr().out


def test_parts_add_the_server_and_each_hook_alone() -> None:
    assert [variant.name for variant in plugin._variants(parts=False)] == [EMPTY]
    single = plugin._variants(parts=True)[1:]
    assert [variant.parts for variant in single] == [frozenset({part}) for part in (SERVER, *plugin.RUN_EVENTS)]


def test_only_the_named_parts_of_a_plugin_are_kept(tmp_path: Path) -> None:
    root = copy_of_the_plugin(tmp_path / "plugin")
    keep_parts(root, {"Stop"})
    assert list(json.loads((root / HOOKS).read_text())["hooks"]) == ["Stop"]
    assert not (root / ".mcp.json").exists()
    assert not (root / "skills").exists()
    assert "version" in json.loads((root / ".claude-plugin" / "plugin.json").read_text())


def test_a_plugin_without_parts_has_no_hooks(tmp_path: Path) -> None:
    root = copy_of_the_plugin(tmp_path / "plugin")
    keep_parts(root, {SERVER})
    assert not (root / HOOKS).exists()
    assert (root / ".mcp.json").exists()


def test_a_request_without_tools_is_a_complaint(tmp_path: Path) -> None:
    shown = {"messages": [], "system": f"{TOOL}memory_search"}
    home = home_with_requests(tmp_path, {"messages": []}, shown)
    assert home.complaints() == ["1 of 2 requests without a tool of memem"]
    assert home.first_request_bytes() == len(json.dumps(shown, separators=(",", ":")))


def test_a_home_without_plugin_needs_no_tools(tmp_path: Path) -> None:
    stub = ModelStub(requests=[Request({"messages": []})])
    assert Home(Machine(tmp_path / "claude", tmp_path, stub), tmp_path).complaints() == []


def test_prompts_are_about_notes_of_the_project() -> None:
    prompts = project_prompts()
    assert len(set(prompts)) == len(prompts) == 20
    named = [project for text in prompts for project in vaults.PROJECTS if f"fail in {project}?" in text]
    assert named
    assert set(named) <= {PROJECT, GENERAL}
