"""Every action that writes to disk, and the check after a fault: old or new state, and repeating the action heals.

bed = Bed(folder, ACTIONS["save"])
bed.prepare()
for number in range(len(bed.operations)):
    bed.findings(Fault("tear", number))     # -> [] when all is well
"""

import os
import re
import shutil
import sqlite3
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from memem.core import files, sqlite
from memem.core.errors import MememError
from memem.core.memory import Memory
from memem.mine import schedule
from memem.notes import forget, history, review, save, staleness, undo, write
from memem.pages import conflicts, refresh
from memem.search import find, rebuild
from memem.search import refresh as search_refresh
from memem.search.database import INDEX, MIGRATIONS
from memem.search.transcripts import consent, turns
from memem.state import contexts, database
from memem.state.tables import CONTEXTS, STATE
from memem.transfer import export, import_
from memem.upkeep import curate, doctor, projects, purge, status
from memem.upkeep.checks.result import BROKEN
from memem.vault import note as notes
from memem.vault import page_text
from memem.workspace import Workspace
from tests import fake_claude, faults
from tests.fakes import START, SteppingClock
from tests.faults import Disk, Fault, unarmed
from tests.transcripts import Transcript, open_miner, sent

Known = dict[str, Any]
"""The ids and paths an action was prepared with."""

FIRST, SECOND, CHANGED = "The walrus sleeps on the beach.", "A second fact about walruses.", "The walrus swims at noon."
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(?:[0-9a-f]{64}|[0-9a-f]{16}|[0-9a-f]{8})\b")
_HASH = re.compile(r"(?<=written_hash: )\S+|<!-- written: .*? -->")
OLD_LEFTOVER = 7_200
"""Seconds: so old a temporary file is nobody's any more."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something that memem does. `done` is what it may say when it is tried again and nothing is left to do."""

    prepare: Callable[[Workspace, Path], Known]
    act: Callable[[Workspace, Known], object]
    done: str = r"(?!)"


@dataclass(frozen=True, slots=True)
class Picture:
    """The notes and pages of a vault, with what is different each time made alike."""

    texts: tuple[tuple[str, str], ...]

    @property
    def bodies(self) -> set[str]:
        return {text for _, text in self.texts}


def picture(folder: Path) -> Picture:
    """Hash every file in the vault and the export, including those set aside."""
    found = []
    for root in (folder / "vault", folder / "out"):
        for path in sorted(root.rglob("*.md")) if root.exists() else ():
            if files.TEMPORARY_PREFIX in str(path):
                continue
            found.append((alike(path.relative_to(folder).as_posix()), alike(path.read_text(encoding="utf-8"))))
    return Picture(tuple(sorted(found)))


def names(texts: Iterable[tuple[str, str]]) -> set[str]:
    """Hash the files, wherever they are."""
    return {path.rpartition("/")[2] for path, _ in texts}


def alike(text: str) -> str:
    """Without ids and what depends on them; the lines of a page in any order."""
    text = _HASH.sub("HASH", _ID.sub("ID", text))
    return "\n".join(sorted(text.splitlines())) if page_text.BEGIN in text else text


# --- the actions --------------------------------------------------------------------------------------------------


def _notes(ws: Workspace, _: Path) -> Known:
    """Two notes of a project, and pages of it."""
    first = save.save(ws, FIRST, title="Beach", project="zoo")
    save.save(ws, "Penguins are fed at four in the afternoon.", title="Feeding", project="zoo", kind="convention")
    refresh.write_pages(ws)
    return {"id": first.memory.id}


def _edited(ws: Workspace, folder: Path) -> Known:
    known = _notes(ws, folder)
    write.edit(ws, known["id"], body=CHANGED)
    return {**known, "batch": history.log(ws)[0].id}


def _linked(ws: Workspace, folder: Path) -> Known:
    """A machine's note that another one links to."""
    _notes(ws, folder)
    memory = Memory(
        "0000beef-0000-4000-8000-000000000000", "Otters", "Otters sleep in the pond.", "zoo", author="model"
    )
    related = ("[[otters-0000beef]]",)
    other = replace(memory, id="0000cafe-0000-4000-8000-000000000000", title="Pond", body="A pond.", related=related)
    for each in (memory, other):
        write.keep(ws, each)
    refresh.write_pages(ws)
    return {"id": memory.id}


def _rename(ws: Workspace, known: Known) -> None:
    written = write.revise(ws, known["id"], title="Sleeping otters")
    if not written or not written.path.startswith("memories/sleeping-otters-"):
        raise AssertionError("the note keeps its name")


def _renamed(ws: Workspace, folder: Path) -> Known:
    known = _linked(ws, folder)
    _rename(ws, known)
    return {**known, "batch": history.log(ws)[0].id}


def _imported(ws: Workspace, folder: Path) -> Known:
    known = _sources(ws, folder)
    return {"batch": import_.import_notes(ws, [Path(known["source"])]).batch}


def _forgotten(ws: Workspace, folder: Path) -> Known:
    known = _notes(ws, folder)
    forget.forget(ws, known["id"])
    return {**known, "batch": history.log(ws)[0].id}


def _proposed(ws: Workspace, folder: Path) -> Known:
    _notes(ws, folder)
    memory = Memory("12345678-0000-4000-8000-000000000000", "Doubt", "Otters may be moved to the pond.", "zoo")
    review.propose(ws, memory, "somebody should look")
    return {"id": memory.id}


def _untidy(ws: Workspace, folder: Path) -> Known:
    _notes(ws, folder)
    texts = (
        "The search service listens on port 9200.",
        "The search service listens on port 9200. It runs on the host atlas.",
        "- Invoices are rounded to whole cents before tax.\n- The staging cluster sleeps at night to save money.\n"
        "- Screenshots belong into the folder docs/img of every release.",
    )
    for number, text in enumerate(texts):
        day = "2025-03-01T09:00:00+01:00"
        made = Memory(f"{number + 1:08x}-0000-4000-8000-000000000000", text.partition(".")[0][:60], text, "shop")
        made = replace(made, author="model", source_type="mined", created=day, updated=day)
        path = ws.store.absolute(ws.store.path_for(made))
        path.write_bytes(notes.new_text(made).encode())
    search_refresh.refresh(ws)
    return {}


def _sources(ws: Workspace, folder: Path) -> Known:
    """Files to import: links between them, a contradiction, one that is known."""
    _notes(ws, folder)
    source = folder / "in"
    source.mkdir()
    for number in range(5):
        text = f"Word{number}a meets word{number}b at place{number}c near word{number}d."
        related = f'related: ["[[n{(number + 1) % 5}]]"]\n' if number % 2 == 0 else ""
        (source / f"n{number}.md").write_text(f"---\ntitle: Number {number}\n{related}---\n{text}\n")
    (source / "n2.md").write_text(f"---\ntitle: Beach\nproject: zoo\n---\n{FIRST}\n")
    return {"source": str(source)}


def _exported(ws: Workspace, folder: Path) -> Known:
    """An export with a tombstone and a proposal in it, and an empty vault to take it in."""
    known = _proposed(ws, folder)
    gone = save.save(ws, "Seals bark at the moon.", project="zoo")
    forget.forget(ws, gone.memory.id)
    target = folder / "export.json"
    export.export(ws, target)
    ws.close()
    for name in ("home", "vault"):
        shutil.rmtree(folder / name)
    return {**known, "source": str(target)}


def _session_with_facts(ws: Workspace, folder: Path) -> Known:
    """A session with three facts that nobody has mined."""
    _notes(ws, folder)
    consent.opt_in(ws)
    session = Transcript(folder / "user" / ".claude" / "projects" / "-srv-shop" / "s1.jsonl")
    for name in ("one", "two", "three"):
        session.tells(name)
    return {"session": str(session.path)}


def _changed_outside(ws: Workspace, folder: Path) -> Known:
    """One note is edited, one is deleted, one comes, one moves."""
    known = _notes(ws, folder)
    gone = save.save(ws, "Seals bark at the moon.", project="zoo")
    moved = save.save(ws, "Foxes are shy before dusk.", project="zoo")
    changed = ws.store.absolute(find.get(ws, known["id"]).path)
    changed.write_text(changed.read_text().replace(FIRST, CHANGED))
    ws.store.absolute(gone.path).unlink()
    away = ws.store.absolute(moved.path)
    away.rename(away.with_name("Foxes.md"))
    (ws.store.paths.memories / "mine.md").write_text("Bears like honey in spring.\n")
    return known


def _old_layout(ws: Workspace, folder: Path) -> Known:
    """Databases as the first versions had them."""
    known = _session_with_facts(ws, folder)
    since = ws.home.opt_in.read_text().strip()
    ws.close()
    home = ws.home
    databases = (
        (ws.index_file, MIGRATIONS, INDEX),
        (home.state_file, database.MIGRATIONS, STATE),
        (home.contexts_file, contexts.MIGRATIONS, CONTEXTS),
        (home.turns_file, turns.MIGRATIONS, turns.SESSIONS),
    )
    for path, migrations, purpose in databases:
        sqlite.drop(path)
        with closing(sqlite.connect(path, migrations[:1], purpose, durable=False)) as made:
            if path == home.state_file:
                made.execute("INSERT INTO agreed VALUES (1, ?)", (since,))
            if path == home.contexts_file:
                made.execute("INSERT INTO shown VALUES (1, 's0', 'something')")
    return known


def _upgrade(ws: Workspace, _: Known) -> None:
    search_refresh.refresh(ws)
    if ws.contexts.shown("s0") != ["something"] or ws.state.opt_in_record.since() is None:
        raise AssertionError("a migration has lost what was there")
    with closing(turns.TurnIndex(ws.home.turns_file)) as said:
        said.count()


def _anchored(ws: Workspace, folder: Path) -> Known:
    """A machine's note about a file that is gone by now."""
    _notes(ws, folder)
    root = folder / "shop"
    (root / "src").mkdir(parents=True)
    (root / "README.md").write_text("The shop.")
    (root / "src" / "auth.py").write_text("def verify_token(token): ...\n")
    memory = Memory("0000beef-0000-4000-8000-000000000000", "Tokens", "Tokens are checked in src/auth.py.", "shop")
    now = "2026-03-01T09:00:00+01:00"
    memory = replace(memory, author="model", created=now, updated=now)
    write.keep(ws, staleness.anchored(ws, memory, root))
    (root / "src" / "auth.py").unlink()
    return {"root": str(root)}


def _export_again(ws: Workspace, folder: Path) -> Known:
    """There is an export already, and one more note since."""
    known = {**_notes(ws, folder), "target": str(folder / "out" / "copy")}
    (folder / "out").mkdir()
    export.export(ws, Path(known["target"]))
    save.save(ws, SECOND, project="zoo")
    return known


def _claimed(ws: Workspace, folder: Path) -> Known:
    """Another folder claims the name of a project."""
    for place in ("first", "second"):
        (folder / place / "zoo").mkdir(parents=True)
        ws.project_of(folder / place / "zoo")
    return {**_notes(ws, folder), "folder": str(folder / "second" / "zoo")}


ACTIONS: Mapping[str, Action] = {
    "save": Action(_notes, lambda ws, _: save.save(ws, SECOND, project="zoo")),
    "first save": Action(lambda *_: {}, lambda ws, _: save.save(ws, SECOND, project="zoo")),
    "edit": Action(_notes, lambda ws, known: write.edit(ws, known["id"], body=CHANGED)),
    "supersede": Action(
        _notes,
        lambda ws, _: save.save(ws, "The walrus no longer sleeps on the beach, but in the pool.", project="zoo"),
    ),
    "forget": Action(_notes, lambda ws, known: forget.forget(ws, known["id"]), done="No memory has the id"),
    "purge": Action(_notes, lambda ws, known: purge.purge(ws, known["id"]), done="No memory has the id"),
    "accept": Action(_proposed, lambda ws, known: review.accept(ws, known["id"]), done="No proposal"),
    "rename": Action(_linked, _rename),
    "undo a rename": Action(_renamed, lambda ws, known: undo.undo(ws, known["batch"]), done="was already undone"),
    "undo an edit": Action(_edited, lambda ws, known: undo.undo(ws, known["batch"]), done="was already undone"),
    "undo a forget": Action(_forgotten, lambda ws, known: undo.undo(ws, known["batch"]), done="was already undone"),
    "undo an import": Action(_imported, lambda ws, known: undo.undo(ws, known["batch"]), done="was already undone"),
    "curate": Action(_untidy, lambda ws, _: curate.curate(ws, apply=[])),
    "stale": Action(_anchored, lambda ws, known: staleness.check(ws, Path(known["root"]))),
    "pages": Action(
        lambda ws, folder: {**_notes(ws, folder), "more": save.save(ws, SECOND, project="pond").path},
        lambda ws, _: refresh.write_pages(ws),
    ),
    "mine": Action(_session_with_facts, lambda ws, known: schedule.mine_file(ws, Path(known["session"]))),
    "refresh": Action(_changed_outside, lambda ws, _: search_refresh.refresh(ws)),
    "rebuild": Action(_changed_outside, lambda ws, _: rebuild.rebuild(ws)),
    "migrate": Action(_old_layout, _upgrade),
    "import": Action(_sources, lambda ws, known: import_.import_notes(ws, [Path(known["source"])])),
    "import an export": Action(_exported, lambda ws, known: import_.import_notes(ws, [Path(known["source"])])),
    "export": Action(_export_again, lambda ws, known: export.export(ws, Path(known["target"]), force=True)),
    "export to a file": Action(
        lambda ws, folder: {**_notes(ws, folder), "target": str(folder / "x.json")},
        lambda ws, known: export.export(ws, Path(known["target"]), force=True),
    ),
    "trust": Action(_claimed, lambda ws, known: projects.trust(ws, Path(known["folder"]))),
    "opt in": Action(_notes, lambda ws, _: consent.opt_in(ws)),
}


# --- judging ------------------------------------------------------------------------------------------------------


class Bed:
    """A memory home that an action is tried in, again and again from the same beginning."""

    def __init__(self, folder: Path, action: Action, environ: Mapping[str, str]) -> None:
        self.folder = folder / "bed"
        self._begun = folder / "begun"
        self._action = action
        self._environ = {**environ, "HOME": str(self.folder / "user"), "MEMEM_FSYNC": "1"}
        self.operations: tuple[str, ...] = ()
        self._known: Known = {}
        self._allowed: set[str] = set()
        self._wanted: dict[str, Any] = {}
        self._old = Picture(())
        self._asked: int | None = None

    def prepare(self) -> None:
        """Make the beginning, and see what the action comes to, and which operations it takes, without a fault."""
        (self.folder / "user").mkdir(parents=True)
        fake_claude.install(self.folder / "claude", [{"echo": True}])
        with closing(self._opened()) as ws:
            self._known = self._action.prepare(ws, self.folder)
        self._old = picture(self.folder)
        shutil.copytree(self.folder, self._begun)
        self._allowed = set(self._old.bodies)
        seen = self.folder.with_name("seen")
        seen.mkdir()
        ended = faults.run(self.folder, self._act, watching=partial(_keep_versions, seen))
        if ended.problem:
            raise AssertionError(f"It fails without a fault: {ended.problem}")
        self.operations = ended.operations
        self._allowed |= {alike(path.read_text(encoding="utf-8")) for path in seen.iterdir()}
        shutil.rmtree(seen)
        self._wanted = self._state()

    def findings(self, fault: Fault) -> list[str]:
        """Return the violations after this fault and after trying again."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._begun, self.folder)
        ended = faults.run(self.folder, self._tried, fault)
        found = list(ended.told["found"]) if ended.told else []
        if ended.torn:
            found += self._as_found()
            _grow_old(self.folder)
            found += self._again(self._opened)
        elif ended.problem:
            found.append(f"ended with {ended.kind[0]}: {ended.problem}")
        return found + self._differences()

    def _opened(self) -> Workspace:
        return open_miner(self.folder, SteppingClock(), self._environ)

    def _act(self, disk: Disk) -> None:
        with unarmed(disk):
            ws = self._opened()
        self._action.act(ws, self._known)

    def _tried(self, disk: Disk) -> dict[str, Any]:
        """In a child: with the fault, and then, the disk being well again, once more in the same process."""
        with unarmed(disk):
            ws = self._opened()
        found, said = [], ""
        try:
            self._action.act(ws, self._known)
        except MememError as problem:
            said = str(problem)
            found += [f"says too little: {said!r}"] if "\n" in said or not said else []
        except Exception as problem:  # noqa: BLE001 - that is what is looked for
            where = traceback.extract_tb(problem.__traceback__)[-1]
            found.append(f"raises {type(problem).__name__}: {problem} ({Path(where.filename).name}:{where.lineno})")
        disk.is_armed = False
        found += self._as_found()
        _grow_old(self.folder)
        found += self._again(lambda: ws)
        return {"found": found, "said": said}

    def _as_found(self) -> list[str]:
        """Right after the fault: every note is one that was, or one that should be; nothing is lost."""
        now = picture(self.folder)
        found = [f"{name} is neither old nor new" for name, text in now.texts if text not in self._allowed]
        self._asked = self._times_asked() if self._is_written_down() else None
        there, wanted = names(now.texts), names(self._wanted["picture"])
        return found + [f"{name} is lost" for name in (names(self._old.texts) & wanted) - there]

    def _times_asked(self) -> int:
        return max(sent(self.folder / "claude").values(), default=0)

    def _is_written_down(self) -> bool:
        """Whether a model has answered, and that is in the journal, or done with."""
        path = self.folder / "home" / "state" / "state.db"
        if not path.exists():
            return False
        with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.OperationalError):  # no such table
            known = "SELECT (SELECT count(*) FROM journal) + (SELECT count(*) FROM sessions WHERE offset > 0)"
            return int(connection.execute(known).fetchone()[0]) > 0
        return False

    def _again(self, opened: Callable[[], Workspace]) -> list[str]:
        """The same once more."""
        with closing(opened()) as ws:
            try:
                self._action.act(ws, self._known)
            except MememError as problem:
                if not re.search(self._action.done, str(problem)):
                    return [f"does not heal: {problem}"]
        if self._asked is not None and self._times_asked() > self._asked:
            return ["a model was asked again for what it had answered"]
        return ["a model was asked three times"] if self._times_asked() > 2 else []

    def _differences(self) -> list[str]:
        """Between how it is now and how it would be without the fault."""
        try:
            now = self._state()
        except MememError as problem:
            return [f"cannot be used after healing: {problem}"]
        return [
            f"{name}: {_shortened(now[name], wanted)}" for name, wanted in self._wanted.items() if now[name] != wanted
        ]

    def _state(self) -> dict[str, Any]:
        """Everything that counts, as JSON."""
        with closing(self._opened()) as ws:
            search_refresh.refresh(ws)
            if ws.store.paths.home_page.exists():  # pages follow when the next session begins
                conflicts.write_page(ws)
                refresh.write_pages(ws)
            told: dict[str, Any] = {"picture": picture(self.folder).texts}
            told["findings"] = sorted((alike(each.path), alike(each.problem)) for each in status.check(ws))
            told["index"] = _rows(ws)
            told["broken"] = [alike(each.detail) for each in doctor.integrity(ws) if each.state == BROKEN]
            told["tombstones"] = len(ws.tombstones.load().standing)
            told["mining"] = _mining(ws)
            _grow_old(self.folder)
            rebuild.rebuild(ws)
            if _rows(ws) != told["index"]:
                told["index"] = ["is not what a new one would be", told["index"], _rows(ws)]
            told["left over"] = sorted(alike(path.name) for path in self.folder.rglob(f"{files.TEMPORARY_PREFIX}*"))
        return told


def _rows(ws: Workspace) -> list[str]:
    found = [
        (row.path, row.digest, row.memory, row.fingerprint, row.problem, row.stated, row.held)
        for row in ws.index.rows()
    ]
    return sorted(alike(str(each)) for each in found)


def _mining(ws: Workspace) -> list[object]:
    """How far sessions are mined, and what waits."""
    if not ws.home.state_file.exists():
        return ["", 0, [], []]
    known = ws.state.sessions.get("s1")
    waiting = [ws.state.journal.sessions(), [mark.session for mark in ws.state.queue.marks()]]
    return [ws.state.opt_in_record.since(), known.offset if known else 0, *waiting]


def _keep_versions(folder: Path, name: str, path: Path) -> None:
    """In a child: what a note would become, each time one is replaced."""
    if name in ("replace", "rename") and path.suffix == files.TEMPORARY_SUFFIX and path.is_file():
        data = path.read_bytes()
        if data.startswith((b"---", b"<!--", b"#")):
            (folder / f"{len(list(folder.iterdir()))}").write_bytes(data)


def _shortened(now: Any, wanted: Any) -> str:
    """Where the two differ."""
    if isinstance(now, (list, tuple)) and isinstance(wanted, (list, tuple)):
        more, less = [each for each in now if each not in wanted], [each for each in wanted if each not in now]
        return f"has {str(more)[:600]}, and not {str(less)[:600]}"
    return f"is {now!r}, not {wanted!r}"


def _grow_old(folder: Path) -> None:
    """Age the leftovers of a killed writer by more than an hour."""
    long_ago = START.timestamp() - OLD_LEFTOVER
    for path in folder.rglob(f"{files.TEMPORARY_PREFIX}*"):
        os.utime(path, (long_ago, long_ago))
