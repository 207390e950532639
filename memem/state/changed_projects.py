"""A record of outdated pages: written by `notes` and `mine`, read by `pages`."""

from dataclasses import dataclass


@dataclass(slots=True)
class ChangedProjects:
    """Lives in memory, per opened home. After a crash, the next session start finds outdated pages again."""

    conflicts: bool = False
    notes: bool = False
    mined: bool = False  # create pages that do not exist yet

    def __bool__(self) -> bool:
        return self.conflicts or self.notes

    def add(self, *, conflicts: bool = True, notes: bool = True, mined: bool = False) -> None:
        self.conflicts |= conflicts
        self.notes |= notes
        self.mined |= mined

    def take(self) -> "ChangedProjects":
        """Return the record and reset it."""
        taken = ChangedProjects(self.conflicts, self.notes, self.mined)
        self.conflicts = self.notes = self.mined = False
        return taken
