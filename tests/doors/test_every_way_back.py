"""What was forgotten comes back by no way there is; a neighbouring value goes through by each of them."""

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from memem.core.errors import Forgotten
from memem.doors import cli
from memem.doors.api.home import MemoryHome
from memem.doors.mcp.tools import call
from memem.mine import schedule
from memem.notes import forget, review
from memem.search import find, refresh
from memem.search.transcripts import consent
from memem.transfer import import_
from memem.upkeep import purge
from memem.workspace import Workspace, open_workspace
from tests.fakes import START, SteppingClock
from tests.transcripts import Transcript, count_saved, fact, once, open_miner

FORGOTTEN = "The gateway of the shop listens on port 8443."
NEIGHBOUR = "The gateway of the shop listens on port 9443."
DISGUISED = "  the GATEWAY of the shop\u200b listens on port ８４４３ !"

Way = Callable[[str], bool]
"""Tries to keep a statement; whether that worked."""


def by_cli(statement: str) -> bool:
    return cli.main(["save", statement, "-p", "shop"]) == 0


def by_api(statement: str) -> bool:
    ws = open_workspace(actor="api")
    try:
        MemoryHome(ws).save(statement, project="shop")
    except Forgotten:
        return False
    finally:
        ws.close()
    return True


def by_mcp(statement: str) -> bool:
    ws = open_workspace(actor="mcp")
    try:
        call(ws, "memory_save", {"content": statement}, cwd=Path.cwd(), session="s9")
    except Forgotten:
        return False
    finally:
        ws.close()
    return True


def by_import(statement: str) -> bool:
    ws = open_workspace(actor="cli")
    file = Path("brought.md")
    file.write_text(statement, encoding="utf-8")
    try:
        (done,) = import_.import_notes(ws, [file], project="shop").files
    finally:
        ws.close()
    return done.outcome == "created"


WAYS = {"command line": by_cli, "Python": by_api, "MCP": by_mcp, "import": by_import}


def statements() -> list[str]:
    """What can be recalled."""
    ws = open_workspace(actor="test")
    try:
        refresh.refresh(ws)
        return sorted(entry.body for entry in find.list_memories(ws))
    finally:
        ws.close()


@pytest.fixture(params=["forgotten", "purged"])
def done_with(request: pytest.FixtureRequest) -> None:
    """A person has saved and forgotten the statement."""
    ws = open_workspace(actor="test")
    saved = MemoryHome(ws).save(FORGOTTEN, project="shop")
    (forget.forget if request.param == "forgotten" else purge.purge)(ws, saved.memory.id)
    ws.close()


@pytest.mark.usefixtures("done_with")
@pytest.mark.parametrize("way", WAYS)
def test_no_way_brings_it_back_and_each_takes_its_neighbour(way: str) -> None:
    for statement in (FORGOTTEN, DISGUISED, f"Some news. {FORGOTTEN} That is all."):
        assert not WAYS[way](statement)
    assert statements() == []
    assert WAYS[way](NEIGHBOUR)
    assert statements() == [NEIGHBOUR]


@pytest.mark.usefixtures("done_with")
def test_a_person_who_wants_it_anyway_gets_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["save", FORGOTTEN, "-p", "shop"]) == 1
    assert "--anyway" in capsys.readouterr().err
    assert cli.main(["save", FORGOTTEN, "-p", "shop", "--anyway"]) == 0
    assert statements() == [FORGOTTEN]


# --- mining -------------------------------------------------------------------------------------------------------


def lose_state(ws: Workspace) -> None:
    """Nobody knows any more what was mined."""
    ws.close()
    shutil.rmtree(ws.home.state)
    consent.opt_in(ws)


def test_mining_again_does_not_bring_it_back_in_other_words(miner: Workspace, session: Transcript) -> None:
    session.tells("one")
    session.tells("two")
    schedule.mine_file(miner, session.path)
    assert count_saved(miner) == once("one", "two")
    (note,) = [entry for entry in find.list_memories(miner) if entry.memory.keys[0] == "one"]
    forget.forget(miner, note.id)
    lose_state(miner)
    session.tells("three")
    schedule.mine_file(miner, session.path)
    assert set(count_saved(miner)) == {"two", "three"}


def test_a_fork_of_the_session_does_not_bring_it_back(miner: Workspace, session: Transcript, sessions: Path) -> None:
    session.tells("one")
    schedule.mine_file(miner, session.path)
    forget.forget(miner, find.list_memories(miner)[0].id)
    lose_state(miner)
    fork = Transcript(sessions / "s2.jsonl")
    fork.raw(session.path.read_bytes().replace(b'"s1"', b'"s2"'))
    fork.tells("two")
    schedule.mine_file(miner, fork.path)
    assert count_saved(miner) == once("two")
    assert review.proposals(miner) == []


def test_a_statement_repeated_in_a_later_session_is_proposed(
    miner: Workspace, session: Transcript, sessions: Path, clock: SteppingClock
) -> None:
    session.tells("one")
    schedule.mine_file(miner, session.path)
    forget.forget(miner, find.list_memories(miner)[0].id)
    clock.forward(days=1)
    later = Transcript(sessions / "s2.jsonl", start=START + timedelta(days=1))
    later.tells("one")
    later.tells("two")
    schedule.mine_file(miner, later.path)
    assert count_saved(miner) == once("two")
    (proposal,) = review.proposals(miner)
    assert proposal.because == "it was forgotten on 2026-03-01"
    review.accept(miner, proposal.memory.id)
    assert count_saved(miner) == once("one", "two")


def test_a_note_deleted_by_hand_is_not_mined_again(miner: Workspace, session: Transcript) -> None:
    session.tells("one")
    session.tells("two")
    schedule.mine_file(miner, session.path)
    (note,) = [entry for entry in find.list_memories(miner) if entry.memory.keys[0] == "one"]
    miner.store.absolute(note.path).unlink()
    refresh.refresh(miner)
    miner.close()
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (miner.home.state / name).unlink(missing_ok=True)
    schedule.mine_file(miner, session.path)
    assert count_saved(miner) == once("two")


def test_rules_do_not_bring_it_back_either(tmp_path: Path, clock: SteppingClock, session: Transcript) -> None:
    ws = open_miner(tmp_path, clock, MEMEM_EXTRACTOR="rules")
    try:
        session.human(f"We decided to use Postgres instead of MySQL for the orders. {fact('x')}")
        session.human("Always run the linter before you commit anything to the main branch.")
        schedule.mine_file(ws, session.path)
        before = {entry.body: entry.id for entry in find.list_memories(ws)}
        assert len(before) >= 2
        gone = next(body for body in before if "Postgres" in body)
        forget.forget(ws, before[gone])
        lose_state(ws)
        schedule.mine_file(ws, session.path)
        refresh.refresh(ws)
        assert {entry.body for entry in find.list_memories(ws)} == set(before) - {gone}
        session.human("We decided to use Redis instead of Memcached for the sessions.")
        schedule.mine_file(ws, session.path)
        assert any("Redis" in entry.body for entry in find.list_memories(ws))
    finally:
        ws.close()
