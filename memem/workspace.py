"""One opened memory home: builds the parts from settings, and is the only reader of the environment."""

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memem import __version__
from memem.core import files, options
from memem.core import settings as core_settings
from memem.core.dates import Clock, Ticks, system_clock
from memem.core.errors import MememError, ModelError
from memem.core.home import Home, VaultPaths
from memem.core.project import Project
from memem.core.settings import Settings, stored_plugin_options
from memem.core.surroundings import Reach, Surroundings, reach_of
from memem.search.encoders.query_vector import EncodedQuery
from memem.search.notes import NoteIndex
from memem.search.transcripts.folders import FolderProjects
from memem.vault.store import Store

if TYPE_CHECKING:
    from memem.model.answer import Model
    from memem.model.endpoint import Endpoint
    from memem.search.encoders.interface import Encoder
    from memem.search.encoders.weights import Places
    from memem.search.vectors import VectorStore
    from memem.state.contexts import Contexts
    from memem.state.database import State
    from memem.state.events import EventLog
    from memem.vault.tombstones import Tombstones

_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OMP_NUM_THREADS")

ChangedPages = Literal["conflicts", "notes", "new"]  # "new": also create pages that do not exist yet


@dataclass
class Workspace(Surroundings):
    """Settings, paths and parts of one memory home. Parts are built when first needed."""

    settings: Settings
    clock: Clock
    actor: str
    user_home: Path
    editor: str = ""
    ticks: Ticks = time.monotonic
    pause: Callable[[float], object] = time.sleep
    notice: Callable[[str], object] = lambda _: None  # shows progress to a person who waits
    next_scan: float = float("-inf")  # when to scan the vault again, in ticks
    wanted_until: float = float("inf")  # when the caller stops waiting, in ticks
    changed: set[ChangedPages] = field(default_factory=set, repr=False)  # written at the end of a door's action
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    _loading: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _encoder: "Encoder | None" = field(default=None, repr=False)
    _vectors: "VectorStore | None" = field(default=None, repr=False)
    _query: EncodedQuery | None = field(default=None, repr=False)
    _encoder_owner: "Workspace | None" = field(default=None, repr=False)  # the workspace whose encoder this one shares

    @cached_property
    def home(self) -> Home:
        return Home(self.settings.home)

    @cached_property
    def store(self) -> Store:
        return Store(VaultPaths(self.settings.vault), fsync=self.settings.fsync)

    @cached_property
    def tombstones(self) -> "Tombstones":
        from memem.vault.tombstones import Tombstones

        return Tombstones(VaultPaths(self.settings.vault), fsync=self.settings.fsync)

    @cached_property
    def events(self) -> "EventLog":
        from memem.state.events import EventLog

        return EventLog(self.home, self.clock, actor=self.actor, fsync=self.settings.fsync)

    @property
    def index_file(self) -> Path:
        return self.home.index_file(self.settings.vault)

    @cached_property
    def index(self) -> NoteIndex:
        return NoteIndex(self.index_file)

    @cached_property
    def state(self) -> "State":
        from memem.state.database import State

        return State(self.home.state_file, fsync=self.settings.fsync)

    @cached_property
    def contexts(self) -> "Contexts":
        from memem.state.contexts import Contexts

        return Contexts(self.home.contexts_file)

    @property
    def session_folders(self) -> list[Path]:
        """Claude Code's folder of sessions, and further ones from the settings."""
        extra = filter(None, map(str.strip, self.settings.extra_session_dirs.split(os.pathsep)))
        expanded = [core_settings.expand(text, self.user_home, self.user_home) for text in extra]
        return [self.claude_folder / "projects", *expanded]

    def model(self) -> "Model | None":
        """The model to ask: the one at MEMEM_MODEL_URL if that is set, else the CLI's."""
        if not self.asks_model:
            return None
        if self.settings.model_url:
            return self.endpoint()
        from memem.model.claude import Claude

        return Claude(
            self.claude_command or "",
            model=self.settings.model,
            seconds=self.settings.model_timeout,
            folder=self.home.call_folder,
            environ=self.environ,
            flags_file=self.home.claude_flags,
            clock=self.clock,
            on_start=self.state.children.add,
            on_end=self.state.children.remove,
        )

    def endpoint(self) -> "Endpoint":
        from memem.model.endpoint import Endpoint

        settings, formats = self.settings, self.home.model_formats
        return Endpoint(settings.model_url, settings.model, settings.model_timeout, self.model_key, formats, self.clock)

    def today(self) -> str:
        return self.clock().date().isoformat()

    @property
    def weights_places(self) -> "Places":
        from memem.search.encoders.weights import Places

        usual = Home(core_settings.locate_home({}, self.user_home))
        return Places(self.settings.model_dir, self.hub_cache, self.home.models, usual.models)

    def encoder(self) -> "Encoder":
        """The encoder, loaded once for all twins. Raises ModelError."""
        if self._encoder_owner:
            return self._encoder_owner.encoder()
        with self._loading:
            if self._encoder is None:
                self._encoder = self._load_encoder()
            return self._encoder

    @property
    def has_encoder(self) -> bool:
        return (self._encoder_owner or self)._encoder is not None

    def encode_query(self, text: str) -> EncodedQuery | None:
        """Start computing the vector of a query in a thread; None without an encoder."""
        if self.settings.encoder == "none":
            return None
        if self._query is None or self._query.text != text or self._query.problem:
            self._query = EncodedQuery(text, self.encoder)
        return self._query

    def vectors(self) -> "VectorStore":
        """The vectors of the encoder in use. Raises ModelError."""
        encoder = self.encoder()
        if self._vectors is None:
            from memem.search.vectors import VectorStore

            folder = self.vectors_folder()
            self._vectors = VectorStore(folder, encoder.identity, encoder.dimensions, fsync=self.settings.fsync)
            with suppress(MememError):  # read by `memem status`, which does not load the encoder
                self._vectors.record_multilingual(multilingual=encoder.multilingual)
        return self._vectors

    def vectors_folder(self) -> Path:
        """The folder of these vectors. Raises ModelError."""
        from memem.search.vectors import folder_name

        encoder = self.encoder()
        return self.home.vectors / folder_name(encoder.identity, encoder.dimensions)

    def environ_for_children(self) -> dict[str, str]:
        """The environment for a memem process that uses this home, from any folder."""
        ours: dict[str, Path | str | None] = {
            options.HOME_VARIABLE: self.settings.home,
            options.VAULT_VARIABLE: self.settings.vault,
            options.MODEL_VARIABLE: self.settings.model_dir,
        }
        if Path(self.settings.embed_model).is_dir():
            ours[options.EMBED_VARIABLE] = Path(self.settings.embed_model).absolute()
        return {**self.environ, **{name: str(value) for name, value in ours.items() if value}}

    def twin(self) -> "Workspace":
        """The same home for another thread: it opens its own files and shares the encoder."""
        twin = replace(self, next_scan=float("-inf"), changed=set(), _encoder_owner=self._encoder_owner or self)
        return replace(twin, _encoder=None, _vectors=None, _query=None)

    def sharing(self, other: "Workspace") -> "Workspace":
        """This home with the encoder of another workspace, if both use the same model."""
        names = ("encoder", "embed_model", "model_dir")
        is_same = all(getattr(self.settings, name) == getattr(other.settings, name) for name in names)
        return replace(self, _encoder_owner=other._encoder_owner or other) if is_same else self

    def settings_stamps(self) -> tuple[files.Stamp | None, ...]:
        """Stamps of the settings' files, which change when the settings may have."""
        return tuple(files.stamp(path) for path in (self.home.config_file, self.home.plugin_options))

    def identity(self) -> str:
        """A digest of everything that answers depend on."""
        import hashlib

        names = [each.name for each in fields(self.settings) if each.name not in ("sources", "debug")]
        values = [(name, getattr(self.settings, name)) for name in names]
        parts = [__version__, Path(__file__).parent, self.user_home, *values]
        return hashlib.sha256(repr(list(map(str, parts))).encode()).hexdigest()

    @cached_property
    def folders(self) -> FolderProjects:
        return FolderProjects(
            self.home,
            self.user_home,
            fsync=self.settings.fsync,
            session_folders=self.session_folders,
            read_outcomes=lambda: self.state.sessions.outcomes(),  # noqa: PLW0108 - opens state only when called
            has_notes=self._has_notes,
        )

    def project_of(self, folder: Path) -> Project:
        """The project that a folder belongs to. Raises SettingsError."""
        return self.folders.resolve(self.folders.claim_of(folder), folder)

    def _has_notes(self, name: str) -> bool:
        """Whether a project has notes; assumed while they are not indexed."""
        try:
            if self.index_file.exists() and self.index.count_where("1", ()):
                return self.index.count_where("project = ?", (name,)) > 0
        except MememError:
            return True
        return next(self.store.paths.memories.glob("*.md"), None) is not None

    def follow_index(self) -> None:
        """Close files that another process has replaced or removed; the next use opens the new ones."""
        for name in ("index", "contexts", "_vectors"):
            part = self.__dict__.get(name)
            if part is not None and not part.is_current():
                self._drop(name)

    def close(self) -> None:
        for name in ("index", "state", "contexts", "_vectors"):
            self._drop(name)

    def _drop(self, name: str) -> None:
        """Close a part that has been built; its next use builds it again."""
        part = self.__dict__.pop(name, None)
        if part is not None:
            part.close()

    @staticmethod
    def load_numpy() -> None:
        """Import numpy with one BLAS thread, which on a busy machine is much faster, unless the user says otherwise."""
        if "numpy" in sys.modules:
            return
        unset = [name for name in _BLAS_THREADS if name not in os.environ]
        os.environ.update(dict.fromkeys(unset, "1"))
        try:
            import numpy  # noqa: F401
        finally:
            for name in unset:  # so that later libraries and child processes are not affected
                del os.environ[name]

    def _load_encoder(self) -> "Encoder":
        if self.settings.encoder == "none":
            raise ModelError("MEMEM_ENCODER is none, so nothing can be encoded. Run `memem config encoder minilm`.")
        if self.settings.encoder == "sentence-transformers":
            from memem.search.encoders.sentence import SentenceEncoder

            return SentenceEncoder(self.settings.embed_model)
        from memem.search.encoders import weights

        found = weights.find(self.weights_places)
        self.load_numpy()
        from memem.search.encoders.minilm import MiniLM

        return MiniLM(found.folder, weights.IDENTITY)


def reach() -> Reach:
    """How a reader of this process's output can run memem, even if no workspace can be opened."""
    return reach_of(os.environ, Path(sys.prefix))


def open_workspace(
    *,
    actor: str,
    home: Path | None = None,
    vault: Path | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Clock = system_clock,
    ticks: Ticks = time.monotonic,
    folder: Path = Path(),
) -> Workspace:
    """Open the home that the settings name; `home` and `vault` override it. Relative paths start at `folder`."""
    environ = os.environ if environ is None else environ
    user_home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    root = home.absolute() if home else core_settings.locate_home(environ, user_home)
    # In the plugin's own processes Claude Code passes all options that are set.
    stored = {} if "CLAUDE_PLUGIN_ROOT" in environ else stored_plugin_options(Home(root))
    loaded = core_settings.load(environ, Home(root).config_file, root, user_home, folder, plugin=stored)
    if vault is not None:
        loaded = replace(loaded, vault=vault.absolute(), sources={**loaded.sources, "vault": "argument"})
    editor = environ.get("VISUAL") or environ.get("EDITOR") or ""
    return Workspace(loaded, clock, actor, user_home, editor, ticks, environ=environ)
