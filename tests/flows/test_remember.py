"""Save, edit, forget: every write passes the gate, leaves an event, and destroys nothing a person wrote."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memem.core.errors import Ambiguous, Busy, InputError, NoteChanged, NotFound, SecretOnly, VaultMissing
from memem.flows import remember, retrieve
from memem.workspace import Workspace
from tests.fakes import SteppingClock

TOKEN = "ghp_" + "a1B2c3D4" * 5


def note_of(ws: Workspace, written: remember.Written) -> Path:
    return ws.store.absolute(written.path)


def test_a_saved_memory_is_a_note_an_event_and_a_hit(ws: Workspace) -> None:
    saved = remember.save(ws, "Tokens are signed with RS256.", project="Shop API", kind="decision", why="asked")
    assert saved.outcome == "created"
    assert saved.memory.project == "shop-api"
    assert "Tokens are signed with RS256." in note_of(ws, saved).read_text()
    assert [hit.id for hit in retrieve.search(ws, "signed tokens")] == [saved.memory.id]
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
    with pytest.raises(InputError, match="nothing to remember"):
        remember.save(ws, text)


def test_a_text_of_two_megabytes_is_refused(ws: Workspace) -> None:
    with pytest.raises(InputError, match="2,000,000 characters"):
        remember.save(ws, "x" * 2_000_000)
    assert not ws.settings.vault.exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"kind": "idea"}, "no kind 'idea'"),
        ({"layer": 4}, "layer is 0"),
        ({"importance": 6}, "importance is"),
        ({"title": "x" * 301}, "title has 301"),
        ({"tags": ("x" * 301,)}, "too long tags"),
        ({"keys": ("x",) * 51}, "Too many"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_can(
    ws: Workspace, options: dict[str, object], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        remember.save(ws, "A fact.", **options)  # type: ignore[arg-type]


def test_secrets_are_taken_out_of_every_field(ws: Workspace) -> None:
    saved = remember.save(ws, f"Deploy with {TOKEN} today.", title=f"Key {TOKEN}", keys=(TOKEN, "deploy"))
    assert TOKEN not in note_of(ws, saved).read_text()
    assert saved.redacted
    assert "Deploy with [redacted:" in saved.memory.body
    assert not any(TOKEN.encode() in path.read_bytes() for path in ws.home.root.rglob("*") if path.is_file())


def test_a_text_that_is_only_a_secret_is_refused(ws: Workspace) -> None:
    with pytest.raises(SecretOnly, match="nothing but a secret"):
        remember.save(ws, TOKEN)


def test_the_same_statement_is_not_kept_twice(ws: Workspace) -> None:
    first = remember.save(ws, "Flag X is on.", project="a")
    again = remember.save(ws, "  Flag X\n is on. ", project="a")
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
    remember.save(ws, one)
    assert remember.save(ws, other).outcome == "created"


def test_the_same_statement_in_another_project_is_another_memory(ws: Workspace) -> None:
    remember.save(ws, "Use tabs.", project="a")
    assert remember.save(ws, "Use tabs.", project="b").outcome == "created"


def test_a_statement_whose_note_was_deleted_or_changed_by_hand_can_be_saved_again(ws: Workspace) -> None:
    first = remember.save(ws, "Use tabs.")
    note_of(ws, first).unlink()
    second = remember.save(ws, "Use tabs.")
    assert second.outcome == "created"
    note_of(ws, second).write_text(note_of(ws, second).read_text().replace("tabs", "spaces"))
    assert remember.save(ws, "Use tabs.").outcome == "created"
    assert remember.save(ws, "Use spaces.").outcome == "exists"


def test_a_title_is_made_from_the_first_sentence(ws: Workspace) -> None:
    assert remember.save(ws, "Use tabs. They are wide.").memory.title == "Use tabs"
    long = remember.save(ws, "word " * 60).memory.title
    assert len(long) <= 81
    assert long.endswith("…")


def test_a_title_is_one_line_whatever_it_holds(ws: Workspace) -> None:
    saved = remember.save(ws, "x y", title="one\n## two\u2028three\r\nfour")
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
    assert remember.save(ws, "A fact.", **options).memory.layer == layer  # type: ignore[arg-type]


def test_layer_zero_holds_ten_notes_a_project(ws: Workspace) -> None:
    for number in range(10):
        remember.save(ws, f"Fact {number}.", project="a", layer=0)
    with pytest.raises(InputError, match="Layer 0 of a is full"):
        remember.save(ws, "One more.", project="a", layer=0)
    other = remember.save(ws, "Ordinary.", project="a")
    with pytest.raises(InputError, match="Layer 0 of a is full"):
        remember.edit(ws, other.memory.id, layer=0)
    assert remember.save(ws, "Elsewhere.", project="b", layer=0).outcome == "created"


def test_layer_zero_holds_two_thousand_characters_a_project(ws: Workspace) -> None:
    remember.save(ws, "x" * 1_500, project="a", layer=0)
    with pytest.raises(InputError, match="Layer 0 of a is full"):
        remember.save(ws, "y" * 501, project="a", layer=0)


def test_tags_are_what_obsidian_takes(ws: Workspace) -> None:
    saved = remember.save(ws, "x y", project="v2.0", tags=("two words", "#hash", "2026"))
    assert saved.memory.tags == ("memem", "v2-0", "two-words", "hash", "n2026")


def test_an_edit_changes_what_was_asked_and_leaves_the_previous_bytes_in_the_undo_store(
    ws: Workspace, clock: SteppingClock
) -> None:
    saved = remember.save(ws, "Use tabs.")
    before = note_of(ws, saved).read_bytes()
    clock.forward(hours=1)
    edited = remember.edit(ws, saved.memory.id8, title="Tabs", importance=5, why="clearer")
    assert (edited.outcome, edited.memory.title, edited.memory.importance) == ("edited", "Tabs", 5)
    assert edited.memory.updated == "2026-03-01T10:00:00+01:00"
    event = list(ws.events.read())[-1]
    assert (event.action, event.why) == ("edit", "clearer")
    assert ws.events.kept(event.before) == before
    assert retrieve.get(ws, saved.memory.id).title == "Tabs"


def test_an_edit_that_changes_nothing_writes_nothing(ws: Workspace) -> None:
    saved = remember.save(ws, "Use tabs.", importance=4)
    before = note_of(ws, saved).read_bytes()
    assert remember.edit(ws, saved.memory.id, importance=4).outcome == "unchanged"
    assert note_of(ws, saved).read_bytes() == before
    assert len(list(ws.events.read())) == 1


def test_an_edit_keeps_a_persons_own_words_even_those_the_gate_would_change(ws: Workspace) -> None:
    saved = remember.save(ws, "Use tabs.")
    path = note_of(ws, saved)
    path.write_text(path.read_text().replace("Use tabs.", f"Use tabs. {TOKEN}"))
    remember.edit(ws, saved.memory.id, importance=5)
    assert TOKEN in path.read_text()
    assert TOKEN not in retrieve.get(ws, saved.memory.id).body


def test_an_edit_passes_the_gate(ws: Workspace) -> None:
    saved = remember.save(ws, "Use tabs.")
    assert TOKEN not in remember.edit(ws, saved.memory.id, body=f"Use {TOKEN} now.").memory.body
    with pytest.raises(InputError, match="nothing to remember"):
        remember.edit(ws, saved.memory.id, body=" ")


def test_an_edit_of_a_note_without_id_gives_it_one_and_keeps_the_rest(ws: Workspace, memories: Path) -> None:
    remember.save(ws, "Begin.")
    own = memories / "own.md"
    own.write_text("My own words about zebras.\n")
    from memem.flows import reindex

    reindex.refresh(ws)
    (hit,) = retrieve.search(ws, "zebras")
    remember.edit(ws, hit.id, importance=5)
    assert own.read_text().endswith("---\nMy own words about zebras.\n")
    assert f"id: {hit.id}" in own.read_text()


def test_a_note_that_changes_between_reading_and_writing_is_not_overwritten(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ws.store.read
    for after_reads in (1, 2):
        saved = remember.save(ws, f"Use tabs {after_reads}.")
        left = after_reads

        def read_then_obsidian_saves(path: str, saved: remember.Written = saved) -> object:
            nonlocal left
            note = real(path)
            left -= 1
            if left == 0:
                note_of(ws, saved).write_text("typed in Obsidian at this very moment")
            return note

        with monkeypatch.context() as patched:
            patched.setattr(ws.store, "read", read_then_obsidian_saves)
            with pytest.raises(NoteChanged, match="changed on disk"):
                remember.edit(ws, saved.memory.id, importance=5)
        assert note_of(ws, saved).read_text() == "typed in Obsidian at this very moment"


def test_forgetting_moves_the_note_out_of_recall_and_destroys_nothing(ws: Workspace) -> None:
    saved = remember.save(ws, "Use tabs.")
    before = note_of(ws, saved).read_bytes()
    remember.forget(ws, saved.memory.id, why="wrong")
    assert retrieve.search(ws, "tabs") == []
    assert not note_of(ws, saved).exists()
    (kept,) = ws.store.paths.forgotten.iterdir()
    assert kept.read_bytes() == before
    event = list(ws.events.read())[-1]
    assert (event.action, event.after, event.why) == ("forget", "", "wrong")
    assert ws.events.kept(event.before) == before


@pytest.mark.parametrize("identity", ["ffffffff", "no-such-thing", "[[slug-ffffffff]]"])
def test_an_unknown_id_is_not_found(ws: Workspace, identity: str) -> None:
    remember.save(ws, "Use tabs.")
    for verb in (remember.forget, remember.edit, retrieve.get):
        with pytest.raises(NotFound, match="No memory has the id"):
            verb(ws, identity)


def test_an_ambiguous_prefix_names_what_it_could_mean(ws: Workspace, memories: Path) -> None:
    remember.save(ws, "Begin.")
    for name in ("abcd1111", "abcd2222"):
        (memories / f"{name}.md").write_text(f"---\nid: {name}\n---\ntext {name}")
    from memem.flows import reindex

    reindex.refresh(ws)
    with pytest.raises(Ambiguous, match=r"abcd1111 in memories/abcd1111\.md, abcd2222"):
        remember.forget(ws, "abcd")
    assert remember.forget(ws, "abcd1").memory.id == "abcd1111"


def test_a_vault_that_never_was_is_begun_by_a_save_only(ws: Workspace) -> None:
    for verb in (remember.forget, remember.edit):
        with pytest.raises(VaultMissing, match="Save a memory to begin one"):
            verb(ws, "ffffffff")
    assert remember.save(ws, "Begin.").outcome == "created"


def test_a_vault_that_is_gone_is_never_silently_begun_anew(ws: Workspace, tmp_path: Path) -> None:
    remember.save(ws, "Begin.")
    ws.settings.vault.rename(tmp_path / "elsewhere")
    with pytest.raises(VaultMissing, match="is gone"):
        remember.save(ws, "Lost?")
    ws.settings.vault.mkdir()  # a mount point without its disk
    with pytest.raises(VaultMissing, match="is gone"):
        remember.save(ws, "Lost?")
    ws.store.paths.ours.mkdir()
    ws.store.paths.marker.touch()  # what the message tells a person to do
    assert remember.save(ws, "A new beginning.").outcome == "created"


def test_a_writer_that_waits_too_long_says_who_is_in_the_way(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from memem.core import locks

    remember.save(ws, "Begin.")
    ws.settings = replace(ws.settings, lock_seconds=0.05)
    with locks.holding(ws.home.write_lock, 1), pytest.raises(Busy, match="Another memem is writing"):
        remember.save(ws, "Wait.")


@settings(max_examples=150)
@given(text=st.text(min_size=1, max_size=300), title=st.text(max_size=100), query=st.text(min_size=1, max_size=60))
def test_any_text_can_be_saved_found_and_shown(
    tmp_path_factory: pytest.TempPathFactory, text: str, title: str, query: str
) -> None:
    from memem.workspace import open_workspace

    folder = tmp_path_factory.mktemp("any")
    ws = open_workspace(actor="test", home=folder / "home", vault=folder / "vault")
    try:
        saved = remember.save(ws, text, title=title)
    except InputError:
        return
    finally:
        ws.close()
    try:
        assert ws.store.read(saved.path).memory == saved.memory
        assert retrieve.get(ws, saved.memory.id).body == saved.memory.body
        if query.strip():
            retrieve.search(ws, query)
        shown = retrieve.slice_for(ws, text, cwd=folder, project="general", always=True).text
        assert shown.count("\n# ") + shown.startswith("# ") == 1
    finally:
        ws.close()
