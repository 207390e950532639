"""Links stated by a note's properties and sentences."""

from typing import Any

import pytest

from memem.core.memory import Memory
from memem.search.graph.rules import StatedLink, find_body_links, list_stated_links


def memory(body: str = "", **fields: Any) -> Memory:
    return Memory("id", "A title", body, **fields)


def of_body(body: str) -> list[tuple[str, str, bool]]:
    return [(each.link, each.kind, each.back) for each in list_stated_links(memory(body))]


@pytest.mark.parametrize(
    ("sentence", "kind", "back"),
    [
        ("It depends on [[x]].", "depends_on", False),
        ("Everything here is depending upon [[x]].", "depends_on", False),
        ("The rollout requires [[x]] and a day of patience.", "depends_on", False),
        ("This builds on [[x]].", "depends_on", False),
        ("It was built on [[x]].", "depends_on", False),
        ("It is required by [[x]].", "depends_on", True),
        ("[[x]] depends on this.", "depends_on", True),
        ("This supports [[x]].", "supports", False),
        ("The numbers confirm [[x]].", "supports", False),
        ("That was confirmed by [[x]].", "supports", True),
        ("[[x]] supports it.", "supports", True),
        ("See [[x]].", "same_topic", False),
        ("It does not depend on [[x]].", "same_topic", False),
        ("It no longer requires [[x]].", "same_topic", False),
        ("This doesn't support [[x]].", "same_topic", False),
        ("See [[x]], which requires Redis.", "same_topic", False),
        ("It depends on Redis. See [[x]].", "same_topic", False),
        ("It depends on Redis; [[x]] has the port.", "same_topic", False),
        ("It depends on Redis\nand [[x]].", "same_topic", False),
    ],
)
def test_sentence_determines_the_kind_of_a_link(sentence: str, kind: str, back: bool) -> None:
    assert of_body(sentence) == [("[[x]]", kind, back)]


def test_last_cue_before_a_link_decides() -> None:
    body = "It requires [[a]] and supports [[b]]. Compare [[c]]."
    assert [kind for _, kind, _ in of_body(body)] == ["depends_on", "supports", "same_topic"]


@pytest.mark.parametrize(
    "body", ["Run `[[ -f x ]]`.", "```\nif [[ -f x ]]; then\n```", "~~~\n[[x]]\n", "[[#Heading]]", "x"]
)
def test_code_contains_no_links(body: str) -> None:
    assert list(find_body_links(body)) == []


def test_a_link_keeps_its_folder_heading_and_alias() -> None:
    assert [link for link, _, _ in find_body_links("As in [[memories/x#Why|there]].")] == ["[[memories/x#Why|there]]"]


@pytest.mark.parametrize(("author", "origin", "score"), [("human", "link", 1.0), ("model", "reconciled", 0.9)])
def test_author_determines_the_origin_of_property_links(author: str, origin: str, score: float) -> None:
    told = memory(related=("[[r]]",), contradicts=("[[c]]",), supersedes="[[o]]", superseded_by="[[n]]", author=author)
    assert list(list_stated_links(told)) == [
        StatedLink("[[r]]", "same_topic", origin, score),
        StatedLink("[[c]]", "contradicts", origin, 1.0),
        StatedLink("[[o]]", "supersedes", origin, 1.0),
        StatedLink("[[n]]", "supersedes", origin, 1.0, back=True),
    ]


def test_body_links_have_the_origin_link() -> None:
    (only,) = list_stated_links(memory("See [[x]].", author="model"))
    assert (only.origin, only.score) == ("link", 1.0)
