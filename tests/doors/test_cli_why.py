"""memem why, as a person calls it: the last decision, and where a memory was shown."""

import pytest

from memem.core.memory import Hit, Memory, Slice
from memem.doors.api.home import MemoryHome
from memem.inject import receipts
from memem.notes import write
from memem.workspace import Workspace, open_workspace
from tests.command_line import Run

SIGNING = Memory("3f2c9a1e-8d1b-4c55-9a43-1f0e6f0d7a11", "Signing", "Tokens are signed with RS256.", "shop")


def show(ws: Workspace, session: str, confidence: float | None = 0.8) -> None:
    hit = Hit(SIGNING, "a.md", 0.9, terms=("rs256",), helps=confidence)
    receipts.record(ws, Slice("text", (hit,), "", "shop", "", session), prompt="x", threshold=0.5)


@pytest.fixture
def shown() -> None:
    """A memory that was shown in three sessions, and used in the first."""
    ws = open_workspace(actor="test")
    write.keep(ws, SIGNING)
    for session in ("s1", "s2"):
        show(ws, session)
    show(ws, "s3", confidence=None)
    (receipt,) = ws.contexts.receipts.unjudged("s1")
    ws.contexts.receipts.mark_used(receipt.number, {SIGNING.id: "its id stands in the answer"}, 0)
    ws.close()


@pytest.mark.usefixtures("shown")
def test_why_alone_explains_the_last_decision(run: Run) -> None:
    done = run("why")
    assert (done.code, done.err) == (0, "")
    first, second = done.out.splitlines()
    assert first.endswith(", memem showed 1 memory (4 characters) for a prompt in project shop:")
    assert second == "  Signing (3f2c9a1e): It shares “rs256” with the prompt."


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize(("session", "explained"), [("s1", "s1"), ("unknown", "s3")])
def test_why_prefers_the_current_session(
    run: Run, monkeypatch: pytest.MonkeyPatch, session: str, explained: str
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", session)
    assert run("why", "--json").data["decision"]["receipt"]["session"] == explained


@pytest.mark.usefixtures("shown")
def test_the_last_decision_in_json(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    result = run("why", "--json").data
    data = result["decision"]
    assert (set(result), result["memory"]) == ({"decision", "memory"}, None)
    assert set(data) == {"receipt", "words"}
    (item,) = data["receipt"]["items"]
    assert (item["id"], item["terms"], item["confidence"]) == (SIGNING.id, ["rs256"], 0.8)
    assert data["words"][1].endswith("It was used: its id stands in the answer.")


def test_before_anything_was_decided_why_says_so(run: Run) -> None:
    done = run("why")
    assert (done.code, done.out) == (
        0,
        "There is nothing to explain yet: no Claude Code session has asked for memories.\n",
    )
    assert run("why", "--json").data["decision"]["receipt"] is None


@pytest.mark.usefixtures("shown")
def test_why_shows_injections_and_their_use(run: Run) -> None:
    lines = run("why", "3f2c9a1e").out.splitlines()
    rows = [line.split("\t") for line in lines[lines.index("Shown") + 1 : -1]]
    assert [row[1:] for row in rows] == [
        ["prompt", "shop", "s3", "", ""],
        ["prompt", "shop", "s2", "80%", ""],
        ["prompt", "shop", "s1", "80%", "its id stands in the answer"],
    ]
    checks = "memem checked once whether Claude used it; it was used once."
    assert lines[-1] == f"{checks} Its search score is therefore multiplied by 1.02."


@pytest.mark.parametrize(
    ("shown", "used", "expected"),
    [
        (1, 0, "memem checked once whether Claude used it; it was never used. "),
        (3, 0, "memem checked 3 times whether Claude used it; it was never used. "),
        (3, 2, "memem checked 3 times whether Claude used it; it was used twice. "),
        (3, 3, "memem checked 3 times whether Claude used it; it was used 3 times. "),
    ],
)
def test_why_counts_how_often_a_memory_was_used(run: Run, shown: int, used: int, expected: str) -> None:
    ws = open_workspace(actor="test")
    write.keep(ws, SIGNING)
    for number in range(shown):
        show(ws, "s1")
        (receipt,) = ws.contexts.receipts.unjudged("s1")
        ws.contexts.receipts.mark_used(receipt.number, {SIGNING.id: "cited" if number < used else "no"}, 0)
    ws.close()
    assert run("why", "3f2c9a1e").out.splitlines()[-1].startswith(expected)


@pytest.mark.usefixtures("shown")
def test_why_says_that_a_session_has_no_decision_yet(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "unknown")
    assert run("why").out.startswith(
        "memem has not been asked for memories in this session yet. The most recent answer in any session:\nOn "
    )


def test_an_unjudged_memory_keeps_its_rank(run: Run) -> None:
    ws = open_workspace(actor="test")
    write.keep(ws, SIGNING)
    show(ws, "s1")
    ws.close()
    done = run("why", SIGNING.id)
    assert "Shown\n" in done.out
    assert "ranking" not in done.out
    assert run("why", SIGNING.id, "--json").data["memory"]["usefulness"] == {"shown": 0, "used": 0, "multiplier": 1.0}


def test_python_gives_the_same_decision(mem: MemoryHome, ws: Workspace) -> None:
    assert mem.last_decision().receipt is None
    for session in ("s1", "s2"):
        show(ws, session)
    decision = mem.last_decision("s1")
    assert decision.receipt
    assert (decision.receipt.session, decision) == ("s1", receipts.last_decision(ws, "s1"))
