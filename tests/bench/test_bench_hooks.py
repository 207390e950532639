"""The benchmark of hooks works: what it times is what Claude Code would run, and does what it should."""

import json
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from bench import hooks, scene
from bench.hooks import Report
from bench.latency import Bed
from bench.measure import BARE, Promise
from bench.scene import Hook, Scene, Server, starting
from memem.mine.schedule import mine_file

TINY = ("--notes", "40", "--repeat", "1", "--queries", "2")
ENDS = "import sys; sys.stdin.readline()"
REFUSES = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    result = {"tools": [], "isError": True, "content": [{"text": "There is no vault."}]}
    if "id" in asked:
        print(json.dumps({"method": "notifications/news"}))
        print(json.dumps({"id": asked["id"], "result": result}), flush=True)
"""
STAYS = f"{REFUSES}\nimport time\nwhile True: time.sleep(60)"


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Server]:
    """Starts a server that is another program."""
    monkeypatch.setattr(scene, "ROOT", tmp_path)

    def serve(script: str) -> Server:
        (tmp_path / "serve.py").write_text(script)
        options = {"CLAUDE_PLUGIN_OPTION_VAULT": "${user_config.vault}"}
        told = {"command": sys.executable, "args": ["-I", "-S", "${CLAUDE_PLUGIN_ROOT}/serve.py"], "env": options}
        (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"memem": told}}))
        return Server({}, tmp_path)

    return serve


def test_a_missing_model_is_reported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMEM_ENCODER", "minilm")
    assert hooks.run([]) == 1
    assert "memem index model fetch" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--notes", "39"], ["--repeat", "0"], ["--queries", "0"]])
def test_nothing_is_measured_without_something_to_measure(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        hooks.run(wrong)
    assert "at least" in capsys.readouterr().err


@pytest.mark.slow
def test_it_prints_its_tables_and_writes_json(
    tmp_path: Path, weights_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMEM_ENCODER", "minilm")
    monkeypatch.setenv("MEMEM_MODEL_DIR", str(weights_folder))
    target = tmp_path / "hooks.json"
    assert hooks.run([*TINY, "--json", str(target)]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in (hooks.STOP, "x bare", "resident memory", "not judged"))
    assert "complained" not in shown
    assert "memem-bench-" not in target.read_text()
    report = json.loads(target.read_text())
    rows = {row["what"]: row for row in report["times"]}
    assert {BARE, hooks.PROMPT, hooks.PROMPT + hooks.UP, hooks.ENCODE, hooks.SERVE} <= rows.keys()
    does = (hooks.START, hooks.START + hooks.UP, hooks.STOP, hooks.TOOL, hooks.TOOL + hooks.UP)
    assert [rows[what]["answered"] for what in does] == [1.0] * len(does)
    assert (rows[hooks.TOOL_OFF]["answered"], rows[hooks.PERMISSION]["answered"]) == (0, None)
    assert [promise["holds"] for promise in report["promises"]] == [None] * 7
    leader, follower = (
        [each["mb"] for each in report["memory"] if each["what"].startswith(who)] for who in ("leader", "follower")
    )
    assert leader[1] > leader[0] + 20, "the leader has loaded the encoder"
    assert follower[1] < leader[0] + 20, "the follower has not"
    assert report["promises"][-1]["ratio"] == pytest.approx(follower[1] / leader[0], abs=0.02)


@pytest.mark.parametrize(
    "report",
    [
        Report(promises=[Promise("a prompt / a start", 2.1, 2.0)]),
        Report(complaints=["a prompt was not answered in time"]),
    ],
)
def test_a_broken_promise_and_a_complaint_are_failures(
    report: Report, tmp_path: Path, small_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEM_ENCODER", "minilm")
    monkeypatch.setattr(hooks, "measure", lambda *_: report)
    assert hooks.run(["--folder", str(tmp_path)]) == 1


def test_complaints_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    hooks._print(Report(complaints=["Stop: the disk is full"]))
    assert "complained:\nStop: the disk is full" in capsys.readouterr().out


def test_a_session_has_nothing_in_it_that_is_worth_keeping(tmp_path: Path) -> None:
    bed = Bed(tmp_path / "bed", 0, count(), MEMEM_ENCODER="none", MEMEM_EXTRACTOR="rules")
    told = scene.write_transcript(tmp_path / "s1.jsonl")
    mined = mine_file(bed.workspace, tmp_path / "s1.jsonl")
    bed.close()
    assert (mined.outcome, mined.turns, mined.count("added")) == ("mined", 2, 0)
    assert (
        told["last_assistant_message"]
        in json.loads((tmp_path / "s1.jsonl").read_text().splitlines()[-1])["message"]["content"][0]["text"]
    )


def test_prompts_are_about_notes_their_project_may_see(tmp_path: Path) -> None:
    bed = Bed(tmp_path / "bed", 100, count(), MEMEM_ENCODER="none", CLAUDE_PLUGIN_DATA="/srv/data")
    scene = Scene(bed)
    bed.close()
    assert len(set(scene.prompts)) == len(scene.prompts) > 10
    assert "CLAUDE_PLUGIN_DATA" not in scene.environ, "nothing of the session that runs the benchmark"
    assert "PYTHONPATH" not in scene.environ


def test_each_hook_run_gets_another_session(tmp_path: Path) -> None:
    hook = Hook(
        "Stop", {"MEMEM_HOOKS_OFF": "1"}, tmp_path, tmp_path, lambda path: {"last_assistant_message": path.stem}
    )
    first, second = (json.loads(hook._envelope()) for _ in range(2))
    assert [first["session_id"], second["session_id"]] == hook.sessions
    assert len(set(hook.sessions)) == 2
    assert first["transcript_path"] == str(tmp_path / f"{hook.sessions[0]}.jsonl")
    assert (first["hook_event_name"], first["last_assistant_message"]) == ("Stop", hook.sessions[0])


def test_a_server_that_ends_is_an_error(serving: Callable[[str], Server]) -> None:
    with pytest.raises(RuntimeError, match="ended instead of answering initialize"):
        serving(ENDS)


def test_a_server_gets_empty_options(serving: Callable[[str], Server], tmp_path: Path) -> None:
    with serving(f"import os\nopen('told', 'w').write(repr(os.environ['CLAUDE_PLUGIN_OPTION_VAULT']))\n{REFUSES}"):
        assert (tmp_path / "told").read_text() == "''"


def test_a_refused_request_is_an_error(serving: Callable[[str], Server]) -> None:
    with serving(REFUSES) as server, pytest.raises(RuntimeError, match="There is no vault"):
        server.search("tokens")


def test_a_server_that_does_not_leave_is_ended(
    serving: Callable[[str], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene, "CLOSE_SECONDS", 0.01)
    server = serving(STAYS)
    server.close()
    assert server._process.returncode == -9


def test_a_server_is_timed_until_it_lists_its_tools(serving: Callable[[str], Server]) -> None:
    started: list[Server] = []

    def start() -> Server:
        started.append(serving(REFUSES))
        return started[-1]

    assert starting(start)() > 0
    assert started[0]._process.returncode == 0


def test_a_server_that_answers_no_hook_does_not_lead(
    serving: Callable[[str], Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene, "LEAD_TRIES", 1)
    monkeypatch.setattr(Scene, "start_server", lambda _: serving(REFUSES))
    monkeypatch.setattr(Scene, "_outcome", lambda _: "other")
    bed = Bed(tmp_path / "bed", 40, count(), MEMEM_ENCODER="none")
    with pytest.raises(RuntimeError, match="does not answer hooks: other"), Scene(bed).leader():
        pass
    bed.close()
