"""The part of the Python API that looks after a home: log and undo, import and export, index, pages, health."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, Self, TypeAlias

from memem.core.errors import InputError
from memem.notes import history, undo
from memem.notes.history import Batch
from memem.notes.undo import Undone
from memem.pages import refresh as pages_refresh
from memem.pages.catch_up import catching_up
from memem.pages.refresh import Pages
from memem.search import rebuild, refresh
from memem.search.encoders import model
from memem.search.encoders.model import EncodeReport
from memem.search.graph import build
from memem.search.refresh import Refreshed
from memem.transfer import export, import_
from memem.transfer.export import Exported
from memem.transfer.import_ import Imported
from memem.upkeep import curate, doctor, status
from memem.upkeep.checks.result import Diagnosis
from memem.upkeep.curate import Curated
from memem.upkeep.status import Finding, Status
from memem.workspace import Workspace

ImportFormat: TypeAlias = Literal["", "markdown", "instructions", "claude-memory", "chats", "claude-mem", "export"]


class Upkeep:
    def __init__(self, workspace: Workspace) -> None:
        self._ws = workspace

    def log(self, limit: int = history.LIMIT) -> list[Batch]:
        """List changes to the vault by run or command, last first."""
        return history.log(self._ws, limit)

    def undo(self, batch: str | None = None, *, dry_run: bool = False) -> Undone:
        """Undo the run or command with this id, or the last one that can be undone."""
        check_optional(batch=batch)
        with catching_up(self._ws):
            return undo.undo(self._ws, batch, dry_run=dry_run)

    def import_notes(
        self, *paths: str | Path, project: str = "", format: ImportFormat = "", dry_run: bool = False
    ) -> Imported:
        """Import files and folders as memories, into `project` if given. The format is detected unless given."""
        check_texts(project=project, format=format)
        sources = [Path(path).expanduser() for path in paths]
        with catching_up(self._ws):
            return import_.import_notes(self._ws, sources, project=project, format=format, dry_run=dry_run)

    def export(self, path: str | Path, *, project: str | None = None, force: bool = False) -> Exported:
        """Export the vault to a folder or a .json file that can be imported again."""
        check_optional(project=project)
        return export.export(self._ws, Path(path).expanduser(), project=project, force=force)

    def curate(self, *ids: str, project: str | None = None, apply: bool = False) -> Curated:
        """Suggest how to tidy the vault or a project; `apply` does it, for these ids or for all."""
        check_optional(project=project)
        wanted = read_texts(ids)
        with catching_up(self._refreshed()):
            return curate.curate(self._ws, project=project, apply=wanted if apply else None)

    def write_pages(self) -> Pages:
        """Update the pages in the vault: Home, projects, playbooks."""
        return pages_refresh.write_pages(self._refreshed())

    def reindex(self) -> Refreshed:
        """Rebuild the index from the notes; vectors of unchanged text are kept."""
        report = rebuild.rebuild(self._ws)
        build.refresh_in_background(self._ws)
        return report

    def encode(self, progress: Callable[[int, int], object] = lambda *_: None) -> EncodeReport:
        """Compute missing vectors; `progress` gets the number of passages with a vector, and of all."""
        return model.encode_all(self._refreshed(), progress)

    def doctor(self) -> list[Diagnosis]:
        """Check everything memem needs."""
        return doctor.diagnose(self._ws)

    def status(self) -> Status:
        """Summarise the memory home."""
        return status.status(self._ws)

    def check(self) -> list[Finding]:
        """List problems in the vault."""
        return status.check(self._refreshed())

    def close(self) -> None:
        self._ws.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refreshed(self) -> Workspace:
        """Return the workspace after a scan of the vault for changes made outside memem, if one is due."""
        refresh.refresh_if_due(self._ws)
        return self._ws


def check_texts(**values: str) -> None:
    """Raise InputError for the first value that is not text."""
    for name, value in values.items():
        if not isinstance(value, str):
            raise InputError(f"The {name} must be text, not {type(value).__name__}.")


def check_optional(**values: str | None) -> None:
    check_texts(**{name: value for name, value in values.items() if value is not None})


def read_texts(values: Iterable[str]) -> tuple[str, ...]:
    """Return the values as a tuple. Raises InputError unless they are several texts."""
    if isinstance(values, str):
        raise InputError(f"Pass a list of strings, not the single string {values[:40]!r}.")
    texts = tuple(values)
    for text in texts:
        check_texts(item=text)
    return texts
