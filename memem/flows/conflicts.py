"""Memories that contradict each other: both in force, linked by `contradicts`, and nobody has said yet which holds."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from memem.core.clock import moment
from memem.core.errors import NoteChanged, StateUnusable
from memem.core.memory import Entry, Memory
from memem.core.project import normalise
from memem.core.validity import is_in_force
from memem.flows import links
from memem.flows.opening import require_vault
from memem.flows.reindex import fresh_rows
from memem.flows.writing import writing
from memem.gate.duplicates import fingerprint
from memem.jobs.suspicions import COMPATIBLE, CONTRADICT, WAITING, Suspicion
from memem.vault import pages
from memem.workspace import Workspace

MOST_ON_PAGE = 200
MOST_DIFFERENCES = 5
SIDE_CHARACTERS = 1_200
"""Of a statement, and of its evidence, on the page: the note has the rest."""
_TOLD = (
    "Each pair says different things of one. /memem-conflicts in Claude Code goes through them with you. "
    "In a terminal, `memem resolve ID keep` keeps the one with that id and ends the other; "
    "`memem resolve ID both` says that both hold."
)
_FOUND = {CONTRADICT: "confirmed by the model", WAITING: "found by comparison", "": "linked in the notes"}


_Pair = tuple[Entry, Entry, Suspicion | None]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two memories that do not both hold, the later one first.

    `differences` say what differs, the earlier first; `found` says by what it was found, `why` what the model said.
    """

    one: Entry
    other: Entry
    differences: tuple[str, ...]
    found: str
    why: str = ""


def conflicts(ws: Workspace, *, project: str | None = None) -> list[Conflict]:
    """All that there are, the latest first."""
    found = [_conflict(*each) for each in _found(ws, project)]
    return sorted(found, key=lambda each: (_time(each.one), each.one.id, each.other.id), reverse=True)


def count(ws: Workspace) -> int:
    """How many there are."""
    return len(_found(ws, None))


def _found(ws: Workspace, project: str | None) -> list[_Pair]:
    """Each pair once: the one that says so, the other, and what the model said of the two, as they are."""
    require_vault(ws)
    only = None if project is None else normalise(project)
    judged = {(each.one, each.other): each for each in _suspicions(ws)}
    found: dict[tuple[str, str], _Pair] = {}
    for entry in _contradicting(ws):
        for other in links.followed(ws, entry.memory.contradicts):
            pair = pair_of(entry.memory, other.memory)
            known = judged.get((pair.one, pair.other))
            verdict = known if known and known.said == pair.said else None
            if _may_conflict(ws, entry, other, only) and not (verdict and verdict.verdict == COMPATIBLE):
                found.setdefault((pair.one, pair.other), (entry, other, verdict))
    return list(found.values())


def suspect(ws: Workspace, memory: Memory, others: Iterable[Memory]) -> None:
    """Note pairs that the model is to be asked about."""
    with suppress(StateUnusable):
        ws.state.suspicions.add([pair_of(memory, other) for other in others])


def pair_of(one: Memory, other: Memory) -> Suspicion:
    """A pair as it is known, whichever of them comes first."""
    first, second = sorted((one, other), key=lambda memory: memory.id)
    return Suspicion(first.id, second.id, f"{fingerprint(first.body)}:{fingerprint(second.body)}")


def write_page(ws: Workspace) -> None:
    """Bring `Conflicts.md` up to date. There is none before the first conflict."""
    found = conflicts(ws)
    page = ws.store.paths.conflicts
    if found or page.exists():
        with writing(ws), suppress(NoteChanged):  # whoever saves it now gets ours the next time
            pages.write(page, _page(found), fsync=ws.settings.fsync, is_ours=_is_ours)


def _is_ours(line: str) -> bool:
    """Headings, quotations and what the model said of them: of a conflict that is no more, that too."""
    return line.startswith(("# ", "## ", ">", *(f"{each[0].upper()}{each[1:]}" for each in _FOUND.values())))


def _contradicting(ws: Workspace) -> list[Entry]:
    condition = "status = 'active' AND json_array_length(memory, '$.contradicts') > 0 ORDER BY changed DESC, id"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition))
    return [Entry(row.memory, row.path) for row in rows if row.memory]


def _may_conflict(ws: Workspace, one: Entry, other: Entry, project: str | None) -> bool:
    different = one.id != other.id and project in (None, one.project, other.project)
    now = ws.clock()
    return different and is_in_force(one.memory, now) and is_in_force(other.memory, now)


def _conflict(one: Entry, other: Entry, verdict: Suspicion | None) -> Conflict:
    """`one` is the one that says so: of two at the same time the later."""
    late, early = (one, other) if _time(one) >= _time(other) else (other, one)
    from memem.gate.comparing import Statement, compare  # most vaults have none, and need not wait for it

    compared = compare(Statement(early.body), Statement(late.body))
    differences = tuple(
        f"{each.kind}: {each.old or 'none'} / {each.new or 'none'}" for each in compared.differences[:MOST_DIFFERENCES]
    )
    found = _FOUND[verdict.verdict if verdict else ""]
    return Conflict(late, early, differences, found, verdict.why if verdict else "")


def _time(entry: Entry) -> float:
    stated = moment(entry.memory.valid_from or entry.memory.created or entry.memory.updated)
    return stated.timestamp() if stated else 0.0


def _suspicions(ws: Workspace) -> list[Suspicion]:
    if not ws.home.state_file.exists():
        return []
    with suppress(StateUnusable):
        return ws.state.suspicions.all()
    return []


def _page(found: list[Conflict]) -> str:
    if not found:
        return "# Conflicts\n\nNo two memories contradict each other."
    parts = [f"# Conflicts\n\n{_TOLD}"]
    parts += [_section(number, each) for number, each in enumerate(found[:MOST_ON_PAGE], 1)]
    if len(found) > MOST_ON_PAGE:
        parts.append(
            f"{len(found) - MOST_ON_PAGE} more: /memem-conflicts in Claude Code, or `memem conflicts`, lists them all."
        )
    return "\n\n".join(parts)


def _section(number: int, conflict: Conflict) -> str:
    head = f"{number}. {conflict.one.project}: {'; '.join(conflict.differences) or 'in other words'}"
    told = f"{conflict.found[0].upper()}{conflict.found[1:]}{f': {conflict.why}' if conflict.why else ''}."
    return "\n\n".join((f"## {pages.plain(head)}", pages.plain(told), _side(conflict.one), _side(conflict.other)))


def _side(entry: Entry) -> str:
    """One side as a callout: who said it, when, in which words, and what proves it."""
    memory = entry.memory
    by = {"human": "written by you", "model": f"{memory.source_type} by memem"}.get(memory.author, memory.author)
    since = (memory.valid_from or memory.created)[:10]
    head = pages.plain(f"{memory.id8} · {since} · {by}")
    lines = [f"[!quote] {head}", entry.link, *_shown(memory.body)]
    if memory.evidence:
        lines += ["", "Evidence:", *(f"> {line}" for line in _shown(memory.evidence))]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _shown(text: str) -> list[str]:
    """Its lines, as far as there is room for them."""
    cut = text if len(text) <= SIDE_CHARACTERS else f"{text[:SIDE_CHARACTERS].rstrip()} […]"
    return [pages.plain(line) for line in cut.splitlines()]
