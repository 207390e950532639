"""Notices waiting to be shown to the user: ongoing problems and one-off news, a small file each.

Files, because a damaged state is itself a problem to report. A marker created with O_EXCL decides which of several
sessions shows a problem, so each is shown once without a lock.
"""

import json
import os
import zlib
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

from memem.core import files
from memem.core.files import from_json

NEWS_SECONDS = 7 * 86_400  # older news is dropped
MAX_NEWS = 50
_PROBLEM, _SHOWN, _NEWS, _SESSIONS = "problem-", "shown-", "news-", "sessions"


@dataclass(frozen=True, slots=True)
class News:
    """An event to be shown once: to its session or in its project, or anywhere if it has neither."""

    text: str
    kind: str = "event"
    session: str = ""
    project: str = ""
    time: float = 0.0

    def concerns(self, session: str, project: str) -> bool:
        is_ours = (session and self.session == session) or (project and self.project == project)
        return bool(is_ours) or not (self.session or self.project)


class NoticeBoard:
    """The folder of notices. Every method raises OSError when the folder cannot be used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def raise_problem(self, key: str, text: str) -> None:
        path = self._folder / f"{_PROBLEM}{key}"
        if _read_text(path) != text:
            self._write(path, text.encode("utf-8", "replace"))

    def clear_problem(self, key: str) -> bool:
        """Remove a problem; True if the user had been shown it."""
        try:
            (self._folder / f"{_PROBLEM}{key}").unlink()
        except FileNotFoundError:
            return False
        markers = list(self._folder.glob(f"{_SHOWN}{key}-*"))
        for marker in markers:
            marker.unlink(missing_ok=True)
        return bool(markers)

    def problems(self) -> dict[str, str]:
        texts = {path.name.removeprefix(_PROBLEM): _read_text(path) for path in self._paths(_PROBLEM)}
        return {key: text for key, text in texts.items() if text}

    def claim_problem(self, key: str, text: str) -> bool:
        """Whether the caller should show a problem: it has not been shown with this text."""
        marker = self._folder / f"{_SHOWN}{key}-{zlib.crc32(text.encode()):08x}"
        files.make_private_folder(self._folder)
        try:
            os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL, files.PRIVATE_FILE))
        except FileExistsError:
            return False
        for earlier in self._folder.glob(f"{_SHOWN}{key}-*"):
            if earlier != marker:
                earlier.unlink(missing_ok=True)
        return True

    def add(self, news: News) -> None:
        """Add news, in place of the oldest if there is too much."""
        waiting = self._paths(_NEWS)
        for path in waiting[: max(0, len(waiting) + 1 - MAX_NEWS)]:
            path.unlink(missing_ok=True)
        number = int(waiting[-1].name.split("-")[2]) + 1 if waiting else 0  # orders news of one tick of the clock
        name = f"{_NEWS}{int(news.time * 1e6):020d}-{number:08d}-{os.urandom(4).hex()}"
        self._write(self._folder / name, json.dumps(asdict(news)).encode())

    def drop_news(self) -> None:
        for path in self._paths(_NEWS):
            path.unlink(missing_ok=True)

    def take_news(self, session: str, project: str, now: float) -> list[News]:
        """Remove and return the news for this session or project, oldest first. Old news is dropped."""
        taken = []
        for path in self._paths(_NEWS):
            news = _read_news(path)
            is_old = news is None or abs(now - news.time) > NEWS_SECONDS
            if news is None or is_old or news.concerns(session, project):
                with suppress(FileNotFoundError):  # another session was faster
                    path.unlink()
                    taken += [news] if news and not is_old else []
        return taken

    def count_session(self, session: str, most: int) -> None:
        """Count a session once, until there have been more than `most`."""
        path = self._folder / _SESSIONS
        counted = _read_text(path).split()
        if session and session not in counted and len(counted) <= most:
            self._write(path, "\n".join([*counted, session]).encode())

    def sessions(self) -> int:
        return len(_read_text(self._folder / _SESSIONS).split())

    def _paths(self, prefix: str) -> list[Path]:
        try:
            names = sorted(os.listdir(self._folder))  # noqa: PTH208
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [self._folder / name for name in names if name.startswith(prefix)]

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
        news = News(**from_json(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    *texts, time = astuple(news)
    return news if all(isinstance(text, str) for text in texts) and isinstance(time, int | float) else None
