"""Find: a derived index of the vault. It can be deleted at any time and is rebuilt with the same recall."""
