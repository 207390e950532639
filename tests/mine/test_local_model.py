"""With MEMEM_MODEL_URL that server is asked in place of the CLI: the same notes and ledger, nothing sent elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memem.core.errors import SettingsError
from memem.inject import notices
from memem.mine import confirm, history, schedule
from memem.mine.status import mining_state
from memem.notes import conflicts
from memem.pages import markdown, refresh
from memem.search import find
from memem.search.transcripts import consent
from memem.state.suspicions import COMPATIBLE
from memem.upkeep import config, refine_playbook
from memem.upkeep.checks import endpoint
from memem.workspace import Workspace, open_workspace
from tests import fake_claude
from tests.builders import change_settings
from tests.fakes import SteppingClock
from tests.model_server import ModelServer, fails, says, serving
from tests.notes.test_conflicts import MOVED, REDIS, note
from tests.pages.test_overview import keep
from tests.transcripts import Transcript, count_saved, fact, once, open_miner

KEY = "key-1f0e6f0d7a11"
LONG = (
    "Tokens are signed with RS256, not HS256, because the gateway cannot share a secret with every one of the services."
)
SHORT = "Tokens are signed with RS256, not HS256; the gateway cannot share a secret."


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving() as server:
        yield server


@pytest.fixture
def local(tmp_path: Path, clock: SteppingClock, claude: Path, server: ModelServer) -> Iterator[Workspace]:
    """A home that asks that server; there is a claude, too."""
    opened = open_miner(tmp_path, clock, MEMEM_MODEL_URL=server.url, MEMEM_MODEL_KEY=KEY)
    consent.opt_in(opened)
    yield opened
    opened.close()
    assert fake_claude.calls(claude) == [], "no text goes through the CLI"
    for path in (each for each in tmp_path.rglob("*") if each.is_file()):
        assert KEY.encode() not in path.read_bytes(), path


def test_mining_writes_the_note(local: Workspace, session: Transcript, server: ModelServer) -> None:
    session.tells("one")
    mined = schedule.mine_file(local, session.path)
    assert mined.outcome == "mined"
    assert count_saved(local) == once("one")
    assert server.paths == ["GET /v1/models", "POST /v1/chat/completions"]
    assert fact("one") in server.questions[0]["messages"][1]["content"]
    assert set(server.keys) == {f"Bearer {KEY}"}


def test_a_call_is_counted_and_costs_nothing(local: Workspace, session: Transcript) -> None:
    session.tells("one")
    schedule.mine_file(local, session.path)
    spent = local.state.ledger.spent(local.today())
    assert (spent.calls, spent.input_tokens, spent.output_tokens, spent.dollars) == (1, 123, 12, 0.0)
    assert local.state.sessions._execute("SELECT session FROM sessions WHERE own") == [], "Claude Code keeps none"


def test_only_the_limit_on_calls_holds(local: Workspace, session: Transcript, server: ModelServer) -> None:
    change_settings(local, daily_usd=0.0, daily_calls=1)
    session.tells("one")
    assert schedule.mine_file(local, session.path).outcome == "mined"
    session.tells("two")
    assert schedule.mine_file(local, session.path).outcome == "spent"
    assert len(server.questions) == 1


def test_an_answer_of_another_shape_is_asked_for_again(
    local: Workspace, session: Transcript, server: ModelServer
) -> None:
    change_settings(local, model="qwen3")
    session.tells("one")
    server.steps = [says("Certainly! Let me think."), says({"operations": 7})]
    assert schedule.mine_file(local, session.path).outcome == "failed"
    assert schedule.mine_file(local, session.path).outcome == "mined"
    assert count_saved(local) == once("one")


def test_a_server_that_is_gone_costs_nothing_and_no_other_model_is_asked(
    local: Workspace, session: Transcript, server: ModelServer
) -> None:
    change_settings(local, model="qwen3", max_failures=1)
    session.tells("one")
    server.steps = [fails(503, "loading")]
    mined = schedule.mine_file(local, session.path)
    assert (mined.outcome, mined.buried) == ("failed", 0)
    assert local.state.ledger.spent(local.today()).dollars == 0
    assert schedule.mine_file(local, session.path).outcome == "mined"


def test_a_refused_key_is_a_problem_until_the_server_answers(
    local: Workspace, session: Transcript, server: ModelServer
) -> None:
    change_settings(local, model="qwen3")
    session.tells("one")
    server.steps = [fails(401, f"bad key {KEY}")]
    assert schedule.mine_file(local, session.path).outcome == "failed"
    assert "MEMEM_MODEL_KEY" in notices.problems(local)["endpoint"]
    schedule.mine_file(local, session.path)
    assert "endpoint" not in notices.problems(local)


def test_contradictions_are_asked_about_there(local: Workspace, server: ModelServer) -> None:
    old = note(local, REDIS, 1)
    new = note(local, MOVED, 2, contradicts=(old.link,))
    conflicts.suspect(local, new.memory, [old.memory])
    change_settings(local, model="qwen3")
    server.steps = [says({"pairs": [{"number": 1, "verdict": COMPATIBLE, "why": "two clusters"}]})]
    assert confirm.confirm(local, "s1") == 1
    assert conflicts.conflicts(local) == []
    assert "<pair number=1>" in server.questions[0]["messages"][1]["content"]


def test_a_playbook_is_shortened_there(local: Workspace, server: ModelServer, shop: Path) -> None:
    keep(local, 1, LONG, kind="decision")
    refresh.write_pages(local)
    change_settings(local, model="qwen3")
    server.steps = [says({"lines": [{"id": "00000001", "text": SHORT}]})]
    assert refine_playbook.refine(local, shop) == 1
    assert SHORT in (markdown.read_page(local.store.paths.playbooks / "shop.md") or "")


def test_it_is_used_where_there_is_no_claude(
    tmp_path: Path, clock: SteppingClock, session: Transcript, server: ModelServer
) -> None:
    ws = open_miner(tmp_path, clock, PATH="", MEMEM_MODEL_URL=server.host)
    consent.opt_in(ws)
    session.tells("one")
    assert schedule.mine_file(ws, session.path).outcome == "mined"
    assert len(server.questions) == 1
    change_settings(ws, extractor="rules")
    assert ws.model() is None
    ws.close()


def test_a_plan_has_calls_of_unknown_price(local: Workspace, session: Transcript) -> None:
    session.tells("one")
    planned = history.plan(local, [session.path], None, lambda *_: None, is_one=True)
    assert (planned.calls, planned.dollars) == (1, None)


# --- status and doctor --------------------------------------------------------------------------------------------


def test_status_says_which_model_is_asked_and_that_no_other_is(local: Workspace, server: ModelServer) -> None:
    change_settings(local, model="qwen3")
    state = mining_state(local)
    assert (state.extractor, state.model_url, state.has_model_key) == ("endpoint, qwen3", server.url, True)
    assert f"using qwen3 at {server.url} with a key; text goes only there" in state.switched_on
    assert server.requests == []


@pytest.mark.parametrize(
    ("model", "models", "state", "words"),
    [
        ("", ["qwen3"], "fine", "has qwen3; text goes only there, not through `claude` to Anthropic"),
        ("qwen3", ["qwen3:latest", "llama3"], "fine", "has qwen3;"),
        ("gemma", ["qwen3", "llama3"], "degraded", "has no model 'gemma'; it has qwen3, llama3"),
        ("", ["qwen3", "llama3"], "degraded", "MEMEM_MODEL names none; it has qwen3, llama3"),
        ("", [], "degraded", "lists no model"),
    ],
)
def test_the_doctor_asks_for_the_models(
    local: Workspace, server: ModelServer, model: str, models: list[str], state: str, words: str
) -> None:
    change_settings(local, model=model)
    server.models = models
    (found,) = endpoint.check(local)
    assert found.state == state
    assert words in found.detail
    assert server.paths == ["GET /v1/models"]


def test_the_doctor_says_how_to_repair_a_server_that_does_not_answer(local: Workspace, server: ModelServer) -> None:
    server.steps = [fails(401, f"bad key {KEY}")]
    (found,) = endpoint.check(local)
    assert (found.state, found.fix) == ("degraded", "Correct MEMEM_MODEL_KEY; nothing is lost.")


def test_without_a_url_there_is_no_such_check(miner: Workspace) -> None:
    assert endpoint.check(miner) == []
    assert mining_state(miner).model_url == ""


# --- the setting --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        ("http://127.0.0.1:11434/", "http://127.0.0.1:11434/v1"),
        ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1"),
        ("http://gpu.lan:8000/v1/chat/completions", "http://gpu.lan:8000/v1"),
        ("https://api.example.com/openai/v1", "https://api.example.com/openai/v1"),
        ("http://[::1]:8080", "http://[::1]:8080/v1"),
    ],
)
def test_the_url_needs_no_v1(tmp_path: Path, text: str, url: str) -> None:
    ws = open_workspace(actor="test", environ={"HOME": str(tmp_path), "MEMEM_MODEL_URL": text})
    assert (ws.settings.model_url, ws.settings.model) == (url, "")


@pytest.mark.parametrize(
    "text",
    [
        *("127.0.0.1:11434", "ftp://host/v1", "http://", "http://host:0", "http://host:99999", "http://a b/v1"),
        *(f"http://me:{KEY}@host/v1", f"https://host/v1?key={KEY}", f"https://host/v1#{KEY}", "http://host/v1\r\nX: 1"),
    ],
)
def test_another_url_is_refused_and_a_password_in_it_not_shown(tmp_path: Path, miner: Workspace, text: str) -> None:
    with pytest.raises(SettingsError) as raised:
        open_workspace(actor="test", environ={"HOME": str(tmp_path), "MEMEM_MODEL_URL": text})
    with pytest.raises(SettingsError) as changed:
        config.change(miner, "model_url", text)
    assert KEY not in f"{raised.value} {changed.value}"


def test_a_set_model_is_kept(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "MEMEM_MODEL_URL": "http://h", "MEMEM_MODEL": "haiku"}
    assert open_workspace(actor="test", environ=environ).settings.model == "haiku"


def test_notes_of_both_models_are_alike(
    tmp_path: Path, local: Workspace, session: Transcript, server: ModelServer
) -> None:
    session.tells("one")
    schedule.mine_file(local, session.path)
    (entry,) = find.list_memories(local)
    assert (entry.memory.author, entry.memory.source_session, entry.memory.project) == ("model", "s1", "shop")
