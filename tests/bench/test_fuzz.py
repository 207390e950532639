"""The fuzzer, tried small: every target takes its seeds, and what should be found is found."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import fuzz, hunting
from bench.hunting import Target, Try, hunt
from bench.mutating import LARGEST, mutated
from memem.core.errors import InputError


@pytest.mark.slow(keep=4)
@pytest.mark.parametrize("name", fuzz.ALL)
def test_nothing_is_found_in_a_few_inputs(tmp_path: Path, name: str) -> None:
    target = fuzz.ALL[name]
    done = hunt(target, tmp_path, seconds=0, seed=0, most=len(target.seeds()) + 12)
    assert done.executions == len(target.seeds()) + 12
    assert list(done.findings.values()) == []


def aimed(attempt: Try) -> Target:
    @contextmanager
    def opened(_: Path) -> Iterator[Try]:
        yield attempt

    return Target("aimed", opened, lambda: [b"one", b"two"])


def findings_of(attempt: Try, folder: Path) -> list[str]:
    return [each.what for each in hunt(aimed(attempt), folder, seconds=0, seed=0, most=3).findings.values()]


def test_an_error_of_our_own_is_a_refusal(tmp_path: Path) -> None:
    def refuse(_: bytes) -> None:
        raise InputError("no")

    assert findings_of(refuse, tmp_path) == []


@pytest.mark.parametrize("problem", [KeyError("x"), RecursionError("deep"), MemoryError(), SystemExit(1)])
def test_any_other_is_a_finding_and_counts_once(tmp_path: Path, problem: BaseException) -> None:
    def fail(_: bytes) -> None:
        raise problem

    assert len(findings_of(fail, tmp_path)) == 1


def test_an_endless_input_is_stopped_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunting, "MOST_SECONDS", 0.05)

    def hang(data: bytes) -> None:
        while data == b"two":
            pass

    assert findings_of(hang, tmp_path) == ["Hang: not done within 0.05 s"]


def test_the_same_seed_makes_the_same_inputs() -> None:
    made = [random.Random(5) for _ in range(2)]  # noqa: S311 - nothing is kept secret by them
    one, other = ([mutated(rng, [b'{"a": 1}']) for _ in range(50)] for rng in made)
    assert one == other
    assert len(set(one)) > 30
    assert max(map(len, one)) <= LARGEST


def test_inputs_that_reach_new_lines_are_kept(tmp_path: Path) -> None:
    done = hunt(fuzz.ALL["frontmatter"], tmp_path, seconds=0, seed=0, most=30)
    assert len(done.lines) > 50
    assert {Path(name).name for name, _ in done.lines} >= {"frontmatter.py"}


def test_it_prints_a_row_for_each_target_and_its_findings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: bytes) -> None:
        raise KeyError("x")

    monkeypatch.setitem(fuzz.ALL, "aimed", aimed(fail))
    assert fuzz.run(["aimed", "--inputs", "2"]) == 1
    printed = capsys.readouterr().out
    assert "KeyError: 'x'" in printed
    assert "'one'" in printed
    assert fuzz.run(["tombstones", "--inputs", "2"]) == 0
