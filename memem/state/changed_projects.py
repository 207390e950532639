"""What has changed since the pages were last written: noted by `notes` and `mine`, read by `pages`."""

from dataclasses import dataclass


@dataclass(slots=True)
class ChangedProjects:
    """Kept by one opened home. What a crash loses is found again at the next session's start."""

    conflicts: bool = False
    notes: bool = False
    mined: bool = False  # pages that do not exist yet are created

    def __bool__(self) -> bool:
        return self.conflicts or self.notes

    def add(self, *, conflicts: bool = True, notes: bool = True, mined: bool = False) -> None:
        """Note that the page of conflicts, or the pages of projects, are out of date."""
        self.conflicts |= conflicts
        self.notes |= notes
        self.mined |= mined

    def take(self) -> "ChangedProjects":
        """Return what has changed, and begin anew."""
        taken = ChangedProjects(self.conflicts, self.notes, self.mined)
        self.conflicts = self.notes = self.mined = False
        return taken
