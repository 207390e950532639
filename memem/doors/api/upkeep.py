"""What looks after a memory home, from Python: what was done and can be undone, moving in and out, order, health."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from memem.doors.api.arguments import text_of
from memem.notes import history, undo
from memem.notes.history import Batch
from memem.notes.undo import Undone
from memem.pages import refresh
from memem.pages.catch_up import catching_up
from memem.pages.refresh import Pages
from memem.search import rebuild
from memem.search import refresh as search_refresh
from memem.search.encoders import encode
from memem.search.encoders.encode import EncodeReport
from memem.search.graph import build
from memem.search.refresh import Refreshed
from memem.transfer import export, import_
from memem.transfer.export import Exported
from memem.transfer.import_ import Imported
from memem.upkeep import apply_curation, doctor, status
from memem.upkeep.apply_curation import Curated
from memem.upkeep.checks.result import Diagnosis
from memem.upkeep.status import Finding, Status
from memem.workspace import Workspace

Findings: TypeAlias = list[Finding]
Diagnoses: TypeAlias = list[Diagnosis]
Batches: TypeAlias = list[Batch]


class Upkeep:
    """A memory home that is looked after. Not shared between threads."""

    def __init__(self, workspace: Workspace) -> None:
        self._ws = workspace

    def log(self, limit: int = history.LIMIT) -> Batches:
        """What was done to the vault, by run or command, the last first."""
        return history.log(self._ws, limit)

    def undo(self, batch: str | None = None, *, dry_run: bool = False) -> Undone:
        """Take back one run or command: the last that is no undo and not undone, or the one with this id."""
        with catching_up(self._ws):
            return undo.undo(self._ws, None if batch is None else text_of(batch, "batch"), dry_run=dry_run)

    def import_notes(self, *paths: str | Path, project: str = "", format: str = "", dry_run: bool = False) -> Imported:
        """Bring files, and folders of them, into the vault as memories; `project` is that of all of them.

        What they are is told by what is in them, unless a `format` is given.
        """
        given = [Path(path).expanduser() for path in paths]
        options: dict[str, Any] = {"project": text_of(project, "project"), "format": text_of(format, "format")}
        with catching_up(self._ws):
            return import_.import_notes(self._ws, given, **options, dry_run=dry_run)

    def export(self, path: str | Path, *, project: str | None = None, force: bool = False) -> Exported:
        """Write the vault to a folder, or to a file that ends in .json, from which it can be imported again."""
        text_of(project or "", "project")
        return export.export(self._ws, Path(path).expanduser(), project=project, force=force)

    def curate(self, *ids: str, project: str | None = None, apply: bool = False) -> Curated:
        """What would tidy the vault, or one project; with `apply` it is done: what has these ids, or else all."""
        self._look()
        text_of(project or "", "project")
        wanted = [text_of(each, "id") for each in ids]
        with catching_up(self._ws):
            return apply_curation.curate(self._ws, project=project, apply=wanted if apply else None)

    def write_pages(self) -> Pages:
        """Bring the vault's pages up to date: Home, those of the projects, and playbooks."""
        self._look()
        return refresh.write(self._ws)

    def reindex(self) -> Refreshed:
        """Throw the index away and read every note again; vectors of unchanged text are kept."""
        read = rebuild.rebuild(self._ws)
        build.follow_notes(self._ws)
        return read

    def encode(self, progress: Callable[[int, int], object] = lambda *_: None) -> EncodeReport:
        """Compute the vectors that are missing; `progress` is told how many passages have one, and of how many."""
        self._look()
        return encode.encode_all(self._ws, progress)

    def doctor(self) -> Diagnoses:
        """Everything memem needs, and what is missing of it."""
        return doctor.diagnose(self._ws)

    def status(self) -> Status:
        """Counts and paths."""
        return status.status(self._ws)

    def check(self) -> Findings:
        """What in the vault is not as it should be."""
        self._look()
        return status.check(self._ws)

    def close(self) -> None:
        """Let go of everything that is open."""
        self._ws.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _look(self) -> None:
        """Scan for outside edits, when it is time."""
        search_refresh.refresh_if_due(self._ws)
