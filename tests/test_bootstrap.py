"""bootstrap.sh, run for real in a small project of its own, with a fake uv where an installer is needed."""

import hashlib
import os
import re
import signal
import stat
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.small_project import (
    IMPORTED,
    PROMPT,
    SCRIPT,
    START,
    Call,
    Project,
    finish,
    is_process,
    opened_fifo,
    project_in,
    wait_for_word,
    wait_until,
)

pytestmark = [pytest.mark.skipif(os.name == "nt", reason="bootstrap.sh needs a POSIX system"), pytest.mark.slow]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with project_in(tmp_path / "clone", tmp_path) as made:
        yield made


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.slow(keep=1)
def test_first_run_creates_the_environment_and_runs_the_command_in_it(project: Project) -> None:
    call = project.run("demo", "--fast")
    assert call.code == 0, call.stderr
    assert call.shown["argv"] == ["demo", "--fast"]
    assert call.shown["module"] == str(project.root / "memem" / "__main__.py")
    [install] = project.uv_calls
    assert install.endswith("--no-deps --require-hashes -r requirements.lock")


def test_set_up_log_is_readable_by_the_owner_alone(project: Project) -> None:
    project.run("demo")
    assert mode(project.memem_dir) == 0o700
    assert mode(project.memem_dir / "bootstrap.log") == 0o600
    assert mode(project.memem_dir / ".capabilities") == 0o600
    assert "ready; installed with uv" in project.log
    assert project.capabilities == {
        "python": ".".join(map(str, sys.version_info[:3])),
        "installer": "uv",
        "profile": "runtime",
        "venv": str(project.venv),
        "fts5": True,
    }


def test_second_run_does_nothing_and_prints_nothing(project: Project) -> None:
    project.run("demo")
    log = project.log
    call = project.run("demo")
    assert (call.code, call.stderr) == (0, "")
    assert project.log == log
    assert len(project.uv_calls) == 1


def test_command_runs_with_the_callers_umask(project: Project) -> None:
    project.run("shell", "python", "-c", "open('made', 'w')")
    (project.home / "usual").touch()
    assert mode(project.home / "made") == mode(project.home / "usual")


def test_changed_lock_is_installed_over_the_environment(project: Project) -> None:
    project.run("demo")
    kept = project.venv / "kept"
    kept.touch()
    (project.root / "requirements.lock").write_text("# something new\n", encoding="utf-8")
    assert project.run("demo").code == 0
    assert len(project.uv_calls) == 2
    assert kept.exists()


def test_developer_environment_serves_the_runtime_too(project: Project) -> None:
    assert project.run("dev", "python", "-c", "").code == 0
    assert project.capabilities["profile"] == "dev"
    assert project.run("demo").stderr == ""
    assert [call.rpartition(" ")[2] for call in project.uv_calls] == ["requirements-dev.lock"]


def test_runtime_environment_does_not_serve_developers(project: Project) -> None:
    project.run("demo")
    project.run("dev", "python", "-c", "")
    assert [call.rpartition(" ")[2] for call in project.uv_calls] == [
        "requirements.lock",
        "requirements-dev.lock",
    ]


def test_no_argument_starts_the_server_with_its_streams_untouched(project: Project) -> None:
    project.uv("echo noise; cat")
    call = project.run(stdin="first message")
    assert call.shown["argv"] == ["serve"]
    assert call.shown["stdin"] == "first message"


def test_shell_puts_the_environment_first_on_the_path(project: Project) -> None:
    call = project.run("shell", "memem", "status", "two words")
    assert call.shown["argv"] == ["status", "two words"]
    call = project.run("shell", "python", "-c", "import sys; print(sys.prefix)")
    assert call.stdout.strip() == str(project.venv)


@pytest.mark.slow(keep=1)
def test_exit_status_of_the_command_is_passed_on(project: Project) -> None:
    assert project.run("shell", "sh", "-c", "exit 7").code == 7


def test_modules_in_the_current_folder_are_not_imported(project: Project, tmp_path: Path) -> None:
    strange = tmp_path / "strange"
    (strange / "memem").mkdir(parents=True)
    (strange / "memem" / "__main__.py").write_text("raise SystemExit('wrong memem')", encoding="utf-8")
    (strange / "json.py").write_text("raise SystemExit('wrong json')", encoding="utf-8")
    assert project.run("demo", cwd=strange).code == 0
    assert project.run("shell", "memem", cwd=strange).code == 0


@pytest.mark.parametrize("arguments", [["nonsense"], [""], ["shell"], ["dev"], ["begin"]])
def test_wrong_usage_is_explained_and_sets_nothing_up(project: Project, arguments: list[str]) -> None:
    call = project.run(*arguments)
    assert (call.code, call.stdout) == (2, "")
    assert call.stderr.startswith("usage:")
    assert not project.venv.exists()


def test_help_goes_to_standard_output(project: Project) -> None:
    call = project.run("--help")
    assert (call.code, call.stderr) == (0, "")
    assert call.stdout.startswith("usage:")


@pytest.mark.slow(keep=1)
def test_test_checks_contracts_then_runs_pytest_from_the_root(project: Project) -> None:
    project.tool("lint-imports", "pwd >&2")
    call = project.run("test", PYTEST_XDIST_AUTO_NUM_WORKERS="5")
    assert call.stderr.splitlines()[-1] == str(project.root)
    assert call.shown["argv"] == ["-n", "5", "--dist", "worksteal", "--quick"]


@pytest.mark.slow(keep=1)
def test_all_measures_coverage_and_other_arguments_go_to_pytest(project: Project) -> None:
    project.tool("lint-imports", "true")
    call = project.run("test", "--all", "-x", PYTEST_XDIST_AUTO_NUM_WORKERS="5")
    measured = ["--cov=memem", "--cov-report=term", "--cov-fail-under=90"]
    assert call.shown["argv"] == ["-n", "5", "--dist", "worksteal", *measured, "-x"]
    assert project.run("test", "-k", "one").shown["argv"] == ["-k", "one"]


@pytest.mark.slow(keep=1)
def test_tests_have_one_worker_more_than_there_are_cores(project: Project) -> None:
    project.tool("lint-imports", "true")
    project.tool("getconf", "echo 7")
    assert project.run("test").shown["argv"] == ["-n", "8", "--dist", "worksteal", "--quick"]


@pytest.mark.slow(keep=1)
def test_broken_contract_fails_the_test_command(project: Project) -> None:
    project.tool("lint-imports", "exit 1")
    call = project.run("test")
    assert (call.code, call.stdout) == (1, "")


def offer_wheel(project: Project, name: str, path: str, text: str, *, version: str = "1.0", metadata: str = "") -> str:
    """Make a wheel of one file one of the few things pip can find; return its line for a lock file."""
    folder = project.home / "wheels"
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        member = zipfile.ZipInfo(path)
        member.external_attr = (stat.S_IFREG | 0o755) << 16
        archive.writestr(member, text)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "".join(f"{entry},,\n" for entry in archive.namelist()))
    project.env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_NO_CACHE_DIR": "1"}
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(Path(str(archive.filename)).read_bytes()).hexdigest()}\n"


@pytest.mark.slow(keep=1)
def test_failing_uv_falls_back_to_pip(project: Project) -> None:
    line = offer_wheel(project, "tiny", "tiny.py", "")
    (project.root / "requirements.lock").write_text(line, encoding="utf-8")
    project.uv("echo no such index; exit 2")
    call = project.run("shell", "python", "-c", "import tiny; print(tiny.__name__)")
    assert call.stdout == "tiny\n", call.stderr
    assert project.capabilities["installer"] == "pip"
    assert "no such index" in project.log


def test_a_newer_release_of_a_locked_package_changes_nothing(project: Project) -> None:
    extra = "Provides-Extra: more\n"
    lines = [
        offer_wheel(project, "tiny", "tiny.py", "", metadata="Requires-Dist: other[more]>=1.0\n"),
        offer_wheel(project, "other", "other.py", "version = 1", metadata=extra),
    ]
    offer_wheel(project, "other", "other.py", "version = 2", version="2.0", metadata=extra)
    (project.root / "requirements.lock").write_text("".join(lines), encoding="utf-8")
    project.uv("exit 2")
    call = project.run("shell", "python", "-c", "import tiny, other; print(other.version)")
    assert call.stdout == "1\n", call.stderr


def test_uv_is_fetched_once_where_it_is_missing(project: Project) -> None:
    (project.bin / "uv").unlink()
    line = offer_wheel(project, "uv", "uv-1.0.data/scripts/uv", '#!/bin/sh\necho "$*" >>"$HOME/uv-calls"\n')
    (project.root / "requirements-uv.lock").write_text(line, encoding="utf-8")
    assert project.run("demo").code == 0
    (project.home / "wheels").rename(project.home / "offline")
    (project.root / "requirements.lock").write_text("# changed\n", encoding="utf-8")
    assert project.run("demo").code == 0
    assert len(project.uv_calls) == 2
    assert project.capabilities["installer"] == "uv"


def test_package_that_is_not_the_locked_one_is_refused_and_the_log_shown(project: Project) -> None:
    offer_wheel(project, "tiny", "tiny.py", "")
    (project.root / "requirements.lock").write_text(f"tiny==1.0 --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    project.uv("exit 2")
    call = project.run("demo")
    assert (call.code, call.stdout) == (1, "")
    assert "cannot install the packages listed in requirements.lock" in call.stderr
    assert "DO NOT MATCH THE HASHES" in call.stderr
    assert str(project.memem_dir / "bootstrap.log") in call.stderr


@pytest.mark.slow(keep=1)
def test_two_runs_at_once_install_once(project: Project, tmp_path: Path) -> None:
    word, gate = tmp_path / "word", tmp_path / "gate"
    fifo = opened_fifo(word)
    os.mkfifo(gate)
    project.uv(f'echo started >"{word}"; cat "{gate}"')
    first = project.start("demo")
    wait_for_word(fifo)
    second = project.start("demo")
    assert second.stderr is not None
    assert "waiting for it" in second.stderr.readline()
    gate.write_text("go", encoding="utf-8")
    calls = [finish(first), finish(second)]
    assert [call.shown["argv"] for call in calls] == [["demo"], ["demo"]]
    assert len(project.uv_calls) == 1


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("earlier", [None, "# the lock before\n"])
def test_killed_set_up_is_rebuilt_by_the_next_run(project: Project, tmp_path: Path, earlier: str | None) -> None:
    if earlier:
        (project.root / "requirements.lock").write_text(earlier, encoding="utf-8")
        project.run("demo")
        (project.root / "requirements.lock").write_text("# the lock after\n", encoding="utf-8")
    word, gate, half = tmp_path / "word", tmp_path / "gate", project.venv / "half-installed"
    fifo = opened_fifo(word)
    os.mkfifo(gate)
    project.uv(f'echo half >"{half}"; echo started >"{word}"; cat "{gate}"')
    killed = project.start("demo")
    wait_for_word(fifo)
    os.killpg(killed.pid, signal.SIGKILL)
    assert finish(killed).code == -signal.SIGKILL
    assert half.exists()
    project.uv()
    call = project.run("demo")
    assert call.code == 0, call.stderr
    assert "waiting" not in call.stderr
    assert not half.exists()


def packages(project: Project) -> Path:
    return next((project.venv / "lib").glob("python*/site-packages"))


@pytest.fixture
def equipped(project: Project) -> Project:
    """With an environment that is complete, for a lock file that was another one."""
    project.run("shell", "true")
    for name in IMPORTED.values():
        (packages(project) / f"{name}.py").touch()
    project.change_lock()
    return project


def test_shell_rebuilds_an_environment_that_lost_a_package(project: Project) -> None:
    names = " ".join(IMPORTED.values())
    install = f'for name in {names}; do : >"$(echo "{project.venv}"/lib/python*/site-packages)/$name.py"; done'
    project.uv(install)
    project.run("shell", "true")
    log = project.log
    assert project.run("shell", "true") == Call(0, "", "")
    assert project.log == log
    (packages(project) / "yaml.py").unlink()
    call = project.run("shell", "python", "-c", "import yaml; print('there')")
    assert call.stdout == "there\n", call.stderr
    assert len(project.uv_calls) == 2


def test_shell_leaves_a_damaged_environment_alone_where_nothing_may_be_installed(project: Project) -> None:
    project.run("shell", "true")
    assert project.run("shell", "true", MEMEM_SKIP_SYNC="1") == Call(0, "", "")
    assert (project.ours / "requirements.lock").exists()


def test_failed_update_keeps_the_environment_and_reports_it(equipped: Project) -> None:
    ours = equipped.venv / ".memem"
    before = {path.name: path.read_bytes() for path in ours.iterdir()}
    equipped.go_offline()
    call = equipped.run("demo")
    assert (call.code, call.stdout) == (1, "")
    words = "cannot install the packages listed in requirements.lock; the environment was not changed"
    assert f"memem: {words}. The end of" in call.stderr
    assert equipped.log.splitlines()[-1].endswith(f" failed: {words}")
    assert {path.name: path.read_bytes() for path in ours.iterdir()} == before
    assert (packages(equipped) / "numpy.py").exists()
    for arguments in (["hook", "UserPromptSubmit"], ["serve"], ["status"]):
        assert equipped.launch(*arguments).shown["argv"] == arguments


def test_failed_update_is_repeated_in_the_same_environment(equipped: Project) -> None:
    equipped.go_offline()
    assert equipped.run("demo").code == 1
    equipped.uv()
    assert equipped.run("demo").code == 0
    assert equipped.run("demo").stderr == ""
    assert (packages(equipped) / "numpy.py").exists()


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("name", IMPORTED.values())
def test_failed_update_that_removed_a_package_is_rebuilt(equipped: Project, name: str) -> None:
    equipped.go_offline()
    equipped.uv(f'rm "{packages(equipped)}/{name}.py"; exit 2')
    call = equipped.run("demo")
    assert call.code == 1
    assert "was not changed" not in call.stderr
    equipped.uv()
    assert "being set up" in str(equipped.launch(*START).shown["systemMessage"])
    equipped.wait_for_set_up()
    assert not list(packages(equipped).glob("*.py"))
    assert equipped.launch(*START).shown["argv"] == list(START)


def test_complete_environment_has_every_dependency_of_memem() -> None:
    project = tomllib.loads((SCRIPT.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert sorted(re.split(r"[^a-z0-9-]", needed.lower())[0] for needed in project["dependencies"]) == sorted(IMPORTED)
    assert f"import {', '.join(sorted(IMPORTED.values()))}'" in SCRIPT.read_text(encoding="utf-8")


def test_update_that_cannot_record_its_result_keeps_the_environment(equipped: Project) -> None:
    equipped.tool("cp", "exit 1")
    assert f"cannot write to {equipped.venv}/.memem; the environment was not changed" in equipped.run("demo").stderr
    assert equipped.launch("hook", "Stop").shown["argv"] == ["hook", "Stop"]


def test_hooks_and_servers_keep_working_during_an_update(equipped: Project, tmp_path: Path) -> None:
    word, gate = tmp_path / "word", tmp_path / "gate"
    fifo = opened_fifo(word)
    os.mkfifo(gate)
    equipped.uv(f'echo started >"{word}"; cat "{gate}"')
    renewal = equipped.start("shell", "true")
    wait_for_word(fifo)
    for arguments in ([*START], ["hook", "Stop"], ["serve"], ["status"]):
        assert equipped.launch(*arguments).shown["argv"] == arguments
    other = equipped.start("demo")
    assert other.stderr is not None
    assert "waiting for it" in other.stderr.readline()
    gate.write_text("go", encoding="utf-8")
    assert [finish(renewal).code, finish(other).code] == [0, 0]
    assert len(equipped.uv_calls) == 2


def test_environment_of_a_killed_update_is_rebuilt(equipped: Project, tmp_path: Path) -> None:
    word, gate = tmp_path / "word", tmp_path / "gate"
    fifo = opened_fifo(word)
    os.mkfifo(gate)
    equipped.uv(f'echo started >"{word}"; cat "{gate}"')
    renewal = equipped.start("shell", "true")
    wait_for_word(fifo)
    os.killpg(renewal.pid, signal.SIGKILL)
    finish(renewal)
    equipped.uv()
    assert equipped.launch("hook", "Stop") == Call(0, "", "")
    assert "being set up" in str(equipped.launch(*START).shown["systemMessage"])
    equipped.wait_for_set_up()
    assert not (packages(equipped) / "numpy.py").exists()
    assert equipped.launch("serve").shown["argv"] == ["serve"]


def test_developer_environment_overwritten_by_a_runtime_is_updated_for_developers(project: Project) -> None:
    project.run("dev", "true")
    project.change_lock()
    project.run("demo")
    assert "setting up" in project.run("dev", "true").stderr
    assert project.run("demo").stderr == ""


def test_failed_set_up_is_tried_again(project: Project) -> None:
    (project.root / "requirements.lock").write_text("tiny==1.0 --hash=sha256:00\n", encoding="utf-8")
    project.uv("exit 1")
    assert project.run("demo", PIP_NO_INDEX="1").code == 1
    project.uv()
    assert project.run("demo").code == 0


def test_environment_whose_interpreter_is_missing_is_rebuilt(project: Project) -> None:
    project.run("demo")
    python = project.venv / "bin" / "python"
    python.unlink()
    python.symlink_to(project.root / "uninstalled")
    assert project.run("demo").code == 0
    assert len(project.uv_calls) == 2


def test_moved_clone_rebuilds_its_environment(project: Project) -> None:
    project.run("demo")
    (project.venv / "script-with-the-old-path").touch()
    project.root = project.root.rename(project.root.with_name("moved"))
    call = project.run("shell", "memem")
    assert call.shown["module"] == str(project.root / "memem" / "__main__.py")
    assert not (project.venv / "script-with-the-old-path").exists()


def test_requesting_another_interpreter_builds_another_environment(project: Project, tmp_path: Path) -> None:
    project.run("demo")
    other = tmp_path / "other-python"
    other.symlink_to(sys.executable)
    assert "setting up" in project.run("demo", MEMEM_PYTHON=str(other)).stderr
    del project.env["MEMEM_PYTHON"]
    assert project.run("demo").stderr == ""


def test_environment_is_built_on_the_interpreter_behind_links_and_shims(project: Project) -> None:
    del project.env["MEMEM_PYTHON"]
    project.tool("python3.13", "echo 'no such version' >&2; exit 127")
    (project.bin / "python3").symlink_to(Path(sys.executable).resolve())
    assert project.run("demo").code == 0
    assert str(project.bin) not in (project.venv / "pyvenv.cfg").read_text(encoding="utf-8")


def test_python_too_old_is_explained(project: Project) -> None:
    del project.env["MEMEM_PYTHON"]
    project.tool("python3", 'case $1 in --version) echo "Python 3.9.6" ;; *) exit 1 ;; esac')
    project.uv("echo download refused; exit 2")
    call = project.run("demo")
    assert (call.code, call.stdout) == (1, "")
    assert "needs Python 3.11 or newer and found Python 3.9.6" in call.stderr
    assert "MEMEM_PYTHON" in call.stderr
    assert "download refused" in project.log


def test_python_too_old_is_replaced_by_one_that_uv_downloads(project: Project) -> None:
    del project.env["MEMEM_PYTHON"]
    project.uv(f'case "$1 $2" in "python find") echo "{Path(sys.executable).resolve()}" ;; esac')
    assert project.run("demo").code == 0
    assert project.uv_calls[:2] == ["python install 3.11", "python find 3.11"]


def test_broken_requested_interpreter_is_named(project: Project) -> None:
    call = project.run("demo", MEMEM_PYTHON="/nowhere/python")
    assert call.code == 1
    assert "MEMEM_PYTHON=/nowhere/python is not a working Python" in call.stderr


def test_environment_of_someone_else_is_left_alone(project: Project) -> None:
    theirs = project.venv / "bin" / "python"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs", encoding="utf-8")
    call = project.run("demo")
    assert call.code == 1
    assert "was not created by memem" in call.stderr
    assert sorted(project.venv.rglob("*")) == [theirs.parent, theirs]
    assert theirs.read_text(encoding="utf-8") == "theirs"


def test_skip_sync_uses_the_interpreter_and_installs_nothing(project: Project) -> None:
    call = project.run("demo", MEMEM_SKIP_SYNC="1")
    assert call.shown["module"] == str(project.root / "memem" / "__main__.py")
    assert call.stderr == ""
    assert not project.venv.exists()
    assert not project.memem_dir.exists()


def test_skip_sync_uses_an_environment_that_is_out_of_date(project: Project) -> None:
    project.run("demo")
    (project.root / "requirements.lock").write_text("# changed\n", encoding="utf-8")
    call = project.run("shell", "python", "-c", "import sys; print(sys.prefix)", MEMEM_SKIP_SYNC="1")
    assert call.stdout.strip() == str(project.venv)
    assert len(project.uv_calls) == 1


def test_installed_plugin_keeps_its_environment_in_the_plugins_data(project: Project, tmp_path: Path) -> None:
    (project.root / ".git").unlink()
    data = tmp_path / "plugin data"
    assert project.run("demo", CLAUDE_PLUGIN_DATA=str(data)).code == 0
    assert (data / "venv" / "bin" / "memem").exists()
    assert not project.venv.exists()


def test_new_version_of_the_plugin_takes_over_the_environment(project: Project, tmp_path: Path) -> None:
    (project.root / ".git").unlink()
    project.env["CLAUDE_PLUGIN_DATA"] = str(tmp_path / "data")
    project.run("demo")
    kept = tmp_path / "data" / "venv" / "kept"
    kept.touch()
    project.root = project.root.rename(project.root.with_name("next version"))
    call = project.run("demo")
    assert call.shown["module"] == str(project.root / "memem" / "__main__.py")
    assert kept.exists()


def test_clone_keeps_its_own_environment_inside_claude_code(project: Project, tmp_path: Path) -> None:
    project.run("demo", CLAUDE_PLUGIN_DATA=str(tmp_path / "data"))
    assert project.venv.exists()
    assert not (tmp_path / "data").exists()


def test_paths_with_spaces_quotes_and_any_script_work(tmp_path: Path) -> None:
    with project_in(tmp_path / "it's a “clone” für $HOME 記憶", tmp_path) as project:
        call = project.run("shell", "memem", "x")
        assert call.shown["module"] == str(project.root / "memem" / "__main__.py"), call.stderr
        assert project.capabilities["venv"] == str(project.venv)
        assert project.run("demo").stderr == ""


def test_symbolic_link_to_the_script_finds_the_project(project: Project, tmp_path: Path) -> None:
    link = tmp_path / "links" / "bootstrap.sh"
    link.parent.mkdir()
    link.symlink_to("../clone/bootstrap.sh")
    root, project.root = project.root, link.parent
    assert project.run("demo").shown["module"] == str(root / "memem" / "__main__.py")


def test_home_that_cannot_be_written_does_not_stop_the_set_up(project: Project) -> None:
    blocker = project.home / "file"
    blocker.touch()
    call = project.run("demo", MEMEM_DIR=str(blocker / "memem"))
    assert call.code == 0
    assert "is not writable; logging to" in call.stderr


@pytest.mark.parametrize("written", ["~/elsewhere", "elsewhere"])
def test_memem_dir_is_read_as_the_settings_read_it(project: Project, written: str) -> None:
    project.run("demo", MEMEM_DIR=written)
    assert (project.home / "elsewhere" / "bootstrap.log").exists()


def test_long_log_is_cut_to_its_end(project: Project) -> None:
    project.memem_dir.mkdir(mode=0o700)
    (project.memem_dir / "bootstrap.log").write_text("old\n" * 300_000 + "latest\n", encoding="utf-8")
    project.run("demo")
    assert len(project.log) < 300_000
    assert "latest\n" in project.log
    assert mode(project.memem_dir / "bootstrap.log") == 0o600


def test_first_session_sets_up_in_the_background_and_reports_it_once(project: Project, tmp_path: Path) -> None:
    word, gate = tmp_path / "word", tmp_path / "gate"
    fifo = opened_fifo(word)
    os.mkfifo(gate)
    project.uv(f'echo started >"{word}"; cat "{gate}"')
    first = project.launch(*START)
    wait_for_word(fifo)
    assert (first.code, first.stderr) == (0, "")
    assert "being set up in the background" in str(first.shown["systemMessage"])
    assert project.launch(*START) == Call(0, "", "")
    gate.write_text("go", encoding="utf-8")
    project.wait_for_set_up()
    assert "ready; installed with uv" in project.log
    assert project.launch(*START, stdin="envelope").shown == {
        "argv": list(START),
        "module": str(project.root / "memem" / "doors" / "hook" / "client.py"),
        "stdin": "envelope",
    }
    assert len(project.uv_calls) == 1


def test_set_up_is_silent_when_notices_are_off(project: Project) -> None:
    assert project.launch(*START, MEMEM_NOTICES="off") == Call(0, "", "")
    project.wait_for_set_up()
    assert "ready; installed with uv" in project.log


def test_failure_is_reported_only_when_notices_are_on(project: Project) -> None:
    (project.venv / "theirs").mkdir(parents=True)
    assert project.launch(*PROMPT, MEMEM_NOTICES="off") == Call(0, "", "")
    assert "could not be set up" in str(project.launch(*PROMPT, MEMEM_NOTICES="changes").shown["systemMessage"])


@pytest.mark.parametrize("entrypoint", ["sdk-cli", "sdk-py"])
def test_message_to_a_script_is_still_shown_to_the_user(project: Project, entrypoint: str) -> None:
    (project.venv / "theirs").mkdir(parents=True)
    for _ in range(2):
        printed = project.launch(*START, CLAUDE_CODE_ENTRYPOINT=entrypoint).shown["systemMessage"]
        assert "was not created by memem" in str(printed)
        assert project.launch(*PROMPT, CLAUDE_CODE_ENTRYPOINT=entrypoint) == Call(0, "", "")
    assert project.launch(*START, CLAUDE_CODE_ENTRYPOINT="cli").shown["systemMessage"] == printed
    assert project.launch(*START, CLAUDE_CODE_ENTRYPOINT="cli") == Call(0, "", "")
    assert project.launch(*START, CLAUDE_CODE_ENTRYPOINT=entrypoint) == Call(0, "", "")


def test_background_set_up_outlives_its_process_group_and_terminal(project: Project, tmp_path: Path) -> None:
    word, gate = tmp_path / "word", tmp_path / "gate"
    fifo = opened_fifo(word)
    os.mkfifo(gate)
    project.uv(f'echo started >"{word}"; cat "{gate}"')
    project.use_real_server()
    server = project.start("serve", program="hooks/memem")
    wait_for_word(fifo)
    os.killpg(server.pid, signal.SIGHUP)
    os.killpg(server.pid, signal.SIGKILL)
    os.killpg(project.under_way(), signal.SIGHUP)
    gate.write_text("go", encoding="utf-8")
    project.wait_for_set_up()
    assert "ready; installed with uv" in project.log


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest", "PreCompact", "Stop", "SessionEnd"])
def test_other_hooks_do_nothing_before_the_set_up(project: Project, event: str) -> None:
    assert project.launch("hook", event) == Call(0, "", "")
    assert not project.venv.exists()


@pytest.mark.parametrize("variable", ["MEMEM_HOOKS_OFF", "MEMEM_SKIP_SYNC"])
def test_memems_own_session_and_skip_sync_start_no_set_up(project: Project, variable: str) -> None:
    assert project.launch(*START, **{variable: "1"}) == Call(0, "", "")
    assert not project.venv.exists()


def test_first_prompt_without_an_environment_starts_the_set_up_and_reports_it(project: Project) -> None:
    project.uv("exit 0")
    assert "being set up" in str(project.launch(*PROMPT).shown["systemMessage"])
    project.wait_for_set_up()
    assert project.launch(*PROMPT).shown["argv"] == list(PROMPT)


def test_background_set_up_leaves_a_mark_for_the_success_message(project: Project) -> None:
    project.launch(*START)
    project.wait_for_set_up()
    assert (project.ours / "ready-untold").exists()


def test_set_up_by_hand_leaves_no_such_mark(project: Project) -> None:
    project.run("demo")
    assert not (project.ours / "ready-untold").exists()


def test_failed_set_up_is_reported_once_with_its_reason_and_retried_when_the_cause_is_gone(project: Project) -> None:
    project.change_lock()
    project.go_offline()
    project.launch(*START)
    project.wait_for_set_up()
    reason = "the package index cannot be reached. Check the network connection and the proxy settings (HTTPS_PROXY)."
    assert (project.ours / "failed").read_text() == f"{reason}\n"
    message = project.launch(*PROMPT).shown["systemMessage"]
    assert str(message).startswith(f"memem could not be set up: {reason} memem retries automatically")
    assert project.launch(*PROMPT) == project.launch(*START) == Call(0, "", "")
    project.forget_when_it_failed()
    project.launch(*PROMPT)
    project.wait_for_set_up()
    assert project.launch(*START) == Call(0, "", "")  # failed again, for the same reason
    project.uv()
    project.forget_when_it_failed()
    assert project.launch(*PROMPT) == Call(0, "", "")
    project.wait_for_set_up()
    assert project.launch(*START).shown["argv"] == list(START)
    assert [path.name for path in project.ours.glob("failed*")] == []
    assert (project.ours / "ready-untold").exists()


def test_failed_set_up_is_not_retried_at_once(project: Project) -> None:
    project.change_lock()
    project.go_offline()
    project.launch(*START)
    project.wait_for_set_up()
    calls = len(project.uv_calls)
    project.launch(*START)
    project.launch(*PROMPT)
    assert (project.under_way(), len(project.uv_calls)) == (0, calls)


def test_failure_for_another_reason_is_reported_again(project: Project) -> None:
    project.change_lock()
    project.go_offline()
    for output, told in (("no network", "cannot be reached"), ("No space left on device", "the disk is full")):
        project.uv(f"echo '{output}'; exit 2")
        project.forget_when_it_failed()
        project.launch(*START)
        project.wait_for_set_up()
        assert told in str(project.launch(*START).shown["systemMessage"])


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("error: Failed to fetch: https://index/simple/numpy/", "the package index cannot be reached"),
        ("Temporary failure in name resolution", "the package index cannot be reached"),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("mkdir: Read-only file system", "memem cannot write to"),
    ],
)
def test_reason_of_a_failure_is_worded_for_the_user(project: Project, output: str, reason: str) -> None:
    project.change_lock()
    project.env["PIP_NO_INDEX"] = "1"
    project.uv(f"echo '{output}'; exit 2")
    project.launch(*START)
    project.wait_for_set_up()
    assert reason in str(project.launch(*START).shown["systemMessage"])


def test_unexpected_failure_is_reported_with_the_last_line_of_the_log(project: Project) -> None:
    project.tool("cp", 'echo "strange \\"things\\"\thappened"; exit 1')
    project.launch(*START)
    project.wait_for_set_up()
    message = str(project.launch(*START).shown["systemMessage"])
    assert f"cannot write to {project.ours} (strange" in message
    assert f"Details: {project.memem_dir}/bootstrap.log." in message


def test_session_reports_that_python_is_too_old_and_the_remedy(project: Project) -> None:
    del project.env["MEMEM_PYTHON"]
    project.tool("python3", 'case $1 in --version) echo "Python 3.9.6" ;; *) exit 1 ;; esac')
    project.uv("echo download refused; exit 2")
    project.launch(*START)
    project.wait_for_set_up()
    message = str(project.launch(*START).shown["systemMessage"])
    assert "memem needs Python 3.11 or newer; this computer has Python 3.9.6. Install one from python.org" in message


def test_killed_background_set_up_is_restarted_and_reported_again(project: Project, tmp_path: Path) -> None:
    word, gate = tmp_path / "word", tmp_path / "gate"
    fifo = opened_fifo(word)
    os.mkfifo(gate)
    project.uv(f'echo started >"{word}"; cat "{gate}"')
    project.launch(*START)
    wait_for_word(fifo)
    killed = project.under_way()
    os.killpg(killed, signal.SIGKILL)
    wait_until(lambda: not is_process(killed), "the killed set-up is still there")
    project.uv()
    assert "being set up" in str(project.launch(*START).shown["systemMessage"])
    project.wait_for_set_up()
    assert project.launch(*START).shown["argv"] == list(START)


def test_foreign_environment_is_reported_to_the_user_of_the_plugin(project: Project) -> None:
    (project.venv / "theirs").mkdir(parents=True)
    assert "was not created by memem" in str(project.launch(*START).shown["systemMessage"])
    assert list(project.venv.iterdir()) == [project.venv / "theirs"]


def test_any_other_verb_starts_the_set_up_and_reports_it_in_one_line(project: Project, tmp_path: Path) -> None:
    word, gate = tmp_path / "word", tmp_path / "gate"
    fifo = opened_fifo(word)
    os.mkfifo(gate)
    project.uv(f'echo started >"{word}"; cat "{gate}"')
    line = f"memem is being set up in the background (log: {project.memem_dir}/bootstrap.log). Try again in a minute.\n"
    assert project.launch("status") == Call(0, line, "")
    wait_for_word(fifo)
    assert project.launch("status") == Call(0, line, "")
    gate.write_text("go", encoding="utf-8")
    project.wait_for_set_up()
    assert project.launch("status", "two words").shown["argv"] == ["status", "two words"]
    assert len(project.uv_calls) == 1


def test_status_line_reports_the_running_set_up_and_starts_none(project: Project) -> None:
    assert project.launch("statusline") == Call(0, "memem: being set up\n", "")
    assert not project.venv.exists()


def test_status_line_says_that_the_set_up_failed(project: Project) -> None:
    project.change_lock()
    project.go_offline()
    project.launch(*START)
    project.wait_for_set_up()
    assert project.launch("statusline") == Call(0, "memem: set-up failed; /memem-doctor\n", "")


def test_status_line_says_that_the_folder_of_the_environment_cannot_be_used(project: Project) -> None:
    (project.venv / "theirs").mkdir(parents=True)
    project.launch(*START)
    assert project.launch("statusline") == Call(0, "memem: set-up failed; /memem-doctor\n", "")


@pytest.mark.slow(keep=1)
def test_status_line_is_printed_by_its_own_file_whichever_command_is_called(project: Project, tmp_path: Path) -> None:
    project.run("demo")
    script = project.root / "memem" / "doors" / "hook" / "statusline.py"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("import sys; print('a line', sys.flags.no_site, sys.flags.isolated)\n", encoding="utf-8")
    linked = tmp_path / "a link"
    linked.symlink_to(project.venv / "bin" / "memem")
    assert project.launch("statusline") == Call(0, "a line 1 1\n", "")
    assert finish(project.start("statusline", program=str(linked)), "") == Call(0, "a line 1 1\n", "")
    assert project.launch("statusline", "--show-setting").shown["argv"] == ["statusline", "--show-setting"]
    other = finish(project.start("statusline", "--show-setting", program=str(linked)), "")
    assert other.shown["argv"] == ["statusline", "--show-setting"]


def test_any_other_verb_reports_a_failed_set_up(project: Project) -> None:
    project.change_lock()
    project.go_offline()
    project.launch("status")
    project.wait_for_set_up()
    call = project.launch("status")
    project.wait_for_set_up()
    assert call.stdout.startswith("memem could not be set up: the package index cannot be reached.")


def test_any_other_verb_runs_at_once_with_skip_sync(project: Project) -> None:
    assert project.launch("status", MEMEM_SKIP_SYNC="1").shown["argv"] == ["status"]
    assert not project.venv.exists()


def test_session_reports_a_folder_that_cannot_be_created(project: Project) -> None:
    (project.root / ".git").unlink()
    (project.home / "file").touch()
    call = project.launch(*START, CLAUDE_PLUGIN_DATA=str(project.home / "file"))
    assert (call.code, call.stderr) == (0, "")
    assert f"memem could not be set up: cannot create {project.home}/file/venv." in str(call.shown["systemMessage"])
    assert project.launch(*START, CLAUDE_PLUGIN_DATA=str(project.home / "file")) == Call(0, "", "")


@pytest.mark.parametrize("file", ["told", "under-way"])
def test_session_starts_the_set_up_even_if_its_marks_cannot_be_written(project: Project, file: str) -> None:
    (project.venv / ".memem" / file / "in the way").mkdir(parents=True)
    call = project.launch(*START)
    assert (call.code, call.stderr) == (0, "")
    wait_until(lambda: "ready; installed with uv" in project.log, "nothing is set up")


def test_session_on_a_full_disk_reports_it_and_continues(project: Project) -> None:
    project.tool("fill", "trap '' XFSZ; ulimit -f 0; exec \"$@\"")
    ours, launcher = project.venv / ".memem", str(project.root / "hooks" / "memem")

    def begin(*arguments: str) -> Call:
        return finish(project.start(launcher, *arguments, program=str(project.bin / "fill")))

    call = begin(*START)
    assert (call.code, call.stderr) == (0, "")
    assert "being set up" in str(call.shown["systemMessage"])
    wait_until(lambda: (ours / "failed").exists() and not (ours / "under-way").exists(), "the set-up does not end")
    assert begin("hook", "Stop") == Call(0, "", "")


@pytest.mark.slow(keep=1)
def test_launcher_and_set_up_use_the_same_place(tmp_path: Path) -> None:
    with project_in(tmp_path / "it's a “clone” für $HOME 記憶", tmp_path) as project:
        data = str(tmp_path / "plugin's “data” 記憶")
        for given in ("", data):
            project.run("shell", "true", CLAUDE_PLUGIN_DATA=given)
            assert project.launch("status", CLAUDE_PLUGIN_DATA=given).shown["argv"] == ["status"]
        (project.root / ".git").unlink()
        assert project.run("shell", "true", CLAUDE_PLUGIN_DATA=data).code == 0
        log = project.log
        for arguments in (["status"], ["serve"], [*START]):
            assert project.launch(*arguments, CLAUDE_PLUGIN_DATA=data).shown["argv"] == arguments
        assert project.log == log


def test_launcher_uses_an_outdated_environment(project: Project) -> None:
    project.run("shell", "true")
    (project.root / "requirements.lock").write_text("# changed\n", encoding="utf-8")
    assert project.launch("hook", "Stop").shown["argv"] == ["hook", "Stop"]
    assert project.launch("serve").shown["argv"] == ["serve"]
    assert len(project.uv_calls) == 1


def test_launcher_notices_that_the_interpreter_is_gone(project: Project) -> None:
    project.run("shell", "true")
    python = project.venv / "bin" / "python"
    python.unlink()
    python.symlink_to(project.root / "uninstalled")
    assert "being set up" in str(project.launch(*START).shown["systemMessage"])
    project.wait_for_set_up()
    assert project.launch(*START).shown["argv"] == list(START)
