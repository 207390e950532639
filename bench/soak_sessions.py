"""The actors of the soak: Claude Code sessions with server and hooks, and a person editing the vault."""

import json
import subprocess
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from bench import vaults
from bench.scene import Server
from bench.soak_scene import Facts, Scene, statement
from memem.core.surroundings import ROOT
from memem.model.plugin import HOOKS
from memem.upkeep.checks.hooks import ENVELOPES, SHELL, read_hooks
from tests.transcripts import AT_LENGTH

COMPACT_EVERY, TOOL_EVERY, SAVE_EVERY, HALF_EVERY = 15, 3, 9, 4
ASKED_AFTER = 5
"""So many facts after one was told, it is asked for: by then it should have been learned."""
PERSON_SECONDS, COMMAND_EVERY = 0.7, 6


@dataclass
class Ran:
    """A hook, how long it took, and whether it answered."""

    event: str
    seconds: float
    limit: float
    answered: bool
    code: int


@dataclass
class Talk:
    """State shared by all sessions, with the results of their hooks."""

    scene: Scene
    turns: int
    pause: float = 0.0
    ran: list[Ran] = field(default_factory=list)
    done: int = 0
    recalled: list[bool] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Session(threading.Thread):
    """One session of Claude Code, from its start to its end."""

    def __init__(self, talk: Talk, number: int) -> None:
        super().__init__(name=f"session-{number}")
        self.facts = Facts(f"s{number:02}")
        self.server: Server | None = None
        self.restarts = 0
        self._talk = talk
        self._number = number
        self._random = Random(number)
        self._id = str(uuid.uuid4())
        self._script = talk.scene.session(self._id, number)
        self._hooks = {hook.event: hook for hook in read_hooks(ROOT / HOOKS)}

    def run(self) -> None:
        try:
            self._start_server()
            self._hook("SessionStart", source="startup")
            for turn in range(self._talk.turns):
                time.sleep(self._random.uniform(0, 2) * self._talk.pause)
                self._turn(turn)
                self._talk.done += 1
            self._hook("SessionEnd", reason="other")
        except Exception as problem:  # noqa: BLE001 - of a thread: whoever waits for it is told
            self._talk.problems.append(f"{self.name}: {problem!r}")
        finally:
            if self.server:
                self.server.close()

    def _turn(self, turn: int) -> None:
        self._between(turn)
        said = self._says(turn)
        shown = self._hook("UserPromptSubmit", prompt=said)
        if name := self._asks_for(turn):
            self._talk.recalled.append(name.encode() in shown)
        self._script.prompt(said)
        if turn % TOOL_EVERY == 0:
            path = str(Path(self._script.cwd, "src", f"part{turn}.py"))
            self._hook("PreToolUse", tool_name="Read", tool_input={"file_path": path}, tool_use_id="toolu_1")
            self._script.works(self.facts.mutter())
            self._uses_tools(turn)
        answer = f"Done, as for turn {turn} of {self._id}. {AT_LENGTH}"
        if turn % HALF_EVERY == 0:
            rest = self._script.half(answer)
            self._hook("Stop", stop_hook_active=False, last_assistant_message=answer)
            self._script.raw(rest)
        else:
            self._script.claude(answer)
            self._hook("Stop", stop_hook_active=False, last_assistant_message=answer)

    def _says(self, turn: int) -> str:
        """Every other prompt tells something, the rest ask: for what was told, or what has nothing to do with it."""
        if turn % 2 == 0:
            return f"{self.facts.tell()}\n{AT_LENGTH}"
        name = self._asks_for(turn)
        return f"What does the service {name} keep, and how is it restarted?" if name else vaults.prompts(50)[turn % 50]

    def _asks_for(self, turn: int) -> str:
        known = self.facts.told[:-ASKED_AFTER]
        return known[turn // 4] if turn % 4 == 1 and turn // 4 < len(known) else ""

    def _between(self, turn: int) -> None:
        """Apply one of the disturbances a running session may meet."""
        half = self._talk.turns // 2
        if turn and turn % COMPACT_EVERY == 0:
            self._hook("PreCompact", trigger="auto")
            self._script.compacted()
            self._hook("SessionStart", source="compact")
        if turn == half and self._number % 4 == 1:
            self._script.rotate()
        if turn == half and self._number % 4 == 2:
            self._hook("SessionEnd", reason="prompt_input_exit")
            self._hook("SessionStart", source="resume")
        if turn == half and self._number % 4 == 3:
            self._id = str(uuid.uuid4())
            self._script = self._script.fork(self._id)
            self._hook("SessionStart", source="fork")

    def _uses_tools(self, turn: int) -> None:
        """As Claude would; a server that was killed is started again, as its user has Claude Code do."""
        arguments: dict[str, Any] = {"query": vaults.queries(20)[turn % 20]}
        name = "memory_search"
        if turn % SAVE_EVERY == 0:
            said = self.facts.tell().partition(": ")[2]
            name, arguments = "memory_save", {"content": said, "title": f"Kept in turn {turn} of {self._number}"}
        for _ in range(3):
            try:
                assert self.server
                self.server.call(name, arguments)
            except (RuntimeError, OSError):
                self.restarts += 1
                self._start_server()
            else:
                return
        raise RuntimeError(f"{name} was never answered")

    def _start_server(self) -> None:
        self.server = Server(self._environ(), Path(self._script.cwd))

    def _environ(self) -> dict[str, str]:
        told = {"CLAUDE_CODE_SESSION_ID": self._id, "CLAUDE_PROJECT_DIR": self._script.cwd}
        return self._talk.scene.environ | told

    def _hook(self, event: str, **told: Any) -> bytes:
        hook = self._hooks[event]
        about = {"session_id": self._id, "transcript_path": str(self._script.path), "cwd": self._script.cwd}
        given = json.dumps({**about, "hook_event_name": event, **ENVELOPES[event], **told}).encode()
        begun = time.perf_counter()
        with subprocess.Popen(
            [SHELL, "-c", hook.command],
            env=self._environ(),
            cwd=self._script.cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            output, _ = process.communicate(given)
        seconds = time.perf_counter() - begun
        self._talk.ran.append(Ran(event, seconds, hook.seconds, bool(output.strip()), process.returncode))
        return output


class Person(threading.Thread):
    """Writes, renames and deletes own notes, adds to those of the memory, and uses the command line now and then."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(name="person")
        self.facts = Facts("p99")
        self.over = threading.Event()
        self.problems: list[str] = []
        self.deleted: list[Path] = []
        self.commands = 0
        self._scene = scene
        self._random = Random(7)

    def run(self) -> None:
        deeds: list[Callable[[int], None]] = [self._edits, self._renames, self._edits, self._deletes, self._adds]
        number = 0
        while not self.over.wait(PERSON_SECONDS):
            number += 1
            deeds[number % len(deeds)](number)
            if number % COMMAND_EVERY == 0:
                self._commands(number)

    def _any(self) -> Path:
        return self._random.choice(sorted(self._scene.theirs))

    def _edits(self, number: int) -> None:
        path = self._any()
        self._scene.write(path, f"{self._scene.theirs[path]}\nMore, written by hand at {number}.\n")

    def _renames(self, number: int) -> None:
        path = self._any()
        new = path.with_name(f"Note renamed {number}.md")
        path.rename(new)
        self._scene.theirs[new] = self._scene.theirs.pop(path)

    def _deletes(self, number: int) -> None:
        if len(self._scene.theirs) > number % 20 + 10:
            path = self._any()
            path.unlink()
            del self._scene.theirs[path]
            self.deleted.append(path)

    def _adds(self, number: int) -> None:
        path = self._scene.own.parent / "memem" / "memories" / f"Added {number}.md"
        self._scene.write(path, f"{statement(f'added-{number}', number)}\n")

    def _commands(self, number: int) -> None:
        said = self.facts.tell().partition(": ")[2]
        for arguments in (["search", vaults.queries(20)[number % 20]], ["save", said, "--project", "ledger"]):
            done = subprocess.run(
                [str(ROOT / "hooks" / "memem"), *arguments],
                env=self._scene.environ,
                cwd=self._scene.user,
                capture_output=True,
                text=True,
                check=False,
            )
            self.commands += 1
            if done.returncode:
                self.problems.append(f"memem {arguments[0]}: {done.stderr.strip()[-200:]}")
                with suppress(IndexError):
                    self.facts.told.remove(self.facts.told[-1])
