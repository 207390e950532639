"""The background work of events."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memem.core.errors import InputError, MememError
from memem.core.memory import Hit, Slice
from memem.doors.hook import command
from memem.inject import receipts
from memem.inject import usefulness as inject_usefulness
from memem.mine import schedule
from memem.notes import save
from memem.search.transcripts import consent
from memem.state import usefulness
from memem.upkeep import session_start
from memem.upkeep.checks import hooks
from memem.workspace import Workspace
from tests.builders import examples
from tests.transcripts import Transcript, count_saved, fact, once, sent

MINING = ["Stop", "PreCompact", "SessionEnd"]


def work(ws: Workspace, event: str, session: Transcript, **more: Any) -> None:
    told = {"session_id": session.session, "transcript_path": str(session.path), "cwd": session.cwd}
    command.work(ws, event, json.dumps({**told, "hook_event_name": event, **more}).encode())


@pytest.mark.parametrize("event", MINING)
def test_a_turn_is_mined(miner: Workspace, session: Transcript, event: str) -> None:
    consent.opt_in(miner)
    session.tells("one")
    work(miner, event, session)
    assert count_saved(miner) == once("one")


@pytest.mark.parametrize("event", MINING)
def test_nothing_is_mined_before_its_user_says_so(miner: Workspace, session: Transcript, event: str) -> None:
    session.tells("one")
    work(miner, event, session)
    assert not miner.settings.vault.exists()
    assert not miner.home.state_file.exists()


@pytest.mark.parametrize("event", MINING)
def test_nothing_is_mined_of_a_call_of_our_own(miner: Workspace, claude: Path, session: Transcript, event: str) -> None:
    consent.opt_in(miner)
    miner.environ = {**miner.environ, "MEMEM_HOOKS_OFF": "1"}
    session.tells("one")
    work(miner, event, session)
    assert sent(claude) == {}


@pytest.mark.parametrize("event", MINING)
def test_the_session_that_doctor_makes_up_is_not_mined(miner: Workspace, session: Transcript, event: str) -> None:
    consent.opt_in(miner)
    session.tells("one")
    work(miner, event, session, session_id=hooks.SESSION)
    assert miner.state.queue.marks() == []
    assert not miner.settings.vault.exists()


@pytest.mark.parametrize(("event", "held"), [("Stop", []), ("PreCompact", ["s1"]), ("SessionEnd", ["s1"])])
def test_a_few_words_wait_for_more_and_at_the_end_for_other_sessions(
    miner: Workspace, claude: Path, session: Transcript, event: str, held: list[str]
) -> None:
    consent.opt_in(miner)
    session.human(fact("one"))
    work(miner, event, session)
    assert sent(claude) == {}
    assert [each.session for each in miner.state.deferred.small()] == held


def test_a_turn_is_mined_once_however_many_events_tell_of_it(
    miner: Workspace, claude: Path, session: Transcript
) -> None:
    consent.opt_in(miner)
    session.tells("one")
    for event in (*MINING, *MINING):
        work(miner, event, session)
    assert sent(claude) == once("one")


def test_an_answer_that_is_not_in_the_file_yet_is_waited_for(miner: Workspace, session: Transcript) -> None:
    consent.opt_in(miner)
    session.tells("one")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        if not pauses:
            session.claude(f"Noted. {fact('two')}")
        pauses.append(seconds)

    miner.pause = pause
    work(miner, "Stop", session, last_assistant_message=f"Noted. {fact('two')}")
    assert pauses
    assert count_saved(miner) == once("one", "two")


@pytest.mark.parametrize("event", MINING)
@pytest.mark.parametrize("envelope", [b"{}", b'{"transcript_path": ""}', b'{"transcript_path": 7}'])
def test_an_event_that_names_no_transcript_is_refused_once_mining_is_on(
    miner: Workspace, event: str, envelope: bytes
) -> None:
    command.work(miner, event, envelope)
    consent.opt_in(miner)
    with pytest.raises(InputError, match="does not name a transcript"):
        command.work(miner, event, envelope)


# --- what was shown is judged -------------------------------------------------------------------------------------


def shown(ws: Workspace, session: Transcript) -> str:
    """A memory that the session was shown, and that its answer cites."""
    memory = save.save(ws, "Prices are net.", project="shop").memory
    session.human("are prices net?")
    receipts.record(ws, Slice("text", (Hit(memory, "a.md", 0.9),), "", "shop", "", session.session), prompt="x")
    session.claude(f"Yes, says {memory.id8}.")
    return memory.id


@pytest.mark.parametrize(("event", "used"), [("Stop", 1), ("SessionEnd", 1), ("PreCompact", 0)])
def test_shown_memories_are_judged_after_the_turn(ws: Workspace, session: Transcript, event: str, used: int) -> None:
    identity = shown(ws, session)
    work(ws, event, session)
    assert usefulness.usefulness_of(ws, identity).used == used


@pytest.mark.parametrize("event", MINING)
def test_judging_mines_nothing_and_marks_nothing_before_its_user_says_so(
    miner: Workspace, claude: Path, session: Transcript, event: str
) -> None:
    shown(miner, session)
    session.tells("one")
    before = len(list(miner.store.paths.memories.glob("*.md")))
    work(miner, event, session)
    assert sent(claude) == {}
    assert len(list(miner.store.paths.memories.glob("*.md"))) == before
    assert not miner.home.state_file.exists()


@pytest.mark.parametrize("problem", [MememError("no judge"), TypeError("a fault of ours")])
def test_a_failure_of_judging_is_logged_and_does_not_stop_mining(
    miner: Workspace, session: Transcript, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(inject_usefulness, "judge", fails)
    consent.opt_in(miner)
    session.tells("one")
    with pytest.raises(type(problem), match=str(problem)):
        work(miner, "Stop", session)
    assert count_saved(miner) == once("one")


@pytest.mark.parametrize("told", [{"session_id": ""}, {"session_id": hooks.SESSION}])
def test_a_session_that_has_no_name_or_never_was_is_not_judged(
    ws: Workspace, session: Transcript, monkeypatch: pytest.MonkeyPatch, told: dict[str, str]
) -> None:
    monkeypatch.setattr(inject_usefulness, "judge", lambda *_, **__: pytest.fail("judged"))
    work(ws, "Stop", session, **told)


def test_an_event_without_a_transcript_is_judged_by_the_last_message(ws: Workspace, session: Transcript) -> None:
    identity = shown(ws, session)
    work(ws, "Stop", session, transcript_path="", last_assistant_message=f"Yes, says {identity[:8]}.")
    assert usefulness.usefulness_of(ws, identity).used == 1


@pytest.mark.parametrize(("event", "waits"), [("Stop", True), ("SessionEnd", False)])
def test_an_unanswered_prompt_waits_until_its_session_ends(
    ws: Workspace, session: Transcript, event: str, waits: bool
) -> None:
    memory = save.save(ws, "Prices are net.", project="shop").memory
    receipts.record(ws, Slice("text", (Hit(memory, "a.md", 0.9),), "", "shop", "", session.session), prompt="x")
    session.human("are prices net?")
    work(ws, event, session)
    assert ws.home.shown_unjudged.exists() is waits


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PreToolUse", "", "stop"])
def test_an_event_without_background_work_is_refused(ws: Workspace, event: str) -> None:
    with pytest.raises(InputError, match=r"has no background work\. Use one of SessionStart, Stop"):
        command.work(ws, event, b"{}")


@pytest.mark.parametrize("event", sorted(set(command.WORK) - {"SessionStart"}))
def test_an_envelope_that_is_none_is_refused(ws: Workspace, event: str) -> None:
    with pytest.raises(InputError, match="expects a JSON object"):
        command.work(ws, event, b"[]")


def test_a_session_start_runs_the_upkeep(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Workspace] = []
    monkeypatch.setattr(session_start, "after_session_start", lambda ws, _: done.append(ws))
    command.work(ws, "SessionStart", b'{"source": "startup"}')
    assert done == [ws]


@given(path=st.text(min_size=1, max_size=40))
@settings(max_examples=examples(50))
@example(path="a\0b")
@example(path="\ud800.jsonl")
@example(path="x" * 5_000)
@example(path="/")
@example(path="..")
def test_any_path_is_mined_or_refused_and_is_in_nobodys_way(miner: Workspace, path: str) -> None:
    ws = miner
    ws.settings = replace(ws.settings, extractor="rules")
    consent.opt_in(ws)
    try:
        command.work(ws, "SessionEnd", json.dumps({"transcript_path": path}).encode())
    except MememError as problem:
        assert "\n" not in str(problem)
    schedule.mine_in_background(ws, None)


@pytest.mark.parametrize(
    ("envelope", "folder"),
    [(b'{"cwd": "/srv/shop"}', Path("/srv/shop")), (b'{"session_id": "s1"}', None), (b"", None), (b"[]", None)],
)
def test_a_session_start_passes_its_folder(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch, envelope: bytes, folder: Path | None
) -> None:
    told: list[Path | None] = []
    monkeypatch.setattr(session_start, "after_session_start", lambda _, where: told.append(where))
    command.work(ws, "SessionStart", envelope)
    assert told == [folder]
