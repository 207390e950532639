"""A candidate whose quote is not in the conversation is asked about once more, and then refused."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.core.conversation import ADD, NOOP, Operation
from memem.core.evidence import strip_speakers
from memem.mine import prompt, schedule
from memem.mine.ask import Mined
from memem.model.claude import Claude
from memem.search import find
from memem.search.transcripts import consent
from memem.state.journal import Journal
from memem.workspace import Workspace
from tests import fake_claude
from tests.builders import Crash, change_settings, crash_in_call
from tests.transcripts import AT_LENGTH, Transcript, fact

SAID = "Use pnpm in the shop, since the lockfile of npm breaks the build."
WANTED = Operation(
    ADD, None, "Package manager", "The shop uses pnpm.", "decision", "project", 4, (), (), "take pnpm, not npm"
)
PROVEN = replace(
    WANTED,
    title="Lockfile",
    content="The lockfile of npm breaks the shop's build.",
    quote="the lockfile of npm breaks the build",
)
RATE_LIMITED = {
    "exit": 1,
    "result": {"type": "result", "subtype": "success", "is_error": True, "result": "API Error: 529 Overloaded"},
}


@pytest.fixture
def ws(miner: Workspace) -> Workspace:
    consent.opt_in(miner)
    return miner


@pytest.fixture
def talk(session: Transcript) -> Transcript:
    session.human(f"{SAID} {AT_LENGTH}")
    return session


def answer(*operations: Operation) -> dict[str, Any]:
    return {"operations": prompt.operations_as_json(operations)}


def quotes(*given: str) -> dict[str, Any]:
    return {"quotes": [{"number": number, "quote": quote} for number, quote in enumerate(given, 1)]}


def mine(ws: Workspace, claude: Path, session: Transcript, *steps: dict[str, Any]) -> Mined:
    fake_claude.set_steps(claude, steps)
    return schedule.mine_file(ws, session.path)


def outcomes(mined: Mined) -> Sequence[str]:
    return [applied.outcome for applied in mined.applied]


def test_the_exact_words_are_asked_for_once_more(ws: Workspace, claude: Path, talk: Transcript) -> None:
    mined = mine(ws, claude, talk, answer(PROVEN, WANTED), quotes(SAID))
    assert outcomes(mined) == ["added", "added"]
    evidence = {entry.memory.title: strip_speakers(entry.memory.evidence) for entry in find.list_memories(ws)}
    assert evidence == {"Package manager": SAID, "Lockfile": PROVEN.quote}
    first, second = fake_claude.calls(claude)
    assert first["stdin"] in second["stdin"]
    claims = second["stdin"].partition("<claims>")[2]
    assert "1. Package manager: The shop uses pnpm.\n   quote: take pnpm, not npm\n" in claims
    assert PROVEN.content not in claims


def test_both_calls_are_counted(ws: Workspace, claude: Path, talk: Transcript) -> None:
    mine(ws, claude, talk, answer(WANTED), quotes(SAID))
    assert ws.state.ledger.spent(ws.today()).calls == 2


@pytest.mark.parametrize(
    "second", [quotes(""), quotes("use yarn in the shop instead"), quotes(), {"operations": []}, RATE_LIMITED]
)
def test_still_without_proof_it_is_refused(
    ws: Workspace, claude: Path, talk: Transcript, second: dict[str, Any]
) -> None:
    mined = mine(ws, claude, talk, answer(WANTED, PROVEN), second)
    assert (mined.outcome, outcomes(mined)) == ("mined", ["refused", "added"])
    assert mined.applied[0].reason == "the text it quotes as evidence is not in the conversation"
    assert len(fake_claude.calls(claude)) == 2


def test_nothing_is_asked_again_if_every_quote_is_found(ws: Workspace, claude: Path, talk: Transcript) -> None:
    nothing = replace(WANTED, op=NOOP, quote="")
    mine(ws, claude, talk, answer(PROVEN, nothing), quotes(SAID))
    assert len(fake_claude.calls(claude)) == 1


def test_a_spent_budget_leaves_it_at_the_refusal(ws: Workspace, claude: Path, talk: Transcript) -> None:
    change_settings(ws, daily_calls=1)
    mined = mine(ws, claude, talk, answer(WANTED, PROVEN), quotes(SAID))
    assert (mined.outcome, outcomes(mined)) == ("mined", ["refused", "added"])
    assert len(fake_claude.calls(claude)) == 1


def test_the_second_answer_changes_quotes_only(ws: Workspace, claude: Path, talk: Transcript) -> None:
    """Numbers that were not asked about are passed over."""
    second = {"quotes": [{"number": number, "quote": SAID} for number in (1, 1, 2, 40)]}
    assert outcomes(mine(ws, claude, talk, answer(WANTED), second)) == ["added"]


@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("after", [False, True])
def test_a_crash_during_either_call_doubles_nothing(
    ws: Workspace, claude: Path, talk: Transcript, monkeypatch: pytest.MonkeyPatch, call: int, after: bool
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Claude, "ask", crash_in_call(call, Claude.ask, after=after))
        with pytest.raises(Crash):
            mine(ws, claude, talk, answer(WANTED, PROVEN), quotes(SAID))
    assert ws.state.journal.records() == []
    assert outcomes(mine(ws, claude, talk, answer(WANTED, PROVEN), quotes(SAID))) == ["added", "added"]
    assert len(find.list_memories(ws)) == 2


def test_a_crash_after_both_calls_asks_for_nothing_again(
    ws: Workspace, claude: Path, talk: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "finish", crash_in_call(1, Journal.finish))
        with pytest.raises(Crash):
            mine(ws, claude, talk, answer(WANTED), quotes(SAID))
    (record,) = ws.state.journal.records()
    assert record.answer[0]["quote"] == SAID
    mine(ws, claude, talk, answer(WANTED), quotes(SAID))
    assert len(fake_claude.calls(claude)) == 2
    assert len(find.list_memories(ws)) == 1


def test_packed_sessions_are_asked_about_together(ws: Workspace, claude: Path, sessions: Path) -> None:
    """Each candidate goes to the session that its words are from."""
    for name in ("one", "two", "three", "four"):
        session = Transcript(sessions / f"{name}.jsonl")
        session.human(fact(name))
        fake_claude.set_steps(
            claude, [answer(replace(WANTED, quote="empty it")), quotes("called svc-three is restarted by hand")]
        )
        done = schedule.mine_in_background(ws, session.path, flush=True)
    assert len(fake_claude.calls(claude)) == 2
    assert {mined.session: outcomes(mined) for mined in done if mined.applied} == {"three": ["added"]}
