"""One opened memory home: the only place that builds stages from settings and reads the environment."""

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import options, project, settings
from memem.core.clock import Clock, Ticks, system_clock
from memem.core.errors import ModelError
from memem.core.home import Home, VaultPaths
from memem.core.project import Project
from memem.core.settings import Settings
from memem.index import weights
from memem.index.asking import Asked
from memem.index.notes import NoteIndex
from memem.index.weights import Places
from memem.jobs.events import EventLog
from memem.vault.store import Store

if TYPE_CHECKING:  # numpy, and what needs it, is imported when the first vector is; the rest when something is mined
    from memem.extract.claude import Claude
    from memem.index.encoder import Encoder
    from memem.index.vectors import VectorStore
    from memem.jobs.state import State

HUB = "https://huggingface.co"
_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OMP_NUM_THREADS")


@dataclass
class Workspace:
    """Settings, paths and stages of one memory home. Stages are built when first needed."""

    settings: Settings
    clock: Clock
    actor: str
    user_home: Path
    editor: str = ""
    ticks: Ticks = time.monotonic
    pause: Callable[[float], object] = time.sleep
    notice: Callable[[str], object] = lambda _: None  # told what a person who waits should know
    next_scan: float = float("-inf")  # when a long-lived home looks at the vault again, in ticks
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    _loading: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _encoder: "Encoder | None" = field(default=None, repr=False)
    _vectors: "VectorStore | None" = field(default=None, repr=False)
    _asked: Asked | None = field(default=None, repr=False)

    @cached_property
    def home(self) -> Home:
        return Home(self.settings.home)

    @cached_property
    def store(self) -> Store:
        return Store(VaultPaths(self.settings.vault), fsync=self.settings.fsync)

    @cached_property
    def events(self) -> EventLog:
        return EventLog(self.home, self.clock, actor=self.actor, fsync=self.settings.fsync)

    @cached_property
    def index(self) -> NoteIndex:
        return NoteIndex(self.home.index_file)

    @cached_property
    def state(self) -> "State":
        """What mining knows. Raises StateUnusable."""
        from memem.jobs.state import State

        return State(self.home.state_file, fsync=self.settings.fsync)

    @property
    def session_folders(self) -> list[Path]:
        """Where Claude Code keeps its sessions, and where else the user says there are some."""
        config = self.environ.get("CLAUDE_CONFIG_DIR")
        own = Path(config) if config else self.user_home / ".claude"
        extra = filter(None, map(str.strip, self.settings.extra_session_dirs.split(os.pathsep)))
        return [own / "projects", *(settings.expand(text, self.user_home, self.user_home) for text in extra)]

    @property
    def is_a_call_of_ours(self) -> bool:
        """Whether this process was started, by whatever way, from one of our own calls of a model."""
        return bool(self.environ.get("MEMEM_HOOKS_OFF"))

    @property
    def claude_command(self) -> str | None:
        """The path of the user's own CLI; hooks may have a PATH without the places it is usually installed in."""
        import shutil

        usual = (self.user_home / ".claude" / "local", self.user_home / ".local" / "bin")
        return shutil.which("claude", path=os.pathsep.join([self.environ.get("PATH", ""), *map(str, usual)]))

    def claude(self) -> "Claude | None":
        """The CLI, to be asked; None when there is none."""
        command = self.claude_command
        if not command:
            return None
        from memem.extract.claude import Claude

        return Claude(
            command,
            model=self.settings.model,
            seconds=self.settings.model_timeout,
            folder=self.home.call_folder,
            environ=self.environ,
            flags_file=self.home.claude_flags,
            clock=self.clock,
            on_start=self.state.children.add,
            on_end=self.state.children.remove,
        )

    def today(self) -> str:
        """The day that the budget counts for."""
        return self.clock().date().isoformat()

    @property
    def weights_places(self) -> Places:
        """Where the model's weights may be; the hub's variables are those of its own library."""
        caches = Path(self.environ.get("XDG_CACHE_HOME") or self.user_home / ".cache")
        hub_home = Path(self.environ.get("HF_HOME") or caches / "huggingface")
        hub_cache = self.environ.get("HF_HUB_CACHE") or self.environ.get("HUGGINGFACE_HUB_CACHE") or hub_home / "hub"
        usual = Home(settings.locate_home({}, self.user_home))
        return Places(self.settings.model_dir, Path(hub_cache), self.home.models, usual.models)

    @property
    def hub_endpoint(self) -> str:
        return self.environ.get("HF_ENDPOINT") or HUB

    @property
    def uv(self) -> str | None:
        """The path of an uv: the one that bootstrap.sh fetched, or the user's."""
        import shutil

        own = Path(sys.prefix, ".memem", "uv", "bin", "uv")
        return str(own) if own.is_file() else shutil.which("uv", path=self.environ.get("PATH"))

    def encoder(self) -> "Encoder":
        """The encoder, loaded once, by whichever thread comes first. Raises ModelError."""
        with self._loading:
            if self._encoder is None:
                self._encoder = self._load_encoder()
            return self._encoder

    def ask(self, text: str) -> Asked | None:
        """Begin to compute the vector of a query, or go on with the same; None where there is no encoder."""
        if self.settings.encoder == "none":
            return None
        if self._asked is None or self._asked.text != text or self._asked.has_failed:
            self._asked = Asked(text, self.encoder)
        return self._asked

    def vectors(self) -> "VectorStore":
        """The vectors of the encoder in use. Raises ModelError."""
        encoder = self.encoder()
        if self._vectors is None:
            from memem.index.vectors import VectorStore

            known = (encoder.identity, encoder.dimensions)
            self._vectors = VectorStore(self.vectors_folder(), *known, fsync=self.settings.fsync)
        return self._vectors

    def vectors_folder(self) -> Path:
        """Where those are. Raises ModelError."""
        from memem.index.vectors import folder_name

        encoder = self.encoder()
        return self.home.vectors / folder_name(encoder.identity, encoder.dimensions)

    def environ_for_children(self) -> dict[str, str]:
        """The environment of a memem of ours that works on this same home, wherever it is started."""
        ours: dict[str, Path | str | None] = {
            options.HOME_VARIABLE: self.settings.home,
            options.VAULT_VARIABLE: self.settings.vault,
            options.MODEL_VARIABLE: self.settings.model_dir,
        }
        if Path(self.settings.embed_model).is_dir():
            ours[options.EMBED_VARIABLE] = Path(self.settings.embed_model).absolute()
        return {**self.environ, **{name: str(value) for name, value in ours.items() if value}}

    def project_of(self, folder: Path) -> Project:
        """The project that a folder belongs to."""
        return project.resolve(folder, self.user_home)

    def follow_index(self) -> None:
        """Let go of an index or of vectors that another process has replaced; the next use opens the new ones."""
        if "index" in self.__dict__ and not self.index.is_current():
            self._drop_index()
        if self._vectors is not None and not self._vectors.is_current():
            self._drop_vectors()

    def close(self) -> None:
        """Let go of everything that is open."""
        if "index" in self.__dict__:
            self._drop_index()
        self._drop_vectors()
        if "state" in self.__dict__:
            self.state.close()
            del self.__dict__["state"]

    def _drop_index(self) -> None:
        self.index.close()
        del self.__dict__["index"]

    def _drop_vectors(self) -> None:
        if self._vectors is not None:
            self._vectors.close()
        self._vectors = None

    def _load_encoder(self) -> "Encoder":
        if self.settings.encoder == "none":
            raise ModelError("MEMEM_ENCODER is none: there is nothing to encode with. `memem config encoder minilm`.")
        if self.settings.encoder == "sentence-transformers":
            from memem.index.sentence import SentenceEncoder

            return SentenceEncoder(self.settings.embed_model)
        found = weights.find(self.weights_places)
        load_numpy()
        from memem.index.minilm import MiniLM

        return MiniLM(found.folder, weights.IDENTITY)


def load_numpy() -> None:
    """BLAS reads how many threads it may use when numpy loads it: one, unless the user says otherwise.

    Two threads for one query were ten times slower than one on a busy machine; a batch uses all cores by itself.
    """
    if "numpy" in sys.modules:
        return
    unset = [name for name in _BLAS_THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(unset, "1"))
    try:
        import numpy  # noqa: F401
    finally:
        for name in unset:  # they are ours: no library loaded later, and no child, is to obey them
            del os.environ[name]


def stored_plugin_options(home: Home) -> dict[str, str]:
    """What a hook has left for those whom Claude Code does not tell: the server, commands, miners."""
    try:
        raw = home.plugin_options.read_bytes()
    except OSError:
        return {}
    import json  # most people have set none

    try:
        stored = json.loads(raw)
    except ValueError:
        return {}
    return {str(key): str(text) for key, text in stored.items()} if isinstance(stored, dict) else {}


def open_workspace(
    *,
    actor: str,
    home: Path | None = None,
    vault: Path | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Clock = system_clock,
    ticks: Ticks = time.monotonic,
) -> Workspace:
    """Read the settings once and open the home they name; `home` and `vault` override them."""
    environ = os.environ if environ is None else environ
    user_home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    root = home.absolute() if home else settings.locate_home(environ, user_home)
    stored = stored_plugin_options(Home(root))
    loaded = settings.load(environ, Home(root).config_file, root, user_home, plugin=stored)
    if vault is not None:
        loaded = replace(loaded, vault=vault.absolute(), sources={**loaded.sources, "vault": "argument"})
    editor = environ.get("VISUAL") or environ.get("EDITOR") or ""
    return Workspace(loaded, clock, actor, user_home, editor, ticks, environ=environ)
