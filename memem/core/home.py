"""Every path memem uses, from two roots: the home (`MEMEM_DIR`) and the vault."""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memem.core import files
from memem.core.errors import HomeError

MAX_SOCKET_PATH_BYTES = 100  # macOS has room for 104, Linux for 108
OWN_FOLDER = "memem-calls"  # the folder a model is called from; it marks the transcript of such a call


class RelativePath:
    """An attribute that is a path below the `root` of its object."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __get__(self, owner: "Home | VaultPaths", _: type) -> Path:
        return owner.root / self._path


@dataclass(frozen=True, slots=True)
class Home:
    """`MEMEM_DIR`: private to its owner. `cache` can be deleted at any time, `state` cannot be rebuilt."""

    root: Path

    config_file = RelativePath("config.toml")
    capabilities_file = RelativePath(".capabilities")
    bootstrap_log = RelativePath("bootstrap.log")
    hooks_log = RelativePath("hooks.log")  # errors of hooks, which never show them
    mine_log = RelativePath("mine_delta.log")
    models = RelativePath("models")  # fetched weights: not in the cache, since deleting that must not cost a download

    cache = RelativePath("cache")
    indexes = RelativePath("cache/index")  # a folder for each vault
    vectors = RelativePath("cache/vectors")  # a folder for each model
    turns_file = RelativePath("cache/turns/turns.db")  # full text of sessions
    claude_flags = RelativePath("cache/claude-flags.json")
    model_formats = RelativePath("cache/model-formats.json")  # the answer format that each model's server accepts

    state = RelativePath("state")
    state_file = RelativePath("state/state.db")
    contexts_file = RelativePath("state/contexts.db")  # memories that each session was shown
    events_file = RelativePath("state/events.jsonl")
    undo = RelativePath("state/undo")
    known_vaults_file = RelativePath("state/vaults.json")
    stale_file = RelativePath("state/stale.json")  # state of notes whose file has no room for it
    vanished_file = RelativePath("state/vanished.json")  # notes deleted outside memem, on purpose or not
    upkeep_mark = RelativePath("state/upkeep-mark")  # its time is that of the last check for outdated notes
    opt_in = RelativePath("state/.miner-opted-in")  # exists while sessions may be mined; says since when
    shown_unjudged = RelativePath("state/shown-unjudged")  # exists while shown memories wait for a check of their use
    prompt_key = RelativePath("state/prompt-key")  # key for the hashes of prompts, so that nobody can guess a prompt
    review_key = RelativePath("state/review-key")  # signs acceptances of notes that read like instructions
    plugin_options = RelativePath("state/plugin-options.json")  # as the plugin's hooks last got them
    folders_file = RelativePath("state/projects.json")  # folders seen, their projects, and refusals of mining
    notices = RelativePath("state/notices")  # problems and news for the user

    engine_lock = RelativePath("run/engine.lock")  # locked by the server that answers for all
    engine_late = RelativePath("run/engine-late")  # tells hooks, for a minute, that it does not answer in time
    mining_locks = RelativePath("run/mining")
    statusline_folders = RelativePath("run/statusline/folders")  # the project of each folder with a recent session
    statusline_projects = RelativePath("run/statusline/projects")  # their number of memories and latest title
    statusline_today = RelativePath("run/statusline/today")  # a day, and the cost of mining on it
    call_folder = RelativePath(f"run/{OWN_FOLDER}")  # empty, so that the model reads no project's instructions
    inbox = RelativePath("run/later")  # events that hooks left for a background process
    history_file = RelativePath("run/history.json")  # progress or result of history mining
    history_lock = RelativePath("run/history.lock")
    write_lock = RelativePath("run/write.lock")
    upkeep_lock = RelativePath("run/upkeep.lock")
    encode_lock = RelativePath("run/encode.lock")
    encode_log = RelativePath("run/encode.log")  # output of the last background encoding; its time is the start
    refresh_log = RelativePath("run/refresh.log")  # output of the last background scan of the vault
    fetch_log = RelativePath("run/fetch.log")  # output of the last background download of weights

    def index_folder(self, vault: Path) -> Path:
        """Return the folder of a vault's index, named after its path: an unmounted vault has no id to read."""
        return self.indexes / f"{zlib.crc32(bytes(vault)):08x}"

    def index_file(self, vault: Path) -> Path:
        return self.index_folder(vault) / "index.db"


@dataclass(frozen=True, slots=True)
class VaultPaths:
    """The vault: memem's files are under `memem/`; all other notes are the user's own."""

    root: Path

    ours = RelativePath("memem")
    marker = RelativePath("memem/.vault.toml")
    memories = RelativePath("memem/memories")
    home_page = RelativePath("memem/Home.md")
    projects = RelativePath("memem/projects")
    playbooks = RelativePath("memem/playbooks")
    conflicts = RelativePath("memem/Conflicts.md")
    forgotten = RelativePath("memem/.forgotten")
    tombstones = RelativePath("memem/.tombstones.jsonl")
    reviewed = RelativePath("memem/.reviewed.jsonl")  # verdicts on quarantined notes
    review = RelativePath("memem/review")  # proposals
    trash = RelativePath(".trash")  # Obsidian's default place for deleted notes


def socket_address(run_folder: Path, runtime: str, uid: int) -> Path:
    """Return the engine's socket; a shorter name elsewhere where its path would be too long for a socket."""
    usual = run_folder / "engine.sock"
    path = os.fsencode(usual)
    if len(path) <= MAX_SOCKET_PATH_BYTES:
        return usual
    # Before binding there, the engine checks that nobody else can use the folder.
    return Path(runtime or f"/tmp/memem-{uid}") / f"memem-{zlib.crc32(path):08x}.sock"  # noqa: S108


@contextmanager
def using_home(home: Home) -> Iterator[None]:
    """Turn file system errors into HomeError."""
    try:
        yield
    except OSError as error:
        raise HomeError(
            f"Cannot use {error.filename or home.root}: {files.reason(error)}. Set MEMEM_DIR to use another folder."
        ) from None
