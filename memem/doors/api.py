"""The Python API.

import memem
with memem.open() as mem:
    mem.save("Tokens are signed with RS256.", project="shop-api", kind="decision")
    mem.search("how do we sign tokens", project="shop-api")
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, overload

from memem.core.errors import InputError
from memem.core.memory import GENERAL, Entry, Hits, Slice
from memem.flows import (
    assembling,
    conflicts,
    doctor,
    editing,
    encode,
    exporting,
    forgetting,
    graph,
    health,
    history,
    importing,
    mining,
    overview,
    provenance,
    purging,
    rebuild,
    receipts,
    reindex,
    remember,
    resolving,
    retrieve,
    reviewing,
    slicing,
    tidying,
    transcripts,
    undoing,
    weaving,
)
from memem.flows.assembling import Assembled
from memem.flows.conflicts import Conflict
from memem.flows.doctor import Diagnosis
from memem.flows.encode import Encoded
from memem.flows.exporting import Exported
from memem.flows.graph import Neighborhood
from memem.flows.health import Finding, Status
from memem.flows.history import Batch
from memem.flows.importing import Imported
from memem.flows.keeping import Written
from memem.flows.mine_delta import Mined
from memem.flows.overview import Pages
from memem.flows.provenance import Why
from memem.flows.purging import Purged
from memem.flows.receipts import Decision
from memem.flows.reindex import Refreshed
from memem.flows.resolving import Resolved
from memem.flows.reviewing import Proposal
from memem.flows.tidying import Curated
from memem.flows.timeline import Timeline, timeline
from memem.flows.transcripts import Said
from memem.flows.undoing import Undone
from memem.workspace import Workspace, open_workspace

Entries: TypeAlias = list[Entry]
Findings: TypeAlias = list[Finding]
Diagnoses: TypeAlias = list[Diagnosis]
Conflicts: TypeAlias = list[Conflict]
Proposals: TypeAlias = list[Proposal]
Sayings: TypeAlias = list[Said]
Batches: TypeAlias = list[Batch]


class MemoryHome:
    """One opened memory home. Not shared between threads."""

    def __init__(self, workspace: Workspace) -> None:
        self._ws = workspace

    def save(
        self,
        text: str,
        *,
        title: str = "",
        project: str = GENERAL,
        kind: str = "fact",
        tags: Iterable[str] = (),
        layer: int | None = None,
        importance: int = 3,
        keys: Iterable[str] = (),
        paths: Iterable[str] = (),
        why: str = "",
        anyway: bool = False,
    ) -> Written:
        """Keep a memory as a note in the vault. What was forgotten is refused, unless it is wanted `anyway`."""
        for name, value in (("text", text), ("title", title), ("project", project), ("why", why)):
            _text(value, name)
        lists = {"tags": _several(tags), "keys": _several(keys), "paths": _several(paths)}
        options: dict[str, Any] = {"layer": layer, "importance": importance, "why": why, "anyway": anyway, **lists}
        return remember.save(self._ws, text, folder=Path.cwd(), title=title, project=project, kind=kind, **options)

    def edit(self, id: str, *, why: str = "", **changes: Any) -> Written:
        """Change properties (`title`, `project`, `kind`, ...) or the statement (`body`) of a note."""
        self._look()
        unknown = sorted(set(changes) - set(editing.EDITABLE))
        if unknown:
            raise InputError(f"There is no {unknown[0]!r} to edit. Known: {', '.join(editing.EDITABLE)}.")
        given = {
            name: _several(value) if name in _LISTS else value for name, value in changes.items() if value is not None
        }
        for name in ("body", "title", "project", "kind", "status"):
            _text(given.get(name, ""), name)
        return editing.edit(self._ws, _text(id, "id"), why=_text(why, "why"), **given)

    @overload
    def forget(self, id: str, *, why: str = "", purge: Literal[False] = False) -> Written: ...

    @overload
    def forget(self, id: str, *, why: str = "", purge: Literal[True]) -> Purged: ...

    def forget(self, id: str, *, why: str = "", purge: bool = False) -> Written | Purged:
        """Take a memory out of recall; its note moves to `.forgotten/`. `purge` removes every word of it, for good."""
        self._look()
        if purge:
            return purging.purge(self._ws, _text(id, "id"))
        return forgetting.forget(self._ws, _text(id, "id"), why=_text(why, "why"))

    def proposals(self) -> Proposals:
        """What waits for a person to say whether it is to be remembered."""
        return reviewing.proposals(self._ws)

    def accept(self, id: str, *, why: str = "") -> Written:
        """Remember what was proposed."""
        return reviewing.accept(self._ws, _text(id, "id"), why=_text(why, "why"))

    def reject(self, id: str, *, why: str = "") -> Written:
        """Forget what was proposed."""
        return reviewing.reject(self._ws, _text(id, "id"), why=_text(why, "why"))

    def search(
        self,
        query: str,
        *,
        project: str | None = None,
        current: str | None = None,
        limit: int = 10,
        as_of: str | None = None,
    ) -> Hits:
        """The best hits, as a list; `project` filters, `current` names the project whose hits are preferred a little.

        `as_of`, a date, a time or words like "last march", asks for what was held true then. The list's `degraded` says
        why keywords answered alone, when they should not have.
        """
        self._look()
        _text(project or "", "project")
        _text(current or "", "current project")
        _text(as_of or "", "date")
        options: dict[str, Any] = {"project": project, "current": current, "limit": limit, "as_of": as_of}
        return retrieve.search(self._ws, _text(query, "query"), **options)

    def get(self, id: str) -> Entry:
        """One memory, by its id or the beginning of it."""
        self._look()
        return retrieve.get(self._ws, _text(id, "id"))

    def list(self, *, project: str | None = None, kind: str | None = None, limit: int = 50) -> Entries:
        """Memories, the last changed first."""
        self._look()
        return retrieve.list_memories(self._ws, project=project, kind=kind, limit=limit)

    def slice(
        self,
        prompt: str,
        *,
        project: str | None = None,
        cwd: str | Path | None = None,
        task_mode: str = "",
        session_id: str = "",
        always: bool = False,
    ) -> Slice:
        """What Claude should know for this prompt; `text` is empty when that is nothing."""
        self._look()
        folder = Path(cwd) if cwd is not None else Path.cwd()
        options: dict[str, Any] = {"task_mode": task_mode, "session_id": session_id, "always": always}
        _text(project or "", "project")
        return slicing.slice_for(self._ws, _text(prompt, "prompt"), cwd=folder, project=project, **options)

    def context(
        self, query: str, *, project: str | None = None, cwd: str | Path | None = None, session_id: str = ""
    ) -> Assembled:
        """Everything for a task in one text: the project's playbook, the slice, and the best turns of sessions."""
        self._look()
        folder = Path(cwd) if cwd is not None else Path.cwd()
        _text(project or "", "project")
        return assembling.assemble(self._ws, _text(query, "query"), cwd=folder, project=project, session_id=session_id)

    def log(self, limit: int = history.LIMIT) -> Batches:
        """What was done to the vault, by run or command, the last first."""
        return history.log(self._ws, limit)

    def undo(self, batch: str | None = None, *, dry_run: bool = False) -> Undone:
        """Take back one run or command: the last that is no undo and not undone, or the one with this id."""
        return undoing.undo(self._ws, None if batch is None else _text(batch, "batch"), dry_run=dry_run)

    def import_notes(self, *paths: str | Path, project: str = "", format: str = "", dry_run: bool = False) -> Imported:
        """Bring files, and folders of them, into the vault as memories; `project` is that of all of them.

        What they are is told by what is in them, unless a `format` is given.
        """
        given = [Path(path).expanduser() for path in paths]
        options: dict[str, Any] = {"project": _text(project, "project"), "format": _text(format, "format")}
        return importing.import_notes(self._ws, given, **options, dry_run=dry_run)

    def export(self, path: str | Path, *, project: str | None = None, force: bool = False) -> Exported:
        """Write the vault to a folder, or to a file that ends in .json, from which it can be imported again."""
        _text(project or "", "project")
        return exporting.export(self._ws, Path(path).expanduser(), project=project, force=force)

    def mine(self, transcript: str | Path) -> Mined:
        """Learn from a session of Claude Code: all of it that is not mined yet, at once."""
        return mining.mine_file(self._ws, Path(transcript))

    def why(self, id: str) -> Why:
        """Where a memory comes from: its words in the session, with what was around them; and where it was shown."""
        self._look()
        return provenance.why(self._ws, _text(id, "id"))

    def last_decision(self, session_id: str = "") -> Decision:
        """What was last shown to a session, or to any, or why nothing was; also in words."""
        return receipts.last(self._ws, _text(session_id, "session id"))

    def search_transcripts(self, query: str, *, project: str | None = None, limit: int = 10) -> Sayings:
        """What was said in sessions of Claude Code, as far as it may be mined. InputError while mining is off."""
        _text(project or "", "project")
        return transcripts.search(self._ws, _text(query, "query"), limit=limit, project=project)

    def conflicts(self, *, project: str | None = None) -> Conflicts:
        """Memories that contradict each other, the latest first."""
        self._look()
        return conflicts.conflicts(self._ws, project=project)

    def resolve(self, id: str, way: str, *, over: str | None = None) -> Resolved:
        """End the conflicts of a memory (or the one with `over`): `keep` it and end the others, or `both` hold."""
        return resolving.resolve(self._ws, _text(id, "id"), _text(way, "way"), over=over)

    def curate(self, *ids: str, project: str | None = None, apply: bool = False) -> Curated:
        """What would tidy the vault, or one project; with `apply` it is done: what has these ids, or else all."""
        self._look()
        _text(project or "", "project")
        wanted = [_text(each, "id") for each in ids]
        return tidying.curate(self._ws, project=project, apply=wanted if apply else None)

    def timeline(self, id: str) -> Timeline:
        """A memory among others: what it replaced, what replaced it, its links, what changed around it."""
        self._look()
        return timeline(self._ws, _text(id, "id"))

    def neighbors(self, id: str, *, depth: int = 1, limit: int = 20) -> Neighborhood:
        """What is around a memory in the graph, up to `depth` steps away, the nearest first."""
        self._look()
        weaving.look(self._ws)
        return graph.neighbors(self._ws, _text(id, "id"), depth=depth, limit=limit)

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


_LISTS = ("tags", "keys", "paths")


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"The {name} should be text, not {type(value).__name__}.")
    return value


def _several(values: Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise InputError(f"A list of texts is wanted, not the single text {values[:40]!r}.")
    return tuple(_text(value, "item") for value in values)


def open_home(home: str | Path | None = None, vault: str | Path | None = None) -> MemoryHome:
    """Open the memory home that the settings name, or the one given."""
    paths = {name: Path(path).expanduser() for name, path in (("home", home), ("vault", vault)) if path is not None}
    return MemoryHome(open_workspace(actor="api", home=paths.get("home"), vault=paths.get("vault")))
