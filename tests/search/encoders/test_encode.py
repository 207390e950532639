"""Every vector that is missing is computed, once, by one process at a time, and what is done is kept."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from memem.core import files, locks
from memem.core.errors import Busy, HomeError, ModelError, VaultMissing
from memem.notes import forget, save, write
from memem.search import find, vectors
from memem.search.encoders import model
from memem.search.encoders.model import EncodeReport, encode_all, encode_pending
from memem.workspace import Workspace, open_workspace
from tests.fakes import FakeEncoder, FaultyOs, SteppingClock

WORDS = ("walrus", "coffee", "vehicle", "ticket", "ledger", "garden", "window")


@pytest.fixture
def filled(meant: Workspace) -> Workspace:
    """As many memories as there are words, none of them encoded."""
    for word in WORDS:
        save.save(meant, f"It is about a {word}.", title=word)
    return meant


@pytest.fixture
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "STEP", 2)


def find_by_meaning(ws: Workspace, word: str) -> list[str]:
    """The titles of what is found, checked to be found by meaning."""
    hits = find.search(ws, word)
    assert hits.degraded == ""
    assert all(hit.cosine is not None for hit in hits)
    return [hit.title for hit in hits]


def use(ws: Workspace, other: FakeEncoder) -> None:
    """Start over with another model, as the next process does."""
    ws.close()
    ws._encoder, ws._query = other, None


def test_everything_is_encoded_and_then_nothing_is_left_to_do(filled: Workspace, encoder: FakeEncoder) -> None:
    assert encode_all(filled) == EncodeReport(7, 7, compacted=False)
    assert sorted(text.split("\n")[0] for text in encoder.encoded) == sorted(WORDS)
    assert encode_all(filled) == EncodeReport(0, 7, compacted=False)
    assert len(encoder.encoded) == 7
    assert find_by_meaning(filled, "vehicle") == ["vehicle"]


def test_an_empty_vault_is_encoded(meant: Workspace) -> None:
    saved = save.save(meant, "Gone in a moment.")
    forget.forget(meant, saved.memory.id)
    steps: list[tuple[int, int]] = []
    assert encode_all(meant, lambda *step: steps.append(step)) == EncodeReport(0, 0, compacted=False)
    assert steps == [(0, 0)]


def test_pending_passages_are_encoded_right_after_a_save(filled: Workspace, encoder: FakeEncoder) -> None:
    assert encode_pending(filled) == len(WORDS)
    save.save(filled, "It is about a harbour.", title="harbour")
    assert encode_pending(filled) == 1
    assert len(encoder.encoded) == len(WORDS) + 1
    assert encode_pending(filled) == 0


def test_a_large_backlog_is_left_to_a_full_run(filled: Workspace, encoder: FakeEncoder) -> None:
    assert encode_pending(filled, limit=len(WORDS) - 1) == 0
    assert encoder.encoded == []


def test_pending_passages_wait_without_an_encoder(filled: Workspace) -> None:
    filled.settings = replace(filled.settings, encoder="none")
    filled._encoder = None
    assert encode_pending(filled) == 0


@pytest.mark.usefixtures("_small_steps")
def test_progress_goes_up_to_the_total(filled: Workspace) -> None:
    steps: list[tuple[int, int]] = []
    encode_all(filled, lambda *step: steps.append(step))
    assert steps == [(0, 7), (2, 7), (4, 7), (6, 7), (7, 7)]


def test_steps_grow_while_they_are_quick_and_shrink_for_a_model_that_is_slow(
    filled: Workspace, encoder: FakeEncoder, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "FIRST_STEP", 1)
    steps: list[int] = []
    encode_all(filled, lambda done, _: steps.append(done))
    assert steps == [0, 1, 3, 7]
    slow = FakeEncoder("somebody/large-model 1")
    slow.passages = lambda texts: clock.forward(seconds=len(texts)) or encoder.passages(texts)  # type: ignore[method-assign,func-returns-value]
    use(filled, slow)
    monkeypatch.setattr(model, "FIRST_STEP", 4)
    steps.clear()
    encode_all(filled, lambda done, _: steps.append(done))
    assert steps == [0, 4, 6, 7]


@pytest.mark.usefixtures("_small_steps")
@pytest.mark.parametrize("trouble", [KeyboardInterrupt(), ModelError("out of order")], ids=["ctrl-c", "failure"])
def test_an_interruption_keeps_what_was_done(filled: Workspace, encoder: FakeEncoder, trouble: BaseException) -> None:
    encoder.trouble, encoder.fails_at_batch = trouble, 3
    with pytest.raises(type(trouble)):
        encode_all(filled)
    assert len(encoder.encoded) == 4
    encoder.trouble = None
    assert encode_all(filled) == EncodeReport(3, 7, compacted=False)
    assert len(encoder.encoded) == len(set(encoder.encoded)) == 7
    assert find_by_meaning(filled, "window") == ["window"]


@pytest.mark.usefixtures("_small_steps")
def test_a_disk_that_fails_at_any_write_keeps_what_was_done_and_the_rest_is_done_later(
    filled: Workspace, encoder: FakeEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = 0
    for step in range(40):
        faulty = FaultyOs(step)
        with monkeypatch.context() as patched:
            patched.setattr("memem.core.files.os", faulty)
            try:
                encode_all(filled)
            except HomeError as problem:
                assert "the disk is full" in str(problem)
                failures += 1
            else:
                break
    assert failures >= 2
    assert find_by_meaning(filled, "window") == ["window"]
    filled.vectors().check()


def test_only_one_encodes_at_a_time(filled: Workspace, encoder: FakeEncoder) -> None:
    files.make_private_folder(filled.home.encode_lock.parent)
    with locks.holding(filled.home.encode_lock, 0), pytest.raises(Busy, match="is encoding"):
        encode_all(filled, wait=0)
    assert encoder.encoded == []
    assert encode_all(filled, wait=0).encoded == 7


def test_another_that_encodes_is_waited_for_as_long_as_for_any_lock(filled: Workspace) -> None:
    filled.settings = replace(filled.settings, lock_seconds=0)
    files.make_private_folder(filled.home.encode_lock.parent)
    with locks.holding(filled.home.encode_lock, 0), pytest.raises(Busy):
        encode_all(filled)


def test_encoding_does_not_keep_anybody_from_saving(filled: Workspace, encoder: FakeEncoder) -> None:
    saved: list[write.Written] = []

    def meanwhile(*_: int) -> None:
        if not saved:
            saved.append(save.save(filled, "It is about a lantern.", title="lantern"))

    encode_all(filled, meanwhile)
    assert find_by_meaning(filled, "lantern") == ["lantern"]
    assert len(encoder.encoded) == 8


@pytest.mark.usefixtures("_small_steps")
def test_passages_encoded_by_another_process_are_skipped(filled: Workspace, encoder: FakeEncoder) -> None:
    def meanwhile(*_: int) -> None:
        other = open_workspace(actor="other", home=filled.home.root, vault=filled.settings.vault, clock=filled.clock)
        other.settings, other._encoder = filled.settings, encoder
        find.search(other, "anything")
        other.close()

    encode_all(filled, meanwhile)
    assert len(encoder.encoded) == len(set(encoder.encoded)) == 7


def test_work_that_belongs_to_no_note_does_not_go_on_forever(filled: Workspace) -> None:
    filled.index._connection.execute("INSERT INTO pending (key) VALUES (x'00')")
    assert encode_all(filled).encoded == 7


def test_encoding_without_a_model_gives_advice(filled: Workspace) -> None:
    filled._encoder = None
    with pytest.raises(ModelError, match="memem index model fetch"):
        encode_all(filled)


def test_encoding_without_a_vault_gives_advice(meant: Workspace) -> None:
    with pytest.raises(VaultMissing, match="Save a memory"):
        encode_all(meant)


def test_an_unusable_home_is_reported_in_one_line(filled: Workspace) -> None:
    filled.home.encode_lock.parent.mkdir(exist_ok=True)
    filled.home.encode_lock.mkdir()
    with pytest.raises(HomeError) as raised:
        encode_all(filled)
    assert "\n" not in str(raised.value)


# --- unused vectors -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_eager")
def test_only_vectors_of_forgotten_memories_are_dropped(filled: Workspace, encoder: FakeEncoder) -> None:
    encode_all(filled)
    for word in WORDS[:4]:
        forget.forget(filled, find.search(filled, word)[0].id)
    assert encode_all(filled) == EncodeReport(0, 3, compacted=True)
    assert filled.vectors().count() == 3
    assert [find_by_meaning(filled, word) for word in WORDS[4:]] == [[word] for word in WORDS[4:]]
    assert encode_all(filled) == EncodeReport(0, 3, compacted=False)
    assert len(encoder.encoded) == 7


@pytest.mark.usefixtures("_eager")
def test_a_dropped_vector_is_computed_again_when_its_text_returns(filled: Workspace, encoder: FakeEncoder) -> None:
    encode_all(filled)
    for word in WORDS[:4]:
        forget.forget(filled, find.search(filled, word)[0].id)
    encode_all(filled)
    save.save(filled, f"It is about a {WORDS[0]}.", title=WORDS[0], anyway=True)
    assert find_by_meaning(filled, WORDS[0]) == [WORDS[0]]
    assert len(encoder.encoded) == 8


@pytest.mark.usefixtures("_eager")
@pytest.mark.parametrize("text", ["It is about a lantern.", "It is about a walrus."], ids=["new", "returned"])
def test_a_memory_saved_while_others_are_dropped_keeps_its_vector(
    filled: Workspace, encoder: FakeEncoder, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    encode_all(filled)
    for word in WORDS[:4]:
        forget.forget(filled, find.search(filled, word)[0].id)
    title = text.removeprefix("It is about a ").rstrip(".")
    compact = vectors.VectorStore.compact

    def save_meanwhile(store: vectors.VectorStore, *held: object) -> bool:
        other = open_workspace(actor="other", home=filled.home.root, vault=filled.settings.vault, clock=clock)
        other.settings, other._encoder = filled.settings, encoder
        save.save(other, text, title=title, anyway=True)
        find.search(other, "anything")
        other.close()
        return compact(store, *held)  # type: ignore[arg-type]

    monkeypatch.setattr(vectors.VectorStore, "compact", save_meanwhile)
    assert encode_all(filled).compacted
    assert find_by_meaning(filled, title) == [title]


# --- another model ------------------------------------------------------------------------------------------------


def folders(ws: Workspace) -> list[Path]:
    return sorted(ws.home.vectors.iterdir())


def test_another_model_encodes_everything_into_a_folder_of_its_own(filled: Workspace, encoder: FakeEncoder) -> None:
    encode_all(filled)
    (first,) = folders(filled)
    before = {path.name: path.read_bytes() for path in first.glob("rows-*")}
    other = FakeEncoder("somebody/other-model 2")
    use(filled, other)
    assert encode_all(filled) == EncodeReport(7, 7, compacted=False)
    assert len(other.encoded) == 7
    assert len(folders(filled)) == 2
    assert {path.name: path.read_bytes() for path in first.glob("rows-*")} == before


def test_going_back_to_a_model_needs_nothing(filled: Workspace, encoder: FakeEncoder) -> None:
    encode_all(filled)
    other = FakeEncoder("somebody/other-model 2", means={"automobile": "window"})
    use(filled, other)
    encode_all(filled)
    assert find_by_meaning(filled, "automobile") == ["window"]
    use(filled, encoder)
    assert find_by_meaning(filled, "automobile") == ["vehicle"]
    assert encode_all(filled) == EncodeReport(0, 7, compacted=False)
    assert len(encoder.encoded) == 7


def test_a_memory_that_came_meanwhile_is_encoded_on_the_way_back(filled: Workspace, encoder: FakeEncoder) -> None:
    encode_all(filled)
    use(filled, FakeEncoder("somebody/other-model 2"))
    encode_all(filled)
    save.save(filled, "It is about a lantern.", title="lantern")
    encode_all(filled)
    use(filled, encoder)
    assert find_by_meaning(filled, "lantern") == ["lantern"]
    assert len(encoder.encoded) == 8


def test_passages_that_no_note_gives_any_more_do_not_keep_it_going(
    meant: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    save.save(meant, "One two three four five. " * 60)
    monkeypatch.setattr("memem.search.passages.PASSAGE_SIZE", 60)
    assert encode_all(meant).encoded > 0


def test_a_run_gives_signs_of_life_and_ends_the_complaints_of_those_before(filled: Workspace) -> None:
    log = filled.home.encode_log
    log.parent.mkdir(exist_ok=True)
    log.write_text("memem: the disk is full\n")
    os.utime(log, (0, 0))
    ages: list[float] = []
    encode_all(filled, lambda *_: ages.append(log.stat().st_mtime))
    assert min(ages) > 0
    assert log.read_text() == ""


def test_a_child_process_gets_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    environ = {"HOME": "home", "MEMEM_MODEL_DIR": "weights", "MEMEM_EMBED_MODEL": "model", "OTHER": "kept"}
    ws = open_workspace(actor="test", home=Path("h"), vault=Path("v"), environ=environ)
    assert ws.environ_for_children() == environ | {
        "MEMEM_DIR": str(tmp_path / "h"),
        "MEMEM_OBSIDIAN_VAULT": str(tmp_path / "v"),
        "MEMEM_MODEL_DIR": str(tmp_path / "weights"),
        "MEMEM_EMBED_MODEL": str(tmp_path / "model"),
    }
