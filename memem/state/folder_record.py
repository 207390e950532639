"""The content of `projects.json`: which project each folder got, which claims wait, and which folders refuse mining."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from memem.core.errors import HomeError
from memem.core.files import Stamp, from_json, reason
from memem.core.project import BY_FOLDER, MAX_NAME, Claim, without_port

Spell = Callable[[Path], str]  # how a path is stored: without secrets
VERSION = 1
DAMAGED, NEWER = "damaged", "written by a newer version of memem"


@dataclass(slots=True)
class Binding:
    """The roots of repositories or folders, and the remotes, that a project is bound to."""

    roots: list[str] = field(default_factory=list)
    remotes: list[str] = field(default_factory=list)

    def has(self, claim: Claim) -> bool:
        """Whether a claim has one of the remotes; or one of the roots, unless a path is reused for another remote.

        A claim by another user's folder must match a root.
        """
        is_known = claim.root in self.roots
        if not claim.remote or not self.remotes or (claim.is_foreign and not is_known):
            return is_known
        return claim.remote in self.remotes or (is_known and without_port(claim.remote) in self.remotes)


@dataclass(slots=True)
class Place:
    """The project of a folder that was seen; `below`: folders below it belong to that too."""

    project: str
    below: bool = True


@dataclass(slots=True)
class RecordedClaim:
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
    waiting: dict[str, dict[str, RecordedClaim]] = field(default_factory=dict)  # by root, then by the name it claims
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
        self.waiting.setdefault(claim.root, {})[claim.name] = RecordedClaim(name, claim.remote, distrusted)
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


def _add(items: list[str], item: str) -> None:
    if item and item not in items:
        items.append(item)


def dump(record: FolderRecord) -> bytes:
    content = {key: value for key, value in asdict(record).items() if key != "problem"}
    return json.dumps({"version": VERSION, **content}, indent=1).encode()


def copy(record: FolderRecord) -> FolderRecord:
    return replace(_load(asdict(record)), problem=record.problem)


@lru_cache(maxsize=4)
def parse(path: Path, _stamp: Stamp) -> FolderRecord:
    """Read the file. Raises HomeError if it cannot be read now: it is not damaged, and its refusals hold."""
    try:
        content = from_json(path.read_bytes())
        is_newer = content["version"] > VERSION
    except OSError as error:
        raise HomeError(f"Cannot read {path}: {reason(error)}.") from None
    except (ValueError, TypeError, KeyError):
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
            root: {name: RecordedClaim(w["project"], w["remote"], bool(w["distrusted"])) for name, w in names.items()}
            for root, names in content["waiting"].items()
        },
        refusals={place: str(source) for place, source in content["refusals"].items()},
    )


def _texts(items: Iterable[object]) -> list[str]:
    return [str(item) for item in items]
