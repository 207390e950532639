"""Files of other programs are recognised by content and become memories that name their origin."""

import json
import os
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.errors import InputError, NotFound
from memem.core.memory import ARCHIVE, CONVENTIONS
from memem.inject import provenance
from memem.notes import forget, save, undo
from memem.search import find
from memem.transfer import import_, sources
from memem.transfer.import_ import Imported
from memem.transfer.items import ImportedFile
from memem.transfer.readers import json_stream
from memem.workspace import Workspace
from tests.builders import list_by_title, open_home
from tests.foreign import CLAUDE_MEM

RULES = "# Zoo\n\n## Feeding\n- Use fish, never bread.\n- The pools hold salt water.\n\n@docs/gulls.md\n"


def bring(ws: Workspace, *paths: Path, **options: Any) -> Imported:
    return import_.import_notes(ws, paths, **options)


def outcomes(result: Imported) -> list[tuple[str, str]]:
    return [(each.outcome, each.title or each.reason) for each in result.files]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of a project with instructions for Claude in it."""
    folder = tmp_path / "src" / "zoo"
    folder.mkdir(parents=True)
    (folder / "CLAUDE.md").write_text(RULES)
    return folder


# --- instructions for Claude --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md"])
def test_instructions_become_statements_of_their_project(ws: Workspace, project: Path, name: str) -> None:
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text(RULES)
    before = (project / name).stat()
    result = bring(ws, project / name)
    assert [each.outcome for each in result.files] == ["created", "created", "refused"]
    assert "memem import docs/gulls.md" in result.files[2].reason
    fish, pools = (find.get(ws, each.id).memory for each in result.files[:2])
    assert (fish.body, fish.kind, fish.layer) == ("Feeding:\nUse fish, never bread.", "convention", CONVENTIONS)
    assert (pools.body, pools.kind, pools.project) == ("Feeding:\nThe pools hold salt water.", "fact", "zoo")
    assert (fish.source_type, fish.author, fish.source_turn) == ("import", "model", f"zoo/{Path(name).name}#feeding")
    assert (project / name).stat() == before


def test_the_same_rule_of_two_projects_is_two_memories(ws: Workspace, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "src" / "park"
    other.mkdir()
    (other / "CLAUDE.md").write_text(RULES)
    assert bring(ws, project / "CLAUDE.md", other / "CLAUDE.md").count("created") == 4
    assert {memory.project for memory in list_by_title(ws).values()} <= {"zoo", "park"}


def test_instructions_within_a_folder_are_the_same_as_alone(ws: Workspace, project: Path, tmp_path: Path) -> None:
    bring(ws, project / "CLAUDE.md")
    assert bring(ws, tmp_path / "src").count("exists") == 2


def test_the_instructions_of_the_person_are_of_no_project(ws: Workspace, tmp_path: Path) -> None:
    mine = tmp_path / "user" / ".claude"
    mine.mkdir()
    (mine / "CLAUDE.md").write_text(RULES)
    bring(ws, mine / "CLAUDE.md")
    assert {memory.project for memory in list_by_title(ws).values()} == {"general"}


@pytest.fixture
def remembered(tmp_path: Path, project: Path) -> Path:
    """Claude Code's own memory of a project, next to a session of it."""
    folder = tmp_path / "user" / ".claude" / "projects" / "-src-zoo" / "memory"
    folder.mkdir(parents=True)
    (folder.parent / "s1.jsonl").write_text(json.dumps({"type": "user", "cwd": str(project)}) + "\n")
    (folder / "MEMORY.md").write_text("- [Gulls](gulls.md) — loud\n- Pumps run at night\n- [Gone](gone.md) — away\n")
    (folder / "gulls.md").write_text(
        "---\nname: loud-gulls\ndescription: Gulls are loud at night\nmetadata:\n  type: feedback\n---\n"
        "Close the roof.\n"
    )
    (folder / "pages.md").write_text("## Pond\n- It is deep\n- It is cold\n")
    return folder


@pytest.mark.parametrize("name", ["MEMORY.md", "."])
def test_claude_memory_includes_the_files_of_its_index(ws: Workspace, remembered: Path, name: str) -> None:
    result = bring(ws, remembered / name)
    assert sorted(outcomes(result)) == [
        ("created", "Gone — away"),
        ("created", "Gulls are loud at night"),
        ("created", "Pond: It is cold"),
        ("created", "Pond: It is deep"),
        ("created", "Pumps run at night"),
    ]
    assert list_by_title(ws)["Pumps run at night"].source_turn == "zoo/MEMORY.md"
    gulls = list_by_title(ws)["Gulls are loud at night"]
    assert (gulls.body, gulls.kind, gulls.project, gulls.layer) == ("Close the roof.", "convention", "zoo", CONVENTIONS)


# --- conversations ------------------------------------------------------------------------------------------------


def conversation(*texts: str) -> dict[str, Any]:
    return {
        "uuid": "c1",
        "name": "Zoo",
        "chat_messages": [
            {"uuid": f"m{number}", "sender": "human", "text": text, "created_at": "2025-04-01T10:00:00Z"}
            for number, text in enumerate(texts)
        ],
    }


SAID = conversation("Hello there!", "Remember that we deploy on Tuesdays only.", "What time is it?")


def test_only_lessons_of_conversations_are_imported(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([SAID]))
    result = bring(ws, tmp_path / "x.json", project="zoo")
    assert (outcomes(result), result.turns) == ([("created", "We deploy on Tuesdays only")], 3)
    kept = find.get(ws, result.files[0].id).memory
    assert (kept.source_session, kept.source_turn, kept.created[:10]) == ("c1", "m1", "2025-04-01")
    assert (kept.project, kept.evidence) == ("zoo", "you, 2025-04-01: Remember that we deploy on Tuesdays only.")
    assert (kept.author, kept.source_type, kept.confidence) == ("model", "import", 0.9)
    assert provenance.find_provenance(ws, kept.id).note == "It was imported from m1 of session c1."


def test_an_archive_is_read_as_it_was_sent(ws: Workspace, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/conversations.json", json.dumps([SAID]))
        archive.writestr("users.json", "[]")
    assert outcomes(bring(ws, tmp_path / "data.zip")) == [("created", "We deploy on Tuesdays only")]


def test_an_archive_that_is_damaged_or_of_something_else_is_refused(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04" + b"x" * 100)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("letter.txt", "Dear otter,")
    for name, said in (("a.zip", "damaged archive"), ("b.zip", "without conversations")):
        with pytest.raises(InputError, match=said):
            bring(ws, tmp_path / name)


@pytest.mark.parametrize("names", [("conversations.json",), tuple(f"conversations-{n}.json" for n in range(10))])
def test_an_archive_that_would_unpack_to_too_much_is_refused_before_it_is_read(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sources, "MAX_UNPACKED_BYTES", 1_000_000)
    with zipfile.ZipFile(tmp_path / "data.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, "[" + " " * (2_000_000 // len(names)) + "]")
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(InputError, match="more than 50 times its size"):
        bring(ws, tmp_path / "data.zip")


def test_an_archive_of_ordinary_text_is_imported_whatever_its_size(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_UNPACKED_BYTES", 1_000)
    with zipfile.ZipFile(tmp_path / "data.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([SAID] * 5))
    assert bring(ws, tmp_path / "data.zip").files[0].outcome == "created"


def test_an_archive_with_a_torn_member_tells_so(ws: Workspace, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([SAID] * 50))
    data = bytearray((tmp_path / "data.zip").read_bytes())
    data[60:90] = b"\xff" * 30
    (tmp_path / "data.zip").write_bytes(data)
    assert bring(ws, tmp_path / "data.zip").files[-1].outcome == "refused"


def test_truncated_file_imports_its_beginning_and_is_reported(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([SAID])[:-1] + ', {"uuid": "c2", "chat_m')
    result = bring(ws, tmp_path / "x.json")
    assert [each.outcome for each in result.files] == ["created", "refused"]


def test_progress_goes_on_within_a_large_file(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "BLOCK_BYTES", 100)
    said = [conversation(f"Remember that we deploy service {number} on Tuesdays only.") for number in range(5)]
    (tmp_path / "x.json").write_text(json.dumps(said))
    steps: list[tuple[float, int]] = []
    bring(ws, tmp_path / "x.json", progress=lambda *step: steps.append(step))
    assert len(steps) > 4
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == ((0, 1), (1, 1))


# --- claude-mem ---------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "mem" / "claude-mem.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as made:
        made.executescript(CLAUDE_MEM)
    return path


def test_a_database_of_claude_mem_becomes_memories(ws: Workspace, database: Path) -> None:
    result = bring(ws, database)
    assert result.count("created") == 4
    assert result.count("refused") == 1
    kept = list_by_title(ws)
    pump = kept["Pump"]
    assert (pump.created, pump.source_session) == ("2025-03-01T10:00:00Z", "claude-1")
    assert pump.source_turn == "claude-mem observations/7"
    assert kept["A gate was added"].layer == ARCHIVE
    assert bring(ws, database.parent).count("exists") == 4


# --- the memem of old ---------------------------------------------------------------------------------------------


def test_generated_pages_of_old_releases_are_skipped(ws: Workspace, tmp_path: Path) -> None:
    ours = tmp_path / "old" / "cortex"
    for folder in ("memories", "playbooks"):
        (ours / folder).mkdir(parents=True)
    (ours / "_index.md").write_text("- a table of contents\n")
    (ours / "playbooks" / "zoo.md").write_text("A digest.\n")
    (ours / "memories" / "otters-1f0c7a56.md").write_text("---\nid: 1f0c7a56-1111\ntitle: Otters\n---\n\nThey float.")
    assert outcomes(bring(ws, tmp_path / "old")) == [("created", "Otters")]


# --- every import -------------------------------------------------------------------------------------------------


@pytest.fixture
def all_of_it(project: Path, remembered: Path, database: Path, tmp_path: Path) -> list[Path]:
    (tmp_path / "x.json").write_text(json.dumps([SAID]))
    return [project, remembered, database, tmp_path / "x.json"]


def test_everything_is_one_batch_which_can_be_undone_and_repeated(ws: Workspace, all_of_it: list[Path]) -> None:
    foreseen = bring(ws, *all_of_it, dry_run=True)
    assert not ws.settings.vault.exists()
    result = bring(ws, *all_of_it)
    assert outcomes(foreseen) == outcomes(result)
    assert bring(ws, *all_of_it).count("created") == 0
    undo.undo(ws, result.batch)
    assert list_by_title(ws) == {}
    assert bring(ws, *all_of_it).count("created") == result.count("created")


def test_secrets_of_every_source_are_removed_and_reported(ws: Workspace, project: Path, database: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    (project / "CLAUDE.md").write_text(f"- Use {token} for the gate of the zoo.\n")
    with closing(sqlite3.connect(database)) as made:
        made.execute("UPDATE observations SET narrative = ? WHERE id = 7", (f"The pump knows {token} by heart.",))
        made.commit()
    result = bring(ws, project, database)
    assert [bool(each.reason) for each in result.files if each.outcome == "created"][:2] == [True, True]
    assert not any(token in path.read_text() for path in ws.store.paths.ours.rglob("*.md"))


def test_no_source_restores_forgotten_memories(ws: Workspace, all_of_it: list[Path]) -> None:
    first = bring(ws, *all_of_it)
    for each in first.files:
        if each.outcome == "created":
            forget.forget(ws, each.id)
    assert bring(ws, *all_of_it).count("created") == 0
    assert list_by_title(ws) == {}


def test_two_that_say_the_same_are_foreseen_as_one(ws: Workspace, tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("# Sleep\n\nOtters sleep on their backs.\n")
    found = bring(ws, tmp_path / "a.md", tmp_path / "b.md", dry_run=True)
    assert [each.outcome for each in found.files] == ["created", "exists"]
    assert found.files[0].id == found.files[1].id


def test_a_format_can_be_given(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text(RULES)
    assert len(bring(ws, tmp_path / "rules.md", format="instructions", dry_run=True).files) == 3
    assert len(bring(ws, tmp_path / "rules.md", dry_run=True).files) == 1
    with pytest.raises(InputError, match="Unknown format"):
        bring(ws, tmp_path / "rules.md", format="nonsense")


def test_a_format_that_does_not_fit_is_an_error_of_ours(ws: Workspace, tmp_path: Path, database: Path) -> None:
    (tmp_path / "a.md").write_text("Otters float.\n")
    for format in sources.FORMATS:
        for path in (tmp_path / "a.md", database):
            for each in bring(ws, path, format=format, dry_run=True).files:
                assert isinstance(each, ImportedFile)


def test_a_fifo_a_link_and_a_loop_do_no_harm(ws: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    os.mkfifo(folder / "conversations.json")
    (folder / "claude-mem.db").symlink_to(tmp_path / "elsewhere.db")
    (folder / "loop").symlink_to(folder)
    assert bring(ws, folder).files == ()
    (folder / "circle").symlink_to(folder / "circle")
    for path in (folder / "circle", folder / "conversations.json", folder / "a\0b", folder / "claude-mem.db"):
        with pytest.raises(NotFound, match=r"no file or folder|Cannot open"):
            bring(ws, path)


@pytest.fixture(scope="module")
def any_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    opened = open_home(tmp_path_factory.mktemp("any"))
    save.save(opened, "Otters float.")
    yield opened
    opened.close()


@given(
    data=st.binary(max_size=200),
    start=st.sampled_from(
        [b"", b"[", b"{", b"---\n", b"PK\x03\x04", b"SQLite format 3\0", b'[{"format": "memem-export",']
    ),
    name=st.sampled_from(["a.md", "CLAUDE.md", "x.json", "conversations.json", "claude-mem.db", "x.zip", "x"]),
)
def test_any_bytes_under_any_name_are_imported_or_refused(
    any_home: Workspace, tmp_path: Path, data: bytes, start: bytes, name: str
) -> None:
    (tmp_path / name).write_bytes(start + data)
    try:
        for each in bring(any_home, tmp_path / name, dry_run=True).files:
            (each.file + each.title + each.reason + each.place).encode()
    except InputError as problem:
        assert "\n" not in str(problem)
