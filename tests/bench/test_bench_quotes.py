"""The benchmark of quotes: its variants are what they say, and the promise holds on the built-in sentences."""

import gzip
import json
from pathlib import Path
from random import Random

import pytest

from bench import quotes
from tests.transcripts import Transcript


@pytest.mark.parametrize("seed", [1, 2])
def test_honest_quotes_are_found_and_wrong_ones_are_not(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MEMEM_BENCH_DATA", raising=False)
    file = tmp_path / "quotes.json"
    code = quotes.run(["--seed", str(seed), "--wrong", "450", "--json", str(file)])
    assert code == 0, capsys.readouterr().out
    kinds = json.loads(file.read_text(encoding="utf-8"))["kinds"]
    assert set(kinds) == {*quotes.HONEST, *quotes.MISLEADING}
    assert sum(kinds[kind][1] for kind in quotes.MISLEADING) == 0


def test_a_slip_is_in_the_turn_or_in_the_quote(tmp_path: Path) -> None:
    random = Random(3)  # noqa: S311 - it is for a test
    for case in quotes.make_honest(quotes.read_sentences(None, random), 60, random):
        assert case.kind in ("ellipsis in the middle", "white space") or not any(
            case.quote in turn.text for turn in case.turns if case.kind in ("arrow", "dash", "typo added")
        )


def test_a_wrong_quote_is_in_no_turn() -> None:
    random = Random(3)  # noqa: S311 - it is for a test
    for case in quotes.make_wrong(quotes.read_sentences(None, random), 90, random):
        if case.kind != "negation removed":
            assert not any(case.quote in turn.text for turn in case.turns), case.kind


def test_real_sessions_are_read(tmp_path: Path) -> None:
    session = Transcript(tmp_path / "s.jsonl")
    session.human("We keep the parsers in one folder of the repository. Yes.")
    folder = tmp_path / "transcripts" / "s"
    folder.mkdir(parents=True)
    (folder / "1.jsonl.gz").write_bytes(gzip.compress(session.path.read_bytes()))
    ((sentence,),) = quotes.read_sentences(tmp_path, Random(1))  # noqa: S311 - the same
    assert sentence.text == "We keep the parsers in one folder of the repository."
