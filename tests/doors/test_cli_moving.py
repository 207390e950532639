"""export, and import of what is no markdown, on the command line: what is printed, and the exit codes."""

import json
import re
from pathlib import Path

import pytest

from memem.vault.tombstones import name_of
from tests.command_line import Run

SAID = [
    {"role": "user", "content": "Remember that we deploy on Tuesdays only."},
    {"role": "assistant", "content": "I will."},
    {"role": "user", "content": "Thanks!"},
]


@pytest.mark.parametrize("name", ["out.json", "out"])
def test_there_and_back(run: Run, tmp_path: Path, name: str) -> None:
    run("save", "Otters sleep on their backs.", "--title", "Sleep")
    run("save", "Gates open at dawn.", "--title", "Gates")
    run("forget", run("search", "gates", "--json").data[0]["id"])
    done = run("export", str(tmp_path / name))
    assert (done.code, done.out) == (0, f"Exported 1 note, 1 tombstone to {tmp_path / name}.\n")
    assert "it is not encrypted" in done.err
    known = run("import", str(tmp_path / name))
    assert known.out == "1 item: 0 imported, 1 already known, 0 left out.\n"
    assert re.match(rf"already known: {tmp_path / name} \(memories/sleep-\w+\.md\) as \w{{8}} Sleep\n", known.err)


def test_export_replaces_files_only_with_force(run: Run, tmp_path: Path) -> None:
    run("save", "Otters sleep on their backs.")
    target = str(tmp_path / "out.json")
    run("export", target)
    refused = run("export", target)
    assert (refused.code, "--force" in refused.err) == (1, True)
    assert run("export", target, "--force", "--json").data == {
        "path": target,
        "notes": 1,
        "proposals": 0,
        "pages": 0,
        "tombstones": 0,
        "left": [],
    }


def test_importing_only_tombstones_is_reported_and_undoable(run: Run, tmp_path: Path) -> None:
    salt = bytes(16)
    told = {"key": "k", "salt": name_of(salt), "time": "", "ids": ["i"], "statements": ["s"]}
    lines = [{"tombstone": json.dumps(line)} for line in ({"salt": salt.hex()}, {"tombstone": told})]
    (tmp_path / "x.json").write_text(json.dumps([{"format": "memem-export", "version": 1}, *lines]))
    foreseen = run("import", "--dry-run", str(tmp_path / "x.json"))
    assert foreseen.out == "1 tombstone would be imported: forgotten notes stay forgotten.\n"
    done = run("import", str(tmp_path / "x.json"))
    assert done.out == "1 tombstone imported: forgotten notes stay forgotten.\n"
    assert "memem undo" in done.err
    assert run("undo", "--dry-run").out.endswith("0 skipped, 1 tombstone reverted.\n")
    undone = run("undo")
    assert undone.out.endswith("was undone: 0 restored, 0 removed, 0 skipped, 1 tombstone reverted.\n")
    assert "reverts this" in undone.err


def test_an_unknown_format_lists_the_valid_ones(run: Run, tmp_path: Path) -> None:
    refused = run("import", "--from", "nope", str(tmp_path))
    assert (refused.code, "markdown" in refused.err) == (2, True)
    assert "''" not in refused.err


def test_export_without_a_vault_fails(run: Run, tmp_path: Path) -> None:
    done = run("export", str(tmp_path / "out.json"))
    assert (done.code, "no vault" in done.err) == (1, True)
    assert not (tmp_path / "out.json").exists()


def test_an_import_of_conversations_says_how_much_was_looked_at(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(SAID))
    looked, created, summary = run("import", str(tmp_path / "talk.json")).out.splitlines()
    assert looked == "Read 2 conversation turns."
    assert created.startswith("saved ")
    assert summary == "1 item: 1 imported, 0 already known, 0 left out."
    (tmp_path / "talk.json").write_text(json.dumps(SAID[1:]))
    nothing = run("import", str(tmp_path / "talk.json"))
    assert (nothing.code, nothing.err) == (0, "Nothing worth saving was found.\n")


def test_tombstones_alone_are_something_too(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("save", "Gates open at dawn.", "--title", "Gates")
    run("forget", run("search", "gates", "--json").data[0]["id"])
    run("export", str(tmp_path / "out.json"))
    monkeypatch.setenv("MEMEM_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("MEMEM_OBSIDIAN_VAULT", str(tmp_path / "other"))
    done = run("import", str(tmp_path / "out.json"))
    assert "1 tombstone imported: forgotten notes stay forgotten." in done.out
    assert run("save", "Gates open at dawn.").code == 1


def test_only_the_first_existing_notes_are_listed(run: Run, tmp_path: Path) -> None:
    for number in range(23):
        (tmp_path / f"{number}.md").write_text(f"word{number}a word{number}b word{number}c.\n")
    run("import", *(str(tmp_path / f"{number}.md") for number in range(23)))
    told = run("import", *(str(tmp_path / f"{number}.md") for number in range(23))).err.splitlines()
    assert len(told) == 21
    assert told[-1] == "and 3 more already known; --json lists them all."


def test_a_format_can_be_named_and_an_unknown_one_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text("- Use fish.\n- Use water.\n")
    assert "2 would be imported" in run("import", "--dry-run", "--from", "instructions", str(tmp_path / "rules.md")).out
    assert run("import", "--from", "nonsense", str(tmp_path / "rules.md")).code == 2
