"""A memory home that 0.8 wrote opens unchanged, and everything in it still counts.

`tests/fixtures/make_home.py` says how `tests/fixtures/home-0.8` was made. A schema that changes needs a numbered
migration, and a file that moves needs one too: these tests are then still to pass as they are.
"""

import json
import os
import shutil
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import fake_claude
from tests.command_line import Outcome
from tests.fixtures.make_home import BY_RULES, DEAD, MADE_AT, MINED, PROMPTED, SESSION_CWD, SMALL, UNFINISHED
from tests.golden import frozen
from tests.golden.commands import FrozenMemem
from tests.golden.recorder import make_environ
from tests.golden.scenario import AT_LENGTH

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="waits for background processes as only Linux can")

FIXTURE = Path(__file__).parent / "fixtures" / "home-0.8"
ANSWERS = json.loads((FIXTURE / "answers.json").read_text(encoding="utf-8"))
TOKEN_PROMPT = "How are access tokens signed, with RS256?"
PROJECT = "shop"
PROSE = ("advice", "meaning", "problem", "reason", "words")
REMOVED_SETTINGS = ("redact_before_model",)
NEW_SETTINGS = ("model_url",)
READ_NOTES = "SELECT row, path, digest FROM notes WHERE digest <> '' ORDER BY row"
"""Notes that cannot be read have no digest, and are tried again each time their stamp changes."""


class OldHome:
    """A copy of the fixture, at the place of a user's own, some minutes after it was written."""

    def __init__(self, folder: Path, memem: FrozenMemem) -> None:
        self.folder, self._memem = folder, memem
        self.environ = make_environ(folder)
        self.user = folder / "user"
        self.home, self.vault = self.user / ".memem", self.user / "vault"
        self.claude = folder / "claude"
        self.step = int((FIXTURE / "step").read_text(encoding="utf-8"))
        for name, place in (("home", self.home), ("vault", self.vault), ("claude", self.user / ".claude")):
            shutil.copytree(FIXTURE / name, place)
        self._move_in()
        fake_claude.install(self.claude, [{"echo": True}])

    def _move_in(self) -> None:
        """Let everything that names a place name the new one, as if the home had been written here."""
        for path in self.home.rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
            if path.suffix in (".json", ".jsonl", ".toml"):
                text = path.read_text(encoding="utf-8")
                path.write_text(self.here(text), encoding="utf-8")
            elif path.suffix == ".db":
                replace_text(path, str(MADE_AT), str(self.folder))
        (index,) = (self.home / "cache" / "index").iterdir()
        vault = f"{self.home}/../vault"  # as config.toml has it
        index.rename(index.with_name(f"{zlib.crc32(os.fsencode(vault)):08x}"))
        with self.connect("state") as database:
            for path, mtime in database.execute(
                "SELECT path, mtime FROM sessions WHERE mtime AND path <> ''"
            ).fetchall():
                os.utime(path, ns=(mtime, mtime))
                database.execute("UPDATE sessions SET inode = ? WHERE path = ?", (Path(path).stat().st_ino, path))

    def here(self, text: str) -> str:
        return text.replace(str(MADE_AT), str(self.folder))

    def connect(self, name: str) -> sqlite3.Connection:
        """One of its databases, by the name of its file."""
        (path,) = self.home.rglob(f"{name}.db")
        return sqlite3.connect(path)

    def change(self, name: str, statement: str) -> None:
        database = self.connect(name)
        with database:
            database.execute(statement)
        database.close()

    def run(self, *arguments: str, stdin: str = "", **environ: str) -> Outcome:
        """Run a command a minute after the one before it."""
        self.step += 1
        variables = {**self.environ, frozen.STEP: str(self.step), **environ}
        return self._memem.run(*arguments, cwd=self.user, environ=variables, stdin=stdin)

    def ask(self, *arguments: str, **environ: str) -> Any:
        outcome = self.run(*arguments, "--json", **environ)
        assert outcome.code == 0, outcome.err
        return outcome.data

    def hook(self, event: str, session: str, **envelope: str) -> Any:
        told = {"session_id": session, "cwd": str(self.user / "work" / PROJECT), **envelope}
        outcome = self.run("hook", event, stdin=json.dumps(told))
        assert (outcome.code, outcome.err) == (0, "")
        return json.loads(outcome.out) if outcome.out else {}

    def session(self, name: str) -> Path:
        folder = self.user / ".claude" / "projects" / str(SESSION_CWD).replace("/", "-")
        return folder / f"{name}.jsonl"

    def calls(self) -> int:
        """How often the model was asked."""
        return len(fake_claude.calls(self.claude))

    def vault_files(self) -> dict[str, bytes]:
        files = (path for path in self.vault.rglob("*") if path.is_file())
        return {path.relative_to(self.vault).as_posix(): path.read_bytes() for path in files}

    def titles(self) -> list[str]:
        return sorted(each["title"] for each in self.ask("list"))

    def write_new_session(self, name: str = "70000000-0000-4000-8000-000000000007") -> Path:
        """A session that 0.8 did not see, with a fact in it."""
        lines = self.session(MINED).read_text(encoding="utf-8")
        said = lines.replace(MINED, name).replace("FACT-carts: Carts", "FACT-new: New carts")
        path = self.session(name)
        path.write_text(said, encoding="utf-8")
        os.utime(path, (frozen.FIRST_SECOND + self.step * frozen.STEP_SECONDS,) * 2)
        return path


def replace_text(path: Path, old: str, new: str) -> None:
    """Replace a text in every column of a database's own tables; those of full text hold no paths."""
    database = sqlite3.connect(path)
    tables = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    virtual = tuple(name for name, sql in tables if sql.startswith("CREATE VIRTUAL"))
    with database:
        for table, _ in tables:
            if table.startswith(virtual or ("\0",)) or table.startswith("sqlite_"):
                continue
            for column in [row[1] for row in database.execute(f"PRAGMA table_info({table})")]:
                found = f"UPDATE {table} SET {column} = replace({column}, ?, ?) WHERE instr({column}, ?)"  # noqa: S608
                database.execute(f"{found} AND typeof({column}) = 'text'", (old, new, old))
    database.close()


@pytest.fixture(scope="module")
def memem() -> Iterator[FrozenMemem]:
    with FrozenMemem() as started:
        yield started


@pytest.fixture
def old(tmp_path: Path, memem: FrozenMemem) -> OldHome:
    return OldHome(tmp_path, memem)


@pytest.mark.parametrize("number", range(len(ANSWERS)), ids=[" ".join(each["command"][:2]) for each in ANSWERS])
def test_a_command_answers_as_0_8_did(old: OldHome, number: int) -> None:
    recorded = json.loads(old.here(json.dumps(ANSWERS[number])))
    if recorded["command"] == ["config"]:
        recorded["answer"] = [each for each in recorded["answer"] if each["key"] not in REMOVED_SETTINGS]
    answer = old.run(*recorded["command"], "--json").data  # `check` ends with 1, as it did
    if recorded["command"] == ["config"]:
        answer = [each for each in answer if each["key"] not in NEW_SETTINGS]
    if recorded["command"][0] == "why":  # one shape since 0.10
        answer = answer["decision"] or answer["memory"]
    assert list(find_differences(recorded["answer"], answer)) == []


def find_differences(expected: Any, found: Any, place: str = "") -> Iterator[str]:
    """List differences from the recorded answer; additional keys and other words in prose are allowed."""
    if place.rpartition(".")[2].partition("[")[0] in PROSE and isinstance(found, str):
        if bool(expected) != bool(found):
            yield f"{place}: {found!r} instead of {expected!r}"
    elif isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            yield from find_differences(value, found.get(key, "(no such key)"), f"{place}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from find_differences(one, other, f"{place}[{number}]")
    elif expected != found:
        yield f"{place}: {found!r} instead of {expected!r}"


def test_looking_at_it_changes_no_byte_of_the_vault(old: OldHome) -> None:
    before = old.vault_files()
    assert len(before) > 15
    for command in (["status"], ["search", "tokens"], ["list"], ["slice", "tokens"], ["check"], ["get", "6b1f3a52"]):
        assert old.run(*command).code in (0, 1)
    old.hook("UserPromptSubmit", "a session of its own", prompt=TOKEN_PROMPT)
    assert old.vault_files() == before


def test_the_index_is_used_and_not_rebuilt(old: OldHome) -> None:
    old.change("index", "INSERT INTO meta VALUES ('planted by a test', 'yes')")
    with old.connect("index") as database:
        rows = database.execute(READ_NOTES).fetchall()
    (file,) = old.home.rglob("index.db")
    number = file.stat().st_ino
    for command in (["status"], ["search", "tokens"], ["list"], ["check"], ["slice", "tokens"]):
        old.run(*command)
    old.hook("UserPromptSubmit", "a session of its own", prompt=TOKEN_PROMPT)
    assert list(old.home.rglob("index.db")) == [file]
    assert file.stat().st_ino == number
    with old.connect("index") as database:
        assert database.execute("SELECT value FROM meta WHERE key = 'planted by a test'").fetchall() == [("yes",)]
        assert database.execute(READ_NOTES).fetchall() == rows


def test_a_search_reads_the_index_that_0_8_left(old: OldHome) -> None:
    old.change("index", "UPDATE memories SET memory = replace(memory, 'RS256', 'RS999')")
    assert "RS999" in json.dumps(old.ask("search", "how are tokens signed"))


@pytest.mark.parametrize("lost", ["", "sessions", "turns"])
@pytest.mark.parametrize("session", [MINED, BY_RULES])
def test_a_mined_session_is_not_mined_again(old: OldHome, session: str, lost: str) -> None:
    if lost:  # the cursor alone, and the turns alone, are enough
        old.change("state", f"DELETE FROM {lost} WHERE session = '{session}'")  # noqa: S608
    before = old.vault_files()
    (mined,) = old.ask("mine", "--session", str(old.session(session)))["mined"]
    assert (mined["outcome"], mined["applied"], old.calls()) == ("nothing", [], 0)
    assert old.vault_files() == before


def test_a_session_without_cursor_and_turns_is_mined(old: OldHome) -> None:
    for table in ("sessions", "turns"):
        old.change("state", f"DELETE FROM {table}")  # noqa: S608
    (mined,) = old.ask("mine", "--session", str(old.session(MINED)))["mined"]
    assert mined["outcome"] == "mined"
    assert old.calls() > 0


def test_the_opt_in_still_counts(old: OldHome) -> None:
    assert old.ask("mining")["since"] == "2026-03-02T09:13:00+00:00"
    path = old.write_new_session()
    old.hook("SessionEnd", path.stem, transcript_path=str(path))
    assert "About new" in old.titles()


def test_without_the_opt_in_nothing_is_mined(old: OldHome) -> None:
    (old.home / "state" / ".miner-opted-in").unlink()
    path = old.write_new_session()
    old.hook("SessionEnd", path.stem, transcript_path=str(path))
    assert "About new" not in old.titles()


def test_an_answer_that_was_not_applied_is_applied_once_and_not_asked_for_again(old: OldHome) -> None:
    path = str(old.session(UNFINISHED))
    (mined,) = old.ask("mine", "--session", path)["mined"]
    assert [each["title"] for each in mined["applied"]] == ["About cache"]
    assert not [call for call in fake_claude.calls(old.claude) if "FACT-cache" in call["stdin"]]
    assert old.titles().count("About cache") == 1
    (again,) = old.ask("mine", "--session", path)["mined"]
    assert (again["outcome"], again["applied"]) == ("nothing", [])
    assert old.titles().count("About cache") == 1


def test_a_dead_letter_can_be_tried_again(old: OldHome) -> None:
    (mined,) = [each for each in old.ask("mine", "--retry")["mined"] if each["session"] == DEAD]
    assert [each["title"] for each in mined["applied"]] == ["About dead"]
    assert old.ask("mining")["dead_letters"] == 0


def test_earlier_spending_of_the_day_counts_against_the_budget(old: OldHome) -> None:
    spent = old.ask("mining")["calls_today"]
    path = old.write_new_session()
    outcome = old.run("mine", "--session", str(path), MEMEM_DAILY_CALLS=str(spent))
    assert (outcome.code, old.calls()) == (1, 0)
    assert "calls" in outcome.err
    old.ask("mine", "--session", str(path), MEMEM_DAILY_CALLS=str(spent + 5))
    assert old.calls() > 0


def test_a_forgotten_statement_is_still_refused(old: OldHome) -> None:
    outcome = old.run("save", "The wifi password is on the fridge.", "-p", "general")
    assert outcome.code == 1
    assert "forgotten on 2026-03-02" in outcome.err


def test_the_last_batch_can_be_undone(old: OldHome) -> None:
    assert "Undo me" in old.titles()
    undone = old.ask("undo")
    assert [Path(path).stem[:7] for path in undone["removed"]] == ["undo-me"]
    assert "Undo me" not in old.titles()


def test_a_forgetting_can_be_undone_from_the_undo_store(old: OldHome) -> None:
    (forgotten,) = (old.vault / "memem" / ".forgotten").iterdir()
    bytes_of_note = forgotten.read_bytes()
    forgotten.unlink()  # so that only the undo store has them
    (batch,) = [each["id"] for each in old.ask("log") if each["what"] == "forget"]
    (restored,) = old.ask("undo", batch)["restored"]
    assert (old.vault / "memem" / restored).read_bytes() == bytes_of_note
    assert old.run("save", "The wifi password is on the fridge.", "-p", "general").out.startswith("already known")


def test_a_session_is_not_shown_again_what_it_was_shown(old: OldHome) -> None:
    assert "hookSpecificOutput" not in old.hook("UserPromptSubmit", SMALL, prompt=TOKEN_PROMPT)
    shown = old.hook("UserPromptSubmit", "another session", prompt=TOKEN_PROMPT)
    assert "RS256" in shown["hookSpecificOutput"]["additionalContext"]


def test_prompts_since_the_last_slice_are_still_counted(old: OldHome) -> None:
    asked = {"prompt": "How long are invoices of the shop kept?", "cwd": str(old.user / "work" / PROJECT)}
    settings = {"MEMEM_INJECTION_MODE": "hybrid", "MEMEM_INJECT_CADENCE": "5"}

    def is_shown_something(session: str) -> bool:
        envelope = json.dumps({**asked, "session_id": session})
        return "seven years" in old.run("hook", "UserPromptSubmit", stdin=envelope, **settings).out

    assert is_shown_something("another session")
    assert not is_shown_something(SMALL)


def test_a_prompt_has_the_hash_that_0_8_gave_it(old: OldHome) -> None:
    with old.connect("contexts") as database:
        recorded = json.dumps(database.execute("SELECT * FROM receipts").fetchall(), default=str)
    old.hook("UserPromptSubmit", SMALL, prompt=TOKEN_PROMPT)
    new = old.ask("why")["decision"]["receipt"]
    assert new["session"] == SMALL
    assert len(new["prompt"]) >= 16
    assert new["prompt"] in recorded


def test_use_still_counts_in_the_ranking(old: OldHome) -> None:
    token = old.ask("search", "how are tokens signed")[0]["id"]
    assert old.ask("why", token)["memory"]["usefulness"] == {
        "shown": 1,
        "used": 1,
        "multiplier": pytest.approx(1.02, abs=0.01),
    }


def test_a_note_stays_stale_though_only_the_state_says_so(old: OldHome) -> None:
    (queue,) = [each for each in old.ask("list") if each["title"] == "Queue"]
    assert (queue["status"], queue["stale_because"]) == ("stale", "src/queue.py is gone from shop")
    assert "stale" not in (old.vault / "memem" / queue["path"]).read_text(encoding="utf-8")
    old.run("reindex")
    (queue,) = [each for each in old.ask("list") if each["title"] == "Queue"]
    assert queue["status"] == "stale"


def test_a_vanished_note_is_still_reported(old: OldHome) -> None:
    (missed,) = old.ask("forget", "--vanished")
    assert (missed["path"].startswith("memories/plants-"), missed["time"][:10]) == (True, "2026-03-02")
    assert old.run("save", "The plants are watered on Fridays.", "-p", "general").code == 1


def test_small_sessions_are_still_held_back(old: OldHome) -> None:
    assert old.ask("mining")["held_back"] == 1


def test_news_of_0_8_are_shown_when_a_session_begins(old: OldHome) -> None:
    assert "memem learned" in old.hook("SessionStart", PROMPTED, source="startup")["systemMessage"]


def test_a_missing_vault_is_not_recreated(old: OldHome) -> None:
    old.vault.rename(old.user / "elsewhere")
    assert old.run("save", "Something.", "-p", "general").code == 1
    assert not old.vault.exists()


def test_notes_that_wait_for_review_still_wait(old: OldHome) -> None:
    waiting = old.ask("review")
    assert sorted(each["held"] for each in waiting) == [False, True]
    for each in waiting:
        assert old.ask("review", "accept", each["id"])["outcome"] == "accepted"
    assert old.ask("review") == []


def test_every_variable_of_0_8_overrides_the_file(old: OldHome) -> None:
    settings = {each["key"]: each for each in old.ask("config")}
    assert settings["daily_usd"]["source"].endswith("/config.toml")
    assert float(settings["daily_usd"]["value"]) == 1.5
    given = {each["variable"]: str(each["value"]) for each in settings.values() if each["value"] not in (None, "")}
    assert len(given) > 30
    changed = {each["key"]: each for each in old.ask("config", **given)}
    assert {key: each["source"] for key, each in changed.items() if each["variable"] in given} == {
        key: each["variable"] for key, each in settings.items() if each["variable"] in given
    }


def test_turns_are_still_found_after_their_session_file_is_deleted(old: OldHome) -> None:
    shutil.rmtree(old.user / ".claude")
    assert old.ask("transcript", "WebP images")[0]["session"] == BY_RULES


def test_a_long_new_session_is_mined_next_to_the_old_ones(old: OldHome) -> None:
    before = old.titles()
    old.ask("mine", "--all")
    assert AT_LENGTH in old.session(UNFINISHED).read_text(encoding="utf-8")
    assert sorted({*before, "About cache"}) == old.titles()
