"""`import memem`: the public surface, and the same objects as everywhere else."""

import subprocess
import sys
from pathlib import Path

import pytest

import memem
from memem.doors.api import MemoryHome
from memem.search.refresh import RESCAN_SECONDS
from tests.fakes import SteppingClock
from tests.transcripts import Transcript


def test_the_public_surface_is_this_list() -> None:
    assert memem.__all__ == ["Entry", "Hit", "Hits", "MememError", "Memory", "MemoryHome", "Mined", "Slice", "open"]
    assert all(getattr(memem, name) is not None for name in memem.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        memem.nonsense  # noqa: B018


def test_the_methods_are_this_list() -> None:
    methods = [name for kind in MemoryHome.__mro__[:-1] for name in vars(kind) if not name.startswith("_")]
    assert methods == [
        "save",
        "edit",
        "forget",
        "proposals",
        "accept",
        "reject",
        "search",
        "get",
        "list",
        "slice",
        "context",
        "mine",
        "why",
        "last_decision",
        "search_transcripts",
        "conflicts",
        "resolve",
        "timeline",
        "neighbors",
        "log",
        "undo",
        "import_notes",
        "export",
        "curate",
        "write_pages",
        "reindex",
        "encode",
        "doctor",
        "status",
        "check",
        "close",
    ]


def test_a_round_through_every_method(tmp_path: Path) -> None:
    with memem.open(home=tmp_path / "h", vault=str(tmp_path / "v")) as mem:
        saved = mem.save(
            "Tokens are signed with RS256.", title="Signing", project="shop-api", kind="decision", keys=["JWT"]
        )
        assert [hit.title for hit in mem.search("how do we sign tokens", project="shop-api", limit=5)] == ["Signing"]
        assert mem.get(saved.memory.id8).memory == saved.memory
        assert [entry.id for entry in mem.list(project="shop-api")] == [saved.memory.id]
        shown = mem.slice("are tokens signed with RS256?", project="shop-api", session_id="s1")
        assert (len(shown.hits), shown.session_id) == (1, "s1")
        assert mem.edit(saved.memory.id, keys=["JWT", "RS256"]).memory.keys == ("JWT", "RS256")
        assert mem.reindex().files == 1
        assert mem.status().memories == 1
        assert mem.check() == []
        assert mem.export(tmp_path / "x.json").notes == 1
        assert mem.import_notes(str(tmp_path / "x.json"), dry_run=True).count("exists") == 1
        assert mem.forget(saved.memory.id).outcome == "forgotten"
        assert mem.list() == []


@pytest.mark.parametrize(
    ("method", "arguments", "options"),
    [
        ("save", [None], {}),
        ("save", ["x"], {"title": 7}),
        ("save", ["x"], {"tags": "one, two"}),
        ("save", ["x"], {"keys": [1]}),
        ("edit", ["aaaaaaaa"], {"evidence": "x"}),
        ("edit", ["aaaaaaaa"], {"body": 7}),
        ("search", [None], {}),
        ("get", [7], {}),
        ("neighbors", [7], {}),
        ("forget", [7], {}),
        ("slice", [7], {}),
        ("search", ["x"], {"project": 7}),
        ("save", ["x"], {"importance": 3.0}),
        ("save", ["x"], {"importance": True}),
        ("save", ["x"], {"layer": 1.0}),
        ("save", ["x"], {"why": None}),
        ("export", ["/nowhere/at/all/x.json"], {}),
        ("export", ["x.json"], {"project": 7}),
        ("import_notes", ["x.json"], {"format": 7}),
    ],
)
def test_what_is_of_the_wrong_type_is_refused(
    mem: MemoryHome, method: str, arguments: list[object], options: dict[str, object]
) -> None:
    with pytest.raises(memem.MememError):
        getattr(mem, method)(*arguments, **options)
    assert [entry.title for entry in mem.list()] == ["House"]
    assert mem.check() == []


def test_an_edit_leaves_what_is_none_as_it_is(mem: MemoryHome) -> None:
    (house,) = mem.list()
    edited = mem.edit(house.id, title="Home", body=None)
    assert (edited.memory.title, edited.memory.body) == ("Home", house.body)


def test_the_home_comes_from_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMEM_DIR", str(tmp_path / "by-variable"))
    with memem.open() as mem:
        mem.save("A fact.")
        status = mem.status()
    assert status.home == tmp_path / "by-variable"
    assert status.vault == tmp_path / "user" / "obsidian-brain"


def test_a_long_lived_home_sees_outside_edits_after_seconds_and_does_not_scan_in_between(
    mem: MemoryHome, memories: Path, clock: SteppingClock
) -> None:
    assert mem.search("walrus") == []
    (memories / "own.md").write_text("a walrus")
    assert mem.search("walrus") == []
    clock.forward(seconds=RESCAN_SECONDS)
    assert [hit.title for hit in mem.search("walrus")] == ["own"]


READERS = """
import sys
import memem
from memem.search import find
from memem.workspace import open_workspace
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_reading_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", READERS], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"portalocker", "typer", "click", "rich", "numpy", "asyncio", "subprocess", "pydantic"}


def test_a_session_is_mined_and_its_memories_prove_themselves(mem: MemoryHome, session: Transcript) -> None:
    session.human("Remember that the ledger job runs at 02:30 UTC on the reporting database.")
    mined = mem.mine(session.path)
    (added,) = mined.applied
    assert (mined.outcome, added.outcome) == ("mined", "added")
    why = mem.why(added.id)
    assert "02:30" in why.turns[why.place].text
