"""The doctor goes through everything memem needs, and says what to do about what is missing."""

import errno
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memem.core import processes
from memem.core.errors import HomeError, SettingsError
from memem.core.options import VAULT_VARIABLE
from memem.notes import save
from memem.search import find, rebuild
from memem.search.encoders import model
from memem.search.transcripts import consent
from memem.upkeep import doctor, status
from memem.upkeep.checks import machine, recall
from memem.upkeep.checks.result import BROKEN, DEGRADED, FINE, Diagnosis, broken, degraded, fine
from memem.workspace import Workspace, open_workspace
from tests.fakes import FakeEncoder
from tests.transcripts import Transcript

ALWAYS = ("python", "command", "home", "space", "claude", "mining", "projects", "plugin", "hooks")
WITH_A_NOTE = (*ALWAYS, "locks", "vault", "index")


@pytest.fixture(autouse=True)
def _apart_from_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment, its disk and its hooks have tests of their own."""
    monkeypatch.setenv("MEMEM_HOOKS_OFF", "1")
    monkeypatch.setattr("memem.upkeep.checks.machine.check_environment", lambda: [fine("python", "is there")])
    monkeypatch.setattr("memem.upkeep.checks.machine.LEAST_FREE", 0)


@pytest.fixture
def well(meant: Workspace, small_weights: Path) -> Workspace:
    """A home where nothing is missing."""
    save.save(meant, "Tokens are signed with RS256.")
    model.encode_all(meant)
    return meant


def diagnose(ws: Workspace) -> list[Diagnosis]:
    """Each result is one line, and has a fix unless it is fine."""
    found = doctor.diagnose(ws)
    assert all(each.detail and "\n" not in each.detail + each.fix for each in found)
    assert [each for each in found if bool(each.fix) != (each.state != FINE)] == []
    return found


def states(ws: Workspace) -> dict[str, str]:
    return {each.what: each.state for each in diagnose(ws)}


def the(ws: Workspace, what: str) -> Diagnosis:
    (found,) = [each for each in diagnose(ws) if each.what == what]
    return found


def detail(ws: Workspace, what: str) -> str:
    return the(ws, what).detail


def test_a_home_where_nothing_is_missing_is_fine(well: Workspace, small_weights: Path) -> None:
    assert states(well) == dict.fromkeys((*WITH_A_NOTE, "encoder", "vectors"), FINE)
    assert doctor.verdict(diagnose(well)) == "HEALTHY"
    assert detail(well, "vault") == str(well.settings.vault)
    assert detail(well, "index") == "1 memory in 1 file"
    assert str(small_weights) in detail(well, "encoder")
    assert detail(well, "vectors") == "1 of 1 passages"


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([], "HEALTHY"),
        ([fine("a", "b")], "HEALTHY"),
        ([degraded("a", "b", "c"), fine("a", "b")], "DEGRADED"),
        ([broken("a", "b", "c"), degraded("a", "b", "c"), fine("a", "b")], "FAILING"),
    ],
)
def test_the_verdict_is_as_the_worst_that_was_found(found: list[Diagnosis], verdict: str) -> None:
    assert doctor.verdict(found) == verdict


def test_unexpected_error_is_a_result_and_other_checks_run(well: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Workspace) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(recall, "require_vault", fail)
    assert the(well, "recall") == Diagnosis(
        "recall", BROKEN, "could not be checked: RuntimeError: two lines", doctor.REPORT
    )
    assert states(well)["mining"] == FINE
    well.settings = replace(well.settings, debug=True)
    with pytest.raises(RuntimeError):
        doctor.diagnose(well)


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (
            PermissionError(errno.EACCES, "no", "/srv/x"),
            "cannot use /srv/x: permission denied; check its permissions",
        ),
        (HomeError("The home is gone. Bring it back."), "The home is gone."),
        (HomeError("The home is gone"), "The home is gone"),
        (HomeError("The home is slow. Nothing is lost."), "The home is slow. Nothing is lost."),
    ],
)
def test_unreachable_file_is_reported_in_plain_words(
    well: Workspace, error: Exception, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Workspace) -> None:
        raise error

    monkeypatch.setattr(machine, "_space", fail)
    assert the(well, "home").state == BROKEN
    assert detail(well, "home").startswith(found)
    assert the(well, "home").fix == ("Bring it back." if "Bring it back." in str(error) else doctor.MAKE_USABLE)


def test_settings_that_cannot_be_used_leave_little_to_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMEM_DAILY_CALLS", "many")
    with pytest.raises(SettingsError) as raised:
        open_workspace(actor="test")
    python, settings = doctor.unopened(raised.value)
    assert (python.what, settings.what, settings.state) == ("python", "settings", BROKEN)
    assert "MEMEM_DAILY_CALLS" in settings.detail
    assert settings.fix == "Correct it there, and try again."


def test_an_option_of_the_plugin_that_cannot_be_used_is_to_be_corrected_in_claude_code(ws: Workspace) -> None:
    ws.home.state.mkdir(parents=True)
    ws.home.plugin_options.write_text('{"daily_usd": "much"}')
    opened = open_workspace(actor="test", home=ws.home.root)
    (found,) = [each for each in doctor.diagnose(opened) if each.what == "settings"]
    assert (found.state, found.detail) == (DEGRADED, opened.settings.problems[0])
    assert "/plugin configure memem" in found.fix
    ws.home.plugin_options.write_text('{"vault": " "}')
    with pytest.raises(SettingsError) as raised:
        open_workspace(actor="test", home=ws.home.root)
    assert "/plugin configure memem" in doctor.unopened(raised.value)[-1].fix


@pytest.mark.parametrize(("left", "state"), [("{}", None), ('{"vault": "/srv/v"}', None), ("half a li", DEGRADED)])
def test_unreadable_plugin_options_are_reported(ws: Workspace, left: str, state: str | None) -> None:
    ws.home.state.mkdir(parents=True)
    ws.home.plugin_options.write_text(left)
    assert states(ws).get("settings") == state


def test_missing_vault_is_reported_and_its_checks_skipped(meant: Workspace) -> None:
    assert states(meant) == {**dict.fromkeys(ALWAYS, FINE), "vault": DEGRADED}
    assert detail(meant, "vault") == f"There is no vault at {meant.settings.vault} yet."
    assert the(meant, "vault").fix.startswith("Save a memory to create one there")


def test_a_vault_that_is_gone_is_broken(well: Workspace) -> None:
    shutil.rmtree(well.settings.vault)
    assert (the(well, "vault").state, "index" in states(well)) == (BROKEN, False)
    assert VAULT_VARIABLE in the(well, "vault").fix


def test_a_vault_that_cannot_be_written_is_broken(well: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "is_usable", lambda folder: folder != well.store.paths.memories)
    assert the(well, "vault") == broken(
        "vault", f"you cannot write to {well.store.paths.memories}", "Check its permissions."
    )
    assert states(well)["index"] == FINE


def test_vault_on_another_file_system_is_fine(well: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Path.stat

    def stat(path: Path, **kwargs: bool) -> object:
        found = here(path, **kwargs)
        elsewhere = type("Status", (), {"st_dev": found.st_dev + 1, "st_mode": found.st_mode})
        return elsewhere() if path == well.settings.vault else found

    monkeypatch.setattr(Path, "stat", stat)
    assert the(well, "vault").state == FINE
    assert "a different file system" in detail(well, "vault")


def test_damaged_index_is_set_aside_and_rebuilt(well: Workspace) -> None:
    well.close()
    well.index_file.write_bytes(b"this is not a database " * 100)
    assert the(well, "index").state == FINE
    assert well.index_file.with_name("index.db.damaged").read_bytes().startswith(b"this is not a database")


def test_an_index_that_is_damaged_within_is_broken_and_says_how_to_mend_it(well: Workspace) -> None:
    with closing(sqlite3.connect(well.index_file)) as connection, connection:
        connection.execute("UPDATE words_content SET c2 = 'other'")
    assert states(well) == {**dict.fromkeys(WITH_A_NOTE, FINE), "index": BROKEN}
    assert "memem index rebuild" in the(well, "index").fix


def test_outdated_index_is_reported_with_its_changes(well: Workspace, memories: Path) -> None:
    (memories / "own.md").write_text("A note of mine.")
    assert detail(well, "index") == "2 memories in 2 files; 1 changed since the last check"
    (memories / "own.md").unlink()
    assert detail(well, "index") == "1 memory in 1 file; 1 changed since the last check"
    assert detail(well, "index") == "1 memory in 1 file"


def test_a_note_that_cannot_be_read_needs_attention(well: Workspace, memories: Path) -> None:
    (memories / "broken.md").write_text("---\ntitle: [unclosed\n---\ntext")
    assert states(well)["notes"] == DEGRADED
    assert the(well, "notes") == degraded("notes", "1 needs attention", "Run `memem index check` to list them.")


def test_a_note_that_is_merely_odd_does_not(well: Workspace, memories: Path) -> None:
    (memories / "own.md").write_text("no properties at all")
    assert "notes" not in states(well)


def test_disabled_encoder_is_reported(ws: Workspace) -> None:
    save.save(ws, "A fact.")
    assert states(ws) == {**dict.fromkeys(WITH_A_NOTE, FINE), "encoder": DEGRADED}
    assert "MEMEM_ENCODER" in detail(ws, "encoder")


def test_missing_weights_leave_keywords_and_say_how_to_get_them(meant: Workspace) -> None:
    save.save(meant, "A fact.")
    assert states(meant)["encoder"] == DEGRADED
    assert "memem index model fetch" in the(meant, "encoder").fix
    assert detail(meant, "encoder").endswith("were not found. Memories are found by keywords only.")
    meant.home.fetch_log.write_text("begun\nmemem: no network.\n")
    assert detail(meant, "encoder").endswith("The last download failed: memem: no network.")


def test_wrong_weights_folder_is_reported_despite_a_fallback(well: Workspace, tmp_path: Path) -> None:
    well.settings = replace(well.settings, model_dir=tmp_path / "nowhere")
    assert (states(well)["encoder"], states(well)["weights"]) == (FINE, DEGRADED)
    assert "MEMEM_MODEL_DIR" in detail(well, "weights")


def test_vectors_that_are_missing_say_how_to_compute_them(well: Workspace) -> None:
    save.save(well, "Another fact.")
    assert states(well)["vectors"] == DEGRADED
    assert the(well, "vectors") == degraded(
        "vectors", "1 of 2 passages", "Run `memem index encode` to compute the rest."
    )


def test_vectors_deleted_by_hand_are_missing(well: Workspace) -> None:
    shutil.rmtree(well.home.vectors)
    assert detail(well, "vectors") == "0 of 1 passages"


def test_damaged_vectors_are_rebuilt(well: Workspace) -> None:
    well.close()
    (path,) = well.home.vectors.glob("*/vectors.db")
    path.write_bytes(b"this is not a database " * 100)
    assert detail(well, "vectors") == "0 of 1 passages"


def test_zeros_in_place_of_vectors_are_broken(well: Workspace) -> None:
    well.close()
    (path,) = well.home.vectors.glob("*/rows-*.f32")
    path.write_bytes(b"\0" * path.stat().st_size)
    assert states(well)["vectors"] == BROKEN


@pytest.mark.parametrize(("said", "told"), [("", None), ("\n", None), ("first\nmemem: the last\n", "memem: the last")])
def test_last_background_error_is_reported(well: Workspace, said: str, told: str | None) -> None:
    well.home.encode_log.parent.mkdir(exist_ok=True)
    well.home.encode_log.write_text(said)
    assert [each.detail for each in diagnose(well) if each.what == "background"] == ([told] if told else [])


def test_checking_vectors_does_not_load_the_library(well: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    well.settings = replace(well.settings, encoder="sentence-transformers")
    find.search(well, "tokens")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())

    def load(_: Workspace) -> object:
        raise AssertionError("loaded")

    well.close()
    well._encoder = None
    monkeypatch.setattr(Workspace, "_load_encoder", load)
    assert states(well)["vectors"] == FINE


def test_memories_that_the_model_does_not_read_are_a_hint_and_no_trouble(well: Workspace, encoder: FakeEncoder) -> None:
    encoder.multilingual = False
    save.save(well, "连接池的大小是二十。")
    model.encode_all(well)
    assert states(well)["languages"] == FINE
    assert "1 memory is written in a script that the model does not know" in detail(well, "languages")
    encoder.multilingual = True
    assert "languages" not in states(well)


def test_vectors_of_another_model_are_not_counted(well: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    find.search(well, "tokens")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    well.settings = replace(well.settings, encoder="sentence-transformers", embed_model="other/model")
    assert states(well)["vectors"] == DEGRADED
    assert status.status(well).model.encoded == 0


def test_file_in_place_of_vectors_is_reported_and_rebuilt(well: Workspace) -> None:
    well.close()
    shutil.rmtree(well.home.vectors, ignore_errors=True)
    well.home.vectors.write_text("a file")
    assert status.status(well).model.problem
    assert states(well)["encoder"] == DEGRADED
    rebuild.rebuild(well)
    model.encode_all(well)
    assert states(well)["vectors"] == FINE


def test_mining_without_a_claude_is_degraded_only_once_it_is_on(ws: Workspace) -> None:
    save.save(ws, "A fact.")
    assert states(ws)["claude"] == FINE
    consent.opt_in(ws)
    assert (states(ws)["claude"], states(ws)["mining"]) == (DEGRADED, FINE)
    assert "rules" in detail(ws, "claude")
    ws.settings = replace(ws.settings, extractor="rules")
    assert states(ws)["claude"] == FINE
    assert detail(ws, "mining") == "on since 2026-03-01 09:00, using rules"


def test_doctor_counts_the_sessions_that_the_opt_in_leaves_unread(ws: Workspace, sessions: Path) -> None:
    save.save(ws, "A fact.")
    Transcript(sessions / "s1.jsonl").tells("old")
    consent.opt_in(ws)
    ws.settings = replace(ws.settings, extractor="rules")
    assert detail(ws, "mining") == "on since 2026-03-01 09:00, using rules; earlier sessions left unread: 1"


def test_dead_letters_are_reported_with_a_fix(ws: Workspace) -> None:
    save.save(ws, "A fact.")
    ws.state.journal.add_dead_letter("s", {}, "too often", "2026-03-01")
    ws.state.ledger.start_pause(ws.clock().timestamp() + 60, "the account has to wait")
    assert "memem mine --retry" in the(ws, "dead letters").fix
    assert "the account has to wait" in detail(ws, "model")
    assert "memem mine --all" in the(ws, "model").fix


def test_a_call_that_outlived_its_miner_is_ended(ws: Workspace) -> None:
    save.save(ws, "A fact.")
    left = subprocess.Popen(["sleep", "60"], start_new_session=True)
    ws.state.children.add(left.pid, processes.read_start_time(left.pid) or "")
    with closing(sqlite3.connect(ws.home.state_file)) as connection, connection:
        connection.execute("UPDATE children SET miner_started = 'another one'")
    assert detail(ws, "orphans").startswith("stopped 1 model call")
    assert left.wait(timeout=10) != 0


def test_a_damaged_state_breaks_mining_and_nothing_else(ws: Workspace) -> None:
    save.save(ws, "A fact.")
    ws.home.state_file.write_bytes(b"this is not a database " * 100)
    assert states(ws) == {**dict.fromkeys(WITH_A_NOTE, FINE), "encoder": DEGRADED, "mining": BROKEN, "state": BROKEN}
    assert "memem mine on" in the(ws, "state").fix


def test_a_state_that_does_not_tell_of_calls_is_broken(ws: Workspace) -> None:
    consent.opt_in(ws)
    with closing(sqlite3.connect(ws.home.state_file)) as connection, connection:
        connection.execute("DROP TABLE children")
    assert states(ws)["orphans"] == BROKEN
    assert "memem mine on" in the(ws, "orphans").fix
