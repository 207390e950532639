"""Fuzz targets that use a whole memory home: hooks, tools, imports, mining, state, commands.

Nothing here leaves the folder that it is given: paths in commands that would are passed over, no program is found, and
nothing is fetched.
"""

import contextlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench import fuzz_seeds as seeds
from bench.fuzz_targets import Opened, hold
from bench.hunting import Target, Try
from memem.core.dates import iso
from memem.core.errors import MememError
from memem.doors import cli
from memem.doors.hook import answers, command
from memem.doors.mcp import protocol, tools
from memem.inject import session_start
from memem.mine import schedule
from memem.model import claude as model_claude
from memem.notes import history, save
from memem.notes import undo as notes_undo
from memem.search.transcripts import consent
from memem.state import note_records
from memem.transfer import import_
from memem.upkeep import status
from memem.vault import opening
from memem.workspace import Workspace, open_workspace

REFRESH = 400
"""After so many inputs a home is begun anew: what it has been told fills it."""
_VERBS = frozenset(each.partition(b"\0")[0].decode() for each in seeds.commands()) - {"doctor"}
_WRITES_TO_A_PATH = ("export", "import", "graph", "config", "mine")


def _environ(folder: Path) -> dict[str, str]:
    return {
        **{"HOME": str(folder / "user"), "PATH": str(folder / "none"), "MEMEM_DIR": str(folder / "home")},
        **{"MEMEM_OBSIDIAN_VAULT": str(folder / "vault"), "MEMEM_FSYNC": "0", "MEMEM_ENCODER": "none"},
        **{"MEMEM_BACKGROUND": "0", "MEMEM_TOOLS": "full", "MEMEM_PRETOOL_GATING": "1", "MEMEM_EXTRACTOR": "rules"},
        **{"CLAUDE_CONFIG_DIR": str(folder / "user" / ".claude"), "MEMEM_LOCK_SECONDS": "1"},
    }


def _open(folder: Path) -> Workspace:
    """A home with two memories in it, and mining switched on."""
    for name in ("home", "vault", "user"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "user" / "work" / "src").mkdir(parents=True)
    (folder / "user" / "work" / "src" / "auth.py").write_text("def sign(): ...\n")
    ws = open_workspace(actor="test", environ=_environ(folder))
    save.save(ws, "Tokens are signed with RS256 in `src/auth.py`.", title="Tokens", project="work")
    save.save(ws, "Deploys happen on Fridays only.", title="Deploys", project="general")
    consent.opt_in(ws)
    return ws


def _homely(make: Callable[[Workspace, Path], Try]) -> Opened:
    """For what needs a home; it works in a folder of its own."""

    @contextmanager
    def opened(folder: Path) -> Iterator[Try]:
        before, count, held = Path.cwd(), 0, list[tuple[Workspace, Try]]()

        def attempt(data: bytes) -> None:
            nonlocal count
            if count % REFRESH == 0:
                for ws, _ in held:
                    ws.close()
                ws = _open(folder)
                held[:] = [(ws, make(ws, folder))]
                os.chdir(folder / "user" / "work")
            count += 1
            held[0][1](data)

        try:
            yield attempt
        finally:
            os.chdir(before)
            for ws, _ in held:
                ws.close()

    return opened


# --- hooks and tools ------------------------------------------------------------------------------------------------


def _hook(ws: Workspace, _: Path) -> Try:
    """An event, a space, and the envelope."""

    def attempt(data: bytes) -> None:
        name, _, envelope = data.partition(b" ")
        event = name.decode("utf-8", "replace")
        if event in command.WORK:
            with suppress(MememError):
                command.work(ws, event, envelope)
        told = answers.answer(ws, event, envelope, look=True)
        hold(not told or isinstance(json.loads(told), dict), "a hook prints nothing, or an object of JSON")

    return attempt


def _mcp(ws: Workspace, folder: Path) -> Try:
    """A tool's name, a space, and the arguments; also as a line on standard input."""

    def attempt(data: bytes) -> None:
        with suppress(protocol.Invalid):
            for message in protocol.parse(data):
                protocol.check(message)
        name, _, raw = data.partition(b" ")
        try:
            given = json.loads(raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return
        if isinstance(given, dict):
            where = folder / "user" / "work"
            tools.call(ws, name.decode("utf-8", "replace"), given, cwd=where, session="s1").encode("utf-8", "replace")

    return attempt


# --- imports, mining ------------------------------------------------------------------------------------------------

_IMPORTED = ("conversations.json", "CLAUDE.md", "note.md", "claude-mem.db", "export.json", "chats.zip")


def _import(ws: Workspace, folder: Path) -> Try:
    place = folder / "user" / "theirs"
    place.mkdir(exist_ok=True)

    def attempt(data: bytes) -> None:
        """The last byte says what the file is called, so that every format meets every reader."""
        path = place / _IMPORTED[data[-1] % len(_IMPORTED) if data else 0]
        path.write_bytes(data)
        try:
            for dry in (True, False):
                json.dumps(repr(import_.import_notes(ws, [path], dry_run=dry))).encode()
        finally:
            path.unlink()

    return attempt


def _mine(ws: Workspace, folder: Path) -> Try:
    path = folder / "user" / ".claude" / "projects" / "-work" / "s1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)

    def attempt(data: bytes) -> None:
        path.write_bytes(data)
        schedule.mine_file(ws, path)

    return attempt


# --- state ----------------------------------------------------------------------------------------------------------


def _state(ws: Workspace, folder: Path) -> Try:
    """Each file of the state in turn holds the input; all who read one still answer, or say what is wrong with it."""
    home, vault = ws.home, ws.store.paths
    undo = home.undo / ".pruned.json"
    flags = folder / "flags.json"
    plugins = folder / "user" / ".claude" / "plugins" / "installed_plugins.json"
    plugins.parent.mkdir(parents=True, exist_ok=True)
    for each in (home.undo, home.notices):
        each.mkdir(parents=True, exist_ok=True)
    places = (
        *(home.events_file, home.stale_file, home.vanished_file, home.notices / "news-1"),
        *(undo, flags, plugins),
        *(home.known_vaults_file, home.opt_in, home.prompt_key, home.capabilities_file, home.plugin_options),
        *(vault.marker, vault.tombstones),
    )
    kept = {path: path.read_bytes() if path.is_file() else None for path in places}
    cwd = folder / "user" / "work"

    def attempt(data: bytes) -> None:
        path = places[sum(data[:8]) % len(places)]
        path.write_bytes(data)
        try:
            for work in (
                lambda: history.log(ws),
                lambda: notes_undo.undo(ws, dry_run=True),
                lambda: note_records.read_stale(home.stale_file, "v"),
                lambda: note_records.read_vanished(home.vanished_file, "v"),
                lambda: session_start.brief(ws, cwd=cwd, session="s1", source="startup"),
                lambda: model_claude.Flags("/bin/sh", flags, lambda: "").load(),
                lambda: opening.ensure_vault(ws),
                lambda: consent.opted_in(ws),
                lambda: status.status(ws),
                ws.tombstones.load,
                lambda: save.save(ws, f"At {iso(ws.clock())} all was well.", project="work"),
                lambda: answers.answer(ws, "UserPromptSubmit", seeds.envelopes()[1].partition(b" ")[2]),
                lambda: command.work(ws, "Stop", seeds.envelopes()[4].partition(b" ")[2]),
            ):
                with suppress(MememError):
                    work()
        finally:
            for each, before in kept.items():
                each.unlink(missing_ok=True)
                if before is not None:
                    each.write_bytes(before)

    return attempt


# --- commands -------------------------------------------------------------------------------------------------------


def _command(_: Workspace, folder: Path) -> Try:
    """Arguments parted by NUL. What comes out is an exit code, and on standard error no word of an unexpected error."""

    def attempt(data: bytes) -> None:
        arguments = data.decode("utf-8", "surrogateescape").split("\0")
        verb = arguments[0]
        strays = any((each.startswith(("/", "~", "-")) is False and ".." in each) or "/" in each for each in arguments)
        if verb not in _VERBS or (verb in _WRITES_TO_A_PATH and strays):
            return
        said, aside = io.StringIO(), io.StringIO()
        with _environment(folder), contextlib.redirect_stdout(said), contextlib.redirect_stderr(aside):
            code = cli.main(arguments)
        hold(code in (0, 1, 2), f"a command ends with {code}")
        hold("unexpected " not in aside.getvalue(), aside.getvalue()[:300])

    return attempt


@contextmanager
def _environment(folder: Path) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update({**_environ(folder), "MEMEM_DEBUG": "1", "NO_COLOR": "1"})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _imported() -> list[bytes]:
    kinds = (seeds.chats, seeds.instructions, seeds.note_texts, seeds.databases, seeds.exported, seeds.archives)
    return [each + bytes([place]) for place, some in enumerate(kinds) for each in some()]


HOMELY = (
    Target("hook", _homely(_hook), seeds.envelopes),
    Target("mcp", _homely(_mcp), lambda: [*seeds.calls(), *seeds.messages()]),
    Target("import", _homely(_import), _imported),
    Target("mining", _homely(_mine), seeds.transcripts),
    Target("state", _homely(_state), seeds.states),
    Target(
        "command", _homely(_command), seeds.commands, tuple(each for c in seeds.commands() for each in c.split(b"\0"))
    ),
)
