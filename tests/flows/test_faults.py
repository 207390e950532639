"""Every changing call to the operating system fails once, in turn: afterwards there is the old state or the new."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from memem.core.errors import MememError
from memem.flows import editing, forgetting, health, keeping, reindex, remember, retrieve
from memem.workspace import Workspace
from tests.fakes import FaultyOs

Action = Callable[[Workspace, str], keeping.Written]

SECOND, CHANGED = "A second fact about walruses.", "A changed fact about walruses."
ACTIONS: dict[str, Action] = {
    "save": lambda ws, _: remember.save(ws, SECOND),
    "edit": lambda ws, identity: editing.edit(ws, identity, body=CHANGED),
    "forget": forgetting.forget,
}


def notes(ws: Workspace) -> dict[str, bytes]:
    """All notes, also those set aside, by file name."""
    return {path.name: path.read_bytes() for path in ws.store.paths.ours.rglob("*.md")}


@pytest.mark.parametrize("name", ACTIONS)
def test_a_failing_disk_leaves_the_old_state_or_the_new_and_trying_again_does_it_once(
    ws: Workspace, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.settings = replace(ws.settings, fsync=True)
    for step in range(60):
        saved = remember.save(ws, f"The walrus W{step:02}x sleeps on the beach.")
        before = notes(ws)
        faulty = FaultyOs(step)
        with monkeypatch.context() as patched:
            patched.setattr("memem.core.files.os", faulty)
            try:
                ACTIONS[name](ws, saved.memory.id)
            except MememError as error:
                assert "\n" not in str(error)
        if len(faulty.calls) <= step:
            break
        _is_whole(ws, name, before)
        _can_be_tried_again(ws, name, saved.memory.id)
    assert 8 <= step < 59


def _is_whole(ws: Workspace, name: str, before: dict[str, bytes]) -> None:
    """Nothing that was there is lost, nothing is half-written, no temporary file is left."""
    after = notes(ws)
    assert len(after) - len(before) in ((0, 1) if name == "save" else (0,))
    changed = [path for path in before if after.get(path) != before[path]]
    assert len(changed) <= (1 if name == "edit" else 0)
    assert all(CHANGED.encode() in after[path] for path in changed)
    for path in ws.store.paths.ours.rglob("*.md"):
        ws.store.read(path.relative_to(ws.store.paths.ours).as_posix())
    assert list(ws.store.leftovers()) == []


def _can_be_tried_again(ws: Workspace, name: str, identity: str) -> None:
    """The same command again ends as if it had not failed; index and vault agree."""
    try:
        again = ACTIONS[name](ws, identity)
    except MememError as error:
        assert name == "forget"  # it was done, and only its event could not be written
        assert "No memory has the id" in str(error)
    else:
        statements = [data for data in notes(ws).values() if SECOND.encode() in data]
        assert len(statements) == (name == "save")
        if name == "save":
            ws.store.absolute(again.path).unlink()  # so that the next round begins anew
    reindex.refresh(ws)
    assert health.check(ws) == []
    on_disk = {path for path, _ in ws.store.scan()}
    assert {entry.path for entry in retrieve.list_memories(ws, limit=1000)} == on_disk


def test_an_index_that_cannot_be_written_fails_before_the_note_is_made(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember.save(ws, "Begin.")
    before = notes(ws)

    def full(*arguments: object, **options: object) -> None:
        raise MememError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(ws.index, "update", full)
        with pytest.raises(MememError, match="no room"):
            remember.save(ws, SECOND)
    assert notes(ws) == before
    assert remember.save(ws, SECOND).outcome == "created"
