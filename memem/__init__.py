"""memem: a memory for Claude Code that its user owns.

How a memory travels:

    transcript -> mine -> safety + compare -> notes -> vault -> search -> inject -> the prompt

Each package implements one capability and imports only those above it:

    core/         values, errors, settings, paths, files, locks, SQLite, the clock, the project resolver
    state/        what cannot be rebuilt: events and undo, cursors, journal, ledger, receipts
    transcript/   parses Claude Code sessions
    safety/       redacts credentials, holds back orders to the model, quotes what is shown
    compare/      how two statements relate: same, more specific, contradictory
    vault/        memories as Markdown notes, changed in place
    search/       the index, encoders, ranking, graph; find, get, list, timeline; derived from the vault
    model/        asks a model through the user's own `claude`
    notes/        save, reconcile, edit, forget, review, conflicts, staleness, history, undo
    pages/        Home, project pages, playbooks and the graph's picture, for a person in Obsidian
    inject/       what is put before Claude or the user: briefing, slices, receipts, notices
    mine/         learns from sessions: when, which turns, what to ask, how answers become notes
    transfer/     import and export
    upkeep/       status, doctor, purge, curation, settings, uninstall
    workspace.py  one opened memory home; the only reader of the environment
    doors/        Python (api/), command line (cli/), hooks (hook/), MCP server (mcp/), warm engine (engine/)
    serving.py    MCP server and engine in one process
    serve.py      the server's entry point, which answers before the rest is loaded, or even installed

Where to start: `notes/save.py` writes, `search/find.py` reads, `inject/prompt.py` decides what a prompt gets and
`mine/session.py` learns. `docs/architecture.md` walks four requests through the code, function by function.
"""

TYPE_CHECKING = False  # as type checkers know it; to import typing costs a hook as much as to start

__version__ = "0.12.0"

__all__ = ["Entry", "Hit", "Hits", "MememError", "Memory", "MemoryHome", "Mined", "Slice", "open"]

if TYPE_CHECKING:
    from memem.core.errors import MememError
    from memem.core.memory import Entry, Hit, Hits, Memory, Slice
    from memem.doors.api.home import MemoryHome
    from memem.doors.api.home import open_home as open
    from memem.mine.ask import Mined

_MODULES = {
    "MememError": "memem.core.errors",
    **dict.fromkeys(("Memory", "Entry", "Hit", "Hits", "Slice"), "memem.core.memory"),
    "Mined": "memem.mine.ask",
    **dict.fromkeys(("MemoryHome", "open"), "memem.doors.api.home"),
}


def __getattr__(name: str) -> object:
    # Lazy, so that a hook that needs one module does not pay for all of them.
    if name not in _MODULES:
        raise AttributeError(f"module 'memem' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), "open_home" if name == "open" else name)
