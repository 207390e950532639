"""A memory becomes a note that Obsidian shows well, and a note a person changed becomes the same memory again."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from memem.core.errors import NoteUnreadable, RewriteRefused
from memem.core.memory import KINDS, Memory
from memem.vault import note
from tests.builders import examples

FULL = Memory(
    id="3f2c9a1e-8d1b-4c55-9a43-1f0e6f0d7a11",
    title="Tokens are signed with RS256: not HS256",
    body="Tokens are signed with RS256.\n\nThe gateway cannot share a secret.",
    project="shop-api",
    kind="decision",
    tags=("memem", "shop-api"),
    layer=1,
    importance=4,
    keys=("JWT", "007", "on", "a, b", 'it\'s: "so"'),
    paths=("src/auth/**",),
    related=("[[other-note-12345678]]",),
    contradicts=("[[older-87654321]]",),
    supersedes="[[older-87654321]]",
    created="2026-03-01T09:00:00+01:00",
    updated="2026-03-02T09:00:00+01:00",
    valid_from="2026-03-01T09:00:00+01:00",
    source_type="mined",
    source_session="0b7e",
    source_turn="turn-1",
    confidence=0.9,
    author="model",
    evidence="let's use RS256\nthe gateway can't share a secret",
)
MINIMAL = Memory(id="aaaaaaaa-0000-4000-8000-000000000000", title="Short", body="A fact.")

_line = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=40).map(
    lambda text: " ".join(text.split())
)
_lines = st.lists(_line.filter(bool), max_size=4).map(tuple)
_body = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1).map(str.strip)
_memories = st.builds(
    Memory,
    id=st.uuids(version=4).map(str),
    title=_line.filter(bool),
    body=_body.filter(lambda text: bool(text) and "[!quote]" not in text),
    project=st.from_regex(r"[a-z][a-z0-9-]{0,10}[a-z0-9]", fullmatch=True),
    kind=st.sampled_from(KINDS),
    tags=st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), max_size=3).map(tuple),
    layer=st.integers(0, 3),
    importance=st.integers(1, 5),
    keys=_lines,
    paths=_lines,
    created=st.just("2026-03-01T09:00:00+01:00"),
    confidence=st.sampled_from((0.0, 0.5, 0.9, 1.0)),
)


def read(text: str, path: str = "memories/x.md") -> note.Note:
    return note.parse(path, text.encode(), "derived-id")


@pytest.mark.parametrize("memory", [FULL, MINIMAL], ids=["full", "minimal"])
def test_notes_look_as_agreed(memory: Memory, snapshot: SnapshotAssertion) -> None:
    assert note.new_text(memory) == snapshot


@settings(max_examples=examples(300))
@given(_memories)
def test_a_note_reads_back_as_the_memory_it_was_made_from(memory: Memory) -> None:
    parsed = read(note.new_text(memory))
    assert parsed.memory == memory
    assert not parsed.touched_by_hand


@settings(max_examples=examples(200))
@given(_memories, st.integers(1, 5), _line.filter(bool))
def test_a_rewrite_changes_what_was_asked_and_nothing_else(memory: Memory, importance: int, title: str) -> None:
    before = read(note.new_text(memory))
    wanted = replace(memory, importance=importance, title=title)
    after = read(note.rewrite_text(before, wanted))
    assert after.memory == wanted
    kept = [line for line in before.document.text.splitlines() if not line.startswith(_CHANGED)]
    assert [line for line in after.document.text.splitlines() if not line.startswith(_CHANGED)] == kept


_CHANGED = ("importance:", "title:", "aliases:", "written_hash:")


def test_a_new_note_begins_with_what_people_read_and_ends_with_what_memem_needs() -> None:
    names = list(read(note.new_text(FULL)).document.entries)
    assert names[:5] == ["title", "project", "kind", "aliases", "tags"]
    assert names[-3:] == ["id", "schema_version", "written_hash"]


@settings(max_examples=examples(200))
@given(st.data(), _memories, _line.filter(bool))
def test_any_order_of_properties_survives_a_rewrite(data: st.DataObject, memory: Memory, title: str) -> None:
    head, body = note.new_text(memory).removeprefix("---\n").split("---\n", 1)
    shuffled = data.draw(st.permutations([*head.splitlines(), "mine: 007", "# a comment"]))
    before = read("\n".join(["---", *shuffled, "---", body]))
    assert before.memory == memory
    after = note.rewrite_text(before, replace(memory, title=title, importance=1))
    changed = {"title": 1, "aliases": 1, "importance": 1}
    kept = [line for line in before.document.text.splitlines() if line.partition(":")[0] not in changed]
    assert [line for line in after.splitlines() if line.partition(":")[0] not in changed] == kept
    assert list(read(after).document.entries) == list(before.document.entries)
    assert read(after).memory == replace(memory, title=title, importance=1)


def test_a_new_note_has_its_title_as_an_alias_so_that_obsidian_finds_it() -> None:
    assert read(note.new_text(FULL)).document.many("aliases") == (FULL.title,)


@pytest.mark.parametrize(
    ("aliases", "after"),
    [
        (f'["{FULL.title}"]', ("New",)),
        (f'["JWT", "{FULL.title}", "signing"]', ("JWT", "New", "signing")),
        (f'"{FULL.title}"', ("New",)),
        (f'["{FULL.title}", "New"]', ("New",)),
        ('["JWT"]', ("JWT",)),
        ("", ()),
    ],
)
def test_only_the_alias_with_the_old_title_follows_the_title(aliases: str, after: tuple[str, ...]) -> None:
    before = read(re.sub("aliases:.*", f"aliases: {aliases}".rstrip(), note.new_text(FULL)))
    text = note.rewrite_text(before, replace(FULL, title="New"))
    assert read(text).document.many("aliases") == after


def test_a_note_without_aliases_gets_none() -> None:
    before = read(re.sub("aliases:.*\n", "", note.new_text(FULL)))
    assert "aliases" not in note.rewrite_text(before, replace(FULL, title="New"))


@pytest.mark.parametrize("aliases", ["{a: b}", "[[a, b], c]"])
def test_aliases_that_are_no_list_of_texts_stay(aliases: str) -> None:
    before = read(re.sub("aliases:.*", f"aliases: {aliases}", note.new_text(FULL)))
    assert f"\naliases: {aliases}\n" in note.rewrite_text(before, replace(FULL, title="New"))


def test_evidence_survives_a_new_statement() -> None:
    before = read(note.new_text(FULL))
    after = read(note.rewrite_text(before, replace(FULL, body="Tokens are signed with ES256.")))
    assert after.memory.body == "Tokens are signed with ES256."
    assert after.memory.evidence == FULL.evidence


_evidence = (
    st.lists(st.text(st.characters(codec="utf-8")) | st.sampled_from([note.EVIDENCE, "> a", ">", "---", "# a", ""]))
    .map("\n".join)
    .map(lambda text: "\n".join(line.rstrip() for line in text.splitlines()).strip())
)


@settings(max_examples=examples(200))
@given(_memories, _evidence, _evidence)
def test_new_evidence_takes_the_place_of_the_old_and_of_nothing_else(memory: Memory, old: str, new: str) -> None:
    before = read(note.new_text(replace(memory, evidence=old)))
    assert before.memory.evidence == old
    after = read(note.rewrite_text(before, replace(before.memory, evidence=new)))
    assert after.memory == replace(memory, evidence=new)
    assert not after.touched_by_hand


def test_evidence_is_added_to_a_note_that_had_none() -> None:
    after = note.rewrite_text(read(note.new_text(MINIMAL)), replace(MINIMAL, evidence="said so"))
    assert after.endswith("---\n\nA fact.\n\n> [!quote]- Evidence\n> said so\n")


def test_a_statement_and_its_evidence_can_change_together() -> None:
    wanted = replace(FULL, body="Tokens are signed with ES256.", evidence="use ES256\n\nplease")
    after = note.rewrite_text(read(note.new_text(FULL)), wanted)
    assert after.endswith("\n\nTokens are signed with ES256.\n\n> [!quote]- Evidence\n> use ES256\n>\n> please\n")
    assert read(after).memory == wanted


@pytest.mark.parametrize(
    "below", ["\nand more\n", "\n## My own section\n\nwith words\n", "right below\n", "no newline"]
)
def test_what_a_person_wrote_below_the_evidence_stays_below_it(below: str) -> None:
    added = read(note.new_text(FULL) + below)
    after = note.rewrite_text(added, replace(added.memory, evidence="new words"))
    assert after.endswith(f"\n\n> [!quote]- Evidence\n> new words\n{below}")
    assert read(after).memory.body == added.memory.body


def test_evidence_that_is_taken_away_leaves_no_callout() -> None:
    after = note.rewrite_text(read(note.new_text(FULL)), replace(FULL, evidence=""))
    assert after.endswith("\n\nThe gateway cannot share a secret.\n")
    assert read(after).memory.evidence == ""


def test_evidence_is_written_with_the_line_endings_of_its_note() -> None:
    synced = read(note.new_text(FULL).replace("\n", "\r\n"))
    assert synced.memory == FULL
    after = note.rewrite_text(synced, replace(FULL, evidence="one\ntwo"))
    assert after.endswith("\r\n\r\n> [!quote]- Evidence\r\n> one\r\n> two\r\n")
    assert "\n" not in after.replace("\r\n", "")
    assert not read(after).touched_by_hand


def test_a_statement_cannot_forge_its_evidence() -> None:
    forged = read(note.new_text(replace(MINIMAL, body="A fact.\n\n> [!quote]- Evidence\n> the user said so")))
    assert forged.memory.evidence == ""
    assert "the user said so" in forged.memory.body


def test_text_a_person_added_below_the_evidence_is_part_of_the_memory_and_stays() -> None:
    added = read(note.new_text(FULL) + "\n## My own section\n\nwith words\n")
    assert "with words" in added.memory.body
    assert added.memory.evidence == FULL.evidence
    after = note.rewrite_text(added, replace(added.memory, importance=1))
    assert after.endswith("\n## My own section\n\nwith words\n")
    with pytest.raises(RewriteRefused, match="below its evidence"):
        note.rewrite_text(added, replace(added.memory, body="new"))


def test_a_change_by_hand_is_seen_without_any_state() -> None:
    text = note.new_text(MINIMAL)
    assert not read(text).touched_by_hand
    assert read(text.replace("A fact.", "Another fact.")).touched_by_hand
    assert read(text.replace("kind: fact", "kind: lesson")).touched_by_hand
    assert read("# Mine\n\nwritten in Obsidian").touched_by_hand


def test_line_endings_changed_by_a_sync_are_not_a_persons_change() -> None:
    assert not read(note.new_text(FULL).replace("\n", "\r\n")).touched_by_hand


def test_a_hand_changed_note_stays_a_persons_after_memem_rewrites_it() -> None:
    model = replace(MINIMAL, author="model")
    edited = read(note.new_text(model).replace("A fact.", "My fact."))
    after = read(note.rewrite_text(edited, replace(edited.memory, importance=5)))
    assert after.memory.importance == 5
    assert after.touched_by_hand


UNKNOWN = f"""---
# my comment
cssclasses:
  - wide   # keep
id: aaaaaaaa-0000-4000-8000-000000000000
Title With Spaces: yes
nested:
  deep: {{a: 1}}
version: 1.10
zip: 007
flag: on
tags: [memem]
importance: 2 # why
---

Body with trailing spaces{"   "}

<!-- a comment -->
"""


def test_what_memem_does_not_understand_survives_a_rewrite() -> None:
    before = read(UNKNOWN)
    after = note.rewrite_text(before, replace(before.memory, importance=5))
    assert "importance: 5 # why\n" in after
    expected = UNKNOWN.replace("importance: 2 # why\n", "importance: 5 # why\n")
    assert after == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("related: [[a]]", ("[[a]]",)),
        ('related: "[[a]]"', ("[[a]]",)),
        ('related: ["[[a]]", "[[b|B]]"]', ("[[a]]", "[[b|B]]")),
        ("related:\n  - [[a]]\n  - '[[b]]'", ("[[a]]", "[[b]]")),
        ("related:\n- plain", ("plain",)),
        ("related:", ()),
        ("related: []", ()),
    ],
)
def test_links_are_understood_quoted_or_not(line: str, expected: tuple[str, ...]) -> None:
    assert read(f"---\nid: aaaaaaaa\n{line}\n---\nx").memory.related == expected


@pytest.mark.parametrize("tags", ["tags: a, b", "tags: [a, b]", "tags:\n- '#a'\n- b", "tags: a b"])
def test_tags_are_understood_as_obsidian_takes_them(tags: str) -> None:
    assert read(f"---\n{tags}\n---\nx").memory.tags == ("a", "b")


def test_properties_are_text_until_our_schema_types_them() -> None:
    memory = read("---\nid: 00000012\ntitle: 1.10\nkeys: [007, on, 2026-01-01]\n---\nx").memory
    assert (memory.id, memory.title, memory.keys) == ("00000012", "1.10", ("007", "on", "2026-01-01"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("---\ntitle: a: b\n---\nx", "not valid YAML"),
        ("---\ntitle: x\n", "no closing --- line"),
        ("---\nid: ../../x\n---\nx", "'id'"),
        ("---\nimportance: hig\n---\nx", "'importance'"),
        ("---\nlayer: 9\n---\nx", "'layer'"),
        ("---\nconfidence: 2\n---\nx", "'confidence'"),
        ("---\nconfidence: nan\n---\nx", "'confidence'"),
        ("---\ntitle: [a, b]\n---\nx", "'title'"),
        ("---\nkeys: {a: b}\n---\nx", "'keys'"),
        ("---\nid: aaaaaaaa\nid: bbbbbbbb\n---\nx", "twice"),
        ("---\n- a\n---\nx", "list of properties"),
        ("---\n? [a]\n: b\n---\nx", "name is not text"),
        ("---\na: \x00\n---\nx", "not valid YAML"),
        ("---\na: &x [*x]\n---\nx", "nested too deeply"),
        ("---\na: " + "[" * 2000 + "\n---\nx", "."),
        ("---\na: " + "[" * 200_000 + "\n---\nx", "nested too deeply"),
        ("---\na:\n  " + "- " * 300_000 + "x\n---\nx", "nested too deeply"),
    ],
)
def test_a_note_that_cannot_be_read_says_why(text: str, complaint: str) -> None:
    with pytest.raises(NoteUnreadable, match=complaint):
        read(text)


def test_text_that_is_not_utf8_is_unreadable() -> None:
    with pytest.raises(NoteUnreadable, match="UTF-8"):
        note.parse("memories/x.md", b"\xff\xfe", "derived-id")


def test_a_note_without_a_title_is_named_by_its_heading_or_its_file() -> None:
    assert read("# The heading\n\ntext").memory.title == "The heading"
    assert read("text", "memories/my-own-note.md").memory.title == "my own note"


def test_a_note_written_by_a_newer_memem_is_readable_but_not_rewritten() -> None:
    newer = read("---\nid: aaaaaaaa\nschema_version: 2\n---\nfrom the future")
    assert newer.memory.body == "from the future"
    with pytest.raises(RewriteRefused, match="newer version of memem"):
        note.rewrite_text(newer, replace(newer.memory, importance=1))


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Tokens: RS256 / HS256?", "tokens-rs256-hs256-3f2c9a1e.md"),
        ("../../etc/passwd", "etc-passwd-3f2c9a1e.md"),
        ("数据库连接池", "数据库连接池-3f2c9a1e.md"),
        ("🎉", "memory-3f2c9a1e.md"),
        ("CON", "con-3f2c9a1e.md"),
        ("a\nb", "a-b-3f2c9a1e.md"),
    ],
)
def test_file_names_are_readable_and_harmless(title: str, name: str) -> None:
    assert note.file_name(replace(FULL, title=title)) == name


@given(st.text(max_size=400))
def test_any_title_gives_a_short_file_name(title: str) -> None:
    name = note.file_name(replace(FULL, title=title))
    assert len(name.encode("utf-8", "surrogatepass")) < 120
    assert "/" not in name
