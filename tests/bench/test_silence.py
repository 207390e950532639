"""The whole of `bench silence`, on prompts few enough to know the answers."""

import gzip
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench import labelled, prompts, silence
from bench.options import DATA_VARIABLE
from memem.inject import confidence

ANIMALS = ("walrus", "otter", "heron", "badger", "lynx", "marten")
ALWAYS = {"labelled", "reliability"}
WITH_DATA = {"curve", "cosine", "in_use", "cross_validated", "abstention"}
KINDS = {"task": True, "ask": True, "off-topic": False, "near-miss": False, "wrong-project": False}


def says(animal: str) -> str:
    return f"The {animal} service listens on the harbour port of its keeper."


def asks(animal: str) -> str:
    return f"On which harbour port of its keeper does the {animal} service listen?"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A few questions, each answered by one message, and prompts about something else."""
    dialogue = {
        "sessions": [
            {"sessionId": animal, "messages": [{"role": "user", "content": says(animal)}]} for animal in ANIMALS
        ],
        "questions": [
            *({"question": asks(animal), "haystackSessionIds": [animal]} for animal in ANIMALS),
            {"question": "Which colour has the giraffe?", "haystackSessionIds": []},
        ],
    }
    prompts = ["ok thanks", *(f"rename button {number} of the page please" for number in range(1, 7))]
    folder = tmp_path / "data"
    folder.mkdir()
    for name, lines in (("devmem", [dialogue]), ("prompts", [{"prompt": prompt} for prompt in prompts])):
        with gzip.open(folder / f"{name}-dev.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    return folder


@pytest.fixture(autouse=True)
def _few_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "own.toml"
    lines = ['[[memory]]\nkey = "a"\nproject = "zoo"\nkind = "fact"\ntitle = "Walrus"', f'text = "{says("walrus")}"']
    lines += ['[[queries.keyword]]\ntext = "walrus"\nwanted = ["a"]']
    for kind, wanted in KINDS.items():
        text = asks("walrus") if wanted else "rename the zeppelin"
        lines += [f'[[prompts.{kind}]]\ntext = "{text}"\nproject = "zoo"', 'wanted = ["a"]' if wanted else ""]
    path.write_text("\n".join(lines))
    for name in ("load", "prompts"):
        monkeypatch.setattr(labelled, name, partial(getattr(labelled, name), path))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = silence.run(list(arguments))
    return code, capsys.readouterr().out


def read_results(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.mark.usefixtures("with_model")
def test_with_a_model_every_table_is_printed_and_every_promise_judged(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = run(capsys, "--data", str(data), "--json", str(tmp_path / "told.json"))
    assert code == 0
    for heading in (
        "Confidence, on devmem's questions",
        "A plain threshold on the cosine",
        "Weights and line from 4 of 5 parts",
        "Our own prompts, at the threshold in use",
        "How confident memem is, and how often it is right",
    ):
        assert heading in out
    assert out.count("<- in use") == 1
    assert "Questions that no memory answers: 0 of 1 get something." in out
    assert out.count("holds") >= 4
    assert "BROKEN" not in out


@pytest.mark.usefixtures("with_model")
def test_the_json_has_all_of_it(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "--data", str(data), "--json", str(tmp_path / "told.json"))
    found = read_results(tmp_path / "told.json")
    assert found.keys() == {"bench", "machine", "promises"} | ALWAYS | WITH_DATA
    assert found["bench"] == "silence"
    assert [point["line"] for point in found["curve"]] == list(silence.LINES)
    assert [point["line"] for point in found["cosine"]] == list(silence.COSINES)
    assert (found["in_use"]["answered"], found["in_use"]["of_on"], found["in_use"]["off_topic"]) == (6, 6, 0)
    assert found["in_use"]["of_off"] == 7
    assert found["abstention"] == {"fired": 0, "of": 1}
    assert {each["kind"]: each["fired"] for each in found["labelled"]} == {
        kind: int(wanted) for kind, wanted in KINDS.items()
    }


@pytest.mark.usefixtures("with_model")
def test_the_fit_is_shown_with_the_effect_of_other_values(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out = run(capsys, "--data", str(data), "--fit")
    assert "Weights:         always=" in out
    assert "calibrated:      always=" in out
    assert "by words alone:  always=" in out
    assert out.count("6 of 6") >= len(silence.QUESTIONS) + len(silence.NAMES)


@pytest.mark.usefixtures("with_model")
def test_a_promise_that_is_broken_fails_the_run(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silence, "MOST_CHARACTERS", 10)
    code, out = run(capsys, "--data", str(data))
    assert code == 1
    assert out.count("BROKEN") == 1


def test_without_a_model_words_are_measured_alone(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = run(capsys, "--data", str(data), "--json", str(tmp_path / "told.json"))
    assert out.startswith("By words alone, there is no model:")
    assert "Our own prompts, at the threshold in use" in out
    found = read_results(tmp_path / "told.json")
    assert found["in_use"]["answered"] == 6
    assert "cross_validated" not in found
    assert found["promises"] == []
    assert f"Nothing is promised without a model, and --data DIR or {DATA_VARIABLE}." in out
    assert code == 0


def test_without_a_model_there_is_nothing_to_fit(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "--data", str(data), "--fit")
    assert code == 0
    assert "Weights:" not in out


def test_asked_for_small_vaults_are_measured_with_every_number_of_notes_that_is_enough(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silence, "SIZES", (1, 2))
    monkeypatch.setattr(prompts, "SMALL_STEP", 1)
    used = confidence.ENOUGH_NOTES
    code, out = run(capsys, "--small")
    rows = out.split("In small vaults: ")[1].split("Nothing is promised")[0].splitlines()
    assert (code, confidence.ENOUGH_NOTES) == (0, used)
    assert sum("2 of 2, 0 of 2" in row for row in rows) == len(silence.ENOUGH)
    assert "In small vaults" not in run(capsys)[1]


def test_without_data_our_own_prompts_are_measured_and_nothing_is_promised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = run(capsys, "--json", str(tmp_path / "told.json"))
    assert code == 0
    assert f"Nothing is promised without a model, and --data DIR or {DATA_VARIABLE}." in out
    found = read_results(tmp_path / "told.json")
    assert found.keys() == {"bench", "machine", "promises"} | ALWAYS
    assert found["promises"] == []


def test_the_folder_with_the_data_may_be_named_by_a_variable(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(data))
    monkeypatch.setattr(silence, "measure", lambda public, _own: {"labelled": [], "reliability": [], "n": len(public)})
    run(capsys, "--json", str(tmp_path / "told.json"), "--cache", str(tmp_path / "cache"))
    assert read_results(tmp_path / "told.json")["n"] == 14
    assert (tmp_path / "cache" / "devmem" / "vault").is_dir()


def broken(unseen: dict[str, float] | None = None, **changed: float) -> list[str]:
    """The promises that do not hold, where all would without these changes."""
    used = {"off_topic": 0, "of_off": 171, "answered": 97, "of_on": 97, "characters": 900.0} | changed
    crossed = {
        name: {"value": value} for name, value in ({"off_topic": 0.01, "answered": 0.96} | (unseen or {})).items()
    }
    return [claim.what for claim in silence.claims({"in_use": used, "cross_validated": crossed}) if not claim.holds]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"off_topic": 2}, []),
        ({"off_topic": 3}, ["off-topic prompts that get a memory"]),
        ({"answered": 93}, []),
        ({"answered": 92}, ["questions that get a memory"]),
        ({"characters": 1_199}, []),
        ({"characters": 1_200}, ["characters in a slice, median"]),
    ],
)
def test_promises_are_compared_with_measurements(changed: dict[str, Any], expected: list[str]) -> None:
    assert broken(**changed) == expected


@pytest.mark.parametrize("unseen", [{"off_topic": 0.02}, {"answered": 0.94}])
def test_cross_validated_promises_count_too(unseen: dict[str, float]) -> None:
    (what,) = broken(unseen)
    assert what.endswith(", cross-validated")
