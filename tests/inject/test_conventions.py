"""Everything that memem writes into a vault keeps to Obsidian's conventions: a thousand odd notes, and the pages."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from memem.core.memory import KINDS, STATUSES, Memory
from memem.notes import review, save, write
from memem.pages import conflicts, refresh
from memem.search import refresh as search_refresh
from memem.search.graph import read
from memem.transfer import import_
from memem.upkeep import status
from memem.vault import frontmatter, obsidian
from memem.vault.obsidian import VaultNames
from memem.workspace import Workspace

Choice = TypeVar("Choice")
WORDS = """tokens are signed with RS256 not "HS256" because: the gateway can't share a #secret 007 on off yes null ~
    2026-03-01 2026-03-01T09:00 {curly} <b>tags</b> 100% %%aside%% `[[code]]` café 日本語 ßtraße emoji🙂 a|b \\ / * - ?
    1.10 ! C++ key: value's [single] (round) @ada &amp; --- 0x1F 1e5 true""".split()


class Dice:
    """Numbers that are as good as thrown, and the same in every run."""

    def __init__(self, seed: str) -> None:
        self._seed, self._count = seed, 0

    def throw(self, sides: int) -> int:
        self._count += 1
        return int.from_bytes(hashlib.sha256(f"{self._seed} {self._count}".encode()).digest()[:6]) % sides

    def one(self, choices: Sequence[Choice]) -> Choice:
        return choices[self.throw(len(choices))]

    def some(self, choices: Sequence[str], most: int) -> tuple[str, ...]:
        return tuple(self.one(choices) for _ in range(self.throw(most + 1)))

    def words(self, most: int) -> str:
        return " ".join((self.one(WORDS), *self.some(WORDS, most)))


def generated(number: int, before: Sequence[str]) -> Memory:
    """A memory of odd words, linked to some that were written before it."""
    dice = Dice(str(number))
    moment = f"2026-{1 + number % 12:02}-{1 + number % 28:02}T09:00:00+01:00"
    layer = dice.one((1, 2, 2, 2, 3))
    return Memory(
        f"{dice.throw(16**8):08x}-0000-4000-8000-{number:012}",
        dice.words(8) if dice.throw(3) else "",
        f"{number}: {dice.words(30)}\n\n{dice.words(12)}",
        project=dice.one(("shop", "Blog & Co", "con", "straße", "日本語", "general", "a.b+c")),
        kind=dice.one(KINDS),
        tags=dice.some(WORDS, 4),
        layer=layer,
        importance=1 + dice.throw(5),
        keys=dice.some(WORDS, 3),
        paths=dice.some(("src/**", "a b.py", "[x].ts"), 2),
        anchors=dice.some(("src/a.py", "src/a.py#name"), 2),
        related=dice.some(before, 2) if before else (),
        contradicts=(before[-1],) if before and not dice.throw(20) else (),
        superseded_by=dice.one(before) if before and not dice.throw(10) else "",
        created=moment,
        updated=moment,
        status=dice.one((*STATUSES[:3], "active", "active", "active")),
        stale_because="src/a.py: it is gone" if not dice.throw(5) else "",
        valid_from=moment if dice.throw(2) else "",
        source_type=dice.one(("mined", "user", "import")),
        source_session=dice.one(("", "0b7e", "1e5", "2026-03-01")),
        confidence=dice.one((1.0, 0.9, 0.0, 0.35)),
        author=dice.one(("model", "human")),
        evidence=dice.words(20) if dice.throw(2) else "",
    )


def violations(ws: Workspace) -> list[str]:
    """List what is wrong in the files of memem that a person sees."""
    names = VaultNames(read.list_files(ws.settings.vault))
    found = []
    for path in sorted(ws.store.paths.ours.rglob("*.md")):
        if ".forgotten" not in path.parts:
            text = path.read_text(encoding="utf-8")
            found += [f"{path.name}: {each.problem}" for each in obsidian.find_violations(text, names)]
    return found


def find_type_clashes(notes: Sequence[Path]) -> list[str]:
    types = {path.name: obsidian.property_types(frontmatter.parse(path.read_text(encoding="utf-8"))) for path in notes}
    return [f"{path}: {each.problem}" for path, each in obsidian.find_type_clashes(types)]


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("count", [60, 1_000])
def test_notes_of_every_sort_and_all_pages_keep_to_the_conventions(ws: Workspace, count: int) -> None:
    before: list[str] = []
    for number in range(count):
        written = write.keep(ws, generated(number, before))
        before.append(f"[[{Path(written.path).stem}]]")
    review.propose(ws, generated(count, before), "it was [[forgotten]] once #really")
    conflicts.write_page(ws)
    pages = refresh.write_pages(ws)
    assert len({name.partition("/")[0] for name in pages.written}) == 3, "Home, projects and playbooks"
    notes = sorted(ws.store.paths.memories.glob("*.md"))
    assert len(notes) == count
    assert violations(ws) == []
    assert find_type_clashes(notes) == []


def test_what_is_saved_imported_and_mined_by_date_keeps_to_them(ws: Workspace, tmp_path: Path) -> None:
    save.save(ws, "Deploys are frozen until 2099-12-01.", project="shop", tags=("a b", "1984", "#x"))
    (tmp_path / "old.md").write_text(
        "---\ncreated: 2026-01-01\nvalid_to: 2026-06-01\ntags: a, b\n---\nThe walrus sleeps.\n"
    )
    import_.import_notes(ws, [tmp_path / "old.md"])
    notes = sorted(ws.store.paths.memories.glob("*.md"))
    assert len(notes) == 2
    assert find_type_clashes(notes) == []
    assert violations(ws) == []
    assert status.check(ws) == []


def test_check_says_mildly_where_notes_disagree_on_the_type_of_a_property(ws: Workspace) -> None:
    for number, written in enumerate(("rating: 5", "rating: 4\nvalid_to: 2099-01-01", "rating: good")):
        path = ws.store.paths.memories / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\nid: abcdabc{number}\n{written}\n---\nStatement {number}.\n")
    save.save(ws, "Deploys are frozen until 2099-12-01.", project="shop")
    search_refresh.refresh(ws)
    (found,) = status.check(ws)
    assert (found.path, found.problem) == (
        "memories/2.md",
        "has `rating` with the type text, but its type is number in memories/0.md",
    )
    assert not found.serious


def test_check_says_mildly_where_a_page_is_not_in_order(ws: Workspace) -> None:
    saved = save.save(ws, "Tokens are signed with RS256.", project="shop", kind="decision")
    refresh.write_pages(ws)
    page = ws.store.paths.projects / "shop.md"
    page.write_text(f"See [[nowhere]].\n\n{page.read_text()}")
    page.with_name("A copy.md").write_bytes(page.read_bytes())
    ws.store.absolute(saved.path).write_text(
        ws.store.absolute(saved.path).read_text().replace("kind: decision", "tag: x")
    )
    found = {(each.path, each.problem.split(",")[0]): each for each in status.check(ws)}
    assert set(found) == {
        ("projects/shop.md", "links to [[nowhere]]"),
        (saved.path, "has `tag`"),
    }
    assert not any(each.serious for each in found.values())
