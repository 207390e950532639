"""Asking an OpenAI-compatible server: what it is sent, what comes of its answer, and that no other host hears of it."""

import json
import math
import socket
import ssl
import stat
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memem.core.errors import (
    CallFailed,
    ExtractError,
    ModelMissing,
    NotJson,
    NotLoggedIn,
    Overloaded,
    RateLimited,
    Refused,
    TookTooLong,
    Usage,
)
from memem.model import connection
from memem.model.answer import ModelAnswer
from memem.model.endpoint import RECHECK, Endpoint
from tests.fakes import SteppingClock
from tests.model_server import (
    ModelServer,
    Step,
    completion,
    drips,
    fails,
    hangs_up,
    says,
    sends,
    serving,
    waits,
)

SCHEMA = {"type": "object", "properties": {"operations": {"type": "array"}}}
KEY = "key-1f0e6f0d7a11"
USED = Usage(input_tokens=123, output_tokens=12, dollars=0.0)
NONE: dict[str, Any] = {"operations": []}


class Asker:
    """Asks a server, from a home of its own."""

    def __init__(self, server: ModelServer, tmp_path: Path) -> None:
        self.server = server
        self.clock = SteppingClock()
        self.formats_file = tmp_path / "home" / "cache" / "model-formats.json"
        self.seconds = 30.0

    def endpoint(self, model: str = "qwen3", key: str = "", url: str = "") -> Endpoint:
        return Endpoint(url or self.server.url, model, self.seconds, key, self.formats_file, self.clock)

    def ask(self, *steps: Step, text: str = "the turns", **given: str) -> ModelAnswer:
        self.server.steps[:] = steps
        return self.endpoint(**given).ask(
            system="You extract.", instruction="What is new?", text=text, schema=SCHEMA, session="s"
        )

    def fails(self, kind: type[ExtractError], *steps: Step, **given: str) -> ExtractError:
        with pytest.raises(kind) as raised:
            self.ask(*steps, **given)
        assert type(raised.value) is kind
        assert "\n" not in str(raised.value)
        assert KEY not in str(raised.value)
        return raised.value


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving() as server:
        yield server


@pytest.fixture
def asker(server: ModelServer, tmp_path: Path) -> Asker:
    return Asker(server, tmp_path)


def formats(server: ModelServer) -> list[str]:
    return [each.get("response_format", {"type": "text"})["type"] for each in server.questions]


# --- the question -------------------------------------------------------------------------------------------------


def test_the_question_names_model_format_and_schema(asker: Asker, server: ModelServer) -> None:
    assert asker.ask(says(NONE)) == ModelAnswer(NONE, USED)
    (sent,) = server.questions
    form = f"Answer with one JSON object of this schema and nothing else: {json.dumps(SCHEMA)}"
    assert sent == {
        "model": "qwen3",
        "messages": [
            {"role": "system", "content": f"You extract.\n\n{form}"},
            {"role": "user", "content": "What is new?\n\nthe turns"},
        ],
        "temperature": 0,
        "stream": False,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
        },
    }
    assert server.paths == ["POST /v1/chat/completions"]


def test_any_text_arrives(asker: Asker, server: ModelServer) -> None:
    text = "Grüße, 世界 \x00 --flag '\"\n" * 20_000
    asker.ask(says(NONE), text=text + "\ud800")
    assert server.questions[0]["messages"][1]["content"] == f"What is new?\n\n{text}?"


def test_the_key_is_sent_to_the_server_and_shown_nowhere(asker: Asker, server: ModelServer) -> None:
    asker.ask(says(NONE), key=KEY)
    asker.ask(says(NONE))
    assert server.keys == [f"Bearer {KEY}", None]
    assert KEY not in repr(asker.endpoint(key=KEY))
    asker.fails(NotLoggedIn, fails(401, f"Incorrect key provided: {KEY}."), key=KEY)
    asker.fails(CallFailed, sends(f"I do not like {KEY}".encode(), 418), key=KEY)
    asker.fails(Refused, says(None, refusal=f"not with {KEY}"), key=KEY)


@pytest.mark.parametrize("key", ["two words", "line\nX-Header: 1", "kéy"])
def test_a_key_that_is_no_header_is_not_sent(asker: Asker, server: ModelServer, key: str) -> None:
    assert "MEMEM_MODEL_KEY" in str(asker.fails(NotLoggedIn, key=key))
    assert server.requests == []


# --- the model ----------------------------------------------------------------------------------------------------


def test_without_a_name_the_only_model_is_asked(asker: Asker, server: ModelServer) -> None:
    asker.ask(model="")
    assert server.questions[0]["model"] == "qwen3:latest"


@pytest.mark.parametrize(
    ("models", "said"), [(["qwen3", "llama3"], r"has 2 models \(qwen3, llama3\)"), ([], "lists no model")]
)
def test_which_of_several_models_is_for_the_user_to_say(
    asker: Asker, server: ModelServer, models: list[str], said: str
) -> None:
    server.models = models
    with pytest.raises(ModelMissing, match=f"{said}. Set MEMEM_MODEL"):
        asker.ask(model="")
    assert server.questions == []


@pytest.mark.parametrize(
    "listed", [b"<html>", b"[]", b'{"data": 7}', b'{"data": [7, {"id": 7}, {}]}', b"\xff", b"[" * 100_000]
)
def test_a_list_of_models_of_another_shape_is_an_error(asker: Asker, listed: bytes) -> None:
    with pytest.raises(ExtractError, match=r"lists no model|OpenAI-compatible"):
        asker.ask(sends(listed), model="")


# --- the format ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accepted", "tried"),
    [
        ({"json_object", "text"}, ["json_schema", "json_object"]),
        ({"text"}, ["json_schema", "json_object", "text"]),
    ],
)
def test_a_rejected_format_is_replaced_and_remembered(
    asker: Asker, server: ModelServer, accepted: set[str], tried: list[str]
) -> None:
    server.formats = accepted
    assert asker.ask().value == NONE
    assert asker.ask().value == NONE
    assert formats(server) == [*tried, tried[-1]]
    assert stat.S_IMODE(asker.formats_file.stat().st_mode) == 0o600
    asker.ask(model="llama3")
    assert formats(server)[-len(tried) :] == tried, "another model may accept what this one rejects"


def test_the_best_format_is_tried_again_after_a_month(asker: Asker, server: ModelServer) -> None:
    server.formats = {"text"}
    asker.ask()
    asker.clock.forward(seconds=(RECHECK + timedelta(hours=1)).total_seconds())
    server.formats = {"json_schema"}
    asker.ask()
    assert formats(server)[3:] == ["json_schema"]


def test_a_server_that_cannot_build_a_grammar_is_asked_without(asker: Asker, server: ModelServer) -> None:
    assert asker.ask(fails(500, "failed to parse grammar"), says(NONE)).value == NONE
    assert formats(server) == ["json_schema", "json_object"]


@pytest.mark.parametrize("step", [fails(400, "the request exceeds the available context size"), fails(500, "boom")])
def test_other_failures_are_not_taken_for_a_rejected_format(asker: Asker, server: ModelServer, step: Step) -> None:
    asker.fails(CallFailed, step)
    assert formats(server) == ["json_schema"]
    assert not asker.formats_file.exists()


def test_rejecting_every_format_is_a_failure_that_nobody_remembers(asker: Asker) -> None:
    server_says = fails(422, "messages: field required")
    assert "messages: field required" in str(asker.fails(CallFailed, server_says, server_says, server_says))
    assert not asker.formats_file.exists()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"x": 1}', b"\xff", None])
def test_unreadable_memory_of_formats_is_replaced(asker: Asker, server: ModelServer, content: bytes | None) -> None:
    asker.formats_file.parent.mkdir(parents=True)
    if content is None:
        asker.formats_file.mkdir()
    else:
        key = f"{server.url} qwen3"
        asker.formats_file.write_bytes(content.replace(b"x", key.encode()))
    server.formats = {"json_object"}
    assert asker.ask().value == NONE


# --- the answer ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        '{"operations": []}',
        'Here it is:\n```json\n{"operations": []}\n```\nThat {is} all.',
        '<think>\nA {brace} or "two"}\n</think>\n\n{"operations": []}',
        [{"type": "text", "text": '{"operations"'}, {"type": "text", "text": ": []}"}],
    ],
)
def test_json_is_found_in_the_words(asker: Asker, words: Any) -> None:
    assert asker.ask(says(words)).value == NONE


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (says("I would rather talk about this."), NotJson),
        (says('{"operations": [{"op": "ADD"}, {"op'), NotJson),
        (says('{"operations": []}', reason="length"), CallFailed),
        (says(NONE, reason="content_filter"), Refused),
        (says(None, refusal="no"), Refused),
        (says(""), CallFailed),
        (says(None), CallFailed),
    ],
)
def test_an_answer_without_a_value_was_counted(asker: Asker, step: Step, expected: type[ExtractError]) -> None:
    assert asker.fails(expected, step).usage == USED


def test_an_answer_cut_off_at_a_limit_says_so(asker: Asker, server: ModelServer) -> None:
    words = str(asker.fails(CallFailed, says('{"operations": [', reason="length")))
    assert words.startswith(f"{server.url} cut the answer off after 12 tokens. Allow")


@pytest.mark.parametrize(
    "body",
    [
        *(
            b"",
            b"%PDF garbage \x00\x01",
            b"<html>It works!</html>",
            b"null",
            b"[]",
            b"{}",
            b"[" * 100_000,
            b'{"choices": 7}',
        ),
        *(b'{"choices": [7]}', b'{"error": "no"}', b'{"choices": [], "error": {"code": "x"}}'),
    ],
)
def test_a_server_that_is_not_compatible_is_named(asker: Asker, server: ModelServer, body: bytes) -> None:
    message = str(asker.fails(CallFailed, sends(body)))
    assert server.url in message
    assert "MEMEM_MODEL_URL" in message


def test_an_error_in_a_successful_answer_is_that_error(asker: Asker) -> None:
    asker.fails(RateLimited, sends(b'{"error": {"code": 429, "message": "slow down"}}'))


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        {"prompt_tokens": "7", "completion_tokens": -1},
        {"prompt_tokens": 10**400},
        {"completion_tokens": True},
    ],
)
def test_malformed_usage_counts_nothing(asker: Asker, usage: Any) -> None:
    assert asker.ask(sends(json.dumps(completion(NONE) | {"usage": usage}).encode())).usage == Usage()


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_usage_that_is_no_number_counts_nothing(asker: Asker, odd: float) -> None:
    usage = {"prompt_tokens": odd, "completion_tokens": odd}
    assert asker.ask(sends(json.dumps(completion(NONE) | {"usage": usage}).encode())).usage == Usage()


# --- failures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "expected", "advice"),
    [
        (fails(401, "no key"), NotLoggedIn, "Set MEMEM_MODEL_KEY"),
        (fails(403, "no"), NotLoggedIn, "Set MEMEM_MODEL_KEY"),
        (fails(404, 'model "qwen3" not found, try pulling it first'), ModelMissing, "set MEMEM_MODEL,"),
        (fails(400, "model qwen3 does not exist"), ModelMissing, "set MEMEM_MODEL,"),
        (fails(429, "slow down"), RateLimited, "Nothing is lost"),
        (fails(502), Overloaded, "starting or overloaded"),
        (fails(503, "Loading model"), Overloaded, "starting or overloaded"),
        (fails(500, "the runner crashed"), CallFailed, "server's log"),
        (fails(413), CallFailed, "larger context"),
        (fails(400, "This model's maximum context length is 4096 tokens"), CallFailed, "larger context"),
        (sends(b'{"detail": "broken"}', 418), CallFailed, "broken"),
        (sends(b"<html>gateway</html>", 504), Overloaded, "gave no reason"),
        (hangs_up, Overloaded, "the connection ended"),
        (sends(b"", 200, Transfer_Encoding="chunked"), Overloaded, "server's log"),
    ],
)
def test_a_failure_names_the_server_and_what_to_do(
    asker: Asker, server: ModelServer, step: Step, expected: type[ExtractError], advice: str
) -> None:
    message = str(asker.fails(expected, step))
    assert server.url in message
    assert advice in message


@pytest.mark.parametrize(
    ("headers", "words", "seconds"),
    [
        ({"Retry_After": "90"}, "", 90),
        ({"Retry_After": "Thu, 01 Jan 1970 00:00:00 GMT"}, "", None),
        ({"Retry_After": "soon"}, "", None),
        ({}, "Please try again in 20s.", 20),
        ({}, "", None),
    ],
)
def test_a_limit_says_when_it_is_over(asker: Asker, headers: dict[str, str], words: str, seconds: float | None) -> None:
    problem = asker.fails(RateLimited, fails(429, words, **headers))
    assert isinstance(problem, RateLimited)
    assert problem.retry_at == (None if seconds is None else asker.clock.now + timedelta(seconds=seconds))


@pytest.mark.parametrize("step", [waits, drips])
def test_a_call_ends_at_its_deadline(asker: Asker, step: Step) -> None:
    asker.seconds = 0.3
    assert "within 0.3 seconds" in str(asker.fails(TookTooLong, step))


def test_the_deadline_holds_for_a_header_that_never_ends(asker: Asker) -> None:
    def step(handler: Any) -> None:
        while not handler.server.is_over.wait(0.02):
            handler.wfile.write(b"X")

    asker.seconds = 0.3
    asker.fails(TookTooLong, step)


@pytest.mark.parametrize("headers", [{}, {"Content_Length": "100000000"}])
def test_a_flood_is_ended(asker: Asker, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_ANSWER_BYTES", 100_000)
    message = str(asker.fails(CallFailed, sends(b"x" * 10_000_000, 200, **headers)))
    assert "more than 100,000 bytes" in message


def test_a_server_that_is_not_there_is_waited_for(asker: Asker) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        message = str(asker.fails(Overloaded, url=url))
    assert message.startswith(f"The model's server {url} cannot be reached (")
    assert "Start it, or correct MEMEM_MODEL_URL" in message


def test_a_server_without_tls_is_not_talked_to_in_plain_text(asker: Asker, server: ModelServer) -> None:
    asker.seconds = 0.3
    asker.fails(Overloaded, url=server.url.replace("http:", "https:"), key=KEY)
    assert server.requests == []


# --- no other host ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(asker: Asker, server: ModelServer, status: int) -> None:
    with serving() as other:
        problem = asker.fails(ModelMissing, sends(b"", status, Location=f"{other.url}/chat/completions"), key=KEY)
        assert other.requests == []
    assert "redirects" in str(problem)
    assert len(server.requests) == 1


def test_no_proxy_is_used(asker: Asker, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.host)
        monkeypatch.delenv("no_proxy", raising=False)
        asker.ask(says(NONE))
        assert proxy.requests == []
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        *(("127.0.0.1", True), ("::1", True), ("10.1.2.3", True), ("192.168.1.20", True), ("172.16.0.9", True)),
        *(("100.100.1.1", True), ("169.254.1.1", True), ("fe80::1%eth0", True), ("fd00::1", True)),
        *(("8.8.8.8", False), ("2606:4700::1111", False), ("::ffff:8.8.8.8", False), ("::ffff:10.0.0.1", True)),
    ],
)
def test_private_addresses(address: str, expected: bool) -> None:
    assert connection.is_private(address) is expected


def test_plain_http_to_a_public_host_is_refused_before_anything_is_sent(
    asker: Asker, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def is_private(address: str) -> bool:
        asked.append(address)
        return False

    monkeypatch.setattr(connection, "is_private", is_private)
    assert "https://" in str(asker.fails(ModelMissing, key=KEY))
    assert asked == ["127.0.0.1"]
    assert server.requests == []


def test_certificates_are_checked() -> None:
    from http.client import HTTPSConnection

    context = HTTPSConnection("localhost")._context  # type: ignore[attr-defined]
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
