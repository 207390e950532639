"""Judging text on its way into the vault: secrets out, invisible tricks neutralised."""
