"""The graph is drawn into a file, of however many memories, the same each time."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from memem.core.errors import InputError
from memem.notes import save
from memem.pages import draw as pages_draw
from memem.pages.draw import Drawn, draw
from memem.workspace import Workspace
from tests.upkeep.test_curating import put


def test_memories_of_all_projects_and_what_links_them(ws: Workspace, tmp_path: Path) -> None:
    one = put(ws, "Tokens are signed with RS256.")
    put(ws, "The gateway verifies tokens.", related=(one.link,))
    put(ws, "Tyres are changed in October.", project="garage")
    file = tmp_path / "graph.svg"
    assert draw(ws, file) == Drawn(str(file), drawn=3, memories=3, edges=1, projects=2)
    words = [each.text for each in ElementTree.fromstring(file.read_text()).iter() if each.tag.endswith("text")]  # noqa: S314 - our own
    assert {"shop", "garage", "Tokens are signed with RS256"} <= set(words)


def test_one_project_alone(ws: Workspace, tmp_path: Path) -> None:
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


def test_of_too_many_the_most_linked_are_drawn(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_draw, "MOST_DRAWN", 3)
    hub = put(ws, "Tokens are signed with RS256.")
    for number in range(5):
        put(ws, f"Gateway number {number} verifies tokens.", related=(hub.link,))
    drawn = draw(ws, tmp_path / "g.svg")
    assert (drawn.drawn, drawn.memories) == (3, 6)
    text = (tmp_path / "g.svg").read_text()
    assert "Tokens are signed with RS256" in text
    assert "3 memories of 6, the most linked of the largest projects" in text


@pytest.mark.parametrize("name", ["graph.png", "graph", "missing/graph.svg"])
def test_where_no_picture_can_be_is_said(ws: Workspace, tmp_path: Path, name: str) -> None:
    save.save(ws, "Tokens are signed with RS256.")
    with pytest.raises(InputError, match=r"should end in \.svg|cannot be written"):
        draw(ws, tmp_path / name)


def test_an_empty_vault_is_no_picture(ws: Workspace, tmp_path: Path) -> None:
    ws.store.make_vault()
    with pytest.raises(InputError, match="no memories to draw"):
        draw(ws, tmp_path / "g.svg")
