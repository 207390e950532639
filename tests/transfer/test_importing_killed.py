"""An import that is killed, again and again, and then done ends as if it had never been: shown with real processes."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memem.notes import save
from memem.transfer import export, import_
from memem.workspace import Workspace, open_workspace
from tests.fakes import SteppingClock

ROOT = Path(__file__).parent.parent.parent
NOTES = 150
DRIVER = """
import os, signal, sys
from pathlib import Path
from memem.core import files
from memem.notes import write
from memem.transfer import import_
from memem.workspace import open_workspace
from tests.fakes import SteppingClock

home, vault, source, way, number = sys.argv[1:]
left = int(number)

def counted(call):
    def one_more(*given, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*given, **options)
    return one_more

class Watched:
    def __getattr__(self, name):
        real = getattr(os, name)
        return counted(real) if name in ("open", "write", "replace", "close", "unlink") else real

if way == "calls":
    files.os = Watched()
else:
    write.revise = counted(write.revise)
ws = open_workspace(actor="test", home=Path(home), vault=Path(vault), clock=SteppingClock())
import_.import_notes(ws, [Path(source)])
ws.close()
"""


def opened(folder: Path) -> Workspace:
    return open_workspace(actor="test", home=folder / "home", vault=folder / "vault", clock=SteppingClock())


def killed(folder: Path, source: Path, way: str, number: int) -> None:
    """Import in a process that kills itself before the so-and-so-many-th call."""
    command = [sys.executable, "-c", DRIVER, *map(str, (folder / "home", folder / "vault", source, way, number))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def begun(folder: Path) -> Workspace:
    """A memory home that knows one of the statements already, so that links to its file lead there in the end."""
    ws = opened(folder)
    ws.store.make_vault()
    from memem.core.memory import Memory
    from memem.vault import note

    known = Memory(
        "33333333-cccc", "Word7a meets word7b", "Word7a meets word7b at place7c near word7d.", created="2026-01-01"
    )
    (ws.store.paths.memories / note.file_name(known)).write_bytes(note.new_text(known).encode())
    return ws


def content(ws: Workspace) -> dict[str, bytes]:
    """Every note; no pages, which follow."""
    ours, apart = ws.store.paths.ours, {"Home.md", "projects", "playbooks"}
    found = [path for path in ours.rglob("*.md") if apart.isdisjoint(path.parts)]
    return {path.relative_to(ours).as_posix(): path.read_bytes() for path in found}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Some hundred notes with links between them; some contradict each other, some lead to what is known."""
    made = tmp_path / "notes"
    made.mkdir()
    for number in range(NOTES):
        target = 7 if number % 20 == 3 else (number + 1) % NOTES
        text = f"Word{number}a meets word{number}b at place{number}c near word{number}d."
        if number % 25 > 22:
            text = f"The gate of the house by the {number // 25} sea opens at {number % 25 - 16} in the morning."
        links = f'related: ["[[n{target}]]"]\n' if number % 3 == 0 else ""
        (made / f"n{number}.md").write_text(f"---\ntitle: Number {number}\n{links}---\n{text}\n")
    return made


@pytest.mark.slow
def test_an_import_that_is_killed_at_any_point_ends_as_if_it_had_not_been(folder: Path, tmp_path: Path) -> None:
    whole, torn = begun(tmp_path / "whole"), begun(tmp_path / "torn")
    first = import_.import_notes(whole, [folder])
    assert first.count("created") == NOTES - 1
    torn.close()
    for way, number in (("calls", 4), ("calls", 103), ("calls", 334), ("calls", 405), ("revisions", 3)):
        killed(tmp_path / "torn", folder, way, number)
    again = opened(tmp_path / "torn")
    assert import_.import_notes(again, [folder]).count("exists") == NOTES
    assert content(again) == content(whole)
    assert import_.import_notes(again, [folder]).batch == ""
    whole.close()
    again.close()


@pytest.mark.slow(keep=1)
def test_killed_restore_can_be_completed(folder: Path, tmp_path: Path) -> None:
    source = begun(tmp_path / "source")
    import_.import_notes(source, [folder])
    save.save(source, "The pond is deep.")
    export.export(source, tmp_path / "x.json")
    for number in (5, 122, 401):
        killed(tmp_path / "torn", tmp_path / "x.json", "calls", number)
    again = opened(tmp_path / "torn")
    import_.import_notes(again, [tmp_path / "x.json"])
    assert content(again) == content(source)
    source.close()
    again.close()
