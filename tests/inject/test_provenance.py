"""Where a memory comes from: the turn that proves it, and what was said around it, while there is a transcript."""

from dataclasses import replace
from pathlib import Path

import pytest

from memem.core.errors import NotFound
from memem.core.memory import Memory
from memem.inject import provenance
from memem.notes import save, write
from memem.state.sessions import SessionRecord
from memem.workspace import Workspace
from tests.transcripts import Transcript

TOKEN = "ghp_" + "a1B2c3D4" * 5
MINED = Memory(
    "3f2c9a1e-8d1b-4c55-9a43-1f0e6f0d7a11",
    "Package manager",
    "The shop is built with pnpm.",
    "shop",
    source_type="mined",
    source_session="s1",
    author="model",
    evidence="use pnpm",
)


@pytest.fixture
def session(ws: Workspace) -> Transcript:
    """A conversation, where Claude Code keeps such files."""
    talk = Transcript(ws.user_home / ".claude" / "projects" / "-srv-shop" / "s1.jsonl")
    talk.human("Hello.")
    talk.claude("What shall I build with?")
    talk.tool("Bash", command="npm ci")
    talk.claude("It fails.")
    talk.human("No, use pnpm.", uuid="the-turn")
    talk.claude("Done.")
    talk.human("Thanks.")
    talk.claude("Gladly.")
    return talk


def mined(ws: Workspace, **more: str) -> str:
    turn = more.pop("source_turn", "the-turn")
    return write.keep(ws, replace(MINED, source_turn=turn, **more)).memory.id  # type: ignore[arg-type]


def test_the_turn_is_shown_among_its_neighbours(ws: Workspace, session: Transcript) -> None:
    why = provenance.find_provenance(ws, mined(ws)[:8])
    assert [turn.text for turn in why.turns] == [
        "What shall I build with?",
        "It fails.",
        "No, use pnpm.",
        "Done.",
        "Thanks.",
    ]
    assert why.turns[why.place].uuid == "the-turn"
    assert (why.transcript, why.note, why.entry.memory.evidence) == (str(session.path), "", "use pnpm")


def test_a_turn_at_the_beginning_has_fewer_neighbours(ws: Workspace, session: Transcript) -> None:
    why = provenance.find_provenance(ws, mined(ws, source_turn="s1-0001"))
    assert (why.place, len(why.turns)) == (0, 3)


def test_the_session_is_looked_for_where_it_was_mined(ws: Workspace, tmp_path: Path, session: Transcript) -> None:
    elsewhere = tmp_path / "elsewhere" / "s1.jsonl"
    elsewhere.parent.mkdir()
    session.path.rename(elsewhere)
    ws.state.sessions.put(SessionRecord("s1", str(elsewhere)))
    assert provenance.find_provenance(ws, mined(ws)).transcript == str(elsewhere)


def test_a_session_that_was_moved_since_is_looked_for_where_such_files_are(
    ws: Workspace, tmp_path: Path, session: Transcript
) -> None:
    ws.state.sessions.put(SessionRecord("s1", str(tmp_path / "gone" / "s1.jsonl")))
    assert provenance.find_provenance(ws, mined(ws)).transcript == str(session.path)


def test_a_transcript_that_is_gone_is_said_to_be(ws: Workspace) -> None:
    why = provenance.find_provenance(ws, mined(ws))
    assert (why.turns, why.place, why.transcript) == ((), -1, "")
    assert why.note == "The transcript of session s1 is gone; Claude Code keeps transcripts for 30 days."
    assert why.entry.memory.evidence == "use pnpm", "the words are in the note"


def test_a_transcript_that_no_longer_holds_the_turn_is_named(ws: Workspace, session: Transcript) -> None:
    why = provenance.find_provenance(ws, mined(ws, source_turn="another"))
    assert (why.turns, why.note) == ((), f"{session.path} no longer contains the turn.")


def test_a_memory_that_a_person_saved_says_so(ws: Workspace) -> None:
    saved = save.save(ws, "A fact.").memory
    assert provenance.find_provenance(ws, saved.id).note == "It was saved by a person, not mined from a session."


def test_secrets_and_tricks_do_not_come_back_with_the_proof(ws: Workspace, session: Transcript) -> None:
    session.human(f"Deploy with {TOKEN}\x1b[31m now.", uuid="secret")
    why = provenance.find_provenance(ws, mined(ws, source_turn="secret"))
    assert why.turns[why.place].text == "Deploy with [redacted: github token] now."


def test_an_id_that_nothing_has_is_not_found(ws: Workspace) -> None:
    mined(ws)
    with pytest.raises(NotFound):
        provenance.find_provenance(ws, "ffffffff")
