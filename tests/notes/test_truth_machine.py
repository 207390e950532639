"""After any sequence of operations vault, index and recall agree, and nothing forgotten returns.

Every statement holds a word of its own, which is looked for everywhere. What was forgotten, and by which batch, is
known here exactly; what else is there is seen in the vault.
"""

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memem.core.conversation import ADD, HUMAN, SUPERSEDE, UPDATE, Chunk, Operation, Turn
from memem.core.dates import is_in_force
from memem.core.errors import Forgotten, InputError, NotFound
from memem.core.memory import Memory, link_target
from memem.core.trust import PERSON, SAVED
from memem.inject import slice
from memem.mine import apply
from memem.mine.apply import Applied
from memem.notes import conflicts, forget, review, save, undo, write
from memem.pages.catch_up import catching_up
from memem.search import find, note_rows, rebuild, refresh
from memem.search.graph import read
from memem.transfer import import_
from memem.upkeep import purge, status
from memem.vault import forgotten
from memem.vault.note import Note
from memem.workspace import Workspace, open_workspace
from tests.builders import examples
from tests.fakes import SteppingClock
from tests.transcripts import write_chunk

AWAY, FEW = timedelta(minutes=10), 5
SUBJECTS = ("cart", "search")
PICK = st.integers(0, 999)


@dataclass
class Lost:
    """A note that a person deleted: what it said, its bytes, since when that is known, and with how many others."""

    said: str
    data: bytes
    path: str
    since: datetime | None = None
    together: int = 0
    in_trash: bool = False
    plain: bool = False


@dataclass
class ForgottenText:
    """A forgotten text, and the batches that forgot it: undoing one of them may bring it back."""

    words: frozenset[str]
    batches: set[str] = field(default_factory=set)


@cache
def word_of(number: int) -> str:
    """A word that no other text holds."""
    letters = random.Random(number)  # noqa: S311 - the same in each run
    return "q" + "".join(letters.choice("bdfgklmnprtvz") + letters.choice("aeiou") for _ in range(4)) + "x"


class Home(RuleBasedStateMachine):
    """One memory home, its vault, and a person with an editor."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="truth")
        self.root = Path(self.folder.name)
        self.clock = SteppingClock()
        self.ws = self.opened()
        self.count = 0
        self.statements: list[str] = []
        self.mined: list[tuple[Chunk, Operation]] = []
        self.imported: list[Path] = []
        self.order: dict[str, int] = {}  # every id that ever was, as it was met
        self.holders: dict[str, set[str]] = {}  # of a word: the ids of all notes that ever held it
        self.forgotten: dict[str, ForgottenText] = {}
        self.burials: dict[str, set[str]] = {}
        self.stones: set[str] = set()
        self.purged: set[str] = set()
        self.persons: set[str] = set()  # words that a person wrote, and did not delete
        self.lost: dict[str, Lost] = {}
        self.notes: dict[str, Note] = {}
        self.proposed: set[str] = set()
        self.batches: list[str] = []
        self.stems: set[str] = set()  # every name that a note ever had
        self.turns = 0

    def opened(self) -> Workspace:
        environ = {"HOME": str(self.root), "PATH": ""}
        environ |= {"MEMEM_FSYNC": "0", "MEMEM_ENCODER": "none", "MEMEM_BACKGROUND": "0"}
        home, vault = self.root / "home", self.root / "vault"
        return open_workspace(
            actor="test", home=home, vault=vault, environ=environ, clock=self.clock, ticks=self.clock.ticks
        )

    def teardown(self) -> None:
        self.ws.close()
        self.folder.cleanup()

    # --- words and notes ------------------------------------------------------------------------------------------

    def new_word(self) -> str:
        self.count += 1
        return word_of(self.count)

    def new_statement(self, shape: int, pick: int) -> str:
        """About a few subjects, so that some contradict, or say more than, others."""
        subject, word = SUBJECTS[pick % len(SUBJECTS)], self.new_word()
        shapes = (
            f"The {subject} service runs on the host {word}.",
            f"The {subject} service is written by the team {word} alone.",
            f"Deploys of the {subject} service need a ticket named {word} now.",
        )
        if shape == len(shapes) and self.statements:
            said = f"{self.pick(self.statements, pick)} It was checked by {word}."
        else:
            said = shapes[shape % len(shapes)]
        self.statements.append(said)
        return said

    def pick(self, items: Any, at: int) -> Any:
        items = list(items)
        return items[at % len(items)]

    def words(self, text: str) -> frozenset[str]:
        """Those of our words that a text holds."""
        return frozenset(word for number in range(1, self.count + 1) if (word := word_of(number)) in text)

    def live(self, *, machines: bool = False) -> list[Note]:
        """The notes in the order in which they were met."""
        found = [each for each in self.notes.values() if self.is_alone(each)]
        if machines:
            found = [each for each in found if each.memory.author == "model" and not each.touched_by_hand]
        return sorted(found, key=lambda each: self.order[each.memory.id])

    def is_alone(self, note: Note) -> bool:
        return sum(each.memory.id == note.memory.id for each in self.notes.values()) == 1

    def file(self, note: Note) -> Path:
        return self.ws.store.absolute(note.path)

    def read(self) -> dict[str, Note]:
        """Every note as it stands in the vault now."""
        if not self.ws.store.paths.marker.exists():
            return {}
        paths = sorted(path for path, _ in self.ws.store.scan() if self.ws.store.is_memory(path))
        return {path: self.ws.store.read(path) for path in paths}

    def proposals(self) -> list[Note]:
        folder = self.ws.store.paths.review
        return [self.ws.store.read(f"review/{path.name}") for path in sorted(folder.glob("*.md"))]

    def forget_text(self, note: Note, batch: str) -> None:
        """From now on nobody but a person who asks for it may bring it back. Exact only where no other note has it."""
        said = note.memory.body.strip()
        known = self.burials.setdefault(said, set())
        known.add(batch)
        others = [each.memory for path, each in self.read().items() if path != note.path]
        elsewhere = [each for each in others if said in f"{each.title}\n{each.body}\n{each.evidence}"]
        if elsewhere:
            return
        single = self.words(said) if len(self.words(said)) == 1 else frozenset[str]()
        self.forgotten[said] = ForgottenText(frozenset(w for w in single if self.holders[w] == {note.memory.id}), known)

    def lift(self, said: str) -> None:
        """A person wants it after all."""
        for each in [each for each in self.forgotten if each in said or said in each]:
            del self.forgotten[each]
        for identity in [identity for identity, gone in self.lost.items() if gone.said in said]:
            del self.lost[identity]

    def last_batch(self) -> str:
        event = self.ws.events.last()
        return event.batch if event else ""

    def check_refusal(self, said: str, outcome: str) -> None:
        """Forgotten text is refused. A part of a longer statement is another statement."""
        if any(each in said for each in self.forgotten):
            assert outcome in ("refused", "proposed"), f"{said!r} is back: {outcome}"
        if outcome != "refused":
            self.purged -= self.words(said)

    # --- saying things --------------------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        save.save(self.ws, "The house is painted yellow.", title="House", project="shop")

    def saved(self, said: str, author: str, **more: Any) -> None:
        trust = PERSON if author == "human" else SAVED
        try:
            written = save.save(
                self.ws, said, title=f"Note {self.count}", project="shop", trust=trust, session="said", **more
            )
        except Forgotten as problem:
            assert any(why in str(problem) for why in ("nothing was saved", "forgotten", "missing", "deleted by hand"))
            outcome = "refused"
        else:
            outcome = written.outcome
            self.persons |= self.words(said) if author == "human" else set()
            hypothesis.note(f"  {outcome} {written.memory.id8}: {written.memory.body}")
        if more.get("anyway"):
            assert outcome != "refused"
            self.lift(said)
            self.purged -= self.words(said)
        else:
            self.check_refusal(said, outcome)

    @rule(shape=st.integers(0, 3), pick=PICK, author=st.sampled_from(("human", "model")))
    def save(self, shape: int, pick: int, author: str) -> None:
        self.saved(self.new_statement(shape, pick), author)

    @rule(pick=PICK, author=st.sampled_from(("human", "model")), anyway=st.sampled_from((False, False, True)))
    @precondition(lambda self: self.statements)
    def save_again(self, pick: int, author: str, anyway: bool) -> None:
        said = self.pick(self.statements, pick)
        self.saved(said, author, anyway=anyway and author == "human")

    def operation(self, op: str, said: str, target: str | None = None) -> Operation:
        title = f"Mined {self.count}" if self.count % 4 else ""  # without one, the words are in the file's name
        return Operation(op, target, title, said, "fact", "project", 3, (), (), f"well, {said}")

    def apply(self, chunk: Chunk, operation: Operation) -> Applied:
        with self.ws.events.batch("mine"):
            (done,) = apply.apply_all(self.ws, write_chunk(self.ws, chunk), [operation])
        hypothesis.note(f"  {done.outcome} {done.id[:8]}: {operation.content} {done.reason}")
        self.check_refusal(operation.content, done.outcome)
        return done

    def chunk(self, said: str, known: tuple[str, ...] = ()) -> Chunk:
        self.turns += 1
        name = f"s{self.turns}"
        turn = Turn(f"{name}-1", HUMAN, f"So: well, {said}", self.clock().isoformat(), name)
        return Chunk(name, f"/a/{name}.jsonl", "shop", (turn,), "", 1, 1, "", known)

    @rule(shape=st.integers(0, 3), pick=PICK)
    def mine(self, shape: int, pick: int) -> None:
        said = self.new_statement(shape, pick)
        self.mined.append((self.chunk(said), self.operation(ADD, said)))
        self.apply(*self.mined[-1])

    @rule(pick=PICK)
    @precondition(lambda self: self.mined)
    def mine_the_same_turn_again(self, pick: int) -> None:
        self.apply(*self.pick(self.mined, pick))

    @rule(pick=PICK)
    @precondition(lambda self: self.statements)
    def mine_what_is_said_anew(self, pick: int) -> None:
        said = self.pick(self.statements, pick)
        self.apply(self.chunk(said), self.operation(ADD, said))

    @rule(shape=st.integers(0, 2), pick=PICK, op=st.sampled_from((SUPERSEDE, SUPERSEDE, UPDATE)))
    @precondition(lambda self: self.live(machines=True))
    def supersede(self, shape: int, pick: int, op: str) -> None:
        old = self.pick(self.live(machines=True), pick).memory
        said = self.new_statement(shape, pick)
        said = said if op == SUPERSEDE else f"{old.body} {said}"
        done = self.apply(self.chunk(said, (old.id8,)), self.operation(op, said, old.id8))
        if done.outcome == "superseded":
            new = find.get(self.ws, done.id).memory
            ended = find.get(self.ws, new.supersedes).memory
            assert (ended.status, bool(ended.valid_to)) == ("deprecated", True)
            with suppress(NotFound):  # an earlier successor may have been forgotten since
                assert find.get(self.ws, ended.superseded_by).memory.superseded_by != ended.superseded_by

    @rule(shape=st.integers(0, 3), pick=PICK)
    def import_a_file(self, shape: int, pick: int) -> None:
        path = self.root / "imports" / str(self.count) / "note.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"# Imported {self.count}\n\n{self.new_statement(shape, pick)}\n")
        self.imported.append(path)
        self.bring(path)

    @rule(pick=PICK)
    @precondition(lambda self: self.imported)
    def import_it_again(self, pick: int) -> None:
        self.bring(self.pick(self.imported, pick))

    @rule(pick=PICK)
    @precondition(lambda self: self.statements)
    def import_what_was_said(self, pick: int) -> None:
        path = self.root / "imports" / f"again{len(self.imported)}" / "note.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Again\n\n{self.pick(self.statements, pick)}\n")
        self.bring(path)

    def bring(self, path: Path) -> None:
        (done,) = import_.import_notes(self.ws, [path.parent], project="shop").files
        hypothesis.note(f"  {done.outcome} {done.id[:8]}: {path.read_text()!r} {done.reason}")
        self.check_refusal(path.read_text(), done.outcome)

    # --- changing things ------------------------------------------------------------------------------------------

    @rule(pick=PICK, shape=st.integers(0, 2), what=st.sampled_from(("body", "title", "importance")))
    @precondition(lambda self: self.live())
    def edit(self, pick: int, shape: int, what: str) -> None:
        note = self.pick(self.live(), pick)
        value: Any = {"title": f"Edited {self.count}", "importance": 1 + pick % 5}.get(what)
        if what == "body":
            value = self.new_statement(shape, pick)
            self.persons = (self.persons - self.words(note.memory.body)) | self.words(value)
        write.edit(self.ws, note.memory.id, **{what: value})

    @rule(pick=PICK, other=PICK)
    @precondition(lambda self: self.live() and self.forgotten)
    def edit_into_what_was_forgotten(self, pick: int, other: int) -> None:
        said = self.pick(self.forgotten, other)
        with suppress(Forgotten):
            write.edit(self.ws, self.pick(self.live(), pick).memory.id, body=said)
            raise AssertionError(f"{said!r} is back by an edit")

    @rule(pick=PICK, what=st.sampled_from(("sentence", "property", "unknown")))
    @precondition(lambda self: self.live())
    def edit_by_hand(self, pick: int, what: str) -> None:
        note = self.pick(self.live(), pick)
        text = self.file(note).read_text()
        if what == "sentence":
            word = self.new_word()
            body = note.memory.body.strip()
            if text.count(body) != 1:
                return
            text = text.replace(body, f"{body} By hand: {word}.")
            self.persons |= {word}
        elif what == "property":
            text = text.replace("importance: 3\n", "importance: 5 # mine\n")
        else:
            text = text.replace("---\n", f"---\nmine_{self.clock().minute}: yes, mine\n", 1)
        self.file(note).write_text(text)

    @rule(pick=PICK, folder=st.sampled_from(("", "deep/down")))
    @precondition(lambda self: self.live())
    def rename_by_hand(self, pick: int, folder: str) -> None:
        note = self.pick(self.live(), pick)
        if not note.has_id:
            return
        target = self.ws.store.paths.memories / folder / f"renamed {len(self.order)} {self.clock().minute}.md"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            self.file(note).rename(target)

    @rule(pick=PICK, keep=st.sampled_from(("one", "both")))
    @precondition(lambda self: self.notes)
    def resolve(self, pick: int, keep: str) -> None:
        found = conflicts.conflicts(self.ws)
        if not found:
            return
        conflict = found[pick % len(found)]
        conflicts.resolve(self.ws, conflict.one.id, "keep" if keep == "one" else "both", over=conflict.other.id)

    # --- taking things away ---------------------------------------------------------------------------------------

    @rule(pick=PICK, trash=st.booleans())
    @precondition(lambda self: self.live())
    def delete_by_hand(self, pick: int, trash: bool) -> None:
        note = self.pick(self.live(), pick)
        path, data = self.file(note), self.file(note).read_bytes()
        if trash:
            target = self.ws.store.paths.trash / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
        else:
            path.unlink()
        self.persons -= self.words(note.memory.body)
        self.lost[note.memory.id] = Lost(note.memory.body.strip(), data, note.path, in_trash=trash)

    @rule(pick=PICK)
    @precondition(lambda self: self.lost)
    def put_it_back_by_hand(self, pick: int) -> None:
        identity = self.pick(self.lost, pick)
        gone = self.lost[identity]
        path = self.ws.store.absolute(gone.path)
        if path.exists() or self.ws.index.rows("id = ?", (identity,)) or self.purged & self.words(gone.said):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gone.data)
        (self.ws.store.paths.trash / path.name).unlink(missing_ok=True)
        del self.lost[identity]
        self.lift(gone.said)

    @rule(pick=PICK)
    @precondition(lambda self: self.live())
    def forget(self, pick: int) -> None:
        note = self.pick(self.live(), pick)
        forget.forget(self.ws, note.memory.id)
        with pytest.raises(NotFound):
            find.get(self.ws, note.memory.id)
        self.forget_text(note, self.last_batch())

    @rule(pick=PICK, which=st.sampled_from(("live", "forgotten")))
    @precondition(lambda self: self.live())
    def purge(self, pick: int, which: str) -> None:
        folder = self.ws.store.paths.forgotten
        aside = [self.ws.store.read(f".forgotten/{path.name}") for path in sorted(folder.glob("*.md"))]
        aside.sort(key=lambda each: self.order[each.memory.id])
        found = aside if which == "forgotten" else self.live()
        if not found:
            return
        note = self.pick(found, pick)
        identity = note.memory.id
        gone = {word for word, ids in self.holders.items() if ids == {identity}}
        told = purge.purge(self.ws, identity)
        hypothesis.note(f"  purged {identity[:8]} {sorted(gone)}: {note.memory.body}; still: {told.elsewhere}")
        self.persons -= gone | self.words(note.memory.body)
        # Undo copies that link to it go too: of what was undone before, nothing may be left.
        self.persons &= self.words("".join(path.read_text() for path in self.ws.store.paths.ours.rglob("*.md")))
        self.purged |= gone
        self.lost.pop(identity, None)
        self.forget_text(note, self.last_batch())

    @rule(pick=PICK, which=st.sampled_from(("last", "last", "any", "undo")))
    @precondition(lambda self: self.batches)
    def undo(self, pick: int, which: str) -> None:
        undos = [each.batch for each in self.ws.events.read() if each.action == "undone"]
        names = {"last": None, "any": self.pick(self.batches, pick), "undo": undos[-1] if undos else None}
        before = {path: note.memory.body.strip() for path, note in self.notes.items()}
        was = dict(self.notes)
        try:
            done = undo.undo(self.ws, names[which])
        except (InputError, NotFound) as problem:
            hypothesis.note(f"  not undone: {problem}")
            return
        hypothesis.note(f"  undone {done}")
        now = self.read()
        came = {note.memory.body.strip() for note in now.values()} - set(before.values())
        for said in [said for said in self.forgotten if any(said in each for each in came)]:
            assert done.batch in self.forgotten[said].batches, f"{said!r} is back, undoing what did not forget it"
            del self.forgotten[said]
        for identity in [identity for identity in self.lost if any(identity == n.memory.id for n in now.values())]:
            del self.lost[identity]
        events = [each for each in self.ws.events.read() if each.batch == done.undo and done.undo]
        for event in events:
            if event.action == "forget":
                for note in [note for note in was.values() if note.memory.id == event.id]:
                    self.forget_text(note, done.undo)

    @rule(pick=PICK, accepted=st.booleans())
    @precondition(lambda self: self.proposed)
    def review(self, pick: int, accepted: bool) -> None:
        note = self.pick(sorted(self.proposals(), key=lambda each: self.order[each.memory.id]), pick)
        said = note.memory.body.strip()
        if accepted:
            review.accept(self.ws, note.memory.id)
            self.lift(said)
        else:
            review.reject(self.ws, note.memory.id)
            self.forget_text(note, self.last_batch())

    # --- and time -------------------------------------------------------------------------------------------------

    @rule()
    def reindex(self) -> None:
        before = self.rows()
        rebuild.rebuild(self.ws)
        assert self.rows() == before

    @rule(cache=st.booleans())
    def start_a_new_process(self, cache: bool) -> None:
        self.ws.close()
        if cache:
            shutil.rmtree(self.ws.home.cache, ignore_errors=True)
        self.ws = self.opened()

    @rule(minutes=st.sampled_from((3, 11, 60)))
    def time_passes(self, minutes: int) -> None:
        self.clock.forward(minutes=minutes)

    # --- what always holds ----------------------------------------------------------------------------------------

    def rows(self) -> dict[str, Any]:
        return {row.path: (row.memory, row.digest, row.fingerprint, row.stated) for row in self.ws.index.rows()}

    @invariant()
    def all_agree(self) -> None:
        if not self.ws.store.paths.marker.exists():
            return
        with catching_up(self.ws):  # as every door does after an action
            self.clock.forward(minutes=1)
            refresh.refresh(self.ws)
        self.notes = self.read()
        self._meet()
        self._decide_on_the_lost()
        self._the_index_is_the_vault()
        self._recall_is_the_vault()
        self._nothing_forgotten_is_there()
        self._nothing_purged_is_anywhere()
        self._what_a_person_wrote_is_somewhere()
        self._links_lead_somewhere()

    def _meet(self) -> None:
        proposals = self.proposals()
        self.proposed = {note.memory.body for note in proposals}
        for note in (*sorted(self.notes.values(), key=lambda each: each.memory.title), *proposals):
            self.order.setdefault(note.memory.id, len(self.order))
            self.stems.add(Path(note.path).stem)
            for word in self.words(note.document.text):
                self.holders.setdefault(word, set()).add(note.memory.id)
        self.batches = list(dict.fromkeys(event.batch for event in self.ws.events.read()))

    def _decide_on_the_lost(self) -> None:
        """A deletion counts once it is plain; until then it is held against machines alone."""
        live = {note.memory.body.strip() for note in self.notes.values()}
        for identity in [identity for identity, gone in self.lost.items() if not gone.since and gone.said in live]:
            del self.lost[identity]  # another note says the very same
        settled = (*self.forgotten, *live)
        away = [gone for gone in self.lost.values() if gone.said not in settled and not gone.plain]
        for gone in away:
            gone.since = gone.since or self.clock()
            gone.together = max(gone.together, len(away))
        for gone in away:
            assert gone.since
            memory = Memory("0" * 8, "", gone.said, "shop", author="model", source_type="mined")
            assert forget.check_forgotten(self.ws, memory), (
                f"{gone.said!r} was deleted, and a machine may bring it back"
            )
            gone.plain = gone.together < FEW and (self.clock() - gone.since >= AWAY or gone.in_trash)
        for gone in away:
            memory = Memory("0" * 8, "", gone.said, "shop", author="model", source_type="mined")
            plain = any(each.plain for each in away if each.said == gone.said)
            before = [
                each for each in forgotten.find_matching(self.ws.tombstones.load(), memory) if each.key in self.stones
            ]
            if not before and not any(said in gone.said for said in self.burials):
                held = forget.check_forgotten(self.ws, replace(memory, author="human", source_type="user"))
                assert bool(held) == plain, f"{gone.said!r} was deleted with {gone.together}, and is held: {held}"
        for gone in [gone for gone in away if gone.plain]:
            batches = self.burials.setdefault(gone.said, set())
            if not any(gone.said in said for said in live):
                self.forgotten[gone.said] = ForgottenText(frozenset(), batches)
        self.stones = {stone.key for stone in self.ws.tombstones.load().standing}

    def _the_index_is_the_vault(self) -> None:
        rows = self.ws.index.rows()
        assert sorted(row.path for row in rows) == sorted(self.notes)
        for row in rows:
            note = self.notes[row.path]
            fresh = note_rows.read_row(self.ws, row.path, row.stamp)
            assert fresh
            assert row.memory
            assert (row.memory, row.digest, row.stated) == (fresh.memory, note.digest, fresh.stated)
            assert (row.memory.id, row.memory.body) == (note.memory.id, note.memory.body)

    def _recall_is_the_vault(self) -> None:
        listed = find.list_memories(self.ws, limit=1_000)
        assert sorted(entry.path for entry in listed) == sorted(self.notes)
        for note in self.notes.values():
            words = sorted(self.words(note.memory.body))
            if words and note.memory.status == "active" and is_in_force(note.memory, self.clock()):
                hits = find.search(self.ws, words[-1], limit=100)
                assert note.path in [hit.path for hit in hits], f"{words[-1]} does not find {note.path}"

    def _nothing_forgotten_is_there(self) -> None:
        for said, burial in self.forgotten.items():
            for note in self.notes.values():
                assert said not in note.memory.body, f"{said!r} is back in {note.path}"
            self._is_not_shown(said)
            for word in burial.words:
                self._is_not_shown(word)
            page = self.ws.store.paths.conflicts
            if burial.batches and page.exists():  # of what was deleted by hand the page tells until it is written anew
                assert said not in page.read_text()

    def _is_not_shown(self, text: str) -> None:
        hits = find.search(self.ws, text, limit=100)
        assert not any(text in f"{hit.title} {hit.body} {hit.memory.evidence}" for hit in hits), f"{text!r} is found"
        shown = slice.build_slice(self.ws, text, cwd=self.root, project="shop", always=True)
        assert text not in shown.text

    def _nothing_purged_is_anywhere(self) -> None:
        if not self.purged:
            return
        for path, data in self._bytes():
            held = [word for word in self.purged if word.encode() in data or word in path.name]
            assert not held, f"{held} was purged, and is in {path}"

    def _bytes(self) -> Iterator[tuple[Path, bytes]]:
        for root in (self.root / "home", self.root / "vault"):
            for folder, folders, names in os.walk(root):
                folders[:] = [name for name in folders if name != ".trash"]
                for name in names:
                    with suppress(FileNotFoundError):
                        yield Path(folder, name), Path(folder, name).read_bytes()

    def _what_a_person_wrote_is_somewhere(self) -> None:
        places = (self.ws.store.paths.ours, self.ws.home.undo)
        there = b"".join(path.read_bytes() for place in places for path in place.rglob("*") if path.is_file())
        missing = {word for word in self.persons if word.encode() not in there}
        assert not missing, f"a person wrote {missing}, and nothing is left of it"

    def _links_lead_somewhere(self) -> None:
        readable = {path: note.memory for path, note in self.notes.items()}
        known = {identity[:8] for identity in self.order} | self.stems
        for path, name, link in read.find_dangling_links(readable, self.root / "vault"):
            target = link_target(link)
            assert known & {target, target.rpartition("-")[2]}, f"{path} links by {name} to {link}, which never was"
        for note in self.notes.values():
            if note.memory.superseded_by:
                with suppress(NotFound):
                    later = find.get(self.ws, note.memory.superseded_by).memory
                    assert later.supersedes
                    assert later.id != note.memory.id
        serious = [each for each in status.check(self.ws) if each.serious and "same id" not in each.problem]
        assert serious == []


Home.TestCase.settings = hypothesis.settings(
    max_examples=examples(40), stateful_step_count=30, suppress_health_check=list(hypothesis.HealthCheck)
)
TestHome = Home.TestCase
