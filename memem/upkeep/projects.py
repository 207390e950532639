"""List the projects of the folders that memem has seen; let a person trust a folder, or take that back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.errors import InputError
from memem.core.home import using_home
from memem.core.memory import GENERAL
from memem.core.project import BY_HOME, OVERRIDE, list_foreign
from memem.safety.naming import display_name, display_path
from memem.state.folder_record import DAMAGED, FolderRecord
from memem.upkeep.checks.result import Diagnosis, degraded, fine

if TYPE_CHECKING:
    from memem.core.project import Claim
    from memem.workspace import Workspace

MAX_LISTED = 10  # by the doctor
MOVE_AWAY = "Delete {}; memem derives it again from your sessions."


@dataclass(frozen=True, slots=True)
class KnownProject:
    """A project, and what it is bound to: the roots of its folders or repositories, and their remotes."""

    project: str
    roots: tuple[str, ...]
    remotes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaitingClaim:
    """A folder that claims the name of another project, and the project it is instead."""

    folder: str
    claims: str
    project: str
    remote: str
    distrusted: bool


@dataclass(frozen=True, slots=True)
class MiningRefusal:
    folder: str
    file: str


@dataclass(frozen=True, slots=True)
class KnownFolders:
    """Everything the record of folders holds; `problem` says why it cannot be used."""

    projects: tuple[KnownProject, ...]
    waiting: tuple[WaitingClaim, ...]
    refusals: tuple[MiningRefusal, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TrustChange:
    """The folder, the name it claims, the project it belongs to now, and whether that changed."""

    folder: str
    claims: str
    project: str
    changed: bool


def list_folders(ws: Workspace) -> KnownFolders:
    ws.folders.complete()
    record = ws.folders.load()
    projects = (KnownProject(name, tuple(b.roots), tuple(b.remotes)) for name, b in sorted(record.projects.items()))
    waiting = tuple(
        WaitingClaim(root, claims, each.project, each.remote, each.distrusted)
        for root, names in sorted(record.waiting.items())
        for claims, each in sorted(names.items())
    )
    refusals = (MiningRefusal(place, f"{source}/{OVERRIDE}") for place, source in sorted(record.refusals.items()))
    return KnownFolders(tuple(projects), waiting, tuple(refusals), record.problem)


def trust(ws: Workspace, folder: Path) -> TrustChange:
    """Let a folder share the project whose name it claims."""
    return _change(ws, folder, FolderRecord.grant)


def distrust(ws: Workspace, folder: Path) -> TrustChange:
    """Make a folder a project of its own, whatever name it claims."""
    return _change(ws, folder, FolderRecord.revoke)


def _change(ws: Workspace, folder: Path, change: Callable[[FolderRecord, Claim], object]) -> TrustChange:
    ws.folders.complete()
    claim, before = ws.folders.claim_of(folder), ws.project_of(folder).name
    if claim.by == BY_HOME:
        raise InputError(f"{folder} always belongs to {GENERAL}. Name the folder of a project.")
    with using_home(ws.home):
        ws.folders.save(lambda record: change(record, claim))
    now = ws.project_of(folder).name
    return TrustChange(claim.root, claim.name, now, now != before)


def check(ws: Workspace) -> list[Diagnosis]:
    """The doctor's check: which folders share a project, which wait for trust, and which refuse mining."""
    path, problem = ws.home.folders_file, ws.folders.load().problem
    if problem:
        fix = (
            "Upgrade memem; until then new folders are not recorded." if problem != DAMAGED else MOVE_AWAY.format(path)
        )
        return [degraded("projects", f"{path} is {problem}", fix)]
    found = list_folders(ws)
    names = [
        f"{display_name(each.project)} ({', '.join(map(display_path, _bound_to(each)))})" for each in found.projects
    ]
    results = [fine("projects", _join(names) or "no folder seen yet")]
    for claim in found.waiting[:MAX_LISTED]:
        name, folder = display_name(claim.claims), display_path(claim.folder)
        detail = f"{folder} claims to be {name}; it is {display_name(claim.project)} until you trust it"
        results.append(fine("claims", f"{detail} (`memem project trust FOLDER`)"))
    if found.refusals:
        results.append(fine("not mined", _join([display_path(each.folder) for each in found.refusals])))
    for file in list_foreign(ws.session_folder):
        fix = "Take it over with `chown`, or delete it."
        results.append(degraded("projects", f"{display_path(file)} belongs to another user and is ignored", fix))
    return results


def _bound_to(project: KnownProject) -> tuple[str, ...]:
    return (*project.roots, *project.remotes) or ("no folder",)


def _join(items: list[str]) -> str:
    more = len(items) - MAX_LISTED
    return "; ".join(items[:MAX_LISTED]) + (f"; {more} more, see `memem project`" if more > 0 else "")
