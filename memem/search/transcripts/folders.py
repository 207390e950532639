"""Derive the record of folders from earlier sessions, for a home written before memem kept one.

Their folders keep the projects they have had, and refusals of mining that state recorded stay in force.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memem.core.errors import MememError
from memem.core.project import BY_FOLDER, BY_HOME, OVERRIDE, Claim, read_refusals
from memem.safety.naming import spell_path
from memem.state.projects import FolderRecord
from memem.transcript.session import find_sessions, read_folder

MAX_SESSIONS = 5_000  # the newest; Claude Code deletes them after 30 days
OPTED_OUT = f" opts out of mining ({OVERRIDE})."  # how versions before 0.11 recorded it


class KnownSessions(NamedTuple):
    folders: Sequence[Path]
    outcomes: Mapping[str, tuple[str, str]]  # of mining, by session
    has_time: Callable[[], bool]


def derive(record: FolderRecord, sessions: KnownSessions, read_claim: Callable[[Path], Claim]) -> None:
    """Add folders, newest sessions first, while there is time; the record is `complete` if there was enough."""
    for outcome, detail in sessions.outcomes.values():
        if outcome == "refused" and OPTED_OUT in detail:
            _add_refusal(record, Path(detail.partition(OPTED_OUT)[0]))
    seen = set[str]()
    for path in _list_newest(sessions.folders)[:MAX_SESSIONS]:
        if not sessions.has_time():
            return
        cwd = read_folder(path)
        if not cwd or cwd in seen or not Path(cwd).is_absolute():
            continue
        seen.add(cwd)
        with suppress(MememError, OSError, ValueError, RuntimeError):  # the session that uses it reports the problem
            _add_folder(record, Path(cwd), read_claim, was_mined=sessions.outcomes.get(path.stem, ("",))[0] == "mined")
    record.complete = True


def _add_folder(record: FolderRecord, folder: Path, read_claim: Callable[[Path], Claim], *, was_mined: bool) -> None:
    record.refusals |= {spell_path(place): spell_path(source) for place, source in read_refusals(folder).items()}
    claim = read_claim(folder)
    # A missing folder that was never mined may have refused it.
    if claim.by != BY_HOME and (was_mined or claim.by != BY_FOLDER or folder.is_dir()):
        record.grant(claim)


def _add_refusal(record: FolderRecord, folder: Path) -> None:
    """Keep a refusal whose folder is missing, or is the empty mount point of one that is."""
    with suppress(OSError, ValueError):
        if not folder.is_dir() or not any(folder.iterdir()):
            record.refusals.setdefault(spell_path(folder), spell_path(folder))


def _list_newest(folders: Sequence[Path]) -> list[Path]:
    dated = list[tuple[int, Path]]()
    for path in find_sessions(folders):
        with suppress(OSError):  # deleted meanwhile
            dated.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(dated, reverse=True)]
