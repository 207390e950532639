"""After a turn: which of the memories it was shown were used. Each is judged once, and what cannot be is let go."""

from pathlib import Path

import pytest

from memem.core.errors import Busy
from memem.core.memory import Hit, Memory, Slice
from memem.inject import receipts, usefulness
from memem.notes import forget, save, write
from memem.state import usefulness as state_usefulness
from memem.state.receipts import FILE, Receipts
from memem.workspace import Workspace
from tests.fakes import SteppingClock
from tests.transcripts import SHOP, Transcript

SIGNING = Memory(
    "3f2c9a1e-8d1b-4c55-9a43-1f0e6f0d7a11",
    "Signing",
    "Access tokens are signed with RS256, since the gateway shares no secret with us.",
    "shop",
    keys=("JWT_SIGNER",),
)
CARTS = Memory("00000002-8d1b-4c55-9a43-1f0e6f0d7a11", "Carts", "Abandoned carts expire, see src/carts/old.py.", "shop")
PROMPT = "how are the access tokens signed?"


@pytest.fixture
def shop(ws: Workspace) -> Workspace:
    """A memory home with a few memories in it."""
    for memory in (SIGNING, CARTS):
        write.keep(ws, memory)
    return ws


def show(ws: Workspace, *memories: Memory, session: str = "s1", prompt: str = PROMPT, event: str = "prompt") -> None:
    hits = tuple(Hit(memory, "a.md", 0.9) for memory in memories or (SIGNING,))
    receipts.record(ws, Slice("text", hits, "", "shop", "", session), prompt=prompt, event=event)


def exchange(session: Transcript, answer: str, prompt: str = PROMPT) -> None:
    session.human(prompt)
    session.claude(answer)


def judge(ws: Workspace, session: Transcript, last_message: str = "") -> int:
    return usefulness.judge(ws, "s1", session.path, last_message)


def verdict(ws: Workspace, memory: Memory = SIGNING) -> str:
    return receipts.injections(ws, memory.id)[0].used


def prompted(ws: Workspace, clock: SteppingClock, session: Transcript, *memories: Memory) -> None:
    """A prompt, just as its receipt is written."""
    session.human(PROMPT)
    clock.now = session.now
    show(ws, *memories)


def test_a_memory_whose_words_stand_in_the_answer_was_used(
    shop: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    prompted(shop, clock, session)
    session.claude("With RS256: nobody can share a secret.")
    assert judge(shop, session) == 1
    assert verdict(shop) == "the answer uses its words (rs256)"
    assert shop.contexts.receipts.tally([SIGNING.id]) == {SIGNING.id: (1, 1)}


def test_a_memory_of_which_nothing_is_seen_was_not(shop: Workspace, clock: SteppingClock, session: Transcript) -> None:
    prompted(shop, clock, session, SIGNING, CARTS)
    session.claude("I do not know how the access tokens are signed.")
    assert judge(shop, session) == 1
    assert (verdict(shop), verdict(shop, CARTS)) == ("no", "no")
    assert shop.contexts.receipts.tally([SIGNING.id, CARTS.id]) == {SIGNING.id: (1, 0), CARTS.id: (1, 0)}


def test_a_memory_of_a_file_that_was_changed_was_used(
    shop: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    prompted(shop, clock, session, CARTS)
    session.tool("Read", file_path=f"{SHOP}/src/carts/new.py")
    session.tool("Edit", file_path=f"{SHOP}/src/carts/old.py", old_string="x")
    judge(shop, session)
    assert verdict(shop, CARTS) == "old.py, which it is about, was changed"


def test_a_file_that_was_only_read_shows_nothing(shop: Workspace, clock: SteppingClock, session: Transcript) -> None:
    prompted(shop, clock, session, CARTS)
    session.tool("Read", file_path=f"{SHOP}/src/carts/old.py")
    session.claude("Done.")
    judge(shop, session)
    assert verdict(shop, CARTS) == "no"


def test_what_the_person_said_first_is_no_sign_of_use(
    shop: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    session.human("are the tokens signed with RS256 by the JWT_SIGNER?")
    clock.now = session.now
    show(shop)
    session.claude("Yes, RS256, by the JWT_SIGNER.")
    judge(shop, session)
    assert verdict(shop) == "no"


def test_what_was_said_before_the_prompt_does_not_count(
    shop: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    exchange(session, "It is RS256.", "what do others do?")
    session.tool("Edit", file_path=f"{SHOP}/src/carts/old.py", old_string="x")
    prompted(shop, clock, session, SIGNING, CARTS)
    session.claude("As I said.")
    judge(shop, session)
    assert (verdict(shop), verdict(shop, CARTS)) == ("no", "no")


def test_before_a_file_was_opened_nothing_was_used(shop: Workspace, clock: SteppingClock, session: Transcript) -> None:
    session.human(PROMPT)
    session.claude("It may be RS256.")
    clock.now = session.now
    clock.forward(seconds=30)
    show(shop, event=FILE)
    session.claude("Done.")
    judge(shop, session)
    assert verdict(shop) == "no"


def test_the_end_of_the_answer_counts_though_it_is_not_in_the_file_yet(
    shop: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    prompted(shop, clock, session)
    judge(shop, session, last_message="See memory 3f2c9a1e.")
    assert verdict(shop) == "its id is in the answer"


def test_a_line_without_a_time_is_taken_for_new(shop: Workspace, clock: SteppingClock, session: Transcript) -> None:
    prompted(shop, clock, session)
    session.claude("See 3f2c9a1e.", timestamp="")
    judge(shop, session)
    assert verdict(shop) == "its id is in the answer"


def test_nothing_is_judged_twice(shop: Workspace, clock: SteppingClock, session: Transcript) -> None:
    prompted(shop, clock, session)
    session.claude("Done.")
    assert (judge(shop, session), judge(shop, session)) == (1, 0)
    assert shop.contexts.receipts.tally([SIGNING.id]) == {SIGNING.id: (1, 0)}


def test_a_session_judges_its_own_and_leaves_the_others(
    shop: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    show(shop, session="s2")
    prompted(shop, clock, session)
    session.claude("Done.")
    assert judge(shop, session) == 1
    assert shop.contexts.receipts.unjudged("s2")
    assert shop.home.shown_unjudged.exists()


def test_the_mark_goes_with_the_last_of_them(shop: Workspace, clock: SteppingClock, session: Transcript) -> None:
    prompted(shop, clock, session)
    assert shop.home.shown_unjudged.exists()
    session.claude("Done.")
    judge(shop, session)
    assert not shop.home.shown_unjudged.exists()


def test_as_long_as_nothing_was_answered_it_waits_and_then_is_let_go(
    shop: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    prompted(shop, clock, session)
    assert judge(shop, session) == 0
    assert shop.home.shown_unjudged.exists()
    clock.forward(days=2)
    judge(shop, session)
    assert not shop.home.shown_unjudged.exists()
    assert (verdict(shop), shop.contexts.receipts.tally([SIGNING.id])) == ("", {})


@pytest.mark.parametrize("path", ["gone.jsonl", ".", "a\0b", "x" * 5_000])
def test_without_its_transcript_and_any_words_nothing_is_known_and_nothing_tried_again(
    shop: Workspace, path: str
) -> None:
    show(shop)
    assert usefulness.judge(shop, "s1", Path(path), "") == 1
    assert (verdict(shop), shop.contexts.receipts.tally([SIGNING.id])) == ("", {})
    assert not shop.home.shown_unjudged.exists()


@pytest.mark.parametrize("path", [None, Path("gone.jsonl")])
@pytest.mark.parametrize(
    ("said", "used"), [("With RS256.", "the answer uses its words (rs256)"), ("I do not know.", "no")]
)
def test_without_its_transcript_the_last_message_is_the_answer(
    shop: Workspace, path: Path | None, said: str, used: str
) -> None:
    show(shop)
    assert usefulness.judge(shop, "s1", path, said) == 1
    assert verdict(shop) == used


def test_without_its_transcript_words_that_the_receipt_knows_from_the_prompt_are_no_sign_of_use(
    shop: Workspace,
) -> None:
    hit = Hit(SIGNING, "a.md", 0.9, terms=("rs256",))
    receipts.record(shop, Slice("text", (hit,), "", "shop", "", "s1"), prompt="is it RS256?")
    usefulness.judge(shop, "s1", None, "Yes, RS256.")
    assert verdict(shop) == "no"


def test_what_was_not_answered_when_its_session_ends_is_let_go(
    shop: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    prompted(shop, clock, session)
    assert usefulness.judge(shop, "s1", session.path, "", ended=True) == 1
    assert (verdict(shop), shop.contexts.receipts.tally([SIGNING.id])) == ("", {})
    assert not shop.home.shown_unjudged.exists()


def test_a_record_that_cannot_be_used_is_not_looked_for_after_every_turn(shop: Workspace, session: Transcript) -> None:
    show(shop)
    shop.contexts._connect().execute("PRAGMA user_version = 99")
    shop.close()
    assert judge(shop, session, "RS256") == 0
    assert not shop.home.shown_unjudged.exists()


@pytest.mark.parametrize("method", ["unjudged", "has_unjudged"])
def test_a_record_that_others_hold_is_looked_for_after_the_next_turn(
    shop: Workspace, session: Transcript, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def busy(*_: object) -> None:
        raise Busy("x")

    show(shop)
    monkeypatch.setattr(Receipts, method, busy)
    judge(shop, session)
    assert shop.home.shown_unjudged.exists()


def test_a_memory_that_was_forgotten_meanwhile_is_not_judged(
    shop: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    prompted(shop, clock, session, SIGNING, CARTS)
    session.claude("RS256.")
    forget.forget(shop, SIGNING.id)
    judge(shop, session)
    assert shop.contexts.receipts.tally([SIGNING.id, CARTS.id]) == {CARTS.id: (1, 0)}


def test_of_a_long_transcript_the_end_is_read_and_torn_lines_are_passed_over(
    shop: Workspace, clock: SteppingClock, session: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usefulness, "TAIL_BYTES", 4_000)
    session.claude("long " * 2_000)
    prompted(shop, clock, session)
    session.raw(b'{"type": "assistant", "message": {"role": "assist\n')
    session.claude("With RS256.")
    session.raw(b'{"type": "user", "mess')
    judge(shop, session)
    assert verdict(shop) == "the answer uses its words (rs256)"


def test_where_the_prompt_is_out_of_reach_what_came_after_the_receipt_counts(
    shop: Workspace, clock: SteppingClock, session: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usefulness, "TAIL_BYTES", 1_000)
    prompted(shop, clock, session)
    session.claude("long " * 2_000)
    session.claude("With RS256.")
    judge(shop, session)
    assert verdict(shop) == "the answer uses its words (rs256)"


def test_a_word_that_many_memories_have_is_no_sign_of_one(
    shop: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    for number in range(4):
        save.save(shop, f"Number {number} is verified by RS256 too.", project="shop")
    prompted(shop, clock, session)
    session.claude("With RS256.")
    judge(shop, session)
    assert verdict(shop) == "no"


def test_within_a_call_of_ours_nothing_is_judged(shop: Workspace, session: Transcript) -> None:
    show(shop)
    shop.environ = {**shop.environ, "MEMEM_HOOKS_OFF": "1"}
    assert judge(shop, session) == 0
    assert shop.contexts.receipts.unjudged("s1")


def test_without_a_record_there_is_nothing_to_judge_and_none_is_made(ws: Workspace, session: Transcript) -> None:
    assert judge(ws, session, "RS256") == 0
    assert not ws.home.contexts_file.exists()


# --- what it counts for -------------------------------------------------------------------------------------------


def test_what_was_used_counts_more_and_what_was_not_less(
    shop: Workspace, clock: SteppingClock, session: Transcript
) -> None:
    prompted(shop, clock, session, SIGNING, CARTS)
    session.claude("With RS256.")
    judge(shop, session)
    counted = state_usefulness.boosts(shop, [SIGNING.id, CARTS.id, "another"])
    assert counted[SIGNING.id] > 1 > counted[CARTS.id]
    assert set(counted) == {SIGNING.id, CARTS.id}
    assert state_usefulness.usefulness_of(shop, SIGNING.id) == state_usefulness.Usefulness(1, 1, 1.016)


def test_factors_of_nothing_cost_nothing(ws: Workspace) -> None:
    assert state_usefulness.boosts(ws, [SIGNING.id]) == {}
    assert not ws.home.contexts_file.exists()
