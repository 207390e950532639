"""Notices waiting to be shown to the user: ongoing problems and one-off news, a small file each.

Files rather than a table of the state, since a damaged state is itself a problem to report, and prompts look here.
A marker created with O_EXCL decides which of several sessions shows a problem, so each is shown once without a lock.
"""

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from memem.core import files
from memem.core.files import from_json

NEWS_SECONDS = 7 * 86_400
"""News nobody came to see within this time is dropped."""
MAX_NEWS = 50
_PROBLEM, _SHOWN, _NEWS, _SESSIONS = "problem-", "shown-", "news-", "sessions"


@dataclass(frozen=True, slots=True)
class News:
    """An event to be shown once. With a session and project, it is shown to that session or in that project."""

    text: str
    kind: str = "event"
    session: str = ""
    project: str = ""
    time: float = 0.0

    def concerns(self, session: str, project: str) -> bool:
        if not self.session and not self.project:
            return True
        return (bool(session) and self.session == session) or (bool(project) and self.project == project)


class NoticeBoard:
    """The folder of notices. Every method raises OSError when the folder cannot be used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def raise_problem(self, key: str, text: str) -> None:
        """Record an ongoing problem, or its new text."""
        path = self._problem(key)
        if _read_text(path) != text:
            self._write(path, text.encode("utf-8", "replace"))

    def clear_problem(self, key: str) -> bool:
        """Remove a problem; True when the user had been shown it."""
        try:
            self._problem(key).unlink()
        except FileNotFoundError:
            return False
        markers = list(self._folder.glob(f"{_SHOWN}{key}-*"))
        for marker in markers:
            marker.unlink(missing_ok=True)
        return bool(markers)

    def problems(self) -> dict[str, str]:
        """Every ongoing problem by its key."""
        found = {name.removeprefix(_PROBLEM): _read_text(self._folder / name) for name in self._names(_PROBLEM)}
        return {key: text for key, text in found.items() if text}

    def claim_problem(self, key: str, text: str) -> bool:
        """Whether the caller is the one to show a problem in these words: nobody has shown it so."""
        marker = self._folder / f"{_SHOWN}{key}-{zlib.crc32(text.encode()):08x}"
        try:
            os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL, files.PRIVATE_FILE))
        except FileExistsError:
            return False
        for earlier in self._folder.glob(f"{_SHOWN}{key}-*"):
            if earlier != marker:
                earlier.unlink(missing_ok=True)
        return True

    def add(self, news: News) -> None:
        """Add news; beyond a bound the oldest goes."""
        waiting = list(self._names(_NEWS))  # several may come within one tick of the clock
        for name in waiting[: max(0, len(waiting) + 1 - MAX_NEWS)]:
            (self._folder / name).unlink(missing_ok=True)
        number = int(waiting[-1].split("-")[2]) + 1 if waiting else 0
        name = f"{_NEWS}{int(news.time * 1e6):020d}-{number:08d}-{os.urandom(4).hex()}"
        self._write(self._folder / name, json.dumps(asdict(news)).encode())

    def drop_news(self) -> None:
        """Remove all news: it quotes titles."""
        for name in self._names(_NEWS):
            (self._folder / name).unlink(missing_ok=True)

    def take_news(self, session: str, project: str, now: float) -> list[News]:
        """The news for this session or project, oldest first; each is handed out once. Old news is dropped."""
        taken = []
        for name in self._names(_NEWS):
            path = self._folder / name
            news = _read_news(path)
            is_old = news is None or abs(now - news.time) > NEWS_SECONDS
            if is_old or (news and news.concerns(session, project)):
                try:
                    path.unlink()
                except FileNotFoundError:
                    continue  # another session was faster
                if news and not is_old:
                    taken.append(news)
        return taken

    def count_session(self, session: str, most: int) -> None:
        """Count a session, once, until there have been more than `most`."""
        path = self._folder / _SESSIONS
        counted = _read_text(path).split()
        if session and session not in counted and len(counted) <= most:
            self._write(path, "\n".join([*counted, session]).encode())

    def sessions(self) -> int:
        """How many sessions have been counted."""
        return len(_read_text(self._folder / _SESSIONS).split())

    def _problem(self, key: str) -> Path:
        return self._folder / f"{_PROBLEM}{key}"

    def _names(self, prefix: str) -> Iterator[str]:
        with suppress(FileNotFoundError, NotADirectoryError):
            yield from sorted(name for name in os.listdir(self._folder) if name.startswith(prefix))  # noqa: PTH208

    def _write(self, path: Path, data: bytes) -> None:
        files.make_private_folder(self._folder)
        files.write_atomic(path, data, fsync=False, mode=files.PRIVATE_FILE)


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _read_news(path: Path) -> News | None:
    try:
        found = News(**from_json(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    is_whole = all(isinstance(each, str) for each in (found.text, found.kind, found.session, found.project))
    return found if is_whole and isinstance(found.time, int | float) else None
