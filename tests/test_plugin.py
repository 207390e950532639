"""What Claude Code reads of the plugin: manifests, hooks, commands, the skill. tests/e2e shows them at work."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import memem
from memem.core.options import OPTIONS
from memem.doors.hook.answers import ANSWERS
from memem.doors.hook.later import WORK

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = sorted((ROOT / "commands").glob("*.md"), key=lambda path: path.stem)
LONG_STANDING = {
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse"),
    *("Stop", "SubagentStop", "PreCompact", "SessionEnd"),
}


def manifest(name: str) -> dict[str, Any]:
    read = json.loads((ROOT / name).read_text(encoding="utf-8"))
    assert isinstance(read, dict)
    return read


def frontmatter(path: Path) -> tuple[dict[str, Any], str]:
    _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), body


def test_plugin_has_the_version_of_the_package() -> None:
    assert manifest(".claude-plugin/plugin.json")["version"] == memem.__version__


def test_options_of_the_plugin_are_settings_and_have_no_default_of_their_own() -> None:
    """With one, the server would take it for something that its user has set."""
    known = {option.key for option in OPTIONS}
    for name, option in manifest(".claude-plugin/plugin.json")["userConfig"].items():
        assert name in known
        assert "default" not in option


def test_hooks_are_events_that_old_versions_know_and_that_memem_answers() -> None:
    hooks = manifest("hooks/hooks.json")["hooks"]
    assert set(hooks) == set(ANSWERS) | set(WORK)
    assert set(hooks) <= LONG_STANDING


def test_every_hook_is_the_launcher_with_its_event_and_a_deadline() -> None:
    entries = [(event, entry) for event, each in manifest("hooks/hooks.json")["hooks"].items() for entry in each]
    for event, entry in entries:
        (hook,) = entry["hooks"]
        assert hook["command"] == f'"${{CLAUDE_PLUGIN_ROOT}}/hooks/memem" hook {event}'
        assert 0 < hook["timeout"] <= 10


def test_server_is_the_launcher_too_and_is_told_the_options_as_hooks_are() -> None:
    (server,) = manifest(".mcp.json")["mcpServers"].values()
    assert (server["command"], server["args"]) == ("${CLAUDE_PLUGIN_ROOT}/hooks/memem", ["serve"])
    variables = {option.key: option.plugin_variable for option in OPTIONS}
    options = manifest(".claude-plugin/plugin.json")["userConfig"]
    assert server["env"] == {variables[name]: f"${{user_config.{name}}}" for name in options}


def test_launcher_is_executable_and_short() -> None:
    launcher = ROOT / "hooks" / "memem"
    assert launcher.stat().st_mode & 0o111
    assert len(launcher.read_text(encoding="utf-8").splitlines()) < 20


def test_commands_are_those_that_are_promised() -> None:
    promised = "forget memem memem-doctor memem-mine memem-mine-history memem-status memem-why recall remember"
    assert [path.stem for path in COMMANDS] == promised.split()


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_command_says_what_it_does_and_hands_no_argument_to_a_shell(path: Path) -> None:
    head, body = frontmatter(path)
    assert head["description"]
    assert ("argument-hint" in head) == ("$ARGUMENTS" in body)
    for line in body.splitlines():
        assert not ("!`" in line and "$ARGUMENTS" in line)


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_command_runs_only_what_it_allows_and_never_fails_by_its_exit_code(path: Path) -> None:
    head, body = frontmatter(path)
    allowed = re.findall(r"Bash\((.+?):\*\)", head.get("allowed-tools", ""))
    for line in re.findall(r"!`(.+)`", body):
        assert line.startswith(tuple(allowed))
        assert line.endswith("2>&1 || true")


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_command_allows_the_verbs_that_it_runs_and_no_other(path: Path) -> None:
    """Who is asked how memem is has not said that reviews may be decided, or memories removed, without being asked."""
    head, body = frontmatter(path)
    allowed = re.findall(r'Bash\(.+?/hooks/memem"(.*?):\*\)', head.get("allowed-tools", ""))
    run = re.findall(r'/hooks/memem" ([a-z-]+(?: --history)?)', body)
    assert {each.strip() for each in allowed} == set(run)


def test_skill_is_short_and_says_when_it_is_of_use() -> None:
    (path,) = (ROOT / "skills").glob("*/SKILL.md")
    head, _ = frontmatter(path)
    assert head["name"] == path.parent.name
    assert "Use it when" in head["description"]
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60


def test_skill_and_commands_have_different_names() -> None:
    assert not {path.stem for path in COMMANDS} & {path.name for path in (ROOT / "skills").iterdir()}
