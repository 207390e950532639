"""Asking through the claude CLI: what it is given, what becomes of its answer, and that nothing of it stays."""

import json
import math
import os
import signal
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memem.core import processes
from memem.core.errors import (
    UNKNOWN_COST,
    CallFailed,
    CliMissing,
    ExtractError,
    HomeError,
    NotJson,
    NotLoggedIn,
    Overloaded,
    RateLimited,
    Refused,
    TookTooLong,
    Usage,
)
from memem.model import claude
from memem.model.answer import ModelAnswer
from memem.model.claude import Claude
from tests import fake_claude
from tests.fakes import SteppingClock

SCHEMA = {"type": "object", "properties": {"operations": {"type": "array"}}}
PAID = Usage(input_tokens=123, output_tokens=12, dollars=0.001)


class Call:
    """A claude that is asked from a folder of its own, and the processes that this started and ended."""

    def __init__(self, tmp_path: Path) -> None:
        self.bin = tmp_path / "bin"
        self.folder = tmp_path / "home" / "ask"
        self.flags_file = tmp_path / "home" / "claude-flags.json"
        self.environ = {"PATH": os.defpath}
        self.seconds = 30.0
        self.started: list[tuple[int, str]] = []
        self.ended: list[int] = []

    def claude(self, command: Path | str | None = None) -> Claude:
        return Claude(
            str(command or self.bin / "claude"),
            model="haiku",
            seconds=self.seconds,
            folder=self.folder,
            environ=self.environ,
            flags_file=self.flags_file,
            clock=SteppingClock(),
            on_start=lambda pid, start: self.started.append((pid, start)),
            on_end=self.ended.append,
        )

    def plays(self, *steps: dict[str, Any], **options: Any) -> None:
        fake_claude.install(self.bin, steps, **options)

    def ask(self, text: str = "the turns", session: str = "") -> ModelAnswer:
        return self.claude().ask(
            system="You extract.", instruction="What is new?", text=text, schema=SCHEMA, session=session
        )

    def calls(self) -> list[dict[str, Any]]:
        return fake_claude.calls(self.bin)

    def helped(self) -> int:
        return sum(each["argv"] == ["--help"] for each in fake_claude.calls(self.bin, questions=True))


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Call]:
    """After every test: what was started has ended, was said to have ended, and left no file."""
    made = Call(tmp_path)
    made.plays({"operations": []})
    yield made
    assert [pid for pid, _ in made.started] == made.ended
    assert not any(processes.read_start_time(pid) for pid in made.ended)
    assert not made.folder.exists() or not any(each.name.startswith("tmp") for each in made.folder.iterdir())


def test_the_answer_is_the_structured_output_with_what_it_cost(call: Call) -> None:
    call.plays({"operations": [{"op": "NOOP"}]})
    assert call.ask() == ModelAnswer({"operations": [{"op": "NOOP"}]}, PAID)


def test_the_cli_is_asked_alone_and_with_nothing_of_the_user(call: Call) -> None:
    call.ask("what was said\n", session="0b0c6a52-1111-4222-8333-444455556666")
    (made,) = call.calls()
    assert made["argv"] == [
        "-p",
        "--safe-mode",
        *("--tools", ""),
        *("--system-prompt", "You extract."),
        "--no-session-persistence",
        "--strict-mcp-config",
        *("--setting-sources", ""),
        "--disable-slash-commands",
        *("--model", "haiku"),
        *("--session-id", "0b0c6a52-1111-4222-8333-444455556666"),
        *("--output-format", "json"),
        *("--json-schema", json.dumps(SCHEMA)),
        *("--", "What is new?"),
    ]
    assert made["stdin"] == "what was said\n"
    assert made["cwd"] == str(call.folder)
    assert stat.S_IMODE(call.folder.stat().st_mode) == 0o700


def test_any_text_arrives_and_none_of_it_is_an_argument(call: Call) -> None:
    text = "Grüße, 世界 \x00 --flag '\"\n" * 20_000
    call.ask(text + "\ud800")
    (made,) = call.calls()
    assert made["stdin"] == text + "?"
    assert "世界" not in " ".join(made["argv"])


def test_the_account_goes_along_and_the_session_around_does_not(call: Call) -> None:
    kept = {
        "ANTHROPIC_API_KEY": "a key",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "CLAUDE_CONFIG_DIR": "/somewhere",
        "CLAUDE_CODE_OAUTH_TOKEN": "a token",
        "CLAUDE_CODE_USE_BEDROCK": "1",
    }
    dropped = (
        "CLAUDECODE CLAUDE_CODE_SESSION_ID CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SSE_PORT"
        " CLAUDE_PROJECT_DIR CLAUDE_PLUGIN_ROOT CLAUDE_PLUGIN_DATA CLAUDE_PLUGIN_OPTION_MODEL CLAUDE_PID"
        " CLAUDE_CODE_MESSAGING_TOKEN CLAUDE_CODE_MESSAGING_SOCKET"
    ).split()
    call.environ |= kept | dict.fromkeys(dropped, "1") | {"CLAUDE_CODE_MAX_RETRIES": "10"}
    call.ask()
    (made,) = call.calls()
    assert made["env"] == kept | {"MEMEM_HOOKS_OFF": "1", "CLAUDE_CODE_MAX_RETRIES": "1"}


def test_start_and_end_of_the_process_are_reported(call: Call) -> None:
    call.ask()
    (made,) = call.calls()
    assert call.ended[-1] == made["pid"]
    assert call.started[-1][1]


@pytest.mark.parametrize(
    "words",
    [
        '{"operations": []}',
        'Here it is:\n```json\n{"operations": []}\n```\nThat {is} all.',
        '```\n{"operations": []}\n```',
        'I found {"operations": []} and no more.',
    ],
)
def test_without_structured_output_the_json_is_found_in_the_words(call: Call, words: str) -> None:
    call.plays({"words": words})
    assert call.ask().value == {"operations": []}


def test_a_cli_that_makes_no_report_is_read_as_it_speaks(call: Call) -> None:
    call.plays({"raw": 'Sure: {"operations": []}'}, flags=[])
    assert call.ask() == ModelAnswer({"operations": []}, UNKNOWN_COST)


def test_a_verbose_cli_lists_messages_and_ends_with_the_report(call: Call) -> None:
    report = {"type": "result", "is_error": False, "structured_output": {"operations": []}}
    call.plays({"raw": json.dumps([{"type": "system"}, report])})
    assert call.ask().value == {"operations": []}


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"usage": None, "total_cost_usd": "free", "modelUsage": []},
        {"usage": {"input_tokens": "7", "output_tokens": -1, "cache_read_input_tokens": True}, "total_cost_usd": None},
        {"usage": [], "total_cost_usd": -0.5, "modelUsage": {}},
        {"usage": {"input_tokens": 10**400, "output_tokens": 2**63}, "total_cost_usd": 10**400},
        {"usage": {"input_tokens": 1e300, "output_tokens": math.inf}, "total_cost_usd": math.nan},
    ],
)
def test_malformed_report_gives_no_usage(call: Call, odd: dict[str, Any]) -> None:
    call.plays({"result": {"type": "result", "structured_output": {}} | odd})
    assert call.ask() == ModelAnswer({}, UNKNOWN_COST)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"exit": 1, "stderr": "Error: something broke"}, CallFailed),
        ({"exit": 1}, CallFailed),
        ({"empty": True}, CallFailed),
        ({"words": ""}, CallFailed),
        ({"kill": True}, CallFailed),
        ({"raw": "%PDF garbage \x00\x01"}, NotJson),
        ({"raw": "[" * 100_000}, NotJson),
        ({"operations": [{"op": "ADD", "quote": "x" * 100}], "truncate": 250}, NotJson),
        ({"words": "I would rather talk about this."}, NotJson),
        ({"words": 'Cut off: {"operations": [{"op": "ADD"}, {"op'}, NotJson),
        ({"raw": "null"}, None),
    ],
)
def test_a_failed_call(call: Call, step: dict[str, Any], expected: type[ExtractError] | None) -> None:
    call.plays(step)
    if expected is None:
        assert call.ask().value is None
        return
    with pytest.raises(expected) as raised:
        call.ask()
    assert type(raised.value) is expected


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ({"api_error_status": 401, "result": "Invalid API key · Fix external API key"}, NotLoggedIn),
        ({"api_error_status": 529, "result": "API Error: 529 Overloaded."}, Overloaded),
        ({"api_error_status": None, "result": "no", "stop_reason": "refusal"}, Refused),
    ],
)
def test_a_failure_that_the_cli_reports(call: Call, report: dict[str, Any], expected: type[ExtractError]) -> None:
    spent = {"usage": {"input_tokens": 5, "output_tokens": 2}, "total_cost_usd": 0.25}
    call.plays({"result": {"type": "result", "subtype": "success", "is_error": True} | report | spent, "exit": 1})
    with pytest.raises(expected) as raised:
        call.ask()
    assert raised.value.usage == Usage(5, 2, 0.25)


def test_a_limit_says_when_it_is_over(call: Call) -> None:
    words = "You've hit your 5-hour limit · resets 4:01pm (Europe/Berlin)"
    call.plays({"result": {"type": "result", "is_error": True, "api_error_status": 429, "result": words}, "exit": 1})
    with pytest.raises(RateLimited) as raised:
        call.ask()
    assert raised.value.retry_at == SteppingClock().now.replace(hour=16, minute=2)


def test_words_that_are_not_json_were_paid_for(call: Call) -> None:
    call.plays({"words": "no"})
    with pytest.raises(NotJson) as raised:
        call.ask()
    assert raised.value.usage == PAID


def test_a_call_that_takes_too_long_is_ended_with_all_that_it_started(call: Call) -> None:
    call.ask()
    call.plays({"sleep": 60, "child": True})
    call.seconds = 0.3
    with pytest.raises(TookTooLong, match=r"within 0\.3 seconds"):
        call.ask()
    assert fake_claude.ends(call.calls()[-1]["child"])


def test_child_processes_are_ended_too(call: Call) -> None:
    call.plays({"operations": [], "child": True})
    call.ask()
    assert fake_claude.ends(call.calls()[0]["child"])


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C is heard, also where the tests run in the background of a shell, which has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_call_is_ended_with_all_that_it_started(call: Call) -> None:
    call.ask()
    call.plays({"sleep": 60, "child": True})

    def interrupt() -> None:
        until = time.monotonic() + 20
        while len(call.calls()) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        call.ask()
    assert fake_claude.ends(call.calls()[-1]["child"])


def test_a_caller_that_cannot_write_it_down_leaves_no_process(call: Call) -> None:
    call.ask()
    call.plays({"sleep": 60})
    asked = call.claude()

    def fail(pid: int, start: str) -> None:
        call.started.append((pid, start))
        raise RuntimeError("the state is gone")

    asked.on_start = fail
    with pytest.raises(RuntimeError, match="the state is gone"):
        asked.ask(system="", instruction="", text="", schema=SCHEMA)


def test_a_flood_is_ended_before_the_time_is_up(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(claude, "MAX_OUTPUT_BYTES", 100_000)
    for stream in (1, 2):
        call.plays({"flood": stream})
        with pytest.raises(CallFailed, match="more than 100,000 bytes"):
            call.ask()


def test_long_answer_is_read_up_to_a_limit(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude, "MAX_OUTPUT_BYTES", 1_000)
    call.plays({"raw": '{"a": "' + "x" * 2_000 + '"}'})
    with pytest.raises(NotJson, match="1,000 characters"):
        call.ask()


@pytest.mark.parametrize("content", [None, "", "not a program"])
def test_a_command_that_cannot_be_started_is_missing(call: Call, tmp_path: Path, content: str | None) -> None:
    command = tmp_path / "gone"
    if content is not None:
        command.write_text(content)
        command.chmod(0o755 if content else 0o644)
    with pytest.raises(CliMissing, match="gone cannot be started"):
        call.claude(command).ask(system="", instruction="", text="", schema=SCHEMA)


def test_arguments_that_the_system_does_not_take_are_not_a_missing_cli(call: Call) -> None:
    with pytest.raises(CallFailed, match="cannot be started"):
        call.claude().ask(system="x" * 10_000_000, instruction="", text="", schema=SCHEMA)


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude"])
def test_a_folder_with_instructions_is_not_asked_from(call: Call, name: str) -> None:
    call.folder.mkdir(parents=True)
    (call.folder / name).touch()
    with pytest.raises(HomeError, match=name):
        call.ask()
    assert call.calls() == []


def test_uncreatable_folder_is_reported(call: Call) -> None:
    call.folder.parent.write_text("a file")
    with pytest.raises(HomeError, match="Cannot run claude in"):
        call.ask()


def test_the_options_are_asked_for_once_per_cli(call: Call) -> None:
    call.ask()
    call.ask()
    assert call.helped() == 1
    assert stat.S_IMODE(call.flags_file.stat().st_mode) == 0o600
    (call.bin / "claude").touch()
    call.ask()
    assert call.helped() == 2


def test_uncached_options_are_read_again(call: Call) -> None:
    call.flags_file.mkdir(parents=True)
    call.ask()
    call.ask()
    assert call.helped() == 2


@pytest.mark.parametrize("content", ["", "[]", '{"cli": 1}', '{"flags": []}', "\xff"])
def test_unreadable_options_cache_is_rebuilt(call: Call, content: str) -> None:
    call.flags_file.parent.mkdir()
    call.flags_file.write_text(content, encoding="latin-1")
    call.ask()
    assert call.helped() == 1


def test_an_old_cli_gets_the_options_that_it_has_and_the_rest_in_words(call: Call) -> None:
    call.plays({"words": '{"operations": []}'}, flags=["--model", "--output-format"])
    assert call.ask(session="0b0c6a52-1111-4222-8333-444455556666").value == {"operations": []}
    (made,) = call.calls()
    *options, words = made["argv"]
    assert options == ["-p", "--model", "haiku", "--output-format", "json", "--"]
    assert words == (
        "You extract.\n\nWhat is new?\n\n"
        f"Answer with one JSON object of this schema and nothing else: {json.dumps(SCHEMA)}"
    )


@pytest.mark.parametrize("answer", [{"help_exit": 1}, {"help": "ask your administrator"}])
def test_a_cli_that_does_not_tell_its_options_is_given_all(call: Call, answer: dict[str, Any]) -> None:
    call.plays({"operations": []}, **answer)
    call.ask()
    (made,) = call.calls()
    assert {each for each in made["argv"] if each.startswith("--")} == {*fake_claude.FLAGS, "--"} - {"--session-id"}


def test_slow_help_is_ignored(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude, "HELP_SECONDS", 0.3)
    call.plays({"operations": []}, help_sleep=60)
    assert call.ask().value == {"operations": []}


def test_options_that_are_in_no_list_but_in_a_description_do_not_count(call: Call) -> None:
    listed = "  --model <model>            As in\n                             --safe-mode"
    call.plays({"operations": []}, flags=["--model"], help=listed)
    call.ask()
    assert "--safe-mode" not in call.calls()[0]["argv"]


def test_an_option_that_turns_out_to_be_unknown_is_asked_about_again_and_left_out(call: Call) -> None:
    call.ask()
    kept = json.loads(call.flags_file.read_text())
    older = [flag for flag in fake_claude.FLAGS if flag != "--safe-mode"]
    call.plays({"operations": []}, flags=older)
    status = (call.bin / "claude").stat()
    kept["cli"][1:] = [status.st_mtime_ns, status.st_size]
    call.flags_file.write_text(json.dumps(kept))
    assert call.ask().value == {"operations": []}
    assert call.helped() == 2
    call.ask()
    assert call.helped() == 2
    assert "--safe-mode" not in call.calls()[-1]["argv"]


def test_a_help_that_lists_what_is_refused_is_not_believed(call: Call) -> None:
    older = [flag for flag in fake_claude.FLAGS if flag not in ("--safe-mode", "--tools")]
    call.plays({"operations": []}, flags=older, help_exit=1)
    assert call.ask().value == {"operations": []}
    call.ask()
    assert call.helped() == 2  # at first, and once more, though two are refused


def test_an_unknown_option_that_is_not_ours_is_a_failure(call: Call) -> None:
    call.plays({"exit": 1, "stderr": "error: unknown option '--other'"})
    with pytest.raises(CallFailed, match="--other"):
        call.ask()
