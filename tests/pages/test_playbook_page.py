"""The format of a playbook: whose each line is, and which lines come back."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.pages import markdown, playbook_page
from memem.pages.playbook_page import MAX_PAGE_CHARS, Playbook, PlaybookLine

SIGNING = PlaybookLine(3, "3f2c9a1e", "Tokens are signed with RS256.", "[[signing-3f2c9a1e|3f2c9a1e]]", "00000001")
CACHE = PlaybookLine(4, "5e6f7a8b", "Clear the cache first.", "[[cache-5e6f7a8b|5e6f7a8b]]", "00000002")
CENTS = PlaybookLine(3, "0a1b2c3d", "Money is kept in cents.", "[[cents-0a1b2c3d|0a1b2c3d]]", "00000003")

PORT = PlaybookLine(5, "7c8d9e0f", "Staging listens on 8443.", "[[port-7c8d9e0f|7c8d9e0f]]", "00000004")


def page(*lines: PlaybookLine, kept: Playbook | None = None, text: str = "") -> str:
    return markdown.merge_part(text, playbook_page.render_part(lines, kept or Playbook()))


def test_rendered_playbook() -> None:
    assert page(SIGNING, CENTS, CACHE).splitlines()[1:-1] == [
        "# Playbook",
        "",
        "## Current decisions",
        "- Tokens are signed with RS256. [[signing-3f2c9a1e|3f2c9a1e]]",
        "- Money is kept in cents. [[cents-0a1b2c3d|0a1b2c3d]]",
        "",
        "## Known pitfalls",
        "- Clear the cache first. [[cache-5e6f7a8b|5e6f7a8b]]",
        "",
        f"<!-- written: @0 @3 {SIGNING.entry} {CENTS.entry} @4 {CACHE.entry} -->",
    ]


def test_written_lines_are_recognised() -> None:
    read = playbook_page.parse_page(page(SIGNING, CENTS, CACHE))
    assert read == Playbook({line.id8: line for line in (SIGNING, CENTS, CACHE)}, {}, frozenset())


def test_reworded_line_is_recognised() -> None:
    refined = replace(CENTS, refined=True)
    text = page(SIGNING, CENTS).replace(CENTS.entry, f"{CENTS.entry}*")
    assert text == page(SIGNING, refined)
    assert playbook_page.parse_page(text).ours == {SIGNING.id8: SIGNING, CENTS.id8: refined}


def test_line_changed_by_the_user_stays() -> None:
    text = page(SIGNING, CACHE).replace("with RS256.", "with RS256, always!")
    read = playbook_page.parse_page(text)
    theirs = "- Tokens are signed with RS256, always! [[signing-3f2c9a1e|3f2c9a1e]]"
    assert list(read.ours) == [CACHE.id8]
    assert read.theirs == {3: (theirs,)}
    assert read.has_own(SIGNING.id8)
    assert theirs in page(CACHE, kept=read, text=text)


def test_line_deleted_by_the_user_does_not_return() -> None:
    text = page(SIGNING, CACHE).replace(f"{SIGNING.text}\n", "")
    for _ in range(3):
        read = playbook_page.parse_page(text)
        assert read.has_own(SIGNING.id8)
        assert not read.has_own(CACHE.id8)
        text = page(CACHE, kept=read, text=text)
    assert "-3f2c9a1e" in text.splitlines()[-2]


def test_line_added_by_the_user_stays_in_place() -> None:
    text = page(SIGNING, CACHE).replace(
        CACHE.text, f"{CACHE.text}\n- Ask Ada first.\n\n### Mine\nA paragraph.\n\nAnother."
    )
    read = playbook_page.parse_page(text)
    assert read.theirs == {4: ("- Ask Ada first.", "", "### Mine", "A paragraph.", "", "Another.")}
    again = page(SIGNING, replace(CACHE, words="Clear it."), kept=read, text=text)
    assert "- Clear it. [[cache-5e6f7a8b|5e6f7a8b]]\n- Ask Ada first.\n\n### Mine\nA paragraph.\n\nAnother.\n" in again
    assert playbook_page.parse_page(again).theirs == read.theirs


@pytest.mark.parametrize(
    "mine",
    [
        "<!-- written: by Ada, do not touch -->",
        "<!-- written: @0 @3",
        "<!-- written: @0 @3 --> and more",
        "One.\n\n\n\nTwo.",
        "A line that breaks  \nhere.",
        "\nA paragraph below the list.",
        "```python\ndef f():\n    x = 1  \n\n\n    return x\n```",
        "```\n# Playbook\n## Environment\n## Known pitfalls\n```",
        "~~~~ text\n```\n## Environment\n~~~\n~~~~",
        "- A point:\n\n     ```\n     ## Environment\n     ```",
    ],
)
def test_user_lines_keep_their_bytes(mine: str) -> None:
    text = page(SIGNING, CACHE).replace(SIGNING.text, f"{SIGNING.text}\n{mine}")
    for words in ("Sign.", "Sign them."):
        read = playbook_page.parse_page(text)
        assert list(read.ours) == [SIGNING.id8, CACHE.id8]
        text = page(replace(SIGNING, words=words), CACHE, PORT, kept=read, text=text)
        assert f"- {words} {SIGNING.link}\n{mine}\n\n## Known pitfalls\n{CACHE.text}\n" in text
        assert f"\n\n## Environment\n{PORT.text}\n" in text
        text = page(replace(SIGNING, words=words), CACHE, kept=playbook_page.parse_page(text), text=text)


@pytest.mark.parametrize("typed", ["```", "```\n- mine", "~~~"])
def test_unclosed_code_block_contains_no_own_lines(typed: str) -> None:
    text = page(SIGNING, CACHE).replace(SIGNING.text, f"{SIGNING.text}\n{typed}")
    text = text.replace(CACHE.text, f"{CACHE.text}\n{typed[:3]}\nx\n{typed[:3]}")
    read = playbook_page.parse_page(text)
    assert list(read.ours) == [SIGNING.id8, CACHE.id8]
    assert read.gone == frozenset()


def test_line_moved_by_the_user_is_theirs() -> None:
    text = page(SIGNING, CACHE).replace(f"{SIGNING.text}\n", "").replace(CACHE.text, f"{CACHE.text}\n{SIGNING.text}")
    read = playbook_page.parse_page(text)
    assert read.theirs == {4: (SIGNING.text,)}
    assert read.has_own(SIGNING.id8)


@pytest.mark.parametrize("heading", ["## Known pitfalls", "# Playbook"])
@pytest.mark.parametrize("instead", ["", "## Pitfalls"])
def test_heading_changed_or_deleted_by_the_user_does_not_return(heading: str, instead: str) -> None:
    text = page(SIGNING, CACHE).replace(heading, instead)
    for _ in range(2):
        read = playbook_page.parse_page(text)
        text = page(*read.ours.values(), kept=read, text=text)
        assert heading not in text
        assert instead in text
        assert CACHE.text in text


def test_link_changed_by_obsidian_is_accepted() -> None:
    text = page(SIGNING).replace("[[signing-3f2c9a1e|", "[[How we sign|")
    read = playbook_page.parse_page(text)
    assert read.ours[SIGNING.id8] == replace(SIGNING, link="[[How we sign|3f2c9a1e]]")


def test_without_the_record_every_line_is_the_users() -> None:
    lines = page(SIGNING, CACHE).splitlines()
    text = "\n".join(line for line in lines if "written:" not in line)
    read = playbook_page.parse_page(text)
    assert read.ours == {}
    assert read.theirs == {3: (SIGNING.text,), 4: (CACHE.text,)}


def test_line_endings_and_trailing_spaces_are_ignored() -> None:
    text = page(SIGNING, CACHE)
    assert playbook_page.parse_page(text.replace("\n", "  \r\n")) == playbook_page.parse_page(text)


def test_lines_fill_the_page() -> None:
    link = f"[[{'n' * 60}|"
    lines = [PlaybookLine(3, f"{number:08}", "word " * 30, f"{link}{number:08}]]", "0" * 8) for number in range(60)]
    kept = Playbook(theirs={1: ("- Mine. " * 40,)})
    taken = playbook_page.fit_lines(lines, kept)
    assert taken == lines[: len(taken)]
    assert MAX_PAGE_CHARS - 300 < len(page(*taken, kept=kept)) <= MAX_PAGE_CHARS
    assert len(playbook_page.fit_lines(lines, Playbook())) > len(taken)


def test_shorter_line_follows_one_that_does_not_fit() -> None:
    assert playbook_page.fit_lines([replace(CACHE, words="x" * 5_000), SIGNING], Playbook()) == [SIGNING]


def test_user_lines_outlive_their_project() -> None:
    text = page(SIGNING, CACHE)
    assert playbook_page.render_without_lines(text) == ""
    left = playbook_page.render_without_lines(text.replace("RS256", "HS256"))
    assert "HS256" in left
    assert CACHE.words not in left
    assert left.startswith("# Playbook\n")


_words = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"], exclude_characters="[]|<"), min_size=1, max_size=12
)
_edits = st.lists(st.tuples(st.integers(0, 12), st.sampled_from(["delete", "change", "add"]), _words), max_size=6)


@given(_edits)
def test_any_user_edit_survives_updates(edits: list[tuple[int, str, str]]) -> None:
    text = page(SIGNING, CENTS, CACHE)
    lines = text.splitlines()
    deleted: set[str] = set()
    for place, edit, words in edits:
        at = 1 + place % (len(lines) - 3)  # between the first mark and the record
        if edit == "delete":
            deleted.add(lines.pop(at))
        elif edit == "change":
            deleted.add(lines[at])
            lines[at] = f"{lines[at]} {words}"
        else:
            lines.insert(at, words)
    wanted = {line.strip() for line in lines[1:-2]}
    text = "\n".join(lines)
    for _ in range(2):
        read = playbook_page.parse_page(text)
        ours = [
            line
            for line in (SIGNING, CENTS, CACHE)
            if not read.has_own(line.id8) and f"@{line.section}" not in read.gone
        ]
        text = page(*ours, kept=read, text=text)
        after = {line.strip() for line in text.splitlines()}
        assert {line for line in wanted if line and not line.startswith(("## ", "# "))} <= after
        assert not {line for line in deleted - wanted if line.startswith("- ")} & after
