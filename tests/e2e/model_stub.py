"""A stub of the Messages API on loopback, so that a real Claude Code can be driven without a model.

    with model_stub() as stub:
        stub.answers(lambda request: "deploy" in request.last_message, text("Done."))
        ...                       # run Claude Code with ANTHROPIC_BASE_URL=stub.url
        stub.requests             # what it was asked, in order

The rule that was added last is tried first. What no rule is about gets a short text, and no operations if it asks for
structured output. A rule with a `gate` is answered once somebody sets it.
"""

import json
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

STRUCTURED = "StructuredOutput"
Block = dict[str, Any]


def text(words: str) -> Block:
    """The model says something."""
    return {"type": "text", "text": words}


def tool_use(name: str, **given: Any) -> Block:
    """The model calls a tool."""
    return {"type": "tool_use", "name": name, "input": given}


@dataclass(frozen=True)
class Request:
    """One question to the model, and how many tokens it was said to be."""

    body: dict[str, Any]
    tokens: int = 0

    @property
    def everything(self) -> str:
        """All that the model is shown, as one text."""
        return json.dumps([self.body.get("system", ""), self.body["messages"]], ensure_ascii=False)

    @property
    def last_message(self) -> str:
        """Return the user's last message with the context added to it."""
        return "\n".join(str(block.get("text", "")) for block in self._last)

    @property
    def tool_result(self) -> str:
        """Return the result of the last tool call, or an empty text."""
        found = [block["content"] for block in self._last if block["type"] == "tool_result"]
        return json.dumps(found, ensure_ascii=False) if found else ""

    @property
    def is_mining(self) -> bool:
        return STRUCTURED in self.tools

    @property
    def tools(self) -> list[str]:
        return [str(tool.get("name")) for tool in self.body.get("tools", [])]

    @property
    def _last(self) -> list[Block]:
        for message in reversed(self.body["messages"]):
            if message["role"] == "user":
                content = message["content"]
                return [text(content)] if isinstance(content, str) else content
        return []


@dataclass(frozen=True)
class Rule:
    """When it answers, and what; `gate` is waited for. One with an `error` answers with that HTTP status instead."""

    when: Callable[[Request], bool]
    blocks: Sequence[Block]
    gate: threading.Event | None = None
    error: int = 0


@dataclass
class ModelStub:
    """The rules, and what was asked."""

    rules: list[Rule] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    url: str = ""

    def answers(self, when: Callable[[Request], bool], *blocks: Block, gate: threading.Event | None = None) -> None:
        """From now on, answer so when asked so."""
        self.rules.insert(0, Rule(when, blocks, gate))

    def fails(self, when: Callable[[Request], bool], status: int) -> None:
        """From now on, answer with an error when asked so."""
        self.rules.insert(0, Rule(when, (), error=status))

    def reply_to(self, request: Request) -> list[Block] | int:
        """Writes the question down and finds its answer: blocks, or the status of an error."""
        self.requests.append(request)
        for rule in self.rules:
            if rule.when(request):
                if rule.gate:
                    rule.gate.wait(60)
                if rule.error:
                    return rule.error
                return [block | {"id": f"toolu_{uuid.uuid4().hex[:22]}"} for block in rule.blocks]
        if request.is_mining and not request.tool_result:
            return [tool_use(STRUCTURED, operations=[]) | {"id": "toolu_nothing"}]
        return [text("All right.")]


@contextmanager
def model_stub() -> Iterator[ModelStub]:
    """A stub that listens on a port of its own."""
    stub = ModelStub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *given: _Handler(stub, *given))
    server.daemon_threads = True
    stub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Speaks as much of the API as Claude Code listens to."""

    protocol_version = "HTTP/1.1"

    def __init__(self, stub: ModelStub, *given: Any) -> None:
        self.stub = stub
        super().__init__(*given)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the terminal."""

    def do_HEAD(self) -> None:
        self._send({}, 200)

    def do_GET(self) -> None:
        self._send({"type": "error", "error": {"type": "not_found_error", "message": "not in this stub"}}, 404)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self._send({"input_tokens": len(raw) // 4 + 1}, 200)
        elif path == "/v1/messages":
            self._answer(json.loads(raw), len(raw) // 4 + 1)
        else:
            self.do_GET()

    def _answer(self, body: dict[str, Any], tokens: int) -> None:
        content = self.stub.reply_to(Request(body, tokens))
        if isinstance(content, int):
            kind = "authentication_error" if content == 401 else "api_error"
            self._send({"type": "error", "error": {"type": kind, "message": "the stub refuses"}}, content)
            return
        called = any(block["type"] == "tool_use" for block in content)
        usage = {"input_tokens": tokens, "output_tokens": 12}
        usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        message = {
            "id": f"msg_{uuid.uuid4().hex[:24]}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": content,
            "stop_reason": "tool_use" if called else "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }
        if body.get("stream"):
            self._stream(message)
        else:
            self._send(message, 200)

    def _stream(self, message: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self._event("message_start", message=message | {"content": [], "stop_reason": None})
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                empty, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = block | {"input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            self._event("content_block_start", index=index, content_block=empty)
            self._event("content_block_delta", index=index, delta=delta)
            self._event("content_block_stop", index=index)
        ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        self._event("message_delta", delta=ended, usage=message["usage"])
        self._event("message_stop")
        self.close_connection = True

    def _event(self, kind: str, **fields: Any) -> None:
        line = json.dumps({"type": kind, **fields})
        self.wfile.write(f"event: {kind}\ndata: {line}\n\n".encode())
        self.wfile.flush()

    def _send(self, value: dict[str, Any], status: int) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
