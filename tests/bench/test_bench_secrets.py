"""The labelled set of secrets is well formed, and what is measured on it stays good."""

import gzip
import json
from pathlib import Path

import pytest

from bench import secrets
from bench.secret_samples import DEV, HELD, SORTS, Sample, harmless, samples
from bench.secrets import is_gone


def test_every_sample_holds_its_secret_and_all_sorts_are_in_both_parts() -> None:
    for sample in samples():
        assert sample.secret in sample.text
        assert "«" not in sample.text
    assert {(sample.sort, sample.split) for sample in samples()} == {(s, part) for s in SORTS for part in (DEV, HELD)}
    assert len({sample.name for sample in samples()}) > 200


def test_a_secret_of_which_half_is_left_is_not_gone() -> None:
    sample = Sample("token", "words", "prose", DEV, "", "abcdefghijklmnopqrstuvwxyz0123456789")
    assert is_gone(sample, "it was [redacted: token]")
    assert not is_gone(sample, "it was [redacted: token]stuvwxyz0123456789")


def test_it_measures_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "transcripts" / "one"
    folder.mkdir(parents=True)
    said = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "the password is hunter2\nreally"}}
    (folder / "0.jsonl.gz").write_bytes(gzip.compress(json.dumps(said).encode() + b"\n"))
    told = tmp_path / "told.json"
    options = ["--every", "40", "--repeat", "1", "--alone", "--data", str(tmp_path), "--json", str(told), "--show"]
    assert secrets.run(options) == 1, "two lines, and one of them holds a secret: too many"
    report = json.loads(told.read_text())
    assert report["said"] == {"lines": 2, "found": 1, "in_a_thousand": 500.0}
    assert report["harmless"] == {"texts": len(harmless()), "taken": 0}
    printed = capsys.readouterr().out
    assert "password: hun… (7 characters)" in printed
    assert "hunter2" not in printed


def test_without_sessions_that_part_is_skipped_and_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert secrets.run(["--every", "40", "--repeat", "1", "--alone"]) == 0
    assert "Real sessions: skipped" in capsys.readouterr().out
