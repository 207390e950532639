"""`projects.json`: the folders memem has seen, which project each belongs to, and which of them refuse mining.

A folder may claim any name (`core/project.py`). The first one that claims a name holds it, with its repository's root
and the full address of its remote; folders with the same root or remote belong to it too. Any other folder that claims
the name is a project of its own until a person trusts it. A refusal of mining holds while its `.memem.toml` is missing.
"""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from memem.core import files
from memem.core.errors import HomeError
from memem.core.files import Stamp, from_json
from memem.core.memory import GENERAL
from memem.core.project import (
    BY_FOLDER,
    BY_HOME,
    BY_OVERRIDE,
    MAX_NAME,
    Claim,
    Project,
    read_override,
    read_refusals,
)

Spell = Callable[[Path], str]  # how a path is stored: without secrets
MAX_PLACES = 1_000  # every hook reads them
VERSION = 1
DAMAGED, NEWER = "damaged", "written by a newer version of memem"


@dataclass(slots=True)
class Binding:
    """The roots of repositories or folders, and the remotes, that a project is bound to."""

    roots: list[str] = field(default_factory=list)
    remotes: list[str] = field(default_factory=list)

    def has(self, claim: Claim) -> bool:
        return claim.root in self.roots or (bool(claim.remote) and claim.remote in self.remotes)


@dataclass(slots=True)
class Place:
    """The project of a folder that was seen; `below`: folders below it belong to that too."""

    project: str
    below: bool = True


@dataclass(slots=True)
class Waiting:
    """A claim that was not granted, and the project that its folder is instead; a person may have `distrusted` it."""

    project: str
    remote: str = ""
    distrusted: bool = False


@dataclass(slots=True)
class FolderRecord:
    """The content of the file; `problem` says why it cannot be used, or not be written."""

    complete: bool = False  # whether everything that an earlier version knew has been added
    projects: dict[str, Binding] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    waiting: dict[str, dict[str, Waiting]] = field(default_factory=dict)  # by root, then by the name it claims
    refusals: dict[str, str] = field(default_factory=dict)  # the folder whose `.memem.toml` refuses mining
    problem: str = ""

    def find(self, claim: Claim) -> str | None:
        """The project that a claim was given before; None for a new claim."""
        waiting = self.waiting.get(claim.root, {}).get(claim.name)
        if waiting and waiting.distrusted:
            return waiting.project
        if (binding := self.projects.get(claim.name)) and binding.has(claim):
            return claim.name
        return waiting.project if waiting else None

    def place_above(self, folder: Path, spell: Spell) -> tuple[Path, Place] | None:
        """The closest recorded folder that a missing one belongs to."""
        for above in (folder, *folder.parents):
            place = self.places.get(spell(above))
            if place and (place.below or above == folder):
                return above, place
        return None

    def grant(self, claim: Claim) -> None:
        """Bind a project to the identity of a claim."""
        binding = self.projects.setdefault(claim.name, Binding())
        _add(binding.roots, claim.root)
        _add(binding.remotes, claim.remote)
        self._drop_waiting(claim.root, claim.name)
        self.add_place(claim, claim.name)

    def withhold(self, claim: Claim, *, distrusted: bool = False) -> str:
        """Make the folder of a claim a project of its own, and return its name."""
        name = self.own_name(claim)
        self.waiting.setdefault(claim.root, {})[claim.name] = Waiting(name, claim.remote, distrusted)
        own = self.projects.setdefault(name, Binding())
        _add(own.roots, claim.root)
        _add(own.remotes, claim.remote)
        self.add_place(claim, name)
        return name

    def revoke(self, claim: Claim) -> str:
        """Take a name back from a folder; the name stays taken, also if nobody else holds it."""
        binding = self.projects.get(claim.name)
        if binding and claim.root in binding.roots:
            binding.roots.remove(claim.root)
        if binding and claim.remote in binding.remotes:
            binding.remotes.remove(claim.remote)
        return self.withhold(claim, distrusted=True)

    def merge(self, other: "FolderRecord") -> None:
        """Add what is in another record; its grants win over claims that wait here, unless a person decided."""
        for name, binding in other.projects.items():
            mine = self.projects.setdefault(name, Binding())
            for root in binding.roots:
                waiting = self.waiting.get(root, {}).get(name)
                if waiting is None or not waiting.distrusted:
                    _add(mine.roots, root)
                    self._drop_waiting(root, name)
            for remote in binding.remotes:
                _add(mine.remotes, remote)
        self.places = other.places | self.places
        self.refusals = other.refusals | self.refusals
        self.complete = self.complete or other.complete

    def prune(self, most: int, has_notes: Callable[[str], bool]) -> None:
        """Drop folders that are gone, the oldest first, down to `most`, and names that nothing uses any more."""
        gone = [key for key in self.places if not Path(key).is_dir()]
        for key in gone[: max(0, len(self.places) - most)]:
            name = self.places.pop(key).project
            self.waiting.pop(key, None)
            binding = self.projects.get(name, Binding())
            if key in binding.roots:
                binding.roots.remove(key)
            if not binding.roots and not binding.remotes and not has_notes(name):
                self.projects.pop(name, None)

    def own_name(self, claim: Claim) -> str:
        """A name that only this claim's remote, else its root, gets."""
        import hashlib

        identity = claim.remote or claim.root
        digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
        for length in (6, 9, 12):  # in case another folder has been given that name
            name = f"{claim.name[: MAX_NAME - length - 1].rstrip('-.')}-{digest[:length]}"
            binding = self.projects.get(name)
            if binding is None or binding.has(claim):
                break
        return name

    def add_place(self, claim: Claim, project: str) -> None:
        self.places[claim.key] = Place(project, claim.by != BY_FOLDER)

    def _drop_waiting(self, root: str, claimed: str) -> None:
        names = self.waiting.get(root, {})
        names.pop(claimed, None)
        if not names:
            self.waiting.pop(root, None)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A folder that may not be mined, and the file that says so, or said so last."""

    folder: Path
    file_folder: Path


class FolderRegistry:
    """Decides which project a folder gets, and remembers it. A home that cannot be written decides the same."""

    def __init__(
        self,
        path: Path,
        *,
        fsync: bool,
        derive: Callable[[FolderRecord], object],  # adds what an earlier version knew
        has_notes: Callable[[str], bool],  # whether a project has notes in the vault
        spell: Spell,
    ) -> None:
        self.path = path
        self._spell = spell
        self._fsync, self._derive, self._has_notes = fsync, derive, has_notes
        self._unsaved: tuple[Stamp | None, FolderRecord] | None = None  # in a home that cannot be written

    def load(self) -> FolderRecord:
        stamp = files.stamp(self.path)
        if self._unsaved and self._unsaved[0] == stamp:
            return self._unsaved[1]
        if stamp and (record := _parse(self.path, stamp)).problem != DAMAGED:
            return record
        if stamp is None:
            self._derive(record := FolderRecord())
            if record == FolderRecord(complete=True):
                return record  # a new home is not created for a folder that may never matter
        return self.change(lambda _: None)

    def change(self, change: Callable[[FolderRecord], object]) -> FolderRecord:
        """Change the record under a lock. In a home that cannot be written, it counts for this process."""
        try:
            return self.save(change)
        except (OSError, HomeError):
            record = self._read()
            change(record)
            self._unsaved = files.stamp(self.path), record
            return record

    def save(self, change: Callable[[FolderRecord], object]) -> FolderRecord:
        """Change the record under a lock. Raises OSError, or HomeError for the file of a newer memem."""
        files.make_private_folder(self.path.parent)
        with files.locked(self.path.with_suffix(".lock")):
            record = self._read()
            if record.problem == NEWER:
                raise HomeError(f"{self.path} was {NEWER}. Upgrade memem and try again.")
            if record.problem:  # its content is derived again, as far as possible
                os.replace(self.path, self.path.with_suffix(".damaged"))  # noqa: PTH105 - as in core/files.py
                record.problem = ""
            change(record)
            files.write_atomic(self.path, _dump(record), fsync=self._fsync, mode=files.PRIVATE_FILE)
        return record

    def _read(self) -> FolderRecord:
        """Read a copy to be changed; one that is missing or damaged is derived."""
        stamp = files.stamp(self.path)
        if self._unsaved and self._unsaved[0] == stamp:
            return _copy(self._unsaved[1])
        record = _copy(_parse(self.path, stamp)) if stamp else FolderRecord()
        if not stamp or record.problem == DAMAGED:
            self._derive(record)
        return record

    def prune(self) -> None:
        if len(self.load().places) > MAX_PLACES:
            self.change(lambda record: record.prune(MAX_PLACES, self._has_notes))

    def resolve(self, claim: Claim, folder: Path) -> Project:
        """Return the project that a folder gets for its claim."""
        record, exists = self.load(), folder.is_dir()
        if not exists:
            above = record.place_above(folder.resolve(), self._spell)
            if above and (claim.by == BY_FOLDER or len(above[0].parts) > len(claim.place.parts)):
                return Project(above[1].project, above[0])
        known = exists or claim.by != BY_FOLDER
        name = GENERAL if claim.by == BY_HOME else self._settle(record, claim, store=known)
        if news := {key: key for key in map(self._spell, claim.refusing) if key not in record.refusals}:
            self.change(lambda record: record.refusals.update(news))
        return Project(name, claim.place, claim.branch, known)

    def _settle(self, record: FolderRecord, claim: Claim, *, store: bool) -> str:
        name = record.find(claim)
        if name is None:
            is_granted = self._is_free(record, claim)
            name = claim.name if is_granted else record.own_name(claim)
            if store and (is_granted or record.complete):
                self.change(lambda record: self._decide(record, claim))
        elif store and self._is_news(record, claim, name):
            self.change(lambda record: self._decide(record, claim))
        return name

    def _decide(self, record: FolderRecord, claim: Claim) -> None:
        """Record a claim, as far as it is still new: another process may have been faster."""
        name = record.find(claim)
        if name == claim.name or (name is None and self._is_free(record, claim)):
            record.grant(claim)
        elif name is None:
            record.withhold(claim)
        else:
            record.add_place(claim, name)

    def _is_free(self, record: FolderRecord, claim: Claim) -> bool:
        """Whether a folder gets a name by being the first to claim it; one in a `.memem.toml` only if it is unused."""
        if claim.name == GENERAL or claim.name in record.projects:
            return False
        return claim.by != BY_OVERRIDE or not self._has_notes(claim.name)

    @staticmethod
    def _is_news(record: FolderRecord, claim: Claim, name: str) -> bool:
        place, binding = record.places.get(claim.key), record.projects.get(name)
        is_bound = binding and claim.root in binding.roots and (not claim.remote or claim.remote in binding.remotes)
        return place is None or place.project != name or (name == claim.name and not is_bound)

    def refusal(self, folder: Path) -> Refusal | None:
        """Return why a folder may not be mined: its `.memem.toml` says so, or said so when it was last seen."""
        found = {self._spell(place): self._spell(source) for place, source in read_refusals(folder).items()}
        record = self.load()
        if news := {place: source for place, source in found.items() if record.refusals.get(place) != source}:
            record = self.change(lambda record: record.refusals.update(news))
        chains = (Path(os.path.abspath(folder)), folder.resolve())  # noqa: PTH100 - links are not followed
        above = {self._spell(each): each for chain in chains for each in (chain, *chain.parents)}
        lifted = list[str]()
        for key in (each for each in above if each in record.refusals):
            source = above[key] if record.refusals[key] == key else Path(record.refusals[key])
            override = read_override(source)
            if override is None or not override[1]:
                return Refusal(above[key], source)
            lifted.append(key)
        if lifted:
            self.change(lambda record: [record.refusals.pop(key, None) for key in lifted])
        return None


def _add(items: list[str], item: str) -> None:
    if item and item not in items:
        items.append(item)


def _dump(record: FolderRecord) -> bytes:
    content = {key: value for key, value in asdict(record).items() if key != "problem"}
    return json.dumps({"version": VERSION, **content}, indent=1).encode()


def _copy(record: FolderRecord) -> FolderRecord:
    return replace(_load(asdict(record)), problem=record.problem)


@lru_cache(maxsize=4)
def _parse(path: Path, _stamp: Stamp) -> FolderRecord:
    try:
        content = from_json(path.read_bytes())
        is_newer = content["version"] > VERSION
    except (OSError, ValueError, TypeError, KeyError):
        return FolderRecord(problem=DAMAGED)
    try:
        return replace(_load(content), problem=NEWER if is_newer else "")
    except (TypeError, AttributeError, KeyError):
        return FolderRecord(complete=is_newer, problem=NEWER if is_newer else DAMAGED)


def _load(content: dict[str, Any]) -> FolderRecord:
    return FolderRecord(
        complete=bool(content["complete"]),
        projects={name: Binding(_texts(b["roots"]), _texts(b["remotes"])) for name, b in content["projects"].items()},
        places={path: Place(str(p["project"]), bool(p["below"])) for path, p in content["places"].items()},
        waiting={
            root: {name: Waiting(w["project"], w["remote"], bool(w["distrusted"])) for name, w in names.items()}
            for root, names in content["waiting"].items()
        },
        refusals={place: str(source) for place, source in content["refusals"].items()},
    )


def _texts(items: Iterable[object]) -> list[str]:
    return [str(item) for item in items]
