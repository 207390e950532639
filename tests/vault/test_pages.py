"""A page of memem's: its own part is brought up to date, the text around it is the person's."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.errors import VaultUnwritable
from memem.vault import pages
from memem.vault.pages import BEGIN, END, merged, write

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=80)


def test_a_new_page_holds_nothing_but_our_part() -> None:
    assert merged("", "# Conflicts\n") == f"{BEGIN}\n# Conflicts\n{END}\n"


def test_what_a_person_wrote_around_it_stays() -> None:
    page = f"My thoughts.\n\n{BEGIN}\nold\n{END}\n\nMore of them.\n"
    assert merged(page, "new") == f"My thoughts.\n\n{BEGIN}\nnew\n{END}\n\nMore of them.\n"


def test_a_page_without_our_part_gets_it_at_its_end() -> None:
    assert merged("Mine.\n", "new") == f"Mine.\n\n{BEGIN}\nnew\n{END}\n"


@pytest.mark.parametrize("torn", [f"{BEGIN}\nold", f"old\n{END}", f"{END}\nold\n{BEGIN}"])
def test_where_a_mark_is_missing_nothing_is_taken_for_ours(torn: str) -> None:
    assert torn in merged(torn, "new")


@pytest.mark.parametrize("gone", [BEGIN, END])
def test_where_somebody_deletes_a_mark_nothing_of_theirs_is_ever_replaced(gone: str) -> None:
    page = merged(f"Above.\n\n{BEGIN}\nold\n{END}\n\nBelow.\n".replace(gone, ""), "new")
    for part in ("newer", "newest"):
        page = merged(page, part)
    assert "Above." in page
    assert "Below." in page
    assert page.count("newest") == 1
    assert "newer" not in page


@given(text, text, text, text)
def test_twice_is_the_same_as_once_and_the_rest_keeps_its_bytes(before: str, after: str, one: str, two: str) -> None:
    page = f"{before}\n{BEGIN}\n{one}\n{END}\n{after}"
    changed = merged(page, two)
    assert merged(changed, two) == changed
    assert changed.startswith(before)
    assert changed.endswith(after)


def test_a_page_is_written_only_when_it_changes(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    assert write(page, "one", fsync=False)
    stamp = page.stat().st_mtime_ns, page.stat().st_ino
    assert not write(page, "one", fsync=False)
    assert (page.stat().st_mtime_ns, page.stat().st_ino) == stamp
    assert write(page, "two", fsync=False)


def test_a_page_keeps_its_line_endings(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    write(page, "one", fsync=False)
    page.write_bytes(page.read_bytes() + b"Below.\r\nEnd.\r\n")
    write(page, "two", fsync=False)
    assert page.read_bytes().endswith(b"Below.\r\nEnd.\r\n")


def test_a_page_that_is_no_text_is_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "Page.md"
    page.write_bytes(b"\xff\xfe")
    assert not write(page, "one", fsync=False)
    assert page.read_bytes() == b"\xff\xfe"


def test_a_vault_that_takes_no_bytes_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(VaultUnwritable, match="Cannot write"):
        pages.write(tmp_path / "file" / "Page.md", "one", fsync=False)
