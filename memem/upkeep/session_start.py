"""Background upkeep at the start of a session, so that later prompts are faster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import memem
from memem.core import background, files, locks, sqlite
from memem.core.dates import iso
from memem.core.errors import Busy, IndexDamaged, MememError, StateTooNew, StateUnusable, VaultMissing, WeightsMissing
from memem.core.home import using_home
from memem.core.settings import plugin_options, stored_plugin_options
from memem.inject import notices, statusline
from memem.mine import schedule
from memem.notes import forget, staleness
from memem.pages import conflicts
from memem.pages import refresh as pages_refresh
from memem.search import meaning, rebuild
from memem.search.encoders import model
from memem.search.graph import build
from memem.search.refresh import refresh
from memem.state import calls, contexts, inbox
from memem.state.events import CLOCK_LEAP, PRUNE_INTERVAL
from memem.upkeep import refine_playbook

if TYPE_CHECKING:
    from memem.workspace import Workspace

CONTEXT_DAYS = 30  # as long as Claude Code keeps a session
OWN_CALL_DAYS = 40  # longer than Claude Code keeps the session of a model call
RECEIPT_DAYS = 365
RETRY_SECONDS = 6 * 3_600  # after a failure, mostly without a network
SET_UP_SECONDS = 900


def after_session_start(ws: Workspace, folder: Path | None = None) -> None:
    """Run every part, unless another process does so already. Raises MememError with all that went wrong."""
    if folder:
        statusline.note_session(ws, folder)  # also while another session's upkeep is still running
    with using_home(ws.home):
        files.make_private_folder(ws.home.upkeep_lock.parent)
        with suppress(Busy), locks.holding(ws.home.upkeep_lock, 0):
            _run_parts(ws, folder)


def _run_parts(ws: Workspace, folder: Path | None) -> None:
    problems: list[str] = []
    for part in (
        store_plugin_options,
        lambda ws: _note_folder(ws, folder),
        renew_environment,
        _check_contexts,
        _update_index,
        lambda ws: staleness.check(ws, folder),
        build.refresh_in_background,
        lambda ws: _write_pages(ws, folder),
        *(
            (_prune_contexts, _prune_mining, lambda ws: ws.folders.prune(), forget.drop_old, rebuild.drop_unused)
            if _may_prune(ws)
            else ()
        ),
        rebuild.remove_leftovers,
        statusline.update,
        schedule.sweep,
        check_recall,
    ):
        try:
            part(ws)
        except VaultMissing:
            continue  # doctor reports it
        except (MememError, OSError, subprocess.SubprocessError) as problem:
            problems.append(str(problem))
    if problems:
        raise MememError(" ".join(dict.fromkeys(problems)))


def _note_folder(ws: Workspace, folder: Path | None) -> None:
    """Record folders of earlier sessions, and whether this one refuses mining, in case it disappears."""
    ws.folders.complete()
    if folder:
        ws.folders.explain_refusal(folder)


def _may_prune(ws: Workspace) -> bool:
    """Whether enough time has passed to prune, but not so much that the clock may be wrong."""
    mark, now = ws.home.upkeep_mark, ws.clock().timestamp()
    last, interval = files.stamp(mark), PRUNE_INTERVAL.total_seconds()
    since = interval if last is None else abs(now - last[0] / 1e9)
    if since < interval:
        return False
    with using_home(ws.home):
        files.make_private_folder(mark.parent)
        mark.touch(files.PRIVATE_FILE)
        os.utime(mark, (now, now))
    return since < CLOCK_LEAP.total_seconds()


def check_recall(ws: Workspace) -> None:
    if model.model_state(ws).problem:
        text = "memem finds memories by keywords only: the embedding model cannot be used."
        notices.raise_problem(ws, "recall", f"{text} See /memem-doctor.")
    else:
        notices.clear_problem(ws, "recall")


def store_plugin_options(ws: Workspace) -> None:
    """Store the plugin's options for commands and miners: Claude Code passes them to hooks and servers only."""
    options = plugin_options(ws.environ)
    if "CLAUDE_PLUGIN_ROOT" not in ws.environ or options == stored_plugin_options(ws.home):
        return
    with using_home(ws.home):
        files.make_private_folder(ws.home.state)
        data = json.dumps(options, indent=1).encode()
        files.write_atomic(ws.home.plugin_options, data, fsync=ws.settings.fsync, mode=files.PRIVATE_FILE)


def renew_environment(ws: Workspace, root: Path = Path(memem.__file__).parents[1], prefix: str = sys.prefix) -> bool:
    """Set up the environment again after an update of the plugin."""
    script, marks = root / "bootstrap.sh", Path(prefix, ".memem")
    tried = marks / "renewal"
    if not script.is_file() or not marks.is_dir() or is_current(root, marks) or _is_recent(ws, tried):
        return False
    tried.touch()  # first, so that other sessions do not try too
    os.utime(tried, (ws.clock().timestamp(),) * 2)
    env, null = dict(ws.environ), subprocess.DEVNULL  # the script has a log of its own
    command = ["bash", str(script), "shell", "true"]
    done = subprocess.run(command, env=env, stdin=null, stdout=null, stderr=null, timeout=SET_UP_SECONDS, check=False)
    if done.returncode == 0:
        tried.unlink(missing_ok=True)
    return True


def is_current(root: Path, ours: Path) -> bool:
    """Whether bootstrap.sh completed the environment for this folder and its lock file."""
    try:
        built = (ours / "built").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        same = (ours / "requirements.lock").read_bytes() == (root / "requirements.lock").read_bytes()
    except OSError:
        return False
    return same and len(built) == 3 and Path(built[2]) == root and not (ours / "changing").exists()


def _check_contexts(ws: Workspace) -> None:
    try:
        if ws.contexts.is_current():
            contexts.check(ws.home.contexts_file, thorough=True)
    except StateTooNew:
        raise
    except StateUnusable:
        ws.close()
        sqlite.set_aside(ws.home.contexts_file)


def _prune_contexts(ws: Workspace) -> None:
    now = ws.clock()
    ws.contexts.prune((now - timedelta(days=CONTEXT_DAYS)).timestamp())
    ws.contexts.receipts.prune((now - timedelta(days=RECEIPT_DAYS)).timestamp())


def _prune_mining(ws: Workspace) -> None:
    now = ws.clock()
    inbox.drop_old(ws.home.inbox, now.timestamp())
    if ws.home.state_file.exists():
        ws.state.ledger.prune((now - timedelta(days=calls.KEPT_DAYS)).date().isoformat())
        before = now - timedelta(days=OWN_CALL_DAYS)
        ws.state.sessions.prune(before.timestamp(), iso(before))
        ws.state.deferred.prune()


def _update_index(ws: Workspace) -> None:
    if ws.index_file.exists():
        _check_daily(ws, "checked", ws.index_file, ws.index.check)
    refresh(ws)
    conflicts.write_page(ws)
    if ws.settings.encoder == "none" or not ws.settings.background:
        return
    try:
        vectors = ws.vectors()
        _check_daily(ws, "checked_vectors", ws.vectors_folder() / "vectors.db", vectors.check)
        if meaning.update_pending(ws) > meaning.MAX_INLINE_PASSAGES:
            meaning.encode_in_background(ws)
    except WeightsMissing:
        if not _is_recent(ws, ws.home.fetch_log):
            background.start_memem(background.FETCH_MODEL, ws.environ_for_children(), ws.home.fetch_log)
    except MememError:
        return  # doctor reports it


def _write_pages(ws: Workspace, folder: Path | None) -> None:
    """Write the pages, and let the model shorten the playbook of the session's project."""
    pages_refresh.write_pages(ws)
    if folder and refine_playbook.refine(ws, folder):
        pages_refresh.write_pages(ws)  # shorter lines leave room for others


def _check_daily(ws: Workspace, mark: str, database: Path, check: Callable[[], None]) -> None:
    """Once a day, set a damaged database aside; the next refresh rebuilds it."""
    if ws.index.meta(mark) == ws.today():
        return
    try:
        check()
        ws.index.set_meta(mark, ws.today())
    except IndexDamaged:
        ws.close()
        sqlite.set_aside(database)


def _is_recent(ws: Workspace, mark: Path) -> bool:
    return mark.exists() and abs(ws.clock().timestamp() - mark.stat().st_mtime) < RETRY_SECONDS
