"""The command line: one file per verb. Only the verb that is called is imported."""

import os
import sys
from importlib import import_module

import typer

from memem import __version__
from memem.core.errors import MememError, SettingsError

VERBS = (
    "save",
    "search",
    "get",
    "list",
    "slice",
    "edit",
    "forget",
    "status",
    "check",
    "reindex",
    "config",
    "serve",
    "demo",
)


def build(verbs: tuple[str, ...] = VERBS) -> typer.Typer:
    """The application with these verbs; each module `verb_<name>` holds a function `run`."""
    app = typer.Typer(
        name="memem",
        help="A memory for Claude Code that its user owns: markdown notes in an Obsidian vault.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for verb in verbs:
        app.command(verb)(import_module(f"memem.doors.cli.verb_{verb}").run)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"memem {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
    ),
) -> None:
    del version  # the callback has used it


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 failed with a message, 2 wrong usage, 130 interrupted."""
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = tuple(verb for verb in VERBS if arguments[:1] == [verb])
    try:
        build(chosen or VERBS)(arguments, prog_name="memem", standalone_mode=True)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    except MememError as error:
        typer.echo(f"memem: {error}", err=True)
        return 1
    except BrokenPipeError:
        # The reader has seen enough (`memem list | head`). Python would complain once more while closing stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if _debugging():
            raise
        typer.echo(f"memem: unexpected {type(error).__name__}: {error}. MEMEM_DEBUG=1 shows where.", err=True)
        return 1
    return 0


def _debugging() -> bool:
    from memem.workspace import open_workspace

    try:
        return open_workspace(actor="cli").settings.debug
    except SettingsError:
        return True
