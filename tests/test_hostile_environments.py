"""Machines that memem was not made for: each works, or says exactly what is missing, and Claude Code never suffers.

Every hook is run through the shell as hooks.json says, and every tool over the server's pipes. `Machine.hook` asserts
of each call that it ended well and in time, said nothing on standard error and printed what Claude Code understands;
every path on a machine has spaces, quotes and letters of many scripts; and at the end of each test what was remembered
is as it was, and nothing runs any more.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from memem.core import settings
from memem.doors.hook import client
from tests import fake_claude
from tests.engines import short_folder
from tests.installed import EVENTS, FACT, LEARNED, PROMPT, SECONDS, Machine, Plugin, command_of, install, wait_until
from tests.small_project import START, Call, Project, project_in
from tests.transcripts import AT_LENGTH, ECHO, fact

pytestmark = [
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes as Linux shows them"),
    pytest.mark.slow,
]

JUNK = b"SQLite format 3\0" + b"junk" * 2_000
OFFLINE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    return install(tmp_path_factory.mktemp("plugin"))


@pytest.fixture
def machine(plugin: Plugin) -> Iterator[Machine]:
    with short_folder() as folder:
        made = Machine(folder, plugin)
        made.begin()
        before = made.notes
        yield made
        made.settle()
        assert before.items() <= made.notes.items()


def learned(machine: Machine) -> int:
    """How often what was said in the session is remembered."""
    return sum(LEARNED in text for text in machine.notes.values())


def works(machine: Machine) -> None:
    """Everything that memem does for a session, and nothing to complain of."""
    told = machine.hooks()
    assert "1 for shop" in told["SessionStart"].context
    assert FACT in told["UserPromptSubmit"].context
    assert FACT in told["PreToolUse"].context
    assert told["PermissionRequest"].is_allowed
    assert (learned(machine), machine.log) == (1, "")
    with machine.server() as server:
        assert FACT in server.says("memory_search", query="RS256")
        assert "Saved" in server.says("memory_save", content="Invoices are numbered per year.")
    assert server.complaint == ""


def is_back(machine: Machine) -> None:
    """Once what was wrong is mended: nothing was lost, and nothing is there twice."""
    assert FACT in machine.hook("UserPromptSubmit", session_id="afterwards").context
    machine.hook("SessionEnd")
    machine.settle()
    assert learned(machine) == 1


def is_warm(machine: Machine) -> bool:
    """Whether an engine listens."""
    return any(
        folder.glob("*.sock") for folder in (machine.home / "run", machine.runtime) if any(folder.glob("*.sock"))
    )


def say_nothing(machine: Machine, *events: str) -> None:
    assert [machine.hook(event).told for event in events] == [{}] * len(events)


# --- where everything works ---------------------------------------------------------------------------------------


def _as_usual(machine: Machine) -> None:
    """But for the names of all folders."""


def _variables_of_python(machine: Machine) -> None:
    """Each of which breaks a Python that heeds it."""
    for name in ("json.py", "memem.py", "os.py", "yaml.py", "sitecustomize.py", "usercustomize.py", "asyncio.py"):
        (machine.folder / name).write_text("raise SystemExit('the wrong module')\n", encoding="utf-8")
    broken = {"PYTHONPATH": str(machine.folder), "PYTHONHOME": "/nowhere", "PYTHONPLATLIBDIR": "nowhere"}
    odd = {"PYTHONWARNINGS": "error", "PYTHONIOENCODING": "latin-1", "PYTHONOPTIMIZE": "2", "PYTHONUTF8": "0"}
    machine.env |= broken | odd | {"PYTHONINSPECT": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}


def _variables_of_others(machine: Machine) -> None:
    machine.env |= {"LC_ALL": "C", "TZ": "Nowhere/At all", "TMPDIR": "/nowhere", "PATH": "", "IFS": "/", "CDPATH": "/"}
    machine.env |= {"ENV": "/nowhere", "BASH_ENV": "/nowhere", "TERM": "", "COLUMNS": "wide", "HTTP_PROXY": "?"}


def _modules_in_the_project(machine: Machine) -> None:
    for name in ("os.py", "json.py", "site.py", "memem/__init__.py", "memem/__main__.py"):
        (machine.project / name).parent.mkdir(exist_ok=True)
        (machine.project / name).write_text("raise SystemExit('the wrong module')\n", encoding="utf-8")
    (machine.project / "pyvenv.cfg").write_text("home = /nowhere\n", encoding="utf-8")


def _clock_set_back(machine: Machine) -> None:
    """Everything there is comes from the future."""
    later = time.time() + 3 * 365 * 86_400
    for path in (*machine.home.rglob("*"), *machine.vault.rglob("*")):
        os.utime(path, (later, later))


def _socket_left_behind(machine: Machine) -> None:
    (machine.home / "run").mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(machine.home / "run" / "engine.sock"))


ODD = (_as_usual, _variables_of_python, _variables_of_others, _modules_in_the_project, _clock_set_back)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("odd", [*ODD, _socket_left_behind], ids=lambda odd: odd.__name__.strip("_"))
def test_everything_works_however_odd(machine: Machine, odd: Callable[[Machine], None]) -> None:
    odd(machine)
    works(machine)


def test_a_vault_on_another_file_system_works_and_is_reported(plugin: Plugin) -> None:
    shared = Path("/dev/shm")  # noqa: S108 - a file system that most machines have beside their disk
    with short_folder() as folder:
        if not os.access(shared, os.W_OK) or shared.stat().st_dev == folder.stat().st_dev:
            pytest.skip("there is no second file system to write to at /dev/shm")
        with tempfile.TemporaryDirectory(dir=shared, prefix="memem-") as other:
            machine = Machine(folder, plugin, {"MEMEM_OBSIDIAN_VAULT": f"{other}/mý “vault” 🧠"})
            machine.begin()
            works(machine)
            with machine.server() as server:
                known = server.says("memory_search", query="RS256").split("1. ")[1][:8]
                server.says("memory_forget", id=known)  # which moves the note within its vault
            assert list(machine.vault.glob("memem/.forgotten/*.md"))
            assert "on a different file system" in machine.memem("doctor")
            machine.settle()


def test_ten_hooks_at_once_are_answered_as_one(machine: Machine) -> None:
    shutil.rmtree(machine.home / "cache")  # each of them finds that there is no index
    with ThreadPoolExecutor(14) as pool:
        events = [(event, number) for number in range(2) for event in EVENTS]
        told = list(pool.map(lambda each: (each[0], machine.hook(each[0], session_id=f"{each}")), events))
    machine.settle()
    assert [FACT in answer.context for event, answer in told if event == "UserPromptSubmit"] == [True] * 2
    # Two of them work at a time: on a busy machine a tool may not have waited so long, and then it is told.
    late = [line for line in machine.log.splitlines() if "PreToolUse: not done within" in line]
    assert sum(FACT in answer.context for event, answer in told if event == "PreToolUse") + len(late) == 2
    assert (learned(machine), machine.log.splitlines()) == (1, late)
    assert "HEALTHY" in machine.memem("--integrity-check")


PROMPTS = {
    "of a megabyte": PROMPT + " lorem" * 170_000,
    "longer than an engine takes": PROMPT + " lorem" * 850_000,
    "with NULs": PROMPT.replace(" ", "\0 \0"),
    "of half characters": PROMPT + " \ud83e",
}


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_prompts_of_any_size_and_content_are_answered(machine: Machine, warm: bool) -> None:
    def ask() -> None:
        for name, prompt in PROMPTS.items():
            assert FACT in machine.hook("UserPromptSubmit", prompt=prompt, session_id=name).context, name
        assert machine.hook("UserPromptSubmit", prompt="\0" * 1_000).told == {}

    if warm:
        with machine.server() as server:
            wait_until(lambda: is_warm(machine), lambda: "no engine")
            ask()
        assert server.complaint == ""
    else:
        ask()
    assert machine.log == ""


# --- streams and folders of the process ---------------------------------------------------------------------------


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full"])
def test_hooks_end_well_without_their_streams_and_write_into_no_other_file(machine: Machine, closed: str) -> None:
    for event in EVENTS:
        done = machine.run(event, ["/bin/sh", "-c", f"exec {command_of(event)} {closed}"])
        assert (done.returncode, done.stderr) == (0, b""), event
    machine.settle()
    assert ("expects a JSON object on standard input" in machine.log) == ("<&-" in closed)
    assert "HEALTHY" in machine.memem("--integrity-check")
    is_back(machine)


@pytest.mark.slow(keep=1)
def test_hooks_and_server_work_in_a_folder_that_is_gone(machine: Machine) -> None:
    gone = machine.folder / "gone"
    leave = 'rmdir "$PWD" && exec "$@"'
    for event in ("UserPromptSubmit", "SessionEnd", "SessionStart"):
        gone.mkdir()
        command = ["/bin/sh", "-c", leave, "sh", "/bin/sh", "-c", command_of(event)]
        done = machine.run(event, command, cwd=gone, session_id=event)
        assert done.returncode == 0
        assert "memem" not in done.stderr.decode()  # some shells say for themselves that they are nowhere
        assert (b"shop" in done.stdout) == (event != "SessionEnd")
    machine.settle()
    assert (learned(machine), machine.log) == (1, "")
    gone.mkdir()
    launch = str(machine.plugin.root / "hooks" / "memem")
    with machine.server("/bin/sh", "-c", leave, "sh", launch, "serve", cwd=gone, CLAUDE_PROJECT_DIR="") as server:
        assert FACT in server.says("memory_search", query="RS256", scope_id="all")


# --- homes --------------------------------------------------------------------------------------------------------


@contextmanager
def mounting(machine: Machine, how: str, *given: Path) -> Iterator[None]:
    """Everything on the machine sees what `how` mounts; nobody else does."""
    unshare, nsenter = shutil.which("unshare"), shutil.which("nsenter")
    if not unshare or not nsenter:
        pytest.skip("needs unshare and nsenter, to mount what only the test sees")
    mine = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = [unshare, *mine, "--mount", "sh", "-c", f"{how}\necho done && exec cat", "sh", *map(str, given)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as holder:  # type: ignore[call-overload]
        if holder.stdout.readline() != b"done\n":
            why = holder.communicate()[1].decode().strip()
            pytest.skip(f"cannot mount anything here: {why}")
        enter = ["--user", "--preserve-credentials"] if mine else []
        machine.prefix = [nsenter, f"--target={holder.pid}", *enter, "--mount", f"--wd={machine.project}"]
        yield
        machine.settle()
        machine.prefix = []
        holder.communicate()


READ_ONLY = 'set -e; mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"'
FULL = """set -e; cp -a "$1" "$1.kept"; mount -t tmpfs -o size=4m,mode=700 none "$1"; cp -a "$1.kept/." "$1"
cat /dev/zero >"$1/filler" 2>/dev/null || true"""


def cannot_be_used(machine: Machine, words: str) -> None:
    """A home that is of no use: said where somebody looks, and in nobody's way."""
    told = machine.hooks()
    assert words in told["SessionStart"].message
    assert "See /memem-doctor" in told["SessionStart"].message
    assert [told[event].told for event in ("UserPromptSubmit", "PreToolUse")] == [{}, {}]
    assert told["PermissionRequest"].is_allowed
    with machine.server() as server:
        assert words in server.fails("memory_search", query="RS256")
        server.fails("memory_save", content="Invoices are numbered per year.")
    assert words in machine.memem("status")
    doctor = machine.memem("doctor")
    assert "FAILING" in doctor
    assert words in doctor
    assert "begin anew" not in doctor  # to move the state away would mend nothing, and lose it


def test_read_only_home_is_reported(machine: Machine) -> None:
    with mounting(machine, READ_ONLY, machine.home):
        cannot_be_used(machine, "Cannot write to the index")
        with machine.server() as server:
            text = server.fails("memory_save", content="Invoices are numbered per year.")
            assert "Cannot write to the index" in text
        assert "The shared engine cannot start here, so each session's server does its own work" in server.complaint
    is_back(machine)


def test_read_only_home_and_vault_are_named_as_such(machine: Machine) -> None:
    with mounting(machine, READ_ONLY, machine.home.parent):
        status = machine.memem("status")
        assert "the file system is read-only; remount it read-write and try again" in status
        assert "none yet" not in status.partition("mining")[0]
        assert re.search(r"memories\s+\d+ \(the index cannot be used\)", status)
    is_back(machine)


def test_full_disk_of_the_home_is_reported(machine: Machine) -> None:
    with mounting(machine, FULL, machine.home):
        cannot_be_used(machine, "the disk is full")
        subprocess.run([*machine.prefix, "rm", str(machine.home / "filler")], check=True)
        is_back(machine)


def test_impossible_home_is_reported(machine: Machine) -> None:
    usual = machine.env["MEMEM_DIR"]
    (machine.folder / "file").touch()
    machine.env["MEMEM_DIR"] = str(machine.folder / "file" / "memem")
    cannot_be_used(machine, "part of the path is a file, not a folder")
    machine.env["MEMEM_DIR"] = usual
    is_back(machine)


def test_home_is_found_where_no_variable_names_it(machine: Machine) -> None:
    passwd = machine.folder / "passwd"
    passwd.write_text(f"me:x:{os.getuid()}:{os.getgid()}::{machine.user}:/bin/sh\n", encoding="utf-8")
    machine.home.rename(machine.user / ".memem")
    with mounting(machine, 'mount --bind "$1" /etc/passwd', passwd):
        del machine.env["HOME"], machine.env["MEMEM_DIR"]
        works(machine)
    assert list(machine.project.iterdir()) == []


@pytest.mark.slow(keep=3)
@pytest.mark.parametrize("given", [{}, {"MEMEM_DIR": "~/memory"}, {"MEMEM_DIR": "memory"}])
def test_the_client_and_the_settings_find_the_same_home_without_home(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    monkeypatch.delenv("HOME")
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert Path(client.home()) == settings.locate_home(given, Path.home())


# --- sockets ------------------------------------------------------------------------------------------------------


@pytest.fixture
def far(plugin: Plugin) -> Iterator[Machine]:
    """A machine whose home has a path that no socket can have."""
    with short_folder() as folder:
        machine = Machine(folder, plugin, {"MEMEM_DIR": str(folder / ("long" * 30) / "mý 記憶")})
        machine.begin()
        yield machine
        machine.settle()


def test_a_path_too_long_for_a_socket_is_answered_by_an_engine_all_the_same(far: Machine) -> None:
    with far.server() as server:
        wait_until(lambda: is_warm(far), lambda: "no engine")
        (far.home / "cache" / "index").rename(far.home / "cache" / "away")  # what is open there is still read
        assert FACT in far.hook("PreToolUse", session_id="warm").context
    assert server.complaint == ""
    works(far)
    assert f"too long for a socket, so the socket is in {far.runtime} instead" in far.memem("doctor")


@pytest.mark.parametrize(("runtime", "words"), [("missing/deep", "Cannot use"), ("open", "open to others")])
def test_without_a_folder_for_the_socket_every_server_works_by_itself(far: Machine, runtime: str, words: str) -> None:
    (far.folder / "open").mkdir()
    (far.folder / "open").chmod(0o777)
    far.env["XDG_RUNTIME_DIR"] = str(far.folder / runtime)
    assert FACT in far.hook("UserPromptSubmit").context
    with far.server() as server:
        assert FACT in server.says("memory_search", query="RS256")
    assert "The shared engine cannot start here, so each session's server does its own work" in server.complaint
    assert words in server.complaint
    assert "is not private, so sessions cannot share one memem process" in far.memem("doctor")


def test_a_hanging_leader_blocks_neither_hooks_nor_servers(machine: Machine) -> None:
    impatient = "import memem.serve, memem.serving; memem.serving.TOOL_SECONDS = 0.2; memem.serve.main([])"
    python = str(machine.plugin.data / "venv" / "bin" / "python")
    path = f"import sys; sys.path.insert(0, {str(machine.plugin.root)!r}); {impatient}"
    with machine.server() as leader:
        wait_until(lambda: is_warm(machine), lambda: "no engine")
        with machine.server(python, "-I", "-c", path) as follower:
            leader.process.send_signal(signal.SIGSTOP)
            with ThreadPoolExecutor(len(EVENTS)) as pool:
                told = dict(zip(EVENTS, pool.map(machine.hook, EVENTS), strict=True))
            # Two once the Stop hook's miner is done, which may take longer than the session waits for the engine.
            assert re.search(r"Memories: [12] for shop", told.pop("SessionStart").context)
            assert [answer.told for answer in told.values()] == [{}] * len(told)
            assert FACT in machine.hook("UserPromptSubmit", session_id="later").context  # which does not ask again
            assert machine.log.count(f"the engine did not answer within {client.ENGINE_SECONDS} s") == 4
            assert FACT in follower.says("memory_search", query="RS256")
            assert "Saved" in follower.says("memory_save", content="Invoices are numbered per year.")
        leader.process.send_signal(signal.SIGCONT)
        assert "Invoices" in leader.says("memory_search", query="invoices")
    assert (leader.complaint, follower.complaint) == ("", "")


# --- vaults -------------------------------------------------------------------------------------------------------


def test_read_only_vault_is_recalled_and_new_notes_wait(machine: Machine) -> None:
    with mounting(machine, READ_ONLY, machine.vault):
        told = machine.hooks()
        assert FACT in told["UserPromptSubmit"].context
        with machine.server() as server:
            assert FACT in server.says("memory_search", query="RS256")
            text = server.fails("memory_save", content="Invoices are numbered per year.")
            assert "the file system is read-only; remount it read-write and try again. Nothing was changed." in text
        assert "failed: Cannot write" in machine.memem("status")
        assert "you cannot write to" in machine.memem("doctor")
    is_back(machine)


def test_vault_on_a_full_disk_is_recalled_and_new_notes_wait(machine: Machine) -> None:
    with mounting(machine, FULL, machine.vault):
        told = machine.hooks()
        assert FACT in told["UserPromptSubmit"].context
        with machine.server() as server:
            text = server.fails("memory_save", content="Invoices are numbered per year.")
            assert "the disk is full; free some space and try again. Nothing was changed." in text
        assert "MB free on the disk that holds" in machine.memem("doctor")
        subprocess.run([*machine.prefix, "rm", str(machine.vault / "filler")], check=True)
        machine.hook("SessionEnd")
        machine.settle()
        assert "Prices are net" in machine.memem("search", "prices")


def test_unmounted_vault_is_reported_and_used_again_once_mounted(machine: Machine) -> None:
    away = machine.vault.with_name("away")
    with machine.server() as server:
        wait_until(lambda: is_warm(machine), lambda: "no engine")
        assert FACT in machine.hook("UserPromptSubmit").context
        machine.vault.rename(away)
        machine.vault.mkdir()  # where it was mounted
        told = machine.hook("SessionStart").message
        assert "is gone: its marker" in told
        assert "Mount or sync it" in told
        say_nothing(machine, "UserPromptSubmit", "PreToolUse", "PreCompact", "Stop", "SessionEnd")
        for tool, given in (("memory_search", {"query": "RS256"}), ("memory_save", {"content": "Prices are gross."})):
            assert "Mount or sync it" in server.fails(tool, **given)
        assert "UserPromptSubmit: The vault" in machine.log
        assert "Mount or sync it" in machine.memem("status")
        assert list(machine.vault.iterdir()) == []
        machine.vault.rmdir()
        away.rename(machine.vault)
        assert FACT in server.says("memory_search", query="RS256")
        is_back(machine)
    assert "Traceback" not in server.complaint


# --- damage -------------------------------------------------------------------------------------------------------


def damage(path: Path) -> None:
    """Another file in its place, as a disk, a sync or a person leaves it."""
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    new = path.with_name("new")
    new.write_bytes(JUNK)
    new.replace(path)


@contextmanager
def perhaps_warm(machine: Machine, warm: bool) -> Iterator[None]:
    if not warm:
        yield
        return
    with machine.server() as server:
        wait_until(lambda: is_warm(machine), lambda: "no engine")
        assert FACT in server.says("memory_search", query="RS256")
        assert FACT in machine.hook("UserPromptSubmit", session_id="before").context
        yield
        assert FACT in server.says("memory_search", query="RS256")


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_damaged_index_is_set_aside_and_rebuilt(machine: Machine, warm: bool) -> None:
    with perhaps_warm(machine, warm):
        damage(next((machine.home / "cache" / "index").glob("*/index.db")))
        told = machine.hooks() if not warm else {event: machine.hook(event) for event in EVENTS}
        assert "damaged" not in told["SessionStart"].message
        assert FACT in machine.hook("UserPromptSubmit", session_id="after").context
        assert list((machine.home / "cache" / "index").glob("*/index.db.damaged"))
        is_back(machine)


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_damaged_record_of_contexts_is_recreated(machine: Machine, warm: bool) -> None:
    machine.hook("UserPromptSubmit")
    with perhaps_warm(machine, warm):
        damage(machine.home / "state" / "contexts.db")
        told = {event: machine.hook(event) for event in EVENTS}
        assert FACT in told["UserPromptSubmit"].context
        assert FACT in told["PreToolUse"].context
        assert machine.log == ""
        is_back(machine)


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_damaged_state_stops_mining_and_nothing_else(machine: Machine, warm: bool) -> None:
    state = machine.home / "state" / "state.db"
    whole = state.read_bytes()
    with perhaps_warm(machine, warm):
        damage(state)
        told = {event: machine.hook(event) for event in EVENTS}
        assert FACT in told["UserPromptSubmit"].context
        ended = re.compile("(?:Stop|PreCompact|SessionEnd): The state")  # whichever found nobody at it
        wait_until(lambda: ended.search(machine.log), lambda: machine.log)
        assert "is damaged (file is not a database). `memem mine on` sets it aside" in machine.log
        assert "is damaged" in machine.memem("status")
        machine.settle()  # a miner that met the damage would hold the lock of the one that is asked next
        assert learned(machine) == 0
        state.write_bytes(whole)
        is_back(machine)


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_damaged_vectors_leave_keywords_and_are_reported(machine: Machine, weights_folder: Path, warm: bool) -> None:
    machine.env |= {"MEMEM_ENCODER": "minilm", "MEMEM_MODEL_DIR": str(weights_folder)}
    machine.memem("encode")
    (vectors,) = (machine.home / "cache" / "vectors").glob("*/vectors.db")
    with perhaps_warm(machine, warm):
        damage(vectors)
        told = {event: machine.hook(event) for event in EVENTS}
        assert FACT in told["UserPromptSubmit"].context
        machine.memem("reindex")
        machine.memem("encode")
        is_back(machine)
    assert "HEALTHY" in machine.memem("--integrity-check")


# --- what is not installed ----------------------------------------------------------------------------------------


def test_without_a_claude_rules_do_the_mining_and_this_is_reported(machine: Machine) -> None:
    machine.env["MEMEM_EXTRACTOR"] = "claude"
    works(machine)
    assert "`claude` is not on the PATH: mining uses rules, which find less" in machine.memem("doctor")


@pytest.mark.slow(keep=1)
def test_a_claude_that_is_not_logged_in_is_reported_and_turns_wait(machine: Machine) -> None:
    claude = machine.folder / "claude"
    failure = {"is_error": True, "type": "result", "subtype": "success", "result": "Not logged in · Please run /login"}
    fake_claude.install(claude, [{"result": failure, "exit": 1}])
    machine.env |= {"MEMEM_EXTRACTOR": "claude", "PATH": f"{claude}:{os.defpath}"}
    machine.says(f"{fact('one')}\n{AT_LENGTH}")
    told = machine.hooks()
    assert FACT in told["UserPromptSubmit"].context
    status = machine.memem("status")
    assert "The claude CLI has no usable account" in status
    assert "Run claude and type /login." in status
    fake_claude.set_steps(claude, [ECHO])
    machine.memem("mine", "--all")
    assert sum(fact("one")[10:] in text for text in machine.notes.values()) == 1


def test_without_weights_or_a_network_keywords_are_used_and_this_is_reported(machine: Machine) -> None:
    machine.env |= {"MEMEM_ENCODER": "minilm", "MEMEM_BACKGROUND": "1", "PIP_RETRIES": "0", **OFFLINE}
    told = machine.hooks()
    assert "recall uses keywords only so far" in told["SessionStart"].context
    assert FACT in told["UserPromptSubmit"].context
    with machine.server() as server:
        text = server.says("memory_search", query="RS256")
        assert FACT in text
        assert "keywords only: The weights of" in text
        assert "Run 'memem index model fetch'" in text
    assert "keywords only: The weights of" in machine.memem("status")
    machine.settle()
    assert "The last download failed: memem: The weights of" in machine.memem("doctor")
    assert machine.log == ""


@pytest.mark.slow(keep=1)
def test_choosing_no_encoder_is_not_a_problem(machine: Machine) -> None:
    assert "Recall" not in machine.hook("SessionStart").context
    assert "keywords only (MEMEM_ENCODER is none)" in machine.memem("status")


def test_an_invalid_setting_is_named_everywhere(machine: Machine) -> None:
    machine.env["MEMEM_INJECTION_MODE"] = "loud"
    words = "injection_mode is 'loud' in MEMEM_INJECTION_MODE: use one of auto, hybrid, tool."
    assert words in machine.hooks()["SessionStart"].message
    assert f"UserPromptSubmit: SettingsError: {words}" in machine.log
    with machine.server() as server:
        assert server.client.call("memory_search", query="x") == (words, True)
    assert words in server.complaint
    assert words in machine.memem("doctor")
    del machine.env["MEMEM_INJECTION_MODE"]
    is_back(machine)


# --- before there is an environment -------------------------------------------------------------------------------


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Project]:
    """The plugin on a machine that reaches no index of packages."""
    with project_in(tmp_path / "it's a “clone” 記憶", tmp_path) as project:
        (project.root / "requirements.lock").write_text("tiny==1.0 --hash=sha256:00\n", encoding="utf-8")
        project.uv("echo no network >&2; exit 2")
        project.env |= {"PIP_NO_INDEX": "1", "PIP_RETRIES": "0"}
        yield project


def test_without_a_network_the_set_up_fails_quietly_and_one_session_reports_it(fresh: Project) -> None:
    assert "being set up" in str(fresh.launch(*START).shown["systemMessage"])
    fresh.wait_for_set_up()
    assert "no network" in fresh.log
    assert "the package index cannot be reached" in str(fresh.launch(*START).shown["systemMessage"])
    for _ in range(2):
        fresh.forget_when_it_failed()
        for event in EVENTS:
            assert fresh.launch("hook", event) == Call(0, "", "")
        fresh.wait_for_set_up()


def test_unwritable_home_leaves_standard_error_empty_during_a_set_up(fresh: Project) -> None:
    (fresh.home / "file").touch()
    fresh.env["MEMEM_DIR"] = str(fresh.home / "file" / "memem")
    fresh.launch(*START)
    fresh.wait_for_set_up()
    call = fresh.launch(*START)
    assert (call.code, call.stderr) == (0, "")
    assert "the package index cannot be reached" in str(call.shown["systemMessage"])


def test_unwritable_environment_is_reported_to_the_user_of_the_plugin(fresh: Project, plugin: Plugin) -> None:
    fresh.venv.joinpath(".memem").mkdir(parents=True)
    machine = Machine(fresh.home / "machine", plugin)
    with mounting(machine, READ_ONLY, fresh.venv):
        done = subprocess.run(
            [*machine.prefix, str(fresh.root / "hooks" / "memem"), *START],
            env=fresh.env,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "memem could not be set up: cannot write" in done.stdout.decode()


def test_a_set_up_ignores_variables_of_another_python(fresh: Project) -> None:
    fresh.uv()
    fresh.env |= {"PYTHONHOME": "/nowhere", "PYTHONPATH": "/nowhere"}
    fresh.launch(*START)
    fresh.wait_for_set_up()
    assert "ready; installed with uv" in fresh.log
    assert fresh.launch("status").shown["argv"] == ["status"]
