"""The benchmarks work: made-up vaults are always the same and real to memem, the numbers are computed right."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import __main__ as dispatch
from bench import measure, vaults
from bench.measure import BARE, Program, Promise, Timed, against_bare, interleave, ratio, table
from memem.safety.gate import cleanse
from memem.search import find, refresh
from memem.workspace import Workspace

ROOT = Path(__file__).parents[2]


def test_the_same_number_gives_the_same_memory() -> None:
    assert [vaults.memory(number) for number in range(50)] == [vaults.memory(number) for number in range(50)]


def test_numbers_give_different_memories() -> None:
    made = [vaults.memory(number) for number in range(300)]
    assert len({memory.id for memory in made}) == len({memory.body for memory in made}) == 300
    assert {memory.project for memory in made} == set(vaults.PROJECTS)
    assert any(not memory.body.isascii() for memory in made)


def test_bodies_have_the_length_of_real_ones() -> None:
    lengths = [len(vaults.memory(number).body) for number in range(300)]
    assert min(lengths) >= vaults.SHORTEST
    assert max(lengths) <= vaults.LONGEST


def test_the_gate_takes_nothing_out_of_them() -> None:
    made = [vaults.memory(number) for number in range(300)]
    assert [cleanse(memory).memory for memory in made] == made


def test_memem_reads_the_notes_as_they_were_made(ws: Workspace) -> None:
    vaults.write_notes(ws, 60)
    assert refresh.refresh(ws).changed == 60
    found = {row.memory.id: row.memory for row in ws.index.rows() if row.memory}
    assert found == {memory.id: memory for memory in map(vaults.memory, range(60))}


def test_every_query_finds_something(ws: Workspace) -> None:
    vaults.write_notes(ws, 20)
    refresh.refresh(ws)
    assert all(find.search(ws, query) for query in vaults.queries(12))


def test_median_p95_and_multiple_of_bare() -> None:
    row = Timed("search", 100, tuple(number / 1000 for number in range(20, 0, -1)), bare=0.005)
    shown = row.as_json()
    assert (shown["ms"], shown["p95_ms"], shown["x_bare"], shown["runs"]) == (10.5, 19.0, 2.1, 20)


def test_rows_are_measured_against_the_bare_start_of_their_rounds() -> None:
    bare, search = against_bare({BARE: (0.010, 0.020, 0.030), "search": (0.004, 0.005, 0.9)}, 100)
    assert bare.as_json()["x_bare"] == 1.0
    assert search.as_json()["x_bare"] == 0.25


def test_a_ratio_is_that_of_the_medians() -> None:
    assert ratio({"large": (3.0, 100.0, 2.0), "small": (1.0, 2.0, 50.0)}, "large", "small") == 1.5


def test_a_promise_is_judged_only_at_its_own_sizes() -> None:
    assert Promise("save", 1.5, 1.5).as_json()["holds"] is True
    assert Promise("save", 1.51, 1.5).as_json()["holds"] is False
    assert Promise("save", 9.9, 1.5, judged=False).as_json()["holds"] is None


def test_tasks_take_turns_and_the_first_round_does_not_count() -> None:
    order: list[str] = []

    def task(name: str) -> Callable[[], float]:
        return lambda: float(order.append(name) or len(order))  # type: ignore[func-returns-value]

    assert interleave({"a": task("a"), "b": task("b")}, 2) == {"a": (3.0, 5.0), "b": (4.0, 6.0)}
    assert "".join(order) == "ababab"


def test_a_program_is_timed_and_weighed_without_its_starter(tmp_path: Path) -> None:
    ballast = bytearray(200_000_000)
    program = Program(lambda: (sys.executable, "-I", "-S", "-c", "pass"), {}, tmp_path)
    assert program() > 0
    assert 1_000_000 < program.peaks[0] < len(ballast) // 2


def test_a_program_that_fails_is_not_measured(tmp_path: Path) -> None:
    program = Program(lambda: (sys.executable, "-I", "-S", "-c", "raise SystemExit(3)"), {}, tmp_path)
    with pytest.raises(subprocess.CalledProcessError):
        program()


def test_a_program_reads_its_input(tmp_path: Path) -> None:
    script = "import sys; open('heard', 'w').write(sys.stdin.read())"
    told = iter((b"one", b"two"))
    program = Program(lambda: (sys.executable, "-I", "-S", "-c", script), {}, tmp_path, lambda: next(told))
    for _ in range(2):
        program()
    assert (tmp_path / "heard").read_text() == "two"


def leaving(what: str) -> tuple[str, ...]:
    """A program that ends at once and leaves another one behind."""
    script = f"import os, sys; os.fork() or os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', {what!r}])"
    return (sys.executable, "-I", "-S", "-c", script)


def test_children_of_a_program_are_waited_for(tmp_path: Path) -> None:
    Program(lambda: leaving("open('done', 'w')"), {}, tmp_path)()
    assert (tmp_path / "done").exists()


def test_waiting_for_an_endless_child_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "LEFT_SECONDS", 0.01)
    os.mkfifo(tmp_path / "word")
    program = Program(lambda: leaving("open('word').read()"), {}, tmp_path)
    with pytest.raises(TimeoutError, match="not done"):
        program()
    (tmp_path / "word").write_text("leave")


def test_a_table_aligns_its_columns() -> None:
    drawn = table(("what", "ms"), [("search", 1.5), ("reindex", 12_345.678)])
    assert drawn.splitlines() == [
        "what            ms",
        "------------------",
        "search        1.50",
        "reindex  12,345.68",
    ]


def test_an_unknown_benchmark_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.main(["speed"]) == dispatch.main([]) == 2
    assert "latency" in capsys.readouterr().err


@pytest.mark.slow
def test_latency_prints_its_tables_and_writes_json(tmp_path: Path) -> None:
    target = tmp_path / "latency.json"
    command = [sys.executable, "-m", "bench", "latency", "--sizes", "20", "--repeat", "2"]
    done = subprocess.run(
        [*command, "--json", str(target), "--folder", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in ("cold search", "warm slice", "x bare", "peak memory", "promise"))
    report = json.loads(target.read_text())
    assert {row["notes"] for row in report["times"]} == {20}
    assert all(row["ms"] > 0 and row["x_bare"] > 0 for row in report["times"])
    assert {peak["what"] for peak in report["memory"]} == {"cold search", "reindex"}
    assert [promise["holds"] for promise in report["promises"]] == [None, None, None]
    assert str(tmp_path) not in target.read_text()
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["user"]
