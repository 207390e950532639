"""One opened memory home: the only place that builds stages from settings and reads the environment."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from memem.core import project, settings
from memem.core.clock import Clock, Ticks, system_clock
from memem.core.home import Home, VaultPaths
from memem.core.project import Project
from memem.core.settings import Settings
from memem.index.keyword import KeywordIndex
from memem.jobs.events import EventLog
from memem.vault.store import Store


@dataclass
class Workspace:
    """Settings, paths and stages of one memory home. Stages are built when first needed."""

    settings: Settings
    clock: Clock
    actor: str
    user_home: Path
    editor: str = ""
    ticks: Ticks = time.monotonic

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
    def index(self) -> KeywordIndex:
        return KeywordIndex(self.home.index_file)

    def project_of(self, folder: Path) -> Project:
        """The project that a folder belongs to."""
        return project.resolve(folder, self.user_home)

    def follow_index(self) -> None:
        """Let go of an index that another process has replaced; the next use opens the new one."""
        if "index" in self.__dict__ and not self.index.is_current():
            self.close()

    def close(self) -> None:
        """Let go of the index file."""
        if "index" in self.__dict__:
            self.index.close()
            del self.__dict__["index"]


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
    root = home or settings.locate_home(environ, user_home)
    loaded = settings.load(environ, Home(root).config_file, root, user_home)
    if vault is not None:
        loaded = replace(loaded, vault=vault, sources={**loaded.sources, "vault": "argument"})
    editor = environ.get("VISUAL") or environ.get("EDITOR") or ""
    return Workspace(loaded, clock, actor, user_home, editor, ticks)
