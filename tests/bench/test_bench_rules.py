"""The labelled set of the rules is well formed, and the rules stay precise on it."""

import gzip
import json
from pathlib import Path

import pytest

from bench import rules
from bench.rules import DEV, HELD, Case, Expectation, load, mistakes, score
from memem.core.conversation import HUMAN, ROLES, Turn
from memem.core.memory import KINDS


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return load()


def case(text: str, *expected: Expectation) -> Case:
    return Case("test", DEV, (Turn("0", HUMAN, text),), expected)


def test_no_conversation_is_there_twice(cases: list[Case]) -> None:
    assert len({case.turns for case in cases}) == len(cases)


def test_both_splits_have_half_of_the_cases_of_either_sort(cases: list[Case]) -> None:
    for some in ([case for case in cases if case.expected], [case for case in cases if not case.expected]):
        halves = [sum(case.split == split for case in some) for split in (DEV, HELD)]
        assert sum(halves) == len(some)
        assert abs(halves[0] - halves[1]) <= 1


def test_there_are_enough_cases_of_either_sort(cases: list[Case]) -> None:
    positive = sum(bool(case.expected) for case in cases)
    assert positive >= 60
    assert len(cases) - positive >= 120


def test_every_case_can_be_met(cases: list[Case]) -> None:
    for case in cases:
        assert {turn.role for turn in case.turns} <= set(ROLES)
        for expectation in case.expected:
            assert expectation.kinds
            assert set(expectation.kinds) <= set(KINDS)
            assert any(expectation.says in turn.text for turn in case.turns)


def test_the_rules_are_precise_on_the_whole_set(cases: list[Case]) -> None:
    result = score(cases)
    assert result.precision
    assert result.precision.value >= 0.95
    assert result.recall
    assert result.recall.value >= 0.7


def test_a_statement_of_another_kind_or_about_something_else_is_a_mistake() -> None:
    wanted = Expectation(("decision",), "tabs")
    wrong, missed = mistakes([case("always use tabs", wanted)])
    assert wrong == "wrong   test: convention: Always use tabs."
    assert missed == "missed  test: decision: always use tabs"
    assert not list(mistakes([case("always use tabs", Expectation(("decision", "convention"), "tabs"))]))


def test_the_score_counts_extracted_and_expected_lessons() -> None:
    result = score([case("always use tabs"), case("ok", Expectation(("fact",), "x"))])
    assert (result.kept, result.expected) == (1, 1)
    assert result.precision
    assert result.precision.value == 0
    assert score([case("ok")]).precision is None


def test_the_table_names_both_splits(capsys: pytest.CaptureFixture[str]) -> None:
    assert rules.run([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines if " all " in line] == [[DEV, "all"], [HELD, "all"]]


def test_real_sessions_are_read_once_and_without_generated_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = _line("1", "always use tabs")
    injected = _line("2", "never use tabs") | {"isMeta": True}
    command = _line("3", "<command-name>never use tabs</command-name>")
    answer = {"type": "assistant", "uuid": "4", "message": {"content": [{"type": "text", "text": "Done."}]}}
    folder = tmp_path / "transcripts" / "session"
    folder.mkdir(parents=True)
    for snapshot in ("0.jsonl.gz", "1.jsonl.gz"):
        with gzip.open(folder / snapshot, "wt", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in (typed, injected, command, answer))
            file.write("{}{}\n")
    rules.run(["--data", str(tmp_path), "--show"])
    printed = capsys.readouterr().out
    assert "1 statements in 1 human turns of transcripts: 100.0 of 100" in printed
    assert "  convention: Always use tabs." in printed


def _line(uuid: str, text: str) -> dict[str, object]:
    return {"type": "user", "uuid": uuid, "message": {"content": text}}
