"""A search by meaning: what it finds beside the words, what it encodes for that, and what it says when it cannot."""

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.core import sqlite
from memem.core.errors import InputError
from memem.core.memory import Hits
from memem.inject import slice
from memem.notes import forget, save, write
from memem.search import find, meaning, rebuild, refresh
from memem.workspace import Workspace, open_workspace
from tests.fakes import FakeEncoder, FaultyOs, SteppingClock

MENDED = "The vehicle was mended by Anna."
PARAPHRASE = "repaired automobile"
OTHERS = ("Coffee is served at seven.", "Tokens are signed with RS256.", "The walrus sleeps on the beach.")


@pytest.fixture
def garage(meant: Workspace) -> Workspace:
    """One memory about a vehicle among others."""
    for text in (*OTHERS, MENDED):
        save.save(meant, text)
    return meant


def bodies(hits: Hits) -> list[str]:
    return [hit.body for hit in hits]


def search_titles(ws: Workspace, query: str = PARAPHRASE) -> list[str]:
    return bodies(find.search(ws, query))


def by_hand(ws: Workspace, identity: str, old: str, new: str) -> None:
    """Change a note as a person does."""
    path = ws.store.absolute(find.get(ws, identity).path)
    path.write_text(path.read_text().replace(old, new))


def long_note(about: str) -> str:
    """A statement of several passages; its short words have no meaning of their own."""
    return "\n\n".join(f"{about} paragraph{number}: " + "so it is and was so " * 22 for number in range(4))


# --- what is found ------------------------------------------------------------------------------------------------


def test_a_paraphrase_without_a_word_in_common_is_found(garage: Workspace) -> None:
    (hit,) = find.search(garage, PARAPHRASE)
    assert (hit.body, hit.source, hit.terms) == (MENDED, "cosine", ())
    assert hit.cosine is not None
    assert 0.5 < hit.cosine < 1


def test_a_match_by_words_and_meaning_has_both_as_source(garage: Workspace) -> None:
    hits = find.search(garage, "Which automobile has Anna repaired?")
    assert (hits[0].body, hits[0].source, hits[0].terms) == (MENDED, "both", ("anna",))
    assert hits.degraded == hits[0].degraded == ""


def test_a_long_note_is_found_by_its_end(meant: Workspace) -> None:
    text = f"{long_note('nothing')}\n\n{MENDED}"
    save.save(meant, text, title="Long")
    save.save(meant, OTHERS[0])
    assert bodies(find.search(meant, PARAPHRASE)) == [text]


def test_two_close_notes_are_both_found(meant: Workspace) -> None:
    """However small the vault, and however much nearer one of them is."""
    save.save(meant, "A lorry, mended.")
    save.save(meant, "A lorry, mended in the garage behind the station.")
    assert len(search_titles(meant)) == 2


def test_a_chance_cosine_is_not_a_match(garage: Workspace) -> None:
    assert find.search(garage, "quantum entanglement") == []


def test_without_an_encoder_keywords_answer_and_nothing_is_amiss(ws: Workspace) -> None:
    save.save(ws, MENDED)
    hits = find.search(ws, "vehicle")
    assert [(hit.source, hit.cosine, hit.degraded) for hit in hits] == [("keyword", None, "")]
    assert hits.degraded == ""
    assert find.search(ws, PARAPHRASE) == []
    assert not ws.home.vectors.exists()


def test_an_empty_query_is_refused_before_anything_is_encoded(garage: Workspace, encoder: FakeEncoder) -> None:
    with pytest.raises(InputError):
        find.search(garage, " ")
    assert encoder.queries == []


def test_a_query_foreseen_is_computed_once(garage: Workspace, encoder: FakeEncoder) -> None:
    garage.encode_query(find.truncate_query(PARAPHRASE))
    assert search_titles(garage) == [MENDED]
    assert encoder.queries == [PARAPHRASE]


def test_the_start_of_a_very_long_prompt_is_searched(garage: Workspace, encoder: FakeEncoder) -> None:
    find.search(garage, "automobile " * 10_000)
    assert encoder.queries == [("automobile " * (find.MAX_QUERY_CHARS // 11)).rstrip()]


# --- what may be seen ---------------------------------------------------------------------------------------------


def test_a_named_project_filters_what_is_near_too(meant: Workspace) -> None:
    for project in ("shop", "zoo"):
        save.save(meant, f"The vehicle of {project} was mended.", project=project)
        save.save(meant, OTHERS[0], project=project)
    assert {hit.project for hit in find.search(meant, PARAPHRASE)} == {"shop", "zoo"}
    assert {hit.project for hit in find.search(meant, PARAPHRASE, project="zoo")} == {"zoo"}


@pytest.mark.parametrize(
    ("changes", "searched", "unasked"),
    [
        ({}, True, True),
        ({"layer": 3}, True, False),
        ({"status": "deprecated"}, True, False),
        ({"status": "stale"}, True, False),
        ({"status": "quarantined"}, False, False),
        ({"project": "zoo"}, True, False),
    ],
)
def test_meaning_sees_what_words_may_see(
    garage: Workspace, changes: dict[str, Any], searched: bool, unasked: bool
) -> None:
    (hit,) = find.search(garage, PARAPHRASE)
    if changes:
        write.edit(garage, hit.id, **changes)
    assert search_titles(garage) == [MENDED] * searched
    assert [each.body for each in find.rank_candidates(garage, PARAPHRASE, "shop")] == [MENDED] * unasked


@pytest.mark.parametrize("change", [{"status": "deprecated"}, {"status": "stale"}])
def test_an_outdated_memory_ranks_behind_an_equally_close_one(garage: Workspace, change: dict[str, str]) -> None:
    (old,) = find.search(garage, PARAPHRASE)
    new = save.save(garage, "The vehicle was mended by Berta.")
    write.edit(garage, old.id, **change)
    assert [hit.id for hit in find.search(garage, PARAPHRASE)] == [new.memory.id, old.id]


def test_a_forgotten_memory_is_not_near_anything(garage: Workspace) -> None:
    (hit,) = find.search(garage, PARAPHRASE)
    forget.forget(garage, hit.id)
    assert search_titles(garage) == []


def test_a_note_deleted_by_hand_is_not_found_by_its_meaning(garage: Workspace) -> None:
    (hit,) = find.search(garage, PARAPHRASE)
    garage.store.absolute(hit.path).unlink()
    assert search_titles(garage) == []


# --- what is new is known -----------------------------------------------------------------------------------------


def test_a_memory_saved_a_moment_ago_is_found_by_its_meaning(garage: Workspace) -> None:
    assert search_titles(garage) == [MENDED]
    save.save(garage, "A lorry, mended at last.")
    assert set(search_titles(garage)) == {MENDED, "A lorry, mended at last."}


def test_a_note_edited_by_hand_is_found_by_its_new_meaning(garage: Workspace) -> None:
    walrus = find.search(garage, "walrus")[0].id
    by_hand(garage, walrus, OTHERS[2], "A lorry, mended at last.")
    refresh.refresh(garage)
    assert set(search_titles(garage)) == {MENDED, "A lorry, mended at last."}


def test_every_long_note_edited_by_hand_is_found_by_its_new_meaning(meant: Workspace) -> None:
    """Only one passage of each note is new, and the old ones do not count."""
    saved = [save.save(meant, long_note(about), title=about) for about in ("first", "second", "third")]
    assert search_titles(meant) == []
    for each in saved:
        by_hand(meant, each.memory.id, f"{each.memory.title} paragraph2", MENDED)
    refresh.refresh(meant)
    assert {hit.title for hit in find.search(meant, PARAPHRASE)} == {"first", "second", "third"}


def _tag(ws: Workspace, identity: str) -> None:
    write.edit(ws, identity, tags=("garage",), importance=5)


def _move(ws: Workspace, identity: str) -> None:
    path = ws.store.absolute(find.get(ws, identity).path)
    target = path.parent / "folder" / "renamed.md"
    target.parent.mkdir()
    path.rename(target)
    refresh.refresh(ws)


def _change_and_revert(ws: Workspace, identity: str) -> None:
    write.edit(ws, identity, body="Something else entirely.")
    assert search_titles(ws, "entirely") == ["Something else entirely."]
    write.edit(ws, identity, body=MENDED)


def _forget_and_save(ws: Workspace, identity: str) -> None:
    title = find.get(ws, identity).title
    forget.forget(ws, identity)
    assert search_titles(ws) == []
    save.save(ws, MENDED, title=title, anyway=True)


def _quarantine_and_release(ws: Workspace, identity: str) -> None:
    write.edit(ws, identity, status="quarantined")
    assert search_titles(ws) == []
    write.edit(ws, identity, status="active")


@pytest.mark.parametrize(
    "change",
    [
        _tag,
        _move,
        _change_and_revert,
        _forget_and_save,
        _quarantine_and_release,
        lambda ws, _: rebuild.rebuild(ws),
        lambda ws, _: ws.close(),
        lambda ws, _: shutil.rmtree(ws.home.indexes),
    ],
    ids=["tagged", "moved", "reverted", "forgotten and saved", "quarantined", "rebuilt", "reopened", "index deleted"],
)
def test_unchanged_text_is_never_encoded_twice(
    garage: Workspace, encoder: FakeEncoder, change: Callable[[Workspace, str], object]
) -> None:
    (hit,) = find.search(garage, PARAPHRASE)
    change(garage, hit.id)
    refresh.refresh(garage)
    assert search_titles(garage) == [MENDED]
    assert len(encoder.encoded) == len(set(encoder.encoded))


def test_one_text_in_two_notes_is_encoded_once(meant: Workspace, encoder: FakeEncoder) -> None:
    save.save(meant, MENDED, title="Same")
    path = meant.store.absolute(find.search(meant, "vehicle")[0].path)
    path.with_name("copy.md").write_text(f"---\ntitle: Same\n---\n{MENDED}\n")
    refresh.refresh(meant)
    assert search_titles(meant) == [MENDED, MENDED]
    assert len(encoder.encoded) == 1


def test_a_changed_paragraph_is_all_that_is_encoded_of_a_long_note(meant: Workspace, encoder: FakeEncoder) -> None:
    saved = save.save(meant, long_note("a"), title="Long")
    find.search(meant, "anything")
    before = len(encoder.encoded)
    by_hand(meant, saved.memory.id, "a paragraph3", MENDED)
    refresh.refresh(meant)
    assert len(search_titles(meant)) == 1
    assert before > 2
    assert len(encoder.encoded) == before + 1


# --- much to do ---------------------------------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, meant: Workspace, clock: SteppingClock) -> list[tuple[str, ...]]:
    """Collect what is started in the background, where that is allowed."""
    meant.settings = replace(meant.settings, background=True)
    commands: list[tuple[str, ...]] = []

    def start(arguments: tuple[str, ...], environ: dict[str, str], log: Path) -> None:
        assert environ["MEMEM_DIR"] == str(meant.home.root)
        assert environ["MEMEM_OBSIDIAN_VAULT"] == str(meant.settings.vault)
        log.parent.mkdir(exist_ok=True)
        log.touch()
        os.utime(log, (clock.ticks(), clock.ticks()))
        commands.append(arguments)

    monkeypatch.setattr("memem.core.background.start_memem", start)
    return commands


@pytest.fixture
def _much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three passages are too many to be encoded on the spot."""
    monkeypatch.setattr(meaning, "MAX_INLINE_PASSAGES", 2)


@pytest.mark.parametrize(
    ("new", "encoded"), [(meaning.MAX_PROMPT_PASSAGES, True), (meaning.MAX_PROMPT_PASSAGES + 1, False)]
)
def test_a_prompt_that_will_not_wait_for_long_leaves_all_but_a_few_passages_to_others(
    meant: Workspace, encoder: FakeEncoder, new: int, encoded: bool
) -> None:
    for number in range(new):
        save.save(meant, f"Lorry {number} was repaired in the year {1950 + number}.", project="general")
    before = len(encoder.encoded)
    meant.wanted_until = meant.ticks() + 3
    hits = find.search(meant, "an automobile that was mended")
    assert (len(encoder.encoded) > before) is encoded
    assert not hits.degraded
    meant.wanted_until = float("inf")
    find.search(meant, "an automobile that was mended")
    assert meaning.update_pending(meant) == 0, "the background run encodes the rest"


@pytest.mark.usefixtures("_much", "started")
def test_many_passages_are_not_encoded_by_a_search(garage: Workspace, encoder: FakeEncoder) -> None:
    hits = find.search(garage, "the vehicle that Anna mended")
    assert [(hit.body, hit.source) for hit in hits] == [(MENDED, "keyword")]
    assert hits.degraded == hits[0].degraded == "0 of 4 passages have a vector so far; the rest are being computed"
    assert encoder.encoded == []


@pytest.mark.usefixtures("_much")
def test_a_background_encode_starts_once_a_minute(
    garage: Workspace, started: list[tuple[str, ...]], clock: SteppingClock
) -> None:
    for seconds, expected in ((0, 1), (30, 1), (29, 1), (1, 2), (59, 2), (1, 3)):
        clock.forward(seconds=seconds)
        search_titles(garage)
        assert started == [("index", "encode", "--background")] * expected


@pytest.mark.usefixtures("_much")
def test_no_background_encode_starts_when_disabled(garage: Workspace, started: list[tuple[str, ...]]) -> None:
    garage.settings = replace(garage.settings, background=False)
    degraded = find.search(garage, PARAPHRASE).degraded
    assert degraded == "0 of 4 passages have a vector so far; `memem index encode` computes the rest"
    assert started == []


def test_a_few_passages_begin_nothing_in_the_background(garage: Workspace, started: list[tuple[str, ...]]) -> None:
    assert search_titles(garage) == [MENDED]
    assert started == []


@pytest.mark.usefixtures("_much", "started")
def test_a_failing_background_start_does_not_fail_the_search(
    garage: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr("memem.core.background.start_memem", refuse)
    assert search_titles(garage, "Anna") == [MENDED]


def test_with_a_few_missing_among_many_meaning_keeps_its_part(
    garage: Workspace, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert search_titles(garage) == [MENDED]
    monkeypatch.setattr(meaning, "MAX_INLINE_PASSAGES", 2)
    monkeypatch.setattr(meaning, "MAX_MISSING_SHARE", 0.5)
    for number in range(3):
        save.save(garage, f"Beach number {number} is sandy.")
    hits = find.search(garage, "walrus beach")
    assert hits.degraded == ""
    assert {hit.source for hit in hits if "sandy" in hit.body} == {"keyword"}
    assert {hit.source for hit in hits if "walrus" in hit.body} == {"both"}
    assert started == [("index", "encode", "--background")]


@pytest.mark.parametrize(
    ("missing", "total", "enough"),
    [(0, 0, True), (32, 32, True), (33, 600, False), (33, 660, True), (500, 10_000, True), (501, 10_000, False)],
)
def test_meaning_has_its_part_while_few_or_a_twentieth_are_missing(missing: int, total: int, enough: bool) -> None:
    assert meaning.has_enough_vectors(missing, total) == enough


# --- what goes wrong ----------------------------------------------------------------------------------------------


def without_meaning(ws: Workspace, saying: str, query: str = "the vehicle that Anna mended") -> None:
    """Keywords answer alone, and search and slice say why, in one line."""
    hits = find.search(ws, query)
    assert [(hit.body, hit.source, hit.cosine) for hit in hits] == [(MENDED, "keyword", None)]
    sliced = slice.build_slice(ws, query, cwd=ws.settings.vault, project="general")
    assert [hit.body for hit in sliced.hits] == [MENDED]
    for reason in (hits.degraded, hits[0].degraded, sliced.degraded, sliced.hits[0].degraded):
        assert saying in reason
        assert "\n" not in reason


def test_without_weights_keywords_answer_and_say_how_to_get_them(garage: Workspace) -> None:
    garage._encoder = None
    without_meaning(garage, "were not found. Run `memem index model fetch`.")
    assert "memem index model fetch" in find.search(garage, "zebra").degraded, "known too when nothing is found"


def test_weights_that_have_come_meanwhile_are_used_for_the_same_question(
    garage: Workspace, encoder: FakeEncoder
) -> None:
    garage._encoder = None
    assert find.search(garage, PARAPHRASE).degraded
    garage._encoder = encoder
    assert search_titles(garage) == [MENDED]


def test_a_late_vector_is_used_by_the_next_search(garage: Workspace, encoder: FakeEncoder) -> None:
    garage.settings = replace(garage.settings, query_seconds=0)
    encoder.gate.clear()
    without_meaning(garage, "the query's vector was not ready within 0 s")
    assert "not ready" in find.search(garage, PARAPHRASE).degraded
    garage.settings = replace(garage.settings, query_seconds=60)
    encoder.gate.set()
    assert search_titles(garage) == [MENDED]
    assert encoder.queries.count(PARAPHRASE) == 1


def test_a_full_disk_leaves_keywords_and_the_next_search_continues(
    garage: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("memem.core.files.os", FaultyOs(1))
        hits = find.search(garage, "the vehicle that Anna mended")
    assert [(hit.body, hit.source) for hit in hits] == [(MENDED, "keyword")]
    assert "the disk is full" in hits.degraded
    assert search_titles(garage) == [MENDED]


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Another process is writing this database."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


def test_locked_vectors_leave_keywords(garage: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    path = garage.vectors().path
    garage.close()
    monkeypatch.setattr(sqlite, "BUSY_MILLISECONDS", 0)
    with held(path):
        without_meaning(garage, "Try again")
    assert search_titles(garage) == [MENDED]


def test_a_search_with_nothing_to_encode_waits_for_no_writer(
    garage: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert search_titles(garage) == [MENDED]
    path = garage.vectors().path
    garage.close()
    monkeypatch.setattr(sqlite, "BUSY_MILLISECONDS", 0)
    with held(path), held(garage.index_file):
        assert search_titles(garage) == [MENDED]


def test_vectors_deleted_while_they_are_open_are_computed_again(garage: Workspace, encoder: FakeEncoder) -> None:
    assert search_titles(garage) == [MENDED]
    shutil.rmtree(garage.home.vectors)
    assert search_titles(garage) == [MENDED], "they are still in memory"
    refresh.refresh(garage)
    assert search_titles(garage) == [MENDED]
    assert len(encoder.encoded) == 8
    assert garage.home.vectors.is_dir()


def test_vectors_deleted_between_two_searches_do_not_fail_the_one_that_needs_to_add(garage: Workspace) -> None:
    assert search_titles(garage) == [MENDED]
    note = garage.store.paths.memories / "own.md"
    note.write_text("---\nid: my-own-id-0001\n---\nA lorry, mended at last.")
    refresh.refresh(garage)
    shutil.rmtree(garage.home.vectors)
    assert "Cannot write" in find.search(garage, PARAPHRASE).degraded
    refresh.refresh(garage)
    assert set(search_titles(garage)) == {MENDED, "A lorry, mended at last."}


def rows_file(ws: Workspace) -> Path:
    (path,) = ws.home.vectors.glob("*/rows-*.f32")
    return path


def _shorten(ws: Workspace) -> None:
    os.truncate(rows_file(ws), 100)


def _remove(ws: Workspace) -> None:
    rows_file(ws).unlink()


def _spoil(ws: Workspace) -> None:
    (path,) = ws.home.vectors.glob("*/vectors.db")
    path.write_bytes(b"this is not a database " * 100)


@pytest.mark.parametrize("damage", [_shorten, _remove, _spoil])
def test_damaged_vectors_are_set_aside_and_recomputed_by_the_next_search(
    garage: Workspace, encoder: FakeEncoder, damage: Callable[[Workspace], None]
) -> None:
    assert search_titles(garage) == [MENDED]
    garage.close()
    damage(garage)
    if damage is not _spoil:  # that is seen when it is opened
        without_meaning(garage, "memem index rebuild")
    garage.follow_index()
    assert search_titles(garage) == [MENDED]
    assert len(encoder.encoded) == 8
    assert len(list(garage.home.vectors.glob("*/rows-*"))) == 1


def test_a_rebuild_repairs_a_silently_damaged_row(garage: Workspace) -> None:
    assert search_titles(garage) == [MENDED]
    garage.close()
    rows_file(garage).write_bytes(b"\0" * rows_file(garage).stat().st_size)
    assert search_titles(garage) == []
    rebuild.rebuild(garage)
    assert search_titles(garage) == [MENDED]


def test_a_rebuild_without_a_model_keeps_the_vectors(garage: Workspace, encoder: FakeEncoder) -> None:
    assert search_titles(garage) == [MENDED]
    garage._encoder = None
    rebuild.rebuild(garage)
    garage._encoder = encoder
    assert search_titles(garage, "automobile") == [MENDED]
    assert len(encoder.encoded) == 4


def test_an_encoder_that_fails_in_its_own_way_leaves_keywords(garage: Workspace, encoder: FakeEncoder) -> None:
    encoder.trouble = RuntimeError("out of memory")
    hits = find.search(garage, "Anna")
    assert [hit.source for hit in hits] == ["keyword"]
    assert "RuntimeError: out of memory" in hits.degraded


# --- what happens between finding and reading ---------------------------------------------------------------------


@pytest.fixture
def meanwhile(garage: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Callable[[Workspace], object]]]:
    """Let another process act, once, after a search knows which rows it wants and before it reads them."""
    search_titles(garage)
    doing: list[Callable[[Workspace], object]] = []
    other = open_workspace(actor="other", home=garage.settings.home, vault=garage.settings.vault, clock=garage.clock)
    real = meaning.find_by_meaning

    def find_by_meaning(*arguments: Any) -> meaning.MeaningMatches:
        result = real(*arguments)
        while doing:
            doing.pop()(other)
        return result

    monkeypatch.setattr(meaning, "find_by_meaning", find_by_meaning)
    yield doing
    other.close()


def test_a_note_of_another_project_never_replaces_one_forgotten_meanwhile(
    garage: Workspace, meanwhile: list[Callable[[Workspace], object]]
) -> None:
    (last,) = find.search(garage, PARAPHRASE)

    def replace_it(other: Workspace) -> None:
        forget.forget(other, last.id)
        save.save(other, "The vehicle of the client was mended.", project="client-private")

    meanwhile.append(replace_it)
    built = slice.build_slice(garage, PARAPHRASE, cwd=garage.user_home, project="general")
    assert "client" not in built.text
    assert built.hits == ()


def test_a_note_edited_during_a_search_is_returned_as_edited(
    garage: Workspace, meanwhile: list[Callable[[Workspace], object]]
) -> None:
    (last,) = find.search(garage, PARAPHRASE)
    meanwhile.append(lambda other: write.edit(other, last.id, importance=5))
    (hit,) = find.search(garage, PARAPHRASE)
    assert (hit.id, hit.memory.importance) == (last.id, 5)


def test_order_and_scores_are_the_same_after_deleting_the_cache(garage: Workspace) -> None:
    for number in range(8):
        gone = save.save(garage, f"Nobody asks about subject number {number}.")
        search_titles(garage)
        forget.forget(garage, gone.memory.id)
    queries = (PARAPHRASE, "coffee for Anna", "mended")
    before = [[(hit.id, hit.score) for hit in find.search(garage, query)] for query in queries]
    garage.close()
    shutil.rmtree(garage.home.cache)
    refresh.refresh(garage)
    assert [[(hit.id, hit.score) for hit in find.search(garage, query)] for query in queries] == before


def test_passages_encoded_by_one_model_are_pending_for_another(
    garage: Workspace, encoder: FakeEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_workspace(actor="other", home=garage.settings.home, vault=garage.settings.vault, clock=garage.clock)
    other.settings = garage.settings
    other._encoder = FakeEncoder("another/model 2")
    real = encoder.passages

    def passages(texts: Sequence[str]) -> Any:
        meaning.update_pending(other)  # now everything is about the other model
        return real(texts)

    monkeypatch.setattr(encoder, "passages", passages)
    meaning.update_pending(garage)
    meaning.encode_some(garage, 10)
    assert meaning.update_pending(other) == len(OTHERS) + 1
    other.close()
    assert meaning.update_pending(garage) == 0


def test_an_encoder_that_fails_on_notes_leaves_keywords(
    garage: Workspace, encoder: FakeEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def passages(_: Sequence[str]) -> Any:
        raise MemoryError("out of memory")

    monkeypatch.setattr(encoder, "passages", passages)
    hits = find.search(garage, "Anna")
    assert [hit.source for hit in hits] == ["keyword"]
    assert "MemoryError: out of memory" in hits.degraded
