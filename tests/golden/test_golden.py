"""Every output of memem, compared with the files in `expected/`.

A difference is a change of behaviour. If it is intended, record again and review the diff:

    .venv/bin/python -m tests.golden.record tests/golden/expected

The recording knows memem only by its command line, its protocols, its Python API and its files, and runs by a fixed
clock with fixed random numbers (`frozen.py`). It takes place once for all workers of a test run.
"""

import difflib
import fcntl
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden.record import read_verbs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="waits for background processes as only Linux can")

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = Path(__file__).parent / "expected"
PAGES = sorted(path.relative_to(EXPECTED).as_posix() for path in EXPECTED.rglob("*.txt"))
PRINTED_BY_ARGPARSE = ("help/", "cli/errors", "hooks/PostToolUse", "hooks/unknown")
"""Pages that other versions of Python word differently."""


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Record the current outputs into a folder like `expected/`."""
    base = tmp_path_factory.getbasetemp()
    target = (base if worker_id == "master" else base.parent) / "golden"
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            subprocess.run(
                [sys.executable, "-m", "tests.golden.record", target],
                cwd=ROOT,
                env={"PATH": os.environ["PATH"]},
                check=True,
                timeout=300,
            )
    return target


def test_nothing_is_recorded_that_was_not_expected(recorded: Path) -> None:
    assert sorted(path.relative_to(recorded).as_posix() for path in recorded.rglob("*.txt")) == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_outputs_match_the_recorded_ones(recorded: Path, page: str) -> None:
    if page.startswith(PRINTED_BY_ARGPARSE) and sys.version_info[:2] != (3, 11):
        pytest.skip("recorded with the argparse of Python 3.11")
    expected, said = (read_lines(folder / page) for folder in (EXPECTED, recorded))
    differences = list(difflib.unified_diff(expected, said, "expected", "now", lineterm=""))
    assert not differences, "\n".join(differences)


def test_every_verb_has_a_golden_page(recorded: Path) -> None:
    verbs = read_verbs((recorded / "help/memem.txt").read_text(encoding="utf-8"))
    assert len(verbs) > 20
    for folder in ("cli", "help"):
        assert set(verbs) <= {path.stem for path in (EXPECTED / folder).iterdir()}


def test_every_tool_has_a_golden_page(recorded: Path) -> None:
    tools = json.loads((recorded / "mcp/tools-full.txt").read_text(encoding="utf-8"))["tools"]
    assert len(tools) > 10
    assert {tool["name"] for tool in tools} <= {path.stem for path in (EXPECTED / "mcp").iterdir()}


def test_every_event_has_a_golden_page(recorded: Path) -> None:
    listed = (recorded / "help/hook.txt").read_text(encoding="utf-8").partition("one of")[2].partition("options:")[0]
    events = set(re.findall(r"[A-Z]\w+", listed))
    assert len(events) > 5
    assert events <= {path.stem for path in (EXPECTED / "hooks").iterdir()}


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
