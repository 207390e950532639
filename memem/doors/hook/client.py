"""The hook that Claude Code runs at every event, through `hooks/memem`: asks the warm engine, or does the work itself.

It is run by its path under `-I -S`, and its fast paths import only modules that Python has loaded or built in: `json`
or `socket` would double the time of a prompt. So the engine gets the event unparsed, with the variables of settings.
Hooks fail silently and log the reason to `hooks.log`.
"""

import os
import sys
from time import monotonic, strftime, time

PROTOCOL = 1
ENGINE_SECONDS = 3.0  # an answer takes hundredths of a second, but the first one loads the model
LATE_SECONDS = 60.0  # how long a late engine is not asked, unless it removes its mark
SECONDS = {"SessionStart": 8.0, "UserPromptSubmit": 8.0}  # just below the limits in hooks.json
OTHER_SECONDS = 4.0
LATER = ("Stop", "PreCompact", "SessionEnd")  # events with background work only
JUDGING = ("Stop", "SessionEnd")  # events after which the use of shown memories can be judged
LONGEST_NAME = 100  # some systems limit a socket's path to 104 bytes
LONGEST_LOG = 1_000_000
OWN_FOLDER = "memem-calls"  # where memem's own model calls run; as in `core/home.py`
LOCK_DESCRIPTOR = 3  # under which a process inherits the lock; as in `state/inbox.py`
NICENESS = 10  # of background work
MAX_COLD_HOOKS = 2  # hooks doing their own work at once; with more, all would be late
LONGEST_REPLY = 1_100_000  # bytes, a little more than an engine may send
OWN_TOOL = b'"mcp__plugin_memem_memem__'  # permission for these is decided whatever the settings
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # never write through a link that somebody put into our folder
ROOT = __file__.rpartition("/memem/")[0]
_SETTINGS_VARIABLES = ("MEMEM_", "CLAUDE_PLUGIN_OPTION_", "CLAUDE_PLUGIN_ROOT=", "HOME=", "USERPROFILE=")
_SESSION_VARIABLES = ("CLAUDE_CODE_ENTRYPOINT=", "CLAUDE_PROJECT_DIR=")


def main(arguments: list[str]) -> None:
    """`hook EVENT`, with the envelope on standard input."""
    if os.environ.get("MEMEM_HOOKS_OFF") or _is_in_own_folder():
        return  # within one of memem's own calls
    event = arguments[1]
    try:
        while (file := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass  # the number of a closed stream would be given to the next file
        os.close(file)
        _end_in_time(event)
        envelope = _read(0)
        if event in LATER:
            state, is_judging = f"{home()}/state", event in JUDGING
            if os.path.exists(f"{state}/.miner-opted-in") or (is_judging and os.path.exists(f"{state}/shown-unjudged")):
                start_later(event, envelope)
        elif event != "PreToolUse" or OWN_TOOL in envelope or _wants_gating():
            try:
                _write(1, _answer(event, envelope))
            finally:
                if event == "SessionStart":  # after a failure too, since it may repair the cause
                    start_later(event, envelope)
    except Exception as problem:  # noqa: BLE001 - the outermost function of a door: a hook fails open
        log(event, f"{type(problem).__name__}: {problem}")


def _answer(event: str, envelope: bytes) -> bytes:
    outcome, answer = ask_engine(event, envelope)
    if outcome == "done":
        return answer
    if outcome == "late":
        log(event, f"the engine did not answer within {ENGINE_SECONDS} s")
        os.close(os.open(_late_mark(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NO_LINK, 0o600))
        os.utime(_late_mark())
        return _answer_here(event, envelope) if event == "SessionStart" else b""  # a prompt has waited long enough
    if outcome == "failed":
        log(event, answer.decode("utf-8", "replace"))
        return b""
    return _answer_here(event, envelope)


def ask_engine(event: str, envelope: bytes) -> tuple[str, bytes]:
    """Return the engine's outcome (`done`, `failed`, `other`) and answer; `late` or `none` without one."""
    path = address(f"{home()}/run")
    try:
        was_late = abs(time() - os.stat(_late_mark()).st_mtime) < LATE_SECONDS
    except OSError:
        was_late = False
    try:
        if was_late or not _is_ours(path):
            return "none", b""
        return _exchange(path, _request(event, envelope))
    except TimeoutError:
        return "late", b""
    except (OSError, ValueError, AttributeError):  # no engine, another protocol, or no such sockets
        return "none", b""


def _is_ours(path: str) -> bool:
    """Whether a socket is ours, in a folder that only we can write to; as in `engine/protocol.py`."""
    folder = os.lstat(os.path.dirname(path))
    is_private = folder.st_uid == os.getuid() and folder.st_mode & 0o170022 == 0o040000
    return is_private and os.lstat(path).st_uid == os.getuid()


def _late_mark() -> str:
    return f"{home()}/run/engine-late"


def _request(event: str, envelope: bytes) -> bytes:
    facts = [f"root={ROOT}", f"cwd={os.getcwd()}", f"seconds={ENGINE_SECONDS}"]
    facts += [
        pair for pair in map("=".join, os.environ.items()) if pair.startswith(_SETTINGS_VARIABLES + _SESSION_VARIABLES)
    ]
    data = b"".join(os.fsencode(fact) + b"\0" for fact in facts)
    return b"memem %d hook %s %d %d\n" % (PROTOCOL, event.encode(), len(data), len(envelope)) + data + envelope


def _exchange(path: str, request: bytes) -> tuple[str, bytes]:
    import _socket  # imports in a sixth of the time of socket

    until = monotonic() + ENGINE_SECONDS
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        reply, portion = b"", b"."
        line.settimeout(ENGINE_SECONDS)
        line.connect(path)
        if hasattr(_socket, "SO_PEERCRED"):  # on Linux: process, user, group of the peer
            credentials = line.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
            if int.from_bytes(credentials[4:8], sys.byteorder) != os.getuid():
                raise ValueError("another user's socket")
        line.settimeout(max(0.001, until - monotonic()))
        line.sendall(request)
        while portion and len(reply) <= LONGEST_REPLY:
            line.settimeout(max(0.001, until - monotonic()))
            portion = line.recv(65_536)
            reply += portion
    finally:
        line.close()
    head, _, answer = reply.partition(b"\n")
    name, protocol, outcome, length = head.decode("ascii").split(" ")
    is_ours = (name, int(protocol), int(length)) == ("memem", PROTOCOL, len(answer))
    if not is_ours or outcome not in ("done", "other", "failed"):
        raise ValueError("not a reply from memem")
    return outcome, answer


def _answer_here(event: str, envelope: bytes) -> bytes:
    """Answer without an engine, in this process; it ends before garbage matters."""
    import gc

    gc.disable()
    try:  # noqa: SIM105 - contextlib would have to be imported
        _lock(f"{home()}/run/cold-{os.getpid() % MAX_COLD_HOOKS}.lock", wait=True)
    except OSError:
        pass  # the home cannot be written, or does not exist yet
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    environment = os.path.dirname(os.path.dirname(sys.executable))
    sys.path[:0] = [ROOT, f"{environment}/lib/{version}/site-packages"]
    from memem.doors.hook.answers import answer_here

    return answer_here(event, envelope)


def start_later(event: str, envelope: bytes) -> None:
    """Start a detached process for background work, unless one is running."""
    folder = f"{home()}/run/later"
    for each in (home(), os.path.dirname(folder), folder):
        os.makedirs(each, 0o700, exist_ok=True)
    name, command = event, [sys.executable, "-I", f"{ROOT}/memem/__main__.py", "hook", event, "--later"]
    new = f"{folder}/hook-{os.getpid()}.json"
    event_file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC | NO_LINK, 0o600)
    _write(event_file, envelope)
    os.lseek(event_file, 0, os.SEEK_SET)
    if event in LATER:
        name = settings_digest()
        command.append(f"--inbox={name}")
        os.rename(new, f"{folder}/{name}-{_session(envelope)}-{event}.json")  # replaces an unprocessed one
    else:
        os.unlink(new)
    lock, log_file = _lock(f"{folder}/{name}.lock"), _open_log()
    if lock is None or os.fork():  # a running process checks again before it ends
        return
    try:
        os.setsid()
        os.nice(NICENESS)
        try:  # noqa: SIM105 - contextlib would have to be imported
            # Linux schedules sessions first, so lower the session's priority too. The file is closed by `execv`.
            _write(os.open("/proc/self/autogroup", os.O_WRONLY), b"%d" % NICENESS)
        except OSError:
            pass  # another system
        for target, source in enumerate((event_file, log_file, log_file, lock)):
            os.dup2(source, target)
        os.set_inheritable(LOCK_DESCRIPTOR, True)  # dup2 onto the same number does not do that
        os.chdir(os.path.dirname(folder))
        os.execv(command[0], command)
    finally:
        os._exit(127)


def settings_digest() -> str:
    from zlib import crc32

    pairs = sorted(pair for pair in map("=".join, os.environ.items()) if pair.startswith(_SETTINGS_VARIABLES))
    return f"{crc32(os.fsencode(chr(0).join([ROOT, *pairs]))):08x}"


def _lock(path: str, *, wait: bool = False) -> int | None:
    """Lock a file until this process ends; None if another has the lock. File systems without locks let all in."""
    import fcntl

    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(lock)
        return None
    except OSError:
        pass
    return lock


def _session(envelope: bytes) -> str:
    """The session's id if it can be part of a file name. Within a text its quotes would be escaped."""
    name = envelope.partition(b'"session_id"')[2].partition(b'"')[2].partition(b'"')[0]
    is_valid = len(name) <= 64 and name.replace(b"-", b"").isalnum()
    return name.decode("ascii") if is_valid else f"{os.getpid()}"


def _is_in_own_folder() -> bool:
    """A second mark of memem's own calls, in case MEMEM_HOOKS_OFF is not passed on."""
    try:
        return os.getcwd().endswith(f"/{OWN_FOLDER}")
    except OSError:
        return False


def home() -> str:
    """The memory home, as in `core/settings.py`."""
    place = os.environ.get("MEMEM_DIR") or "~/.memem"
    user = os.environ.get("HOME") or os.environ.get("USERPROFILE") or os.path.expanduser("~")
    return os.path.normpath(os.path.join(user, place[2:].lstrip("/") if place.startswith("~/") else place))


def address(folder: str) -> str:
    """Where an engine listens, as in `core/home.py`."""
    path = f"{folder}/engine.sock"
    if len(os.fsencode(path)) <= LONGEST_NAME:
        return path
    from zlib import crc32

    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/memem-{os.getuid()}"  # noqa: S108 - checked by its owner
    return f"{runtime}/memem-{crc32(os.fsencode(path)):08x}.sock"


def log(event: str, message: str) -> None:
    """Write a line for `memem doctor`."""
    message = " ".join(message.split())
    if "memem" in sys.modules:  # its errors may quote secrets; the client's own messages have none
        from memem.safety.gate import clean_line

        message = clean_line(message)
    line = f"{strftime('%Y-%m-%dT%H:%M:%S%z')} {event}: {message[:500]}\n"
    try:
        os.makedirs(home(), 0o700, exist_ok=True)
        file = _open_log()
        _write(file, line.encode("utf-8", "replace"))
        os.close(file)
    except OSError:
        return  # the home cannot be written, which `memem doctor` reports


def _open_log() -> int:
    try:
        file = os.open(f"{home()}/hooks.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)  # background work starts all the same
    if os.fstat(file).st_size > LONGEST_LOG:
        os.ftruncate(file, 0)
    return file


def _wants_gating() -> bool:
    """Whether the setting may be on; the process that answers reads the settings."""
    if chosen := os.environ.get("MEMEM_PRETOOL_GATING"):
        return chosen != "0"
    try:
        with open(f"{home()}/config.toml", "rb") as file:
            return b"pretool_gating" in file.read()
    except OSError:
        return False


def _end_in_time(event: str) -> None:
    import _signal  # type: ignore[import-not-found]  # cheaper to import than signal

    seconds = SECONDS.get(event, OTHER_SECONDS)

    def give_up(*_: object) -> None:
        log(event, f"not finished within {seconds} s")
        os._exit(0)

    if hasattr(_signal, "setitimer"):
        _signal.signal(_signal.SIGALRM, give_up)
        _signal.setitimer(_signal.ITIMER_REAL, seconds)


def _read(file: int) -> bytes:
    data = b""
    while portion := os.read(file, 1_048_576):
        data += portion
    return data


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # skip Python's clean-up
