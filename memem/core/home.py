"""Every path memem uses, from two roots: the home (`MEMEM_DIR`) and the vault."""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memem.core import files
from memem.core.errors import HomeError

MOST_ADDRESS = 100
"""Bytes of a socket's path: macOS has room for 104, Linux for 108."""
OWN_FOLDER = "memem-calls"
"""The folder that a model is called from: one sign of a transcript of such a call."""


@dataclass(frozen=True, slots=True)
class Home:
    """`MEMEM_DIR`: private to its owner. `cache` can be deleted at any time, `state` cannot be rebuilt."""

    root: Path

    @property
    def config_file(self) -> Path:
        return self.root / "config.toml"

    @property
    def capabilities_file(self) -> Path:
        return self.root / ".capabilities"

    @property
    def bootstrap_log(self) -> Path:
        """What bootstrap.sh did when it set up."""
        return self.root / "bootstrap.log"

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def indexes(self) -> Path:
        """A folder for each vault: those who use several at once do not rebuild each other's index."""
        return self.cache / "index"

    def index_folder(self, vault: Path) -> Path:
        """Replaced as a whole by a rebuild, which leaves those of other vaults, and the vectors, where they are.

        Named after the vault's path, since its id would have to be read, and a vault that is away has none. Should two
        paths ever share a name, the index still says which vault it was built for.
        """
        return self.indexes / f"{zlib.crc32(bytes(vault)):08x}"

    def index_file(self, vault: Path) -> Path:
        return self.index_folder(vault) / "index.db"

    @property
    def vectors(self) -> Path:
        """A folder for each model that was used."""
        return self.cache / "vectors"

    @property
    def models(self) -> Path:
        """The weights that were fetched: not in `cache`, since what deletes that should not cost a download."""
        return self.root / "models"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def events_file(self) -> Path:
        return self.state / "events.jsonl"

    @property
    def undo(self) -> Path:
        return self.state / "undo"

    @property
    def known_vaults_file(self) -> Path:
        return self.state / "vaults.json"

    @property
    def stale_file(self) -> Path:
        """What is known of notes that have nowhere to say it: what they stand on, and that it is gone."""
        return self.state / "stale.json"

    @property
    def upkeep_mark(self) -> Path:
        """Says by its time when it was last judged what is too old."""
        return self.state / "upkeep-mark"

    @property
    def vanished_file(self) -> Path:
        """Notes that went away without memem, and of which nobody knows yet whether a person wanted that."""
        return self.state / "vanished.json"

    @property
    def state_file(self) -> Path:
        return self.state / "state.db"

    @property
    def opt_in(self) -> Path:
        """Says by being there that sessions may be mined in the background, and since when."""
        return self.state / ".miner-opted-in"

    @property
    def contexts_file(self) -> Path:
        """What the context of each session holds of ours."""
        return self.state / "contexts.db"

    @property
    def shown_unjudged(self) -> Path:
        """Says by being there that a session was shown something, and nobody has looked yet whether it was used."""
        return self.state / "shown-unjudged"

    @property
    def prompt_key(self) -> Path:
        """What the hashes of prompts are keyed with: without it nobody can try which prompt has which."""
        return self.state / "prompt-key"

    @property
    def plugin_options(self) -> Path:
        """What the plugin's user has set in Claude Code, as its hooks were last told."""
        return self.state / "plugin-options.json"

    @property
    def turns_file(self) -> Path:
        """Full text of what was said in sessions."""
        return self.cache / "turns" / "turns.db"

    @property
    def hooks_log(self) -> Path:
        """What went wrong in hooks, which never say so themselves."""
        return self.root / "hooks.log"

    @property
    def engine_lock(self) -> Path:
        """Held by the server that answers for all."""
        return self.root / "run" / "engine.lock"

    @property
    def engine_late(self) -> Path:
        """Says to hooks, for a minute, that it does not answer in time."""
        return self.engine_lock.with_name("engine-late")

    @property
    def claude_flags(self) -> Path:
        return self.cache / "claude-flags.json"

    @property
    def mine_log(self) -> Path:
        return self.root / "mine_delta.log"

    @property
    def mining_locks(self) -> Path:
        return self.root / "run" / "mining"

    @property
    def statusline_folders(self) -> Path:
        """The project of each folder that had a session lately."""
        return self.root / "run" / "statusline" / "folders"

    @property
    def statusline_projects(self) -> Path:
        """The number of memories and the last learned title of those projects."""
        return self.statusline_folders.with_name("projects")

    @property
    def statusline_today(self) -> Path:
        """A day, and what mining has cost on it."""
        return self.statusline_folders.with_name("today")

    @property
    def call_folder(self) -> Path:
        """Where the model is called from: empty, so that no project's instructions are read there."""
        return self.root / "run" / OWN_FOLDER

    @property
    def letters(self) -> Path:
        """What hooks have left for a process of its own."""
        return self.root / "run" / "later"

    @property
    def history_file(self) -> Path:
        """How far mining the history is, or how it ended."""
        return self.root / "run" / "history.json"

    @property
    def history_lock(self) -> Path:
        """Held by the process that mines the history."""
        return self.root / "run" / "history.lock"

    @property
    def write_lock(self) -> Path:
        return self.root / "run" / "write.lock"

    @property
    def refresh_log(self) -> Path:
        """What the last reading of the whole vault in the background had to say."""
        return self.root / "run" / "refresh.log"

    @property
    def notices(self) -> Path:
        """Problems and news to be shown to the user."""
        return self.state / "notices"

    @property
    def fetch_log(self) -> Path:
        """What the last try to fetch the weights in the background had to say."""
        return self.root / "run" / "fetch.log"

    @property
    def upkeep_lock(self) -> Path:
        return self.root / "run" / "upkeep.lock"

    @property
    def encode_lock(self) -> Path:
        return self.root / "run" / "encode.lock"

    @property
    def encode_log(self) -> Path:
        """What the last encoding in the background had to say; its age tells when that began."""
        return self.root / "run" / "encode.log"


@dataclass(frozen=True, slots=True)
class VaultPaths:
    """The vault: all of memem's is under `memem/`; elsewhere the notes are the person's own."""

    root: Path

    @property
    def ours(self) -> Path:
        return self.root / "memem"

    @property
    def marker(self) -> Path:
        return self.ours / ".vault.toml"

    @property
    def memories(self) -> Path:
        return self.ours / "memories"

    @property
    def home_page(self) -> Path:
        """The page to begin at, for a person who walks the memory."""
        return self.ours / "Home.md"

    @property
    def projects(self) -> Path:
        """A page for each project."""
        return self.ours / "projects"

    @property
    def playbooks(self) -> Path:
        """What matters most of each project, on a page."""
        return self.ours / "playbooks"

    @property
    def conflicts(self) -> Path:
        """A page that lists what contradicts what."""
        return self.ours / "Conflicts.md"

    @property
    def forgotten(self) -> Path:
        return self.ours / ".forgotten"

    @property
    def tombstones(self) -> Path:
        return self.ours / ".tombstones.jsonl"

    @property
    def reviewed(self) -> Path:
        """What a person said of notes that were held back."""
        return self.ours / ".reviewed.jsonl"

    @property
    def review(self) -> Path:
        """What waits for a person to say whether it is to be remembered."""
        return self.ours / "review"

    @property
    def trash(self) -> Path:
        """Where Obsidian puts what is deleted in it, unless it is told otherwise."""
        return self.root / ".trash"


def socket_address(run_folder: Path, runtime: str, uid: int) -> Path:
    """Where the engine of a home answers; under another name where a socket's path cannot be that long."""
    usual = run_folder / "engine.sock"
    path = os.fsencode(usual)
    if len(path) <= MOST_ADDRESS:
        return usual
    # Whoever binds there looks first whether the folder is theirs alone.
    return Path(runtime or f"/tmp/memem-{uid}") / f"memem-{zlib.crc32(path):08x}.sock"  # noqa: S108


@contextmanager
def using_home(home: Home) -> Iterator[None]:
    """Errors of the home's file system, in our words."""
    try:
        yield
    except OSError as error:
        raise HomeError(
            f"Cannot use {error.filename or home.root}: {files.reason(error)}. MEMEM_DIR can name another folder."
        ) from None
