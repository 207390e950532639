"""log, undo and import on the command line: what is printed, and the exit codes."""

import re
from pathlib import Path

import pytest

from memem.doors.api.home import MemoryHome
from tests.command_line import Outcome, Run


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# Sleep\n\nOtters sleep on their backs.\n")
    (folder / "b.md").write_text("# Gates\n\nGates open at dawn.\n")
    return folder


def titles(run: Run) -> set[str]:
    return {each["title"] for each in run("list", "--json").data}


# --- log ----------------------------------------------------------------------------------------------------------


def test_the_log_is_a_line_for_each_command_the_last_first(run: Run) -> None:
    run("save", "Otters sleep on their backs.", "--title", "Sleep", "--why", "seen today")
    run("save", "Gates open at dawn.", "--title", "Gates")
    last, first = (line.split("\t") for line in run("log").out.splitlines())
    assert [last[2:], first[2:]] == [["save", "cli", "+1 ~0 -0", "Gates"], ["save", "cli", "+1 ~0 -0", "Sleep"]]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", last[0])
    assert re.fullmatch(r"[0-9a-f]{8}", last[1])


def test_the_log_says_what_is_undone_and_how_many_more_notes_there_are(run: Run, notes: Path) -> None:
    for name in ("c", "d"):
        (notes / f"{name}.md").write_text(f"{name}-one {name}-two {name}-three.")
    run("import", str(notes))
    assert run("log").out.splitlines()[0].endswith("; and 1 more")
    run("undo")
    undone, imported = run("log").out.splitlines()
    assert undone.split("\t")[2:5] == ["undo", "cli", "+0 ~0 -4"]
    assert imported.endswith(f"(undone by {undone.split(chr(9))[1]})")


def test_an_empty_log_says_so(run: Run) -> None:
    assert run("log") == Outcome(0, "", "There are no changes yet.\n")
    assert run("log", "--json").data == []


def test_log_json_respects_the_limit(run: Run) -> None:
    run("save", "Otters sleep on their backs.")
    run("save", "Gates open at dawn.")
    (batch,) = run("log", "-n", "1", "--json").data
    assert (batch["what"], batch["created"], batch["undoable"]) == ("save", 1, True)
    assert run("log", "-n", "0").code == 1


def test_a_batch_is_shown_event_by_event(run: Run) -> None:
    run("save", "Otters sleep on their backs.", "--why", "seen today")
    (batch,) = run("log", "--json").data
    (line,) = run("log", batch["id"]).out.splitlines()
    assert line.split("\t")[1] == "save"
    assert line.endswith("\tseen today")
    (same,) = run("log", batch["id"], "--json").data
    assert batch == same | {"events": []}
    (event,) = same["events"]
    assert (event["batch"], event["number"]) == (batch["id"], 1)
    unknown = run("log", "deadbeef")
    assert (unknown.code, unknown.out) == (1, "")


# --- undo ---------------------------------------------------------------------------------------------------------


def test_undo_reports_its_result_and_how_to_revert_it(run: Run) -> None:
    run("save", "Otters sleep on their backs.", "--title", "Sleep")
    done = run("undo")
    assert done.code == 0
    removed, summary = done.out.splitlines()
    assert removed.startswith("removed  memories/sleep-")
    assert re.fullmatch(r"Batch [0-9a-f]{8} \(save\) was undone: 0 restored, 1 removed, 0 skipped\.", summary)
    assert titles(run) == set()
    again = re.findall(r"memem undo ([0-9a-f]{8})", done.err)[0]
    assert run("undo", again).out.startswith("restored memories/sleep-")
    assert titles(run) == {"Sleep"}


def test_a_dry_run_changes_nothing(run: Run) -> None:
    run("save", "Otters sleep on their backs.", "--title", "Sleep")
    told = run("undo", "--dry-run")
    assert told.code == 0
    assert told.out.startswith("would remove  memories/sleep-")
    assert "would be undone" in told.out
    assert titles(run) == {"Sleep"}
    assert run("undo", "--dry-run", "--json").data["dry_run"]


def test_an_undo_that_can_do_nothing_fails_and_says_why(run: Run, tmp_path: Path) -> None:
    run("save", "Otters sleep on their backs.", "--title", "Sleep")
    (note,) = (tmp_path / "user" / "obsidian-brain" / "memem" / "memories").glob("*.md")
    note.write_text(note.read_text() + "\nMy own remark.\n")
    failed = run("undo")
    assert failed.code == 1
    assert failed.out.rstrip().endswith("it has been changed since")
    assert "could be undone" in failed.err
    refused = run("undo", "--json")
    assert refused.code == 1
    assert [each["reason"] for each in refused.data["left"]] == ["it has been changed since"]


def test_undo_as_json(run: Run) -> None:
    run("save", "Otters sleep on their backs.")
    done = run("undo", "--json")
    assert (done.code, len(done.data["removed"])) == (0, 1)
    nothing = run("undo")
    assert (nothing.code, nothing.out, nothing.err) == (1, "", "memem: There is nothing to undo.\n")


# --- import -------------------------------------------------------------------------------------------------------


def test_an_import_tells_of_each_file_and_how_to_take_it_back(run: Run, notes: Path) -> None:
    (notes / "c.md").write_bytes(b"\xff\xfe")
    done = run("import", str(notes))
    assert done.code == 0
    one, two, summary = done.out.splitlines()
    assert (one.split()[0], one.split()[2]) == ("saved", "Sleep")
    assert two.split()[2] == "Gates"
    assert summary == "3 files: 2 imported, 0 already known, 1 left out."
    complaint, hint = done.err.splitlines()
    assert complaint.startswith(f"unreadable {notes / 'c.md'}: it is not UTF-8 text")
    run("undo", re.findall(r"memem undo ([0-9a-f]{8})", hint)[0])
    assert titles(run) == set()


def test_an_import_again_finds_everything_known_and_says_where(run: Run, notes: Path) -> None:
    first = run("import", "--json", str(notes)).data["files"]
    again = run("import", str(notes))
    assert (again.code, again.out) == (0, "2 files: 0 imported, 2 already known, 0 left out.\n")
    assert again.err.splitlines() == [
        f"already known: {each['file']} as {each['id'][:8]} {each['title']}" for each in first
    ]


def test_a_dry_run_of_an_import(run: Run, notes: Path, tmp_path: Path) -> None:
    told = run("import", "--dry-run", str(notes)).out.splitlines()
    assert [line.split()[:2] for line in told[:-1]] == [["would", "save"], ["would", "save"]]
    assert "2 would be imported" in told[-1]
    assert not (tmp_path / "user" / "obsidian-brain").exists()


def test_an_import_as_json_with_a_project(run: Run, notes: Path) -> None:
    done = run("import", "--json", "-p", "zoo", str(notes / "a.md"))
    assert [(each["outcome"], each["title"]) for each in done.data["files"]] == [("created", "Sleep")]
    assert {each["project"] for each in run("list", "--json").data} == {"zoo"}


def test_an_import_without_any_valid_note_fails(run: Run, notes: Path) -> None:
    (notes / "c.md").write_bytes(b"\xff\xfe")
    assert run("import", str(notes / "c.md")).code == 1
    assert run("import", str(notes / "gone.md")).code == 1


def test_a_folder_without_markdown_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert run("import", str(tmp_path / "empty")) == Outcome(0, "", "There is nothing to import.\n")


# --- the Python API -----------------------------------------------------------------------------------------------


def test_the_api_logs_undoes_and_imports(mem: MemoryHome, notes: Path) -> None:
    imported = mem.import_notes(notes, project="zoo")
    assert imported.count("created") == 2
    assert [batch.what for batch in mem.log(5)] == ["import", "save"]
    assert len(mem.undo(dry_run=True).removed) == 2
    assert len(mem.undo(imported.batch).removed) == 2
    assert [entry.title for entry in mem.list()] == ["House"]
