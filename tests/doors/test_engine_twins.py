"""Workspaces of one home for several threads: each with its own connections, all with one encoder."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import memem
from memem import workspace
from memem.notes import save
from memem.search import find
from memem.search.encoders.interface import Encoder
from memem.workspace import Workspace, open_workspace
from tests.engines import LONG
from tests.fakes import FakeEncoder


def together(*works: Callable[[], object]) -> None:
    """Do these at once, each in a thread of its own; what one raises is raised."""
    start = threading.Barrier(len(works))
    problems: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        start.wait(LONG)
        try:
            work()
        except BaseException as problem:  # noqa: BLE001 - raised again below
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()
    if problems:
        raise problems[0]


def test_twins_in_several_threads_load_one_encoder_once(
    ws: Workspace, encoder: FakeEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.settings = replace(ws.settings, encoder="minilm")
    loads: list[threading.Thread] = []

    def load(_: Workspace) -> Encoder:
        loads.append(threading.current_thread())
        return encoder

    monkeypatch.setattr(Workspace, "_load_encoder", load)
    twins = [ws.twin(), ws.twin(), ws.twin().twin(), ws]
    assert not any(each.has_encoder for each in twins)
    together(*(each.encoder for each in twins))
    assert len(loads) == 1
    assert all(each.encoder() is encoder and each.has_encoder for each in twins)


def test_twins_search_and_save_in_threads_of_their_own(meant: Workspace) -> None:
    save.save(meant, "The automobile is repaired on Mondays.", project="garage")

    def work(number: int) -> None:
        own = meant.twin()
        save.save(own, f"Ship number {number} sails on Fridays.", project="harbour")
        assert find.search(own, "lorry mended")[0].memory.project == "garage"
        own.close()

    together(*(lambda number=number: work(number) for number in range(4)))
    assert len(find.search(meant, "ship sails")) == 4


def test_a_twin_is_the_same_home_with_nothing_open(ws: Workspace) -> None:
    save.save(ws, "The house is yellow.")
    ws.next_scan = 5.0
    twin = ws.twin()
    for name in ("settings", "clock", "actor", "user_home", "environ", "ticks", "pause"):
        assert getattr(twin, name) is getattr(ws, name)
    assert twin.next_scan < 0
    assert "index" not in twin.__dict__
    twin.close()
    assert find.search(ws, "house")


# --- what answers depend on ---------------------------------------------------------------------------------------


def test_the_same_home_is_known_by_the_same_digest(ws: Workspace, tmp_path: Path) -> None:
    again = open_workspace(actor="another", home=tmp_path / "home", vault=tmp_path / "vault")
    assert again.identity() == ws.identity() == ws.twin().identity()
    assert len(ws.identity()) == 64


def test_the_identity_depends_on_every_setting_except_source_and_debug(ws: Workspace) -> None:
    before = ws.identity()
    for name in ws.settings.__dataclass_fields__:
        value = getattr(ws.settings, name)
        other: Any = not value if isinstance(value, bool) else f"{value} "
        changed = replace(ws, settings=replace(ws.settings, **{name: other}))
        assert (changed.identity() == before) is (name in ("sources", "debug")), name


def test_the_version_the_folder_of_the_code_and_the_users_home_count(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {ws.identity(), replace(ws, user_home=Path("/home/ada")).identity()}
    monkeypatch.setattr(workspace, "__version__", f"{memem.__version__}+1")
    seen.add(ws.identity())
    monkeypatch.undo()
    monkeypatch.setattr(workspace, "__file__", "/srv/other/memem/workspace.py")
    seen.add(ws.identity())
    assert len(seen) == 4


def test_a_path_of_any_bytes_has_a_digest(ws: Workspace) -> None:
    assert replace(ws, user_home=Path(os.fsdecode(b"/home/\xff"))).identity() != ws.identity()


# --- settings that change while a server runs -----------------------------------------------------------------------


def test_a_reopened_home_shares_the_loaded_encoder(meant: Workspace, encoder: FakeEncoder) -> None:
    anew = replace(meant, settings=replace(meant.settings, slice_characters=5_000), _encoder=None)
    shared = anew.sharing(meant.twin())
    assert shared.settings is anew.settings
    assert shared.has_encoder
    assert shared.encoder() is shared.twin().encoder() is encoder


@pytest.mark.parametrize(
    "other", [{"encoder": "none"}, {"embed_model": "another"}, {"model_dir": Path("/srv/weights")}]
)
def test_it_does_not_where_it_uses_another(meant: Workspace, other: dict[str, Any]) -> None:
    anew = replace(meant, settings=replace(meant.settings, **other), _encoder=None)
    assert anew.sharing(meant) is anew
    assert not anew.has_encoder


def test_stamps_tell_that_settings_may_have_changed(ws: Workspace) -> None:
    seen = [ws.settings_stamps()]
    ws.home.root.mkdir()
    ws.home.config_file.write_text("debug = 1")
    seen.append(ws.settings_stamps())
    ws.home.state.mkdir()
    ws.home.plugin_options.write_text('{"vault": "~/notes"}')
    seen.append(ws.settings_stamps())
    ws.home.config_file.unlink()
    seen.append(ws.settings_stamps())
    assert len(set(seen)) == 4
    assert ws.settings_stamps() == seen[-1]
