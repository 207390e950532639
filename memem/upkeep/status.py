"""How the memory home is: counts for `memem status`, findings for `memem check`."""

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
from memem.notes import conflicts
from memem.pages import markdown, read_playbook
from memem.search import excluded, meaning, vanished
from memem.search.encoders.model import ModelState, model_state
from memem.search.graph import read
from memem.search.notes import NoteRow
from memem.search.refresh import refresh
from memem.vault import obsidian, review
from memem.vault.note import SCHEMA_VERSION, Note
from memem.vault.opening import require_vault
from memem.vault.verdicts import REJECTED, WAITING

if TYPE_CHECKING:
    from memem.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Status:
    """A memory home at a glance."""

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
    recall: str
    model: ModelState
    mining: MiningState
    index_bytes: int
    last_event: str
    capabilities: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a person may want to put right. `serious` ones keep a memory from being recalled or changed."""

    path: str
    problem: str
    advice: str
    serious: bool = True


def status(ws: Workspace) -> Status:
    """Counts after a look at the vault. A vault that cannot be used is a state to show, not a failure."""
    problem = ""
    rows: list[NoteRow] = []
    try:
        refresh(ws)
        rows = ws.index.rows()
    except (VaultError, IndexUnusable, HomeError) as error:
        problem = str(error)
    memories = [row.memory for row in rows if row.memory]
    model = model_state(ws) if not problem else ModelState(ws.settings.encoder)
    usable = model.encoder != "none" and not model.problem
    meant = usable and meaning.has_enough_vectors(model.passages - model.encoded, model.passages)
    last = ws.events.last()
    return Status(
        home=ws.home.root,
        vault=ws.settings.vault,
        problem=problem,
        memories=len(memories),
        projects=dict(sorted(Counter(memory.project for memory in memories).items())),
        pinned=sum(memory.layer == PINNED for memory in memories),
        stale=sum(memory.status == "stale" for memory in memories),
        conflicts=conflicts.count(ws) if not problem else 0,
        proposals=review.count_proposals(ws.store),
        held=sum(row.review == WAITING for row in rows),
        vanished=len(vanished.list_undecided(ws)) if not problem else 0,
        unreadable=len(rows) - len(memories),
        recall="meaning and keywords" if meant else "keywords",
        model=model,
        mining=mining_state(ws),
        index_bytes=ws.index_file.stat().st_size if ws.index_file.exists() else 0,
        last_event=f"{last.time} {last.action} {last.path}" if last else "",
        capabilities=_capabilities(ws.home.capabilities_file),
    )


def check(ws: Workspace) -> list[Finding]:
    """Everything in the vault that is not as it should be, and the index's own integrity."""
    require_vault(ws)
    ws.index.check()
    rows = ws.index.rows("1 ORDER BY path")
    findings = [Finding(row.path, row.problem, _advice(ws, row)) for row in rows if row.problem]
    findings += [
        Finding(path, f"is a copy that {copy.service} made of {copy.original}", excluded.copy_advice(ws, path), False)
        for path, copy in excluded.copies_of_other_files(ws)
    ]
    readable = {row.path: row.memory for row in rows if row.memory}
    findings += _shared_ids(readable)
    findings += _held_back(rows)
    findings += _of_links(readable, ws.settings.vault)
    findings += [Finding(path, problem, advice, False) for path, problem, advice in _no_longer_true(ws, readable)]
    names = obsidian.VaultNames(read.link_names(ws.settings.vault))
    told: dict[str, list[str]] = {}
    for finding in findings:
        told.setdefault(finding.path, []).append(finding.problem)
    types: dict[str, dict[str, str]] = {}
    for path in readable:
        with suppress(NoteChanged):  # it went away since the scan
            note = ws.store.read(path)
            findings += _of_note(note, names, told.get(path, ()))
            seen = obsidian.property_types(note.document)
            types[path] = {name: kind for name, kind in seen.items() if name not in obsidian.TYPES}
    one = "Give it one type in all notes: Obsidian knows one for each property."
    findings += [Finding(path, each.problem, one, False) for path, each in obsidian.find_type_clashes(types)]
    for page in _pages(ws, {memory.project for memory in readable.values()}):
        findings += _of_page(ws, page, names)
    findings += [
        Finding(path, problem, "Rename it, or move the file itself here.") for path, problem in ws.store.list_skipped()
    ]
    return sorted(findings, key=lambda finding: (not finding.serious, finding.path))


def _held_back(rows: Collection[NoteRow]) -> list[Finding]:
    """Notes that nobody is shown, since they read like an instruction to the model."""
    return [
        Finding(
            row.path,
            f"{excluded.explain_quarantine(row.memory)}; it is not recalled"
            + (", as you decided" if row.review == REJECTED else ""),
            f"Reword it, or let it be recalled: `memem review accept {row.memory.id8}`.",
            row.review == WAITING,
        )
        for row in rows
        if row.memory and row.review in (WAITING, REJECTED)
    ]


def _advice(ws: Workspace, row: NoteRow) -> str:
    is_copy = row.digest.startswith(excluded.COPY_MARK)
    return excluded.copy_advice(ws, row.path) if is_copy else "Correct it in Obsidian; it returns by itself."


def _of_links(readable: dict[str, Memory], vault: Path) -> list[Finding]:
    """Links that lead nowhere, and notes that superseded each other in a circle."""
    findings = [
        Finding(path, f"links by `{name}` to {link}, which is not there", "Correct the link, or remove it.", False)
        for path, name, link in read.dangling(readable, vault)
    ]
    for circle in read.circles(readable):
        whom = "itself" if len(circle) == 1 else f"{' and '.join(circle[1:])}, in a circle"
        advice = "Remove `superseded_by` from the one that holds now, and `supersedes` from those that do not."
        findings.append(Finding(circle[0], f"supersedes {whom}: none of them is shown", advice, False))
    return findings


def _no_longer_true(ws: Workspace, readable: dict[str, Memory]) -> Iterator[tuple[str, str, str]]:
    """Notes that are stale, and dates that cannot be read or contradict each other."""
    for path, memory in readable.items():
        if memory.status == "stale" and memory.stale_because:
            advice = "Correct it, or `memem forget` it; it recovers by itself once that is there again."
            yield path, f"is stale: {memory.stale_because}", advice
        for name in ("created", "updated", "valid_from", "valid_to"):
            if dates.is_unreadable(getattr(memory, name)):
                told = (
                    f"has the date {getattr(memory, name)[:40]!r} as `{name}`, which cannot be read and does not count"
                )
                yield path, told, "Write it as 2026-06-01 or 2026-06-01T12:00:00+02:00."
        says = dates.stated_span(memory, ws.clock().tzinfo)
        if says.begins is not None and says.ends is not None and says.ends <= says.begins:
            told = "ends by `valid_to` before it begins by `valid_from`: it never holds"
            yield path, told, "Correct one of the two dates."


def _shared_ids(readable: dict[str, Memory]) -> list[Finding]:
    paths: dict[str, list[str]] = {}
    for path, memory in readable.items():
        paths.setdefault(memory.id, []).append(path)
    return [
        Finding(
            path,
            f"has the same id as {', '.join(other for other in shared if other != path)}",
            "Merge them, or delete the line `id:` in one; both are recalled, neither can be edited by id.",
        )
        for shared in paths.values()
        if len(shared) > 1
        for path in shared
    ]


def _pages(ws: Workspace, projects: Collection[str]) -> list[Path]:
    """Those that memem writes, as far as they are there; what else stands beside them is a person's."""
    paths = ws.store.paths
    stems = sorted(map(markdown.file_stem, projects))
    several = [folder / f"{stem}.md" for folder in (paths.projects, paths.playbooks) for stem in stems]
    return [
        page for page in (paths.home_page, paths.conflicts, *several) if page.is_file() and not markdown.leads_out(page)
    ]


def _of_page(ws: Workspace, page: Path, names: obsidian.VaultNames) -> list[Finding]:
    path = page.relative_to(ws.store.paths.ours).as_posix()
    text = "" if ws.store.is_memory(path) else markdown.read(page) or ""
    found = obsidian.find_violations(text, names) if markdown.own_part(text) else []
    findings = [Finding(path, each.problem, "`memem pages` renews what memem wrote there.", False) for each in found]
    spoken = [words for words in read_playbook.unspoken(text) if page.parent == ws.store.paths.playbooks]
    told = "has a line that speaks to the model, which no session is told: {!r}"
    return findings + [Finding(path, told.format(words[:60]), "Reword it as a fact.") for words in spoken]


def _of_note(note: Note, names: obsidian.VaultNames, told: Collection[str]) -> list[Finding]:
    path = note.path
    findings = [
        Finding(path, each.problem, "Correct it in Obsidian.", False)
        for each in obsidian.check_document(note.document, names)
        if not any(each.about in problem for problem in told)  # a link that leads nowhere at all, a date that is none
    ]
    if not note.has_id:
        findings.append(
            Finding(
                path,
                "has no id: it is known by its path until it has one",
                "`memem edit` gives it one.",
                False,
            )
        )
    for name, value, known in (("kind", note.memory.kind, KINDS), ("status", note.memory.status, STATUSES)):
        if value not in known:
            advice = f"Use one of {', '.join(known)}."
            findings.append(Finding(path, f"has the {name} {value!r}, which means nothing to memem", advice, False))
    if excluded.has_merge_conflict(note.document.text.encode()):
        findings.append(Finding(path, excluded.MERGE_CONFLICT, "Keep one side, and delete the marks.", False))
    if note.schema_version > SCHEMA_VERSION:
        findings.append(Finding(path, "was written by a newer memem", "Upgrade memem to change it."))
    return findings


def _capabilities(path: Path) -> dict[str, Any]:
    """What `bootstrap.sh` wrote down when it set up; empty when memem was installed another way."""
    try:
        return from_toml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
