"""Verbs of mining."""
