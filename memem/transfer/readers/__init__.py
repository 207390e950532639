"""Readers of other programs' files. Nothing here writes."""
