"""The environment memem runs in, and the commands that its user can type."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import memem

if TYPE_CHECKING:
    from memem.core.settings import Settings

COMMAND = "memem"
# Text quoted as '…' or "…" is skipped: an id, a path, a property of a note.
_QUOTED = r"""(?<!\w)(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")(?!\w)"""
_NAMED = re.compile(rf"{_QUOTED}|`(?P<variables>(?:[A-Z_]+=\S+ )*)memem (?P<arguments>[a-z][^`]*)`")
_WITH_ARGUMENTS = {
    "review": "memem-review",
    "conflicts": "memem-conflicts",
    "undo": "memem-undo",
    "forget": "forget",
    "search": "recall",
    "save": "remember",
    "why": "memem-why",
}
_EXACT = {
    "status": "memem-status",
    "doctor": "memem-doctor",
    "mine on": "memem-mine",
    "mine off": "memem-mine off",
    "mine --history": "memem-mine-history",
}
_MARKS = ("CLAUDECODE", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA")


@dataclass(frozen=True, slots=True)
class Reach:
    """How the reader of a text can start memem: with slash commands, by its name, or by its full path."""

    in_claude_code: bool = False
    command: str = COMMAND


def reach_of(environ: Mapping[str, str], prefix: Path) -> Reach:
    """Find out how readers of this process's output can start memem; `prefix` is its environment."""
    import shlex

    own = command_path(prefix)
    is_reachable = is_on_path(environ, prefix) or not own.is_file()
    return Reach(any(environ.get(mark) for mark in _MARKS), COMMAND if is_reachable else shlex.quote(str(own)))


def command_path(prefix: Path) -> Path:
    """Return the command in an environment. The plugin's environment stays in place when the plugin is updated."""
    return prefix / "bin" / COMMAND


def is_on_path(environ: Mapping[str, str], prefix: Path) -> bool:
    """Check whether `memem` on the PATH starts this installation."""
    import shutil  # slow to import, and rarely needed

    found = shutil.which(COMMAND, path=environ.get("PATH", ""))
    return found is not None and os.path.realpath(found) == os.path.realpath(command_path(prefix))


def reachable(text: str, reach: Reach) -> str:
    """Rewrite the commands in one of memem's own messages so that its reader can run them."""
    if "`" not in text or reach == Reach():
        return text

    def rewrite(match: re.Match[str]) -> str:
        variables, arguments = match["variables"], match["arguments"]
        if arguments is None:
            return match[0]
        slash = slash_command(arguments) if reach.in_claude_code and not variables else ""
        return f"`{slash or f'{variables}{reach.command} {arguments}'}`"

    return _NAMED.sub(rewrite, text)


def slash_command(arguments: str) -> str:
    """Return the slash command for `memem ARGUMENTS`; empty if there is none."""
    verb, _, rest = arguments.partition(" ")
    if arguments in _EXACT:
        return f"/{_EXACT[arguments]}"
    if verb not in _WITH_ARGUMENTS or "--" in rest or arguments.startswith("review suggestions"):
        return ""
    return f"/{_WITH_ARGUMENTS[verb]} {rest}".rstrip()


HUB = "https://huggingface.co"


class Surroundings:
    """The part of a workspace that depends on the environment variables."""

    settings: "Settings"
    environ: Mapping[str, str]
    user_home: Path

    @property
    def claude_folder(self) -> Path:
        return Path(self.environ.get("CLAUDE_CONFIG_DIR") or self.user_home / ".claude")

    @property
    def failed_servers_file(self) -> Path:
        """Claude Code's list of MCP servers that it will not start for a while."""
        return self.claude_folder / "mcp-needs-auth-cache.json"

    @property
    def session(self) -> str:
        """The Claude Code session that started this process; empty for none."""
        return self.environ.get("CLAUDE_CODE_SESSION_ID", "")

    @property
    def session_folder(self) -> Path:
        folder = self.environ.get("CLAUDE_PROJECT_DIR")
        try:
            return Path(folder) if folder else Path.cwd()
        except FileNotFoundError:  # the current folder was deleted
            return self.user_home

    @property
    def is_own_call(self) -> bool:
        """True in a process that one of memem's own model calls started."""
        return bool(self.environ.get("MEMEM_HOOKS_OFF"))

    @property
    def claude_command(self) -> str | None:
        """The path of the user's CLI; a hook's PATH may lack the folders it is usually installed in."""
        import shutil

        usual = (self.user_home / ".claude" / "local", self.user_home / ".local" / "bin")
        return shutil.which("claude", path=os.pathsep.join([self.environ.get("PATH", ""), *map(str, usual)]))

    @property
    def asks_model(self) -> bool:
        """Whether there is a model to ask, at MEMEM_MODEL_URL or through the CLI; without one, rules have to do."""
        return self.settings.extractor == "claude" and bool(self.settings.model_url or self.claude_command)

    @property
    def model_key(self) -> str:
        """The key of the server at MEMEM_MODEL_URL; no file has it."""
        return self.environ.get("MEMEM_MODEL_KEY", "")

    @property
    def hub_cache(self) -> Path:
        """The cache of Hugging Face's library, which defines these variables."""
        caches = Path(self.environ.get("XDG_CACHE_HOME") or self.user_home / ".cache")
        hub_home = Path(self.environ.get("HF_HOME") or caches / "huggingface")
        named = self.environ.get("HF_HUB_CACHE") or self.environ.get("HUGGINGFACE_HUB_CACHE")
        return Path(named) if named else hub_home / "hub"

    @property
    def hub_endpoint(self) -> str:
        return self.environ.get("HF_ENDPOINT") or HUB

    @property
    def prefix(self) -> Path:
        return Path(sys.prefix)

    @property
    def reach(self) -> Reach:
        return reach_of(self.environ, self.prefix)

    @property
    def link(self) -> Path:
        """The link to the command that `memem config link` creates."""
        return self.user_home / ".local" / "bin" / COMMAND

    @property
    def uv(self) -> str | None:
        """The path of uv: the one that bootstrap.sh downloaded, or the user's."""
        import shutil

        own = Path(sys.prefix, ".memem", "uv", "bin", "uv")
        return str(own) if own.is_file() else shutil.which("uv", path=self.environ.get("PATH"))


ROOT = Path(memem.__file__).parent.parent  # of the plugin or checkout; site-packages for an installed package
