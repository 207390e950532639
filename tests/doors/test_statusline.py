"""The status line: what it shows, what it loads, and that nothing makes it fail."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from memem import __main__ as entry
from memem.core.memory import Memory
from memem.doors.hook import client, statusline
from memem.inject import statusline as writer
from memem.mine import drain
from memem.mine.ask import Mined
from memem.notes import forget, save, write
from memem.search.transcripts import consent
from memem.state import history_progress
from memem.state.history_progress import DONE, RUNNING, HistoryProgress
from memem.upkeep import link, purge, session_start
from memem.workspace import Workspace
from tests.command_line import Run
from tests.doors.test_hook_client import BARE, LOADED

SCRIPT = Path(statusline.__file__)
NOTHING = "memem: no memories yet · mining off (/memem-mine)"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the status line needs a POSIX system")


@pytest.fixture
def folder(ws: Workspace) -> Path:
    """The folder of a project, where a session begins."""
    folder = ws.user_home / "shop-api"
    folder.mkdir()
    ws.environ = {"HOME": str(ws.user_home), "PATH": "", "CLAUDE_PROJECT_DIR": str(folder)}
    return folder


def shown(ws: Workspace, folder: Path | str) -> str:
    return statusline.status_line(str(ws.home.root), str(folder))


def started(home: Path | str, folder: str, *options: str) -> subprocess.CompletedProcess[str]:
    """As the launcher starts it."""
    command = [sys.executable, *options, "-I", "-S", str(SCRIPT)]
    environ = {"MEMEM_DIR": str(home), "CLAUDE_PROJECT_DIR": folder, "HOME": "/nonexistent"}
    given = '{"session_id": "s1"}'
    return subprocess.run(command, input=given, env=environ, capture_output=True, text=True, timeout=60, check=False)


# --- what it shows ------------------------------------------------------------------------------------------------


def test_memories_mining_cost_and_the_last_learned(ws: Workspace, folder: Path) -> None:
    save.save(ws, "The API listens on 8443.", title="API port", project="shop-api")
    save.save(ws, "Staging listens on 5433.", title="Staging database port", project="shop-api")
    consent.opt_in(ws)
    writer.note_session(ws, folder)
    spend(ws, 0.0312)
    assert shown(ws, folder) == (
        "memem shop-api: 2 memories · mining on · $0.03 today · learned: Staging database port"
    )


def spend(ws: Workspace, dollars: float, day: str | None = None) -> None:
    """Record a mining cost for the machine's current day, which the status line reads."""
    today = day or datetime.now().astimezone().date().isoformat()
    ws.home.statusline_today.write_text(f"{today}\t{dollars}\n")


def test_nothing_is_there_yet(tmp_path: Path) -> None:
    assert statusline.status_line(str(tmp_path / "none"), "/srv") == NOTHING


def test_a_project_without_memories_says_so(ws: Workspace, folder: Path) -> None:
    save.save(ws, "The house is yellow.", project="general")
    writer.note_session(ws, folder)
    assert shown(ws, folder) == "memem shop-api: no memories yet · mining off (/memem-mine)"


def test_an_unknown_folder_shows_no_count(ws: Workspace, folder: Path) -> None:
    save.save(ws, "The house is yellow.", project="general")
    writer.note_session(ws, folder)
    assert shown(ws, "/srv/other") == "memem · mining off (/memem-mine)"


def test_one_memory_is_one_memory(ws: Workspace, folder: Path) -> None:
    save.save(ws, "The API listens on 8443.", title="API port", project="shop-api")
    writer.note_session(ws, folder)
    assert shown(ws, folder) == "memem shop-api: 1 memory · mining off (/memem-mine) · learned: API port"


@pytest.mark.parametrize(
    ("dollars", "expected"),
    [(0.0, "$0.00 today"), (0.001, "under $0.01 today"), (1.5, "$1.50 today"), (float("nan"), "$0.00 today")],
)
def test_the_cost_of_today(ws: Workspace, folder: Path, dollars: float, expected: str) -> None:
    consent.opt_in(ws)
    writer.note_session(ws, folder)
    spend(ws, dollars)
    assert shown(ws, folder).split(" · ")[2] == expected


def test_the_cost_of_another_day_is_not_todays(ws: Workspace, folder: Path) -> None:
    consent.opt_in(ws)
    writer.note_session(ws, folder)
    spend(ws, 1.5, "2001-01-01")
    assert "$0.00 today" in shown(ws, folder)


def test_a_running_history_is_shown_while_its_process_lives(ws: Workspace, folder: Path) -> None:
    writer.note_session(ws, folder)
    write_progress(ws, progress())
    assert " · history 12 of 26" in shown(ws, folder)
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    write_progress(ws, replace(progress(), pid=ended.pid))
    assert "history" not in shown(ws, folder)


def test_a_finished_history_is_hidden_while_its_process_lives(ws: Workspace, folder: Path) -> None:
    writer.note_session(ws, folder)
    write_progress(ws, replace(progress(), state=DONE))
    assert "history" not in shown(ws, folder)


def progress() -> HistoryProgress:
    """A run of this process that has mined 12 of 26 sessions."""
    began = "2026-01-01T00:00:00+00:00"
    return HistoryProgress(RUNNING, 12, 26, calls=3, dollars=0.04, memories=5, began=began).of_this_process()


def write_progress(ws: Workspace, progress: HistoryProgress) -> None:
    history_progress.write(ws.home.history_file, progress)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        '{"state": "running", "sessions_done": "x", "sessions": 3, "pid": 1}',
        '{"state": "running", "sessions_done": 1}',
        "\0\xff",
    ],
)
def test_a_history_that_cannot_be_read_is_not_shown(ws: Workspace, folder: Path, text: str) -> None:
    writer.note_session(ws, folder)
    (ws.home.root / "run" / "history.json").write_text(text)
    assert "history" not in shown(ws, folder)


def test_a_title_cannot_steer_the_terminal_or_fill_it(ws: Workspace, folder: Path) -> None:
    title = "\x1b[31mRed\u202e\u200b alert 東京のデータベースはポート五四三三で待ち受けていますよ本当に"
    write.keep(ws, memory(title))
    writer.note_session(ws, folder)
    line = shown(ws, folder)
    assert line.isprintable()
    assert line.endswith("…")
    learned = line.partition("learned: ")[2]
    assert sum(2 if ord(each) > 0x3000 else 1 for each in learned) <= writer.MAX_TITLE_WIDTH


def memory(title: str) -> Memory:
    day = "2026-01-01T00:00:00+00:00"
    return Memory("3f2c9a1e-0000-4000-8000-000000000000", title, "It is so.", "shop-api", created=day, updated=day)


def test_files_that_somebody_changed_cannot_steer_the_terminal(ws: Workspace, folder: Path) -> None:
    writer.note_session(ws, folder)
    ws.home.statusline_projects.write_bytes(b"memem 1\nshop-api\t3\tA \x1b]0;title\x07 \xff\xfe" + b"x" * 500 + b"\n")
    line = shown(ws, folder)
    assert line.isprintable()
    assert len(line) < 200


# --- who writes what it shows -------------------------------------------------------------------------------------


def test_a_session_start_brings_it_up_to_date(ws: Workspace, folder: Path) -> None:
    save.save(ws, "The API listens on 8443.", title="API port", project="shop-api")
    session_start.after_session_start(ws, folder)
    assert "1 memory" in shown(ws, folder)


def test_mining_brings_it_up_to_date(ws: Workspace, folder: Path) -> None:
    writer.note_session(ws, folder)
    save.save(ws, "The API listens on 8443.", title="API port", project="shop-api")
    drain.log_result(ws, Mined("s1", "/s1.jsonl"))
    assert "learned: API port" in shown(ws, folder)


def test_the_cost_comes_from_the_ledger(ws: Workspace, folder: Path) -> None:
    consent.opt_in(ws)
    writer.note_session(ws, folder)
    assert ws.home.statusline_today.read_text() == f"{ws.today()}\t0.0000\n"


def test_a_forgotten_memory_is_not_shown(ws: Workspace, folder: Path) -> None:
    kept = save.save(ws, "The API listens on 8443.", title="API port", project="shop-api")
    writer.note_session(ws, folder)
    forget.forget(ws, kept.memory.id)
    assert writer.is_outdated(ws)
    writer.update(ws)
    assert "no memories yet" in shown(ws, folder)


def test_a_purge_takes_the_title_out_at_once(ws: Workspace, folder: Path) -> None:
    kept = save.save(ws, "The API listens on 8443.", title="API port", project="shop-api")
    writer.note_session(ws, folder)
    assert "API port" in ws.home.statusline_projects.read_text()
    purge.purge(ws, kept.memory.id)
    assert "API port" not in ws.home.statusline_projects.read_text()


def test_only_the_last_folders_are_recorded(ws: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MAX_FOLDERS", 3)
    ws.environ = {}
    monkeypatch.chdir(folder)
    for name in "abcd":
        writer.note_session(ws, ws.user_home / name)
    kept = [line.partition("\t")[0] for line in ws.home.statusline_folders.read_text().splitlines()]
    assert kept == [str(ws.user_home / "d"), str(folder), str(ws.user_home / "c")]


def test_a_folder_whose_name_breaks_the_format_is_left_out(ws: Workspace, folder: Path) -> None:
    writer.note_session(ws, ws.user_home / "a\tb\nc")
    assert len(ws.home.statusline_folders.read_text().splitlines()) == 1


def test_an_unwritable_home_stops_nothing(ws: Workspace, folder: Path) -> None:
    ws.home.root.mkdir()
    (ws.home.root / "run").write_text("a file")
    writer.note_session(ws, folder)
    assert shown(ws, folder) == NOTHING


# --- the process --------------------------------------------------------------------------------------------------


def test_it_loads_nothing_but_what_python_has_loaded(ws: Workspace, folder: Path) -> None:
    writer.note_session(ws, folder)
    source = SCRIPT.read_text(encoding="utf-8").rpartition("if __name__")[0]
    probe = f"{source}\nmain()\nimport sys\nos.write(2, ' '.join(sys.modules).encode())"
    command = [sys.executable, "-I", "-S", "-c", probe]
    ran = subprocess.run(command, input=b"{}", capture_output=True, timeout=60, check=True)
    assert {*ran.stderr.decode().split()} <= {*LOADED, *BARE} - {"_socket"}


@pytest.mark.parametrize("damage", ["file", "folder", "bytes", "unreadable"])
def test_a_damaged_home_is_one_honest_line(ws: Workspace, folder: Path, damage: str) -> None:
    writer.note_session(ws, folder)
    if damage == "file":
        shutil.rmtree(ws.home.root)
        ws.home.root.write_text("no folder")
    elif damage == "folder":
        ws.home.statusline_projects.unlink(missing_ok=True)
        ws.home.statusline_projects.mkdir()
    elif damage == "bytes":
        for path in (ws.home.statusline_folders, ws.home.statusline_projects, ws.home.statusline_today):
            path.write_bytes(bytes(range(256)))
    elif os.getuid() == 0:
        pytest.skip("root may read everything")
    else:
        ws.home.root.chmod(0)
    try:
        ran = started(ws.home.root, str(folder))
    finally:
        if damage == "unreadable":
            ws.home.root.chmod(0o700)
    assert (ran.returncode, ran.stderr, ran.stdout.count("\n")) == (0, "", 1)
    assert ran.stdout.startswith("memem")
    assert ("cannot read" in ran.stdout) == (damage in ("file", "unreadable"))


def test_a_home_that_is_a_file_is_named(tmp_path: Path) -> None:
    home = tmp_path / "a\x1bhome"
    home.write_text("a file")
    line = statusline.status_line(str(home), "/srv")
    assert line.startswith("memem: cannot read /")
    assert line.endswith("; /memem-doctor")
    assert line.isprintable()


def test_an_invalid_cost_is_ignored(ws: Workspace, folder: Path) -> None:
    consent.opt_in(ws)
    writer.note_session(ws, folder)
    ws.home.statusline_today.write_text(f"{datetime.now().astimezone().date()}\tmuch\n")
    assert "$0.00 today" in shown(ws, folder)


def test_a_process_of_another_user_counts_as_alive(
    ws: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError

    writer.note_session(ws, folder)
    write_progress(ws, replace(progress(), pid=1))
    monkeypatch.setattr(os, "kill", refuse)
    assert "history 12 of 26" in shown(ws, folder)


def test_a_missing_folder_has_no_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert statusline.session_folder() == str(gone)
    gone.rmdir()
    assert statusline.session_folder() == ""


def test_standard_streams_may_be_closed(ws: Workspace, folder: Path) -> None:
    command = f'exec "{sys.executable}" -I -S "{SCRIPT}" <&- >&-'
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_an_unexpected_error_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: str) -> str:
        raise RuntimeError

    monkeypatch.setattr(statusline, "status_line", fail)
    statusline.main()
    assert capfd.readouterr().out == "memem: no status (RuntimeError); /memem-doctor\n"


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "/home/u"},
        {"HOME": "/home/u", "MEMEM_DIR": "~/x/../m"},
        {"HOME": "/home/u", "MEMEM_DIR": "/srv/m"},
        {"USERPROFILE": "/u", "MEMEM_DIR": "m"},
    ],
)
def test_the_home_is_that_of_the_hooks(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE", "MEMEM_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert statusline.home() == client.home()
    assert statusline.HEADER == writer.HEADER


# --- the verb -----------------------------------------------------------------------------------------------------


def test_the_verb_prints_the_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["memem", "statusline"])
    with pytest.raises(SystemExit) as leaving:
        entry.main()
    assert (leaving.value.code, capfd.readouterr().out) == (0, f"{NOTHING}\n")


def test_the_setting_names_a_command_that_a_shell_understands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ws: Workspace
) -> None:
    monkeypatch.setattr(type(ws), "prefix", ws.user_home / "it's a folder" / "venv")
    monkeypatch.setattr(sys, "argv", ["memem", "statusline", "--show-setting"])
    with pytest.raises(SystemExit):
        entry.main()
    told = json.loads(capsys.readouterr().out)["statusLine"]
    assert (told["type"], told["refreshInterval"]) == ("command", 10)
    split = subprocess.run(["sh", "-c", f"printf '%s|' {told['command']}"], capture_output=True, text=True, check=True)
    assert split.stdout == f"{ws.user_home}/it's a folder/venv/bin/memem|statusline|"


def test_the_setting_prefers_the_link(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    ws.link.parent.mkdir(parents=True)
    ws.link.symlink_to(ws.prefix / "bin" / "memem")
    assert link.is_ours(ws)
    assert link.setting(ws)["statusLine"]["command"] == f"{ws.link} statusline"


# --- memem link ---------------------------------------------------------------------------------------------------


@pytest.fixture
def command(ws: Workspace) -> Path:
    """The command of this installation."""
    path = ws.prefix / "bin" / "memem"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_link_creates_checks_and_removes(
    run: Run, ws: Workspace, command: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(ws.link.parent))
    before = run("link", "--check")
    assert (before.code, before.out.count("\n")) == (1, 1)
    assert "is not on your PATH" in before.out
    made = run("link")
    assert (made.code, made.out) == (0, f"{ws.link} is linked to {command}. `memem` works in every terminal.\n")
    assert run("link", "--check").code == 0
    assert json.loads(run("link", "--check", "--json").out) == {
        "path": str(ws.link),
        "target": str(command),
        "state": "linked",
        "works": True,
        "found": "",
        "advice": "",
    }
    assert run("link", "--remove").out == f"Removed {ws.link}.\n"
    assert not ws.link.is_symlink()


def test_link_says_what_to_add_to_the_path(
    run: Run, ws: Workspace, command: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setenv("SHELL", "/bin/bash")
    assert 'Add to ~/.bashrc: export PATH="$HOME/.local/bin:$PATH"' in run("link").out
    checked = run("link", "--check")
    assert (checked.code, checked.out.count("\n")) == (1, 1)
    assert "is not on your PATH" in checked.out


def test_link_leaves_what_is_there_and_says_so(run: Run, ws: Workspace, command: Path) -> None:
    ws.link.parent.mkdir(parents=True)
    ws.link.write_text("mine")
    refused = run("link")
    assert refused.code == 1
    assert "was left alone. Move it out of the way" in refused.err
