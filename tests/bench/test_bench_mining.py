"""The benchmark of mining works, and its made-up sessions are real to memem."""

import gzip
import io
import json
from pathlib import Path

import pytest

from bench import mining
from memem.core.conversation import ASSISTANT, HUMAN
from memem.transcript import session

TINY = ["--sizes", "1", "--turns", "1,4", "--prompts", "3", "--repeat", "1"]
FACT = {"what", "turns", "file_mb", "kept", "ms", "p95_ms", "x_bare", "runs", "peak_mb"}
RATES = {"sessions", "turns", "stops", "calls", "calls_per_100_turns", "characters_a_turn", "with_instructions"}


def roles(data: bytes) -> list[str]:
    return [step.line.turn.role for step in session.steps(io.BytesIO(data), 0, "") if step.line.turn]


def line(kind: str, content: object, uuid: str) -> bytes:
    return json.dumps({"type": kind, "uuid": uuid, "message": {"role": kind, "content": content}}).encode() + b"\n"


def test_a_made_up_session_is_always_the_same(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    assert mining.write_transcript(first, 300_000) == mining.write_transcript(second, 300_000)
    assert first.read_bytes() == second.read_bytes()


def test_memem_reads_the_turns_that_were_made_up(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    turns = mining.write_transcript(path, 300_000)
    with path.open("rb") as file:
        read = [step.line.turn for step in session.steps(file, 0, "") if step.line.turn]
    assert [turn.uuid for turn in read] == [uuid for _, uuid in turns]
    assert {turn.role for turn in read} == {HUMAN, ASSISTANT}
    assert path.stat().st_size > 50 * sum(len(turn.text) for turn in read), "most of it is no speech"


def test_the_tail_has_ten_kilobytes_and_the_stated_turns() -> None:
    tail = b"".join(data for data, _ in mining.Script(mining.TAIL_SEED).tail())
    assert abs(len(tail) - 10_000) < 500
    assert len(roles(tail)) == mining.TAIL_TURNS


def test_a_stop_comes_when_claude_has_answered() -> None:
    pieces = [
        line("user", "first", "1") + line("user", "and also", "2") + line("assistant", "yes", "3"),
        line("user", "second", "4") + line("assistant", "well", "5") + line("assistant", "done", "6"),
    ]
    data = b"".join(pieces)
    assert list(mining.stops(data)) == [len(pieces[0]), len(data)]


@pytest.mark.slow
def test_it_prints_its_tables_and_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = tmp_path / "data" / "transcripts" / "one"
    session.mkdir(parents=True)
    script = mining.Script(3)
    data = b"".join(data for _ in range(4) for data, _ in script.exchange())
    (session / "0.jsonl.gz").write_bytes(gzip.compress(data[:1000]))
    (session / "10.jsonl.gz").write_bytes(gzip.compress(data))
    target, place = tmp_path / "mining.json", tmp_path / "place"
    place.mkdir()
    given = ["--data", str(tmp_path / "data"), "--json", str(target), "--folder", str(place)]
    assert mining.run([*TINY, *given]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("new turns: 4", "10 KB behind 1 MB", "all of 1 MB", "x bare", "promise"))
    report = json.loads(target.read_text())
    assert all(set(row) == FACT and row["ms"] > 0 and row["peak_mb"] > 0 for row in report["times"])
    made_up, real = report["calls"]
    assert set(made_up) == set(real) == RATES
    assert (made_up["stops"], real["turns"], real["stops"]) == (3, len(roles(data)), 4)
    assert 0 < real["calls"] <= 4
    assert real["with_instructions"] > real["characters_a_turn"] > 0
    assert [promise["holds"] for promise in report["promises"]] == [None, True]
    assert str(tmp_path) not in target.read_text()
    assert not list(place.iterdir()), "nothing is left"


@pytest.mark.slow
def test_a_broken_promise_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mining, "MEMORY_LIMIT", 1.0)
    assert mining.run([*TINY, "--folder", str(tmp_path)]) == 1
    assert "BROKEN" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["--sizes", "0"], ["--turns", "1,0"], ["--repeat", "0"], ["--prompts", "0"]])
def test_nothing_is_measured_without_something_to_measure(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        mining.run(wrong)
    assert "at least" in capsys.readouterr().err
