"""Saving next to earlier notes: every labelled pair ends as it should, with a model and without one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.compare.relation import CHANGED, CONTAINED, CONTAINS, NEAR, OTHER, SAME
from memem.core.conversation import HUMAN, Chunk, Operation, Turn
from memem.core.errors import Forgotten, InputError
from memem.core.memory import Entry, Memory
from memem.core.trust import PROSE, SAVED, SPEECH
from memem.mine import apply
from memem.notes import conflicts, forget, reconcile, save, write
from memem.notes.reconcile import Candidate
from memem.search import find, refresh
from memem.workspace import Workspace
from tests.compare.pairs import END_TO_END, Labelled
from tests.transcripts import write_chunk

EARLY = "2026-02-01T09:00:00+01:00"
BESIDE = (
    "The office closes at six on Fridays.",
    "Invoices are numbered by year and month.",
    "The design system lives in Figma.",
)
"""Notes that no pair is about."""

pairs = pytest.mark.parametrize(
    "pair", END_TO_END, ids=[f"{each.kind}-{number}" for number, each in enumerate(END_TO_END)]
)


def save_earlier(ws: Workspace, body: str, **more: Any) -> Entry:
    """A memory that a machine has kept before."""
    memory = Memory("3f2c9a1e-8d1b-4c55-9a43-1f0e6f0d7a11", "", body, "shop", author="model", source_type="mined")
    written = write.keep(ws, replace(memory, created=EARLY, updated=EARLY, **more))
    return Entry(written.memory, written.path)


@pytest.fixture
def vault(ws: Workspace) -> Workspace:
    for number, text in enumerate(BESIDE):
        write.keep(ws, Memory(f"{number:08x}-beside", "", text, "shop"))
    return ws


def others(ws: Workspace, entry: Entry) -> list[Memory]:
    """The memories added next to an entry."""
    refresh.refresh(ws)
    found = [each.memory for each in find.list_memories(ws, limit=100)]
    return [memory for memory in found if memory.id != entry.id and memory.body not in BESIDE]


def operation_for(text: str, op: str, target: Entry | None = None) -> tuple[Chunk, Operation]:
    """A person's turn and the operation extracted from it."""
    turn = Turn("t1", HUMAN, text, "2026-02-20T09:00:00.000Z", "s1")
    chunk = Chunk("s1", "/a/s1.jsonl", "shop", (turn,), "", 1, 1, "", (target.memory.id8,) if target else ())
    return chunk, Operation(
        op, target.memory.id8 if target else None, "", text, "fact", "project", 3, (), (), text[:300]
    )


def mine(ws: Workspace, text: str, op: str = "ADD", target: Entry | None = None) -> apply.Applied:
    chunk, operation = operation_for(text, op, target)
    (done,) = apply.apply_all(ws, write_chunk(ws, chunk), [operation])
    return done


# --- the table ----------------------------------------------------------------------------------------------------


def test_there_are_enough_pairs_of_every_kind() -> None:
    kinds = {each.kind for each in END_TO_END}
    assert len(END_TO_END) >= 60
    assert kinds >= {
        *("duplicate", "superset", "correction", "number", "negation", "direction"),
        *("different-subject", "paraphrase"),
    }


@pairs
def test_without_a_model_a_pair_ends_as_expected(vault: Workspace, pair: Labelled) -> None:
    """An addition that rules found, beside a machine's note."""
    old = save_earlier(vault, pair.old)
    done = mine(vault, pair.new)
    after, beside = find.get(vault, old.id).memory, others(vault, old)
    if pair.relation in (SAME, CONTAINED):
        assert (done.outcome, done.id, beside) == ("known", old.id, [])
        assert after.body == old.body
    elif pair.relation == CONTAINS:
        assert (done.outcome, done.id, beside) == ("updated", old.id, [])
        assert after.body == pair.new
    elif pair.relation == CHANGED and pair.replaces:
        (new,) = beside
        assert (done.outcome, new.body, new.supersedes) == ("superseded", pair.new, old.link)
        assert (after.body, after.status, after.valid_to[:10]) == (old.body, "deprecated", "2026-02-20")
    else:
        (new,) = beside
        links = {CHANGED: ((), (old.link,)), NEAR: ((old.link,), ()), OTHER: ((), ())}
        assert (done.outcome, new.body) == ("added", pair.new)
        assert (new.related, new.contradicts) == links[pair.relation]
        assert (after.body, after.status) == (old.body, "active")


@pytest.mark.slow(keep=62)
@pairs
@pytest.mark.parametrize("op", ["UPDATE", "SUPERSEDE"])
def test_with_a_model_a_pair_ends_as_expected_whatever_it_wants(vault: Workspace, pair: Labelled, op: str) -> None:
    """The model may be right or wrong: behind the rails no statement is lost that says something of its own."""
    old = save_earlier(vault, pair.old)
    done = mine(vault, pair.new, op, old)
    after, beside = find.get(vault, old.id).memory, others(vault, old)
    rewritten = op == "UPDATE" and pair.relation in (SAME, CONTAINS)
    ended = pair.relation in ((CHANGED,) if op == "UPDATE" else (CHANGED, CONTAINS, NEAR, OTHER))
    if rewritten:
        assert (done.outcome, after.body, beside) == ("updated", pair.new, [])
    elif pair.relation == SAME or (op == "UPDATE" and pair.relation == CONTAINED):
        assert (done.outcome, after.body, beside) == ("known", old.body, [])
    elif ended:
        (new,) = beside
        assert (done.outcome, new.body, new.supersedes) == ("superseded", pair.new, old.link)
        assert (after.body, after.status, after.superseded_by) == (old.body, "deprecated", f"[[{_stem(vault, new)}]]")
    else:
        (new,) = beside
        assert (done.outcome, new.body, after.body, after.status) == ("added", pair.new, old.body, "active")
        assert old.link in (new.contradicts if op == "SUPERSEDE" else new.related)


@pytest.mark.slow(keep=31)
@pairs
def test_a_persons_note_keeps_its_bytes_whoever_says_what(vault: Workspace, pair: Labelled) -> None:
    own = save.save(vault, pair.old, project="shop")
    path = vault.store.absolute(own.path)
    before = path.read_bytes()
    entry = Entry(own.memory, own.path)
    for op in ("ADD", "UPDATE", "SUPERSEDE"):
        mine(vault, pair.new, op, None if op == "ADD" else entry)
    save.save(vault, pair.new, project="shop")
    save.save(vault, pair.new, project="shop", trust=SAVED)
    assert path.read_bytes() == before
    if pair.relation == CHANGED:
        assert pair.new in [memory.body for memory in others(vault, entry)]


@pytest.mark.slow(keep=31)
@pairs
def test_no_word_of_a_person_is_dropped_but_what_is_said_already(vault: Workspace, pair: Labelled) -> None:
    old = save_earlier(vault, pair.old)
    done = save.save(vault, pair.new, project="shop")
    if pair.relation == SAME:
        assert (done.outcome, done.memory.id) == ("exists", old.id)
        return
    refresh.refresh(vault)
    assert find.get(vault, done.memory.id).memory.body == pair.new
    assert find.get(vault, old.id).memory.body == old.body
    ends = pair.relation == CONTAINS or pair.replaces
    assert find.get(vault, old.id).memory.status == ("deprecated" if ends else "active")


@pytest.mark.slow(keep=31)
@pairs
def test_twice_is_the_same_as_once(vault: Workspace, pair: Labelled) -> None:
    save_earlier(vault, pair.old)
    mine(vault, pair.new)
    folder = vault.store.paths.ours
    before = {path: path.read_bytes() for path in folder.rglob("*.md")}
    assert mine(vault, pair.new).outcome == "known"
    assert {path: path.read_bytes() for path in folder.rglob("*.md")} == before


def _stem(ws: Workspace, memory: Memory) -> str:
    return Path(find.get(ws, memory.id).path).stem


# --- rails --------------------------------------------------------------------------------------------------------


def candidate(body: str, **more: Any) -> Candidate:
    memory = Memory("c0ffee00-8d1b-4c55-9a43-1f0e6f0d7a11", "", body, "shop", author="model")
    return Candidate(memory, **{"trust": PROSE, **more})


REDIS, MOVED = "Redis of the shop listens on port 6379.", "Redis of the shop listens on port 6380."


SWITCHED = "We moved Redis of the shop from port 6379 to 6380."


@pytest.mark.parametrize("op", ["ADD", "UPDATE", "SUPERSEDE"])
@pytest.mark.parametrize("text", [f"{REDIS} It needs a password.", MOVED, SWITCHED])
def test_imported_note_is_never_rewritten(vault: Workspace, op: str, text: str) -> None:
    old = save_earlier(vault, REDIS, source_type="import")
    before = vault.store.absolute(old.path).read_bytes()
    assert mine(vault, text, op, None if op == "ADD" else old).outcome == "added"
    assert vault.store.absolute(old.path).read_bytes() == before


def test_a_contradiction_is_listed_and_waits_for_the_model(vault: Workspace) -> None:
    old = save_earlier(vault, REDIS)
    done = mine(vault, MOVED)
    (found,) = conflicts.conflicts(vault)
    assert (found.one.id, found.other.id, found.found) == (done.id, old.id, "found by comparison")
    assert len(vault.state.suspicions.waiting(9)) == 1


def test_claudes_words_alone_supersede_nothing(vault: Workspace) -> None:
    old = save_earlier(vault, "The shop is built with npm.")
    text = "We switched the shop from npm to pnpm."
    done = reconcile.settle(vault, candidate(text))
    assert (done.outcome, done.memory.contradicts) == ("created", (old.link,))
    assert reconcile.settle(vault, replace(candidate(text), trust=SPEECH)).outcome == "superseded"


@pytest.mark.parametrize("project", ["garage", "general"])
def test_another_project_is_another_matter(vault: Workspace, project: str) -> None:
    save_earlier(vault, REDIS, project=project)
    done = mine(vault, MOVED)
    assert (done.outcome, find.get(vault, done.id).memory.contradicts) == ("added", ())


@pytest.mark.parametrize("ended", [{"status": "deprecated"}, {"layer": 3}, {"superseded_by": "[[other]]"}])
def test_expired_memory_is_not_contradicted(vault: Workspace, ended: dict[str, Any]) -> None:
    save_earlier(vault, REDIS, **ended)
    done = mine(vault, MOVED)
    assert find.get(vault, done.id).memory.contradicts == ()


def test_rewrites_are_limited(vault: Workspace) -> None:
    ports = [f"Service number {number} of the shop is written in Go." for number in range(5)]
    targets = [save_earlier(vault, text, id=f"{place + 16:08x}-target") for place, text in enumerate(ports)]
    turn = Turn("t1", HUMAN, "All of them are in Rust now.", "2026-02-20T09:00:00.000Z", "s1")
    chunk = Chunk("s1", "/a", "shop", (turn,), "", 1, 1, "", tuple(each.memory.id8 for each in targets))
    wanted = [
        Operation(
            "SUPERSEDE", each.memory.id8, "", each.body.replace("Go", "Rust"), "fact", "project", 3, (), (), turn.text
        )
        for each in targets
    ]
    done = apply.apply_all(vault, write_chunk(vault, chunk), wanted)
    assert [each.outcome for each in done] == ["superseded"] * 3 + ["added"] * 2
    assert [find.get(vault, each.id).memory.status for each in targets] == ["deprecated"] * 3 + ["active"] * 2
    assert find.get(vault, done[-1].id).memory.contradicts == (targets[-1].link,)


def test_updated_note_keeps_its_links(vault: Workspace) -> None:
    old = save_earlier(vault, REDIS, related=("[[another]]",), keys=("redis",))
    mine(vault, f"{REDIS} It needs a password.")
    after = find.get(vault, old.id).memory
    assert (after.related, after.keys, after.title) == (("[[another]]",), ("redis",), old.title)


def test_a_renamed_note_is_linked_by_its_name(vault: Workspace) -> None:
    old = save_earlier(vault, REDIS)
    path = vault.store.absolute(old.path)
    path.rename(path.with_name("Our Redis.md"))
    refresh.refresh(vault)
    done = mine(vault, MOVED)
    assert find.get(vault, done.id).memory.contradicts == ("[[Our Redis]]",)
    assert len(conflicts.conflicts(vault)) == 1


def test_gate_refuses_before_the_search_for_neighbours(ws: Workspace) -> None:
    with pytest.raises(InputError, match="empty"):
        reconcile.settle(ws, candidate(" "))
    assert not ws.settings.vault.exists()


def test_the_first_memory_begins_the_vault(ws: Workspace) -> None:
    assert reconcile.settle(ws, candidate(REDIS)).outcome == "created"


def test_memory_is_valid_from_when_it_was_said(vault: Workspace) -> None:
    done = mine(vault, REDIS)
    assert find.get(vault, done.id).memory.valid_from == "2026-02-20T10:00:00+01:00"


def test_words_from_the_future_hold_from_now_on(vault: Workspace) -> None:
    assert reconcile.since(vault, "2031-01-01T00:00:00Z") == reconcile.since(vault, "") != ""


def test_forgotten_memory_is_refused_without_anyway(vault: Workspace) -> None:
    old = save.save(vault, REDIS, project="shop").memory
    forget.forget(vault, old.id)
    with pytest.raises(Forgotten):
        save.save(vault, REDIS, project="shop")
    assert save.save(vault, MOVED, project="shop").outcome == "created", "a neighbour goes through"
    assert save.save(vault, REDIS, project="shop", anyway=True).outcome == "created"


def test_machine_note_edited_meanwhile_is_left_alone(vault: Workspace) -> None:
    old = save_earlier(vault, REDIS)
    write.edit(vault, old.id, title="Mine")
    done = mine(vault, f"{REDIS} It needs a password.")
    assert done.outcome == "added"
    assert find.get(vault, old.id).memory.body == REDIS
