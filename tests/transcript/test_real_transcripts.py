"""Real sessions, growing as they did, give every word of their people, once.

Needs the evaluation files: MEMEM_BENCH_DATA names a folder with `transcripts/` in it.
"""

import gzip
import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memem.core.mining import HUMAN
from memem.transcript.delta import Cursor, cursor_at, find_turn, start_of, steps

DATA = os.environ.get("MEMEM_BENCH_DATA")
SESSIONS = sorted(Path(DATA, "transcripts").iterdir()) if DATA else []
CUTS = 200

pytestmark = pytest.mark.skipif(not DATA, reason="MEMEM_BENCH_DATA names no folder with the evaluation files")


# --- a slow reader, made without a look at the other one ----------------------------------------------------------


def every_object(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.decode("utf-8", "replace").split("\n"):
        rest = line.strip()
        while rest.startswith("{"):
            value, end = json.JSONDecoder().raw_decode(rest)
            yield value
            rest = rest[end:].strip()


def is_of_a_person(value: dict[str, Any]) -> bool:
    marks = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "toolUseResult")
    if value.get("type") != "user" or any(value.get(mark) for mark in marks):
        return False
    content = value["message"]["content"]
    if not isinstance(content, str):
        if any(block["type"] == "tool_result" for block in content):
            return False
        content = "\n".join(block["text"] for block in content if block["type"] == "text")
    words = re.sub(r"<(system-reminder|ide_\w+)>.*?</\1>", "", content, flags=re.DOTALL).strip()
    return bool(words) and not words.startswith(
        ("<command-", "<local-command-", "<bash-", "[Request interrupted", "Caveat: The messages below")
    )


def people(data: bytes) -> list[str]:
    """The uuids of what people said, without those that a file repeats."""
    return list(dict.fromkeys(value["uuid"] for value in every_object(data) if is_of_a_person(value)))


# --- the reader, as a miner uses it -------------------------------------------------------------------------------


class Reader:
    """Reads what is new in a file, again and again, and knows what it has seen."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cursor: Cursor | None = None
        self.seen: dict[str, None] = {}

    def read_on(self) -> None:
        with self.path.open("rb") as file:
            end = start_of(file, self.cursor)
            for step in steps(file, end, self.path.stem):
                if step.line.turn and step.line.turn.role == HUMAN:
                    self.seen[step.line.turn.uuid] = None
                end = step.end
            self.cursor = cursor_at(file, end)


def snapshots(session: Path) -> list[bytes]:
    paths = sorted(session.glob("*.jsonl.gz"), key=lambda path: int(path.name.split(".")[0]))
    return [gzip.decompress(path.read_bytes()) for path in paths]


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name[:8])
def test_a_session_that_grows_in_pieces_gives_every_word_of_its_people(session: Path, tmp_path: Path) -> None:
    reader = Reader(tmp_path / "session.jsonl")
    chance = random.Random(session.name)  # noqa: S311
    expected: dict[str, None] = {}
    written = b""
    states = snapshots(session)
    for data in states:
        if not data.startswith(written):
            written = b""  # rewritten in place
        for cut in [*sorted(chance.randrange(len(data)) for _ in range(CUTS // len(states))), len(data)]:
            if cut > len(written):
                with reader.path.open("ab" if written else "wb") as file:
                    file.write(data[len(written) : cut])
                written = data[:cut]
            reader.read_on()
        expected |= dict.fromkeys(people(data))
        assert list(reader.seen) == list(expected)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name[:8])
def test_a_session_read_in_one_go_gives_each_word_of_its_people_once(session: Path, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(snapshots(session)[-1])
    with path.open("rb") as file:
        turns = [step.line.turn for step in steps(file, 0, "s") if step.line.turn]
    uuids = [turn.uuid for turn in turns if turn.role == HUMAN]
    assert uuids == people(path.read_bytes())
    found = find_turn(path, uuids[-1]) if uuids else None
    assert not uuids or (found and found[0][found[1]].uuid == uuids[-1])
