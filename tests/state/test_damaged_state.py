"""Files of the state that a crash, a disk or another program has damaged: who reads them goes on, or says so."""

import pytest

from memem.core.errors import IndexDamaged, MememError
from memem.core.settings import stored_plugin_options
from memem.doors.hook import answers
from memem.inject import session_start
from memem.notes import history, save
from memem.search import find
from memem.search.transcripts import consent
from memem.state import note_records
from memem.upkeep import purge
from memem.vault import opening
from memem.workspace import Workspace, open_workspace

DEEP = b"[" * 100_000
DAMAGED = (DEEP, b'{"a":' * 100_000, b"", b"null", b"5", b'"x"', b"[1]", b'{"a": 5}', b"\xff\xfe", b"[NaN, 1e999]")


@pytest.fixture
def shop(ws: Workspace) -> Workspace:
    save.save(ws, "Tokens are signed with RS256.", title="Tokens", project="shop")
    return ws


@pytest.mark.parametrize("data", DAMAGED, ids=lambda data: ascii(data[:12]))
def test_every_file_of_the_state_may_be_damaged(shop: Workspace, data: bytes) -> None:
    home = shop.home
    for path in (home.events_file, home.stale_file, home.vanished_file, home.known_vaults_file):
        before = path.read_bytes() if path.exists() else None
        path.write_bytes(data)
        history.log(shop)
        note_records.read_stale(home.stale_file, "v")
        note_records.read_vanished(home.vanished_file, "v")
        session_start.brief(shop, cwd=shop.user_home, session="s1", source="startup")
        assert opening.ensure_vault(shop)
        assert consent.opted_in(shop) is None
        answers.answer(shop, "UserPromptSubmit", b'{"prompt": "how are tokens signed?", "session_id": "s1"}')
        assert save.save(shop, f"It was {path.name} with {len(data)}.", project="shop").memory.id
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_bytes(before)


@pytest.mark.parametrize("data", DAMAGED, ids=lambda data: ascii(data[:12]))
def test_options_of_the_plugin_that_were_damaged_are_none_or_told(shop: Workspace, data: bytes) -> None:
    shop.home.plugin_options.write_bytes(data)
    assert isinstance(stored_plugin_options(shop.home), dict)
    try:
        open_workspace(actor="test", home=shop.settings.home).close()
    except MememError as problem:
        assert "\n" not in str(problem)


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, f"daily_calls = {'9' * 5_000}", "daily_calls"])
def test_a_configuration_that_cannot_be_read_says_so(shop: Workspace, text: str) -> None:
    shop.home.config_file.write_text(text)
    with pytest.raises(MememError, match="not valid TOML"):
        open_workspace(actor="test", home=shop.settings.home)


@pytest.mark.parametrize("text", ["project = " + "[" * 100_000, f"project = {'9' * 5_000}"])
def test_a_project_whose_settings_cannot_be_read_says_so(shop: Workspace, text: str) -> None:
    (shop.user_home / ".memem.toml").write_text(text)
    with pytest.raises(MememError, match="not valid TOML"):
        shop.project_of(shop.user_home)


@pytest.mark.parametrize("damaged", ["{", "[]", '{"other": 1}', "[" * 100_000])
def test_a_row_of_the_index_that_was_damaged_is_damage_of_the_index(shop: Workspace, damaged: str) -> None:
    shop.index._connection.execute("UPDATE memories SET memory = ?", (damaged,))
    with pytest.raises(IndexDamaged):
        find.list_memories(shop)


@pytest.mark.parametrize("data", DAMAGED, ids=lambda data: ascii(data[:12]))
def test_a_list_of_obsidians_plugins_that_is_none_names_no_service(shop: Workspace, data: bytes) -> None:
    folder = shop.settings.vault / ".obsidian"
    folder.mkdir()
    (folder / "core-plugins.json").write_bytes(data)
    assert purge.has_obsidian_sync(shop.settings.vault) is False
