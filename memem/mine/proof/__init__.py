"""Prove memories: find the words that a quote copies, and who said them."""
