"""The slice: what Claude should know for a prompt. Nothing, unless a memory deserves it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memem.core.errors import Ambiguous, InputError, NoteError, NotFound
from memem.core.memory import ARCHIVE, GENERAL, PINNED, Entry, Hit, Slice
from memem.core.project import Project, normalise
from memem.core.query import Found
from memem.flows import retrieve, standing
from memem.flows.excerpting import focused
from memem.flows.opening import require_vault
from memem.recall import confidence, render, task
from memem.recall.confidence import Line, Prompt
from memem.recall.leaning import matches_path
from memem.recall.pack import BODY_CHARACTERS, MOST_HITS, distinct, pack
from memem.recall.rank import rank
from memem.recall.trivial import is_trivial
from memem.workspace import Workspace

CONSIDERED = 2 * MOST_HITS
"""Of what was found, so many are looked at closely: what is further behind the best would not be shown anyway."""
RUNNERS_UP = 3
FILES_SHOWN = 6
LONGEST_CHAIN = 20
NOD = "the prompt asks for nothing"
NO_ROOM = "what the prompt needs has no room in MEMEM_SLICE_CHARACTERS"


@dataclass(frozen=True, slots=True)
class Beside:
    """What else is known of a prompt: the `query` to look with, where that says more; the `files` its session was at;
    and the ids it has been shown already, which are not said again."""

    query: str = ""
    files: Sequence[str] = ()
    known: Collection[str] = ()


NOTHING = Beside()


def slice_for(
    ws: Workspace,
    prompt: str,
    *,
    cwd: Path,
    project: str | None = None,
    task_mode: str = "",
    session_id: str = "",
    always: bool = False,
    beside: Beside = NOTHING,
) -> Slice:
    """What Claude should know for this prompt: nothing, unless a memory deserves it (or `always`)."""
    require_vault(ws)
    place = ws.project_of(cwd)
    name = normalise(project) if project else place.name
    mode = task_mode.strip() or task.infer(prompt)
    if is_trivial(prompt) and not always:
        return Slice("", (), NOD, name, mode, session_id)
    files = _in_play(prompt, cwd, place)
    worked_on = _worked_on(beside.files, place)
    found, told, all_hits = considered(ws, prompt, name, query=beside.query, named=files, files=worked_on)
    least = line(ws)
    deserved = distinct(in_force(ws, confidence.deserving(all_hits, told, least), name))
    hits = [hit for hit in deserved if hit.id not in beside.known]
    if not hits and not always:
        why = _why_not(found, deserved, told, least)
        missed = _runners_up([*deserved, *all_hits], ())
        return Slice("", (), why, name, mode, session_id, found.degraded, runners_up=missed)
    facts = render.working(project=name, branch=place.branch if name == place.name else "", task_mode=mode, files=files)
    identity = [entry.memory for entry in standing.pinned(ws, name) if entry.id not in beside.known]
    hits = focused(ws, beside.query or prompt, hits[:MOST_HITS], BODY_CHARACTERS)
    packed = pack(hits, identity, facts, name, ws.settings.slice_characters)
    missed = _runners_up([*deserved, *all_hits], packed.hits)
    if not packed.hits and not always:
        return Slice("", (), NO_ROOM, name, mode, session_id, found.degraded, runners_up=missed)
    why = f"{len(packed.hits)} of {len(found.matches)} memories found were relevant enough"
    return Slice(packed.text, packed.hits, why, name, mode, session_id, found.degraded, packed.pinned, missed)


def _runners_up(hits: Iterable[Hit], shown: Collection[Hit]) -> tuple[Hit, ...]:
    """The best that are not shown, what deserved it first: said already, without room, too far behind, too unsure."""
    there = {hit.id for hit in shown}
    others: dict[str, Hit] = {}
    for hit in hits:
        if hit.id not in there:
            others.setdefault(hit.id, hit)
    return tuple(others.values())[:RUNNERS_UP]


def line(ws: Workspace) -> Line:
    """What a memory must reach, by the settings."""
    given = ws.settings
    return Line(given.recall_min_confidence, given.recall_min_item_score, given.recall_oov_threshold)


def considered(
    ws: Workspace, prompt: str, project: str, *, query: str = "", named: Sequence[str] = (), files: Sequence[str] = ()
) -> tuple[Found, Prompt, list[Hit]]:
    """What was found, what the prompt says of itself, and the best hits that a slice may show, with how sure
    each is.

    `named` are files that the prompt names, `files` others that its session was at.
    """
    query = query or prompt

    def best(found: Found) -> list[Hit]:
        ranked = rank(found, retrieve.leaning(ws, found, query, project, (*named, *files)))
        own = [_named_by(named, hit) for hit in ranked if hit.memory.layer != PINNED][:CONSIDERED]
        return confidence.judged(own, confidence.read(prompt, found))

    found, hits = retrieve.find(ws, query, retrieve.unasked(project), CONSIDERED, best)
    return found, confidence.read(prompt, found), hits


def _named_by(files: Sequence[str], hit: Hit) -> Hit:
    """A memory about a file that the prompt names is as good as named itself."""
    return replace(hit, named=True) if not hit.named and matches_path(hit.memory, files) else hit


def in_force(ws: Workspace, hits: Iterable[Hit], project: str) -> list[Hit]:
    """The hits, with what holds now in the place of what it superseded; where that may not be shown, nothing."""
    current: dict[str, Hit] = {}
    for hit in hits:
        now = _successor(ws, hit) if hit.memory.superseded_by else hit
        if now and now.project in (project, GENERAL):
            current.setdefault(now.id, replace(hit, memory=now.memory, path=now.path))
    return list(current.values())


def _successor(ws: Workspace, entry: Entry) -> Entry | None:
    """The last of the chain that a memory was superseded in, if it may be shown unasked."""
    at, seen = entry, {entry.id}
    while at.memory.superseded_by and len(seen) <= LONGEST_CHAIN:
        try:
            at = retrieve.get(ws, at.memory.superseded_by)
        except (NotFound, Ambiguous, InputError, NoteError):
            return None
        if at.id in seen:
            return None
        seen.add(at.id)
    in_force = at.memory.status == "active" and not at.memory.superseded_by
    return at if in_force and PINNED < at.memory.layer < ARCHIVE else None


def _why_not(found: Found, deserved: Sequence[Hit], told: Prompt, least: Line) -> str:
    if deserved:
        return "what the prompt needs stands in this session's context already"
    if not found.matches:
        return "no memory matches the prompt"
    if told.foreign > least.unknown:
        return "most of what the prompt speaks of is in no memory"
    return "no memory matches the prompt well enough"


def _in_play(prompt: str, cwd: Path, place: Project) -> tuple[str, ...]:
    """Files the prompt names that are there, as seen from the project's root."""
    found: dict[str, None] = {}
    for name in retrieve.mentioned(prompt):
        for base in (cwd, place.root):
            inside = retrieve.file_in(place.root, base / name)
            if inside:
                found[inside] = None
                break
    return tuple(found)[:FILES_SHOWN]


def _worked_on(files: Sequence[str], place: Project) -> tuple[str, ...]:
    """Files of the session, as seen from the project's root: those that lie in it."""
    inside = (retrieve.path_in(place.root, Path(file)) for file in files)
    return tuple(file for file in inside if file)
