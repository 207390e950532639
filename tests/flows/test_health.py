"""Status and check: no silent no-op anywhere."""

from pathlib import Path

import pytest

from memem.core.errors import IndexDamaged
from memem.flows import health, reindex, remember
from memem.workspace import Workspace


def test_status_counts_what_is_there(ws: Workspace) -> None:
    remember.save(ws, "One.", project="a", layer=0)
    remember.save(ws, "Two.", project="b")
    (ws.store.paths.memories / "bad.md").write_text("---\nx: y: z\n---\n")
    status = health.status(ws)
    assert (status.memories, status.projects, status.pinned, status.unreadable) == (2, {"a": 1, "b": 1}, 1, 1)
    assert "save" in status.last_event
    assert status.index_bytes > 0
    assert status.problem == ""


def test_status_of_a_home_without_a_vault_shows_that(ws: Workspace) -> None:
    status = health.status(ws)
    assert "There is no vault" in status.problem
    assert status.memories == 0


def test_status_with_a_damaged_index_shows_that(ws: Workspace) -> None:
    remember.save(ws, "One.")
    ws.close()
    for path in ws.index_file.parent.iterdir():
        path.unlink()
    ws.index_file.write_bytes(b"rubbish" * 1000)
    assert "Run `memem reindex`" in health.status(ws).problem


def test_status_shows_how_memem_was_set_up(ws: Workspace) -> None:
    remember.save(ws, "One.")
    assert health.status(ws).capabilities == {}
    ws.home.capabilities_file.write_text('python = "3.11.7"\n')
    assert health.status(ws).capabilities == {"python": "3.11.7"}
    ws.home.capabilities_file.write_text("rubbish =")
    assert health.status(ws).capabilities == {}


def test_a_vault_in_order_has_no_findings(ws: Workspace) -> None:
    remember.save(ws, "One.")
    assert health.check(ws) == []


def test_check_lists_everything_that_needs_a_person(ws: Workspace, tmp_path: Path) -> None:
    saved = remember.save(ws, "One.")
    memories = ws.store.paths.memories
    (memories / "bad.md").write_text("---\nx: y: z\n---\n")
    (memories / "copy.md").write_bytes(ws.store.absolute(saved.path).read_bytes())
    (memories / "newer.md").write_text("---\nid: aaaaaaaa\nschema_version: 2\n---\nx")
    (memories / "own.md").write_text("no id")
    (memories / "odd.md").write_text("---\nid: oddoddodd\nkind: Idea\nstatus: Active\n---\nx")
    (memories / "link.md").symlink_to(tmp_path)
    reindex.refresh(ws)
    findings = {finding.path: finding for finding in health.check(ws)}
    assert "not YAML" in findings["memories/bad.md"].problem
    assert f"same id as {saved.path}" in findings["memories/copy.md"].problem
    assert "same id as memories/copy.md" in findings[saved.path].problem
    assert "newer memem" in findings["memories/newer.md"].problem
    assert "symbolic link" in findings["memories/link.md"].problem
    assert not findings["memories/own.md"].serious
    assert "kind 'idea'" in findings["memories/odd.md"].problem
    assert all(finding.advice for finding in findings.values())


def test_check_notices_words_that_no_longer_belong_to_the_notes(ws: Workspace) -> None:
    remember.save(ws, "One.")
    ws.index._connection.execute("UPDATE words_content SET c2 = 'other' ")
    with pytest.raises(IndexDamaged, match="memem reindex"):
        health.check(ws)
