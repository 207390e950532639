"""`import memem`: the public surface, and the same objects as everywhere else."""

import inspect
import re
import subprocess
import sys
import typing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import memem
from memem.core import memory
from memem.doors.api import home as api_home
from memem.doors.api import upkeep as api_upkeep
from memem.doors.api.home import MemoryHome
from memem.notes import conflicts
from memem.search.refresh import RESCAN_SECONDS
from memem.transfer import sources
from memem.workspace import Workspace
from tests.fakes import FakeEncoder, SteppingClock
from tests.transcripts import Transcript


def test_the_public_surface_is_this_list() -> None:
    assert memem.__all__ == ["Entry", "Hit", "Hits", "MememError", "Memory", "MemoryHome", "Mined", "Slice", "open"]
    assert all(getattr(memem, name) is not None for name in memem.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        memem.nonsense  # noqa: B018


SIGNATURES = """
accept(id: str, *, why: str = '')
check()
close()
conflicts(*, project: str | None = None)
context(query: str, *, project: str | None = None, cwd: str | Path | None = None, session_id: str = '')
curate(*ids: str, project: str | None = None, apply: bool = False)
doctor()
edit(id: str, *, body: str | None = None, title: str | None = None, project: str | None = None, kind: Kind |
    None = None, layer: Layer | None = None, importance: Importance | None = None, status: NoteStatus | None =
    None, tags: Iterable[str] | None = None, keys: Iterable[str] | None = None, paths: Iterable[str] | None =
    None, why: str = '')
encode(progress: Callable[[int, int], object] = ...)
export(path: str | Path, *, project: str | None = None, force: bool = False)
forget(id: str, *, why: str = '', purge: bool = False)
get(id: str)
import_notes(*paths: str | Path, project: str = '', format: ImportFormat = '', dry_run: bool = False)
last_decision(session_id: str = '')
list(*, project: str | None = None, kind: Kind | None = None, limit: int = 50)
log(limit: int = 20)
mine(transcript: str | Path)
neighbors(id: str, *, depth: int = 1, limit: int = 20)
proposals()
reindex()
reject(id: str, *, why: str = '')
resolve(id: str, way: Resolution, *, over: str | None = None)
save(text: str, *, title: str = '', project: str = 'general', kind: Kind = 'fact', tags: Iterable[str] = (),
    layer: Layer | None = None, importance: Importance = 3, keys: Iterable[str] = (), paths: Iterable[str] =
    (), why: str = '', anyway: bool = False)
search(query: str, *, project: str | None = None, current: str | None = None, limit: int = 10, as_of: str |
    None = None)
search_transcripts(query: str, *, project: str | None = None, limit: int = 10)
slice(prompt: str, *, project: str | None = None, cwd: str | Path | None = None, task_mode: str = '',
    session_id: str = '', always: bool = False)
status()
timeline(id: str)
undo(batch: str | None = None, *, dry_run: bool = False)
why(id: str)
write_pages()
"""


def _public_methods() -> dict[str, Callable[..., object]]:
    return {name: getattr(MemoryHome, name) for name in dir(MemoryHome) if not name.startswith("_")}


def test_the_signatures_of_all_methods_are_these() -> None:
    assert "\n".join(map(_describe, sorted(_public_methods()))) == SIGNATURES.strip().replace("\n    ", " ")


def _describe(name: str) -> str:
    """The parameters without `self`, with the names of our types."""
    parameters = list(inspect.signature(_public_methods()[name]).parameters.values())[1:]
    text = str(inspect.Signature(parameters))
    for alias in ("Kind", "Layer", "Importance", "NoteStatus", "Resolution"):
        text = text.replace(str(getattr(api_home, alias)).removeprefix("typing."), alias)
    text = text.replace(str(api_upkeep.ImportFormat).removeprefix("typing."), "ImportFormat")
    text = re.sub(r"Optional\[(\w+)\]", r"\1 | None", re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text))
    return name + re.sub(r"<function .*>", "...", text)


def test_no_method_takes_or_returns_any() -> None:
    for name, method in _public_methods().items():
        hints = typing.get_type_hints(method)
        assert "return" in hints, name
        assert set(hints) - {"return"} == set(inspect.signature(method).parameters) - {"self"}, name
        assert not any("typing.Any" in str(hint) or hint is Any for hint in hints.values()), name
        kinds = [each.kind for each in inspect.signature(method).parameters.values()]
        assert inspect.Parameter.VAR_KEYWORD not in kinds, name


def test_the_types_of_choices_name_every_choice() -> None:
    assert typing.get_args(api_home.Kind) == memory.KINDS
    assert typing.get_args(api_home.Layer) == memory.LAYERS
    assert typing.get_args(api_home.NoteStatus) == memory.STATUSES
    assert typing.get_args(api_home.Resolution) == conflicts.WAYS
    assert typing.get_args(api_upkeep.ImportFormat) == ("", *sources.FORMATS)


@pytest.fixture
def encoder(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> FakeEncoder:
    """An encoder to which invoices and bills are the same; it is loaded by the first search."""
    fake = FakeEncoder(means={"invoices": "bills"})
    monkeypatch.setattr(Workspace, "_load_encoder", lambda _: fake)
    ws.settings = replace(ws.settings, encoder="minilm")
    return fake


def test_a_note_is_found_by_meaning_right_after_it_was_saved(mem: MemoryHome, encoder: FakeEncoder) -> None:
    mem.save("Invoices leave every night.", title="First")
    assert encoder.encoded == [], "the encoder is not loaded for a save"
    assert [hit.title for hit in mem.search("when are bills sent")][:1] == ["First"]
    mem.save("Invoices stay in the archive.", title="Second")
    assert "Invoices stay in the archive." in "".join(encoder.encoded), "a loaded encoder is used at once"
    assert {hit.title for hit in mem.search("bills")} == {"First", "Second"}


def test_a_search_encodes_some_notes_and_leaves_many_to_the_background(
    mem: MemoryHome, encoder: FakeEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        mem.save(f"Room {number:04} has a sink.")
    mem.save("Invoices leave every night.", title="Invoices")
    monkeypatch.setattr(api_home, "ENCODE_AT_SEARCH", 41)
    hits = mem.search("bills")
    assert (list(hits), encoder.encoded) == ([], [])
    assert "0 of 42 passages have a vector" in hits.degraded
    monkeypatch.setattr(api_home, "ENCODE_AT_SEARCH", 42)
    assert [hit.title for hit in mem.search("bills")] == ["Invoices"]


def test_real_weights_find_a_paraphrase_right_after_the_save(
    tmp_path: Path, weights_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMEM_ENCODER", "minilm")
    monkeypatch.setenv("MEMEM_MODEL_DIR", str(weights_folder))
    with memem.open(home=tmp_path / "h", vault=tmp_path / "v") as mem:
        mem.save("Deploys need approval from the platform crew.", title="Approval")
        mem.save("The kitchen is painted yellow.", title="Kitchen")
        for query in ("who must sign off a release", "colour of the cooking room walls"):
            mem.search(query)
        assert mem.search("who must sign off a release")[0].title == "Approval"
        mem.save("Nightly invoices leave at half past two.", title="Invoices")
        assert mem.search("what time do bills go out")[0].title == "Invoices"


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
def test_arguments_of_the_wrong_type_are_refused(
    mem: MemoryHome, method: str, arguments: list[object], options: dict[str, object]
) -> None:
    with pytest.raises(memem.MememError):
        getattr(mem, method)(*arguments, **options)
    assert [entry.title for entry in mem.list()] == ["House"]
    assert mem.check() == []


def test_an_edit_leaves_properties_that_are_none_as_they_are(mem: MemoryHome) -> None:
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
