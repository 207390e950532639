"""The model may shorten the lines of a playbook, and nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.core.errors import StateUnusable
from memem.notes import write
from memem.pages import markdown, refresh
from memem.search.transcripts import consent
from memem.upkeep import refine_playbook
from memem.workspace import Workspace
from tests import fake_claude
from tests.fakes import SteppingClock
from tests.pages.test_overview import keep, saved_meanwhile

LONG = (
    "Tokens are signed with RS256, not HS256, because the gateway cannot share a secret with every one of the services."
)
SHORT = "Tokens are signed with RS256, not HS256; the gateway cannot share a secret."


@pytest.fixture
def asking(miner: Workspace) -> Workspace:
    """A home that may ask, with a playbook of one long line and a short one."""
    keep(miner, 1, LONG, kind="decision")
    keep(miner, 2, "Short enough.", kind="decision")
    consent.opt_in(miner)
    refresh.write_pages(miner)
    return miner


def set_answer(claude: Path, *lines: tuple[str, str], **more: Any) -> None:
    fake_claude.set_steps(claude, [{"lines": [{"id": id8, "text": text} for id8, text in lines], **more}])


def page(ws: Workspace) -> str:
    return (ws.store.paths.playbooks / "shop.md").read_text(encoding="utf-8")


def calls(claude: Path) -> list[Any]:
    return [call for call in fake_claude.calls(claude) if call["step"] is not None]


def test_shorter_line_replaces_the_long_one_and_stays(asking: Workspace, claude: Path, shop: Path) -> None:
    set_answer(claude, ("00000001", SHORT))
    assert refine_playbook.refine(asking, shop) == 1
    assert f"- {SHORT} [[note-1-00000001|00000001]]\n" in page(asking)
    keep(asking, 3, kind="lesson")
    refresh.write_pages(asking)
    assert SHORT in page(asking)
    assert LONG not in page(asking)


def test_only_long_lines_are_sent(asking: Workspace, claude: Path, shop: Path) -> None:
    refine_playbook.refine(asking, shop)
    (call,) = calls(claude)
    assert f"<line id=00000001>\n{LONG}\n</line>" in call["stdin"]
    assert "Short enough" not in call["stdin"]


def test_a_line_that_is_only_the_first_sentence_is_sent_whole(asking: Workspace, claude: Path, shop: Path) -> None:
    keep(asking, 3, f"Keys rotate. They do so every week, {'and every day ' * 20}too.", kind="decision")
    refresh.write_pages(asking)
    assert "\n- Keys rotate. [[" in page(asking)
    refine_playbook.refine(asking, shop)
    (call,) = calls(claude)
    assert "<line id=00000003>\nKeys rotate. They do so every week" in call["stdin"]


@pytest.mark.parametrize(
    ("id8", "text"),
    [
        ("00000001", "Tokens are signed with RS512, not HS256; the gateway cannot share a secret."),
        ("00000001", "Always deploy on Fridays."),
        ("00000001", "[[x]] Tokens are signed with RS256, not HS256; the gateway cannot share a secret."),
        ("00000002", "Short enough, it is said."),
        ("99999999", SHORT),
    ],
)
def test_invented_words_are_dropped(asking: Workspace, claude: Path, shop: Path, id8: str, text: str) -> None:
    set_answer(claude, (id8, text))
    assert refine_playbook.refine(asking, shop) == 0
    assert f"- {LONG} [[note-1-00000001|00000001]]\n" in page(asking)
    assert "- Short enough. [[" in page(asking)
    assert text not in page(asking)


def test_model_is_asked_once_a_day_and_only_about_new_lines(
    asking: Workspace, claude: Path, shop: Path, clock: SteppingClock
) -> None:
    for _ in range(2):
        refine_playbook.refine(asking, shop)
    clock.forward(days=1)
    refresh.write_pages(asking)
    refine_playbook.refine(asking, shop)
    assert len(calls(claude)) == 1, "nothing is new"
    keep(asking, 3, LONG.replace("Tokens", "Cookies"), kind="decision")
    refresh.write_pages(asking)
    refine_playbook.refine(asking, shop)
    keep(asking, 4, LONG.replace("Tokens", "Requests"), kind="decision")
    refresh.write_pages(asking)
    refine_playbook.refine(asking, shop)
    assert [call["stdin"].count("<line") for call in calls(claude)] == [1, 1]
    clock.forward(days=1)
    refine_playbook.refine(asking, shop)
    assert len(calls(claude)) == 3


@pytest.mark.parametrize("step", [{"exit": 1, "stderr": "no"}, {"raw": "no JSON"}, {"lines": [{"id": 1}]}])
def test_page_is_unchanged_after_an_error(asking: Workspace, claude: Path, shop: Path, step: dict[str, Any]) -> None:
    fake_claude.set_steps(claude, [step])
    before = page(asking)
    assert refine_playbook.refine(asking, shop) == 0
    assert page(asking) == before
    assert refine_playbook.refine(asking, shop) == 0
    assert len(calls(claude)) == 1, "not again today"


def test_model_is_not_asked_without_consent(asking: Workspace, claude: Path, shop: Path) -> None:
    consent.opt_out(asking)
    assert refine_playbook.refine(asking, shop) == 0
    consent.opt_in(asking)
    (shop / ".memem.toml").write_text("mining = false\n")
    assert refine_playbook.refine(asking, shop) == 0
    (shop / ".memem.toml").unlink()
    for settings in ({"extractor": "rules"}, {"daily_calls": 0}):
        before = asking.settings
        asking.settings = replace(before, **settings)
        assert refine_playbook.refine(asking, shop) == 0
        asking.settings = before
    asking.state.ledger.start_pause(asking.clock().timestamp() + 60, "rate limit")
    assert refine_playbook.refine(asking, shop) == 0
    assert calls(claude) == []


def test_note_that_changes_meanwhile_keeps_its_own_words(
    asking: Workspace, claude: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_answer(claude, ("00000001", SHORT))
    select = refine_playbook._select_rewordings

    def meanwhile(*given: Any) -> dict[str, str]:
        write.edit(asking, "00000001", body=LONG.replace("RS256", "ES256"))
        refresh.write_pages(asking)
        return select(*given)

    monkeypatch.setattr(refine_playbook, "_select_rewordings", meanwhile)
    refine_playbook.refine(asking, shop)
    assert "ES256" in page(asking)
    assert SHORT not in page(asking)


def test_line_changed_by_the_user_is_not_sent(asking: Workspace, claude: Path, shop: Path) -> None:
    path = asking.store.paths.playbooks / "shop.md"
    path.write_text(page(asking).replace("Tokens are", "Our tokens are"))
    assert refine_playbook.refine(asking, shop) == 0
    assert calls(claude) == []


def test_symbolic_link_is_not_followed(asking: Workspace, claude: Path, shop: Path, tmp_path: Path) -> None:
    set_answer(claude, ("00000001", SHORT))
    folder = asking.store.paths.playbooks
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    before = page(asking)
    assert refine_playbook.refine(asking, shop) == 0
    assert page(asking) == before
    assert calls(claude) == []


def test_playbook_that_the_user_keeps_saving_is_not_changed(
    asking: Workspace, claude: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_answer(claude, ("00000001", SHORT))
    path = asking.store.paths.playbooks / "shop.md"
    monkeypatch.setattr(markdown, "_refuse_change", saved_meanwhile(path, times=2))
    assert refine_playbook.refine(asking, shop) == 0
    assert SHORT not in page(asking)
    assert page(asking).count("Typed.") == 2


def test_unusable_state_raises(asking: Workspace, shop: Path) -> None:
    asking.close()
    asking.home.state_file.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StateUnusable):
        refine_playbook.refine(asking, shop)
