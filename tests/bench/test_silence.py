"""The curve of silence, on a dialogue small enough to know the answer."""

import gzip
import json
from pathlib import Path

import pytest

from bench import silence
from memem.recall.confidence import IN_USE

DIALOGUE = {
    "sessions": [
        {"sessionId": "S1", "messages": [{"role": "user", "content": "The walrus service listens on port 7411."}]},
        {"sessionId": "S2", "messages": [{"role": "user", "content": "Deploys of the otter happen on Mondays."}]},
    ],
    "questions": [
        {"question": "Which port does the walrus service listen on?", "haystackSessionIds": ["S1"]},
        {"question": "When are deploys of the otter?", "haystackSessionIds": ["S2"]},
        {"question": "Which colour has the giraffe?", "haystackSessionIds": []},
    ],
}
PROMPTS = [{"prompt": "ok thanks"}, {"prompt": "rename the button"}]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, lines in (("devmem-dev", [DIALOGUE]), ("prompts-dev", PROMPTS)):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    return tmp_path


def test_the_shares_are_those_of_the_answerable_questions_and_of_the_prompts(data: Path) -> None:
    points = silence.curve(data)
    (in_use, *_) = [point for point in points if point.line == IN_USE]
    assert (in_use.off_topic, in_use.answerable, in_use.right) == (0.0, 1.0, 1.0)
    assert [point.line for point in points] == list(silence.LINES)


def test_the_table_marks_the_line_in_use(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert silence.run(["--data", str(data)]) == 0
    heading, model, *rows = capsys.readouterr().out.splitlines()
    assert heading.startswith("words  coverage")
    assert "no model" in model
    assert len(rows) == len(silence.LINES)
    assert any(row.endswith("0.0%      100.0%        100.0%  <- in use") for row in rows)
