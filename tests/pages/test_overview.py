"""Home and project pages: content, updates, and text that is left alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memem.core.errors import VaultUnwritable
from memem.core.memory import Entry, Memory
from memem.notes import forget, review, undo
from memem.notes import write as notes_write
from memem.pages import conflicts, markdown, refresh
from memem.pages.catch_up import catching_up
from memem.search import rebuild
from memem.search import refresh as search_refresh
from memem.transfer import import_
from memem.upkeep import purge as purge_flow
from memem.vault import page_text
from memem.vault.page_text import BEGIN, END
from memem.workspace import Workspace
from tests.fakes import SteppingClock


def keep(ws: Workspace, number: int, body: str = "", **more: Any) -> Entry:
    """A memory of the shop, whose id begins with its number."""
    identity = f"{number:08}-0000-4000-8000-000000000000"
    known: dict[str, Any] = {"project": "shop", "created": "2026-03-01T09:00:00+01:00", "author": "model"}
    memory = Memory(
        identity, more.pop("title", f"Note {number}"), body or f"Statement number {number}.", **(known | more)
    )
    written = notes_write.keep(ws, memory)
    return Entry(written.memory, written.path)


def page(ws: Workspace, name: str) -> str:
    return (ws.store.paths.ours / name).read_text(encoding="utf-8")


def saved_meanwhile(page: Path, times: int) -> Callable[[Path, str], None]:
    """A person who saves a page each time that memem is about to, for so many times."""
    look, left = markdown._refuse_change, iter(range(times))

    def meanwhile(path: Path, before: str) -> None:
        if path == page and next(left, None) is not None:
            page.write_text(f"{page.read_text()}Typed.\n")
        look(path, before)

    return meanwhile


def stamps(ws: Workspace) -> dict[str, tuple[int, int]]:
    """Path and inode of every page; a rewritten file has another inode."""
    ours = ws.store.paths.ours
    found = [ours / "Home.md", *(ours / "projects").glob("*.md"), *(ours / "playbooks").glob("*.md")]
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


# --- what stands on them ------------------------------------------------------------------------------------------


def test_home_links_to_projects_and_projects_to_notes(ws: Workspace) -> None:
    one, other = keep(ws, 1), keep(ws, 2, project="blog")
    assert refresh.write_pages(ws).written == ("projects/blog.md", "projects/shop.md", "Home.md")
    home = page(ws, "Home.md")
    assert "- [[memem/projects/blog|blog]]: 1 active\n- [[memem/projects/shop|shop]]: 1 active\n" in home
    assert f"- [[{one.link[2:-2]}|Note 1]]" in page(ws, "projects/shop.md")
    assert other.link[2:-2] not in page(ws, "projects/shop.md")
    assert "[[memem/Home|Home]]" in page(ws, "projects/shop.md")


def test_project_page_lists_pinned_then_kinds_newest_first(ws: Workspace) -> None:
    keep(ws, 1, kind="fact", created="2026-02-01T09:00:00+01:00")
    keep(ws, 2, kind="fact", created="2026-02-03T09:00:00+01:00")
    keep(ws, 3, kind="decision")
    keep(ws, 4, kind="lesson", layer=0)
    refresh.write_pages(ws)
    text = page(ws, "projects/shop.md")
    places = [
        text.index(words) for words in ("## Pinned", "Note 4", "## Decisions", "Note 3", "## Facts", "Note 2", "Note 1")
    ]
    assert places == sorted(places)
    assert "## Lessons" not in text


def test_outdated_and_archived_memories_are_folded(ws: Workspace) -> None:
    keep(ws, 1)
    keep(ws, 2, status="deprecated", valid_to="2026-02-01T00:00:00+01:00")
    keep(ws, 3, layer=3)
    keep(ws, 4, valid_to="2026-02-01T00:00:00+01:00")
    refresh.write_pages(ws)
    alive, _, folded = page(ws, "projects/shop.md").partition("> [!note]- Outdated or archived (3)\n")
    assert "Note 1" in alive
    assert all(line.startswith("> - [[") for line in folded.splitlines()[:3])
    assert "(archive)" in folded
    assert "- [[memem/projects/shop|shop]]: 1 active, 3 outdated" in page(ws, "Home.md")


def test_large_project_page_is_truncated_with_a_count(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh, "MAX_OF_KIND", 3)
    for number in range(5):
        keep(ws, number)
        keep(ws, 10 + number, status="stale")
    refresh.write_pages(ws)
    text = page(ws, "projects/shop.md")
    assert text.count("[[note-") == 6
    assert text.count("2 more: /recall in Claude Code finds them, `memem list` lists them") == 2


def test_home_lists_conflicts_reviews_and_recent_changes(ws: Workspace) -> None:
    old = keep(ws, 1, "Redis of the shop listens on port 6379.")
    keep(ws, 2, "Redis of the shop listens on port 6380.", contradicts=(old.link,), created="2026-03-02T09:00:00+01:00")
    asked = Memory("99999999-0000-4000-8000-000000000000", "Is [[it]] so", "It may be so.", "shop")
    review.propose(ws, asked, "it was forgotten once")
    conflicts.write_page(ws)
    refresh.write_pages(ws)
    home = page(ws, "Home.md")
    assert "## Conflicts\n\n- [[memem/Conflicts|1 to resolve]]" in home
    assert "## Waiting for review\n\n- [[is-it-so-99999999|Is ((it)) so]]: it was forgotten once" in home
    changed = home.partition("## Latest")[2]
    assert changed.index("Note 2") < changed.index("Note 1")


def test_an_empty_memory_has_a_home(ws: Workspace) -> None:
    ws.store.make_vault()
    assert refresh.write_pages(ws).written == ("Home.md",)
    assert "There are no memories yet." in page(ws, "Home.md")


# --- when they change ---------------------------------------------------------------------------------------------


def test_pages_are_written_only_when_their_text_changes(ws: Workspace) -> None:
    keep(ws, 1, kind="decision")
    keep(ws, 2, project="blog")
    refresh.write_pages(ws)
    before = stamps(ws)
    assert refresh.write_pages(ws) == refresh.Pages()
    assert stamps(ws) == before
    keep(ws, 3, project="blog")
    assert refresh.write_pages(ws).written == ("projects/blog.md", "Home.md")
    assert stamps(ws)["shop.md"] == before["shop.md"]


def test_unchanged_project_is_skipped(ws: Workspace, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    write = refresh._render_project

    def noted(ws: Workspace, project: Any, rows: Any) -> str:
        looked.append(project.name)
        return write(ws, project, rows)

    monkeypatch.setattr(refresh, "_render_project", noted)
    one = keep(ws, 1)
    keep(ws, 2, project="blog")
    refresh.write_pages(ws)
    refresh.write_pages(ws)
    assert looked == ["blog", "shop"]
    notes_write.edit(ws, one.id, title="Another title")
    refresh.write_pages(ws)
    assert looked == ["blog", "shop", "shop"]
    (ws.store.paths.projects / "blog.md").unlink()
    refresh.write_pages(ws)
    assert looked == ["blog", "shop", "shop", "blog"]
    clock.forward(days=1)
    refresh.write_pages(ws)
    assert looked == ["blog", "shop", "shop", "blog", "blog", "shop"], "with a day, what holds may end"


def test_text_around_the_part_stays(ws: Workspace) -> None:
    keep(ws, 1)
    refresh.write_pages(ws)
    path = ws.store.paths.projects / "shop.md"
    path.write_text(f"---\naliases: [Shop]\n---\nMine.\n\n{path.read_text()}\nBelow.\n")
    keep(ws, 2)
    refresh.write_pages(ws)
    text = path.read_text()
    assert text.startswith("---\naliases: [Shop]\n---\nMine.\n")
    assert text.endswith("\nBelow.\n")
    assert "Note 2" in text


def test_page_of_an_empty_project_is_removed(ws: Workspace) -> None:
    keep(ws, 1)
    gone = keep(ws, 2, project="blog", kind="decision")
    refresh.write_pages(ws)
    notes_write.edit(ws, gone.id, project="shop")
    assert refresh.write_pages(ws).removed == ("projects/blog.md", "playbooks/blog.md")


def test_page_of_an_empty_project_stays_if_the_user_wrote_on_it(ws: Workspace) -> None:
    gone = keep(ws, 1, project="blog", kind="decision")
    refresh.write_pages(ws)
    for name in ("projects/blog.md", "playbooks/blog.md"):
        path = ws.store.paths.ours / name
        path.write_text(f"Mine.\n{path.read_text()}")
    notes_write.edit(ws, gone.id, project="shop")
    assert "projects/blog.md" in refresh.write_pages(ws).written
    assert page(ws, "projects/blog.md") == f"Mine.\n{BEGIN}\n{refresh.NONE_LEFT}\n{END}\n"
    assert page(ws, "playbooks/blog.md").startswith("Mine.\n")


@pytest.mark.parametrize("anew", [False, True])
def test_users_copy_of_a_page_stays(ws: Workspace, anew: bool) -> None:
    gone = keep(ws, 1, project="blog", kind="decision")
    refresh.write_pages(ws)
    ours = ws.store.paths.ours
    for page, copy in (("projects/blog", "projects/My overview"), ("playbooks/blog", "playbooks/blog as of November")):
        (ours / f"{copy}.md").write_bytes((ours / f"{page}.md").read_bytes())
    assert refresh.write_pages(ws) == refresh.Pages()
    notes_write.edit(ws, gone.id, project="shop")
    if anew:
        rebuild.rebuild(ws)
    assert refresh.write_pages(ws).removed == ("projects/blog.md", "playbooks/blog.md")
    assert (ours / "projects" / "My overview.md").exists()
    assert (ours / "playbooks" / "blog as of November.md").exists()


def test_folder_named_like_a_page_is_ignored(ws: Workspace) -> None:
    keep(ws, 1)
    (ws.store.paths.projects / "Old.md").mkdir(parents=True)
    assert refresh.write_pages(ws).written == ("projects/shop.md", "Home.md")


def test_busy_page_of_an_empty_project_is_removed_later(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = keep(ws, 1, project="blog", kind="decision")
    refresh.write_pages(ws)
    (ws.store.paths.projects / "blog.md").unlink()
    playbook = ws.store.paths.playbooks / "blog.md"
    with monkeypatch.context() as patched:
        patched.setattr(markdown, "_refuse_change", saved_meanwhile(playbook, times=1))
        with catching_up(ws):
            forget.forget(ws, gone.id)
    assert "Statement number 1." in playbook.read_text()
    assert "playbooks/blog.md was being saved" in ws.home.hooks_log.read_text()
    assert refresh.write_pages(ws).written == ("playbooks/blog.md",)
    assert playbook.read_text() == f"{BEGIN}\n{refresh.NONE_LEFT}\n{END}\nTyped.\n"


# --- what is left alone -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Home.md", "projects/shop.md"])
def test_memory_in_the_place_of_a_page_stays(ws: Workspace, name: str) -> None:
    keep(ws, 1)
    mine = ws.store.paths.ours / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("---\nid: abcdabcd\nproject: shop\n---\nThe walrus sleeps.\n")
    before = mine.read_bytes()
    search_refresh.refresh(ws)
    for _ in range(2):
        assert refresh.write_pages(ws).left == (name,)
    assert mine.read_bytes() == before
    search_refresh.refresh(ws)
    assert [row.path for row in ws.index.by_id("abcdabcd")] == [name]


def test_pages_are_not_memories(ws: Workspace) -> None:
    keep(ws, 1, kind="decision")
    refresh.write_pages(ws)
    found = search_refresh.refresh(ws)
    assert (found.files, found.changed) == (1, 0)
    assert search_refresh._is_unchanged(ws)


def test_nothing_is_written_through_a_symbolic_link(ws: Workspace, tmp_path: Path) -> None:
    keep(ws, 1)
    (tmp_path / "elsewhere").mkdir()
    ws.store.paths.projects.symlink_to(tmp_path / "elsewhere")
    done = refresh.write_pages(ws)
    assert (done.left, done.linked) == ((), ("projects/shop.md",))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_playbook_behind_a_symbolic_link_is_not_linked(ws: Workspace, tmp_path: Path) -> None:
    keep(ws, 1, kind="decision")
    refresh.write_pages(ws)
    assert "memem/playbooks/shop" in page(ws, "Home.md")
    ws.store.paths.playbooks.rename(tmp_path / "elsewhere")
    ws.store.paths.playbooks.symlink_to(tmp_path / "elsewhere")
    keep(ws, 2, kind="decision")
    refresh.write_pages(ws)
    assert "memem/playbooks/shop" not in page(ws, "Home.md") + page(ws, "projects/shop.md")


def test_page_of_an_oddly_named_project_is_linked_by_file_name(ws: Workspace) -> None:
    keep(ws, 1, project="con")
    keep(ws, 2, project="straße")
    refresh.write_pages(ws)
    for path in ws.store.paths.projects.glob("*.md"):
        assert f"[[memem/projects/{path.stem}|" in page(ws, "Home.md")
    assert not (ws.store.paths.projects / "con.md").exists()


def test_unwritable_vault_only_skips_pages(ws: Workspace) -> None:
    keep(ws, 1)
    ws.store.paths.projects.write_text("a file where the folder should be")
    with pytest.raises(VaultUnwritable, match="Cannot write"):
        refresh.write_pages(ws)
    refresh.write_pages_quietly(ws)
    assert "pages: Cannot write" in ws.home.hooks_log.read_text()


# --- who has them written -----------------------------------------------------------------------------------------


def test_import_writes_pages(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("The walrus sleeps.")
    import_.import_notes(ws, [tmp_path / "note.md"], project="shop", dry_run=True)
    assert not ws.store.paths.home_page.exists()
    import_.import_notes(ws, [tmp_path / "note.md"], project="shop")
    assert "|note]]" in page(ws, "projects/shop.md")


def test_pages_of_another_vault_are_not_imported(ws: Workspace, tmp_path: Path) -> None:
    other = tmp_path / "other" / "memem"
    (other / "projects").mkdir(parents=True)
    (other / ".vault.toml").write_text('vault_id = "x"\n')
    (other / "Home.md").write_text(f"{BEGIN}\n# Memory\n{END}\n")
    (other / "projects" / "shop.md").write_text(f"{BEGIN}\n# shop\n{END}\n")
    (other / "projects" / "mine.md").write_text("---\nid: abcdabcd\n---\nThe walrus sleeps.\n")
    done = import_.import_notes(ws, [tmp_path / "other"])
    assert [Path(each.file).name for each in done.files] == ["mine.md"]


@pytest.mark.parametrize("how", ["forgotten", "purged", "undone"])
def test_removed_memory_disappears_from_pages(ws: Workspace, how: str) -> None:
    keep(ws, 1)
    with ws.events.batch("save"):
        gone = keep(ws, 2, "The walrus sleeps in the northern harbour.", title="Walrus of the harbour", kind="decision")
    refresh.write_pages(ws)
    assert "Walrus" in page(ws, "Home.md") + page(ws, "projects/shop.md")
    assert "walrus" in page(ws, "playbooks/shop.md")
    if how == "forgotten":
        with catching_up(ws):
            forget.forget(ws, gone.id)
    elif how == "purged":
        purge_flow.purge(ws, gone.id)
    else:
        with catching_up(ws):
            undo.undo(ws)
    for name in ("Home.md", "projects/shop.md", "playbooks/shop.md"):
        assert "walrus" not in page(ws, name).lower()


@pytest.mark.parametrize("gone", [("Home.md",), ("Home.md", "projects/shop.md"), ("Home.md", "playbooks/shop.md")])
@pytest.mark.parametrize("forget", [forget.forget, purge_flow.purge])
def test_removed_memory_disappears_whichever_pages_exist(
    ws: Workspace, gone: tuple[str, ...], forget: Callable[[Workspace, str], object]
) -> None:
    keep(ws, 1, kind="decision")
    walrus = keep(ws, 2, "The walrus sleeps in the harbour.", title="Walrus of the harbour", kind="decision")
    refresh.write_pages(ws)
    for name in gone:
        (ws.store.paths.ours / name).unlink()
    with catching_up(ws):
        forget(ws, walrus.id)
    for name in {"projects/shop.md", "playbooks/shop.md"} - set(gone):
        assert "walrus" not in page(ws, name).lower()


@pytest.mark.parametrize("name", ["projects/shop.md", "playbooks/shop.md"])
@pytest.mark.parametrize("times", [1, 2])
def test_removed_memory_disappears_after_a_busy_page(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch, name: str, times: int
) -> None:
    keep(ws, 1, kind="decision")
    walrus = keep(ws, 2, "The walrus sleeps in the harbour.", title="Walrus of the harbour", kind="decision")
    refresh.write_pages(ws)
    with monkeypatch.context() as patched:
        patched.setattr(markdown, "_refuse_change", saved_meanwhile(ws.store.paths.ours / name, times))
        with catching_up(ws):
            forget.forget(ws, walrus.id)
    assert ("walrus" in page(ws, name).lower()) == (times == 2), "it was tried twice"
    refresh.write_pages(ws)
    assert "walrus" not in page(ws, name).lower()
    assert page(ws, name).count("Typed.") == times


def test_forgetting_creates_no_pages(ws: Workspace) -> None:
    gone = keep(ws, 1)
    with catching_up(ws):
        forget.forget(ws, gone.id)
    assert not ws.store.paths.home_page.exists()


# --- what a person types among memem's lines ----------------------------------------------------------------------


def type_into(ws: Workspace, name: str, line: str) -> None:
    path = ws.store.paths.ours / name
    path.write_text(path.read_text(encoding="utf-8").replace("\n## ", f"\n{line}\n\n## ", 1), encoding="utf-8")


@pytest.mark.parametrize("name", ["Home.md", "projects/shop.md", "Conflicts.md"])
def test_lines_typed_between_the_marks_survive(ws: Workspace, name: str) -> None:
    one = keep(ws, 1)
    keep(ws, 2, contradicts=(one.link,))
    conflicts.write_page(ws)
    refresh.write_pages(ws)
    type_into(ws, name, "Ask Ann about this one.")
    for number in (3, 4):
        keep(ws, number, contradicts=(one.link,))
        conflicts.write_page(ws)
        refresh.write_pages(ws)
    own, below = page(ws, name).split(END)
    assert below.strip() == "Ask Ann about this one."
    assert "Ann" not in own
    assert "Note 4" in own or "00000004" in own


def test_lines_typed_into_a_page_survive_its_project(ws: Workspace) -> None:
    note = keep(ws, 1)
    refresh.write_pages(ws)
    type_into(ws, "projects/shop.md", "Ask Ann about this one.")
    with catching_up(ws):
        forget.forget(ws, note.memory.id)
    refresh.write_pages(ws)
    assert "Ask Ann about this one." in page(ws, "projects/shop.md")


def test_every_line_of_pages_is_recognised(ws: Workspace) -> None:
    for number, kind in enumerate(("fact", "decision", "lesson"), 1):
        keep(ws, number, kind=kind, title=f"It's [odd] | {number} (really) #tag · one")
    keep(ws, 5, layer=0)
    keep(ws, 6, layer=3)
    keep(ws, 7, valid_to="2020-01-01", project="über-blog")
    refresh.write_pages(ws)
    written = ["Home.md", "projects/shop.md", *(f"projects/{each.name}" for each in ws.store.paths.projects.glob("ü*"))]
    lines = [
        line for name in written for line in page_text.get_own_lines(page(ws, name)) if not line.startswith("<!--")
    ]
    assert len(lines) > 20
    assert [line for line in lines if line and not markdown.is_overview_line(line)] == []


@pytest.mark.parametrize(
    "line",
    [
        "## Last changed",
        "## Others",
        "Nothing is remembered yet.",
        "- [[memem/projects/shop|shop]]: 7 in force, 2 not · [[memem/playbooks/shop|playbook]]",
        "- [[memem/projects/shop|shop]]: 7 in force, 2 outdated",
        "- [[memem/Conflicts|1 to be decided]]",
        "> [!note]- No longer in force, or put away (2)",
    ],
)
def test_lines_of_earlier_versions_are_recognised(line: str) -> None:
    assert markdown.is_overview_line(line)
