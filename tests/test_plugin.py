"""The plugin's files that Claude Code reads: manifests, hooks, commands, the skill. tests/e2e runs them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import memem
from memem.core.options import OPTIONS
from memem.doors.cli import VERBS, commands_of
from memem.doors.hook.answers import ANSWERS
from memem.doors.hook.command import WORK

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = sorted((ROOT / "commands").glob("*/SKILL.md"))
PROMISED = (
    *("forget", "memem", "memem-conflicts", "memem-doctor", "memem-mine", "memem-mine-history"),
    *("memem-review", "memem-status", "memem-undo", "memem-why", "recall", "remember"),
)
SKILLS = sorted((ROOT / "skills").glob("*/SKILL.md"))
NEEDS_AN_ANSWER = (
    *("config link", "conflicts resolve", "mine --history --detach --yes"),
    *("review accept", "review reject", "undo"),
)
"""Calls that change something only the user may decide about: no command allows them in advance."""
SLASH_COMMAND = re.compile(r"`/([a-z-]+)")
TERMINAL_COMMAND = re.compile(r"`memem [a-z]+")
CALL = r'/hooks/memem" ([a-z][a-z-]*(?: (?:[a-z]{2,}|--[a-z-]+))*)'


def command_name(path: Path) -> str:
    return path.parent.name


every_command = pytest.mark.parametrize("path", COMMANDS, ids=command_name)
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


def test_server_uses_the_launcher_and_gets_the_options_like_hooks() -> None:
    (server,) = manifest(".mcp.json")["mcpServers"].values()
    assert (server["command"], server["args"]) == ("${CLAUDE_PLUGIN_ROOT}/hooks/memem", ["serve"])
    variables = {option.key: option.plugin_variable for option in OPTIONS}
    options = manifest(".claude-plugin/plugin.json")["userConfig"]
    assert server["env"] == {variables[name]: f"${{user_config.{name}}}" for name in options}


def test_launcher_is_executable_and_short() -> None:
    launcher = ROOT / "hooks" / "memem"
    assert launcher.stat().st_mode & 0o111
    assert len(launcher.read_text(encoding="utf-8").splitlines()) < 20


def test_all_promised_commands_exist() -> None:
    assert tuple(map(command_name, COMMANDS)) == PROMISED


def test_plugin_lists_commands_as_skills_which_gives_them_short_names() -> None:
    assert manifest(".claude-plugin/plugin.json")["skills"] == ["./commands", "./skills"]
    assert not list((ROOT / "commands").glob("*.md")), "a plain command file answers to /memem:NAME only"


@every_command
def test_command_declares_its_name_without_which_the_short_form_does_not_work(path: Path) -> None:
    head, _ = frontmatter(path)
    assert head["name"] == command_name(path)
    assert head["disable-model-invocation"] is True


@every_command
def test_command_has_a_description_and_passes_no_argument_to_a_shell(path: Path) -> None:
    head, body = frontmatter(path)
    assert head["description"]
    assert ("argument-hint" in head) == ("$ARGUMENTS" in body)
    for line in body.splitlines():
        assert not ("!`" in line and "$ARGUMENTS" in line)


@every_command
def test_command_runs_only_what_it_allows_and_never_fails_by_its_exit_code(path: Path) -> None:
    head, body = frontmatter(path)
    allowed = re.findall(r"Bash\((.+?):\*\)", head.get("allowed-tools", ""))
    for line in re.findall(r"!`(.+)`", body):
        assert line.startswith(tuple(allowed))
        assert line.endswith("2>&1 || true")


def allowed_calls(head: dict[str, Any]) -> set[str]:
    return {each.strip() for each in re.findall(r'Bash\(.+?/hooks/memem"(.*?):\*\)', head["allowed-tools"])}


@every_command
def test_command_allows_its_own_calls_except_those_that_need_an_answer(path: Path) -> None:
    head, body = frontmatter(path)
    allowed = allowed_calls(head)
    calls = set(re.findall(CALL, body))
    assert all(any(call.startswith(each) for call in calls) for each in allowed), "allows a call it never makes"
    for call in calls:
        is_allowed = any(call == each or call.startswith(f"{each} ") for each in allowed)
        assert is_allowed == (call not in NEEDS_AN_ANSWER), call


@every_command
def test_command_allows_no_tool_that_removes_notes(path: Path) -> None:
    assert "memory_forget" not in frontmatter(path)[0]["allowed-tools"]


@every_command
def test_calls_of_a_command_are_understood_by_the_command_line(path: Path) -> None:
    for call in re.findall(CALL, frontmatter(path)[1]):
        verb, *words = call.split()
        assert verb in VERBS
        assert not words or words[0].startswith("-") or f"{verb} {words[0]}" in commands_of(verb)


@pytest.mark.parametrize("path", [*COMMANDS, *SKILLS], ids=command_name)
def test_text_names_slash_commands_that_exist_and_no_terminal_command(path: Path) -> None:
    _, body = frontmatter(path)
    assert set(SLASH_COMMAND.findall(body)) <= set(PROMISED)
    assert set(TERMINAL_COMMAND.findall(body)) <= {"`memem config"}, "`memem` may not be on the PATH"


def test_every_command_is_in_the_readme_and_no_other() -> None:
    rows = [line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `/")]
    assert sorted(SLASH_COMMAND.findall("\n".join(rows))) == list(PROMISED)


def test_skill_is_short_and_says_when_to_use_it() -> None:
    (path,) = SKILLS
    head, _ = frontmatter(path)
    assert head["name"] == path.parent.name
    assert "Use it when" in head["description"]
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60


def test_skill_and_commands_have_different_names() -> None:
    assert not set(PROMISED) & {path.name for path in (ROOT / "skills").iterdir()}
