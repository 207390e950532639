"""Every changing call to the operating system fails once, in turn: afterwards there is the old state or the new."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from memem.core import files
from memem.core.errors import MememError
from memem.flows import health, reindex, remember, retrieve
from memem.workspace import Workspace
from tests.fakes import FaultyOs

Action = Callable[[Workspace, str], remember.Written]

ACTIONS: dict[str, Action] = {
    "save": lambda ws, _: remember.save(ws, "A second fact about walruses."),
    "edit": lambda ws, identity: remember.edit(ws, identity, body="A changed fact about walruses."),
    "forget": remember.forget,
}


def notes(ws: Workspace) -> dict[str, bytes]:
    """All notes, also those set aside, by file name."""
    return {path.name: path.read_bytes() for path in ws.store.paths.ours.rglob("*.md")}


@pytest.mark.parametrize("name", ACTIONS)
def test_a_failing_disk_leaves_the_old_state_or_the_new(
    ws: Workspace, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.settings = replace(ws.settings, fsync=True)
    failures = 0
    for step in range(1, 60):
        saved = remember.save(ws, f"Fact {step} about walruses.")
        before = notes(ws)
        faulty = FaultyOs(step)
        with monkeypatch.context() as patched:
            patched.setattr(files, "os", faulty)
            try:
                ACTIONS[name](ws, saved.memory.id)
            except MememError as error:
                assert "\n" not in str(error)
        if not faulty.failed:
            break
        failures += 1
        _is_whole(ws, name, before)
        _works_again(ws)
    assert not faulty.failed, "more steps than expected"
    assert failures >= 8


def _is_whole(ws: Workspace, name: str, before: dict[str, bytes]) -> None:
    """Nothing that was there is lost, nothing is half-written, no temporary file is left."""
    after = notes(ws)
    assert len(after) - len(before) in ((0, 1) if name == "save" else (0,))
    changed = [path for path in before if after.get(path) != before[path]]
    assert len(changed) <= (1 if name == "edit" else 0)
    for name_of_changed in changed:
        assert b"A changed fact about walruses." in after[name_of_changed]
    for path in ws.store.paths.ours.rglob("*.md"):
        ws.store.read(path.relative_to(ws.store.paths.ours).as_posix())
    assert list(ws.store.leftovers()) == []


def _works_again(ws: Workspace) -> None:
    """The next command heals what is derived, and memory and vault agree."""
    reindex.refresh(ws)
    assert health.check(ws) == []
    on_disk = {path for path, _ in ws.store.scan()}
    assert {entry.path for entry in retrieve.list_memories(ws, limit=1000)} == on_disk
    for path in ws.store.paths.memories.glob("*.md"):
        if b"second fact" in path.read_bytes():
            path.unlink()  # so that the next round can save it again
