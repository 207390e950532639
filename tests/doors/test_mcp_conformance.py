"""The server, driven by the client of the official SDK."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

import memem
from memem.doors.mcp.tools import TOOLS
from tests.mcp_client import PATIENCE

SERVE = Path(memem.__file__).with_name("serve.py")


def in_session(work: Callable[[ClientSession], Any], folder: Path, *program: str) -> Any:
    """Return the result of `work` in a session with its own server."""

    async def run() -> Any:
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-I", *(program or ("-S", str(SERVE)))],
            cwd=str(folder),
            env={"HOME": str(folder), "MEMEM_ENCODER": "none"},
        )
        with anyio.fail_after(PATIENCE):
            async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
                await session.initialize()
                return await work(session)

    return anyio.run(run)


def test_it_lists_its_tools(tmp_path: Path) -> None:
    listed = in_session(lambda session: session.list_tools(), tmp_path)
    assert [tool.name for tool in listed.tools] == [tool["name"] for tool in TOOLS.values() if not tool["full"]]
    assert [tool.input_schema for tool in listed.tools] == [TOOLS[tool.name]["inputSchema"] for tool in listed.tools]
    assert {tool.name for tool in listed.tools if tool.annotations.destructive_hint} == {"memory_forget"}


def test_it_calls_a_tool(tmp_path: Path) -> None:
    async def work(session: ClientSession) -> Any:
        await session.call_tool("memory_save", {"content": "The house is yellow.", "title": "House"})
        return await session.call_tool("memory_search", {"query": "house"})

    result = in_session(work, tmp_path)
    assert not result.is_error
    assert "The house is yellow." in result.content[0].text


def test_it_reports_an_error_of_a_tool_and_of_the_protocol(tmp_path: Path) -> None:
    async def work(session: ClientSession) -> Any:
        with pytest.raises(MCPError, match="There is no method"):
            await session.list_prompts()
        return await session.call_tool("memory_get", {"ids": 7})

    result = in_session(work, tmp_path)
    assert result.is_error
    assert "must be a list of strings" in result.content[0].text


SLOW = """
import pathlib, sys, time
sys.path.insert(0, {root!r})
from memem import serve

class Slow:
    tools = "default"
    def result(self, name, arguments):
        pathlib.Path("started").touch()
        while name == "wait" and not pathlib.Path("go").exists():
            time.sleep(0.01)
        return name, False
    def close(self):
        pass

serve.load = Slow
serve.main([])
"""


def test_it_goes_on_after_a_call_was_cancelled(tmp_path: Path) -> None:
    async def work(session: ClientSession) -> Any:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.call_tool, "wait", {})
            while not (tmp_path / "started").exists():
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
        await session.send_ping()
        (tmp_path / "go").touch()
        return await session.call_tool("memory_list", {})

    result = in_session(work, tmp_path, "-c", SLOW.format(root=str(SERVE.parents[1])))
    assert result.content[0].text == "memory_list"


def test_a_client_that_probes_for_a_newer_protocol_falls_back(tmp_path: Path) -> None:
    async def run() -> str:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-I", "-S", str(SERVE)], cwd=str(tmp_path), env={"HOME": str(tmp_path)}
        )
        with anyio.fail_after(PATIENCE):
            async with Client(stdio_client(parameters)) as client:
                await client.list_tools()
                return str(client.protocol_version)

    assert anyio.run(run) == "2025-11-25"
