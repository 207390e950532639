"""Find notes and turns: the index, encoders, ranking; search, get, list, timeline. Derived from the vault."""
