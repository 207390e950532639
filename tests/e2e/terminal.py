"""Drives the interactive Claude Code in a real terminal, under tmux.

    with terminal(machine, project) as screen:
        screen.type("/remember tokens are signed with RS256")
        screen.wait_for("All right.")
        screen.text                  # the screen with everything that scrolled off it

The session ends with the block. A failed wait shows the screen in its message.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.conftest import skip_or_fail
from tests.e2e.claude_code import Machine

COLUMNS, ROWS = 150, 50
TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.05
API_KEY_TAIL = 20
"""Claude Code remembers an approved API key by its last characters."""


def one_line(text: str) -> str:
    """Undo line wrapping, so that a sentence is found wherever the terminal broke it."""
    return " ".join(text.split())


@dataclass(frozen=True)
class Terminal:
    """One tmux server with one window, in which Claude Code runs."""

    env: dict[str, str]
    server: str

    @property
    def text(self) -> str:
        """The screen and its scrollback, one line per row, without trailing blanks."""
        rows = self.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "main").splitlines()
        return "\n".join(row.rstrip() for row in rows).rstrip()

    @property
    def screen(self) -> str:
        """The visible part only."""
        rows = self.tmux("capture-pane", "-p", "-t", "main").splitlines()
        return "\n".join(row.rstrip() for row in rows).rstrip()

    @property
    def is_open(self) -> bool:
        return self.run("has-session", "-t", "main").returncode == 0

    def type(self, words: str) -> None:
        """Type one line and press Enter once it is on the screen: a faster Enter would count as pasted text."""
        self.write(words)
        self.press("Enter")

    def write(self, words: str) -> None:
        """Type without pressing Enter."""
        self.tmux("send-keys", "-t", "main", "-l", "--", words)
        ending = one_line(words)[-20:]
        self.wait_until(lambda: ending in one_line(self.screen), f"the typed text {words!r}")

    def press(self, *keys: str) -> None:
        """Press keys by their tmux names: Enter, Escape, Up, C-c."""
        self.tmux("send-keys", "-t", "main", *keys)

    def wait_for(self, words: str, times: int = 1, seconds: float = TIMEOUT_SECONDS) -> None:
        """Wait until the words are on the screen or in its scrollback, at least so many times."""
        wanted = one_line(words)
        self.wait_until(lambda: one_line(self.text).count(wanted) >= times, repr(words), seconds)

    def wait_until_idle(self) -> None:
        """Wait until the turn is over, its Stop hook included."""
        self.wait_until(lambda: "esc to interrupt" not in self.screen, "the end of the turn")

    def wait_until(self, done: Callable[[], bool], wanted: str, seconds: float = TIMEOUT_SECONDS) -> None:
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, f"waited {seconds:.0f} s for {wanted}; the screen:\n{self.text}"
            time.sleep(POLL_SECONDS)

    def leave(self) -> None:
        """End the session the way a user does, with Ctrl-C twice."""
        self.press("Escape")
        end = time.monotonic() + TIMEOUT_SECONDS
        while self.is_open:
            assert time.monotonic() < end, f"Claude Code does not end; the screen:\n{self.text}"
            self.run("send-keys", "-t", "main", "C-c")
            time.sleep(POLL_SECONDS * 4)

    def tmux(self, *arguments: str) -> str:
        """Run one tmux command, which must succeed."""
        done = self.run(*arguments)
        assert done.returncode == 0, f"tmux {arguments}: {done.stderr}"
        return done.stdout

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["tmux", "-u", "-f", os.devnull, "-L", self.server, *arguments]
        return subprocess.run(
            command, env=self.env, capture_output=True, text=True, encoding="utf-8", timeout=30, check=False
        )


@contextmanager
def terminal(machine: Machine, cwd: Path, *options: str) -> Iterator[Terminal]:
    """Start `claude OPTIONS` in a folder it trusts and wait for its prompt; at the end, leave it and stop tmux."""
    if not shutil.which("tmux"):
        skip_or_fail("tmux", "needs tmux, to type into the real Claude Code")
    _accept_dialogs(machine, cwd)
    (machine.home / "tmp").mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="memem-") as sockets:
        env = {name: value for name, value in machine.env.items() if not name.startswith("TMUX")}
        env |= {"TMUX_TMPDIR": sockets, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        opened = Terminal(env, "claude")
        size = ("-x", str(COLUMNS), "-y", str(ROWS))
        opened.tmux("new-session", "-d", "-s", "main", *size, "-c", str(cwd), "env", str(machine.claude), *options)
        try:
            opened.tmux("set-option", "-g", "history-limit", "50000")
            opened.wait_until(lambda: "❯" in opened.screen, "the prompt")
            yield opened
            opened.leave()
        finally:
            opened.run("kill-server")


def _accept_dialogs(machine: Machine, cwd: Path) -> None:
    """Answer what Claude Code asks at its first start: theme, API key, trust in the folder."""
    path = machine.home / ".claude.json"
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    key = machine.env["ANTHROPIC_API_KEY"][-API_KEY_TAIL:]
    trusted = config.get("projects", {}).get(str(cwd), {}) | {"hasTrustDialogAccepted": True}
    config |= {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": "99.0.0",
        "theme": "dark",
        "customApiKeyResponses": {"approved": [key], "rejected": []},
        "projects": config.get("projects", {}) | {str(cwd): trusted},
    }
    path.write_text(json.dumps(config), encoding="utf-8")
