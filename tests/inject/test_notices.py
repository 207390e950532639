"""Notices on screen: signs of life, news, and problems that start, change or end."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from memem.inject import notices
from memem.model.plugin import SERVER
from memem.notes import save
from memem.state.notices import MAX_NEWS, NEWS_SECONDS, News, NoticeBoard
from memem.workspace import Workspace
from tests.fakes import SteppingClock

SIGN = "memem: 2 memories for shop · mining on"


@pytest.fixture(autouse=True)
def _new_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "FIRST_SESSIONS", 10)


def start(ws: Workspace, session: str = "s1", *, project: str = "shop", interactive: bool = True) -> str:
    folder = ws.user_home / project
    folder.mkdir(parents=True, exist_ok=True)
    return notices.at_session_start(
        ws, session=session, folder=folder, sign_of_life=lambda: SIGN, interactive=interactive
    )


def prompt(ws: Workspace, *titles: str, session: str = "s1", project: str = "shop", interactive: bool = True) -> str:
    return notices.at_prompt(ws, session=session, project=project, shown=titles, interactive=interactive)


def choose(ws: Workspace, value: str) -> None:
    ws.settings = replace(ws.settings, notices=value)


# --- signs of life --------------------------------------------------------------------------------------------------


def test_the_first_ten_sessions_see_a_sign_of_life_and_later_ones_do_not(ws: Workspace) -> None:
    seen = [start(ws, f"s{number}") for number in range(12)]
    assert seen == [SIGN] * 10 + [""] * 2
    assert prompt(ws, "Signing") == ""


def test_a_session_counts_once(ws: Workspace) -> None:
    assert [start(ws, "s1") for _ in range(12)] == [SIGN] * 12


def test_memories_that_claude_is_shown_are_named_while_signs_of_life_are_shown(ws: Workspace) -> None:
    assert prompt(ws, "Signing", "Port\x1b[31m\nof staging") == "memem showed Claude: Signing, Port [31m of staging"
    assert prompt(ws, *"ABCDE") == "memem showed Claude: A, B, C and 2 more"
    assert prompt(ws, "x" * 100).endswith(f"{'x' * 59}…")
    assert prompt(ws) == ""


def test_all_shows_signs_of_life_for_ever_and_off_shows_nothing(ws: Workspace) -> None:
    choose(ws, "all")
    assert [start(ws, f"s{number}") for number in range(12)] == [SIGN] * 12
    assert prompt(ws, "Signing") == "memem showed Claude: Signing"
    choose(ws, "off")
    notices.raise_problem(ws, "login", "memem cannot ask claude.")
    notices.announce_learned(ws, ["Port"])
    assert start(ws) == prompt(ws, "Signing") == notices.at_failure(ws, "memem: broken.", interactive=True) == ""


# --- news -----------------------------------------------------------------------------------------------------------


def test_what_was_learned_is_shown_once_in_its_session_or_project(ws: Workspace) -> None:
    notices.announce_learned(ws, ["Staging database port"], session="s1", project="shop")
    assert prompt(ws, session="s2", project="bank") == ""
    assert prompt(ws, session="s1", project="bank") == "memem learned: Staging database port"
    assert prompt(ws) == ""
    notices.announce_learned(ws, ["Port", "Region"], session="s1", project="shop")
    assert start(ws, "s9").splitlines() == ["memem learned: Port, Region", SIGN]


def test_use_is_shown_only_with_signs_of_life(ws: Workspace) -> None:
    notices.announce_used(ws, ["Signing"], session="s1")
    assert prompt(ws) == "Claude used: Signing"
    for number in range(11):
        start(ws, f"s{number}")
    notices.announce_used(ws, ["Signing"], session="s1")
    assert prompt(ws) == ""


def test_news_for_everybody_is_shown_to_the_first_who_comes_and_old_news_to_nobody(
    ws: Workspace, clock: SteppingClock
) -> None:
    notices.announce(ws, "memem mined 26 sessions.")
    assert prompt(ws, session="s7", project="bank") == "memem mined 26 sessions."
    old = News("memem mined 1 session.", time=clock().timestamp() - NEWS_SECONDS - 60)
    NoticeBoard(ws.home.notices).add(old)
    assert prompt(ws) == ""
    assert not list(ws.home.notices.glob("news-*"))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"text": 1}', b'{"text": "x", "time": "y"}', b'{"other": 1}'])
def test_damaged_news_is_dropped(ws: Workspace, data: bytes) -> None:
    ws.home.notices.mkdir(parents=True)
    (ws.home.notices / "news-1").write_bytes(data)
    assert prompt(ws) == ""
    assert not list(ws.home.notices.glob("news-*"))


def test_the_end_of_a_set_up_is_shown_once(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "bin" / "python"))
    (tmp_path / "venv" / ".memem").mkdir(parents=True)
    (tmp_path / "venv" / ".memem" / "ready-untold").touch()
    assert prompt(ws) == notices.READY
    assert prompt(ws) == ""


# --- problems -------------------------------------------------------------------------------------------------------


def test_a_problem_is_shown_when_it_starts_changes_and_ends(ws: Workspace) -> None:
    notices.raise_problem(ws, "login", "memem cannot ask claude: not logged in.")
    assert start(ws).splitlines()[0] == "memem cannot ask claude: not logged in."
    notices.raise_problem(ws, "login", "memem cannot ask claude: not logged in.")
    assert prompt(ws) == ""
    notices.raise_problem(ws, "login", "memem cannot ask claude: it is not installed.")
    assert prompt(ws, session="s2", project="bank") == "memem cannot ask claude: it is not installed."
    notices.clear_problem(ws, "login")
    assert prompt(ws) == "memem can use claude again."
    assert prompt(ws) == ""
    notices.raise_problem(ws, "login", "memem cannot ask claude: it is not installed.")
    assert prompt(ws) == "memem cannot ask claude: it is not installed."


def test_a_problem_that_ends_before_anybody_saw_it_is_not_mentioned(ws: Workspace) -> None:
    notices.raise_problem(ws, "budget", "memem learns no more today.")
    notices.clear_problem(ws, "budget")
    notices.clear_problem(ws, "budget")
    assert prompt(ws) == ""


def test_a_session_run_by_a_script_sees_problems_and_uses_up_nothing(ws: Workspace) -> None:
    notices.raise_problem(ws, "login", "memem cannot ask claude.")
    notices.announce_learned(ws, ["Port"])
    assert [start(ws, interactive=False) for _ in range(2)] == ["memem cannot ask claude."] * 2
    assert prompt(ws, "Signing", interactive=False) == ""
    assert prompt(ws).splitlines() == ["memem cannot ask claude.", "memem learned: Port"]


def test_a_vault_that_cannot_be_written_is_named_until_it_can(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    save.save(ws, "A fact.", project="shop")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert f"memem cannot write to {ws.store.paths.memories}: it is read-only." in prompt(ws)
    assert prompt(ws) == ""
    monkeypatch.undo()
    assert prompt(ws) == "memem can write to the vault again."


def test_a_full_disk_is_named(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    save.save(ws, "A fact.", project="shop")
    fine = os.statvfs(ws.home.root)
    full = os.statvfs_result((*fine[:4], 1, *fine[5:]))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    assert f"the disk that holds {ws.home.root} is full" in prompt(ws)
    monkeypatch.undo()
    assert prompt(ws) == "memem has disk space again."


def test_a_problem_that_cannot_be_recorded_is_shown_at_every_session_start(ws: Workspace) -> None:
    ws.home.root.mkdir()
    ws.home.state.write_text("a file where the folder should be")
    ws.settings = replace(ws.settings, problems=("memem: the plugin option notices is 'x'.",))
    for _ in range(2):
        assert start(ws) == "memem: the plugin option notices is 'x'.\n" + SIGN
    assert notices.at_failure(ws, "memem: broken.", interactive=True) == "memem: broken."
    notices.raise_problem(ws, "login", "memem cannot ask claude.")
    assert "notices:" in ws.home.hooks_log.read_text()


def test_a_failure_is_shown_once_and_its_end_too(ws: Workspace) -> None:
    text = "memem: The vault /srv/\udcff is gone."
    assert notices.at_failure(ws, text, interactive=True) == "memem: The vault /srv/? is gone."
    assert notices.at_failure(ws, text, interactive=True) == ""
    assert notices.at_failure(ws, text, interactive=False) == text
    assert prompt(ws) == "memem is working again."


def test_a_server_that_claude_code_skips_is_named_until_it_is_not(ws: Workspace, clock: SteppingClock) -> None:
    ws.claude_folder.mkdir(parents=True)
    cache = ws.failed_servers_file
    cache.write_text(json.dumps({SERVER: {"timestamp": clock().timestamp() * 1000, "id": "x"}}))
    assert "Type /mcp, choose memem, then Reconnect." in prompt(ws)
    assert prompt(ws) == ""
    cache.unlink()
    assert prompt(ws) == ""  # whether the tools are there is not known
    assert notices.problems(ws) == {}


def test_a_hook_that_has_given_up_uses_up_no_notice(ws: Workspace) -> None:
    notices.raise_problem(ws, "login", "memem cannot ask claude.")
    notices.announce_learned(ws, ["Port"])
    ws.wanted_until = ws.ticks() - 1
    assert prompt(ws) == ""
    ws.wanted_until = float("inf")
    assert prompt(ws).splitlines() == ["memem cannot ask claude.", "memem learned: Port"]


def test_sessions_with_another_vault_have_problems_of_their_own(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save.save(ws, "A fact.", project="shop")
    other = replace(ws, settings=replace(ws.settings, vault=tmp_path / "another"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "it is read-only" in prompt(ws)
    assert prompt(other) == prompt(ws) == prompt(other) == ""
    assert list(notices.problems(ws)) == ["vault"]
    assert notices.problems(other) == {}


def test_a_miner_does_not_claim_that_memory_works_again(ws: Workspace) -> None:
    assert notices.at_failure(ws, "memem: broken.", interactive=True) == "memem: broken."
    notices.check_now(ws)
    assert "memory" in notices.problems(ws)


def test_use_in_a_script_is_nobodys_news(ws: Workspace) -> None:
    ws.environ = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
    notices.announce_used(ws, ["Signing"], session="s1")
    assert not list(ws.home.notices.glob("news-*"))


def test_news_is_bounded(ws: Workspace) -> None:
    notices.announce_learned(ws, [f"Title {number}" for number in range(MAX_NEWS + 5)], session="s1")
    assert len(list(ws.home.notices.glob("news-*"))) == MAX_NEWS
    assert prompt(ws).startswith("memem learned: Title 5, Title 6, Title 7 and")
