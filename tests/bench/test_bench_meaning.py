"""The benchmark of meaning works, and counts what it says it counts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import meaning
from memem.search.encoders.wordpiece import WordPiece

ROOT = Path(__file__).parents[2]


def test_the_query_has_twenty_tokens(weights_folder: Path) -> None:
    tokens = WordPiece((weights_folder / "vocab.txt").read_text(encoding="utf-8"))
    assert len(tokens.ids(meaning.QUERY, 100)) == 20


def test_a_missing_model_is_reported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMEM_ENCODER", "minilm")
    assert meaning.run(["--sizes", "20"]) == 1
    assert "memem index model fetch" in capsys.readouterr().err


def test_a_reference_needs_its_model(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        meaning.run(["--reference", sys.executable])
    assert "go together" in capsys.readouterr().err


@pytest.mark.slow
def test_it_prints_its_tables_and_writes_json(tmp_path: Path, weights_folder: Path) -> None:
    target = tmp_path / "meaning.json"
    command = [sys.executable, "-m", "bench", "meaning", "--sizes", "20", "--repeat", "2", "--json", str(target)]
    done = subprocess.run(
        [*command, "--folder", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"MEMEM_ENCODER": "minilm", "MEMEM_MODEL_DIR": str(weights_folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "keywords only" not in done.stderr, "every search was a fused one"
    report = json.loads(target.read_text())
    inside = {meaning.WARM, meaning.ENCODE, meaning.SLICE, meaning.ENCODE_PROMPT}
    assert {row["what"] for row in report["times"]} == {"bare start", meaning.COLD, *inside}
    assert [promise["holds"] for promise in report["promises"]] == [None] * len(report["promises"])
    assert str(tmp_path) not in target.read_text()
