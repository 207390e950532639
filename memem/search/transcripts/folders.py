"""Say which project a folder claims and gets, and whether it may be mined, in words that a model may read.

A home written before memem recorded folders is filled once from the folders of its sessions: they keep the projects
they have had, and refusals of mining that state recorded stay in force.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from memem.core.errors import MememError, OverrideError
from memem.core.home import Home
from memem.core.project import BY_FOLDER, BY_HOME, OVERRIDE, Claim, read_claim, read_refusals
from memem.core.safe_open import is_foreign
from memem.safety.naming import clean_project_name, display_path, spell_path
from memem.state.folder_record import FolderRecord
from memem.state.projects import FolderRegistry

DERIVE_SECONDS = 0.2  # once, in the first hook after an update; the rest is left to the background
MAX_SESSIONS = 5_000  # the newest; Claude Code deletes them after 30 days
OPTED_OUT = f" opts out of mining ({OVERRIDE})."  # also how earlier versions recorded it

Outcomes = Mapping[str, tuple[str, str]]  # outcome and detail of mining, by session


class FolderProjects(FolderRegistry):
    def __init__(
        self,
        home: Home,
        user_home: Path,
        *,
        fsync: bool,
        session_folders: Sequence[Path],
        read_outcomes: Callable[[], Outcomes],
        has_notes: Callable[[str], bool],
    ) -> None:
        super().__init__(home.folders_file, fsync=fsync, derive=self._derive, has_notes=has_notes, spell=spell_path)
        self._home, self._user_home = home, user_home
        self._session_folders, self._read_outcomes = session_folders, read_outcomes

    def claim_of(self, folder: Path) -> Claim:
        """The project that a folder claims. Raises SettingsError."""
        with _naming_safely():
            claim = read_claim(folder, self._user_home)
        root, remote, key = map(spell_path, (claim.root, claim.remote, claim.place))
        return replace(claim, name=clean_project_name(claim.name), root=root, remote=remote, key=key)

    def explain_refusal(self, folder: Path) -> str:
        """Say why a folder's sessions may not be mined; empty if they may. Raises SettingsError."""
        try:
            with _naming_safely():
                refusal = self.refusal(folder)
        except PermissionError:
            return f"{display_path(folder)} cannot be read, so its sessions are not mined."
        except (OSError, ValueError):
            return ""  # no folder can have such a name
        if refusal is None:
            return ""
        file = display_path(refusal.file_folder / OVERRIDE)
        own = " and make yourself its owner" if is_foreign(refusal.file_folder / OVERRIDE) else ""
        return f"{display_path(folder)}{OPTED_OUT} To allow it, write `mining = true` in {file}{own}."

    def complete(self) -> None:
        """Add everything that an earlier version knew. Takes seconds once: call it in the background."""
        if not self.load().complete:
            derived = FolderRecord()
            self._derive(derived, seconds=float("inf"))
            self.change(lambda record: record.merge(derived))

    def _derive(self, record: FolderRecord, seconds: float | None = None) -> None:
        """Add folders, newest sessions first, while there is time; the record is `complete` if there was enough."""
        if not self._home.state_file.exists() and not self._home.events_file.exists():
            record.complete = True  # a new home
            return
        until = time.monotonic() + (DERIVE_SECONDS if seconds is None else seconds)
        outcomes: Outcomes = {}
        with suppress(MememError):  # of a damaged state nothing is known
            outcomes = self._read_outcomes() if self._home.state_file.exists() else {}
        for outcome, detail in outcomes.values():
            if outcome == "refused" and OPTED_OUT in detail:
                _add_refusal(record, Path(detail.partition(OPTED_OUT)[0]))
        seen = set[str]()
        for cwd, session in self._list_earlier():
            if time.monotonic() > until:
                return
            if cwd in seen or not Path(cwd).is_absolute():
                continue
            with suppress(MememError, OSError, ValueError, RuntimeError):  # the session that uses it reports it
                if self._add_folder(record, Path(cwd), was_mined=outcomes.get(session, ("",))[0] == "mined"):
                    seen.add(cwd)
        record.complete = True

    def _list_earlier(self) -> Iterator[tuple[str, str]]:
        """Folders of earlier sessions, each with its session: those of the status line, then by transcripts."""
        with suppress(OSError):
            lines = self._home.statusline_folders.read_bytes().decode("utf-8", "surrogateescape").splitlines()
            yield from ((line.partition("\t")[0], "") for line in lines)
        from memem.transcript.session import read_folder

        for path in _list_newest(self._session_folders)[:MAX_SESSIONS]:
            yield read_folder(path), path.stem

    def _add_folder(self, record: FolderRecord, folder: Path, *, was_mined: bool) -> bool:
        """Add a folder; False for a missing one that was not mined in this session, as it may have refused that."""
        refusals = read_refusals(folder).items()
        record.refusals |= {spell_path(place): spell_path(source) for place, source in refusals}
        claim = self.claim_of(folder)
        if claim.by != BY_FOLDER or folder.is_dir():
            if claim.by != BY_HOME:
                record.grant(claim)
            return True
        if was_mined:
            record.add_place(claim, claim.name)  # the name is left to a folder that exists
        return was_mined


def _add_refusal(record: FolderRecord, folder: Path) -> None:
    """Keep a refusal whose folder is missing, or is the empty mount point of one that is."""
    with suppress(OSError, ValueError):
        if not folder.is_dir() or not any(folder.iterdir()):
            record.refusals.setdefault(spell_path(folder), spell_path(folder))


def _list_newest(folders: Sequence[Path]) -> list[Path]:
    from memem.transcript.session import find_sessions  # only an update needs it

    dated = list[tuple[int, Path]]()
    for path in find_sessions(folders):
        with suppress(OSError):  # deleted meanwhile
            dated.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(dated, reverse=True)]


@contextmanager
def _naming_safely() -> Iterator[None]:
    """Name a `.memem.toml` in errors, which a model may read, so that its path cannot give orders."""
    try:
        yield
    except OverrideError as problem:
        raise OverrideError(display_path(problem.path), problem.problem) from None
