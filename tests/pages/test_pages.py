"""Pages: memem updates its part, the text around it is the user's."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.errors import NoteChanged, VaultUnwritable
from memem.core.project import normalise
from memem.pages import markdown
from memem.pages.markdown import file_stem, merge_part, remove_page, write_part
from memem.vault import page_text
from memem.vault.obsidian import VaultNames, find_violations
from memem.vault.page_text import BEGIN, END

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=80)


def test_new_page_contains_only_the_part() -> None:
    assert merge_part("", "# Conflicts\n") == f"{BEGIN}\n# Conflicts\n{END}\n"


def test_surrounding_text_stays() -> None:
    page = f"My thoughts.\n\n{BEGIN}\nold\n{END}\n\nMore of them.\n"
    assert merge_part(page, "new") == f"My thoughts.\n\n{BEGIN}\nnew\n{END}\n\nMore of them.\n"


def test_part_is_appended_to_a_page_without_one() -> None:
    assert merge_part("Mine.\n", "new") == f"Mine.\n\n{BEGIN}\nnew\n{END}\n"


@pytest.mark.parametrize("torn", [f"{BEGIN}\nold", f"old\n{END}", f"{END}\nold\n{BEGIN}"])
def test_single_mark_is_user_text(torn: str) -> None:
    assert torn in merge_part(torn, "new")


@pytest.mark.parametrize("gone", [BEGIN, END])
def test_deleted_mark_replaces_no_user_text(gone: str) -> None:
    page = merge_part(f"Above.\n\n{BEGIN}\nold\n{END}\n\nBelow.\n".replace(gone, ""), "new")
    for part in ("newer", "newest"):
        page = merge_part(page, part)
    assert "Above." in page
    assert "Below." in page
    assert page.count("newest") == 1
    assert "newer" not in page


@pytest.mark.parametrize("begin", [BEGIN, "<!-- memem writes from here -->"])
def test_marks_of_earlier_versions_are_replaced(begin: str) -> None:
    page = f"Above.\n\n{begin}\nold\n<!-- to here; what you write around it stays -->\n\nBelow.\n"
    assert page_text.get_own_lines(page) == ["old"]
    assert merge_part(page, "new") == f"Above.\n\n{BEGIN}\nnew\n{END}\n\nBelow.\n"


@given(text, text, text, text)
def test_merging_is_idempotent_and_keeps_other_bytes(before: str, after: str, one: str, two: str) -> None:
    page = f"{before}\n{BEGIN}\n{one}\n{END}\n{after}"
    changed = merge_part(page, two)
    assert merge_part(changed, two) == changed
    assert changed.startswith(before)
    assert changed.endswith(after)


def test_a_page_is_written_only_when_it_changes(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    assert write_part(page, "one", fsync=False)
    stamp = page.stat().st_mtime_ns, page.stat().st_ino
    assert not write_part(page, "one", fsync=False)
    assert (page.stat().st_mtime_ns, page.stat().st_ino) == stamp
    assert write_part(page, "two", fsync=False)


def test_a_page_keeps_its_line_endings(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    write_part(page, "one", fsync=False)
    page.write_bytes(page.read_bytes() + b"Below.\r\nEnd.\r\n")
    write_part(page, "two", fsync=False)
    assert page.read_bytes().endswith(b"Below.\r\nEnd.\r\n")


def test_page_that_is_not_text_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    page.write_bytes(b"\xff\xfe")
    assert not write_part(page, "one", fsync=False)
    assert page.read_bytes() == b"\xff\xfe"


def test_unwritable_vault_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(VaultUnwritable, match="Cannot write"):
        markdown.write_part(tmp_path / "file" / "Page.md", "one", fsync=False)


def test_part_can_depend_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    page.write_text("Mine.")
    assert write_part(page, lambda text: f"It says {text}", fsync=False)
    assert page.read_text() == f"Mine.\n\n{BEGIN}\nIt says Mine.\n{END}\n"
    assert not write_part(page, lambda _: "", fsync=False)


def test_page_saved_meanwhile_is_written_again(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    page.write_text("Mine.")

    def meanwhile(_: str) -> str:
        page.write_text("Mine, and more.")
        return "new"

    assert write_part(page, meanwhile, fsync=False)
    assert page.read_text() == f"Mine, and more.\n\n{BEGIN}\nnew\n{END}\n"


def test_page_saved_repeatedly_raises(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    page.write_text("Mine.")

    def meanwhile(text: str) -> str:
        page.write_text(f"{text} And more.")
        return "new"

    with pytest.raises(NoteChanged, match="nothing was written"):
        write_part(page, meanwhile, fsync=False)
    assert page.read_text() == "Mine. And more. And more."
    assert not list(tmp_path.glob(".memem-*"))


def test_missing_folder_is_created(tmp_path: Path) -> None:
    assert write_part(tmp_path / "projects" / "shop.md", "one", fsync=False)


# --- pages that nobody needs any more -----------------------------------------------------------------------------


def test_page_with_only_the_part_is_removed(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    write_part(page, "one", fsync=False)
    assert remove_page(page, "nothing left", fsync=False)
    assert not page.exists()
    assert not remove_page(page, "nothing left", fsync=False)


def test_page_with_user_text_is_not_removed(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    page.write_text(f"Mine.\n{BEGIN}\none\n{END}\n")
    assert remove_page(page, "nothing left", fsync=False)
    assert page.read_text() == f"Mine.\n{BEGIN}\nnothing left\n{END}\n"
    assert not remove_page(page, "nothing left", fsync=False)


def test_text_within_the_part_stays(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    write_part(page, "ours\ntheirs", fsync=False)
    assert remove_page(page, "nothing left", fsync=False, find_rest=lambda _: "theirs")
    assert page.read_text() == f"{BEGIN}\ntheirs\n{END}\n"


def test_page_saved_during_removal_stays(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    write_part(page, "one", fsync=False)

    def meanwhile(text: str) -> str:
        page.write_text(f"{text}Mine.\n")
        return ""

    with pytest.raises(NoteChanged):
        remove_page(page, "nothing left", fsync=False, find_rest=meanwhile)
    assert page.read_text().endswith("Mine.\n")


def test_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    page.write_text("Mine.")
    assert not remove_page(page, "nothing left", fsync=False)
    assert page.read_text() == "Mine."


# --- names and words ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["shop-api", "general", "c++", "a.b", "日本語", "über"])
def test_pages_are_named_after_their_project(name: str) -> None:
    assert file_stem(name) == name


@pytest.mark.parametrize("name", ["con", "aux", "nul.old", "com1", "lpt9"])
def test_device_names_are_avoided(name: str) -> None:
    assert file_stem(name).startswith("project-")


def test_file_names_differ_on_case_insensitive_disks() -> None:
    names = ["straße", "strasse", "ﬁle", "file", "σς", "σσ"]
    assert len({file_stem(name).casefold() for name in names}) == len(names)


@given(st.text(max_size=100), st.text(max_size=100))
def test_any_name_of_a_project_is_the_name_of_a_file_and_of_one_project(one: str, other: str) -> None:
    one, other = normalise(one), normalise(other)
    stem = file_stem(one)
    assert 0 < len(stem.encode()) <= 200
    assert not set(stem) & set('/\\:*?"<>|[]#^')
    assert not stem.startswith(".")
    assert not stem.endswith((".", " "))
    assert (one == other) == (stem.casefold() == file_stem(other).casefold())


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=60))
def test_escaped_text_starts_no_markup(words: str) -> None:
    for said in (words, f"[[{words}]]", f"![[{words}]]", f"[x]({words})", f"<!-- {words}", f"{words} {END}"):
        line = markdown.escape(said)
        assert find_violations(line, VaultNames([])) == []
        assert "<!--" not in line
        assert page_text.find_own_part(f"{BEGIN}\n{line}\n{END}") == (0, len(f"{BEGIN}\n{line}\n{END}"))


def test_unescape_reverses_escape() -> None:
    said = "use [[ -f x ]] and [a](b) for #1, 100%% sure"
    assert markdown.unescape(markdown.escape(said)) == said


def test_label_cannot_end_a_link() -> None:
    assert markdown.link("note-3f2c9a1e", "a [[b]] | c") == "[[note-3f2c9a1e|a ((b)) ¦ c]]"
    assert markdown.link("note", " ") == "[[note]]"


# --- what a person types between the marks ------------------------------------------------------------------------


def is_an_item(line: str) -> bool:
    return line.startswith("- [[")


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    page = tmp_path / "Page.md"
    assert write_part(page, "# List\n\n- [[one]]\n- [[two]]", fsync=False, is_ours=is_an_item)
    return page


def test_typed_lines_move_below_the_part_once(listed: Path) -> None:
    listed.write_text(listed.read_text().replace("- [[two]]", "- [[two]]\nCall Ann.\n\nAnd Bob."))
    for part in ("# List\n\n- [[one]]", "# List\n\n- [[three]]"):
        assert write_part(listed, part, fsync=False, is_ours=is_an_item)
        own, below = listed.read_text().split(END)
        assert below == "\n\nCall Ann.\nAnd Bob.\n"
        assert part in own
        assert "Ann" not in own


def test_outdated_own_lines_are_removed(listed: Path) -> None:
    assert write_part(listed, "# Other\n\n- [[three]]", fsync=False, is_ours=is_an_item)
    assert "List" not in listed.read_text()
    listed.write_text(listed.read_text().replace("# Other", "# Other\nMine."))
    assert write_part(listed, "# Other", fsync=False, is_ours=is_an_item)
    assert "[[three]]" not in listed.read_text()
    assert "Mine." in listed.read_text().split(END)[1]


def test_unsealed_page_keeps_other_lines(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    page.write_text(f"{BEGIN}\n- [[one]]\nMine.\n{END}\n")
    assert write_part(page, "- [[two]]", fsync=False, is_ours=is_an_item)
    assert page.read_text().endswith(f"{END}\n\nMine.\n")
    assert "[[one]]" not in page.read_text()


def test_a_sealed_page_is_written_only_when_it_changes(listed: Path) -> None:
    assert not write_part(listed, "# List\n\n- [[one]]\n- [[two]]\n", fsync=False, is_ours=is_an_item)


@given(st.lists(text, max_size=4))
def test_typed_lines_are_never_lost(typed: list[str]) -> None:
    lines = [line for each in typed for line in each.splitlines() if line.strip() and BEGIN not in line]
    page = markdown._update("", "# List\n- [[one]]\n- [[two]]", is_an_item)
    for number, line in enumerate(lines):
        rows = page.split("\n")
        rows.insert(1 + 7 * number % len(rows), line)
        page = markdown._update("\n".join(rows), f"# List\n- [[{number}]]", is_an_item)
    kept = page.splitlines()
    assert all(line in kept for line in lines)
