"""Reading what was said and done in a session from the file that Claude Code keeps of it."""
