"""An OpenAI-compatible server on this machine: it plays scripted answers, and records what it is asked."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = Callable[["Handler"], None]


class ModelServer(ThreadingHTTPServer):
    """It plays `steps`, then answers each question with the facts in it, in other words."""

    daemon_threads = False  # each is joined when the server is closed

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.host = f"http://127.0.0.1:{self.server_address[1]}"
        self.url = f"{self.host}/v1"
        self.models = ["qwen3:latest"]
        self.formats = {"json_schema", "json_object", "text"}  # the accepted ones
        self.steps: list[Step] = []
        self.requests: list[tuple[str, str, dict[str, Any]]] = []
        self.keys: list[str | None] = []
        self.is_over = threading.Event()

    @property
    def questions(self) -> list[dict[str, Any]]:
        return [content for method, _, content in self.requests if method == "POST"]

    @property
    def paths(self) -> list[str]:
        return [f"{method} {path}" for method, path, _ in self.requests]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up: some tests do that."""


class Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_GET(self) -> None:
        self._record({})
        if self.path == "/v1/models" and not self.server.steps:
            self.send_json(200, {"object": "list", "data": [{"id": name} for name in self.server.models]})
        else:
            self._play({})

    def do_POST(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._record(content)
        self._play(content)

    def _record(self, content: dict[str, Any]) -> None:
        self.server.requests.append((self.command, self.path, content))
        self.server.keys.append(self.headers.get("Authorization"))

    def _play(self, content: dict[str, Any]) -> None:
        if self.server.steps:
            self.server.steps.pop(0)(self)
        elif self.path != "/v1/chat/completions":
            self.send_json(404, {"error": {"message": "there is no such path"}})
        elif (kind := content.get("response_format", {"type": "text"})["type"]) not in self.server.formats:
            self.send_json(400, {"error": {"message": f"response_format of type {kind} is not supported"}})
        else:
            self.send_json(200, completion(echo(content["messages"][1]["content"])))

    def send_json(self, status: int, content: Any, **headers: str) -> None:
        self.send_bytes(status, json.dumps(content).encode(), **headers)

    def send_bytes(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"Content_Length": str(len(data))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """The test's output stays clean."""


def completion(words: Any, *, reason: str = "stop", **message: Any) -> dict[str, Any]:
    content = words if isinstance(words, str | list | None) else json.dumps(words)
    return {
        "choices": [
            {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": content, **message}}
        ],
        "usage": {"prompt_tokens": 123, "completion_tokens": 12},
    }


def echo(text: str) -> dict[str, Any]:
    """An operation for each fact in a question, as the fake claude makes them."""
    found = dict(re.findall(r"(?m)^FACT-([\w.]+): ?(.*)", text))
    return {
        "operations": [
            {
                "op": "ADD",
                "target": None,
                "title": name,
                "content": said,
                "kind": "fact",
                "scope": "project",
                "importance": 3,
                "keys": [name],
                "paths": [],
                "quote": f"FACT-{name}: {said}",
            }
            for name, said in found.items()
        ]
    }


def says(words: Any, **more: Any) -> Step:
    return lambda handler: handler.send_json(200, completion(words, **more))


def fails(status: int, message: str = "", **headers: str) -> Step:
    return lambda handler: handler.send_json(status, {"error": {"message": message}}, **headers)


def sends(data: bytes, status: int = 200, **headers: str) -> Step:
    return lambda handler: handler.send_bytes(status, data, **headers)


def waits(handler: Handler) -> None:
    """Answer nothing until the test is over."""
    handler.server.is_over.wait(60)


def drips(handler: Handler) -> None:
    """Begin an answer, and never end it."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices"')
    handler.wfile.flush()
    handler.server.is_over.wait(60)


def hangs_up(handler: Handler) -> None:
    """Announce more than is sent."""
    handler.send_bytes(200, b'{"choices"', Content_Length="1000")
    handler.close_connection = True


@contextmanager
def serving() -> Iterator[ModelServer]:
    server = ModelServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.is_over.set()
        server.shutdown()
        server.server_close()
        thread.join()
