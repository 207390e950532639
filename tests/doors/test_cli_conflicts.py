"""memem conflicts and memem resolve, as a person calls them; and the same from Python."""

from memem.doors.api.home import MemoryHome
from tests.command_line import Outcome, Run

REDIS = "Redis of the shop listens on port 6379."
MOVED = "Redis of the shop listens on port 6380."


def save(run: Run, text: str) -> Outcome:
    return run("save", text, "--project", "shop")


def test_a_save_that_contradicts_says_so_and_keeps_both(run: Run) -> None:
    save(run, REDIS)
    done = save(run, MOVED)
    assert done.code == 0
    assert done.out.startswith("saved ")
    assert "It contradicts [[redis-of-the-shop-listens-on-port-6379-" in done.err
    assert "`memem conflicts`" in done.err
    assert len(run("list", "--json").data) == 2


def test_conflicts_shows_both_sides(run: Run) -> None:
    save(run, REDIS)
    save(run, MOVED)
    done = run("conflicts")
    assert done.code == 0
    assert "shop · number: 6379 / 6380" in done.out
    assert done.out.index(MOVED) < done.out.index(REDIS)
    assert "memem conflicts resolve ID keep" in done.err


def test_status_counts_them(run: Run) -> None:
    save(run, REDIS)
    assert "conflicts" not in run("status").out
    save(run, MOVED)
    assert "conflicts\t1; see `memem conflicts`" in run("status").out
    assert run("status", "--json").data["conflicts"] == 1


def test_conflicts_reports_an_empty_list(run: Run) -> None:
    save(run, REDIS)
    done = run("conflicts")
    assert (done.code, done.out) == (0, "")
    assert "No memories contradict each other." in done.err
    assert run("conflicts", "--json").data == []


def test_conflicts_in_json_and_of_a_project(run: Run) -> None:
    save(run, REDIS)
    save(run, MOVED)
    (found,) = run("conflicts", "--json").data
    assert (found["one"]["body"], found["other"]["body"]) == (MOVED, REDIS)
    assert found["found"] == "found by comparison"
    assert run("conflicts", "--project", "garage", "--json").data == []


def test_resolve_keeps_one_over_the_other(run: Run) -> None:
    save(run, REDIS)
    save(run, MOVED)
    (found,) = run("conflicts", "--json").data
    kept, ended = found["one"]["id"], found["other"]["id"]
    done = run("resolve", kept[:8], "keep")
    assert done.code == 0
    assert done.out.splitlines() == [
        f"kept {kept[:8]}  shop  Redis of the shop listens on port 6380",
        f"superseded {ended[:8]}  shop  Redis of the shop listens on port 6379",
    ]
    assert run("get", ended, "--json").data[0]["status"] == "deprecated"
    assert run("conflicts", "--json").data == []


def test_resolve_says_that_both_hold(run: Run) -> None:
    save(run, REDIS)
    save(run, MOVED)
    (found,) = run("conflicts", "--json").data
    done = run("resolve", found["other"]["id"], "both", "--over", found["one"]["id"], "--json")
    assert (done.data["way"], [each["id"] for each in done.data["others"]]) == ("both", [found["one"]["id"]])
    assert run("conflicts", "--json").data == []


def test_another_way_is_wrong_usage(run: Run) -> None:
    assert run("resolve", "abcd1234", "drop").code == 2


def test_python_lists_and_resolves_them_too(mem: MemoryHome) -> None:
    mem.save(REDIS, project="shop")
    new = mem.save(MOVED, project="shop").memory
    (found,) = mem.conflicts(project="shop")
    assert found.one.id == new.id
    assert mem.resolve(new.id, "keep").way == "keep"
    assert mem.conflicts() == []
