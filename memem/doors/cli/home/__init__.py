"""Verbs about the memory home itself."""
