"""Prove memories: find the words that a quote copies, and tell whose they are."""
