"""Counts for `memem status`, and problems in the vault for `memem index check`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.core import dates
from memem.core.errors import HomeError, IndexUnusable, NoteChanged, VaultError
from memem.core.files import from_toml
from memem.core.memory import KINDS, PINNED, STATUSES, Memory
from memem.mine.status import MiningState, mining_state
from memem.notes import conflicts, staleness
from memem.notes.review import ELSEWHERE
from memem.pages import markdown, read_playbook
from memem.safety.gate import cleanse
from memem.search import meaning, note_rows, vanished
from memem.search.encoders.model import ModelState, model_state
from memem.search.graph import read
from memem.search.notes import NoteRow
from memem.search.refresh import refresh
from memem.vault import obsidian
from memem.vault.note import SCHEMA_VERSION, Note
from memem.vault.opening import require_vault
from memem.vault.page_text import find_own_part
from memem.vault.verdicts import REJECTED, WAITING, is_accepted_elsewhere

if TYPE_CHECKING:
    from memem.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Status:
    home: Path
    vault: Path
    problem: str
    memories: int
    projects: dict[str, int]
    pinned: int
    stale: int
    conflicts: int
    proposals: int
    held: int
    vanished: int
    unreadable: int
    untrusted: int  # folders that claim the name of another project
    refusing: int  # folders that are not mined
    recall: str
    model: ModelState
    mining: MiningState
    index_bytes: int
    last_event: str
    capabilities: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    path: str
    problem: str
    advice: str
    serious: bool = True  # whether it keeps a memory from being recalled or changed


def status(ws: Workspace) -> Status:
    """Count what is in the vault. An unusable vault is reported in `problem`, not raised."""
    problem, unindexed = "", 0
    rows: list[NoteRow] = []
    try:
        refresh(ws)
        rows = ws.index.rows()
    except VaultError as error:
        problem = str(error)
    except (IndexUnusable, HomeError) as error:
        problem, unindexed = str(error), sum(1 for _ in ws.store.scan())
    memories = [row.memory for row in rows if row.memory]
    model = model_state(ws) if not problem else ModelState(ws.settings.encoder)
    usable = model.encoder != "none" and not model.problem
    has_meaning = usable and meaning.has_enough_vectors(model.passages - model.encoded, model.passages)
    last, capabilities, folders = ws.events.last(), {}, ws.folders.load()
    with suppress(OSError, ValueError):  # written by `bootstrap.sh`; memem may be installed another way
        capabilities = from_toml(ws.home.capabilities_file.read_text(encoding="utf-8"))
    return Status(
        home=ws.home.root,
        vault=ws.settings.vault,
        problem=problem,
        memories=len(memories) or unindexed,
        projects=dict(sorted(Counter(memory.project for memory in memories).items())),
        pinned=sum(memory.layer == PINNED for memory in memories),
        stale=sum(memory.status == "stale" for memory in memories),
        conflicts=conflicts.count(ws) if not problem else 0,
        proposals=len(ws.store.proposal_files()),
        held=sum(row.review == WAITING for row in rows),
        vanished=len(vanished.list_undecided(ws)) if not problem else 0,
        unreadable=len(rows) - len(memories),
        untrusted=sum(map(len, folders.waiting.values())),
        refusing=len(folders.refusals),
        recall="meaning and keywords" if has_meaning else "keywords",
        model=model,
        mining=mining_state(ws),
        index_bytes=ws.index_file.stat().st_size if ws.index_file.exists() else 0,
        last_event=f"{last.time} {last.action} {last.path}" if last else "",
        capabilities=capabilities,
    )


def check(ws: Workspace) -> list[Finding]:
    """List every problem of notes and pages, serious ones first. Raises if the index is damaged."""
    require_vault(ws)
    ws.index.check()
    rows = ws.index.rows("1 ORDER BY path")
    readable = {row.path: row.memory for row in rows if row.memory}
    findings = [*_not_recalled(ws, rows), *_shared_ids(readable)]
    findings += [*_links(readable, ws.settings.vault), *_outdated(ws, readable)]
    names = obsidian.VaultNames(read.list_files(ws.settings.vault))
    reported: dict[str, list[str]] = {}
    for finding in findings:
        reported.setdefault(finding.path, []).append(finding.problem)
    types: dict[str, dict[str, str]] = {}
    for path in readable:
        with suppress(NoteChanged):  # it disappeared since the scan
            note = ws.store.read(path)
            findings += _note_findings(note, names, reported.get(path, ()))
            found_types = obsidian.property_types(note.document)
            types[path] = {name: kind for name, kind in found_types.items() if name not in obsidian.TYPES}
    one_type = "Give the property the same type in all notes, as Obsidian requires."
    findings += [Finding(path, each.problem, one_type, False) for path, each in obsidian.find_type_clashes(types)]
    paths, stems = ws.store.paths, sorted({markdown.file_stem(memory.project) for memory in readable.values()})
    pages = [folder / f"{stem}.md" for folder in (paths.projects, paths.playbooks) for stem in stems]
    for page in (paths.home_page, paths.conflicts, *pages):
        if page.is_file() and not markdown.is_symlink(page):
            findings += _page_findings(ws, page, names)
    findings += [Finding(*skipped) for skipped in ws.store.list_skipped()]
    return sorted(findings, key=lambda finding: (not finding.serious, finding.path))


def _not_recalled(ws: Workspace, rows: Collection[NoteRow]) -> Iterator[Finding]:
    """Unreadable notes, copies, and notes that read like an instruction to the model."""
    for path, copy in note_rows.copies_of_other_files(ws):
        problem = f"is a copy of {copy.original}, made by {copy.service}"
        yield Finding(path, problem, note_rows.copy_advice(ws, path), False)
    for row in rows:
        if row.problem:
            is_copy = row.digest.startswith(note_rows.COPY_MARK)
            advice = "Correct it in Obsidian; it is recalled again as soon as it can be read."
            yield Finding(row.path, row.problem, note_rows.copy_advice(ws, row.path) if is_copy else advice)
        if row.memory and row.review in (WAITING, REJECTED):
            decided = ", as you decided" if row.review == REJECTED else ""
            problem = f"{cleanse(row.memory).doubt}; it is not recalled{decided}"
            elsewhere = f" ({ELSEWHERE})" if is_accepted_elsewhere(ws, row.memory) else ""
            problem, advice = problem + elsewhere, f"Reword it, or allow it: `memem review accept {row.memory.id8}`."
            yield Finding(row.path, problem, advice, row.review == WAITING)


def _links(readable: dict[str, Memory], vault: Path) -> Iterator[Finding]:
    for path, name, link in read.find_dangling_links(readable, vault):
        problem = f"links to {link} in `{name}`, but there is no such note"
        yield Finding(path, problem, "Correct or remove the link.", False)
    for circle in read.find_cycles(readable):
        others = "itself" if len(circle) == 1 else f"{' and '.join(circle[1:])}, in a circle"
        advice = "Remove `superseded_by` from the valid one, and `supersedes` from the others."
        recalled = "it is not" if len(circle) == 1 else "none of them is"
        yield Finding(circle[0], f"supersedes {others}: {recalled} recalled", advice, False)


def _outdated(ws: Workspace, readable: dict[str, Memory]) -> Iterator[Finding]:
    """Stale notes, and dates that cannot be read or contradict each other."""
    for path, memory in readable.items():
        if memory.status == "stale" and memory.stale_because:
            forget = f"run `memem forget {memory.id8}`"
            advice = f"Correct the note, or {forget}. It becomes active again once its files are back."
            if staleness.is_by_date(memory.stale_because):
                advice = f"Correct the date if the note is still valid, or {forget}."
            yield Finding(path, f"is stale: {memory.stale_because}", advice, False)
        for name in ("created", "updated", "valid_from", "valid_to"):
            value = getattr(memory, name)
            if dates.is_unreadable(value):
                problem = f"has the unreadable date {value[:40]!r} in `{name}`, which is ignored"
                yield Finding(path, problem, "Write it as 2026-06-01 or 2026-06-01T12:00:00+02:00.", False)
        span = dates.get_stated_span(memory, ws.clock().tzinfo)
        begins, ends = span
        if begins is None or ends is None:
            continue
        # A memory may be replaced in the second in which it is said.
        if ends < begins or (ends == begins and not memory.superseded_by):
            problem = "is never valid: `valid_to` is not after `valid_from`"
            yield Finding(path, problem, "Correct one of the two dates.", False)


def _shared_ids(readable: dict[str, Memory]) -> Iterator[Finding]:
    paths: dict[str, list[str]] = {}
    for path, memory in readable.items():
        paths.setdefault(memory.id, []).append(path)
    advice = "Merge them, or delete the `id:` line from one; both are recalled, but neither can be edited by id."
    for shared in paths.values():
        for path in shared if len(shared) > 1 else ():
            yield Finding(path, f"has the same id as {', '.join(other for other in shared if other != path)}", advice)


def _page_findings(ws: Workspace, page: Path, names: obsidian.VaultNames) -> Iterator[Finding]:
    path = page.relative_to(ws.store.paths.ours).as_posix()
    text = "" if ws.store.is_memory(path) else markdown.read_page(page) or ""
    for violation in obsidian.find_violations(text, names) if find_own_part(text) else []:
        yield Finding(path, violation.problem, "Run `memem pages` to write the page again.", False)
    for words in read_playbook.list_withheld_lines(text) if page.parent == ws.store.paths.playbooks else []:
        problem = f"has a line that addresses the model and is never shown to it: {words[:60]!r}"
        yield Finding(path, problem, "Reword it as a fact.")


def _note_findings(note: Note, names: obsidian.VaultNames, reported: Collection[str]) -> Iterator[Finding]:
    path = note.path
    for violation in obsidian.check_document(note.document, names):
        if not any(violation.about in problem for problem in reported):
            yield Finding(path, violation.problem, "Correct it in Obsidian.", False)
    if not note.has_id:
        yield Finding(path, "has no id and is identified by its path", "`memem edit` adds an id.", False)
    for name, value, allowed in (("kind", note.memory.kind, KINDS), ("status", note.memory.status, STATUSES)):
        if value not in allowed:
            yield Finding(path, f"has the unknown {name} {value!r}", f"Use one of {', '.join(allowed)}.", False)
    if note_rows.has_merge_conflict(note.document.text.encode()):
        yield Finding(path, note_rows.MERGE_CONFLICT, "Keep one side and delete the markers.", False)
    if note.schema_version > SCHEMA_VERSION:
        yield Finding(path, "was written by a newer version of memem", "Upgrade memem to change it.")
