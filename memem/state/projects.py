"""`projects.json`: the folders memem has seen, which project each belongs to, and which of them refuse mining.

A folder may claim any name (`core/project.py`). The first one that claims a name holds it, with its repository's root
and the full address of its remote; folders with the same root or remote belong to it too. Any other folder that claims
the name is a project of its own until a person trusts it. A refusal of mining holds while its `.memem.toml` is missing.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memem.core import files
from memem.core.errors import HomeError
from memem.core.files import Stamp
from memem.core.memory import GENERAL
from memem.core.project import BY_FOLDER, BY_HOME, BY_OVERRIDE, Claim, Project, read_override, read_refusals
from memem.state.folder_record import DAMAGED, NEWER, FolderRecord, Spell, copy, dump, parse

MAX_PLACES = 1_000  # every hook reads them


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
        if stamp and (record := parse(self.path, stamp)).problem != DAMAGED:
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
            files.write_atomic(self.path, dump(record), fsync=self._fsync, mode=files.PRIVATE_FILE)
        return record

    def _read(self) -> FolderRecord:
        """Read a copy to be changed; one that is missing or damaged is derived."""
        stamp = files.stamp(self.path)
        if self._unsaved and self._unsaved[0] == stamp:
            return copy(self._unsaved[1])
        record = copy(parse(self.path, stamp)) if stamp else FolderRecord()
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
        refusing = {self._spell(place): self._spell(source) for place, source in claim.refusing}
        if news := {place: source for place, source in refusing.items() if place not in record.refusals}:
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
            override = read_override(source, None)  # that of another user lifts nothing
            if override is None or not override[1]:
                return Refusal(above[key], source)
            lifted.append(key)
        if lifted:
            self.change(lambda record: [record.refusals.pop(key, None) for key in lifted])
        return None
