"""`python -m bench faults`: what memem does, with every operation on the disk going wrong once, in each way.

Of each action every operation fails, runs into a full disk, and is torn (`tests/faults.py`); then the same is tried
again, and all is compared with what it would have come to (`tests/faulted.py`). After that real processes: killed at
any moment, with system calls that fail (strace), on a disk that is full, on one that is read-only. What cannot be
tried here is said to be skipped. Findings have to be none.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from bench import measure
from memem.notes import save
from memem.search import find, refresh
from memem.upkeep import doctor, status
from memem.upkeep.checks.result import BROKEN
from memem.workspace import Workspace, open_workspace
from tests.faulted import ACTIONS, Bed
from tests.faults import MODES, Fault

CALLS = ("write", "pwrite64", "fsync", "fdatasync", "rename", "openat", "unlink", "ftruncate")
FAST = Path("/dev/shm")  # noqa: S108 - a folder in memory, where there is one
STATEMENT = "The crane number {} lifts load{} at quay{}."


@dataclass(frozen=True, slots=True)
class Tried:
    """An action, how many operations it takes, how many faults it had, and what was wrong afterwards."""

    action: str
    operations: int
    faults: int
    seconds: float
    findings: tuple[str, ...] = ()
    skipped: str = ""

    def row(self) -> tuple[object, ...]:
        healed = (self.skipped and f"skipped: {self.skipped}") or self.faults - len(self.findings)
        return self.action, self.operations, self.faults, healed, len(self.findings), round(self.seconds, 1)


def run(arguments: list[str]) -> int:
    """Print the table; 1 when there is a finding."""
    parser = argparse.ArgumentParser(prog="python -m bench faults")
    parser.add_argument("--actions", default=",".join(ACTIONS), metavar="A,B", help="which (default: all)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th operation (default: each)")
    parser.add_argument("--kills", type=int, default=40, metavar="N", help="processes that are killed (default: 40)")
    parser.add_argument("--calls", type=int, default=40, metavar="N", help="system calls that fail (default: 40)")
    options = parser.parse_args(arguments)
    chosen = [name.strip() for name in options.actions.split(",") if name.strip()]
    began = time.perf_counter()
    done = [*_actions(chosen, options.every), *_processes(options.kills, options.calls)]
    print(measure.table(("action", "operations", "faults", "healed", "findings", "s"), [each.row() for each in done]))
    findings = [f"{each.action}: {finding}" for each in done for finding in each.findings]
    faults, seconds = sum(each.faults for each in done), time.perf_counter() - began
    print(f"\n{faults:,} faults in {seconds:.0f} s; findings: {len(findings)}")
    for finding in findings[:50]:
        print(f"  {finding[:600]}")
    return 1 if findings else 0


# --- every operation ----------------------------------------------------------------------------------------------


def _actions(names: Sequence[str], every: int) -> Iterator[Tried]:
    """Each action in a process of its own, as many at once as there are cores; the longest come first."""
    workers = max(1, min(len(names), os.cpu_count() or 1))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        begun = {pool.submit(tried, name, every): name for name in sorted(names, key=_is_short)}
        found = {each.action: each for each in (future.result() for future in as_completed(begun))}
    yield from (found[name] for name in names)


def _is_short(name: str) -> bool:
    return name not in ("mine", "curate", "import", "import an export", "undo an import")


def tried(name: str, every: int = 1) -> Tried:
    """One action with every fault."""
    began = time.perf_counter()
    with _folder() as folder:
        bed = Bed(folder, ACTIONS[name], _environ(folder))
        bed.prepare()
        faults = [Fault(mode, at) for mode in MODES for at in range(0, len(bed.operations), every)]
        findings = [
            f"{fault.mode} at {fault.at} ({bed.operations[fault.at]}): {finding}"
            for fault in faults
            for finding in bed.findings(fault)[:1]
        ]
        return Tried(name, len(bed.operations), len(faults), time.perf_counter() - began, tuple(findings))


@contextmanager
def _folder() -> Iterator[Path]:
    place = FAST if FAST.is_dir() and os.access(FAST, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="memem-bench-", dir=place) as folder:
        yield Path(folder)


def _environ(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MEMEM_DIR": str(folder / "home"),
        "MEMEM_OBSIDIAN_VAULT": str(folder / "vault"),
        "MEMEM_ENCODER": "none",
        "MEMEM_BACKGROUND": "0",
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }


# --- real processes -----------------------------------------------------------------------------------------------


class Home:
    """A memory home that commands save into; every fact is to be there once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = _environ(folder)
        self._number = 0
        with closing(self.opened()) as ws:
            save.save(ws, "The harbour is open.")

    def opened(self) -> Workspace:
        return open_workspace(actor="bench", environ=self.environ)

    def next_save(self) -> list[str]:
        """A command that nobody has given yet."""
        self._number += 1
        return self.save(self._number)

    def save(self, number: int) -> list[str]:
        return [sys.executable, "-m", "memem", "save", STATEMENT.format(number, number, number)]

    def run(self, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command, env=self.environ, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False
        )

    def again(self) -> Iterator[str]:
        """The last command once more, which has to work; and whether all is well then."""
        done = self.run(self.save(self._number))
        if done.returncode:
            yield f"does not heal: {done.stderr.strip()}"
        with closing(self.opened()) as ws:
            refresh.refresh(ws)
            statements = [entry.memory.body for entry in find.list_memories(ws, limit=1_000)]
            if len(statements) != len(set(statements)) or STATEMENT.format(*[self._number] * 3) not in statements:
                yield "a fact is lost, or there twice"
            yield from (f"check: {each.path} {each.problem}" for each in status.check(ws) if each.serious)
            yield from (f"integrity: {each.detail}" for each in doctor.integrity(ws) if each.state == BROKEN)


def _processes(kills: int, calls: int) -> Iterator[Tried]:
    yield from (_timed("killed by SIGKILL", kills, _killed), _timed("system calls that fail", calls, _failing_calls))
    yield from (_timed("a full disk", 1, _full), _timed("a read-only vault", 1, _read_only))


def _timed(name: str, count: int, work: Callable[[Path, int], "tuple[int, list[str], str]"]) -> Tried:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="memem-bench-") as folder:
        faults, findings, skipped = work(Path(folder), count) if count else (0, [], "none were asked for")
    return Tried(name, 0, faults, time.perf_counter() - began, tuple(findings), skipped)


def _killed(folder: Path, count: int) -> tuple[int, list[str], str]:
    home, moments, findings, killed = Home(folder), random.Random(9), list[str](), 0
    began = time.perf_counter()
    home.run(home.next_save())
    whole = time.perf_counter() - began
    for _ in range(count):
        process = subprocess.Popen(home.next_save(), env=home.environ, cwd=folder, stdout=subprocess.DEVNULL)
        try:
            process.wait(moments.uniform(0.3, 1.0) * whole)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
        findings += home.again()
    return killed, findings, ""


def _failing_calls(folder: Path, count: int) -> tuple[int, list[str], str]:
    """The so-and-so-many-th call of a kind fails, in the command as it is, SQLite included."""
    strace = shutil.which("strace")
    works = strace and subprocess.run([strace, "-qq", "-o", os.devnull, "true"], check=False).returncode == 0
    if not strace or not works:
        return 0, [], "no strace here, or nobody may trace"
    home, findings, numbers = Home(folder), list[str](), random.Random(10)
    for each in range(count):
        call, error = CALLS[each % len(CALLS)], ("ENOSPC", "EIO")[each % 2]
        when = numbers.randint(1, 12) if call != "openat" else numbers.randint(60, 400)
        inject = f"inject={call}:error={error}:when={when}"
        traced = [strace, "-f", "-qq", "-o", os.devnull, "-e", f"trace={call}", "-e", inject]
        done = home.run([*traced, *home.next_save()])
        if "Traceback" in done.stderr and "memem" in done.stderr and done.returncode == 1 and call != "openat":
            findings.append(f"{inject}: {done.stderr.strip()[-300:]}")
        findings += [f"{inject}: {finding}" for finding in home.again()]
    return count, findings, ""


@contextmanager
def _mounted(folder: Path, *options: str) -> Iterator[bool]:
    """A small disk of its own, where this user may mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = shutil.which("mount")
    command = [mount or "", "-t", "tmpfs", *options, "tmpfs", str(folder)]
    ours = bool(mount) and subprocess.run(command, check=False, capture_output=True).returncode == 0
    try:
        yield ours
    finally:
        if ours:
            subprocess.run(["umount", str(folder)], check=False)


def _full(folder: Path, _: int) -> tuple[int, list[str], str]:
    with _mounted(folder / "disk", "-o", "size=1500k") as mounted:
        if not mounted:
            return 0, [], "this user may not mount a disk"
        home, findings, refused = Home(folder / "disk"), list[str](), 0
        ballast = folder / "disk" / "ballast"
        for spare in (0, 2_000, 6_000, 16_000, 40_000):
            _fill(ballast, spare)
            done = home.run(home.next_save())
            refused += done.returncode != 0
            if done.returncode and "disk is full" not in done.stderr:
                findings.append(f"with {spare} bytes: {done.stderr.strip()[:300]}")
            ballast.unlink()
            findings += home.again()
        return refused, findings, ""


def _fill(path: Path, spare: int) -> None:
    """Take all the room there is, but so much."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            file.truncate(max(0, file.tell() - spare))


def _read_only(folder: Path, _: int) -> tuple[int, list[str], str]:
    with _mounted(folder / "vault") as mounted:
        if not mounted:
            return 0, [], "this user may not mount a disk"
        home = Home(folder)
        subprocess.run(["mount", "-o", "remount,ro", str(folder / "vault")], check=True)
        done = home.run(home.next_save())
        findings = [] if "read-only" in done.stderr else [f"says {done.stderr.strip()[:300]!r}"]
        if home.run([sys.executable, "-m", "memem", "search", "harbour"]).returncode:
            findings.append("a vault that can only be read is not searched")
        subprocess.run(["mount", "-o", "remount,rw", str(folder / "vault")], check=True)
        return 1, [*findings, *home.again()], ""
