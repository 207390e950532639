"""What is put in order in the background when a session begins: nobody waits for it, and the next prompt is the quicker
for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from functools import partial
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
from memem.state import contexts, inbox, ledger
from memem.state.events import CLOCK_LEAP, PRUNE_INTERVAL
from memem.upkeep import refine_playbook

if TYPE_CHECKING:
    from memem.workspace import Workspace


CONTEXT_DAYS = 30
"""Claude Code keeps a session for so long; what it was shown is worth no more than it is."""
OWN_CALL_DAYS = 40
"""A little longer than Claude Code keeps the session of a call of ours, should it keep one."""
RECEIPT_DAYS = 365
"""What a memory was good for is of interest for longer, and is little."""
AGAIN_SECONDS = 6 * 3_600
"""What has failed, mostly for want of a network, is not tried again sooner."""
SET_UP_SECONDS = 900
_CHECKED, _CHECKED_VECTORS = "checked", "checked_vectors"
"""The day on which each was last gone through."""


def after_session_start(ws: Workspace, folder: Path | None = None) -> None:
    """All of it, whatever goes wrong with a part; that is tried again when the next session begins.

    Whoever comes while another is at it leaves it to that one. `folder` is the session's, where that is known. Raises
    MememError with all that went wrong.
    """
    if folder:
        statusline.note_session(ws, folder)  # also while another session's upkeep is still running
    with using_home(ws.home):
        files.make_private_folder(ws.home.upkeep_lock.parent)
        with suppress(Busy), locks.holding(ws.home.upkeep_lock, 0):
            _all_of_it(ws, folder)


def _all_of_it(ws: Workspace, folder: Path | None) -> None:
    problems: list[str] = []
    steady = _is_steady(ws)
    for part in (
        store_plugin_options,
        renew_environment,
        _tidy_contexts,
        _look,
        partial(_look_after_what_is_stale, folder=folder),
        _follow_with_the_graph,
        partial(_write_pages, folder=folder),
        *((_prune_contexts, _tidy_state, forget.drop_old, rebuild.drop_unused) if steady else ()),
        rebuild.remove_leftovers,
        statusline.update,
        schedule.sweep,
        check_recall,
    ):
        try:
            part(ws)
        except (MememError, OSError, subprocess.SubprocessError) as problem:
            problems.append(str(problem))
    if problems:
        raise MememError(" ".join(dict.fromkeys(problems)))


def _is_steady(ws: Workspace) -> bool:
    """Whether time goes on as it did, and some of it went by. After a leap nothing is too old yet: it may be the clock
    that is wrong, also when the next session begins at once."""
    mark, now = ws.home.upkeep_mark, ws.clock().timestamp()
    last = files.stamp(mark)
    since = PRUNE_INTERVAL.total_seconds() if last is None else abs(now - last[0] / 1e9)
    if since < PRUNE_INTERVAL.total_seconds():
        return False
    with using_home(ws.home):
        files.make_private_folder(mark.parent)
        mark.touch(files.PRIVATE_FILE)
        os.utime(mark, (now, now))
    return since < CLOCK_LEAP.total_seconds()


def check_recall(ws: Workspace) -> None:
    """Have the user told when memories are found by keywords alone, and when that is over."""
    if model.model_state(ws).problem:
        text = "memem finds memories by keywords only: the embedding model cannot be used."
        notices.raise_problem(ws, "recall", f"{text} See /memem-doctor.")
    else:
        notices.clear_problem(ws, "recall")


def store_plugin_options(ws: Workspace) -> None:
    """Claude Code tells the plugin's options to hooks and servers alone; commands and miners find them here."""
    told = plugin_options(ws.environ)
    if "CLAUDE_PLUGIN_ROOT" not in ws.environ or told == stored_plugin_options(ws.home):
        return
    with using_home(ws.home):
        files.make_private_folder(ws.home.state)
        data = json.dumps(told, indent=1).encode()
        files.write_atomic(ws.home.plugin_options, data, fsync=ws.settings.fsync, mode=files.PRIVATE_FILE)


def renew_environment(ws: Workspace, root: Path = Path(memem.__file__).parents[1], prefix: str = sys.prefix) -> bool:
    """After an update of the plugin its environment is that of the version before: have it set up anew.

    The mark is there from the beginning, so that other sessions leave it to this one, and stays when it did not work.
    """
    script, ours = root / "bootstrap.sh", Path(prefix, ".memem")
    tried = ours / "renewal"
    if not script.is_file() or not ours.is_dir() or is_current(root, ours) or _is_recent(ws, tried):
        return False
    tried.touch()
    os.utime(tried, (ws.clock().timestamp(),) * 2)
    done = subprocess.run(
        ["bash", script, "shell", "true"],
        env=dict(ws.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # it has a log of its own
        stderr=subprocess.DEVNULL,
        timeout=SET_UP_SECONDS,
        check=False,
    )
    if done.returncode == 0:
        tried.unlink(missing_ok=True)
    return True


def is_current(root: Path, ours: Path) -> bool:
    """Whether an environment of bootstrap.sh's was made for this folder, from the lock file in it, to the end."""
    try:
        built = (ours / "built").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        same = (ours / "requirements.lock").read_bytes() == (root / "requirements.lock").read_bytes()
    except OSError:
        return False
    return same and len(built) == 3 and Path(built[2]) == root and not (ours / "changing").exists()


def _prune_contexts(ws: Workspace) -> None:
    """Sessions that are gone are forgotten, and old receipts."""
    now = ws.clock().timestamp()
    ws.contexts.prune(now - CONTEXT_DAYS * 86_400)
    ws.contexts.receipts.prune(now - RECEIPT_DAYS * 86_400)


def _tidy_contexts(ws: Workspace) -> None:
    """A record of contexts that is damaged within is set aside."""
    try:
        if ws.contexts.is_current():
            contexts.check(ws.home.contexts_file, thorough=True)
    except StateTooNew:
        raise
    except StateUnusable:
        ws.close()
        sqlite.set_aside(ws.home.contexts_file)


def _tidy_state(ws: Workspace) -> None:
    """What mining has written down and nobody asks for any more; and what hooks left."""
    now = ws.clock()
    inbox.drop_old(ws.home.letters, now.timestamp())
    if ws.home.state_file.exists():
        ws.state.ledger.prune((now - timedelta(days=ledger.KEPT_DAYS)).date().isoformat())
        before = now - timedelta(days=OWN_CALL_DAYS)
        ws.state.sessions.prune(before.timestamp(), iso(before))
        ws.state.deferred.prune()


def _look(ws: Workspace) -> None:
    """At the vault, when there is one."""
    with suppress(VaultMissing):
        _mend_index(ws)
        refresh(ws)
        conflicts.write_page(ws)
        _see_to_meaning(ws)


def _mend_index(ws: Workspace) -> None:
    """Once a day: what is damaged within, and answers all the same, is set aside, and filled anew by whoever looks."""
    if not ws.index_file.exists() or ws.index.meta(_CHECKED) == ws.today():
        return
    try:
        ws.index.check()
        ws.index.set_meta(_CHECKED, ws.today())
    except IndexDamaged:
        ws.close()
        sqlite.set_aside(ws.index_file)


def _mend_vectors(ws: Workspace) -> None:
    """The same of the vectors in use."""
    if ws.index.meta(_CHECKED_VECTORS) == ws.today():
        return
    path = ws.vectors_folder() / "vectors.db"
    try:
        ws.vectors().check()
        ws.index.set_meta(_CHECKED_VECTORS, ws.today())
    except IndexDamaged:
        ws.close()
        sqlite.set_aside(path)


def _look_after_what_is_stale(ws: Workspace, *, folder: Path | None) -> None:
    with suppress(VaultMissing):
        staleness.check(ws, folder)


def _follow_with_the_graph(ws: Workspace) -> None:
    with suppress(VaultMissing):
        build.refresh_in_background(ws)


def _write_pages(ws: Workspace, *, folder: Path | None) -> None:
    """For a person in Obsidian; and the playbook of the session's project, in better words where a model has some."""
    with suppress(VaultMissing):
        pages_refresh.write_pages(ws)
        if folder and refine_playbook.refine(ws, folder):
            pages_refresh.write_pages(ws)  # shorter lines leave room for others


def _see_to_meaning(ws: Workspace) -> None:
    """Vectors for what has none; and the weights, should they not have come when memem was set up."""
    if ws.settings.encoder == "none" or not ws.settings.background:
        return
    try:
        _mend_vectors(ws)
        if meaning.update_pending(ws) > meaning.MAX_INLINE_PASSAGES:
            meaning.encode_in_background(ws)
    except WeightsMissing:
        _fetch(ws)
    except MememError:
        return  # doctor says what is wrong with it


def _fetch(ws: Workspace) -> None:
    if not _is_recent(ws, ws.home.fetch_log):
        background.start_memem(background.FETCH_MODEL, ws.environ_for_children(), ws.home.fetch_log)


def _is_recent(ws: Workspace, mark: Path) -> bool:
    return mark.exists() and abs(ws.clock().timestamp() - mark.stat().st_mtime) < AGAIN_SECONDS
