"""The index is kept true in the background: often while somebody asks, rarely otherwise, whatever the vault does."""

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memem.core.errors import SettingsError
from memem.doors.engine import refresher as refreshers
from memem.doors.engine.refresher import Refresher
from memem.inject import statusline
from memem.notes import save
from memem.search import find, meaning, refresh
from memem.search.refresh import Refreshed
from memem.workspace import Workspace
from tests.engines import LONG
from tests.fakes import FakeEncoder, SteppingClock


class Looks:
    """Counts scans as they end; `next()` waits for one, `none()` says that there was none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, clock: SteppingClock) -> None:
        self._ended = threading.Semaphore(0)
        self._clock = clock
        self.takes = 0.0
        self.found: Refreshed | None = None
        self._real = refresh.refresh
        monkeypatch.setattr(refresh, "refresh", self._refresh)

    def _refresh(self, ws: Workspace) -> Refreshed:
        self._clock.forward(seconds=self.takes)
        try:
            return self.found or self._real(ws)
        finally:
            self._ended.release()

    def next(self) -> bool:
        return self._ended.acquire(timeout=LONG)

    def none(self) -> bool:
        return not self._ended.acquire(timeout=0.05)


@pytest.fixture
def looks(ws: Workspace, monkeypatch: pytest.MonkeyPatch, clock: SteppingClock) -> Looks:
    """At a vault with one note in it."""
    save.save(ws, "The house is yellow.", project="general")
    return Looks(monkeypatch, clock)


@pytest.fixture
def refresher(ws: Workspace, looks: Looks, clock: SteppingClock) -> Iterator[Refresher]:
    made = Refresher(ws.twin, log=pytest.fail, ticks=clock.ticks)
    yield made
    made.stop()


def write(folder: Path, text: str) -> None:
    (folder / f"{len(text)}.md").write_text(text)


def test_nothing_is_looked_at_before_there_is_a_request(refresher: Refresher, looks: Looks) -> None:
    assert looks.none()


def test_a_note_written_by_hand_is_indexed_in_the_background(
    refresher: Refresher, looks: Looks, ws: Workspace, memories: Path
) -> None:
    write(memories, "Boats are moored at the north pier.")
    refresher.touch()
    assert looks.next()
    assert find.search(ws, "where are boats moored")
    assert looks.none()


def test_while_somebody_asks_the_vault_is_looked_at_every_two_seconds(
    refresher: Refresher, looks: Looks, clock: SteppingClock
) -> None:
    refresher.touch()
    assert looks.next()
    for _ in range(3):
        clock.forward(seconds=1.5)
        refresher.touch()
        assert looks.none()
        clock.forward(seconds=1)
        refresher.touch()
        assert looks.next()


def test_it_looks_by_itself_without_a_request(
    refresher: Refresher, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "RESCAN_SECONDS", 0.0)
    refresher.touch()
    assert looks.next()
    assert looks.next()


def test_a_scan_that_takes_long_is_made_rarely(refresher: Refresher, looks: Looks, clock: SteppingClock) -> None:
    looks.takes, looks.found = 1.0, Refreshed(0, 0, 100_000)
    refresher.touch()
    assert looks.next()
    clock.forward(seconds=18)
    refresher.touch()
    assert looks.none()
    clock.forward(seconds=2)
    refresher.touch()
    assert looks.next()


def test_a_scan_with_many_changes_does_not_set_the_interval(
    refresher: Refresher, looks: Looks, clock: SteppingClock
) -> None:
    looks.takes, looks.found = 60.0, Refreshed(10_000, 0, 10_000)
    refresher.touch()
    assert looks.next()
    looks.takes = 0.0
    assert looks.next()  # the two seconds have passed during the scan
    clock.forward(seconds=3)
    refresher.touch()
    assert looks.next()


def test_an_idle_refresher_scans_ten_times_less_often(ws: Workspace, clock: SteppingClock) -> None:
    pauses: list[float] = []
    resting = Refresher(ws.twin, log=pytest.fail, ticks=clock.ticks)
    resting._touched = clock.ticks() - refreshers.BUSY_SECONDS

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        clock.forward(seconds=seconds)

    resting._changed.wait = pause  # type: ignore[assignment]
    resting._rest(clock.ticks())
    resting._touched = clock.ticks()
    resting._rest(clock.ticks())
    assert pauses == [pytest.approx(20), pytest.approx(2)]


def test_a_request_wakes_an_idle_refresher_at_once(refresher: Refresher, looks: Looks, clock: SteppingClock) -> None:
    refresher.touch()
    assert looks.next()
    clock.forward(seconds=refreshers.BUSY_SECONDS)
    clock.forward(seconds=5)
    refresher.touch()
    assert looks.next()


def test_a_missing_vault_is_logged_once_and_scanned_when_it_is_back(
    ws: Workspace, looks: Looks, clock: SteppingClock, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    ws.settings.vault.rename(away)
    logged: list[str] = []
    refresher = Refresher(ws.twin, log=logged.append, ticks=clock.ticks)
    for _ in range(3):
        refresher.touch()
        assert looks.next()
        clock.forward(seconds=3)
    write(away / "memem" / "memories", "Boats are moored at the north pier.")
    away.rename(ws.settings.vault)
    clock.forward(seconds=3)
    refresher.touch()
    assert looks.next()
    refresher.stop()
    assert find.search(ws, "boats moored")
    assert len(logged) == 1
    assert "VaultMissing" in logged[0]


def test_an_unusable_home_is_logged_once(clock: SteppingClock) -> None:
    tried = threading.Semaphore(0)
    logged: list[str] = []

    def refuse() -> Workspace:
        tried.release()
        raise SettingsError("config.toml is not valid")

    refresher = Refresher(refuse, log=logged.append, ticks=clock.ticks)
    for _ in range(2):
        refresher.touch()
        assert tried.acquire(timeout=LONG)
        clock.forward(seconds=3)
    refresher.stop()
    assert len(logged) == 1


def test_a_stopped_refresher_has_closed_its_workspace_and_ended(ws: Workspace, looks: Looks) -> None:
    before = threading.enumerate()
    own = ws.twin()
    refresher = Refresher(lambda: own, log=pytest.fail)
    refresher.touch()
    assert looks.next()
    refresher.stop()
    assert "index" not in own.__dict__
    assert threading.enumerate() == before


def test_a_stopped_refresher_does_not_restart(ws: Workspace, looks: Looks) -> None:
    refresher = Refresher(ws.twin, log=pytest.fail)
    refresher.stop()
    refresher.touch()
    assert looks.none()


# --- vectors ------------------------------------------------------------------------------------------------------


@pytest.fixture
def encoding(meant: Workspace, clock: SteppingClock) -> Callable[[], None]:
    """Looks once at the vault of a home that is searched by meaning."""
    save.save(meant, "The house is yellow.", project="general")

    def once() -> None:
        refresher = Refresher(meant.twin, log=pytest.fail, ticks=clock.ticks)
        looked = threading.Event()
        refresher._rest = lambda _: looked.set() or setattr(refresher, "_is_stopped", True)  # type: ignore[assignment,func-returns-value]
        refresher.touch()
        assert looked.wait(LONG)
        refresher.stop()

    return once


def test_new_passages_are_encoded_in_the_background(
    encoding: Callable[[], None], meant: Workspace, encoder: FakeEncoder, memories: Path
) -> None:
    for number in range(20):
        (memories / f"{number}.md").write_text(f"Pier number {number} belongs to the harbour.")
    encoding()
    assert len(encoder.encoded) == 21
    assert encoder.batches == 3  # of eight each
    assert meaning.update_pending(meant) == 0


def test_more_than_a_query_would_encode_is_left_to_a_process_of_its_own(
    encoding: Callable[[], None], encoder: FakeEncoder, memories: Path
) -> None:
    for number in range(meaning.MAX_INLINE_PASSAGES + 1):
        (memories / f"{number}.md").write_text(f"Pier number {number} belongs to the harbour.")
    encoding()
    assert encoder.encoded == []


def test_the_model_is_not_loaded_for_the_sake_of_it(
    encoding: Callable[[], None], meant: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    meant._encoder = None
    monkeypatch.setattr(Workspace, "_load_encoder", lambda _: pytest.fail("it was loaded"))
    encoding()
    assert not meant.has_encoder


def test_encoding_stops_when_it_makes_no_progress(
    encoding: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    monkeypatch.setattr(meaning, "encode_some", lambda _, most: tried.append(most))
    encoding()
    assert tried == [refreshers.PORTION]


def test_a_deleted_cache_is_rebuilt(refresher: Refresher, looks: Looks, ws: Workspace, clock: SteppingClock) -> None:
    refresher.touch()
    assert looks.next()
    ws.close()
    shutil.rmtree(ws.home.cache)
    clock.forward(seconds=3)
    refresher.touch()
    assert looks.next()
    assert find.search(ws, "yellow house")


def test_the_status_line_follows_what_another_thread_saved(ws: Workspace, refresher: Refresher, looks: Looks) -> None:
    folder = ws.user_home / "shop-api"
    statusline.note_session(ws, folder)
    save.save(ws, "The API listens on 8443.", title="API port", project="shop-api")
    refresher.touch()
    assert looks.next()
    refresher.stop()  # once it has done what it is at
    assert "shop-api\t1\tAPI port" in ws.home.statusline_projects.read_text()
