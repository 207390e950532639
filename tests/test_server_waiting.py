"""The MCP server before memem's environment exists: it answers at once, reports on the set-up, and continues in the
environment as soon as there is one."""

import ast
import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import memem
from tests.small_project import (
    PROMPT,
    SECONDS,
    START,
    Project,
    Server,
    opened_fifo,
    project_in,
    wait_for_word,
    wait_until,
)

LIST_CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
LOOP = ("__init__", "protocol", "loop", "backends")
OLD_PYTHONS = ("3.6", "3.8", "3.10")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="bootstrap.sh needs a POSIX system")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with project_in(tmp_path / "clone", tmp_path) as made:
        made.use_real_server()
        yield made


def pyenv_python(version: str) -> Path | None:
    """An old interpreter, where pyenv has one."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path(pwd.getpwuid(os.getuid()).pw_dir, ".pyenv")) / "versions"
    return next(iter(sorted(versions.glob(f"{version}.*/bin/python3"))), None)


def hang_up(server: Server) -> None:
    """The server leaves at the end of its input, and nothing else was on its output."""
    out, _ = server.process.communicate(timeout=SECONDS)
    assert (server.process.returncode, out, server.client.received) == (0, "", b"")


@pytest.mark.parametrize("path", ["serve.py", "__init__.py", "doors/__init__.py"] + [f"doors/mcp/{n}.py" for n in LOOP])
def test_the_loop_is_written_for_python_3_6(path: str) -> None:
    source = Path(memem.__file__).with_name("serve.py").parent / path
    ast.parse(source.read_text(encoding="utf-8"), feature_version=(3, 6))


def test_server_answers_during_the_set_up_and_continues_in_the_new_environment(
    project: Project, tmp_path: Path
) -> None:
    word, gate = tmp_path / "word", tmp_path / "gate"
    fifo = opened_fifo(word)
    os.mkfifo(gate)
    project.uv(f'echo started >"{word}"; cat "{gate}"')
    server = project.serve()
    client = server.client
    assert client.begin()["protocolVersion"] == "2025-06-18"
    assert len(client.ask("tools/list")["result"]["tools"]) == 8
    wait_for_word(fifo)
    assert client.ask("ping")["result"] == {}
    os.write(client.to_server, b'{"jsonrpc": "2.0", "id": "half", "me')  # a line that arrives in two parts
    gate.write_text("go", encoding="utf-8")
    assert client.answer() == LIST_CHANGED
    client.say(b'thod": "ping"}')
    assert client.answer() == {"jsonrpc": "2.0", "id": "half", "result": {}}
    assert len(client.ask("tools/list")["result"]["tools"]) == 8
    text, is_error = client.call("memory_search", query="x")
    assert (is_error, "environment is damaged (No module named" in text) == (True, True)  # there are no packages in it
    hang_up(server)


def test_the_command_that_the_server_names_rebuilds_a_damaged_environment(project: Project, tmp_path: Path) -> None:
    (project.root / ".git").unlink()
    data = tmp_path / "it's plugin data"
    project.run("shell", "true", CLAUDE_PLUGIN_DATA=str(data))
    (data / "venv" / "damaged").touch()
    server = project.serve(CLAUDE_PLUGIN_DATA=str(data))
    server.client.begin()
    text, _ = server.client.call("memory_search", query="x")
    hang_up(server)
    command = text.split("`")[1]
    subprocess.run(["sh", "-c", command], cwd=tmp_path, env=project.env, check=True, timeout=SECONDS)
    assert len(project.uv_calls) == 2
    assert not (data / "venv" / "damaged").exists()
    assert not project.venv.exists()


def test_server_survives_a_moved_plugin_folder(project: Project, tmp_path: Path) -> None:
    (project.venv / "theirs").mkdir(parents=True)  # so that no set-up is running there
    server = project.serve()
    server.client.begin()
    told = "was not created by memem"  # by the set-up that the server begins, which would make the folder again
    wait_until(lambda: told in server.client.call("memory_search", query="x")[0], "the set-up does not end")
    project.root.rename(tmp_path / "moved")
    try:
        assert len(server.client.ask("tools/list")["result"]["tools"]) == 8
        assert server.client.ask("ping")["result"] == {}
        hang_up(server)
    finally:
        (tmp_path / "moved").rename(project.root)


def test_server_reports_why_the_set_up_failed_and_continues_after_a_successful_one(project: Project) -> None:
    project.change_lock()
    project.go_offline()
    server = project.serve()
    server.client.begin()
    wait_until(lambda: project.set_up_has_failed, "the set-up does not fail")
    text, is_error = server.client.call("memory_search", query="x")
    assert is_error
    assert text.startswith("memem could not be set up: the package index cannot be reached. Check the network")
    project.uv()
    project.forget_when_it_failed()
    project.launch(*PROMPT)
    assert server.client.answer() == LIST_CHANGED
    hang_up(server)


def test_server_reports_a_foreign_environment(project: Project) -> None:
    (project.venv / "theirs").mkdir(parents=True)
    server = project.serve()
    server.client.begin()
    text, is_error = server.client.call("memory_search", query="x")
    assert (is_error, "was not created by memem" in text) == (True, True)
    hang_up(server)
    assert list(project.venv.iterdir()) == [project.venv / "theirs"]


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_waiting_server_ends_on_a_signal(project: Project, tmp_path: Path, sign: signal.Signals) -> None:
    os.mkfifo(tmp_path / "gate")
    project.uv(f'cat "{tmp_path / "gate"}"')
    server = project.serve()
    server.client.begin()
    server.process.send_signal(sign)
    assert server.client.read() is None
    assert server.process.wait(SECONDS) == 0
    wait_until(lambda: len(project.uv_calls) == 1, "the set-up went with the server")
    (tmp_path / "gate").write_text("go", encoding="utf-8")
    project.wait_for_set_up()


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("version", OLD_PYTHONS)
def test_server_runs_on_an_old_python_and_reports_the_requirement(project: Project, version: str) -> None:
    python = pyenv_python(version)
    if python is None:
        pytest.skip(f"pyenv has no Python {version}")
    del project.env["MEMEM_PYTHON"]
    (project.bin / "python3").symlink_to(python)
    project.uv("echo download refused; exit 2")
    server = project.serve()
    server.client.begin()
    assert len(server.client.ask("tools/list")["result"]["tools"]) == 8
    wait_until(lambda: project.set_up_has_failed, "the set-up does not fail")
    text, is_error = server.client.call("memory_search", query="x")
    assert is_error
    assert f"memem needs Python 3.11 or newer; this computer has Python {version}" in text
    assert "Install one" in text
    (project.bin / "python3").unlink()
    (project.bin / "python3").symlink_to(Path(sys.executable).resolve())
    project.uv()
    project.forget_when_it_failed()
    project.launch(*START)
    assert server.client.answer() == LIST_CHANGED
    assert len(server.client.ask("tools/list")["result"]["tools"]) == 8
    hang_up(server)


def test_server_without_any_python_answers_and_continues_with_the_first_one(project: Project) -> None:
    del project.env["MEMEM_PYTHON"]
    project.uv("echo download refused; exit 2")
    server = project.serve()
    client = server.client
    assert client.ask("server/discover")["error"]["code"] == -32601
    assert client.begin()["protocolVersion"] == "2025-06-18"
    assert client.ask("tools/list")["result"] == {"tools": []}
    assert client.ask("ping")["result"] == {}
    wait_until(lambda: project.set_up_has_failed, "the set-up does not fail")
    text, is_error = client.call("memory_forget", id="77")
    assert is_error
    assert "memem needs Python 3.11 or newer; this computer has no working python3. Install one" in text
    (project.bin / "python3").symlink_to(Path(sys.executable).resolve())
    client.notify("notifications/cancelled", requestId=7)  # wakes it: it looks every three seconds
    assert client.answer() == LIST_CHANGED
    assert len(client.ask("tools/list")["result"]["tools"]) == 8
    hang_up(server)


def simulate_bash_3_2(project: Project, folder: Path) -> tuple[Path, Path]:
    """Have `read -t` end as in bash 3.2, but sooner. Return the logs of timeouts, and of reads without one."""
    bash = subprocess.run(["bash", "-c", "echo $BASH_VERSINFO"], capture_output=True, text=True, check=True)
    if int(bash.stdout) < 4:
        pytest.skip("this bash knows no fractions of a second")
    timeouts, blocking = folder / "timeouts", folder / "blocking"
    timeouts.touch()
    blocking.touch()
    stub = folder / "bash-3.2.sh"
    stub.write_text(
        f"""
read() {{
  local _arguments=() _timeout= _reply= _status=0
  while [ $# -gt 1 ]; do
    case $1 in -t) _timeout=$2 && shift 2 ;; *) _arguments+=("$1") && shift ;; esac
  done
  if [ -z "$_timeout" ]; then
    [ ! -p /dev/stdin ] || echo >>"{blocking}"
    builtin read "${{_arguments[@]}}" "$1"
    return
  fi
  builtin read "${{_arguments[@]}}" -t 0.1 _reply || _status=$?
  if [ $_status = 0 ]; then
    printf -v "$1" %s "$_reply"
  elif [ $_status -gt 128 ]; then
    SECONDS=$((SECONDS + _timeout))
    echo >>"{timeouts}"
  fi
  return $((_status > 0))
}}
""",
        encoding="utf-8",
    )
    project.env["BASH_ENV"] = str(stub)
    return timeouts, blocking


def test_server_without_any_python_loses_and_repeats_no_message_with_bash_3_2(project: Project, tmp_path: Path) -> None:
    timeouts, blocking = simulate_bash_3_2(project, tmp_path)
    del project.env["MEMEM_PYTHON"]
    (project.venv / "theirs").mkdir(parents=True)  # so that no set-up is running
    server = project.serve()
    client = server.client
    client.begin()

    def wait_for_timeouts() -> None:
        before = timeouts.stat().st_size
        wait_until(lambda: timeouts.stat().st_size > before + 1, "the server does not wait")

    wait_for_timeouts()
    assert client.ask("ping")["result"] == {}
    wait_for_timeouts()
    before, seen = timeouts.stat().st_size, blocking.stat().st_size
    os.write(client.to_server, b'{"jsonrpc": "2.0", "id": "half", "me')
    wait_until(
        lambda: blocking.stat().st_size > seen or timeouts.stat().st_size > before + 2, "the server does not read"
    )
    (project.bin / "python3").symlink_to(Path(sys.executable).resolve())
    client.say(b'thod": "ping"}')
    assert client.answer() == {"jsonrpc": "2.0", "id": "half", "result": {}}
    assert client.answer() == LIST_CHANGED
    assert client.ask("ping")["result"] == {}
    hang_up(server)


@pytest.mark.parametrize(
    ("line", "identity"),
    [
        (b'{"method":"tools/call","params":{"arguments":{"id":"77"}},"jsonrpc":"2.0","id":4}', 4),
        (b'{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":{"arguments":{"id":"77"}}}', "a-1"),
        (b'{"jsonrpc": "2.0", "id": 9, "method": "ping"}', 9),
    ],
)
def test_server_without_any_python_answers_with_the_id_of_the_message(
    project: Project, line: bytes, identity: object
) -> None:
    del project.env["MEMEM_PYTHON"]
    server = project.serve()
    server.client.say(line)
    assert server.client.answer()["id"] == identity
    hang_up(server)
    project.wait_for_set_up()


def test_server_runs_a_slow_shim_only_once(project: Project) -> None:
    project.env["MEMEM_PYTHON"] = "python3-shim"
    project.tool("python3-shim", f'echo "$$ $*" >>"$HOME/shim-calls"\nexec "{sys.executable}" "$@"')
    (project.venv / "theirs").mkdir(parents=True)  # so that no set-up asks it as well
    server = project.serve()
    server.client.begin()
    calls = (project.home / "shim-calls").read_text(encoding="utf-8")
    assert calls.count("import sys") == 1
    assert "serve.py" not in calls
    hang_up(server)
    shutil.rmtree(project.venv)
