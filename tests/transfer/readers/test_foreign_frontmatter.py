"""Frontmatter of other programs is read as text, whichever format it has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.errors import NoteUnreadable
from memem.transfer.readers.foreign_frontmatter import normalise
from memem.vault import frontmatter

YAML = "---\ntitle: Otters\nversion: 1.10\nnumber: 007\nflag: on\ntags: [a, b]\nrelated: [[note]]\n---\nThey float.\n"
TOML = '+++\ntitle = "Otters"\nversion = "1.10"\nnumber = 7\nflag = true\ntags = ["a", "b"]\n+++\nThey float.\n'
JSON = '{\n"title": "Otters", "version": "1.10", "number": 7, "flag": true, "tags": ["a", "b"]\n}\nThey float.\n'


@pytest.mark.parametrize(("text", "number", "flag"), [(YAML, "007", "on"), (TOML, "7", "true"), (JSON, "7", "true")])
def test_every_value_is_text(text: str, number: str, flag: str) -> None:
    document = frontmatter.parse(normalise(text)[0])
    assert [document.one(name) for name in ("title", "version", "number", "flag")] == ["Otters", "1.10", number, flag]
    assert document.many("tags") == ("a", "b")
    assert document.body.strip() == "They float."


def test_an_unquoted_link_is_a_link() -> None:
    assert frontmatter.parse(normalise(YAML)[0]).many("related") == ("[[note]]",)


def test_nested_values_are_returned_but_not_written() -> None:
    text, properties = normalise("---\nmetadata:\n  type: feedback\nodd key!: x\n---\nWords.\n")
    assert frontmatter.parse(text).entries == {}
    assert properties["metadata"] == {"type": "feedback"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("---\ntitle: never closed\n", "no closing line"),
        ("---\na: [\n---\nWords.", "not valid YAML"),
        ("---\na: " + "[" * 5_000 + "]" * 5_000 + "\n---\nWords.", "nested too deep"),
        ("+++\nno equals sign\n+++\nWords.", "not valid TOML"),
        ('{\n"a"\n}\nWords.', "not valid JSON"),
    ],
)
def test_damaged_frontmatter_is_reported(text: str, message: str) -> None:
    with pytest.raises(NoteUnreadable, match=message):
        normalise(text)


@pytest.mark.parametrize("text", ["Words.\n", "{\nwords in a brace\n", "# Heading\n\n---\nline\n---\n"])
def test_text_without_frontmatter_stays_as_it_is(text: str) -> None:
    assert normalise(text) == (text, {})


@given(st.sampled_from(["---\n", "+++\n", "{\n"]), st.text(), st.sampled_from(["\n---\n", "\n+++\n", "\n}\n", ""]))
def test_any_text_is_read_or_refused(start: str, text: str, end: str) -> None:
    try:
        frontmatter.parse(normalise(start + text + end)[0])
    except NoteUnreadable as problem:
        assert str(problem)
