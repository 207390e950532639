"""Background upkeep at the start of a session."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.core import background, locks
from memem.core.errors import HomeError, MememError, ModelError, VaultMissing
from memem.core.settings import stored_plugin_options
from memem.core.trust import SAVED
from memem.inject import notices
from memem.notes import save
from memem.search import find, meaning
from memem.search.graph import read
from memem.search.transcripts import consent
from memem.state.receipts import PROMPT, Receipt, ReceiptItem
from memem.upkeep import session_start
from memem.vault import opening
from memem.workspace import Workspace, open_workspace
from tests.builders import change_settings
from tests.fakes import SteppingClock
from tests.transcripts import Transcript, count_saved, once

HOUR = 3_600
RENEW: Callable[[Workspace, Path, str], bool] = session_start.renew_environment


@pytest.fixture(autouse=True)
def _leaving_our_own_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_start, "renew_environment", lambda ws: RENEW(ws, ws.user_home, str(ws.user_home)))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, clock: SteppingClock) -> list[tuple[str, ...]]:
    """Records the processes started in the background."""
    commands: list[tuple[str, ...]] = []

    def start(arguments: tuple[str, ...], environ: dict[str, str], log: Path) -> None:
        assert environ["MEMEM_DIR"]
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        os.utime(log, (clock.ticks(), clock.ticks()))
        commands.append(arguments)

    monkeypatch.setattr(background, "start_memem", start)
    return commands


# --- the plugin's options -------------------------------------------------------------------------------------------


def with_options(ws: Workspace, **options: str) -> Workspace:
    """A workspace with the environment of a plugin's hook."""
    named = {f"CLAUDE_PLUGIN_OPTION_{key.upper()}": text for key, text in options.items()}
    ws.environ = {"HOME": str(ws.user_home), "CLAUDE_PLUGIN_ROOT": "/srv/memem", **named}
    return ws


def test_plugin_options_are_stored_for_commands(ws: Workspace) -> None:
    session_start.store_plugin_options(with_options(ws, vault="~/notes ü", injection_mode="hybrid", unheard_of="x"))
    assert stored_plugin_options(ws.home) == {"vault": "~/notes ü", "injection_mode": "hybrid"}
    server = open_workspace(actor="mcp", home=ws.home.root, environ={"HOME": str(ws.user_home)})
    assert (server.settings.vault, server.settings.injection_mode) == (ws.user_home / "notes ü", "hybrid")
    assert ws.home.plugin_options.stat().st_mode & 0o777 == 0o600


def test_options_that_are_no_longer_set_are_removed(ws: Workspace) -> None:
    session_start.store_plugin_options(with_options(ws, vault="~/notes", daily_usd="5"))
    session_start.store_plugin_options(with_options(ws, daily_usd="5"))
    assert stored_plugin_options(ws.home) == {"daily_usd": "5"}
    session_start.store_plugin_options(with_options(ws))
    assert stored_plugin_options(ws.home) == {}


def test_options_that_have_not_changed_are_not_written_again(ws: Workspace) -> None:
    session_start.store_plugin_options(with_options(ws))
    assert not ws.home.plugin_options.exists()
    session_start.store_plugin_options(with_options(ws, vault="~/notes"))
    before = ws.settings_stamps()
    session_start.store_plugin_options(with_options(ws, vault="~/notes"))
    assert ws.settings_stamps() == before


def test_a_hook_that_somebody_runs_by_hand_leaves_the_options_alone(ws: Workspace) -> None:
    session_start.store_plugin_options(with_options(ws, vault="~/notes"))
    ws.environ = {"HOME": str(ws.user_home)}
    session_start.store_plugin_options(ws)
    assert stored_plugin_options(ws.home) == {"vault": "~/notes"}


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"vault": 1}'])
def test_garbled_plugin_options_are_replaced(ws: Workspace, content: str) -> None:
    ws.home.state.mkdir(parents=True)
    ws.home.plugin_options.write_text(content)
    session_start.store_plugin_options(with_options(ws, vault="~/notes"))
    assert json.loads(ws.home.plugin_options.read_bytes()) == {"vault": "~/notes"}


def test_a_home_that_cannot_be_written_is_named(ws: Workspace) -> None:
    ws.home.root.parent.mkdir(exist_ok=True)
    ws.home.root.write_text("a file")
    with pytest.raises(HomeError, match="Cannot use"):
        session_start.store_plugin_options(with_options(ws, vault="~/notes"))


# --- the environment ------------------------------------------------------------------------------------------------


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A plugin whose bootstrap.sh writes down that it ran, and its environment."""
    root = tmp_path / "a plugin"
    ours = root / "venv" / ".memem"
    ours.mkdir(parents=True)
    (root / "bootstrap.sh").write_text('echo "$*: $ASKED" >>"$(dirname "$0")/ran"\nexit "${CODE:-0}"\n')
    (root / "requirements.lock").write_text("numpy==2\n")
    (ours / "requirements.lock").write_text("numpy==2\n")
    (ours / "built").write_text(f"{root / 'venv'}\n/usr/bin/python3\n{root}\n")
    return root


def renewed(ws: Workspace, plugin: Path) -> bool:
    """Whether the script ran, and the function says so."""
    ws.environ = {"PATH": os.environ["PATH"], "ASKED": "as it is"}
    said = RENEW(ws, plugin, str(plugin / "venv"))
    ran = (plugin / "ran").read_text() if (plugin / "ran").exists() else ""
    assert ran == ("shell true: as it is\n" if said else "")
    return said


def test_an_environment_that_is_current_is_left_alone(ws: Workspace, plugin: Path) -> None:
    assert not renewed(ws, plugin)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("requirements.lock", "numpy==3\n"),
        ("venv/.memem/requirements.lock", None),
        ("venv/.memem/built", None),
        ("venv/.memem/built", ""),
        ("venv/.memem/built", "/srv/venv\n/usr/bin/python3\n/srv/memem/1.0\n"),
        ("venv/.memem/changing", "4711\n"),
    ],
)
def test_one_of_another_version_is_renewed(ws: Workspace, plugin: Path, file: str, content: str | None) -> None:
    if content is None:
        (plugin / file).unlink()
    else:
        (plugin / file).write_text(content)
    assert renewed(ws, plugin)


def outdated(ws: Workspace, plugin: Path, code: int) -> Callable[[], bool]:
    """Try to renew an environment of another version; the script ends with that code."""
    (plugin / "requirements.lock").write_text("numpy==3\n")
    ws.environ = {"PATH": os.environ["PATH"], "ASKED": "again", "CODE": str(code)}
    return lambda: RENEW(ws, plugin, str(plugin / "venv"))


def test_a_renewal_that_failed_is_tried_again_after_six_hours(
    ws: Workspace, plugin: Path, clock: SteppingClock
) -> None:
    renew = outdated(ws, plugin, code=1)
    assert renew()
    clock.forward(seconds=6 * HOUR - 1)
    assert not renew()
    clock.forward(seconds=1)
    assert renew()
    assert not renew()
    assert len((plugin / "ran").read_text().splitlines()) == 2


def test_a_renewal_that_worked_keeps_no_later_one_waiting(ws: Workspace, plugin: Path) -> None:
    renew = outdated(ws, plugin, code=0)
    assert renew()
    assert renew()


def test_a_renewal_that_took_too_long_has_failed(ws: Workspace, plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def takes_too_long(*command: Any, timeout: float, **_: Any) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", takes_too_long)
    renew = outdated(ws, plugin, code=0)
    with pytest.raises(subprocess.TimeoutExpired):
        renew()
    assert not renew()


def test_running_renewal_is_not_repeated(ws: Workspace, plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    renew = outdated(ws, plugin, code=0)
    meanwhile: list[bool] = []

    def run(*command: Any, **_: Any) -> subprocess.CompletedProcess[bytes]:
        meanwhile.append(renew())
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    assert renew()
    assert meanwhile == [False]


def test_a_package_without_a_bootstrap_has_nothing_to_renew(ws: Workspace, plugin: Path) -> None:
    (plugin / "requirements.lock").write_text("numpy==3\n")
    (plugin / "bootstrap.sh").unlink()
    assert not RENEW(ws, plugin, str(plugin / "venv"))


def test_foreign_environment_is_not_renewed(ws: Workspace, plugin: Path) -> None:
    (plugin / "requirements.lock").write_text("numpy==3\n")
    (plugin / "venv" / ".memem").rename(plugin / "venv" / "theirs")
    assert not renewed(ws, plugin)


# --- the vault, vectors, weights ------------------------------------------------------------------------------------


def test_handwritten_notes_are_indexed(ws: Workspace) -> None:
    save.save(ws, "A fact.")
    (ws.store.paths.memories / "by hand.md").write_text("The zeppelin hangar is locked at night.\n")
    session_start.after_session_start(ws)
    assert find.search(ws, "zeppelin hangar")


@pytest.fixture
def weightless(meant: Workspace) -> Workspace:
    """A home whose weights are nowhere."""
    meant._encoder = None
    save.save(meant, "A fact.")
    return change_settings(meant, background=True)


def test_missing_weights_are_fetched_in_the_background(weightless: Workspace, started: list[tuple[str, ...]]) -> None:
    session_start.after_session_start(weightless)
    assert started == [("index", "model", "fetch")]


def test_they_are_not_fetched_again_within_six_hours(
    weightless: Workspace, started: list[tuple[str, ...]], clock: SteppingClock
) -> None:
    session_start.after_session_start(weightless)
    clock.forward(seconds=6 * HOUR - 1)
    session_start.after_session_start(weightless)
    assert len(started) == 1
    clock.forward(seconds=1)
    session_start.after_session_start(weightless)
    assert len(started) == 2


@pytest.mark.parametrize("setting", [{"encoder": "none"}, {"background": False}])
def test_weights_are_not_fetched_if_disabled(
    weightless: Workspace, started: list[tuple[str, ...]], setting: dict[str, Any]
) -> None:
    session_start.after_session_start(change_settings(weightless, **setting))
    assert started == []


def test_complete_vectors_start_no_work(meant: Workspace, started: list[tuple[str, ...]]) -> None:
    save.save(meant, "A fact.")
    session_start.after_session_start(change_settings(meant, background=True))
    assert started == []
    assert meaning.is_pending_current(meant)


def test_many_vectors_are_computed_in_the_background(
    meant: Workspace, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meaning, "MAX_INLINE_PASSAGES", 1)
    for number in range(3):
        save.save(meant, f"Fact number {number}.")
    session_start.after_session_start(change_settings(meant, background=True))
    assert started == [("index", "encode", "--background")]


def test_an_encoder_that_cannot_be_used_is_left_to_doctor(
    meant: Workspace, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    save.save(meant, "A fact.")

    def broken(_: Workspace) -> int:
        raise ModelError("The encoder is ill.")

    monkeypatch.setattr(meaning, "update_pending", broken)
    session_start.after_session_start(change_settings(meant, background=True))
    assert started == []


# --- what sessions were shown ---------------------------------------------------------------------------------------


def test_sessions_that_claude_code_no_longer_keeps_are_forgotten(ws: Workspace, clock: SteppingClock) -> None:
    ws.contexts.add("old", ["a"], clock.ticks())
    clock.forward(days=20)
    ws.contexts.add("new", ["a"], clock.ticks())
    clock.forward(days=11)
    session_start.after_session_start(ws)
    assert (ws.contexts.has_session("old"), ws.contexts.has_session("new")) == (False, True)


def test_receipts_and_usefulness_expire_after_a_year(ws: Workspace, clock: SteppingClock) -> None:
    for identity, days in (("old", 200), ("new", 200)):
        number = ws.contexts.receipts.add(Receipt(clock.ticks(), PROMPT, "s1", items=(ReceiptItem(identity),)))
        ws.contexts.receipts.mark_used(number, {identity: "no"}, clock.ticks())
        clock.forward(days=days)
    session_start.after_session_start(ws)
    assert ws.contexts.receipts.tally(["old", "new"]) == {"new": (1, 0)}
    assert (ws.contexts.receipts.for_memory("old", 9), len(ws.contexts.receipts.for_memory("new", 9))) == ([], 1)


def test_damaged_contexts_are_replaced(ws: Workspace, clock: SteppingClock) -> None:
    ws.contexts.add("s1", [f"memory {number}" for number in range(2_000)], clock.ticks())
    ws.close()
    with ws.home.contexts_file.open("r+b") as file:
        file.seek(ws.home.contexts_file.stat().st_size // 2)
        file.write(b"\xff" * 20_000)
    with pytest.raises(MememError, match="damaged"):
        ws.contexts.shown("s1")
    session_start.after_session_start(ws)
    assert ws.home.contexts_file.with_name("contexts.db.damaged").exists()
    assert ws.contexts.shown("s1") == []
    ws.contexts.add("s1", ["a"], clock.ticks())
    assert ws.contexts.shown("s1") == ["a"]


def test_contexts_of_a_newer_memem_are_reported_unchanged(ws: Workspace, clock: SteppingClock) -> None:
    ws.contexts.add("s1", ["a"], clock.ticks())
    ws.contexts._connect().execute("PRAGMA user_version = 99")
    ws.close()
    before = ws.home.contexts_file.read_bytes()
    with pytest.raises(MememError, match=r"contexts\.db was written by a newer version of memem"):
        session_start.after_session_start(ws)
    assert ws.home.contexts_file.read_bytes() == before


# --- the sweep, and one after another -------------------------------------------------------------------------------


def test_session_missed_by_hooks_is_mined(miner: Workspace, session: Transcript) -> None:
    consent.opt_in(miner)
    session.tells("one")
    session_start.after_session_start(miner)
    assert count_saved(miner) == once("one")


def test_nothing_is_mined_without_consent(miner: Workspace, session: Transcript) -> None:
    session.tells("one")
    session_start.after_session_start(miner)
    assert not miner.settings.vault.exists()
    assert not miner.home.state_file.exists()


def test_a_vault_that_is_gone_is_survived(miner: Workspace, session: Transcript) -> None:
    save.save(miner, "A fact.")
    consent.opt_in(miner)
    session.tells("one")
    away = miner.settings.vault.with_name("unmounted")
    miner.settings.vault.rename(away)
    session_start.after_session_start(miner)
    assert not miner.settings.vault.exists()
    away.rename(miner.settings.vault)
    session_start.after_session_start(miner)
    assert len(find.search(miner, "service restarted by hand")) == 1


_PARTS = (
    *("store_plugin_options", "renew_environment", "_check_contexts", "_update_index"),
    *("_prune_contexts", "_prune_mining"),
)


@pytest.mark.parametrize(
    "problem", [HomeError("The disk is full."), OSError("no bash"), subprocess.TimeoutExpired("bash", 900)]
)
@pytest.mark.parametrize("part", _PARTS)
def test_failing_part_does_not_stop_the_others(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch, part: str, problem: Exception
) -> None:
    done: list[str] = []

    def fails(_: Workspace) -> None:
        raise problem

    for name in _PARTS:
        monkeypatch.setattr(session_start, name, lambda _, name=name: done.append(name))
    monkeypatch.setattr(session_start, part, fails)
    monkeypatch.setattr("memem.mine.schedule.sweep", lambda _: done.append("sweep"))
    with pytest.raises(MememError, match=str(problem)):
        session_start.after_session_start(ws)
    assert done == [name for name in (*_PARTS, "sweep") if name != part]


def test_missing_vault_is_not_an_error(ws: Workspace) -> None:
    session_start.after_session_start(ws)
    assert not ws.settings.vault.exists()
    with pytest.raises(VaultMissing):
        opening.require_vault(ws)


def test_all_errors_are_reported(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Workspace) -> None:
        raise HomeError("The disk is full.")

    def fails_too(_: Workspace) -> None:
        raise HomeError("The home is gone.")

    monkeypatch.setattr(session_start, "_update_index", fails)
    monkeypatch.setattr(session_start, "_check_contexts", fails_too)
    with pytest.raises(MememError, match=r"The home is gone\. The disk is full\."):
        session_start.after_session_start(ws)


def test_second_upkeep_leaves_the_work_to_the_first(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    monkeypatch.setattr(session_start, "_update_index", lambda _: looked.append(1))
    ws.home.upkeep_lock.parent.mkdir(parents=True)
    with locks.holding(ws.home.upkeep_lock, 0):
        session_start.after_session_start(ws)
    assert looked == []
    session_start.after_session_start(ws)
    assert looked == [1]


def test_recall_by_keywords_alone_is_a_problem_until_the_model_is_there(ws: Workspace) -> None:
    session_start.after_session_start(ws)
    assert notices.problems(ws) == {}
    chosen = ws.settings
    ws.settings = replace(chosen, encoder="minilm")
    session_start.check_recall(ws)
    assert notices.problems(ws)["recall"].startswith("memem finds memories by keywords only")
    ws.settings = chosen
    session_start.check_recall(ws)
    assert notices.problems(ws) == {}


# --- what is stale ------------------------------------------------------------------------------------------------


def test_notes_of_the_sessions_project_are_checked_for_staleness(ws: Workspace, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    (shop / "src").mkdir(parents=True)
    (shop / "auth.py").touch()
    save.save(ws, "Tokens are checked in auth.py.", project="shop", trust=SAVED, folder=shop)
    (shop / "auth.py").unlink()
    session_start.after_session_start(ws)
    assert find.list_memories(ws)[0].memory.status == "active"
    session_start.after_session_start(ws, shop)
    assert find.list_memories(ws)[0].memory.stale_because == "auth.py is gone from shop"


def test_the_graph_follows_the_notes(ws: Workspace) -> None:
    one = save.save(ws, "Tokens are signed with RS256.")
    (ws.store.paths.memories / "mine.md").write_text(f"This depends on [[{Path(one.path).stem}]].")
    session_start.after_session_start(ws)
    assert [edge.kind for edge in read.list_edges(ws)] == ["depends_on"]
    assert not read.is_behind(ws)


def test_staleness_needs_a_vault(ws: Workspace, tmp_path: Path) -> None:
    session_start.after_session_start(ws, tmp_path)
    assert not ws.home.stale_file.exists()
