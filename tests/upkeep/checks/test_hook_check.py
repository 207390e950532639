"""The hooks are found where Claude Code has them, run as it runs them, and judged by what it would make of it."""

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memem.model import plugin
from memem.model.plugin import Plugin
from memem.state.receipts import PROMPT, Receipt
from memem.upkeep.checks import hooks
from memem.upkeep.checks.hooks import ENVELOPES, SESSION
from memem.upkeep.checks.result import BROKEN, DEGRADED, FINE, Diagnosis
from memem.workspace import Workspace
from tests.fake_claude import ends

EVENTS = list(ENVELOPES)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A plugin, with a space and more in its path."""
    folder = tmp_path / "my plügin"
    make(folder, dict.fromkeys(EVENTS, "exit 0"))
    return folder


def make(folder: Path, scripts: dict[str, str], timeout: float = 10) -> None:
    """Put a plugin into a folder, with a script for each event."""
    (folder / "hooks").mkdir(parents=True, exist_ok=True)
    hooks: dict[str, Any] = {}
    for event, script in scripts.items():
        program = folder / "hooks" / event
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        command = {"type": "command", "command": f'"${{CLAUDE_PLUGIN_ROOT}}/hooks/{event}"', "timeout": timeout}
        hooks[event] = [{"hooks": [command]}]
    (folder / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}))


def install(ws: Workspace, root: Path, key: str = "memem@memem-marketplace", **entry: str) -> None:
    """As Claude Code notes that a plugin is installed."""
    plugins = ws.claude_folder / "plugins"
    plugins.mkdir(parents=True, exist_ok=True)
    noted = {key: [{"scope": "user", "installPath": str(root), "version": "0.0.1", **entry}]}
    (plugins / "installed_plugins.json").write_text(json.dumps({"version": 2, "plugins": noted}))


def check(ws: Workspace, root: Path) -> dict[str, Diagnosis]:
    found = hooks.check(ws, root)
    assert all("\n" not in each.detail for each in found)
    assert [each for each in found if bool(each.fix) != (each.state != FINE)] == []
    return {each.what: each for each in found}


def judged(ws: Workspace, root: Path, event: str, script: str, timeout: float = 10) -> Diagnosis:
    """The diagnosis of a hook that runs this command."""
    make(root, {event: script}, timeout)
    return check(ws, root)[f"hook {event}"]


def printing(told: object) -> str:
    return f"echo {shlex.quote(json.dumps(told))}"


def test_working_hooks_are_fine_with_their_duration(ws: Workspace, root: Path) -> None:
    found = check(ws, root)
    assert list(found) == ["plugin", *(f"hook {event}" for event in EVENTS)]
    assert {each.state for each in found.values()} == {FINE}
    assert found["hook Stop"].detail.endswith(" ms")
    assert "not installed in Claude Code" in found["plugin"].detail


def test_hooks_get_the_input_of_claude_code(ws: Workspace, root: Path, tmp_path: Path) -> None:
    make(root, dict.fromkeys(EVENTS, f'cat > "{tmp_path}/$(basename "$0").json"; test -f "$PWD/{SESSION}.jsonl"'))
    assert {each.state for each in check(ws, root).values()} == {FINE}
    for event in EVENTS:
        told = json.loads((tmp_path / f"{event}.json").read_text())
        assert (told["hook_event_name"], told["session_id"]) == (event, SESSION)
        assert told["transcript_path"] == f"{told['cwd']}/{SESSION}.jsonl"
        assert {**told, **ENVELOPES[event]} == told
        assert not Path(told["cwd"]).exists()


def environment(ws: Workspace, root: Path, tmp_path: Path) -> dict[str, str]:
    make(root, {"Stop": f'env -0 > "{tmp_path}/env"; pwd > "{tmp_path}/pwd"'})
    assert check(ws, root)["hook Stop"].state == FINE
    pairs = (tmp_path / "env").read_text().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def test_each_has_the_environment_that_claude_code_gives_it(
    ws: Workspace, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_USER", "kept")
    install(ws, root)
    found = environment(ws, root, tmp_path)
    folder = (tmp_path / "pwd").read_text().strip()
    assert (found["CLAUDECODE"], found["CLAUDE_CODE_SESSION_ID"], found["OF_THE_USER"]) == ("1", SESSION, "kept")
    assert (found["CLAUDE_PLUGIN_ROOT"], found["CLAUDE_PROJECT_DIR"]) == (str(root), folder)
    assert found["CLAUDE_PLUGIN_DATA"] == str(ws.claude_folder / "plugins" / "data" / "memem-memem-marketplace")
    assert (found["MEMEM_DIR"], found["MEMEM_OBSIDIAN_VAULT"]) == (str(ws.home.root), str(ws.settings.vault))


def test_environment_is_unchanged_for_the_default_home(
    ws: Workspace, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEM_DIR", str(ws.home.root))
    ws.settings.sources["vault"] = "default"  # type: ignore[index]
    found = environment(ws, root, tmp_path)
    assert "MEMEM_OBSIDIAN_VAULT" not in found
    assert "CLAUDE_PLUGIN_DATA" not in found


def test_hooks_get_the_stored_plugin_options(ws: Workspace, root: Path, tmp_path: Path) -> None:
    ws.home.state.mkdir(parents=True)
    ws.home.plugin_options.write_text('{"vault": "/srv/v", "daily_usd": "3", "unknown": "x"}')
    found = environment(ws, root, tmp_path)
    options = {name: value for name, value in found.items() if name.startswith("CLAUDE_PLUGIN_OPTION_")}
    assert options == {"CLAUDE_PLUGIN_OPTION_VAULT": "/srv/v", "CLAUDE_PLUGIN_OPTION_DAILY_USD": "3"}


def test_failing_hook_is_broken_with_its_error(ws: Workspace, root: Path) -> None:
    found = judged(ws, root, "Stop", "echo 'it is\nno use' >&2; exit 2")
    assert (found.state, found.detail) == (BROKEN, "failed with exit code 2: it is no use")
    assert str(ws.home.hooks_log) in found.fix


def test_a_launcher_that_is_gone_or_cannot_run_is_to_be_installed_again(ws: Workspace, root: Path) -> None:
    (root / "hooks" / "Stop").unlink()
    (root / "hooks" / "SessionEnd").chmod(0o644)
    found = check(ws, root)
    for event in ("Stop", "SessionEnd"):
        assert (found[f"hook {event}"].state, found[f"hook {event}"].fix) == (BROKEN, hooks.REINSTALL)
        assert found[f"hook {event}"].detail.startswith("could not be started")


def test_error_output_of_a_successful_hook_is_reported(ws: Workspace, root: Path) -> None:
    found = judged(ws, root, "Stop", "echo 'a warning' >&2")
    assert (found.state, found.detail) == (DEGRADED, "reported an error: a warning")


@pytest.mark.parametrize("before", ["", "2026-03-01T09:00:00+0100 Stop: of another time\n"])
def test_a_hook_that_failed_in_silence_is_known_by_its_log(ws: Workspace, root: Path, before: str) -> None:
    ws.home.root.mkdir()
    if before:
        ws.home.hooks_log.write_text(before)
    found = judged(ws, root, "Stop", f'echo "Stop: no room" >> "{ws.home.hooks_log}"')
    assert (found.state, found.detail) == (DEGRADED, "reported an error: Stop: no room")


def test_rotated_log_is_read_from_its_start(ws: Workspace, root: Path) -> None:
    ws.home.root.mkdir()
    ws.home.hooks_log.write_text("long " * 100)
    assert judged(ws, root, "Stop", f'echo "anew" > "{ws.home.hooks_log}"').detail == "reported an error: anew"


def test_slow_hook_is_reported(ws: Workspace, root: Path) -> None:
    moments = iter(range(0, 100, 2))
    ws.ticks = lambda: float(next(moments))
    found = judged(ws, root, "Stop", "exit 0")
    assert (found.state, found.detail) == (DEGRADED, "is slow: it took 2000 ms")


def test_a_hook_that_does_not_end_is_ended_when_its_time_is_up(ws: Workspace, root: Path, tmp_path: Path) -> None:
    found = judged(ws, root, "Stop", f'echo $$ > "{tmp_path}/pid"; echo begun; sleep 60', timeout=0.5)
    assert (found.state, found.detail) == (BROKEN, "did not finish within 0.5 s")
    assert ends(int((tmp_path / "pid").read_text()))


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Callable[[], int]]:
    """The process that a hook leaves behind."""
    yield lambda: int((tmp_path / "child").read_text())
    os.kill(int((tmp_path / "child").read_text()), 9)


def test_hook_that_leaves_its_output_open_times_out(
    ws: Workspace, root: Path, tmp_path: Path, child: Callable[[], int]
) -> None:
    code = (
        f"import os, time\nif os.fork(): os._exit(0)\nos.setsid()\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)"
    )
    script = f"{sys.executable} -IS -c {shlex.quote(code)}; while [ ! -s '{tmp_path}/child' ]; do :; done"
    found = judged(ws, root, "Stop", script, timeout=2)
    assert (found.state, found.detail) == (BROKEN, "did not finish within 2 s")
    assert child()


@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd"])
def test_silent_hooks_must_print_nothing(ws: Workspace, root: Path, event: str) -> None:
    found = judged(ws, root, event, "echo '{}'")
    assert (found.state, found.detail) == (BROKEN, "printed output, but must be silent: {}")


@pytest.mark.parametrize(
    "told",
    [
        {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "x" * 10_000}},
        {"systemMessage": "memem is setting itself up"},
        {},
    ],
)
def test_json_of_the_right_shape_is_fine(ws: Workspace, root: Path, told: object) -> None:
    assert judged(ws, root, "UserPromptSubmit", printing(told)).state == FINE


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ({"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "x"}}, "for another event"),
        ({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": 1}}, "for another event"),
        ({"additionalContext": "x"}, "for another event"),
        ({"hookSpecificOutput": {"additionalContext": "x"}}, "other than the expected JSON"),
        ({"hookSpecificOutput": "x"}, "other than the expected JSON"),
        (["x"], "other than the expected JSON"),
        ({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "x" * 10_001}}, "more than"),
    ],
)
def test_json_that_claude_code_can_do_nothing_with_is_broken(
    ws: Workspace, root: Path, told: object, problem: str
) -> None:
    found = judged(ws, root, "UserPromptSubmit", printing(told))
    assert (found.state, problem in found.detail) == (BROKEN, True)


def test_words_in_the_place_of_json_are_broken(ws: Workspace, root: Path) -> None:
    assert judged(ws, root, "SessionStart", "echo 'Welcome!'").state == BROKEN


def test_records_of_the_test_session_are_deleted(ws: Workspace, root: Path) -> None:
    ws.contexts.add(SESSION, ["a"], 0)
    ws.contexts.add("another", ["a"], 0)
    ws.contexts.receipts.add(Receipt(0, PROMPT, SESSION))
    check(ws, root)
    assert ws.contexts.receipts.last() is None
    assert (ws.contexts.has_session(SESSION), ws.contexts.has_session("another")) == (False, True)
    ws.close()
    ws.home.contexts_file.write_bytes(b"this is not a database " * 100)
    assert check(ws, root)["plugin"].state == FINE


# --- which plugin it is ---------------------------------------------------------------------------------------------


def test_a_package_has_no_hooks(ws: Workspace, tmp_path: Path) -> None:
    (found,) = hooks.check(ws, tmp_path)
    assert (found.what, found.state) == ("plugin", FINE)
    assert "without hooks" in found.detail


def test_hooks_are_not_run_within_a_call_of_our_own(ws: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(root, {"Stop": "exit 1"})
    monkeypatch.setenv("MEMEM_HOOKS_OFF", "1")
    assert check(ws, root)["hooks"] == Diagnosis("hooks", FINE, "not run, because MEMEM_HOOKS_OFF is set")


def test_hooks_are_not_run_without_a_shell(ws: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "SHELL", "/nowhere/sh")
    assert check(ws, root)["hooks"].detail == "not run, because there is no /nowhere/sh"


def test_installed_plugin_is_preferred_to_the_own_folder(ws: Workspace, root: Path, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    make(beside, {"Stop": "exit 1"})
    install(ws, root)
    assert check(ws, beside)["plugin"].detail == f"{root}, installed in Claude Code"
    assert check(ws, beside)["hook Stop"].state == FINE


def test_an_installed_one_that_is_gone_is_to_be_installed_again(ws: Workspace, root: Path, tmp_path: Path) -> None:
    install(ws, tmp_path / "gone")
    found = check(ws, root)["plugin"]
    assert (found.state, found.fix) == (BROKEN, hooks.REINSTALL)
    assert str(tmp_path / "gone") in found.detail


def test_one_from_a_folder_of_this_machine_is_run_in_place(ws: Workspace, root: Path, tmp_path: Path) -> None:
    install(ws, tmp_path / "copy")
    known = {"memem-marketplace": {"source": {"source": "directory"}, "installLocation": str(root)}}
    (ws.claude_folder / "plugins" / "known_marketplaces.json").write_text(json.dumps(known))
    assert plugin.find(ws, tmp_path) == Plugin(
        root, ws.claude_folder / "plugins" / "data" / "memem-memem-marketplace", enabled=True
    )
    (root / "hooks" / "hooks.json").unlink()
    found = plugin.find(ws, tmp_path)
    assert found
    assert found.root == tmp_path / "copy"


def test_plugin_of_a_marketplace_runs_from_its_copy(ws: Workspace, root: Path, tmp_path: Path) -> None:
    install(ws, root)
    known = {"memem-marketplace": {"source": {"source": "github"}, "installLocation": str(tmp_path)}}
    (ws.claude_folder / "plugins" / "known_marketplaces.json").write_text(json.dumps(known))
    found = plugin.find(ws, tmp_path)
    assert found
    assert found.root == root


def test_another_folder_of_claude_codes_is_respected(
    ws: Workspace, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(ws, tmp_path / "usual")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    install(ws, root)
    assert check(ws, tmp_path)["plugin"].detail.startswith(str(root))


def test_user_scope_and_our_marketplace_come_first(ws: Workspace, tmp_path: Path) -> None:
    plugins = ws.claude_folder / "plugins"
    plugins.mkdir(parents=True)
    entries = {
        "other@memem-marketplace": [{"scope": "user", "installPath": "/srv/other"}],
        "memem@elsewhere": [{"scope": "user", "installPath": "/srv/elsewhere"}],
        "memem@memem-marketplace": [
            "?",
            {"scope": "project", "installPath": "/srv/p"},
            {"scope": "user", "installPath": "/srv/u"},
        ],
    }
    (plugins / "installed_plugins.json").write_text(json.dumps({"version": 2, "plugins": entries}))
    found = plugin.find(ws, tmp_path)
    assert found
    assert found.root == Path("/srv/u")


def test_an_older_list_of_plugins_is_understood(ws: Workspace, root: Path, tmp_path: Path) -> None:
    plugins = ws.claude_folder / "plugins"
    plugins.mkdir(parents=True)
    noted = {"version": 1, "plugins": {"memem@memem-marketplace": {"installPath": str(root)}}}
    (plugins / "installed_plugins.json").write_text(json.dumps(noted))
    found = plugin.find(ws, tmp_path)
    assert found
    assert found.root == root


@pytest.mark.parametrize("noted", ["", "[]", '{"plugins": 3}', '{"plugins": {"memem@m": 3}}'])
def test_unreadable_plugin_list_names_none(ws: Workspace, tmp_path: Path, noted: str) -> None:
    plugins = ws.claude_folder / "plugins"
    plugins.mkdir(parents=True)
    (plugins / "installed_plugins.json").write_text(noted)
    assert plugin.find(ws, tmp_path) is None


def test_disabled_plugin_is_reported(ws: Workspace, root: Path) -> None:
    install(ws, root)
    (ws.claude_folder / "settings.json").write_text('{"enabledPlugins": {"memem@memem-marketplace": false}}')
    found = check(ws, root)["plugin"]
    assert (found.state, "claude plugin enable" in found.fix) == (DEGRADED, True)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"hooks": []}',
        '{"hooks": {}}',
        '{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}',
        '{"hooks": {"Stop": [{"hooks": [{"type": "prompt"}]}]}}',
    ],
)
def test_a_hooks_json_that_claude_code_could_not_use_is_broken(ws: Workspace, root: Path, content: str) -> None:
    (root / "hooks" / "hooks.json").write_text(content)
    assert check(ws, root)["plugin"].state == BROKEN


def test_a_hook_of_an_event_that_was_not_recorded_is_run_last(ws: Workspace, root: Path) -> None:
    make(root, {"Notification": "exit 0", "Stop": "exit 0"})
    assert list(check(ws, root)) == ["plugin", "hook Stop", "hook Notification"]


def note_failure(ws: Workspace, content: object) -> None:
    """As Claude Code notes that a server could not be started."""
    ws.claude_folder.mkdir(parents=True, exist_ok=True)
    (ws.claude_folder / "mcp-needs-auth-cache.json").write_text(json.dumps(content))


def milliseconds(ws: Workspace, ago: float) -> int:
    return int((ws.clock().timestamp() - ago) * 1000)


@pytest.mark.parametrize(("ago", "skipped"), [(1, True), (14 * 60, True), (15 * 60 + 1, False), (-3_600, False)])
def test_a_server_that_failed_to_start_is_skipped_for_a_quarter_of_an_hour(
    ws: Workspace, ago: float, skipped: bool
) -> None:
    note_failure(ws, {"plugin:memem:memem": {"timestamp": milliseconds(ws, ago), "id": "75d315a77cf119dc"}})
    assert plugin.server_is_skipped(ws) is skipped


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        "text",
        {"plugin:other:other": {"timestamp": 1}},
        {"plugin:memem:memem": 7},
        {"plugin:memem:memem": {"timestamp": "soon"}},
        {"plugin:memem:memem": {"timestamp": 10**400}},
    ],
)
def test_a_note_about_anything_else_skips_no_server(ws: Workspace, content: object) -> None:
    assert not plugin.server_is_skipped(ws)
    note_failure(ws, content)
    assert not plugin.server_is_skipped(ws)


def test_a_server_that_is_skipped_is_a_finding_with_the_way_to_reconnect(ws: Workspace, root: Path) -> None:
    note_failure(ws, {"plugin:memem:memem": {"timestamp": milliseconds(ws, 60)}})
    found = check(ws, root)["server"]
    assert found.state == DEGRADED
    assert "`/mcp`, choose memem, then Reconnect" in found.fix
