"""A workspace that threads use in turn: one thing after another, and nobody waits longer than agreed for a turn."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memem import serving
from memem.core.errors import Busy, InputError, SettingsError
from memem.notes import save as notes_save
from memem.search import find
from memem.serving import SharedWorkspace
from memem.workspace import Workspace
from tests.engines import LONG


@pytest.fixture
def shared(ws: Workspace) -> Iterator[SharedWorkspace]:
    made = SharedWorkspace(ws.twin)
    yield made
    made.stop()


class Blocked:
    """Work that does not end before it is told to."""

    def __init__(self, shared: SharedWorkspace) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: shared.do(self._work))
        self._thread.start()
        assert self.begun.wait(LONG)

    def _work(self, _: Workspace) -> None:
        self.begun.set()
        self.go_on.wait(LONG)

    def end(self) -> None:
        self.go_on.set()
        self._thread.join(LONG)


def test_work_is_done_in_the_calling_thread_with_one_workspace(shared: SharedWorkspace, ws: Workspace) -> None:
    def who(own: Workspace) -> tuple[threading.Thread, Workspace]:
        return threading.current_thread(), own

    first, second = shared.do(who), shared.do(who)
    assert first[0] is second[0] is threading.current_thread()
    assert first[1] is second[1] is not ws


def test_several_threads_save_and_search_in_one_workspace(shared: SharedWorkspace) -> None:
    def save(number: int) -> None:
        shared.do(lambda ws: notes_save.save(ws, f"Lesson {number} about ships.", project="harbour"))

    threads = [threading.Thread(target=save, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert len(shared.do(lambda ws: find.search(ws, "ships"))) == 8


def test_an_error_is_raised_in_the_calling_thread(shared: SharedWorkspace) -> None:
    with pytest.raises(InputError):
        shared.do(lambda ws: notes_save.save(ws, ""))
    with pytest.raises(TimeoutError, match="mine"):
        shared.do(lambda _: (_ for _ in ()).throw(TimeoutError("mine")), LONG)
    assert shared.do(lambda ws: ws.actor) == "test"


def test_a_home_that_could_not_be_opened_is_opened_again(ws: Workspace) -> None:
    problems = [SettingsError("config.toml is not valid")]

    def open_home() -> Workspace:
        if problems:
            raise problems.pop()
        return ws.twin()

    shared = SharedWorkspace(open_home)
    with pytest.raises(SettingsError):
        shared.do(lambda own: own.actor)
    assert shared.do(lambda own: own.actor) == "test"
    shared.stop()


def test_work_that_cannot_start_in_time_is_refused(shared: SharedWorkspace) -> None:
    done: list[str] = []
    before = Blocked(shared)
    with pytest.raises(Busy, match=r"memem has been busy with other requests for 0.01 s"):
        shared.do(lambda _: done.append("late"), 0.01)
    before.end()
    shared.do(lambda _: done.append("next"))
    assert done == ["next"]


def test_started_work_is_finished_however_long_it_takes(shared: SharedWorkspace) -> None:
    assert shared.do(lambda _: threading.Event().wait(0.05) or "done", 0.01) == "done"


def test_workspaces_do_not_wait_for_each_other(shared: SharedWorkspace, ws: Workspace) -> None:
    other = SharedWorkspace(ws.twin)
    blocked = Blocked(shared)
    assert other.do(lambda own: own.actor, LONG) == "test"
    blocked.end()
    other.stop()


def test_a_stopped_one_has_closed_its_workspace(ws: Workspace) -> None:
    notes_save.save(ws, "The house is yellow.")
    before = threading.enumerate()
    shared = SharedWorkspace(ws.twin)
    own = shared.do(lambda own: find.search(own, "house") and own)
    shared.stop()
    assert isinstance(own, Workspace)
    assert "index" not in own.__dict__
    assert threading.enumerate() == before


def test_a_stopped_one_works_no_more(ws: Workspace) -> None:
    shared = SharedWorkspace(ws.twin)
    shared.stop()
    with pytest.raises(Busy, match="shutting down"):
        shared.do(lambda own: own.actor)


def test_waiting_work_is_dropped_at_a_stop(shared: SharedWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "STOP_SECONDS", 0.01)
    outcome: list[str] = []

    def ask() -> None:
        try:
            shared.do(lambda _: outcome.append("done"))
        except Busy:
            outcome.append("dropped")

    blocked = Blocked(shared)
    asker = threading.Thread(target=ask)
    asker.start()
    shared.stop()
    blocked.end()
    asker.join(LONG)
    assert outcome == ["dropped"]


def test_it_may_be_stopped_by_its_own_work(shared: SharedWorkspace, tmp_path: Path) -> None:
    shared.do(lambda _: shared.stop())
    work: Callable[[Workspace], str] = lambda ws: ws.actor  # noqa: E731
    with pytest.raises(Busy):
        shared.do(work)
