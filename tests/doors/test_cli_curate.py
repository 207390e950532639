"""memem review suggestions, as a person calls it; and the same from Python."""

import pytest

from memem.doors.api.home import MemoryHome
from memem.search import refresh
from memem.upkeep import curation_rules
from memem.workspace import open_workspace
from tests.command_line import Run
from tests.upkeep.test_curating import MANY, PORT, PORT_AND_HOST, prompts, put, vault


@pytest.fixture
def untidy() -> None:
    """A vault with a pair to merge, a note to split, an unused note, and a pair that is a person's."""
    ws = open_workspace(actor="test")
    for body in (PORT, PORT_AND_HOST):
        put(ws, body)
    put(ws, "Tax is rounded.", importance=2)
    prompts(ws, curation_rules.MIN_PROMPTS)
    for body in (PORT, PORT_AND_HOST):
        put(ws, body, project="garage", author="human", source_type="user")
    put(ws, MANY)
    ws.close()


@pytest.mark.usefixtures("untidy")
def test_a_report_is_grouped_and_changes_nothing(run: Run) -> None:
    before = vault(open_workspace(actor="test"))
    done = run("curate")
    assert done.code == 0
    headings = [line for line in done.out.splitlines() if line.endswith(")") and not line.startswith(" ")]
    assert headings == [
        "Notes that say the same thing and can be merged (1)",
        "Notes that say several things and can be split (1)",
        "Notes that were never used and can be archived (1)",
        "Your own notes, which memem does not change (1)",
    ]
    assert "00000001 (The search service listens on port 9200) adds nothing to 00000002" in done.out
    assert "00000003 (Tax is rounded) was never used in 50 prompts" in done.out
    assert "          | Invoices are rounded to whole cents before tax.\n" in done.out
    assert "00000005 stays and supersedes 00000004 (not applied automatically: 00000004 is your own note)." in done.out
    assert "Nothing was changed." in done.err
    assert vault(open_workspace(actor="test")) == before


@pytest.mark.usefixtures("untidy")
def test_apply_skips_your_own_notes_and_can_be_undone(run: Run) -> None:
    before = vault(open_workspace(actor="test"))
    done = run("curate", "--apply")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == ["done", "done", "done", "skipped"]
    assert "reverts this" in done.err
    assert [each["yours"] for each in run("curate", "--json").data["suggestions"]] == ["00000004 is your own note"]
    assert run("undo").code == 0
    after = vault(open_workspace(actor="test"))
    assert {name: after[name] for name in before} == before


@pytest.mark.usefixtures("untidy")
def test_suggestions_can_be_applied_by_id(run: Run) -> None:
    first = run("curate", "--project", "shop", "--json").data
    merge, split, archive = first["suggestions"]
    assert (merge["what"], split["what"], archive["what"], first["memories"]) == ("merge", "split", "archive", 4)
    done = run("curate", "--apply", split["id"], "--json")
    assert (done.data["applied"], done.data["left"]) == ([split["id"]], [])
    assert merge["id"] in [each["id"] for each in run("curate", "--json").data["suggestions"]]


@pytest.mark.usefixtures("untidy")
def test_applying_an_unknown_id_fails(run: Run) -> None:
    done = run("curate", "--apply", "ffffffff")
    assert (done.code, done.out.split()[:2]) == (1, ["skipped", "ffffffff"])
    assert "Nothing was changed." in done.err
    assert run("curate", "--apply", "ffffffff", "--json").code == 1


def test_a_tidy_vault_has_no_suggestions(run: Run) -> None:
    run("save", PORT)
    assert "Nothing to tidy among 1 active memory." in run("curate").err
    done = run("curate", "--apply")
    assert (done.code, done.out) == (0, "")
    assert "Nothing to tidy." in done.err


def test_python_suggests_and_applies_too(mem: MemoryHome) -> None:
    put(mem._ws, PORT)
    put(mem._ws, PORT_AND_HOST)
    (suggestion,) = mem.curate(project="shop").suggestions
    assert mem.curate().applied == ()
    assert mem.curate(suggestion.id, apply=True).applied == (suggestion.id,)
    refresh.refresh(mem._ws)
    assert mem.curate().suggestions == ()
