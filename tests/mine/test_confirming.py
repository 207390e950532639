"""The model looks at what seems to contradict: in one call, within the budget, after mining."""

from pathlib import Path
from typing import Any

import pytest

from memem.core.memory import Entry
from memem.mine import confirm
from memem.notes import conflicts, write
from memem.pages import conflicts as pages_conflicts
from memem.search import find
from memem.workspace import Workspace
from tests import fake_claude
from tests.notes.test_conflicts import MOVED, REDIS, note
from tests.transcripts import open_miner


@pytest.fixture
def pair(miner: Workspace) -> tuple[Entry, Entry]:
    old = note(miner, REDIS, 1)
    new = note(miner, MOVED, 2, contradicts=(old.link,))
    conflicts.suspect(miner, new.memory, [old.memory])
    return old, new


def says(claude: Path, *steps: dict[str, Any]) -> None:
    fake_claude.set_steps(claude, list(steps))


def test_confirmed_contradiction_is_recorded(miner: Workspace, claude: Path, pair: tuple[Entry, Entry]) -> None:
    assert conflicts.conflicts(miner)[0].found == "found by comparison"
    assert confirm.confirm(miner, "s1") == 1
    (found,) = conflicts.conflicts(miner)
    assert (found.found, found.why) == ("confirmed by the model", "as the model says")
    pages_conflicts.write_page(miner)
    assert "Confirmed by the model: as the model says." in miner.store.paths.conflicts.read_text(encoding="utf-8")


def test_both_statements_are_sent_the_earlier_first_and_nothing_else(
    miner: Workspace, claude: Path, pair: tuple[Entry, Entry]
) -> None:
    confirm.confirm(miner, "s1")
    (call,) = fake_claude.calls(claude)
    assert call["stdin"].startswith("memem-extract: version")
    assert call["stdin"].index(REDIS) < call["stdin"].index(MOVED)
    assert "<pair number=1>" in call["stdin"]


def test_compatible_pair_becomes_related(miner: Workspace, claude: Path, pair: tuple[Entry, Entry]) -> None:
    says(claude, {"verdict": "compatible"})
    confirm.confirm(miner, "s1")
    old, new = pair
    assert conflicts.conflicts(miner) == []
    memory = find.get(miner, new.id).memory
    assert (memory.contradicts, memory.related) == ((), (old.link,))


def test_a_persons_note_is_not_rewritten_for_it(miner: Workspace, claude: Path, pair: tuple[Entry, Entry]) -> None:
    says(claude, {"verdict": "compatible"})
    _, new = pair
    write.edit(miner, new.id, title="In my words")
    path = miner.store.absolute(find.get(miner, new.id).path)
    before = path.read_bytes()
    confirm.confirm(miner, "s1")
    assert path.read_bytes() == before
    assert conflicts.conflicts(miner) == [], "the verdict counts all the same"


def test_pair_is_asked_about_once(miner: Workspace, claude: Path, pair: tuple[Entry, Entry]) -> None:
    confirm.confirm(miner, "s1")
    assert confirm.confirm(miner, "s1") == 0
    assert len(fake_claude.calls(claude)) == 1


def test_changed_pair_is_dropped(miner: Workspace, claude: Path, pair: tuple[Entry, Entry]) -> None:
    write.edit(miner, pair[0].id, body="Redis of the shop is gone.")
    assert confirm.confirm(miner, "s1") == 0
    assert miner.state.suspicions.pairs() == []
    assert fake_claude.calls(claude) == []


def test_outdated_pair_is_dropped(miner: Workspace, claude: Path, pair: tuple[Entry, Entry]) -> None:
    write.revise(miner, pair[0].id, status="deprecated")
    assert confirm.confirm(miner, "s1") == 0
    assert fake_claude.calls(claude) == []


def test_a_verdict_on_what_was_changed_since_does_not_count(
    miner: Workspace, claude: Path, pair: tuple[Entry, Entry]
) -> None:
    says(claude, {"verdict": "compatible"})
    write.edit(miner, pair[1].id, title="Mine")  # so that the link stays
    confirm.confirm(miner, "s1")
    write.edit(miner, pair[0].id, body="Redis of the shop listens on port 6399.")
    assert len(conflicts.conflicts(miner)) == 1


@pytest.mark.parametrize("step", [{"exit": 1}, {"words": "I do not know"}, {"result": {"is_error": True}}])
def test_a_call_that_fails_is_made_a_few_times_and_changes_nothing(
    miner: Workspace, claude: Path, pair: tuple[Entry, Entry], step: dict[str, Any]
) -> None:
    says(claude, {**step, "raw": ""})
    for _ in range(5):
        assert confirm.confirm(miner, "s1") == 0
    assert len(fake_claude.calls(claude)) == 3
    assert conflicts.conflicts(miner)[0].found == "found by comparison"


def test_an_answer_of_another_shape_changes_nothing(miner: Workspace, claude: Path, pair: tuple[Entry, Entry]) -> None:
    says(claude, {"verdict": "perhaps"})
    assert confirm.confirm(miner, "s1") == 0
    assert miner.state.ledger.spent(miner.today()).calls == 1, "and is counted"


def test_without_a_model_it_stays_found(tmp_path: Path, pair: tuple[Entry, Entry], miner: Workspace) -> None:
    without = open_miner(tmp_path, None, MEMEM_EXTRACTOR="rules")
    assert confirm.confirm(without, "s1") == 0
    assert conflicts.conflicts(without)[0].found == "found by comparison"
    without.close()


def test_budget_is_respected(tmp_path: Path, claude: Path, pair: tuple[Entry, Entry], miner: Workspace) -> None:
    poor = open_miner(tmp_path, None, MEMEM_DAILY_CALLS="1")
    confirm.confirm(poor, "s1")
    third = note(poor, "Redis of the shop listens on port 6381.", 3, contradicts=(pair[0].link,))
    conflicts.suspect(poor, third.memory, [pair[0].memory])
    assert confirm.confirm(poor, "s1") == 0
    assert len(fake_claude.calls(claude)) == 1
    poor.close()
