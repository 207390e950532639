"""`python -m bench moving`: what it takes to move in and out, in saves: one save of the same memory, in the same run.

`growth` is how much longer the last tenth of the notes takes than the first: near 1, nothing grows with the square.
"""

import argparse
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter

from bench import vaults
from memem.core.trust import SAVED
from memem.notes import save
from memem.transfer import export, import_
from memem.vault import note
from memem.workspace import Workspace, open_workspace

LINK_EVERY = 3


@dataclass(frozen=True, slots=True)
class Moved:
    """How long each took for one note, in milliseconds, and how an import grew."""

    save: float
    first: float
    again: float
    export: float
    restore: float
    growth: float


def run(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench moving")
    parser.add_argument("--notes", type=int, default=5_000, metavar="N", help="how many are moved (default: 5000)")
    parser.add_argument("--no-fsync", action="store_true", help="measure the work alone, and not the disk")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="memem-bench-") as folder:
        moved = measure(Path(folder), options.notes, fsync=not options.no_fsync)
    print(f"{options.notes:,} notes, a third of them with a link; one save takes {moved.save:.1f} ms here")
    for name, each in (
        ("import", moved.first),
        ("import again", moved.again),
        ("export", moved.export),
        ("import of the export", moved.restore),
    ):
        print(f"{name:<22} {each:8.2f} ms a note {each / moved.save:6.2f} saves")
    print(f"growth of an import    {moved.growth:8.2f}")
    return 0


def measure(folder: Path, notes: int, *, fsync: bool) -> Moved:
    """Move made-up notes in, in again, out, and in elsewhere."""
    source = folder / "notes"
    source.mkdir(parents=True)
    for number in range(notes):
        memory = vaults.memory(number)
        text = note.new_text(memory)
        if number % LINK_EVERY == 0:
            text = text.replace("\n---\n", f'\nrelated: ["[[{(number + 1) % notes:06}]]"]\n---\n', 1)
        (source / f"{number:06}.md").write_text(text, encoding="utf-8")
    target = folder / "export.json"
    save = _save(_opened(folder, "saved", fsync=fsync), min(notes, 200))
    ws = _opened(folder, "vault", fsync=fsync)
    steps: list[float] = []
    import_.import_notes(ws, [source], progress=lambda *_: steps.append(perf_counter()))
    began = perf_counter()
    import_.import_notes(ws, [source])
    again = perf_counter()
    export.export(ws, target)
    exported = perf_counter()
    ws.close()
    other = _opened(folder, "other", fsync=fsync)
    import_.import_notes(other, [target])
    other.close()
    spent = (steps[-1] - steps[0], again - began, exported - again, perf_counter() - exported)
    first, known, out, back = (1000 * each / notes for each in spent)
    return Moved(save, first, known, out, back, _growth(steps))


def _opened(folder: Path, name: str, *, fsync: bool) -> Workspace:
    environ = {"MEMEM_ENCODER": "none", "MEMEM_FSYNC": "1" if fsync else "0", "HOME": str(folder)}
    return open_workspace(actor="bench", home=folder / name / "home", vault=folder / name / "vault", environ=environ)


def _save(ws: Workspace, count: int) -> float:
    """Time one save, in milliseconds."""
    times = []
    for number in range(count):
        memory = vaults.memory(number)
        began = perf_counter()
        save.save(ws, memory.body, title=memory.title, project=memory.project, trust=SAVED)
        times.append(1000 * (perf_counter() - began))
    ws.close()
    return median(times)


def _growth(steps: list[float]) -> float:
    """The last tenth against the first, the very first notes left out, which find the index being made."""
    spent = [after - before for before, after in pairwise(steps)]
    tenth = max(len(spent) // 10, 1)
    return median(spent[-tenth:]) / median(spent[: 2 * tenth][tenth:] or spent[:1])
