"""memem forget and memem review, as a person calls them; and the same from Python."""

import io
import sys
from pathlib import Path

import pytest

from memem.core.errors import InputError
from memem.core.memory import Memory
from memem.doors import cli
from memem.doors.api.home import MemoryHome
from memem.notes import forget, review, write
from memem.notes.write import Written
from memem.upkeep.purge import Purged
from memem.workspace import Workspace, open_workspace
from tests.command_line import Outcome, Run, Terminal, assert_failed

VALUE = "xylophone7731"
ID = "66666666-aaaa-4aaa-8aaa-666666666666"
MEMORY = Memory(ID, "Door code", f"The door code of the Lyon office is {VALUE}.", "shop", author="model")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def call(*arguments: str, answer: str | None = None) -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.StringIO() if answer is None else Terminal(answer))
        code = cli.main(list(arguments))
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture
def home() -> Workspace:
    """The home that commands use, with a memory in it."""
    ws = open_workspace(actor="test")
    write.keep(ws, MEMORY)
    ws.close()
    return ws


@pytest.fixture
def proposed(home: Workspace) -> Workspace:
    """With a proposal as well."""
    review.propose(home, Memory("77777777-aaaa", "Canteen", "The canteen opens at noon.", "shop"), "said again")
    home.close()
    return home


def is_anywhere(ws: Workspace) -> bool:
    files = [path for root in (ws.home.root, ws.settings.vault) for path in root.rglob("*") if path.is_file()]
    return any(VALUE.encode() in path.read_bytes() for path in files)


def test_forgotten_text_is_refused_unless_saved_anyway(run: Run, home: Workspace) -> None:
    assert run("forget", "66666666", "--why", "wrong").out == "forgotten 66666666  shop  Door code\n"
    refused = run("save", MEMORY.body, "-p", "shop")
    assert (refused.code, refused.out) == (1, "")
    assert run("save", MEMORY.body.replace(VALUE, "4711"), "-p", "shop").code == 0
    assert run("save", MEMORY.body, "-p", "shop", "--anyway").code == 0


def test_a_purge_asks_first(run: Run, home: Workspace) -> None:
    done = run("forget", ID, "--purge", answer="n\n")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "66666666 shop Door code",
        "Remove every trace of it permanently? This cannot be undone. [y/N]",
        "Nothing was purged.",
    ]
    assert is_anywhere(home)
    done = run("forget", ID, "--purge", answer="yes\n")
    assert done.code == 0
    assert done.out.startswith("purged 66666666 from the note, ")
    assert "Not removed: Backups, disk snapshots" in done.err
    assert not is_anywhere(home)


def test_purge_without_a_terminal_needs_yes(run: Run, home: Workspace) -> None:
    done = run("forget", ID, "--purge")
    assert (done.code, done.out) == (1, "")
    assert "Not running interactively; pass --yes." in done.err
    assert is_anywhere(home)
    (data,) = run("forget", ID, "--purge", "--yes", "--json").data
    assert (data["outcome"], data["path"]) == ("purged", "")
    assert (data["id"], data["title"], data["removed"][0]) == (ID, "Door code", "the note")
    assert not is_anywhere(home)


def test_a_forgotten_one_can_be_purged(run: Run, home: Workspace) -> None:
    run("forget", ID)
    assert run("forget", ID, "--purge", "--yes").code == 0
    assert not is_anywhere(home)


@pytest.mark.parametrize("given", [(), ("66666666", "--vanished"), ("--purge",)])
def test_forget_needs_an_id_or_vanished(run: Run, home: Workspace, given: tuple[str, ...]) -> None:
    done = run("forget", *given)
    assert done.code == 2
    assert "ID --vanished" in done.err or "not allowed with" in done.err


def test_vanished_notes_cannot_be_purged(run: Run, home: Workspace) -> None:
    assert_failed(run("forget", "--vanished", "--purge"), "--vanished cannot be combined with --purge")


def test_vanished_notes_are_forgotten_on_request(run: Run, home: Workspace) -> None:
    assert run("forget", "--vanished").err == "No note is missing.\n"
    for number in range(12):
        write.keep(home, Memory(f"{number:08}-bbbb", "", f"Walrus number {number} sleeps."))
    paths = sorted(home.store.paths.memories.glob("walrus*"))
    for path in paths[:6]:
        path.unlink()
    assert "vanished\tdegraded\t6 notes missing" in run("doctor").out
    assert "vanished\t6 notes; see `memem doctor`" in run("status").out
    done = run("forget", "--vanished")
    assert sorted(done.out.splitlines()) == sorted(
        f"forgotten {number:08}  memories/walrus-number-{number}-sleeps-{number:08}.md"
        for number in (0, 1, 10, 11, 2, 3)
    )
    assert "cannot restore files that memem has no copy of" in done.err
    paths[6].unlink()
    (gone,) = run("forget", "--vanished", "--json").data
    assert set(gone) == {"outcome", "id", "title", "path", "time", "removed", "elsewhere"}
    assert (gone["outcome"], gone["removed"]) == ("forgotten", [])
    assert "vanished\t" not in run("status").out


def test_nothing_waits_for_review(run: Run, home: Workspace) -> None:
    assert run("review") == Outcome(0, "", "Nothing is waiting for review.\n")
    assert run("review", "list", "--json").data == []


def test_review_lists_accepts_and_rejects(run: Run, proposed: Workspace) -> None:
    assert "to review\t1; see `memem review`" in run("status").out
    done = run("review")
    assert done.out == "77777777\tshop\tfact\tCanteen\tsaid again\n"
    (data,) = run("review", "--json").data
    assert (data["id"], data["because"], data["path"]) == ("77777777-aaaa", "said again", "review/canteen-77777777.md")
    assert run("review", "accept", "7777").out == "accepted 77777777  shop  Canteen\n"
    assert run("search", "canteen").out.startswith("77777777")
    review.propose(proposed, Memory("88888888-aaaa", "Roof", "The roof is red.", "shop"), "doubtful")
    assert run("review", "reject", "8888", "--why", "no", "--json").data["outcome"] == "rejected"
    assert run("review").err == "Nothing is waiting for review.\n"


@pytest.mark.parametrize("given", [("accept",), ("reject",), ("list", "7777")])
def test_review_decisions_need_an_id(run: Run, proposed: Workspace, given: tuple[str, ...]) -> None:
    assert run("review", *given).code == 2


def test_python_forgets_purges_and_reviews(mem: MemoryHome, ws: Workspace, tmp_path: Path) -> None:
    write.keep(ws, MEMORY)
    written = mem.forget(ID)
    assert isinstance(written, Written)
    assert forget.was_forgotten(ws, ID)
    purged = mem.forget(ID, purge=True)
    assert isinstance(purged, Purged)
    assert not is_anywhere(ws)
    for number in (7, 8):
        review.propose(ws, Memory(f"{number}" * 8, f"Walrus {number}", f"Walrus number {number} sleeps."), "doubtful")
    assert [each.because for each in mem.proposals()] == ["doubtful", "doubtful"]
    assert mem.accept("7" * 8).outcome == "accepted"
    assert mem.reject("8" * 8, why="no").outcome == "rejected"
    with pytest.raises(InputError, match="must be text"):
        mem.accept(7)  # type: ignore[arg-type]
