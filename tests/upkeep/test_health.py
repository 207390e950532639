"""Status and check: no silent no-op anywhere."""

from pathlib import Path

import pytest

from memem.core.errors import IndexDamaged
from memem.notes import save
from memem.search import refresh
from memem.upkeep import status as upkeep_status
from memem.workspace import Workspace


def test_status_counts_memories(ws: Workspace) -> None:
    save.save(ws, "One.", project="a", layer=0)
    save.save(ws, "Two.", project="b")
    (ws.store.paths.memories / "bad.md").write_text("---\nx: y: z\n---\n")
    status = upkeep_status.status(ws)
    assert (status.memories, status.projects, status.pinned, status.unreadable) == (2, {"a": 1, "b": 1}, 1, 1)
    assert "save" in status.last_event
    assert status.index_bytes > 0
    assert status.problem == ""


def test_status_of_a_home_without_a_vault_shows_that(ws: Workspace) -> None:
    status = upkeep_status.status(ws)
    assert "There is no vault" in status.problem
    assert status.memories == 0


def test_status_rebuilds_a_damaged_index(ws: Workspace) -> None:
    save.save(ws, "One.")
    ws.close()
    for path in ws.index_file.parent.iterdir():
        path.unlink()
    ws.index_file.write_bytes(b"rubbish" * 1000)
    status = upkeep_status.status(ws)
    assert (status.problem, status.memories) == ("", 1)


def test_status_shows_how_memem_was_set_up(ws: Workspace) -> None:
    save.save(ws, "One.")
    assert upkeep_status.status(ws).capabilities == {}
    ws.home.capabilities_file.write_text('python = "3.11.7"\n')
    assert upkeep_status.status(ws).capabilities == {"python": "3.11.7"}
    ws.home.capabilities_file.write_text("rubbish =")
    assert upkeep_status.status(ws).capabilities == {}


def test_a_vault_in_order_has_no_findings(ws: Workspace) -> None:
    save.save(ws, "One.")
    assert upkeep_status.check(ws) == []


def test_check_lists_everything_that_needs_a_person(ws: Workspace, tmp_path: Path) -> None:
    saved = save.save(ws, "One.")
    memories = ws.store.paths.memories
    (memories / "bad.md").write_text("---\nx: y: z\n---\n")
    (memories / "copy.md").write_bytes(ws.store.absolute(saved.path).read_bytes())
    (memories / "newer.md").write_text("---\nid: aaaaaaaa\nschema_version: 2\n---\nx")
    (memories / "own.md").write_text("no id")
    (memories / "odd.md").write_text("---\nid: oddoddodd\nkind: Idea\nstatus: Active\n---\nx")
    (memories / "link.md").symlink_to(tmp_path)
    refresh.refresh(ws)
    findings = {finding.path: finding for finding in upkeep_status.check(ws)}
    assert "not valid YAML" in findings["memories/bad.md"].problem
    assert f"same id as {saved.path}" in findings["memories/copy.md"].problem
    assert "same id as memories/copy.md" in findings[saved.path].problem
    assert "newer version of memem" in findings["memories/newer.md"].problem
    assert "symbolic link" in findings["memories/link.md"].problem
    assert not findings["memories/own.md"].serious
    assert "kind 'idea'" in findings["memories/odd.md"].problem
    assert all(finding.advice for finding in findings.values())


def test_check_notices_words_that_no_longer_belong_to_the_notes(ws: Workspace) -> None:
    save.save(ws, "One.")
    ws.index._connection.execute("UPDATE words_content SET c2 = 'other' ")
    with pytest.raises(IndexDamaged, match="memem index rebuild"):
        upkeep_status.check(ws)


# --- links and dates ----------------------------------------------------------------------------------------------


def note(ws: Workspace, name: str, **properties: str) -> None:
    """A note whose id is its name, with these properties as they are written."""
    lines = [f"{key}: {value}" for key, value in {"id": f"{name:0<8}", **properties}.items()]
    (ws.store.paths.memories / f"{name}-{name:0<8}.md").write_text("\n".join(["---", *lines, "---", f"{name} is so."]))


def findings(ws: Workspace) -> list[tuple[str, str]]:
    refresh.refresh(ws)
    assert not any(finding.serious for finding in upkeep_status.check(ws))
    return [(finding.path.removeprefix("memories/"), finding.problem) for finding in upkeep_status.check(ws)]


@pytest.fixture
def linked(ws: Workspace) -> Workspace:
    save.save(ws, "One.")
    return ws


@pytest.mark.parametrize("name", ["supersedes", "superseded_by", "related", "contradicts"])
def test_check_lists_links_that_lead_nowhere(linked: Workspace, name: str) -> None:
    value = '"[[gone-99999999]]"'
    note(linked, "a", **{name: f"[{value}]" if name in ("related", "contradicts") else value})
    assert findings(linked) == [("a-a0000000.md", f"links to [[gone-99999999]] in `{name}`, but there is no such note")]


@pytest.mark.parametrize(
    "link",
    ["[[b-b0000000]]", "[[b-b0000000|B]]", "[[memories/b-b0000000.md#Why]]", "[[My own page]]"],
)
def test_links_to_any_existing_note_are_fine(linked: Workspace, link: str) -> None:
    note(linked, "b")
    note(linked, "a", related=f'["{link}"]')
    (linked.settings.vault / "pages").mkdir()
    (linked.settings.vault / "pages" / "My own page.md").write_text("Mine.")
    assert findings(linked) == []


@pytest.mark.parametrize("link", ["b0000000", "b000"])
def test_bare_id_is_not_a_link_for_obsidian(linked: Workspace, link: str) -> None:
    note(linked, "b")
    note(linked, "a", related=f'["{link}"]')
    assert findings(linked) == [
        ("a-a0000000.md", f"has '{link}' in `related`, which is not a link such as \"[[note]]\"")
    ]


def test_link_into_a_hidden_folder_is_dangling(linked: Workspace) -> None:
    (linked.settings.vault / ".trash").mkdir()
    (linked.settings.vault / ".trash" / "page.md").write_text("Mine.")
    note(linked, "a", related='["[[page]]"]')
    assert findings(linked) == [("a-a0000000.md", "links to [[page]] in `related`, but there is no such note")]


def test_check_lists_circles_of_notes_that_superseded_each_other(linked: Workspace) -> None:
    note(linked, "a", superseded_by='"[[b-b0000000]]"')
    note(linked, "b", superseded_by='"[[c-c0000000]]"')
    note(linked, "c")
    note(linked, "d", superseded_by='"[[a-a0000000]]"')
    assert findings(linked) == []
    note(linked, "a", superseded_by='"[[b-b0000000]]"', supersedes='"[[c-c0000000]]"')
    note(linked, "e", supersedes='"[[e-e0000000]]"')
    others = "memories/b-b0000000.md and memories/c-c0000000.md, in a circle"
    assert findings(linked) == [
        ("a-a0000000.md", f"supersedes {others}: none of them is recalled"),
        ("e-e0000000.md", "supersedes itself: it is not recalled"),
    ]


def test_check_lists_dates_that_cannot_be_read_or_contradict_each_other(linked: Workspace) -> None:
    note(linked, "a", valid_from="2026-06-01", valid_to="2026-06-01")
    assert findings(linked) == []
    note(linked, "a", valid_from="2026-06-01", valid_to="2026-05-31")
    note(linked, "b", created="yesterday", valid_to="2026-06-31")
    assert findings(linked) == [
        ("a-a0000000.md", "is never valid: `valid_to` is not after `valid_from`"),
        ("b-b0000000.md", "has the unreadable date 'yesterday' in `created`, which is ignored"),
        ("b-b0000000.md", "has the unreadable date '2026-06-31' in `valid_to`, which is ignored"),
    ]
