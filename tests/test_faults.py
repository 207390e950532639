"""After any failed disk operation the state is the old or the new one, and repeating the action heals it.

These tests fail a sample of each action's operations, and all of save and forget; `python -m bench faults` fails all.
"""

import os
from pathlib import Path

import pytest

from memem.core.errors import MememError
from memem.notes import save
from memem.workspace import Workspace
from tests import faults
from tests.faulted import ACTIONS, Bed
from tests.faults import FAIL, FULL, TEAR, Fault

SPREAD = 5
"""How many operations of an action go wrong here, each in one way."""
EVERY = {"save": (FAIL, TEAR), "forget": (TEAR,)}


def bed_for(tmp_path: Path, name: str) -> Bed:
    bed = Bed(tmp_path, ACTIONS[name], os.environ)
    bed.prepare()
    return bed


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mode"), [(name, mode) for name, modes in EVERY.items() for mode in modes])
def test_every_failed_operation_leaves_the_old_or_new_state_and_repeating_heals(
    tmp_path: Path, name: str, mode: str
) -> None:
    bed = bed_for(tmp_path, name)
    found = {number: bed.findings(Fault(mode, number)) for number in range(len(bed.operations))}
    assert {number: each for number, each in found.items() if each} == {}
    assert len(found) > 20


@pytest.mark.slow(keep=4)
@pytest.mark.parametrize("name", ACTIONS)
def test_a_sample_of_every_actions_operations_heals_too(tmp_path: Path, name: str) -> None:
    bed = bed_for(tmp_path, name)
    count = len(bed.operations)
    chosen = sorted({count * number // SPREAD for number in range(SPREAD)})
    tried = [Fault((TEAR, FAIL, TEAR, FULL)[place % 4], number) for place, number in enumerate(chosen)]
    assert {fault: found for fault in tried if (found := bed.findings(fault))} == {}
    assert count > 5


# The layer itself


def test_a_torn_write_leaves_its_first_half_and_no_process(tmp_path: Path) -> None:
    def write(_: faults.Disk) -> None:
        file = os.open(tmp_path / "x", os.O_WRONLY | os.O_CREAT)
        os.write(file, b"first half, and the second")
        os.close(file)

    ended = faults.run(tmp_path, write, Fault(TEAR, 1))
    assert ended.torn
    assert (tmp_path / "x").read_bytes() == b"first half, a"
    whole = faults.run(tmp_path, write)
    assert [each.split()[0] for each in whole.operations] == ["open", "write"]


def test_a_full_disk_refuses_writes_and_allows_removal(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("x")

    def work(_: faults.Disk) -> None:
        with pytest.raises(OSError, match="No space left on device"):
            (tmp_path / "new").mkdir()
        (tmp_path / "old").unlink()

    assert faults.run(tmp_path, work, Fault(FULL, 0)).problem == ""
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "old").exists()


def test_an_index_that_cannot_be_written_fails_before_the_note_is_created(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    save.save(ws, "Begin.")
    before = sorted(ws.store.paths.ours.rglob("*.md"))

    def full(*arguments: object, **options: object) -> None:
        raise MememError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(ws.index, "update", full)
        with pytest.raises(MememError, match="no room"):
            save.save(ws, "A second fact about walruses.")
    assert sorted(ws.store.paths.ours.rglob("*.md")) == before
    assert save.save(ws, "A second fact about walruses.").outcome == "created"
