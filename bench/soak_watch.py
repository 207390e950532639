"""Looks at the soak from outside: which processes of ours there are, what they hold, and how large our files are."""

import os
import statistics
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import INTERPRETER
from bench.soak_scene import Scene

LOOK_SECONDS = 1.0
SERVER, HOOK, LATER, CALL, COMMAND, OTHER = "servers", "hooks", "background", "model calls", "commands", "other"


@dataclass(frozen=True, slots=True)
class Process:
    """One that works on our home, by its environment."""

    pid: int
    kind: str
    command: str


@dataclass(frozen=True, slots=True)
class Look:
    """One sample of all processes."""

    seconds: float
    kinds: Counter[str]
    memory: int  # of all servers, in bytes
    servers: int
    descriptors: int
    sizes: dict[str, int]


@dataclass
class Watch(threading.Thread):
    """Looks again and again until it is over; and times bare starts of the interpreter in between."""

    scene: Scene
    looks: list[Look] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    begun: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        super().__init__(name="watch")

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        while not self.over.wait(LOOK_SECONDS):
            self.look()
            self.bare.append(_bare_start())

    def look(self) -> None:
        self.looks.append(_look(self.scene, time.monotonic() - self.begun))

    def most(self, kind: str) -> int:
        return max((look.kinds[kind] for look in self.looks), default=0)

    def largest(self, name: str) -> int:
        return max((look.sizes.get(name, 0) for look in self.looks), default=0)

    def thirds(self, values: Sequence[float]) -> tuple[float, float]:
        """The medians of the first and of the last third."""
        third = max(1, len(values) // 3)
        return statistics.median(values[:third] or [0]), statistics.median(values[-third:] or [0])


def processes(scene: Scene) -> list[Process]:
    """Every process that has our home in its environment, this one excepted."""
    mark = f"MEMEM_DIR={scene.environ['MEMEM_DIR']}".encode()
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            if mark in Path(entry.path, "environ").read_bytes().split(b"\0"):
                command = Path(entry.path, "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if command:  # none: it has ended, and its parent has not looked yet
                    found.append(Process(int(entry.name), _kind(command, scene), command))
    return found


def _kind(command: str, scene: Scene) -> str:
    if str(scene.claude) in command:
        return CALL
    for kind, part in ((LATER, "--later"), (HOOK, "hook/client.py"), (SERVER, "__main__.py serve")):
        if part in command:
            return kind
    return COMMAND if "__main__.py" in command or "memem" in command else OTHER


def _look(scene: Scene, seconds: float) -> Look:
    running = processes(scene)
    servers = [each.pid for each in running if each.kind == SERVER]
    kinds = Counter(each.kind for each in running)
    return Look(
        seconds,
        kinds,
        sum(map(_share, servers)),
        len(servers),
        sum(map(_descriptors, servers)),
        sizes(Path(scene.environ["MEMEM_DIR"])),
    )


def _share(pid: int) -> int:
    """Return a process's proportional memory: the servers map the same weights and index."""
    with suppress(OSError, IndexError, ValueError):
        told = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        return int(told.partition("\nPss:")[2].split()[0]) * 1024
    return 0


def _descriptors(pid: int) -> int:
    with suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - numbers, not paths
    return 0


def sizes(home: Path) -> dict[str, int]:
    """Bytes of what memem writes by itself, by what it is for."""
    measured: Counter[str] = Counter()
    for path in home.rglob("*"):
        with suppress(OSError):
            if path.is_file():
                measured[_purpose(path, home)] += path.stat().st_size
    return dict(measured)


def _purpose(path: Path, home: Path) -> str:
    first = path.relative_to(home).parts[0]
    if path.name.endswith("-wal"):
        return f"{path.name[:-4]} log"
    if path.name.startswith(".memem-"):
        return "left by writers"
    if "undo" in path.parts:
        return "undo"
    if "vectors" in path.parts:
        return "vectors"
    if path.parent.name == "later" and path.suffix == ".json":
        return "letters"
    return first if first in ("run", "models") else path.name


def _bare_start() -> float:
    begun = time.perf_counter()
    subprocess.run([INTERPRETER, "-I", "-S", "-c", "pass"], check=True)
    return time.perf_counter() - begun
