"""Drives the interactive Claude Code in a real terminal, under tmux.

    with terminal(machine, project) as screen:
        screen.type("/remember tokens are signed with RS256")
        screen.wait_for("All right.")
        screen.text                  # the screen with everything that scrolled off it

`type` sends a line, `write` types without sending, `press` takes tmux's names of keys, `confirm` accepts a dialog.
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
PROMPT = "❯"
TIMEOUT_SECONDS = 60.0
ENTER_SECONDS = 0.5
POLL_SECONDS = 0.05
API_KEY_TAIL = 20
"""Claude Code remembers an approved API key by its last characters."""


def one_line(text: str) -> str:
    """Undo line wrapping, so that a sentence is found wherever the terminal broke it."""
    return " ".join(text.split())


def without_blanks(text: str) -> str:
    return "".join(text.split())


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

    @property
    def input(self) -> str:
        """The text in the input box without blanks, because a long word may be broken anywhere."""
        _, mark, below = self.screen.rpartition(PROMPT)
        return without_blanks(below.partition("───")[0]) if mark else ""

    def type(self, words: str) -> None:
        """Type one line and press Enter; again where Claude Code took a quick Enter for a pasted line break."""
        self.write(words)
        end = time.monotonic() + TIMEOUT_SECONDS
        while self.input.startswith(without_blanks(words)):
            assert time.monotonic() < end, f"Enter does not send {words!r}; the screen:\n{self.text}"
            self.press("Enter")
            self._poll(lambda: not self.input.startswith(without_blanks(words)), ENTER_SECONDS)

    def write(self, words: str) -> None:
        """Type without pressing Enter."""
        self.tmux("send-keys", "-t", "main", "-l", "--", words)
        self.wait_until(lambda: self.input == without_blanks(words), f"the typed text {words!r}")

    def press(self, *keys: str) -> None:
        """Press keys by their tmux names: Enter, Escape, Up, C-c."""
        self.tmux("send-keys", "-t", "main", *keys)

    def confirm(self, question: str) -> None:
        """Accept the first choice of a dialog. A dialog ignores keys for a moment, hence Enter until it is gone."""
        self.wait_for(question)
        end = time.monotonic() + TIMEOUT_SECONDS
        while one_line(question) in one_line(self.screen):
            assert time.monotonic() < end, f"the dialog stays; the screen:\n{self.text}"
            self.press("Enter")
            self._poll(lambda: one_line(question) not in one_line(self.screen), ENTER_SECONDS)

    def wait_for(self, words: str, times: int = 1, seconds: float = TIMEOUT_SECONDS) -> None:
        """Wait until the words are on the screen or in its scrollback, at least so many times."""
        wanted = one_line(words)
        self.wait_until(lambda: one_line(self.text).count(wanted) >= times, repr(words), seconds)

    def wait_until_idle(self) -> None:
        """Wait until the turn is over, its Stop hook included."""
        self.wait_until(lambda: "esc to interrupt" not in self.screen, "the end of the turn")

    def wait_until(self, done: Callable[[], bool], wanted: str, seconds: float = TIMEOUT_SECONDS) -> None:
        assert self._poll(done, seconds), f"waited {seconds:.0f} s for {wanted}; the screen:\n{self.text}"

    def _poll(self, done: Callable[[], bool], seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not done():
            if time.monotonic() > end:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def leave(self) -> None:
        """End the session the way a user does, with Ctrl-C twice."""
        self.press("Escape")
        end = time.monotonic() + TIMEOUT_SECONDS
        while self.is_open:
            assert time.monotonic() < end, f"Claude Code does not end; the screen:\n{self.text}"
            self.run("send-keys", "-t", "main", "C-c")
            self._poll(lambda: not self.is_open, ENTER_SECONDS)

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
        settings = ("start-server", ";", "set-option", "-g", "history-limit", "50000", ";")
        session = ("new-session", "-d", "-s", "main", *size, "-c", str(cwd))
        opened.tmux(*settings, *session, "env", str(machine.claude), *options)
        try:
            opened.wait_until(lambda: PROMPT in opened.screen, "the prompt")
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
