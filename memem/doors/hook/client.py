"""What Claude Code starts at every event, through `hooks/memem`: asks the warm engine, or does the work itself.

It is run by its path under `-I -S`, and on its fast ways it imports nothing but what Python has loaded or built in: to
import `json` or `socket` would cost a prompt as much again as to start Python. So it reads no settings and no JSON. An
engine is sent the event as it came, with the variables that settings depend on; work that nobody waits for is handed to
a process of its own. Whatever goes wrong, the hook says nothing and ends well, and `hooks.log` tells.
"""

import os
import sys
from time import monotonic, strftime, time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket

PROTOCOL = 1
ENGINE_SECONDS = 3.0
"""How long the engine is waited for: its answer takes hundredths of a second, but the first one loads the model."""
LATE_SECONDS = 60.0
"""Then it is not asked for so long: it may hang on a disk. One that was only slow takes its mark away."""
SECONDS = {"SessionStart": 8.0, "UserPromptSubmit": 8.0}
"""How long a hook may take in all, short of the deadline in hooks.json, on which Claude Code would end it unsaid."""
OTHER_SECONDS = 4.0
LATER = ("Stop", "PreCompact", "SessionEnd")
"""Events that only begin something."""
JUDGING = ("Stop", "SessionEnd")
"""Those of them after which it is known whether what was shown was used."""
LONGEST_NAME = 100
"""A socket's name has room for 104 bytes on some systems."""
LONGEST_LOG = 1_000_000
OWN_FOLDER = "memem-calls"
"""Where our own calls of a model run; as `core/home.py` has it."""
LOCK_DESCRIPTOR = 3
"""The number of the lock in the process that it is handed to; as `state/inbox.py` has it."""
POLITE = 10
"""What nobody waits for gives way to prompts."""
AT_ONCE = 2
"""So many hooks do the work themselves at once: more would all be late, where some could have been in time."""
LONGEST_REPLY = 1_100_000
"""In bytes: a little more than an engine may answer."""
OUTCOMES = ("done", "other", "failed")
OWN_TOOL = b'"mcp__plugin_memem_memem__'  # whether Claude may use one is decided whatever the settings are
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""Whoever could put a link into our folder would have us write elsewhere."""
ROOT = __file__.rpartition("/memem/")[0]
_TOLD = ("MEMEM_", "CLAUDE_PLUGIN_OPTION_", "CLAUDE_PLUGIN_ROOT=", "HOME=", "USERPROFILE=")
_OF_SESSION = ("CLAUDE_CODE_ENTRYPOINT=", "CLAUDE_PROJECT_DIR=")


def main(arguments: list[str]) -> None:
    """`hook EVENT`, with the envelope on standard input."""
    if os.environ.get("MEMEM_HOOKS_OFF") or _is_in_own_folder():
        return  # within a call of our own
    event = arguments[1]
    try:
        _fill_streams()
        _end_in_time(event)
        envelope = _read(0)
        if event in LATER:
            if _is_to_be_done(event):
                begin_later(event, envelope)
        elif event != "PreToolUse" or OWN_TOOL in envelope or _wants_gating():
            try:
                _write(1, _asked(event, envelope))
            finally:
                if event == "SessionStart":  # also after a failure, of which it may mend the cause
                    begin_later(event, envelope)
    except Exception as problem:  # noqa: BLE001 - the outermost function of a door: a hook fails open
        log(event, f"{type(problem).__name__}: {problem}")


def _asked(event: str, envelope: bytes) -> bytes:
    outcome, answer = ask_engine(event, envelope)
    if outcome == "done":
        return answer
    if outcome == "late":
        log(event, f"the engine gave no answer within {ENGINE_SECONDS} s")
        os.close(os.open(_late_mark(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NO_LINK, 0o600))
        os.utime(_late_mark())
        return _done_here(event, envelope) if event == "SessionStart" else b""  # a prompt has waited long enough
    if outcome == "failed":
        log(event, answer.decode("utf-8", "replace"))
        return b""
    return _done_here(event, envelope)


def ask_engine(event: str, envelope: bytes) -> tuple[str, bytes]:
    """What the warm engine answers: `done`, `failed` or `other`; `late` and `none` are of our own making."""
    path = address(f"{home()}/run")
    if _was_late():
        return "none", b""
    try:
        if not _is_ours(path):
            return "none", b""
        return _exchange(path, _request(event, envelope))
    except TimeoutError:
        return "late", b""
    except (OSError, ValueError, AttributeError):  # nobody there, not our protocol, no such sockets
        return "none", b""


def _is_ours(path: str) -> bool:
    """Whether a socket is ours, in a folder of ours where nobody else can put one; as `engine/protocol.py` has it."""
    folder = os.lstat(os.path.dirname(path))
    is_private = folder.st_uid == os.getuid() and folder.st_mode & 0o170022 == 0o040000
    return is_private and os.lstat(path).st_uid == os.getuid()


def _late_mark() -> str:
    return f"{home()}/run/engine-late"


def _was_late() -> bool:
    try:
        return abs(time() - os.stat(_late_mark()).st_mtime) < LATE_SECONDS
    except OSError:
        return False


def _request(event: str, envelope: bytes) -> bytes:
    facts = [f"root={ROOT}", f"cwd={os.getcwd()}", f"seconds={ENGINE_SECONDS}"]
    facts += [pair for pair in map("=".join, os.environ.items()) if pair.startswith(_TOLD + _OF_SESSION)]
    told = b"".join(os.fsencode(fact) + b"\0" for fact in facts)
    return b"memem %d hook %s %d %d\n" % (PROTOCOL, event.encode(), len(told), len(envelope)) + told + envelope


def _exchange(path: str, request: bytes) -> tuple[str, bytes]:
    import _socket  # the part of socket that is needed, in a sixth of the time

    until = monotonic() + ENGINE_SECONDS
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        reply, portion = b"", b"."
        _within(line, until).connect(path)
        if hasattr(_socket, "SO_PEERCRED"):  # Linux tells who is at the other end: process, user, group
            told = line.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
            if int.from_bytes(told[4:8], sys.byteorder) != os.getuid():
                raise ValueError("somebody else's")
        _within(line, until).sendall(request)
        while portion and len(reply) <= LONGEST_REPLY:
            portion = _within(line, until).recv(65_536)
            reply += portion
    finally:
        line.close()
    head, _, answer = reply.partition(b"\n")
    name, protocol, outcome, length = head.decode("ascii").split(" ")
    if (name, int(protocol), int(length)) != ("memem", PROTOCOL, len(answer)) or outcome not in OUTCOMES:
        raise ValueError("not an answer of ours")
    return outcome, answer


def _within(line: "_socket.socket", until: float) -> "_socket.socket":
    """The socket, for the time that is left."""
    line.settimeout(max(0.001, until - monotonic()))
    return line


def _done_here(event: str, envelope: bytes) -> bytes:
    """With no engine up: the same work, in this process, which is over before there is anything to collect."""
    import gc

    gc.disable()
    try:  # noqa: SIM105 - contextlib would have to be imported
        _locked(f"{home()}/run/cold-{os.getpid() % AT_ONCE}.lock", wait=True)
    except OSError:
        pass  # a home that cannot be written, or is not there yet
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    environment = os.path.dirname(os.path.dirname(sys.executable))
    sys.path[:0] = [ROOT, f"{environment}/lib/{version}/site-packages"]
    from memem.doors.hook.answers import answer_here

    return answer_here(event, envelope)


def begin_later(event: str, envelope: bytes) -> None:
    """Have the rest done by a process that outlives this one, and holds nothing of it open."""
    folder = f"{home()}/run/later"
    for each in (home(), os.path.dirname(folder), folder):
        os.makedirs(each, 0o700, exist_ok=True)
    whose, command = event, [sys.executable, "-I", f"{ROOT}/memem/__main__.py", "hook", event, "--later"]
    given = os.open(new := f"{folder}/hook-{os.getpid()}.json", os.O_RDWR | os.O_CREAT | os.O_TRUNC | NO_LINK, 0o600)
    _write(given, envelope)
    os.lseek(given, 0, os.SEEK_SET)
    if event in LATER:
        whose = _settings_name()
        command.append(f"--letters={whose}")
        os.rename(new, f"{folder}/{whose}-{_session(envelope)}-{event}.json")  # in the place of one nobody took up
    else:
        os.unlink(new)
    held, told = _locked(f"{folder}/{whose}.lock"), _opened_log()
    if held is None or os.fork():  # one is at it already, and looks once more before it leaves; or is from now on
        return
    try:
        os.setsid()
        _give_way()
        for target, source in enumerate((given, told, told, held)):
            os.dup2(source, target)
        os.set_inheritable(LOCK_DESCRIPTOR, True)  # which it is not where it had that number already
        os.chdir(os.path.dirname(folder))
        os.execv(command[0], command)
    finally:
        os._exit(127)


def _give_way() -> None:
    """Linux shares its time among sessions first, and this process has one of its own: that has to give way too."""
    os.nice(POLITE)
    try:
        _write(group := os.open("/proc/self/autogroup", os.O_WRONLY), b"%d" % POLITE)
        os.close(group)
    except OSError:
        return  # another system


def _locked(path: str, *, wait: bool = False) -> int | None:
    """The lock, until this process ends; None when another has it. Where there are no locks everybody is let in."""
    import fcntl

    held = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(held)
        return None
    except OSError:
        pass
    return held


def _settings_name() -> str:
    """Names what the settings of this hook come from."""
    from zlib import crc32

    told = sorted(pair for pair in map("=".join, os.environ.items()) if pair.startswith(_TOLD))
    return f"{crc32(os.fsencode(chr(0).join([ROOT, *told]))):08x}"


def _session(envelope: bytes) -> str:
    """The session's id, as far as it can be a part of a name; within a text the quotes would be escaped."""
    name = envelope.partition(b'"session_id"')[2].partition(b'"')[2].partition(b'"')[0]
    is_one = len(name) <= 64 and name.replace(b"-", b"").isalnum()
    return name.decode("ascii") if is_one else f"{os.getpid()}"


def _is_in_own_folder() -> bool:
    """Also where the mark was lost on the way: some pass on no variables that they do not know."""
    try:
        return os.getcwd().endswith(f"/{OWN_FOLDER}")
    except OSError:
        return False


def home() -> str:
    """The memory home, as `core/settings.py` finds it."""
    place = os.environ.get("MEMEM_DIR") or "~/.memem"
    user = os.environ.get("HOME") or os.environ.get("USERPROFILE") or os.path.expanduser("~")
    return os.path.normpath(os.path.join(user, place[2:].lstrip("/") if place.startswith("~/") else place))


def address(folder: str) -> str:
    """Where an engine listens; as `core/home.py` has it."""
    path = f"{folder}/engine.sock"
    if len(os.fsencode(path)) <= LONGEST_NAME:
        return path
    from zlib import crc32

    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/memem-{os.getuid()}"  # noqa: S108 - checked by its owner
    return f"{runtime}/memem-{crc32(os.fsencode(path)):08x}.sock"


def log(event: str, what: str) -> None:
    """A line for `memem doctor`."""
    line = f"{strftime('%Y-%m-%dT%H:%M:%S%z')} {event}: {_safe(' '.join(what.split()))[:500]}\n"
    try:
        os.makedirs(home(), 0o700, exist_ok=True)
        file = _opened_log()
        _write(file, line.encode("utf-8", "replace"))
        os.close(file)
    except OSError:
        return  # a home that cannot be written: doctor says so


def _safe(what: str) -> str:
    """Without secrets, wherever it can quote one: what went wrong in memem itself. The client's own words have none."""
    if "memem" not in sys.modules:
        return what
    from memem.safety.gate import clean_line

    return clean_line(what)


def _opened_log() -> int:
    """One that has grown too long is begun anew, also by a process that gets no further than to say why it fails."""
    try:
        file = os.open(f"{home()}/hooks.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)  # what an event begins is begun all the same
    if os.fstat(file).st_size > LONGEST_LOG:
        os.ftruncate(file, 0)
    return file


def _is_to_be_done(event: str) -> bool:
    """Whether sessions are mined, or what this one was shown waits to be judged; as `core/home.py` has it."""
    state = f"{home()}/state"
    return os.path.exists(f"{state}/.miner-opted-in") or (
        event in JUDGING and os.path.exists(f"{state}/shown-unjudged")
    )


def _wants_gating() -> bool:
    """Whether somebody may have switched it on: the settings themselves are read by whoever answers."""
    if chosen := os.environ.get("MEMEM_PRETOOL_GATING"):
        return chosen != "0"
    try:
        with open(f"{home()}/config.toml", "rb") as file:
            return b"pretool_gating" in file.read()
    except OSError:
        return False


def _end_in_time(event: str) -> None:
    """Whatever this hook gets stuck in, its prompt does not wait for it."""
    import _signal  # type: ignore[import-not-found]  # signal itself makes enumerations of its numbers first

    seconds = SECONDS.get(event, OTHER_SECONDS)

    def give_up(*_: object) -> None:
        log(event, f"not done within {seconds} s")
        os._exit(0)

    if hasattr(_signal, "setitimer"):
        _signal.signal(_signal.SIGALRM, give_up)
        _signal.setitimer(_signal.ITIMER_REAL, seconds)


def _fill_streams() -> None:
    """Where a standard stream was closed, the next file to be opened would be taken for it."""
    while (file := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(file)


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
    os._exit(0)  # at once: what Python would still tidy up ends with the process
