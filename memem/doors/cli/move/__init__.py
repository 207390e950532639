"""Verbs that bring memories in and take them along."""
