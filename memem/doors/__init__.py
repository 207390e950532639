"""The ways in: Python, command line, hooks, MCP, engine. Only doors print, parse arguments or speak a protocol."""
