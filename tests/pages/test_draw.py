"""The picture of the graph: well-formed whatever titles say, the same each time, and bounded."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.errors import InputError
from memem.core.memory import CONTRADICTS, EDGE_KINDS, SAME_TOPIC, SUPERSEDES, Edge, Entry, Memory
from memem.notes import save
from memem.pages import draw as pages_draw
from memem.pages.draw import GraphPicture, choose_memories, draw, order_by_links, render_svg
from memem.workspace import Workspace
from tests.upkeep.test_curating import put

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "title", "style", "marker", "rect", "path", "circle", "text", "tspan"}
HOSTILE = '</title><script>alert("x")</script><!-- &amp; {x} ]]> \x00\u202e'


def entry(identity: str, title: str = "", project: str = "shop") -> Entry:
    return Entry(Memory(identity, title, "It is so.", project), f"memories/{identity}.md")


def edge(source: str, target: str, kind: str = SAME_TOPIC) -> Edge:
    return Edge(source, target, kind, 0.5, "meaning")


def parse(cards: list[list[Entry]], edges: list[Edge] | None = None, *, total: int = 0) -> ElementTree.Element:
    ids = {entry.id for card in cards for entry in card}
    return ElementTree.fromstring(render_svg(cards, edges or [], ids, total))  # noqa: S314 - our own


def texts(picture: ElementTree.Element) -> list[str]:
    return ["".join(element.itertext()) for element in picture.iter(f"{SVG}text")]


# --- the file -----------------------------------------------------------------------------------------------------


def test_all_projects_are_drawn_with_their_links(ws: Workspace, tmp_path: Path) -> None:
    one = put(ws, "Tokens are signed with RS256.")
    put(ws, "The gateway verifies tokens.", related=(one.link,))
    put(ws, "Tyres are changed in October.", project="garage")
    file = tmp_path / "graph.svg"
    assert draw(ws, file) == GraphPicture(str(file), drawn=3, memories=3, edges=1, projects=2)
    words = texts(ElementTree.fromstring(file.read_text()))  # noqa: S314 - our own
    assert {"shop", "garage", "Tokens are signed with RS256"} <= set(words)


def test_one_project_can_be_drawn_alone(ws: Workspace, tmp_path: Path) -> None:
    put(ws, "Tokens are signed with RS256.")
    put(ws, "Tyres are changed in October.", project="garage")
    assert draw(ws, tmp_path / "g.svg", project="Garage").drawn == 1
    with pytest.raises(InputError, match="attic has no memories"):
        draw(ws, tmp_path / "g.svg", project="attic")


def test_the_same_memories_give_the_same_bytes(ws: Workspace, tmp_path: Path) -> None:
    first = put(ws, "Tokens are signed with RS256.")
    for number in range(6):
        put(ws, f"Gateway number {number} verifies tokens.", related=(first.link,), project=f"p{number % 2}")
    draw(ws, tmp_path / "one.svg")
    draw(ws, tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_only_the_most_linked_are_drawn_when_there_are_too_many(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages_draw, "MAX_DOTS", 3)
    hub = put(ws, "Tokens are signed with RS256.")
    for number in range(5):
        put(ws, f"Gateway number {number} verifies tokens.", related=(hub.link,))
    drawn = draw(ws, tmp_path / "g.svg")
    assert (drawn.drawn, drawn.memories) == (3, 6)
    text = (tmp_path / "g.svg").read_text()
    assert "Tokens are signed with RS256" in text
    assert "3 memories of 6 · 2 links · 1 project" in text


@pytest.mark.parametrize("name", ["graph.png", "graph", "missing/graph.svg"])
def test_an_unusable_file_name_is_refused(ws: Workspace, tmp_path: Path, name: str) -> None:
    save.save(ws, "Tokens are signed with RS256.")
    with pytest.raises(InputError, match=r"must end in \.svg|Cannot write the picture"):
        draw(ws, tmp_path / name)


def test_an_empty_vault_is_refused(ws: Workspace, tmp_path: Path) -> None:
    ws.store.make_vault()
    with pytest.raises(InputError, match="no memories to draw"):
        draw(ws, tmp_path / "g.svg")


# --- the picture --------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.text(), st.text(max_size=60)), max_size=8))
def test_any_titles_and_projects_give_well_formed_xml(wanted: list[tuple[str, str]]) -> None:
    picture = parse([[entry(str(number), *words)] for number, words in enumerate(wanted)])
    assert len(list(picture.iter(f"{SVG}circle"))) == len(wanted)
    assert {element.tag.removeprefix(SVG) for element in picture.iter()} <= TAGS


def test_a_hostile_title_is_plain_text() -> None:
    text = render_svg([[entry("a", HOSTILE, HOSTILE)]], [], {"a"}, 1)
    assert "&lt;script&gt;" in text
    assert not any(part in text for part in ("<script", "\x00", "\u202e"))


def test_the_order_of_edges_does_not_matter() -> None:
    cards = [[entry(name, name) for name in "abc"]]
    edges = [edge("a", "b"), edge("b", "c", SUPERSEDES), edge("a", "c", CONTRADICTS)]
    assert render_svg(cards, edges, set("abc"), 3) == render_svg(cards, edges[::-1], set("abc"), 3)


@pytest.mark.parametrize("kind", EDGE_KINDS)
def test_the_legend_names_the_kinds_that_are_drawn(kind: str) -> None:
    picture = parse([[entry("a"), entry("b")]], [edge("a", "b", kind)])
    assert [element.text for element in picture.iter(f"{SVG}tspan")] == [kind.replace("_", " ")]
    (arc,) = [element for element in picture.iter(f"{SVG}path") if element.get("class") == kind]
    assert bool(arc.get("marker-end")) == (kind == SUPERSEDES)


def test_outdated_memory_is_hollow() -> None:
    picture = ElementTree.fromstring(render_svg([[entry("a"), entry("b")]], [], {"a"}, 2))  # noqa: S314 - our own
    assert [element.get("fill") == "none" for element in picture.iter(f"{SVG}circle")] == [False, True]
    assert any("Hollow" in text for text in texts(picture))


def test_linked_memories_are_adjacent() -> None:
    card = [entry(name) for name in "abcd"]
    assert [entry.id for entry in order_by_links(card, [edge("a", "d"), edge("c", "d")])] == ["a", "d", "c", "b"]


def test_projects_take_turns_when_there_are_too_many_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_draw, "MAX_DOTS", 5)
    large = [entry(f"l{number}", project="large") for number in range(50)]
    small = [entry(f"s{number}", project="small") for number in range(2)]
    degrees = {each.id: int(each.id[1:]) if each.id[0] == "l" else 0 for each in [*large, *small]}
    chosen = choose_memories([*small, *large], degrees)
    assert [[each.id for each in card] for card in chosen] == [["l49", "l48", "l47"], ["s0", "s1"]]


def test_only_the_largest_projects_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_draw, "MAX_PROJECTS", 2)
    entries = [entry(f"{size}-{number}", project=f"p{size}") for size in (1, 2, 3) for number in range(size)]
    assert [len(card) for card in choose_memories(entries, dict.fromkeys((each.id for each in entries), 0))] == [3, 2]
