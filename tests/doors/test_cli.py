"""The command line, called as a person calls it. Exit codes: 0 done, 1 failed with one line, 2 wrong usage."""

import argparse
import contextlib
import errno
import io
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memem.doors import cli
from memem.doors.cli import TABLE, VERBS, output
from tests.command_line import Outcome, Run

READING = ("search", "get", "list", "slice", "status", "check", "config")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "user" / "obsidian-brain"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def call(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = cli.main(list(arguments))
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture
def saved(run: Run) -> str:
    """The id of one saved memory."""
    done = run("save", "Tokens are signed with RS256.", "--title", "Signing", "-p", "shop", "--json")
    assert done.code == 0
    return str(done.data["id"])


def failed(outcome: Outcome, saying: str) -> None:
    """Failed with exactly one clear line on standard error, and nothing on standard output."""
    assert outcome.code == 1
    assert outcome.out == ""
    (line,) = outcome.err.splitlines()
    assert line.startswith("memem: ")
    assert saying in line


def test_save_and_search(run: Run, saved: str) -> None:
    done = run("search", "how are tokens signed?")
    assert done.code == 0
    assert done.out.split("\t")[0] == saved[:8]
    (hit,) = run("search", "RS256", "--json").data
    assert {"id", "title", "project", "score", "body"} <= set(hit)
    assert (hit["id"], hit["title"], hit["project"]) == (saved, "Signing", "shop")


def test_save_reads_standard_input(run: Run) -> None:
    done = run("save", "-", "--json", stdin="Café über alles.\n".encode())
    assert done.data["body"] == "Café über alles."
    failed(run("save", "-", stdin=b"\xff\xfe"), "not UTF-8")
    failed(run("save", "-", stdin=b""), "nothing to save")


def test_save_takes_the_project_of_the_folder(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "My Shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert run("save", "A fact.", "--json").data["project"] == "my-shop"


def test_save_reports_redactions_and_known_memories(run: Run) -> None:
    token = "ghp_" + "a1B2c3D4" * 5
    done = run("save", f"Deploy with {token}\u200b today.")
    assert "Removed before saving: github token" in done.err
    assert "invisible" in done.err
    assert token not in done.out + done.err
    assert run("save", f"Deploy with {token} today.").out.startswith("already known ")


def test_nothing_found_is_not_a_failure(run: Run, saved: str) -> None:
    assert run("search", "walrus") == Outcome(0, "", "No matches.\n")
    assert run("search", "walrus", "--json").data == []
    assert run("list", "-p", "nowhere").err == "No memories to list.\n"


def test_get_one_or_several(run: Run, saved: str) -> None:
    shown = run("get", saved[:8]).out
    assert shown.startswith("Signing\n")
    assert "Tokens are signed with RS256." in shown
    assert run("get", saved, "--json").data[0]["id"] == saved
    assert [each["id"] for each in run("get", saved, saved, "--json").data] == [saved, saved]
    assert run("get", saved, saved).out.count("Signing") == 2


def test_get_shows_the_evidence(run: Run, saved: str, vault: Path) -> None:
    (vault / "memem/memories/e.md").write_text("---\nid: eeeeeeee\n---\nA\n\n> [!quote]- Evidence\n> said so\n")
    assert "> said so" in run("get", "eeeeeeee").out


def test_list(run: Run, saved: str) -> None:
    assert run("list").out.startswith(saved[:8])
    assert [entry["id"] for entry in run("list", "--kind", "fact", "--json").data] == [saved]
    assert run("list", "--kind", "lesson", "--json").data == []


def test_slice_prints_text_or_the_reason_for_none(run: Run, saved: str, tmp_path: Path) -> None:
    done = run(
        "slice", "are tokens signed with RS256?", "--scope", "shop", "--session-id", "s1", "--cwd", str(tmp_path)
    )
    assert done.out.startswith("# Active Memory Slice\n")
    silent = run("slice", "hi there", "--scope", "shop")
    assert (silent.code, silent.out) == (0, "")
    assert silent.err.startswith("(nothing shown: ")
    data = run("slice", "RS256 tokens", "--scope", "shop", "--task-mode", "review", "--session-id", "s1", "--json").data
    assert (data["task_mode"], data["session_id"], data["hits"][0]["id"]) == ("review", "s1", saved)
    assert "## Working" in run("slice", "hi", "--always").out


def test_edit_changes_properties(run: Run, saved: str) -> None:
    done = run("edit", saved[:8], "--title", "New", "--tags", "a, b", "--layer", "1", "--text", "Now ES256.", "--json")
    assert (done.data["title"], done.data["layer"], done.data["body"]) == ("New", 1, "Now ES256.")
    assert done.data["tags"] == ["memem", "shop", "a", "b"]
    assert run("edit", saved, "--title", "New").out.startswith("unchanged ")


def test_edit_opens_the_editor(run: Run, saved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed(run("edit", saved), "set EDITOR")
    editor = tmp_path / "my editor"
    editor.write_text('#!/bin/sh\nsed -i.bak \'s/RS256/ES512/\' "$1" && rm "$1.bak"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", f"'{editor}'")
    assert run("edit", saved).out.startswith("edited ")
    assert run("search", "ES512", "--json").data[0]["id"] == saved
    monkeypatch.setenv("EDITOR", "false")
    failed(run("edit", saved), "editor 'false' failed")


def test_forget(run: Run, saved: str) -> None:
    assert run("forget", saved[:8], "--why", "wrong").out.startswith("forgotten ")
    assert run("search", "RS256", "--json").data == []


def test_status_check_and_reindex(run: Run, saved: str, vault: Path) -> None:
    assert "memories\t1 (shop 1)" in run("status").out
    assert run("status", "--json").data["memories"] == 1
    assert run("check") == Outcome(0, "All notes are fine.\n", "")
    (vault / "memem/memories/bad.md").write_text("---\nx: y: z\n---\n")
    bad = run("check")
    assert bad.code == 1
    assert bad.out.startswith("memories/bad.md\t")
    assert run("check", "--json").data[0]["path"] == "memories/bad.md"
    assert "Read 2 of 2 files" in run("reindex").out
    assert run("reindex", "--json").data["files"] == 2


def test_status_without_a_vault(run: Run) -> None:
    done = run("status")
    assert done.code == 0
    assert "There is no vault at" in done.err


def test_status_shows_the_set_up(run: Run, saved: str, tmp_path: Path) -> None:
    (tmp_path / "user/.memem/.capabilities").write_text('python = "3.11.7"\ninstaller = "uv"\n')
    assert "installed\tPython 3.11.7, uv" in run("status").out


def test_config(run: Run, tmp_path: Path) -> None:
    assert "MEMEM_OBSIDIAN_VAULT" in run("config").out
    assert run("config", "slice_characters").out == "8000\n"
    assert run("config", "slice_characters", "6000").code == 0
    assert run("config", "slice_characters").out == "6000\n"
    assert run("config", "--json").data[0]["key"] == "vault"
    failed(run("config", "nonsense"), "no setting 'nonsense'")
    failed(run("config", "fsync", "maybe"), "use 1 or 0")


def test_a_verb_of_another_door_is_handed_to_it() -> None:
    def serve(options: argparse.Namespace) -> int:
        return 7 if not vars(options) else 0

    assert cli.main(["serve"], outside={"serve": serve}) == 7


def test_demo_shows_a_search_a_slice_and_silence(run: Run, tmp_path: Path) -> None:
    done = run("demo", "--folder", str(tmp_path / "demo"))
    assert done.code == 0
    assert done.out.count("\nsaved ") == 12
    assert "# Active Memory Slice" in done.out
    assert "(nothing: the prompt does not ask for anything)" in done.out
    assert str(tmp_path / "demo" / "vault") in done.out
    assert not (tmp_path / "user" / ".memem").exists()
    failed(run("demo", "--folder", str(tmp_path / "demo")), "choose a new folder")


@pytest.mark.parametrize("arguments", [["nonsense"], ["save"], ["search", "x", "--limit", "many"], ["get"]])
def test_wrong_usage_exits_2(run: Run, arguments: list[str]) -> None:
    assert run(*arguments).code == 2


def test_version_and_help(run: Run) -> None:
    assert run("--version").out.startswith("memem ")
    shown = run("--help")
    assert shown.code == 0
    assert all(verb in shown.out for group, verbs in TABLE["groups"].items() if group != "hidden" for verb in verbs)


@pytest.mark.parametrize("verb", READING)
def test_every_reading_verb_prints_json(run: Run, saved: str, verb: str) -> None:
    needs = {"search": ["RS256"], "get": [saved], "slice": ["RS256"]}.get(verb, [])
    assert isinstance(run(verb, *needs, "--json").data, list | dict)


# --- wrong input: one clear line, exit 1, nothing lost -----------------------------------------------------------


def test_empty_and_huge_texts(run: Run) -> None:
    failed(run("save", "  "), "nothing to save")
    failed(run("save", "-", stdin=b"x" * 2_000_000), "at most 100,000")


def test_unknown_and_ambiguous_ids(run: Run, saved: str, vault: Path) -> None:
    for number in (1, 2):
        (vault / f"memem/memories/{number}.md").write_text(f"---\nid: abcdef0{number}\n---\ntext")
    for verb in ("get", "forget", "edit"):
        more = ["--title", "x"] if verb == "edit" else []
        failed(run(verb, "ffffffff", *more), "No memory has the id 'ffffffff'")
        failed(run(verb, "abcdef", *more), "abcdef01 in memories/1.md, abcdef02 in memories/2.md")


@pytest.mark.parametrize(
    "arguments", [["search", "x"], ["list"], ["slice", "x"], ["get", "ffffffff"], ["check"], ["reindex"]]
)
def test_a_missing_vault(run: Run, arguments: list[str], tmp_path: Path) -> None:
    failed(run(*arguments), "There is no vault at")


def test_a_vault_that_cannot_be_written(run: Run, saved: str, monkeypatch: pytest.MonkeyPatch, vault: Path) -> None:
    before = {path: path.read_bytes() for path in vault.rglob("*.md")}
    for number, words in (
        (errno.EROFS, "read-only"),
        (errno.ENOSPC, "disk is full"),
        (errno.EACCES, "permission denied"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr("memem.core.files.os.open", _refusing(vault, number))
            failed(run("save", "Another fact."), words)
            failed(run("edit", saved, "--title", "New"), words)
    assert {path: path.read_bytes() for path in vault.rglob("*.md")} == before
    assert run("get", saved, "--json").data[0]["title"] == "Signing"


def _refusing(folder: Path, number: int) -> Callable[..., int]:
    real = os.open

    def refuse(path: Any, *arguments: Any, **options: Any) -> int:
        if str(path).startswith(str(folder)):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, *arguments, **options)

    return refuse


def test_a_home_that_cannot_be_used(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MEMEM_DIR", str(tmp_path / "file" / "home"))
    failed(run("save", "A fact."), "Set MEMEM_DIR to use another folder")


def test_a_damaged_index_is_set_aside_and_rebuilt(run: Run, saved: str, tmp_path: Path) -> None:
    for path in (tmp_path / "user/.memem/cache/index").glob("*/*"):
        path.write_bytes(b"rubbish" * 1000)
    assert run("get", saved).code == 0
    (aside,) = (tmp_path / "user/.memem/cache/index").glob("*/index.db.damaged")
    assert aside.read_bytes().startswith(b"rubbish")


def test_damage_found_during_a_command_is_repaired_by_the_same_command(run: Run, saved: str, tmp_path: Path) -> None:
    (path,) = (tmp_path / "user/.memem/cache/index").glob("*/index.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE memories SET memory = 'rubbish'")
    assert run("get", saved).code == 0


def test_standard_input_survives_a_damaged_index(run: Run, saved: str, tmp_path: Path) -> None:
    (path,) = (tmp_path / "user/.memem/cache/index").glob("*/index.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE memories SET memory = 'rubbish'")
    assert run("save", "-", "-p", "shop", stdin=b"A fact from a pipe about tokens signed with RS256.").code == 0
    assert "A fact from a pipe" in run("search", "pipe").out


def test_bad_settings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMEM_FSYNC", "perhaps")
    failed(run("status"), "fsync is 'perhaps' in MEMEM_FSYNC: use 1 or 0")


def test_an_unexpected_error_is_one_line_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr("memem.upkeep.status.status", explode)
    failed(run("status"), "unexpected ZeroDivisionError: boom")
    monkeypatch.setenv("MEMEM_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("status")


# --- as real processes --------------------------------------------------------------------------------------------


def memem(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "memem", *arguments], capture_output=True, text=True, check=False, **options
    )


def test_python_m_memem_and_a_reader_that_closes_early() -> None:
    for number in range(3):
        assert memem("save", f"Fact number {number}.").returncode == 0
    command = f"{sys.executable} -m memem list --json | head -c 1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[", "")


def test_many_processes_saving_at_once_lose_nothing(tmp_path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-m", "memem", "save", f"Parallel fact {n}."], stdout=subprocess.DEVNULL)
        for n in range(6)
    ]
    assert [process.wait(60) for process in running] == [0] * 6
    assert len(json.loads(memem("search", "parallel fact", "--json").stdout)) == 6
    assert len((tmp_path / "user/.memem/state/events.jsonl").read_text().splitlines()) == 6


@pytest.mark.slow
def test_a_save_killed_at_any_moment_and_retried_saves_once(tmp_path: Path) -> None:
    assert memem("save", "Begin.").returncode == 0
    for attempt in range(8):
        text = f"Killed fact {attempt}."
        process = subprocess.Popen([sys.executable, "-m", "memem", "save", text], stdout=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1 + 0.02 * attempt)
        process.kill()
        process.wait()
        assert memem("save", text).returncode == 0
    found = json.loads(memem("search", "killed fact", "--limit", "50", "--json").stdout)
    assert sorted(hit["body"] for hit in found) == [f"Killed fact {attempt}." for attempt in range(8)]
    assert memem("check").returncode == 0


def test_streams_that_are_closed_or_narrow(tmp_path: Path) -> None:
    shell = f"{sys.executable} -m memem"
    for command, code in (
        (f"{shell} save - <&-", 1),
        (f"{shell} save 'Über alles' >&-", 0),
        (f"PYTHONIOENCODING=ascii {shell} list", 0),
        (f"PYTHONIOENCODING=ascii {shell} list --json", 0),
        (f"{shell} search $'bad\\xff'", 0),
        (f"{shell} list > /dev/full", 1),
        (f"mkdir gone && cd gone && rmdir ../gone && {shell} search x", 1),
    ):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode == code, (command, done.stderr)
        assert len(done.stderr.splitlines()) <= 1, done.stderr
        assert "unexpected" not in done.stderr


def test_interrupting_exits_130(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("memem.upkeep.status.status", interrupt)
    assert run("status").code == 130


# --- on a terminal ------------------------------------------------------------------------------------------------


def test_tables_are_drawn_on_a_terminal_and_markup_in_them_is_not_obeyed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    output.table(["what", "is"], [["[bold]x[/bold]", "y"]])
    shown = capsys.readouterr().out
    assert "what" in shown
    assert "[bold]x[/bold]" in shown


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(run: Run, verb: str) -> None:
    shown = run(verb, "--help")
    assert shown.code == 0
    assert shown.out.startswith(f"usage: memem {verb} ")
    assert "show this help message" in shown.out


def test_memem_alone_shows_the_verbs(run: Run) -> None:
    assert run().out == run("--help").out


# --- names of commands ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("old", "new"), TABLE["aliases"].items())
def test_earlier_spellings_lead_to_the_current_command(run: Run, old: str, new: str) -> None:
    assert run(*old.split(), "--help") == run(*new.split(), "--help")


@pytest.mark.parametrize("old", [("mining",), ("check",), ("model",), ("curate",)])
def test_earlier_spellings_print_the_same(run: Run, saved: str, old: tuple[str, ...]) -> None:
    new = TABLE["aliases"][" ".join(old)].split()
    assert run(*old, "--json") == run(*new, "--json")


@pytest.mark.parametrize(
    ("typed", "closest"),
    [
        ("serch", "search"),
        ("index rebuidl", "index rebuild"),
        ("mine onn", "mine on"),
        ("review acept", "review accept"),
    ],
)
def test_a_mistyped_command_suggests_the_closest(run: Run, typed: str, closest: str) -> None:
    assert run(*typed.split()) == Outcome(2, "", f"memem: unknown command {typed!r}; did you mean {closest!r}?\n")


def test_a_word_like_no_command_names_the_help(run: Run) -> None:
    assert run("xyzzy") == Outcome(2, "", "memem: unknown command 'xyzzy'; `memem --help` lists the commands.\n")


def test_a_narrow_terminal_drops_columns_and_keeps_ids_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    row = ["0123456789abcdef", "a project with a long name", "A title that is long enough to need several lines"]
    output.table(["id", "project", "title"], [row], optional=("project",))
    shown = capsys.readouterr().out
    assert row[0] in shown
    assert "project" not in shown


@pytest.mark.parametrize(
    ("number", "noun", "expected"), [(1, "note", "1 note"), (2, "memory", "2 memories"), (1000, "note", "1,000 notes")]
)
def test_counts_have_the_right_plural(number: int, noun: str, expected: str) -> None:
    assert output.count(number, noun) == expected


def test_changing_a_setting_prints_it_as_json(run: Run) -> None:
    (setting,) = run("config", "slice_characters", "6000", "--json").data
    assert (setting["key"], setting["value"]) == ("slice_characters", "6000")
