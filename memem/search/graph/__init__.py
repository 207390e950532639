"""Edges between memories: stated in notes, or found by comparing them."""
