"""Bring markdown files into the vault as memories: other people's notes, or those of another vault of memem's.

What a file claims about itself is kept, but for who wrote it. Each goes the way of every other candidate; all of them
are one batch, which can be undone. The same file twice is one memory.
"""

import os
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from memem.core import files, validity
from memem.core.clock import iso, moment
from memem.core.errors import Ambiguous, Forgotten, InputError, NoteError, NotFound
from memem.core.home import VaultPaths
from memem.core.memory import KINDS, STATUSES, Memory
from memem.core.project import normalise
from memem.flows import conflicts, editing, forgetting, keeping, overview, reconcile
from memem.flows.keeping import Written
from memem.flows.opening import ensure_vault
from memem.flows.reconcile import Candidate
from memem.flows.reindex import fresh_rows, ready
from memem.gate.duplicates import fingerprint
from memem.gate.verdict import MAX_TITLE
from memem.vault import note as notes
from memem.vault.store import MAX_NOTE_BYTES, PAGED, RESERVED, Store
from memem.workspace import Workspace

SUFFIXES = (".md", ".markdown")
CREATED, EXISTS, REFUSED, UNREADABLE = "created", "exists", "refused", "unreadable"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "memem:import")
_LISTS = ("related", "contradicts")

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """What became of a file: created, exists, updated, superseded, proposed, refused or unreadable, and why."""

    file: str
    outcome: str
    id: str = ""
    title: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of every file; `batch` is what undoes it all, empty when nothing was changed."""

    files: tuple[ImportedFile, ...]
    batch: str
    dry_run: bool = False

    def count(self, *outcomes: str) -> int:
        """How many files ended so."""
        return sum(each.outcome in outcomes for each in self.files)


@dataclass(frozen=True, slots=True)
class _Source:
    """A file to be imported, its path inside what is imported, and why it cannot be read, where that is known."""

    path: Path
    inside: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a file says: the memory it would be, and the links it has."""

    source: _Source
    memory: Memory
    links: dict[str, tuple[str, ...]]


def import_notes(
    ws: Workspace,
    paths: Sequence[Path],
    *,
    project: str = "",
    dry_run: bool = False,
    progress: Progress = lambda *_: None,
) -> Imported:
    """Import markdown files, and those in folders. `project` is that of all of them, else each says its own or none."""
    sources = list(dict.fromkeys(source for path in paths for source in _sources(ws, path)))
    done: list[ImportedFile] = []
    kept: list[tuple[_Claim, Written]] = []
    with ws.events.batch("import") as batch:
        for number, source in enumerate(sources):
            progress(number, len(sources))
            try:
                claim = _claim(ws, source, project)
                written = _foreseen(ws, claim) if dry_run else _settled(ws, claim)
            except (InputError, NoteError, OSError) as problem:
                done.append(_failed(source, problem))
                continue
            kept.append((claim, written))
            done.append(ImportedFile(_shown(source), written.outcome, written.memory.id, written.memory.title))
        linked = 0 if dry_run else _link(ws, kept)
    progress(len(sources), len(sources))
    if any(written.memory.contradicts for _, written in kept) and not dry_run:
        conflicts.write_page(ws)
    changed = not dry_run and (linked or any(written.outcome != EXISTS for _, written in kept))
    if changed:
        overview.follow(ws)
    return Imported(tuple(done), batch if changed else "", dry_run)


def _sources(ws: Workspace, path: Path) -> Iterator[_Source]:
    """The markdown files that a path leads to; hidden ones, symbolic links and memem's own notes are passed over."""
    path = path.absolute()
    if path.resolve().is_relative_to(ws.store.paths.ours.resolve()):
        raise InputError(f"{path} is in the vault's own folder: what is there is remembered already.")
    if path.is_dir():
        yield from _walk(ws, path)
    elif not path.is_file():
        raise NotFound(f"There is no file or folder {path}.")
    elif path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path} is no markdown file: its name does not end in {' or '.join(SUFFIXES)}.")
    else:
        yield _Source(path, path.name)


def _walk(ws: Workspace, root: Path) -> Iterator[_Source]:
    unread: list[OSError] = []
    ours, marker = ws.store.paths.ours.resolve(), ws.store.paths.marker.name
    for name, folders, names in os.walk(root, onerror=unread.append):
        folder = Path(name)
        is_a_vault = (folder / marker).exists()
        apart = RESERVED if is_a_vault else ()
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each not in apart)
        folders[:] = [each for each in folders if (folder / each).resolve() != ours]
        paged = folder.name.lower() in PAGED and (folder.parent / marker).exists()
        base = folder.parent if paged else folder
        store = Store(VaultPaths(base.parent), fsync=False)
        for each in sorted(names):
            path = folder / each
            if each.startswith(".") or path.suffix.lower() not in SUFFIXES or path.is_symlink() or not path.is_file():
                continue
            # In another vault's folder there are pages beside the notes.
            if not (is_a_vault or paged) or store.is_memory(path.relative_to(base).as_posix()):
                yield _Source(path, path.relative_to(root).as_posix())
    for error in unread:
        yield _Source(Path(str(error.filename)), "", files.reason(error))


def _claim(ws: Workspace, source: _Source, project: str) -> _Claim:
    """What a file says. Raises NoteError, or InputError when it is too large."""
    if source.problem:
        raise NoteError(source.problem)
    with source.path.open("rb") as file:
        data = file.read(MAX_NOTE_BYTES + 1)
    if len(data) > MAX_NOTE_BYTES:
        raise InputError(f"it is larger than {MAX_NOTE_BYTES // 1000} KB")
    inside = source.inside.encode("utf-8", "replace").decode()
    note = notes.parse(inside, data, str(uuid.uuid5(_NAMESPACE, inside)))
    said, now = note.memory, iso(ws.clock())
    title = said.title if len(said.title) <= MAX_TITLE else ""
    body = said.body if "title" in note.document else _below_heading(said.body, title)
    memory = replace(
        said,
        id=str(uuid.uuid5(_NAMESPACE, f"{inside}\n{fingerprint(body)}")),
        title=title,
        body=body,
        project=normalise(project or said.project),
        kind=said.kind if said.kind in KINDS else "fact",
        status=said.status if said.status in STATUSES else "active",
        anchors=(),
        related=(),
        contradicts=(),
        supersedes="",
        superseded_by="",
        created=_dated(ws, said.created) or now,
        valid_from=_dated(ws, said.valid_from),
        valid_to=_dated(ws, said.valid_to, last=True),
        updated=now,
        source_type="import",
        author="model",  # whoever a file says it is from: it is not this person's word
    )
    links = {"related": said.related, "contradicts": said.contradicts}
    links |= {"supersedes": (said.supersedes,), "superseded_by": (said.superseded_by,)}
    return _Claim(source, memory, links)


def _dated(ws: Workspace, text: str, *, last: bool = False) -> str:
    """A date, if it is one, with its time; of the `last` day that something holds its end."""
    return validity.in_full(text, ws.clock().tzinfo, last=last) if moment(text) else ""


def _below_heading(body: str, title: str) -> str:
    """The text without the heading that is its title."""
    first, _, rest = body.partition("\n")
    return rest.strip() if first.startswith("#") and first.strip("# \t") == title and rest.strip() else body


def _settled(ws: Workspace, claim: _Claim) -> Written:
    """Keep it, like every other candidate. It may be older than what is known: it rewrites nothing."""
    ready(ws, ensure_vault(ws))
    candidate = Candidate(claim.memory, may_rewrite=False)
    return _known(ws, claim.memory) or reconcile.settle(ws, candidate, why=f"imported from {claim.source.inside}")


def _foreseen(ws: Workspace, claim: _Claim) -> Written:
    """What would become of it, as far as that can be told without comparing it with what is known."""
    memory = keeping.prepared(claim.memory).memory
    vault_id = ws.store.vault_id()
    if not vault_id:
        return Written(CREATED, memory, "")
    ready(ws, vault_id)
    hold = forgetting.held(ws, memory)
    if hold:
        raise Forgotten(hold.reason)
    rows = fresh_rows(ws, lambda: ws.index.by_fingerprint(fingerprint(memory.body)))
    twins = (row for row in rows if row.memory and row.memory.project == memory.project)
    twin = next((Written(EXISTS, row.memory, row.path) for row in twins if row.memory), None)
    return _known(ws, memory) or twin or Written(CREATED, memory, "")


def _known(ws: Workspace, memory: Memory) -> Written | None:
    """The note that an earlier import of the same file made, whatever became of it since."""
    rows = fresh_rows(ws, lambda: ws.index.rows("id = ?", (memory.id,)))
    return next((Written(EXISTS, row.memory, row.path) for row in rows if row.memory), None)


def _failed(source: _Source, problem: Exception) -> ImportedFile:
    reason = files.reason(problem) if isinstance(problem, OSError) else str(problem)
    return ImportedFile(_shown(source), REFUSED if isinstance(problem, InputError) else UNREADABLE, reason=reason)


def _shown(source: _Source) -> str:
    return str(source.path).encode("utf-8", "replace").decode()


def _link(ws: Workspace, kept: Sequence[tuple[_Claim, Written]]) -> int:
    """Links between what was imported together lead to the new notes; says how many notes got some."""
    stems: dict[str, str] = {}
    for claim, written in kept:
        stem = claim.source.path.stem.lower()
        stems[stem] = "" if stem in stems else PurePosixPath(written.path).stem  # two of a name: nobody knows which
    linked = 0
    for claim, written in kept:
        links = {name: _leading(ws, targets, stems, written) for name, targets in claim.links.items()}
        changes = {name: targets if name in _LISTS else targets[0] for name, targets in links.items() if targets}
        if changes and written.memory.id == claim.memory.id and _is_unlinked(written):
            with suppress(NoteError, NotFound, Ambiguous, InputError):  # it is a person's by now, or has moved
                linked += editing.revise(ws, claim.memory.id, why="links of an import", **changes) is not None
    return linked


def _is_unlinked(written: Written) -> bool:
    """New, or left without links by an import that was interrupted."""
    memory = written.memory
    has_some = memory.related or memory.contradicts or memory.supersedes or memory.superseded_by
    return written.outcome == CREATED or (written.outcome == EXISTS and not has_some)


def _leading(ws: Workspace, targets: Sequence[str], stems: dict[str, str], written: Written) -> tuple[str, ...]:
    """Those of the links that lead to a note, as they are written now."""
    found = []
    for target in targets:
        name = re.split(r"[|#]", target.strip().removeprefix("[[").removesuffix("]]"))[0].removesuffix(".md")
        stem = name.rpartition("/")[2].strip()
        stem = stems.get(stem.lower(), stem)
        end = f"/{stem}.md"
        if stem and not written.path.endswith(end) and ws.index.count_where("substr(path, ?) = ?", (-len(end), end)):
            found.append(f"[[{stem}]]")
    return tuple(dict.fromkeys(found))
