"""Every decision is written down, in nobody's way, and told to whoever asks why."""

import re
import sqlite3
import stat
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.core.errors import Busy, HomeError, StateUnusable
from memem.core.memory import Hit, Memory, Slice
from memem.inject import file_notes, prompt, provenance, receipts, session_start
from memem.inject.prompt import PromptRequest
from memem.notes import forget, save, write
from memem.state import usefulness
from memem.state.contexts import Context
from memem.state.receipts import FILE, PROMPT, SESSION_START, Receipt, ReceiptItem, Receipts
from memem.state.usefulness import UNSEEN
from memem.workspace import Workspace
from tests.fakes import START, SteppingClock

SECRET = "hunter2-correct-horse"
SIGNING = Memory("3f2c9a1e-8d1b-4c55-9a43-1f0e6f0d7a11", "Signing", "Tokens are signed with RS256.", "shop")
CARTS = Memory("00000002-8d1b-4c55-9a43-1f0e6f0d7a11", "Carts", "Carts expire after 30 days.", "shop")


def hit(memory: Memory, confidence: float) -> Hit:
    return Hit(memory, "a.md", 0.9, terms=("rs256",), cosine=0.6, helps=confidence)


def slice_with_notes(*, session: str = "s1", shown: bool = True) -> Slice:
    hits = (hit(SIGNING, 0.8),) if shown else ()
    text = "# Active Memory Slice\n" if shown else ""
    why = "1 of 2 were relevant enough" if shown else "no memory matches the prompt well enough"
    return Slice(text, hits, why, "shop", "explain", session, runners_up=(hit(CARTS, 0.2),))


def last(ws: Workspace, session: str = "") -> Receipt:
    receipt = receipts.last_decision(ws, session).receipt
    assert receipt
    return receipt


# --- written down -------------------------------------------------------------------------------------------------


def test_receipt_records_what_a_prompt_got(ws: Workspace) -> None:
    receipts.record(ws, slice_with_notes(), prompt="how are tokens signed with RS256?", threshold=0.5)
    receipt = last(ws)
    assert (receipt.time, receipt.event, receipt.session, receipt.project) == (
        START.timestamp(),
        PROMPT,
        "s1",
        "shop",
    )
    assert (receipt.reason, receipt.characters, receipt.line) == ("1 of 2 were relevant enough", 22, 0.5)
    assert receipt.shown == (ReceiptItem(SIGNING.id, "Signing", True, False, 0.9, 0.8, 0.6, ("rs256",)),)
    assert receipt.runners_up == (ReceiptItem(CARTS.id, "Carts", False, False, 0.9, 0.2, 0.6, ("rs256",)),)


def test_that_a_prompt_was_given_nothing_is_written_down_too(ws: Workspace) -> None:
    receipts.record(ws, slice_with_notes(shown=False), prompt="rename this", threshold=0.5)
    assert (last(ws).shown, last(ws).characters, last(ws).runners_up[0].id) == ((), 0, CARTS.id)


def test_receipt_records_only_prompt_words_shared_with_memories(ws: Workspace) -> None:
    receipts.record(ws, slice_with_notes(), prompt=f"log in with {SECRET} and rs256")
    ws.close()
    kept = b"".join(path.read_bytes() for path in ws.home.state.iterdir())
    assert b"rs256" in kept
    assert not re.search(rb"hunter2|horse|log in", kept)


def test_prompts_of_a_session_differ_by_hash(ws: Workspace) -> None:
    def hashed(prompt: str, session: str = "s1") -> str:
        receipts.record(ws, slice_with_notes(session=session), prompt=prompt)
        return last(ws).prompt

    assert re.fullmatch(r"[0-9a-f]{16}", hashed("one"))
    assert hashed("one") == hashed(" one <system-reminder>x</system-reminder>")
    assert len({hashed("one"), hashed("two"), hashed("one", "s2"), hashed("one", "")}) == 4
    assert hashed("\ud800", "x" * 300)


def test_the_hash_of_a_prompt_is_keyed_with_a_secret_of_the_home_that_is_made_once(ws: Workspace) -> None:
    receipts.record(ws, slice_with_notes(), prompt="one")
    key, before = ws.home.prompt_key.read_bytes(), last(ws).prompt
    assert (len(key), stat.S_IMODE(ws.home.prompt_key.stat().st_mode)) == (32, 0o600)
    receipts.record(ws, slice_with_notes(), prompt="one")
    assert (ws.home.prompt_key.read_bytes(), last(ws).prompt) == (key, before)
    ws.home.prompt_key.write_bytes(b"torn")
    receipts.record(ws, slice_with_notes(), prompt="one")
    assert len(ws.home.prompt_key.read_bytes()) == 32
    assert last(ws).prompt != before


def test_without_its_key_a_prompt_has_no_hash_and_a_receipt_all_the_same(ws: Workspace) -> None:
    ws.home.prompt_key.mkdir(parents=True)
    receipts.record(ws, slice_with_notes(), prompt="one")
    assert (last(ws).prompt, last(ws).shown[0].id) == ("", SIGNING.id)


def test_with_a_receipt_it_is_noted_what_the_session_was_shown_and_how_its_prompts_went(ws: Workspace) -> None:
    shown = replace(slice_with_notes(), pinned=(CARTS.id,))
    receipts.record(ws, shown, prompt="x", followed=True, context=Context(0, 0, b"x"))
    assert (ws.contexts.shown("s1"), ws.contexts.get("s1")) == ([SIGNING.id, CARTS.id], Context(0, 0, b"x"))
    assert last(ws).followed
    receipts.record(ws, slice_with_notes(session="s2", shown=False), prompt="x", context=Context(-1, 1, b"y"))
    assert (ws.contexts.shown("s2"), ws.contexts.get("s2")) == ([], Context(-1, 1, b"y"))
    receipts.record(ws, slice_with_notes(session="s3", shown=False), prompt="x")
    assert (ws.contexts.has_session("s3"), last(ws).followed) == (False, False)


@pytest.mark.parametrize("locking", ["NORMAL", "EXCLUSIVE"])
def test_a_record_that_others_hold_keeps_a_prompt_waiting_for_a_moment_only(ws: Workspace, locking: str) -> None:
    receipts.note_shown(ws, "s1", ["a"])
    ws.close()
    with closing(sqlite3.connect(ws.home.contexts_file, isolation_level=None)) as other:
        other.execute(f"PRAGMA locking_mode = {locking}")
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        receipts.shown_ids(ws, "s1")
        receipts.context_of(ws, "s1")
        assert usefulness.boosts(ws, [SIGNING.id]) == {}
        receipts.note_shown(ws, "s1", [SIGNING.id])
        receipts.record(ws, slice_with_notes(), prompt="x", context=Context())
        assert time.monotonic() - began < 0.5
        other.execute("ROLLBACK")
    ws.close()
    assert receipts.shown_ids(ws, "s1") == {"a"}, "what was not noted does not count as shown"


def test_abandoned_answer_counts_as_not_shown(ws: Workspace, clock: SteppingClock) -> None:
    ws.wanted_until = clock.ticks() - 1
    receipts.record(ws, slice_with_notes(), prompt="x")
    receipts.record_shown(ws, [hit(SIGNING, 1)], event=FILE, session="s1", project="shop", text="x")
    assert not ws.home.contexts_file.exists()


@pytest.mark.parametrize("problem", [StateUnusable("x"), HomeError("x"), Busy("x"), OSError("x")])
def test_unwritable_record_stops_nothing(ws: Workspace, monkeypatch: pytest.MonkeyPatch, problem: Exception) -> None:
    def fails(*_: object) -> None:
        raise problem

    monkeypatch.setattr(Receipts, "add", fails)
    receipts.record(ws, slice_with_notes(), prompt="x")
    assert not ws.home.shown_unjudged.exists()


def test_unwritable_home_stops_nothing(ws: Workspace) -> None:
    ws.settings.home.mkdir()
    ws.home.state.write_text("a file, not a folder")
    receipts.record(ws, slice_with_notes(), prompt="x")


def test_something_shown_leaves_a_private_mark(ws: Workspace) -> None:
    receipts.record(ws, slice_with_notes(shown=False), prompt="x")
    receipts.record(ws, slice_with_notes(session=""), prompt="x")
    assert not ws.home.shown_unjudged.exists()
    for _ in range(2):
        receipts.record(ws, slice_with_notes(), prompt="x")
        assert stat.S_IMODE(ws.home.shown_unjudged.stat().st_mode) == 0o600


@pytest.fixture
def shop(ws: Workspace, tmp_path: Path) -> Path:
    """The folder of a project in which something is remembered."""
    for memory in (SIGNING, CARTS):
        write.keep(ws, memory)
    (tmp_path / "shop").mkdir()
    return tmp_path / "shop"


def test_a_prompt_that_is_answered_leaves_a_receipt_and_one_that_is_not_another(ws: Workspace, shop: Path) -> None:
    shown = prompt.slice_prompt(ws, PromptRequest("are tokens signed with RS256?", shop, "s1"))
    assert [item.id for item in last(ws).shown] == [hit.id for hit in shown.hits] == [SIGNING.id]
    assert (last(ws).characters, last(ws).line) == (len(shown.text), ws.settings.recall_min_confidence)
    again = prompt.slice_prompt(ws, PromptRequest("are tokens signed with RS256?", shop, "s1"))
    assert (last(ws).shown, last(ws).reason) == ((), again.reason)
    assert last(ws).number == 2


def test_to_ask_why_is_not_a_decision_to_be_explained(ws: Workspace, shop: Path) -> None:
    prompt.slice_prompt(ws, PromptRequest("are tokens signed with RS256?", shop, "s1"))
    prompt.slice_prompt(ws, PromptRequest("/memem-why", shop, "s1"))
    assert [item.id for item in last(ws, "s1").shown] == [SIGNING.id]


# --- on other occasions -------------------------------------------------------------------------------------------


def keep(ws: Workspace, body: str, **more: Any) -> str:
    return save.save(ws, body, project="shop", **more).memory.id


def test_receipt_records_the_briefing(ws: Workspace, tmp_path: Path) -> None:
    pinned = keep(ws, "shop is the checkout backend.", title="What shop is", layer=0)
    rule = keep(ws, "Prices are net.", title="Prices", kind="convention")
    keep(ws, "The walrus sleeps.", title="Walrus")
    (tmp_path / "shop").mkdir()
    text = session_start.brief(ws, cwd=tmp_path / "shop", session="s1", source="startup")
    receipt = last(ws)
    assert (receipt.event, receipt.session, receipt.project) == (SESSION_START, "s1", "shop")
    assert receipt.characters == len(text)
    assert [item.id for item in receipt.shown] == [pinned, rule]
    assert not ws.home.shown_unjudged.exists(), "what everybody is told is not judged"


def test_briefing_without_memories_leaves_no_receipt(ws: Workspace, tmp_path: Path) -> None:
    keep(ws, "The walrus sleeps.", title="Walrus")
    (tmp_path / "shop").mkdir()
    assert session_start.brief(ws, cwd=tmp_path / "shop", session="s1", source="startup")
    assert receipts.last_decision(ws).receipt is None


def test_file_notes_are_recorded_and_judged(ws: Workspace, tmp_path: Path) -> None:
    about = keep(ws, "Tokens are signed.", paths=("src/**",))
    (tmp_path / "shop").mkdir()
    text = file_notes.about_file(ws, Path("src/token.py"), cwd=tmp_path / "shop", session="s1")
    receipt = last(ws)
    assert (receipt.event, receipt.project, receipt.characters) == (FILE, "shop", len(text))
    assert [item.id for item in receipt.to_judge] == [about]
    assert ws.home.shown_unjudged.exists()


# --- why ----------------------------------------------------------------------------------------------------------


def test_the_last_decision_is_that_of_the_session_if_it_has_one(ws: Workspace) -> None:
    for session in ("s1", "s2"):
        receipts.record(ws, slice_with_notes(session=session), prompt="x")
    assert [last(ws, session).session for session in ("s1", "s2", "another", "")] == ["s1", "s2", "s2", "s2"]


def test_session_without_decisions_says_so_before_naming_another(ws: Workspace) -> None:
    receipts.record(ws, slice_with_notes(), prompt="x")
    other = receipts.last_decision(ws, "another").words
    assert other == (
        "memem has not been asked for memories in this session yet. The most recent answer in any session:",
        *receipts.last_decision(ws).words,
    )
    assert receipts.last_decision(ws, "s1").words == receipts.last_decision(ws).words


def test_last_decision_is_explained_in_words(ws: Workspace) -> None:
    receipts.record(ws, slice_with_notes(), prompt="x", threshold=0.5)
    assert receipts.last_decision(ws).words[:2] == (
        "On 2026-03-01 at 09:00, memem showed 1 memory (22 characters) for a prompt in project shop:",
        "  Signing (3f2c9a1e): 80% likely to help. It shares “rs256” with the prompt and is close in meaning (0.60).",
    )


def test_without_any_decision_the_words_say_so_and_nothing_is_made(ws: Workspace) -> None:
    decision = receipts.last_decision(ws, "s1")
    assert decision.receipt is None
    assert decision.words == ("There is nothing to explain yet: no Claude Code session has asked for memories.",)
    assert (receipts.injections(ws, SIGNING.id), usefulness.usefulness_of(ws, SIGNING.id)) == ((), UNSEEN)
    assert not ws.home.contexts_file.exists()


def test_a_memory_tells_where_it_was_shown_and_what_came_of_it(ws: Workspace, clock: SteppingClock) -> None:
    write.keep(ws, SIGNING)
    unseen = provenance.find_provenance(ws, SIGNING.id)
    assert (unseen.injections, unseen.usefulness) == ((), UNSEEN)
    receipts.record(ws, slice_with_notes(), prompt="x")
    ws.contexts.receipts.mark_used(last(ws).number, {SIGNING.id: "its id stands in the answer"}, 0)
    clock.forward(hours=1)
    receipts.record(ws, slice_with_notes(session="s2"), prompt="x")
    why = provenance.find_provenance(ws, SIGNING.id8)
    assert [(each.time, each.session, each.used) for each in why.injections] == [
        ("2026-03-01T10:00:00+01:00", "s2", ""),
        ("2026-03-01T09:00:00+01:00", "s1", "its id stands in the answer"),
    ]
    assert (why.injections[0].event, why.injections[0].project) == (PROMPT, "shop")
    assert (why.injections[0].confidence, why.injections[0].terms) == (0.8, ("rs256",))
    assert (why.usefulness.shown, why.usefulness.used, why.usefulness.multiplier) == (1, 1, 1.016)


def test_a_damaged_record_costs_a_memory_its_history_and_nothing_else(ws: Workspace) -> None:
    write.keep(ws, SIGNING)
    receipts.record(ws, slice_with_notes(), prompt="x")
    for table in ("receipts", "usefulness"):
        ws.contexts.receipts._connect().execute(f"DROP TABLE {table}")
    assert (provenance.find_provenance(ws, SIGNING.id).injections, usefulness.boosts(ws, [SIGNING.id])) == ((), {})


@pytest.mark.parametrize("how", ["a folder", "newer"])
def test_a_record_that_cannot_be_used_leaves_a_memory_its_proof(ws: Workspace, how: str) -> None:
    write.keep(ws, SIGNING)
    if how == "newer":
        receipts.record(ws, slice_with_notes(), prompt="x")
        ws.contexts._connect().execute("PRAGMA user_version = 99")
        ws.close()
    else:
        ws.home.contexts_file.mkdir(parents=True)
    why = provenance.find_provenance(ws, SIGNING.id)
    assert (why.entry.id, why.injections, why.usefulness) == (SIGNING.id, (), UNSEEN)
    assert why.note == "It was saved by a person, not mined from a session."
    forget.forget(ws, SIGNING.id)
    if how == "newer":
        with pytest.raises(StateUnusable):
            receipts.last_decision(ws)
    else:
        assert receipts.last_decision(ws).receipt is None  # it was set aside, and begun anew


def test_forgotten_memory_leaves_no_words_in_receipts(ws: Workspace) -> None:
    write.keep(ws, SIGNING)
    receipts.record(ws, slice_with_notes(), prompt="x")
    ws.contexts.receipts.mark_used(last(ws).number, {SIGNING.id: "the answer uses its words (rs256)"}, 0)
    forget.forget(ws, SIGNING.id)
    (item,) = last(ws).shown
    assert (item.id, item.title, item.terms, item.used) == (SIGNING.id, "", (), "")
    assert last(ws).runners_up[0].title == "Carts"
    assert usefulness.usefulness_of(ws, SIGNING.id) == UNSEEN
    assert receipts.last_decision(ws).words[1].startswith("  A memory (3f2c9a1e): 80% likely")
