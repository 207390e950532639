"""memem graph, as a person calls it; and the same from Python."""

from contextlib import closing
from pathlib import Path

import pytest

from memem.core.errors import InputError
from memem.core.memory import Memory
from memem.doors.api.home import MemoryHome
from memem.notes import write
from memem.search.graph import read
from memem.workspace import open_workspace
from tests.command_line import Run

GONE = "[[nowhere-to-go]]"


@pytest.fixture
def vault(run: Run) -> list[str]:
    """Two memories of which one depends on the other, and one that leads nowhere; their ids."""
    ids: list[str] = []
    for text in ("Tokens are signed with RS256.", "", f"The walrus is mentioned in {GONE}."):
        name = Path(run("get", ids[0], "--json").data[0]["path"]).stem if ids else ""
        saved = run("save", text or f"To rotate keys depends on [[{name}]].", "--project", "shop", "--json")
        ids.append(saved.data["id"])
    return ids


@pytest.mark.usefixtures("vault")
def test_rebuild_counts_edges(run: Run) -> None:
    done = run("graph", "rebuild")
    assert done.out.splitlines() == [
        "1 edge between 3 memories, compared by words and links only, not meaning: MEMEM_ENCODER is none.",
        "depends_on\t1",
    ]
    told = run("graph", "rebuild", "--json").data
    assert (told["memories"], told["edges"], told["kinds"], told["origins"]) == (3, 1, {"depends_on": 1}, {"link": 1})


def test_neighbors_show_which_way_an_edge_leads(run: Run, vault: list[str]) -> None:
    one, other = vault[:2]
    row = "1\t{}\t{} depends_on\t1.00\tlink\tshop\t"
    assert run("graph", "neighbors", one).out.splitlines()[1].startswith(row.format(other[:8], "<-"))
    assert run("graph", "neighbors", other[:8]).out.splitlines()[1].startswith(row.format(one[:8], "->"))
    (found,) = run("graph", "neighbors", one, "--json").data["neighbors"]
    assert (found["id"], found["steps"], found["edge"]["kind"]) == (other, 1, "depends_on")


def test_a_memory_without_neighbours_says_so(run: Run, vault: list[str]) -> None:
    done = run("graph", "neighbors", vault[2])
    assert done.code == 0
    assert "It has no edges." in done.err
    assert run("graph", "neighbors", vault[2], "--json").data["neighbors"] == []


@pytest.mark.usefixtures("vault")
def test_stats_are_a_table_and_json(run: Run) -> None:
    rows = dict(line.split("\t") for line in run("graph", "stats").out.splitlines())
    assert rows["edges"] == "1 (depends_on 1)"
    assert rows["orphans"] == "1"
    assert rows["compared by"].startswith("words and links only")
    assert run("graph", "stats", "--json").data["clusters"] == 1


@pytest.mark.usefixtures("vault")
def test_audit_lists_flaws_with_their_fix(run: Run) -> None:
    done = run("graph", "audit")
    orphan, dead = done.out.splitlines()
    assert orphan.startswith("orphan\t")
    assert f"links in its text to {GONE}, but there is no such note\tWrite the note {GONE}" in dead
    assert "1 orphan, 1 dead link, 0 hubs, 0 stale edges." in done.err
    assert run("graph", "audit", "--json").data["counts"]["dead_link"] == 1


def test_audit_fix_reports_repairs_and_how_to_undo_them(run: Run) -> None:
    with closing(open_workspace(actor="test")) as ws:
        write.keep(ws, Memory("a" * 32, "Mine", "A machine wrote it.", author="model", related=(GONE,)))
    done = run("graph", "audit", "--fix")
    assert done.out.startswith(
        f"fixed memories/mine-aaaaaaaa.md: links in `related` to {GONE}, but there is no such note\n"
    )
    batch = run("log", "--json").data[0]
    assert batch["what"] == "graph"
    assert f"`memem undo {batch['id']}` reverts this." in done.err
    assert run("undo").code == 0
    assert run("get", "aaaaaaaa", "--json").data[0]["related"] == [GONE]


@pytest.mark.usefixtures("vault")
def test_reindex_rebuilds_the_graph(run: Run) -> None:
    before = run("graph", "stats", "--json").data
    run("reindex")
    with closing(open_workspace(actor="test")) as ws:
        assert len(read.list_edges(ws)) == before["edges"] == 1


def test_neighbors_of_an_unknown_id_fail(run: Run, vault: list[str]) -> None:
    assert vault
    done = run("graph", "neighbors", "ffffffff")
    assert (done.code, done.out) == (1, "")
    assert "No memory has the id 'ffffffff'" in done.err


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("neighbors",), ("stats", "--fix")])
def test_wrong_usage_exits_2_with_a_message(run: Run, arguments: tuple[str, ...]) -> None:
    done = run("graph", *arguments)
    assert done.code == 2
    assert "memem graph" in done.err or "unknown command 'graph nonsense'" in done.err


def test_the_same_from_python(mem: MemoryHome) -> None:
    one = mem.save("Tokens are signed with RS256.")
    other = mem.save(f"To rotate keys depends on [[{Path(one.path).stem}]].")
    (found,) = mem.neighbors(one.memory.id).neighbors
    assert (found.id, found.edge.kind) == (other.memory.id, "depends_on")
    with pytest.raises(InputError):
        mem.neighbors(one.memory.id, depth=9)
