"""Save, edit, forget: every write passes the gate, leaves an event, and destroys nothing a person wrote."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memem.core import files, locks
from memem.core.errors import (
    Ambiguous,
    Busy,
    InputError,
    MememError,
    NoteChanged,
    NoteUnreadable,
    NotFound,
    RewriteRefused,
    SecretOnly,
    VaultError,
    VaultMissing,
)
from memem.core.memory import Memory, fingerprint
from memem.inject import slice
from memem.notes import forget, save, write
from memem.search import find, rebuild, refresh
from memem.search.fulltext import STOP_WORDS
from memem.workspace import Workspace, open_workspace
from tests.builders import examples
from tests.fakes import SteppingClock

TOKEN = "ghp_" + "a1B2c3D4" * 5


def note_of(ws: Workspace, written: write.Written) -> Path:
    return ws.store.absolute(written.path)


def test_a_saved_memory_is_a_note_an_event_and_a_hit(ws: Workspace) -> None:
    saved = save.save(ws, "Tokens are signed with RS256.", project="Shop API", kind="decision", why="asked")
    assert saved.outcome == "created"
    assert saved.memory.project == "shop-api"
    assert "Tokens are signed with RS256." in note_of(ws, saved).read_text()
    assert [hit.id for hit in find.search(ws, "signed tokens")] == [saved.memory.id]
    (event,) = ws.events.read()
    assert (event.actor, event.action, event.id, event.path, event.why) == (
        "test",
        "save",
        saved.memory.id,
        saved.path,
        "asked",
    )
    assert event.before == ""
    assert event.after == ws.store.read(saved.path).digest


@pytest.mark.parametrize("text", ["", "   \n\t", "\u200b\u2060", "\x00\x1b"])
def test_nothing_to_remember_is_refused(ws: Workspace, text: str) -> None:
    with pytest.raises(InputError, match="nothing to save"):
        save.save(ws, text)


def test_a_text_of_two_megabytes_is_refused(ws: Workspace) -> None:
    with pytest.raises(InputError, match="2,000,000 characters"):
        save.save(ws, "x" * 2_000_000)
    assert not ws.settings.vault.exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"kind": "idea"}, "Unknown kind 'idea'"),
        ({"layer": 4}, "layer must be 0"),
        ({"importance": 6}, "importance must be"),
        ({"title": "x" * 301}, "title has 301"),
        ({"tags": ("x" * 301,)}, "some are too long"),
        ({"keys": ("x",) * 51}, "Too many"),
    ],
)
def test_invalid_value_is_refused_with_the_valid_ones(
    ws: Workspace, options: dict[str, object], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        save.save(ws, "A fact.", **options)  # type: ignore[arg-type]


def test_secrets_are_taken_out_of_every_field(ws: Workspace) -> None:
    saved = save.save(ws, f"Deploy with {TOKEN} today.", title=f"Key {TOKEN}", keys=(TOKEN, "deploy"))
    assert TOKEN not in note_of(ws, saved).read_text()
    assert saved.redacted
    assert "Deploy with [redacted:" in saved.memory.body
    assert not any(TOKEN.encode() in path.read_bytes() for path in ws.home.root.rglob("*") if path.is_file())


def test_a_text_that_is_only_a_secret_is_refused(ws: Workspace) -> None:
    with pytest.raises(SecretOnly, match="only a secret"):
        save.save(ws, TOKEN)


def test_same_statement_is_not_saved_twice(ws: Workspace) -> None:
    first = save.save(ws, "Flag X is on.", project="a")
    again = save.save(ws, "  Flag X\n is on. ", project="a")
    assert again.outcome == "exists"
    assert again.memory.id == first.memory.id
    assert len(list(ws.store.scan())) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Flag X is on.", "Flag X is off."),
        ("Redis listens on 6379.", "Redis listens on 6380."),
        ("We switched from A to B.", "We switched from B to A."),
        ("Retries are allowed.", "Retries are not allowed."),
        ("Use tabs.", "Use tabs. Except in YAML."),
        ("Run make -v.", "Run make -V."),
    ],
)
def test_a_difference_in_meaning_is_never_a_duplicate(ws: Workspace, one: str, other: str) -> None:
    save.save(ws, one)
    assert save.save(ws, other).outcome == "created"


def test_the_same_statement_in_another_project_is_another_memory(ws: Workspace) -> None:
    save.save(ws, "Use tabs.", project="a")
    assert save.save(ws, "Use tabs.", project="b").outcome == "created"


def test_a_statement_whose_note_was_deleted_or_changed_by_hand_can_be_saved_again(ws: Workspace) -> None:
    first = save.save(ws, "Use tabs.")
    note_of(ws, first).unlink()
    second = save.save(ws, "Use tabs.")
    assert second.outcome == "created"
    note_of(ws, second).write_text(note_of(ws, second).read_text().replace("tabs", "spaces"))
    assert save.save(ws, "Use tabs.").outcome == "created"
    assert save.save(ws, "Use spaces.").outcome == "exists"


def test_a_long_first_sentence_is_cut_at_a_word(ws: Workspace) -> None:
    long = save.save(ws, "word " * 60).memory.title
    assert len(long) <= 81
    assert long.endswith("…")


def test_title_is_always_one_line(ws: Workspace) -> None:
    saved = save.save(ws, "x y", title="one\n## two\u2028three\r\nfour")
    assert saved.memory.title == "one ## two three four"


@pytest.mark.parametrize(
    ("options", "layer"),
    [
        ({"kind": "convention"}, 1),
        ({"kind": "preference", "importance": 4}, 1),
        ({"kind": "preference"}, 2),
        ({"tags": ("identity",)}, 0),
        ({"tags": ("archive",)}, 3),
        ({"kind": "convention", "layer": 2}, 2),
        ({}, 2),
    ],
)
def test_layers_are_classified_and_overridable(ws: Workspace, options: dict[str, object], layer: int) -> None:
    assert save.save(ws, "A fact.", **options).memory.layer == layer  # type: ignore[arg-type]


def test_layer_zero_is_limited_to_ten_notes_a_project(ws: Workspace) -> None:
    for number in range(10):
        save.save(ws, f"Fact {number}.", project="a", layer=0)
    with pytest.raises(InputError, match="Layer 0 of a is full"):
        save.save(ws, "One more.", project="a", layer=0)
    other = save.save(ws, "Ordinary.", project="a")
    with pytest.raises(InputError, match="Layer 0 of a is full"):
        write.edit(ws, other.memory.id, layer=0)
    assert save.save(ws, "Elsewhere.", project="b", layer=0).outcome == "created"


def test_layer_zero_is_limited_to_two_thousand_characters_a_project(ws: Workspace) -> None:
    save.save(ws, "x" * 1_500, project="a", layer=0)
    with pytest.raises(InputError, match="Layer 0 of a is full"):
        save.save(ws, "y" * 501, project="a", layer=0)


def test_tags_are_what_obsidian_takes(ws: Workspace) -> None:
    saved = save.save(ws, "x y", project="v2.0", tags=("two words", "#hash", "2026"))
    assert saved.memory.tags == ("memem", "v2-0", "two-words", "hash", "n2026")


def test_an_edit_changes_what_was_asked_and_leaves_the_previous_bytes_in_the_undo_store(
    ws: Workspace, clock: SteppingClock
) -> None:
    saved = save.save(ws, "Use tabs.")
    before = note_of(ws, saved).read_bytes()
    clock.forward(hours=1)
    edited = write.edit(ws, saved.memory.id8, title="Tabs", importance=5, why="clearer")
    assert (edited.outcome, edited.memory.title, edited.memory.importance) == ("edited", "Tabs", 5)
    assert edited.memory.updated == "2026-03-01T10:00:00+01:00"
    event = list(ws.events.read())[-1]
    assert (event.action, event.why) == ("edit", "clearer")
    assert ws.events.read_undo(event.before) == before
    assert find.get(ws, saved.memory.id).title == "Tabs"


def test_an_edit_that_changes_nothing_writes_nothing(ws: Workspace) -> None:
    saved = save.save(ws, "Use tabs.", importance=4)
    before = note_of(ws, saved).read_bytes()
    assert write.edit(ws, saved.memory.id, importance=4).outcome == "unchanged"
    assert note_of(ws, saved).read_bytes() == before
    assert len(list(ws.events.read())) == 1


def test_an_edit_keeps_a_persons_own_words_even_those_the_gate_would_change(ws: Workspace) -> None:
    saved = save.save(ws, "Use tabs.")
    path = note_of(ws, saved)
    path.write_text(path.read_text().replace("Use tabs.", f"Use tabs. {TOKEN}"))
    write.edit(ws, saved.memory.id, importance=5)
    assert TOKEN in path.read_text()
    assert TOKEN not in find.get(ws, saved.memory.id).body


def test_an_edit_passes_the_gate(ws: Workspace) -> None:
    saved = save.save(ws, "Use tabs.")
    assert TOKEN not in write.edit(ws, saved.memory.id, body=f"Use {TOKEN} now.").memory.body
    with pytest.raises(InputError, match="nothing to save"):
        write.edit(ws, saved.memory.id, body=" ")


def test_an_edit_of_a_note_without_id_gives_it_one_and_keeps_the_rest(ws: Workspace, memories: Path) -> None:
    save.save(ws, "Begin.")
    own = memories / "own.md"
    own.write_text("My own words about zebras.\n")
    refresh.refresh(ws)
    (hit,) = find.search(ws, "zebras")
    write.edit(ws, hit.id, importance=5)
    assert own.read_text().endswith("---\nMy own words about zebras.\n")
    assert f"id: {hit.id}" in own.read_text()


def test_a_note_that_changes_after_it_was_read_is_not_overwritten(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = save.save(ws, "Use tabs.")
    real = ws.store.read

    def read_then_obsidian_saves(path: str) -> object:
        note = real(path)
        note_of(ws, saved).write_text("typed in Obsidian at this very moment")
        return note

    monkeypatch.setattr(ws.store, "read", read_then_obsidian_saves)
    with pytest.raises(NoteChanged, match="changed on disk"):
        write.edit(ws, saved.memory.id, importance=5)
    assert note_of(ws, saved).read_text() == "typed in Obsidian at this very moment"


def test_a_note_that_changes_while_its_successor_is_written_is_not_overwritten(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = save.save(ws, "Use tabs.")
    real = files._write_all

    def write_while_obsidian_saves(descriptor: int, data: bytes) -> None:
        real(descriptor, data)
        if b"importance: 5" in data:  # not before: the file has been compared with what was read
            note_of(ws, saved).write_text("typed in Obsidian at this very moment")

    monkeypatch.setattr(files, "_write_all", write_while_obsidian_saves)
    with pytest.raises(NoteChanged, match="changed on disk"):
        write.edit(ws, saved.memory.id, importance=5)
    assert note_of(ws, saved).read_text() == "typed in Obsidian at this very moment"
    assert list(ws.store.leftovers()) == []


def test_an_edit_judges_only_what_was_asked_for(ws: Workspace) -> None:
    saved = save.save(ws, "Use tabs.")
    path = note_of(ws, saved)
    path.write_text(path.read_text().replace("kind: fact", "kind: idea").replace("Use tabs.", ""))
    edited = write.edit(ws, saved.memory.id, importance=5)
    assert (edited.memory.kind, edited.memory.importance, edited.redacted) == ("idea", 5, ())


def test_another_project_is_another_tag(ws: Workspace) -> None:
    saved = save.save(ws, "Use tabs.", project="old", tags=("style",))
    edited = write.edit(ws, saved.memory.id, project="New Home")
    assert (edited.memory.project, edited.memory.tags) == ("new-home", ("memem", "new-home", "style"))


def test_an_edit_of_the_text_spares_sections_a_person_added(ws: Workspace) -> None:
    saved = save.save(ws, "Use tabs.")
    path = note_of(ws, saved)
    path.write_text(path.read_text() + "\n## My own notes\n\nimportant\n")
    for _ in range(2):  # another edit in between does not make the note memem's again
        with pytest.raises(RewriteRefused, match=r"memories/.*sections of its own.*Obsidian"):
            write.edit(ws, saved.memory.id, body="Use spaces.")
        write.edit(ws, saved.memory.id, importance=5)
    assert "important" in path.read_text()


def test_a_pinned_note_cannot_grow_beyond_its_bounds(ws: Workspace) -> None:
    saved = save.save(ws, "Short.", layer=0)
    with pytest.raises(InputError, match="Layer 0 of general is full"):
        write.edit(ws, saved.memory.id, body="x" * 2_001)


def test_output_and_log_of_a_write_pass_the_gate(ws: Workspace) -> None:
    saved = save.save(ws, "Use tabs.", why=f"because {TOKEN}\nof that")
    path = note_of(ws, saved)
    path.write_text(path.read_text().replace("Use tabs.", f"Use tabs. {TOKEN}"))
    for written in (write.edit(ws, saved.memory.id, importance=5), forget.forget(ws, saved.memory.id)):
        assert TOKEN not in written.memory.body
        assert written.redacted == ()
    log = ws.home.events_file.read_text()
    assert TOKEN not in log
    assert len(log.splitlines()) == 3


def test_an_edit_by_hand_is_recorded_and_can_be_taken_back(ws: Workspace) -> None:
    saved = save.save(ws, "Use tabs.")
    before = note_of(ws, saved).read_bytes()
    written = write.edit_by_hand(ws, saved.memory.id, lambda path: path.write_bytes(before.replace(b"tabs", b"spaces")))
    assert (written.outcome, written.memory.body) == ("edited", "Use spaces.")
    event = list(ws.events.read())[-1]
    assert (event.action, event.why) == ("edit", "by hand")
    assert ws.events.read_undo(event.before) == before
    assert find.get(ws, saved.memory.id).body == "Use spaces."
    assert write.edit_by_hand(ws, saved.memory.id, lambda _: None).outcome == "unchanged"


def test_an_edit_by_hand_that_breaks_the_note_says_so(ws: Workspace) -> None:
    saved = save.save(ws, "Use tabs.", title="Tabs")
    with pytest.raises(NoteUnreadable, match=r"memories/tabs-.* cannot be read: .*not valid YAML.*Obsidian"):
        write.edit_by_hand(ws, saved.memory.id, lambda path: path.write_text("---\ntitle: a: b\n---\n"))
    with pytest.raises(NoteUnreadable, match=r"memories/tabs-.* cannot be read: .*Obsidian"):
        find.get(ws, saved.memory.id)


@pytest.mark.parametrize("deed", ["delete", "break", "rename", "change and fail"])
def test_every_change_in_an_editor_is_recorded(ws: Workspace, deed: str) -> None:
    saved = save.save(ws, "Use tabs.")
    before = note_of(ws, saved).read_bytes()

    def editor(path: Path) -> None:
        if deed == "delete":
            path.unlink()
        elif deed == "rename":
            path.rename(path.with_name("renamed.md"))
        else:
            path.write_bytes(b"---\nx: y: z\n---\n")
        if deed == "change and fail":
            raise InputError("exit status 3")

    if deed == "rename":
        assert write.edit_by_hand(ws, saved.memory.id, editor).path == "memories/renamed.md"
    else:
        with pytest.raises(MememError):
            write.edit_by_hand(ws, saved.memory.id, editor)
    event = list(ws.events.read())[-1]
    assert (event.action, event.id) == ("edit", saved.memory.id)
    assert ws.events.read_undo(event.before) == before


def test_pinned_notes_that_are_gone_or_out_of_force_leave_room(ws: Workspace) -> None:
    saved = [save.save(ws, f"Fact {number}.", layer=0) for number in range(10)]
    note_of(ws, saved[0]).unlink()
    assert save.save(ws, "One more.", layer=0).outcome == "created"
    write.edit(ws, saved[1].memory.id, status="deprecated")
    assert save.save(ws, "And one.", layer=0).outcome == "created"


def test_text_that_looks_like_evidence_is_not_saved_twice(ws: Workspace) -> None:
    text = "A fact.\n\n> [!quote]- Evidence\n> said so"
    assert [save.save(ws, text).outcome for _ in range(2)] == ["created", "exists"]


def test_a_note_is_not_edited_out_of_recall(ws: Workspace, memories: Path) -> None:
    save.save(ws, "Begin.")
    (memories / "long.md").write_text("---\nid: longlong\n---\n" + "x" * 999_950)
    refresh.refresh(ws)
    with pytest.raises(RewriteRefused, match="would exceed 1000 KB"):
        write.edit(ws, "longlong", title="A title that is one too many for this note")


def test_save_after_a_rebuild_is_visible_to_all(ws: Workspace) -> None:
    save.save(ws, "Begin.")
    other = open_workspace(actor="test", home=ws.home.root, vault=ws.settings.vault)
    rebuild.rebuild(other)
    save.save(ws, "Use tabs.")
    assert save.save(other, "Use tabs.").outcome == "exists"
    other.close()


def test_one_text_about_two_things_is_two_memories(ws: Workspace) -> None:
    text = "The port is 5432 and the user is app."
    first = save.save(ws, text, title="Staging database")
    second = save.save(ws, text, title="Production database")
    assert (first.outcome, second.outcome) == ("created", "created")
    assert save.save(ws, text, title="Staging database").memory.id == first.memory.id
    assert save.save(ws, text).outcome == "exists"


def test_a_scan_does_not_undo_a_save_that_overtook_it(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    save.save(ws, "Begin.")
    other = open_workspace(actor="test", home=ws.home.root, vault=ws.settings.vault)
    real = other.store.create

    def create_after_the_scan(memory: Memory) -> object:
        known = ws.index.stamps()  # the claim is there, the note is not
        lost = {path: stamp for path, (stamp, _) in known.items() if stamp[2] == -1}
        done = real(memory)
        refresh.index_note(other, done[0])
        ws.index.update([], lost=lost)
        return done

    monkeypatch.setattr(other.store, "create", create_after_the_scan)
    monkeypatch.setattr(refresh, "index_note", lambda *_: None)
    save.save(other, "Use tabs.")
    assert [row.memory.body for row in ws.index.by_fingerprint(fingerprint("Use tabs.")) if row.memory] == ["Use tabs."]
    other.close()


def test_a_renamed_note_is_still_the_same_memory_before_any_scan(ws: Workspace) -> None:
    saved = save.save(ws, "Use tabs.")
    note_of(ws, saved).rename(ws.store.paths.memories / "renamed.md")
    assert [hit.id for hit in find.search(ws, "tabs")] == [saved.memory.id]
    assert save.save(ws, "Use tabs.").outcome == "exists"
    assert find.get(ws, saved.memory.id).path == "memories/renamed.md"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Use tabs. They are wide.", "Use tabs"),
        ("We write it in C#", "We write it in C#"),
        ("Use e.g. ruff for that.", "Use e.g. ruff for that"),
        ("The U.S. region is slow.", "The U.S. region is slow"),
        ("--force is never used.", "--force is never used"),
        ("# A heading\n\ntext", "A heading"),
        ("- [ ] a task", "[ ] a task"),
        ("---\nx", "x"),
        ("使用制表符。它们很宽。", "使用制表符"),
        ("🎉", "🎉"),
    ],
)
def test_a_title_is_the_first_sentence(text: str, title: str) -> None:
    assert write.title_of(text) == title


def test_forgetting_moves_the_note_out_of_recall_and_destroys_nothing(ws: Workspace) -> None:
    saved = save.save(ws, "Use tabs.")
    before = note_of(ws, saved).read_bytes()
    forget.forget(ws, saved.memory.id, why="wrong")
    assert find.search(ws, "tabs") == []
    assert not note_of(ws, saved).exists()
    (kept,) = ws.store.paths.forgotten.iterdir()
    assert kept.read_bytes() == before
    event = list(ws.events.read())[-1]
    assert (event.action, event.after, event.why) == ("forget", "", "wrong")
    assert ws.events.read_undo(event.before) == before


@pytest.mark.parametrize("identity", ["ffffffff", "no-such-thing", "[[slug-ffffffff]]"])
def test_an_unknown_id_is_not_found(ws: Workspace, identity: str) -> None:
    save.save(ws, "Use tabs.")
    for verb in (forget.forget, write.edit, find.get):
        with pytest.raises(NotFound, match="No memory has the id"):
            verb(ws, identity)


def test_an_ambiguous_prefix_names_what_it_could_mean(ws: Workspace, memories: Path) -> None:
    save.save(ws, "Begin.")
    for name in ("abcd1111", "abcd2222"):
        (memories / f"{name}.md").write_text(f"---\nid: {name}\n---\ntext {name}")
    refresh.refresh(ws)
    with pytest.raises(Ambiguous, match=r"abcd1111 in memories/abcd1111\.md, abcd2222"):
        forget.forget(ws, "abcd")
    assert forget.forget(ws, "abcd1").memory.id == "abcd1111"


def test_only_a_save_creates_a_vault(ws: Workspace) -> None:
    for verb in (forget.forget, write.edit):
        with pytest.raises(VaultMissing, match="Save a memory to create one"):
            verb(ws, "ffffffff")
    assert save.save(ws, "Begin.").outcome == "created"


def test_missing_vault_is_never_recreated_silently(ws: Workspace, tmp_path: Path) -> None:
    save.save(ws, "Begin.")
    ws.settings.vault.rename(tmp_path / "elsewhere")
    with pytest.raises(VaultMissing, match="is gone"):
        save.save(ws, "Lost?")
    ws.settings.vault.mkdir()  # a mount point without its disk
    with pytest.raises(VaultMissing, match="is gone"):
        save.save(ws, "Lost?")
    ws.store.paths.ours.mkdir()
    ws.store.paths.marker.touch()  # what the message tells a person to do
    assert save.save(ws, "A new beginning.").outcome == "created"


def test_a_marker_made_by_hand_also_lets_a_search_go_on(ws: Workspace) -> None:
    save.save(ws, "Use tabs.")
    ws.store.paths.marker.write_text("")
    assert [hit.title for hit in find.search(ws, "tabs")] == ["Use tabs"]


def test_notes_that_came_without_their_hidden_marker_are_a_vault(ws: Workspace, tmp_path: Path) -> None:
    save.save(ws, "Use tabs.")
    ws.store.paths.marker.unlink()
    other = open_workspace(actor="test", home=tmp_path / "another machine", vault=ws.settings.vault)
    refresh.refresh(other)
    assert [hit.title for hit in find.search(other, "tabs")] == ["Use tabs"]
    other.close()


def test_a_linked_folder_of_memories_is_refused_rather_than_written_and_never_read(
    ws: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    ws.store.paths.ours.mkdir(parents=True)
    ws.store.paths.memories.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(VaultError, match="symbolic link"):
        save.save(ws, "Use tabs.")


def test_a_folder_of_memories_that_becomes_a_link_is_noticed(ws: Workspace, tmp_path: Path) -> None:
    save.save(ws, "Use tabs.")
    ws.store.paths.memories.rename(tmp_path / "elsewhere")
    ws.store.paths.memories.symlink_to(tmp_path / "elsewhere")
    for use in (lambda: save.save(ws, "Use spaces."), lambda: find.search(ws, "tabs")):
        with pytest.raises(VaultError, match="symbolic link"):
            use()


def test_a_writer_that_waits_too_long_says_who_is_in_the_way(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    save.save(ws, "Begin.")
    ws.settings = replace(ws.settings, lock_seconds=0.05)
    with locks.holding(ws.home.write_lock, 1), pytest.raises(Busy, match="Another memem process is writing"):
        save.save(ws, "Wait.")


@settings(max_examples=examples(150))
@given(text=st.text(min_size=1, max_size=300), title=st.text(max_size=100), query=st.text(min_size=1, max_size=60))
def test_any_text_can_be_saved_found_and_shown(
    tmp_path_factory: pytest.TempPathFactory, text: str, title: str, query: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    ws = open_workspace(actor="test", home=folder / "home", vault=folder / "vault")
    try:
        saved = save.save(ws, text, title=title)
    except InputError:
        return
    finally:
        ws.close()
    try:
        assert ws.store.read(saved.path).memory == saved.memory
        assert find.get(ws, saved.memory.id).body == saved.memory.body
        if query.strip():
            find.search(ws, query)
        words = saved.memory.body.split()
        if words and words[0].isascii() and words[0].isalpha() and words[0].lower() not in STOP_WORDS:
            assert [hit.id for hit in find.search(ws, words[0])] == [saved.memory.id]
        shown = slice.build_slice(ws, text, cwd=folder, project="general", always=True).text
        assert shown.count("\n# ") + shown.startswith("# ") == 1
    finally:
        ws.close()
