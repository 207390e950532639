"""The plugin as Claude Code takes it: valid, installed from a folder or from a repository, set up, removed."""

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.claude_code import INSTALLED, MARKETPLACE, TOOL, Machine, copy_of_the_plugin, install
from tests.e2e.conftest import AWKWARD, CLAUDES, MODEL, PATIENT, claude
from tests.e2e.model_stub import ModelStub, tool_use

FACT = "Tokens of the shop are signed with RS256."


@pytest.fixture
def fresh(stub: ModelStub, runtime: str, tmp_path: Path) -> Iterator[Machine]:
    """A machine on which nothing of memem's has ever been."""
    own = MODEL | {"XDG_RUNTIME_DIR": runtime}
    machine = Machine(claude("2.1.325"), tmp_path / f"{AWKWARD} too", stub, own, online=True)
    machine.home.mkdir()
    yield machine
    machine.settle()


@pytest.mark.parametrize("version", CLAUDES)
def test_manifests_are_valid_by_the_strictest_rules(
    version: str, plugin: Path, stub: ModelStub, tmp_path: Path
) -> None:
    machine = Machine(claude(version), tmp_path / "home", stub)
    assert "Validation passed" in machine.run("plugin", "validate", str(plugin), "--strict", cwd=tmp_path)


@pytest.mark.parametrize("version", CLAUDES)
def test_installed_plugin_is_enabled_and_its_server_connected(
    machine_of: Callable[[str], Machine], version: str, project: Path
) -> None:
    machine = machine_of(version)
    (listed,) = json.loads(machine.run("plugin", "list", "--json"))
    assert (listed["id"], listed["enabled"], listed.get("errors")) == (INSTALLED, True, None)
    assert machine.says("Hello.", cwd=project).servers == {"plugin:memem:memem": "connected"}


@dataclass(frozen=True)
class Published:
    """The plugin in a repository, under an address that only the git of one machine can follow."""

    folder: Path
    url: str = "https://example.invalid/memem.git"

    def publish(self, version: str) -> None:
        """One more commit, with this version."""
        manifest = self.folder / ".claude-plugin" / "plugin.json"
        described = json.loads(manifest.read_text(encoding="utf-8")) | {"version": version}
        manifest.write_text(json.dumps(described), encoding="utf-8")
        git = ["git", "-c", "user.name=Nobody", "-c", "user.email=nobody@example.invalid", "-C", str(self.folder)]
        for step in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", version]):
            subprocess.run([*git, *step], check=True, capture_output=True)

    def is_known_to(self, machine: Machine) -> None:
        settings = f'[url "file://{self.folder}"]\n\tinsteadOf = {self.url}\n'
        (machine.home / ".gitconfig").write_text(settings, encoding="utf-8")


@pytest.fixture
def published(fresh: Machine, tmp_path: Path) -> Published:
    made = Published(copy_of_the_plugin(tmp_path / "published"))
    made.publish("0.0.1")
    made.is_known_to(fresh)
    return made


def shown_to_user(machine: Machine, project: Path) -> list[str]:
    """Return the message a session start shows to its user."""
    printed = machine.says("Hello.", cwd=project).printed_by("SessionStart")
    machine.settle()
    return [json.loads(text).get("systemMessage", "") for text in printed if text]


def root_of(machine: Machine, version: str) -> Path:
    return machine.home / ".claude" / "plugins" / "cache" / MARKETPLACE / "memem" / version


def built_for(machine: Machine) -> str:
    """The folder that the environment points at."""
    return (machine.data / "venv" / ".memem" / "built").read_text(encoding="utf-8").splitlines()[-1]


def test_first_session_sets_the_plugin_up_in_the_background_and_reports_it_once(
    fresh: Machine, published: Published, project: Path
) -> None:
    install(fresh, published.url)
    (first,) = shown_to_user(fresh, project)
    assert "is being set up in the background" in first
    assert built_for(fresh) == str(root_of(fresh, "0.0.1"))
    assert shown_to_user(fresh, project) == []


def test_new_version_works_at_once_and_takes_over_the_environment(
    fresh: Machine, published: Published, project: Path
) -> None:
    install(fresh, published.url)
    shown_to_user(fresh, project)
    published.publish("0.0.2")
    fresh.run("plugin", "marketplace", "update", MARKETPLACE)
    fresh.run("plugin", "update", INSTALLED)
    assert shown_to_user(fresh, project) == []
    assert built_for(fresh) == str(root_of(fresh, "0.0.2")), "the new version has not taken over the environment"


def test_uninstalled_plugin_leaves_memories_and_state(fresh: Machine, plugin: Path, project: Path) -> None:
    install(fresh, plugin)
    fresh.set_up(plugin)
    fresh.memem(plugin, "save", FACT, "--title", "Signing", cwd=project)
    fresh.memem(plugin, "mining", "on")
    (note,) = fresh.vault.rglob("memories/*.md")

    fresh.run("plugin", "uninstall", INSTALLED)
    assert not fresh.data.exists()
    assert FACT in note.read_text(encoding="utf-8")
    assert (fresh.memem_dir / "state" / ".miner-opted-in").exists()


def test_memem_removes_itself_and_leaves_the_vault(fresh: Machine, plugin: Path, project: Path) -> None:
    install(fresh, plugin)
    fresh.set_up(plugin)
    fresh.memem(plugin, "save", FACT, "--title", "Signing", cwd=project)
    fresh.says("Hello.", cwd=project)
    fresh.settle()
    (note,) = fresh.vault.rglob("memories/*.md")

    assert "memem was removed from this machine." in fresh.memem(plugin, "uninstall", "--yes")
    assert FACT in note.read_text(encoding="utf-8")
    assert json.loads(fresh.run("plugin", "list", "--json")) == []
    assert [path for path in (fresh.data, fresh.memem_dir) if path.exists()] == []
    assert not fresh.says("Hello again.", cwd=project).servers
    assert not fresh.memem_dir.exists()


def test_options_set_at_installation_apply_to_hooks_server_and_commands(
    fresh: Machine, stub: ModelStub, plugin: Path, project: Path
) -> None:
    vault = fresh.home / "my vault"
    install(fresh, plugin, {"vault": str(vault)})
    fresh.set_up(plugin)
    fresh.more |= PATIENT
    save = tool_use(f"{TOOL}memory_save", content=FACT, title="Signing", tags=[])
    stub.answers(lambda request: "Keep it" in request.last_message, save)
    fresh.says("Keep it.", "--allowedTools", f"{TOOL}memory_save", cwd=project)
    fresh.settle()
    (note,) = vault.rglob("memories/*.md")
    assert FACT in note.read_text(encoding="utf-8")
    fresh.says("What are tokens of the shop signed with, RS256?", cwd=project)
    assert FACT in stub.requests[-1].everything
    assert str(vault) in fresh.memem(plugin, "status")
