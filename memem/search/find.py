"""Search, get and list memories. One way to find, for every caller."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import dates
from memem.core.errors import Ambiguous, InputError, NoteUnreadable, NotFound
from memem.core.memory import GENERAL, ID8, MOST_HITS, Entry, Hit, Hits
from memem.core.project import normalise
from memem.search import meaning
from memem.search.dates.query import parse_time
from memem.search.encoders.query_vector import EncodedQuery
from memem.search.notes import NoteRow
from memem.search.query import Scope, SearchMatches
from memem.search.ranking import FUSED, KEYWORDS, Blend, Boosts, matches_path, rank
from memem.search.refresh import fresh_rows, refresh_stale
from memem.search.words import fold
from memem.state import usefulness
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


MAX_LIMIT = 1_000
MAX_QUERY_CHARS = 8_000
"""A longer prompt is mostly pasted data; what it asks stands at its beginning."""
MIN_CANDIDATES = 32
"""Words and meaning each name so many, so that what both know a little of has its chance."""
MAX_RARE_TERMS = 12
"""So many of its rarest words tell what a text is about; more of them only take longer to look up."""
STRONG_EDGE = 0.8
"""An edge of the graph that is at least so strong counts in the ranking: what is stated, and what is nearly the same.
That two are of one topic by their vectors is known to the ranking already; `python -m bench graph` measures it."""
MAX_ATTEMPTS = 4
MIN_ID_CHARS = 4
INSTANT = 1e-3
"""In seconds: how long before midnight a day ends."""
_PATH = re.compile(r"[\w.~/-]+")
_FILE = re.compile(r".+/.+|.+\.\w{1,8}")


def search(
    ws: Workspace,
    query: str,
    *,
    project: str | None = None,
    general: bool = False,
    current: str | None = None,
    limit: int = 10,
    as_of: str | None = None,
    blend: Blend = FUSED,
) -> Hits:
    """The best hits in all projects, those of the current one preferred a little.

    With `project`, only its own, and with `general` also the memories that belong to no project in particular.

    With `as_of`, a date, a time or words like "last march", among what was held true then, whatever became of it.
    """
    require_vault(ws)
    if not query.strip():
        raise InputError("There is nothing to search for: the query is empty.")
    _check_limit(limit)
    then = None if as_of is None else parse_moment(ws, as_of)
    scope = Scope(_projects(project, general=general), archive=True, as_of=then)
    preferred = project or current

    def best(found: SearchMatches) -> list[Hit]:
        towards = collect_boosts(ws, found, query, normalise(preferred) if preferred else "")
        return rank(found, towards if then is None else replace(towards, as_of=True), blend)[:limit]

    found, hits = find(ws, query, scope, limit * 2, best)  # what is preferred may lie further down
    return Hits(hits, found.degraded)


def parse_moment(ws: Workspace, text: str) -> float:
    """The moment that a date, a time or some words name: of a day, and of any other stretch, the end."""
    now, text = ws.clock(), text.strip()
    if dates.is_day(text):
        return (dates.end_of(text, now.tzinfo) or math.inf) - INSTANT
    named = dates.begin_of(text, now.tzinfo)
    if named is not None:
        return named
    day = (parse_time(text, now.date()) or parse_time(f"in {text}", now.date())).end if text else None
    if day is None:
        raise InputError(f'{text[:40]!r} is no date. Say 2026-06-01, 2026-06-01T12:00, or words such as "last march".')
    return min(now.timestamp(), (dates.end_of(day.isoformat(), now.tzinfo) or math.inf) - INSTANT)


def truncate_query(query: str) -> str:
    """As much of a query as is looked for, without the stump of a word at its end."""
    if len(query) <= MAX_QUERY_CHARS:
        return query
    kept = query[:MAX_QUERY_CHARS]
    whole = kept.rsplit(None, 1)[0] if not query[MAX_QUERY_CHARS].isspace() else kept
    return whole if len(whole) > MAX_QUERY_CHARS // 2 else kept  # one endless word, or a script without spaces


def start_query_vector(ws: Workspace, query: str) -> None:
    """Begin to compute the vector of a query that is about to be asked."""
    ws.ask(truncate_query(query))


def get(ws: Workspace, identity: str) -> Entry:
    """The one memory with this id, or this beginning of an id."""
    require_vault(ws)
    row = locate(ws, identity)
    return _entries([row])[0]


def list_memories(
    ws: Workspace, *, project: str | None = None, general: bool = False, kind: str | None = None, limit: int = 50
) -> list[Entry]:
    """The memories themselves, the last changed first."""
    require_vault(ws)
    _check_limit(limit)
    where, values = ["problem IS NULL"], list[str]()
    projects = _projects(project, general=general)
    if projects is not None:
        where.append(f"project IN ({', '.join('?' * len(projects))})")
        values += projects
    if kind is not None:
        where.append("kind = ?")
        values.append(kind)
    condition = " AND ".join(where) + " ORDER BY changed DESC, id"
    return _entries(fresh_rows(ws, lambda: ws.index.rows(condition, values, limit)))


def _projects(project: str | None, *, general: bool) -> tuple[str, ...] | None:
    """The projects to look in; None for all of them."""
    if project is None:
        return None
    name = normalise(project)
    return (name, GENERAL) if general and name != GENERAL else (name,)


def rank_candidates(ws: Workspace, prompt: str, project: str) -> list[Hit]:
    """All from which a slice would choose, best first."""
    return find(ws, prompt, injection_scope(ws, project), MOST_HITS * 2, lambda found: rank(found, Boosts(project)))[1]


def collect_boosts(
    ws: Workspace, found: SearchMatches, query: str, project: str, files: Sequence[str] | None = None
) -> Boosts:
    """What else counts for those that were found: where one is, the time asked about, and what proved useful."""
    when = parse_time(query, ws.clock().date())
    named = extract_paths(query) if files is None else files
    ids = [match.memory.id for match in found.matches]
    return Boosts(
        project, named, when, usefulness.boosts(ws, ids), linked=ws.index.edges.list_strong_pairs(ids, STRONG_EDGE)
    )


def find_about_file(ws: Workspace, file: str, project: str) -> list[Entry]:
    """The memories about one file: by the patterns of their `paths`, then those that name it; by words alone."""
    scope, name = injection_scope(ws, project), fold(file.rpartition("/")[2])

    def stating() -> list[NoteRow]:
        return [
            row for row in ws.index.by_path_pattern(file, scope) if row.memory and matches_path(row.memory, (file,))
        ]

    def naming(found: SearchMatches) -> list[Hit]:
        return [hit for hit in rank(found, Boosts(project, (file,)), KEYWORDS) if name in hit.terms]

    stated = sorted(_entries(fresh_rows(ws, stating)), key=lambda entry: -entry.memory.importance)
    named = find(ws, file, scope, MIN_CANDIDATES, naming, by_words=MAX_RARE_TERMS)[1]
    found = {entry.id: entry for entry in (*stated, *named)}
    return [entry for entry in found.values() if not entry.memory.superseded_by]


def injection_scope(ws: Workspace, project: str) -> Scope:
    """What may be shown unasked: of this project and of none in particular, in force now, not archived."""
    return Scope(tuple(sorted({project, GENERAL})), now=ws.clock().timestamp())


def locate(ws: Workspace, identity: str) -> NoteRow:
    """The fresh row of one memory. Accepts an id, its first characters, or a link to the note."""
    wanted = identity.strip().removeprefix("[[").removesuffix("]]").split("|")[0].removesuffix(".md")
    if len(wanted) < MIN_ID_CHARS:
        raise InputError(f"{identity!r} is too short for an id: give at least {MIN_ID_CHARS} characters.")
    rows = fresh_rows(ws, lambda: ws.index.by_id(wanted))
    id8 = wanted.rpartition("-")[2]
    if not rows and len(id8) == ID8:  # a note's file name ends in it
        rows = fresh_rows(ws, lambda: ws.index.by_id(id8))
    if not rows and identity.strip().startswith("[["):  # a person may have given it another name
        rows = fresh_rows(ws, lambda: ws.index.by_name(wanted.split("#")[0]))
    if not rows:
        _explain_unreadable(ws, wanted)
        raise NotFound(f"No memory has the id {identity!r}. `memem list` and `memem search` show ids.")
    if len(rows) > 1:
        places = ", ".join(f"{row.memory.id if row.memory else '?'} in {row.path}" for row in rows[:4])
        what = "Several files carry" if len({row.memory and row.memory.id for row in rows}) == 1 else "Several match"
        raise Ambiguous(f"{what} the id {identity!r}: {places}. Give more of the id, or change one file's id.")
    return rows[0]


def _explain_unreadable(ws: Workspace, wanted: str) -> None:
    """A note that cannot be read has no id, but its file name may still end in the beginning of one."""
    beginnings = (wanted[:ID8], wanted[-ID8:])
    for row in ws.index.rows("problem IS NOT NULL"):
        if Path(row.path).stem.endswith(beginnings):
            raise NoteUnreadable(f"{row.path} cannot be read: {row.problem}. Correct it in Obsidian.")


def _entries(rows: list[NoteRow]) -> list[Entry]:
    return [Entry(row.memory, row.path) for row in rows if row.memory]


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_LIMIT:
        raise InputError(f"The limit is a number from 1 to {MAX_LIMIT:,}.")


def find(
    ws: Workspace,
    query: str,
    scope: Scope,
    limit: int,
    choose: Callable[[SearchMatches], list[Hit]],
    *,
    by_words: int | None = None,
) -> tuple[SearchMatches, list[Hit]]:
    """Search and choose, and again while what was found turns out to have changed, in the index or on disk.

    `by_words`: by at most so many words, the rarest of the query, and without waiting for what it means.
    """
    query = truncate_query(query)
    for _ in range(MAX_ATTEMPTS):
        vector = None if by_words else ws.ask(query)
        found, is_whole = _find_once(
            ws, query, vector, scope, limit if by_words else max(limit, MIN_CANDIDATES), by_words
        )
        hits = choose(found)
        stamps = {match.path: match.stamp for match in found.matches}
        if not refresh_stale(ws, ((hit.path, stamps[hit.path]) for hit in hits)) and is_whole:
            break
    return found, hits


def _find_once(
    ws: Workspace, query: str, asked: EncodedQuery | None, scope: Scope, limit: int, telling: int | None
) -> tuple[SearchMatches, bool]:
    """What is found, and whether all of it was still there when it was read."""
    answer = ws.index.search_words(query, scope, limit, telling)  # while the query's vector is being computed
    held = ws.index.read_matched(list(answer.scores), answer, scope)
    near = meaning.find_by_meaning(ws, asked, scope, limit, answer.scores)
    matches = ws.index.combine_matches(answer, near.cosines, scope, held)
    found = SearchMatches(tuple(matches), answer.frequencies, answer.notes, near.multilingual, near.degraded)
    return found, len(matches) == len(answer.scores | near.cosines)


def extract_paths(prompt: str) -> tuple[str, ...]:
    """What looks like the path of a file."""
    words = (word.rstrip(".") for word in _PATH.findall(prompt[:MAX_QUERY_CHARS]))
    return tuple(dict.fromkeys(word for word in words if _FILE.fullmatch(word)))


def relative_file(root: Path, path: Path) -> str:
    """The path of a file as seen from `root`; empty when there is none, or it lies elsewhere."""
    inside = relative_path(root, path)
    try:
        return inside if inside and (root / inside).is_file() else ""
    except OSError:  # a name too long
        return ""


def relative_path(root: Path, path: Path) -> str:
    """The same of a file that may not be there yet."""
    try:
        path = path.resolve()
        str(path).encode()
    except (OSError, RuntimeError, ValueError):  # a loop of links, not a name at all, or one that is no text
        return ""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) and path != root else ""
