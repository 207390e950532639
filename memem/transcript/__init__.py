"""Read turns and work from the session files of Claude Code."""
