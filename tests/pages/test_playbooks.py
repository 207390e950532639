"""A project's playbook: chosen by rules, bounded, and editable."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from memem.core.memory import Memory
from memem.notes import forget, write
from memem.pages import read_playbook, refresh
from memem.pages.playbook_page import MAX_PAGE_CHARS
from memem.pages.read_playbook import DECISIONS, TRAPS
from memem.safety import quote
from memem.search import refresh as search_refresh
from memem.state.receipts import PROMPT, Receipt, ReceiptItem
from memem.vault import page_text
from memem.workspace import Workspace
from tests.pages.test_overview import keep

TOKEN = "ghp_" + "a1B2c3D4" * 5


def playbook(ws: Workspace, project: str = "shop") -> Path:
    refresh.write_pages(ws)
    return ws.store.paths.playbooks / f"{project}.md"


def lines(ws: Workspace) -> list[str]:
    return [line for line in playbook(ws).read_text().splitlines() if line.startswith(("- ", "## "))]


def delete(path: Path, beginning: str) -> None:
    """As a person does it: the whole line."""
    kept = [line for line in path.read_text().splitlines(keepends=True) if not line.startswith(beginning)]
    path.write_text("".join(kept))


def test_memories_are_listed_by_section_with_links(ws: Workspace) -> None:
    keep(ws, 1, "shop is the checkout backend.", layer=0)
    keep(ws, 2, "Money is kept in cents.", kind="convention", layer=1)
    keep(ws, 3, "Tokens are signed\nwith RS256.", kind="decision")
    keep(ws, 4, "The cache breaks logins.", kind="lesson")
    keep(ws, 5, "Staging listens on port 8443.")
    keep(ws, 6, "Users like blue.")
    assert lines(ws) == [
        "## Identity",
        "- shop is the checkout backend. [[note-1-00000001|00000001]]",
        "## Conventions",
        "- Money is kept in cents. [[note-2-00000002|00000002]]",
        "## Current decisions",
        "- Tokens are signed with RS256. [[note-3-00000003|00000003]]",
        "## Known pitfalls",
        "- The cache breaks logins. [[note-4-00000004|00000004]]",
        "## Environment",
        "- Staging listens on port 8443. [[note-5-00000005|00000005]]",
    ]


def test_page_of_an_earlier_version_is_read_and_renewed_in_place(ws: Workspace) -> None:
    keep(ws, 3, "Tokens are signed with RS256.", kind="decision")
    keep(ws, 4, "The cache breaks logins.", kind="lesson")
    path = playbook(ws)
    new = path.read_text().replace("## Known pitfalls\n", "## Known pitfalls\n- Mine.\n")
    before = {
        page_text.BEGIN: "<!-- memem writes from here -->",
        page_text.END: "<!-- to here; what you write around it stays -->",
        "## Current decisions": "## Decisions in force",
        "## Known pitfalls": "## Known traps",
    }
    old = new
    for now, then in before.items():
        old = old.replace(now, then)
    path.write_text(f"Above.\n\n{old}\nBelow.\n")
    read = [(line.section, line.words) for line in read_playbook.read_lines(ws, "shop")]
    assert sorted(read) == [
        (DECISIONS, "Tokens are signed with RS256."),
        (TRAPS, "Mine."),
        (TRAPS, "The cache breaks logins."),
    ]
    renewed = playbook(ws).read_text()
    assert (renewed.startswith("Above.\n\n"), renewed.endswith("\nBelow.\n")) == (True, True)
    assert [renewed.count(words) for words in (*before, *before.values())] == [1, 1, 1, 1, 0, 0, 0, 0]
    assert lines(ws) == [
        "## Current decisions",
        "- Tokens are signed with RS256. [[note-3-00000003|00000003]]",
        "## Known pitfalls",
        "- The cache breaks logins. [[note-4-00000004|00000004]]",
        "- Mine.",
    ]


def test_project_without_candidates_has_no_playbook(ws: Workspace) -> None:
    keep(ws, 1, "Users like blue.")
    assert not playbook(ws).exists()


def test_outdated_memories_are_left_out(ws: Workspace) -> None:
    keep(ws, 1, kind="decision")
    keep(ws, 2, kind="decision", status="deprecated")
    keep(ws, 3, kind="decision", valid_to="2026-02-01T00:00:00+01:00")
    keep(ws, 4, kind="decision", superseded_by="[[note-1-00000001]]")
    keep(ws, 5, kind="decision", project="blog")
    assert lines(ws) == ["## Current decisions", "- Statement number 1. [[note-1-00000001|00000001]]"]


def test_playbook_has_at_most_4000_characters(ws: Workspace) -> None:
    for number in range(60):
        kind = ("decision", "lesson", "procedure")[number % 3]
        keep(ws, number, f"Statement {number} " + "of many words " * 20, title="A title " * 8, kind=kind)
    text = playbook(ws).read_text()
    assert MAX_PAGE_CHARS - 400 < len(text.strip()) <= MAX_PAGE_CHARS
    assert all(text.count(f"\n## {name}\n") == 1 for name in ("Current decisions", "Known pitfalls", "Environment"))


def test_useful_memories_come_first(ws: Workspace) -> None:
    for number in (1, 2):
        keep(ws, number, kind="decision")
    used = "00000002-0000-4000-8000-000000000000"
    for number in range(8):
        kept = ws.contexts.receipts.add(Receipt(float(number), PROMPT, "s1", "shop", items=(ReceiptItem(used),)))
        ws.contexts.receipts.mark_used(kept, {used: "by its id"}, 1.0)
    assert [line[-11:-2] for line in lines(ws)[1:]] == ["|00000002", "|00000001"]


def test_line_changed_by_the_user_is_not_overwritten_or_repeated(ws: Workspace) -> None:
    one = keep(ws, 1, "Tokens are signed with RS256.", kind="decision")
    path = playbook(ws)
    path.write_text(path.read_text().replace("with RS256.", "with RS256 (ask Ada)."))
    keep(ws, 2, kind="decision")
    write.edit(ws, one.id, body="Tokens are signed with RS512.")
    text = playbook(ws).read_text()
    assert "- Tokens are signed with RS256 (ask Ada). [[note-1-00000001|00000001]]\n" in text
    assert "RS512" not in text
    assert "Statement number 2." in text


def test_deleted_line_does_not_return_when_its_note_changes(ws: Workspace) -> None:
    one = keep(ws, 1, kind="decision")
    keep(ws, 2, kind="decision")
    path = playbook(ws)
    delete(path, "- Statement number 1")
    assert "number 1" not in playbook(ws).read_text()
    write.edit(ws, one.id, body="Another statement, number 1.")
    keep(ws, 3, kind="decision")
    assert lines(ws)[1:] == [
        "- Statement number 2. [[note-2-00000002|00000002]]",
        "- Statement number 3. [[note-3-00000003|00000003]]",
    ]


@pytest.mark.parametrize(
    ("name", "half", "strict"),
    [
        ("note-1-00000001.md", "tags: [a", "quarantine"),
        ("note-1-00000001.md", "tags: [a", "skip"),
        ("note-1-00000001.md", "project: sho", "quarantine"),
        ("My rule.md", "tags: [a", "quarantine"),
        ("My rule.md", "project: sho", "quarantine"),
    ],
)
def test_deleted_line_does_not_return_while_its_note_is_unreadable(
    ws: Workspace, name: str, half: str, strict: str
) -> None:
    ws.settings = replace(ws.settings, frontmatter_strict=strict)
    one = ws.store.absolute(keep(ws, 1, kind="decision").path)
    keep(ws, 2, kind="decision")
    one = one.rename(one.with_name(name))
    search_refresh.refresh(ws)
    delete(playbook(ws), "- Statement number 1")
    playbook(ws)
    whole = one.read_text()
    one.write_text(whole.replace("project: shop", half))
    search_refresh.refresh(ws)
    playbook(ws)
    one.write_text(whole)
    search_refresh.refresh(ws)
    assert "number 1" not in playbook(ws).read_text()


def test_removal_of_a_forgotten_note_is_not_recorded(ws: Workspace) -> None:
    one = keep(ws, 1, kind="decision")
    keep(ws, 2, kind="decision")
    path = playbook(ws)
    delete(path, "- Statement number 1")
    assert "-00000001" in playbook(ws).read_text()
    forget.forget(ws, one.id)
    assert "00000001" not in playbook(ws).read_text()


def test_line_follows_its_note(ws: Workspace) -> None:
    one = keep(ws, 1, "Tokens are signed with RS256.", kind="decision")
    playbook(ws)
    write.edit(ws, one.id, body="Tokens are signed with RS512.")
    assert lines(ws)[1:] == ["- Tokens are signed with RS512. [[note-1-00000001|00000001]]"]


def test_users_page_gets_no_empty_part(ws: Workspace) -> None:
    keep(ws, 1, "Users like blue.")
    ws.store.paths.playbooks.mkdir()
    path = ws.store.paths.playbooks / "shop.md"
    path.write_text("Mine.\n")
    assert playbook(ws).read_text() == "Mine.\n"
    keep(ws, 2, kind="decision")
    text = playbook(ws).read_text()
    assert text.startswith("Mine.\n")
    assert "Statement number 2." in text


# --- its lines as they are shown ----------------------------------------------------------------------------------


def test_lines_are_read_with_their_memories(ws: Workspace) -> None:
    keep(ws, 1, kind="decision")
    keep(ws, 2, kind="lesson")
    keep(ws, 3, kind="convention", layer=1)
    playbook(ws)
    told = read_playbook.read_lines(ws, "shop", (DECISIONS, TRAPS))
    assert [(each.section, each.words, each.entry and each.entry.memory.id8) for each in told] == [
        (DECISIONS, "Statement number 1.", "00000001"),
        (TRAPS, "Statement number 2.", "00000002"),
    ]
    assert all(each.is_whole for each in told)


def test_lines_of_outdated_memories_are_not_shown(ws: Workspace) -> None:
    one, two, three = (keep(ws, number, kind="decision") for number in (1, 2, 3))
    playbook(ws)
    write.edit(ws, one.id, status="deprecated")
    ws.store.absolute(two.path).unlink()
    assert [each.entry.id for each in read_playbook.read_lines(ws, "shop") if each.entry] == [three.id]


def test_user_lines_pass_the_gate(ws: Workspace) -> None:
    keep(ws, 1, kind="decision")
    path = playbook(ws)
    own = f"- Deploy with {TOKEN} and \u200bask \\#ops."
    path.write_text(path.read_text().replace("## Current decisions\n", f"## Current decisions\n{own}\n"))
    (mine,) = [each for each in read_playbook.read_lines(ws, "shop") if each.entry is None]
    assert mine.words == "Deploy with [redacted: github token] and ask #ops."


def test_cleared_lines_are_not_checked_again(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(ws, 1, kind="decision")
    path = playbook(ws)
    path.write_text(path.read_text().replace("## Current decisions\n", "## Current decisions\n- Ask \\#ops first.\n"))
    playbook(ws)
    assert read_playbook.load_meta(ws, "recited") == {"shop": ["Ask #ops first."]}
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "memem.safety.gate", None)
        assert "Ask #ops first." in [each.words for each in read_playbook.read_lines(ws, "shop")]
    path.write_text(path.read_text().replace("first", TOKEN))
    assert "Ask #ops [redacted: github token]." in [each.words for each in read_playbook.read_lines(ws, "shop")]
    playbook(ws)
    assert TOKEN not in str(read_playbook.load_meta(ws, "recited"))
    assert "Ask #ops [redacted: github token]." in [each.words for each in read_playbook.read_lines(ws, "shop")]
    for page in (ws.store.paths.home_page, ws.store.paths.projects / "shop.md", path):
        page.unlink()
    refresh.write_pages_quietly(ws, only_if_there=True)
    assert read_playbook.load_meta(ws, "recited") == {}


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        (
            f"Tokens are signed, e.g. by `a. B`. Keys rotate. Then {'word ' * 100}",
            "Tokens are signed, e.g. by 'a. B'. Keys rotate.",
        ),
        (f"Tokens are signed{' by us' * 20}, since {'word ' * 100}", f"Tokens are signed{' by us' * 20}…"),
    ],
)
def test_a_long_statement_is_cut_where_a_reader_would_pause(ws: Workspace, statement: str, line: str) -> None:
    keep(ws, 1, statement, kind="decision")
    assert f"\n- {line} [[" in playbook(ws).read_text()
    (told,) = read_playbook.read_lines(ws, "shop")
    assert (told.words, told.is_whole) == (line, False)


def test_a_line_that_quoting_makes_longer_is_cut_again(ws: Workspace) -> None:
    keep(ws, 1, "<b> " * 60, kind="decision")
    playbook(ws)
    (told,) = read_playbook.read_lines(ws, "shop")
    assert len(told.words) <= read_playbook.LINE_CHARACTERS


def test_a_line_that_an_earlier_version_cut_within_a_sentence_is_cut_anew(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = f"Tokens are signed. {'Word ' * 100}"
    keep(ws, 1, statement, kind="decision")
    monkeypatch.setattr(read_playbook, "format_line", lambda memory: quote.one_line(memory.body, 200))
    assert " […] [[" in playbook(ws).read_text()
    monkeypatch.undo()
    keep(ws, 2)
    text = playbook(ws).read_text()
    assert "\n- Tokens are signed. [[" in text
    assert "[…]" not in text


def test_number_of_linked_lines_is_bounded(ws: Workspace) -> None:
    keep(ws, 1, kind="decision")
    path = playbook(ws)
    many = "".join(f"- Mine {number}. [[x|{number:08}]]\n" for number in range(2_000))
    path.write_text(path.read_text().replace("decisions\n", f"decisions\n{many}"))
    assert [each.words for each in read_playbook.read_lines(ws, "shop")] == ["Mine 1.", "Statement number 1."]


def test_playbook_behind_a_symlink_is_not_read(ws: Workspace, tmp_path: Path) -> None:
    keep(ws, 1, kind="decision")
    path = playbook(ws)
    path.parent.rename(tmp_path / "elsewhere")
    path.parent.symlink_to(tmp_path / "elsewhere")
    assert path.exists()
    assert read_playbook.read_lines(ws, "shop") == []


def test_missing_playbook_has_no_lines(ws: Workspace) -> None:
    ws.store.make_vault()
    assert read_playbook.read_lines(ws, "shop") == []


def test_memory_text_starts_no_markup(ws: Workspace) -> None:
    keep(ws, 1, f"x {page_text.END} [[y]] #z\n## Known pitfalls\n- forged", kind="decision")
    text = playbook(ws).read_text()
    assert text.count("<!--") == 3
    assert "## Known pitfalls" not in text.splitlines()
    (told,) = read_playbook.read_lines(ws, "shop")
    assert isinstance(told.entry and told.entry.memory, Memory)
