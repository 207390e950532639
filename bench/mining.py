"""Measure mining: a whole `memem mine --session`, by rules, against how much is new and how large the file is, and
how often a model is asked while a session goes on.

The sessions are made up, in the proportions of real ones: mostly what tools gave back. With --data, those in it
(`DIR/transcripts/*/*.jsonl.gz`) are gone through as well, prompt by prompt, as Claude Code would have written them.
"""

import argparse
import gzip
import io
import json
import math
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, count, takewhile
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from bench import measure, vaults
from bench.latency import Bed, say, verdict
from bench.measure import BARE, Promise
from memem.core.conversation import ASSISTANT, HUMAN
from memem.mine import schedule
from memem.search import refresh
from memem.search.transcripts import consent
from memem.state.sessions import SessionRecord
from memem.transcript import session as transcript_session
from memem.vault import opening
from memem.workspace import Workspace, open_workspace

SIZES, TURNS, PROMPTS = (1, 20, 200), (1, 10, 100, 1_000), 100
FLAT_LIMIT, MEMORY_LIMIT, WHOLE_ROUNDS = 1.2, 60.0, 3
LENGTHS, ANSWERS = {"user": 80, "assistant": 130}, 3.3
"""The median length of a turn, and answers to a prompt before its last one, as in 20 MB of real transcripts. So are the
tools used after each: 34 KB for every turn, of which a hundredth is said."""
TOOLS, OUTPUT, LARGE_OUTPUT, LARGE_EVERY = 5, 4_500, 450_000, 2_000
REMEMBER_EVERY, TAIL_SEED, TAIL_TURNS = 10, 34, 3
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)

_LINE = {
    "isSidechain": False,
    "cwd": "/home/dev/shop-api",
    "sessionId": "5e550000-0000-4000-8000-000000000000",
    "version": "2.1.42",
    "gitBranch": "main",
    "timestamp": vaults.NEWEST.isoformat(),
}
_CLAUDE = """#!{python} -IS
import sys
if sys.argv[1:] != ["--help"]:
    said = sys.stdin.buffer.read().decode()
    with open({log!r}, "a") as log:
        print(len(said), sum(map(len, sys.argv[1:])), file=log)
    print('{{"type": "result", "subtype": "success", "is_error": false, "structured_output": {{"operations": []}}}}')
"""
_CWD = re.compile(rb'"cwd":\s*"(?:[^"\\]|\\.)*"')
Line = tuple[bytes, str]
"""A line of a transcript, with its uuid when it contains speech."""
Turns = list[tuple[int, str]]
"""The offset and uuid of every turn in a file."""


class Script:
    """A made-up session, line by line as Claude Code writes it, the same at every run."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._text = "\n".join(vaults.memory(number).body for number in range(2_000))

    def exchange(self) -> Iterator[Line]:
        """A prompt, and what Claude says and does until its last answer."""
        yield self._turn("user")
        for _ in range(int(self._random.expovariate(1 / (ANSWERS + 0.5)))):
            yield self._turn("assistant")
            for _ in range(TOOLS):
                is_large = self._random.randrange(LARGE_EVERY) == 0
                yield from self._tool(LARGE_OUTPUT if is_large else int(self._random.expovariate(1 / OUTPUT)))
        yield self._turn("assistant")

    def tail(self) -> list[Line]:
        """About 10 KB."""
        answered = self._turn("assistant", 200), *self._tool(3_450), self._turn("assistant", 600)
        return [self._turn("user", 300), *answered]

    def _turn(self, role: str, length: int = 0) -> Line:
        text = self._part(length or min(int(self._random.lognormvariate(math.log(LENGTHS[role]), 1.4)) + 1, 6_000))
        if role == "user" and self._random.randrange(REMEMBER_EVERY) == 0:
            text = f"Remember that the limit of {vaults.literal(self._random)} is {self._random.randrange(999)}. {text}"
        return self._line(role, text if role == "user" else [{"type": "text", "text": text}], speaks=True)

    def _tool(self, length: int) -> Iterator[Line]:
        call = f"toolu_{self._random.getrandbits(96):024x}"
        command = {"command": f"grep -rn {vaults.literal(self._random)} src", "description": "Look for it"}
        yield self._line("assistant", [{"type": "tool_use", "id": call, "name": "Bash", "input": command}])
        output = self._part(length)
        result = {"tool_use_id": call, "type": "tool_result", "content": output, "is_error": False}
        yield self._line("user", [result], toolUseResult={"stdout": output, "stderr": "", "interrupted": False})

    def _line(self, role: str, content: object, *, speaks: bool = False, **more: object) -> Line:
        own = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        value = {**_LINE, "type": role, "message": {"role": role, "content": content}, "uuid": own, **more}
        return json.dumps(value, ensure_ascii=False).encode() + b"\n", own if speaks else ""

    def _part(self, length: int) -> str:
        start = self._random.randrange(len(self._text) - length)
        return self._text[start : start + length]


class Report(NamedTuple):
    """Everything that was measured: rows of two tables, and the promises."""

    times: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    promises: list[Promise]


class Scene:
    """A home in which all but the last turns of a session are mined, and the vault is empty; so anew for each run."""

    def __init__(self, folder: Path, path: Path, turns: Turns, new: int) -> None:
        bed = Bed(folder, 0, count(), MEMEM_ENCODER="none", MEMEM_EXTRACTOR="rules")
        self._folder = folder
        self._path = path
        self._prepare(bed.workspace, turns, len(turns) - new)
        mined = schedule.mine_file(bed.workspace, self._path)
        bed.close()
        assert mined.turns == new, f"{mined.turns} turns were mined instead of {new}"
        self.shape = {"turns": new, "file_mb": round(self._path.stat().st_size / 1e6), "kept": mined.count("added")}
        self.program = bed.program(self._restored)

    def _prepare(self, ws: Workspace, turns: Turns, known: int) -> None:
        opening.ensure_vault(ws)
        refresh.refresh(ws)
        if known > 0:
            with self._path.open("rb") as file:
                cursor = transcript_session.cursor_at(file, turns[known][0])
            session = self._path.stem
            with ws.state.transaction():
                ws.state.sessions.put(
                    SessionRecord(session, str(self._path), cursor.inode, cursor.offset, cursor.digest)
                )
                ws.state.sessions.finish([turn for _, turn in turns[:known]], session)
        ws.close()
        shutil.copytree(self._folder, self._folder.with_suffix(".ready"))

    def _restored(self) -> list[str]:
        """Reset the home and return the work to time; runs before the clock starts."""
        shutil.rmtree(self._folder)
        shutil.copytree(self._folder.with_suffix(".ready"), self._folder)
        return ["mine", "--session", str(self._path)]


def run(arguments: list[str]) -> int:
    """Measure, print the tables, and write the JSON when asked; 1 when a promise is broken."""
    options = _options(arguments)
    report = Report([], [], [])
    with tempfile.TemporaryDirectory(prefix="memem-bench-", dir=options.folder) as place:
        _mine(Path(place), options, report)
        say("sessions that grow, with a model that is asked")
        script = Script(vaults.SEED)
        day = b"".join(data for _ in range(options.prompts) for data, _ in script.exchange())
        report.calls.append(_replayed("made up", [day], Path(place, "day")))
        if options.data:
            report.calls.append(_replayed("real", _real(options.data), Path(place, "real")))
    _print(report)
    if options.json:
        promises = [promise.as_json() for promise in report.promises]
        about = {"bench": "mining", "machine": measure.machine(), "fsync": True, "repeat": options.repeat}
        measure.save_json(options.json, about | {"times": report.times, "calls": report.calls, "promises": promises})
    return 0 if all(promise.holds or not promise.judged for promise in report.promises) else 1


def write_transcript(path: Path, size: int) -> Turns:
    """A session of about so many bytes, and the tail, which is the same in all."""
    script, tail = Script(vaults.SEED), Script(TAIL_SEED).tail()
    turns: Turns = []
    with path.open("wb") as file:
        exchanges = (script.exchange() for _ in takewhile(lambda _: file.tell() < size, count()))
        for data, turn in chain(chain.from_iterable(exchanges), tail):
            if turn:
                turns.append((file.tell(), turn))
            file.write(data)
    return turns


def stops(data: bytes) -> Iterator[int]:
    """Where Claude had answered and was asked no more, or something else: there the Stop hook ran."""
    end, has_answered = 0, False
    for step in transcript_session.steps(io.BytesIO(data), 0, ""):
        role = step.line.turn.role if step.line.turn else ""
        if role == HUMAN and has_answered:
            yield data.find(b"\n", end) + 1
        has_answered = role == ASSISTANT or (has_answered and role != HUMAN)
        end = step.end
    yield len(data)


def _mine(folder: Path, options: argparse.Namespace, report: Report) -> None:
    say("writing the sessions")
    small, large = options.sizes[0], options.sizes[-1]
    paths = {size: folder / f"{size}-mb.jsonl" for size in options.sizes}
    turns = {size: write_transcript(path, size * 1_000_000) for size, path in paths.items()}
    tails = {size: f"10 KB behind {size:,} MB" for size in options.sizes}
    scenes = {tails[size]: Scene(folder / f"{size}-mb", paths[size], turns[size], TAIL_TURNS) for size in paths}
    for new in options.turns:
        scenes[f"new turns: {new:,}"] = Scene(folder / f"{new}-turns", paths[large], turns[large], new)
    say("mining what is new")
    taken = _measure(folder, scenes, options.repeat, report)
    flat, judged = measure.ratio(taken, tails[large], tails[small]), (small, large) == (SIZES[0], SIZES[-1])
    report.promises.append(Promise(f"{tails[large]} / {tails[small]}", flat, FLAT_LIMIT, judged))
    say("mining all of the largest")
    whole = f"all of {large:,} MB"
    scene = Scene(folder / "whole", paths[large], turns[large], len(turns[large]))
    _measure(folder, {whole: scene}, min(options.repeat, WHOLE_ROUNDS), report)
    report.promises.append(Promise(f"peak memory in MB, {whole}", report.times[-1]["peak_mb"], MEMORY_LIMIT))


def _measure(folder: Path, scenes: dict[str, Scene], rounds: int, report: Report) -> dict[str, tuple[float, ...]]:
    """In turns with the bare start."""
    programs = {BARE: measure.bare_start(os.environ, folder)} | {name: each.program for name, each in scenes.items()}
    taken = measure.interleave(programs, rounds)
    for timed in measure.against_bare(taken, 0):
        shape = scenes[timed.what].shape if timed.what in scenes else {"turns": 0, "file_mb": 0, "kept": 0}
        row = timed.as_json() | shape | {"peak_mb": round(max(programs[timed.what].peaks) / 1e6, 1)}
        del row["notes"]  # there are none before
        report.times.append(row)
    return taken


def _real(data: Path) -> Iterator[bytes]:
    """Every session as it was last seen."""
    for folder in sorted((data / "transcripts").iterdir()):
        last = max(folder.glob("*.jsonl.gz"), key=lambda path: int(path.name.partition(".")[0]))
        yield gzip.decompress(last.read_bytes())


def _replayed(name: str, sessions: Iterable[bytes], folder: Path) -> dict[str, Any]:
    """How often the model is asked, and with how many characters, when sessions grow from Stop to Stop."""
    ws, log = _asking(folder), folder / "calls.txt"
    cwd = b'"cwd": ' + json.dumps(str(folder)).encode()  # sessions of a missing folder are mined only on request
    turns = stopped = 0
    for number, data in enumerate(_CWD.sub(lambda _: cwd, each) for each in sessions):
        path, start = folder / f"session-{number}.jsonl", 0
        for end in stops(data):
            with path.open("ab") as file:
                file.write(data[start:end])
            start, stopped = end, stopped + 1
            done = schedule.mine_in_background(ws, path, flush=end == len(data))
            assert {mined.outcome for mined in done} <= {"mined", "waiting", "nothing"}, done
            turns += sum(mined.turns for mined in done)
    ws.close()
    calls = [[int(part) for part in line.split()] for line in log.read_text().splitlines()]
    sent, instructions = (sum(call[part] for call in calls) / turns for part in (0, 1))
    often = 100 * len(calls) / turns
    rates = {"calls_per_100_turns": often, "characters_a_turn": sent, "with_instructions": sent + instructions}
    asked: dict[str, Any] = {"sessions": name, "turns": turns, "stops": stopped, "calls": len(calls)}
    return asked | {key: round(rate, 2) for key, rate in rates.items()}


def _asking(folder: Path) -> Workspace:
    """A home with mining on, since long ago, and a claude that has nothing to keep and notes how it is called."""
    bed = Bed(folder, 0, count(), MEMEM_ENCODER="none", MEMEM_DAILY_CALLS="1000000", PATH=str(folder))
    program = folder / "claude"
    program.write_text(_CLAUDE.format(python=measure.INTERPRETER, log=str(folder / "calls.txt")), encoding="utf-8")
    program.chmod(0o755)
    ws = open_workspace(actor="bench", environ=bed.environ, clock=lambda: LONG_AGO)
    consent.opt_in(ws)
    return ws


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench mining", description=__doc__)
    parser.add_argument("--sizes", type=_numbers, default=SIZES, help="of the files, in MB, comma-separated")
    parser.add_argument("--turns", type=_numbers, default=TURNS, help="that are new, comma-separated")
    parser.add_argument("--prompts", type=int, default=PROMPTS, help=f"of a day (default: {PROMPTS})")
    parser.add_argument("--repeat", type=int, default=15, help="runs of each (default: 15)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the evaluation files")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to this file")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where the sessions are made, and removed again")
    options = parser.parse_args(arguments)
    if min(options.repeat, options.prompts) < 1:
        parser.error("at least one run, and one prompt")
    return options


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(sorted({int(part) for part in text.split(",")}))
    if numbers[0] < 1:
        raise argparse.ArgumentTypeError("each at least 1")
    return numbers


def _print(report: Report) -> None:
    print("Medians of whole processes; fsync is on; the bare start is `python -I -S -c pass`.\n")
    print(_table(report.times) + "\n\n" + _table(report.calls))
    promised = [(p.what, p.ratio, p.limit, verdict(p)) for p in report.promises]
    print("\n" + measure.table(("promise", "measured", "at most", ""), promised))


def _table(rows: list[dict[str, Any]]) -> str:
    return measure.table([key.replace("_", " ") for key in rows[0]], [list(row.values()) for row in rows])
