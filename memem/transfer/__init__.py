"""Bring memories in and take them along: import, export."""
