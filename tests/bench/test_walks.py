"""Walks count modules and calls between packages, of processes that were really run."""

import pytest

from bench.walks import OF_0_8, ROOT, Walk, measure, package_of, row_of

CALLS = frozenset(
    {
        ("", "__main__.py:main"),
        ("__main__.py:main", "doors/cli/__init__.py:main"),
        ("doors/cli/__init__.py:main", "doors/cli/edit.py:save"),
        ("doors/cli/edit.py:save", "notes/save.py:save"),
        ("notes/save.py:save", "notes/reconcile.py:settle"),
        ("notes/reconcile.py:settle", "safety/credentials/redact.py:find"),
        ("safety/credentials/redact.py:find", "safety/gate.py:judge"),
    }
)


@pytest.mark.parametrize(
    ("function", "package"),
    [
        ("notes/save.py:save", "notes"),
        ("safety/credentials/redact.py:find", "safety"),
        ("doors/cli/edit.py:save", "doors/cli"),
        ("doors/hook/client.py:main", "doors/hook"),
        ("workspace.py:Workspace.close", "workspace.py"),
    ],
)
def test_a_package_is_a_capability_a_door_or_a_file(function: str, package: str) -> None:
    assert package_of(function) == package


def test_only_calls_from_one_package_into_another_are_crossings() -> None:
    walk = Walk("memem save", CALLS)
    assert len(walk.modules) == 7
    assert {called.partition(":")[0] for _, called in walk.crossings} == {
        "doors/cli/__init__.py",
        "notes/save.py",
        "safety/credentials/redact.py",
    }


def test_a_path_is_judged_by_both_shares() -> None:
    assert row_of(Walk("memem save", CALLS))[-1] == "holds"
    many = frozenset(("notes/save.py:save", f"core/files.py:f{number}") for number in range(OF_0_8["memem save"][1]))
    assert row_of(Walk("memem save", many))[-1] == "over"


@pytest.mark.slow
def test_every_path_is_walked_from_its_door_to_its_end() -> None:
    walks = {walk.path: walk for walk in measure(ROOT, "")}
    assert set(walks) == set(OF_0_8)
    called = {path: {function for _, function in walk.calls} for path, walk in walks.items()}
    assert {"doors/hook/client.py:main", "inject/slice.py:build_slice"} <= called["prompt to slice"]
    assert {"doors/mcp/answers.py:memory_search", "search/find.py:search"} <= called["memory_search"]
    assert {"doors/cli/edit.py:save", "notes/write.py:put"} <= called["memem save"]
    assert {"doors/hook/command.py:process_inbox", "mine/drain.py:drain", "notes/write.py:put"} <= called[
        "Stop to note"
    ]
