"""Every path memem uses, from two roots: the home (`MEMEM_DIR`) and the vault."""

from dataclasses import dataclass
from pathlib import Path


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
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def index_file(self) -> Path:
        return self.cache / "index.db"

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
    def write_lock(self) -> Path:
        return self.root / "run" / "write.lock"


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
    def forgotten(self) -> Path:
        return self.ours / ".forgotten"
