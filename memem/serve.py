"""`memem serve`: the MCP server's entry point, run by its path under `python -I -S`.

It answers the client at once and loads memem behind that; without an environment it waits for `bootstrap.sh` to make
one. Standard library and Python 3.6 syntax only; see `doors/mcp/protocol.py`.
"""

import os
import signal
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if __name__ == "__main__":  # run by its path: the package is not on the path yet
    sys.path.insert(0, ROOT)

from memem.doors.mcp.backends import Calls, Waiting, read_state
from memem.doors.mcp.loop import Backend, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from memem.doors.mcp.backends import Service


def main(arguments: "list[str]") -> int:
    """Serve on standard input and output.

    `--waiting VENV`: there is no environment yet. `--initialized`, `--state FD`: another process served the client.
    """
    venv = _value(arguments, "--waiting")
    state = _value(arguments, "--state")
    setting = tools_setting(os.environ)
    if venv:
        backend: Backend = Waiting(ROOT, venv)
        setting = setting or "default"
    else:
        backend = Calls(load, describe)
    source, sink = take_streams()
    loop = Loop(source, sink, backend, setting)
    if state:
        is_initialized, data = read_state(int(state))
        loop.resume(data, is_initialized)
    elif "--initialized" in arguments:
        loop.resume(b"", True)
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: loop.stop())
    loop.run()
    return 0


def load() -> "Service":
    """Load memem and begin to answer hooks. Takes a while."""
    if sys.flags.no_site:
        import site

        site.main()  # the environment's packages
    from memem.serving import Serving

    serving = Serving()
    serving.engine.start()
    return serving


def describe(problem: BaseException) -> str:
    """Explain to the client why memem could not be loaded, or why a call failed unexpectedly."""
    if not isinstance(problem, ImportError):
        try:
            from memem.serving import describe_error

            return describe_error(problem)
        except ImportError as missing:
            problem = missing
    if not os.path.exists(os.path.join(ROOT, "bootstrap.sh")):
        return "memem is no longer in {}: it was updated or removed. Restart Claude Code.".format(ROOT)
    command = repair_command(ROOT, sys.prefix)
    return "memem's environment is damaged ({}). Run {} to repair it, then try again.".format(problem, command)


def repair_command(root: str, prefix: str) -> str:
    """The same command as `upkeep/checks/machine.py:set_up` names, which may not be importable."""
    import shlex

    is_plugin = os.path.basename(prefix) == "venv" and not os.path.exists(os.path.join(root, ".git"))
    data = "CLAUDE_PLUGIN_DATA={} ".format(shlex.quote(os.path.dirname(prefix))) if is_plugin else ""
    return "`{}{} shell memem doctor`".format(data, shlex.quote(os.path.join(root, "bootstrap.sh")))


def tools_setting(environ: "Mapping[str, str]") -> "str | None":
    """Return which tools to offer, `default` or `full`; None if that may be in config.toml, which is loaded later."""
    chosen = environ.get("MEMEM_TOOLS")
    if chosen:
        return "full" if chosen == "full" else "default"
    home = environ.get("MEMEM_DIR") or "~/.memem"
    user = environ.get("HOME") or os.path.expanduser("~")
    path = os.path.join(user, home[2:].lstrip("/") if home.startswith("~/") else home, "config.toml")
    try:
        with open(path, "rb") as file:
            return None if b"tools" in file.read() else "default"
    except OSError:
        return "default"


def take_streams() -> "tuple[int, int]":
    """Take standard input and output for the protocol alone: anything else printed goes to standard error."""
    while True:  # a closed stream would be mistaken for the next file that is opened
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > 2:
            break
    source, sink = os.dup(0), os.dup(1)
    os.dup2(descriptor, 0)
    os.dup2(2, 1)
    os.close(descriptor)
    return source, sink


def _value(arguments: "list[str]", option: str) -> str:
    return arguments[arguments.index(option) + 1] if option in arguments else ""


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # at once, whatever the threads are doing
