"""The command line: one file per verb, in the folder of its group, with its `arguments` and its `run`.

argparse rather than a richer library: those take longer to import than a whole search takes. Only the module of the
verb that is called is imported.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from keyword import iskeyword
from types import ModuleType

from memem import __version__
from memem.core import files
from memem.core.errors import IndexDamaged, MememError
from memem.doors.cli import output
from memem.workspace import open_workspace

INTEGRITY_CHECK = "--integrity-check"
Outside = Mapping[str, Callable[[argparse.Namespace], int]]

VERBS = {
    "save": "keep a memory as a note in the vault",
    "search": "find memories, in all projects unless one is named",
    "get": "show memories whole",
    "list": "list memories, the last changed first",
    "slice": "show what Claude would be told for a prompt: often nothing",
    "edit": "change a memory; without options, open its note in $EDITOR",
    "forget": "take a memory out of recall; its note moves to memem/.forgotten/ in the vault",
    "review": "list what waits for you to say whether it is to be remembered; accept or reject it",
    "log": "list what was done to the vault, by run or command, the last first; or the events of one",
    "undo": "take back one mining run, import or command: the last one, or the one named",
    "import": "bring memories into the vault: markdown, CLAUDE.md, conversations, claude-mem, an export of memem",
    "export": "write everything that is in the vault to a folder or a JSON file, from which it can be imported again",
    "mine": "learn from sessions of Claude Code: one, all that are behind, or the whole history",
    "mining": "switch mining in the background on or off",
    "why": "explain the last decision to show something or nothing; or where a memory comes from, and was shown",
    "transcript": "find what was said in sessions of Claude Code since mining was switched on",
    "conflicts": "list memories that contradict each other, with the evidence of both sides",
    "resolve": "end a conflict: keep one memory over the other, or say that both hold",
    "curate": "suggest what would tidy the vault: merges, splits, what to archive; nothing changes without --apply",
    "pages": "write the pages for Obsidian now: memem/Home.md, one for each project, and playbooks",
    "timeline": "show a memory in its time: what it replaced, what replaced it, what changed around it",
    "graph": "how memories hang together: make the graph anew, look through it, count it, or walk it from one memory",
    "status": "show where the memory is and what is in it",
    "doctor": "go through everything memem needs and say what is missing; exit 1 when something is broken",
    "check": "list notes that cannot be read, share an id or need attention; exit 1 when one is serious",
    "reindex": "throw the index away and read every note again; also the remedy for a damaged index",
    "encode": "compute the vectors that are missing, on all cores; what is done is kept when it is interrupted",
    "model": "show the embedding model, or fetch its weights",
    "config": "show all settings, one setting, or change one",
    "link": "make `memem` work in every terminal, by a link in ~/.local/bin; `--check` says whether it does",
    "statusline": "print the line for Claude Code's status line; `--show-setting` prints the setting that shows it",
    "uninstall": "list what memem has put on this machine, and remove it; your vault stays, unless --vault is given",
    "serve": "serve MCP over standard input and output; Claude Code starts it",
    "hook": "answer an event of Claude Code, whose JSON is on standard input; the plugin calls it",
    "demo": "save example memories into a fresh vault, then search it and show two prompts",
}


GROUPS = {
    "find": ("search", "get", "list", "slice", "timeline", "why", "transcript", "graph"),
    "notes": ("save", "edit", "forget", "review", "log", "undo", "conflicts", "resolve", "curate"),
    "mine": ("mine", "mining"),
    "move": ("import", "export"),
}
"""The folder of each verb; the other verbs are in `home`."""


def module_of(verb: str) -> ModuleType:
    """Import the module of a verb."""
    group = next((folder for folder, verbs in GROUPS.items() if verb in verbs), "home")
    name = f"{verb}_" if iskeyword(verb) else verb
    return import_module(f"memem.doors.cli.{group}.{name}")


def parser_for(verb: str) -> argparse.ArgumentParser:
    """The parser, with the arguments of this verb alone: the others are only named."""
    parser = argparse.ArgumentParser(
        prog="memem",
        description="A memory for Claude Code that its user owns: markdown notes in an Obsidian vault.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"memem {__version__}")
    parser.add_argument(INTEGRITY_CHECK, action="store_true", help="check the databases alone; exit 1 on damage")
    # To be told the name spares argparse a look at the terminal, and us the modules that takes.
    verbs = parser.add_subparsers(prog="memem", dest="verb", metavar="VERB", required=True)
    for name, meaning in VERBS.items():
        described = f"{meaning[0].upper()}{meaning[1:]}."
        own = verbs.add_parser(name, help=meaning, description=described, allow_abbrev=False)
        if name == verb:
            module_of(name).arguments(own)
    return parser


def main(arguments: list[str] | None = None, outside: Outside | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 failed with a message, 2 wrong usage, 130 interrupted.

    The verbs in `outside` lead to other doors.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    # Bytes that are not text in the user's encoding arrive as surrogates, which can be neither stored nor shown.
    arguments = [argument.encode("utf-8", "replace").decode() for argument in arguments]
    if arguments[:1] == [INTEGRITY_CHECK]:
        arguments = ["doctor", *arguments]
    try:
        options = parser_for(arguments[0] if arguments else "").parse_args(arguments or ["--help"])
        run = (outside or {}).get(options.verb) or module_of(options.verb).run
        code = _run(run, options)
        output.flush()
    except SystemExit as leaving:  # argparse has spoken
        return int(leaving.code or 0)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has seen enough: `memem list | head`
        output.abandon()
        return 0
    except Exception as error:
        # The outermost function of a door: whatever went wrong is one line that says what to do.
        if not isinstance(error, MememError) and _debugging():
            raise
        from memem.safety.gate import clean_line

        output.aside(f"memem: {clean_line(_explained(error))}")
        output.abandon()
        return 1
    return code


def _run(run: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Whoever comes upon a damaged index has set it aside: once more, and it is made anew."""
    try:
        return run(options)
    except IndexDamaged:
        return run(options)


def _explained(error: Exception) -> str:
    if isinstance(error, MememError):
        return str(error)
    if isinstance(error, OSError):
        return f"cannot use {error.filename or 'the output'}: {files.reason(error)}."
    return f"unexpected {type(error).__name__}: {error}. MEMEM_DEBUG=1 shows where."


def _debugging() -> bool:
    try:
        return open_workspace(actor="cli").settings.debug
    except Exception:  # noqa: BLE001 - whatever is wrong, the first error is the one to show
        return False
