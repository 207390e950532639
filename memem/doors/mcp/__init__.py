"""The MCP server: its tools, and the protocol over standard input and output."""
