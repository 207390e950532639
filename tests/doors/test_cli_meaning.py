"""Meaning on the command line: what is printed, what is said aside, and the exit codes."""

import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memem.core import locks
from memem.core.home import Home
from memem.doors import cli
from memem.doors.cli import output
from memem.search import meaning
from memem.search.encoders import model, weights
from memem.search.encoders.weights import WeightsFolder
from memem.workspace import Workspace
from tests.command_line import Outcome, Run, assert_failed
from tests.fakes import FakeEncoder

MENDED = "The vehicle was mended by Anna."
WITH_WORDS, PARAPHRASE = "the vehicle that Anna mended", "repaired automobile"
WORK = "(keywords only: "


INTERRUPTED = "Interrupted: finished vectors are kept; run `memem index encode` to continue."


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("MEMEM_ENCODER", "minilm")

    def call(*arguments: str) -> Outcome:
        code = cli.main(list(arguments))
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture
def loaded(run: Run, encoder: FakeEncoder, small_weights: Path, monkeypatch: pytest.MonkeyPatch) -> FakeEncoder:
    """A home with two memories, and a model for it."""
    monkeypatch.setattr(Workspace, "_load_encoder", lambda _: encoder)
    for text in (MENDED, "Coffee is served at seven."):
        assert run("save", text, "-p", "general").code == 0
    return encoder


@pytest.fixture
def unloaded(run: Run) -> None:
    """The same without a model."""
    for text in (MENDED, "Coffee is served at seven."):
        assert run("save", text, "-p", "general").code == 0


# --- search and slice ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("loaded")
def test_search_finds_a_paraphrase_and_is_otherwise_quiet(run: Run) -> None:
    done = run("search", PARAPHRASE)
    assert (done.code, done.err) == (0, "")
    (line,) = done.out.splitlines()
    assert line.split("\t")[2] == "cosine"


@pytest.mark.usefixtures("loaded")
def test_search_json_names_the_source_of_each_hit(run: Run) -> None:
    (hit,) = run("search", WITH_WORDS, "--json").data
    assert (hit["body"], hit["source"], hit["degraded"]) == (MENDED, "both", "")
    assert set(hit["terms"]) == {"vehicle", "anna", "mended"}
    assert 0 < hit["cosine"] <= 1


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_search_says_aside_in_one_line_why_keywords_answered_alone(run: Run, form: tuple[str, ...]) -> None:
    done = run("search", WITH_WORDS, *form)
    assert done.code == 0
    assert "mended" in done.out
    (line,) = done.err.splitlines()
    assert line.startswith(WORK)
    assert "memem index model fetch" in line


@pytest.mark.usefixtures("unloaded")
def test_search_that_finds_nothing_says_so_and_why(run: Run) -> None:
    done = run("search", PARAPHRASE)
    assert (done.code, done.out) == (0, "")
    why, nothing = done.err.splitlines()
    assert why.startswith(WORK)
    assert nothing == "No matches."


@pytest.mark.usefixtures("unloaded")
def test_keyword_search_by_choice_prints_no_remark(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMEM_ENCODER", "none")
    assert run("search", WITH_WORDS).err == ""
    assert run("slice", WITH_WORDS, "--scope", "general").err == ""


@pytest.mark.usefixtures("unloaded")
def test_slice_says_aside_why_keywords_answered_alone(run: Run) -> None:
    done = run("slice", WITH_WORDS, "--scope", "general")
    assert done.out.startswith("# Active Memory Slice\n")
    assert WORK not in done.out
    (line,) = done.err.splitlines()
    assert line.startswith(WORK)
    assert "memem index model fetch" in run("slice", WITH_WORDS, "--scope", "general", "--json").data["degraded"]


@pytest.mark.usefixtures("loaded")
def test_slice_with_a_model_is_quiet(run: Run) -> None:
    done = run("slice", WITH_WORDS, "--scope", "general")
    assert done.out.startswith("# Active Memory Slice\n")
    assert done.err == ""


# --- encode -------------------------------------------------------------------------------------------------------


def test_encode_reports_its_result(run: Run, loaded: FakeEncoder) -> None:
    done = run("encode")
    assert done == Outcome(0, "Encoded 2 of 2 passages; the others were up to date.\n", "")
    assert len(loaded.encoded) == 2
    assert run("encode", "--json").data == {"encoded": 0, "passages": 2, "compacted": False}


@pytest.fixture
def nice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    steps: list[int] = []
    monkeypatch.setattr(os, "nice", steps.append, raising=False)
    monkeypatch.setattr("memem.core.processes.AUTOGROUP", tmp_path / "autogroup")
    return steps


def test_encode_in_the_background_steps_back_and_says_nothing(run: Run, loaded: FakeEncoder, nice: list[int]) -> None:
    assert run("encode", "--background") == Outcome(0, "", "")
    assert len(loaded.encoded) == 2
    assert nice == [10]
    run("encode")
    assert nice == [10], "whoever waits for it does not want it to step back"


def test_encode_that_another_is_already_at_leaves_it_to_them_and_says_so_in_front(
    run: Run, loaded: FakeEncoder, home: Home, nice: list[int]
) -> None:
    home.encode_lock.parent.mkdir(exist_ok=True)
    with locks.holding(home.encode_lock, 0):
        assert run("encode", "--background") == Outcome(0, "", "")
        assert_failed(run("encode"), "Another memem process is encoding")
    assert loaded.encoded == []


@pytest.mark.usefixtures("unloaded", "nice")
def test_encode_without_a_model_fails_and_says_how_to_get_one(run: Run) -> None:
    assert_failed(run("encode"), "memem index model fetch")
    assert_failed(run("encode", "--background"), "memem index model fetch")


def test_encode_interrupted_is_130_and_goes_on_later(run: Run, loaded: FakeEncoder) -> None:
    loaded.trouble = KeyboardInterrupt()
    assert run("encode") == Outcome(130, "", f"{INTERRUPTED}\n")
    loaded.trouble = None
    assert run("encode", "--json").data["encoded"] == 2


def test_progress_is_drawn_on_a_terminal_and_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with output.progress("Encoding") as progress:
        progress(1, 2)
        progress(2, 2)
    assert "Encoding" in terminal.getvalue()
    assert "2/2" in terminal.getvalue()


@pytest.mark.parametrize("quiet", [True, False])
def test_progress_is_not_drawn_in_a_pipe_or_where_it_is_not_wanted(
    capsys: pytest.CaptureFixture[str], quiet: bool
) -> None:
    with output.progress("Encoding", quiet=quiet) as progress:
        progress(1, 2)
    assert capsys.readouterr() == ("", "")


# --- model --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("loaded")
def test_model_shows_where_the_weights_are_and_how_far_the_vectors(run: Run, small_weights: Path) -> None:
    done = run("model")
    assert (done.code, done.err) == (0, "")
    shown = dict(line.split("\t") for line in done.out.splitlines())
    assert shown["encoder"] == "minilm"
    assert (shown["weights"], shown["source"]) == (str(small_weights), "hub cache")
    assert shown["vectors"] == "0 of 2 passages"


@pytest.mark.usefixtures("loaded")
def test_model_path_is_the_folder_and_nothing_else(run: Run, small_weights: Path) -> None:
    assert run("model", "path") == Outcome(0, f"{small_weights}\n", "")


@pytest.mark.usefixtures("loaded")
def test_model_in_json(run: Run) -> None:
    data = run("model", "--json").data
    assert (data["passages"], data["encoded"], data["problem"]) == (2, 0, "")
    assert (data["dimensions"], data["multilingual"], data["unread"]) == (2_048, True, 0)


@pytest.mark.usefixtures("unloaded")
def test_model_without_weights_is_a_state_to_show_but_has_no_path(run: Run) -> None:
    done = run("model")
    assert done.code == 0
    assert "memem index model fetch" in done.err
    assert_failed(run("model", "path"), "memem index model fetch")


@pytest.mark.usefixtures("loaded")
def test_model_says_aside_that_a_folder_named_by_the_user_does_not_serve(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEM_MODEL_DIR", str(tmp_path / "nowhere"))
    done = run("model")
    assert done.code == 0
    assert done.err.startswith("MEMEM_MODEL_DIR: ")


@pytest.mark.parametrize(("what", "code"), [("fetch", 0), ("path", 1)])
@pytest.mark.usefixtures("loaded")
def test_no_encoder_has_nothing_to_fetch_and_no_path(
    run: Run, monkeypatch: pytest.MonkeyPatch, what: str, code: int
) -> None:
    monkeypatch.setenv("MEMEM_ENCODER", "none")
    done = run("model", what)
    assert done.code == code
    assert ("nothing to fetch" in done.out) if what == "fetch" else ("does not use memem's weights" in done.err)


def test_model_fetch_gets_the_weights_and_shows_the_result(
    run: Run, loaded: FakeEncoder, small_weights: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    small_weights.rename(away)

    def fetch(ws: Workspace, progress: Callable[[str, int, int], object]) -> WeightsFolder:
        progress("vocab.txt", 1, 2)
        away.rename(small_weights)
        return WeightsFolder(small_weights, "hub cache")

    monkeypatch.setattr(model, "fetch", fetch)
    assert run("model", "fetch", "--json").data["folder"] == str(small_weights)


# --- status -------------------------------------------------------------------------------------------------------


def recall(outcome: Outcome) -> str:
    (line,) = [line for line in outcome.out.splitlines() if line.startswith("recall\t")]
    return line.removeprefix("recall\t")


@pytest.mark.usefixtures("loaded")
def test_status_tells_how_memories_are_found(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    none_yet = f"0 of 2 passages encoded with {weights.MODEL} (`memem index encode`)"
    assert recall(run("status")) == f"meaning and keywords; {none_yet}"
    monkeypatch.setattr(meaning, "MAX_INLINE_PASSAGES", 1)
    assert recall(run("status")) == f"keywords; {none_yet}"
    run("encode")
    described = f"{weights.MODEL}, 2048 dimensions, also reads non-Latin scripts"
    assert recall(run("status")) == f"meaning and keywords (minilm: {described}; 2 passages)"
    data = run("status", "--json").data
    assert data["recall"] == "meaning and keywords"
    assert (data["model"]["encoder"], data["model"]["encoded"]) == ("minilm", 2)


@pytest.mark.usefixtures("unloaded")
def test_status_tells_why_memories_are_found_by_keywords(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("status")
    assert done.code == 0
    assert recall(done).startswith("keywords only: ")
    assert "memem index model fetch" in recall(done)
    monkeypatch.setenv("MEMEM_ENCODER", "none")
    assert recall(run("status")) == "keywords only (MEMEM_ENCODER is none)"


@pytest.mark.usefixtures("loaded")
def test_a_deleted_cache_costs_time_and_nothing_else(run: Run, home: Home) -> None:
    before = run("search", PARAPHRASE).out
    shutil.rmtree(home.cache)
    assert run("search", PARAPHRASE).out == before


def migrate(monkeypatch: pytest.MonkeyPatch, name: str) -> FakeEncoder:
    """Name another model, as the library would load it."""
    monkeypatch.delenv("MEMEM_ENCODER")
    monkeypatch.setenv("MEMEM_EMBED_MODEL", name)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    other = FakeEncoder(f"{name} 1", means={"automobile": "coffee"})
    monkeypatch.setattr(Workspace, "_load_encoder", lambda _: other)
    return other


def test_reindex_computes_the_vectors_of_another_model_and_search_uses_them(
    run: Run, loaded: FakeEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("encode")
    migrate(monkeypatch, "intfloat/multilingual-e5-small")
    monkeypatch.setattr(meaning, "MAX_INLINE_PASSAGES", 0)
    assert run("search", PARAPHRASE).err.startswith("(keywords only: 0 of 2 passages have a vector so far")
    done = run("reindex")
    described = "intfloat/multilingual-e5-small, 2048 dimensions, also reads non-Latin scripts"
    assert done.out.splitlines()[-1] == f"Encoded 2 of 2 passages with {described}."
    assert recall(run("status")) == f"meaning and keywords (sentence-transformers: {described}; 2 passages)"
    assert "Coffee" in run("search", "automobile").out
    assert (run("search", PARAPHRASE).err, len(loaded.encoded)) == ("", 2)


def test_an_interrupted_rebuild_keeps_finished_vectors(
    run: Run, loaded: FakeEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "STEP", 1)
    loaded.trouble, loaded.fails_at_batch = KeyboardInterrupt(), 2
    done = run("reindex")
    assert (done.code, done.err) == (130, f"{INTERRUPTED}\n")
    loaded.trouble = None
    assert run("encode", "--json").data["encoded"] == 1


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize(("key", "value", "hinted"), [("embed_model", "a/b", True), ("encoder", "none", False)])
def test_a_change_of_the_model_says_how_its_vectors_are_computed(run: Run, key: str, value: str, hinted: bool) -> None:
    assert ("`memem index rebuild`" in run("config", key, value).err) is hinted


def test_model_counts_unreadable_scripts(run: Run, loaded: FakeEncoder) -> None:
    loaded.multilingual = False
    run("save", "连接池的大小是二十。", "-p", "general")
    shown = dict(line.split("\t") for line in run("model").out.splitlines())
    assert shown["model"] == f"{weights.MODEL}, 2048 dimensions, reads only Latin script"
    assert shown["keywords only"] == "1 memory in scripts the model cannot read"


@pytest.mark.usefixtures("loaded")
def test_reindex_is_done_though_another_is_encoding(run: Run, home: Home) -> None:
    home.encode_lock.parent.mkdir(exist_ok=True)
    with locks.holding(home.encode_lock, 0):
        done = run("reindex")
    assert done.code == 0
    assert "Read 2 of 2 files" in done.out
    assert "is encoding" in done.err


@pytest.mark.usefixtures("small_weights")
def test_model_path_makes_no_index(run: Run, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMEM_ENCODER", "minilm")
    assert run("model", "path").code == 0
    assert not home.cache.exists()
