"""What the environment tells of where memem was started, and of the programs and folders around it."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from memem.core import commands

HUB = "https://huggingface.co"


class Surroundings:
    """A part of the workspace, which has read the environment."""

    environ: Mapping[str, str]
    user_home: Path

    @property
    def claude_folder(self) -> Path:
        """Where Claude Code keeps what it knows."""
        return Path(self.environ.get("CLAUDE_CONFIG_DIR") or self.user_home / ".claude")

    @property
    def failed_servers_file(self) -> Path:
        """Where Claude Code notes the MCP servers that it does not start again for a while."""
        return self.claude_folder / "mcp-needs-auth-cache.json"

    @property
    def session(self) -> str:
        """The session of Claude Code that this process was started in, if any."""
        return self.environ.get("CLAUDE_CODE_SESSION_ID", "")

    @property
    def session_folder(self) -> Path:
        """The folder that this session is about."""
        folder = self.environ.get("CLAUDE_PROJECT_DIR")
        try:
            return Path(folder) if folder else Path.cwd()
        except FileNotFoundError:  # it was deleted while we stood in it
            return self.user_home

    @property
    def is_a_call_of_ours(self) -> bool:
        """Whether this process was started, by whatever way, from one of our own calls of a model."""
        return bool(self.environ.get("MEMEM_HOOKS_OFF"))

    @property
    def claude_command(self) -> str | None:
        """The path of the user's own CLI; hooks may have a PATH without the places it is usually installed in."""
        import shutil

        usual = (self.user_home / ".claude" / "local", self.user_home / ".local" / "bin")
        return shutil.which("claude", path=os.pathsep.join([self.environ.get("PATH", ""), *map(str, usual)]))

    @property
    def hub_cache(self) -> Path:
        """Where the hub's own library keeps what it has fetched; the variables are its."""
        caches = Path(self.environ.get("XDG_CACHE_HOME") or self.user_home / ".cache")
        hub_home = Path(self.environ.get("HF_HOME") or caches / "huggingface")
        named = self.environ.get("HF_HUB_CACHE") or self.environ.get("HUGGINGFACE_HUB_CACHE")
        return Path(named) if named else hub_home / "hub"

    @property
    def hub_endpoint(self) -> str:
        return self.environ.get("HF_ENDPOINT") or HUB

    @property
    def prefix(self) -> Path:
        """The environment that this program runs in."""
        return Path(sys.prefix)

    @property
    def reach(self) -> commands.Reach:
        """How a reader of this process's output can start memem."""
        return commands.reach_of(self.environ, self.prefix)

    @property
    def link(self) -> Path:
        """Where `memem link` makes memem's command reachable."""
        return self.user_home / ".local" / "bin" / commands.COMMAND

    @property
    def uv(self) -> str | None:
        """The path of an uv: the one that bootstrap.sh fetched, or the user's."""
        import shutil

        own = Path(sys.prefix, ".memem", "uv", "bin", "uv")
        return str(own) if own.is_file() else shutil.which("uv", path=self.environ.get("PATH"))


def reach_in(environ: Mapping[str, str]) -> commands.Reach:
    """The same where no workspace can be opened."""
    here = Surroundings()
    here.environ = environ
    return here.reach
