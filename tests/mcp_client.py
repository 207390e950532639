"""The other end of an MCP server: lines of JSON, as Claude Code sends them."""

import json
import os
import select
from typing import Any

PATIENCE = 60.0
"""Seconds that a busy machine may need; a test that passes waits for none of them."""
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Client:
    """The other end of two pipes."""

    def __init__(self, to_server: int, from_server: int) -> None:
        self.to_server, self.from_server = to_server, from_server
        self.number = 0
        self.received = b""

    def say(self, line: bytes) -> None:
        data = line + b"\n"
        while data:
            data = data[os.write(self.to_server, data) :]

    def send(self, method: str, **params: Any) -> int:
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.say(json.dumps(message).encode())
        return self.number

    def notify(self, method: str, **params: Any) -> None:
        self.say(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def read(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while b"\n" not in self.received:
            ready, _, _ = select.select([self.from_server], [], [], PATIENCE)
            assert ready, "the server says nothing"
            data = os.read(self.from_server, 1 << 16)
            if not data:
                assert not self.received
                return None
            self.received += data
        line, _, self.received = self.received.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def answer(self) -> dict[str, Any]:
        message = self.read()
        assert message is not None
        return message

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = self.send(method, **params)
        answer = self.answer()
        assert answer["id"] == number
        return answer

    def begin(self) -> dict[str, Any]:
        result: dict[str, Any] = self.ask("initialize", **INITIALIZE)["result"]
        self.notify("notifications/initialized")
        return result

    def call(self, name: str, **arguments: Any) -> tuple[str, bool]:
        """The text of an answer, and whether it is an error."""
        result = self.ask("tools/call", name=name, arguments=arguments)["result"]
        (content,) = result["content"]
        assert content["type"] == "text"
        return content["text"], result["isError"]

    def hang_up(self) -> None:
        os.close(self.to_server)
        self.to_server = -1
