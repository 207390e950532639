"""Obsidian's conventions, and the violations reported for a note."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from memem.vault import frontmatter
from memem.vault.obsidian import VaultNames, find_type_clashes, find_violations, property_types

NAMES = VaultNames(
    ["memem/memories/older-87654321.md", "pages/My own page.md", "img/plan.png", "memem/projects/shop.md"]
)


IN_LIST = 'contains a list inside a list: a link must be in quotes, as in "[[note]]"'


def note(properties: str, body: str = "A fact.") -> str:
    return f"---\n{properties}\n---\n\n{body}\n"


def problems(text: str) -> list[str]:
    return [each.problem for each in find_violations(text, NAMES)]


GOLDEN = re.findall(
    r"^  '''\n(.*?)^  '''",
    Path(__file__).with_name("__snapshots__").joinpath("test_note.ambr").read_text(),
    re.M | re.S,
)


@pytest.mark.parametrize("golden", [re.sub(r"^  ", "", text, flags=re.MULTILINE) for text in GOLDEN])
def test_every_golden_note_keeps_to_the_conventions(golden: str) -> None:
    assert golden.startswith("---\ntitle: ")
    assert find_violations(golden, VaultNames(["other-note-12345678.md", "older-87654321.md"])) == []


def test_golden_notes_agree_on_types() -> None:
    texts = {str(number): re.sub(r"^  ", "", text, flags=re.MULTILINE) for number, text in enumerate(GOLDEN)}
    assert len(texts) == 2
    assert problems_over(texts) == []


def problems_over(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    types = {path: property_types(frontmatter.parse(text)) for path, text in texts.items()}
    return [(path, each.problem) for path, each in find_type_clashes(types)]


# --- properties ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("x: text", "text"),
        ('x: "7"', "text"),
        ("x: 7", "number"),
        ("x: -0.5e3", "number"),
        ("x: true", "checkbox"),
        ("x: on", "text"),
        ("x: 2026-03-01", "date"),
        ('x: "2026-03-01"', "date"),
        ("x: 2026-03-01T09:00:00+01:00", "date and time"),
        ("x: 2026-03-01T09:00", "date and time"),
        ("x: [a, b]", "list"),
        ("x:\n  - a", "list"),
        ("x:", "empty"),
        ("x: null", "empty"),
    ],
)
def test_a_value_is_of_the_type_that_obsidian_sees(written: str, kind: str) -> None:
    assert property_types(frontmatter.parse(note(written))) == {"x": kind}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("tags: a, b", "has `tags` with the type text, but its type is list everywhere else"),
        ("aliases: Signing", "has `aliases` with the type text, but its type is list everywhere else"),
        ("title: 007", "has `title` with the type number, but its type is text everywhere else"),
        ("importance: high", "has `importance` with the type text, but its type is number everywhere else"),
        (
            "created: yesterday",
            "has `created` with the type text, but its type is date or date and time everywhere else",
        ),
        ("tag: a", "has `tag`, which Obsidian no longer reads: it is now called `tags` and is a list"),
        ("tags: [a b]", "has the tag 'a b', which Obsidian does not accept"),
        ("tags: [1984]", "has the tag '1984', which Obsidian does not accept"),
        ("x: {a: b}", "has `x`, which contains nested properties: Obsidian shows it as text that cannot be edited"),
        ("x: [a, [b]]", f"has `x`, which {IN_LIST}"),
        ("supersedes: [[older-87654321]]", f"has `supersedes`, which {IN_LIST}"),
        ('related: ["87654321"]', "has '87654321' in `related`, which is not a link such as \"[[note]]\""),
        ('related: ["[[gone]]"]', "links in `related` to [[gone]], which Obsidian cannot find"),
    ],
)
def test_what_is_wrong_with_a_property_is_said(written: str, problem: str) -> None:
    assert problems(note(written)) == [problem]


def test_properties_that_cannot_be_read_are_one_problem() -> None:
    (problem,) = problems(note("x: y: z"))
    assert problem.startswith("has properties that cannot be read: the frontmatter is not valid YAML on line 2")


@pytest.mark.parametrize(
    "written",
    [
        "tags: [memem, shop-api, a/b, 中文]",
        "tags: []",
        "tags:\n  - memem",
        "aliases:",
        'related: ["[[older-87654321]]", "[[memories/older-87654321|older]]", "[[older-87654321#Why]]"]',
        'superseded_by: "[[OLDER-87654321.md]]"',
        "valid_to: 2026-03-01",
        "rating: 5",
        "title: 2026-03-01",
    ],
)
def test_what_is_as_it_should_be_is_not_mentioned(written: str) -> None:
    assert problems(note(written)) == []


def test_a_property_of_two_types_is_found_over_several_notes() -> None:
    written = {"a.md": "rating: good", "b.md": "rating: 5\nx: 1", "c.md": "rating:", "d.md": "rating: 4"}
    found = problems_over({path: note(text) for path, text in written.items()})
    assert found == [("a.md", "has `rating` with the type text, but its type is number in b.md")]


# --- links --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "[[My own page]] and ![[plan.png]] and [[older-87654321|that]] and [[#Here]] and [[projects/shop#Facts]]",
        "[own](My%20own%20page.md) [site](https://example.com) [mail](mailto:a@b.c) [here](#there) [p](./img/plan.png)",
        "`[[ -f x ]]` and\n```\n[[gone]]\n```\nand <!-- [[gone]] --> and %% [[gone]] %% and \\[[gone]]",
        "if [[ ]]; then",
    ],
)
def test_links_that_lead_somewhere_or_are_none_are_in_order(body: str) -> None:
    assert problems(note("x: y", body)) == []


@pytest.mark.parametrize("link", ["[[gone]]", "![[gone.png]]", "[[other/shop]]", "[x](gone.md)", "[[gone#Here|there]]"])
def test_a_link_that_leads_nowhere_is_named(link: str) -> None:
    (found,) = find_violations(note("x: y", f"See {link}."), NAMES)
    assert found.about in link
    assert "which Obsidian cannot find" in found.problem
