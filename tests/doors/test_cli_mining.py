"""Mining on the command line: what is printed, what is asked before, and the exit codes."""

import io
import os
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memem.core import background, locks
from memem.core.home import Home
from memem.doors import cli
from memem.mine import schedule
from memem.state import history_progress
from memem.state.history_progress import HistoryProgress
from tests import fake_claude
from tests.command_line import Outcome, Run, Terminal, assert_failed
from tests.transcripts import ECHO, Transcript, fact

FAILING = {"exit": 1, "stderr": "error: something broke"}
FAR = datetime.now().astimezone() + timedelta(hours=1)
"""After any opt-in of a test: said from then on."""


@pytest.fixture
def run(claude: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("PATH", os.pathsep.join((str(claude), os.environ["PATH"])))
    monkeypatch.setenv("MEMEM_RETRY_BASE_SECONDS", "0")

    def call(*arguments: str, answer: str | None = None) -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.StringIO() if answer is None else Terminal(answer))
        code = cli.main(list(arguments))
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture
def session(sessions: Path) -> Transcript:
    """A session with one fact in it."""
    talk = Transcript(sessions / "s1.jsonl", start=FAR)
    talk.tells("one")
    talk.claude("Noted.")
    return talk


def titles(run: Run) -> set[str]:
    done = run("list", "--json")
    return {each["keys"][0] for each in done.data} if done.code == 0 else set()


def switch_on(run: Run, session: Transcript) -> None:
    """Switch mining on before the session begins."""
    written = session.path.read_bytes()
    session.path.unlink()
    run("mining", "on")
    session.path.write_bytes(written)


# --- mine --session -----------------------------------------------------------------------------------------------


def test_a_session_is_mined_without_an_opt_in_since_a_person_asks(run: Run, session: Transcript) -> None:
    done = run("mine", "--session", str(session.path))
    assert (done.code, done.err) == (0, "")
    head, kept = done.out.splitlines()
    assert head == "s1: 2 turns, 1 memory saved"
    assert kept.startswith("  added ")
    assert kept.endswith("  About one (in the words of call 0)")
    assert titles(run) == {"one"}


def test_a_session_without_anything_new_says_so(run: Run, session: Transcript) -> None:
    run("mine", "--session", str(session.path))
    assert run("mine", "--session", str(session.path)) == Outcome(0, "There is nothing new to mine.\n", "")
    assert run("mine", "--session", str(session.path), "--json").data["mined"][0]["outcome"] == "nothing"


def test_mine_json_lists_sessions(run: Run, session: Transcript) -> None:
    data = run("mine", "--session", str(session.path), "--json").data
    assert (set(data), data["plan"], data["detached"]) == ({"plan", "mined", "detached"}, None, False)
    (mined,) = data["mined"]
    assert set(mined) == {"session", "path", "outcome", "detail", "turns", "chunks", "buried", "applied", "project"}
    assert (mined["session"], mined["path"], mined["outcome"]) == ("s1", str(session.path), "mined")
    assert (mined["turns"], mined["chunks"], mined["buried"]) == (2, 1, 0)
    (applied,) = mined["applied"]
    assert set(applied) == {"outcome", "id", "title", "reason"}
    assert applied["outcome"] == "added"


def test_refused_candidates_are_shown_with_the_reason(run: Run, session: Transcript, claude: Path) -> None:
    untrue: dict[str, Any] = {
        "op": "ADD",
        "target": None,
        "title": "Untrue",
        "content": "x",
        "kind": "fact",
        "scope": "project",
    }
    untrue |= {"importance": 3, "keys": [], "paths": [], "quote": "nobody has said this"}
    fake_claude.set_steps(claude, [{"operations": [untrue]}])
    done = run("mine", "--session", str(session.path))
    assert done.out.splitlines() == [
        "s1: 2 turns, 0 memories saved",
        "  refused  Untrue: the text it quotes as evidence is not in the conversation",
    ]


@pytest.mark.parametrize("how", [(), ("--dry-run",), ("--json",), ("--dry-run", "--json")])
def test_mining_a_missing_session_fails(run: Run, tmp_path: Path, how: tuple[str, ...]) -> None:
    assert_failed(run("mine", "--session", str(tmp_path / "gone.jsonl"), *how), "There is no session file")


def test_a_failure_is_one_line_that_says_what_happens_next(run: Run, session: Transcript, claude: Path) -> None:
    fake_claude.set_steps(claude, [FAILING])
    done = run("mine", "--session", str(session.path))
    assert_failed(done, "Session s1: ")
    assert "something broke" in done.err
    assert done.err.endswith("Nothing is lost. Run the command again.\n")
    fake_claude.set_steps(claude, [ECHO])
    assert run("mine", "--session", str(session.path)).code == 0
    assert titles(run) == {"one"}


def test_a_failure_in_json_is_a_result_and_exit_1(run: Run, session: Transcript, claude: Path) -> None:
    fake_claude.set_steps(claude, [FAILING])
    done = run("mine", "--session", str(session.path), "--json")
    assert (done.code, done.err) == (1, "")
    assert done.data["mined"][0]["outcome"] == "failed"
    assert "something broke" in done.data["mined"][0]["detail"]


def test_a_spent_budget_is_a_failure_that_names_the_limit(
    run: Run, session: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEM_DAILY_CALLS", "0")
    done = run("mine", "--session", str(session.path))
    assert_failed(done, "Today's limit of 0 calls has been reached (MEMEM_DAILY_CALLS).")
    assert done.err.endswith("Nothing is lost. Run the same command tomorrow to continue.\n")
    assert (
        "Today's limit of 0 calls has been reached (MEMEM_DAILY_CALLS). Mining continues tomorrow." in run("status").out
    )


def test_without_a_claude_rules_serve(run: Run, sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMEM_EXTRACTOR", "rules")
    talk = Transcript(sessions / "s2.jsonl")
    talk.human("Remember that the staging database listens on port 5433.")
    assert "1 memory saved" in run("mine", "--session", str(talk.path)).out


def test_mine_needs_a_selection(run: Run) -> None:
    assert run("mine").code == 2
    assert run("mine", "--all", "--history").code == 2


def test_interrupted_it_is_130_and_goes_on_later(
    run: Run, session: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(schedule, "mine_all", interrupt)
        assert run("mine", "--history", "--yes").code == 130
    assert run("mine", "--history", "--yes").code == 0
    assert titles(run) == {"one"}


# --- dry runs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", [("--session", "s1.jsonl"), ("--history",), ("--all",)])
def test_a_dry_run_shows_the_plan_and_mines_nothing(
    run: Run, session: Transcript, claude: Path, monkeypatch: pytest.MonkeyPatch, what: tuple[str, ...]
) -> None:
    monkeypatch.chdir(session.path.parent)
    switch_on(run, session)
    os.utime(session.path, (FAR.timestamp(),) * 2)
    done = run("mine", *what, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("1 session, about 1 call to Haiku, about $0.01 (limit today: $2.00); 2 turns, ")
    data = run("mine", *what, "--dry-run", "--json").data
    assert set(data["plan"]) == {"sessions", "turns", "characters", "calls", "dollars"}
    assert (data["mined"], data["detached"]) == ([], False)
    assert fake_claude.calls(claude) == []
    assert titles(run) == set()


def test_a_dry_run_by_rules_names_no_cost(run: Run, session: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMEM_EXTRACTOR", "rules")
    assert run("mine", "--session", str(session.path), "--dry-run").out.startswith(
        "1 session, using rules, no model calls; 2 turns, "
    )


def test_a_dry_run_of_a_retry_calls_no_model(
    run: Run, session: Transcript, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEM_MAX_FAILURES", "1")
    fake_claude.set_steps(claude, [FAILING])
    run("mine", "--session", str(session.path))
    before = len(fake_claude.calls(claude))
    assert run("mine", "--retry", "--dry-run").out.startswith("1 session, about 1 call to Haiku, ")
    assert len(fake_claude.calls(claude)) == before


# --- history ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["y\n", "YES\n", " yes \n"])
def test_the_history_is_mined_after_a_person_agreed_to_the_plan(run: Run, session: Transcript, answer: str) -> None:
    done = run("mine", "--history", answer=answer)
    assert done.code == 0
    plan, head, _ = done.out.splitlines()
    assert plan.startswith("1 session, about 1 call to Haiku, ")
    assert head == "s1: 2 turns, 1 memory saved"
    assert done.err == "Mine all of it? [y/N]\n"


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "no\n", "maybe\n"])
def test_anything_but_yes_mines_nothing(run: Run, session: Transcript, claude: Path, answer: str) -> None:
    done = run("mine", "--history", answer=answer)
    assert (done.code, done.out.splitlines()[-1]) == (0, "Nothing was mined.")
    assert fake_claude.calls(claude) == []


def test_history_is_not_mined_without_a_terminal_or_yes(run: Run, session: Transcript, claude: Path) -> None:
    done = run("mine", "--history")
    assert done.code == 1
    assert "--yes" in done.err
    assert fake_claude.calls(claude) == []


def test_yes_skips_the_question(run: Run, session: Transcript) -> None:
    done = run("mine", "--history", "--yes")
    assert (done.code, done.err) == (0, "")
    assert titles(run) == {"one"}


def test_the_history_in_json_is_json_and_nothing_else(run: Run, session: Transcript) -> None:
    done = run("mine", "--history", "--yes", "--json")
    assert (done.data["plan"]["sessions"], [mined["session"] for mined in done.data["mined"]]) == (1, ["s1"])
    assert done.err.startswith("1 session, ")


def test_a_history_that_is_mined_has_nothing_more(run: Run, session: Transcript) -> None:
    run("mine", "--history", "--yes")
    assert run("mine", "--history") == Outcome(0, "There is nothing to mine.\n", "")
    assert run("mine", "--history", "--json").data["mined"] == []


def test_the_history_reaches_back_before_the_opt_in(run: Run, sessions: Path) -> None:
    old = Transcript(sessions / "old.jsonl")
    old.tells("ancient")
    run("mining", "on")
    assert run("mine", "--all").out == "All sessions have been mined.\n"
    run("mine", "--history", "--yes")
    assert titles(run) == {"ancient"}


# --- all ----------------------------------------------------------------------------------------------------------


def test_all_needs_the_opt_in(run: Run, session: Transcript) -> None:
    assert_failed(run("mine", "--all"), "`memem mine on`")


def test_all_mines_every_session_that_is_behind(run: Run, sessions: Path, session: Transcript) -> None:
    switch_on(run, session)
    second = Transcript(sessions / "s2.jsonl", start=FAR)
    second.tells("two")
    for path in sessions.iterdir():
        os.utime(path, (FAR.timestamp(),) * 2)
    done = run("mine", "--all")
    assert [line for line in done.out.splitlines() if not line.startswith(" ")] == [
        "s1: 2 turns, 1 memory saved",
        "s2: 1 turn, 1 memory saved",
    ]
    assert run("mine", "--all") == Outcome(0, "All sessions have been mined.\n", "")
    assert run("mine", "--all", "--json").data["mined"] == []


# --- retry --------------------------------------------------------------------------------------------------------


def test_retry_without_dead_letters_does_nothing(run: Run) -> None:
    assert run("mine", "--retry") == Outcome(0, "There is nothing to retry.\n", "")
    assert run("mine", "--retry", "--json").data["mined"] == []


def test_repeated_failures_become_dead_letters_that_can_be_retried(
    run: Run, session: Transcript, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEM_MAX_FAILURES", "1")
    fake_claude.set_steps(claude, [FAILING])
    done = run("mine", "--session", str(session.path))
    assert_failed(done, "`memem mine --retry` tries again")
    assert_failed(run("mine", "--retry"), "something broke")
    fake_claude.set_steps(claude, [ECHO])
    assert run("mine", "--retry").code == 0
    assert titles(run) == {"one"}
    assert run("mine", "--retry").out == "There is nothing to retry.\n"


# --- in the background --------------------------------------------------------------------------------------------


def test_without_an_opt_in_nothing_is_mined_in_the_background(run: Run, session: Transcript, claude: Path) -> None:
    assert run("mine", "--background", "--session", str(session.path)) == Outcome(0, "", "")
    assert run("mine", "--sweep") == Outcome(0, "", "")
    assert fake_claude.calls(claude) == []


def test_the_background_says_nothing_and_writes_its_log(run: Run, session: Transcript, home: Home) -> None:
    switch_on(run, session)
    assert run("mine", "--background", "--session", str(session.path), "--flush") == Outcome(0, "", "")
    assert titles(run) == {"one"}
    (line,) = home.mine_log.read_text().splitlines()
    assert "s1 mined: 2 turns, 1 saved" in line


def test_a_failure_in_the_background_is_in_the_log_alone(
    run: Run, session: Transcript, claude: Path, home: Home
) -> None:
    switch_on(run, session)
    fake_claude.set_steps(claude, [FAILING])
    assert run("mine", "--background", "--session", str(session.path)) == Outcome(0, "", "")
    assert "s1 failed: " in home.mine_log.read_text()
    assert "something broke" in home.mine_log.read_text()


def test_unusable_state_is_reported_or_logged_in_the_background(run: Run, session: Transcript, home: Home) -> None:
    run("mining", "on")
    home.state_file.write_bytes(b"this is not a database " * 100)
    assert_failed(run("mine", "--session", str(session.path)), "`memem mine on` sets it aside")
    assert run("mine", "--background", "--session", str(session.path)) == Outcome(0, "", "")
    assert "StateUnusable: The state " in home.mine_log.read_text()


def test_a_sweep_mines_unmined_sessions(run: Run, session: Transcript) -> None:
    switch_on(run, session)
    os.utime(session.path, (FAR.timestamp(),) * 2)
    assert run("mine", "--sweep") == Outcome(0, "", "")
    assert titles(run) == {"one"}


# --- mining -------------------------------------------------------------------------------------------------------


def test_mining_is_off_until_it_is_switched_on(run: Run, home: Home) -> None:
    assert run("mining").out == "Mining is off. `memem mine on` switches it on for new sessions.\n"
    assert not home.opt_in.exists()
    done = run("mining", "on")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Mining is on for sessions since 20")
    assert "`memem mine --all` mines pending sessions now" in done.out
    assert run("mining").out == done.out


def test_switching_it_on_again_does_not_move_its_beginning(run: Run, home: Home) -> None:
    run("mining", "on")
    before = home.opt_in.read_bytes()
    run("mining", "on")
    assert home.opt_in.read_bytes() == before


def test_a_marker_without_the_state_it_was_made_with_counts_for_nothing(run: Run, home: Home) -> None:
    run("mining", "on")
    home.opt_in.write_text("2026-01-02T03:04:05+01:00\n")
    assert run("mining").out.startswith("Mining is off")
    assert "since 2026-01-02" not in run("mining", "on").out


def test_mining_can_be_switched_off_again_and_twice(run: Run, home: Home) -> None:
    run("mining", "on")
    for _ in range(2):
        assert run("mining", "off").out.startswith("Mining is off.")
    assert not home.opt_in.exists()


def test_the_opt_in_is_private_and_says_since_when(run: Run, home: Home) -> None:
    run("mining", "on")
    assert home.opt_in.stat().st_mode & 0o077 == 0
    assert datetime.fromisoformat(home.opt_in.read_text().strip()).tzinfo


def test_mining_is_on_or_off(run: Run) -> None:
    assert run("mining", "perhaps").code == 2


# --- why ----------------------------------------------------------------------------------------------------------


def mined_id(run: Run, session: Transcript) -> str:
    run("mine", "--session", str(session.path))
    (entry,) = run("list", "--json").data
    return str(entry["id"])


def test_why_shows_the_memory_and_the_turn_with_its_neighbours(run: Run, session: Transcript) -> None:
    done = run("why", mined_id(run, session)[:8])
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith("About one")
    (quoted,) = [line for line in lines if line.startswith("> you, 20")]
    assert quoted.endswith(f": {fact('one').partition(': ')[2]}")
    assert f"From {session.path}:" in lines
    (said,) = [line for line in lines if line.startswith(">> ")]
    assert said.startswith(">> human, 20")
    assert "     Noted." in lines


def test_why_in_json(run: Run, session: Transcript) -> None:
    result = run("why", mined_id(run, session), "--json").data
    data = result["memory"]
    assert (set(result), result["decision"]) == ({"decision", "memory"}, None)
    assert set(data) == {"entry", "transcript", "turns", "place", "note", "injections", "usefulness"}
    assert set(data["turns"][0]) == {
        "uuid",
        "role",
        "text",
        "time",
        "session",
        "cwd",
        "branch",
        "place",
        "proposal",
        "repeats",
        "pasted",
    }
    assert (data["place"], data["turns"][0]["role"], data["note"]) == (0, "human", "")
    assert data["entry"]["source_turn"] == data["turns"][0]["uuid"]


def test_why_shortens_long_turns(run: Run, sessions: Path) -> None:
    talk = Transcript(sessions / "s1.jsonl")
    talk.human(f"{fact('one')}\n{'word ' * 1_000}")
    done = run("why", mined_id(run, talk))
    assert " […]" in done.out
    assert len(done.out) < 2_000


def test_why_reports_a_deleted_transcript_and_succeeds(run: Run, session: Transcript) -> None:
    identity = mined_id(run, session)
    session.path.unlink()
    done = run("why", identity)
    assert done.code == 0
    assert (
        done.out.splitlines()[-1] == "The transcript of session s1 is gone; Claude Code keeps transcripts for 30 days."
    )


def test_why_of_a_persons_own_memory(run: Run) -> None:
    saved = run("save", "A fact.", "--json").data["id"]
    assert run("why", saved).out.endswith("\nIt was saved by a person, not mined from a session.\n")


def test_why_of_nothing_is_a_failure(run: Run) -> None:
    run("save", "A fact.")
    assert_failed(run("why", "ffffffff"), "No memory has the id")


# --- mine --detach ------------------------------------------------------------------------------------------------


def test_detach_mines_a_session_in_another_process(
    run: Run, session: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(background, "start_memem", lambda arguments, *_, **__: started.append(list(arguments)))
    run("mining", "on")
    done = run("mine", "--session", str(session.path), "--detach")
    assert (done.code, done.out) == (0, "")
    assert "in the background" in done.err
    assert started == [["mine", "--background", "--session", str(session.path)]]


def test_history_goes_on_in_the_background_once_somebody_has_agreed(
    run: Run, session: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(background, "start_memem", lambda arguments, *_, **__: started.append(list(arguments)))
    failed_to_ask = run("mine", "--history", "--detach")
    assert (failed_to_ask.code, started) == (1, [])
    done = run("mine", "--history", "--detach", "--yes")
    assert (done.code, started) == (0, [["mine", "--history", "--background"]])
    assert "1 session, " in done.out
    assert "in the background" in done.err
    assert run(*started[0]) == Outcome(0, "", "")
    assert titles(run) == {"one"}


@pytest.mark.parametrize("how", [(), ("--detach",)])
def test_a_second_run_over_the_history_says_how_far_the_first_is(
    run: Run, home: Home, session: Transcript, monkeypatch: pytest.MonkeyPatch, how: tuple[str, ...]
) -> None:
    started: list[object] = []
    monkeypatch.setattr(background, "start_memem", lambda *given, **_: started.append(given))
    running = HistoryProgress("running", 12, 26, 14, 0.04, 0, "2026-03-01T09:00:00+01:00").of_this_process()
    history_progress.write(home.history_file, running)
    assert_failed(run("mine", "--history", "--yes", *how), "History mining is already running: 12 of 26 sessions.")
    assert started == []
    assert titles(run) == set()


def test_a_second_run_in_the_background_mines_nothing_and_logs_why(run: Run, home: Home, session: Transcript) -> None:
    home.history_lock.parent.mkdir(parents=True, exist_ok=True)
    with locks.holding(home.history_lock, 0):
        assert run("mine", "--history", "--background") == Outcome(0, "", "")
    assert "History mining is already running." in home.mine_log.read_text()
    assert titles(run) == set()


def test_nothing_is_detached_without_an_opt_in(run: Run, session: Transcript) -> None:
    assert_failed(run("mine", "--session", str(session.path), "--detach"), "`memem mine on`")
    assert_failed(run("mine", "--all", "--detach"), "--session FILE or --history")
    assert run("mine", "--session", str(session.path), "--detach", "--dry-run").code == 2


# --- how it stands ------------------------------------------------------------------------------------------------


def test_mining_prints_its_state(run: Run, session: Transcript) -> None:
    assert run("mining", "--json").data["since"] == ""
    run("mine", "--session", str(session.path))
    stands = run("mining", "on", "--json").data
    assert stands["since"]
    assert (stands["extractor"], stands["calls_today"], stands["problem"]) == ("claude, haiku", 1, "")
    assert [(each["session"], each["outcome"], each["calls"]) for each in stands["last"]] == [("s1", "mined", 1)]


def test_status_shows_mined_and_pending_sessions_and_cost(run: Run, session: Transcript, claude: Path) -> None:
    assert "mining\toff" in run("status").out
    run("mining", "on")
    run("mine", "--session", str(session.path))
    fake_claude.set_steps(claude, [FAILING])
    session.tells("two", timestamp=FAR.isoformat())
    run("mine", "--session", str(session.path))
    shown = dict(line.split("\t", 1) for line in run("status").out.splitlines())
    assert shown["mining"].startswith("on since ")
    assert shown["to be mined"] == "1 session"
    assert shown["spent today"].startswith("2 calls, ")
    assert "s1 failed: " in shown["session"]


def test_status_tells_of_dead_letters(
    run: Run, session: Transcript, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEM_MAX_FAILURES", "1")
    fake_claude.set_steps(claude, [FAILING])
    run("mine", "--session", str(session.path))
    status = run("status").out
    assert "failed parts\t1; `memem mine --retry` tries again" in status
    assert "s1 gave up: " in status
    assert "failed parts\tdegraded\t1 part of a session could not be mined" in run("doctor").out
    assert "dead letters" in [each["what"] for each in run("doctor", "--json").data]


def test_mining_on_replaces_a_damaged_state(run: Run, session: Transcript, home: Home) -> None:
    run("mining", "on")
    rubbish = b"this is not a database " * 100
    home.state_file.write_bytes(rubbish)
    for left in home.state.glob("state.db-*"):
        left.unlink()
    assert run("mining", "on").code == 0
    assert home.state_file.with_name("state.db.damaged").read_bytes() == rubbish
    assert "is damaged" not in run("status").out


def test_status_says_that_mining_has_lost_its_state(run: Run, home: Home) -> None:
    run("mining", "on")
    for left in home.state.glob("state.db*"):
        left.unlink()
    assert "Mining is off: the state database that recorded it as on is gone" in run("status").out
    run("mining", "on")
    assert "is gone" not in run("status").out


def test_status_shows_a_damaged_state(run: Run, session: Transcript, home: Home) -> None:
    run("mine", "--session", str(session.path))
    home.state_file.write_bytes(b"this is not a database " * 100)
    for left in home.state.glob("state.db-*"):
        left.unlink()
    assert "is damaged" in run("status").out


# --- status -------------------------------------------------------------------------------------------------------


def test_status_shows_small_sessions_and_the_history_run(run: Run, sessions: Path) -> None:
    run("mining", "on")
    talk = Transcript(sessions / "short.jsonl", start=FAR)
    talk.human(fact("one"))
    run("mine", "--background", "--flush", "--session", str(talk.path))
    assert "1 waiting to be mined as a batch" in run("status").out
    run("mining", "off")
    assert "waiting to be mined as a batch" not in run("status").out
    run("mining", "on")
    assert run("mine", "--history", "--yes").code == 0
    status = run("status")
    assert "waiting to be mined as a batch" not in status.out
    assert "done: 1 session, 1 memory, $0.00" in status.out
    mining = run("status", "--json").data["mining"]
    assert (mining["held_back"], mining["history"]["state"], mining["history"]["sessions_done"]) == (0, "done", 1)
