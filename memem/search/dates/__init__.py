"""Dates in queries and statements."""
