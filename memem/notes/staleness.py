"""Mark memories stale when all the files they name, or all the names in them, are gone, or their day has passed.

A moved file, and a name that occurs anywhere else, are not gone. In doubt nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import starmap, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import dates
from memem.core.dates import iso
from memem.core.errors import Ambiguous, InputError, NoteError, NotFound
from memem.core.memory import GENERAL, Memory
from memem.notes import repository, symbols, write
from memem.notes.repository import Repository, read_source
from memem.search import find
from memem.search.dates.parse import find_deadline
from memem.search.notes import NoteRow
from memem.search.refresh import index_note
from memem.state import note_records
from memem.state.note_records import StaleNote, StaleRecord
from memem.vault.opening import require_vault
from memem.vault.write_lock import writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


MOST_FILES = 8
MOST_ANCHORS = 16
MOST_NOTES = 200  # of one check; the next one goes on after them
SECONDS = 5.0  # of one check
LEAST_TOGETHER = 5  # if so many, and more than half, would turn stale at once, the folder is another branch
ANNOUNCED, ANNOUNCED_BEFORE_0_10 = "it was valid until ", "it announced "


@dataclass(frozen=True, slots=True)
class Checked:
    looked: int = 0
    stale: int = 0
    recovered: int = 0
    withheld: str = ""  # why none was judged


@dataclass(frozen=True, slots=True)
class _Verdict:
    row: NoteRow
    memory: Memory
    because: str | None  # why it is stale; empty when it is not, None in doubt
    anchors: tuple[str, ...] = ()

    @property
    def is_news(self) -> bool:
        return self.because is not None and bool(self.because) != (self.memory.status == "stale")

    @property
    def turns(self) -> bool:
        return bool(self.because) and self.is_news


def anchored(ws: Workspace, memory: Memory, root: Path | None) -> Memory:
    """The memory with the files and names it mentions, and the last day it announces."""
    # A general memory is about no project's files.
    is_about_files = memory.project != GENERAL and root is not None and root.is_dir()
    found = _find_anchors(memory, root.resolve()) if root and is_about_files else ()
    anchors = tuple(dict.fromkeys((*memory.anchors, *found)))[:MOST_ANCHORS]
    until = memory.valid_to or _announced(memory, _get_said_time(memory, ws.clock()))
    return replace(memory, anchors=anchors, valid_to=dates.write_as_time(until, ws.clock().tzinfo, last=True))


def check(ws: Workspace, folder: Path | None = None) -> Checked:
    """Check some notes of a folder's project, and the announced days of all notes."""
    vault = require_vault(ws)
    before = record = note_records.read_stale(ws.home.stale_file, vault)
    dated = _check_days(ws)
    place = ws.project_of(folder) if folder else None
    looked: list[_Verdict] = []
    withheld = ""
    if place and place.name != GENERAL:
        repository = Repository(place.root, ws.environ, ws.ticks, ws.ticks() + SECONDS)
        if repository.is_settled():
            looked, last = _check_anchors(ws, record, repository, place.name)
            withheld = _too_many(looked, place.name)
            record = _noted(record, looked, place.name, last, withheld)
    judged = [verdict for verdict in looked if not (withheld and verdict.turns)]
    latest = {verdict.row.path: verdict for verdict in (*judged, *dated)}
    news = [verdict for verdict in latest.values() if verdict.is_news]
    with ws.events.batch("staleness"):
        _declare(ws, vault, before, record, news)
    turned = sum(verdict.turns for verdict in news)
    return Checked(len(looked), turned, len(news) - turned, withheld)


def withheld(ws: Workspace) -> tuple[str, ...]:
    """Why the notes of some projects were not judged at their last check."""
    return tuple(note_records.read_stale(ws.home.stale_file, require_vault(ws)).withheld.values())


def _find_anchors(memory: Memory, root: Path) -> tuple[str, ...]:
    """The existing files that a memory names, and the names in it that they define."""
    stated = [path for path in memory.paths if not any(sign in path for sign in "*?[")]
    inside = (find.relative_file(root, root / name) for name in (*find.extract_paths(memory.body), *stated))
    files = [path for path in dict.fromkeys(inside) if path][:MOST_FILES]
    texts = {path: read_source(root / path) for path in files}
    own = {part for path in files for part in (path, Path(path).name)}
    names = [name for name in repository.identifiers(memory.body) if name not in own]
    defined = (symbol for name in names for symbol in _find_symbols(name, texts))
    return tuple(dict.fromkeys((*files, *defined)))[:MOST_ANCHORS]


def _find_symbols(name: str, texts: dict[str, str]) -> Iterator[str]:
    """The anchors of a name, or of the parts of a dotted one, in the first file that defines any of them."""
    whole, *parts = repository.spellings(name)
    specific = [part for part in parts or [whole] if not symbols.is_common(part)]
    for path, text in texts.items():
        defined = [part for part in specific if symbols.is_defined(part, text)]
        yield from (f"{path}#{part}" for part in defined)
        if defined:
            return


def _get_said_time(memory: Memory, otherwise: datetime) -> datetime:
    said = dates.get_said_time(memory, otherwise.tzinfo)
    return otherwise if said is None else datetime.fromtimestamp(said, otherwise.tzinfo)


def _announced(memory: Memory, written: datetime) -> str:
    day = find_deadline(memory.body, written.date())
    return day.isoformat() if day else ""


def _check_anchors(
    ws: Workspace, record: StaleRecord, repository: Repository, project: str
) -> tuple[list[_Verdict], str]:
    """The verdicts on some notes of a project after the last checked id, and the new last id."""
    found: list[_Verdict] = []
    last = record.places.get(project, "")
    condition = "project = ? AND status IN ('active', 'stale')"
    rows = ws.index.rows(f"{condition} AND id > ? ORDER BY id, path", (project, last), MOST_NOTES)
    rows += ws.index.rows(f"{condition} AND id <= ? ORDER BY id, path", (project, last), MOST_NOTES - len(rows))
    for row in rows:
        if repository.is_over:
            break
        if row.memory and _is_ours(row.memory):
            anchors = _anchors(record, row, row.memory, repository.root)
            because = _passed(ws, row, row.memory) or _gone(repository, anchors, project)
            found.append(_Verdict(row, row.memory, because, anchors))
        last = row.memory.id if row.memory else last
    return found, last


def _check_days(ws: Workspace) -> list[_Verdict]:
    """The verdicts on active notes whose day has passed, and on stale ones whose day was put off."""
    now = ws.clock().timestamp()
    rows = ws.index.rows("valid_to <= ? AND status = 'active' ORDER BY id", (now,), MOST_NOTES)
    put_off = ws.index.rows("status = 'stale' AND (valid_to IS NULL OR valid_to > ?) ORDER BY id", (now,))
    rows += [row for row in put_off if row.memory and is_by_date(row.memory.stale_because)]
    ours = [(row, row.memory) for row in rows if row.memory and _is_ours(row.memory)]
    return [_Verdict(row, memory, _passed(ws, row, memory)) for row, memory in ours]


def is_by_date(because: str) -> bool:
    """Whether this reason is a day that has passed, rather than missing files."""
    return because.startswith((ANNOUNCED, ANNOUNCED_BEFORE_0_10))


def _is_ours(memory: Memory) -> bool:
    """Whether no person has set the status."""
    return (memory.status == "stale") == bool(memory.stale_because)


def _passed(ws: Workspace, row: NoteRow, memory: Memory) -> str:
    """Why a note is stale by the day that it states or announces."""
    now = ws.clock()
    day, ends = memory.valid_to[:10], row.stated.ends
    if ends is None:
        day = _announced(memory, _get_said_time(memory, datetime.fromtimestamp(row.changed, now.tzinfo)))
        ends = dates.end_of(day, now.tzinfo)
    return f"{ANNOUNCED}{day}" if ends is not None and ends <= now.timestamp() else ""


def _anchors(record: StaleRecord, row: NoteRow, memory: Memory, root: Path) -> tuple[str, ...]:
    """The anchors of a note: as recorded, or as it states, or as found now."""
    recorded = record.notes.get(memory.id)
    if recorded and recorded.of == row.fingerprint:
        if _is_vouched_for(recorded, row):
            return ()
        if recorded.anchors:
            return recorded.anchors
    stated = tuple(each for each in memory.anchors if find.relative_path(root, root / each.partition("#")[0]))
    if stated:
        return stated
    still = [each for each in recorded.anchors if each.rpartition("#")[2] in memory.body] if recorded else []
    return tuple(dict.fromkeys((*_find_anchors(memory, root), *still)))


def _is_vouched_for(recorded: StaleNote, row: NoteRow) -> bool:
    """Whether a person changed a note since it turned stale, but not its statement."""
    return recorded.vouched or (bool(recorded.because) and recorded.digest != row.digest)


def _gone(repository: Repository, anchors: Sequence[str], project: str) -> str | None:
    """Why a note with these anchors is stale: all files or all names are gone; empty when it is not, None in doubt."""
    files = [(path,) for path in anchors if "#" not in path]
    named = [tuple(anchor.split("#", 1)) for anchor in anchors if "#" in anchor]
    named = [place for place in named if not symbols.is_common(place[1])]  # earlier versions anchored any name
    for is_present, places in ((repository.has_file, files), (repository.has_symbol, named)):
        absences = list(takewhile(lambda there: not there, starmap(is_present, places)))
        if places and len(absences) == len(places):
            more = f" and {len(places) - 1} more are" if len(places) > 1 else " is"
            return None if None in absences else f"{places[0][-1]}{more} gone from {project}"
    return ""


def _too_many(looked: Sequence[_Verdict], project: str) -> str:
    """The notice when so many notes would turn stale at once that the folder must be another one."""
    anchored = [verdict for verdict in looked if verdict.anchors]
    turning = sum(verdict.turns for verdict in anchored)
    if turning < LEAST_TOGETHER or 2 * turning <= len(anchored):
        return ""
    return f"files that {turning} of {len(anchored)} memories of {project} refer to disappeared from its folder at once"


def _noted(record: StaleRecord, looked: Sequence[_Verdict], project: str, last: str, withheld: str) -> StaleRecord:
    """The record after a check: the anchors that notes do not state themselves, and the last checked id."""
    notes = dict(record.notes)
    for each in looked:
        known, of = notes.get(each.memory.id), each.row.fingerprint
        same = known if known and known.of == of else StaleNote(of)
        if _is_vouched_for(same, each.row) and not each.because:
            notes[each.memory.id] = StaleNote(of, because="", vouched=True)
        elif each.anchors and each.anchors != each.memory.anchors and not same.anchors:
            notes[each.memory.id] = replace(same, anchors=each.anchors)
    kept = {name: why for name, why in record.withheld.items() if name != project}
    places = {**record.places, project: last}
    return StaleRecord(notes, places, {**kept, project: withheld} if withheld else kept)


def _declare(ws: Workspace, vault: str, before: StaleRecord, record: StaleRecord, news: Sequence[_Verdict]) -> None:
    """Write the verdicts into a machine's notes, and those on a person's notes into the record."""
    notes = {id: known for id, known in record.notes.items() if ws.index.count_where("id = ?", (id,))}
    others = [each for each in news if not _revised(ws, each)]
    for each in others:
        known, of = notes.get(each.memory.id), each.row.fingerprint
        same = known if known and known.of == of else StaleNote(of, each.anchors)
        now, digest = iso(ws.clock()), each.row.digest
        notes[each.memory.id] = replace(same, because=each.because, since=now, digest=digest)
    record = replace(record, notes=notes)
    if record == before and not others:
        return
    with writing(ws):
        note_records.write_stale(ws.home.stale_file, vault, record, fsync=ws.settings.fsync)
        for each in others:
            index_note(ws, ws.store.read(each.row.path))


def _revised(ws: Workspace, verdict: _Verdict) -> bool:
    """Whether a note needs no record: every one but a person's."""
    because = verdict.because or ""
    status, why = ("stale", because) if because else ("active", "the files it is based on are back")
    try:
        return write.revise(ws, verdict.memory.id, why=why, status=status, stale_because=because) is not None
    except (NotFound, Ambiguous, NoteError, InputError):
        return True  # the next check tries again
