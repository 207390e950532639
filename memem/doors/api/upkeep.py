"""What looks after a memory home, from Python: what was done and can be undone, moving in and out, order, health."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from memem.doors.api.arguments import text_of
from memem.flows import (
    doctor,
    encode,
    exporting,
    health,
    history,
    importing,
    overview,
    rebuild,
    reindex,
    tidying,
    undoing,
    weaving,
)
from memem.flows.doctor import Diagnosis
from memem.flows.encode import Encoded
from memem.flows.exporting import Exported
from memem.flows.health import Finding, Status
from memem.flows.history import Batch
from memem.flows.importing import Imported
from memem.flows.overview import Pages
from memem.flows.reindex import Refreshed
from memem.flows.tidying import Curated
from memem.flows.undoing import Undone
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
        return undoing.undo(self._ws, None if batch is None else text_of(batch, "batch"), dry_run=dry_run)

    def import_notes(self, *paths: str | Path, project: str = "", format: str = "", dry_run: bool = False) -> Imported:
        """Bring files, and folders of them, into the vault as memories; `project` is that of all of them.

        What they are is told by what is in them, unless a `format` is given.
        """
        given = [Path(path).expanduser() for path in paths]
        options: dict[str, Any] = {"project": text_of(project, "project"), "format": text_of(format, "format")}
        return importing.import_notes(self._ws, given, **options, dry_run=dry_run)

    def export(self, path: str | Path, *, project: str | None = None, force: bool = False) -> Exported:
        """Write the vault to a folder, or to a file that ends in .json, from which it can be imported again."""
        text_of(project or "", "project")
        return exporting.export(self._ws, Path(path).expanduser(), project=project, force=force)

    def curate(self, *ids: str, project: str | None = None, apply: bool = False) -> Curated:
        """What would tidy the vault, or one project; with `apply` it is done: what has these ids, or else all."""
        self._look()
        text_of(project or "", "project")
        wanted = [text_of(each, "id") for each in ids]
        return tidying.curate(self._ws, project=project, apply=wanted if apply else None)

    def write_pages(self) -> Pages:
        """Bring the vault's pages up to date: Home, those of the projects, and playbooks."""
        self._look()
        return overview.write(self._ws)

    def reindex(self) -> Refreshed:
        """Throw the index away and read every note again; vectors of unchanged text are kept."""
        read = rebuild.rebuild(self._ws)
        weaving.follow(self._ws)
        return read

    def encode(self, progress: Callable[[int, int], object] = lambda *_: None) -> Encoded:
        """Compute the vectors that are missing; `progress` is told how many passages have one, and of how many."""
        self._look()
        return encode.encode_all(self._ws, progress)

    def doctor(self) -> Diagnoses:
        """Everything memem needs, and what is missing of it."""
        return doctor.diagnose(self._ws)

    def status(self) -> Status:
        """Counts and paths."""
        return health.status(self._ws)

    def check(self) -> Findings:
        """What in the vault is not as it should be."""
        self._look()
        return health.check(self._ws)

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
        reindex.look(self._ws)
