"""The Python API."""

from memem.doors.api.home import MemoryHome, open_home

__all__ = ["MemoryHome", "open_home"]
