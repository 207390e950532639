"""Keep: memories as markdown notes that a person can read, edit, rename, move or delete."""
