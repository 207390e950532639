"""Curation suggests how to tidy the vault, applies it on demand as one batch, and loses no statement."""

import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memem.core.dates import is_in_force
from memem.core.memory import Entry, Memory
from memem.notes import forget, history, undo, write
from memem.search import find, refresh
from memem.search.encoders import model
from memem.search.graph.read import timeline
from memem.state.receipts import PROMPT, Receipt, ReceiptItem
from memem.upkeep import curate as upkeep_curate
from memem.upkeep import curation_rules, similar_notes
from memem.upkeep.curate import Curated, Suggestion, curate
from memem.vault import note
from memem.workspace import Workspace, open_workspace
from tests.builders import examples
from tests.fakes import SteppingClock

PORT = "The search service listens on port 9200."
PORT_AND_HOST = "The search service listens on port 9200. It runs on the host atlas."
TAX = "Invoices are rounded to whole cents before tax."
MANY = f"""- {TAX}
- The staging cluster sleeps at night to save money.
- Screenshots belong into the folder docs/img of every release."""
OLD = "2025-03-01T09:00:00+01:00"


def put(ws: Workspace, body: str, **stated: Any) -> Entry:
    """A note as memem would have mined it, unless it is stated otherwise."""
    ws.store.make_vault()
    number = sum(1 for _ in ws.store.scan())
    usual: dict[str, Any] = {"project": "shop", "author": "model", "source_type": "mined", "tags": ("memem",)}
    usual |= {"created": OLD, "updated": OLD, "title": body.partition(".")[0][:60]}
    memory = Memory(str(uuid.UUID(int=number + 1)), **{"body": body, **usual, **stated})
    memory = replace(memory, id=f"{number + 1:08x}{memory.id[8:]}")
    path = f"memories/{note.file_name(memory)}"
    ws.store.absolute(path).write_bytes(note.new_text(memory).encode())
    refresh.refresh(ws)
    return Entry(memory, path)


def by_hand(ws: Workspace, entry: Entry, line: str = "\nMine.\n") -> None:
    path = ws.store.absolute(entry.path)
    path.write_bytes(path.read_bytes() + line.encode())
    refresh.refresh(ws)


def only(result: Curated) -> Suggestion:
    (suggestion,) = result.suggestions
    return suggestion


def now(ws: Workspace, entry: Entry) -> Memory:
    return find.get(ws, entry.id).memory


def in_force(ws: Workspace) -> list[Memory]:
    entries = find.list_memories(ws, limit=1_000)
    return [entry.memory for entry in entries if is_in_force(entry.memory, ws.clock())]


def vault(ws: Workspace) -> dict[str, bytes]:
    ours = ws.store.paths.ours
    return {path.relative_to(ours).as_posix(): path.read_bytes() for path in ours.rglob("*") if path.is_file()}


def prompts(ws: Workspace, count: int, project: str = "shop", *, show: Entry | None = None, used: bool = False) -> None:
    """So many prompts came, and were told of a memory or nothing."""
    for _ in range(count):
        items = (ReceiptItem(show.id),) if show else ()
        time = ws.clock().timestamp()
        number = ws.contexts.receipts.add(Receipt(time, PROMPT, session="s1", project=project, items=items))
        if show:
            ws.contexts.receipts.mark_used(number, {show.id: "named" if used else "no"}, time)


# --- a look -------------------------------------------------------------------------------------------------------


def test_suggesting_changes_nothing(ws: Workspace) -> None:
    put(ws, PORT)
    put(ws, PORT_AND_HOST)
    put(ws, TAX, importance=2)
    prompts(ws, curation_rules.MIN_PROMPTS)
    before = vault(ws)
    assert len(curate(ws).suggestions) == 2
    assert vault(ws) == before
    assert history.log(ws) == []


def test_tidy_vault_has_no_suggestions(ws: Workspace) -> None:
    put(ws, PORT)
    put(ws, "Invoices are rounded to whole cents before tax.")
    assert curate(ws) == Curated((), memories=2)
    assert curate(ws, apply=[]) == Curated((), memories=2)


def test_id_is_stable_until_a_statement_changes(ws: Workspace) -> None:
    one = put(ws, PORT)
    put(ws, PORT_AND_HOST)
    first = only(curate(ws)).id
    write.revise(ws, one.id, importance=1)
    assert only(curate(ws)).id == first
    write.revise(ws, one.id, body="The search service listens on port 9200 of atlas.")
    assert first not in [each.id for each in curate(ws).suggestions]


def test_suggestions_for_one_project(ws: Workspace) -> None:
    for project in ("shop", "garage"):
        put(ws, PORT, project=project)
        put(ws, PORT_AND_HOST, project=project)
    assert only(curate(ws, project="Garage")).project == "garage"


def test_suggestions_of_a_kind_are_limited(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep_curate, "MAX_OF_A_KIND", 2)
    for number in range(3):
        put(ws, MANY, project=f"p{number}")
        put(ws, "Tax is rounded.", importance=2, project=f"p{number}")
        put(ws, PORT, project=f"p{number}")
        put(ws, PORT_AND_HOST, project=f"p{number}")
        prompts(ws, curation_rules.MIN_PROMPTS, project=f"p{number}")
    result = curate(ws)
    assert [each.what for each in result.suggestions] == ["merge", "merge", "split", "split", "archive", "archive"]
    assert result.more
    curate(ws, apply=[])
    assert [each.what for each in curate(ws).suggestions] == ["merge", "split", "archive"]
    assert not curate(ws).more


def test_comparison_effort_is_limited(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for project in ("one", "two"):
        put(ws, PORT, project=project)
        put(ws, PORT_AND_HOST, project=project)
    monkeypatch.setattr(similar_notes, "MAX_EFFORT", len(PORT) * len(PORT_AND_HOST))
    assert (len(curate(ws).suggestions), curate(ws).more) == (1, True)
    monkeypatch.setattr(similar_notes, "MAX_PAIRS", 0)
    assert curate(ws).suggestions == ()


# --- two that can be one ------------------------------------------------------------------------------------------


def test_merge_keeps_the_complete_note_and_supersedes_the_other(ws: Workspace) -> None:
    less = put(ws, PORT, keys=("es",), paths=("infra/**",), evidence="it is on 9200", importance=4)
    more = put(ws, PORT_AND_HOST, keys=("elastic",), evidence="9200, on atlas")
    suggestion = only(curate(ws))
    assert (suggestion.what, [each.id for each in suggestion.notes]) == ("merge", [more.id, less.id])
    assert "adds nothing to" in suggestion.reason
    assert "gains evidence, keys and paths from the other" in suggestion.outcome
    assert curate(ws, apply=[]).applied == (suggestion.id,)
    kept, ended = now(ws, more), now(ws, less)
    assert (kept.body, kept.importance, kept.supersedes) == (PORT_AND_HOST, 4, less.link)
    assert (kept.keys, kept.paths) == (("elastic", "es"), ("infra/**",))
    assert kept.evidence == "9200, on atlas\nit is on 9200"
    assert (ended.status, ended.superseded_by, ended.body) == ("deprecated", more.link, PORT)
    assert ended.valid_to == ws.clock().isoformat()
    assert curate(ws).suggestions == ()


def test_more_important_of_equal_notes_stays(ws: Workspace) -> None:
    put(ws, PORT, title="Port")
    weighty = put(ws, PORT, importance=5, title="Search")
    curate(ws, apply=[])
    assert [memory.id for memory in in_force(ws)] == [weighty.id]


def test_long_exact_copies_are_merged(ws: Workspace) -> None:
    long = " ".join(f"Step {number} of the story is told here." for number in range(100))
    put(ws, long, title="One")
    put(ws, long.replace(" ", "  "), title="Two")
    put(ws, f"{long} It ends.", title="Three")
    assert only(curate(ws)).what == "merge"


def test_several_become_part_of_one(ws: Workspace) -> None:
    for title in ("One", "Two", "Three"):
        put(ws, PORT, title=title)
    assert len(curate(ws, apply=[]).applied) == 2
    assert len(in_force(ws)) == 1


def test_near_statements_are_merged_with_both_sentences(ws: Workspace) -> None:
    one = put(ws, "Log files of the search service on atlas rotate daily and stay on disk.", importance=4)
    put(ws, "The log files of the search service at atlas rotate daily, and they stay on the disk.")
    suggestion = only(curate(ws))
    assert "says almost the same thing as" in suggestion.reason
    curate(ws, apply=[suggestion.id])
    (left,) = in_force(ws)
    assert left.id == one.id
    assert "rotate daily and stay on disk." in left.body
    assert "rotate daily, and they stay on the disk." in left.body


@pytest.mark.parametrize(
    "other",
    [
        "The search service listens on port 9201.",
        "The search service does not listen on port 9200.",
        "The login service listens on port 9200.",
        "The search service of staging listens on port 9200.",
    ],
)
def test_different_number_name_or_negation_prevents_a_merge(ws: Workspace, other: str) -> None:
    put(ws, PORT, title="Port")
    put(ws, other, title="Port")
    assert curate(ws).suggestions == ()


def test_different_direction_prevents_a_merge(ws: Workspace) -> None:
    put(ws, "The nightly job copies orders from Postgres to BigQuery.", title="Job")
    put(ws, "The nightly job copies orders from BigQuery to Postgres.", title="Job")
    assert curate(ws).suggestions == ()


def test_notes_in_a_conflict_are_not_suggested(ws: Workspace) -> None:
    one = put(ws, PORT)
    put(ws, PORT_AND_HOST)
    put(ws, "The search service listens on a socket.", contradicts=(one.link,))
    assert curate(ws).suggestions == ()


def test_two_projects_are_never_mixed(ws: Workspace) -> None:
    put(ws, PORT)
    put(ws, PORT, project="garage")
    assert curate(ws).suggestions == ()


def test_different_end_dates_prevent_a_merge(ws: Workspace) -> None:
    put(ws, PORT, title="One")
    put(ws, PORT, title="Two", valid_to="2026-12-31")
    assert curate(ws).suggestions == ()


def test_pinned_note_is_not_merged_into_an_ordinary_one(ws: Workspace) -> None:
    put(ws, PORT, layer=0)
    put(ws, PORT_AND_HOST)
    assert curate(ws).suggestions == ()


def test_outdated_notes_are_ignored(ws: Workspace) -> None:
    put(ws, PORT, title="One", status="deprecated")
    put(ws, PORT, title="Two", status="stale")
    put(ws, PORT, title="Three")
    assert curate(ws).suggestions == ()


def test_pairs_close_in_meaning_are_compared(meant: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    put(meant, PORT)
    put(meant, PORT_AND_HOST)
    model.encode_all(meant)
    monkeypatch.setattr("memem.upkeep.similar_notes.pairs_by_words", lambda _: {})
    monkeypatch.setattr(similar_notes, "MIN_COSINE", 0.5)
    assert only(curate(meant)).what == "merge"


# --- splitting ----------------------------------------------------------------------------------------------------


def test_unrelated_bullets_become_separate_notes(ws: Workspace) -> None:
    old = put(
        ws,
        MANY,
        title="Notes",
        keys=("rounding", "cents"),
        paths=("docs/img",),
        evidence="we said all that",
        source_session="s7",
        source_turn="t3",
    )
    suggestion = only(curate(ws))
    assert suggestion.what == "split"
    assert list(suggestion.into) == [line.removeprefix("- ") for line in MANY.splitlines()]
    curate(ws, apply=[])
    parts = {memory.title: memory for memory in in_force(ws)}
    cents = parts["Invoices are rounded to whole cents before tax"]
    screenshots = parts["Screenshots belong into the folder docs/img of every release"]
    assert len(parts) == 3
    assert {memory.supersedes for memory in parts.values()} == {old.link}
    assert {memory.source_session for memory in parts.values()} == {"s7"}
    assert {memory.evidence for memory in parts.values()} == {"we said all that"}
    assert (cents.keys, cents.paths) == (("rounding", "cents"), ())
    assert (screenshots.keys, screenshots.paths) == (("rounding",), ("docs/img",))
    ended = now(ws, old)
    assert (ended.status, ended.superseded_by) == ("deprecated", find.get(ws, cents.id).link)
    successors = {entry.id for entry in timeline(ws, old.id).successors}
    assert successors == {memory.id for memory in parts.values()}


def test_interrupted_split_is_completed(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    put(ws, MANY)
    with monkeypatch.context() as broken:
        broken.setattr(write, "revise", lambda *_, **__: None)
        assert curate(ws, apply=[]).left[0].reason == upkeep_curate.CHANGED
    assert len(in_force(ws)) == 4
    curate(ws, apply=[])
    assert len(in_force(ws)) == 3


def test_forgotten_part_does_not_become_a_note_again(ws: Workspace) -> None:
    put(ws, MANY)
    cents = put(ws, TAX, project="garage")
    forget.forget(ws, cents.id)
    before = vault(ws)
    (left,) = curate(ws, apply=[]).left
    assert "was forgotten" in left.reason
    assert vault(ws) == before


def test_forgotten_words_do_not_return_as_evidence(ws: Workspace) -> None:
    put(ws, PORT, evidence="the search service moved to atlas, which listens on 9200 for everybody in the office")
    put(ws, PORT_AND_HOST)
    source = put(
        ws,
        "Atlas is where everybody searches.",
        evidence="the search service moved to atlas, which listens on 9200 for everybody in the office",
    )
    forget.forget(ws, source.id)
    before = vault(ws)
    done = curate(ws, apply=[])
    assert (done.applied, len(done.left)) == ((), 1)
    assert vault(ws) == before


# --- one that nobody needs ----------------------------------------------------------------------------------------


def test_unused_note_is_archived(ws: Workspace) -> None:
    entry = put(ws, PORT, importance=2)
    prompts(ws, curation_rules.MIN_PROMPTS)
    suggestion = only(curate(ws))
    assert "was never used in 50 prompts, unchanged for 365 days, importance 2" in suggestion.reason
    curate(ws, apply=[])
    assert (now(ws, entry).layer, now(ws, entry).status) == (3, "active")


def test_shown_but_unused_note_is_archived(ws: Workspace) -> None:
    entry = put(ws, PORT, importance=1)
    prompts(ws, curation_rules.MIN_PROMPTS, show=entry)
    assert "was shown 50 times and never used" in only(curate(ws)).reason


@pytest.mark.parametrize(
    "stated",
    [
        {"importance": 3},
        {"layer": 0},
        {"layer": 1},
        {"kind": "convention"},
        {"kind": "preference"},
        {"source_type": "user"},
        {"source_type": "import"},
        {"author": "human"},
        {"updated": "2025-12-01T09:00:00+01:00"},
        {"project": "garage"},
    ],
)
def test_important_new_or_own_notes_are_not_archived(ws: Workspace, stated: dict[str, Any]) -> None:
    put(ws, PORT, **{"importance": 2, **stated})
    prompts(ws, curation_rules.MIN_PROMPTS)
    assert curate(ws).suggestions == ()


def test_used_note_is_not_archived(ws: Workspace) -> None:
    entry = put(ws, PORT, importance=2)
    prompts(ws, 1, show=entry, used=True)
    prompts(ws, curation_rules.MIN_PROMPTS)
    assert curate(ws).suggestions == ()


def test_linked_note_is_not_archived(ws: Workspace) -> None:
    one, two = put(ws, PORT, importance=2), put(ws, "Tax is rounded.", importance=2)
    put(ws, f"Ports are listed in {two.link}.", related=(one.link,))
    prompts(ws, curation_rules.MIN_PROMPTS)
    assert curate(ws).suggestions == ()


def test_link_from_another_project_prevents_archiving(ws: Workspace) -> None:
    one = put(ws, PORT, importance=2)
    prompts(ws, curation_rules.MIN_PROMPTS)
    assert len(curate(ws, project="shop").suggestions) == 1
    put(ws, "Ports are listed elsewhere.", project="garage", related=(one.link,))
    assert curate(ws, project="shop").suggestions == ()


def test_nothing_is_archived_without_receipts(ws: Workspace) -> None:
    put(ws, PORT, importance=2)
    assert curate(ws).suggestions == ()


# --- what is a person's -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stated", [{"author": "human", "source_type": "user"}, {"source_type": "import"}])
def test_own_and_imported_notes_are_only_reported(ws: Workspace, stated: dict[str, str]) -> None:
    put(ws, PORT, **stated)
    put(ws, PORT_AND_HOST, **stated)
    put(ws, MANY, **stated)
    before = vault(ws)
    suggestions = curate(ws).suggestions
    assert [suggestion.what for suggestion in suggestions] == ["merge", "split"]
    assert all(suggestion.yours.endswith("is your own note") for suggestion in suggestions)
    done = curate(ws, apply=[])
    assert (done.applied, done.batch) == ((), "")
    assert vault(ws) == before


def test_hand_edited_notes_are_only_reported(ws: Workspace) -> None:
    by_hand(ws, put(ws, PORT, keys=("es",)), "")
    by_hand(ws, put(ws, PORT_AND_HOST))
    by_hand(ws, put(ws, MANY), "\n- Tulips grow behind the garden shed in April.\n")
    assert [bool(suggestion.yours) for suggestion in curate(ws).suggestions] == [True, True]


def test_persons_note_supersedes_a_machines_unchanged(ws: Workspace) -> None:
    less = put(ws, PORT, evidence="it is on 9200")
    mine = put(ws, PORT_AND_HOST, author="human", source_type="user")
    before = ws.store.absolute(mine.path).read_bytes()
    assert not only(curate(ws)).yours
    assert only(curate(ws)).outcome == f"{mine.memory.id8} stays and supersedes {less.memory.id8}"
    curate(ws, apply=[])
    assert ws.store.absolute(mine.path).read_bytes() == before
    assert now(ws, less).superseded_by == mine.link


def test_merge_that_adds_to_a_persons_note_is_only_reported(ws: Workspace) -> None:
    put(ws, PORT, keys=("es",))
    put(ws, PORT_AND_HOST, author="human", source_type="user")
    assert "which is your own note" in only(curate(ws)).yours


# --- applying -----------------------------------------------------------------------------------------------------


def test_only_chosen_suggestions_are_applied(ws: Workspace) -> None:
    put(ws, PORT)
    put(ws, PORT_AND_HOST)
    unused = put(ws, TAX, importance=2)
    prompts(ws, curation_rules.MIN_PROMPTS)
    merge, archive = curate(ws).suggestions
    done = curate(ws, apply=[merge.id])
    assert done.applied == (merge.id,)
    assert now(ws, unused).layer == 2
    assert only(curate(ws)).id == archive.id


def test_unknown_suggestion_is_reported(ws: Workspace) -> None:
    put(ws, PORT)
    done = curate(ws, apply=["00000000"])
    assert (done.applied, done.batch, done.left[0].reason) == ((), "", upkeep_curate.GONE)


def test_note_that_changed_meanwhile_is_skipped(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    put(ws, PORT)
    more = put(ws, PORT_AND_HOST)
    suggest = upkeep_curate.suggest

    def meanwhile(*args: Any, **options: Any) -> Curated:
        found = suggest(*args, **options)
        write.revise(ws, more.id, body="The search service was switched off.")
        return found

    monkeypatch.setattr(upkeep_curate, "suggest", meanwhile)
    done = curate(ws, apply=[])
    assert (done.applied, done.left[0].reason) == ((), upkeep_curate.CHANGED)
    assert len(in_force(ws)) == 2


def test_note_edited_by_hand_meanwhile_is_skipped(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    put(ws, PORT, keys=("es",))
    more = put(ws, PORT_AND_HOST)
    suggest = upkeep_curate.suggest

    def meanwhile(*args: Any, **options: Any) -> Curated:
        found = suggest(*args, **options)
        path = ws.store.absolute(more.path)
        path.write_text(path.read_text().replace("importance: 3", "importance: 5"))
        return found

    monkeypatch.setattr(upkeep_curate, "suggest", meanwhile)
    done = curate(ws, apply=[])
    assert (done.applied, done.left[0].reason) == ((), upkeep_curate.CHANGED)
    assert len(in_force(ws)) == 2


def test_note_forgotten_meanwhile_is_skipped(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    put(ws, PORT)
    more = put(ws, PORT_AND_HOST)
    suggest = upkeep_curate.suggest

    def meanwhile(*args: Any, **options: Any) -> Curated:
        found = suggest(*args, **options)
        forget.forget(ws, more.id)
        return found

    monkeypatch.setattr(upkeep_curate, "suggest", meanwhile)
    assert "No memory has the id" in curate(ws, apply=[]).left[0].reason


def test_one_undo_restores_every_byte(ws: Workspace) -> None:
    put(ws, PORT, keys=("es",), evidence="it is on 9200")
    put(ws, PORT_AND_HOST)
    put(ws, MANY)
    put(ws, "Tax is rounded.", importance=2)
    prompts(ws, curation_rules.MIN_PROMPTS)
    before = vault(ws)
    done = curate(ws, apply=[])
    assert len(done.applied) == 3
    assert vault(ws).keys() > before.keys()
    undone = undo.undo(ws, done.batch)
    assert (undone.what, undone.left) == ("curate", ())
    added = {name for name in vault(ws) if name not in before}
    assert added == {".tombstones.jsonl"}  # which says that the new notes are gone on purpose
    assert {name: vault(ws)[name] for name in before} == before
    assert len(curate(ws).suggestions) == 3


def test_curation_can_be_repeated_after_an_undo(ws: Workspace) -> None:
    put(ws, PORT)
    put(ws, PORT_AND_HOST)
    put(ws, MANY)
    before = {name: data for name, data in vault(ws).items() if name.endswith(".md")}
    for _ in range(2):
        done = curate(ws, apply=[])
        assert len(done.applied) == 2
        undo.undo(ws, done.batch)
        assert {name: data for name, data in vault(ws).items() if name.endswith(".md")} == before


# --- nothing is lost ----------------------------------------------------------------------------------------------

SENTENCES = st.sampled_from(
    [
        PORT,
        "It runs on the host atlas.",
        "The search service listens on port 9201.",
        "Invoices are rounded to whole cents before tax.",
        "Invoices are rounded to whole cents.",
        "The staging cluster sleeps at night to save money.",
        "Staging cluster sleeps at night, to save money.",
        "Screenshots belong into the folder docs/img of every release.",
        "We do not deploy on Fridays.",
        "We deploy on Fridays.",
        "Redis caches sessions for 30 minutes.",
        "会话缓存三十分钟。",
    ]
)
BODIES = st.tuples(st.sampled_from([" ", "\n\n", "\n- "]), st.lists(SENTENCES, min_size=1, max_size=4, unique=True))


@settings(max_examples=examples(25))
@given(st.lists(st.tuples(BODIES, st.booleans(), st.integers(1, 5)), min_size=2, max_size=6))
def test_no_sentence_is_lost_and_an_undo_gives_the_bytes_back(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[tuple[tuple[str, list[str]], bool, int]]
) -> None:
    folder: Path = tmp_path_factory.mktemp("v")
    ws = open_workspace(actor="test", home=folder / "h", vault=folder / "v", clock=SteppingClock())
    bodies = [(joint, parts) for (joint, parts), _, _ in wanted]
    for (joint, parts), human, importance in wanted:
        text = ("- " if joint == "\n- " else "") + joint.join(parts)
        put(ws, text, title="", importance=importance, author="human" if human else "model")
    before = vault(ws)
    done = curate(ws, apply=[])
    said = [memory.body for memory in in_force(ws)]
    for _, parts in bodies:
        for sentence in parts:
            assert any(curation_rules.says(body, sentence) for body in said), sentence
    if done.batch:
        undo.undo(ws, done.batch)
    assert {name: data for name, data in vault(ws).items() if name in before} == before
    assert {name for name in vault(ws) if name not in before} <= {".tombstones.jsonl"}
    ws.close()
