"""Write the files that `memem statusline` reads: it has no time to open a database.

`folders` maps the folders of recent sessions to their projects. `projects` has the number of memories and the last
learned title of each of those projects, `today` the cost of mining on a day. Each line is a key, a tab and values.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.errors import MememError
from memem.safety.gate import clean_line
from memem.safety.naming import display_name, hide_orders
from memem.search import pinned

if TYPE_CHECKING:
    from memem.workspace import Workspace


HEADER = "memem 1"  # as `doors/hook/statusline.py` expects it
MAX_FOLDERS = 200
MAX_TITLE_WIDTH = 40  # terminal columns
_CANDIDATES = 20  # most recently changed memories, among which the last learned one is looked for


def note_session(ws: Workspace, folder: Path) -> None:
    """Record the project of a session's folder, and update the other files."""
    with suppress(MememError, OSError):
        project = ws.project_of(folder).name
        # The status line gets the folder that the session was started in, which `cd` does not change.
        folders = dict.fromkeys((str(folder), str(ws.session_folder)))
        keys = [key for key in folders if key and "\t" not in key and "\n" not in key]
        shown = keys if display_name(project) == project else []
        kept = [line for line in _lines(ws.home.statusline_folders) if line.partition("\t")[0] not in keys]
        _write(ws, ws.home.statusline_folders, [f"{key}\t{project}" for key in shown] + kept[: MAX_FOLDERS - len(keys)])
    update(ws)


def update(ws: Workspace) -> None:
    """Write the current counts, titles and cost; a file that cannot be written stays as it was."""
    with suppress(MememError, OSError):
        if ws.index_file.exists():
            names = dict.fromkeys(line.partition("\t")[2] for line in _lines(ws.home.statusline_folders))
            _write(ws, ws.home.statusline_projects, [HEADER, *(_project_line(ws, name) for name in names if name)])
    with suppress(MememError, OSError):
        if ws.home.state_file.exists():
            spent = ws.state.ledger.spent(ws.today()).dollars
            _write(ws, ws.home.statusline_today, [f"{ws.today()}\t{spent:.4f}"])


def is_outdated(ws: Workspace) -> bool:
    """Whether a note was changed through memem since the counts were written."""
    changed, written = files.stamp(ws.home.events_file), files.stamp(ws.home.statusline_projects)
    return changed is not None and (written is None or changed[0] >= written[0])


def _project_line(ws: Workspace, project: str) -> str:
    conditions, values = pinned.in_force(ws, project)
    count = ws.index.count_where(f"1{conditions}", values)
    rows = ws.index.rows(f"1{conditions} ORDER BY changed DESC, row DESC", values, limit=_CANDIDATES)
    learned = max((row.memory for row in rows if row.memory), key=lambda memory: memory.created, default=None)
    title = _cut(hide_orders(clean_line(learned.title)), MAX_TITLE_WIDTH) if learned else ""
    return f"{project}\t{count}\t{title}"


def _cut(text: str, width: int) -> str:
    text = "".join(character for character in text if character.isprintable())
    ends = list(accumulate(map(_columns, text)))
    if not ends or ends[-1] <= width:
        return text
    return f"{text[: bisect_right(ends, width - 1)].rstrip()}…"


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return []
    return [line for line in text.split("\n") if "\t" in line]


def _write(ws: Workspace, path: Path, lines: Iterable[str]) -> None:
    """Replace one of the files. Losing one to a power failure costs nothing: the next session writes it again."""
    files.make_private_folder(ws.home.root)
    files.make_private_folder(path.parent.parent)
    files.make_private_folder(path.parent)
    data = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
    files.write_atomic(path, data, fsync=False, mode=files.PRIVATE_FILE)
