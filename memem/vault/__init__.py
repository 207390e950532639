"""Memories as Markdown notes that a person can read, edit, rename, move or delete."""
