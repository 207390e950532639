"""The files that SQLite keeps for us, one by one: those that are there."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from memem.core import integrity
from memem.core.errors import Busy, MememError
from memem.flows.diagnosis import BROKEN, DEGRADED, Diagnosis, fine, of_error
from memem.index.database import INDEX
from memem.index.turns import SESSIONS
from memem.jobs import contexts
from memem.jobs.tables import STATE
from memem.workspace import Workspace

OTHERWISE = "Make it readable and writable for you, or run `memem reindex`."


def check_all(ws: Workspace) -> list[Diagnosis]:
    """Everything thoroughly: `memem --integrity-check`."""
    found = [_looked_at("index", ws.index_file, partial(_index, ws))] if ws.index_file.exists() else []
    return [*found, *vectors(ws), *_others(ws, thorough=True)]


def check_records(ws: Workspace) -> list[Diagnosis]:
    """All but the index and its vectors, at a glance."""
    return _others(ws, thorough=False)


def vectors(ws: Workspace) -> list[Diagnosis]:
    """The vectors of every model that was used."""
    stores = sorted(ws.home.vectors.glob("*/vectors.db"))
    if not stores:
        return []
    ws.load_numpy()
    return [_looked_at("vectors", path, partial(_vectors, path)) for path in stores]


def _index(ws: Workspace) -> None:
    integrity.check(ws.index_file, INDEX, thorough=True)
    ws.index.check()


def _vectors(path: Path) -> None:
    from memem.index.vectors import check_folder

    integrity.check(path, INDEX, thorough=True)
    check_folder(path.parent)


def _others(ws: Workspace, *, thorough: bool) -> list[Diagnosis]:
    home = ws.home
    looks: tuple[tuple[str, Path, Callable[[], None]], ...] = (
        ("state", home.state_file, partial(integrity.check, home.state_file, STATE, thorough=thorough)),
        ("contexts", home.contexts_file, partial(contexts.check, home.contexts_file, thorough=thorough)),
        ("turns", home.turns_file, partial(integrity.check, home.turns_file, SESSIONS, thorough=thorough)),
    )
    return [_looked_at(what, path, look) for what, path, look in looks if path.exists()]


def _looked_at(what: str, path: Path, look: Callable[[], None]) -> Diagnosis:
    try:
        look()
    except MememError as problem:
        return of_error(what, problem, OTHERWISE, DEGRADED if isinstance(problem, Busy) else BROKEN)
    return fine(what, f"{path}, {path.stat().st_size:,} bytes")
