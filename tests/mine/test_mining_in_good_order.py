"""Which sessions are mined, in which order, and without one blocking another."""

from dataclasses import replace
from pathlib import Path

import pytest

from memem.core.conversation import OWN_CALL, Chunk, Operation
from memem.core.errors import Busy
from memem.mine import ask, history, locks, schedule
from memem.search.transcripts import consent
from memem.state.sessions import Mark
from memem.workspace import Workspace
from tests import fake_claude
from tests.fakes import SteppingClock
from tests.transcripts import AT_LENGTH, ECHO, Transcript, count_saved, fact, once, open_miner, sent

REFUSED = {"result": {"type": "result", "is_error": True, "result": "API Error: this violates our Usage Policy"}}


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    consent.opt_in(miner)
    return miner


def many(sessions: Path, count: int) -> list[Transcript]:
    made = [Transcript(sessions / f"s{number}.jsonl") for number in range(count)]
    for number, each in enumerate(made):
        each.tells(f"n{number}")
    return made


# --- consent ------------------------------------------------------------------------------------------------------


def test_lost_state_switches_mining_off_and_duplicates_nothing(
    ws: Workspace, clock: SteppingClock, claude: Path, session: Transcript
) -> None:
    session.tells("one")
    schedule.mine_in_background(ws, session.path)
    ws.close()
    for path in ws.home.state.glob("state.db*"):
        path.unlink()
    assert consent.opted_in(ws) is None
    assert schedule.sweep(ws) == []
    clock.now = session.now
    clock.forward(seconds=1)
    consent.opt_in(ws)
    session.tells("two")
    schedule.mine_in_background(ws, session.path)
    assert count_saved(ws) == once("one", "two")


def test_a_miner_at_work_stops_when_mining_is_switched_off(
    ws: Workspace, sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(sessions, 4)
    real = ask.extract

    def extract_and_switch_off(ws: Workspace, *chunks: Chunk) -> list[tuple[Chunk, list[Operation]]]:
        consent.opt_out(ws)
        return real(ws, *chunks)

    monkeypatch.setattr(ask, "extract", extract_and_switch_off)
    assert len(schedule.sweep(ws)) == 1
    assert len(ws.state.queue.marks()) == 3


def test_undated_turns_count_as_before_the_opt_in(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tells("old", timestamp=None)
    session.tells("new")
    session.tells("after", timestamp=None)
    schedule.mine_in_background(ws, session.path)
    assert sent(claude) == once("new", "after")
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("old", "new", "after")


# --- one in another's way -----------------------------------------------------------------------------------------


def test_a_dead_letter_that_fails_again_does_not_keep_the_next_from_being_tried(
    ws: Workspace, claude: Path, sessions: Path
) -> None:
    ws.settings = replace(ws.settings, max_failures=1)
    fake_claude.set_steps(claude, [REFUSED])
    for each in many(sessions, 2):
        schedule.mine_in_background(ws, each.path)
    fake_claude.set_steps(claude, [REFUSED, ECHO])
    assert [mined.outcome for mined in schedule.retry(ws)] == ["failed", "mined"]
    assert count_saved(ws) == once("n1")
    assert len(ws.state.journal.dead_letters()) == 1


def test_a_dead_letter_is_in_the_log(ws: Workspace, claude: Path, session: Transcript) -> None:
    ws.settings = replace(ws.settings, max_failures=1)
    fake_claude.set_steps(claude, [REFUSED])
    session.tells("one")
    (mined,) = schedule.mine_in_background(ws, session.path)
    assert (mined.outcome, mined.buried) == ("buried", 1)
    assert "s1 gave up: " in ws.home.mine_log.read_text(encoding="utf-8")


def test_a_wrong_setting_of_one_project_keeps_no_other_from_being_planned_and_mined(
    ws: Workspace, claude: Path, sessions: Path, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    (wrong / ".memem.toml").write_text("mining = flase\n")
    for number in range(4):
        Transcript(sessions / f"a{number}.jsonl", cwd=wrong).tells(f"a{number}")
    good = Transcript(sessions / "z.jsonl")
    good.tells("good")
    paths = schedule.unmined_sessions(ws, None)
    assert history.plan(ws, paths, None, lambda *_: None).turns == 1
    done = schedule.mine_all(ws, paths, None, lambda *_: None)
    assert [mined.outcome for mined in done] == ["failed"] * 4 + ["mined"]
    assert "is not valid TOML" in done[0].detail


def test_when_the_budget_is_spent_the_other_sessions_are_not_even_read(
    ws: Workspace, sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.settings = replace(ws.settings, daily_calls=0)
    monkeypatch.setattr(ask, "find_neighbours", lambda *_: pytest.fail("nobody can be asked"))
    many(sessions, 4)
    assert [mined.outcome for mined in schedule.sweep(ws)] == ["spent"]
    assert len(ws.state.queue.marks()) == 4


def test_turns_that_one_session_could_not_mine_are_free_for_another(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    session.tells("one")
    fork = Transcript(session.path.with_name("fork.jsonl"))
    fork.raw(session.path.read_bytes())
    fake_claude.set_steps(claude, [REFUSED, ECHO])
    schedule.mine_in_background(ws, session.path)
    session.path.unlink()
    schedule.mine_in_background(ws, fork.path)
    assert count_saved(ws) == once("one")


def test_mining_one_session_leaves_older_marks_alone(ws: Workspace, sessions: Path) -> None:
    asked, *others = many(sessions, 4)
    for other in others:
        ws.state.queue.mark(Mark(other.session, str(other.path)), 0)
    schedule.mine_file(ws, asked.path)
    assert len(ws.state.queue.marks()) == 3
    assert count_saved(ws) == once("n0")


# --- what is there to be mined ------------------------------------------------------------------------------------


def test_duplicate_line_is_sent_once(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tells("one")
    session.raw(session.path.read_bytes())
    schedule.mine_in_background(ws, session.path)
    assert sent(claude) == once("one")


def test_refusal_is_reported(ws: Workspace, session: Transcript, tmp_path: Path) -> None:
    (tmp_path / ".memem.toml").write_text("mining = false\n")
    session.cwd = str(tmp_path / "shop")
    session.tells("one")
    mined = schedule.mine_file(ws, session.path)
    how = f"To allow it, write `mining = true` in {tmp_path / '.memem.toml'}."
    assert (mined.outcome, mined.detail) == (
        "refused",
        f"{tmp_path / 'shop'} opts out of mining (.memem.toml). {how}",
    )


def test_file_that_is_not_a_transcript_is_reported(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Not a session\n")
    mined = schedule.mine_file(ws, tmp_path / "README.md")
    assert (mined.outcome, "is not a Claude Code transcript" in mined.detail) == ("missing", True)


def test_own_call_is_reported_and_does_not_mark_a_namesake(
    ws: Workspace, claude: Path, session: Transcript, tmp_path: Path
) -> None:
    session.human(f"{OWN_CALL} version 1\n{fact('own')}")
    mined = schedule.mine_file(ws, session.path)
    assert (mined.outcome, "never mined" in mined.detail) == ("own", True)
    namesake = Transcript(tmp_path / "elsewhere" / session.path.name)
    namesake.tells("one", uuid="another")
    assert schedule.mine_file(ws, namesake.path).outcome == "mined"


def test_rules_make_nothing_of_a_long_document_that_was_pasted(
    tmp_path: Path, clock: SteppingClock, session: Transcript
) -> None:
    ws = open_miner(tmp_path, clock, MEMEM_EXTRACTOR="rules")
    session.human(f"{AT_LENGTH * 60}\nAlways use tabs for indentation in this repo.")
    assert schedule.mine_file(ws, session.path).applied == ()
    ws.close()


def test_waiting_for_other_miners_is_reported_once(ws: Workspace, session: Transcript) -> None:
    session.tells("one")
    told: list[str] = []
    ws.notice = told.append
    ws.settings = replace(ws.settings, max_miners=1)
    with locks.miner_slot(ws.home.mining_locks, 1), pytest.raises(Busy):
        schedule.mine_file(ws, session.path)
    assert told == ["Waiting for other mining processes."]
    assert schedule.mine_file(ws, session.path).outcome == "mined"
