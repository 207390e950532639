"""Search in what was said in sessions: the index of turns, and which turns may be read."""
