"""The soak works: small, it does all that it does large, and what it says of each property is what it saw."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from bench import soak, soak_scene, soak_verdicts
from bench.soak_scene import Facts, Scene
from bench.soak_sessions import Ran, Talk
from bench.soak_verdicts import Report
from bench.soak_watch import CALL, LATER, SERVER, Look, Watch, sizes
from memem.transcript import session

TINY = ("--notes", "30", "--sessions", "2", "--turns", "2", "--words", "--no-kill", "--pause", "0")
OF_TIME = {"hooks within their deadlines", "answers missed"}
"""Properties that depend on the load of the machine, judged by the bench alone."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts processes in /proc")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "soak", 5, None)


@pytest.mark.slow
def test_a_small_soak_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak_scene, "TROUBLED", 0.0)
    soak.run([*TINY, "--json", str(tmp_path / "soak.json"), "--folder", str(tmp_path)])
    printed = capsys.readouterr().out
    told = json.loads((tmp_path / "soak.json").read_text())
    broken = {each["what"] for each in told["properties"] if each["judged"] and not each["holds"]}
    assert broken <= OF_TIME, printed
    assert {row["event"] for row in told["hooks"]} == {
        *("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd")
    }
    assert "holds   nothing lost: " in printed
    assert int(told["figures"]["facts told"]) >= 4, "one by each session's words, one by each one's tool"
    assert "holds   no process left: none" in printed
    assert "by words alone" in printed
    assert list(tmp_path.glob("memem-soak-*")) == []


@pytest.mark.parametrize("wrong", [["--notes", "0"], ["--sessions", "0"], ["--turns", "0"]])
def test_nothing_is_soaked_without_something_to_soak(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        soak.run(wrong)
    assert "at least one" in capsys.readouterr().err


def test_tools_sidechains_and_summaries_are_not_turns(scene: Scene) -> None:
    script = scene.session("s1", 0)
    facts = Facts("s01")
    script.prompt(facts.tell())
    script.works(facts.mutter())
    script.compacted()
    script.raw(script.half("Done."))
    with script.path.open("rb") as file:
        said = [step.line.turn.text for step in session.steps(file, 0, "s1") if step.line.turn]
    assert [facts.told[0] in text for text in said] == [True, False]
    assert not any(name in text for text in said for name in (*facts.untold, "FACT-none"))


def test_a_fork_begins_with_the_same_turns_and_a_rotated_file_is_another_one(scene: Scene) -> None:
    script = scene.session("s1", 0)
    script.prompt("one")
    before = script.path.stat().st_ino
    held = script.path.open("rb")  # so that its number is not given away
    script.rotate()
    assert script.path.stat().st_ino != before
    held.close()
    forked = script.fork("s2")
    assert forked.path.read_bytes() == script.path.read_bytes()


def hooked(*taken: float, code: int = 0) -> list[Ran]:
    return [Ran("Stop", seconds, 5.0, answered=False, code=code) for seconds in taken]


def judged(report: Report) -> dict[str, bool]:
    return {each.what: each.holds for each in report.verdicts}


def looked(scene: Scene, *looks: Look) -> Watch:
    return Watch(scene, list(looks), [0.01])


@pytest.mark.parametrize(("taken", "holds"), [((0.1, 4.9), True), ((0.1, 5.0), False)])
def test_a_missed_deadline_is_reported(scene: Scene, taken: tuple[float, ...], holds: bool) -> None:
    report = Report()
    soak_verdicts.hooks(report, Talk(scene, 1, ran=hooked(*taken)), looked(scene))
    assert judged(report)["hooks within their deadlines"] is holds
    assert report.hooks[0]["max_ms"] == 1e3 * taken[-1]


def test_an_abandoned_answer_is_reported(scene: Scene) -> None:
    home = Path(scene.environ["MEMEM_DIR"])
    home.mkdir()
    (home / "hooks.log").write_text("2026-03-01T09:00:00+0100 UserPromptSubmit: not done within 8.0 s\n")
    report = Report()
    soak_verdicts.hooks(report, Talk(scene, 1, ran=hooked(0.1)), looked(scene))
    assert judged(report)["answers missed"] is False


def look(background: int = 1, memory: int = 100, files: int = 10, **sizes: int) -> Look:
    return Look(0.0, Counter({LATER: background, CALL: 1, SERVER: 2}), memory, 2, files, sizes)


@pytest.mark.parametrize(
    ("last", "broken"),
    [
        (look(), set()),
        (look(background=8), {"processes bounded"}),
        (look(memory=130), {"memory of servers flat"}),
        (look(files=13), {"open files flat"}),
        (look(undo=60_000_000), {"files bounded"}),
        (look(letters=1), {"files bounded"}),
    ],
)
def test_growth_is_reported(scene: Scene, last: Look, broken: set[str]) -> None:
    report = Report()
    watch = looked(scene, *[look()] * 20, *[last] * 20)
    soak_verdicts.resources(report, watch, 40, [], {"server": 0, "miner": 0})
    assert {what for what, holds in judged(report).items() if not holds} == broken


def test_a_leftover_process_is_reported(scene: Scene) -> None:
    report = Report()
    soak_verdicts.resources(report, looked(scene, look()), 1, ["servers: memem serve"], {"server": 0, "miner": 0})
    assert judged(report)["no process left"] is False
    assert not next(each for each in report.verdicts if each.what == "memory of servers flat").judged


def test_facts_are_counted_in_statements_and_not_in_quotes(scene: Scene) -> None:
    memories = scene.folder / "vault" / "memem" / "memories"
    memories.mkdir(parents=True)
    for name in ("one", "two"):
        text = "---\nrelated: [fact-s01n0009]\n---\nThe service fact-s01n0001 is.\n\n> [!quote]- E\n> fact-s01n0002\n"
        (memories / f"{name}.md").write_text(text)
    assert scene.count_saved_facts() == {"fact-s01n0001": 2}


def test_files_are_measured_by_purpose(tmp_path: Path) -> None:
    for name in ("state/undo/ab", "state/state.db-wal", "run/later/x-s1-Stop.json", "run/later/x.lock", "hooks.log"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
    assert sizes(tmp_path) == {"undo": 5, "state.db log": 5, "letters": 5, "run": 5, "hooks.log": 5}


def test_calls_that_tell_their_cost_are_those_that_report() -> None:
    steps = list(soak_scene._steps())
    told = soak_scene.cost_told([{"step": number} for number in range(200)])[0]
    assert told == sum("echo" in step or "words" in step for step in steps[:200]) < 200
