"""Forgotten text does not come back through any door; a new value passes each of them.

The table is complete: whatever in memem writes notes is found in its source, and has to be accounted for here.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memem.core.conversation import ADD, SUPERSEDE, UPDATE, Chunk, Operation, Turn
from memem.core.errors import Forgotten, MememError, VaultMissing
from memem.core.memory import Memory
from memem.doors import cli
from memem.doors.api.home import MemoryHome
from memem.doors.mcp import tools
from memem.mine import apply, prompt, schedule
from memem.notes import forget as notes_forget
from memem.notes import review, save, undo, write
from memem.search import find, refresh, vanished
from memem.transfer import import_
from memem.upkeep import purge
from memem.vault import note as notes
from memem.workspace import Workspace, open_workspace
from tests import fake_claude
from tests.fakes import SteppingClock
from tests.transcripts import AT_LENGTH, Transcript, open_miner, write_chunk
from tests.write_paths import writers

VALUE, NEXT = "walrus7731", "walrus7732"
STATEMENT = f"The staging database of the shop is called {VALUE}."
QUOTE = f"remember that the staging database of the shop is called {VALUE}"
MINED = Memory(
    "66666666-aaaa-4aaa-8aaa-666666666666",
    "Staging",
    STATEMENT,
    "shop",
    author="model",
    source_type="mined",
    source_session="s0",
    source_turn="s0-0001",
    evidence=QUOTE,
    created="2026-03-01T08:00:00+01:00",
)
BYSTANDER = "Otters sleep on their backs."

VARIANTS: dict[str, Callable[[str], str]] = {
    "as it was": str,
    "another case": str.upper,
    "other spacing": lambda text: text.replace(" ", "  \t"),
    "invisible characters": lambda text: text.replace("a", "a\u200b").replace("e", "\u2060e"),
    "look-alike letters": lambda text: text.translate(str.maketrans("aeo", "аео")),
    "other punctuation": lambda text: f"{text.rstrip('.')}!!",
}


@dataclass
class Place:
    """A home with a forgotten memory, and all that somebody needs to bring it back."""

    ws: Workspace
    folder: Path
    claude: Path
    copy: bytes = b""  # of the note, from before it was forgotten
    count: int = 0
    others: list[Workspace] = field(default_factory=list)

    def bystander(self, author: str = "model") -> str:
        """The id of another note, which may be changed."""
        self.count += 1
        identity = f"{self.count:08x}-bbbb-4bbb-8bbb-bbbbbbbbbbbb"
        memory = Memory(identity, f"Otters {self.count}", f"{BYSTANDER} Says {self.count}.", "shop", author=author)
        write.keep(self.ws, memory)
        return identity

    def session(self) -> Transcript:
        self.count += 1
        started = self.ws.clock()
        path = self.folder / "user" / ".claude" / "projects" / "-srv-shop" / f"later{self.count}.jsonl"
        return Transcript(path, start=started)

    def file(self, text: str) -> Path:
        self.count += 1
        path = self.folder / "files" / str(self.count) / f"note {self.count}.md"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        return path

    def live_texts(self) -> list[str]:
        """The texts and evidence of the live notes."""
        refresh.refresh(self.ws)
        entries = find.list_memories(self.ws, limit=1_000)
        return [f"{entry.title}\n{entry.body}\n{entry.memory.evidence}" for entry in entries]


Path_ = Callable[[Place, str], None]
"""A way to bring a statement into the vault."""


def operation(text: str, op: str = ADD, target: str | None = None, quote: str = "") -> Operation:
    return Operation(op, target, "Staging", text, "fact", "project", 3, (), (), quote or text)


def chunk_with(place: Place, text: str, known: tuple[str, ...] = ()) -> Chunk:
    """A person says it in the session in which they said it first."""
    place.count += 1
    turn = Turn(f"s0-{place.count:04}", "human", f"Well: {text}", "2026-03-01T07:00:00Z", "s0")
    return write_chunk(place.ws, Chunk("s0", "", "shop", (turn,), "", 1, 1, "", known))


def by_cli_save(place: Place, text: str) -> None:
    assert cli.main(["save", text, "-p", "shop"]) in (0, 1)


def by_cli_edit(place: Place, text: str) -> None:
    assert cli.main(["edit", place.bystander(), "--text", text]) in (0, 1)


def by_cli_import(place: Place, text: str) -> None:
    assert cli.main(["import", str(place.file(f"# Staging\n\n{text}\n")), "-p", "shop"]) in (0, 1)


def by_api_save(place: Place, text: str) -> None:
    MemoryHome(place.ws).save(text, project="shop")


def by_api_edit(place: Place, text: str) -> None:
    MemoryHome(place.ws).edit(place.bystander("human"), body=text)


def by_api_import(place: Place, text: str) -> None:
    MemoryHome(place.ws).import_notes(place.file(f"# Staging\n\n{text}\n"), project="shop")


def by_mcp(place: Place, text: str) -> None:
    tools.call(place.ws, "memory_save", {"content": text}, cwd=place.folder, session="later")


def by_import_among_others(place: Place, text: str) -> None:
    path = place.file(f"# What I know\n\n- The canteen opens at noon.\n- {text}\n- Lunch is at one.\n")
    import_.import_notes(place.ws, [path], project="shop")


def by_import_of_its_own_note(place: Place, text: str) -> None:
    """The note as it was, from a backup; and that of another turn."""
    copied = place.copy.decode().replace(STATEMENT, text)
    if NEXT in text:
        copied = copied.replace(VALUE, NEXT).replace("s0-0001", "s0-0002")
    import_.import_notes(place.ws, [place.file(copied)])


def by_export(place: Place, text: str) -> None:
    """The note as it was, in an export from before it was forgotten; and another one."""
    copied = place.copy.decode().replace(STATEMENT, text)
    if NEXT in text:
        copied = copied.replace(VALUE, NEXT).replace("s0-0001", "s0-0002").replace(MINED.id, f"7{MINED.id[1:]}")
    path = place.file("")
    packed = {"path": f"memories/{path.name}", "modified": 1, "text": copied}
    path = path.with_suffix(".json")
    path.write_text(json.dumps([{"format": "memem-export", "version": 1}, packed]))
    import_.import_notes(place.ws, [path])


def by_instructions(place: Place, text: str) -> None:
    path = place.file(f"# Shop\n\n## Databases\n- {text}\n")
    import_.import_notes(place.ws, [path.rename(path.with_name("CLAUDE.md"))], project="shop")


def by_model(place: Place, text: str) -> None:
    """A session that is older than the forgetting, which nobody has mined yet."""
    session = place.session()
    session.human(f"{text}\n{AT_LENGTH}", timestamp="2026-03-01T07:00:00.000Z")
    answer = prompt.operations_as_json([operation(text)])
    fake_claude.set_steps(place.claude, [{"operations": answer}])
    schedule.mine_file(place.ws, session.path)


def by_model_in_other_words(place: Place, text: str) -> None:
    """Only the quote says it."""
    value = NEXT if NEXT in text else VALUE
    words = f"The name to use for staging is {value}, in the shop."
    quote = QUOTE.replace(VALUE, value)
    apply.apply_one(place.ws, chunk_with(place, quote), 0, operation(words, quote=quote))


def by_rules(place: Place, text: str) -> None:
    session = place.session()
    session.human(f"Remember that {text[0].lower()}{text[1:]} {AT_LENGTH}", timestamp="2026-03-01T07:00:00.000Z")
    ws = open_miner(place.folder, None, MEMEM_EXTRACTOR="rules")
    place.others.append(ws)
    schedule.mine_file(ws, session.path)


def by_journal(place: Place, text: str) -> None:
    """An answer that was not applied before somebody forgot what it says."""
    session = place.session()
    session.human("Nothing new.")
    chunk = chunk_with(place, text)
    answer = prompt.operations_as_json([operation(text)])
    place.ws.state.journal.add_answer(session.session, chunk.as_json(), answer, "2026-03-01T07:00:00+01:00")
    fake_claude.set_steps(place.claude, [{"operations": []}])
    schedule.mine_file(place.ws, session.path)


def by_history_again(place: Place, text: str) -> None:
    """The session records were lost, so all sessions are mined again."""
    session = place.session()
    session.human(f"Nothing yet. {AT_LENGTH}", timestamp="2026-03-01T07:00:00.000Z")
    fake_claude.set_steps(place.claude, [{"operations": []}])
    schedule.mine_file(place.ws, session.path)
    place.ws.close()
    for path in place.ws.home.state.glob("state.db*"):
        path.unlink()
    session.human(f"{text}\n{AT_LENGTH}", timestamp="2026-03-01T07:00:00.000Z")
    fake_claude.set_steps(place.claude, [{"operations": prompt.operations_as_json([operation(text)])}])
    schedule.mine_file(place.ws, session.path)


def by_update(place: Place, text: str) -> None:
    identity = place.bystander()
    old = find.get(place.ws, identity).memory
    more = operation(f"{old.body} {text}", UPDATE, old.id8, quote=f"Well: {text}")
    apply.apply_one(place.ws, chunk_with(place, text, (old.id8,)), 0, more)


def by_supersede(place: Place, text: str) -> None:
    old = find.get(place.ws, place.bystander()).memory
    apply.apply_one(place.ws, chunk_with(place, text, (old.id8,)), 0, operation(text, SUPERSEDE, old.id8, quote=text))


PATHS: dict[str, Path_] = {
    "memem save": by_cli_save,
    "memem edit": by_cli_edit,
    "memem import": by_cli_import,
    "save from Python": by_api_save,
    "edit from Python": by_api_edit,
    "import from Python": by_api_import,
    "memory_save": by_mcp,
    "a file that holds it among others": by_import_among_others,
    "its own note from a backup": by_import_of_its_own_note,
    "its own note in an export": by_export,
    "instructions for Claude": by_instructions,
    "mining with a model": by_model,
    "mining with a model, in other words": by_model_in_other_words,
    "mining by rules": by_rules,
    "an answer in the journal": by_journal,
    "mining the history again": by_history_again,
    "an update": by_update,
    "superseding": by_supersede,
}


@pytest.fixture
def place(miner: Workspace, tmp_path: Path, claude: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A home in which a mined memory is known, which every door leads to."""
    monkeypatch.setenv("MEMEM_DIR", str(miner.home.root))
    monkeypatch.setenv("MEMEM_OBSIDIAN_VAULT", str(miner.settings.vault))
    written = write.keep(miner, MINED)
    made = Place(miner, tmp_path, claude, miner.store.absolute(written.path).read_bytes())
    yield made
    for ws in made.others:
        ws.close()


def forget(place: Place, how: str) -> None:
    if how == "purged":
        purge.purge(place.ws, MINED.id)
    else:
        notes_forget.forget(place.ws, MINED.id)


def tried(place: Place, path: Path_, text: str) -> None:
    try:
        path(place, text)
    except Forgotten as problem:
        assert "forgotten" in str(problem), "the error says what happened"


@pytest.mark.slow(keep=18)
@pytest.mark.parametrize("how", ["forgotten", "purged"])
@pytest.mark.parametrize("name", PATHS)
def test_it_does_not_come_back_and_its_neighbour_goes_through(place: Place, name: str, how: str) -> None:
    forget(place, how)
    for variant, changed in VARIANTS.items():
        tried(place, PATHS[name], changed(STATEMENT))
        back = [each for each in place.live_texts() if not _is_known(each)]
        assert back == [], f"{variant}: it is back by {name}"
    PATHS[name](place, STATEMENT.replace(VALUE, NEXT))
    (neighbour,) = [each for each in place.live_texts() if not _is_known(each)]
    assert NEXT in neighbour


def _is_known(kept: str) -> bool:
    """A bystander that nobody has changed, or has changed harmlessly."""
    folded = kept.casefold()
    return BYSTANDER.casefold() in folded and "walrus" not in folded and "staging" not in folded


@pytest.mark.parametrize("variant", VARIANTS)
def test_same_words_are_saved_if_not_forgotten(place: Place, variant: str) -> None:
    """The other half: each variant would be kept, or known, had nobody forgotten it."""
    undo.undo(place.ws)
    save.save(place.ws, VARIANTS[variant](STATEMENT), project="shop")
    assert len(place.live_texts()) == 1


# --- the person's own wish ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_statement_repeated_in_a_later_session_is_proposed(place: Place, variant: str) -> None:
    forget(place, "forgotten")
    text = VARIANTS[variant](STATEMENT)
    turn = Turn("later-1", "human", f"Well: {text}", "2026-03-02T07:00:00Z", "later")
    chunk = write_chunk(place.ws, Chunk("later", "", "shop", (turn,), "", 1, 1, ""))
    assert apply.apply_one(place.ws, chunk, 0, operation(text)).outcome == "proposed"
    assert place.live_texts() == []
    (proposal,) = review.proposals(place.ws)
    assert review.accept(place.ws, proposal.memory.id).outcome == "accepted"
    assert len(place.live_texts()) == 1


def test_purged_memory_is_not_proposed(place: Place) -> None:
    forget(place, "purged")
    turn = Turn("later-1", "human", f"Well: {STATEMENT}", "2026-03-02T07:00:00Z", "later")
    chunk = write_chunk(place.ws, Chunk("later", "", "shop", (turn,), "", 1, 1, ""))
    assert apply.apply_one(place.ws, chunk, 0, operation(STATEMENT)).outcome == "refused"
    assert review.proposals(place.ws) == []


@pytest.mark.parametrize("how", ["forgotten", "purged"])
def test_forgotten_memory_is_saved_with_anyway(place: Place, how: str) -> None:
    forget(place, how)
    assert save.save(place.ws, STATEMENT, project="shop", anyway=True).outcome == "created"
    assert len(place.live_texts()) == 1


def test_longer_memory_with_a_forgotten_part_is_saved_with_anyway(place: Place) -> None:
    more = f"{STATEMENT} It was checked by Ann."
    written = save.save(place.ws, more, project="lab")
    notes_forget.forget(place.ws, written.memory.id)
    forget(place, "forgotten")
    assert save.save(place.ws, more, project="lab", anyway=True).outcome == "created"


def test_a_note_that_a_person_writes_by_hand_is_theirs(place: Place) -> None:
    forget(place, "forgotten")
    (place.ws.store.paths.memories / "mine.md").write_text(f"{STATEMENT}\n")
    assert len(place.live_texts()) == 1


# --- undo ---------------------------------------------------------------------------------------------------------


def test_undoing_an_older_batch_does_not_bring_it_back(place: Place) -> None:
    """A note that said it once, and was changed: the change cannot be taken back any more, its neighbour's can."""
    batches = {}
    for name, value in (("forgotten", VALUE), ("neighbour", NEXT)):
        identity = place.bystander("human")
        text = f"Also, in general: {STATEMENT.replace(VALUE, value)}"
        write.edit(place.ws, identity, body=text)
        write.edit(place.ws, identity, body=f"{BYSTANDER} Changed, {name}.")
        batches[name] = next(place.ws.events.read_backwards()).batch
    written = save.save(place.ws, f"Also, in general: {STATEMENT}", project="lab")
    notes_forget.forget(place.ws, written.memory.id)
    notes_forget.forget(place.ws, MINED.id)
    done = undo.undo(place.ws, batches["forgotten"])
    assert not any(VALUE in each for each in place.live_texts())
    assert "forgotten" in done.left[0].reason
    undo.undo(place.ws, batches["neighbour"])
    assert any(NEXT in each for each in place.live_texts())


def test_undoing_the_forgetting_brings_it_back(place: Place) -> None:
    forget(place, "forgotten")
    undo.undo(place.ws)
    assert len(place.live_texts()) == 1
    assert notes_forget.check_forgotten(place.ws, MINED) is None


def test_undoing_the_return_forgets_it_again(place: Place) -> None:
    forget(place, "forgotten")
    returned = undo.undo(place.ws)
    undo.undo(place.ws, returned.undo)
    assert place.live_texts() == []
    with pytest.raises(Forgotten):
        save.save(place.ws, STATEMENT, project="shop")


# --- the table is complete ----------------------------------------------------------------------------------------

_TRIED = {
    "doors.cli.edit.save": ("memem save",),
    "doors.cli.edit.edit": ("memem edit",),
    "doors.cli.transfer.import_notes": ("memem import",),
    "doors.api.home.save": ("save from Python",),
    "doors.api.home.edit": ("edit from Python",),
    "doors.api.upkeep.import_notes": ("import from Python",),
    "doors.mcp.answers.memory_save": ("memory_save",),
    "notes.save.save": ("memem save", "save from Python", "memory_save"),
    "transfer.import_._import_item": (
        "memem import",
        "a file that holds it among others",
        "its own note from a backup",
    ),
    "transfer.restore._write": ("its own note in an export",),
    "mine.apply.apply_one": ("mining with a model", "mining by rules"),
    "mine.ask.apply": ("mining with a model", "an answer in the journal", "mining the history again"),
    "notes.reconcile._put": ("save from Python", "mining with a model", "superseding"),
    "notes.succession.revise": ("an update", "superseding"),
    "notes.write._change": ("memem edit", "an update"),
    "notes.write.put": ("memem save", "memem import", "mining with a model"),
}
_OTHERWISE = {
    "doors.cli.demo._show": "a home of its own, which is thrown away",
    "doors.cli.changes.accept": "a person accepts it",
    "doors.cli.changes.undo": "see undo, above",
    "doors.api.home.accept": "a person accepts it",
    "doors.api.upkeep.undo": "see undo, above",
    "notes.reconcile._held_back": "a proposal, which is recalled by nobody",
    "notes.reconcile._carry_out": "a proposal, which is recalled by nobody",
    "notes.review.propose": "a proposal, which is recalled by nobody",
    "notes.review.accept": "a person accepts it",
    "notes.undo._apply": "see undo, above",
    "upkeep.purge._remove_links": "links are removed",
    "transfer.import_._write_links": "links are added",
    "transfer.import_._drop_contradiction": "links are removed",
    "notes.rename._relink": "links change",
    "notes.conflicts._amend": "links and status change",
    "mine.confirm._relate": "links change",
    "notes.staleness._revised": "status changes",
    "upkeep.graph_audit._repair": "links change",
    "upkeep.curate._split": "what another note says; it is refused: tests/upkeep/test_curating.py",
    "upkeep.curate._revise": "what another note says; an edit refuses it: tests/upkeep/test_curating.py",
    "pages.conflicts.write_page": "a page of what is in notes",
    "pages.refresh._write": "a page of what is in notes",
    "upkeep.refine_playbook.refine": "lines of a page about existing notes",
}


def test_every_place_that_writes_notes_is_tried_or_accounted_for() -> None:
    found = set(writers())
    accounted = set(_TRIED) | set(_OTHERWISE)
    assert found - accounted == set(), (
        "a new way into the vault: add it to PATHS, or say why nothing can come back by it"
    )
    assert {path for paths in _TRIED.values() for path in paths} <= set(PATHS)


def test_nothing_is_accounted_for_that_is_not_there() -> None:
    assert (set(_TRIED) | set(_OTHERWISE)) - set(writers()) == set()


# --- nobody forgets by accident -----------------------------------------------------------------------------------


@pytest.fixture
def everything(ws: Workspace) -> dict[Path, bytes]:
    """A vault of twelve notes, and their bytes."""
    for number in range(12):
        write.keep(ws, Memory(f"{number:08x}-1111-4111-8111-111111111111", "", f"Walrus number {number} sleeps."))
    refresh.refresh(ws)
    return {path: path.read_bytes() for path in ws.store.paths.memories.glob("*.md")}


def looked(ws: Workspace, clock: SteppingClock, *, minutes: int = 11, missing: bool = False) -> None:
    """Time goes by, and somebody looks, more than once."""
    for _ in range(3):
        clock.forward(minutes=minutes)
        if missing:
            with pytest.raises(VaultMissing):
                refresh.refresh(ws)
        else:
            refresh.refresh(ws)


def nothing_is_forgotten(ws: Workspace, count: int = 12) -> None:
    """Every note is found again, and no tombstone was ever made."""
    refresh.refresh(ws)
    assert not ws.store.paths.tombstones.exists()
    assert not ws.home.vanished_file.exists()
    assert len(find.search(ws, "walrus sleeps", limit=100)) == count
    memory = Memory("x", "", "Walrus number 3 sleeps.", author="model", source_type="mined")
    assert notes_forget.check_forgotten(ws, memory) is None


@pytest.mark.parametrize("place", ["nothing", "an empty folder"])
@pytest.mark.parametrize("cache", ["kept", "deleted"])
def test_a_vault_that_was_away(
    ws: Workspace, clock: SteppingClock, everything: dict[Path, bytes], tmp_path: Path, place: str, cache: str
) -> None:
    vault = ws.settings.vault
    vault.rename(tmp_path / "away")
    if place == "an empty folder":
        vault.mkdir()
    looked(ws, clock, missing=True)
    if cache == "deleted":
        ws.close()
        shutil.rmtree(ws.home.cache)
        looked(ws, clock, missing=True)
    with pytest.raises(MememError):
        save.save(ws, "Something to keep meanwhile.")
    if vault.exists():
        vault.rmdir()
    (tmp_path / "away").rename(vault)
    looked(ws, clock)
    nothing_is_forgotten(ws)


@pytest.mark.parametrize("damage", ["missing", "garbled", "not text", "a folder"])
def test_a_vault_whose_marker_is_not_readable(
    ws: Workspace, clock: SteppingClock, everything: dict[Path, bytes], damage: str
) -> None:
    """Half of the notes are away with it: a sync is under way."""
    marker = ws.store.paths.marker
    before = marker.read_bytes()
    marker.unlink()
    if damage == "garbled":
        marker.write_text("vault_id = [\n")
    elif damage == "not text":
        marker.write_bytes(b"\xff\xfe\x00")
    elif damage == "a folder":
        marker.mkdir()
    for path in list(everything)[:4]:
        path.unlink()
    looked(ws, clock, missing=True)
    if damage == "a folder":
        marker.rmdir()
    marker.write_bytes(before)
    for path, data in everything.items():
        path.write_bytes(data)
    looked(ws, clock)
    nothing_is_forgotten(ws)


@pytest.mark.parametrize("share", [6, 12])
@pytest.mark.parametrize("cache", ["kept", "deleted"])
def test_a_vault_whose_notes_come_back_one_by_one(
    ws: Workspace, clock: SteppingClock, everything: dict[Path, bytes], share: int, cache: str
) -> None:
    """Half of them are missing, or all but the marker."""
    away = list(everything.items())[:share]
    for path, _ in away:
        path.unlink()
    looked(ws, clock)
    if cache == "deleted":
        ws.close()
        shutil.rmtree(ws.home.cache)
    for path, data in away:
        looked(ws, clock)
        assert not ws.store.paths.tombstones.exists()
        path.write_bytes(data)
    looked(ws, clock)
    nothing_is_forgotten(ws)


def test_notes_that_go_one_by_one_and_come_back_under_other_names(
    ws: Workspace, clock: SteppingClock, everything: dict[Path, bytes]
) -> None:
    for path in everything:
        path.unlink()
        refresh.refresh(ws)
    looked(ws, clock)
    for number, data in enumerate(everything.values()):
        (ws.store.paths.memories / f"synced {number}.md").write_bytes(data)
        looked(ws, clock)
    nothing_is_forgotten(ws)


@pytest.mark.parametrize("cache", ["kept", "deleted"])
def test_a_vault_that_moves_while_half_of_it_is_missing(
    ws: Workspace, clock: SteppingClock, everything: dict[Path, bytes], tmp_path: Path, cache: str
) -> None:
    """It is copied to another disk, note by note; the old place is looked at once more, then the new one."""
    for path in list(everything)[:6]:
        path.unlink()
    refresh.refresh(ws)
    new = tmp_path / "elsewhere"
    shutil.copytree(ws.settings.vault, new)
    shutil.rmtree(ws.settings.vault)
    looked(ws, clock, missing=True)
    ws.close()
    if cache == "deleted":
        shutil.rmtree(ws.home.cache)
    moved = open_workspace(actor="test", home=ws.home.root, vault=new, clock=clock, ticks=clock.ticks)
    try:
        looked(moved, clock)
        assert len(vanished.list_undecided(moved)) == 6
        for path, data in everything.items():
            (new / path.relative_to(ws.settings.vault)).write_bytes(data)
        looked(moved, clock)
        nothing_is_forgotten(moved)
    finally:
        moved.close()


def test_a_vault_with_another_marker_is_another_vault(
    ws: Workspace, clock: SteppingClock, everything: dict[Path, bytes]
) -> None:
    """A new one was begun in its place, and the old one returns."""
    vault = ws.settings.vault
    aside = vault.with_name("aside")
    vault.rename(aside)
    ws.store.paths.ours.mkdir(parents=True)
    ws.store.paths.marker.touch()
    looked(ws, clock)
    assert find.search(ws, "walrus sleeps") == []
    assert not ws.store.paths.tombstones.exists()
    shutil.rmtree(vault)
    aside.rename(vault)
    looked(ws, clock)
    nothing_is_forgotten(ws)


def test_a_vault_that_cannot_be_listed_forgets_nothing(
    ws: Workspace, clock: SteppingClock, everything: dict[Path, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def fails(folder: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr("memem.vault.store.os.scandir", fails)
        for _ in range(2):
            clock.forward(minutes=11)
            with pytest.raises(MememError, match="Cannot read"):
                refresh.refresh(ws)
    assert os.scandir is real
    nothing_is_forgotten(ws)


def test_a_note_that_is_only_a_placeholder_of_a_sync_is_not_forgotten(
    ws: Workspace, clock: SteppingClock, everything: dict[Path, bytes]
) -> None:
    """Emptied, then filled again: it was there all the time."""
    path = next(iter(everything))
    path.write_bytes(b"")
    looked(ws, clock)
    path.write_bytes(everything[path])
    looked(ws, clock)
    nothing_is_forgotten(ws)
    assert notes.parse("memories/x.md", path.read_bytes(), "x").memory.body.startswith("Walrus")
