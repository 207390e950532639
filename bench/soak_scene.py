"""Where the soak takes place: a home of its own with a large vault in it, a person's own notes, a claude that sometimes
fails, and sessions as files that grow as Claude Code writes them."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from bench import vaults
from bench.meaning import fill
from memem.core.dates import system_clock
from memem.core.surroundings import ROOT
from memem.search import refresh
from memem.search.transcripts import consent
from memem.workspace import Workspace, open_workspace
from tests import fake_claude
from tests.transcripts import AT_LENGTH, Transcript

PROJECTS = vaults.PROJECTS[1:]
STEPS, DOLLARS, TOKENS = 2_000, 0.001, 135
"""The behaviours the fake CLI takes in turn; the cost it reports for a call."""
TRANSLATED = {"echo": True}
TROUBLE: tuple[dict[str, Any], ...] = (
    {**TRANSLATED, "sleep": 2.0},
    {"raw": "@@@ not at all"},
    {"words": "I would rather talk about walruses."},
    {"exit": 1, "stderr": "Error: something broke"},
    {"result": {"type": "result", "is_error": True, "result": "API Error: 529 Overloaded", "total_cost_usd": 0}},
    {"kill": True},
    {"result": {"type": "result", "is_error": False, "structured_output": {"facts": []}}},
)
"""Slow, garbled, no JSON, failing, overloaded, killed, of another shape."""
TROUBLED = 0.12
OWN_NOTES = 40
FACT = re.compile(r"\bfact-[a-z]\d\dn\d{4}\b")


def statement(name: str, number: int) -> str:
    """Something that is worth keeping, and that nothing else says."""
    words = [word for word in vaults.memory(number).body.split() if word.isascii()][:14]
    return f"The service {name} keeps {' '.join(words).rstrip('.')} and is restarted by hand."


class Facts:
    """Facts stated in sessions, by name: each must be saved once; facts from tools and sidechains never."""

    def __init__(self, initial: str) -> None:
        self.told: list[str] = []
        self.untold: list[str] = []
        self._initial = initial
        self._first = 500_000 + 10_000 * int(initial[1:])  # of memories that no vault has
        self._numbers = count()

    def tell(self) -> str:
        return self._state_fact(self.told)

    def mutter(self) -> str:
        """Where nobody is to hear it."""
        return self._state_fact(self.untold)

    def _state_fact(self, names: list[str]) -> str:
        number = next(self._numbers)
        names.append(f"fact-{self._initial}n{number:04}")
        return f"FACT-{self._initial}n{number:04}: {statement(names[-1], self._first + number)}"


class Script(Transcript):
    """A session's file, as Claude Code writes it."""

    def prompt(self, text: str) -> None:
        self.human(text)

    def works(self, muttered: str) -> None:
        """A tool is used, its result told, and an agent asked: nothing of it is anybody's word."""
        self.tool("Bash", command=f"grep -rn service src  # {self._count}")
        block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": f"{muttered}\n{'output ' * 300}"}
        self.add(type="user", message={"role": "user", "content": [block]}, toolUseResult={"stdout": muttered})
        self.add(type="user", isSidechain=True, message={"role": "user", "content": f"{muttered}\n{AT_LENGTH}"})
        self.raw(b'{"type":"file-history-snapshot","messageId":"x","snapshot":{}}\n')

    def half(self, text: str) -> bytes:
        """The beginning of an answer is in the file; returns its end."""
        message = {"role": "assistant", "id": "msg_1", "content": [{"type": "text", "text": text}]}
        line = json.dumps(self.line(type="assistant", message=message)).encode() + b"\n"
        self.raw(line[: len(line) // 2])
        return line[len(line) // 2 :]

    def compacted(self) -> None:
        self.add(type="system", subtype="compact_boundary", content="Conversation compacted")
        told = "This session is being continued from a previous conversation. FACT-none: Summaries are nobody's word."
        self.add(type="user", isCompactSummary=True, message={"role": "user", "content": told})

    def rotate(self) -> None:
        """The same lines in another file of the same name."""
        new = self.path.with_suffix(".new")
        new.write_bytes(self.path.read_bytes())
        new.replace(self.path)

    def fork(self, session: str) -> "Script":
        """Another session that begins with what was said in this one."""
        forked = Script(self.path.with_name(f"{session}.jsonl"), cwd=self.cwd, start=self.now)
        forked.raw(self.path.read_bytes())
        forked._last = self._last
        return forked


class Scene:
    """The home, and everything around it."""

    def __init__(self, folder: Path, notes: int, model: str | None) -> None:
        self.folder = folder
        self.notes = notes
        self.claude = folder / "claude"
        self.user = folder / "user"
        self.own = folder / "vault" / "Journal"
        for each in (self.user, self.claude):
            each.mkdir(parents=True)
        fake_claude.install(self.claude, list(_steps()))
        meaning = {"MEMEM_MODEL_DIR": model} if model else {"MEMEM_ENCODER": "none"}
        usual = {name: os.environ[name] for name in ("LANG", "TMPDIR", "TZ") if name in os.environ}
        self.environ = usual | {
            "HOME": str(self.user),
            "PATH": f"{self.claude}{os.pathsep}{os.environ['PATH']}",
            "MEMEM_DIR": str(folder / "home"),
            "MEMEM_OBSIDIAN_VAULT": str(folder / "vault"),
            "MEMEM_PRETOOL_GATING": "1",
            "MEMEM_RETRY_BASE_SECONDS": "0.5",
            "MEMEM_MAX_FAILURES": "100",
            "MEMEM_MODEL_TIMEOUT": "20",
            "MEMEM_DAILY_CALLS": "100000",
            "MEMEM_DAILY_USD": "10000",
            "CLAUDECODE": "1",
            "CLAUDE_PLUGIN_ROOT": str(ROOT),
            **meaning,
        }
        self.theirs: dict[Path, str] = {}
        """The person's own notes, as the person left them last."""

    def open(self) -> Workspace:
        return open_workspace(actor="bench", environ=self.environ)

    def prepare(self) -> None:
        """Write the vault, read it, give it vectors where there is an encoder, and have sessions mined."""
        ws = self.open()
        vaults.write_notes(ws, self.notes)
        self.own.mkdir()
        for number in range(OWN_NOTES):
            place = ws.store.paths.memories if number % 2 else self.own
            self.write(place / f"Note {number:02}.md", f"# Note {number}\n\n{statement(f'own-{number}', number)}\n")
        refresh.refresh(ws)
        if ws.settings.encoder != "none":
            fill(ws)
        consent.opt_in(ws)
        ws.close()

    def write(self, path: Path, text: str) -> None:
        """As the person does."""
        path.write_text(text, encoding="utf-8")
        self.theirs[path] = text

    def session(self, name: str, number: int) -> Script:
        project = PROJECTS[number % len(PROJECTS)]
        cwd = self.folder / "work" / project
        cwd.mkdir(parents=True, exist_ok=True)
        projects = self.user / ".claude" / "projects" / str(cwd).replace("/", "-")
        return Script(projects / f"{name}.jsonl", cwd=cwd, start=system_clock())

    def count_saved_facts(self) -> Counter[str]:
        """How many notes there are of each fact, those that wait for a person included."""
        found: Counter[str] = Counter()
        for path in (self.folder / "vault" / "memem").rglob("*.md"):
            body = path.read_text(encoding="utf-8", errors="replace").partition("\n---\n")[2]
            if path.parent.name in ("memories", "review"):
                found.update(set(FACT.findall(body.partition("> [!quote]")[0])))
        return found


def _steps() -> Iterator[dict[str, Any]]:
    random = Random(vaults.SEED)
    for _ in range(STEPS):
        yield random.choice(TROUBLE) if random.random() < TROUBLED else TRANSLATED


def cost_told(calls: list[dict[str, Any]]) -> tuple[int, float, int]:
    """Count the calls that reported a cost, and sum it in dollars and tokens."""
    steps = list(_steps())
    played = [steps[min(call["step"], STEPS - 1)] for call in calls]
    told = [step for step in played if "echo" in step or "words" in step]
    return len(told), len(told) * DOLLARS, len(told) * TOKENS
