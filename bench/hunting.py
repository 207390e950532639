"""The loop of the fuzzer: try inputs, keep those that reach new lines, and write down what came out that should not.

An input may be refused by an error of memem's own. Any other exception is a finding, and so is an input that takes
longer than `MOST_SECONDS`. Findings at the same line by the same exception are one.
"""

import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from bench.mutating import mutated
from memem.core.errors import MememError

MOST_SECONDS = 5.0
MOST_KEPT = 2_000
"""Inputs that reached something new; the corpus that others are made from."""
_SOURCE = str(Path(__file__).parents[1] / "memem") + "/"

Try = Callable[[bytes], object]
Unseen = dict[CodeType, set[int]]
"""The lines of each function that were not reached yet."""


class Hang(BaseException):
    """An input takes too long. No `except Exception` on the way hides it."""


class Broken(AssertionError):
    """A property that has to hold for every input does not."""


@dataclass(frozen=True, slots=True)
class Target:
    """Something that reads bytes of others. `opened` is given a folder of its own, and gives what to try.

    `refusals` are the errors by which it may say no.
    """

    name: str
    opened: Callable[[Path], AbstractContextManager[Try]]
    seeds: Callable[[], Sequence[bytes]]
    tokens: tuple[bytes, ...] = ()
    refusals: tuple[type[Exception], ...] = (MememError,)


@dataclass(frozen=True, slots=True)
class Finding:
    """An exception, where in memem it was raised, and the input that caused it."""

    what: str
    where: str
    data: bytes
    trace: str = ""


@dataclass
class Hunt:
    """The result of fuzzing one target."""

    target: str
    executions: int = 0
    refused: int = 0
    slowest: float = 0.0
    lines: set[tuple[str, int]] = field(default_factory=set)
    findings: dict[tuple[str, str], Finding] = field(default_factory=dict)


def hunt(target: Target, folder: Path, *, seconds: float, seed: int, most: int | None = None) -> Hunt:
    """Try the seeds, then what becomes of them, for so long or so often. The same seed tries the same inputs."""
    found = Hunt(target.name)
    rng = random.Random(f"{seed}:{target.name}")
    corpus = list(target.seeds())
    began = time.monotonic()
    left: Unseen = {}
    with target.opened(folder) as attempt:
        for data in _inputs(rng, corpus, target.tokens):
            is_over = time.monotonic() - began >= seconds if most is None else found.executions >= most
            if is_over:
                break
            # To watch costs more than to try: every third input is enough to find the way.
            with _watching(found.lines, left) if found.executions % 3 == 0 else nullcontext():
                before = len(found.lines)
                _try(found, target, attempt, data)
            if len(found.lines) > before and len(corpus) < MOST_KEPT:
                corpus.append(data)
    return found


def _inputs(rng: random.Random, corpus: Sequence[bytes], tokens: tuple[bytes, ...]) -> Iterator[bytes]:
    yield from tuple(corpus)
    yield b""
    while True:
        yield mutated(rng, corpus, tokens)


def _try(found: Hunt, target: Target, attempt: Try, data: bytes) -> None:
    found.executions += 1
    began = time.process_time()
    try:
        with _bounded():
            attempt(data)
    except target.refusals:
        found.refused += 1
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as problem:  # noqa: BLE001 - whatever comes out is what is looked for
        finding = _finding(problem, data)
        found.findings.setdefault((type(problem).__name__, finding.where), finding)
    found.slowest = max(found.slowest, time.process_time() - began)


def _finding(problem: BaseException, data: bytes) -> Finding:
    frames = traceback.extract_tb(problem.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(_SOURCE)] or frames
    place = f"{ours[-1].filename.removeprefix(_SOURCE)}:{ours[-1].lineno} in {ours[-1].name}" if ours else "?"
    told = " ".join(str(problem).split())[:200]
    # A stack that overflowed is as long as it is dull.
    trace = "".join(traceback.format_list(frames[-12:]))
    return Finding(f"{type(problem).__name__}: {told}", place, data, trace)


@contextmanager
def _bounded() -> Iterator[None]:
    if not hasattr(signal, "setitimer"):
        yield
        return

    def late(_: int, __: FrameType | None) -> None:
        raise Hang(f"not done within {MOST_SECONDS:g} s")

    # The processor's time, since the machine may have other work; and much more of the clock's, for who only waits.
    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, MOST_SECONDS),
        (signal.SIGALRM, signal.ITIMER_REAL, MOST_SECONDS * 6),
    )
    before = [(number, signal.signal(number, late)) for number, _, _ in timers]
    for _, timer, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for _, timer, _ in timers:
            signal.setitimer(timer, 0)
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def _watching(lines: set[tuple[str, int]], left: Unseen) -> Iterator[None]:
    """Notes which lines of memem are reached. A function of which every line was seen is watched no more."""

    def calls(frame: FrameType, _event: str, _: Any) -> Any:
        code = frame.f_code
        unseen = left.get(code)
        if unseen is None:
            is_ours = code.co_filename.startswith(_SOURCE)
            unseen = left[code] = {line for _, _, line in code.co_lines() if line} if is_ours else set()
        return within if unseen else None

    def within(frame: FrameType, event: str, _: Any) -> Any:
        unseen = left[frame.f_code]
        if event == "line" and frame.f_lineno in unseen:
            unseen.discard(frame.f_lineno)
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return within

    before = sys.gettrace()
    sys.settrace(calls)
    try:
        yield
    finally:
        sys.settrace(before)
