"""Mining a session that grows, is rewritten, copied, resumed: every turn is sent once; what may not be sent, never."""

import json
import os
import shutil
import stat
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from memem.core.conversation import OWN_CALL
from memem.core.errors import NotFound
from memem.core.evidence import strip_speakers
from memem.core.home import OWN_FOLDER
from memem.mine import ask, schedule
from memem.notes import save
from memem.search import find, refresh
from memem.search.transcripts import consent
from memem.state.sessions import Mark
from memem.transcript.deeds import MAX_TARGET_CHARS
from memem.workspace import Workspace
from tests import fake_claude
from tests.fakes import START, SteppingClock
from tests.transcripts import AT_LENGTH, ECHO, SHOP, Transcript, count_saved, fact, once, open_miner, sent, work_folder

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    return miner


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def stop(ws: Workspace, session: Transcript, **more: object) -> list[ask.Mined]:
    """Do what the Stop hook starts."""
    return schedule.mine_in_background(ws, session.path, **more)  # type: ignore[arg-type]


def state_bytes(ws: Workspace) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(ws.home.state.rglob("*")) if path.is_file())


# What is mined


def test_a_session_is_mined_and_then_only_what_is_new_in_it(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tells("one")
    assert schedule.mine_file(ws, session.path).outcome == "mined"
    session.tells("two")
    assert schedule.mine_file(ws, session.path).turns == 1
    assert schedule.mine_file(ws, session.path).outcome == "nothing"
    assert count_saved(ws) == sent(claude) == once("one", "two")


def test_a_memory_names_its_session_and_turn_and_carries_the_words(ws: Workspace, session: Transcript) -> None:
    session.claude("What shall I keep in mind?")
    uuid = session.tells("one")
    mined = schedule.mine_file(ws, session.path)
    memory = find.get(ws, mined.applied[0].id).memory
    assert (memory.source_session, memory.source_turn, memory.source_type) == ("s1", uuid, "mined")
    assert strip_speakers(memory.evidence) == fact("one").partition(": ")[2]
    assert memory.project == "shop"


def test_untyped_text_is_never_sent(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tells("one")
    session.tells("sidechain", isSidechain=True)
    session.tells("meta", isMeta=True)
    session.tells("summary", isCompactSummary=True)
    session.tool_failed(fact("output"))
    session.shows(fact("shown"))
    session.human(f"<command-name>/x</command-name>\n{fact('command')}")
    session.add(type="queue-operation", content=fact("queued"))
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one")


def test_work_between_turns_is_summarised(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tool("Edit", file_path=f"{SHOP}/cart.py")
    session.tool_succeeded()
    session.tool("Edit", file_path=f"{SHOP}/basket.py")
    session.tool_failed("The user doesn't want to proceed with this tool use.")
    session.tool("Bash", command=f"cd {SHOP} && make check")
    session.tool_failed("Exit code 2\nModuleNotFoundError: No module named 'basket'\n2 failed, 3 passed in 0.12s")
    session.tells("one")
    schedule.mine_file(ws, session.path)
    said = fake_claude.calls(claude)[0]["stdin"]
    assert (
        """files written: cart.py
tests: 2 failed, 3 passed
commands:
- make check: failed (2)
errors:
- ModuleNotFoundError: No module named 'basket'
"""
        in said
    )
    assert "basket.py" not in said


def test_a_result_is_paired_with_a_call_of_an_earlier_run(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tells("one")
    session.tool("Write", file_path=f"{SHOP}/cart.py")
    session.tells("two")  # while the tool runs
    schedule.mine_file(ws, session.path)
    session.tool_succeeded()
    session.tells("three")
    schedule.mine_file(ws, session.path)
    first, second = (call["stdin"] for call in fake_claude.calls(claude))
    assert "cart.py" not in first
    assert "files written: cart.py" in second


def test_paths_are_relative_to_the_project_wherever_claude_works(
    ws: Workspace, claude: Path, session: Transcript, tmp_path: Path
) -> None:
    root, inner = tmp_path / "root", tmp_path / "root" / "web" / "src"
    inner.mkdir(parents=True)
    (root / ".memem.toml").write_text('project = "web"\n')
    session.cwd = str(inner)
    for file in (f"{root}/README.md", f"{inner}/app.ts", "/etc/hosts", "/home/ada/.zshrc"):
        session.tool("Write", file_path=file)
        session.tool_succeeded()
    session.tells("one")
    schedule.mine_file(ws, session.path)
    said = fake_claude.calls(claude)[0]["stdin"]
    assert "files written: README.md, web/src/app.ts, hosts, ~/.zshrc\n" in said


@pytest.mark.parametrize("failing", range(3))
def test_long_session_is_mined_in_separately_finished_chunks(
    ws: Workspace, claude: Path, session: Transcript, failing: int
) -> None:
    names = [f"n{number}" for number in range(12)]
    for name in names:
        session.human(f"{fact(name)}\n{'word ' * 1_000}")
    fake_claude.set_steps(claude, [ECHO] * failing + [{"exit": 1}])
    assert schedule.mine_file(ws, session.path).outcome == "failed"
    assert count_saved(ws) == once(*names[: 4 * failing])
    fake_claude.set_steps(claude, [ECHO])
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == once(*names)
    assert sum(sent(claude).values()) == len(names) + 4  # those that failed, twice


def test_a_session_that_changes_its_project_is_mined_for_each(ws: Workspace, session: Transcript) -> None:
    session.tells("one")
    session.cwd = str(work_folder("other"))
    session.tells("two")
    schedule.mine_file(ws, session.path)
    projects = {entry.memory.keys[0]: entry.memory.project for entry in find.list_memories(ws)}
    assert projects == {"one": "shop", "two": "other"}


# What waits


def test_a_few_words_wait_for_more(ws: Workspace, claude: Path, session: Transcript) -> None:
    consent.opt_in(ws)
    session.human(fact("one"))
    assert [mined.outcome for mined in stop(ws, session)] == ["waiting"]
    assert fake_claude.calls(claude) == []
    session.tells("two")
    stop(ws, session)
    assert count_saved(ws) == sent(claude) == once("one", "two")


def test_a_person_has_a_session_mined_however_short_it_is(ws: Workspace, session: Transcript) -> None:
    consent.opt_in(ws)
    session.human(fact("one"))
    stop(ws, session)
    assert schedule.mine_file(ws, session.path).outcome == "mined"
    assert count_saved(ws) == once("one")


def test_a_session_that_has_been_quiet_for_long_has_ended_for_a_sweep(
    ws: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    consent.opt_in(ws)
    session.human(fact("one"))
    clock.forward(hours=1)
    os.utime(session.path, (clock.ticks() - 60,) * 2)
    assert [mined.outcome for mined in schedule.sweep(ws)] == ["waiting"]
    assert ws.state.deferred.small() == [], "it may go on"
    clock.forward(hours=1)
    assert [mined.outcome for mined in schedule.sweep(ws)] == ["waiting"]
    assert [each.session for each in ws.state.deferred.small()] == ["s1"], "it has ended"


def test_a_wish_to_flush_outlives_later_marks(ws: Workspace, session: Transcript) -> None:
    ws.state.queue.mark(Mark("s1", str(session.path), flush=True), 1)
    ws.state.queue.mark(Mark("s1", str(session.path)), 2)
    assert ws.state.queue.marks() == [Mark("s1", str(session.path), flush=True)]


def test_an_answer_that_is_not_in_the_file_yet_is_waited_for(
    ws: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    consent.opt_in(ws)
    session.tells("one")
    pauses = []

    def pause(seconds: float) -> None:
        clock.forward(seconds=seconds)
        pauses.append(seconds)
        if len(pauses) == 3:
            session.claude(fact("two"))

    ws.pause = pause
    stop(ws, session, last_message=fact("two"))
    assert len(pauses) == 3
    assert count_saved(ws) == once("one", "two")


def test_an_answer_that_never_comes_is_waited_for_two_seconds(
    ws: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    consent.opt_in(ws)
    session.tells("one")
    before = clock.now
    stop(ws, session, last_message="Never said.")
    assert timedelta(seconds=2) <= clock.now - before < timedelta(seconds=2.2)
    assert count_saved(ws) == once("one")


def test_deltas_without_anything_to_mine_do_not_switch_mining_off(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    consent.opt_in(ws)
    for _ in range(5):
        session.tool("Bash", command="make")
        assert [mined.outcome for mined in stop(ws, session)] == ["nothing"]
    fake_claude.set_steps(claude, [{"operations": []}])
    for number in range(5):
        session.human(f"{number} {AT_LENGTH}")
        assert [mined.outcome for mined in stop(ws, session)] == ["mined"]
    fake_claude.set_steps(claude, [ECHO])
    session.tells("one")
    stop(ws, session)
    assert count_saved(ws) == once("one")


def test_sweep_finds_a_session_without_a_stop_hook(ws: Workspace, claude: Path, session: Transcript) -> None:
    consent.opt_in(ws)
    session.tells("one")
    schedule.sweep(ws)
    assert schedule.sweep(ws) == []
    session.tells("two")
    schedule.sweep(ws)
    assert count_saved(ws) == sent(claude) == once("one", "two")


# What state a file is in


def test_a_line_that_is_half_written_is_mined_once_it_is_whole(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    session.tells("one")
    message = {"role": "user", "content": fact("two")}
    line = json.dumps(session.line(type="user", message=message)).encode() + b"\n"
    for end in (1, len(line) // 2, len(line) - 2):
        session.raw(line[:end])
        schedule.mine_file(ws, session.path)
        assert count_saved(ws) == once("one")
        os.truncate(session.path, session.path.stat().st_size - end)
    session.raw(line)
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one", "two")


def test_a_line_that_grows_while_it_is_mined_is_mined_once(ws: Workspace, claude: Path, session: Transcript) -> None:
    message = {"role": "user", "content": f"{fact('one')}\n{AT_LENGTH}"}
    line = json.dumps(session.line(type="user", message=message)).encode() + b"\n"
    step = len(line) // 7
    for start in range(0, len(line), step):
        session.raw(line[start : start + step])
        schedule.mine_file(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one")


def test_restarted_file_is_mined_on(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tells("one")
    session.tells("two")
    schedule.mine_file(ws, session.path)
    session.path.write_bytes(b"")
    session.tells("three")
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one", "two", "three")


def test_a_file_that_is_shortened_and_grows_again_is_mined_on(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tells("one")
    size = session.path.stat().st_size
    session.tells("two")
    schedule.mine_file(ws, session.path)
    os.truncate(session.path, size)
    schedule.mine_file(ws, session.path)
    session.tells("three")
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one", "two", "three")


def test_only_new_turns_of_a_rewritten_file_are_mined(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tells("one")
    session.tells("two")
    schedule.mine_file(ws, session.path)
    lines = session.path.read_bytes().splitlines(keepends=True)
    session.path.write_bytes(b'{"type": "summary", "summary": "About services"}\n' + b"".join(reversed(lines)))
    session.tells("three")
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one", "two", "three")


def test_a_file_that_is_replaced_by_a_copy_is_not_mined_again(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tells("one")
    schedule.mine_file(ws, session.path)
    copy = session.path.with_suffix(".copy")
    shutil.copy(session.path, copy)
    copy.replace(session.path)
    assert schedule.mine_file(ws, session.path).outcome == "nothing"
    session.tells("two")
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one", "two")


def test_a_session_that_is_resumed_under_another_name_is_mined_from_where_it_goes_on(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    session.tells("one")
    schedule.mine_file(ws, session.path)
    resumed = Transcript(session.path.with_name("s2.jsonl"))
    resumed.raw(session.path.read_bytes().replace(b'"sessionId": "s1"', b'"sessionId": "s2"'))
    resumed.tells("two")
    schedule.mine_file(ws, resumed.path)
    assert count_saved(ws) == sent(claude) == once("one", "two")


def test_a_fork_of_a_session_that_waits_after_a_failure_is_mined_and_nothing_twice(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    session.tells("one")
    fork = Transcript(session.path.with_name("s2.jsonl"))
    fork.raw(session.path.read_bytes())
    session.tells("two")
    fork.tells("three")
    fake_claude.set_steps(claude, [{"exit": 1}])
    schedule.mine_file(ws, session.path)
    fake_claude.set_steps(claude, [ECHO])
    schedule.mine_file(ws, fork.path)
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == once("one", "two", "three")


def test_unmined_turns_of_a_deleted_session_are_mined_from_its_fork(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    session.tells("one")
    fork = Transcript(session.path.with_name("s2.jsonl"))
    fork.raw(session.path.read_bytes())
    fork.tells("two")
    fake_claude.set_steps(claude, [{"exit": 1}])
    schedule.mine_file(ws, session.path)
    fake_claude.set_steps(claude, [ECHO])
    schedule.mine_file(ws, fork.path)  # the turn is still the first session's
    session.path.unlink()
    schedule.mine_file(ws, fork.path)
    assert count_saved(ws) == once("one", "two")


@pytest.mark.parametrize("bad", ["\\ud83d", "\\u0000", "\\udc00\\ud800"])
def test_half_characters_and_nul_lose_nothing(ws: Workspace, claude: Path, session: Transcript, bad: str) -> None:
    session.tells("one")
    session.path.write_text(session.path.read_text().replace("at some length", f"at some {bad} length"))
    session.tells("two")
    text = session.path.read_text()
    session.path.write_text(text.replace("The service called svc-two", f"The {bad} service called svc-two"))
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one", "two")


def test_invalid_bytes_lose_nothing(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tells("one")
    session.raw(b"\0\0\xff\xfe\n{broken\n[]\n42\n")
    session.path.write_bytes(session.path.read_bytes().replace(b"at some length", b"at \xff\0 length"))
    session.tells("two")
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one", "two")


@pytest.mark.parametrize("cwd", ["", "relative", "/srv/\0/shop", "/srv/" + "x" * 300, "/srv/\udcff", "C:\\srv\\shop"])
def test_turn_is_mined_for_any_folder_name(ws: Workspace, claude: Path, session: Transcript, cwd: str) -> None:
    session.cwd = cwd
    session.tells("one")
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one")


def test_a_transcript_that_is_not_there_is_not_marked_as_mined(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    consent.opt_in(ws)
    session.tells("one")
    elsewhere = session.path.rename(session.path.with_suffix(".away"))
    with pytest.raises(NotFound):
        schedule.mine_file(ws, session.path)
    assert [mined.outcome for mined in stop(ws, session)] == ["missing"]
    elsewhere.rename(session.path)
    stop(ws, session)
    assert count_saved(ws) == sent(claude) == once("one")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs permissions that hold")
def test_unreadable_transcript_does_not_block_others(ws: Workspace, claude: Path, session: Transcript) -> None:
    consent.opt_in(ws)
    session.tells("one")
    session.path.chmod(0)
    _is_in_nobodys_way(ws, session)
    session.path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    stop(ws, session)
    assert count_saved(ws) == sent(claude) == once("one", "two")


def test_folder_in_place_of_a_transcript_does_not_block_others(ws: Workspace, session: Transcript) -> None:
    consent.opt_in(ws)
    session.path.unlink()
    session.path.mkdir()
    _is_in_nobodys_way(ws, session)


def test_broken_project_setting_does_not_block_others(
    ws: Workspace, claude: Path, session: Transcript, project: Path
) -> None:
    consent.opt_in(ws)
    (project / ".memem.toml").write_text("mining = maybe")
    session.cwd = str(project)
    session.tells("one")
    _is_in_nobodys_way(ws, session)
    assert "is not valid TOML" in ws.home.mine_log.read_text(encoding="utf-8")
    (project / ".memem.toml").write_text("mining = true")
    stop(ws, session)
    assert count_saved(ws) == sent(claude) == once("one", "two")


def _is_in_nobodys_way(ws: Workspace, session: Transcript) -> None:
    other = Transcript(session.path.with_name("other.jsonl"))
    other.tells("two")
    ws.state.queue.mark(Mark(session.session, str(session.path)), 0)
    stop(ws, other)
    assert count_saved(ws) == once("two")


@pytest.mark.parametrize("name", ["../../x", "..", "/etc/x", "a\\..\\b", "-rf", "x" * 200])
def test_a_sessions_name_is_never_a_path(ws: Workspace, tmp_path: Path, session: Transcript, name: str) -> None:
    consent.opt_in(ws)
    session.tells("one")
    before = {path for path in tmp_path.rglob("*") if ws.home.root not in path.parents}
    ws.state.queue.mark(Mark(name, str(session.path)), 1)
    mined = schedule.mine_in_background(ws, None)
    assert [(each.session, each.outcome) for each in mined] == [(name, "mined")]
    new = {path for path in tmp_path.rglob("*") if ws.home.root not in path.parents} - before
    ours = (ws.store.paths.ours, *ws.store.paths.ours.parents)
    assert all(ws.store.paths.ours in path.parents or path in ours or "claude" in path.parts for path in new)
    assert not any("x" * 200 in path.name or path.name.startswith(("x", "-rf")) for path in ws.home.root.rglob("*"))


def test_file_with_an_undecodable_name_is_skipped(ws: Workspace, session: Transcript) -> None:
    consent.opt_in(ws)
    odd = Path(os.fsdecode(os.fsencode(session.path.parent) + b"/\xff.jsonl"))
    try:
        odd.write_bytes(b"{}\n")
    except OSError:
        pytest.skip("this file system takes no such name")
    session.tells("one")
    schedule.sweep(ws)
    assert count_saved(ws) == once("one")


# What may be mined


def test_nothing_is_mined_in_the_background_without_an_opt_in(ws: Workspace, claude: Path, session: Transcript) -> None:
    session.tells("one")
    assert stop(ws, session) == schedule.sweep(ws) == []
    assert not schedule.start_miner(ws, session.path)
    assert fake_claude.calls(claude) == []
    assert not ws.home.opt_in.exists()


def test_opting_out_stops_mining(ws: Workspace, claude: Path, session: Transcript) -> None:
    consent.opt_in(ws)
    consent.opt_out(ws)
    session.tells("one")
    assert stop(ws, session) == []
    assert fake_claude.calls(claude) == []


def test_nothing_is_mined_from_within_a_call_of_ours(
    tmp_path: Path, clock: SteppingClock, claude: Path, session: Transcript
) -> None:
    ws = open_miner(tmp_path, clock, MEMEM_HOOKS_OFF="1")
    consent.opt_in(ws)
    session.tells("one")
    assert stop(ws, session) == schedule.sweep(ws) == []
    assert not schedule.start_miner(ws, session.path)
    ws.close()


def test_turns_before_the_opt_in_are_left_to_history_mining(
    ws: Workspace, clock: SteppingClock, claude: Path, session: Transcript
) -> None:
    session.tells("before")
    clock.forward(hours=1)
    since = consent.opt_in(ws)
    session.now = clock.now
    session.tells("after")
    stop(ws, session)
    assert count_saved(ws) == sent(claude) == once("after")
    assert schedule.unmined_sessions(ws, since) == []
    assert schedule.unmined_sessions(ws, None) == [session.path]
    schedule.mine_all(ws, schedule.unmined_sessions(ws, None), None, lambda *_: None)
    assert count_saved(ws) == sent(claude) == once("after", "before")
    assert schedule.unmined_sessions(ws, None) == []


def test_a_session_that_is_older_than_the_opt_in_is_left_alone(
    ws: Workspace, clock: SteppingClock, claude: Path, session: Transcript
) -> None:
    session.tells("before")
    clock.forward(hours=1)
    since = consent.opt_in(ws)
    stop(ws, session, flush=True)
    os.utime(session.path, (since.timestamp() - 60,) * 2)
    assert schedule.unmined_sessions(ws, since) == []
    assert schedule.sweep(ws) == []
    assert fake_claude.calls(claude) == []


def test_a_state_that_is_lost_stops_mining_until_the_next_opt_in_and_nothing_is_mined_twice(
    ws: Workspace, clock: SteppingClock, claude: Path, session: Transcript
) -> None:
    consent.opt_in(ws)
    session.tells("one")
    stop(ws, session)
    ws.close()
    shutil.rmtree(ws.home.state)
    session.tells("two")
    assert stop(ws, session) == schedule.sweep(ws) == []
    clock.forward(hours=1)
    consent.opt_in(ws)
    session.now = clock.now
    session.tells("three")
    stop(ws, session)
    assert count_saved(ws) == sent(claude) == once("one", "three")


def test_opting_in_again_does_not_move_the_moment(ws: Workspace, clock: SteppingClock) -> None:
    since = consent.opt_in(ws)
    clock.forward(hours=1)
    assert consent.opt_in(ws) == since == START


def test_a_project_that_refuses_is_never_sent_until_it_agrees(
    ws: Workspace, claude: Path, session: Transcript, project: Path
) -> None:
    consent.opt_in(ws)
    (project / ".memem.toml").write_text("mining = false")
    session.cwd = str(project)
    session.tells("private")
    session.cwd = str(work_folder("open"))
    session.tells("one")
    stop(ws, session)
    schedule.mine_file(ws, session.path)
    schedule.mine_all(ws, schedule.unmined_sessions(ws, None), None, lambda *_: None)
    assert sent(claude) == once("one")
    assert b"private" not in state_bytes(ws)
    (project / ".memem.toml").write_text("mining = true")
    schedule.mine_all(ws, schedule.unmined_sessions(ws, None), None, lambda *_: None)
    assert count_saved(ws) == sent(claude) == once("one", "private")


# Memem's own calls


def test_a_transcript_of_our_own_call_is_never_mined(ws: Workspace, claude: Path, sessions: Path) -> None:
    consent.opt_in(ws)
    by_text = Transcript(sessions / "s1.jsonl")
    by_text.human(f"{OWN_CALL} version 1\n{fact('one')}\n{AT_LENGTH}")
    by_text.claude(f"{fact('two')}\n{AT_LENGTH}")
    by_folder = Transcript(sessions / "s2.jsonl", cwd=f"/somewhere/run/{OWN_FOLDER}")
    by_folder.tells("three")
    for own in (by_text, by_folder):
        assert schedule.mine_file(ws, own.path).outcome == "own"
        own.tells("four")
        assert schedule.mine_file(ws, own.path).outcome == "own"
    assert schedule.sweep(ws) == []
    assert schedule.unmined_sessions(ws, None) == []
    assert fake_claude.calls(claude) == []


def test_a_session_with_the_id_of_a_call_is_never_mined(ws: Workspace, claude: Path, session: Transcript) -> None:
    consent.opt_in(ws)
    session.tells("one")
    schedule.mine_file(ws, session.path)
    argv = fake_claude.calls(claude)[0]["argv"]
    own = Transcript(session.path.with_name(f"{argv[argv.index('--session-id') + 1]}.jsonl"))
    own.tells("two")
    assert schedule.mine_file(ws, own.path).outcome == "own"
    assert schedule.sweep(ws) == []
    assert sent(claude) == once("one")


def test_sessions_in_the_folder_of_our_calls_are_not_found(ws: Workspace, sessions: Path) -> None:
    own = Transcript(sessions.with_name(f"-home-x--memem-run-{OWN_FOLDER}") / "s1.jsonl")
    own.tells("one")
    assert schedule.unmined_sessions(ws, None) == []


def test_a_person_who_quotes_a_call_of_ours_goes_on_being_mined(
    ws: Workspace, claude: Path, session: Transcript
) -> None:
    session.tells("one")
    session.human(f"{OWN_CALL} version 1\nThis is what you send, is it?")
    session.tells("two")
    schedule.mine_file(ws, session.path)
    session.human(f"{OWN_CALL} version 1\nThis again.")
    session.tells("three")
    schedule.mine_file(ws, session.path)
    assert count_saved(ws) == sent(claude) == once("one", "two", "three")


# Memory must not feed on itself


def test_repeated_memory_is_not_saved_again(ws: Workspace, session: Transcript) -> None:
    text = "The service called svc-one is restarted by hand."
    known = save.save(ws, text, title="How one is restarted", project="shop").memory
    session.shows(f"# Active Memory Slice\n- Project: shop\n\n## Memories\n1. {known.id8} · **How one is restarted**\n")
    session.human(f"How is it restarted? {AT_LENGTH}")
    session.claude(fact("one"))
    mined = schedule.mine_file(ws, session.path)
    assert [applied.outcome for applied in mined.applied] == ["refused"]


def test_claude_alone_makes_no_preference_or_convention(ws: Workspace, claude: Path, session: Transcript) -> None:
    said = "Tabs are always better than spaces here."
    common = {"op": "ADD", "target": None, "content": said, "scope": "project", "importance": 5, "keys": ["k"]}
    operations = [
        common | {"kind": kind, "title": kind, "content": f"{kind}: {said}", "paths": [], "quote": said}
        for kind in ("preference", "convention")
    ]
    fake_claude.set_steps(claude, [{"operations": operations}])
    session.human(AT_LENGTH)
    session.claude(said)
    schedule.mine_file(ws, session.path)
    assert {entry.memory.kind for entry in find.list_memories(ws)} <= {"fact"}


# Secrets and budget


def test_a_secret_reaches_neither_the_model_nor_the_state(ws: Workspace, claude: Path, session: Transcript) -> None:
    consent.opt_in(ws)
    _speak_of_a_secret(session)
    fake_claude.set_steps(claude, [{"exit": 1}])
    stop(ws, session)
    ws.settings = replace(ws.settings, max_failures=1)
    stop(ws, session)  # a dead letter
    fake_claude.set_steps(claude, [ECHO])
    session.human(f"Once more, the token is {SECRET}. {AT_LENGTH}")
    stop(ws, session)
    assert len(fake_claude.calls(claude)) == 3
    assert SECRET not in (claude / "calls.jsonl").read_text(encoding="utf-8")
    assert SECRET.encode() not in state_bytes(ws)
    assert b"[redacted" in state_bytes(ws)


def test_a_secret_that_is_cut_off_reaches_no_model(ws: Workspace, claude: Path, session: Transcript) -> None:
    start = "make " * ((MAX_TARGET_CHARS - 8) // 5)
    session.tool("Bash", command=f"{start}{SECRET}")
    session.tool_succeeded()
    session.tool("Write", file_path=f"{'/a b' * ((MAX_TARGET_CHARS - 8) // 4)}{SECRET}")
    session.tool_succeeded()
    session.tells("one")
    schedule.mine_file(ws, session.path)
    said = fake_claude.calls(claude)[0]["stdin"]
    assert "commands:\n- make make" in said
    assert SECRET[:6] not in said


def _speak_of_a_secret(session: Transcript) -> None:
    session.tool("Bash", command=f"GITHUB_TOKEN={SECRET} make release")
    session.tool_failed(f"fatal: bad credentials {SECRET}")
    session.human(f"The token is {SECRET}, take it.\n{fact('one')}\n{AT_LENGTH}")
    session.claude(f"I took {SECRET}.")


def test_the_calls_of_a_day_are_a_hard_limit_and_the_rest_is_mined_the_next_day(
    ws: Workspace, clock: SteppingClock, claude: Path, sessions: Path
) -> None:
    consent.opt_in(ws)
    ws.settings = replace(ws.settings, daily_calls=2)
    for number in range(4):
        Transcript(sessions / f"s{number}.jsonl").tells(f"n{number}")
    outcomes = [mined.outcome for mined in schedule.sweep(ws)]
    assert sorted(outcomes) == ["mined", "mined", "spent"]
    schedule.sweep(ws)
    assert len(fake_claude.calls(claude)) == 2
    clock.forward(days=1)
    schedule.sweep(ws)
    assert count_saved(ws) == sent(claude) == once("n0", "n1", "n2", "n3")


def test_the_dollars_of_a_day_are_a_hard_limit(
    ws: Workspace, clock: SteppingClock, claude: Path, sessions: Path
) -> None:
    ws.settings = replace(ws.settings, daily_usd=0.0115)  # a call costs 0.001 here; until it is made it counts for 0.01
    paths = []
    for number in range(4):
        session = Transcript(sessions / f"s{number}.jsonl")
        session.tells(f"n{number}")
        paths.append(session.path)
    assert schedule.mine_all(ws, paths, None, lambda *_: None)[-1].outcome == "spent"
    assert len(fake_claude.calls(claude)) == 2
    clock.forward(days=1)
    schedule.mine_all(ws, paths, None, lambda *_: None)
    assert count_saved(ws) == sent(claude) == once("n0", "n1", "n2", "n3")


def test_spent_budget_is_not_a_failure_of_the_session(ws: Workspace, session: Transcript) -> None:
    ws.settings = replace(ws.settings, daily_calls=0, max_failures=1)
    session.tells("one")
    for _ in range(3):
        assert schedule.mine_file(ws, session.path).outcome == "spent"
    assert ws.state.journal.dead_letters() == []


# Without a claude


def test_without_a_claude_rules_extract(tmp_path: Path, clock: SteppingClock, claude: Path, sessions: Path) -> None:
    (claude / "claude").unlink()
    ws = open_miner(tmp_path, clock)
    session = Transcript(sessions / "s1.jsonl")
    session.human(f"Remember that the staging database is called walrus. {AT_LENGTH}")
    schedule.mine_file(ws, session.path)
    refresh.refresh(ws)
    assert ["walrus" in entry.memory.body for entry in find.list_memories(ws)] == [True]
    ws.close()
