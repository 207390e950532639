"""Markdown files become memories: what they say is kept, nothing comes twice, and one bad file stops no other."""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from memem.core.errors import InputError, MememError, NotFound
from memem.core.memory import Memory
from memem.core.trust import SAVED
from memem.notes import conflicts, forget, history, save, undo, write
from memem.search import find, refresh
from memem.transfer import import_
from memem.transfer.import_ import Imported
from memem.transfer.items import ImportedFile
from memem.workspace import Workspace, open_workspace
from tests.builders import get_only_file, list_by_title
from tests.fakes import FaultyOs, SteppingClock

OTTER = "Otters sleep on their backs."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    made.mkdir()
    return made


def bring(ws: Workspace, *paths: Path, project: str = "", dry_run: bool = False) -> Imported:
    return import_.import_notes(ws, paths, project=project, dry_run=dry_run)


def memory(ws: Workspace, file: ImportedFile) -> Memory:
    return find.get(ws, file.id).memory


# --- what a file becomes ------------------------------------------------------------------------------------------


def test_a_plain_file_is_a_memory_named_by_its_heading(ws: Workspace, folder: Path) -> None:
    (folder / "a.md").write_text(f"# How otters sleep\n\n{OTTER}\n")
    made = memory(ws, get_only_file(bring(ws, folder / "a.md")))
    assert (made.title, made.body, made.project, made.kind) == ("How otters sleep", OTTER, "general", "fact")
    assert (made.author, made.source_type) == ("model", "import")
    assert made.created == made.updated == "2026-03-01T09:00:00+01:00"


def test_a_plain_file_without_a_heading_is_named_by_its_name(ws: Workspace, folder: Path) -> None:
    (folder / "otter-sleep.md").write_text(OTTER)
    assert get_only_file(bring(ws, folder)).title == "otter sleep"


def test_a_heading_alone_is_a_statement_too(ws: Workspace, folder: Path) -> None:
    (folder / "a.md").write_text(f"# {OTTER}\n")
    assert OTTER in memory(ws, get_only_file(bring(ws, folder))).body


def test_properties_of_our_notes_are_imported_except_the_author(ws: Workspace, folder: Path) -> None:
    stated = {
        "id": "0d9c7a56-1111-2222-3333-444455556666",
        "title": "Sleep",
        "project": "zoo",
        "kind": "decision",
        "tags": "[animals]",
        "layer": "1",
        "importance": "5",
        "keys": "[otter]",
        "paths": '["pools/**"]',
        "created": "2025-04-01T10:00:00+02:00",
        "status": "deprecated",
        "valid_from": "2025-04-01T00:00:00+02:00",
        "valid_to": "2025-06-01T00:00:00+02:00",
        "author": "human",
        "source_type": "user",
    }
    head = "\n".join(f"{key}: {value}" for key, value in stated.items())
    (folder / "a.md").write_text(f"---\n{head}\n---\n\n{OTTER}\n\n> [!quote]- Evidence\n> they do sleep so\n")
    made = memory(ws, get_only_file(bring(ws, folder)))
    assert (made.title, made.project, made.kind, made.layer, made.importance) == ("Sleep", "zoo", "decision", 1, 5)
    assert (made.keys, made.paths, made.status) == (("otter",), ("pools/**",), "deprecated")
    assert set(made.tags) == {"memem", "zoo", "animals"}
    assert (made.created, made.valid_from, made.valid_to) == tuple(
        stated[name] for name in ("created", "valid_from", "valid_to")
    )
    assert made.evidence == "they do sleep so"
    assert (made.author, made.source_type) == ("model", "import")
    assert made.id != stated["id"]


def test_words_that_are_not_ours_do_no_harm(ws: Workspace, folder: Path) -> None:
    (folder / "a.md").write_text(
        f"---\nkind: musing\nstatus: draft\ncreated: yesterday\nvalid_to: soon\n---\n{OTTER}\n"
    )
    made = memory(ws, get_only_file(bring(ws, folder)))
    assert (made.kind, made.status) == ("fact", "active")
    assert (made.created, made.valid_to) == ("2026-03-01T09:00:00+01:00", "")


def test_overlong_heading_does_not_become_the_title(ws: Workspace, folder: Path) -> None:
    (folder / "a.md").write_text(f"# {'otters ' * 60}\n\n{OTTER}\n")
    made = memory(ws, get_only_file(bring(ws, folder)))
    assert made.title.startswith("otters otters")
    assert "otters otters" in made.body
    assert OTTER in made.body


def test_a_project_that_is_given_is_that_of_all_files(ws: Workspace, folder: Path) -> None:
    (folder / "a.md").write_text(f"---\nproject: zoo\n---\n{OTTER}\n")
    (folder / "b.md").write_text("Gates open at dawn.")
    result = bring(ws, folder, project="Water Park")
    assert {memory(ws, each).project for each in result.files} == {"water-park"}


def test_secrets_are_taken_out(ws: Workspace, folder: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    (folder / "a.md").write_text(f"The deployment uses {token} for its checkout.")
    made = memory(ws, get_only_file(bring(ws, folder)))
    assert token not in made.body


# --- which files --------------------------------------------------------------------------------------------------


def test_folders_are_read_recursively_without_hidden_files_and_links(
    ws: Workspace, folder: Path, tmp_path: Path
) -> None:
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "deep" / "deeper" / "a.MD").write_text(OTTER)
    for name in (".obsidian", ".trash"):
        (folder / name).mkdir()
        (folder / name / "b.md").write_text("Hidden words.")
    (folder / ".hidden.md").write_text("Hidden words.")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "outside.md").write_text("Words from outside.")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "c.md").write_text("Words from elsewhere.")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(folder / "pipe.md")
    assert get_only_file(bring(ws, folder)).file == str(folder / "deep" / "deeper" / "a.MD")


def test_the_notes_of_the_vault_itself_are_not_imported(ws: Workspace) -> None:
    save.save(ws, OTTER)
    (ws.settings.vault / "mine.md").write_text("A page of the person's own.")
    assert get_only_file(bring(ws, ws.settings.vault)).title == "mine"
    with pytest.raises(InputError, match="already remembered"):
        bring(ws, ws.store.paths.memories)


def test_only_memories_of_another_vault_are_imported(ws: Workspace, tmp_path: Path, clock: SteppingClock) -> None:
    other = open_workspace(actor="test", home=tmp_path / "there", vault=tmp_path / "theirs", clock=clock)
    save.save(other, OTTER, title="Sleep")
    forgotten = save.save(other, "Gates open at dawn.", title="Gates")
    forget.forget(other, forgotten.memory.id)
    ours = other.store.paths.ours
    (ours / "Conflicts.md").write_text("# Conflicts\n")
    (ours / "review").mkdir(exist_ok=True)
    (ours / "review" / "doubt.md").write_text("Doubtful words.")
    other.close()
    assert get_only_file(bring(ws, tmp_path / "theirs")).title == "Sleep"


def test_unusable_path_is_refused_before_anything_is_written(ws: Workspace, folder: Path) -> None:
    (folder / "a.md").write_text(OTTER)
    (folder / "b.txt").write_text(OTTER)
    with pytest.raises(NotFound, match="no file or folder"):
        bring(ws, folder / "a.md", folder / "gone.md")
    with pytest.raises(InputError, match="cannot be imported"):
        bring(ws, folder / "a.md", folder / "b.txt")
    assert not ws.settings.vault.exists()


def test_an_empty_folder_brings_nothing(ws: Workspace, folder: Path) -> None:
    assert bring(ws, folder) == Imported((), "")


# --- what cannot be kept ------------------------------------------------------------------------------------------


def test_bad_file_is_reported_and_others_are_imported(ws: Workspace, folder: Path) -> None:
    files = {
        "a-binary.md": b"\xff\xfe\x00words",
        "b-broken.md": b"---\nlayer: [\n---\nWords.",
        "c-empty.md": b" \n",
        "d-huge.md": b"words " * 200_000,
        "e-long.md": b"words " * 20_000,
        "f-secret.md": b"ghp_" + b"a1B2" * 9,
        "g-fine.md": OTTER.encode(),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    result = bring(ws, folder)
    told = {Path(each.file).name[2:-3]: (each.outcome, each.reason) for each in result.files}
    assert {name: outcome for name, (outcome, _) in told.items()} == {
        "binary": "unreadable",
        "broken": "unreadable",
        "empty": "refused",
        "huge": "refused",
        "long": "refused",
        "secret": "refused",
        "fine": "created",
    }
    assert "UTF-8" in told["binary"][1]
    assert "larger than 1000 KB" in told["huge"][1]
    assert "only a secret" in told["secret"][1]
    assert result.count("refused", "unreadable") == 6


@pytest.mark.parametrize("text", ["---\n---\n---\n", "***\n\n---\n", "#\n\n- \n", "---\ntitle: Otters\n---\n___\n"])
def test_a_file_of_lines_and_marks_says_nothing(ws: Workspace, folder: Path, text: str) -> None:
    (folder / "otters.md").write_text(text)
    for dry_run in (True, False):
        (told,) = import_.import_notes(ws, [folder], dry_run=dry_run).files
        assert (told.outcome, "has no text" in told.reason) == ("refused", True)


def test_heading_above_a_rule_is_the_statement(ws: Workspace, folder: Path) -> None:
    (folder / "otters.md").write_text("# Otters sleep on their backs\n\n---\n")
    (told,) = bring(ws, folder).files
    assert "Otters sleep" in find.get(ws, told.id).body


def test_unreadable_files_and_folders_are_reported(
    ws: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "closed").mkdir()
    for name in ("a.md", "b.md"):
        (folder / name).write_text(f"{OTTER} {name}")
    plain_open, plain_scandir = Path.open, os.scandir

    def refusing(path: Path, *arguments: str, **options: str) -> object:
        if path.name == "a.md":
            raise PermissionError(13, "Permission denied", str(path))
        return plain_open(path, *arguments, **options)  # type: ignore[call-overload]

    def scandir(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return plain_scandir(path)

    monkeypatch.setattr(Path, "open", refusing)
    monkeypatch.setattr(os, "scandir", scandir)
    result = bring(ws, folder)
    assert sorted((Path(each.file).name, each.outcome) for each in result.files) == [
        ("a.md", "unreadable"),
        ("b.md", "created"),
        ("closed", "unreadable"),
    ]


def test_a_name_that_is_not_text_does_no_harm(ws: Workspace, folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md")).write_text(OTTER)
    made = get_only_file(bring(ws, folder))
    assert made.outcome == "created"
    made.file.encode()


def test_import_does_not_restore_forgotten_memories(ws: Workspace, folder: Path) -> None:
    (folder / "a.md").write_text(OTTER)
    (folder / "b.md").write_text("Gates open at dawn.")
    forget.forget(ws, save.save(ws, OTTER).memory.id)
    for dry_run in (True, False):
        result = bring(ws, folder, dry_run=dry_run)
        assert [each.outcome for each in result.files] == ["refused", "created"]
        assert "forgotten" in result.files[0].reason


# --- nothing twice ------------------------------------------------------------------------------------------------


def test_importing_twice_adds_nothing(ws: Workspace, folder: Path) -> None:
    (folder / "a.md").write_text(OTTER)
    (folder / "b.md").write_text("Gates open at dawn.")
    first = bring(ws, folder)
    write.edit(ws, first.files[0].id, body="Otters sleep afloat.")
    before = list_by_title(ws)
    again = bring(ws, folder)
    assert [each.outcome for each in again.files] == ["exists", "exists"]
    assert (again.batch, list_by_title(ws)) == ("", before)


def test_a_file_given_twice_is_read_once(ws: Workspace, folder: Path) -> None:
    (folder / "a.md").write_text(OTTER)
    assert len(bring(ws, folder / "a.md", folder / "a.md", folder).files) == 1


def test_existing_statement_is_not_saved_again(ws: Workspace, folder: Path) -> None:
    saved = save.save(ws, OTTER)
    (folder / "a.md").write_text(OTTER)
    for dry_run in (True, False):
        made = get_only_file(bring(ws, folder, dry_run=dry_run))
        assert (made.outcome, made.id) == ("exists", saved.memory.id)


def test_an_import_rewrites_no_note_that_is_there(ws: Workspace, folder: Path) -> None:
    saved = save.save(ws, "The gate opens at 7 in the morning.", trust=SAVED)
    before = ws.store.absolute(saved.path).read_bytes()
    (folder / "a.md").write_text("The gate opens at 8 in the morning.")
    assert get_only_file(bring(ws, folder)).outcome == "created"
    assert ws.store.absolute(saved.path).read_bytes() == before


# --- links --------------------------------------------------------------------------------------------------------


def linked(ws: Workspace, name: str) -> Memory:
    return list_by_title(ws)[name]


def test_links_between_imported_files_lead_to_the_new_notes(ws: Workspace, folder: Path) -> None:
    (folder / "old.md").write_text('---\ntitle: Old\nsuperseded_by: "[[new]]"\n---\nGates open at dawn.\n')
    (folder / "new.md").write_text(
        '---\ntitle: New\nsupersedes: "[[deep/old.md|the old one]]"\nrelated: ["[[gone]]", "[[old]]", "[[new]]"]\n---\n'
        f"{OTTER}\n"
    )
    bring(ws, folder)
    old, new = linked(ws, "Old"), linked(ws, "New")
    assert old.superseded_by == f"[[new-{new.id8}]]"
    assert new.supersedes == f"[[old-{old.id8}]]"
    assert new.related == (f"[[old-{old.id8}]]",)
    assert bring(ws, folder).batch == ""


@pytest.mark.parametrize(("old", "new"), [("a", "b"), ("b", "a")])
def test_superseded_note_of_an_import_contradicts_nothing(ws: Workspace, folder: Path, old: str, new: str) -> None:
    (folder / f"{old}.md").write_text(
        f'---\ntitle: Old\nsuperseded_by: "[[{new}]]"\n---\nThe gate opens at 7 in the morning.\n'
    )
    (folder / f"{new}.md").write_text("---\ntitle: New\n---\nThe gate opens at 8 in the morning.\n")
    bring(ws, folder)
    assert linked(ws, "Old").superseded_by
    assert (linked(ws, "Old").contradicts, linked(ws, "New").contradicts) == ((), ())
    assert conflicts.count(ws) == 0
    assert bring(ws, folder).batch == ""


def test_a_link_that_may_mean_two_files_is_dropped(ws: Workspace, folder: Path) -> None:
    for name, text in (("one", "Gates open at dawn."), ("two", "Pools hold salt water.")):
        (folder / name).mkdir()
        (folder / name / "same.md").write_text(text)
    (folder / "a.md").write_text(f'---\ntitle: A\nrelated: ["[[same]]"]\n---\n{OTTER}\n')
    bring(ws, folder)
    assert linked(ws, "A").related == ()


def test_link_to_a_note_of_the_vault_is_imported(ws: Workspace, folder: Path) -> None:
    stem = Path(save.save(ws, "Gates open at dawn.").path).stem
    (folder / "a.md").write_text(f'---\ntitle: A\nrelated: ["[[{stem}]]"]\n---\n{OTTER}\n')
    bring(ws, folder)
    assert linked(ws, "A").related == (f"[[{stem}]]",)


def test_a_link_that_only_looks_like_a_note_is_dropped(ws: Workspace, folder: Path) -> None:
    stem = Path(save.save(ws, "Gates open at dawn.", title="Gates open").path).stem
    (folder / "a.md").write_text(f'---\ntitle: A\nrelated: ["[[{stem.replace("-", "_")}]]", "[[%]]"]\n---\n{OTTER}\n')
    bring(ws, folder)
    assert linked(ws, "A").related == ()


def test_link_to_an_existing_statement_leads_to_its_note(ws: Workspace, folder: Path) -> None:
    known = save.save(ws, "Gates open at dawn.", title="Gates")
    (folder / "a.md").write_text(f'---\ntitle: A\nrelated: ["[[b]]"]\n---\n{OTTER}\n')
    (folder / "b.md").write_text("Gates open at dawn.\n")
    bring(ws, folder)
    assert linked(ws, "A").related == (f"[[{Path(known.path).stem}]]",)


def test_link_to_a_refused_file_is_dropped(ws: Workspace, folder: Path) -> None:
    (folder / "a.md").write_text(f'---\ntitle: A\nrelated: ["[[b]]", "[[c]]"]\n---\n{OTTER}\n')
    (folder / "b.md").write_text("---\ntitle: B\n---\n\n")
    (folder / "c.md").write_text("---\ntitle: C\n---\nPools hold salt water.\n")
    bring(ws, folder)
    assert linked(ws, "A").related == (f"[[c-{linked(ws, 'C').id8}]]",)


def test_links_may_be_plain_ids_as_the_memem_of_old_wrote_them(ws: Workspace, folder: Path) -> None:
    one, two = "1f0c7a56-1111-2222-3333-444455556666", "2f0c7a56-1111-2222-3333-444455556666"
    (folder / f"a-{one[:8]}.md").write_text(f"---\nid: {one}\ntitle: A\nrelated: [{two[:8]}]\n---\n\n{OTTER}")
    (folder / f"b-{two[:8]}.md").write_text(
        f"---\nid: {two}\nschema_version: 1\ntitle: B\nproject: zoo\ntags: [mined]\nrelated: [{one}]\n"
        "created: 2025-11-02\nupdated: 2025-11-02\nsource_type: mined\nsource_session: s-1\nimportance: 4\n"
        "status: active\nvalid_to: \nlayer: 2\n---\n\nGates open at dawn."
    )
    bring(ws, folder)
    a, b = linked(ws, "A"), linked(ws, "B")
    assert (a.related, b.related) == ((f"[[b-{b.id8}]]",), (f"[[a-{a.id8}]]",))
    assert (b.project, b.created, b.source_session, b.importance) == ("zoo", "2025-11-02T00:00:00+01:00", "s-1", 4)


def test_links_that_an_interrupted_import_left_wrong_are_put_right_by_the_next(
    ws: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = save.save(ws, "Gates open at dawn.", title="Gates")
    (folder / "a.md").write_text(f'---\ntitle: A\nrelated: ["[[b]]"]\n---\n{OTTER}\n')
    (folder / "b.md").write_text("---\ntitle: B\n---\nGates open at dawn.\n")

    def killed(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(write, "revise", killed)
        with pytest.raises(KeyboardInterrupt):
            bring(ws, folder)
    assert bring(ws, folder).batch
    assert linked(ws, "A").related == (f"[[{Path(known.path).stem}]]",)


# --- one batch ----------------------------------------------------------------------------------------------------


def test_an_import_is_one_batch_and_can_be_undone_and_repeated(ws: Workspace, folder: Path) -> None:
    (folder / "a.md").write_text(f'---\ntitle: A\nrelated: ["[[b]]"]\n---\n{OTTER}\n')
    (folder / "b.md").write_text("Gates open at dawn.")
    result = bring(ws, folder)
    (done,) = history.log(ws)
    assert (done.id, done.what, done.created, done.changed) == (result.batch, "import", 2, 0)
    assert done.why == "imported from a.md"
    undo.undo(ws, result.batch)
    assert list_by_title(ws) == {}
    assert bring(ws, folder).count("created") == 2


def test_an_import_that_was_interrupted_goes_on(ws: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        (folder / f"{name}.md").write_text(f"{name}-one {name}-two {name}-three.")
    put, calls = write.put, []

    def killed(*arguments: object, **options: object) -> object:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return put(*arguments, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(write, "put", killed)
        with pytest.raises(KeyboardInterrupt):
            bring(ws, folder)
    assert [each.outcome for each in bring(ws, folder).files] == ["exists", "created", "created"]
    assert len(list_by_title(ws)) == 3


def test_a_failing_disk_loses_nothing_and_trying_again_keeps_each_file_once(
    ws: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.settings = replace(ws.settings, fsync=True)
    save.save(ws, "The zoo was founded by a baker.")
    for step in range(80):
        for name in ("a", "b"):
            (folder / f"{name}.md").write_text(f"{name}{step}-one {name}{step}-two {name}{step}-three.")
        faulty = FaultyOs(step)
        with monkeypatch.context() as patched:
            patched.setattr("memem.core.files.os", faulty)
            with suppress(MememError):
                bring(ws, folder)
        again = bring(ws, folder)
        assert again.count("created", "exists") == 2
        refresh.refresh(ws)
        assert len(find.list_memories(ws, limit=1_000)) == 1 + 2 * (step + 1)
        if len(faulty.calls) <= step:
            break
    assert 8 <= step < 79


def test_dry_run_predicts_outcomes_and_writes_nothing(ws: Workspace, folder: Path) -> None:
    (folder / "a.md").write_text(OTTER)
    told = bring(ws, folder, dry_run=True)
    assert (get_only_file(told).outcome, told.batch, told.dry_run) == ("created", "", True)
    assert not ws.settings.vault.exists()
    bring(ws, folder)
    assert get_only_file(bring(ws, folder, dry_run=True)).outcome == "exists"


def test_import_reports_progress_by_file(ws: Workspace, folder: Path) -> None:
    for name in "ab":
        (folder / f"{name}.md").write_text(f"{name}-one {name}-two {name}-three.")
    told: list[tuple[int, int]] = []
    import_.import_notes(ws, [folder], progress=lambda *step: told.append(step))
    assert told == [(0, 2), (1, 2), (2, 2)]
