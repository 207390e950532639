"""The hooks of Claude Code: a client that costs little more than to start Python, and what it says when asked."""
