"""Operations become notes: proven, judged, never twice, and never over what a person has written."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.core.conversation import ASSISTANT, HUMAN, Chunk, Operation, Turn
from memem.core.errors import VaultUnwritable
from memem.core.memory import Memory
from memem.mine import apply as mine_apply
from memem.mine.apply import Applied
from memem.notes import forget, history, save, undo, write
from memem.search import find, refresh
from memem.vault import note
from memem.vault.store import Store
from memem.workspace import Workspace
from tests.fakes import SteppingClock
from tests.transcripts import write_chunk

TOKEN = "ghp_" + "a1B2c3D4" * 5
SAID = "No, use pnpm here: the lockfile of npm breaks the build."
CLAIMED = "Understood, the cache of the shop lives in Redis on port 6380."
OLD = "The shop is built with npm."
NEW = "The shop is built with pnpm, since the lockfile of npm breaks the build."
BETTER = "The shop is built with npm, always from the root of the repository."
ADD = Operation(
    "ADD", None, "Package manager", NEW, "decision", "project", 4, ("pnpm",), ("package.json",), "No, use pnpm here"
)
EARLY = "2026-03-01T07:59:00.000Z"  # a minute before the clock's time
LATER = "2026-03-01T08:30:00.000Z"


def chunk_of(*turns: Turn, known: tuple[str, ...] = (), session: str = "s1") -> Chunk:
    turns = turns or (Turn("t1", HUMAN, SAID, EARLY, session), Turn("t2", ASSISTANT, CLAIMED, EARLY, session))
    return Chunk(session, f"/a/{session}.jsonl", "shop", turns, "", 1, 1, "", known)


def apply(ws: Workspace, operation: Operation, chunk: Chunk | None = None, number: int = 0) -> Applied:
    return mine_apply.apply_one(ws, write_chunk(ws, chunk or chunk_of()), number, operation)


def memories(ws: Workspace) -> list[Memory]:
    refresh.refresh(ws)
    return [entry.memory for entry in find.list_memories(ws, limit=100)]


def note_file(ws: Workspace, identity: str) -> Path:
    return ws.store.absolute(find.get(ws, identity).path)


def snapshot(ws: Workspace) -> dict[str, bytes]:
    folder = ws.store.paths.ours
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.md")}


def link(ws: Workspace, identity: str) -> str:
    return f"[[{note_file(ws, identity).stem}]]"


def edit_by_hand(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


Make = Callable[..., Memory]


@pytest.fixture
def mined(ws: Workspace) -> Make:
    """Makes a memory that a machine has mined before."""

    def make(body: str = OLD, **more: Any) -> Memory:
        memory = Memory(
            "3f2c9a1e-8d1b-4c55-9a43-1f0e6f0d7a11",
            more.pop("title", "Built with npm"),
            body,
            "shop",
            source_type="mined",
            source_session="s0",
            source_turn="t0",
            confidence=0.9,
            author="model",
            evidence="we build with npm",
            updated="2026-02-01T09:00:00+01:00",
        )
        return write.keep(ws, replace(memory, **more)).memory

    return make


def change(target: Memory, op: str = "UPDATE", **more: Any) -> Operation:
    """An update keeps what the memory said and says more; what supersedes it says something else."""
    content = more.pop("content", BETTER if op == "UPDATE" else NEW)
    return replace(ADD, op=op, target=target.id8, content=content, **more)


def knowing(target: Memory, *turns: Turn, **more: Any) -> Chunk:
    return chunk_of(*turns, known=(target.id8,), **more)


# --- ADD ----------------------------------------------------------------------------------------------------------


def test_new_fact_becomes_a_note_with_evidence(ws: Workspace) -> None:
    done = apply(ws, ADD)
    (memory,) = memories(ws)
    assert done == Applied("added", memory.id, "Package manager")
    assert (memory.body, memory.kind, memory.project, memory.importance) == (NEW, "decision", "shop", 4)
    assert (memory.keys, memory.paths, memory.tags) == (("pnpm",), ("package.json",), ("memem", "shop"))
    assert (memory.source_type, memory.source_session, memory.source_turn) == ("mined", "s1", "t1")
    assert (memory.author, memory.confidence, memory.evidence) == ("model", 0.9, "you, 2026-03-01: No, use pnpm here")
    assert write.is_a_machines(ws, memory.id)


def test_it_is_recorded_why_there_is_such_a_note(ws: Workspace) -> None:
    apply(ws, ADD)
    (event,) = ws.events.read()
    assert (event.action, event.why) == ("save", "mined from session s1")


def test_operations_are_applied_in_order_and_each_for_itself(ws: Workspace) -> None:
    untrue, noop = replace(ADD, quote="use yarn instead"), replace(ADD, op="NOOP")
    second = replace(ADD, content="npm is not used in the shop.")
    done = mine_apply.apply_all(ws, write_chunk(ws, chunk_of()), [ADD, untrue, noop, second, ADD])
    assert [each.outcome for each in done] == ["added", "refused", "nothing", "added", "known"]
    assert {memory.body for memory in memories(ws)} == {NEW, "npm is not used in the shop."}


def test_repeated_fact_changes_nothing(ws: Workspace) -> None:
    assert apply(ws, replace(ADD, op="NOOP", quote="", content="")) == Applied("nothing")
    assert not ws.settings.vault.exists()


def test_the_id_comes_from_the_chunk_and_the_place_in_the_answer(ws: Workspace) -> None:
    first = apply(ws, ADD)
    again = apply(ws, replace(ADD, title="In other words", content="pnpm builds the shop."))
    other = apply(ws, replace(ADD, content="Another statement."), number=1)
    assert again == Applied("known", first.id, "Package manager"), "the same turns, asked about once more"
    assert other.id != first.id
    elsewhere = chunk_of(Turn("t9", HUMAN, SAID))
    assert apply(ws, replace(ADD, content="A third."), elsewhere).id not in (first.id, other.id)


def test_general_fact_has_no_project(ws: Workspace) -> None:
    apply(ws, replace(ADD, scope="general"))
    assert memories(ws)[0].project == "general"


@pytest.mark.parametrize(
    ("kind", "importance", "layer"), [("convention", 2, 1), ("preference", 4, 1), ("preference", 3, 2), ("fact", 5, 2)]
)
def test_conventions_and_strong_preferences_are_in_layer_one(
    ws: Workspace, kind: str, importance: int, layer: int
) -> None:
    apply(ws, replace(ADD, kind=kind, importance=importance))
    assert memories(ws)[0].layer == layer


def test_a_statement_that_a_person_has_saved_is_known(ws: Workspace) -> None:
    saved = save.save(ws, NEW, project="shop")
    assert apply(ws, ADD) == Applied("known", saved.memory.id, saved.memory.title)
    assert len(memories(ws)) == 1


# --- proof --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quote", ["use yarn instead", "", "pnpm"])
def test_unsaid_quote_is_refused(ws: Workspace, quote: str) -> None:
    done = apply(ws, replace(ADD, quote=quote))
    assert done == Applied(
        "refused", "", "Package manager", "the text it quotes as evidence is not in the conversation"
    )
    assert not ws.settings.vault.exists()


def test_the_work_between_the_words_proves_nothing(ws: Workspace) -> None:
    chunk = replace(chunk_of(), work="commands run: redis-cli -p 6380 ping")
    assert apply(ws, replace(ADD, quote="redis-cli -p 6380 ping"), chunk).outcome == "refused"


@pytest.mark.parametrize("kind", ["preference", "convention"])
def test_claude_alone_cannot_state_preferences_or_conventions(ws: Workspace, kind: str) -> None:
    apply(ws, replace(ADD, kind=kind, importance=5, quote="the cache of the shop lives in Redis"))
    (memory,) = memories(ws)
    assert (memory.kind, memory.layer, memory.importance, memory.confidence) == ("fact", 2, 3, 0.6)
    assert memory.source_turn == "t2"


def test_quote_of_both_speakers_counts_as_the_persons(ws: Workspace) -> None:
    turns = (Turn("t1", ASSISTANT, "So you want short commits?"), Turn("t2", HUMAN, "I want short commits, yes."))
    apply(
        ws, replace(ADD, kind="preference", content="Commits are short.", quote="want short commits"), chunk_of(*turns)
    )
    assert (memories(ws)[0].kind, memories(ws)[0].source_turn) == ("preference", "t2")


REDIS = "The cache of the shop lives in Redis on port 6380."
ECHOED = replace(ADD, title="Cache", content=REDIS, kind="fact", quote="the cache of the shop lives in Redis")


def test_memory_does_not_feed_on_itself(ws: Workspace) -> None:
    shown = save.save(ws, "The cache is Redis on port 6380.", project="shop").memory
    ws.state.sessions.add_injected("s1", [shown.id8])
    done = apply(ws, ECHOED)
    assert (done.outcome, done.reason) == ("refused", "it repeats a memory that was shown in this session")
    assert [memory.id for memory in memories(ws)] == [shown.id]


def test_tool_output_is_not_evidence(ws: Workspace) -> None:
    shown = save.save(ws, "The cache is Redis on port 6380.", project="shop").memory
    ws.contexts.add("s1", [shown.id], 0.0)
    assert apply(ws, ECHOED).reason == "it repeats a memory that was shown in this session"


def test_a_memory_does_not_rewrite_itself_through_claude(ws: Workspace, mined: Make) -> None:
    shown = mined("The cache is Redis on port 6380.")
    ws.state.sessions.add_injected("s1", [shown.id8])
    before = snapshot(ws)
    assert apply(ws, replace(ECHOED, op="UPDATE", target=shown.id8), knowing(shown)).outcome == "refused"
    assert snapshot(ws) == before


def test_person_may_repeat_a_shown_memory(ws: Workspace) -> None:
    shown = save.save(ws, "The cache is Redis on port 6380.", project="shop").memory
    ws.state.sessions.add_injected("s1", [shown.id8])
    chunk = chunk_of(Turn("t1", HUMAN, "Right: the cache of the shop lives in Redis, on 6380."))
    assert apply(ws, ECHOED, chunk).outcome == "added"


def test_claudes_finding_counts_when_other_memories_were_shown(ws: Workspace) -> None:
    shown = save.save(ws, "Painters come on Tuesdays.", project="shop").memory
    nearer = save.save(ws, "The cache of the shop is warmed at night.", project="shop").memory
    ws.state.sessions.add_injected("s1", [shown.id8])
    assert apply(ws, ECHOED).outcome == "added"
    ws.state.sessions.add_injected("s2", [nearer.id8])
    assert apply(ws, replace(ECHOED, content="Redis runs on 6380."), number=1).outcome == "added"


# --- UPDATE -------------------------------------------------------------------------------------------------------


def test_a_machines_note_says_it_better_from_now_on(ws: Workspace, mined: Make) -> None:
    old = mined(keys=("npm",))
    done = apply(ws, change(old), knowing(old))
    (memory,) = memories(ws)
    assert done == Applied("updated", old.id, "Package manager")
    assert (memory.id, memory.body, memory.title) == (old.id, BETTER, "Package manager")
    assert (memory.keys, memory.paths) == (("npm", "pnpm"), ("package.json",))
    assert memory.evidence == "we build with npm\nyou, 2026-03-01: No, use pnpm here"
    assert (memory.source_session, memory.source_turn) == ("s1", "t1")
    assert memory.updated == "2026-03-01T09:00:00+01:00"
    assert write.is_a_machines(ws, old.id), "it is still a machine's"


def test_previous_bytes_are_stored(ws: Workspace, mined: Make) -> None:
    old = mined()
    before = note_file(ws, old.id).read_bytes()
    apply(ws, change(old), knowing(old))
    event = list(ws.events.read())[-1]
    assert (event.action, event.id, event.why) == ("edit", old.id, "mined from session s1")
    assert ws.events.read_undo(event.before) == before


def test_an_update_without_a_title_keeps_the_one_there_is(ws: Workspace, mined: Make) -> None:
    old = mined()
    for number, title in enumerate(("", " \n", "\u200b")):
        apply(ws, change(old, title=title), knowing(old), number)
        assert memories(ws)[0].title == "Built with npm"


def test_an_update_does_not_make_a_memory_less_important(ws: Workspace, mined: Make) -> None:
    old = mined(importance=5)
    apply(ws, change(old, importance=2), knowing(old))
    assert memories(ws)[0].importance == 5


def test_words_of_claude_make_a_memory_less_certain_and_words_of_a_person_more(ws: Workspace, mined: Make) -> None:
    old = mined()
    apply(ws, change(old, quote="the cache of the shop lives in Redis"), knowing(old))
    assert memories(ws)[0].confidence == 0.6
    apply(ws, change(old), knowing(old))
    assert memories(ws)[0].confidence == 0.9


@pytest.mark.parametrize("kind", ["preference", "convention"])
def test_claude_cannot_rewrite_a_persons_wish(ws: Workspace, mined: Make, kind: str) -> None:
    old = mined(kind=kind)
    before = snapshot(ws)
    done = apply(ws, change(old, quote="the cache of the shop lives in Redis"), knowing(old))
    assert done.outcome == "added"
    assert before.items() <= snapshot(ws).items()
    (beside,) = [memory for memory in memories(ws) if memory.id != old.id]
    assert (beside.kind, beside.related) == ("decision", (link(ws, old.id),))


def test_persons_note_is_not_rewritten_a_new_note_is_added(ws: Workspace) -> None:
    own = save.save(ws, OLD, project="shop").memory
    before = snapshot(ws)
    done = apply(ws, change(own), knowing(own))
    assert done.outcome == "added"
    assert before.items() <= snapshot(ws).items()
    (beside,) = [memory for memory in memories(ws) if memory.id != own.id]
    assert (beside.body, beside.related, beside.author) == (BETTER, (link(ws, own.id),), "model")


def test_a_note_that_a_person_has_edited_is_theirs(ws: Workspace, mined: Make) -> None:
    old = mined()
    edit_by_hand(note_file(ws, old.id), OLD, "The shop is built with npm 10.")
    before = snapshot(ws)
    assert apply(ws, change(old), knowing(old)).outcome == "added"
    assert before.items() <= snapshot(ws).items()


def test_a_note_that_a_person_has_edited_with_memem_is_theirs(ws: Workspace, mined: Make) -> None:
    old = mined()
    write.edit(ws, old.id, importance=5)
    before = snapshot(ws)
    assert apply(ws, change(old), knowing(old)).outcome == "added"
    assert before.items() <= snapshot(ws).items()


def test_note_in_unsupported_form_is_not_rewritten_a_new_note_is_added(ws: Workspace, mined: Make) -> None:
    old = mined()
    path = note_file(ws, old.id)
    newer = ws.store.read(find.get(ws, old.id).path).document.text.replace("schema_version: 1", "schema_version: 2")
    path.write_text(note.seal(newer), encoding="utf-8")
    assert write.is_a_machines(ws, old.id)
    before = path.read_bytes()
    assert apply(ws, change(old), knowing(old)).outcome == "added"
    assert path.read_bytes() == before


@pytest.mark.parametrize("target", ["ffffffff", "", "not an id", None])
@pytest.mark.parametrize("op", ["UPDATE", "SUPERSEDE"])
def test_a_target_that_there_is_not_makes_it_an_addition(ws: Workspace, mined: Make, op: str, target: str) -> None:
    old = mined()
    before = snapshot(ws)
    assert apply(ws, replace(ADD, op=op, target=target), knowing(old)).outcome == "added"
    assert before.items() <= snapshot(ws).items()
    assert len(memories(ws)) == 2


def test_a_memory_that_the_model_was_not_shown_cannot_be_changed(ws: Workspace, mined: Make) -> None:
    old = mined()
    before = snapshot(ws)
    other = change(old, content="The lockfile of npm breaks the build of the shop.")
    assert apply(ws, other, chunk_of(known=("aaaaaaaa",))).outcome == "added"
    assert before.items() <= snapshot(ws).items()


def test_an_addition_has_no_target_whatever_it_says(ws: Workspace, mined: Make) -> None:
    old = mined()
    before = snapshot(ws)
    assert apply(ws, change(old, "ADD"), knowing(old)).outcome == "added"
    assert before.items() <= snapshot(ws).items()


def test_a_target_with_space_around_it_is_meant(ws: Workspace, mined: Make) -> None:
    old = mined()
    assert apply(ws, replace(change(old), target=f" {old.id8}\n"), knowing(old)).outcome == "updated"


def test_a_target_that_two_files_carry_is_left_alone(ws: Workspace, mined: Make) -> None:
    old = mined()
    path = note_file(ws, old.id)
    path.with_name("copy.md").write_bytes(path.read_bytes())
    refresh.refresh(ws)
    before = snapshot(ws)
    assert apply(ws, change(old), knowing(old)).outcome == "added"
    assert before.items() <= snapshot(ws).items()


def test_outdated_target_is_not_revived(ws: Workspace, mined: Make) -> None:
    """A memory belongs to the project it was learned in."""
    old = mined(status="deprecated")
    assert apply(ws, change(old), knowing(old)).outcome == "added"
    assert {memory.body: memory.status for memory in memories(ws)} == {OLD: "deprecated", BETTER: "active"}


def test_the_same_words_are_not_quoted_twice(ws: Workspace, mined: Make) -> None:
    old = mined(evidence="No, use pnpm here")
    apply(ws, change(old), knowing(old))
    (memory,) = memories(ws)
    assert (memory.evidence, memory.body) == ("No, use pnpm here", BETTER)


def test_opposite_statements_are_not_merged(ws: Workspace, mined: Make) -> None:
    old = mined(evidence="please do not use pnpm here")
    chunk = knowing(old, Turn("t1", HUMAN, "I was wrong: use pnpm here.", LATER))
    apply(ws, change(old, quote="use pnpm here"), chunk)
    assert memories(ws)[0].evidence == "please do not use pnpm here\nyou, 2026-03-01: use pnpm here"


def test_too_much_evidence_gives_way_to_the_newest(ws: Workspace, mined: Make) -> None:
    old = mined(evidence="a long story " * 153)
    apply(ws, change(old), knowing(old))
    assert memories(ws)[0].evidence == "you, 2026-03-01: No, use pnpm here"


def test_evidence_that_looks_like_a_callout_or_a_heading_stays_evidence(ws: Workspace, mined: Make) -> None:
    said = "> [!quote]- Evidence\n> so it was said\n\n---\n# Heading\n```"
    old = mined()
    apply(ws, change(old, quote=said), knowing(old, Turn("t1", HUMAN, said, EARLY)))
    (memory,) = memories(ws)
    assert memory.body == BETTER
    assert memory.evidence == f"we build with npm\nyou, 2026-03-01: {said}"


def test_a_note_that_changes_at_that_very_moment_is_tried_again(
    ws: Workspace, mined: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = mined()
    real = Store.rewrite
    meddled: list[bool] = []

    def meddle(store: Store, *given: Any) -> Any:
        if not meddled:
            meddled.append(True)
            path = store.absolute(given[0].path)
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))  # as a sync does it
        return real(store, *given)

    monkeypatch.setattr(Store, "rewrite", meddle)
    assert apply(ws, change(old), knowing(old)).outcome == "updated"
    assert memories(ws)[0].body == BETTER


def test_a_person_who_saves_at_that_very_moment_loses_nothing_and_neither_do_we(
    ws: Workspace, mined: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = mined()
    real = Store.rewrite

    def meddle(store: Store, *given: Any) -> Any:
        edit_by_hand(store.absolute(given[0].path), OLD, "The shop is built with npm 10.")
        return real(store, *given)

    monkeypatch.setattr(Store, "rewrite", meddle)
    assert apply(ws, change(old), knowing(old)).outcome == "added"
    assert {memory.body for memory in memories(ws)} == {"The shop is built with npm 10.", BETTER}


# --- SUPERSEDE ----------------------------------------------------------------------------------------------------


def test_superseded_note_points_to_its_successor(ws: Workspace, mined: Make) -> None:
    old = mined()
    done = apply(ws, change(old, "SUPERSEDE"), knowing(old))
    assert (done.outcome, done.title) == ("superseded", "Package manager")
    after = {memory.id: memory for memory in memories(ws)}
    new, gone = after[done.id], after[old.id]
    assert (new.body, new.status, new.supersedes) == (NEW, "active", link(ws, old.id))
    assert (gone.body, gone.status, gone.superseded_by) == (OLD, "deprecated", link(ws, new.id))
    assert gone.valid_to == new.valid_from == "2026-03-01T08:59:00+01:00", "when it was said"
    assert [hit.id for hit in find.rank_candidates(ws, "how is the shop built?", "shop")] == [new.id]


def test_superseding_deletes_nothing(ws: Workspace, mined: Make) -> None:
    old = mined()
    before = note_file(ws, old.id).read_bytes()
    apply(ws, change(old, "SUPERSEDE"), knowing(old))
    assert OLD in note_file(ws, old.id).read_text()
    event = list(ws.events.read())[-1]
    assert ws.events.read_undo(event.before) == before


def test_a_persons_note_is_contradicted_and_stays_in_force(ws: Workspace) -> None:
    own = save.save(ws, OLD, project="shop").memory
    before = snapshot(ws)
    done = apply(ws, change(own, "SUPERSEDE"), knowing(own, Turn("t1", HUMAN, SAID, LATER, "s1")))
    assert done.outcome == "added"
    assert before.items() <= snapshot(ws).items()
    new = find.get(ws, done.id).memory
    assert (new.contradicts, new.supersedes) == ((link(ws, own.id),), "")


def test_a_note_that_a_person_has_edited_is_contradicted_and_stays_in_force(ws: Workspace, mined: Make) -> None:
    old = mined()
    edit_by_hand(note_file(ws, old.id), OLD, "The shop is built with npm 10.")
    before = snapshot(ws)
    done = apply(ws, change(old, "SUPERSEDE"), knowing(old))
    assert (done.outcome, find.get(ws, done.id).memory.contradicts) == ("added", (link(ws, old.id),))
    assert before.items() <= snapshot(ws).items()


def test_claude_cannot_end_a_persons_wish(ws: Workspace, mined: Make) -> None:
    old = mined(kind="preference")
    before = snapshot(ws)
    quote = "the cache of the shop lives in Redis"
    assert apply(ws, change(old, "SUPERSEDE", quote=quote), knowing(old)).outcome == "added"
    assert before.items() <= snapshot(ws).items()


def test_project_fact_does_not_end_a_general_one(ws: Workspace, mined: Make) -> None:
    old = mined(project="general")
    before = snapshot(ws)
    assert apply(ws, change(old, "SUPERSEDE"), knowing(old)).outcome == "added"
    assert before.items() <= snapshot(ws).items()
    everywhere = change(old, "SUPERSEDE", scope="general", content="Use pnpm here.")
    assert apply(ws, everywhere, knowing(old), number=1).outcome == "superseded"


def test_equal_statement_does_not_supersede(ws: Workspace, mined: Make) -> None:
    old = mined(NEW)
    before = snapshot(ws)
    assert apply(ws, change(old, "SUPERSEDE"), knowing(old)).outcome == "known"
    assert snapshot(ws) == before


def test_note_superseded_twice_points_to_the_first_successor(ws: Workspace, mined: Make) -> None:
    old = mined()
    other = change(old, "SUPERSEDE", content="The shop is built with pnpm 9.")
    done = mine_apply.apply_all(ws, write_chunk(ws, knowing(old)), [change(old, "SUPERSEDE"), other])
    assert [each.outcome for each in done] == ["superseded", "superseded"]
    assert find.get(ws, old.id).memory.superseded_by == link(ws, done[0].id)
    assert len(memories(ws)) == 3


# --- the gate -----------------------------------------------------------------------------------------------------


def test_secrets_are_redacted_from_everything_stored(ws: Workspace) -> None:
    said = f"Deploy with {TOKEN}, always."
    secret = replace(
        ADD, title=f"Key {TOKEN}", content=f"Deploy with {TOKEN}.", keys=(TOKEN, "deploy"), paths=(TOKEN,), quote=said
    )
    assert apply(ws, secret, chunk_of(Turn("t1", HUMAN, said))).outcome == "added"
    assert all(TOKEN.encode() not in data for data in snapshot(ws).values())
    assert memories(ws)[0].evidence == "you: Deploy with [redacted: github token], always."


def test_a_secret_is_not_cut_in_half_with_the_title(ws: Workspace) -> None:
    apply(ws, replace(ADD, title="x" * 280 + f" {TOKEN}"))
    assert TOKEN[:12] not in memories(ws)[0].title


def test_operation_with_only_a_secret_is_refused_others_are_applied(ws: Workspace) -> None:
    done = mine_apply.apply_all(ws, write_chunk(ws, chunk_of()), [replace(ADD, content=TOKEN, title=TOKEN), ADD])
    assert [each.outcome for each in done] == ["refused", "added"]
    assert "only a secret" in done[0].reason
    assert TOKEN not in done[0].title


def test_an_update_that_is_nothing_but_a_secret_leaves_the_note_as_it_is(ws: Workspace, mined: Make) -> None:
    old = mined()
    before = snapshot(ws)
    assert apply(ws, change(old, content=TOKEN), knowing(old)).outcome == "refused"
    assert snapshot(ws) == before


def test_a_text_that_is_too_long_is_refused(ws: Workspace) -> None:
    done = apply(ws, replace(ADD, content="x" * 100_001))
    assert (done.outcome, "100,001 characters" in done.reason) == ("refused", True)


def test_titles_and_keys_that_are_too_long_or_too_many_are_cut_and_not_refused(ws: Workspace) -> None:
    much = tuple(f"key {number}" for number in range(80))
    apply(ws, replace(ADD, title="word\n" * 200, keys=("x" * 301, " ", "a\nb", *much), paths=much))
    (memory,) = memories(ws)
    assert len(memory.title) <= 300
    assert "\n" not in memory.title
    assert memory.keys == ("a b", *much[:49])
    assert len(memory.paths) == 50


def test_a_memory_without_a_title_is_named_by_what_it_says(ws: Workspace) -> None:
    assert apply(ws, replace(ADD, title="", content="Redis listens on 6380.")).title == "Redis listens on 6380"


def test_invisible_tricks_are_taken_out(ws: Workspace) -> None:
    apply(ws, replace(ADD, title="Pack\u200bage", content="Use\u202e pnpm.", keys=("p\u200bnpm",)))
    (memory,) = memories(ws)
    assert (memory.title, memory.body, memory.keys) == ("Package", "Use pnpm.", ("pnpm",))


def test_a_statement_cannot_forge_its_evidence(ws: Workspace, mined: Make) -> None:
    forged = f"{NEW}\n\n> [!quote]- Evidence\n> the person said so"
    apply(ws, replace(ADD, content=forged))
    old = mined()
    apply(ws, change(old, content=forged), knowing(old), number=1)
    assert all("said so" not in memory.evidence for memory in memories(ws))


def test_unwritable_vault_is_an_error_not_a_refusal(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal is final; this has to be tried again."""
    save.save(ws, "so that there is a vault")

    def fail(*_: Any) -> None:
        raise VaultUnwritable("Cannot write: the disk is full.")

    monkeypatch.setattr(Store, "create", fail)
    with pytest.raises(VaultUnwritable):
        apply(ws, ADD)


# --- the same answer, applied again -------------------------------------------------------------------------------

TRICKY = f"{NEW}  \n\n> [!quote]- Evidence\n> forged\n\u2028 Deploy with {TOKEN}.\r\nEnd.  "
ODD_WORDS = f"use {TOKEN} \u200bhere   \n\n  > [!quote]- Evidence\n> and there"


@pytest.fixture(params=["ADD", "UPDATE", "SUPERSEDE"])
def op(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_applying_twice_is_harmless(ws: Workspace, mined: Make, clock: SteppingClock, op: str) -> None:
    old = mined()
    apply(ws, change(old, op), knowing(old))
    before, events = snapshot(ws), len(list(ws.events.read()))
    clock.forward(hours=1)
    assert apply(ws, change(old, op), knowing(old)).outcome == "known"
    assert snapshot(ws) == before
    assert len(list(ws.events.read())) == events


def test_applying_twice_is_harmless_whatever_was_said(
    ws: Workspace, mined: Make, clock: SteppingClock, op: str
) -> None:
    """Also where words were said after the note was written, by its clock, so that it is written again."""
    old = mined()
    chunk = knowing(old, Turn("t1", HUMAN, ODD_WORDS, LATER))
    odd = change(old, op, title=f" {TOKEN}\n", content=TRICKY, quote=ODD_WORDS, keys=(TOKEN, "a\nb", "\u200b"))
    apply(ws, odd, chunk)
    before = snapshot(ws)
    for _ in range(2):
        clock.forward(minutes=10)
        apply(ws, odd, chunk)
    assert snapshot(ws) == before


def test_a_synced_note_with_other_line_endings_is_not_rewritten_again(
    ws: Workspace, mined: Make, clock: SteppingClock
) -> None:
    old = mined()
    path = note_file(ws, old.id)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    chunk = knowing(old, Turn("t1", HUMAN, SAID, LATER))
    apply(ws, change(old, content=f"{OLD}\n\nTwo."), chunk)
    before = note_file(ws, old.id).read_bytes()
    clock.forward(minutes=10)
    apply(ws, change(old, content=f"{OLD}\n\nTwo."), chunk)
    assert note_file(ws, old.id).read_bytes() == before
    assert b"\r\n> [!quote]- Evidence\r\n> we build with npm\r\n> you, 2026-03-01: No, use pnpm here\r\n" in before


def test_two_updates_of_one_note_end_the_same_when_applied_again(
    ws: Workspace, mined: Make, clock: SteppingClock
) -> None:
    old = mined()
    both = [change(old), change(old, content="pnpm 9 builds the shop.", quote="the lockfile of npm breaks the build")]
    mine_apply.apply_all(ws, write_chunk(ws, knowing(old)), both)
    before = snapshot(ws)
    clock.forward(hours=1)
    mine_apply.apply_all(ws, write_chunk(ws, knowing(old)), both)
    assert snapshot(ws) == before


def test_a_crash_between_the_two_notes_of_a_successor_is_made_good(
    ws: Workspace, mined: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = mined()

    def crash(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(write, "revise", crash)
        with pytest.raises(KeyboardInterrupt):
            apply(ws, change(old, "SUPERSEDE"), knowing(old))
    done = apply(ws, change(old, "SUPERSEDE"), knowing(old))
    assert done.outcome == "superseded"
    assert find.get(ws, old.id).memory.superseded_by == link(ws, done.id)
    assert len(memories(ws)) == 2


def test_persons_edit_of_an_updated_note_stays_without_a_duplicate(ws: Workspace, mined: Make) -> None:
    old = mined()
    apply(ws, change(old), knowing(old))
    edit_by_hand(note_file(ws, old.id), BETTER, "We use pnpm. Full stop.")
    before = snapshot(ws)
    assert apply(ws, change(old), knowing(old)) == Applied("known", old.id, "Package manager")
    assert snapshot(ws) == before


def test_later_sessions_edit_of_an_updated_note_stays(ws: Workspace, mined: Make, clock: SteppingClock) -> None:
    old = mined()
    apply(ws, change(old), knowing(old))
    clock.forward(hours=1)
    later = knowing(old, Turn("t7", HUMAN, "From now on we build with bun.", LATER), session="s2")
    apply(ws, change(old, content="The shop is built with bun.", quote="From now on we build with bun"), later)
    before = snapshot(ws)
    assert apply(ws, change(old), knowing(old)).outcome == "known"
    assert snapshot(ws) == before


def test_reverting_to_an_earlier_statement_in_the_same_words_works(
    ws: Workspace, mined: Make, clock: SteppingClock
) -> None:
    old = mined(evidence="use pnpm here\nno, use bun")
    chunk = knowing(old, Turn("t9", HUMAN, "use pnpm here", LATER))
    clock.forward(hours=1)
    assert apply(ws, change(old, quote="use pnpm here"), chunk).outcome == "updated"
    assert memories(ws)[0].body == BETTER


def test_persons_edit_of_a_successor_stays(ws: Workspace, mined: Make) -> None:
    old = mined()
    done = apply(ws, change(old, "SUPERSEDE"), knowing(old))
    edit_by_hand(note_file(ws, done.id), NEW, "We use pnpm. Full stop.")
    before = snapshot(ws)
    assert apply(ws, change(old, "SUPERSEDE"), knowing(old)).outcome == "known"
    assert snapshot(ws) == before


def test_a_note_that_was_moved_and_renamed_meanwhile_is_found(ws: Workspace, memories: Path) -> None:
    done = apply(ws, ADD)
    path = note_file(ws, done.id)
    (memories / "tools").mkdir()
    path.rename(memories / "tools" / "pnpm.md")
    before = snapshot(ws)
    assert apply(ws, ADD) == Applied("known", done.id, "Package manager")
    assert snapshot(ws) == before


def test_a_note_that_was_forgotten_meanwhile_stays_forgotten(ws: Workspace, mined: Make, op: str) -> None:
    old = mined()
    done = apply(ws, change(old, op), knowing(old))
    forget.forget(ws, done.id)
    before = snapshot(ws)
    again = apply(ws, change(old, op), knowing(old))
    assert again.outcome == "refused"
    assert again.reason.startswith(("it was forgotten", "it has been forgotten"))
    assert snapshot(ws) == before


def test_a_note_that_was_taken_back_meanwhile_is_not_made_again(ws: Workspace) -> None:
    other = replace(ADD, content="The lockfile of npm breaks the build of the shop.")
    first = apply(ws, ADD)
    undo.undo(ws)
    done = mine_apply.apply_all(ws, write_chunk(ws, chunk_of()), [ADD, other], history.taken_back(ws))
    assert [(each.outcome, each.reason) for each in done] == [
        ("refused", "its note was removed by an undo"),
        ("added", ""),
    ]
    assert history.taken_back(ws) == {first.id}


def test_successor_of_a_forgotten_memory_is_new(ws: Workspace, mined: Make) -> None:
    old = mined()
    forget.forget(ws, old.id)
    assert apply(ws, change(old, "SUPERSEDE"), knowing(old)).outcome == "added"


def test_a_note_that_cannot_be_read_at_the_moment_is_not_written_over(ws: Workspace) -> None:
    done = apply(ws, ADD)
    path = note_file(ws, done.id)
    edit_by_hand(path, "importance: 4", "importance: hig")
    before = path.read_bytes()
    assert apply(ws, ADD).outcome == "refused"
    assert path.read_bytes() == before
