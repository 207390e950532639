"""memem timeline, as a person calls it."""

import pytest

from memem.core.memory import Memory
from memem.doors.api.home import MemoryHome
from memem.notes import write
from memem.workspace import open_workspace
from tests.command_line import Run

OLD, NEW = "0ld00000-0000-4000-8000-000000000000", "new00000-0000-4000-8000-000000000000"


@pytest.fixture
def replaced() -> tuple[str, str]:
    """The ids of a memory and of the one that replaced it."""
    ws = open_workspace(actor="test")
    write.keep(ws, Memory(OLD, "Npm", "The shop is built with npm.", "shop", superseded_by=f"[[pnpm-{NEW[:8]}]]"))
    write.keep(ws, Memory(NEW, "Pnpm", "The shop is built with pnpm.", "shop", supersedes=f"[[npm-{OLD[:8]}]]"))
    ws.close()
    return OLD, NEW


def test_timeline_shows_the_memory_and_what_replaced_it(run: Run, replaced: tuple[str, str]) -> None:
    old, new = replaced
    done = run("timeline", old[:8])
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "Npm"
    assert lines[lines.index("Replaced by") + 1].startswith(f"{new[:8]}\tshop\t")
    assert "Replaced" not in lines


def test_timeline_in_json(run: Run, replaced: tuple[str, str]) -> None:
    old, new = replaced
    data = run("timeline", new, "--json").data
    assert (data["entry"]["id"], [each["id"] for each in data["predecessors"]]) == (new, [old])
    assert data["successors"] == data["related"] == data["contradicts"] == data["earlier"] == data["later"] == []


def test_timeline_of_an_unknown_id_fails_with_a_line(run: Run, replaced: tuple[str, str]) -> None:
    done = run("timeline", "ffffffff")
    assert (done.code, done.out) == (1, "")
    assert "No memory has the id 'ffffffff'" in done.err


def test_python_gives_the_same_timeline(mem: MemoryHome) -> None:
    (house,) = mem.list()
    mem.save("The roof is red.", title="Roof")
    found = mem.timeline(house.id[:8])
    assert {entry.title for entry in (*found.earlier, *found.later)} == {"Roof"}
