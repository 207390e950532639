"""memem: a memory for Claude Code that its user owns.

How a memory travels, and where to look:

    transcript -> extract -> gate -> vault -> index -> recall -> (the prompt)
       read        ask       judge   keep     find     present

    core/       values, errors, settings, paths, files, locks, SQLite, processes, the project resolver, the clock
    transcript/ sessions of Claude Code: who said what, what is new in them
    extract/    what is worth keeping: asked of a model through the user's own CLI, or found by rules
    gate/       secrets and invisible characters out, size limits, what one statement is to another, what was forgotten
    vault/      markdown notes with Obsidian properties, changed in place, never reformatted
    index/      SQLite: a row per note and full text over them; vectors of their passages, and the encoders that make
                them; the edges between memories; derived, can be deleted at any time
    recall/     ranking, the decision to speak, the budget, the slice as text
    jobs/       the event log and the undo store; the state database; locks of miners; work that is detached
    sources/    files of other programs, read into what could be imported
    workspace.py  one opened memory home: the only reader of the environment
    flows/      what memem does: remember, reconcile, retrieve, forget, undo, import, export, mine, reindex, encode,
                brief, doctor
    doors/      the Python API (api/), the command line (cli/), Claude Code's hooks (hook/), the MCP server
                (mcp_server/) and the engine that keeps it all warm (engine/)
    serving.py  the last two in one process
    serve.py    the MCP server's entry point, which answers before the rest is loaded, or even installed

Stages (gate ... jobs) import only `core`; flows join stages; doors call flows. `docs/architecture.md` tells why.
"""

TYPE_CHECKING = False  # as type checkers know it; to import typing costs a hook as much as to start

__version__ = "0.8.1"

__all__ = ["Entry", "Hit", "Hits", "MememError", "Memory", "MemoryHome", "Mined", "Slice", "open"]

if TYPE_CHECKING:
    from memem.core.errors import MememError
    from memem.core.memory import Entry, Hit, Hits, Memory, Slice
    from memem.doors.api import MemoryHome
    from memem.doors.api import open_home as open
    from memem.mine.ask import Mined

_EXPORTS = {
    "MememError": ("memem.core.errors", "MememError"),
    "Memory": ("memem.core.memory", "Memory"),
    "Entry": ("memem.core.memory", "Entry"),
    "Hit": ("memem.core.memory", "Hit"),
    "Hits": ("memem.core.memory", "Hits"),
    "Slice": ("memem.core.memory", "Slice"),
    "Mined": ("memem.mine.ask", "Mined"),
    "MemoryHome": ("memem.doors.api", "MemoryHome"),
    "open": ("memem.doors.api", "open_home"),
}


def __getattr__(name: str) -> object:
    # Lazy, so that a hook that needs one stage does not pay for all of them.
    if name not in _EXPORTS:
        raise AttributeError(f"module 'memem' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _EXPORTS[name]
    return getattr(import_module(module), attribute)
