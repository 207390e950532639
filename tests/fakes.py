"""Stand-ins for what a test must control."""

import errno
import hashlib
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np

from memem.search.encoders.interface import Vectors

START = datetime(2026, 3, 1, 9, 0, 0, tzinfo=timezone(timedelta(hours=1)))


class SteppingClock:
    """Time that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def ticks(self) -> float:
        return self.now.timestamp()

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


class FaultyOs:
    """The `os` module; its calls are written down, and the one at `fail_at` fails.

    A write that fails has torn off its second half, and a close that fails has closed: so do real disks.
    """

    WATCHED = ("open", "write", "fsync", "replace", "close", "unlink")

    def __init__(self, fail_at: int = -1, error: BaseException | None = None) -> None:
        self.calls: list[str] = []
        self.open_files: set[int] = set()
        self.longest_write = sys.maxsize
        self._fail_at = fail_at
        self._error = error or OSError(errno.ENOSPC, "No space left on device")

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._watched(name, real) if name in self.WATCHED else real

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            failing = len(self.calls) == self._fail_at
            self.calls.append(self._described(name, args))
            if name == "close":
                self.open_files.discard(args[0])
            if name == "write":
                args = (args[0], bytes(args[1])[: self.longest_write])
            if failing:
                if name == "write":
                    real(args[0], args[1][: len(args[1]) // 2])
                if name == "close":
                    real(*args)
                raise self._error
            result = real(*args)
            if name == "open":
                self.open_files.add(result)
            return result

        return call

    def _described(self, name: str, args: tuple[Any, ...]) -> str:
        if name == "fsync":
            return "fsync folder" if stat.S_ISDIR(os.fstat(args[0]).st_mode) else "fsync file"
        return name


class FakeEncoder:
    """Texts are near each other when they share long words, or words that mean the same.

    Each word has a direction of its own, so two texts without a word in common have the cosine 0. Everything that is
    encoded is written down. A query waits until its `gate` is open; `trouble` is raised instead of an answer.
    """

    def __init__(self, identity: str = "somebody/fake-model 1", means: Mapping[str, str] | None = None) -> None:
        self.identity = identity
        self.dimensions = 2_048
        self.means = dict(means or {})
        self.encoded: list[str] = []
        self.queries: list[str] = []
        self.batches = 0
        self.gate = threading.Event()
        self.gate.set()
        self.multilingual = True
        self.trouble: BaseException | None = None
        self.fails_at_batch = 0

    def query(self, text: str) -> Vectors:
        self.gate.wait()
        if self.trouble:
            raise self.trouble
        self.queries.append(text)
        return self.vector(text)

    def passages(self, texts: Sequence[str]) -> Vectors:
        self.batches += 1
        if self.trouble and self.batches >= self.fails_at_batch:
            raise self.trouble
        self.encoded += texts
        return np.stack([self.vector(text) for text in texts])

    def vector(self, text: str) -> Vectors:
        vector = np.zeros(self.dimensions, np.float32)
        for word in re.findall(r"\w{4,}", text.lower()) or ["nothing"]:
            meaning = self.means.get(word, word)
            vector[int.from_bytes(hashlib.sha256(meaning.encode()).digest()[:4]) % self.dimensions] += 1
        vector /= np.linalg.norm(vector)
        return vector
