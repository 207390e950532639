"""Properties are read as text and changed in place: every other byte stays, or the change is refused."""

import re
from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memem.core.errors import NoteUnreadable, RewriteRefused
from memem.vault import frontmatter
from tests.builders import examples

# --- a grammar of what people and tools write between the two lines of dashes -------------------------------------

_word = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
_text = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff\u2028\u2029\ufffe\uffff"), max_size=24
)
_plain = st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9 ._/-]{0,20}", fullmatch=True).map(str.strip)
_double = _text.map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"')
_single = _text.map(lambda text: "'" + text.replace("'", "''") + "'")
_link = _word.map(lambda word: f"[[{word}]]")
_scalar = st.one_of(_plain, _double, _single, _link, _link.map(lambda link: f'"{link}"'), st.just(""))
_item = st.one_of(_plain.filter(bool), _double, _single, _link, _link.map(lambda link: f'"{link}"'))
_comment = st.one_of(st.just(""), _word.map(lambda word: f"  # {word}"), _word.map(lambda word: f"\t# {word}"))


class File(NamedTuple):
    """A generated file, in pieces: the entries' own lines, and what stands between them."""

    pieces: list[tuple[str, str, str]]  # key (empty: not an entry), its text, the comment that ends its only line

    @property
    def text(self) -> str:
        return "".join(text for _, text, _ in self.pieces)

    @property
    def keys(self) -> list[str]:
        return [key for key, _, _ in self.pieces if key]

    def around(self, key: str) -> tuple[str, str, str]:
        """The text before an entry, the comment on its only line, and what stands after it."""
        at = self.keys_at(key)
        before = "".join(text for _, text, _ in self.pieces[:at])
        after = "".join(text for _, text, _ in self.pieces[at + 1 :])
        return before, self.pieces[at][2], after

    def keys_at(self, key: str) -> int:
        return [piece[0] for piece in self.pieces].index(key)


@st.composite
def _entry(draw: st.DrawFn, key: str, newline: str) -> tuple[str, str, str]:
    form = draw(st.sampled_from(("scalar", "flow", "block", "flush", "folded", "literal", "empty")))
    comment = draw(_comment)
    items = draw(st.lists(_item, min_size=1, max_size=4))
    one_line = comment if form in ("scalar", "flow", "empty") else ""
    if form == "scalar":
        lines = [f"{key}: {draw(_scalar)}{comment}"]
    elif form == "flow":
        lines = [f"{key}: [{', '.join(items)}]{comment}"]
    elif form == "empty":
        lines = [f"{key}:{comment}"]
    elif form in ("block", "flush"):
        indent = "" if form == "flush" else draw(st.sampled_from(("  ", "    ")))
        lines = [f"{key}:{comment}", *(f"{indent}- {item}{draw(_comment)}" for item in items)]
    else:
        mark = ">" if form == "folded" else "|"
        texts = draw(st.lists(_plain.filter(bool), min_size=1, max_size=3))
        lines = [f"{key}: {mark}{draw(st.sampled_from(('', '-', '+')))}", *(f"  {text}" for text in texts)]
    return key, "".join(line + newline for line in lines), one_line


@st.composite
def _files(draw: st.DrawFn) -> File:
    newline = draw(st.sampled_from(("\n", "\r\n")))
    pieces = [("", draw(st.sampled_from(("", "\ufeff"))) + "---" + newline, "")]
    for key in draw(st.lists(_word, min_size=1, max_size=6, unique=True)):
        pieces += [("", line + newline, "") for line in draw(st.lists(_between, max_size=1))]
        pieces.append(draw(_entry(key, newline)))
    body = draw(st.text(st.characters(codec="utf-8"), max_size=80))
    return File([*pieces, ("", "---" + newline + body, "")])


_between = st.sampled_from(("# a comment", "", " # indented"))
_new_values = st.one_of(_text, st.lists(_text.filter(bool), max_size=3).map(tuple))


def _parsed(text: str) -> frontmatter.Document | None:
    try:
        return frontmatter.parse(text)
    except NoteUnreadable:
        return None


@settings(max_examples=examples(300))
@given(_files(), _new_values, st.data())
def test_changing_one_property_keeps_every_other_byte_or_refuses(
    file: File, value: frontmatter.Value, data: st.DataObject
) -> None:
    document = _parsed(file.text)
    if document is None:
        return
    key = data.draw(st.sampled_from(file.keys))
    try:
        patched = frontmatter.patch(document, {key: value})
    except RewriteRefused as refusal:
        assert str(refusal)
        return
    after = frontmatter.parse(patched)
    assert (after.many(key) if isinstance(value, tuple) else after.one(key)) == value
    before, comment, behind = file.around(key)
    assert patched.startswith(f"{before}{key}:")
    assert patched.endswith(behind)
    assert patched.removesuffix(behind).rstrip("\r\n").endswith(comment)


@settings(max_examples=examples(150))
@given(_files(), _new_values)
def test_adding_a_property_adds_one_line_and_nothing_else(file: File, value: frontmatter.Value) -> None:
    document = _parsed(file.text)
    if document is None:
        return
    try:
        patched = frontmatter.patch(document, {"Brand-New": value})
    except RewriteRefused as refusal:
        assert str(refusal)
        return
    line = re.compile(r"^Brand-New:[^\n]*\n", re.MULTILINE)
    assert line.sub("", patched, count=1) == file.text


def test_the_grammar_is_mostly_readable_and_mostly_changeable() -> None:
    """The properties above hold nothing if the generator makes only files that are unreadable or refused."""
    outcomes: Counter[str] = Counter()

    @settings(max_examples=150, database=None)
    @given(_files(), _new_values)
    def count(file: File, value: frontmatter.Value) -> None:
        document = _parsed(file.text)
        if document is None:
            outcomes["unreadable"] += 1
            return
        try:
            frontmatter.patch(document, {file.keys[0]: value})
            outcomes["changed"] += 1
        except RewriteRefused:
            outcomes["refused"] += 1

    count()
    assert outcomes["changed"] > 75
    assert outcomes["refused"] > 5


@settings(max_examples=examples(300))
@given(st.dictionaries(_word, st.one_of(_text, st.lists(_text.filter(bool), max_size=4).map(tuple)), max_size=6), _text)
def test_a_rendered_file_reads_back_as_it_was(properties: dict[str, frontmatter.Value], body: str) -> None:
    document = frontmatter.parse(frontmatter.render(properties, body))
    for key, value in properties.items():
        assert (document.many(key) if isinstance(value, tuple) else document.one(key)) == value


@settings(max_examples=examples(500))
@given(st.text(max_size=200).map(lambda text: f"---\n{text}\n---\nbody"))
def test_any_text_between_the_dashes_is_read_or_declared_unreadable(text: str) -> None:
    document = _parsed(text)
    assert document is None or document.text == text


@pytest.mark.parametrize(
    ("head", "key"),
    [
        ("a: &x 1\nb: *x", "a"),  # the other value hangs on this one
        ("a: &x 1\nb: *x", "b"),
        ("{a: 1, b: 2}", "new"),
        ("a:\n- 1 # one\n- 2", "a"),
        ("a: # why\n  - 1", "a"),
        ("a: | # why\n  text", "a"),
        ("a: {b: c}", "a"),
    ],
)
def test_a_change_that_cannot_be_proven_harmless_is_refused(head: str, key: str) -> None:
    document = frontmatter.parse(f"---\n{head}\n---\nbody")
    with pytest.raises(RewriteRefused, match="Obsidian"):
        frontmatter.patch(document, {key: "other"})
