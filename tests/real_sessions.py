"""Real sessions of Claude Code, growing as they did, and what people said in them by the reference reader.

They are not part of the project: MEMEM_BENCH_DATA names a folder with `transcripts/` in it.
"""

import gzip
import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from memem.transcript.utterances import APPROVED_PLAN
from tests.reference_reader import PLAN_APPROVAL, SHELL, utterances

DATA = os.environ.get("MEMEM_BENCH_DATA")
SESSIONS = sorted(Path(DATA, "transcripts").iterdir()) if DATA else []
_CWD = re.compile(rb'"cwd":\s*"(?:[^"\\]|\\.)*"')
NEEDS_DATA = pytest.mark.skipif(not DATA, reason="MEMEM_BENCH_DATA names no folder with the evaluation files")


def grown(
    session: Path, path: Path, cuts: int, read: Callable[[], object], *, cwd: Path | None = None
) -> Iterator[Counter[str]]:
    """Let a file grow through all states that a session was seen in, cut anywhere, and read it after each cut.

    Yields, whenever a state is complete, the words of all that people have said up to it.
    With `cwd`, they worked there.
    """
    chance = random.Random(session.name)  # noqa: S311
    states = snapshots(session)
    if cwd:
        states = [move_to(state, cwd) for state in states]
    expected: dict[str, str] = {}
    written = b""
    for data in states:
        if not data.startswith(written):
            written = b""  # rewritten in place
        for cut in [*sorted(chance.randrange(len(data)) for _ in range(cuts // len(states))), len(data)]:
            if cut > len(written):
                with path.open("ab" if written else "wb") as file:
                    file.write(data[len(written) : cut])
                written = data[:cut]
            read()
        expected |= spoken(data)
        yield count_words(expected.values())


def move_to(data: bytes, cwd: Path) -> bytes:
    """Let a session have been held in a folder that exists: others are mined only on request."""
    folder = b'"cwd": ' + json.dumps(str(cwd)).encode()
    return _CWD.sub(lambda _: folder, data)


def snapshots(session: Path) -> list[bytes]:
    paths = sorted(session.glob("*.jsonl.gz"), key=lambda path: int(path.name.split(".")[0]))
    return [gzip.decompress(path.read_bytes()) for path in paths]


def spoken(data: bytes) -> dict[str, str]:
    """Return what people said, each utterance once: `!` commands are work, an approved plan is Claude's."""
    heard = [each for each in utterances(data) if each.place != SHELL]
    return {each.key: APPROVED_PLAN if each.place == PLAN_APPROVAL else each.text for each in heard}


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count the words of texts, however these are joined."""
    return Counter(word for text in texts for word in text.split())
