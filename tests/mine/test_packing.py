"""Small sessions share a call: none is sent by itself, and every fact is kept once, by the session it was said in."""

import os
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memem.mine import ask, drain, history, locks, schedule, session
from memem.mine.ask import Mined
from memem.model import claude as claude_module
from memem.notes import write
from memem.search import find
from memem.search.transcripts import consent
from memem.state.folder_record import FolderRecord
from memem.state.journal import Journal
from memem.state.sessions import DeferredSessions, Sessions, SmallSession
from memem.workspace import Workspace
from tests import fake_claude
from tests.builders import Crash, crash_in_call
from tests.fakes import SteppingClock
from tests.transcripts import ECHO, SHOP, Transcript, count_saved, fact, once, open_miner, sent, work_folder

NAMES = ("one", "two", "three", "four")
"""Four facts pass the floor together; three do not."""
REFUSED = {"exit": 1, "stderr": "something broke"}
OVERLOADED = {
    "exit": 1,
    "result": {"type": "result", "subtype": "success", "is_error": True, "result": "API Error: 529 Overloaded"},
}


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    consent.opt_in(miner)
    return miner


def short(folder: Path, name: str, **more: Any) -> Transcript:
    """A session that ended after one short fact."""
    session = Transcript(folder / f"{name}.jsonl", **more)
    session.human(fact(name))
    return session


def end(ws: Workspace, session: Transcript) -> list[Mined]:
    """Do what the SessionEnd hook starts."""
    return schedule.mine_in_background(ws, session.path, flush=True)


def end_all(ws: Workspace, folder: Path, *names: str) -> list[Mined]:
    """Short sessions end one after another; what came of the last one."""
    done: list[Mined] = []
    for name in names:
        done = end(ws, short(folder, name))
    return done


def held(ws: Workspace) -> set[str]:
    return {each.session for each in ws.state.deferred.small()}


def is_finished(ws: Workspace, folder: Path, *names: str) -> None:
    """Nothing is left to do, and every cursor stands at the end of its file."""
    assert held(ws) == set()
    assert ws.state.queue.marks() == []
    assert ws.state.journal.sessions() == []
    for name in names:
        known, path = ws.state.sessions.get(name), folder / f"{name}.jsonl"
        assert known is not None
        assert (known.offset, known.size) == (path.stat().st_size - len(b"\n"), path.stat().st_size)
        assert known.outcome == "mined"


# --- the floor ----------------------------------------------------------------------------------------------------


def test_a_session_that_ends_below_the_floor_is_not_sent(ws: Workspace, claude: Path, sessions: Path) -> None:
    (mined,) = end(ws, short(sessions, "one"))
    assert mined.outcome == "waiting"
    assert fake_claude.calls(claude) == []
    assert held(ws) == {"one"}
    assert ws.state.queue.marks() == []


def test_a_sweep_does_not_read_it_again(ws: Workspace, clock: SteppingClock, sessions: Path) -> None:
    end(ws, short(sessions, "one"))
    clock.forward(days=1)
    assert schedule.sweep(ws) == []


@pytest.mark.parametrize("flush", [True, False])
@pytest.mark.parametrize("said", ["Remember that we deploy on Fridays.", "No, use pnpm instead of npm."])
def test_request_to_remember_does_not_wait(
    ws: Workspace, claude: Path, session: Transcript, said: str, flush: bool
) -> None:
    session.human(said)
    (mined,) = schedule.mine_in_background(ws, session.path, flush=flush)
    assert mined.outcome == "mined"
    assert said in fake_claude.calls(claude)[0]["stdin"]


def test_rules_cost_nothing_so_they_have_no_floor_at_the_end(
    tmp_path: Path, clock: SteppingClock, claude: Path, sessions: Path
) -> None:
    ws = open_miner(tmp_path, clock, MEMEM_EXTRACTOR="rules")
    consent.opt_in(ws)
    (mined,) = end(ws, short(sessions, "one"))
    assert mined.outcome == "mined"
    assert held(ws) == set()
    ws.close()


def test_continued_session_is_mined_alone(ws: Workspace, claude: Path, sessions: Path) -> None:
    session = short(sessions, "one")
    end(ws, session)
    session.tells("more")
    schedule.mine_in_background(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one", "more")
    is_finished(ws, sessions, "one")


def test_the_end_of_a_long_session_is_held_back_alone(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tells("long")
    schedule.mine_in_background(ws, session.path)
    session.human(fact("rest"))
    (mined,) = end(ws, session)
    assert mined.outcome == "waiting"
    assert sent(claude) == once("long")
    known = ws.state.sessions.get("s1")
    assert known is not None
    assert known.outcome == "mined", "the outcome of the earlier part is kept"


def test_a_session_whose_file_is_gone_is_held_back_no_longer(ws: Workspace, claude: Path, sessions: Path) -> None:
    gone = short(sessions, "gone")
    end(ws, gone)
    gone.path.unlink()
    end_all(ws, sessions, *NAMES)
    assert count_saved(ws) == sent(claude) == once(*NAMES[:3])
    assert held(ws) == {"four"}


# --- packs --------------------------------------------------------------------------------------------------------


def test_small_sessions_share_a_call_once_they_pass_the_floor_together(
    ws: Workspace, claude: Path, sessions: Path
) -> None:
    done = end_all(ws, sessions, *NAMES)
    assert len(fake_claude.calls(claude)) == 1
    assert {mined.session for mined in done if mined.outcome == "mined"} == set(NAMES)
    assert count_saved(ws) == sent(claude) == once(*NAMES)
    is_finished(ws, sessions, *NAMES)


def test_each_memory_names_its_own_session(ws: Workspace, sessions: Path) -> None:
    end_all(ws, sessions, *NAMES)
    found = [entry.memory for entry in find.list_memories(ws)]
    assert {memory.keys[0]: memory.source_session for memory in found} == {name: name for name in NAMES}
    assert {memory.source_turn for memory in found} == {f"{name}-0001" for name in NAMES}


def test_the_model_is_sent_each_session_apart(ws: Workspace, claude: Path, sessions: Path) -> None:
    end_all(ws, sessions, *NAMES)
    call = fake_claude.calls(claude)[0]
    assert call["stdin"].count("<conversation>") == call["stdin"].count("</conversation>") == len(NAMES)
    assert "separate" in call["argv"][-1]


def test_each_session_is_a_batch_of_the_log(ws: Workspace, sessions: Path) -> None:
    end_all(ws, sessions, *NAMES)
    batches = {event.batch for event in ws.events.read() if event.what == ask.BATCH}
    assert len(batches) == len(NAMES)


def test_sessions_of_different_projects_share_no_call(ws: Workspace, claude: Path, sessions: Path) -> None:
    for number, name in enumerate(NAMES):
        end(ws, short(sessions, name, cwd=work_folder(f"work-{number % 2}")))
    assert fake_claude.calls(claude) == []
    assert held(ws) == set(NAMES)


def test_many_are_sent_however_little_they_say(ws: Workspace, claude: Path, sessions: Path) -> None:
    for number in range(drain.ENOUGH_SESSIONS):
        assert fake_claude.calls(claude) == []
        session = Transcript(sessions / f"n{number}.jsonl")
        session.human(f"Hello {number}.")
        end(ws, session)
    assert len(fake_claude.calls(claude)) == 1
    assert held(ws) == set()


def test_nothing_is_held_back_for_longer_than_a_week(
    ws: Workspace, clock: SteppingClock, claude: Path, sessions: Path
) -> None:
    end(ws, short(sessions, "one"))
    clock.forward(days=6)
    schedule.sweep(ws)
    assert fake_claude.calls(claude) == []
    clock.forward(days=1)
    schedule.sweep(ws)
    assert count_saved(ws) == sent(claude) == once("one")
    is_finished(ws, sessions, "one")


def test_unsaid_claim_is_refused(ws: Workspace, claude: Path, sessions: Path) -> None:
    claim: dict[str, Any] = {
        "op": "ADD",
        "target": None,
        "title": "x",
        "content": "We use walruses.",
        "kind": "fact",
        "keys": [],
    }
    step = {"operations": [{**claim, "scope": "project", "importance": 3, "paths": [], "quote": "We use walruses."}]}
    fake_claude.set_steps(claude, [step])
    done = end_all(ws, sessions, *NAMES)
    assert [applied.outcome for mined in done for applied in mined.applied] == ["refused"]
    is_finished(ws, sessions, *NAMES)


def test_pack_with_a_locked_session_waits(ws: Workspace, claude: Path, sessions: Path) -> None:
    end_all(ws, sessions, *NAMES[:3])
    with locks.session_locks(ws.home.mining_locks, "two"):
        end(ws, short(sessions, "four"))
        assert fake_claude.calls(claude) == []
    schedule.mine_in_background(ws)
    assert count_saved(ws) == sent(claude) == once(*NAMES)


def test_a_turn_that_two_small_sessions_hold_is_sent_once(ws: Workspace, claude: Path, sessions: Path) -> None:
    end_all(ws, sessions, *NAMES[:2])
    fork = Transcript(sessions / "fork.jsonl")
    fork.raw((sessions / "one.jsonl").read_bytes())
    fork.human(fact("fork"))
    end(ws, fork)
    assert count_saved(ws) == sent(claude) == once(*NAMES[:2], "fork")
    assert held(ws) == set()


# --- failures -----------------------------------------------------------------------------------------------------


def test_after_a_failure_each_is_asked_about_alone_and_only_the_culprit_is_put_aside(
    ws: Workspace, claude: Path, sessions: Path
) -> None:
    ws.settings = replace(ws.settings, max_failures=2)
    fake_claude.set_steps(claude, [REFUSED])
    done = end_all(ws, sessions, *NAMES)
    assert [mined.outcome for mined in done[-4:]] == ["failed"] * 4
    assert ws.state.journal.dead_letters() == []
    fake_claude.set_steps(claude, [REFUSED, ECHO])
    schedule.mine_in_background(ws)
    (dead,) = ws.state.journal.dead_letters()
    assert count_saved(ws) == once(*(name for name in NAMES if name != dead.session))
    assert held(ws) == set()
    assert ws.state.queue.marks() == []
    schedule.retry(ws)
    assert count_saved(ws) == once(*NAMES)


def test_a_failure_postpones_all_of_them(ws: Workspace, clock: SteppingClock, claude: Path, sessions: Path) -> None:
    ws.settings = replace(ws.settings, retry_base_seconds=60)
    fake_claude.set_steps(claude, [REFUSED, ECHO])
    end_all(ws, sessions, *NAMES)
    assert ws.state.ledger.failures() == 1, "it was one call"
    clock.forward(seconds=59)
    schedule.sweep(ws)
    assert len(fake_claude.calls(claude)) == 1
    clock.forward(seconds=1)
    schedule.sweep(ws)
    assert count_saved(ws) == once(*NAMES)
    is_finished(ws, sessions, *NAMES)


def test_after_a_failure_of_the_service_they_still_share_a_call(
    ws: Workspace, clock: SteppingClock, claude: Path, sessions: Path
) -> None:
    ws.settings = replace(ws.settings, retry_base_seconds=60)
    fake_claude.set_steps(claude, [OVERLOADED, ECHO])
    end_all(ws, sessions, *NAMES)
    clock.forward(hours=1)
    schedule.sweep(ws)
    assert len(fake_claude.calls(claude)) == 2
    assert count_saved(ws) == once(*NAMES)


def test_when_the_budget_is_spent_they_wait_for_tomorrow(
    ws: Workspace, clock: SteppingClock, claude: Path, sessions: Path
) -> None:
    ws.settings = replace(ws.settings, daily_calls=0)
    assert end_all(ws, sessions, *NAMES)[-1].outcome == "spent"
    ws.settings = replace(ws.settings, daily_calls=1)
    clock.forward(days=1)
    schedule.sweep(ws)
    assert count_saved(ws) == sent(claude) == once(*NAMES)
    is_finished(ws, sessions, *NAMES)


def test_a_wrong_setting_of_one_session_keeps_no_other_of_the_pack_from_being_mined(
    ws: Workspace, sessions: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "other" / "shop"
    folder.mkdir(parents=True)
    claims = [ws.folders.claim_of(SHOP), ws.folders.claim_of(folder)]
    for claim in claims:
        ws.folders.change(partial(FolderRecord.grant, claim=claim))
    end(ws, short(sessions, "four", cwd=folder))
    (folder / ".memem.toml").write_text("mining = flase\n")
    end_all(ws, sessions, *NAMES[:3])
    assert count_saved(ws) == once(*NAMES[:3])
    assert held(ws) == {"four"}


STEPS: dict[str, tuple[Any, str, int]] = {
    # the object and its function, and how often a pack calls it
    "the tails": (session, "take_tail", 4),
    "the call": (ask, "extract", 1),
    "the answer": (claude_module.Claude, "ask", 1),
    "the journal": (Journal, "add_answer", 4),
    "applying": (ask, "apply", 4),
    "the notes": (write, "put", 4),
    "the cursors": (Sessions, "move_cursor", 4),
    "the end of the journal": (Journal, "finish", 4),
    "the ends of the files": (drain, "_read_to_end", 4),
    "what was held back": (DeferredSessions, "remove_small", 4),
}
PLACES = [(step, number, after) for step in STEPS for number in sorted({1, STEPS[step][2]}) for after in (False, True)]


@pytest.mark.slow(keep=7)
@pytest.mark.parametrize("recovery", ["sweep", "everything"])
@pytest.mark.parametrize(("step", "number", "after"), PLACES)
def test_a_miner_that_ends_at_any_step_of_a_pack_loses_nothing_and_keeps_nothing_twice(
    ws: Workspace,
    clock: SteppingClock,
    claude: Path,
    sessions: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    number: int,
    after: bool,
    recovery: str,
) -> None:
    owner, name, _ = STEPS[step]
    end_all(ws, sessions, *NAMES[:3])
    last = short(sessions, NAMES[3])
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, crash_in_call(number, getattr(owner, name), after=after))
        patched.setattr(drain, "_marked_on_failure", lambda *_: nullcontext())  # whoever is killed marks nothing
        with pytest.raises(Crash):
            end(ws, last)
    ws.close()
    clock.forward(minutes=1)
    if recovery == "everything":
        schedule.mine_all(ws, schedule.unmined_sessions(ws, None), None, lambda *_: None)
    else:
        schedule.sweep(ws)
        clock.forward(days=8)  # what is left may be too little to be sent before
        for each in NAMES:
            os.utime(sessions / f"{each}.jsonl", (clock.ticks() - 2 * schedule.QUIET_SECONDS,) * 2)
        schedule.sweep(ws)
        clock.forward(days=8)
        schedule.sweep(ws)
    assert count_saved(ws) == once(*NAMES)
    is_finished(ws, sessions, *NAMES)
    assert max(sent(claude).values()) <= 2


# --- everything at once -------------------------------------------------------------------------------------------


def test_a_person_who_has_everything_mined_waits_for_no_floor(ws: Workspace, claude: Path, sessions: Path) -> None:
    paths = [short(sessions, name).path for name in NAMES[:2]]
    done = schedule.mine_all(ws, paths, None, lambda *_: None)
    assert sorted(mined.session for mined in done) == sorted(NAMES[:2])
    assert {mined.outcome for mined in done} == {"mined"}
    assert len(fake_claude.calls(claude)) == 1
    assert count_saved(ws) == once(*NAMES[:2])


def test_the_plan_says_how_many_calls_there_will_be(ws: Workspace, claude: Path, sessions: Path) -> None:
    for number in range(drain.MAX_PACKED + 1):
        short(sessions, f"n{number}")
    for number in range(3):
        short(sessions, f"o{number}", cwd=work_folder("other"))
        Transcript(sessions / f"p{number}.jsonl").tells(f"p{number}")
    paths = schedule.unmined_sessions(ws, None)
    planned = history.plan(ws, paths, None, lambda *_: None)
    schedule.mine_all(ws, paths, None, lambda *_: None)
    assert planned.calls == len(fake_claude.calls(claude)) == 2 + 1 + 3
    assert planned.sessions == sum(count_saved(ws).values()) == drain.MAX_PACKED + 7


def test_waiting_sessions_are_mined_with_everything(ws: Workspace, claude: Path, sessions: Path) -> None:
    end(ws, short(sessions, "one"))
    since = consent.opted_in(ws)
    assert schedule.unmined_sessions(ws, since) == [sessions / "one.jsonl"]
    schedule.mine_all(ws, schedule.unmined_sessions(ws, since), since, lambda *_: None)
    assert count_saved(ws) == once("one")
    assert schedule.unmined_sessions(ws, None) == []


def test_progress_counts_the_sessions_that_are_done(ws: Workspace, sessions: Path) -> None:
    long = Transcript(sessions / "long.jsonl")
    long.tells("long")
    paths = [short(sessions, "one").path, long.path, short(sessions, "two").path]
    seen: list[tuple[int, int]] = []
    schedule.mine_all(ws, paths, None, lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3), (0, 3), (1, 3), (1, 3), (3, 3)]


# --- which sessions share a call ----------------------------------------------------------------------------------


def small(name: str, *, project: str = "shop", characters: int = 50, failures: int = 0) -> SmallSession:
    return SmallSession(name, f"/{name}", project, characters, 0, 0, 0.0, failures)


def names(packs: list[list[SmallSession]]) -> list[list[str]]:
    return [[each.session for each in pack] for pack in packs]


def test_one_that_failed_goes_alone() -> None:
    found = drain.group_small([small("a"), small("b", failures=1), small("c"), small("d", project="other")])
    assert names(found) == [["a", "c"], ["d"], ["b"]]


def test_a_pack_is_not_too_large() -> None:
    found = drain.group_small(small(f"n{number}") for number in range(2 * drain.MAX_PACKED + 1))
    assert [len(pack) for pack in found] == [drain.MAX_PACKED, drain.MAX_PACKED, 1]


def test_too_short_session_waits() -> None:
    assert drain.ready_packs([small("a", characters=199)], now=1.0) == []
    assert names(drain.ready_packs([small("a", characters=199), small("b", characters=1)], now=1.0)) == [["a", "b"]]
