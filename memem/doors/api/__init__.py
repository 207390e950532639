"""The Python API: a memory home, what it keeps and finds (`home`), and what looks after it (`upkeep`)."""

from memem.doors.api.home import MemoryHome, open_home

__all__ = ["MemoryHome", "open_home"]
