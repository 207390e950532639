"""A thread with a workspace of its own: one thing after another, and nobody waits longer than agreed."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memem.core.errors import Busy, InputError, SettingsError
from memem.doors.engine import worker as workers
from memem.doors.engine.worker import Worker
from memem.flows import remember, retrieve
from memem.workspace import Workspace
from tests.engines import LONG


@pytest.fixture
def worker(ws: Workspace) -> Iterator[Worker]:
    made = Worker(ws.twin)
    yield made
    made.stop()


class Blocked:
    """Work that does not end before it is told to."""

    def __init__(self, worker: Worker) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: worker.do(self._work))
        self._thread.start()
        assert self.begun.wait(LONG)

    def _work(self, _: Workspace) -> None:
        self.begun.set()
        self.go_on.wait(LONG)

    def end(self) -> None:
        self.go_on.set()
        self._thread.join(LONG)


def test_work_is_done_in_one_other_thread_with_one_workspace(worker: Worker, ws: Workspace) -> None:
    def who(own: Workspace) -> tuple[threading.Thread, Workspace]:
        return threading.current_thread(), own

    first, second = worker.do(who), worker.do(who)
    assert first[0] is second[0] is not threading.current_thread()
    assert first[1] is second[1] is not ws


def test_several_threads_save_and_search_through_one_worker(worker: Worker) -> None:
    def save(number: int) -> None:
        worker.do(lambda ws: remember.save(ws, f"Lesson {number} about ships.", project="harbour"))

    threads = [threading.Thread(target=save, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert len(worker.do(lambda ws: retrieve.search(ws, "ships"))) == 8


def test_what_goes_wrong_is_raised_where_the_work_was_asked_for(worker: Worker) -> None:
    with pytest.raises(InputError):
        worker.do(lambda ws: remember.save(ws, ""))
    with pytest.raises(TimeoutError, match="mine"):
        worker.do(lambda _: (_ for _ in ()).throw(TimeoutError("mine")), LONG)
    assert worker.do(lambda ws: ws.actor) == "test"


def test_a_home_that_could_not_be_opened_is_opened_again(ws: Workspace) -> None:
    problems = [SettingsError("config.toml is not valid")]

    def open_home() -> Workspace:
        if problems:
            raise problems.pop()
        return ws.twin()

    worker = Worker(open_home)
    with pytest.raises(SettingsError):
        worker.do(lambda own: own.actor)
    assert worker.do(lambda own: own.actor) == "test"
    worker.stop()


def test_work_that_has_not_begun_in_time_never_does(worker: Worker) -> None:
    done: list[str] = []
    before = Blocked(worker)
    with pytest.raises(Busy, match=r"Other work takes longer than 0.01 s"):
        worker.do(lambda _: done.append("late"), 0.01)
    before.end()
    worker.do(lambda _: done.append("next"))
    assert done == ["next"]


def test_work_that_takes_too_long_is_not_waited_for(worker: Worker) -> None:
    go_on = threading.Event()
    with pytest.raises(Busy, match=r"It takes longer than 0.05 s"):
        worker.do(lambda _: go_on.wait(LONG), 0.05)
    go_on.set()
    assert worker.do(lambda ws: ws.actor, LONG) == "test"


def test_what_waits_for_one_worker_does_not_wait_for_another(worker: Worker, ws: Workspace) -> None:
    other = Worker(ws.twin)
    blocked = Blocked(worker)
    assert other.do(lambda own: own.actor, LONG) == "test"
    blocked.end()
    other.stop()


def test_a_stopped_worker_has_closed_its_workspace_and_ended(ws: Workspace) -> None:
    remember.save(ws, "The house is yellow.")
    before = threading.enumerate()
    worker = Worker(ws.twin)
    own = worker.do(lambda own: retrieve.search(own, "house") and own)
    worker.stop()
    assert isinstance(own, Workspace)
    assert "index" not in own.__dict__
    assert threading.enumerate() == before


def test_a_stopped_worker_works_no_more(ws: Workspace) -> None:
    worker = Worker(ws.twin)
    worker.stop()
    with pytest.raises(Busy, match="ending"):
        worker.do(lambda own: own.actor)


def test_what_waits_when_a_worker_stops_is_dropped(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "FAREWELL_SECONDS", 0.01)
    outcome: list[str] = []

    def ask() -> None:
        try:
            worker.do(lambda _: outcome.append("done"))
        except Busy:
            outcome.append("dropped")

    blocked = Blocked(worker)
    asker = threading.Thread(target=ask)
    asker.start()
    worker.stop()
    blocked.end()
    asker.join(LONG)
    assert outcome == ["dropped"]


def test_a_worker_may_be_stopped_by_its_own_work(worker: Worker, tmp_path: Path) -> None:
    worker.do(lambda _: worker.stop())
    work: Callable[[Workspace], str] = lambda ws: ws.actor  # noqa: E731
    with pytest.raises(Busy):
        worker.do(work)
