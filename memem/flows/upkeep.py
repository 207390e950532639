"""What is put in order in the background when a session begins: nobody waits for it, and the next prompt is the quicker
for it."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import memem
from memem.core import files, integrity
from memem.core.errors import MememError, StateUnusable, VaultMissing, WeightsMissing
from memem.core.settings import plugin_options
from memem.flows import meaning, mining
from memem.flows.opening import using_home
from memem.flows.reindex import refresh
from memem.jobs import contexts, detach
from memem.workspace import Workspace, stored_plugin_options

CONTEXT_DAYS = 30
"""Claude Code keeps a session for so long; what it was shown is worth no more than it is."""
FETCH_AGAIN_SECONDS = 6 * 3_600
SET_UP_SECONDS = 900


def after_session_start(ws: Workspace) -> None:
    """All of it, whatever goes wrong with a part; that is tried again when the next session begins.

    Raises the first of the errors, once the rest is done.
    """
    problems: list[Exception] = []
    for part in (store_plugin_options, renew_environment, _tidy_contexts, _look, mining.sweep):
        try:
            part(ws)
        except (MememError, OSError, subprocess.SubprocessError) as problem:
            problems.append(problem)
    if problems:
        raise problems[0]


def store_plugin_options(ws: Workspace) -> None:
    """Claude Code tells the plugin's options to hooks alone; the server, commands and miners find them here."""
    told = plugin_options(ws.environ)
    if "CLAUDE_PLUGIN_ROOT" not in ws.environ or told == stored_plugin_options(ws.home):
        return
    with using_home(ws):
        files.make_private_folder(ws.home.state)
        data = json.dumps(told, indent=1).encode()
        files.write_atomic(ws.home.plugin_options, data, fsync=ws.settings.fsync, mode=files.PRIVATE_FILE)


def renew_environment(ws: Workspace, root: Path = Path(memem.__file__).parents[1], prefix: str = sys.prefix) -> bool:
    """After an update of the plugin its environment is that of the version before: have it set up anew."""
    script, ours = root / "bootstrap.sh", Path(prefix, ".memem")
    if not script.is_file() or not ours.is_dir() or is_current(root, ours):
        return False
    subprocess.run(
        ["bash", script, "shell", "true"],
        env=dict(ws.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # it has a log of its own
        stderr=subprocess.DEVNULL,
        timeout=SET_UP_SECONDS,
        check=False,
    )
    return True


def is_current(root: Path, ours: Path) -> bool:
    """Whether an environment of bootstrap.sh's was made for this folder, from the lock file that is in it."""
    try:
        built = (ours / "built").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        same = (ours / "requirements.lock").read_bytes() == (root / "requirements.lock").read_bytes()
    except OSError:
        return False
    return same and len(built) == 3 and Path(built[2]) == root


def _tidy_contexts(ws: Workspace) -> None:
    """Sessions that are gone are forgotten; of a record that is damaged within, all of them."""
    try:
        ws.contexts.prune(ws.clock().timestamp() - CONTEXT_DAYS * 86_400)
        integrity.check(ws.home.contexts_file, contexts.CONTEXTS, thorough=True)
    except StateUnusable:
        ws.close()
        contexts.drop(ws.home.contexts_file)


def _look(ws: Workspace) -> None:
    """At the vault, when there is one."""
    with suppress(VaultMissing):
        refresh(ws)
        _see_to_meaning(ws)


def _see_to_meaning(ws: Workspace) -> None:
    """Vectors for what has none; and the weights, should they not have come when memem was set up."""
    if ws.settings.encoder == "none" or not ws.settings.background:
        return
    try:
        if meaning.look_up(ws) > meaning.AT_ONCE:
            meaning.begin_in_background(ws)
    except WeightsMissing:
        _fetch(ws)
    except MememError:
        return  # doctor says what is wrong with it


def _fetch(ws: Workspace) -> None:
    log = ws.home.fetch_log
    if log.exists() and abs(ws.clock().timestamp() - log.stat().st_mtime) < FETCH_AGAIN_SECONDS:
        return
    detach.start(["model", "fetch"], ws.environ_for_children(), log)
