"""Search, get and list memories: the one way to find, for every caller."""

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
from memem.search.fulltext import fold
from memem.search.notes import NoteRow
from memem.search.query import Scope, SearchMatches
from memem.search.ranking import FUSED, KEYWORDS, Blend, Boosts, matches_path, rank
from memem.search.refresh import fresh_rows, refresh_stale
from memem.state import usefulness
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


MAX_LIMIT = 1_000
MAX_QUERY_CHARS = 8_000  # a longer prompt is mostly pasted data; its question is at its beginning
MIN_CANDIDATES = 32  # from words and from meaning each, so that a note both rate a little has a chance
MAX_RARE_TERMS = 12  # the rarest words that say what a text is about
STRONG_EDGE = 0.8  # weaker edges of the graph repeat what vectors say already; `python -m bench graph` measures it
MAX_ATTEMPTS = 4
MIN_ID_CHARS = 4
_BEFORE_MIDNIGHT = 1e-3  # seconds
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
    """Find the best hits in all projects, preferring the current one, or in `project` (and `general` memories)."""
    require_vault(ws)
    if not query.strip():
        raise InputError("The query is empty; say what to search for.")
    _check_limit(limit)
    then = None if as_of is None else parse_moment(ws, as_of)
    scope = Scope(_projects(project, general=general), archive=True, as_of=then)
    preferred = project or current

    def choose(results: SearchMatches) -> list[Hit]:
        boosts = collect_boosts(ws, results, query, normalise(preferred) if preferred else "")
        return rank(results, replace(boosts, as_of=then is not None), blend)[:limit]

    results, hits = find(ws, query, scope, limit * 2, choose)  # a preferred hit may be further down
    return Hits(hits, results.degraded)


def parse_moment(ws: Workspace, text: str) -> float:
    now, text = ws.clock(), text.strip()
    if dates.is_day(text):
        return (dates.end_of(text, now.tzinfo) or math.inf) - _BEFORE_MIDNIGHT
    moment = dates.begin_of(text, now.tzinfo)
    if moment is not None:
        return moment
    day = (parse_time(text, now.date()) or parse_time(f"in {text}", now.date())).end if text else None
    if day is None:
        raise InputError(
            f'{text[:40]!r} is not a date; use 2026-06-01, 2026-06-01T12:00, or words such as "last March".'
        )
    return min(now.timestamp(), (dates.end_of(day.isoformat(), now.tzinfo) or math.inf) - _BEFORE_MIDNIGHT)


def truncate_query(query: str) -> str:
    if len(query) <= MAX_QUERY_CHARS:
        return query
    start = query[:MAX_QUERY_CHARS]
    whole = start.rsplit(None, 1)[0] if not query[MAX_QUERY_CHARS].isspace() else start
    return whole if len(whole) > MAX_QUERY_CHARS // 2 else start  # one endless word, or a script without spaces


def get(ws: Workspace, identity: str) -> Entry:
    require_vault(ws)
    return _entries([locate(ws, identity)])[0]


def list_memories(
    ws: Workspace, *, project: str | None = None, general: bool = False, kind: str | None = None, limit: int = 50
) -> list[Entry]:
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
    if project is None:
        return None
    name = normalise(project)
    return (name, GENERAL) if general and name != GENERAL else (name,)


def rank_candidates(ws: Workspace, prompt: str, project: str) -> list[Hit]:
    scope = injection_scope(ws, project)
    return find(ws, prompt, scope, MOST_HITS * 2, lambda results: rank(results, Boosts(project)))[1]


def collect_boosts(
    ws: Workspace, results: SearchMatches, query: str, project: str, files: Sequence[str] | None = None
) -> Boosts:
    when = parse_time(query, ws.clock().date())
    named = extract_paths(query) if files is None else files
    ids = [match.memory.id for match in results.matches]
    return Boosts(
        project, named, when, usefulness.boosts(ws, ids), linked=ws.index.edges.list_strong_pairs(ids, STRONG_EDGE)
    )


def find_about_file(ws: Workspace, file: str, project: str) -> list[Entry]:
    """Find memories about a file: by their `paths`, then those that name it; by words alone."""
    scope, name = injection_scope(ws, project), fold(file.rpartition("/")[2])

    def by_paths() -> list[NoteRow]:
        rows = ws.index.by_path_pattern(file, scope)
        return [row for row in rows if row.memory and matches_path(row.memory, (file,))]

    def by_name(results: SearchMatches) -> list[Hit]:
        return [hit for hit in rank(results, Boosts(project, (file,)), KEYWORDS) if name in hit.terms]

    stated = sorted(_entries(fresh_rows(ws, by_paths)), key=lambda entry: -entry.memory.importance)
    named = find(ws, file, scope, MIN_CANDIDATES, by_name, max_terms=MAX_RARE_TERMS)[1]
    entries = {entry.id: entry for entry in (*stated, *named)}
    return [entry for entry in entries.values() if not entry.memory.superseded_by]


def injection_scope(ws: Workspace, project: str) -> Scope:
    """The scope of what may be shown unasked: the project and general notes that are active and valid now."""
    return Scope(tuple(sorted({project, GENERAL})), now=ws.clock().timestamp())


def locate(ws: Workspace, identity: str) -> NoteRow:
    wanted = identity.strip().removeprefix("[[").removesuffix("]]").split("|")[0].removesuffix(".md")
    if len(wanted) < MIN_ID_CHARS:
        raise InputError(f"{identity!r} is too short for an id: give at least {MIN_ID_CHARS} characters.")
    rows = fresh_rows(ws, lambda: ws.index.by_id(wanted))
    id8 = wanted.rpartition("-")[2]
    if not rows and len(id8) == ID8:  # the end of a note's file name
        rows = fresh_rows(ws, lambda: ws.index.by_id(id8))
    if not rows and identity.strip().startswith("[["):  # a renamed note
        rows = fresh_rows(ws, lambda: ws.index.by_name(wanted.split("#")[0]))
    if not rows:
        for row in ws.index.rows("problem IS NOT NULL"):  # such a note has no id, but its file name may end in one
            if Path(row.path).stem.endswith((wanted[:ID8], wanted[-ID8:])):
                raise NoteUnreadable(f"{row.path} cannot be read: {row.problem}. Correct it in Obsidian.")
        raise NotFound(f"No memory has the id {identity!r}. `memem list` and `memem search` show ids.")
    if len(rows) > 1:
        places = ", ".join(f"{row.memory.id if row.memory else '?'} in {row.path}" for row in rows[:4])
        is_one_id = len({row.memory and row.memory.id for row in rows}) == 1
        subject = "Several files have" if is_one_id else "Several memories match"
        raise Ambiguous(f"{subject} the id {identity!r}: {places}. Give more of the id, or change one file's id.")
    return rows[0]


def _entries(rows: list[NoteRow]) -> list[Entry]:
    return [Entry(row.memory, row.path) for row in rows if row.memory]


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_LIMIT:
        raise InputError(f"The limit must be a number from 1 to {MAX_LIMIT:,}.")


def find(
    ws: Workspace,
    query: str,
    scope: Scope,
    limit: int,
    choose: Callable[[SearchMatches], list[Hit]],
    *,
    max_terms: int | None = None,  # search for that many of the query's rarest words, without its meaning
) -> tuple[SearchMatches, list[Hit]]:
    """Search and choose, again while a chosen note turns out to have changed, in the index or on disk."""
    query = truncate_query(query)
    for _ in range(MAX_ATTEMPTS):
        vector = None if max_terms else ws.encode_query(query)
        most = limit if max_terms else max(limit, MIN_CANDIDATES)
        by_words = ws.index.search_words(query, scope, most, max_terms)  # while the query's vector is being computed
        matched = ws.index.read_matched(list(by_words.scores), by_words, scope)
        by_meaning = meaning.find_by_meaning(ws, vector, scope, most, by_words.scores)
        notes = ws.index.combine_matches(by_words, by_meaning.cosines, scope, matched)
        results = SearchMatches(
            tuple(notes), by_words.frequencies, by_words.notes, by_meaning.multilingual, by_meaning.degraded
        )
        hits = choose(results)
        stamps = {match.path: match.stamp for match in notes}
        is_whole = len(notes) == len(by_words.scores | by_meaning.cosines)
        if not refresh_stale(ws, ((hit.path, stamps[hit.path]) for hit in hits)) and is_whole:
            break
    return results, hits


def extract_paths(prompt: str) -> tuple[str, ...]:
    words = (word.rstrip(".") for word in _PATH.findall(prompt[:MAX_QUERY_CHARS]))
    return tuple(dict.fromkeys(word for word in words if _FILE.fullmatch(word)))


def relative_file(root: Path, path: Path) -> str:
    inside = relative_path(root, path)
    try:
        return inside if inside and (root / inside).is_file() else ""
    except OSError:  # a name too long
        return ""


def relative_path(root: Path, path: Path) -> str:
    """The path of a file, which may not exist, relative to `root`; empty when it is elsewhere."""
    try:
        path = path.resolve()
        str(path).encode()
    except (OSError, RuntimeError, ValueError):  # a loop of links, or not a name
        return ""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) and path != root else ""
