"""Embedding models: text to vectors."""
