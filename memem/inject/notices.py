"""Notices for the user's screen: signs of life, news, and problems that start, change or end.

Background work records notices; the next session start or prompt shows them as a `systemMessage`. `MEMEM_NOTICES`
decides how much: `all` shows a sign of life in every session, `changes` only during the first sessions, `off` nothing.
Recording or showing a notice never fails whatever it accompanies.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.dates import iso
from memem.core.surroundings import reachable
from memem.safety.naming import display_name, hide_orders
from memem.state.notices import News, NoticeBoard

if TYPE_CHECKING:
    from memem.workspace import Workspace


FIRST_SESSIONS = 10  # of a new user, who sees a sign of life in each
MAX_TITLES = 3
MAX_TITLE_CHARS = 60
FULL_DISK_BYTES = 1_000_000  # with less room a disk counts as full: a note and its index entries may not fit

DOCTOR_SESSION = "memem-doctor"  # the invented session for which `memem doctor` runs hooks; it uses up no notice
LEARNED, USED = "learned", "used"
# Shown when a problem is over, except for `server`: Claude Code has yet to start it again.
_ENDED = {
    "memory": "memem is working again.",
    "vault": "memem can write to the vault again.",
    "disk": "memem has disk space again.",
    "login": "memem can use claude again.",
    "endpoint": "memem can ask the model at MEMEM_MODEL_URL again.",
    "budget": "memem is learning again: a new daily budget is available.",
    "capture": "memem is learning again.",
    "recall": "memem can find memories by meaning again.",
    "options": "memem's options are valid again.",
}
_OF_VAULT = ("memory", "disk", "vault", "recall")
_OF_CLAUDE_CODE = ("options", "server")
READY = "memem is ready. /memem shows what it does; /memem-mine lets it learn from your sessions."


def raise_problem(ws: Workspace, key: str, text: str) -> None:
    """Record an ongoing problem; the user is told once, and again if it changes."""
    with _recording(ws):
        _board(ws).raise_problem(_subject(ws, key), text)


def clear_problem(ws: Workspace, key: str) -> None:
    """Record that a problem is over; a user who was told of it is told that too."""
    with _recording(ws):
        if _board(ws).clear_problem(_subject(ws, key)) and key in _ENDED:
            announce(ws, _ENDED[key])


def announce(ws: Workspace, text: str, *, session: str = "", project: str = "", kind: str = "event") -> None:
    """Record news to be shown once, in this session or project, or anywhere if neither is given."""
    if ws.settings.notices != "off":
        with _recording(ws):
            _board(ws).add(News(text, kind, session, project, ws.clock().timestamp()))


def announce_learned(ws: Workspace, titles: Sequence[str], *, session: str = "", project: str = "") -> None:
    for title in titles:
        announce(ws, title, session=session, project=project, kind=LEARNED)


def announce_used(ws: Workspace, titles: Sequence[str], *, session: str) -> None:
    """Record that Claude used these memories, for users who still see signs of life."""
    if is_interactive(ws.environ) and shows_signs_of_life(ws):
        for title in titles:
            announce(ws, title, session=session, kind=USED)


def problems(ws: Workspace) -> dict[str, str]:
    """Return the ongoing problems of this workspace by key."""
    with suppress(OSError):
        recorded = _board(ws).problems().items()
        return {key: text for name, text in recorded if name == _subject(ws, key := name.partition(".")[0])}
    return {}


def is_interactive(environ: Mapping[str, str]) -> bool:
    """Whether a person sees the session: scripts start Claude Code as an SDK."""
    return not environ.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk")


def at_session_start(
    ws: Workspace, *, session: str, folder: Path, sign_of_life: Callable[[], str], interactive: bool
) -> str:
    """Return the text to show when a session begins; a session run by a script uses up no notice."""
    if ws.settings.notices == "off":
        return ""
    unrecorded = _check_and_answer(ws)
    if not interactive:
        return _lines((*problems(ws).values(), *unrecorded))
    with suppress(OSError):
        if ws.ticks() <= ws.wanted_until:
            _board(ws).count_session(session, FIRST_SESSIONS)
    signs = [sign_of_life()] if shows_signs_of_life(ws) else []
    project = ws.project_of(folder).name
    return _lines((*_take(ws, session, project), *_untrusted_claim(ws, folder), *unrecorded, *signs))


def _untrusted_claim(ws: Workspace, folder: Path) -> list[str]:
    """Say once per folder that it did not get the project whose name it claims."""
    claim = ws.folders.claim_of(folder)
    waiting = ws.folders.load().waiting.get(claim.root, {}).get(claim.name)
    if waiting is None or waiting.distrusted or ws.ticks() > ws.wanted_until:
        return []
    name, own = display_name(claim.name), display_name(waiting.project)
    text = (
        f"memem: this folder claims to be the project {name}, which another folder or your notes already use. It is a "
        f"project of its own, {own}. If it is yours, run `memem project trust` in it."
    )
    with suppress(OSError):
        if _board(ws).claim_problem(f"claim-{zlib.crc32(claim.root.encode('utf-8', 'replace')):08x}", text):
            return [reachable(text, ws.reach)]
    return []


def at_failure(ws: Workspace, text: str, *, interactive: bool) -> str:
    """Return the text to show when a session begins and memem cannot work at all."""
    if ws.settings.notices == "off":
        return ""
    if interactive:
        with suppress(OSError):
            _board(ws).raise_problem(_subject(ws, "memory"), text)
            return _lines(_take_problems(ws))
    return text


def at_prompt(ws: Workspace, *, session: str, project: str, shown: Sequence[str], interactive: bool) -> str:
    """Return the text to show with a prompt for which Claude is shown memories with these titles."""
    if ws.settings.notices == "off" or not interactive:
        return ""
    _check_and_answer(ws)
    signs = [f"memem showed Claude: {_joined(shown)}"] if shown and shows_signs_of_life(ws) else []
    return _lines((*_take(ws, session, project), *signs))


def shows_signs_of_life(ws: Workspace) -> bool:
    """Whether everyday work is shown too, not only changes."""
    if ws.settings.notices == "all":
        return True
    with suppress(OSError):
        return ws.settings.notices == "changes" and _board(ws).sessions() <= FIRST_SESSIONS
    return False


def _take(ws: Workspace, session: str, project: str) -> list[str]:
    if ws.ticks() > ws.wanted_until:
        return []  # the hook has given up waiting: the notices stay for the next one
    lines = list[str]()
    with suppress(OSError):
        with suppress(OSError):  # bootstrap.sh leaves this marker after a set-up in the background
            (Path(sys.executable).parents[1] / ".memem" / "ready-untold").unlink()
            lines.append(READY)
        lines += _take_problems(ws)
        news = _board(ws).take_news(session, project, ws.clock().timestamp())
        lines += [item.text for item in news if item.kind not in (LEARNED, USED)]
        for kind, verb in ((LEARNED, "memem learned"), (USED, "Claude used")):
            if titles := [item.text for item in news if item.kind == kind]:
                lines.append(f"{verb}: {_joined(titles)}")
    return lines


def _take_problems(ws: Workspace) -> list[str]:
    board = _board(ws)
    return [text for key, text in problems(ws).items() if board.claim_problem(_subject(ws, key), text)]


def check_now(ws: Workspace) -> dict[str, str]:
    """Check what can change at any moment, and record the results; return the problems by key."""
    checked = {
        "disk": _full_disk(ws),
        "vault": "",
        "options": "\n".join(ws.settings.problems),
        "server": _skipped_server(ws),
    }
    folder = ws.store.paths.memories
    if folder.is_dir() and not os.access(folder, os.W_OK):
        advice = "Recall works; nothing new is saved until it is writable."
        checked["vault"] = f"memem cannot write to {folder}: it is read-only. {advice}"
    recorded = problems(ws)
    for key, text in checked.items():
        if text:
            raise_problem(ws, key, text)
        elif key in recorded:
            clear_problem(ws, key)
    return {key: text for key, text in checked.items() if text}


def _check_and_answer(ws: Workspace) -> list[str]:
    """Check in a hook, which proves that memem works; return the problems that could not be recorded."""
    wrong, recorded = check_now(ws), problems(ws)
    if "memory" in recorded:
        clear_problem(ws, "memory")
    return [text for key, text in wrong.items() if key not in recorded]


def _subject(ws: Workspace, key: str) -> str:
    """Return the name a problem is recorded under, with its vault or configuration where sessions differ in that."""
    if key not in _OF_VAULT + _OF_CLAUDE_CODE:
        return key
    path = ws.settings.vault if key in _OF_VAULT else ws.claude_folder
    return f"{key}.{zlib.crc32(bytes(path)):08x}"


def _full_disk(ws: Workspace) -> str:
    for folder in (ws.home.root, ws.settings.vault):
        with suppress(OSError, AttributeError):  # not there yet, or a system without statvfs
            status = os.statvfs(folder)
            if status.f_blocks and status.f_bavail * status.f_frsize < FULL_DISK_BYTES:
                return f"memem cannot save anything: the disk that holds {folder} is full. Free some space."
    return ""


def _skipped_server(ws: Workspace) -> str:
    if ws.failed_servers_file.exists():  # rarely; otherwise the prompt is spared an import
        from memem.model.plugin import server_is_skipped

        if server_is_skipped(ws):
            why = "Claude Code will not restart its server for 15 minutes after a failed start"
            return f"memem's tools are missing: {why}. Type /mcp, choose memem, then Reconnect."
    return ""


def _joined(titles: Sequence[str]) -> str:
    more = len(titles) - MAX_TITLES
    return ", ".join(map(shorten_title, titles[:MAX_TITLES])) + (f" and {more} more" if more > 0 else "")


def shorten_title(title: str) -> str:
    """Make a title fit on one line of a terminal."""
    clean = hide_orders(" ".join("".join(each if each.isprintable() else " " for each in title).split()))
    return clean if len(clean) <= MAX_TITLE_CHARS else f"{clean[: MAX_TITLE_CHARS - 1]}…"


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(filter(None, texts)))


def _board(ws: Workspace) -> NoticeBoard:
    return NoticeBoard(ws.home.notices)


@contextmanager
def _recording(ws: Workspace) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        files.append_log(ws.home.hooks_log, f"{iso(ws.clock())} notices: {files.reason(error)}")
