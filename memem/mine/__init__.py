"""Learn from sessions: when, which turns, what to ask, and how answers become notes."""
