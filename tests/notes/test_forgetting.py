"""Nothing forgotten returns by itself; nothing is forgotten by accident; a person can always say otherwise."""

import zlib
from dataclasses import replace
from datetime import timedelta

import pytest

from memem.core.dates import iso
from memem.core.memory import Memory
from memem.notes import forget as notes_forget
from memem.notes import write
from memem.notes.forget import Hold, check_forgotten, forget, lift, was_forgotten
from memem.notes.write import Written
from memem.pages import conflicts
from memem.pages.catch_up import catching_up
from memem.search import find, refresh
from memem.upkeep import session_start
from memem.workspace import Workspace
from tests.fakes import FaultyOs, SteppingClock

STATEMENT = "Tokens are signed with RS256."
QUOTE = "let's move signing to RS256, the gateway cannot share a secret"
ON = "it was forgotten on 2026-03-01"


class Killed(BaseException):
    """The process ends here."""


def mined(body: str = STATEMENT, *, quote: str = QUOTE, turn: str = "t1", session: str = "s1", id: str = "") -> Memory:
    """A memory mined from a turn."""
    identity = id or f"{zlib.crc32(f'{body}{turn}'.encode()):08x}-1111-4111-8111-111111111111"
    memory = Memory(identity, "", body, evidence=quote, source_turn=turn, source_session=session)
    return replace(memory, source_type="mined", author="model", created="2026-03-01T08:00:00+01:00")


def save_mined(ws: Workspace, memory: Memory) -> Written:
    return write.keep(ws, memory)


@pytest.fixture
def forgotten(ws: Workspace) -> Memory:
    """A mined memory that was forgotten."""
    memory = save_mined(ws, mined()).memory
    forget(ws, memory.id)
    return memory


# --- forget -------------------------------------------------------------------------------------------------------


def test_a_forgotten_note_lies_in_its_folder_and_is_found_by_nothing(ws: Workspace, forgotten: Memory) -> None:
    assert [path.name for path in ws.store.paths.forgotten.iterdir()] == [f"{ws.store.path_for(forgotten)[9:]}"]
    assert find.search(ws, "tokens signed RS256") == []
    assert len(ws.tombstones.load().standing) == 1


def test_the_page_of_conflicts_does_not_tell_it_any_more(ws: Workspace) -> None:
    memory = save_mined(ws, mined()).memory
    link = f"[[{ws.store.path_for(memory)[9:-3]}]]"
    save_mined(ws, replace(mined("Tokens are signed with ES256.", turn="t2", quote=""), contradicts=(link,)))
    conflicts.write_page(ws)
    assert STATEMENT in ws.store.paths.conflicts.read_text()
    with catching_up(ws):
        forget(ws, memory.id)
    assert STATEMENT not in ws.store.paths.conflicts.read_text()


def test_the_vault_says_nothing_of_what_it_was(ws: Workspace, forgotten: Memory) -> None:
    told = ws.store.paths.tombstones.read_text().lower()
    assert not any(word in told for word in ("rs256", "tokens", "gateway", forgotten.id, "s1"))
    assert "t1" in told


def test_a_killed_forget_never_loses_the_note_nor_forgets_without_a_tombstone(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.settings = replace(ws.settings, fsync=True)
    for step in range(60):
        memory = save_mined(ws, mined(f"Fact {step} about walruses.", turn=f"t{step}", quote="")).memory
        faulty = FaultyOs(step, Killed())
        with monkeypatch.context() as patched:
            patched.setattr("memem.core.files.os", faulty)
            if _runs(ws, memory.id):
                break
        ws.close()
        refresh.refresh(ws)
        is_live = bool(ws.index.rows("id = ?", (memory.id,)))
        if is_live:
            forget(ws, memory.id)
        assert was_forgotten(ws, memory.id)
        assert check_forgotten(ws, mined(f"Fact {step} about walruses.", turn="later", quote=""))
        copies = [path for path in ws.store.paths.forgotten.iterdir() if memory.id in path.read_text()]
        assert len(copies) == 1
        assert not ws.home.vanished_file.exists(), "what memem took away is not a person's deletion"
    assert 8 <= step < 59


def _runs(ws: Workspace, identity: str) -> bool:
    try:
        forget(ws, identity)
    except Killed:
        return False
    return True


def test_forgetting_twice_after_a_restore_writes_a_tombstone_each_time(ws: Workspace) -> None:
    memory = save_mined(ws, mined()).memory
    for _ in range(2):
        forget(ws, memory.id)
        assert check_forgotten(ws, memory)
        lift(ws, memory)
        assert check_forgotten(ws, memory) is None
        copy = next(ws.store.paths.forgotten.iterdir())
        copy.rename(ws.store.paths.memories / copy.name)
        refresh.refresh(ws)


# --- held ---------------------------------------------------------------------------------------------------------


def test_where_nothing_was_forgotten_nothing_is_held(ws: Workspace) -> None:
    save_mined(ws, mined())
    assert check_forgotten(ws, mined("Tokens are signed with ES256.")) is None
    assert not ws.store.paths.tombstones.exists()


@pytest.mark.parametrize(
    "candidate",
    [
        mined(turn="t9", session="s9", quote=""),
        mined("tokens ARE signed  with RS256!", turn="t9", quote="yes"),
        mined("Toкеns аrе signеd with RS256.", turn="t9", quote=""),
        mined("Auth changed. Tokens are signed with RS256. Deploys are on Friday.", turn="t9", quote=""),
        mined("In other words.", turn="t9", quote=QUOTE.upper()),
        mined("Reworded, of the same turn.", turn="t1", quote="move signing to RS256, the gateway"),
        Memory("some-other-id", "", STATEMENT),
        Memory("some-other-id", "", STATEMENT, source_type="import", author="model"),
    ],
)
def test_forgotten_memory_is_refused_from_every_source(ws: Workspace, forgotten: Memory, candidate: Memory) -> None:
    assert check_forgotten(ws, candidate) == Hold(ON, again=False)


@pytest.mark.parametrize(
    "candidate",
    [
        mined("Tokens are signed with ES256.", turn="t9", quote="we sign with ES256 from now on"),
        mined("Tokens expire after 256 minutes.", turn="t1", quote="and they live for 256 minutes"),
        mined("The port is 8080.", turn="t9", quote="yes do that"),
        Memory("some-other-id", "", "Tokens are signed with RS512."),
    ],
)
def test_a_neighbouring_value_goes_through(ws: Workspace, forgotten: Memory, candidate: Memory) -> None:
    assert check_forgotten(ws, candidate) is None


def test_the_same_id_is_held_whatever_it_says(ws: Workspace, forgotten: Memory) -> None:
    assert check_forgotten(ws, mined("Quite another thing.", turn="t9", quote="", id=forgotten.id)) == Hold(
        ON, again=False
    )


def test_forgotten_short_answer_blocks_nothing_elsewhere(ws: Workspace) -> None:
    forget(ws, save_mined(ws, mined(quote="yes do that")).memory.id)
    assert check_forgotten(ws, mined("Use pnpm.", turn="t9", quote="yes do that")) is None
    assert check_forgotten(ws, mined("Reworded.", turn="t1", quote="Yes do that!"))


def test_redacted_text_does_not_hide_a_forgotten_memory(ws: Workspace) -> None:
    secret = "The token is ghp_" + "a1B2c3D4" * 5 + " for now."
    forget(ws, save_mined(ws, mined(secret, quote="")).memory.id)
    assert check_forgotten(ws, mined(secret, turn="t9", quote=""))


def test_statement_repeated_in_a_later_session_is_proposed(
    ws: Workspace, forgotten: Memory, clock: SteppingClock
) -> None:
    later = iso(clock.now + timedelta(hours=1))
    candidate = mined(turn="t9", session="s9", quote="")
    assert check_forgotten(ws, candidate, session="s9", said=later, person=True) == Hold(ON, again=True)


@pytest.mark.parametrize(
    ("session", "hours", "person"),
    [("s1", 1, True), ("s9", -1, True), ("s9", 1, False), ("", 1, True)],
    ids=["the same session", "said before", "said by Claude", "said who knows where"],
)
def test_else_it_is_not(
    ws: Workspace, forgotten: Memory, clock: SteppingClock, session: str, hours: int, person: bool
) -> None:
    said = iso(clock.now + timedelta(hours=hours))
    candidate = mined(turn="t9", session=session, quote="")
    assert check_forgotten(ws, candidate, session=session, said=said, person=person) == Hold(ON, again=False)


def test_same_turn_in_a_forked_session_is_not_new(ws: Workspace, forgotten: Memory, clock: SteppingClock) -> None:
    said = iso(clock.now + timedelta(hours=1))  # by a clock that is wrong
    assert check_forgotten(ws, mined(session="s2"), session="s2", said=said, person=True) == Hold(ON, again=False)


def test_unreadable_time_does_not_count_as_later(ws: Workspace, forgotten: Memory) -> None:
    assert check_forgotten(ws, mined(turn="t9"), session="s9", said="soon", person=True) == Hold(ON, again=False)


def test_memory_saved_by_hand_has_no_session(ws: Workspace, clock: SteppingClock) -> None:
    forget(ws, save_mined(ws, Memory("11111111-aaaa", "", STATEMENT)).memory.id)
    said = iso(clock.now + timedelta(hours=1))
    assert check_forgotten(ws, mined(), session="s1", said=said, person=True) == Hold(ON, again=True)


def test_both_of_two_tombstones_must_be_older(ws: Workspace, forgotten: Memory, clock: SteppingClock) -> None:
    clock.forward(days=2)
    forget(ws, save_mined(ws, mined("The port is 8080, mind you.", turn="t5", session="s5", quote="")).memory.id)
    both = mined(f"{STATEMENT} The port is 8080, mind you.", turn="t9", session="s9", quote="")
    between = iso(clock.now - timedelta(days=1))
    assert check_forgotten(ws, both, session="s9", said=between, person=True) == Hold(
        "it was forgotten on 2026-03-03", again=False
    )


# --- lift ---------------------------------------------------------------------------------------------------------


def test_lifted_tombstone_blocks_nothing(ws: Workspace, forgotten: Memory) -> None:
    lift(ws, Memory("some-other-id", "", STATEMENT))
    assert check_forgotten(ws, mined(turn="t9")) is None
    assert not was_forgotten(ws, forgotten.id)


def test_a_reworded_one_is_lifted_by_its_turn(ws: Workspace, forgotten: Memory) -> None:
    reworded = mined("Reworded.", turn="t1", quote="move signing to RS256, the gateway")
    lift(ws, reworded)
    assert check_forgotten(ws, reworded) is None


def test_lifting_one_leaves_its_neighbours_forgotten(ws: Workspace, forgotten: Memory) -> None:
    other = save_mined(ws, mined("The gateway has no secret.", turn="t1")).memory
    forget(ws, other.id)
    lift(ws, forgotten)
    assert check_forgotten(ws, mined("The gateway has no secret.", turn="t9", quote=""))


def test_to_lift_what_was_never_forgotten_writes_nothing(ws: Workspace) -> None:
    memory = save_mined(ws, mined()).memory
    lift(ws, memory)
    assert not ws.store.paths.tombstones.exists()


# --- was_forgotten ------------------------------------------------------------------------------------------------


def test_an_id_or_its_beginning_tells_whether_it_was_forgotten(ws: Workspace, forgotten: Memory) -> None:
    assert was_forgotten(ws, forgotten.id)
    assert was_forgotten(ws, forgotten.id8)
    assert not was_forgotten(ws, "00000000")


def test_notes_forgotten_before_tombstones_are_recognised_by_file(ws: Workspace, forgotten: Memory) -> None:
    ws.store.paths.tombstones.unlink()
    assert was_forgotten(ws, forgotten.id)
    assert not was_forgotten(ws, "00000000")


def test_nothing_was_forgotten_in_a_new_vault(ws: Workspace) -> None:
    assert not was_forgotten(ws, "00000000")


# --- after thirty days --------------------------------------------------------------------------------------------


def test_the_note_goes_after_thirty_days_and_its_tombstone_stays(
    ws: Workspace, forgotten: Memory, clock: SteppingClock
) -> None:
    stray = ws.store.paths.forgotten / "not-ours.md"
    stray.write_text("---\nid: [\n---\n")
    unknown = ws.store.paths.forgotten / "unknown.md"
    unknown.write_text("---\nid: 99999999-9999\n---\nNobody buried this.\n")
    clock.forward(days=29)
    notes_forget.drop_old(ws)
    assert len(list(ws.store.paths.forgotten.iterdir())) == 3
    clock.forward(days=2)
    notes_forget.drop_old(ws)
    assert sorted(ws.store.paths.forgotten.iterdir()) == [stray, unknown]
    assert check_forgotten(ws, mined(turn="t9"))


def test_one_that_was_forgotten_again_stays_as_long_again(ws: Workspace, clock: SteppingClock) -> None:
    memory = save_mined(ws, mined()).memory
    forget(ws, memory.id)
    lift(ws, memory)
    copy = next(ws.store.paths.forgotten.iterdir())
    copy.rename(ws.store.paths.memories / copy.name)
    refresh.refresh(ws)
    clock.forward(days=29)
    write.edit(ws, memory.id, importance=5)
    forget(ws, memory.id)
    clock.forward(days=2)
    notes_forget.drop_old(ws)
    assert len(list(ws.store.paths.forgotten.iterdir())) == 1


def test_that_is_done_when_a_session_begins(ws: Workspace, forgotten: Memory, clock: SteppingClock) -> None:
    clock.forward(days=31)
    session_start.after_session_start(ws)
    assert list(ws.store.paths.forgotten.iterdir()) == []


def test_without_a_vault_there_is_nothing_to_drop(ws: Workspace) -> None:
    notes_forget.drop_old(ws)
