"""Doubtful notes wait for a person, who accepts or forgets them."""

from dataclasses import replace
from pathlib import Path

import pytest

from memem.core.errors import Ambiguous, InputError, NotFound
from memem.core.memory import Memory
from memem.notes import forget, undo, write
from memem.notes.review import accept, proposals, propose, reject
from memem.search import find
from memem.search.refresh import refresh
from memem.upkeep import status
from memem.upkeep.checks import recall
from memem.workspace import Workspace

STATEMENT = "Tokens are signed with RS256."
BECAUSE = "it was forgotten on 2026-03-01"
DOUBTFUL = Memory(
    "66666666-aaaa-4aaa-8aaa-666666666666",
    "Signing",
    STATEMENT,
    "shop",
    "decision",
    author="model",
    source_type="mined",
    source_turn="t1",
    evidence="we sign them with RS256",
    created="2026-03-01T08:00:00+01:00",
)


@pytest.fixture
def note(ws: Workspace) -> Path:
    """Its note, as it waits."""
    return ws.store.absolute(propose(ws, DOUBTFUL, BECAUSE).path)


def test_proposal_is_a_readable_note_that_is_never_recalled(ws: Workspace) -> None:
    written = propose(ws, DOUBTFUL, BECAUSE)
    assert (written.outcome, written.path) == ("proposed", "review/signing-66666666.md")
    text = ws.store.absolute(written.path).read_text()
    assert f'review_because: "{BECAUSE}"' in text
    assert "status: quarantined" in text
    assert STATEMENT in text
    refresh(ws)
    assert find.search(ws, "tokens signed RS256") == []
    assert not ws.store.read(written.path).touched_by_hand


def test_the_same_proposal_twice_is_one(ws: Workspace, note: Path) -> None:
    again = propose(ws, replace(DOUBTFUL, id="77777777-aaaa"), "another reason")
    assert (again.outcome, again.memory.id) == ("proposed", DOUBTFUL.id)
    assert propose(ws, replace(DOUBTFUL, body="Reworded."), BECAUSE).memory.body == STATEMENT
    assert len(list(note.parent.iterdir())) == 1
    propose(ws, replace(DOUBTFUL, id="77777777-aaaa", project="other"), BECAUSE)
    assert len(list(note.parent.iterdir())) == 2


def test_a_proposal_passes_the_gate(ws: Workspace) -> None:
    secret = "ghp_" + "a1B2c3D4" * 5
    written = propose(ws, replace(DOUBTFUL, body=f"The token is {secret} for now."), f"because of {secret}")
    assert written.redacted == ("github token",)
    assert secret not in ws.store.absolute(written.path).read_text()
    with pytest.raises(InputError, match="empty"):
        propose(ws, replace(DOUBTFUL, body=" "), BECAUSE)


def test_proposals_are_listed_with_reasons_oldest_first(ws: Workspace, note: Path) -> None:
    older = replace(DOUBTFUL, id="77777777-aaaa", body="Older.", created="2026-02-01T08:00:00+01:00")
    propose(ws, older, "doubtful")
    (note.parent / "half-typed.md").write_text("---\nid: [\n---\n")
    assert [(each.memory.body, each.because) for each in proposals(ws)] == [
        ("Older.", "doubtful"),
        (STATEMENT, BECAUSE),
    ]


def test_status_and_doctor_count_what_waits(ws: Workspace, note: Path) -> None:
    assert status.status(ws).proposals == 1
    (found,) = recall.check_vault(ws)
    assert (found.what, found.state, found.detail) == (
        "review",
        "fine",
        "1 proposal is waiting for you: `memem review`",
    )


def test_an_accepted_one_is_a_memory_like_any_other(ws: Workspace, note: Path) -> None:
    written = accept(ws, "66666666", why="I do want it")
    assert (written.outcome, written.path) == ("accepted", "memories/signing-66666666.md")
    assert (written.memory.status, written.memory.body) == ("active", STATEMENT)
    text = ws.store.absolute(written.path).read_text()
    assert "review_because" not in text
    assert not ws.store.read(written.path).touched_by_hand
    assert not note.exists()
    assert [hit.id for hit in find.search(ws, "tokens signed RS256")] == [DOUBTFUL.id]
    event = ws.events.last()
    assert event is not None
    assert (event.action, event.why) == ("accept", "I do want it")
    assert status.check(ws) == []


def test_accepting_lifts_the_tombstone(ws: Workspace) -> None:
    kept = write.keep(ws, replace(DOUBTFUL, id="77777777-aaaa"))
    forget.forget(ws, kept.memory.id)
    propose(ws, DOUBTFUL, BECAUSE)
    assert forget.check_forgotten(ws, DOUBTFUL)
    accept(ws, DOUBTFUL.id)
    assert forget.check_forgotten(ws, DOUBTFUL) is None


def test_persons_addition_to_a_proposal_stays(ws: Workspace, note: Path) -> None:
    text = (
        note.read_text()
        .replace(STATEMENT, "Tokens are signed with ES256.\n\nAsk Ann.")
        .replace("title: Signing", "title: Signing\nmine: yes")
    )
    note.write_text(text)
    written = accept(ws, DOUBTFUL.id)
    kept = ws.store.read(written.path)
    assert kept.memory.body == "Tokens are signed with ES256.\n\nAsk Ann."
    assert kept.document.one("mine") == "yes"
    assert kept.touched_by_hand


def test_accepting_what_is_known_already_adds_nothing(ws: Workspace, note: Path) -> None:
    known = write.keep(ws, replace(DOUBTFUL, id="77777777-aaaa"))
    written = accept(ws, DOUBTFUL.id)
    assert (written.outcome, written.memory.id) == ("exists", known.memory.id)
    assert not note.exists()


def test_an_acceptance_that_was_interrupted_is_completed(
    ws: Workspace, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("memem.vault.restore.remove_file", killed)
        with pytest.raises(KeyboardInterrupt):
            accept(ws, DOUBTFUL.id)
    assert note.exists()
    assert accept(ws, DOUBTFUL.id).outcome == "exists"
    assert not note.exists()
    assert len(find.list_memories(ws)) == 1


def test_a_rejected_one_is_forgotten(ws: Workspace, note: Path) -> None:
    written = reject(ws, "66666666", why="no")
    assert written.outcome == "rejected"
    assert not note.exists()
    assert (ws.store.paths.forgotten / note.name).exists()
    assert forget.check_forgotten(ws, replace(DOUBTFUL, id="77777777-aaaa", source_turn="t9"))
    assert forget.was_forgotten(ws, DOUBTFUL.id)
    event = ws.events.last()
    assert event is not None
    assert (event.action, event.why) == ("reject", "no")


def test_a_rejection_can_be_undone(ws: Workspace, note: Path) -> None:
    before = note.read_bytes()
    reject(ws, DOUBTFUL.id)
    undo.undo(ws)
    assert note.read_bytes() == before
    assert forget.check_forgotten(ws, DOUBTFUL) is None


def test_a_proposal_can_be_undone(ws: Workspace, note: Path) -> None:
    undo.undo(ws)
    assert not note.exists()


def test_an_id_has_to_name_one_proposal(ws: Workspace, note: Path) -> None:
    propose(ws, replace(DOUBTFUL, id="66667777-aaaa", body="Another."), BECAUSE)
    with pytest.raises(Ambiguous, match="2 proposals have an id that starts with '6666'"):
        accept(ws, "6666")
    for identity in ("99", ""):
        with pytest.raises(NotFound, match="`memem review` lists the proposals"):
            reject(ws, identity)
