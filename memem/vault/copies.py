"""Copies that sync services make of a file when two machines have written it, recognised by their names.

    tokens-3f2c9a1e (Ann's conflicted copy 2026-01-02).md        Dropbox, Nextcloud
    tokens-3f2c9a1e.sync-conflict-20260102-101112-ABCDEFG.md     Syncthing
    tokens-3f2c9a1e 2.md, tokens-3f2c9a1e (1).md                 iCloud, Google Drive

A name alone proves nothing, since a person may number files too: callers check that the original exists and that both
are of one memory.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

_CERTAIN = (
    ("Dropbox or Nextcloud", r" \((?:[^()]+ )?conflicted copy \d{4}-\d\d-\d\d(?: \d+)?\)(?: \(\d+\))?"),
    ("Obsidian Sync", r" \(conflicted copy [^()]+ \d{8,14}\)"),
    ("Syncthing", r"\.sync-conflict-\d{8}-\d{6}-[a-z0-9]+"),
    ("Seafile", r" \(sfconflict [^()]+\)"),
)
_LIKELY = (("Google Drive", r" ?\(\d{1,3}\)"), ("iCloud", r" \d{1,3}"), ("OneDrive", r"(?<=-[0-9a-f]{8})-[\w-]{1,15}"))
_PATTERNS = tuple(
    (service, re.compile(rf"(?P<stem>.+?){ending}", re.IGNORECASE), certain)
    for endings, certain in ((_CERTAIN, True), (_LIKELY, False))
    for service, ending in endings
)


@dataclass(frozen=True, slots=True)
class SyncCopy:
    """The original that a file may be a copy of; `certain` if people do not use such names."""

    original: str
    service: str
    certain: bool


def possible_originals(path: str) -> Iterator[SyncCopy]:
    """List what a file of this name may be a copy of, the most certain first."""
    pure = PurePosixPath(path)
    for service, pattern, certain in _PATTERNS:
        if found := pattern.fullmatch(pure.stem):
            yield SyncCopy(pure.with_name(found["stem"] + pure.suffix).as_posix(), service, certain)
