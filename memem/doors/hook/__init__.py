"""The hooks of Claude Code: a fast client, the answers to events, and the status line."""
