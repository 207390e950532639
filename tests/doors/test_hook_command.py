"""`memem hook EVENT`, called by its name and by the client for what goes on afterwards."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import memem
from memem.notes import save
from memem.search.transcripts import consent
from memem.workspace import Workspace
from tests.transcripts import Transcript

MAIN = Path(memem.__file__).with_name("__main__.py")


@pytest.fixture
def environ(ws: Workspace) -> dict[str, str]:
    ours = {"MEMEM_DIR": str(ws.settings.home), "MEMEM_OBSIDIAN_VAULT": str(ws.settings.vault)}
    return {**os.environ, **ours, "MEMEM_EXTRACTOR": "rules"}


def call(environ: dict[str, str], given: object, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", str(MAIN), "hook", *arguments]
    told = given if isinstance(given, str) else json.dumps(given)
    return subprocess.run(command, input=told, env=environ, capture_output=True, text=True, timeout=60, check=False)


def test_an_event_is_answered_on_standard_output(ws: Workspace, environ: dict[str, str], tmp_path: Path) -> None:
    save.save(ws, "The house is painted yellow, by Swoboda & Sons.", project="general")
    given = {"session_id": "s1", "cwd": str(tmp_path), "prompt": "is the house painted yellow?"}
    done = call(environ, given, "UserPromptSubmit")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Swoboda" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def test_background_work_prints_nothing(ws: Workspace, environ: dict[str, str], sessions: Path) -> None:
    consent.opt_in(ws)
    session = Transcript(sessions / "s1.jsonl")
    session.human("remember that prices are net")
    done = call(environ, {"session_id": "s1", "transcript_path": str(session.path)}, "SessionEnd", "--later")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(list(ws.store.paths.memories.glob("*.md"))) == 1


@pytest.mark.parametrize("given", ["", "[]", "{}"])
def test_a_failure_of_background_work_is_logged(ws: Workspace, environ: dict[str, str], given: str) -> None:
    consent.opt_in(ws)
    done = call(environ, given, "Stop", "--later")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert " Stop: The hook" in ws.home.hooks_log.read_text()


def test_a_missing_transcript_is_not_logged_while_mining_is_off(ws: Workspace, environ: dict[str, str]) -> None:
    assert call(environ, {"session_id": "s1"}, "Stop", "--later").returncode == 0
    assert not ws.home.hooks_log.exists()


def test_settings_that_cannot_be_used_are_in_the_log(ws: Workspace, environ: dict[str, str]) -> None:
    assert call({**environ, "MEMEM_MAX_MINERS": "many"}, {}, "Stop", "--later").returncode == 0
    assert " Stop: max_miners is 'many'" in ws.home.hooks_log.read_text()


def test_an_unknown_event_is_wrong_usage(environ: dict[str, str]) -> None:
    done = call(environ, {}, "Lunch")
    assert done.returncode == 2
    assert "Lunch" in done.stderr
