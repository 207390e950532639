"""Name memem's commands so that the reader of a message can run them.

memem's messages name commands as backquoted command lines: `memem review`. Inside Claude Code a person types slash
commands instead, and in a terminal `memem` may not be on the PATH. `reachable` rewrites those names at the doors. It
is meant for memem's own sentences only: quoted memories are never passed to it.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

COMMAND = "memem"
# Text quoted as '…' or "…" is skipped: an id, a path, a property of a note.
_QUOTED = r"""(?<!\w)(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")(?!\w)"""
_NAMED = re.compile(rf"{_QUOTED}|`(?P<variables>(?:[A-Z_]+=\S+ )*)memem (?P<arguments>[a-z][^`]*)`")
_WITH_ARGUMENTS = {
    "review": "memem-review",
    "conflicts": "memem-conflicts",
    "undo": "memem-undo",
    "forget": "forget",
    "search": "recall",
    "save": "remember",
    "why": "memem-why",
}
_EXACT = {
    "status": "memem-status",
    "doctor": "memem-doctor",
    "mining on": "memem-mine",
    "mining off": "memem-mine off",
    "mine --history": "memem-mine-history",
}
_MARKS = ("CLAUDECODE", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA")


@dataclass(frozen=True, slots=True)
class Reach:
    """How readers of a text start memem: with slash commands, by its name, or by its full path."""

    in_claude_code: bool = False
    command: str = COMMAND


def reach_of(environ: Mapping[str, str], prefix: Path) -> Reach:
    """How readers of this process's output can start memem; `prefix` is its environment."""
    import shlex

    own = command_path(prefix)
    is_reachable = is_on_path(environ, prefix) or not own.is_file()
    return Reach(any(environ.get(mark) for mark in _MARKS), COMMAND if is_reachable else shlex.quote(str(own)))


def command_path(prefix: Path) -> Path:
    """The command of an environment. The plugin's environment keeps its place when the plugin is updated."""
    return prefix / "bin" / COMMAND


def is_on_path(environ: Mapping[str, str], prefix: Path) -> bool:
    """Whether `memem` on the PATH starts this installation."""
    import shutil  # prompts that name no command do not pay for it

    found = shutil.which(COMMAND, path=environ.get("PATH", ""))
    return found is not None and os.path.realpath(found) == os.path.realpath(command_path(prefix))


def reachable(text: str, reach: Reach) -> str:
    """Rewrite the commands in one of memem's own messages so that its reader can run them."""
    if "`" not in text or reach == Reach():
        return text
    return _NAMED.sub(lambda found: _named(found, reach), text)


def slash_command(arguments: str) -> str:
    """The slash command that does the same as `memem ARGUMENTS`; empty when there is none."""
    verb, _, rest = arguments.partition(" ")
    if arguments in _EXACT:
        return f"/{_EXACT[arguments]}"
    if verb not in _WITH_ARGUMENTS or "--" in rest:
        return ""
    return f"/{_WITH_ARGUMENTS[verb]} {rest}".rstrip()


def _named(found: re.Match[str], reach: Reach) -> str:
    variables, arguments = found["variables"], found["arguments"]
    if arguments is None:
        return found[0]
    slash = slash_command(arguments) if reach.in_claude_code and not variables else ""
    return f"`{slash or f'{variables}{reach.command} {arguments}'}`"
