"""Commands and tools show outdated memories with their dates, the reason and the predecessor."""

from pathlib import Path

import pytest

from memem.core.memory import Memory
from memem.doors.api.home import MemoryHome
from memem.doors.mcp import tools
from memem.notes import write
from memem.workspace import Workspace, open_workspace
from tests.command_line import Run

OLD, NEW, STALE = (f"{name}0000-0000-4000-8000-000000000000" for name in ("01d0", "ne10", "5ta1"))


@pytest.fixture
def home() -> Workspace:
    """One that was replaced in June 2025, the one that replaced it, and one that is stale."""
    ws = open_workspace(actor="test")
    month = {"created": "2025-05-01T09:00:00Z", "updated": "2025-05-01T09:00:00Z"}
    old = {"status": "deprecated", "valid_to": "2025-06-01", "superseded_by": f"[[pnpm-{NEW[:8]}]]"}
    new = {"created": "2025-06-01T09:00:00Z", "valid_from": "2025-06-02", "supersedes": f"[[npm-{OLD[:8]}]]"}
    stale = {"status": "stale", "stale_because": "build.sh is gone from shop"}
    write.keep(ws, Memory(OLD, "Npm", "The shop is built with npm.", "shop", **month, **old))  # type: ignore[arg-type]
    write.keep(ws, Memory(NEW, "Pnpm", "The shop is built with pnpm.", "shop", **new))  # type: ignore[arg-type]
    write.keep(ws, Memory(STALE, "Script", "The shop is built by build.sh.", "shop", **month, **stale))  # type: ignore[arg-type]
    ws.close()
    return ws


@pytest.mark.usefixtures("home")
def test_a_search_as_of_a_day_shows_what_was_held_then(run: Run) -> None:
    assert {hit["title"] for hit in run("search", "built", "--as-of", "2025-06-01", "--json").data} == {"Npm"}
    assert {hit["title"] for hit in run("search", "built", "--as-of", "2025-06-02", "--json").data} == {"Pnpm"}
    assert {hit["title"] for hit in run("search", "built", "--json").data} == {"Npm", "Pnpm", "Script"}


@pytest.mark.usefixtures("home")
def test_an_outdated_hit_shows_its_end_and_successor(run: Run) -> None:
    shown = run("search", "npm built", "--as-of", "2025-06-01").out
    assert shown.endswith(f"\tNpm (deprecated, until 2025-06-01, replaced by {NEW[:8]})\n")


@pytest.mark.usefixtures("home")
def test_an_unknown_date_is_a_one_line_error(run: Run) -> None:
    done = run("search", "built", "--as-of", "soon")
    assert (done.code, done.out) == (1, "")
    assert "'soon' is not a date; use 2026-06-01" in done.err


@pytest.mark.usefixtures("home")
def test_stale_memories_are_shown_with_the_reason(run: Run) -> None:
    assert "Script (stale: build.sh is gone from shop)" in run("list").out
    assert " · stale: build.sh is gone from shop · " in run("get", STALE).out
    assert "is stale: build.sh is gone from shop" in run("check").out
    assert "stale\t1; see `memem index check`" in run("status").out


@pytest.mark.usefixtures("home")
def test_a_timeline_says_when_each_was_held(run: Run) -> None:
    assert "\tvalid from 2025-05-01 until 2025-06-01\tNpm" in run("timeline", NEW[:8]).out


def test_python_asks_for_a_time_too(home: Workspace) -> None:
    hits = MemoryHome(home).search("built", as_of="2025-06-01")
    assert [hit.title for hit in hits] == ["Npm"]


def test_tools_show_validity_too(home: Workspace, tmp_path: Path) -> None:
    def ask(name: str, **arguments: str) -> str:
        return tools.call(home, name, arguments, cwd=tmp_path)

    then = ask("memory_search", query="built", as_of="2025-06-01", scope_id="all")
    assert f" · deprecated, until 2025-06-01, replaced by {NEW[:8]}" in then
    assert f". {NEW[:8]} · " not in then
    shown = ask("memory_get", ids=STALE)
    assert "   stale because: build.sh is gone from shop\n" in shown
