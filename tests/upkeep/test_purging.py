"""A purge leaves nothing to read, neither in the vault nor in the home, and says where else it may be."""

import json
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memem.core import files, locks, sqlite
from memem.core.conversation import Chunk, Turn
from memem.core.errors import Ambiguous, InputError, NotFound
from memem.core.memory import Memory
from memem.inject import notices
from memem.mine import schedule
from memem.notes import forget, history, review, undo, write
from memem.pages import conflicts
from memem.search import find, refresh
from memem.search.encoders import model
from memem.search.transcripts import consent, sessions
from memem.search.transcripts.turns import TurnIndex
from memem.state import note_records
from memem.state.receipts import Receipt, ReceiptItem
from memem.state.sessions import SessionRecord
from memem.upkeep import purge as upkeep_purge
from memem.upkeep.purge import Purged, purge
from memem.upkeep.scour import Traces
from memem.workspace import Workspace
from tests.fakes import FaultyOs
from tests.transcripts import AT_LENGTH, Transcript, sent

VALUE = "xylophone7731"
STATEMENT = f"The door code of the Lyon office is {VALUE}, says Ann."
QUOTE = f"remember that the door code in Lyon is {VALUE} please"
ID = "66666666-aaaa-4aaa-8aaa-666666666666"
MEMORY = Memory(
    ID,
    f"Door code {VALUE}",
    STATEMENT,
    "shop",
    author="model",
    source_type="mined",
    source_session="s1",
    source_turn="s1-0001",
    evidence=QUOTE,
    created="2026-03-01T08:00:00+01:00",
    keys=(f"lyon-{VALUE}",),
)
NEIGHBOUR = Memory("88888888-aaaa-4aaa-8aaa-888888888888", "Neighbour", "The Lyon office opens at nine.", "shop")


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    """A home whose owner has just switched mining on, with two notes."""
    consent.opt_in(miner)
    write.keep(miner, NEIGHBOUR)
    write.keep(miner, MEMORY)
    return miner


def holding(ws: Workspace, value: str = VALUE[:8]) -> list[str]:
    """Every file of home and vault that holds the value, in whatever case, or names it."""
    found = []
    for root in (ws.home.root, ws.settings.vault):
        for path in root.rglob("*"):
            data = path.read_bytes().lower() if path.is_file() else b""
            if value in path.name or value.encode() in data or value.encode("utf-16-le") in data:
                found.append(str(path))
    return found


def spread(ws: Workspace, session: Transcript) -> None:
    """Leave it in every place that memem writes to."""
    session.human(QUOTE)
    session.claude(f"Noted: the code in Lyon is {VALUE}. {QUOTE}")
    session.human("The canteen opens at noon.")
    sessions.index_session(ws, session.path)
    write.edit(ws, ID, importance=5, why=f"since {VALUE} matters: {STATEMENT}")
    link = f"[[door-code-{VALUE}-66666666]]"
    other = Memory("99999999-aaaa-4aaa-8aaa-999999999999", "", "Doors have codes.", "shop", author="model")
    write.keep(ws, replace(other, related=(link,), contradicts=(link,), supersedes=link, superseded_by=link))
    item = ReceiptItem(ID, title=f"Door code {VALUE}", terms=("xylophone7731",), shown=True)
    now = ws.clock().timestamp()
    ws.contexts.add_all(Receipt(now, "prompt", "s1", "shop", reason=STATEMENT, items=(item,)), [ID], None)
    turns = (Turn("s1-0001", "human", f"Well. {QUOTE}", session="s1"), Turn("s1-0003", "human", "The canteen is red."))
    chunk = Chunk("s1", "/srv/s1.jsonl", "shop", turns, "", 1, 1, "d").as_json()
    operation = {
        "op": "ADD",
        "target": None,
        "title": MEMORY.title,
        "content": STATEMENT,
        "kind": "fact",
        "quote": QUOTE,
    }
    canteen = {**operation, "title": "Canteen", "content": "The canteen is red.", "quote": "The canteen is red."}
    rest = {"scope": "project", "importance": 3, "keys": [VALUE], "paths": []}
    ws.state.journal.add_answer("s1", chunk, [{**operation, **rest}, {**canteen, **rest, "keys": []}], "2026")
    ws.state.journal.add_dead_letter("s1", chunk, "failed", "2026")
    known = note_records.StaleNote("x", (f"src/{VALUE}.py",), f"src/{VALUE}.py is gone")
    note_records.write_stale(
        ws.home.stale_file, ws.store.vault_id(), note_records.StaleRecord({ID: known}), fsync=False
    )
    files.append_log(ws.home.mine_log, f"added {STATEMENT}")
    files.append_log(ws.home.mine_log, "another line")
    notices.announce_learned(ws, [STATEMENT, "Short"])
    (ws.home.state / "contexts.db.damaged").write_bytes(STATEMENT.encode())
    (ws.store.paths.memories / ".memem-00.tmp").write_bytes(STATEMENT.encode())
    ws.home.inbox.mkdir(parents=True)
    (ws.home.inbox / "1a2b3c4d-s1-Stop.json").write_bytes(STATEMENT.encode())
    with ws.home.events_file.open("a") as file:
        file.write(f'{{"torn": "{STATEMENT}\n')
    refresh.refresh(ws)


def test_purge_leaves_no_trace(ws: Workspace, session: Transcript) -> None:
    spread(ws, session)
    assert len(holding(ws)) > 10
    purged = purge(ws, ID)
    assert holding(ws) == []
    assert not list(ws.home.notices.glob("news-*"))  # also of titles that are too short to be searched for
    ws.close()
    assert holding(ws) == []
    assert (purged.id, purged.title) == (ID, MEMORY.title)
    assert set(purged.removed) == {
        "the note",
        "the mining journal",
        "receipts",
        "the undo store",
        "the log",
        "the transcript index",
    }


def test_a_forgotten_one_is_purged_just_so(ws: Workspace, session: Transcript) -> None:
    spread(ws, session)
    forget.forget(ws, ID)
    purge(ws, ID[:8])
    assert holding(ws) == []
    with pytest.raises(NotFound, match="and the undo store were searched too"):
        purge(ws, ID)


def test_other_memories_survive_a_purge(ws: Workspace, session: Transcript) -> None:
    spread(ws, session)
    purge(ws, ID)
    assert find.get(ws, NEIGHBOUR.id).memory.body == NEIGHBOUR.body
    other = ws.store.read(next(row.path for row in ws.index.rows("id LIKE '9999%'")))
    links = (other.memory.related, other.memory.contradicts, other.memory.supersedes, other.memory.superseded_by)
    assert links == ((), (), "", "")
    assert not other.touched_by_hand
    (record,) = ws.state.journal.records()
    assert [each["op"] for each in record.answer] == ["NOOP", "ADD"]
    assert [turn["text"] for turn in record.chunk["turns"]] == ["Well. ", "The canteen is red."]
    assert [said.text for said in sessions.search(ws, "canteen noon")] == ["The canteen opens at noon."]
    assert ws.home.mine_log.read_text() == "another line\n"
    assert refresh.refresh(ws).changed == 0


def test_it_is_held_back_for_good(ws: Workspace) -> None:
    purge(ws, ID)
    again = replace(MEMORY, id="77777777-aaaa", source_session="s2", source_turn="t2", evidence="")
    hold = forget.check_forgotten(ws, again, session="s2", said="2027-01-01T00:00:00+01:00", person=True)
    assert hold == forget.Hold("it was forgotten on 2026-03-01", again=False)
    assert (
        forget.check_forgotten(ws, replace(again, body="The door code of the Lyon office is 4711, says Ann.")) is None
    )


def test_purged_turns_stay_out_of_a_rebuilt_transcript_index(ws: Workspace, session: Transcript) -> None:
    spread(ws, session)
    purge(ws, ID)
    ws.home.turns_file.unlink()
    assert [said.text for said in sessions.search(ws, "canteen door code lyon")] == ["The canteen opens at noon."]
    assert holding(ws) == []


def test_what_claude_repeated_goes_too(ws: Workspace, session: Transcript) -> None:
    """In whatever words: the literal of it, or most of its words; also in another session."""
    session.human(QUOTE)
    session.claude(f"Noted: the code for Lyon is {VALUE.upper()}.")
    session.claude("Anything else about the canteen?")
    other = Transcript(session.path.with_name("s2.jsonl"))
    other.human("Which door code has the office again?")
    other.claude(f"As you said, use {VALUE} at the door.")
    other.claude("Opening hours of the Lyon office: nine to five.")
    for path in (session.path, other.path):
        sessions.index_session(ws, path)
    purged = purge(ws, ID)
    assert holding(ws) == []
    assert sessions.search(ws, "canteen"), "turns without its words stay"
    assert sessions.search(ws, "opening hours")
    assert f"{other.path} is Claude Code's own transcript of a session that repeats it." in purged.elsewhere


def test_its_turn_is_not_sent_to_a_model_again(ws: Workspace, session: Transcript, claude: Path) -> None:
    session.human(f"{QUOTE} FACT-door: the door of Lyon has a code. {AT_LENGTH}")
    session.tells("canteen")
    purge(ws, ID)
    schedule.mine_file(ws, session.path)
    assert set(sent(claude)) == {"canteen"}
    assert holding(ws) == []


def test_earlier_statements_of_it_go_too(ws: Workspace) -> None:
    write.edit(ws, ID, body="The door code has changed since.", title="Door code", evidence="")
    assert holding(ws) != []
    purge(ws, ID)
    assert holding(ws) == []
    assert forget.check_forgotten(ws, replace(MEMORY, id="77777777-aaaa", source_turn="t2"))


def test_the_log_keeps_that_something_was_done(ws: Workspace) -> None:
    purge(ws, ID)
    events = [event for event in ws.events.read() if event.id == ID]
    assert [event.action for event in events] == ["save", "purge"]
    assert {event.path for event in events} == {"memories/purged-66666666.md"}
    assert {event.why for event in events} == {""}
    assert len(events[0].after) == 64
    assert history.log(ws)[0].because == "cannot be undone: purged, so there is no copy"


def test_the_vectors_of_it_go(meant: Workspace) -> None:
    ws = meant
    model.encode_all(ws)
    assert ws.vectors().count() == 2
    purge(ws, ID)
    assert ws.vectors().count() == 1


def test_vectors_that_others_are_at_are_named(meant: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    model.encode_all(meant)
    monkeypatch.setattr(model, "passages_in_use", lambda _: None)
    purged = purge(meant, ID)
    assert any("may contain a vector of it, but no words" in place for place in purged.elsewhere)


def test_the_page_of_conflicts_tells_it_no_longer(ws: Workspace) -> None:
    link = f"[[door-code-{VALUE}-66666666]]"
    rival = Memory("99999999-aaaa", "", "The door code of the Lyon office is 4711.", "shop", author="model")
    write.keep(ws, replace(rival, contradicts=(link,)))
    conflicts.write_page(ws)
    assert VALUE in ws.store.paths.conflicts.read_text()
    purge(ws, ID)
    assert holding(ws) == []


def test_a_proposal_of_it_goes_too(ws: Workspace) -> None:
    forget.forget(ws, ID)
    review.propose(ws, MEMORY, "said again")
    purge(ws, ID)
    assert holding(ws) == []


def test_a_note_that_an_undo_has_taken_out_goes_from_the_undo_store_too(ws: Workspace) -> None:
    undo.undo(ws)
    assert holding(ws), "it could be brought back"
    assert purge(ws, ID[:8]).title == MEMORY.title
    assert not holding(ws)
    assert ws.tombstones.load().standing


def test_a_killed_purge_can_be_run_again(ws: Workspace, session: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    spread(ws, session)
    for step in range(400):
        faulty = FaultyOs(step, Killed())
        with monkeypatch.context() as patched:
            patched.setattr("memem.core.files.os", faulty)
            try:
                purge(ws, ID)
            except Killed:
                ws.close()
                assert any(f"id: {ID}" in path.read_text() for path in ws.store.paths.ours.rglob("*.md"))
                continue
        break
    assert 8 <= step < 399
    assert holding(ws) == []
    assert not ws.home.vanished_file.exists()


# --- elsewhere ----------------------------------------------------------------------------------------------------


def places(purged: Purged) -> str:
    return "\n".join(purged.elsewhere)


def test_it_says_where_memem_cannot_reach(ws: Workspace, session: Transcript) -> None:
    session.human(QUOTE)
    vault = ws.settings.vault
    (vault / ".git").mkdir()
    (vault / ".stfolder").mkdir()
    (vault / ".stversions").mkdir()
    (vault / ".stversions" / f"door-code-{VALUE}-66666666~20260301.md").touch()
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "core-plugins.json").write_text('{"sync": true}')
    (vault / ".trash").mkdir()
    (vault / ".trash" / f"door-code-{VALUE}-66666666.md").write_text(STATEMENT)
    told = places(purge(ws, ID))
    assert f"{session.path} is Claude Code's own transcript" in told
    assert f".trash/door-code-{VALUE}-66666666.md in the vault contains the same words" in told
    assert "git repository" in told
    assert "Syncthing seems to sync" in told
    assert "Obsidian Sync seems to sync" in told
    assert f"{vault / '.stversions'} contains a file with its name" in told
    assert "Backups, disk snapshots" in told


@pytest.mark.parametrize("plugins", ["[]", "{", '["sync"]', "{}"])
def test_obsidian_tells_in_several_ways_whether_it_syncs(ws: Workspace, plugins: str) -> None:
    (ws.settings.vault / ".obsidian").mkdir()
    (ws.settings.vault / ".obsidian" / "core-plugins.json").write_text(plugins)
    assert ("Obsidian Sync" in places(purge(ws, ID))) == (plugins == '["sync"]')


def test_notes_of_persons_are_named_and_not_touched(ws: Workspace) -> None:
    mine = ws.store.paths.memories / "mine.md"
    text = f'---\nid: aaaaaaaa-1111\nrelated: ["[[door-code-{VALUE}-66666666]]"]\n---\nMy own words.\n'
    mine.write_text(text)
    copied = ws.settings.vault / "diary.md"
    copied.write_text(f"Dear diary: {STATEMENT}")
    purged = purge(ws, ID)
    assert mine.read_text() == text
    assert "memem/memories/mine.md is your own note and links to it." in purged.elsewhere
    assert "diary.md in the vault contains the same words, or a link to it." in purged.elsewhere


def test_a_database_that_others_use_is_named(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "scrub", lambda path, _: path != ws.home.state_file)
    assert (
        f"{ws.home.state_file} is in use, and may contain some of its words until the next purge."
        in purge(ws, ID).elsewhere
    )


def test_vectors_that_another_encodes_are_named(meant: Workspace) -> None:
    model.encode_all(meant)
    meant.settings = replace(meant.settings, lock_seconds=0)
    with locks.holding(meant.home.encode_lock, 0):
        assert "may contain a vector of it, but no words" in places(purge(meant, ID))


def test_unreadable_files_do_not_stop_a_purge(ws: Workspace) -> None:
    write.edit(ws, ID, importance=5)
    for path in ws.home.undo.iterdir():
        path.write_bytes(b"---\nid: [\n---\n")
    ws.store.paths.forgotten.mkdir()
    (ws.store.paths.forgotten / "half-typed.md").write_text("---\nid: [\n---\n")
    (ws.store.paths.memories / "mine.md").write_text("It reminds me of 66666666, somehow.\n")
    assert not [place for place in purge(ws, ID).elsewhere if "mine.md" in place]
    assert holding(ws) == []
    assert (ws.store.paths.forgotten / "half-typed.md").exists()


def test_damaged_transcript_index_does_not_stop_a_purge(ws: Workspace) -> None:
    ws.home.turns_file.parent.mkdir(parents=True, exist_ok=True)
    ws.home.turns_file.write_bytes(b"not a database, but long enough to be looked at as if it were one" * 20)
    assert "the transcript index" in purge(ws, ID).removed


# --- which --------------------------------------------------------------------------------------------------------


def test_an_id_has_to_name_one_memory(ws: Workspace) -> None:
    write.keep(ws, replace(NEIGHBOUR, id="66667777-aaaa", body="Another."))
    with pytest.raises(Ambiguous, match="2 memories have an id that starts with '6666'"):
        purge(ws, "6666")
    with pytest.raises(InputError, match="too short for a purge"):
        purge(ws, "666")
    assert upkeep_purge.find(ws, "66666666").title == MEMORY.title


def test_a_home_that_has_hardly_anything_is_purged_as_well(ws: Workspace) -> None:
    ws.close()
    shutil.rmtree(ws.home.state)
    shutil.rmtree(ws.home.cache)
    purge(ws, ID)
    assert holding(ws) == []


def test_a_turn_index_loses_turns_and_keeps_how_far_it_read(ws: Workspace, session: Transcript) -> None:
    session.human(QUOTE)
    session.human("The canteen opens at noon.")
    sessions.index_session(ws, session.path)
    with closing(TurnIndex(ws.home.turns_file)) as index:
        assert index.remove(["s1-0001", "unknown"]) == 1
        assert index.count() == 1
    assert sessions.index_session(ws, session.path) == 0


# --- no more than that --------------------------------------------------------------------------------------------


@pytest.fixture
def short(ws: Workspace) -> str:
    """The id of a person's note with a short name, a common title and no id of its own."""
    (ws.store.paths.memories / "lyon.md").write_text(f"---\ntitle: The office\n---\n{STATEMENT}\n")
    forget.forget(ws, ID)
    refresh.refresh(ws)
    (row,) = ws.index.rows("path = 'memories/lyon.md'")
    assert row.memory
    return row.memory.id


def test_a_note_without_an_id_leaves_nothing_either(ws: Workspace, short: str) -> None:
    purge(ws, short)
    assert not (ws.store.paths.forgotten / "lyon.md").exists()
    assert not (ws.store.paths.memories / "lyon.md").exists()


def test_one_without_an_id_is_purged_after_it_was_forgotten(ws: Workspace, short: str) -> None:
    forget.forget(ws, short)
    assert (ws.store.paths.forgotten / "lyon.md").exists()
    purge(ws, short)
    assert not (ws.store.paths.forgotten / "lyon.md").exists()


def test_short_names_and_common_titles_are_looked_for_nowhere(ws: Workspace, short: str, session: Transcript) -> None:
    write.edit(ws, NEIGHBOUR.id, body="The office in lyon opens at ten.", why="The office in lyon moved")
    kept = history.find_batch(ws, history.log(ws)[0].id).events[0].before
    ws.state.sessions.put(SessionRecord("s7", "/srv/lyon/s7.jsonl"))
    turns = (Turn("s7-0001", "human", "The office of lyon has a red canteen.", session="s7"),)
    chunk = Chunk("s7", "/srv/lyon/s7.jsonl", "lyon", turns, "", 1, 1, "d").as_json()
    ws.state.journal.add_dead_letter("s7", chunk, "failed", "2026")
    item = ReceiptItem(NEIGHBOUR.id, title="The office", terms=("lyon",), shown=True)
    receipt = Receipt(ws.clock().timestamp(), "prompt", "s7", "lyon", reason="lyon", items=(item,))
    ws.contexts.add_all(receipt, [NEIGHBOUR.id], None)
    told = purge(ws, short).elsewhere
    assert ws.events.read_undo(kept), "another note's undo copy"
    assert ws.state.sessions.get("s7") == SessionRecord("s7", "/srv/lyon/s7.jsonl")
    assert [record.chunk for record in ws.state.journal.records()] == [json.loads(json.dumps(chunk))]
    last = ws.contexts.receipts.last("s7")
    assert last
    assert (last.items, last.reason) == ((item,), "lyon")
    assert [event.why for event in ws.events.read() if event.id == NEIGHBOUR.id][-1] == "The office in lyon moved"
    assert not [place for place in told if "neighbour" in place]


def test_purged_title_is_removed_from_journaled_operations(ws: Workspace, short: str) -> None:
    turns = (Turn("s7-0001", "human", "It has a long title: the door.", session="s7"),)
    chunk = Chunk("s7", "/srv/s7.jsonl", "shop", turns, "", 1, 1, "d").as_json()
    operation = {"op": "ADD", "title": "The office", "content": "It is red.", "quote": "It is red."}
    ws.state.journal.add_answer("s7", chunk, [operation], "2026")
    purge(ws, short)
    (record,) = ws.state.journal.records()
    assert record.answer == [{**operation, "title": ""}]


def test_a_dead_letter_that_names_a_long_title_loses_only_that(ws: Workspace) -> None:
    turns = (Turn("s7-0001", "human", f"Is {MEMORY.title} on the list?", session="s7"),)
    chunk = Chunk("s7", "/srv/s7.jsonl", "shop", turns, "", 1, 1, "d").as_json()
    ws.state.journal.add_dead_letter("s7", chunk, "failed", "2026")
    purge(ws, ID)
    (record,) = ws.state.journal.records()
    assert [turn["text"] for turn in record.chunk["turns"]] == ["Is  on the list?"]


def test_short_file_name_in_the_trash_is_matched_whole(ws: Workspace, short: str) -> None:
    trash = ws.settings.vault / ".trash"
    trash.mkdir()
    (trash / "lyonnaise.md").touch()
    assert not [place for place in upkeep_purge.purge(ws, short).elsewhere if "contains a file with its name" in place]
    assert Traces((MEMORY,), ("memories/lyon.md",)).is_name("lyon~20260301.md")


def test_a_killed_purge_of_one_without_an_id_can_be_run_again(
    ws: Workspace, short: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(400):
        with monkeypatch.context() as patched:
            patched.setattr("memem.core.files.os", FaultyOs(step, Killed()))
            try:
                purge(ws, short)
            except Killed:
                ws.close()
                continue
        break
    assert 3 <= step < 399
    assert not list(ws.store.paths.ours.rglob("lyon.md"))
