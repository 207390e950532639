"""Verbs that change notes."""
