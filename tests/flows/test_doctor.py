"""The doctor goes through everything memem needs, and says what to do about what is missing."""

import platform
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memem.core import processes
from memem.core.errors import StateUnusable
from memem.flows import consent, doctor, encode, health, rebuild, remember, retrieve
from memem.flows.doctor import BROKEN, DEGRADED, FINE, Diagnosis
from memem.jobs.queue import Mark
from memem.workspace import Workspace


@pytest.fixture
def well(meant: Workspace, small_weights: Path) -> Workspace:
    """A home where nothing is missing."""
    remember.save(meant, "Tokens are signed with RS256.")
    encode.encode_all(meant)
    return meant


def states(ws: Workspace) -> dict[str, str]:
    return {each.what: each.state for each in doctor.diagnose(ws)}


def detail(ws: Workspace, what: str) -> str:
    (found,) = [each for each in doctor.diagnose(ws) if each.what == what]
    assert "\n" not in found.detail
    return found.detail


def test_a_home_where_nothing_is_missing_is_fine(well: Workspace, small_weights: Path) -> None:
    assert states(well) == dict.fromkeys(("python", "vault", "index", "encoder", "vectors", "mining"), FINE)
    assert platform.python_version() in detail(well, "python")
    assert detail(well, "vault") == str(well.settings.vault)
    assert detail(well, "index") == "1 memories in 1 files"
    assert str(small_weights) in detail(well, "encoder")
    assert detail(well, "vectors") == "1 of 1 passages"


def test_a_vault_that_is_not_there_is_broken_and_what_needs_it_is_not_looked_at(meant: Workspace) -> None:
    assert states(meant) == {"python": FINE, "vault": BROKEN, "mining": FINE}
    assert "Save a memory to begin one" in detail(meant, "vault")


def test_a_damaged_index_is_broken_and_says_how_to_mend_it(well: Workspace) -> None:
    well.close()
    well.home.index_file.write_bytes(b"this is not a database " * 100)
    assert states(well) == {"python": FINE, "vault": FINE, "index": BROKEN, "mining": FINE}
    assert "memem reindex" in detail(well, "index")


def test_a_note_that_cannot_be_read_needs_attention(well: Workspace, memories: Path) -> None:
    (memories / "broken.md").write_text("---\ntitle: [unclosed\n---\ntext")
    assert states(well)["notes"] == DEGRADED
    assert detail(well, "notes") == "1 need attention; `memem check` lists them"


def test_a_note_that_is_merely_odd_does_not(well: Workspace, memories: Path) -> None:
    (memories / "own.md").write_text("no properties at all")
    assert "notes" not in states(well)


def test_no_encoder_is_told_even_if_it_was_wanted_so(ws: Workspace) -> None:
    remember.save(ws, "A fact.")
    assert states(ws) == {"python": FINE, "vault": FINE, "index": FINE, "encoder": DEGRADED, "mining": FINE}
    assert "MEMEM_ENCODER" in detail(ws, "encoder")


def test_missing_weights_leave_keywords_and_say_how_to_get_them(meant: Workspace) -> None:
    remember.save(meant, "A fact.")
    assert states(meant)["encoder"] == DEGRADED
    assert "memem model fetch" in detail(meant, "encoder")
    assert "keywords alone" in detail(meant, "encoder")


def test_a_wrong_folder_of_weights_is_told_though_another_serves(well: Workspace, tmp_path: Path) -> None:
    well.settings = replace(well.settings, model_dir=tmp_path / "nowhere")
    assert (states(well)["encoder"], states(well)["weights"]) == (FINE, DEGRADED)
    assert "MEMEM_MODEL_DIR" in detail(well, "weights")


def test_vectors_that_are_missing_say_how_to_compute_them(well: Workspace) -> None:
    remember.save(well, "Another fact.")
    assert states(well)["vectors"] == DEGRADED
    assert detail(well, "vectors") == "1 of 2 passages; `memem encode` computes the rest"


def test_vectors_deleted_by_hand_are_missing(well: Workspace) -> None:
    shutil.rmtree(well.home.vectors)
    assert detail(well, "vectors") == "0 of 1 passages; `memem encode` computes the rest"


def test_a_damaged_database_of_vectors_says_how_to_mend_it(well: Workspace) -> None:
    well.close()
    (path,) = well.home.vectors.glob("*/vectors.db")
    path.write_bytes(b"this is not a database " * 100)
    assert [each.what for each in doctor.diagnose(well) if each.state != FINE and "memem reindex" in each.detail]


def test_zeros_in_place_of_vectors_are_broken(well: Workspace) -> None:
    well.close()
    (path,) = well.home.vectors.glob("*/rows-*.f32")
    path.write_bytes(b"\0" * path.stat().st_size)
    assert states(well)["vectors"] == BROKEN


@pytest.mark.parametrize(("said", "told"), [("", None), ("\n", None), ("first\nmemem: the last\n", "memem: the last")])
def test_what_the_background_complained_about_last_is_told(well: Workspace, said: str, told: str | None) -> None:
    well.home.encode_log.parent.mkdir(exist_ok=True)
    well.home.encode_log.write_text(said)
    complaints = [each for each in doctor.diagnose(well) if each.what == "background"]
    assert complaints == ([Diagnosis("background", DEGRADED, told)] if told else [])


def test_the_library_is_not_asked_about_vectors_it_would_have_to_be_loaded_for(
    well: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    well.settings = replace(well.settings, encoder="sentence-transformers")
    retrieve.search(well, "tokens")
    monkeypatch.setattr("memem.flows.model._require_library", lambda: None)

    def load(_: Workspace) -> object:
        raise AssertionError("loaded")

    well.close()
    well._encoder = None
    monkeypatch.setattr(Workspace, "_load_encoder", load)
    assert states(well)["vectors"] == FINE


def test_vectors_of_another_model_are_not_counted(well: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    retrieve.search(well, "tokens")
    monkeypatch.setattr("memem.flows.model._require_library", lambda: None)
    well.settings = replace(well.settings, encoder="sentence-transformers", embed_model="other/model")
    assert states(well)["vectors"] == DEGRADED
    assert health.status(well).model.encoded == 0


def test_a_file_in_the_place_of_the_vectors_is_told_and_a_rebuild_removes_it(well: Workspace) -> None:
    well.close()
    shutil.rmtree(well.home.vectors, ignore_errors=True)
    well.home.vectors.write_text("a file")
    assert health.status(well).model.problem
    assert states(well)["encoder"] == DEGRADED
    rebuild.rebuild(well)
    encode.encode_all(well)
    assert states(well)["vectors"] == FINE


def test_mining_without_a_claude_is_degraded_only_once_it_is_on(ws: Workspace) -> None:
    remember.save(ws, "A fact.")
    assert states(ws)["mining"] == FINE
    consent.opt_in(ws)
    assert states(ws)["mining"] == DEGRADED
    assert "rules" in detail(ws, "mining")
    ws.settings = replace(ws.settings, extractor="rules")
    assert "on since 2026-03-01 09:00, with rules" in detail(ws, "mining")


def test_what_mining_put_aside_is_told_with_what_to_do(ws: Workspace) -> None:
    remember.save(ws, "A fact.")
    ws.state.journal.bury("s", {}, "too often", "2026-03-01")
    ws.state.ledger.trip(ws.clock().timestamp() + 60, "the account has to wait")
    assert "memem mine --retry" in detail(ws, "dead letters")
    assert "the account has to wait" in detail(ws, "model")


def test_a_call_that_outlived_its_miner_is_ended(ws: Workspace) -> None:
    remember.save(ws, "A fact.")
    left = subprocess.Popen(["sleep", "60"], start_new_session=True)
    ws.state.children.add(left.pid, processes.started(left.pid) or "")
    with closing(sqlite3.connect(ws.home.state_file)) as connection, connection:
        connection.execute("UPDATE children SET miner_started = 'another one'")
    assert detail(ws, "leftovers").startswith("1 calls outlived")
    assert left.wait(timeout=10) != 0


def test_a_damaged_state_breaks_mining_and_nothing_else(ws: Workspace) -> None:
    remember.save(ws, "A fact.")
    ws.home.state_file.write_bytes(b"this is not a database " * 100)
    assert states(ws)["mining"] == BROKEN
    assert states(ws)["index"] == FINE


def test_a_state_with_damage_inside_is_found(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    remember.save(ws, "A fact.")
    ws.state.queue.mark(Mark("s", "/s.jsonl"), 0)

    def damaged() -> None:
        raise StateUnusable("The state is damaged.")

    monkeypatch.setattr(ws.state, "check", damaged)
    assert states(ws)["state"] == BROKEN
